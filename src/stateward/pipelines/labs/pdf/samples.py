"""Headings of tables with a column for each sample, whose names stand in lines above those of the other columns.

Sample ID:            2107714      2107715
Date Sampled:         01-Sep-2025  01-Sep-2025
Determinand   Units
Moisture      %       12           18
"""

from collections.abc import Iterator, Sequence

from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.labs.pdf.cells import cells
from stateward.pipelines.labs.pdf.headings import DATE, Heading, headings_without_values
from stateward.pipelines.labs.sample_columns import is_measured

LINES_ABOVE_MAX = 8
SAMPLES_MIN = 2
ROWS_MIN = 3  # below, with as many cells behind the other columns
ROWS_LOOKED_AT_MAX = 12

Cell = list[PdfWord]


def sample_headings(page: Sequence[PdfLine]) -> Iterator[tuple[int, list[Heading]]]:
    """The headings of such tables, by the line that names their other columns."""
    for at, line in enumerate(page):
        headings = headings_without_values(line)
        if not headings:
            continue
        end = max(each.x1 for each in headings)
        told = [_behind(each, end) for each in page[max(0, at - LINES_ABOVE_MAX) : at]]
        size = max(map(len, told), default=0)
        rows = [_behind(each, end) for each in page[at + 1 : at + 1 + ROWS_LOOKED_AT_MAX]]
        if size < SAMPLES_MIN or sum(len(row) == size for row in rows) < ROWS_MIN:
            continue
        whole = [row for row in told if len(row) == size]
        if samples := _samples(whole, [row for row in rows if len(row) == size]):
            yield at, [*headings, *samples]


def _behind(line: PdfLine, end: float) -> list[Cell]:
    """The cells of a line behind the other columns, where a label or a name stands before them."""
    found = cells(line.words)
    return [cell for cell in found if cell[0].x0 > end] if found[0][0].x0 < end else []


def _samples(told: Sequence[list[Cell]], rows: Sequence[list[Cell]]) -> list[Heading]:
    """A column of values for each sample, by its name and the day on which it was taken; none without names."""
    texts = [[_text(cell) for cell in row] for row in told]
    days = next((row for row in texts if all(map(DATE.fullmatch, row))), [])
    names = next((row for row in texts if row != days and len(set(row)) == len(row)), [])
    if not names or not any(is_measured(_text(cell)) for row in rows for cell in row):
        return []
    return [
        Heading("date", min(c[0].x0 for c in column), max(c[-1].x1 for c in column), " ".join(text))
        for column, *text in zip(
            zip(*told, *rows, strict=True), names, *([days] if days else []), strict=True
        )
    ]


def _text(cell: Cell) -> str:
    return " ".join(word.text for word in cell)
