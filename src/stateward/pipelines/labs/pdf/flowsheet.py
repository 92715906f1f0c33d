"""Flow sheets: a column for each test and a row for each date.

    Date/Time           Sodium     Potassium
                        mmol/L     mmol/L
                        135-146    3.5-5.3
    08/14/2026 05:30    166 H      4.6

A line of known names above lines that begin with a date is one, and so is one of any names behind a heading for the
date; what stands between is the unit and range of a column.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.labs.analytes import is_name
from stateward.pipelines.labs.normalize import bare_name, unit_in_name
from stateward.pipelines.labs.pdf.cells import (
    cells,
    is_flag,
    is_result,
    split_value,
    without_leaders,
)
from stateward.pipelines.labs.pdf.headings import DATE
from stateward.pipelines.labs.pdf.row import Row
from stateward.pipelines.labs.ranges import read_range
from stateward.pipelines.labs.units import is_known_unit
from stateward.pipelines.labs.words import column_of

NAMES_MIN = 2
COLUMNS_MIN = 4  # with that of the dates, where the names are not known
NAMES_SHARE = 0.6  # of the cells of the line that names the tests
BETWEEN_MAX = 4  # lines of units and ranges above the first date
_BRACKETED = re.compile(r"\([^\W\d][^()]*\)|\[[^\W\d][^\[\]]*\]|\(°[CF]\)|\(%\)")  # a unit: `(MGD)`
TIME = re.compile(r"[ ,T]*[0-2]?[0-9][:.h][0-5][0-9](?::[0-5][0-9])?(?: ?[AaPp][Mm])?")


class _Test(msgspec.Struct):
    """One column: the name of its test, where it stands, and what the lines below say of all its values."""

    name: str
    x0: float
    x1: float
    words: list[PdfWord]
    unit: str = ""
    range: str = ""


def flowsheet_rows(page: Sequence[PdfLine]) -> tuple[list[Row], list[PdfLine]]:
    """The results of the flow sheets of a page, and the lines that are part of none."""
    rows: list[Row] = []
    others: list[PdfLine] = []
    tests: list[_Test] = []
    above = 0  # lines since the names without a date
    for line in page:
        if found := _names(line):
            tests, above = found, 0
            others.append(line)
            continue
        dated = list(_results_of_day(line, tests)) if tests else []
        if dated:
            rows += dated
            above = 0
            continue
        others.append(line)
        above += 1
        if tests and (above > BETWEEN_MAX or not _describe(line, tests)):
            tests = []
    used = {id(word) for row in rows for word in row.words}
    return rows, [line for line in others if not any(id(word) in used for word in line.words)]


def _names(line: PdfLine) -> list[_Test]:
    """The tests that a line names, if it is made of hardly anything else; not one with a result in it."""
    found = cells(line.words)
    texts = [without_leaders(" ".join(word.text for word in cell)) for cell in found]
    known = [at for at, text in enumerate(texts) if is_name(bare_name(text))]
    if any(is_result(split_value(text).value) for text in texts):
        return []
    if len(known) < NAMES_MIN or len(known) < NAMES_SHARE * len(texts):
        if not _are_columns_of_days(texts):
            return []
        known = [1]
    return [
        _Test(texts[at], found[at][0].x0, found[at][-1].x1, found[at], unit_in_name(texts[at]))
        for at in range(known[0], len(texts))
    ]


def _are_columns_of_days(texts: Sequence[str]) -> bool:
    """Whether a line is a heading for dates and columns that are named by nothing a table of one row a test has."""
    return (
        len(texts) >= COLUMNS_MIN
        and column_of(texts[0]) == "collected"
        and not any(column_of(text) for text in texts[1:])
    )


def _describe(line: PdfLine, tests: Sequence[_Test]) -> bool:
    """Take a line of units or ranges, each below its test; False for another line."""
    left = min(test.x0 for test in tests)
    words = [
        word for word in line.words if word.x1 >= left
    ]  # before those may stand a label: `Units:`
    placed = _cells_by_test(cells(words), tests)
    if placed is None:
        return False
    told = {at: " ".join(word.text for word in cell) for at, cell in placed.items()}
    if told and all(is_known_unit(text) or _BRACKETED.fullmatch(text) for text in told.values()):
        for at, text in told.items():
            tests[at].unit = text.strip("()[]") if _BRACKETED.fullmatch(text) else text
            tests[at].words = [*tests[at].words, *placed[at]]
        return True
    if told and all(read_range(text).kind in ("interval", "none") for text in told.values()):
        for at, text in told.items():
            tests[at].range = text
            tests[at].words = [*tests[at].words, *placed[at]]
        return True
    return False


def _results_of_day(line: PdfLine, tests: Sequence[_Test]) -> Iterator[Row]:
    """The results of a line that begins with a date; none of another line."""
    left = min(test.x0 for test in tests)
    head = " ".join(word.text for word in line.words if word.x1 < left)
    date = DATE.search(head)
    if date is None:
        return
    time = TIME.match(head[date.end() :])
    when = date[0] + (f" {time[0].strip(' ,T')}" if time else "")
    placed = _cells_by_test(cells([word for word in line.words if word.x1 >= left]), tests)
    for at, cell in (placed or {}).items():
        test, text = tests[at], " ".join(word.text for word in cell)
        row = Row(
            test.name,
            line.page,
            line.base,
            line.height,
            line.x0,
            [*cell, *test.words],
            {"unit": test.unit, "range": test.range},
            [(text, when)],
        )
        row.start = line.base
        row.has_unsure_code = not all(is_name(bare_name(each.name)) for each in tests[:NAMES_MIN])
        yield row


def _cells_by_test(
    found: Sequence[Sequence[PdfWord]], tests: Sequence[_Test]
) -> dict[int, list[PdfWord]] | None:
    """Cells by the test that they stand below: a flag apart goes with its value; None if one stands below none."""
    placed: dict[int, list[PdfWord]] = {}
    reach = min((b.x0 - a.x0 for a, b in pairwise(tests)), default=60.0) / 2
    for cell in found:
        middle = (cell[0].x0 + cell[-1].x1) / 2
        gaps = [
            min(
                abs(test.x0 - cell[0].x0),
                abs(test.x1 - cell[-1].x1),
                abs((test.x0 + test.x1) / 2 - middle),
            )
            for test in tests
        ]
        at = min(range(len(gaps)), key=lambda n: gaps[n])
        is_mark = is_flag(" ".join(word.text for word in cell))
        if is_mark and placed and cell[0].x0 - placed[max(placed)][-1].x1 < gaps[at]:
            at = max(
                placed
            )  # a sign closer to another column, such as `--`, is no flag of this one
        elif gaps[at] > reach:
            return None
        placed.setdefault(at, []).extend(cell)
    return placed
