"""How a table shows debits and credits: decided over its rows, and proved by its balances where possible."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from stateward.pipelines.kit import money
from stateward.pipelines.statements import headings, interpret
from stateward.pipelines.statements.layout import ColumnLayout
from stateward.pipelines.statements.model import ReadingTerms, StatementRow
from stateward.pipelines.statements.reconcile import RowAmounts, reconcile
from stateward.pipelines.statements.source import Hints

Cells = Sequence[str]


class SignRule(NamedTuple):
    """How signs are read (see `ReadingTerms`), why, and what remains unproven ("" is nothing)."""

    sign: str
    why: str
    problem: str = ""
    balances: str = "printed"


def decide_sign(
    layout: ColumnLayout, rows: Sequence[Cells], terms: ReadingTerms, hints: Hints
) -> SignRule:
    """The rule for the signs of a table."""
    if hints.sign:
        return SignRule(hints.sign, "the source type says so")
    if headings.is_card(layout.headings):
        hints = msgspec.structs.replace(hints, is_card=True)
    make = layout.maker()
    body = [make(0, [*cells, ""]) for cells in rows if len(cells) == layout.width]
    if layout.amount < 0:
        return _columns(layout, body, terms)
    values = [read for row in body if (read := money.read_amount(row.amount, terms.decimal))]
    has_minus = any(read.value < 0 for read in values)
    marks = {money.mark_sign(read.mark) for read in values if read.mark}
    if marks and not has_minus and any(not read.mark for read in values):
        if marks == {1}:
            return SignRule(
                "marks_else_debit", "credits are marked, so amounts without a mark are debits"
            )
        if marks == {-1}:
            return SignRule(
                "marks_else_credit", "debits are marked, so amounts without a mark are credits"
            )
    if layout.mark >= 0 and not has_minus:
        return SignRule(
            "marks", f"the column {layout.headings[layout.mark]!r} says debit or credit"
        )
    return _printed(layout, body, terms, hints, has_minus=has_minus, is_marked=bool(marks))


def _columns(layout: ColumnLayout, body: Sequence[StatementRow], terms: ReadingTerms) -> SignRule:
    out = [v for row in body if (v := money.amount(row.debit, terms.decimal)) is not None and v]
    come = [v for row in body if (v := money.amount(row.credit, terms.decimal)) is not None and v]
    if out and all(value < 0 for value in out):
        return SignRule("columns_signed", "two columns; debits carry a minus sign")
    if come and all(value < 0 for value in come):
        return SignRule(
            "columns_signed", "two columns; the second carries a minus sign, so it is debits"
        )
    chosen = SignRule("columns", "two columns: debits and credits")
    if layout.is_headed:
        return chosen
    # Without headings only the balances show which of the two columns is which.
    if _reconciled(body, terms, "columns"):
        return SignRule("columns", "two columns: with the first as debits the statement adds up")
    swapped = [msgspec.structs.replace(row, debit=row.credit, credit=row.debit) for row in body]
    if _reconciled(swapped, terms, "columns"):
        return SignRule(
            "columns_swapped", "two columns: with the first as credits the statement adds up"
        )
    problem = (
        "neither a heading nor a balance shows which of two columns is debits; the first was taken"
    )
    return SignRule("columns", chosen.why, problem)


def _printed(
    layout: ColumnLayout,
    body: Sequence[StatementRow],
    terms: ReadingTerms,
    hints: Hints,
    *,
    has_minus: bool,
    is_marked: bool,
) -> SignRule:
    if layout.balance >= 0:
        if _reconciled(body, terms, "printed"):
            if hints.is_card and _is_owed(body, terms):
                why = "balances grow with positive amounts: the printed balance is a debt"
                return SignRule("flipped", why, balances="owed")
            return SignRule("printed", "amounts carry their sign, and the statement adds up")
        if _reconciled(body, terms, "flipped"):
            return SignRule("flipped", "the statement adds up only if positive amounts are debits")
    if has_minus or is_marked:
        return _card(body, terms, hints) or SignRule("printed", "amounts carry their sign")
    if hints.is_card:
        why = "charges of a card are printed without a sign"
        return SignRule("flipped", why, f"{why}; no balance proves that they are debits")
    if layout.balance < 0 and len(body) > 1:
        why = "amounts carry no sign"
        return SignRule(
            "printed",
            why,
            "no amount has a minus sign and nothing distinguishes debits from credits",
        )
    return SignRule("printed", "amounts carry their sign")


def _card(body: Sequence[StatementRow], terms: ReadingTerms, hints: Hints) -> SignRule | None:
    """A card that prints both signs: purchases are many, payments few."""
    if not (hints.is_card and _is_owed(body, terms)):
        return None
    why = "most amounts of the card are positive, so they are purchases"
    return SignRule("flipped", why, f"{why}; no balance proves it")


def _is_owed(body: Sequence[StatementRow], terms: ReadingTerms) -> bool:
    """Whether most amounts are positive, as purchases of a card are where charges are printed so."""
    values = [v for row in body if (v := money.amount(row.amount, terms.decimal))]
    return sum(value > 0 for value in values) * 2 > len(values)


def _reconciled(body: Sequence[StatementRow], terms: ReadingTerms, sign: str) -> bool:
    """Whether the rows add up if signs are read so; rows that cannot be read are ignored here."""
    trial = msgspec.structs.replace(terms, sign=sign)
    lines: list[RowAmounts] = []
    for row in body:
        try:
            lines.append(
                RowAmounts(interpret.signed(row, trial), interpret.balance(row.balance, trial))
            )
        except interpret.UnreadableText:
            continue
    return reconcile(lines).is_reconciled
