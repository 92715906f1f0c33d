"""Columns by what they hold: the headings of a table that has none, or none that is known.

Cells of many lines that stand below each other are a column. What a column is follows from its cells: names of tests,
numbers, units, ranges, flags. Nothing here reads a heading, so that what headings say can be compared with it.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import msgspec

from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.labs.analytes import is_name
from stateward.pipelines.labs.pdf.cells import NUMERIC, cells, is_flag, split_value, without_leaders
from stateward.pipelines.labs.pdf.headings import COUNTER, DATE, UNKNOWN, Heading
from stateward.pipelines.labs.pdf.row import is_administrative
from stateward.pipelines.labs.ranges import read_range
from stateward.pipelines.labs.units import is_known_unit
from stateward.pipelines.labs.values import read_value
from stateward.pipelines.labs.words import flag_of_words

LINES_MIN = 4  # of a table without headings
NAMES_MIN = 3  # of them that begin with a name that is known
SHARE_MIN = 0.6  # of the cells of a column that are what the column is said to be
CROSSING_MAX = 0.12  # of the lines: so many cells may reach over the gap between two columns
STEP = 1.0  # points between the places at which a gap is looked for
BESIDE_MAX = 30.0  # points between a column and its date, where there is one for each
GAP_MIN = 2.0  # points without a cell between two columns


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
    if len(lines) < LINES_MIN or known < NAMES_MIN:
        return []
    columns = [
        [cell for line in lines for cell in line if left <= (cell.x0 + cell.x1) / 2 < right]
        for left, right in spans_of(lines)
    ]
    columns = [column for column in columns if column]
    roles = _roles([[cell.text for cell in column] for column in columns])
    if not {"test", "value"} <= set(roles):
        return []
    headings = [
        Heading(role, min(cell.x0 for cell in column), max(cell.x1 for cell in column))
        for role, column in zip(roles, columns, strict=True)
    ]
    return _with_dates(headings, columns, body)


def without_headings(body: Sequence[PdfLine]) -> list[PdfLine]:
    """The lines of a table whose headings are not known, without those: cells of words above the first row."""
    first = next((at for at, line in enumerate(body) if _is_row(_cells(line))), 0)
    above = {line.text for line in body[:first] if len(cells(line.words)) > 1}
    headings = {text for text in above if not any(map(str.isdigit, text))}
    return [line for line in body if line.text not in headings]


def _with_dates(
    headings: list[Heading], columns: Sequence[Sequence[Cell]], body: Sequence[PdfLine]
) -> list[Heading]:
    """Columns of numbers below a line of dates hold the results of those days."""
    numbers = [
        at for at, column in enumerate(columns) if _is_mostly([c.text for c in column], _is_number)
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
    """Whether a line has words, and a number with a unit or a range."""
    texts = [cell.text for cell in line]
    has_number = any(map(_is_number, texts))
    has_more = any(
        is_known_unit(text) or _is_range(text) or split_value(text).unit for text in texts
    )
    return len(texts) > 1 and has_number and has_more and any(map(_is_words, texts))


def spans_of(lines: Sequence[Sequence[Cell]]) -> Iterator[tuple[float, float]]:
    """From where to where columns reach: between two of them hardly any cell stands."""
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
                borders.append(place - run * STEP / 2)
            run = 0
    yield from pairwise([*borders, end + 1.0])


def _roles(columns: Sequence[Sequence[str]]) -> list[str]:
    """What each column is: the names first, then what most cells of a column are; the first of several numbers."""
    names = [sum(is_name(without_leaders(text)) for text in column) for column in columns]
    named = [at for at, count in enumerate(names) if count >= SHARE_MIN * max(names)]
    # Codes such as WBC are known names too: the column of names is the one with the longer texts.
    at_test = max(named, key=lambda at: sum(map(len, columns[at])) / len(columns[at]))
    tests: dict[str, Callable[[str], bool]] = {
        "range": _is_range,
        "flag": is_flag,  # before units: H is henry, and L a litre
        "unit": is_known_unit,
        "value": _is_number,
    }
    shares = [
        {role: sum(map(test, column)) / len(column) for role, test in tests.items()}
        for column in columns
    ]
    roles = [UNKNOWN] * len(columns)
    roles[at_test] = "test"
    for at, column in enumerate(columns):
        if at != at_test and _is_counter(column):
            roles[at] = COUNTER
    for role in tests:
        rest = [at for at, told in enumerate(roles) if told == UNKNOWN]
        fitting = [at for at in rest if shares[at][role] >= SHARE_MIN]
        if (
            role == "range"
        ):  # `< 5` is a range and a number: a column of ranges has two limits somewhere
            fitting = [at for at in fitting if any(map(_is_two_sided, columns[at]))]
        if role == "flag":
            fitting = [at for at in fitting if not _is_mostly(columns[at], _is_number)]
            telling = [at for at in fitting if any(flag_of_words(t) != "N" for t in columns[at])]
            fitting = telling or fitting  # `OK` in every row is a status
        if fitting:
            best = max(fitting, key=lambda at: (round(shares[at][role], 1), len(columns[at]), -at))
            roles[fitting[0] if role == "value" else best] = role
    return roles


def _is_counter(column: Sequence[str]) -> bool:
    """Whether a column numbers the rows: 1, 2, 3 and so on."""
    numbers = [text.rstrip(".)") for text in column]
    if len(numbers) < LINES_MIN or not all(map(str.isdecimal, numbers)):
        return False
    return all(int(second) - int(first) == 1 for first, second in pairwise(numbers))


def _is_mostly(column: Sequence[str], test: Callable[[str], bool]) -> bool:
    return sum(map(test, column)) > SHARE_MIN * len(column)


def _is_number(text: str) -> bool:
    """Whether a cell is a number, maybe with its flag and unit; not a range of two limits."""
    return read_value(split_value(text).value).kind in ("quantity", "titre") and not _is_two_sided(
        text
    )


def _is_range(text: str) -> bool:
    return read_range(text).kind in ("interval", "titre")


def _is_two_sided(text: str) -> bool:
    told = read_range(text)
    return told.kind == "interval" and told.low is not None and told.high is not None


def _is_words(text: str) -> bool:
    is_other = is_known_unit(text) or is_flag(text) or read_value(text).kind in NUMERIC
    return sum(map(str.isalpha, text)) > 1 and not is_other
