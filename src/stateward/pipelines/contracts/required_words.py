r"""Patterns for whole documents, looked for only where the words stand that every match must have.

A pattern that begins with one of several words costs some time at every character of a long contract; looking for
words as plain text costs next to none. Of a pattern such as `(?:as|its)\s+(?:\w+\s+)?(?:guarantor|surety)`, a text
must have one of `as` and `its`, and one of `guarantor` and `surety`. What cannot be told is not required. Where such
words are few, only what stands around them is looked at, and around all of them where several are few.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

PLACES_MAX = 60  # of the words of a group; more of them are looked for in the whole text
AROUND_CHARS = 1200  # before and behind such a word: no pattern reaches that far
BEHIND_CHARS = 300  # more of the text, for what must not follow a match
CHARS = 3  # by so many characters in a row words are found
SEARCHED_MAX = 2
BLANKS_MAX, WORD_MAX = 30, 40  # how long blanks and words may be, in a text that has no longer ones
_LITERAL = re.compile(r"[^\W\d_]+")
_LONG = re.compile(rf"\s{{{BLANKS_MAX + 1}}}|\w{{{WORD_MAX + 1}}}")
_REPEATED = re.compile(r"(?:(?P<many>[*+])|\{(?:\d*,)?(?P<times>\d*)\}|\?)\??")
_FLAGS = re.compile(r"\(\?(?:[:=!>]|<[=!]|P<\w+>)?")
_OPTIONAL = ("?", "*", "{")  # behind a letter or a group: it may be missing
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]")

_Span = tuple[int, int]


class SearchedText:
    """A text in which many patterns are looked for: its words are indexed once, by three characters in a row."""

    def __init__(self, text: str) -> None:
        self.text = text
        lowered = text.lower()
        # A letter that is two in lower case moves what follows: then no place is known.
        self._is_aligned = len(lowered) == len(text)
        self._is_usual = _LONG.search(text) is None
        self._starts: dict[str, list[int]] = {}
        for met in _LITERAL.finditer(lowered):
            self._starts.setdefault(met[0], []).append(met.start())
        self._holders: dict[str, list[str]] = {}  # of three characters
        for word in self._starts:
            for part in {word[at : at + CHARS] for at in range(len(word) - CHARS + 1)}:
                self._holders.setdefault(part, []).append(word)
        self._parts = frozenset(self._holders)
        self._places: dict[str, Sequence[int]] = {}
        self._heads: dict[int, SearchedText] = {}

    def head(self, chars: int) -> "SearchedText":
        """The beginning of the text."""
        if chars >= len(self.text):
            return self
        if chars not in self._heads:
            self._heads[chars] = SearchedText(self.text[:chars])
        return self._heads[chars]

    def spans(self, groups: Iterable[tuple[str, ...]], reach: int) -> Sequence[_Span]:
        """Where something can be that has a word of each group; nowhere if all words of one are missing.

        It is not longer than `reach` in a text without long blanks and words.
        """
        around = reach if self._is_usual else AROUND_CHARS
        found: Sequence[_Span] = [(0, len(self.text))]
        for words in groups:
            if min(map(len, words)) < CHARS:  # such a word is in every text
                continue
            near = [word for word in words if word[:CHARS] in self._parts]
            places = {at for word in near for at in self._places_of(word)}
            if not places:
                return ()
            if self._is_aligned and len(places) <= PLACES_MAX:
                found = _common_spans(found, list(_spans_around(sorted(places), around)))
        return list(_merge_spans((first, last + BEHIND_CHARS) for first, last in found))

    def lacks(self, parts: Iterable[frozenset[str]]) -> bool:
        """Whether the text has nothing of one of several sets of three characters in a row."""
        return any(map(self._parts.isdisjoint, parts))

    def _places_of(self, word: str) -> Sequence[int]:
        """Where the words begin that hold a word."""
        if word not in self._places:
            few = min((self._holders.get(part, ()) for part in _ends(word)), key=len)
            self._places[word] = [at for held in few if word in held for at in self._starts[held]]
        return self._places[word]


def _ends(word: str) -> tuple[str, str]:
    return word[:CHARS], word[-CHARS:]


@lru_cache(maxsize=SEARCHED_MAX)
def searched_text(text: str) -> SearchedText:
    """A text to look for patterns in; the last ones are remembered."""
    return SearchedText(text)


class RequiredWords(NamedTuple):
    """A pattern, and groups of words: every match has one word of each group."""

    pattern: re.Pattern[str]
    groups: tuple[tuple[str, ...], ...]
    # How the words of each group begin: of nearly every pattern these tell at once that it is not in a document.
    beginnings: tuple[frozenset[str], ...]
    reach: int  # the length of the longest match

    @classmethod
    def of(cls, pattern: str) -> "RequiredWords":
        """A pattern without regard to case."""
        groups = required_words(pattern)
        beginnings = tuple(
            frozenset(word[:CHARS] for word in words)
            for words in groups
            if min(map(len, words)) >= CHARS
        )
        return cls(re.compile(pattern, re.IGNORECASE), groups, beginnings, reach_of(pattern))

    def matches(self, searched: SearchedText) -> Iterator[re.Match[str]]:
        """All matches in a text."""
        if searched.lacks(self.beginnings):
            return
        for first, last in searched.spans(self.groups, self.reach):
            yield from self.pattern.finditer(searched.text, first, last)


class DocumentPatterns:
    """Several patterns that are looked for in whole documents, without regard to case."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = [
            RequiredWords.of(each)
            for pattern in patterns
            for each in _alternatives(pattern)  # each of them has words of its own
        ]

    def matches(self, searched: SearchedText) -> Iterator[re.Match[str]]:
        """All matches of all patterns."""
        for each in self._patterns:
            yield from each.matches(searched)

    def search(self, searched: SearchedText) -> re.Match[str] | None:
        """The first match of the first pattern that matches."""
        return next(self.matches(searched), None)


