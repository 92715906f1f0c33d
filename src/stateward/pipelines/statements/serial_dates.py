"""Dates that a sheet has written into a text as what it stores: the number of days since 30 December 1899.

Only a column that is headed as one of dates, and holds nothing but such numbers, is read so.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta

from stateward.pipelines.kit.delimited import Record
from stateward.pipelines.statements import headings
from stateward.pipelines.statements.table_cells import TableHead

EPOCH = date(1899, 12, 30)
SERIAL_MIN, SERIAL_MAX = 36526, 54787  # the years 2000 to 2049
DATE_ROLES = frozenset({"date", "date_plain", "value_date"})


def serial_columns(head: TableHead) -> tuple[int, ...]:
    """The columns whose dates are numbers of days; none in nearly every file."""
    for at, cells in head.headings():
        places = [i for i, cell in enumerate(cells) if headings.role_of(cell) in DATE_ROLES]
        if places and len(cells) > 2:
            below = head.below(at)
            return tuple(i for i in places if _are_serials([row[i].strip() for row in below]))
    return ()


def dated_start(
    start: Callable[[], Iterator[Record]], head: TableHead
) -> Callable[[], Iterator[Record]] | None:
    """The same records with dates in place of numbers; None where the first of them have none."""
    columns = serial_columns(head)
    if not columns:
        return None

    def records() -> Iterator[Record]:
        for line, cells in start():
            yield (
                line,
                [_date_text(cell) if i in columns else cell for i, cell in enumerate(cells)],
            )

    return records


def _are_serials(column: Sequence[str]) -> bool:
    filled = [text for text in column if text]
    return bool(filled) and all(map(_is_serial, filled))


def _is_serial(text: str) -> bool:
    whole = text.partition(".")[0]
    return len(whole) == 5 and whole.isdigit() and SERIAL_MIN <= int(whole) <= SERIAL_MAX


def _date_text(cell: str) -> str:
    text = cell.strip()
    if not _is_serial(text):
        return cell
    return (EPOCH + timedelta(days=int(text.partition(".")[0]))).isoformat()
