"""A document as one running text, from which every offset leads back to its page.

Lines are joined by blanks, so that a sentence can be read across lines and pages; page numbers are left out, because
they would be in the middle of sentences. Quotes, dashes and blanks are replaced by plain ones, one by one. The lines
are kept too: letterheads and signatures are lines, not sentences.
"""

import re
from bisect import bisect_right
from functools import cached_property

import msgspec

from stateward.pipelines.contracts.general.dates import dates_in
from stateward.pipelines.kit.date_finder import FoundDate
from stateward.pipelines.kit.documents import TextDocument, TextPlace, locate

DATES_MAX = 2000
CHARS_MAX = 400_000  # of the running text; what follows are annexes
_PLAIN = str.maketrans({
    "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u2032": "'", "`": "'",
    "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u201f": '"', "\u00ab": '"', "\u00bb": '"', "\u2033": '"',
    "\u00a0": " ", "\u2007": " ", "\u202f": " ", "\u2009": " ",
    "\u2010": "-", "\u2011": "-", "\u2013": "-", "\u2014": "-",
})  # fmt: skip
_COUNTER = re.compile(
    r"\W*(?:page\s*)?(?:\d{1,3}|[ivx]{1,5})(?:\s*(?:of|/)\s*\d{1,3})?\W*", re.IGNORECASE
)
_STOP = re.compile(r"[.;?!]['\")\]]*\s+(?=[\"'(\[]?[A-ZÄÖÜ0-9])")
_ABBREVIATED = re.compile(
    r"(?:\b(?:Inc|Corp|Co|Ltd|No|Nos|Mr|Mrs|Ms|Dr|St|Jr|Sr|Sec|Art|Dept|Ave|Blvd|Esq|Messrs|approx|e\.g|i\.e|cf|vs|etc|"
    r"bzw|Nr|Abs|Str)|\b[A-Z])\Z"
)

# A plain text parts its columns, as those of signatures, by blanks. The offsets of what follows stay.
_WIDE = re.compile(r"(?<=\S) {4,}(?=\S)")

# A row of a table whose first cell is a heading of the contract is a statement of its own.
_LABELLED = re.compile(
    r"\s*(?:effective\s+date|date|term|duration|(?:governing|applicable)\s+law|jurisdiction|purpose|(?:party|partei)\s+\w{1,3}|beginn|laufzeit|gegenstand|anwendbares\s+recht|gerichtsstand)\s*\t",
    re.IGNORECASE,
)
# A paragraph begins a sentence, and its heading on a line of its own is none: `§ 5 Laufzeit`.
_PARAGRAPH = re.compile(r"\s*§\s?\d")
_HEADED = re.compile(r"\s*§\s?\d{1,2}[a-z]?\.?(?:\s+[A-ZÄÖÜ][\w,/ -]{0,60})?\s*")


class ProseLine(msgspec.Struct, frozen=True, gc=False):
    """One line of the document in the running text."""

    start: int
    end: int
    text: str
    page: int


class Prose:
    """The running text, its lines, and their pages."""

    def __init__(self, document: TextDocument) -> None:
        self._document = document
        self.rows: list[ProseLine] = []
        self._offsets: list[tuple[int, int]] = []  # of each row: page, offset there
        self._starts: list[int] = []
        self.text = self._join()
        self._stops: list[int] | None = None

    def place(self, start: int, end: int) -> TextPlace | None:
        """The place of a part of the running text; of one that extends over two pages, the part on the first."""
        if not self.rows:
            return None
        first = max(0, bisect_right(self._starts, start) - 1)
        last = max(first, bisect_right(self._starts, max(start, end - 1)) - 1)
        page, offset = self._offsets[first]
        while self._offsets[last][0] != page:
            last -= 1
        row = self.rows[last]
        stop = self._offsets[last][1] + min(end, row.end) - row.start
        return locate(self._document, page, offset + start - self._starts[first], stop)

    @cached_property
    def dates(self) -> list[FoundDate]:
        """Every date of the running text."""
        return dates_in(self.text)[:DATES_MAX]

    def row_at(self, at: int) -> ProseLine:
        """The line of a character."""
        return self.rows[max(0, bisect_right(self._starts, at) - 1)]

    def columns(self, start: int) -> list[str]:
        """Behind an offset, what stands in one column over lines with as many cells: signatures side by side."""
        found: list[str] = []
        above: list[str] = []
        for row in self.rows:
            cells = row.text.split("\t") if row.start >= start else []
            if len(cells) > 1 and len(cells) == len(above):
                above = [f"{one} {two}" for one, two in zip(above, cells, strict=True)]
                continue
            found += above
            above = cells if len(cells) > 1 else []
        return found + above

    def sentence(self, at: int) -> tuple[int, int]:
        """Start and end of the sentence around a character."""
        if self._stops is None:
            rows = {
                at for row in self.rows if _LABELLED.match(row.text) for at in (row.start, row.end)
            }
            rows |= {row.start for row in self.rows if _PARAGRAPH.match(row.text)}
            rows |= {row.end for row in self.rows if _HEADED.fullmatch(row.text)}
            self._stops = sorted({0, *self._ends(), *rows, len(self.text)})
        index = bisect_right(self._stops, at)
        last = len(self._stops) - 1
        return self._stops[max(0, min(index, last) - 1)], self._stops[min(index, last)]

    def _ends(self) -> list[int]:
        return [
            found.end()
            for found in _STOP.finditer(self.text)
            if found[0][0] != "."
            or not _ABBREVIATED.search(self.text, max(0, found.start() - 12), found.start())
        ]

    def _join(self) -> str:
        parts: list[str] = []
        at = 0
        for page in self._document.pages:
            for index, line in enumerate(page.lines):
                text = page.text[line.start : line.end].translate(_PLAIN)
                text = _WIDE.sub(lambda gap: "\t" + gap[0][1:], text)
                is_edge = index < 2 or index >= len(page.lines) - 2
                if not text.strip() or (is_edge and _COUNTER.fullmatch(text)):
                    continue
                if parts and not _is_hyphenated(parts[-1], text):
                    parts.append(" ")
                    at += 1
                self.rows.append(ProseLine(at, at + len(text), text, page.number))
                self._starts.append(at)
                self._offsets.append((page.number, line.start))
                parts.append(text)
                at += len(text)
                if at > CHARS_MAX:
                    return "".join(parts)
        return "".join(parts)


def _is_hyphenated(last: str, text: str) -> bool:
    """Whether a word is hyphenated at the end of a line."""
    return last[-1] == "-" and last[-2:-1].isalpha() and text[0].isalpha()
