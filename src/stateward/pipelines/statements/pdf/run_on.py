"""Balances that run on from the rows of one account into those of another."""

from collections.abc import Iterator, Sequence

from stateward.pipelines.statements import interpret
from stateward.pipelines.statements.model import (
    StatementProblem,
    StatementRow,
    StatementSection,
)


def run_on_accounts(
    sections: Sequence[StatementSection], rows: Sequence[Sequence[StatementRow]]
) -> Iterator[StatementProblem]:
    """The first section of another account than the one before, of which the balances go on: both may be of one."""
    for number in range(1, len(sections)):
        before, this = sections[number - 1], sections[number]
        if this.opening or before.closing or this.account == before.account:
            continue
        if not rows[number] or not rows[number - 1]:
            continue
        first, last = rows[number][0], rows[number - 1][-1]
        try:
            reached = interpret.balance(last.balance, before.terms)
            after = interpret.balance(first.balance, this.terms)
            moved = interpret.signed_amount(first, this.terms)
        except interpret.UnreadableText:
            continue
        if reached is not None and after is not None and reached + moved == after:
            message = (
                f"the balances of {before.account} go on in the rows of {this.account}:"
                " they may be of one account"
            )
            yield StatementProblem(code="ACCOUNT_UNPROVEN", message=message, place=first.place)
            return
