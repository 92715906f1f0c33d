"""Days whose year, month and day stand in three columns: the same records with the whole day in the last of these."""

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import msgspec

from stateward.pipelines.kit import money
from stateward.pipelines.kit.dates import CENTURY_PIVOT
from stateward.pipelines.kit.delimited import Record
from stateward.pipelines.statements import headings
from stateward.pipelines.statements.table_cells import TableHead

REIWA = 2018  # the year before the first of the present emperor
REIWA_MAX = 9  # a later short year may be one of the century, or of an emperor before
SHORT_YEAR_MAX = 99
DATE_NAME = "date"
Cells = Sequence[str]
Start = Callable[[], Iterator[Record]]


class DayColumns(NamedTuple):
    """Where the parts of a day stand; `is_japanese` where a short year may be that of an emperor."""

    year: int
    month: int
    day: int
    is_japanese: bool


def start_with_whole_days(start: Start, head: TableHead) -> Start | None:
    """The same records with whole days, or None where the first of them print no day in three columns."""
    found = _day_columns(head)
    if found is None:
        return None

    def records() -> Iterator[Record]:
        for line, cells in start():
            yield line, _with_day(cells, found)

    return records


def named_parts(cells: Cells) -> DayColumns | None:
    """The columns that a heading calls year, month and day, each once; None if it does not.

    What else the three are called must be the same: 操作日(年), 操作日(月), 操作日(日).
    """
    places: dict[str, list[list[int]]] = {}
    for place, cell in enumerate(cells):
        for rest, part in _named_part(headings.simplify(cell)):
            places.setdefault(rest, [[], [], []])[part].append(place)
    whole = [found for found in places.values() if all(len(each) == 1 for each in found)]
    if len(whole) != 1:
        return None
    year, month, day = (each[0] for each in whole[0])
    return DayColumns(year, month, day, is_japanese=headings.simplify(cells[year]).endswith("年"))


def _named_part(name: str) -> Iterator[tuple[str, int]]:
    """What a heading says besides the part of a day that it ends with, and which part that is."""
    if not name.endswith(_endings()):  # nearly every cell of a table: asked once, not word by word
        return
    for part, known in enumerate(_part_names()):
        for word in known:
            rest = name.removesuffix(word)
            is_apart = not rest or rest.endswith(" ") or word > "\u3000"
            if rest != name and is_apart:
                yield rest.strip(), part


def _day_columns(head: TableHead) -> DayColumns | None:
    for at, cells in head.headings():
        found = named_parts(cells)
        if found is None:
            continue
        below = head.below(at)
        whole = [row for row in below if _day_of(row, found)]
        # A row that is a total has no day; most have one, or the columns are of something else.
        return found if whole and 2 * len(whole) > len(below) else None
    return None


def has_open_years(head: TableHead) -> bool:
    """Whether a short year may be one of an emperor or of the century: 30 is 2018 or 2030, and no row tells which."""
    found = _day_columns(head)
    if found is None or not found.is_japanese:
        return False
    texts = (
        money.western_digits(row[found.year].strip()) for row in head.rows if _has_day(row, found)
    )
    return any(REIWA_MAX < int(text) <= SHORT_YEAR_MAX for text in texts)


def _has_day(row: Cells, found: DayColumns) -> bool:
    return len(row) > max(found[:3]) and bool(_day_of(row, found))


def _with_day(cells: list[str], found: DayColumns) -> list[str]:
    if len(cells) <= max(found[:3]):
        return cells
    is_heading = named_parts(cells) is not None
    day = DATE_NAME if is_heading else _day_of(cells, found)
    if not day:
        return cells
    rest = ["" if i in (found.year, found.month) else cell for i, cell in enumerate(cells)]
    rest[found.day] = day
    return rest


def _day_of(cells: Cells, found: DayColumns) -> str:
    """The day of a row in ISO; "" if its three cells are none."""
    texts = [money.western_digits(cells[i].strip()) for i in found[:3]]
    if not all(text.isdecimal() and len(text) in (1, 2, 4) for text in texts):
        return ""
    year, month, day = map(int, texts)
    if year <= SHORT_YEAR_MAX:
        is_of_last = year >= CENTURY_PIVOT
        is_of_emperor = found.is_japanese and year <= REIWA_MAX
        year += REIWA if is_of_emperor else 1900 if is_of_last else 2000
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""


@cache
def _endings() -> tuple[str, ...]:
    return tuple(frozenset().union(*_part_names()))


@cache
def _part_names() -> tuple[frozenset[str], ...]:
    data = msgspec.yaml.decode((files(__package__) / "headings.yaml").read_text("utf-8"))
    parts = data["day_parts"]
    return tuple(
        frozenset(map(headings.simplify, parts[part])) for part in ("year", "month", "day")
    )
