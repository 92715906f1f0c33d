"""A PDF as a paper, by the geometry of its text layer: columns, sizes, gaps, and what every page repeats.

Of a scan it is the geometry of the words that OCR reads, and a note says so.

The largest lines of the first page are the title; a line that is larger than the text, or is numbered or named like a
heading, is one. A PDF says of nothing what it is: authors are not guessed, and a note says where the layout told too
little.
"""

import re
from collections import Counter
from itertools import takewhile
from pathlib import Path
from statistics import median

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.failures import CORRUPT_FILE, TEXT_TOO_LARGE
from stateward.pipelines.kit.pdf.damage import count_damaged_streams
from stateward.pipelines.kit.pdf.pages import (
    CHARS_PER_PAGE_MIN,
    PdfPage,
    read_pages,
    require_text,
)
from stateward.pipelines.kit.pdf.text import ADVICE
from stateward.pipelines.literature.identifiers import DOI
from stateward.pipelines.literature.paper import Author, Note, Paper, Place
from stateward.pipelines.literature.pdf_columns import Line, read_columns
from stateward.pipelines.literature.pdf_front import (
    abstract_among,
    authors_below,
    is_sentence,
    title_above_names,
    year_printed,
)
from stateward.pipelines.literature.sections import (
    NAMED,
    REFERENCES,
    begins_entry,
    entry_label,
    heading_level,
    ids_in,
    is_keywords,
    is_words,
    plain_heading,
)
from stateward.pipelines.literature.text import (
    Piece,
    is_printed_heading,
    join_lines,
    paper_of,
)

FORMAT = "pdf"
LARGE_MIN = 1.12  # of the usual height: a heading; fonts of running text differ by less
GAP_MIN = 0.75  # of the height between two lines: a new paragraph
# Of the height: a line that begins so far right of the one above starts a paragraph.
INDENT_MIN = 0.6
MARGIN = 0.1  # of the page height, above and below: where pages repeat themselves
REPEATED_MIN = 3  # pages
TITLE_WITHIN = 0.55  # of the first page, from the top
LARGE_SHARE_MAX = 0.25  # of all characters: headings have fewer
BOLD_TELLS_MAX = 0.25  # of all characters: where more are bold, it tells no heading
SMALL_MAX = 0.9  # of the usual height: what is smaller and bold is no heading of the text
HANGING_MIN = 0.15  # of the lines of a list of references begin entries, and as many go on
SLANTED_STEP = 0.15  # of the size: as much taller may the boxes of slanted letters be
SCANNED_STEP = 0.15  # of the size: as much may the boxes of recognised lines of one size differ
TITLE_GAP = 1.5  # of the height: as far apart the lines of a title may be
ABSTRACT_CHARS_MAX = 4000  # a longer one has no end that the layout tells
DOUBTFUL_TITLE, NO_HEADINGS, SCANNED = "DOUBTFUL_TITLE", "NO_HEADINGS", "SCANNED"
AUTHORS_FROM_LAYOUT = "AUTHORS_FROM_LAYOUT"
DOUBTFUL_ABSTRACT, NO_REFERENCES = "DOUBTFUL_ABSTRACT", "NO_REFERENCES"

_DIGITS = re.compile(r"[0-9]+")


def read_pdf(path: Path, *, pages_max: int, chars_max: int) -> Paper:
    """A PDF, by its text layer or, where it is a scan, by OCR."""
    pages = _pages(path, pages_max, chars_max)
    is_scan = False
    try:
        require_text(pages, chars_min=CHARS_PER_PAGE_MIN * len(pages), advice=ADVICE)
    except FatalFailure as failure:
        from stateward.pipelines.kit.pdf.scans import scanned_pages

        pages, is_scan = scanned_pages(path, failure), True
    columns = list(read_columns(pages))
    if is_scan:
        level_heights([line for _, own in columns for line in own])
    lines = _without_repeated(columns)
    body = _body_height(lines)
    pieces = _title_first(_paragraphs(lines, body), pages[0].height)
    paper = paper_of(pieces, format_=FORMAT)
    authors, front = _front(pieces)
    if authors:
        paper = _with_abstract(paper, pieces, front)
        paper.metadata.authors = authors
        what = "the authors are the names that stand below the title; more may stand elsewhere"
        paper.notes.append(Note(code=AUTHORS_FROM_LAYOUT, message=what))
    paper.metadata.year = year_printed(_imprint(*columns[0], body))
    _take_stamp(paper, pages[0].turned)
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
    abstract = paper.metadata.abstract
    if len(abstract) > ABSTRACT_CHARS_MAX or (abstract and not is_sentence(abstract)):
        what = "the layout does not tell where the abstract ends; text may have been taken for it"
        paper.notes.append(Note(code=DOUBTFUL_ABSTRACT, message=what))
    return paper


