"""The numbers with which clauses begin: 1., 1.1, (a), (i), § 5, Article IV, Section 2.3, Ziffer 4, Annex B.

`markers_at` says what a line may begin with; (i) may be a Roman one or the letter after h. Whether it does begin a
clause is for `Numbering` to say: a number that follows no other is a date, an amount or a reference. Both look at a
bounded number of characters and of open lists, so that any text takes linear time.
"""

import re
from collections.abc import Sequence

import msgspec

ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
LOOKED_AT = 60  # characters of a line: no marker is longer
SKIPPED_MAX = 3  # numbers that may be missing in a list, where a word or sign says that it is one
DEPTH_MAX = 12
CHAPTERS = frozenset({"decimal", "article", "section", "§", "bare"})
LETTERED = frozenset({"(a)", "a)", "a.", "(i)", "i)", "(A)", "(1)", "1)"})

Value = tuple[int, ...]


class Marker(msgspec.Struct, frozen=True):
    """A possible beginning of a clause: as printed, its style, its place in a list of that style, and where it ends.

    A strong one (Article, Section, §) says by itself that it is a number of the contract.
    """

    label: str
    style: str
    value: Value
    end: int
    is_strong: bool = False


_ROMAN = r"[IVXLC]{1,7}"
_SHAPES: tuple[tuple[str, re.Pattern[str], bool], ...] = (
    (
        "annex",
        re.compile(
            r"(?:SCHEDULE|EXHIBIT|ANNEX|APPENDIX|ATTACHMENT|ANLAGE|ANHANG|Schedule|Exhibit|Annex|Appendix|Attachment"
            rf"|Anlage|Anhang)\s+((?:[A-Z]|{_ROMAN}|\d{{1,3}})(?:[-.]\d{{1,2}})?)(?![\w])[.:]?"
        ),
        True,
    ),
    (
        "article",
        re.compile(
            rf"(?:ARTICLE|Article|ARTIKEL|Artikel|Art\.)\s+({_ROMAN}|\d{{1,3}})(?![\w])[.:)]?"
        ),
        True,
    ),
    (
        "section",
        re.compile(
            r"(?:SECTION|Section|Sec\.|CLAUSE|Clause|ABSCHNITT|Abschnitt|ZIFFER|Ziffer|Ziff\.|Klausel|KLAUSEL|Teil|TEIL|PART|Part)"
            rf"\s+(\d{{1,3}}(?:\.\d{{1,3}}){{0,5}}|{_ROMAN})(?![\w])[.:)]?"
        ),
        True,
    ),
    ("§", re.compile(r"§\s*(\d{1,3}[a-z]?)(?![\w])[.:)]?"), True),
    ("decimal", re.compile(r"(\d{1,3}(?:\.\d{1,3}){1,5})[.:)]?(?=\s|$)"), False),
    ("decimal", re.compile(r"(\d{1,3})\.(?=\s|$|[^\W\d_])"), False),
    ("(1)", re.compile(r"\((\d{1,3})\)"), False),
    ("1)", re.compile(r"(\d{1,3})\)(?=\s|$)"), False),
    ("(i)", re.compile(r"\(([ivxl]{1,6})\)"), False),
    ("i)", re.compile(r"([ivxl]{1,6})\)(?=\s|$)"), False),
    ("(a)", re.compile(r"\(([a-z]|([a-z])\2)\)"), False),
    ("a)", re.compile(r"([a-z]|([a-z])\2)\)(?=\s|$)"), False),
    ("(A)", re.compile(r"\(([A-Z])\)"), False),
    ("I.", re.compile(r"([IVXL]{1,6})\.(?=\s|$)"), False),
    ("A.", re.compile(r"([A-Z])\.(?=\s)"), False),
    ("a.", re.compile(r"([a-z])\.(?=\s+[A-ZÄÖÜ\"])"), False),
    ("bare", re.compile(r"(\d{1,2})(?=[ \t]+[A-ZÄÖÜ][^\W\d_]+)"), False),
)
_BY_FIRST = {
    "1": [each for each in _SHAPES if each[0] in ("decimal", "1)", "bare")],
    "(": [each for each in _SHAPES if each[0].startswith("(")],
    "§": [each for each in _SHAPES if each[0] == "§"],
    "a": [
        each
        for each in _SHAPES
        if each[0] in ("annex", "article", "section", "i)", "a)", "I.", "A.", "a.")
    ],
}
# What follows a number that is none of the contract: a date, an amount, a unit, a reference.
_MONTHS = (
    "January|February|March|April|May|June|July|August|September|October|November|December|Januar|Februar|März|Mai|Juni"
    "|Juli|Oktober|Dezember"
)
_NO_NUMBER = re.compile(
    rf"\s*(?:(?:{_MONTHS})\b|%|percent\b|Prozent\b|million\b|Mio\b|EUR\b|USD\b|€|\$|days?\b|Tage\b|months?\b|years?\b)"
)
_REFERENCE = re.compile(
    r"\s*(?:of|hereof|thereof|herein|above|below|and|or|to|shall|may|is|are|has|hereto|as|which|in|der|des|dieses|und|oder"
    r"|bis|gilt|sowie|genannt\w*|Abs\b|Absatz|Satz)\b|\s*[,;)]|\s*\("
)
# The last words of a line after which any number is a reference, and those after which it may be one.
_NOUN = re.compile(
    r"(?:\b(?:sections?|articles?|clauses?|paragraphs?|subsections?|schedules?|exhibits?|annex|appendix|ziffern?|absatz"
    r"|absätze|anlage|(?:sec|art|no|nr|ziff|abs)\.?)|§§?)\s*$",
    re.IGNORECASE,
)
_LINK = re.compile(
    r"(?:\b(?:see|under|with|by|of|in|to|and|or|the|this|pursuant|gemäß|nach|von|und|oder|siehe|vgl|im|des|der|zu)|,)\s*$",
    re.IGNORECASE,
)


