"""Words put into lines, and what every page repeats taken away.

A line is what stands on one base line across the page. What pages repeat in their margins (disclaimers, page
numbers) is dropped before lines are made, since it may be printed across a row of the table.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from stateward.pipelines.statements.pdf.pages import Page, Word
from stateward.pipelines.statements.pdf.tokens import Token, money_in
from stateward.pipelines.statements.pdf.vocabulary import BALANCE_BOOKS, heading_role, plain

MARGIN_TOP, MARGIN_BOTTOM = 0.14, 0.12  # of the height: where pages repeat themselves
REPEATED_MIN = 0.6  # of all pages
LONG_WORDS_MIN = 5  # a stroke so long is no name of a shop
BASE_MAX = 0.34  # of the height of a word: how far from the base line it may stand
JOINED_GAP = 0.09  # of the height: closer words are one
HUGE_MIN = 2.6  # of the usual height: a word so large may be a mark across the page
LINES_ACROSS_MIN = 4  # words of other lines beside or behind it
CELL_GAP = 0.62  # of the height: a wider gap is a new cell
COUNTER_WORDS_MAX = 5
# `Page 1`, `1/3`, `Seite 2 von 4`, `- 3 -`, `第 1 頁`: a number or two among a few letters.
COUNTER = re.compile(r"[^0-9]{0,14}[0-9]{1,4}(?:[^0-9]{1,8}[0-9]{1,4})?[^0-9]{0,3}")


Repeated = frozenset[tuple[str, int, int]]  # text, and where it stands, roughly


class Cell(msgspec.Struct, gc=False):
    """Words that stand close together on one line."""

    text: str
    x0: float
    x1: float


class Line(msgspec.Struct, gc=False):
    """One line of one page, its words from left to right."""

    page: int
    number: int  # of its page, from 1
    base: float
    height: float
    words: list[Word]
    text: str = ""
    _money: list[Token] | None = None

    @property
    def x0(self) -> float:
        """Where it begins."""
        return self.words[0].x0

    @property
    def x1(self) -> float:
        """Where it ends."""
        return self.words[-1].x1

    @property
    def money(self) -> list[Token]:
        """Every amount in it, looked for once."""
        if self._money is None:
            self._money = money_in(self.words)
        return self._money


def lines_of(pages: Sequence[Page]) -> tuple[list[list[Line]], list[Line]]:
    """The lines of every page, top to bottom; and once, from the first page, those that pages repeat."""
    repeated = _repeated(pages)
    kept = [_page_lines(page, repeated, len(pages)) for page in pages]
    return kept, _repeated_lines(pages, repeated)


def cells_of(line: Line) -> list[Cell]:
    """The cells of a line."""
    cells: list[Cell] = []
    last: Word | None = None
    for word in line.words:
        if last is not None and word.x0 - last.x1 <= CELL_GAP * (last.bottom - last.top):
            cell = cells[-1]
            cell.text += " " + word.text
            cell.x1 = word.x1
        else:
            cells.append(Cell(word.text, word.x0, word.x1))
        last = word
    return cells


def _repeated(pages: Sequence[Page]) -> Repeated:
    """Strokes of text that most pages print at the same place of their margins."""
    if len(pages) < 2:
        return frozenset()
    count: Counter[tuple[str, int, int]] = Counter()
    for page in pages:
        count.update(set(_marginal(page, len(pages))))
    least = max(2, round(len(pages) * REPEATED_MIN))
    return frozenset(key for key, times in count.items() if times >= least)


def _marginal(page: Page, count: int) -> Iterator[tuple[str, int, int]]:
    for words in _runs(_in_margin(page)):
        if key := _margin_key(page, words, count):
            yield key


def _in_margin(page: Page) -> list[Word]:
    top, bottom = page.height * MARGIN_TOP, page.height * (1 - MARGIN_BOTTOM)
    return [word for word in page.words if not top < word.base < bottom]


def _margin_key(page: Page, words: Sequence[Word], count: int) -> tuple[str, int, int] | None:
    """What a stroke is known by on other pages; None if it stands in no margin or may be of the table."""
    base = words[0].base
    if page.height * MARGIN_TOP < base < page.height * (1 - MARGIN_BOTTOM):
        return None
    text = " ".join(word.text for word in words)
    if _is_counter(text, page.number, count):
        return "#", round(words[0].x0 / 12), round(base / 3)
    if heading_role(text) or any(book.found(plain(text)) for book in BALANCE_BOOKS.values()):
        return None
    return text, round(words[0].x0 / 2), round(base / 2)


def _is_counter(text: str, number: int, count: int) -> bool:
    """Whether a text is the number of this page, and not a date that looks like one."""
    if len(text.split()) > COUNTER_WORDS_MAX or not COUNTER.fullmatch(text):
        return False
    figures = re.findall(r"[0-9]+", text)
    is_padded = any(figure[0] == "0" for figure in figures) and not any(map(str.isalpha, text))
    return not is_padded and int(figures[0]) == number and figures[1:] in ([], [str(count)])


def _runs(words: Iterable[Word]) -> Iterator[list[Word]]:
    held: list[Word] = []
    for word in words:
        if held and word.run != held[-1].run:
            yield held
            held = []
        held.append(word)
    if held:
        yield held


def _page_lines(page: Page, repeated: Repeated, count: int) -> list[Line]:
    kept, _ = _sorted_out(page, repeated, count)
    kept = _without_marks(kept)
    return [_line(page, number, words) for number, words in enumerate(_rows(kept), start=1)]


def _begins_line(run: list[Word], runs: list[list[Word]]) -> bool:
    """Whether other text follows on the line: what begins a row is no number of a page."""
    base, end = run[0].base, run[-1].x1
    return any(abs(other[0].base - base) < 1 and other[0].x0 > end for other in runs)


def _without_marks(words: list[Word]) -> list[Word]:
    """Words without those so large that lines of text run through them: marks across the page."""
    if not words:
        return words
    heights = sorted(word.bottom - word.top for word in words)
    usual = heights[len(heights) // 2]
    huge = [word for word in words if word.bottom - word.top > HUGE_MIN * usual]
    if not huge:
        return words
    marks = {
        id(mark)
        for mark in huge
        if sum(mark.top < word.base < mark.bottom and word not in huge for word in words)
        > LINES_ACROSS_MIN
    }
    return [word for word in words if id(word) not in marks]


def _sorted_out(page: Page, repeated: Repeated, count: int) -> tuple[list[Word], list[list[Word]]]:
    """The words of a page, and the strokes that it only repeats.

    Two pages may well print the same shop at the same place, so a short stroke is dropped only above everything
    that the page has of its own; a long one, or the number of the page, at the foot as well.
    """
    if not repeated:
        return page.words, []
    runs = list(_runs(page.words))
    keys = [_margin_key(page, run, count) for run in runs]
    own = min(
        (run[0].base for run, key in zip(runs, keys, strict=True) if key not in repeated),
        default=page.height,
    )
    kept: list[Word] = []
    dropped: list[list[Word]] = []
    for run, key in zip(runs, keys, strict=True):
        is_number = key is not None and key[0] == "#" and not _begins_line(run, runs)
        is_long = len(run) >= LONG_WORDS_MIN or is_number
        if key in repeated and (run[0].base < own - 1 or is_long):
            dropped.append(run)
        else:
            kept.extend(run)
    return kept, dropped


def _repeated_lines(pages: Sequence[Page], repeated: Repeated) -> list[Line]:
    seen: set[tuple[str, int, int] | None] = {None}
    lines: list[Line] = []
    for page in pages if repeated else ():
        if len(seen) > len(repeated):
            break
        words: list[Word] = []
        for run in _sorted_out(page, repeated, len(pages))[1]:
            key = _margin_key(page, run, len(pages))
            if key not in seen:
                seen.add(key)
                words.extend(run)
        lines.extend(_line(page, 0, row) for row in _rows(words))
    return lines


def _rows(words: list[Word]) -> Iterator[list[Word]]:
    """Words by base line, from the top."""
    held: list[Word] = []
    base = 0.0
    for word in sorted(words, key=lambda word: word.base):
        if held and word.base - base > BASE_MAX * min(
            word.bottom - word.top, held[0].bottom - held[0].top
        ):
            yield held
            held = []
        if not held:
            base = word.base
        held.append(word)
    if held:
        yield held


def _line(page: Page, number: int, words: list[Word]) -> Line:
    words.sort(key=lambda word: word.x0)
    joined = _joined(words)
    height = max(word.bottom - word.top for word in joined)
    text = " ".join(word.text for word in joined)
    return Line(page.number, number, words[0].base, height, joined, text)


def _joined(words: list[Word]) -> list[Word]:
    """Words that touch are one: a blank that is not there was read into them."""
    joined: list[Word] = []
    for word in words:
        last = joined[-1] if joined else None
        height = word.bottom - word.top
        if (
            last is not None
            and -0.3 * height < word.x0 - last.x1 < JOINED_GAP * height
            and abs(word.base - last.base) < 0.5
        ):
            joined[-1] = Word(
                last.text + word.text,
                last.x0,
                min(last.top, word.top),
                word.x1,
                max(last.bottom, word.bottom),
                last.base,
                last.run,
            )
        else:
            joined.append(word)
    return joined