def _take_stamp(paper: Paper, stamp: str) -> None:
    """What arXiv prints along the edge of the first page: its number, which begins with year and month."""
    ids, year = paper.metadata.ids, paper.metadata.year
    number = ids_in(stamp).get("arxiv", "")
    if number and "arxiv" not in ids:
        paper.metadata.ids = {**ids, "arxiv": number}
    if year is None and number[:4].isdecimal():
        paper.metadata.year = 2000 + int(number[:2])


def _front(pieces: list[Piece]) -> tuple[list[Author], list[Piece]]:
    """The authors, and what stands on the first page between them and the first heading."""
    title = pieces[0] if pieces else None
    if title is None or title.where.page != 1:
        return [], []
    first = [each for each in pieces[1:] if each.where.page == 1 and _top(each) > _top(title)]
    below = sorted(first, key=_top)
    authors, count = authors_below(below)
    if not authors:
        return [], []
    named = below[count - 1]
    behind = list(takewhile(lambda each: each.where.page == 1, pieces[pieces.index(named) + 1 :]))
    heading = next((at for at, each in enumerate(behind) if _is_heading(each)), None)
    # Where no heading follows, only what is bold is told from the text.
    return authors, behind[:heading] if heading is not None else [p for p in behind if p.is_bold]


def _is_heading(piece: Piece) -> bool:
    return bool(heading_level(piece.text)) or is_printed_heading(piece)


def _with_abstract(paper: Paper, pieces: list[Piece], front: list[Piece]) -> Paper:
    """The paper, its abstract being the one text of the front where none is called so."""
    if paper.metadata.abstract or (found := abstract_among(front)) is None:
        return paper
    return paper_of(pieces, format_=FORMAT, abstract=found)


def _imprint(page: PdfPage, lines: list[Line], body: float) -> str:
    """What the first page prints around its text: in its margins, in another size, and with its DOI above it."""
    above = takewhile(lambda line: not heading_level(line.text), lines)
    named = {line for line in above if DOI.search(line.text)}
    around = (
        line
        for line in lines
        if line in named
        or _margin_key(page, line) is not None
        or abs(line.height - body) > 0.03 * body
    )
    return "\n".join(line.text for line in around)


def _pages(path: Path, pages_max: int, chars_max: int) -> list[PdfPage]:
    pages: list[PdfPage] = []
    chars = 0
    for page in read_pages(path, pages_max=pages_max, with_fonts=True):
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


def level_heights(lines: list[Line]) -> None:
    """Give the lines of a scan that are set in the size of its text one height.

    A PDF knows the size of its letters. The box of a recognised line is as high as what the line happens to hold: with
    a bracket or a g it is a sixth higher than without, which would begin a paragraph at every other line.
    """
    heights = [line.height for line in lines for _ in range(len(line.text))]
    if not heights:
        return
    usual = median(heights)
    for line in lines:
        if abs(line.height - usual) <= SCANNED_STEP * usual:
            line.height = usual


# What pages repeat


def _without_repeated(pages: list[tuple[PdfPage, list[Line]]]) -> list[Line]:
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


def _margin_key(page: PdfPage, line: Line) -> tuple[str, bool] | None:
    """What a line of a margin is recognised by on other pages; None outside the margins."""
    is_top, is_foot = line.box[3] < page.height * MARGIN, line.box[1] > page.height * (1 - MARGIN)
    return (_DIGITS.sub("#", line.text), is_top) if is_top or is_foot else None


# Paragraphs


def _body_height(lines: list[Line]) -> float:
    """The height of most characters; that of references and notes, however many, is not the one of the text."""
    heights: Counter[float] = Counter()
    for line in lines:
        heights[round(line.height, 1)] += len(line.text)
    body = _most(heights)
    larger = Counter({each: heights[each] for each in heights if each > LARGE_MIN * body})
    return _most(larger) if larger.total() > LARGE_SHARE_MAX * heights.total() else body


def _most(heights: Counter[float]) -> float:
    return max(heights, key=lambda each: (heights[each], -each), default=10.0)


