"""Which words of a table belong to which column.

Headings say which columns there are and roughly where; where one ends and the next begins is where the fewest words of
the table are, between the middles of the two headings.
"""

from collections.abc import Collection, Sequence
from itertools import pairwise

import msgspec
from msgspec.structs import replace

from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.labs.pdf.cells import cells, is_flag
from stateward.pipelines.labs.pdf.columns import Cell, is_wording, spans_of
from stateward.pipelines.labs.pdf.headings import COUNTER, UNKNOWN, Heading
from stateward.pipelines.labs.pdf.legends import is_legend
from stateward.pipelines.labs.ranges import read_range
from stateward.pipelines.labs.units import is_known_unit
from stateward.pipelines.labs.values import read_value
from stateward.pipelines.labs.words import ANTIBIOGRAMS, column_of, flag_of_words, fold

ELSEWHERE = "elsewhere"  # the role of a column that belongs to another value of the row
ROLE_SHARE = 0.6  # of the cells of a column with an unknown heading that tell what it holds
LIMIT_ROWS_MIN = 3  # with two numbers each, before two unknown columns are taken for limits
RUNNING_WORDS_MIN = 4
CELL_LINES_MIN = 4  # from which columns are told by their cells alone
FLUSH = 1.0  # points
FLUSH_MIN = 3  # words
EVERYWHERE = 1e6  # points: beyond any paper
NAMES_MIN = 2  # that differ, below the heading of a second table
NAMES_SHARE = 0.6  # of the cells there
FLAGS_MIN = 2  # below each other, before they are a column
FLAGS_OFF = 4.0  # points between the middles of two of them
ONE_OF_SEVERAL = frozenset({"value", "date"})
SIDES_OF_RANGE = frozenset({"H", "HH", "L", "LL", "A", "AA"})
STEP = 1.0  # points between the places at which a border is tried


class Column(msgspec.Struct, frozen=True):
    """A column: what it holds, and from where to where."""

    role: str
    left: float
    right: float
    text: str = ""


class Layout(msgspec.Struct, frozen=True):
    """The columns of one table from left to right, and the part of the page that is theirs."""

    columns: tuple[Column, ...]
    left: float
    right: float
    has_unsure_limits: bool = False  # no heading says that they are limits
    is_antibiogram: bool = False
    title: str = ""  # a section that stands where the heading of the names does: `HAEMATOLOGY   Result   Range`

    @property
    def headings(self) -> tuple[str, ...]:
        """What tells a table from others of the report: its headings, or what its columns hold where it has none.

        The name of a section may stand above the tests, and days above the values of one.
        """
        return tuple(
            each.role if each.role in ("test", "date") else fold(each.text) or each.role
            for each in self.columns
        )

    @property
    def is_one_of_several(self) -> bool:
        """Whether another table stands beside it."""
        return self.left > -EVERYWHERE or self.right < EVERYWHERE

    def with_unit(self, unit: str) -> "Layout":
        """The layout from a line on that tells another unit of all values below it."""
        columns = (
            replace(each, text=unit) if each.role == "value" else each for each in self.columns
        )
        return replace(self, columns=tuple(columns))

    def words(self, line: PdfLine) -> list[PdfWord]:
        """The words of a line that stand in this table's part of the page."""
        return [word for word in line.words if self.left <= (word.x0 + word.x1) / 2 < self.right]

    def column_at(self, word: PdfWord) -> int:
        """The column that a word stands in, or overlaps most."""
        shares = [min(word.x1, each.right) - max(word.x0, each.left) for each in self.columns]
        return max(range(len(shares)), key=lambda at: shares[at])


