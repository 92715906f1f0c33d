"""What a table shows of the currency of its amounts, and of a column of balances that does not run."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

import msgspec

from stateward.pipelines.kit import money
from stateward.pipelines.kit.delimited import Record
from stateward.pipelines.statements.layout import ColumnLayout
from stateward.pipelines.statements.model import StatementRow
from stateward.pipelines.statements.rivals import heading_currency
from stateward.pipelines.statements.table_cells import column_texts
from stateward.pipelines.statements.table_facts import told_currency

STILL_ROWS_MIN = 3  # rows with the same balance, before it is none that runs
CURRENCY_ROWS = 20  # rows that are searched for a currency beside an amount
# Currencies that are printed with the same sign or word.
SAME_SIGN = tuple(
    frozenset(family.split())
    for family in (
        "INR PKR LKR NPR MUR SCR",
        "GBP EGP LBP GIP",
        "CHF XOF XAF",
        "AED MAD",
        "RON MDL",
        "CNY TWD HKD",
    )
)
_DOLLARS = """USD AUD CAD NZD HKD SGD TWD BND FJD JMD TTD BBD BSD BMD BZD KYD XCD GYD SRD LRD NAD SBD ZWL MXN ARS CLP
    COP UYU DOP CUP BOB NIO BRL MOP TOP WST CVE"""
# The currencies of signs that say nothing but their family.
SHARED_SIGNS = {
    "$": frozenset(_DOLLARS.split()),
    "¥": frozenset({"JPY", "CNY"}),
    "￥": frozenset({"JPY", "CNY"}),
    "kr": frozenset("SEK NOK DKK ISK CZK".split()),
}
_NO_SIGN = re.compile(rf"[{money.MINUS}{money.APOSTROPHES}0-9.,()+*\s]")
_is_bare = re.compile(r"[-+]?[0-9.,]+", re.ASCII).fullmatch
# Amounts of countries that call their money pesos and write points between thousands: none has three decimals.
_PESOS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{3})*")


def printed_currency(layout: ColumnLayout, body: Sequence[Record]) -> str:
    """The currency that is printed with the amounts, or in their heading."""
    amounts = layout.amounts
    for _, cells in body[:CURRENCY_ROWS]:
        for index in amounts:
            # First what costs little: figures with nothing around them have no currency.
            if index >= len(cells) or _is_bare(cells[index]):
                continue
            read = money.read_amount(cells[index]) or money.read_amount(cells[index], ",")
            if read is not None and read.currency:
                return read.currency
    return named_currency(layout)


def named_currency(layout: ColumnLayout) -> str:
    """The currency in the heading of the amounts, or ""."""
    named = (heading_currency(layout.headings[index]) for index in layout.amounts)
    return next((code for code in named if code), "")


def own_of_two(printed: str, told: str) -> str:
    """Of the currency that is printed with the amounts and the one above the table, that of the amounts.

    A sign that several countries share, such as `Rs.`, is the one of the country that is told.
    """
    code = money.currency_code(printed)
    is_shared = any({code, told} <= family for family in SAME_SIGN)
    return told if code == told or is_shared else printed


def own_currency(layout: ColumnLayout, body: Sequence[Record]) -> tuple[ColumnLayout, list[str]]:
    """The layout without a column of currencies that the heading of the amounts contradicts: it is of others."""
    index = layout.currency
    named = heading_currency(layout.headings[layout.amount]) if layout.amount >= 0 else ""
    if index < 0 or not named:
        return layout, []
    printed = {money.currency_code(c[index]) for _, c in body if index < len(c) and c[index]}
    if printed <= {named}:
        return layout, []
    own, other = layout.headings[layout.amount], layout.headings[index]
    said = f"{own!r} is in {named}: {other!r} is that of other amounts"
    return msgspec.structs.replace(layout, currency=-1), [said]


def running_balance(layout: ColumnLayout, body: Sequence[Record]) -> tuple[ColumnLayout, list[str]]:
    """The layout without a column of balances that stays the same while money moves: it tells today's balance."""
    if layout.balance < 0:
        return layout, []
    texts = [cells[layout.balance].strip() for _, cells in body if len(cells) == layout.width]
    filled = [text for text in texts if text not in ("", layout.headings[layout.balance])]
    # One that is printed once, in the last row of a day, is that of the rows above it.
    is_printed_again = not filled or len(filled) >= STILL_ROWS_MIN
    if len(texts) < STILL_ROWS_MIN or len({*filled}) > 1 or not is_printed_again:
        return layout, []
    name = layout.headings[layout.balance]
    said = f"{name!r} is the same on every row: it is no running balance"
    return msgspec.structs.replace(layout, balance=-1), [said]


def point_of_currency(
    layout: ColumnLayout, body: Sequence[Record], before: Sequence[Record]
) -> str:
    """The decimal sign where the currency has no decimals: then a point or a comma is that of thousands."""
    if layout.currency < 0:
        found = {told_currency([cells for _, cells in before])}
    else:
        found = {money.currency_code(text) for text in column_texts(body, (layout.currency,))}
    if len(found) != 1 or money.EXPONENTS.get(found.pop()) != 0:
        return ""
    texts = [text for text in column_texts(body, layout.amounts) if "." in text or "," in text]
    return "," if texts and all("." in text for text in texts) else "." if texts else ""


def is_in_pesos(layout: ColumnLayout, body: Sequence[Record], before: Sequence[Record]) -> bool:
    """Whether a dollar sign stands beside amounts that all have groups of three after their points."""
    names = [layout.headings[i] for i in layout.amounts]
    has_sign = any("$" in text for text in (*names, *(c for _, cells in before for c in cells)))
    texts = [text.strip(" $+-") for text in column_texts(body, layout.amounts)]
    has_sign = has_sign or any("$" in text for text in column_texts(body, layout.amounts))
    return has_sign and all(_PESOS.fullmatch(text) for text in texts)


def with_own_currencies(
    rows: Iterator[StatementRow], usual: str, doubt: Callable[[StatementRow, str], object]
) -> Iterator[StatementRow]:
    """The rows, each that prints another currency beside its amount in that one.

    `usual` is that of the table, or "" where only a sign is printed that several countries share. `doubt` is told the
    first row that is in another currency than those before it of the same account: an account has one.
    """
    table = currencies_of(usual)
    accounts: dict[str, frozenset[str]] = {}
    is_told = False
    for row in rows:
        text = row.amount or row.debit or row.credit
        # First what costs little: most amounts have nothing around their figures.
        if _is_bare(text) or not (sign := sign_beside(text)):
            yield row
            continue
        found = currencies_of(sign)
        table = table or found
        known = accounts.setdefault(row.account, found if row.account else table)
        if known.isdisjoint(found) and not is_told:
            doubt(row, text)
            is_told = True
        is_usual = not table.isdisjoint(found)
        yield row if is_usual else msgspec.structs.replace(row, currency=money.currency_code(sign))


@lru_cache(maxsize=money.CACHE_MAX)
def sign_beside(text: str) -> str:
    """The sign or code of a currency beside an amount, or ""."""
    sign = _NO_SIGN.sub("", text)
    return sign if currencies_of(sign) else ""


@lru_cache(maxsize=256)
def currencies_of(sign: str) -> frozenset[str]:
    """The currencies that are printed with a sign or code; none if it is not known."""
    if shared := SHARED_SIGNS.get(sign.lower()):
        return shared
    code = money.currency_code(sign)
    if code not in money.CURRENCY_CODES:
        return frozenset()
    return frozenset({code}).union(*(family for family in SAME_SIGN if code in family))
