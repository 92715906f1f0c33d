"""Tables whose columns are drawn with bars: `| Glucose | 95 | mg/dL | 70 - 99 |`.

The bars go, and cells that a proportional font sets at different places are put below each other, so that whatever
reads columns by geometry finds them. A bar that draws where in its range a value lies is none between columns.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec.structs import replace

from stateward.pipelines.kit.pdf.lines import baseline_rows
from stateward.pipelines.kit.pdf.pages import PdfWord

LINES_MIN = 3  # below each other, with as many bars
BARS_MIN = 2
GAP = 1.5  # of the height, between two columns
BAR_CHARS = "|│┃¦║"
_BAR = re.compile(rf"[{BAR_CHARS}]")
_PIECES = re.compile(rf"[{BAR_CHARS}]+|[^{BAR_CHARS}]+")
_RULE = re.compile(rf"[-=_+:*~—–─━═┌┐└┘├┤┬┴┼{BAR_CHARS}]+")
# With the name of a test in front: `135 |--x---| 146`.
_GRAPH = re.compile(rf"[{BAR_CHARS}]?[-=_.*xXoO•●■□]{{2,}}[{BAR_CHARS}][-=_.*xXoO•●■□{BAR_CHARS}]*")

Cells = list[list[PdfWord]]


def without_bars(words: Sequence[PdfWord]) -> list[PdfWord]:
    """The words of a page, those of tables that bars draw in columns and without the bars."""
    if sum(map(_has_bar, words)) < LINES_MIN * BARS_MIN:
        return list(words)
    found: list[PdfWord] = []
    for is_table, run in groupby(_rows(words), key=lambda each: each[1] > 0):
        rows = list(run)
        if not is_table:
            found += [word for row, _ in rows for word in row]
            continue
        for size, same in groupby(rows, key=lambda each: each[1]):
            told = [row for row, _ in same if not _is_rule(row)]
            if size >= BARS_MIN and len(told) >= LINES_MIN:
                found += _columns(told)
            else:
                found += [word for row in told for word in row]
    return found


def _rows(words: Sequence[PdfWord]) -> Iterator[tuple[list[PdfWord], int]]:
    """Each row with the number of its bars; a rule between two rows of a table has as many as the row before."""
    bars = 0
    for row in baseline_rows(words):
        row.sort(key=lambda word: word.x0)
        if not (_is_rule(row) and bars):
            bars = _bars(row)
        yield row, bars


def _has_bar(word: PdfWord) -> bool:
    return _BAR.search(word.text) is not None


def _is_rule(row: Sequence[PdfWord]) -> bool:
    """Whether a row is drawn and says nothing: `|-----|----|`."""
    return all(_RULE.fullmatch(word.text) for word in row)


def _bars(row: Sequence[PdfWord]) -> int:
    """How many bars part the cells of a row; 0 if it draws something else with them."""
    if any(_GRAPH.fullmatch(word.text) for word in row):
        return 0
    return sum(len(_BAR.findall(word.text)) for word in row)


def _cells(row: Sequence[PdfWord]) -> Cells:
    """The words between the bars of a row; what is glued to a bar is parted from it."""
    cells: Cells = [[]]
    for word in row:
        at, width = 0, (word.x1 - word.x0) / max(len(word.text), 1)
        for piece in _PIECES.findall(word.text):
            if _BAR.match(piece):
                cells += [[] for _ in piece]
            else:
                x0 = word.x0 + at * width
                cells[-1].append(replace(word, text=piece, x0=x0, x1=x0 + len(piece) * width))
            at += len(piece)
    return cells


def _columns(rows: Sequence[Sequence[PdfWord]]) -> list[PdfWord]:
    """The words of rows with as many bars, each cell right of all cells of the column before."""
    parted = [_cells(row) for row in rows]
    words: list[PdfWord] = []
    end = 0.0
    for column in zip(*parted, strict=True):
        filled = [cell for cell in column if cell]
        if not filled:
            continue
        start = min(cell[0].x0 for cell in filled)
        gap = GAP * max(word.bottom - word.top for cell in filled for word in cell)
        # Cells of a monospaced font stand below each other as they are.
        is_apart = not words or start >= end + gap / 2
        moved = [
            replace(word, x0=word.x0 + by, x1=word.x1 + by)
            for cell in filled
            for by in (0.0 if is_apart else end + gap - cell[0].x0,)
            for word in cell
        ]
        words += moved
        end = max(word.x1 for word in moved)
    return words
