"""Whether money came or went: how a table says so, decided over its rows and proved by its balances where it can be."""

from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

import msgspec

from stateward.pipelines.kit import money
from stateward.pipelines.statements import headings, interpret
from stateward.pipelines.statements.layout import Layout
from stateward.pipelines.statements.model import Row, Terms
from stateward.pipelines.statements.reconcile import Line, Verdict, reconcile
from stateward.pipelines.statements.source import Hints

Cells = Sequence[str]


class Sign(NamedTuple):
    """How signs are read, why, and what remains unproven ("" is nothing)."""

    sign: str
    why: str
    problem: str = ""
    balances: str = "printed"


def decide_sign(layout: Layout, rows: Sequence[Cells], terms: Terms, hints: Hints) -> Sign:
    """The rule for the signs of a table."""
    if hints.sign:
        return Sign(hints.sign, "the source type says so")
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
            return Sign("marks_else_debit", "credits are marked, so what has no mark is a debit")
        if marks == {-1}:
            return Sign("marks_else_credit", "debits are marked, so what has no mark is a credit")
    if layout.mark >= 0 and not has_minus:
        return Sign("marks", f"the column {layout.headings[layout.mark]!r} says debit or credit")
    return _printed(layout, body, terms, hints, has_minus=has_minus, is_marked=bool(marks))


def _columns(layout: Layout, body: Sequence[Row], terms: Terms) -> Sign:
    out = [v for row in body if (v := money.amount(row.debit, terms.decimal)) is not None and v]
    come = [v for row in body if (v := money.amount(row.credit, terms.decimal)) is not None and v]
    if out and all(value < 0 for value in out):
        return Sign("columns_signed", "two columns; those of debits carry a minus themselves")
    if come and all(value < 0 for value in come):
        return Sign("columns_signed", "two columns; the second carries a minus, so it is money out")
    chosen = Sign("columns", "two columns: debits went, credits came")
    if layout.is_headed:
        return chosen
    # Without headings nothing but the balances says which of the two columns is which.
    given = _tried(body, terms, "columns")
    if given.is_reconciled:
        return Sign("columns", "two columns: with the first as debits the balances follow")
    swapped = [msgspec.structs.replace(row, debit=row.credit, credit=row.debit) for row in body]
    if _tried(swapped, terms, "columns").is_reconciled:
        return Sign("columns_swapped", "two columns: with the first as credits the balances follow")
    problem = "no heading and no balance says which of two columns is debit; the first was taken"
    return Sign("columns", chosen.why, problem)


def _printed(
    layout: Layout,
    body: Sequence[Row],
    terms: Terms,
    hints: Hints,
    *,
    has_minus: bool,
    is_marked: bool,
) -> Sign:
    if layout.balance >= 0:
        if _tried(body, terms, "printed").is_reconciled:
            if hints.is_card and _is_owed(body, terms):
                why = "balances grow with positive amounts: what is owed is printed"
                return Sign("flipped", why, balances="owed")
            return Sign("printed", "amounts carry their sign, and the balances follow from them")
        if _tried(body, terms, "flipped").is_reconciled:
            return Sign("flipped", "the balances follow only if a positive amount is money out")
    if has_minus or is_marked:
        return _card(body, terms, hints) or Sign("printed", "amounts carry their sign")
    if hints.is_card:
        why = "charges of a card are printed without a sign"
        return Sign("flipped", why, f"{why}; no balance proves that they went out")
    if layout.balance < 0 and len(body) > 1:
        why = "amounts carry no sign"
        return Sign(
            "printed", why, "no amount has a minus and nothing says whether it came or went"
        )
    return Sign("printed", "amounts carry their sign")


def _card(body: Sequence[Row], terms: Terms, hints: Hints) -> Sign | None:
    """A card that prints both signs: purchases are many, payments few."""
    if not hints.is_card:
        return None
    if not _is_owed(body, terms):
        return None
    why = "most amounts of the card are positive, so they are purchases"
    return Sign("flipped", why, f"{why}; no balance proves it")


def _is_owed(body: Sequence[Row], terms: Terms) -> bool:
    """Whether most amounts are positive, as purchases of a card are where charges are printed so."""
    values = [v for row in body if (v := money.amount(row.amount, terms.decimal))]
    return sum(value > 0 for value in values) * 2 > len(values)


def _tried(body: Sequence[Row], terms: Terms, sign: str) -> Verdict:
    """Whether the balances follow if signs are read so; rows that cannot be read are left to others."""
    trial = msgspec.structs.replace(terms, sign=sign)
    lines: list[Line] = []
    for row in body:
        try:
            lines.append(Line(interpret.signed(row, trial), _balance(row, trial)))
        except interpret.Unreadable:
            continue
    return reconcile(lines)


def _balance(row: Row, terms: Terms) -> Decimal | None:
    return interpret.balance(row.balance, terms)
