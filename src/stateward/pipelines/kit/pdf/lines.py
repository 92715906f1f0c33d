"""Words of a page as lines and cells, without what every page repeats.

A line is what stands on one baseline across the page. Text that pages repeat in their margins (disclaimers, page
numbers) is dropped before lines are made, because it may be printed across a row of a table.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from stateward.pipelines.kit.pdf.pages import PdfPage, PdfWord

BASE_MAX = 0.34  # of the word height: how far from the baseline of its line a word may stand
TOUCHING_GAP = 0.09  # of the height: closer words are one, with a blank that is not printed
OVERLAP_MAX = 0.3  # of the height: words that overlap more are printed over each other
CELL_GAP = 0.62  # of the height: a wider gap starts a new cell
SAME_WIDTH = 0.02  # by how much letters of one width seem to differ
MARGIN_TOP, MARGIN_BOTTOM = 0.14, 0.12  # of the page height: where pages repeat themselves
REPEATED_MIN = 0.6  # of all pages
# A run of so many words is a sentence of the bank, not the text of two equal rows.
LONG_WORDS_MIN = 5
HUGE_MIN = 2.6  # of the median height: a word that large may be a watermark
LINES_ACROSS_MIN = 4  # words of other lines that a watermark covers
COUNTER_WORDS_MAX = 5
# Letters of ordinals that may be raised behind a figure; raised figures are notes, and part of no number.
ORDINALS = frozenset("er re e ère ème st nd rd th o a º ª".split())
_WHOLE = re.compile(
    r"\W?[0-9]{1,3}", re.ASCII
)  # `171.00` and a raised `a` are an amount and its note
RAISED_HEIGHT_MAX = 0.85  # of the word before them
RAISED_MIN = 0.1  # of the height: how far above its baseline they stand
# `Page 1`, `1/3`, `Seite 2 von 4`, `- 3 -`, `第 1 頁`: one or two numbers among a few letters.
COUNTER = re.compile(r"[^0-9]{0,14}[0-9]{1,4}(?:[^0-9]{1,8}[0-9]{1,4})?[^0-9]{0,3}")
COUNTER_KEY = "#"
_AMOUNT_END = re.compile(r"[0-9][.,][0-9]{2}\b")

MarginKey = tuple[str, int, int]  # text, and where it stands, rounded
IsContent = Callable[[str], bool]
Run = list[PdfWord]


class PdfLine(msgspec.Struct, gc=False):
    """One line of one page, its words from left to right."""

    page: int
    number: int  # within its page, from 1; 0 for a line that pages repeat
    base: float
    height: float
    words: list[PdfWord]
    text: str = ""
    _cells: "list[PdfCell] | None" = None

    @property
    def x0(self) -> float:
        """Its left edge."""
        return self.words[0].x0

    @property
    def x1(self) -> float:
        """Its right edge."""
        return self.words[-1].x1


class PdfCell(msgspec.Struct, gc=False):
    """Words that stand close together on one line."""

    text: str
    x0: float
    x1: float


L = TypeVar("L", bound=PdfLine)


def lines_of(
    pages: Sequence[PdfPage], line_type: type[L], *, is_content: IsContent
) -> tuple[list[list[L]], list[L]]:
    """The lines of every page from top to bottom, and once each line that pages repeat.

    `is_content` says of a text in a margin that it belongs to the document even if every page repeats it.
    """
    margins = _Margins(pages, is_content)
    lines = [
        [
            _line(line_type, page, number, words)
            for number, words in enumerate(
                baseline_rows(_with_ordinals(_without_watermarks(margins.split(page)[0]))),
                start=1,
            )
        ]
        for page in pages
    ]
    repeated = [
        _line(line_type, page, 0, row)
        for page, words in margins.repeated_words()
        for row in baseline_rows(words)
    ]
    return lines, repeated


def baseline_rows(words: Iterable[PdfWord]) -> list[list[PdfWord]]:
    """Words by baseline, from the top; within a row in the order of their baselines."""
    rows: list[list[PdfWord]] = []
    base = reach = 0.0
    for word in sorted(words, key=lambda word: word.base):
        height = word.bottom - word.top
        if not rows or word.base - base > BASE_MAX * min(height, reach):
            rows.append([])
            base, reach = word.base, height
        rows[-1].append(word)
    return rows


def is_touching(last: PdfWord, word: PdfWord) -> bool:
    """Whether a word follows so closely that both are one: no blank is printed between them."""
    height = word.bottom - word.top
    return -OVERLAP_MAX * height <= word.x0 - last.x1 <= TOUCHING_GAP * height


def cells_of(line: PdfLine) -> list[PdfCell]:
    """The cells of a line, made once: no caller changes them."""
    if line._cells is None:
        line._cells = _make_cells(line)
    return line._cells


def _make_cells(line: PdfLine) -> list[PdfCell]:
    cells: list[PdfCell] = []
    last: PdfWord | None = None
    for word in line.words:
        if last is not None and not word.begins_cell and _is_blank(last, word):
            cell = cells[-1]
            cell.text += " " + word.text
            cell.x1 = word.x1
        else:
            cells.append(PdfCell(word.text, word.x0, word.x1))
        last = word
    return cells


def _is_blank(last: PdfWord, word: PdfWord) -> bool:
    """Whether no more than a blank is between two words.

    Letters of one width have a blank of that width, which may be wider than the gap between cells elsewhere.
    """
    gap = word.x0 - last.x1
    if gap <= CELL_GAP * (last.bottom - last.top):
        return True
    letter = (last.x1 - last.x0) / len(last.text)
    other = (word.x1 - word.x0) / len(word.text)
    return max(abs(letter - other), abs(letter - gap)) <= SAME_WIDTH * letter


def _with_ordinals(words: list[PdfWord]) -> list[PdfWord]:
    """Words with the small raised letters of ordinals behind their figures: `1er janvier`, `3rd May`."""
    marks = [word for word in words if word.text in ORDINALS]
    if not marks:
        return words
    ending: dict[int, list[PdfWord]] = {}
    for word in words:
        if _WHOLE.fullmatch(word.text):
            ending.setdefault(round(word.x1), []).append(word)
    joined: dict[int, PdfWord | None] = {}
    for mark in marks:
        near = (w for at in (-1, 0, 1) for w in ending.get(round(mark.x0) + at, ()))
        if (number := next((w for w in near if _is_raised(mark, w)), None)) is not None:
            text = number.text + mark.text
            joined[id(number)] = replace(number, text=text, x1=max(number.x1, mark.x1))
            joined[id(mark)] = None
    if not joined:
        return words
    found = (joined.get(id(word), word) for word in words)
    return [word for word in found if word is not None]


def _is_raised(mark: PdfWord, word: PdfWord) -> bool:
    """Whether letters are smaller than a word, and stand higher on its line."""
    height = word.bottom - word.top
    is_small = mark.bottom - mark.top <= RAISED_HEIGHT_MAX * height
    return is_small and word.top < mark.base < word.base - RAISED_MIN * height


def _line(line_type: type[L], page: PdfPage, number: int, words: list[PdfWord]) -> L:
    words.sort(key=lambda word: word.x0)
    joined: list[PdfWord] = []
    for word in words:
        last = joined[-1] if joined else None
        if last is not None and is_touching(last, word) and abs(word.base - last.base) < 0.5:
            top, bottom = min(last.top, word.top), max(last.bottom, word.bottom)
            joined[-1] = PdfWord(
                last.text + word.text, last.x0, top, word.x1, bottom, last.base, last.run
            )
        else:
            joined.append(word)
    height = max(word.bottom - word.top for word in joined)
    text = " ".join(word.text for word in joined)
    return line_type(page.number, number, words[0].base, height, joined, text)


def _without_watermarks(words: list[PdfWord]) -> list[PdfWord]:
    """Words without those that are so large that lines of text run through them."""
    if not words:
        return words
    heights = sorted(word.bottom - word.top for word in words)
    median = heights[len(heights) // 2]
    huge = [word for word in words if word.bottom - word.top > HUGE_MIN * median]
    if not huge:
        return words
    watermarks = {
        id(mark)
        for mark in huge
        if sum(mark.top < word.base < mark.bottom and word not in huge for word in words)
        > LINES_ACROSS_MIN
    }
    return [word for word in words if id(word) not in watermarks]


class _Margins:
    """Runs of text that most pages print at the same place of their margins."""

    def __init__(self, pages: Sequence[PdfPage], is_content: IsContent) -> None:
        self._pages = pages
        self._is_content = lru_cache(maxsize=None)(is_content)  # each page repeats the same texts
        self._repeated: frozenset[MarginKey] = frozenset()
        if len(pages) > 1:
            counts: Counter[MarginKey] = Counter()
            for page in pages:
                in_margin = [word for word in page.words if _is_in_margin(page, word)]
                keys = {self._key(page, run) for run in _runs(in_margin)}
                counts.update(key for key in keys if key is not None)
            least = max(2, round(len(pages) * REPEATED_MIN))
            self._repeated = frozenset(key for key, times in counts.items() if times >= least)

    def split(self, page: PdfPage) -> tuple[list[PdfWord], list[Run]]:
        """The words of a page, and the runs that it only repeats.

        Two pages may well print the same text at the same place of a table, so a short run is dropped only above
        everything that the page has of its own; a long run, or the page number, above the first content and at the
        foot as well, unless it stands between a figure and an amount as the text of a row does.
        """
        if not self._repeated:
            return page.words, []
        runs = list(_runs(page.words))
        keys = [self._key(page, run) for run in runs]
        own = min(
            (run[0].base for run, key in zip(runs, keys, strict=True) if key not in self._repeated),
            default=page.height,
        )
        first = min((run[0].base for run in runs if self._is_named(page, run)), default=page.height)
        kept: list[PdfWord] = []
        dropped: list[Run] = []
        for run, key in zip(runs, keys, strict=True):
            if key is None or key not in self._repeated:
                kept.extend(run)
                continue
            is_counter = key[0] == COUNTER_KEY and not _starts_line(run, runs)
            is_outside = run[0].base < first or run[0].base > page.height / 2
            is_long = len(run) >= LONG_WORDS_MIN and is_outside and not _is_in_row(run, runs)
            if run[0].base < own - 1 or is_long or is_counter:
                dropped.append(run)
            else:
                kept.extend(run)
        return kept, dropped

    def _is_named(self, page: PdfPage, run: Run) -> bool:
        """Whether a run in a margin is content, as the heading of a table is."""
        return _is_in_margin(page, run[0]) and self._is_content(" ".join(word.text for word in run))

    def repeated_words(self) -> Iterator[tuple[PdfPage, list[PdfWord]]]:
        """The words of repeated runs, each run from the first page that has it."""
        seen: set[MarginKey | None] = {None}
        for page in self._pages if self._repeated else ():
            if len(seen) > len(self._repeated):
                return
            words: list[PdfWord] = []
            for run in self.split(page)[1]:
                key = self._key(page, run)
                if key not in seen:
                    seen.add(key)
                    words.extend(run)
            yield page, words

    def _key(self, page: PdfPage, run: Run) -> MarginKey | None:
        """What a run is recognised by on other pages; None if it is in no margin or is content."""
        if not _is_in_margin(page, run[0]):
            return None
        base, x0 = run[0].base, run[0].x0
        text = " ".join(word.text for word in run)
        if _is_page_number(text, page.number, len(self._pages)):
            return COUNTER_KEY, round(x0 / 12), round(base / 3)
        return None if self._is_content(text) else (text, round(x0 / 2), round(base / 2))


def _is_in_margin(page: PdfPage, word: PdfWord) -> bool:
    return not page.height * MARGIN_TOP < word.base < page.height * (1 - MARGIN_BOTTOM)


def _is_page_number(text: str, number: int, count: int) -> bool:
    """Whether a text is the number of this page, and not a date that looks like one."""
    if len(text.split()) > COUNTER_WORDS_MAX or not COUNTER.fullmatch(text):
        return False
    figures = re.findall(r"[0-9]+", text)
    is_padded = any(figure[0] == "0" for figure in figures) and not any(map(str.isalpha, text))
    # Of more pages than there are: backs that are empty, or pages that the file lacks.
    is_of_all = all(int(figure) >= count for figure in figures[1:])
    return not is_padded and int(figures[0]) == number and is_of_all


def _runs(words: Iterable[PdfWord]) -> Iterator[Run]:
    run: Run = []
    for word in words:
        if run and word.run != run[-1].run:
            yield run
            run = []
        run.append(word)
    if run:
        yield run


def _is_in_row(run: Run, runs: list[Run]) -> bool:
    """Whether a run has a text that begins with a figure at its left and an amount at its right, and nothing else.

    What is printed across a row stands over its cells, too.
    """
    base, start, end = run[0].base, run[0].x0, run[-1].x1
    beside = [other for other in runs if other is not run and abs(other[0].base - base) < 1]
    is_left = any(each[-1].x1 <= start and each[0].text[:1].isdigit() for each in beside)
    is_right = any(each[0].x0 >= end and _AMOUNT_END.search(each[-1].text) for each in beside)
    return (
        is_left and is_right and all(each[-1].x1 <= start or each[0].x0 >= end for each in beside)
    )


def _starts_line(run: Run, runs: list[Run]) -> bool:
    """Whether other text follows on the line: what starts a row is no page number."""
    base, end = run[0].base, run[-1].x1
    return any(abs(other[0].base - base) < 1 and other[0].x0 > end for other in runs)