def layouts_of(headings: Sequence[Heading], body: Sequence[PdfLine]) -> list[Layout]:
    """The tables that one line of headings names: several, side by side, where it names the test more than once."""
    ordered = _with_second_names(sorted(headings, key=lambda each: each.x0), body)
    groups: list[list[Heading]] = []
    for heading in ordered:
        is_first = not groups or (
            heading.role == "test" and any(each.role == "test" for each in groups[-1])
        )
        if is_first:
            is_numbered = bool(groups) and groups[-1][-1].role == COUNTER and len(groups[-1]) > 1
            groups.append([groups[-1].pop()] if is_numbered else [])
        groups[-1].append(heading)
    edges = [-EVERYWHERE, *(group[0].x0 - 3 for group in groups[1:]), EVERYWHERE]
    return [
        layout
        for group, left, right in zip(groups, edges, edges[1:], strict=False)
        for layout in _by_values(_layout(group, body, left, right))
    ]


def _with_second_names(ordered: list[Heading], body: Sequence[PdfLine]) -> list[Heading]:
    """The headings with an unknown one between two of values as that of other names, where words differ below it.

    `Test   Result   Differential count   Result`: what stands behind is of a second table.
    """
    found = [*ordered]
    for at in range(1, len(ordered) - 1):
        before = [each.role for each in found[:at]]
        each, behind = ordered[at], ordered[at + 1]
        if each.role != UNKNOWN or behind.role != "value" or not {"test", "value"} <= {*before}:
            continue
        left = (ordered[at - 1].x1 + each.x0) / 2
        texts = [
            " ".join(word.text for word in cell)
            for line in body
            for cell in cells(line.words)
            if left <= cell[0].x0 < behind.x0 and cell[0].x0 < each.x1
        ]
        worded = {text for text in texts if is_wording(text)}
        if len(worded) >= max(NAMES_MIN, NAMES_SHARE * len(texts)):
            found[at] = replace(each, role="test")
    return found


def _by_values(layout: Layout) -> list[Layout]:
    """One layout for each column of values that has a unit or range of its own; the name is that of all of them."""
    columns = layout.columns
    values = [at for at, each in enumerate(columns) if each.role == "value"]
    if len(values) < 2:
        return [layout]
    parts = [
        range(start, end) for start, end in zip(values, [*values[1:], len(columns)], strict=True)
    ]
    is_whole = all(
        columns[part[0]].text or {"unit", "range"} & {columns[at].role for at in part}
        for part in parts
    )
    if not is_whole:
        return [layout]
    others = set(range(values[0], len(columns)))
    return [
        replace(
            layout,
            columns=tuple(
                Column(ELSEWHERE, each.left, each.right) if at in others - set(part) else each
                for at, each in enumerate(columns)
            ),
        )
        for part in parts
    ]


def _layout(group: list[Heading], body: Sequence[PdfLine], left: float, right: float) -> Layout:
    if all(each.role != "test" for each in group):
        # The column of names has no heading: it begins at the margin.
        group = [
            Heading(
                "test",
                min(min((line.x0 for line in body), default=0.0), group[0].x0 - 20),
                group[0].x0 - 10,
            ),
            *group,
        ]
    group = sorted(group, key=lambda each: each.x0)
    lines = [
        [
            inside
            for cell in found
            if not _is_running_text(cell, group)
            and (inside := [word for word in cell if left <= (word.x0 + word.x1) / 2 < right])
        ]
        for line in body
        if len(found := cells(line.words)) > 1 and not is_legend(line.text)
    ]
    group = sorted([*group, *_flags_without_heading(group, lines)], key=lambda each: each.x0)
    borders = _borders_by_cells(group, lines)
    if not borders:
        spans = [(word.x0, word.x1) for line in lines for cell in line for word in cell]
        borders = [_border(first, second, spans) for first, second in pairwise(group)]
    edges = [left, *borders, right]
    columns = tuple(
        Column(heading.role, start, end, _column_text(heading))
        for heading, start, end in zip(group, edges, edges[1:], strict=False)
    )
    is_antibiogram = any(each.role == "test" and fold(each.text) in ANTIBIOGRAMS for each in group)
    title = next(
        (each.text for each in group if each.role == "test" and not column_of(each.text)), ""
    )
    return _with_roles(
        Layout(columns, left, right, is_antibiogram=is_antibiogram, title=title), body
    )


