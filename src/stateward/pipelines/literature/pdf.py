"""A PDF as a paper, by the geometry of its text layer: columns, sizes, gaps, and what every page repeats.

Of a scan it is the geometry of the words that OCR reads, and a note says so.

The largest lines of the first page are the title; a line that is larger than the text, or is numbered or named like a
heading, is one. A PDF says of nothing what it is: authors are not guessed, and a note says where the layout told too
little.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from math import ceil
from pathlib import Path
from statistics import median

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.documents import Box
from stateward.pipelines.kit.failures import CORRUPT_FILE, TEXT_TOO_LARGE
from stateward.pipelines.kit.pdf.damage import count_damaged_streams
from stateward.pipelines.kit.pdf.lines import is_touching
from stateward.pipelines.kit.pdf.pages import (
    CHARS_PER_PAGE_MIN,
    PdfPage,
    PdfWord,
    read_pages,
    require_text,
)
from stateward.pipelines.kit.pdf.text import ADVICE, text_rows
from stateward.pipelines.literature.paper import Note, Paper, Place
from stateward.pipelines.literature.sections import (
    REFERENCES,
    entry_label,
    heading_level,
    is_words,
    plain_heading,
)
from stateward.pipelines.literature.text import Piece, join_lines, paper_of

FORMAT = "pdf"
LARGE_MIN = 1.12  # of the usual height: a heading; fonts of running text differ by less
GAP_MIN = 0.75  # of the height between two lines: a new paragraph
# Of the height: a line that begins so far right of the one above starts a paragraph.
INDENT_MIN = 0.6
MARGIN = 0.1  # of the page height, above and below: where pages repeat themselves
REPEATED_MIN = 3  # pages
TITLE_WITHIN = 0.55  # of the first page, from the top
PART_GAP = 0.9  # of the height: a wider gap within a line may be the one between two columns
NUMBER_GAP = 2.5  # of the height: as far from its number a heading may begin
GUTTER_STEP = 2  # points
GUTTER_WITHIN = (0.2, 0.8)  # of the width of what is divided: where a gutter may be
COLUMN_LINES_MIN = 5
COLUMN_WORDS_MIN = 3  # a line, median: cells of a table have fewer
ACROSS_MAX = 0.2  # of all lines may run over the gutter: titles, wide tables, footnotes
COLUMNS_DEPTH = 2  # divisions inside each other: up to four columns
LARGE_SHARE_MAX = 0.25  # of all characters: headings have fewer
TITLE_GAP = 1.5  # of the height: as far apart the lines of a title may be
ABSTRACT_CHARS_MAX = 4000  # a longer one has no end that the layout tells
DOUBTFUL_TITLE, NO_HEADINGS, SCANNED = "DOUBTFUL_TITLE", "NO_HEADINGS", "SCANNED"
DOUBTFUL_ABSTRACT, NO_REFERENCES = "DOUBTFUL_ABSTRACT", "NO_REFERENCES"

_DIGITS = re.compile(r"[0-9]+")
_NUMBER = re.compile(r"[0-9]{1,2}(?:\.[0-9]{1,2}){0,3}\.?|[IVX]{1,5}\.")


class _Line:
    """A line of one column: what stands on one baseline without a wide gap."""

    __slots__ = ("box", "height", "left", "page", "text", "words")

    def __init__(self, page: PdfPage, words: list[PdfWord]) -> None:
        self.page = page.number
        self.words = len(words)
        self.text = _line_text(words)
        self.box: Box = (
            round(min(word.x0 for word in words), 1),
            round(min(word.top for word in words), 1),
            round(max(word.x1 for word in words), 1),
            round(max(word.bottom for word in words), 1),
        )
        self.left: float = self.box[0]  # of its column, where that is known
        # Raised signs and a large initial must not make a line look like a heading.
        self.height = max(median(word.bottom - word.top for word in words), 0.1)


def _line_text(words: list[PdfWord]) -> str:
    text, last = "", None
    for word in words:
        blank = " " if last is not None and not is_touching(last, word) else ""
        text, last = f"{text}{blank}{word.text}", word
    return text


def read_pdf(path: Path, *, pages_max: int, chars_max: int) -> Paper:
    """A PDF, by its text layer or, where it is a scan, by OCR."""
    pages = _pages(path, pages_max, chars_max)
    is_scan = False
    try:
        require_text(pages, chars_min=CHARS_PER_PAGE_MIN * len(pages), advice=ADVICE)
    except FatalFailure as failure:
        from stateward.pipelines.kit.pdf.scans import scanned_pages

        pages, is_scan = scanned_pages(path, failure), True
    lines = _without_repeated(list(_read_columns(pages)))
    body = _body_height(lines)
    pieces = _title_first(_paragraphs(lines, body), pages[0].height)
    paper = paper_of(pieces, format_=FORMAT)
    if is_scan:
        what = "the PDF is a scan; its letters were recognised and may be mistaken"
        paper.notes.append(Note(code=SCANNED, message=what))
    if pieces and not (pieces[0].is_large and is_words(pieces[0].text)):
        what = (
            "no words of the first page are larger than its text; the title is what comes nearest"
        )
        paper.notes.append(Note(code=DOUBTFUL_TITLE, message=what))
    if not any(block.kind == "heading" for block in paper.blocks):
        what = "no headings were found by size, number or name; the text is one section"
        paper.notes.append(Note(code=NO_HEADINGS, message=what))
    if not any(block.kind == "reference" for block in paper.blocks):
        what = "no list of references was found; it may be part of the text"
        paper.notes.append(Note(code=NO_REFERENCES, message=what))
    if len(paper.metadata.abstract) > ABSTRACT_CHARS_MAX:
        what = "the layout does not tell where the abstract ends; text may have been taken for it"
        paper.notes.append(Note(code=DOUBTFUL_ABSTRACT, message=what))
    return paper


def _pages(path: Path, pages_max: int, chars_max: int) -> list[PdfPage]:
    pages: list[PdfPage] = []
    chars = 0
    for page in read_pages(path, pages_max=pages_max):
        chars += page.chars
        if chars > chars_max:
            raise FatalFailure(
                f"the file has more than {chars_max} characters; split it", code=TEXT_TOO_LARGE
            )
        pages.append(page)
    if damaged := count_damaged_streams(path):
        raise FatalFailure(
            f"{damaged} parts of the file are damaged, so some of its {len(pages)} pages may lack text;"
            " get the file again from its source",
            code=CORRUPT_FILE,
        )
    return pages


# Columns


def _read_columns(pages: list[PdfPage]) -> Iterator[tuple[PdfPage, list[_Line]]]:
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


def _page_lines(page: PdfPage) -> list[_Line]:
    parts = (_Line(page, part) for row in text_rows(page.words) for part in _row_parts(row))
    return sorted(parts, key=lambda line: (line.box[3], line.box[0]))


def _leaves_free(lines: list[_Line], x: float) -> bool:
    return sum(each.box[0] < x < each.box[2] for each in lines) <= ACROSS_MAX * len(lines)


def _row_parts(row: list[PdfWord]) -> Iterator[list[PdfWord]]:
    """What stands on one baseline, divided at wide gaps; the number of a heading stays with its words."""
    part: list[PdfWord] = []
    for word in row:
        is_number = len(part) == 1 and word.text[:1].isupper() and _NUMBER.fullmatch(part[0].text)
        gap = NUMBER_GAP if is_number else PART_GAP
        if part and word.x0 - part[-1].x1 > gap * max(word.bottom - word.top, 1.0):
            yield part
            part = []
        part.append(word)
    if part:
        yield part


def _in_columns(lines: list[_Line], x: float | None, depth: int) -> Iterator[_Line]:
    """Lines as a person reads them: between two lines that run over the gutter x, the left column comes first."""
    if x is None:
        edges = Counter(round(each.box[0]) for each in lines)
        for each in lines:
            each.left = max(edges, key=lambda edge: (edges[edge], -edge))
            yield each
        return
    beside: list[_Line] = []
    for line in lines:
        if line.box[0] < x < line.box[2]:
            yield from _columns(beside, x, depth)
            beside = []
            yield line
        else:
            beside.append(line)
    yield from _columns(beside, x, depth)


def _columns(lines: list[_Line], x: float, depth: int) -> Iterator[_Line]:
    for is_right in (False, True):
        column = [each for each in lines if (each.box[0] >= x) == is_right]
        yield from _in_columns(column, _gutter(column) if depth > 1 else None, depth - 1)


def _gutter(lines: list[_Line]) -> float | None:
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


def _is_column(lines: Iterable[_Line]) -> bool:
    words = [each.words for each in lines]
    return len(words) >= COLUMN_LINES_MIN and median(words) >= COLUMN_WORDS_MIN


# What pages repeat


def _without_repeated(pages: list[tuple[PdfPage, list[_Line]]]) -> list[_Line]:
    """All lines but running heads, page numbers and what else pages print in their margins."""
    keys = {(page.number, _margin_key(page, line)) for page, lines in pages for line in lines}
    counts = Counter(key for _, key in keys if key is not None)
    return [
        line
        for page, lines in pages
        for line in lines
        if (key := _margin_key(page, line)) is None
        or not (
            counts[key] >= REPEATED_MIN or counts[key] == len(pages) > 1 or line.text.isdecimal()
        )
    ]


def _margin_key(page: PdfPage, line: _Line) -> tuple[str, bool] | None:
    """What a line of a margin is recognised by on other pages; None outside the margins."""
    is_top, is_foot = line.box[3] < page.height * MARGIN, line.box[1] > page.height * (1 - MARGIN)
    return (_DIGITS.sub("#", line.text), is_top) if is_top or is_foot else None


# Paragraphs


def _body_height(lines: list[_Line]) -> float:
    """The height of most characters; that of references and notes, however many, is not the one of the text."""
    heights: Counter[float] = Counter()
    for line in lines:
        heights[round(line.height, 1)] += len(line.text)
    body = _most(heights)
    larger = Counter({each: heights[each] for each in heights if each > LARGE_MIN * body})
    return _most(larger) if larger.total() > LARGE_SHARE_MAX * heights.total() else body


def _most(heights: Counter[float]) -> float:
    return max(heights, key=lambda each: (heights[each], -each), default=10.0)


def _paragraphs(lines: list[_Line], body: float) -> list[Piece]:
    pieces: list[Piece] = []
    held: list[_Line] = []
    is_cited = False

    def close() -> None:
        if held:
            pieces.append(_piece(held, body))
            held.clear()

    for line in lines:
        if held and _starts(held, line):
            close()
        held.append(line)
        if heading_level(line.text, is_cited=is_cited):
            is_cited = plain_heading(line.text) in REFERENCES
            if not _is_large(line, body):
                close()
    close()
    return pieces


def _starts(held: list[_Line], line: _Line) -> bool:
    """Whether a line begins another paragraph than the lines before it belong to."""
    last = held[-1]
    height = max(last.height, line.height)
    if abs(last.height - line.height) > 0.1 * height:
        return True
    if heading_level(line.text) or entry_label(line.text):
        return True
    has_ended = last.text.endswith((".", "?", "!"))
    indent = line.box[0] - line.left
    is_indented = indent > INDENT_MIN * height and not entry_label(held[0].text)
    if last.page != line.page or line.box[1] < last.box[1]:  # the top of the next column or page
        return has_ended and (is_indented or _is_short(held))
    if line.box[1] - last.box[3] > GAP_MIN * height:
        return True
    if -indent > INDENT_MIN * height:  # entries of a list whose further lines are indented
        return last.box[0] > line.box[0]
    return is_indented and has_ended


def _is_short(held: list[_Line]) -> bool:
    rights = [each.box[2] for each in held]
    return len(held) > 1 and held[-1].box[2] < median(rights) - 10


def _is_large(line: _Line, body: float) -> bool:
    return line.height > LARGE_MIN * body


def _piece(lines: list[_Line], body: float) -> Piece:
    boxes = [line.box for line in lines if line.page == lines[0].page]
    box = (
        min(each[0] for each in boxes),
        min(each[1] for each in boxes),
        max(each[2] for each in boxes),
        max(each[3] for each in boxes),
    )
    where = Place(page=lines[0].page, box=box)
    size = max(line.height for line in lines)
    return Piece(
        join_lines([line.text for line in lines]),
        where,
        size=size,
        is_large=size > LARGE_MIN * body,
    )


def _title_first(pieces: list[Piece], height: float) -> list[Piece]:
    """The pieces with the title before all others: the largest words in the upper half of the first page."""
    first = [
        piece
        for piece in pieces
        if piece.where.page == 1
        and piece.where.box is not None
        and piece.where.box[1] < height * TITLE_WITHIN
        and len(piece.text) > 3
    ]
    if not first:
        return pieces
    # Addresses of the authors and signs of a picture may be larger still.
    named = [piece for piece in first if is_words(piece.text)]
    title = max(named or first, key=lambda piece: piece.size)
    lines = [title]
    for piece in sorted(first, key=_top):
        if _continues(lines[-1], piece):
            lines.append(piece)
    text = join_lines([each.text for each in lines])
    whole = Piece(text, title.where, size=title.size, is_large=title.is_large)
    return [title if len(lines) == 1 else whole, *(piece for piece in pieces if piece not in lines)]


def _top(piece: Piece) -> float:
    return 0.0 if piece.where.box is None else piece.where.box[1]


def _continues(title: Piece, piece: Piece) -> bool:
    """Whether a piece is a further line of the title: as large, and close below."""
    above, below = title.where.box, piece.where.box
    if above is None or below is None or abs(piece.size - title.size) > 0.02 * title.size:
        return False
    is_below = below[1] - above[1] > 0 and below[1] - above[3] < TITLE_GAP * title.size
    is_same_column = below[0] < above[2] and above[0] < below[2]
    return title.is_large and is_below and is_same_column and not heading_level(piece.text)
