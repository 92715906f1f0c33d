"""Whether the statements of one account in one file follow from one another.

Each opens with what the one before closed with. It may add up by itself while one between them is missing. Their
numbers prove nothing: some banks count days, and leave out those without a booking.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation
from itertools import pairwise

from stateward.pipelines.statements.model import StatementProblem, StatementSection

BREAKS_TOLD_MAX = 3
_DEBITS = ("D", "DBIT")


def broken_successions(sections: Iterable[StatementSection]) -> list[StatementProblem]:
    """A problem for each statement that does not open with what the one before it closed with."""
    accounts: dict[tuple[str, str], list[StatementSection]] = {}
    for section in sections:
        own = accounts.setdefault((section.account, section.currency), [])
        if (
            section.account
            and not _is_empty(section)
            and not any(_is_same(section, each) for each in own)
        ):
            own.append(section)
    return [
        _problem(before, after)
        for own in accounts.values()
        for before, after in _fewest_breaks(own)[:BREAKS_TOLD_MAX]
    ]


def _is_empty(section: StatementSection) -> bool:
    """Whether it says nothing: some banks end a file with a statement from zero to zero."""
    return not any(_value(each) for each in (section.opening, section.closing)) and not [
        *section.rows
    ]


def _is_same(one: StatementSection, other: StatementSection) -> bool:
    """Whether a statement stands in the file twice; its rows are compared elsewhere."""
    return _ends(one) == _ends(other)


def _ends(section: StatementSection) -> tuple[str, ...]:
    return (section.opening, section.closing, section.opening_date, section.closing_date)


def _fewest_breaks(
    own: Sequence[StatementSection],
) -> list[tuple[StatementSection, StatementSection]]:
    """The breaks in the order of the file, from its end, or by date: whichever has the fewest."""
    turned = own[::-1]
    orders = (own, turned, sorted(own, key=_day), sorted(turned, key=_day))
    return min((_breaks(order) for order in orders), key=len)


def _day(section: StatementSection) -> str:
    return section.closing_date


def _breaks(
    order: Sequence[StatementSection],
) -> list[tuple[StatementSection, StatementSection]]:
    return [
        (before, after)
        for before, after in pairwise(order)
        if (closed := _value(before.closing)) is not None
        and (opened := _value(after.opening)) is not None
        and closed != opened
    ]


def _problem(before: StatementSection, after: StatementSection) -> StatementProblem:
    message = (
        f"account {after.account} opens with {after.opening} in the statement up to {after.closing_date}, and closed"
        f" with {before.closing} in the one before: a statement may be missing"
    )
    return StatementProblem(code="CONTROL_DIFFERS", message=message)


def _value(text: str) -> Decimal | None:
    """A balance as messages write it, with its mark before it; None where there is none or it cannot be read."""
    mark, _, amount = text.rpartition(" ")
    if "," in amount:
        amount = amount.replace(".", "").replace(",", ".")
    try:
        value = Decimal(amount)
    except InvalidOperation:
        return None
    return -value if mark in _DEBITS else value
