"""A page as rows of cells, so that a value can be found beside, below or behind its label.

A cell ends at a tab, at several blanks, at a bar or at a row of dots. Where a document has no boxes, the column of a
character is its position, so that a table drawn with blanks is a table too.
"""

import re
from bisect import bisect_right
from typing import NamedTuple

from stateward.pipelines.kit.documents import TextLine, TextPage, split_lines

COLUMN_WIDTH = 5.0  # of a character, where there are no boxes
# Of a cell of a table without boxes: the cells of two rows stand over each other.
TAB_WIDTH = 1000.0
LINE_HEIGHT = 12.0
OVERLAP_MIN = 0.3
CELLS_MAX = 20_000

_GAP = re.compile(r"\t+| {3,}|\s*\|\s*|\s*\.{4,}\s*|\s*_{3,}\s*|\s*…{2,}\s*")


class GridCell(NamedTuple):
    """Part of a line between two gaps; offsets count characters of the page."""

    row: int
    column: int
    start: int
    end: int
    left: float
    right: float
    top: float

    def overlaps(self, other: "GridCell") -> bool:
        """Whether one is above the other."""
        shared = min(self.right, other.right) - max(self.left, other.left)
        return shared > OVERLAP_MIN * max(
            1.0, min(self.right - self.left, other.right - other.left)
        )


class Grid:
    """The cells of a page, by rows, and by the characters they hold."""

    def __init__(self, page: TextPage) -> None:
        self.text = page.text
        self.rows = _rows(page)
        self._cells = [cell for row in self.rows for cell in row]
        self._cells.sort(key=lambda cell: cell.start)
        self._starts = [cell.start for cell in self._cells]

    def cell_at(self, offset: int) -> GridCell | None:
        """The cell that contains a character."""
        at = bisect_right(self._starts, offset) - 1
        return self._cells[at] if at >= 0 and offset <= self._cells[at].end else None

    def words(self, cell: GridCell) -> str:
        """The text of a cell."""
        return self.text[cell.start : cell.end]

    def above(self, cell: GridCell, *, rows_max: int) -> list[GridCell]:
        """The cells above a cell, nearest first."""
        found: list[GridCell] = []
        for at in range(cell.row - 1, max(-1, cell.row - 1 - rows_max), -1):
            found.extend(other for other in self.rows[at] if other.overlaps(cell))
        return found

    def below(self, cell: GridCell, *, rows_max: int) -> list[GridCell]:
        """The cells below a cell, nearest first."""
        found: list[GridCell] = []
        for row in self.rows[cell.row + 1 : cell.row + 1 + rows_max]:
            found.extend(other for other in row if other.overlaps(cell))
        return found

    def is_single(self, row: int) -> bool:
        """Whether a row has one cell only."""
        return 0 <= row < len(self.rows) and len(self.rows[row]) == 1


def _rows(page: TextPage) -> list[list[GridCell]]:
    rows: list[list[GridCell]] = []
    count = 0
    for line in page.lines or split_lines(page.text):
        cells = _cells(page.text, line, len(rows))
        if cells and count < CELLS_MAX:
            rows.append(cells)
            count += len(cells)
    return rows


def _cells(text: str, line: TextLine, row: int) -> list[GridCell]:
    cells: list[GridCell] = []
    top = line.box[1] if line.box else row * LINE_HEIGHT
    at = line.start
    is_tabbed = not line.xs and "\t" in text[line.start : line.end]
    for gap in (*_GAP.finditer(text, line.start, line.end), None):
        end = gap.start() if gap else line.end
        start, end = _strip(text, at, end)
        if start < end:
            left, right = _edge(line, start), _edge(line, end)
            if is_tabbed:
                column = text.count("\t", line.start, start)
                left, right = column * TAB_WIDTH, (column + 1) * TAB_WIDTH - 1
            cells.append(GridCell(row, len(cells), start, end, left, right, top))
        at = gap.end() if gap else line.end
    return cells


def _strip(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _edge(line: TextLine, offset: int) -> float:
    at = offset - line.start
    return line.xs[min(at, len(line.xs) - 1)] if line.xs else at * COLUMN_WIDTH
