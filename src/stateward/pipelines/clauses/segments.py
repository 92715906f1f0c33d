"""A document as segments: its lines, each known as text, as part of a table of contents, or as what pages repeat.

Segments tile the text of the document: every character is in exactly one of them, line ends included. A line of
hundreds of characters, as some programs export a whole contract, is cut before numbers that begin a sentence.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from stateward.pipelines.clauses.markers import markers_at
from stateward.pipelines.kit.documents import TextDocument, TextPage

MARGIN_LINES = 3  # at the top and at the bottom of a page: where pages repeat themselves
REPEATED_MIN = 0.5  # of all pages
LONG_CHARS = 400  # a longer line is no printed line
CONTENTS_WITHIN = 300  # lines: a longer table of contents is none
CONTENTS_CHARS_MAX = 160
CONTENTS_ENTRIES_MIN = 3
UNLIKE_MAX = 2  # lines in a row that are no entries end a table of contents
TEXT, CONTENTS, RUNNING = "text", "contents", "running"

_PAGE_NUMBER = re.compile(
    r"(?:page|seite|p\.|s\.)?\s*[-\u2013\u2014]?\s*(?:\d{1,4}|[ivxl]{1,6})\s*[-\u2013\u2014]?(?:\s*(?:of|von|/)\s*\d{1,4})?",
    re.IGNORECASE,
)
_CONTENTS_TITLE = re.compile(
    r"\s*(?:table of contents|contents|index|inhaltsverzeichnis|inhalt|inhaltsübersicht)\s*[:.]?\s*",
    re.IGNORECASE,
)
_LEADERS = re.compile(r"(?:\.\s?){3,}\s*(?:\d{1,4}|[ivxl]{1,6})\s*$|…\s*\d{1,4}\s*$")
_ENDS_IN_PAGE = re.compile(r"\S[\s.…]+(?:\d{1,4}|[A-Z]-\d{1,3})\s*$")
_INNER_START = re.compile(
    r"(?<=[.;:])[ \t]+(?=(?:ARTICLE|Article|SECTION|Section|Artikel|Abschnitt|Ziffer)\s+[\dIVX]|§\s*\d"
    r"|\d{1,2}\.(?:\d{1,2}\.?){0,3}[ \t]+[A-ZÄÖÜ\"\u201c\u201e]|\([a-z]{1,4}\)[ \t])"
)


class Segment(msgspec.Struct):
    """A line, or a part of a long one: offsets in the text of the document, its page, and what it is."""

    start: int
    end: int
    page: int
    text: str
    kind: str = TEXT

    @property
    def is_blank(self) -> bool:
        """Whether nothing is printed in it."""
        return not self.text.strip()


def segments_of(document: TextDocument) -> list[Segment]:
    """All segments, in order."""
    pages: list[list[Segment]] = []
    offset = 0
    for page in document.pages:
        pages.append(list(_page_segments(page, offset)))
        offset += len(page.text) + 1
    # The text of a document is that of its pages, joined by newlines: each belongs to the page before it.
    for ended, _ in pairwise(pages):
        end = ended[-1].end
        ended.append(Segment(end, end + 1, ended[-1].page, "\n"))
    _mark_running(pages)
    segments = [segment for page in pages for segment in page]
    _mark_contents(segments)
    return segments


def _page_segments(page: TextPage, offset: int) -> Iterator[Segment]:
    # Only newlines end a line here, as in the rest of the kit; the text may hold other separators.
    lines = page.text.split("\n")
    for number, line in enumerate(lines):
        printed = line if number == len(lines) - 1 else f"{line}\n"
        for start, end in _pieces(printed):
            yield Segment(offset + start, offset + end, page.number, printed[start:end])
        offset += len(printed)


def _pieces(line: str) -> Iterator[tuple[int, int]]:
    if len(line) < LONG_CHARS:
        yield 0, len(line)
        return
    cuts = [match.end() for match in _INNER_START.finditer(line)]
    yield from pairwise([0, *cuts, len(line)])


def _mark_running(pages: Sequence[Sequence[Segment]]) -> None:
    """Mark what at least half of the pages repeat in their margins, and page numbers that stand alone there."""
    if len(pages) < 2:
        return
    margins = [_margin(page) for page in pages]
    counts = Counter(key for margin in margins for key in {_key(each) for each in margin})
    least = max(2, REPEATED_MIN * len(pages))
    for margin in margins:
        outer = {id(each) for each in (*margin[:1], *margin[-1:])}
        for segment in margin:
            is_number = id(segment) in outer and _PAGE_NUMBER.fullmatch(segment.text.strip())
            if is_number or (counts[_key(segment)] >= least and len(segment.text) < LONG_CHARS):
                segment.kind = RUNNING


def _margin(page: Sequence[Segment]) -> list[Segment]:
    printed = [each for each in page if not each.is_blank]
    if len(printed) <= 2 * MARGIN_LINES:
        return printed
    return [*printed[:MARGIN_LINES], *printed[-MARGIN_LINES:]]


def _key(segment: Segment) -> str:
    """A line as it is compared: the numbers of pages differ, those of clauses must not."""
    text = " ".join(segment.text.casefold().split())
    return text if markers_at(segment.text.lstrip()) else re.sub(r"\d+", "#", text)


def _mark_contents(segments: Sequence[Segment]) -> None:
    """Mark tables of contents: entries with leaders anywhere, and what follows the title of one."""
    for segment in segments:
        if segment.kind == TEXT and _LEADERS.search(segment.text[-LONG_CHARS:]):
            segment.kind = CONTENTS
    for at, segment in enumerate(segments):
        if segment.kind == TEXT and _CONTENTS_TITLE.fullmatch(segment.text):
            following = next(
                (each for each in segments[at + 1 : at + 4] if not each.is_blank), None
            )
            if following is not None and following.kind == CONTENTS:
                segment.kind = CONTENTS
            else:
                _mark_entries(segments, at)


def _mark_entries(segments: Sequence[Segment], title: int) -> None:
    """Mark the entries below a title: lines that end in a page number, or headings that come again later."""
    later = Counter(
        key for each in segments[title + 1 :] if (key := _entry_key(each)) and each.kind == TEXT
    )
    entries: list[int] = []
    first = ""
    unlike = 0
    for at in range(title + 1, min(len(segments), title + CONTENTS_WITHIN)):
        segment, key = segments[at], _entry_key(segments[at])
        if segment.is_blank or segment.kind != TEXT:
            continue
        if key and key == first:
            break  # the first heading comes again: here the contract begins
        is_entry = len(segment.text) < CONTENTS_CHARS_MAX and (
            bool(_ENDS_IN_PAGE.search(segment.text)) or later[key] > 1
        )
        unlike = 0 if is_entry else unlike + 1
        if unlike > UNLIKE_MAX or (not is_entry and markers_at(segment.text.lstrip())):
            break
        if is_entry:
            entries.append(at)
            first = first or key
    if len(entries) < CONTENTS_ENTRIES_MIN:
        return
    for at in range(title, entries[-1] + 1):
        if segments[at].kind == TEXT:
            segments[at].kind = CONTENTS


def _entry_key(segment: Segment) -> str:
    """A heading as it is compared: letters and digits, without a page number at its end."""
    text = re.sub(r"[\s.…]+\d{1,4}\s*$", "", segment.text[:CONTENTS_CHARS_MAX])
    return "".join(letter for letter in text.casefold() if letter.isalnum())