def _spans_around(places: Iterable[int], around: int) -> Iterator[_Span]:
    return _merge_spans((max(0, at - around), at + around) for at in places)


def _merge_spans(spans: Iterable[_Span]) -> Iterator[_Span]:
    """Spans in the order in which they begin, those that touch as one."""
    held: _Span | None = None
    for first, last in spans:
        if held is not None and first <= held[1]:
            held = held[0], max(held[1], last)
            continue
        if held is not None:
            yield held
        held = first, last
    if held is not None:
        yield held


def _common_spans(some: Sequence[_Span], others: Sequence[_Span]) -> list[_Span]:
    """What two lists of spans have in common, each of them in order."""
    return [
        (max(one[0], other[0]), min(one[1], other[1]))
        for one in some
        for other in others
        if max(one[0], other[0]) < min(one[1], other[1])
    ]


def required_words(pattern: str) -> tuple[tuple[str, ...], ...]:
    """Groups of words in lower case of each of which every match of a pattern has one; the rarest looking first."""
    if len(list(_alternatives(pattern))) > 1:
        return ()
    groups = {words for words in _groups(pattern) if words}
    return tuple(sorted(groups, key=lambda words: (-min(map(len, words)), words)))


def reach_of(pattern: str) -> int:
    """How many characters a match of a pattern has at most, with what it looks at behind itself."""
    return min(AROUND_CHARS, max(map(_reach, _alternatives(pattern))))


def _reach(pattern: str) -> int:
    reach = at = 0
    while at < len(pattern):
        end = _part_end(pattern, at)
        part, repeated = pattern[at:end], _REPEATED.match(pattern, end)
        reach += _part_reach(part, repeated)
        at = end if repeated is None else repeated.end()
    return reach


def _part_reach(part: str, repeated: re.Match[str] | None) -> int:
    if part.startswith("("):
        inner = part[len(_FLAGS.match(part)[0]) : -1]  # type: ignore[index]
        once = max(map(_reach, _alternatives(inner)))
    else:
        once = len(part) if _LITERAL.fullmatch(part) else 1
    if repeated is None:
        return once
    if repeated["many"] or repeated["times"] == "":  # as often as it comes
        return {"\\s": BLANKS_MAX, "\\w": WORD_MAX}.get(part, AROUND_CHARS)
    return once * max(1, int(repeated["times"] or 1))


def _groups(pattern: str) -> Iterator[tuple[str, ...]]:
    """The words of each part of a pattern that must match: a literal, or a group of alternatives."""
    at = 0
    while at < len(pattern):
        end = _part_end(pattern, at)
        part, is_optional = pattern[at:end], pattern[end : end + 1] in _OPTIONAL
        if part.startswith("(?:") and not is_optional:
            yield _words_of_group(part[3:-1])
        elif _LITERAL.fullmatch(part):
            yield (part[: len(part) - is_optional].lower(),) if len(part) > is_optional else ()
        at = end


def _words_of_group(inner: str) -> tuple[str, ...]:
    """A word of each alternative; none if one of them has no word that is certain."""
    words: list[str] = []
    for alternative in _alternatives(inner):
        found = max(
            _groups(alternative), key=lambda each: min(map(len, each), default=0), default=()
        )
        if not found:
            return ()
        words += found
    return tuple(dict.fromkeys(words))


def _alternatives(pattern: str) -> Iterator[str]:
    """The parts of a pattern between the bars that are in no group."""
    start = at = 0
    while at < len(pattern):
        if pattern[at] == "|":
            yield pattern[start:at]
            start = at + 1
        at = _part_end(pattern, at)
    yield pattern[start:]


def _part_end(pattern: str, at: int) -> int:
    """Where the part that begins at an offset ends: an escape, a class, a group, a run of letters, or one character."""
    if pattern[at] == "\\":
        return at + 2
    if found := _CLASS.match(pattern, at):
        return found.end()
    if pattern[at] == "(":
        at += 1
        while at < len(pattern) and pattern[at] != ")":
            at = _part_end(pattern, at)
        return at + 1
    if found := _LITERAL.match(pattern, at):
        return found.end()
    return at + 1
