"""Cells that another program has spoilt: amounts that their delimiter cuts, and days of two orders in one column.

Each cell is readable by itself, and so nothing but the cells beside it, or the days around it, shows that it is wrong.
"""

import re
from collections.abc import Sequence
from datetime import date
from itertools import pairwise
from operator import ge, le

from stateward.pipelines.kit import dates
from stateward.pipelines.statements.layout import Cells, ColumnLayout
from stateward.pipelines.statements.model import ReadingTerms

CUT_AMOUNTS = "behind the amounts, which are whole numbers, stand two digits without a name: the delimiter may cut them"
MIXED_ORDERS = (
    "some dates can only be read in one order, and the days follow one another only if the others are read in the other"
    " one: a program may have turned them"
)
CUT_MIN = 2  # rows
TURNED_MIN = 2  # dates that say another day in another order
ORDERED_MIN = 4  # days, of which fewer are in order by chance
_WHOLE = re.compile(r"[-+(]?[0-9]{1,9}", re.ASCII)
_DECIMALS = re.compile(r"[0-9]{2}[-+)]?", re.ASCII)
OTHER_ORDER = {"dmy": "mdy", "mdy": "dmy"}


def amounts_are_cut(layout: ColumnLayout, rows: Sequence[Cells]) -> bool:
    """Whether a column behind the amounts has no name, and two digits wherever they are whole numbers."""
    for at in layout.amounts:
        names = layout.headings[at + 1 : at + 2]
        if not layout.is_headed or names not in (("",), (f"column {at + 2}",)):
            continue
        pairs = [(row[at].strip(), row[at + 1].strip()) for row in rows if len(row) > at + 1]
        filled = [pair for pair in pairs if any(pair)]
        if len(filled) >= CUT_MIN and all(
            _WHOLE.fullmatch(whole) and _DECIMALS.fullmatch(rest) for whole, rest in filled
        ):
            return True
    return False


def are_orders_mixed(layout: ColumnLayout, rows: Sequence[Cells], terms: ReadingTerms) -> bool:
    """Whether the days are in order only if those that may be read in either order are read in the other one.

    So an export looks that a program has opened which takes the first number of a date for the month: it turns each
    date of the first twelve days, and leaves those that cannot be turned.
    """
    other = OTHER_ORDER.get(terms.date_order)
    if other is None or layout.date < 0:
        return False
    texts = [row[layout.date].strip() for row in rows if len(row) > layout.date]
    own = {text: dates.read_date(text, terms.date_order, terms.era) for text in {*texts}}
    turned = {text: dates.read_date(text, other, terms.era) for text in own}
    if (
        None in own.values()
        or sum(day not in (None, own[t]) for t, day in turned.items()) < TURNED_MIN
    ):
        return False
    mixed = {text: day or own[text] for text, day in turned.items()}
    return (
        None in turned.values()
        and not _are_ordered([own[text] for text in texts])
        and _are_ordered([mixed[text] for text in texts])
    )


def _are_ordered(days: Sequence[date | None]) -> bool:
    known = [day for day in days if day is not None]
    if len({*known}) < ORDERED_MIN:
        return False
    return any(all(test(a, b) for a, b in pairwise(known)) for test in (le, ge))
