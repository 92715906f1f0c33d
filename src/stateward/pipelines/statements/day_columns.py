"""Which of two columns of dates is the booking, where no name says so.

Rows are listed in the order of their booking, and nothing is booked before it happens. So the column that is in order
is the booking if the other is not, and if days of the other come before it: of a purchase and its booking, the purchase
would. Balances that follow from row to row show the same. Where both or neither are in order, it stays open.
"""

from collections.abc import Sequence
from datetime import date
from itertools import pairwise

import msgspec

from stateward.pipelines.kit import dates
from stateward.pipelines.statements import headings
from stateward.pipelines.statements.heading_parts import is_of_transaction
from stateward.pipelines.statements.layout import Cells, ColumnLayout
from stateward.pipelines.statements.model import ReadingTerms

ROWS_MIN = 5


def open_day(layout: ColumnLayout) -> int:
    """Another column that may be the booking as well as the one that was taken; -1 if names tell them apart."""
    if not layout.is_headed:
        if layout.value_date < 0:
            return -1
        names = [headings.role_of(layout.headings[i]) for i in (layout.date, layout.value_date)]
        is_told = names[0] == "date" or names[1] == "value_date"
        return -1 if is_told else layout.value_date
    if layout.other_date < 0:
        return -1
    pair = [layout.headings[i] for i in (layout.date, layout.other_date)]
    if any(headings.role_of(name) != "date_plain" for name in pair):
        return -1
    first, second = (is_of_transaction(headings.simplify(name)) for name in pair)
    return layout.other_date if first == second else -1


def with_booking_days(
    layout: ColumnLayout, rows: Sequence[Cells], terms: ReadingTerms, *, is_chained: bool
) -> ColumnLayout:
    """The layout with both columns exchanged, where the second is shown to be the booking."""
    other = open_day(layout)
    if other < 0 or days_evidence(layout, rows, terms, is_chained=is_chained) >= 0:
        return layout
    if layout.is_headed:
        return msgspec.structs.replace(layout, date=other, other_date=layout.date)
    return msgspec.structs.replace(layout, date=other, value_date=layout.date)


def days_evidence(
    layout: ColumnLayout, rows: Sequence[Cells], terms: ReadingTerms, *, is_chained: bool
) -> int:
    """1 if the column that was taken is shown to be the booking, -1 if the other one is, 0 if neither is."""
    days = [_both(cells, layout.date, open_day(layout), terms) for cells in rows]
    pairs = [pair for pair in days if pair is not None]
    if len(pairs) < ROWS_MIN:
        return 0
    own, other = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    if _is_in_order(own) == _is_in_order(other):
        return 0
    is_own = _is_in_order(own)
    is_before = any((b < a) if is_own else (a < b) for a, b in pairs)
    if not is_chained and not is_before:
        return 0
    return 1 if is_own else -1


def _both(cells: Cells, left: int, right: int, terms: ReadingTerms) -> tuple[date, date] | None:
    if max(left, right) >= len(cells):
        return None
    first, second = (
        dates.read_date(cells[i], terms.date_order or "dmy", terms.era) for i in (left, right)
    )
    return None if first is None or second is None else (first, second)


def _is_in_order(days: Sequence[date]) -> bool:
    return all(a <= b for a, b in pairwise(days)) or all(a >= b for a, b in pairwise(days))
