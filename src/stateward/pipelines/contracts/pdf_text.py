"""The text of a PDF as lines in the order in which a person reads them.

Words come from the reader that statements use: loose boxes, no turned glyphs, nothing outside the crop box. Words
on one base line are one line, so that a label and its value stay together; only where two columns of prose stand
side by side is the left one read before the right one. A scan, a ruin and a locked file each have their own code.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil
from pathlib import Path
from statistics import median

from stateward.core.errors import FatalFailure
from stateward.pipelines.contracts.document import Box, Line, Page
from stateward.pipelines.statements.pdf.damage import damaged_parts
from stateward.pipelines.statements.pdf.pages import Limits, Word, read_pages
from stateward.pipelines.statements.pdf.pages import Page as Sheet

CHARS_PER_PAGE_MIN = (
    40  # fewer, on average, is a scan or a ruin: a page of a contract has thousands
)
READABLE_MIN = 0.6  # share of glyphs whose meaning the fonts tell
BASE_MAX = 0.34  # of the height: how far from the base line a word of the line may stand
RAISED_HEIGHT_MAX = 0.85  # of the line: a word so small may be raised, as the letters of 3rd are
TOUCHING_GAP = 0.09  # of the height: closer words are one
CELL_GAP = 1.0  # of the height: a wider gap parts two cells
GUTTER_MIN = 9.0  # points between two columns
GUTTER_STEP = 4
COLUMN_LINES_MIN = 6
COLUMN_WORDS_MIN = 4  # a line, in the middle: the cells of a table have fewer
COLUMN_FULL_MIN = 0.5  # share of lines that reach the far edge of their column, as prose does
COLUMN_EDGE = 0.15  # of the width of a column: so close to its edge a line is full
CODES = {
    "PDF_ENCRYPTED": "ENCRYPTED",
    "PDF_CORRUPT": "CORRUPT_FILE",
    "EMPTY_FILE": "EMPTY_DOCUMENT",
}

Row = list[Word]


def read_pdf(path: Path, *, password: str | None, pages_max: int, chars_max: int) -> list[Page]:
    """Every page of a PDF; a file with too little text to be a contract is refused."""
    sheets: list[Sheet] = []
    chars = 0
    try:
        for sheet in read_pages(path, password=password, limits=Limits(pages_max=pages_max)):
            chars += sheet.chars
            if chars > chars_max:
                raise _too_large(chars_max)
            sheets.append(sheet)
    except FatalFailure as error:
        raise _coded(error) from error
    _require_whole(path, sheets)
    _require_text(sheets)
    return [_page(sheet) for sheet in sheets]


def _too_large(chars_max: int) -> FatalFailure:
    return FatalFailure(
        f"the file holds more than {chars_max} characters, which no contract does; split it",
        code="TEXT_TOO_LARGE",
    )


def _coded(error: FatalFailure) -> FatalFailure:
    """A refusal by the reader of pages, with the code that contracts have for it."""
    if error.code == "TOO_LARGE":
        code = "TOO_MANY_PAGES" if " pages " in error.message else "TEXT_TOO_LARGE"
        return FatalFailure(error.message, code=code)
    return FatalFailure(error.message, code=CODES.get(error.code, error.code))


def _require_whole(path: Path, sheets: Sequence[Sheet]) -> None:
    """Refuse a file of which a part cannot be unpacked: what is missing might be the clause that matters."""
    if damaged := damaged_parts(path):
        raise FatalFailure(
            f"{damaged} parts of the file are damaged, so some of its {len(sheets)} pages may lack text;"
            " get it again from where it came from",
            code="CORRUPT_FILE",
        )


def _require_text(sheets: Sequence[Sheet]) -> None:
    chars = sum(sheet.chars for sheet in sheets)
    if chars < CHARS_PER_PAGE_MIN * len(sheets):
        kind = "a scan" if any(sheet.is_picture for sheet in sheets) else "a scan or empty"
        raise FatalFailure(
            f"the file has {len(sheets)} pages but only {chars} characters of text: it is {kind};"
            " send it with its text (run OCR on it, or ask for the original file)",
            code="NO_TEXT",
        )
    if sum(sheet.readable for sheet in sheets) < READABLE_MIN * chars:
        raise FatalFailure(
            "the text of this file cannot be read: its fonts do not say which letters they show;"
            " run OCR on it, or ask for the original file",
            code="NO_TEXT",
        )


def _page(sheet: Sheet) -> Page:
    parts: list[str] = []
    lines: list[Line] = []
    at = 0
    for row in _ordered(_rows(sheet.words), sheet.width):
        text, xs = _spelled(row)
        lines.append(Line(at, at + len(text), _box(row), xs))
        parts.append(text)
        at += len(text) + 1
    return Page(
        sheet.number, round(sheet.width, 1), round(sheet.height, 1), "\n".join(parts), lines
    )


def _rows(words: Sequence[Word]) -> list[Row]:
    """Words by base line, from the top; each line from left to right."""
    rows: list[Row] = []
    base = 0.0
    for word in sorted(words, key=lambda word: word.base):
        if not rows or word.base - base > BASE_MAX * min(_height(word), _height(rows[-1][0])):
            rows.append([])
            base = word.base
        rows[-1].append(word)
    rows = _with_raised(rows)
    for row in rows:
        row.sort(key=lambda word: word.x0)
    return rows


def _with_raised(rows: list[Row]) -> list[Row]:
    """Lines with the small raised letters (of 3rd, of notes) put into the line that they belong to."""
    kept: list[Row] = []
    for at, row in enumerate(rows):
        below = rows[at + 1] if at + 1 < len(rows) else None
        if below is not None and _is_raised(row, below):
            below.extend(row)
        else:
            kept.append(row)
    return kept


def _is_raised(row: Row, below: Row) -> bool:
    height = max(map(_height, below))
    if max(map(_height, row)) > RAISED_HEIGHT_MAX * height:
        return False
    top = min(word.top for word in below)
    if any(word.base < top + 0.3 * height for word in row):
        return False
    return not any(one.x0 < two.x1 - 1 and two.x0 < one.x1 - 1 for one in row for two in below)


def _height(word: Word) -> float:
    return max(word.bottom - word.top, 0.1)


def _ordered(rows: list[Row], width: float) -> Iterator[Row]:
    """Lines in the order of reading: where two columns of prose stand side by side, the left one first."""
    gutter = _gutter(rows, width)
    if gutter is None:
        yield from rows
        return
    held: list[Row] = []
    for row in rows:
        if _crosses(row, gutter):
            yield from _columns(held, gutter)
            held = []
            yield row
        else:
            held.append(row)
    yield from _columns(held, gutter)


def _gutter(rows: list[Row], width: float) -> float | None:
    """Where most lines of the middle of the page have a gap; None if hardly any has."""
    first, last = int(0.3 * width) // GUTTER_STEP, int(0.7 * width) // GUTTER_STEP
    counts: Counter[int] = Counter()
    for row in rows:
        for left, right in _gaps(row):
            start, end = max(first, ceil(left / GUTTER_STEP)), min(last, int(right / GUTTER_STEP))
            counts.update(range(start, end + 1))
    best = max(counts, key=lambda step: (counts[step], -step), default=0)
    return float(best * GUTTER_STEP) if counts[best] >= COLUMN_LINES_MIN else None


def _gaps(row: Row) -> Iterator[tuple[float, float]]:
    """Gaps between words that are as wide as the one between two columns."""
    end = row[0].x1
    for word in row:
        if word.x0 - end >= GUTTER_MIN:
            yield end, word.x0
        end = max(end, word.x1)


def _parts_at(row: Row, x: float) -> bool:
    """Whether a line has words on both sides of x and a gap around it."""
    return any(left <= x <= right for left, right in _gaps(row))


def _crosses(row: Row, x: float) -> bool:
    return any(word.x0 < x - 1 and word.x1 > x + 1 for word in row) or (
        row[0].x1 <= x <= row[-1].x0 and not _parts_at(row, x)
    )


def _columns(rows: list[Row], x: float) -> Iterator[Row]:
    """A stretch of lines that leave the gutter free: as two columns if both are prose, else as they are."""
    left = [part for row in rows if (part := [word for word in row if word.x1 <= x + 1])]
    right = [part for row in rows if (part := [word for word in row if word.x1 > x + 1])]
    yield from [*left, *right] if _is_prose(left) and _is_prose(right) else rows


def _is_prose(rows: list[Row]) -> bool:
    if len(rows) < COLUMN_LINES_MIN or median(map(len, rows)) < COLUMN_WORDS_MIN:
        return False
    start, end = min(row[0].x0 for row in rows), max(row[-1].x1 for row in rows)
    full = sum(row[-1].x1 >= end - COLUMN_EDGE * (end - start) for row in rows)
    return full >= COLUMN_FULL_MIN * len(rows)


def _spelled(row: Row) -> tuple[str, list[float]]:
    """The text of a line and the left edge of each of its characters, then its right edge."""
    parts: list[str] = []
    xs: list[float] = []
    last: Word | None = None
    for word in row:
        if last is not None:
            gap, height = word.x0 - last.x1, _height(word)
            if gap > TOUCHING_GAP * height or (gap < -0.3 * height):
                parts.append("\t" if gap > CELL_GAP * height else " ")
                xs.append(round(last.x1, 1))
        parts.append(word.text)
        left, step = word.x0, (word.x1 - word.x0) / len(word.text)
        xs += [round(left + step * index, 1) for index in range(len(word.text))]
        last = word
    if last is not None:
        xs.append(round(last.x1, 1))
    return "".join(parts), xs


def _box(row: Row) -> Box:
    return (
        round(min(word.x0 for word in row), 1),
        round(min(word.top for word in row), 1),
        round(max(word.x1 for word in row), 1),
        round(max(word.bottom for word in row), 1),
    )