def markers_at(text: str, start: int = 0) -> list[Marker]:
    """All that a line may begin with; `start` is where it does."""
    head = text[start : start + LOOKED_AT]
    found: list[Marker] = []
    for style, shape, is_strong in _shapes(head[:1]):
        match = shape.match(head)
        if match is None:
            continue
        value = _value(style, match[1])
        if value is None or not _may_follow(style, head[match.end() :], is_strong=is_strong):
            continue
        own = "decimal" if style == "section" and len(value) > 1 else style
        found.append(Marker(match[0], own, value, start + match.end(), is_strong))
    return found


def next_in_sentences(text: str, last: Marker) -> tuple[Marker, int] | None:
    """The number that follows a decimal one within its paragraph, between two sentences, and where it stands.

    A reference is not set so; only the very next number of the same list is looked for.
    """
    if last.style != "decimal" or len(last.value) < 2:
        return None
    value = (*last.value[:-1], last.value[-1] + 1)
    label = ".".join(map(str, value))
    shape = rf"[.;:!?\"”»)]\s+({re.escape(label)}\.?)\s+(?=[\"“„«(]?[^\W\d_a-zß-öø-ÿ])"
    found = re.compile(shape).search(text, last.end)
    if found is None:
        return None
    return Marker(found[1], last.style, value, found.end(1)), found.start(1)


def _shapes(first: str) -> Sequence[tuple[str, re.Pattern[str], bool]]:
    """The shapes that may begin with a character."""
    return _BY_FIRST.get("1" if first.isdigit() else first if first in "(§" else "a", ())


def without_references(candidates: Sequence[Marker], line_before: str) -> list[Marker]:
    """Markers that are no references: the line before does not end in "Section", nor, before a chapter, in "under"."""
    end = line_before.rstrip()[-LOOKED_AT:]
    if _NOUN.search(end):
        return []
    if _LINK.search(end):
        return [each for each in candidates if each.style in LETTERED]
    return list(candidates)


