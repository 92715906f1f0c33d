"""The text of a PDF as lines in reading order, with the left edge of every character.

Words on one baseline are one line, so that a label and its value stay together; only where two columns of prose stand
side by side is the left one read before the right one.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import ceil
from pathlib import Path
from statistics import median

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.documents import Box, TextLine, TextPage
from stateward.pipelines.kit.failures import CORRUPT_FILE, NO_TEXT, TEXT_TOO_LARGE
from stateward.pipelines.kit.pdf.damage import count_damaged_streams
from stateward.pipelines.kit.pdf.lines import baseline_rows, is_touching
from stateward.pipelines.kit.pdf.pages import (
    CHARS_PER_PAGE_MIN,
    PdfPage,
    PdfWord,
    read_pages,
    require_text,
)

RAISED_HEIGHT_MAX = 0.85  # of the line: a word that small may be raised, like the letters of 3rd
# Of the height: a wider gap separates two cells; between words of prose it is about 0.3.
CELL_GAP = 1.0
GUTTER_MIN = 9.0  # points between two columns; blanks of justified prose stay below
GUTTER_STEP = 4  # points: how finely the position of the gutter is looked for
# A narrower one is told by lines, one below the other, whose right part begins at the same place.
NARROW_GUTTER_MIN, NARROW_LINES_MIN, SAME_PLACE = 5.0, 12, 1.0
COLUMN_LINES_MIN = 6
COLUMN_WORDS_MIN = 4  # per line, median: cells of a table have fewer
COLUMN_FULL_MIN = 0.5  # share of lines that reach the right edge of their column, as prose does
COLUMN_EDGE = 0.15  # of the column width: a line that ends so close to the edge is full
# Justified print stretches the blanks of a line, all of them alike: they part no cells.
STRETCHED_MIN, STRETCHED_SMALL_MIN = 5, 2  # blanks, and words in small letters
STRETCHED_ALIKE, STRETCHED_MAX = 0.5, 2.5  # points by which they differ; of the height
MIDDLE_MAX = (
    0.8  # of the height: how far above and below a label in the middle of two lines they are
)
ADVICE = "submit a PDF that contains text (run OCR on it, or ask for the original file)"

Row = list[PdfWord]


def read_pdf(
    path: Path,
    *,
    password: str | None,
    pages_max: int,
    chars_max: int,
    is_ocr: bool = False,
    on_damaged: Callable[[str], object] | None = None,
) -> list[TextPage]:
    """Every page of a PDF; a file without text, or with damaged parts, is refused.

    With `is_ocr` pages that are pictures are read by OCR, as far as its extra is installed. With `on_damaged` damaged
    parts are left out, and it is told what they are; a page that cannot be read is then an empty one.
    """
    pages: list[PdfPage] = []
    chars = 0
    left_out: list[int] = []
    on_page = None if on_damaged is None else left_out.append
    for page in read_pages(
        path, password=password, pages_max=pages_max, on_damaged=on_page, with_covers=True
    ):
        chars += page.chars
        if chars > chars_max:
            raise FatalFailure(
                f"the file has more than {chars_max} characters; split it", code=TEXT_TOO_LARGE
            )
        pages.append(page)
    if left_out and on_damaged is not None:
        on_damaged(f"pages that cannot be read: {', '.join(map(str, left_out))}")
        empty = [PdfPage(number, 0.0, 0.0, []) for number in left_out]
        pages = sorted([*pages, *empty], key=lambda page: page.number)
    damaged = count_damaged_streams(path)
    if damaged and on_damaged is not None:
        on_damaged(f"{damaged} parts of the file are damaged")
    elif damaged:
        raise FatalFailure(
            f"{damaged} parts of the file are damaged, so some of its {len(pages)} pages may lack text;"
            " get the file again from its source",
            code=CORRUPT_FILE,
        )
    try:
        require_text(pages, chars_min=CHARS_PER_PAGE_MIN * len(pages), advice=ADVICE)
    except FatalFailure as failure:
        if not is_ocr or failure.code != NO_TEXT:
            raise
        from stateward.pipelines.kit.pdf.scans import scanned_pages

        scanned = scanned_pages(path, failure, password=password)
        return [_text_page(page, is_scan=True) for page in scanned]
    read = _read_pictures(path, pages, password) if is_ocr else {}
    return [_text_page(read.get(page.number, page), is_scan=page.number in read) for page in pages]


def _read_pictures(
    path: Path, pages: Sequence[PdfPage], password: str | None
) -> dict[int, PdfPage]:
    """The pages among others that are pictures, as OCR reads them, by number."""
    numbers = [page.number for page in pages if page.is_picture]
    if not numbers:
        return {}
    from stateward.pipelines.kit.pdf.scans import pictured_pages

    return {page.number: page for page in pictured_pages(path, numbers, password=password)}


def reading_rows(words: Sequence[PdfWord], width: float) -> list[list[PdfWord]]:
    """Words of a page as lines from left to right, in the order in which a person reads them."""
    return _reading_order(_with_labels(text_rows(words)), width)


def _text_page(page: PdfPage, *, is_scan: bool = False) -> TextPage:
    parts: list[str] = []
    lines: list[TextLine] = []
    at = 0
    for row in reading_rows(page.words, page.width):
        text, xs = _line_text(row)
        lines.append(TextLine(at, at + len(text), _box(row), xs))
        parts.append(text)
        at += len(text) + 1
    width, height = round(page.width, 1), round(page.height, 1)
    text = "\n".join(parts)
    return TextPage(
        page.number, width, height, text, lines, page.is_picture, is_scan, page.turned, page.unseen,
        struck=page.struck,
    )  # fmt: skip


def scanned_text_page(page: PdfPage) -> TextPage:
    """A page that OCR read, as text."""
    return _text_page(page, is_scan=True)


def text_rows(words: Sequence[PdfWord]) -> list[Row]:
    """Lines from the top, each from left to right; small raised letters (of 3rd, of notes) are in their line."""
    rows: list[Row] = []
    above: Row | None = None
    for row in baseline_rows(words):
        if above is not None and _is_raised(above, row):
            rows.pop()
            row.extend(above)
        rows.append(row)
        above = row
    for row in rows:
        row.sort(key=lambda word: word.x0)
    return rows


def _with_labels(rows: list[Row]) -> list[Row]:
    """A label that stands in the middle of two lines of its value, as browsers print it, with the first of them."""
    ordered = list(rows)
    for at in range(1, len(rows) - 1):
        above, label, below = ordered[at - 1], rows[at], rows[at + 1]
        if _is_between(label, above, below):
            ordered[at - 1], ordered[at] = [], [*label, *above]
    return [row for row in ordered if row]


def _is_between(label: Row, above: Row, below: Row) -> bool:
    if not above or abs(above[0].x0 - below[0].x0) > 1:
        return False
    height = max(map(_height, label))
    if label[0].base - above[0].base > MIDDLE_MAX * height:
        return False
    if below[0].base - label[0].base > MIDDLE_MAX * height:
        return False
    right = label[-1].x1 + CELL_GAP * height
    return above[0].x0 > right and not _has_cells(label)


def _has_cells(row: Row) -> bool:
    return any(word.x0 - last.x1 > CELL_GAP * _height(word) for last, word in pairwise(row))


def _is_raised(row: Row, below: Row) -> bool:
    height = max(map(_height, below))
    if max(map(_height, row)) > RAISED_HEIGHT_MAX * height:
        return False
    top = min(word.top for word in below)
    if any(word.base < top + 0.3 * height for word in row):
        return False
    return not any(one.x0 < two.x1 - 1 and two.x0 < one.x1 - 1 for one in row for two in below)


def _height(word: PdfWord) -> float:
    return max(word.bottom - word.top, 0.1)


def _reading_order(rows: list[Row], width: float) -> list[Row]:
    """Lines as a person reads them: where two columns of prose stand side by side, the left one first."""
    gutter = _gutter(rows, width)
    ordered = rows if gutter is None else list(_by_columns(rows, gutter, GUTTER_MIN))
    if len(ordered) > len(rows):
        return ordered
    narrow = _narrow_gutter(rows, width)
    return rows if narrow is None else list(_by_columns(rows, narrow, NARROW_GUTTER_MIN))


def _by_columns(rows: list[Row], gutter: float, gap_min: float) -> Iterator[Row]:
    beside: list[Row] = []
    for row in rows:
        if _crosses(row, gutter, gap_min):
            yield from _columns(beside, gutter)
            beside = []
            yield row
        else:
            beside.append(row)
    yield from _columns(beside, gutter)


def _narrow_gutter(rows: list[Row], width: float) -> float | None:
    """Where many lines, or their right parts, begin, if all lines between the first and the last leave it free."""
    places: Counter[int] = Counter()
    for row in rows:
        places.update({round(place) for place in _right_starts(row, width)})
    best = max(places, key=lambda place: (places[place], -place), default=0)
    near = [
        (at, place)
        for at, row in enumerate(rows)
        for place in _right_starts(row, width)
        if abs(place - best) <= SAME_PLACE
    ]
    parted = [at for at, place in near if rows[at][0].x0 < place]
    if len(near) < NARROW_LINES_MIN or len(parted) < COLUMN_LINES_MIN:
        return None
    gutter = min(place for _, place in near) - NARROW_GUTTER_MIN / 2
    between = rows[near[0][0] : near[-1][0] + 1]
    is_free = not any(_crosses(row, gutter, NARROW_GUTTER_MIN) for row in between)
    return gutter if is_free else None


def _right_starts(row: Row, width: float) -> list[float]:
    """Where a line, or a part of it, begins in the middle of the page."""
    starts = [row[0].x0, *(right for _, right in _gaps(row, NARROW_GUTTER_MIN))]
    return [start for start in starts if 0.3 * width <= start <= 0.7 * width]


def _gutter(rows: list[Row], width: float) -> float | None:
    """Where most lines have a gap near the middle of the page; None if hardly any has."""
    first, last = int(0.3 * width) // GUTTER_STEP, int(0.7 * width) // GUTTER_STEP
    counts: Counter[int] = Counter()
    for row in rows:
        for left, right in _gaps(row, GUTTER_MIN):
            start, end = max(first, ceil(left / GUTTER_STEP)), min(last, int(right / GUTTER_STEP))
            counts.update(range(start, end + 1))
    best = max(counts, key=lambda step: (counts[step], -step), default=0)
    return float(best * GUTTER_STEP) if counts[best] >= COLUMN_LINES_MIN else None


def _gaps(row: Row, gap_min: float) -> Iterator[tuple[float, float]]:
    """Gaps between words that are as wide as the one between two columns."""
    end = row[0].x1
    for word in row:
        if word.x0 - end >= gap_min:
            yield end, word.x0
        end = max(end, word.x1)


def _crosses(row: Row, x: float, gap_min: float) -> bool:
    """Whether a line runs over x: a word does, or it has words on both sides without a wide gap between them."""
    if any(word.x0 < x - 1 and word.x1 > x + 1 for word in row):
        return True
    has_gap = any(left <= x <= right for left, right in _gaps(row, gap_min))
    return row[0].x1 <= x <= row[-1].x0 and not has_gap


def _columns(rows: list[Row], x: float) -> Iterator[Row]:
    """Lines that leave the gutter free: as two columns if both are prose, else as they are."""
    left = [part for row in rows if (part := [word for word in row if word.x1 <= x + 1])]
    right = [part for row in rows if (part := [word for word in row if word.x1 > x + 1])]
    yield from [*left, *right] if _is_prose(left) and _is_prose(right) else rows


def _is_prose(rows: list[Row]) -> bool:
    if len(rows) < COLUMN_LINES_MIN or median(map(len, rows)) < COLUMN_WORDS_MIN:
        return False
    start, end = min(row[0].x0 for row in rows), max(row[-1].x1 for row in rows)
    full = sum(row[-1].x1 >= end - COLUMN_EDGE * (end - start) for row in rows)
    return full >= COLUMN_FULL_MIN * len(rows)


def _line_text(row: Row) -> tuple[str, list[float]]:
    """The text of a line and the left edge of each of its characters, then its right edge.

    Edges of words are exact; within a word characters are spread evenly.
    """
    parts: list[str] = []
    xs: list[float] = []
    last: PdfWord | None = None
    is_stretched = len(row) > STRETCHED_MIN and _is_stretched(row)
    for word in row:
        if last is not None and not is_touching(last, word):
            is_wide = word.x0 - last.x1 > CELL_GAP * _height(word)
            parts.append("\t" if is_wide and not is_stretched else " ")
            xs.append(round(last.x1, 1))
        parts.append(word.text)
        # Rounded to tenths by hand: a call costs more than all else that is done for a character.
        count = len(word.text)
        left, step = 10 * word.x0 + 0.5, 10 * (word.x1 - word.x0) / count
        xs += [(left + step * index) // 1 / 10 for index in range(count)]
        last = word
    if last is not None:
        xs.append(round(last.x1, 1))
    return "".join(parts), xs


def _is_stretched(row: Row) -> bool:
    """Whether all blanks of a line of prose are alike, and wide only because the line is justified."""
    blanks = [word.x0 - last.x1 for last, word in pairwise(row)]
    widest, narrowest = max(blanks), min(blanks)
    if widest - narrowest > STRETCHED_ALIKE or widest > STRETCHED_MAX * _height(row[0]):
        return False
    return sum(word.text[0].islower() for word in row) >= STRETCHED_SMALL_MIN


def _box(row: Row) -> Box:
    return (
        round(min(word.x0 for word in row), 1),
        round(min(word.top for word in row), 1),
        round(max(word.x1 for word in row), 1),
        round(max(word.bottom for word in row), 1),
    )