def _flags_without_heading(
    group: Sequence[Heading], lines: Sequence[Sequence[Sequence[PdfWord]]]
) -> list[Heading]:
    """A column of flags that no heading stands above: cells below each other that hold nothing else."""
    roles = [each.role for each in group]
    # A flag between the values of several days is that of one of them.
    if "flag" in roles or "previous" in roles or sum(role in ONE_OF_SEVERAL for role in roles) > 1:
        return []
    behind = [cell for line in lines for cell in line[1:]]
    flags = [
        cell[0]
        for cell in behind
        if len(cell) == 1
        and flag_of_words(cell[0].text) in SIDES_OF_RANGE
        and not any(each.x0 < cell[0].x1 and each.x1 > cell[0].x0 for each in group)
    ]
    for flag in flags:
        below = [each for each in flags if abs(_center(each) - _center(flag)) < FLAGS_OFF]
        x0, x1 = min(each.x0 for each in below), max(each.x1 for each in below)
        others = sum(cell[0].x0 < x1 and cell[-1].x1 > x0 for cell in behind) - len(below)
        if len(below) >= FLAGS_MIN and not others:
            return [Heading("flag", x0, x1)]
    return []


def _center(word: PdfWord) -> float:
    return (word.x0 + word.x1) / 2


def _borders_by_cells(
    group: Sequence[Heading], lines: Sequence[Sequence[Sequence[PdfWord]]]
) -> list[float]:
    """The gaps between the columns that cells make up, where there are as many as headings; none if they disagree.

    A heading in the middle of a wide column may stand over none of its cells, and nearer to those of the next one.
    """
    rows = [[Cell("", cell[0].x0, cell[-1].x1) for cell in line] for line in lines if len(line) > 1]
    if len(rows) < CELL_LINES_MIN:
        return []
    spans = [*spans_of(rows)]
    borders = [end for _, end in spans[:-1]]
    edges = [-EVERYWHERE, *borders, EVERYWHERE]
    is_told = len(spans) == len(group) and all(
        start <= heading.center < end
        for heading, start, end in zip(group, edges, edges[1:], strict=False)
    )
    return borders if is_told else _borders_by_nearest(group, rows, spans)


