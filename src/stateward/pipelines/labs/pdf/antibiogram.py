"""Antibiograms outside of tables that are known: an antibiotic, and S, I or R for each organism.

Letters stand in columns, one for each organism, and a dash where one was not tested. Which organism a column is of
follows from the line above the first antibiotic (`Germ 1   Germ 2`) and from lines that say what those are, or from
organisms that are numbered. Where there are several columns and nothing says whose they are, the rows are marked.
Antibiotics may also stand side by side, each with its own letter.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.labs.analytes import by_antibiotic
from stateward.pipelines.labs.pdf.cells import cells, without_leaders
from stateward.pipelines.labs.pdf.headings import headings_of
from stateward.pipelines.labs.pdf.row import Row
from stateward.pipelines.labs.words import ANTIBIOGRAMS, SUSCEPTIBILITIES, fold

SAME_COLUMN = 14.0  # points between the middles of two letters of one column
HEADING_NEAR = 40.0  # points between the middles of a letter and of the heading of its column
ABOVE_MAX = 3  # lines between the heading and the first antibiotic
LINES_MIN = 3  # of a table of letters, of organisms side by side
NOT_TESTED = frozenset("-–—/.")
ORGANISM = re.compile(
    r"(?:\(?|(?i:organism|isolate|germe?|keim)\s*#?)([1-9])[.):]\s+([A-Z][a-z]+ [a-z]{3,}.*)"
)


class Organisms(msgspec.Struct, frozen=True):
    """The columns of an antibiogram by the middles of their letters, and what is said of each."""

    columns: tuple[float, ...] = ()
    titles: tuple[str, ...] = ()  # "" where nothing says whose letters they are

    def of(self, letter: PdfWord) -> tuple[str, bool]:
        """The organism that a letter is told of, and whether that is sure."""
        if len(self.columns) < 2:
            return "", True
        middle = _middle([letter])
        at = min(range(len(self.columns)), key=lambda n: abs(self.columns[n] - middle))
        return self.titles[at], bool(self.titles[at])


class _Tested(msgspec.Struct, frozen=True):
    """An antibiotic, and the letters behind it, one for each organism; a dash where one was not tested."""

    name: list[PdfWord]
    letters: list[PdfWord]


def antibiogram_rows(page: Sequence[PdfLine]) -> tuple[list[Row], list[PdfLine]]:
    """The results of tables that hold antibiotics and letters only, and the lines that are of none.

    Antibiotics may stand side by side, and letters of several organisms. The headings of such a table are no results.
    """
    rows: list[Row] = []
    others: list[PdfLine] = []
    at = 0
    while at < len(page):
        end = _end_of_letters(page, at, others)
        if end == at:
            others.append(page[at])
            at += 1
            continue
        lines = page[at:end]
        title = _take_title(others)
        has_several = any(len(each.letters) > 1 for line in lines for each in _antibiotics_of(line))
        above = page[max(at - ABOVE_MAX, 0) : at]
        organisms = organisms_of([*above, *lines], page) if has_several else Organisms()
        rows += [row for line in lines for row in _letter_rows(line, organisms, title)]
        at = end
    return rows, others


def _end_of_letters(page: Sequence[PdfLine], start: int, above: Sequence[PdfLine]) -> int:
    """The line behind a table of letters that begins at a line; the same line where none begins."""
    end = start
    found: list[list[_Tested]] = []
    while end < len(page) and (told := _antibiotics_of(page[end])):
        found.append(told)
        end += 1
    if len(found) < LINES_MIN:
        return start
    is_wide = sum(len(told) > 1 or len(told[0].letters) > 1 for told in found) >= LINES_MIN
    known = sum(bool(by_antibiotic(_text(each.name)).code) for told in found for each in told)
    has_headings = bool(above) and bool(headings_of(above[-1]))
    is_titled = bool(above) and _names_antibiotics(above[-1])
    # A single column below headings that are known is read by those.
    return end if is_wide or (not has_headings and (is_titled or known >= LINES_MIN)) else start


def _antibiotics_of(line: PdfLine) -> list[_Tested]:
    """The antibiotics of a line with their letters; none if it holds anything else."""
    found: list[_Tested] = []
    for cell in cells(line.words):
        text = _text(cell)
        if text in SUSCEPTIBILITIES or text in NOT_TESTED:
            if not found:
                return []
            found[-1].letters.append(cell[0])
        elif found and not found[-1].letters:
            return []
        elif any(map(str.isalpha, text)):
            found.append(_Tested(cell, []))
        else:
            return []
    has_letters = any(word.text in SUSCEPTIBILITIES for each in found for word in each.letters)
    return found if has_letters and all(each.letters for each in found) else []


def _letter_rows(line: PdfLine, organisms: Organisms, title: str) -> Iterator[Row]:
    for each in _antibiotics_of(line):
        name = without_leaders(_text(each.name))
        for letter in each.letters:
            if letter.text not in SUSCEPTIBILITIES:
                continue
            words = [*each.name, letter]
            organism, is_sure = organisms.of(letter)
            row = Row(name, line.page, line.base, line.height, words[0].x0, words, {}, [])
            row.values, row.meaning = [(letter.text, "")], SUSCEPTIBILITIES[letter.text]
            row.comment, row.has_unread, row.start = organism or title, not is_sure, line.base
            yield row


def _take_title(above: list[PdfLine]) -> str:
    """What the line above a table of letters says in brackets of its organism; the line itself is taken away."""
    if not above or not _names_antibiotics(above[-1]):
        return ""
    first = _text(cells(above.pop().words)[0])
    found = re.search(r"\(([^()]+)\)", first)
    return found[1] if found is not None else ""


def _names_antibiotics(line: PdfLine) -> bool:
    """Whether a line begins with a word for antibiotics or their table."""
    words = fold(line.text).split()
    return bool(words) and words[0] in ANTIBIOGRAMS


def organisms_of(body: Sequence[PdfLine], page: Sequence[PdfLine] = ()) -> Organisms:
    """The organisms whose letters the lines of an antibiogram hold; other lines of its page may say what those are."""
    listed = [
        (at, letters) for at, line in enumerate(body) if (letters := _letters(line)[1]) is not None
    ]
    middles = sorted(_middle([letter]) for _, letters in listed for letter in letters)
    columns: list[list[float]] = []
    for middle in middles:
        if not columns or middle - columns[-1][-1] > SAME_COLUMN:
            columns.append([])
        columns[-1].append(middle)
    places = tuple(sum(each) / len(each) for each in columns)
    if len(places) < 2:
        return Organisms(places, ("",) * len(places))
    above = body[max(listed[0][0] - ABOVE_MAX, 0) : listed[0][0]]
    return Organisms(places, _titles(places, above, _explanations([*body, *page])))


def susceptibility_rows(line: PdfLine, organisms: Organisms, *, is_inside: bool) -> Iterator[Row]:
    """The rows of a line: a known antibiotic, or among others any name, and S, I or R for each organism."""
    first, letters = _letters(line)
    others = cells(line.words)[1:]
    name = " ".join(word.text for word in first)
    is_known = bool(by_antibiotic(name).code)
    is_listed = is_inside and letters is not None and len(letters) == len(others)
    if not letters or not (is_known or is_listed):
        return
    more = [word for cell in others for word in cell if word not in letters]
    for letter in letters:
        title, is_sure = organisms.of(letter)
        row = Row(name, line.page, line.base, line.height, line.x0, [*first, letter, *more], {}, [])
        row.values, row.is_loose = [(letter.text, "")], True
        row.meaning = SUSCEPTIBILITIES[letter.text]
        row.comment, row.has_unread = title, not is_sure
        row.texts["comment"] = " ".join(word.text for word in more)
        yield row


def _letters(line: PdfLine) -> tuple[Sequence[PdfWord], list[PdfWord] | None]:
    """The first cell of a line, and the letters in cells of their own behind it; None if there are none."""
    first, *others = cells(line.words)
    found = [cell[0] for cell in others if len(cell) == 1 and cell[0].text in SUSCEPTIBILITIES]
    return first, found or None


def _titles(
    places: Sequence[float], above: Sequence[PdfLine], explained: dict[str, str]
) -> tuple[str, ...]:
    for line in reversed(above):
        heads = [cell for cell in cells(line.words)[1:] if _letters(line)[1] is None]
        found = [
            min(heads, key=lambda cell: abs(_middle(cell) - place), default=None)
            for place in places
        ]
        if not all(
            cell and abs(_middle(cell) - place) < HEADING_NEAR
            for cell, place in zip(found, places, strict=True)
        ):
            continue
        texts = [" ".join(word.text for word in cell or ()) for cell in found]
        return tuple(": ".join(filter(None, (text, explained.get(fold(text))))) for text in texts)
    return tuple(explained.get(str(at), "") for at in range(1, len(places) + 1))


def _explanations(body: Sequence[PdfLine]) -> dict[str, str]:
    """What lines say of a label (`Germ 1 : Staphylococcus aureus`) or of a number (`1. Escherichia coli`)."""
    told: dict[str, str] = {}
    for line in body:
        if numbered := ORGANISM.match(line.text):
            told.setdefault(numbered[1], " ".join(word.text for word in cells(line.words)[0]))
        label, colon, rest = line.text.partition(":")
        if colon and rest.strip():
            told.setdefault(fold(label), rest.strip())
            told.setdefault(fold(label).rpartition(" ")[2], rest.strip())  # `Isolate A: E. coli`
    return told


def _text(cell: Sequence[PdfWord]) -> str:
    return " ".join(word.text for word in cell)


def _middle(cell: Sequence[PdfWord]) -> float:
    return (cell[0].x0 + cell[-1].x1) / 2
