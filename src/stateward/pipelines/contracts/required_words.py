r"""Patterns for whole documents, skipped where a word that every match must have is not in the text.

A pattern that begins with one of several words costs some time at every character of a long contract; looking for
words as plain text costs next to none. Of a pattern such as `(?:as|its)\s+(?:\w+\s+)?(?:guarantor|surety)`, a text
must have one of `as` and `its`, and one of `guarantor` and `surety`. What cannot be told is not required.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_LITERAL = re.compile(r"[^\W\d_]+")
_OPTIONAL = ("?", "*", "{")  # behind a letter or a group: it may be missing
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]")


class RequiredWords(NamedTuple):
    """A pattern, and groups of words: every match has one word of each group."""

    pattern: re.Pattern[str]
    groups: tuple[tuple[str, ...], ...]

    def may_match(self, lowered: str) -> bool:
        """Whether a text, in lower case, has a word of each group."""
        return all(any(word in lowered for word in words) for words in self.groups)


class DocumentPatterns:
    """Several patterns that are looked for in whole documents, without regard to case."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = [
            RequiredWords(re.compile(each, re.IGNORECASE), required_words(each))
            for each in patterns
        ]

    def search(self, text: str, lowered: str) -> re.Match[str] | None:
        """The first match of the first pattern that matches; `lowered` is the text in lower case."""
        for each in self._patterns:
            if each.may_match(lowered) and (found := each.pattern.search(text)) is not None:
                return found
        return None


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