def _borders_by_nearest(
    group: Sequence[Heading], rows: Sequence[Sequence[Cell]], spans: Sequence[tuple[float, float]]
) -> list[float]:
    """The same where columns are empty: each column of cells is that of the nearest heading, and none of two."""
    if len(spans) >= len(group):
        return []
    reaches = [(each.x0, each.x1) for each in group]
    last = -1
    for start, end in spans:
        inside = [c for row in rows for c in row if start <= (c.x0 + c.x1) / 2 < end]
        if not inside:
            return []
        usual = sorted(inside, key=lambda cell: cell.x0 + cell.x1)[len(inside) // 2]
        # A few cells of a column that is nearly empty may stand apart from the others.
        inside = [cell for cell in inside if cell.x0 < usual.x1 and cell.x1 > usual.x0]
        x0, x1 = min(cell.x0 for cell in inside), max(cell.x1 for cell in inside)
        nearest = min(range(len(group)), key=lambda at: _distance(group[at], x0, x1))
        if nearest <= last:
            return []
        reaches[nearest], last = (x0, x1), nearest
    gaps = [(first[1], second[0]) for first, second in pairwise(reaches)]
    return [(right + left) / 2 for right, left in gaps] if all(r <= x for r, x in gaps) else []


def _distance(heading: Heading, x0: float, x1: float) -> float:
    """How far the middle of a heading is from that of cells: nothing above them."""
    return 0.0 if x0 <= heading.center <= x1 else abs(heading.center - (x0 + x1) / 2)


def _is_running_text(cell: Sequence[PdfWord], group: Sequence[Heading]) -> bool:
    """Whether a cell runs below several headings: a remark, which says nothing of where columns end."""
    beneath = sum(cell[0].x0 < each.center < cell[-1].x1 for each in group)
    return beneath > 1 and len(cell) > RUNNING_WORDS_MIN


def _with_roles(layout: Layout, body: Sequence[PdfLine]) -> Layout:
    """The layout with columns of an unknown heading as what most of their cells are: units, ranges or flags."""
    if all(each.role != UNKNOWN for each in layout.columns):
        return layout
    texts: dict[int, list[str]] = {}
    for line in body:
        if len(cells(line.words)) < 2:
            continue  # a title or a remark
        words: dict[int, list[str]] = {}
        for word in layout.words(line):
            words.setdefault(layout.column_at(word), []).append(word.text)
        for at, found in words.items():
            if layout.columns[at].role == UNKNOWN:
                texts.setdefault(at, []).append(" ".join(found))
    known = {each.role for each in layout.columns}
    columns = tuple(
        replace(each, role=_role_of(texts.get(at, []), known)) if each.role == UNKNOWN else each
        for at, each in enumerate(layout.columns)
    )
    return _with_limits(replace(layout, columns=columns), body)


def _with_limits(layout: Layout, body: Sequence[PdfLine]) -> Layout:
    """The layout with two neighbours of unknown headings as the limits of a range, where the first is always smaller.

    Earlier results can rise as well: what is read so is marked as unsure.
    """
    unknown = [at for at, each in enumerate(layout.columns) if each.role == UNKNOWN]
    if len(unknown) != 2 or unknown[1] - unknown[0] != 1:
        return layout
    if {"range", "low", "high"} & {each.role for each in layout.columns}:
        return layout
    pairs = []
    for line in body:
        texts: dict[int, str] = {}
        for word in layout.words(line):
            texts[layout.column_at(word)] = word.text
        if all(at in texts for at in unknown) and len(texts) > 2:
            pairs.append(tuple(read_value(texts[at]).number for at in unknown))
    is_limits = len(pairs) >= LIMIT_ROWS_MIN and all(
        low is not None and high is not None and low < high for low, high in pairs
    )
    if not is_limits:
        return layout
    roles = dict(zip(unknown, ("low", "high"), strict=True))
    columns = tuple(
        replace(each, role=roles.get(at, each.role)) for at, each in enumerate(layout.columns)
    )
    return replace(layout, columns=columns, has_unsure_limits=True)


def _role_of(texts: Sequence[str], known: Collection[str]) -> str:
    if sum(text[:1] == "±" for text in texts) > ROLE_SHARE * len(texts):
        return "method"  # how sure it is
    tests = {
        "flag": is_flag,  # before units: H is henry, and L a litre
        "unit": is_known_unit,
        "range": lambda text: read_range(text).kind in ("interval", "titre"),
    }
    for role, test in tests.items():
        if role not in known and sum(map(test, texts)) > ROLE_SHARE * len(texts):
            return role
    return UNKNOWN


def _column_text(heading: Heading) -> str:
    """What a heading says of the values below it: their date, their unit, their flag."""
    is_telling = heading.role in ("date", "below", "above") or (
        heading.role == "value" and is_known_unit(heading.text)
    )
    return heading.text if is_telling else ""


def _border(first: Heading, second: Heading, spans: Sequence[tuple[float, float]]) -> float:
    """Where the fewest words are between the middles of two headings: a wide gap, near to the second one."""
    start, end = first.center, second.center
    if second.x0 <= first.x1:
        return (first.x1 + second.x0) / 2
    if sum(abs(x0 - second.x0) < FLUSH for x0, _ in spans) >= FLUSH_MIN:
        end = second.x0  # words that begin where a heading does stand below it
    places = [start + STEP * step for step in range(int((end - start) / STEP) + 1)] or [start]
    counts = [sum(x0 < place < x1 for x0, x1 in spans) for place in places]
    fewest = min(counts)
    runs: list[list[float]] = []
    for place, count in zip(places, counts, strict=True):
        if count > fewest:
            runs.append([])
            continue
        if not runs:
            runs.append([])
        runs[-1].append(place)
    best = max(
        (run for run in runs if run), key=lambda run: (min(len(run), 6), -abs(run[-1] - second.x0))
    )
    return best[0] + (best[-1] - best[0]) / 2
