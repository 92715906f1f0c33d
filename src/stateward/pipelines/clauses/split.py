"""A contract in clauses: each with its number, heading and text, below the clause that it belongs to.

The parts of a document (clauses, what stands before them, tables of contents, running lines, signatures) cover its text
exactly: their spans follow each other without a gap, and no character is in two. A clause holds its own text; what is
numbered below it are clauses of their own.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from stateward.pipelines.clauses.markers import (
    LETTERED,
    Marker,
    Numbering,
    markers_at,
    next_in_sentences,
    without_references,
)
from stateward.pipelines.clauses.segments import TEXT, Segment

CLAUSE, PREAMBLE, SIGNATURES, ANNEX = "clause", "preamble", "signatures", "annex"
HEADING_CHARS_MAX = 90
HEADING_WORDS_MAX = 12
INLINE_WORDS_MAX = 8  # of a heading that its sentence follows on the same line
MARGIN_CHARS = 40  # before a number at the beginning of a line
MARKERS_MAX = 4  # on one line: 2. (a) (i)
RUN_ON_MAX = 60  # clauses in one paragraph
NUMBERED_MIN = 3
CELLS_MAX = 2  # tabs in a row of a table
CELL_WORDS_MAX = 4  # of a heading in a cell, capitalised or not
SHORT_CHARS_MAX, SHORT_WORDS_MAX = 55, 6  # of a line that is a heading though not capitalised
CAPITALS_WORDS_MAX = 8

_SIGNATURES = re.compile(
    r"\s*(?:IN WITNESS WHEREOF|IN WITNESS THEREOF|AS WITNESS\b|Unterschriften\b|UNTERSCHRIFTEN\b|SIGNATURE PAGE\b"
    r"|\[?Signature page)"
)
_RECITALS = re.compile(
    r"\s*(?:RECITALS?|WITNESSETH|W I T N E S S E T H|BACKGROUND|WHEREAS|PREAMBLE|Recitals|Präambel|PRÄAMBEL"
    r"|Vorbemerkung\w*)\b"
)
_SENTENCE_END = re.compile(r"[.:](?=\s|$)|[\t]|\s[\u2013\u2014-]\s")
# Words that stay small in a heading.
_SMALL = frozenset(
    {"and", "or", "of", "the", "to", "for", "by", "in", "on", "with", "a", "an", "as", "at", "from", "und", "oder",
     "der", "die", "das", "des", "dem", "den", "von", "zu", "zum", "zur", "bei", "für", "mit", "im", "am", "auf", "aus",
     "nach"}
)  # fmt: skip


# A line with one of these is a sentence, however many of its words are capitalised.
_VERB = re.compile(
    r"\b(?:shall|means?|will|is|are|may|must|agrees?|hereby|ist|sind|wird|werden|hat|haben|kann|bedeutet)\b"
)


class Part(msgspec.Struct):
    """A part of a document; `spans` are offsets in its text, in order. `around` are the numbers it stands below."""

    kind: str
    spans: list[tuple[int, int]]
    page: int
    number: str = ""
    heading: str = ""
    level: int = 0
    around: list[str] = []
    parent: int | None = None  # the index of the part that it stands below

    def text(self, whole: str) -> str:
        """Its text, what pages repeat in the middle of it left out."""
        return "".join(whole[start:end] for start, end in self.spans)


class Contract(msgspec.Struct, frozen=True):
    """The parts of a contract, and pairs of numbers between which others are missing."""

    parts: list[Part]
    gaps: list[tuple[str, str]]


def split_clauses(segments: Sequence[Segment]) -> Contract:
    """A contract in its parts. Where hardly anything is numbered, lines in capitals are headings."""
    contract = _Splitter(has_titles=False).run(segments)
    if sum(part.kind == CLAUSE for part in contract.parts) >= NUMBERED_MIN:
        return contract
    return _Splitter(has_titles=True).run(segments)


class _Splitter:
    def __init__(self, *, has_titles: bool) -> None:
        self._has_titles = has_titles
        self._parts: list[Part] = []
        self._numbering = Numbering()
        self._open: list[tuple[Marker, int]] = []  # markers that are open, each with its part
        self._current: Part | None = None
        self._before = ""  # the last line with text
        self._waits_for_heading = False
        self._has_clauses = False
        self._gaps: list[tuple[str, str]] = []

    def run(self, segments: Sequence[Segment]) -> Contract:
        for segment in segments:
            if segment.kind == TEXT:
                self._text(segment)
            else:
                self._aside(segment)
        return Contract(self._parts, self._gaps + self._numbering.gaps)

    def _aside(self, segment: Segment) -> None:
        """A running line or an entry of a table of contents: a part of its own, and the clause goes on after it."""
        last = self._parts[-1] if self._parts else None
        if last is not None and last.kind == segment.kind and last.spans[-1][1] == segment.start:
            _extend(last, segment.start, segment.end)
            return
        self._parts.append(Part(segment.kind, [(segment.start, segment.end)], segment.page))

    def _text(self, segment: Segment) -> None:
        if segment.is_blank:
            self._continue(segment.start, segment.end, segment.page)
            return
        starts = list(self._starts(segment))
        if starts:
            if starts[0][1] > 0 and not segment.text[: starts[0][1]].strip():
                starts[0] = (starts[0][0], 0, starts[0][2])
            for (marker, at, around), end in zip(
                starts, [at for _, at, _ in starts[1:]] + [len(segment.text)], strict=True
            ):
                self._begin(marker, around, segment, at, end)
        elif self._is_title(segment):
            self._begin_unnumbered(segment)
        else:
            if self._waits_for_heading:
                self._take_heading(segment)
            self._continue(segment.start, segment.end, segment.page)
        self._before = segment.text

    def _starts(self, segment: Segment) -> Iterator[tuple[Marker, int, list[Marker]]]:
        """The clauses that begin on a line: the marker of each, where it stands, and the markers around it.

        Cells of a table and paragraphs may hold several, one after the other: `2.1 A sentence. 2.2 The next one.`
        """
        last: Marker | None = None
        for start in self._first_starts(segment):
            last = start[0]
            yield start
        for _ in range(RUN_ON_MAX):
            if last is None or (found := next_in_sentences(segment.text, last)) is None:
                return
            accepted = self._numbering.accept([found[0]])
            if accepted is None:
                return
            last = found[0]
            yield last, found[1], accepted[1]

    def _first_starts(self, segment: Segment) -> Iterator[tuple[Marker, int, list[Marker]]]:
        """Those at the beginning of a line, each right after the other or after its heading."""
        at = len(segment.text) - len(segment.text.lstrip())
        for _ in range(MARKERS_MAX):
            candidates = markers_at(segment.text, at)
            is_first = bool(candidates) and at < MARGIN_CHARS
            if is_first and not _stands_apart(segment.text, candidates):
                candidates = without_references(candidates, self._before)
            if not self._has_clauses:  # "Exhibit 10.1" above a contract is where it was filed
                candidates = [each for each in candidates if each.style != "annex"]
            accepted = self._numbering.accept(candidates)
            if accepted is None:
                return
            marker, around = accepted
            yield marker, at, around
            at = _after_heading(segment.text, marker.end)
            if at >= len(segment.text):
                return

    def _begin(
        self, marker: Marker, around: list[Marker], segment: Segment, at: int, end: int
    ) -> None:
        self._has_clauses = True
        del self._open[len(around) :]
        parent = self._open[-1][1] if self._open else None
        heading = heading_of(segment.text[marker.end : end], is_list=marker.style in LETTERED)
        self._current = Part(
            ANNEX if marker.style == "annex" else CLAUSE,
            [(segment.start + at, segment.start + end)],
            segment.page,
            number=" ".join(marker.label.split()),
            heading=heading,
            level=len(around) + 1,
            around=[" ".join(each.label.split()) for each in around],
            parent=parent,
        )
        self._waits_for_heading = not segment.text[marker.end : end].strip()
        self._open.append((marker, len(self._parts)))
        self._parts.append(self._current)

    def _begin_unnumbered(self, segment: Segment) -> None:
        """A heading without a number: signatures, recitals, or a line in capitals."""
        kind = CLAUSE
        if _SIGNATURES.match(segment.text):
            kind = SIGNATURES
            self._gaps += self._numbering.gaps
            self._open, self._numbering = [], Numbering()
        elif _RECITALS.match(segment.text):
            kind = PREAMBLE
        self._waits_for_heading = False
        self._current = Part(
            kind,
            [(segment.start, segment.end)],
            segment.page,
            heading=" ".join(segment.text.split())[:HEADING_CHARS_MAX] if kind == CLAUSE else "",
            level=1 if kind == CLAUSE else 0,
        )
        self._parts.append(self._current)

    def _is_title(self, segment: Segment) -> bool:
        if _SIGNATURES.match(segment.text):
            return True
        if _RECITALS.match(segment.text):
            return not self._open
        if not self._has_titles or self._waits_for_heading or self._current is None:
            return False
        return self._current.kind != SIGNATURES and _is_in_capitals(segment.text)

    def _take_heading(self, segment: Segment) -> None:
        """The heading of a number that stands alone is the next line, if that looks like one."""
        self._waits_for_heading = False
        if self._current is not None and not self._current.heading:
            self._current.heading = heading_of(segment.text)

    def _continue(self, start: int, end: int, page: int) -> None:
        if self._current is None:
            self._current = Part(PREAMBLE, [], page)
            self._parts.append(self._current)
        _extend(self._current, start, end)


def heading_of(rest: str, *, is_list: bool = False) -> str:
    """The heading after a number: a short line, a cell of a table, or a few capitalised words before a sentence.

    What is lettered is mostly a sentence, so that a short line there must be capitalised as a whole.
    """
    if rest.count("\t") > CELLS_MAX:  # justified text has wide gaps, a row of a table few
        rest = rest.replace("\t", " ")
    text = rest.strip().lstrip(".:)\u2013\u2014- \t")
    if not text:
        return ""
    end = _SENTENCE_END.search(text[: HEADING_CHARS_MAX + 40])
    first = (text[: end.start()] if end else text).strip(" .:\u2013\u2014-\t")
    words = first.split()
    is_whole = end is None or not text[end.end() :].strip()
    if not words or len(first) > HEADING_CHARS_MAX or first[0].islower() or first[-1] in ",;":
        return ""
    if _VERB.search(first):
        return ""
    if is_whole:
        is_short = len(text) <= SHORT_CHARS_MAX and len(words) <= SHORT_WORDS_MAX
        if is_short and text[-1].isalpha() and not is_list:
            return first
        ends_sentence = is_list or text.rstrip().endswith((".", ";", ","))
        is_heading = _is_capitalised(words, wholly=ends_sentence) and not text.rstrip().endswith(
            ","
        )
        return first if is_heading and len(words) <= HEADING_WORDS_MAX else ""
    is_cell = end is not None and end[0] == "\t" and len(words) <= CELL_WORDS_MAX
    is_heading = len(words) <= INLINE_WORDS_MAX and _is_capitalised(words)
    return first if is_cell or is_heading else ""


def _after_heading(text: str, at: int) -> int:
    """Where a further number may stand on a line: right after the last one, or after its heading (5. Term. (a) …)."""
    heading = heading_of(text[at:])
    if heading:
        after = text.index(heading.split()[0], at) + len(heading)
        rest = text[after:].lstrip(".: \t")
        if markers_at(rest):
            return len(text) - len(rest)
    return at + len(text[at:]) - len(text[at:].lstrip())


def _is_capitalised(words: Sequence[str], *, wholly: bool = False) -> bool:
    """Whether the words that bear meaning begin with a capital letter, as in a heading; in German most of them."""
    main = [
        word
        for word in words
        if word.casefold().strip("(),;&/") not in _SMALL and word[:1].isalpha()
    ]
    capitals = sum(not word[0].islower() for word in main)
    return capitals == len(main) if wholly else capitals * 2 > len(main) or not main


def _is_in_capitals(text: str) -> bool:
    words = text.split()
    letters = [letter for letter in text if letter.isalpha()]
    return (
        len(letters) >= 4
        and len(words) <= CAPITALS_WORDS_MAX
        and all(letter.isupper() for letter in letters)
        and not text.rstrip().endswith((",", ";"))
    )


def _stands_apart(text: str, candidates: Sequence[Marker]) -> bool:
    """Whether a line is a number with a heading in capitals, which is no reference whatever stands before it."""
    return _is_in_capitals(text[candidates[0].end :])


def _extend(part: Part, start: int, end: int) -> None:
    """Add a span; one that follows the last directly is joined with it."""
    if start == end:
        return
    if part.spans and part.spans[-1][1] == start:
        part.spans[-1] = (part.spans[-1][0], end)
    else:
        part.spans.append((start, end))
