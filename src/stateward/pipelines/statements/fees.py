"""Fees beside amounts: whether the amount contains its fee is decided by the balances.

Where the balances show that a fee was taken on top, it becomes a row of its own; where nothing shows it, that is said.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import combinations
from typing import NamedTuple

import msgspec

from stateward.pipelines.kit import dates, money
from stateward.pipelines.statements import interpret
from stateward.pipelines.statements.layout import ColumnLayout
from stateward.pipelines.statements.model import ReadingTerms, StatementRow
from stateward.pipelines.statements.reconcile import RowAmounts, chain_breaks

TURNED = (
    "flipped",
    "marks_else_debit",
    "plus_else_debit",
)  # readings in which an amount without a sign is money out
NOTE = "the fee that is printed beside the row above"


class FeeRule(NamedTuple):
    """Whether fees become rows of their own, in which order, and what remains open ("" is nothing)."""

    is_apart: bool = False
    is_backward: bool = False
    problem: str = ""


def decide_fees(
    layout: ColumnLayout, body: Sequence[StatementRow], terms: ReadingTerms, *, is_backward: bool
) -> FeeRule:
    """Whether the fees of a table come on top of its amounts."""
    if layout.fee < 0:
        return FeeRule()
    heading = layout.headings[layout.fee]
    fees = [_fee(row, heading, terms) for row in body]
    if not any(fees):
        return FeeRule()
    if layout.balance >= 0:
        within = _breaks(body, [Decimal(0)] * len(body), terms, is_backward=is_backward)
        on_top = _breaks(body, fees, terms, is_backward=is_backward)
        if on_top < within:
            return FeeRule(is_apart=True, is_backward=is_backward)
        if within < on_top:
            return FeeRule()
    if (is_apart := _by_price(body, fees, terms)) is not None:
        return FeeRule(is_apart=is_apart, is_backward=is_backward)
    count = sum(map(bool, fees))
    return FeeRule(
        problem=f"{count} rows have a fee in the column {heading!r}, and nothing shows whether their amounts contain it"
    )


def _by_price(
    body: Sequence[StatementRow], fees: Sequence[Decimal], terms: ReadingTerms
) -> bool | None:
    """Whether amounts are without their fee, by price and number that each is the product of; None if untold."""
    told = set[bool]()
    for row, fee in zip(body, fees, strict=True):
        if not fee:
            continue
        texts = (text for text in row.more.values() if money.is_amount(text))
        numbers = [n for text in texts if (n := money.amount(text, terms.decimal))]
        prices = {
            round(abs(a * b), 2) for a, b in combinations(numbers, 2) if abs(a) != 1 != abs(b)
        }
        try:
            value = abs(interpret.signed_amount(row, terms))
        except interpret.UnreadableText:
            return None  # the row is refused where it is read
        found = {value in prices} if value in prices else set[bool]()
        found |= {False} if {value - fee, value + fee} & prices else set[bool]()
        if len(found) != 1:
            return None
        told |= found
    return told.pop() if len(told) == 1 else None


def with_fees(
    rows: Iterator[StatementRow], layout: ColumnLayout, terms: ReadingTerms, rule: FeeRule
) -> Iterator[StatementRow]:
    """The rows with each fee as a row of its own; the balance belongs to the later of the two."""
    heading = layout.headings[layout.fee]
    for row in rows:
        fee = _fee(row, heading, terms)
        if not fee:
            yield row
            continue
        own = msgspec.structs.replace(
            row,
            **_printed_fee(fee, terms),
            description=f"{heading}: {row.description}",
            note=NOTE,
            mark="",
        )
        main = msgspec.structs.replace(row, balance="")
        yield from (own, main) if rule.is_backward else (main, own)


def _printed_fee(fee: Decimal, terms: ReadingTerms) -> dict[str, str]:
    """The fields of a row that is this fee, in the column and with the sign that make it money out."""
    text = f"{abs(fee):f}".replace(".", terms.decimal)
    if terms.sign.startswith("columns"):
        fields = {"amount": "", "debit": "", "credit": ""}
        side = "credit" if terms.sign.endswith("_swapped") else "debit"
        return {**fields, side: f"-{text}" if terms.sign == "columns_signed" else text}
    return {"amount": text if terms.sign in TURNED else f"-{text}"}


def _fee(row: StatementRow, heading: str, terms: ReadingTerms) -> Decimal:
    return abs(money.amount(row.more.get(heading, ""), terms.decimal) or Decimal(0))


def _breaks(
    body: Sequence[StatementRow],
    fees: Sequence[Decimal],
    terms: ReadingTerms,
    *,
    is_backward: bool,
) -> int:
    lines: list[RowAmounts] = []
    for row, fee in zip(body, fees, strict=True):
        try:
            amount = interpret.signed_amount(row, terms) - fee
            after = interpret.balance(row.balance, terms)
        except interpret.UnreadableText:
            continue
        lines.append(
            RowAmounts(amount, after, dates.read_date(row.date, terms.date_order or "dmy"))
        )
    return chain_breaks(lines, is_backward=is_backward)[1]
