"""Which words of a table belong to which column.

Headings say which columns there are and roughly where; where one ends and the next begins is where the fewest words of
the table are, between the middles of the two headings.
"""

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.labs.pdf.headings import Heading

STEP = 1.0  # points between the places at which a border is tried
CELL_GAP = 0.62  # of the height: a wider gap starts a new cell


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

    def words(self, line: PdfLine) -> list[PdfWord]:
        """The words of a line that stand in this table's part of the page."""
        return [word for word in line.words if self.left <= (word.x0 + word.x1) / 2 < self.right]

    def column_at(self, word: PdfWord) -> int:
        """The column that a word stands in, or overlaps most."""
        shares = [min(word.x1, each.right) - max(word.x0, each.left) for each in self.columns]
        return max(range(len(shares)), key=lambda at: shares[at])


def cells(words: Sequence[PdfWord]) -> list[list[PdfWord]]:
    """Words in groups that stand close together."""
    found: list[list[PdfWord]] = []
    for word in words:
        last = found[-1][-1] if found else None
        if last is not None and word.x0 - last.x1 <= CELL_GAP * (last.bottom - last.top):
            found[-1].append(word)
        else:
            found.append([word])
    return found


def layouts_of(headings: Sequence[Heading], body: Sequence[PdfLine]) -> list[Layout]:
    """The tables that one line of headings names: several, side by side, where it names the test more than once."""
    ordered = sorted(headings, key=lambda each: each.x0)
    groups: list[list[Heading]] = []
    for heading in ordered:
        is_first = not groups or (
            heading.role == "test" and any(each.role == "test" for each in groups[-1])
        )
        if is_first:
            groups.append([])
        groups[-1].append(heading)
    edges = [-1e6, *(group[0].x0 - 3 for group in groups[1:]), 1e6]
    return [
        _layout(group, body, left, right)
        for group, left, right in zip(groups, edges, edges[1:], strict=False)
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
    spans = [
        (word.x0, word.x1)
        for line in body
        if len(cells(line.words)) > 1
        for word in line.words
        if left <= (word.x0 + word.x1) / 2 < right
    ]
    borders = [_border(first, second, spans) for first, second in pairwise(group)]
    edges = [left, *borders, right]
    columns = tuple(
        Column(heading.role, start, end, heading.text)
        for heading, start, end in zip(group, edges, edges[1:], strict=False)
    )
    return Layout(columns, left, right)


def _border(first: Heading, second: Heading, spans: Sequence[tuple[float, float]]) -> float:
    """Where the fewest words are between the middles of two headings: a wide gap, near to the second one."""
    start, end = first.center, second.center
    if second.x0 <= first.x1:
        return (first.x1 + second.x0) / 2
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