class Numbering:
    """The lists that are open where a document has been read to, outermost first; each style is open at most once."""

    def __init__(self) -> None:
        self._open: list[Marker] = []
        self.gaps: list[tuple[str, str]] = []
        """Numbers between which others are missing: those that follow each other here."""

    def accept(self, candidates: Sequence[Marker]) -> tuple[Marker, list[Marker]] | None:
        """The first candidate that continues a list, else the first that begins one; with the markers around it."""
        for fits in (self._depth_continued, self._depth_of_new):
            for marker in candidates:
                depth = fits(marker)
                if depth is not None and depth < DEPTH_MAX:
                    if fits == self._depth_continued and _step(self._open[depth], marker) > 1:
                        self.gaps.append((self._open[depth].label.strip(), marker.label.strip()))
                    self._open[depth:] = [marker]
                    return marker, self._open[:depth]
        return None

    def _depth_continued(self, marker: Marker) -> int | None:
        """The depth at which a marker is the next of an open list."""
        for depth in range(len(self._open) - 1, -1, -1):
            last = self._open[depth]
            if last.style == marker.style and _follows(last, marker):
                return depth
        return None

    def _depth_of_new(self, marker: Marker) -> int | None:
        """The depth at which a marker begins a list: below what is open, or again where its style was open."""
        if marker.style == "annex":
            return 0
        if marker.style == "decimal":
            return self._begun_decimal(marker)
        if marker.value[-1] != 1 and not marker.is_strong:
            return None
        return self._depth_of(marker)

    def _depth_of(self, marker: Marker) -> int:
        open_at = [depth for depth, each in enumerate(self._open) if each.style == marker.style]
        if open_at:
            return open_at[-1]
        if marker.style in ("article", "section", "§"):  # nothing but these is above them
            above = ("annex", "article", "I.", "A.") if marker.style != "article" else ("annex",)
            return next(
                (at for at, each in enumerate(self._open) if each.style not in above),
                len(self._open),
            )
        if marker.style in ("decimal", "bare") and not CHAPTERS.intersection(
            each.style for each in self._open
        ):
            # The recitals were lettered; the clauses are not below them.
            return next(
                (at for at, each in enumerate(self._open) if each.style in LETTERED),
                len(self._open),
            )
        return len(self._open)

    def _begun_decimal(self, marker: Marker) -> int | None:
        value = marker.value
        for depth in range(len(self._open) - 1, -1, -1):
            last = self._open[depth]
            if last.style != "decimal" and last.value == value[:-1] and value[-1] <= SKIPPED_MAX:
                return depth + 1  # 4.1 below Article IV
            if last.style == "decimal" and last.value == value[:-1] and value[-1] <= SKIPPED_MAX:
                return depth + 1
        decimals = [at for at, each in enumerate(self._open) if each.style == "decimal"]
        if value[-1] != 1:
            return None
        if len(value) == 1 and decimals and self._open[decimals[-1]].value != (1,):
            # A list within a clause may count from 1 again; the next number of the clauses ends it.
            return min(len(self._open), DEPTH_MAX - 1)
        if len(value) > 1 and decimals and not self._is_next_chapter(decimals, value):
            return None
        return decimals[-1] if len(value) == 1 and decimals else self._depth_below(decimals, marker)

    def _is_next_chapter(self, decimals: Sequence[int], value: Value) -> bool:
        """Whether 5.1 comes where the heading 5 is missing."""
        first = self._open[decimals[0]].value
        return first[0] < value[0] <= first[0] + SKIPPED_MAX and set(value[1:]) == {1}

    def _depth_below(self, decimals: Sequence[int], marker: Marker) -> int:
        return decimals[0] if decimals else self._depth_of(marker)


def _follows(last: Marker, marker: Marker) -> bool:
    """Whether a marker is the next of a list; where it says by itself what it is, some may be missing."""
    one, two = last.value, marker.value
    if len(one) != len(two) or one[:-1] != two[:-1]:
        return False
    step = _step(last, marker)
    return step == 1 or (1 < step <= SKIPPED_MAX and (marker.is_strong or len(two) > 1))


def _step(last: Marker, marker: Marker) -> int:
    return marker.value[-1] - last.value[-1]


def _may_follow(style: str, rest: str, *, is_strong: bool) -> bool:
    """Whether what stands after a marker leaves it one."""
    if is_strong:
        return not _REFERENCE.match(rest)
    if style in ("decimal", "bare", "1)"):
        return not _NO_NUMBER.match(rest)
    return not rest.startswith((",", ";", ")"))


def _value(style: str, text: str) -> Value | None:
    """The number as a tuple of integers; None if it is none."""
    if style in ("(i)", "i)", "I."):
        number = _roman(text.casefold())
        return None if number is None else (number,)
    if style in ("(a)", "a)", "(A)", "A.", "a."):
        letter = ord(text[0].casefold()) - ord("a") + 1
        return (letter + 26 * (len(text) - 1),)
    if style == "§":
        digits = text.rstrip("abcdefghijklmnopqrstuvwxyz")
        return (int(digits),)
    if text[0].isdigit():
        return tuple(int(part) for part in re.split(r"[.-]", text) if part.isdigit())
    number = _roman(text.casefold())
    return (number,) if number is not None else ((1,) if style == "annex" else None)


def _roman(text: str) -> int | None:
    """A Roman number, written as one would: iv and not iiii."""
    total = 0
    for at, letter in enumerate(text):
        own = ROMAN.get(letter)
        if own is None:
            return None
        after = ROMAN.get(text[at + 1 : at + 2], 0)
        total += -own if own < after else own
    return total if _printed_roman(total) == text else None


def _printed_roman(number: int) -> str:
    parts = (
        (100, "c"),
        (90, "xc"),
        (50, "l"),
        (40, "xl"),
        (10, "x"),
        (9, "ix"),
        (5, "v"),
        (4, "iv"),
        (1, "i"),
    )
    text = ""
    for value, letters in parts:
        count, number = divmod(number, value)
        text += letters * count
    return text