def _paragraphs(lines: list[Line], body: float) -> list[Piece]:
    pieces: list[Piece] = []
    held: list[Line] = []
    is_cited = False
    entries = _hanging_entries(lines)
    bold = sum(len(line.text) for line in lines if line.is_bold)
    is_told = bold <= BOLD_TELLS_MAX * sum(len(line.text) for line in lines)

    def close() -> None:
        if held:
            pieces.append(_piece(held, body, is_told=is_told))
            held.clear()

    for line in lines:
        is_entry = is_cited and line not in entries and _begins_entry(held, line)
        if is_entry or (
            held and (_starts(held, line, entries) or (is_told and _changes(held[-1], line)))
        ):
            close()
        held.append(line)
        if heading_level(line.text, is_cited=is_cited):
            is_cited = plain_heading(line.text) in REFERENCES
            is_set_off = _is_large(line, body) or line.is_bold  # and may go on in the next line
            if not is_set_off or plain_heading(line.text) in NAMED:
                close()
    close()
    return pieces


def _begins_entry(held: list[Line], line: Line) -> bool:
    """Whether a line of a list of references that has no numbers begins the next one."""
    return bool(
        held and not entry_label(held[0].text) and begins_entry(line.text, after=held[-1].text)
    )


def _changes(last: Line, line: Line) -> bool:
    """Whether bold begins or ends between two lines; a mark alone says nothing, unless it is a cell.

    Below a numbered heading, however short, the text may begin with a formula.
    """
    if last.is_bold and not line.is_bold and heading_level(last.text):
        return True
    is_text = is_words(last.text) or not last.is_alone
    return last.is_bold != line.is_bold and is_text and is_words(line.text)


def _hanging_entries(lines: list[Line]) -> dict[Line, bool]:
    """Of the lines of a list of references whose further lines are indented: whether each begins an entry."""
    columns: dict[tuple[int, float], list[Line]] = {}
    is_cited = False
    for line in lines:
        if heading_level(line.text, is_cited=is_cited):
            is_cited = plain_heading(line.text) in REFERENCES
        elif is_cited:
            columns.setdefault((line.page, line.left), []).append(line)
    found: dict[Line, bool] = {}
    for column in columns.values():
        edge = min(line.box[0] for line in column)
        further = [line.box[0] - edge > INDENT_MIN * line.height for line in column]
        if HANGING_MIN <= sum(further) / len(further) <= 1 - HANGING_MIN:
            found |= {line: not each for line, each in zip(column, further, strict=True)}
    return found


def _starts(held: list[Line], line: Line, entries: dict[Line, bool]) -> bool:
    """Whether a line begins another paragraph than the lines before it belong to."""
    last = held[-1]
    if line in entries and last in entries:
        return entries[line]
    height = max(last.height, line.height)
    difference = abs(last.height - line.height)
    if difference > 0.1 * height or (line.is_bold and last.is_bold and difference > 0.04 * height):
        return True
    if heading_level(line.text) or entry_label(line.text) or is_keywords(line.text):
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


def _is_short(held: list[Line]) -> bool:
    rights = [each.box[2] for each in held]
    return len(held) > 1 and held[-1].box[2] < median(rights) - 10


def _is_large(line: Line, body: float) -> bool:
    return line.height > LARGE_MIN * body


def _piece(lines: list[Line], body: float, *, is_told: bool) -> Piece:
    boxes = [line.box for line in lines if line.page == lines[0].page]
    box = (
        min(each[0] for each in boxes),
        min(each[1] for each in boxes),
        max(each[2] for each in boxes),
        max(each[3] for each in boxes),
    )
    where = Place(page=lines[0].page, box=box)
    size = max(line.height for line in lines)
    is_cell = not all(line.is_alone for line in lines)
    is_bold = is_told and not is_cell and all(line.is_bold for line in lines)
    return Piece(
        join_lines([line.text for line in lines]),
        where,
        size=size,
        is_large=size > LARGE_MIN * body,
        is_bold=is_bold and size > SMALL_MAX * body,
        is_cell=is_cell,
        lines=[line.unmarked for line in lines],
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
    title = title_above_names(sorted(named, key=_top))
    title = title or max(named or first, key=lambda piece: piece.size)
    while (above := next((each for each in named if _continues(each, title)), None)) is not None:
        title = above
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
    # A small letter goes on with a sentence, though slanted letters may have taller boxes.
    step = SLANTED_STEP if piece.text[:1].islower() else 0.02
    if above is None or below is None or abs(piece.size - title.size) > step * title.size:
        return False
    is_below = below[1] - above[1] > 0 and below[1] - above[3] < TITLE_GAP * title.size
    is_same_column = below[0] < above[2] and above[0] < below[2]
    is_line = is_below and is_same_column and re.search(r"[^\W_]{2}", piece.text) is not None
    return title.is_large and is_line and not heading_level(piece.text)
