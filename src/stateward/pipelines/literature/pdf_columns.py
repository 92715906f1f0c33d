"""The lines of a PDF's pages in reading order: columns, what stands beside each other, and the marks above a line.

Everything is told by the geometry of words; which lines are headings or paragraphs is decided elsewhere.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from math import ceil
from statistics import median

from stateward.pipelines.kit.documents import Box
from stateward.pipelines.kit.pdf.lines import is_touching
from stateward.pipelines.kit.pdf.pages import PdfPage, PdfWord
from stateward.pipelines.kit.pdf.text import text_rows

PART_GAP = 0.9  # of the height: a wider gap within a line may be the one between two columns
NUMBER_GAP = 2.5  # of the height: as far from its number a heading may begin
GUTTER_STEP = 2  # points
GUTTER_WITHIN = (0.2, 0.8)  # of the width of what is divided: where a gutter may be
COLUMN_LINES_MIN = 5
COLUMN_WORDS_MIN = 3  # a line, median: cells of a table have fewer
ACROSS_MAX = 0.2  # of all lines may run over the gutter: titles, wide tables, footnotes
COLUMNS_DEPTH = 2  # divisions inside each other: up to four columns
RAISED_MIN = 0.15  # of the height: as far above the line stands a mark of a note
RAISED_SIZE_MAX = 0.9  # of the height of the line: such marks are smaller
BOLD_SHARE_MIN = 0.8  # of the characters of a line that is bold
BAND_LINES_MIN = 3  # lines of an abstract that stands beside something else
BAND_WORDS_MIN = 6  # a line of it: cells of a table have fewer
BAND_GAP_MAX = 1.5  # of the height, between its lines
HEADS_WITHIN = 4.0  # of the height: as far above it its heading may be
ROW_GAP_MAX = 0.75  # of the height, between rows of a table
BULLET_CHARS_MAX = 3  # or the letter of a list: (a)
SPACED_MIN = 5  # letters
EVEN_GAPS_MIN = 3  # in a row that are alike: a line that was stretched to the width of its column
EVEN_GAPS = 0.06  # of a gap: as far they may differ

_NUMBER = re.compile(r"[0-9]{1,2}(?:\.[0-9]{1,2}){0,3}\.?|[IVX]{1,5}\.")


class Line:
    """A line of one column: what stands on one baseline without a wide gap."""

    __slots__ = (
        "box",
        "height",
        "is_alone",
        "is_bold",
        "left",
        "page",
        "text",
        "unmarked",
        "words",
    )

    def __init__(self, page: PdfPage, words: list[PdfWord]) -> None:
        self.page = page.number
        self.words = len(words)
        self.text = _join_letters(_line_text(words))
        self.box: Box = (
            round(min(word.x0 for word in words), 1),
            round(min(word.top for word in words), 1),
            round(max(word.x1 for word in words), 1),
            round(max(word.bottom for word in words), 1),
        )
        self.left: float = self.box[0]  # of its column, where that is known
        # Raised signs and a large initial must not make a line look like a heading.
        usual = _middle_word(words)
        self.height = max(usual.bottom - usual.top, 0.1)
        level = [word for word in words if usual.base - word.base < RAISED_MIN * self.height]
        # Without the marks of notes and affiliations, which are small and raised.
        self.unmarked = self.text if len(level) == len(words) else _line_text(level)
        bold = sum(len(word.text) for word in words if word.is_bold)
        self.is_bold = bold > BOLD_SHARE_MIN * sum(len(word.text) for word in words)
        self.is_alone = (
            True  # it is no cell: nothing stands beside it in its column, nor on both sides of it
        )


def _middle_word(words: list[PdfWord]) -> PdfWord:
    """The word in the middle of all characters by its height."""
    by_height = sorted(words, key=lambda word: word.bottom - word.top)
    ends = list(accumulate(len(word.text) for word in by_height))
    return by_height[bisect_left(ends, ends[-1] / 2)]


def _join_letters(text: str) -> str:
    """A H E A D I N G that is set with blanks between its letters, as a word."""
    letters = text.split(" ")
    is_spaced = len(letters) >= SPACED_MIN and all(len(each) == 1 for each in letters)
    return "".join(letters) if is_spaced and text.replace(" ", "").isalpha() else text


def _line_text(words: list[PdfWord]) -> str:
    text, last = "", None
    for word in words:
        blank = " " if last is not None and not is_touching(last, word) else ""
        text, last = f"{text}{blank}{word.text}", word
    return text


def read_columns(pages: list[PdfPage]) -> Iterator[tuple[PdfPage, list[Line]]]:
    """The lines of every page in reading order.

    A last page may have too few lines in its second column to tell; it has its gutter where the other pages have it.
    """
    divided = [(page, _page_lines(page)) for page in pages]
    gutters = [_gutter(lines) for _, lines in divided]
    known = sorted(x for x in gutters if x is not None)
    usual = known[len(known) // 2] if known else None
    for (page, lines), own in zip(divided, gutters, strict=True):
        x = usual if own is None and usual is not None and _leaves_free(lines, usual) else own
        yield page, list(_in_columns(lines, x, COLUMNS_DEPTH))


def _page_lines(page: PdfPage) -> list[Line]:
    rows = _with_raised(text_rows(page.words))
    parts = (Line(page, part) for row in rows for part in row_parts(row))
    return sorted(parts, key=lambda line: (line.box[3], line.box[0]))


def _with_raised(rows: list[list[PdfWord]]) -> list[list[PdfWord]]:
    """Rows with the marks that stand high above them: small, and each close behind a word of the row."""
    found: list[list[PdfWord]] = []
    for row in rows:
        above = found.pop() if found else []
        marks = [mark for mark in above if any(_is_mark(mark, word) for word in row)]
        if others := [word for word in above if word not in marks]:
            found.append(others)
        found.append(sorted([*marks, *row], key=lambda word: word.x0) if marks else row)
    return found


def _is_mark(mark: PdfWord, word: PdfWord) -> bool:
    height = word.bottom - word.top
    is_small = mark.bottom - mark.top < RAISED_SIZE_MAX * height
    is_high = word.top < mark.bottom < word.base and mark.base < word.base
    return is_small and is_high and -1 <= mark.x0 - word.x1 < 0.5 * height


def _leaves_free(lines: list[Line], x: float) -> bool:
    return sum(each.box[0] < x < each.box[2] for each in lines) <= ACROSS_MAX * len(lines)


def row_parts(row: list[PdfWord]) -> Iterator[list[PdfWord]]:
    """What stands on one baseline, divided at wide gaps; the number of a heading stays with its words."""
    part: list[PdfWord] = []
    stretched = _even_gaps(row)
    for at, word in enumerate(row):
        is_number = len(part) == 1 and word.text[:1].isupper() and _NUMBER.fullmatch(part[0].text)
        gap = NUMBER_GAP if is_number else PART_GAP
        is_wide = part and word.x0 - part[-1].x1 > gap * max(word.bottom - word.top, 1.0)
        if is_wide and at not in stretched:
            yield part
            part = []
        part.append(word)
    if part:
        yield part


def _even_gaps(row: list[PdfWord]) -> set[int]:
    """The places of words behind gaps that are all alike: a short line that was stretched, and no cells."""
    gaps = [word.x0 - last.x1 for last, word in pairwise(row)]
    found: set[int] = set()
    run: list[int] = []
    for at, gap in enumerate(gaps, 1):
        if run and abs(gap - gaps[run[0] - 1]) > max(EVEN_GAPS * gap, 0.1):
            run = []
        run.append(at)
        if len(run) >= EVEN_GAPS_MIN:
            found.update(run)
    return found


def _in_columns(lines: list[Line], x: float | None, depth: int) -> Iterator[Line]:
    """Lines as a person reads them: between two lines that run over the gutter x, the left column comes first."""
    if band := _band(lines, x):
        top, bottom, own = band
        yield from _in_columns([each for each in lines if each.box[3] <= top], x, depth)
        inside = [each for each in lines if top < each.box[3] <= bottom]
        yield from _columns(inside, own, 1)
        yield from _in_columns([each for each in lines if each.box[3] > bottom], x, depth)
        return
    if x is None:
        edges = Counter(round(each.box[0]) for each in lines)
        _note_neighbours(lines)
        for each in lines:
            each.left = max(edges, key=lambda edge: (edges[edge], -edge))
            yield each
        return
    beside: list[Line] = []
    for line in lines:
        if line.box[0] < x < line.box[2]:
            yield from _columns(beside, x, depth)
            beside = []
            yield line
        else:
            beside.append(line)
    yield from _columns(beside, x, depth)


def _band(lines: list[Line], x: float | None) -> tuple[float, float, float] | None:
    """Where prose runs over the gutter beside something else: an abstract beside the keywords; with its own gutter.

    Without a gutter such a place is looked for on the first page alone.
    """
    if x is None and (not lines or lines[0].page != 1):
        return None
    rows = [
        (line, beside)
        for line in lines
        if line.words >= BAND_WORDS_MIN
        and (x is None or line.box[0] < x < line.box[2])
        and (beside := [other for other in lines if other is not line and _is_level(other, line)])
    ]
    near: list[tuple[Line, list[Line]]] = []
    for line, beside in rows:
        if near and line.box[1] - near[-1][0].box[3] > BAND_GAP_MAX * line.height:
            if len(near) >= BAND_LINES_MIN:
                break
            near = []
        near.append((line, beside))
    if len(near) < BAND_LINES_MIN:
        return None
    inside = [each for line, beside in near for each in (line, *beside)]
    top, bottom = min(each.box[1] for each in inside), max(each.box[3] for each in inside)
    own = _free_gap(inside)
    if own is None:
        return None
    # A heading above each of the two belongs to them.
    heads = [each for each in lines if 0 < top - each.box[1] <= HEADS_WITHIN * each.height]
    heads = [
        each for each in heads if any(_is_level(each, one) for one in heads if one is not each)
    ]
    if heads and not any(each.box[0] < own < each.box[2] for each in heads):
        top = min(each.box[1] for each in heads)
    return top, bottom, own


def _is_level(one: Line, two: Line) -> bool:
    return abs(one.box[3] - two.box[3]) < 0.5 * min(one.height, two.height)


def _free_gap(lines: list[Line]) -> float | None:
    """The middle of the widest gap that no line runs over; None if there is none."""
    spans = sorted((each.box[0], each.box[2]) for each in lines)
    widest, reach, found = PART_GAP * lines[0].height, spans[0][1], None
    for left, right in spans:
        if left - reach > widest:
            widest, found = left - reach, (left + reach) / 2
        reach = max(reach, right)
    return found


def _note_neighbours(lines: list[Line]) -> None:
    """Which lines of a column stand alone on their height; cells of a table and words of a figure do not.

    Neither does a line between two rows of cells, which names the rows below it.
    """
    by_top = sorted(lines, key=lambda line: line.box[1])
    for at, line in enumerate(by_top):
        for other in by_top[at + 1 :]:
            if other.box[1] > line.box[3] - 0.3 * line.height:
                break
            line.is_alone = other.is_alone = False
    cells = [not line.is_alone and not _is_bullet(line) for line in by_top]
    for at in range(1, len(by_top) - 1):
        above, line, below = by_top[at - 1 : at + 2]
        gap = ROW_GAP_MAX * line.height
        is_near = line.box[1] - above.box[3] < gap and below.box[1] - line.box[3] < gap
        if cells[at - 1] and cells[at + 1] and is_near:
            line.is_alone = False


def _is_bullet(line: Line) -> bool:
    return len(line.text) <= BULLET_CHARS_MAX and not line.text.isalnum()


def _columns(lines: list[Line], x: float, depth: int) -> Iterator[Line]:
    for is_right in (False, True):
        column = [each for each in lines if (each.box[0] >= x) == is_right]
        yield from _in_columns(column, _gutter(column) if depth > 1 else None, depth - 1)


def _gutter(lines: list[Line]) -> float | None:
    """The x that the fewest lines run over, if there is prose on both sides of it."""
    if len(lines) < 2 * COLUMN_LINES_MIN:
        return None
    left, right = min(each.box[0] for each in lines), max(each.box[2] for each in lines)
    first, last = (left + share * (right - left) for share in GUTTER_WITHIN)
    steps = range(ceil(first / GUTTER_STEP), int(last / GUTTER_STEP) + 1)
    across: Counter[int] = Counter()
    for each in lines:
        across.update(range(ceil(each.box[0] / GUTTER_STEP), int(each.box[2] / GUTTER_STEP) + 1))
    middle = (left + right) / 2 / GUTTER_STEP
    for step in sorted(steps, key=lambda step: (across[step], abs(step - middle)))[:8]:
        if across[step] > ACROSS_MAX * len(lines):
            return None
        x = float(step * GUTTER_STEP)
        if _is_column(each for each in lines if each.box[2] <= x) and _is_column(
            each for each in lines if each.box[0] >= x
        ):
            return x
    return None


def _is_column(lines: Iterable[Line]) -> bool:
    words = [each.words for each in lines]
    return len(words) >= COLUMN_LINES_MIN and median(words) >= COLUMN_WORDS_MIN
