"""Tables side by side: a page that is read as two, one below the other.

What shows it are lines in which a name and its result stand to the right of another result, at the same place in line
after line. A method beside a row is no known name and the same for many rows, so it divides nothing.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.labs.analytes import is_name
from stateward.pipelines.labs.pdf.cells import cells, is_result, split_value, without_leaders
from stateward.pipelines.labs.pdf.columns import is_wording
from stateward.pipelines.labs.pdf.headings import headings_of, is_line_of_headings

LINES_MIN = 3  # with a second name at the same place
DISTINCT_MIN = 0.8  # of those names, where they are not known
SAME_PLACE = 4.0  # points
MARGIN = 2.0  # points to the left of the second names that words of the first table leave free
ABOVE_MAX = 2  # lines above the first row that may be the headings of both tables

Lines = Sequence[PdfLine]


def parts_of(page: Lines) -> list[list[PdfLine]]:
    """The parts of a page to be read one after the other: the whole, or the left table, the right one and the rest."""
    found = _headed_halves(page) or _halves(page)
    if found is None:
        return [list(page)]
    start, end, x = found
    body = page[start:end]
    left = [half for line in body if (half := _half(line, -1e6, x))]
    right = [half for line in body if (half := _half(line, x, 1e6))]
    return [part for part in ([*page[:start], *left], right, list(page[end:])) if part]


def has_two_headings(page: Lines) -> bool:
    """Whether one line names the columns of two tables that stand side by side."""
    return _headed_halves(page) is not None


def _headed_halves(page: Lines) -> tuple[int, int, float] | None:
    """The lines of two tables whose headings stand in one line, and where the right one begins.

    Below that line the two halves need not share baselines: the name of one row may take two lines.
    """
    for at, line in enumerate(page):
        tests = [each for each in headings_of(line) if each.role == "test"]
        if len(tests) != 2:
            continue
        x = tests[1].x0 - MARGIN
        halves = [[w for w in line.words if w.x0 < x], [w for w in line.words if w.x0 >= x]]
        if not all(map(is_line_of_headings, halves)):
            continue
        end = next((n for n in range(at + 1, len(page)) if _crosses(page[n].words, x)), len(page))
        if end - at > LINES_MIN:
            return _start(page, at, x), end, x
    return None


def _halves(page: Lines) -> tuple[int, int, float] | None:
    """The same of tables without headings, by their rows."""
    found = _gutter(page)
    if found is None:
        return None
    first, last, x = found
    return _start(page, first, x), _end(page, last, x), x


def _gutter(page: Lines) -> tuple[int, int, float] | None:
    """The first and the last line with a second row to the right, and where that begins; None if there is none."""
    places = [(at, *told) for at, line in enumerate(page) for told in _second_rows(line)]
    groups = [
        [each for each in places if abs(each[1] - about) <= SAME_PLACE] for _, about, _ in places
    ]
    best = max(filter(_are_names, groups), key=len, default=[])
    if len(best) < LINES_MIN:
        return None
    x = min(x for _, x, _ in best) - MARGIN
    first, last = best[0][0], best[-1][0]
    crossing = sum(any(word.x0 < x < word.x1 for word in line.words) for line in page[first:last])
    return None if crossing > len(best) / LINES_MIN else (first, last, x)


def _are_names(group: Sequence[tuple[int, float, str]]) -> bool:
    """Whether the texts at one place are names of tests: known ones, or words that differ from line to line."""
    texts = [text for *_, text in group]
    return sum(map(is_name, texts)) >= LINES_MIN or len({*texts}) >= DISTINCT_MIN * len(texts)


def _second_rows(line: PdfLine) -> Iterator[tuple[float, str]]:
    """Where words with a result behind them begin, to the right of a result, and the words."""
    found = cells(line.words)
    texts = [" ".join(word.text for word in cell) for cell in found]
    numbers = [is_result(split_value(text).value) for text in texts]
    for at in range(2, len(texts) - 1):
        is_row = any(numbers[1:at]) and any(numbers[at + 1 : at + 3])
        name = without_leaders(texts[at])
        if is_row and not numbers[at] and (is_name(name) or is_wording(name)):
            yield found[at][0].x0, name


def _start(page: Lines, first: int, x: float) -> int:
    """The first line of both tables: headings above their rows, if a word of them begins where the second names do."""
    for at in range(max(first - ABOVE_MAX, 0), first):
        begins = any(abs(word.x0 - x - MARGIN) <= SAME_PLACE for word in page[at].words)
        if begins and not any(word.x0 < x < word.x1 for word in page[at].words):
            return at
    return first


def _end(page: Lines, last: int, x: float) -> int:
    """The line below both tables: the longer one may go on where the other has ended."""
    for at in range(last + 1, len(page)):
        words = page[at].words
        if _crosses(words, x) or not _is_row(words, x):
            return at
    return len(page)


def _crosses(words: Sequence[PdfWord], x: float) -> bool:
    return any(cell[0].x0 < x < cell[-1].x1 for cell in cells(words))


def _is_row(words: Sequence[PdfWord], x: float) -> bool:
    """Whether one half of a line is a result or a line of headings."""
    for half in ([w for w in words if w.x0 < x], [w for w in words if w.x0 >= x]):
        texts = [" ".join(word.text for word in cell) for cell in cells(half)]
        is_named = len(texts) > 1 and is_name(without_leaders(texts[0]))
        if is_named and any(is_result(split_value(text).value) for text in texts[1:]):
            return True
        if is_line_of_headings(half):
            return True
    return False


def _half(line: PdfLine, left: float, right: float) -> PdfLine | None:
    words = [word for word in line.words if left <= word.x0 < right]
    text = " ".join(word.text for word in words)
    return replace(line, words=words, text=text) if words else None
