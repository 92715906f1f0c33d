r"""Patterns for whole documents, skipped where a word that every match must have is not in the text.

A pattern that begins with one of several words costs some time at every character of a long contract; looking for
words as plain text costs next to none. Of a pattern such as `(?:as|its)\s+(?:\w+\s+)?(?:guarantor|surety)`, a text
must have one of `as` and `its`, and one of `guarantor` and `surety`. What cannot be told is not required. Where such
words are few, only what stands around them is looked at.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

PLACES_MAX = 24  # of the words of a group; more of them are looked for in the whole text
AROUND_CHARS = 1200  # before and behind such a word: no pattern reaches that far
_LITERAL = re.compile(r"[^\W\d_]+")
_OPTIONAL = ("?", "*", "{")  # behind a letter or a group: it may be missing
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]")


class RequiredWords(NamedTuple):
    """A pattern, and groups of words: every match has one word of each group."""

    pattern: re.Pattern[str]
    groups: tuple[tuple[str, ...], ...]

    def search(self, text: str, lowered: str) -> re.Match[str] | None:
        """The first match in a text; `lowered` is the same in lower case."""
        return next(self.matches(text, lowered), None)

    def matches(self, text: str, lowered: str) -> Iterator[re.Match[str]]:
        """All matches in a text."""
        if not all(any(word in lowered for word in words) for words in self.groups):
            return
        # A letter that is two in lower case moves what follows: then the whole text is looked at.
        is_aligned = len(lowered) == len(text)
        for first, last in _spans(self.groups, lowered) if is_aligned else [(0, len(text))]:
            yield from self.pattern.finditer(text, first, last)


class DocumentPatterns:
    """Several patterns that are looked for in whole documents, without regard to case."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = [
            RequiredWords(re.compile(each, re.IGNORECASE), required_words(each))
            for each in patterns
        ]

    def matches(self, text: str, lowered: str) -> Iterator[re.Match[str]]:
        """All matches of all patterns."""
        for each in self._patterns:
            yield from each.matches(text, lowered)

    def search(self, text: str, lowered: str) -> re.Match[str] | None:
        """The first match of the first pattern that matches; `lowered` is the text in lower case."""
        for each in self._patterns:
            if (found := each.search(text, lowered)) is not None:
                return found
        return None


def _spans(groups: Iterable[tuple[str, ...]], lowered: str) -> list[tuple[int, int]]:
    """Where a match can be: around the words of a group of which there are few, else anywhere."""
    for words in groups:
        places: list[int] = []
        for word in words:
            at = lowered.find(word)
            while at >= 0 and len(places) <= PLACES_MAX:
                places.append(at)
                at = lowered.find(word, at + 1)
        if len(places) <= PLACES_MAX:
            return list(_merge_spans(sorted(places)))
    return [(0, len(lowered))]


def _merge_spans(places: list[int]) -> Iterator[tuple[int, int]]:
    first = last = -1
    for at in places:
        if first >= 0 and at - AROUND_CHARS <= last:
            last = at + AROUND_CHARS
            continue
        if first >= 0:
            yield first, last
        first, last = max(0, at - AROUND_CHARS), at + AROUND_CHARS
    if first >= 0:
        yield first, last


def required_words(pattern: str) -> tuple[tuple[str, ...], ...]:
    """Groups of words in lower case of each of which every match of a pattern has one; the rarest looking first."""
    if len(list(_alternatives(pattern))) > 1:
        return ()
    groups = {words for words in _groups(pattern) if words}
    return tuple(sorted(groups, key=lambda words: (-min(map(len, words)), words)))


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
