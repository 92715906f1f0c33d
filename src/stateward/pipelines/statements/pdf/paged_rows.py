"""Rows that may be the foot of a page: they tell its number, or stand at the end of each page with the same text.

A foot that prints a day and a figure looks like a booking in every way but these. It counts, because a booking may
look like it, too; where no balance proves it, it is told.
"""

import re
from collections.abc import Iterable, Iterator

from stateward.pipelines.kit.pdf.page_numbers import tells_page
from stateward.pipelines.statements.model import RowPlace, StatementProblem
from stateward.pipelines.statements.pdf.rows import DraftRow

PAGES_MIN = 2
SAME_PLACE = 2.0  # points between the feet of two pages
RAW_CHARS_MAX = 200
_DIGITS = re.compile(r"[0-9]+")


def paged_rows(rows: Iterable[DraftRow], *, is_proven: bool) -> Iterator[StatementProblem]:
    """The first row that may be the foot of its page, where no balances prove the rows."""
    last: dict[int, DraftRow] = {entry.page: entry for entry in rows}
    if is_proven:
        return
    ends = [*last.values()]
    told = [entry for entry in ends if tells_page(_text(entry)) and str(entry.page) in _text(entry)]
    repeated = [entry for entry in ends if _is_repeated(entry, ends)]
    for entry in [*told, *repeated][:1]:
        yield StatementProblem(
            code="BOOKING_UNPROVEN",
            message="the last row of the page may be its foot: it tells a page, or ends other pages, too",
            place=RowPlace(entry.page, entry.line),
            raw=_text(entry)[:RAW_CHARS_MAX],
        )


def _is_repeated(entry: DraftRow, ends: Iterable[DraftRow]) -> bool:
    """Whether every page that is not the last one ends with the same text and amount at the same place."""
    others = [other for other in ends if other is not entry]
    return len(others) + 1 >= PAGES_MIN and all(
        _DIGITS.sub("", _text(other)) == _DIGITS.sub("", _text(entry))
        and other.money == entry.money
        and abs(other.box[3] - entry.box[3]) <= SAME_PLACE
        for other in others
    )


def _text(entry: DraftRow) -> str:
    return " ".join(entry.texts)
