"""Columns by what they hold: the headings of a table that has none, or none that is known.

Cells of many lines that stand below each other are a column. What a column is follows from its cells and from those
beside it: names are words that differ from row to row, limits are two numbers of which the first is smaller and
between which most values lie, a flag stands where a value is out of its range. Names of tests that are known help and
are not needed. Headings are asked only which of several columns of numbers holds earlier results.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from itertools import pairwise

import msgspec

from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.labs.analytes import is_name
from stateward.pipelines.labs.normalize import unit_in_name
from stateward.pipelines.labs.pdf.cells import NUMERIC, cells, is_flag, split_value, without_leaders
from stateward.pipelines.labs.pdf.headings import COUNTER, DATE, UNKNOWN, Heading
from stateward.pipelines.labs.pdf.row import is_administrative
from stateward.pipelines.labs.pdf.sentences import is_limit
from stateward.pipelines.labs.ranges import flag_of, read_range
from stateward.pipelines.labs.table import limits
from stateward.pipelines.labs.units import is_known_unit
from stateward.pipelines.labs.values import read_value
from stateward.pipelines.labs.words import column_of, flag_of_words, ordinal_of

LINES_MIN = 4  # of a table without headings
MEASURED_MIN = 4  # of them that have a unit or a range, where fewer names are known
NAMES_MIN = 3  # of them that begin with a name that is known
SHARE_MIN = 0.6  # of the cells of a column that are what the column is said to be
CROSSING_MAX = 0.12  # of the lines: so many cells may reach over the gap between two columns
STEP = 1.0  # points between the places at which a gap is looked for
BESIDE_MAX = 30.0  # points between a column and its date, where there is one for each
GAP_MIN = 2.0  # points without a cell between two columns
LIMITS_MIN = 3  # rows with both limits, before two columns of numbers are taken for those
INSIDE_MIN = 0.4  # of the values that lie between their limits
TITLES_MAX = 2  # lines above the first row that belong to it: a section
_COMPARED = re.compile(r"[(\[]?\s?[<>≤≥]")


Test = Callable[[str], object]  # whether a text is something


class Cell(msgspec.Struct, frozen=True):
    text: str
    x0: float
    x1: float


def content_headings(body: Sequence[PdfLine]) -> list[Heading]:
    """The columns of the table that lines make up, as headings would name them; none if they make up no table."""
    lines = [
        found
        for line in body
        if _is_row(found := _cells(line)) and not is_administrative(line.text)
    ]
    known = sum(any(is_name(without_leaders(cell.text)) for cell in line) for line in lines)
    measured = sum(_is_measured(line) for line in lines)
    if len(lines) < LINES_MIN or (known < NAMES_MIN and measured < MEASURED_MIN):
        return []
    columns = [
        [[cell for cell in line if left <= (cell.x0 + cell.x1) / 2 < right] for line in lines]
        for left, right in spans_of(lines)
    ]
    columns = [column for column in columns if any(column)]
    roles = _Roles([[_text(found) for found in column] for column in columns]).told()
    if not {"test", "value"} <= set(roles):
        return []
    headings = [
        Heading(
            role,
            min(cell.x0 for found in column for cell in found),
            max(cell.x1 for found in column for cell in found),
        )
        for role, column in zip(roles, columns, strict=True)
    ]
    return _with_earlier(_with_dates(headings, body), body)


def lines_of_table(body: Sequence[PdfLine]) -> list[PdfLine]:
    """The lines of a table whose headings are not known, without those and what stands above.

    Above its first number may stand a section, and results in words, which other rows have, too.
    """
    start = next((at for at, line in enumerate(body) if _is_row(_cells(line))), 0)
    words = {cell.text for line in body[start:] for cell in _cells(line)[1:]}
    titles = 0
    while start > 0 and titles < TITLES_MAX:
        others = _cells(body[start - 1])[1:]
        if others and not any(cell.text in words or ordinal_of(cell.text) for cell in others):
            break
        titles = 0 if others else titles + 1
        start -= 1
    return list(body[start:])


def _text(found: Sequence[Cell]) -> str:
    return " ".join(cell.text for cell in found)


def _with_dates(headings: list[Heading], body: Sequence[PdfLine]) -> list[Heading]:
    """Columns of numbers below a line of dates hold the results of those days."""
    numbers = [
        at for at, each in enumerate(headings) if each.role in ("value", "previous", UNKNOWN)
    ]
    for line in body:
        days = [
            [cell for cell in told if DATE.fullmatch(cell.text)]
            for told in (_cells(line), _heading_words(line))
        ]
        told = max(days, key=len)
        found = {
            at: day.text
            for at in numbers
            for day in told
            if day.x0 < headings[at].x1 and day.x1 > headings[at].x0
        }
        pairs = [*zip(numbers, told, strict=False)] if len(told) == len(numbers) else []
        if all(
            day.x0 - headings[at].x1 < BESIDE_MAX and headings[at].x0 - day.x1 < BESIDE_MAX
            for at, day in pairs
        ):  # as many as columns, and near: each is of the one in its place
            found = {**found, **{at: day.text for at, day in pairs}}
        if len(found) > 1 and len(set(found.values())) == len(found):
            return [
                Heading("date", each.x0, each.x1, found[at]) if at in found else each
                for at, each in enumerate(headings)
            ]
    return headings


def _with_earlier(headings: list[Heading], body: Sequence[PdfLine]) -> list[Heading]:
    """Columns that hold nothing known, below a heading for earlier results or the only day, are those."""
    first = next((at for at, line in enumerate(body) if _is_row(_cells(line))), 0)
    above = [cell for line in body[max(first - TITLES_MAX - 1, 0) : first] for cell in _cells(line)]
    told = [c for c in above if column_of(c.text) == "previous" or DATE.fullmatch(c.text)]
    return [
        Heading("previous", each.x0, each.x1)
        if each.role == UNKNOWN and any(c.x0 < each.x1 and c.x1 > each.x0 for c in told)
        else each
        for each in headings
    ]


def _heading_words(line: PdfLine) -> list[Cell]:
    """The words of a line without labels: a date may stand right behind another heading."""
    words = [] if ":" in line.text else line.words
    return [Cell(word.text, word.x0, word.x1) for word in words]


def _cells(line: PdfLine) -> list[Cell]:
    return [
        Cell(" ".join(word.text for word in cell), cell[0].x0, cell[-1].x1)
        for cell in cells(line.words)
    ]


def _is_row(line: Sequence[Cell]) -> bool:
    """Whether a line has words and a number, and a unit, a range, another number or a name that is known."""
    texts = [cell.text for cell in line]
    numbers = sum(map(_is_number, texts))
    is_named = any(is_wording(text) or is_name(without_leaders(text)) for text in texts)
    has_more = numbers > 1 or _is_measured(line) or any(is_name(without_leaders(t)) for t in texts)
    return len(texts) > 1 and numbers > 0 and has_more and is_named


def _is_measured(line: Sequence[Cell]) -> bool:
    """Whether a line has a unit or a range."""
    texts = [cell.text for cell in line]
    return any(
        is_known_unit(text) or _is_range(text) or split_value(text).unit or unit_in_name(text)
        for text in texts
        if not is_flag(text)
    )


def spans_of(lines: Sequence[Sequence[Cell]]) -> Iterator[tuple[float, float]]:
    """From where to where columns reach: between two of them hardly any cell stands.

    The few cells that stand in such a gap by themselves are a column, too: flags, of which a page may have one.
    """
    spans = [cell for line in lines for cell in line]
    start, end = min(cell.x0 for cell in spans), max(cell.x1 for cell in spans)
    allowed = CROSSING_MAX * len(lines)
    places = [start + STEP * at for at in range(int((end - start) / STEP) + 2)]
    is_free = [sum(cell.x0 <= place <= cell.x1 for cell in spans) <= allowed for place in places]
    borders, run = [start - 1.0], 0
    for place, free in zip(places, is_free, strict=True):
        if free:
            run += 1
        else:
            if run * STEP >= GAP_MIN and place - run * STEP > start:
                borders += _borders_in(spans, place - run * STEP, place)
            run = 0
    yield from pairwise([*borders, end + 1.0])


def _borders_in(spans: Sequence[Cell], start: float, end: float) -> list[float]:
    """The border in a gap between two columns; several, where cells stand in it by themselves."""
    inside = sorted(
        (cell.x0, cell.x1)
        for cell in spans
        if cell.x0 >= start + GAP_MIN and cell.x1 <= end - GAP_MIN
    )
    borders, reach = [], start
    for x0, x1 in inside:
        if x0 - reach >= GAP_MIN:
            borders.append((reach + x0) / 2)
        reach = max(reach, x1)
    borders.append((reach + end) / 2)
    return borders


class _Roles:
    """What each column of a table is, by its texts: one for each row, "" where the row has none."""

    def __init__(self, columns: Sequence[Sequence[str]]) -> None:
        self._columns = columns
        self._rows = len(columns[0])
        self._roles = [UNKNOWN] * len(columns)

    def told(self) -> list[str]:
        """The roles from left to right."""
        self._give("test", self._names())
        for at in self._open():
            if _is_counter(self._texts(at)):
                self._roles[at] = COUNTER
            elif at < self._at("test") and all(map(str.isdecimal, self._texts(at))):
                self._roles[at] = "local_code"
        self._give("range", self._best(is_limit, [at for at in self._open() if self._is_range(at)]))
        self._give("flag", self._flags())
        self._give("unit", self._best(is_known_unit, self._open()))
        numbers = [at for at in self._open() if self._share(at, _is_value) >= SHARE_MIN]
        if numbers:
            self._give_numbers(numbers)
        return self._roles

    def _give(self, role: str, at: int | None) -> None:
        if at is not None:
            self._roles[at] = role

    def _at(self, role: str) -> int:
        return self._roles.index(role) if role in self._roles else len(self._roles)

    def _open(self) -> list[int]:
        return [at for at, role in enumerate(self._roles) if role == UNKNOWN]

    def _texts(self, at: int) -> list[str]:
        return [text for text in self._columns[at] if text]

    def _share(self, at: int, test: Test) -> float:
        texts = self._texts(at)
        return sum(bool(test(text)) for text in texts) / len(texts)

    def _best(self, test: Test, columns: Sequence[int]) -> int | None:
        fitting = [at for at in columns if self._share(at, test) >= SHARE_MIN]
        key = lambda at: (round(self._share(at, test), 1), len(self._texts(at)), -at)  # noqa: E731
        return max(fitting, key=key, default=None)

    def _names(self) -> int | None:
        """Words that differ from row to row; of several such columns the one with known names and longer texts."""

        def points(at: int) -> float:
            texts = [without_leaders(text) for text in self._texts(at)]
            length = sum(map(len, texts)) / len(texts)
            return (
                len({*texts}) / self._rows
                + sum(map(is_name, texts)) / self._rows
                + min(length / 40, 0.5)
                - 0.05 * at
            )

        worded = [
            at
            for at in self._open()
            if self._share(at, lambda text: is_wording(text) or is_name(without_leaders(text)))
            >= SHARE_MIN
            and not self._is_range(at)
            and len(self._texts(at)) >= SHARE_MIN * self._rows
        ]
        return max(worded, key=points, default=None)

    def _is_range(self, at: int) -> bool:
        """Whether a column holds ranges: `< 5` is a number, too, so one has two limits, or another column numbers."""
        texts = self._texts(at)
        if any(map(_is_two_sided, texts)):
            return self._share(at, is_limit) >= SHARE_MIN and self._share(at, _is_value) < SHARE_MIN
        is_compared = self._share(at, lambda text: _COMPARED.match(text) is not None) > SHARE_MIN
        others = (n for n in self._open() if n != at and self._share(n, _is_value) >= SHARE_MIN)
        return is_compared and any(
            self._share(n, lambda text: _COMPARED.match(text) is not None) < 1 - SHARE_MIN
            for n in others
        )

    def _flags(self) -> int | None:
        fitting = [
            at
            for at in self._open()
            if self._share(at, is_flag) >= SHARE_MIN and self._share(at, _is_number) <= SHARE_MIN
        ]
        telling = [at for at in fitting if any(flag_of_words(t) != "N" for t in self._texts(at))]
        return self._best(is_flag, telling or fitting)  # `OK` in every row is a status

    def _give_numbers(self, numbers: Sequence[int]) -> None:
        """The column of values, and the limits where two columns hold those: as most rows agree with."""
        pairs: list[tuple[int, int] | None] = [None]
        if "range" not in self._roles:
            pairs += [pair for pair in pairwise(numbers) if self._are_limits(*pair)]
        readings = [
            (value, pair)
            for value in numbers
            for pair in pairs
            if pair is None or value not in pair
        ]
        value, pair = max(
            readings, key=lambda each: (round(self._agreement(*each), 2), -numbers.index(each[0]))
        )
        self._roles[value] = "value"
        if pair is not None:
            self._roles[pair[0]], self._roles[pair[1]] = "low", "high"

    def _are_limits(self, low: int, high: int) -> bool:
        """Whether of two columns the first is always smaller."""
        told = [
            (_number(one), _number(two))
            for one, two in zip(self._columns[low], self._columns[high], strict=True)
            if one and two
        ]
        return len(told) >= LIMITS_MIN and all(
            one is not None and two is not None and one < two for one, two in told
        )

    def _agreement(self, value: int, pair: tuple[int, int] | None) -> float:
        """How well rows agree with a column as that of the values, and two as their limits."""
        points, bounded, inside = 0.0, 0, 0
        has_flags = "flag" in self._roles or any(split_value(t).flag for t in self._texts(value))
        for at, text in enumerate(self._columns[value]):
            if not text:
                continue
            parts = split_value(text)
            points += 1
            range_ = self._cell("range", at) or parts.range
            if pair is not None:
                range_ = limits(self._columns[pair[0]][at], self._columns[pair[1]][at])
                points += 0.5 * bool(range_)
            side = flag_of(read_value(parts.value), read_range(range_))
            bounded += bool(side)
            inside += side == "N"
            is_flagged = bool(parts.flag or self._cell("flag", at))
            if side and has_flags:
                points += 0.5 if is_flagged == (side != "N") else -0.5
        if pair is not None and inside < INSIDE_MIN * bounded:
            return -1.0
        return points / self._rows

    def _cell(self, role: str, row: int) -> str:
        return self._columns[self._at(role)][row] if role in self._roles else ""


def _number(text: str) -> Decimal | None:
    return read_value(split_value(text).value).number


def _is_counter(column: Sequence[str]) -> bool:
    """Whether a column numbers the rows: 1, 2, 3 and so on."""
    numbers = [text.rstrip(".)") for text in column]
    if len(numbers) < LINES_MIN or not all(map(str.isdecimal, numbers)):
        return False
    return all(int(second) - int(first) == 1 for first, second in pairwise(numbers))


def _is_number(text: str) -> bool:
    """Whether a cell is a number, maybe with its flag and unit; not a range of two limits."""
    return read_value(split_value(text).value).kind in ("quantity", "titre") and not _is_two_sided(
        text
    )


def _is_value(text: str) -> bool:
    return _is_number(text) or bool(ordinal_of(text))


def _is_range(text: str) -> bool:
    return read_range(text).kind in ("interval", "titre")


def _is_two_sided(text: str) -> bool:
    told = read_range(text)
    return told.kind == "interval" and told.low is not None and told.high is not None


def is_wording(text: str) -> bool:
    """Whether a text is words, and no unit, flag, range or number."""
    is_other = (
        is_known_unit(text) or is_flag(text) or read_value(text).kind in NUMERIC or _is_range(text)
    )
    return sum(map(str.isalpha, text)) > 1 and not is_other
