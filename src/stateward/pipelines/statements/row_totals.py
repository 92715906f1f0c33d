"""Dated rows that are no bookings: totals of the others, and balances before, between and after them.

A text alone proves nothing ("TOTAL" sells petrol): a row is left out of the bookings only if it is called so and is
the sum that it would have to be. What is called so and is not that sum is kept, and said.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

from stateward.pipelines.kit import dates, money
from stateward.pipelines.kit.delimited import Record
from stateward.pipelines.statements import headings, interpret
from stateward.pipelines.statements.booking import booking_status
from stateward.pipelines.statements.layout import Cells, ColumnLayout
from stateward.pipelines.statements.model import ReadingTerms, StatementRow
from stateward.pipelines.statements.table_cells import is_label

ZERO = Decimal(0)
TOTALS = frozenset({"total", "debits", "credits"})
_DIGITS = re.compile(r"[0-9][0-9./:-]*")  # a balance may tell its day
UNNAMED_LINKS_MIN = 3  # sums in a row that make balances of rows whose text does not say so


class NamedRow(NamedTuple):
    """A dated row: its value, both sides where both are filled, what it is called, and its text."""

    line: int
    value: Decimal | None
    sides: tuple[Decimal, Decimal] | None
    fact: str
    text: str


class RowTotals(NamedTuple):
    """The lines of rows that are proven to be totals or balances, and of those that are only called totals."""

    proven: frozenset[int] = frozenset()
    doubted: frozenset[int] = frozenset()
    wrong: frozenset[int] = frozenset()  # called the total below all rows, and not their sum
    sums: frozenset[Decimal] = (
        frozenset()
    )  # of debits and of credits, and the balances at both ends
    decimal: str = "."

    def is_summary(self, above: Cells, cells: Cells) -> bool:
        """Whether a row below other headings than those of the table is a balance, or repeats sums of the table."""
        names = [cell for cell in above if cell.strip()]
        known = {headings.role_of(name) for name in names} - {""}
        if len(above) != len(cells) or len(known) < 2 or any(map(str.isdigit, "".join(names))):
            return False
        texts = [cell for cell in cells if any(map(str.isalpha, cell))]
        if texts:
            # As a whole: "Balance transfer to savings" is a booking.
            return headings.is_balance_label(texts[0]) or headings.role_of(texts[0]) == "balance"
        printed = [cell for cell in cells if money.is_amount(cell) and not cell.strip().isdigit()]
        values = [money.amount(cell, self.decimal) for cell in printed if not dates.is_date(cell)]
        return bool(values) and all(abs(v) in self.sums for v in values if v is not None)


def row_fact(layout: ColumnLayout, cells: Cells) -> str:
    """What a row is called with the whole text of one of its columns of words: a total, a balance; "" for a booking."""
    places = [i for i in (layout.description, *layout.texts) if i >= 0 and cells[i].strip()]
    if not places:  # then any other cell may say it
        money_at = {layout.date, layout.value_date, *layout.amounts}
        places = [i for i in range(layout.width) if i not in money_at and cells[i].strip()]
    texts = (cells[i] for i in places)
    return next((fact for text in texts if (fact := headings.whole_fact(text))), "")


def find_totals(layout: ColumnLayout, body: Sequence[Record], terms: ReadingTerms) -> RowTotals:
    """Which dated rows are sums of others."""
    make = layout.maker()
    rows = [
        _named_row(layout, line, cells, terms, make)
        for line, cells in body
        if len(cells) == layout.width and dates.is_date(cells[layout.date])
    ]
    balances = _balance_lines(rows) if layout.balance < 0 else set()
    rows = [row for row in rows if row.line not in balances]
    values = [row.value for row in rows if row.value is not None and not row.fact]
    out, into = sum(v for v in values if v < 0), sum(v for v in values if v > 0)
    sums = _sums_of(values)
    # Banks may add up what is not booked yet, too.
    if unbooked := _unbooked_values(layout, body, terms, make):
        sums |= _sums_of([*values, *unbooked])
    named = [row for row in rows if row.fact in TOTALS]
    proven = {row.line for row in named if row.value in sums}
    below = _rows_below(layout, body, terms, make)
    both = ((-out, into), (into, -out))  # of a debt, debits are what comes in
    proven |= {row.line for row in rows if row.sides == both[0] and any(row.sides)}
    proven |= {row.line for row in below if row.sides in both}
    called = {row.line for row in named if " " in row.text.strip()}
    if layout.balance < 0:  # else the row may be called so by who wrote its text
        unknown = (row for row in rows if not row.fact)
        called |= {row.line for row in unknown if headings.role_of(row.text) == "balance"}
    doubted = (called | set(_inner_sums(rows))) - proven
    # A row without a name is a total only if several rows make it: one booking may be like another.
    parts = (values, [v for v in values if v < 0], [v for v in values if v > 0])
    several = {abs(sum(part, ZERO)) for part in parts if len(part) > 1}
    proven |= {
        r.line for r in below if r.value in sums and (r.fact or abs(r.value or ZERO) in several)
    }
    wrong = {row.line for row in below if row.fact == "total"} - proven
    printed = [cells[layout.balance] for _, cells in body if len(cells) == layout.width]
    ends = [money.amount(text, terms.decimal) for text in printed if layout.balance >= 0]
    known = [out, into, *(value for value in (*ends[:1], *ends[-1:]) if value is not None)]
    return RowTotals(
        frozenset(proven | balances),
        frozenset(doubted),
        frozenset(wrong),
        frozenset(abs(Decimal(value)) for value in known),
        terms.decimal,
    )


def _sums_of(values: Sequence[Decimal]) -> set[Decimal]:
    """All that a total of these amounts may be: of both sides or of one, with either sign."""
    out, into = sum((v for v in values if v < 0), ZERO), sum((v for v in values if v > 0), ZERO)
    return {out + into, -out - into, into, -into, out, -out}


def _unbooked_values(
    layout: ColumnLayout,
    body: Sequence[Record],
    terms: ReadingTerms,
    make: Callable[[int, list[str]], StatementRow],
) -> list[Decimal]:
    """The amounts of rows that have no day of booking, because they are not booked by their status."""
    if layout.status < 0:
        return []
    rows = [
        _named_row(layout, line, cells, terms, make)
        for line, cells in body
        if len(cells) == layout.width
        and booking_status(cells[layout.status])
        and not dates.is_date(cells[layout.date])
    ]
    return [row.value for row in rows if row.value is not None]


def _inner_sums(rows: Sequence[NamedRow]) -> Iterator[int]:
    """The lines of rows that are called a total, and are the sum of the several rows since the last that is."""
    values: list[Decimal] = []
    for row in rows:
        if row.fact in TOTALS:
            if len(values) > 1 and row.value and abs(row.value) == abs(sum(values, ZERO)):
                yield row.line
            values = []
        elif row.value is not None:
            values.append(row.value)


def period_ends(
    layout: ColumnLayout, body: Sequence[Record], terms: ReadingTerms
) -> dict[str, str]:
    """The balances of the period in a first line of other cells than the rows, beside its two days.

    The rows must lead from one to the other, and have no balances of their own: the newest row of an account that began
    with nothing adds up alike.
    """
    if layout.is_headed or layout.balance >= 0 or not body or len(body[0][1]) == layout.width:
        return {}
    cells = [cell.strip() for cell in body[0][1]]
    days = [cell for cell in cells if dates.is_date(cell)]
    places = [i for i, cell in enumerate(cells) if money.is_amount(cell) and cell not in days]
    places = [i for i in places if "." in cells[i] or "," in cells[i]]
    if len(days) != 2 or days[0] == days[1] or len(places) != 2 or places[0] + 1 != places[1]:
        return {}
    make = layout.maker()
    rows = [
        _named_row(layout, line, row, terms, make)
        for line, row in body[1:]
        if len(row) == layout.width and dates.is_date(row[layout.date])
    ]
    opening, closing = (money.amount(cells[i], terms.decimal) for i in places)
    total = sum((row.value or ZERO for row in rows), ZERO)
    if not rows or opening is None or opening + total != closing:
        return {}
    return {"opening": cells[places[0]], "closing": cells[places[1]]}


def _rows_below(
    layout: ColumnLayout,
    body: Sequence[Record],
    terms: ReadingTerms,
    make: Callable[[int, list[str]], StatementRow],
) -> list[NamedRow]:
    """The rows with an amount but without a date that follow all others: nothing but totals stands there."""
    found: list[NamedRow] = []
    for line, cells in reversed(body):
        if len(cells) != layout.width or not any(cell.strip() for cell in cells):
            continue
        if any(map(dates.is_date, cells)):
            break
        row = _named_row(layout, line, cells, terms, make)
        facts = [headings.whole_fact(cell) for cell in cells if cell.strip()]
        fact = next((each for each in facts if each), "total" if is_label(cells) else "")
        if row.value or (row.sides and any(row.sides)):
            found.append(row._replace(fact=fact))
    return found


def _named_row(
    layout: ColumnLayout,
    line: int,
    cells: list[str],
    terms: ReadingTerms,
    make: Callable[[int, list[str]], StatementRow],
) -> NamedRow:
    row = make(line, [*cells, ""])
    text = row.description or row.counterparty
    fact = row_fact(layout, cells)
    try:
        return NamedRow(line, interpret.signed_amount(row, terms), None, fact, text)
    except interpret.UnreadableText:
        sides = [money.amount(side, terms.decimal) for side in (row.debit, row.credit)]
        both = (abs(sides[0]), abs(sides[1])) if None not in sides else None  # type: ignore[arg-type]
        return NamedRow(line, None, both, fact, text)


def _balance_lines(rows: Sequence[NamedRow]) -> set[int]:
    """The lines of rows of one text of which each is the one before it and all that was booked in between."""
    groups: dict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        if row.value is not None and row.text.strip():
            groups[_DIGITS.sub("", row.text).strip().casefold()].append(place)
    found: set[int] = set()
    for text, places in groups.items():
        links = len(places) - 1
        is_named = headings.is_balance_label(text)
        if links < (1 if is_named else UNNAMED_LINKS_MIN) or len(places) == len(rows):
            continue
        if _follow(rows, places) or _follow(rows[::-1], [len(rows) - 1 - i for i in places[::-1]]):
            found |= {rows[i].line for i in places}
    return found


def _follow(rows: Sequence[NamedRow], places: Sequence[int]) -> bool:
    """Whether each of these rows is the one before it and the sum of those between them."""
    moves = 0
    for before, after in pairwise(places):
        between = [row.value for row in rows[before + 1 : after]]
        if None in between:
            return False
        moved = sum((value for value in between if value is not None), ZERO)
        moves += bool(moved)
        if (rows[before].value or ZERO) + moved != rows[after].value:
            return False
    return moves > 0 and 2 * moves >= len(places) - 1
