"""Patterns for whole documents, skipped where none of the words that they begin with is in the text.

A pattern that begins with one of several words costs some time at every character of a long contract; looking for its
first words as plain text costs next to none. A pattern that begins otherwise is always tried.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

_FIRST_WORDS = re.compile(r"(?:\\b)?\(\?:([^()\[\]]+)\)")
_LITERAL = re.compile(r"[\wäöüß]+")
_BROKEN = re.compile(r"[?*{]")  # behind a literal: its last letter may be missing


class LeadPattern(NamedTuple):
    """A pattern, and the words of which each match begins with one; none if that is not known."""

    pattern: re.Pattern[str]
    words: tuple[str, ...]


class DocumentPatterns:
    """Several patterns that are looked for in whole documents, without regard to case."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = [
            LeadPattern(re.compile(each, re.IGNORECASE), lead_words(each)) for each in patterns
        ]

    def search(self, text: str, lowered: str) -> re.Match[str] | None:
        """The first match of the first pattern that matches; `lowered` is the text in lower case."""
        for pattern, words in self._patterns:
            if not words or any(word in lowered for word in words):
                found = pattern.search(text)
                if found is not None:
                    return found
        return None


def lead_words(pattern: str) -> tuple[str, ...]:
    """The words of which every match of a pattern begins with one, in lower case."""
    first = _FIRST_WORDS.match(pattern)
    if first is None or pattern[first.end() : first.end() + 1] in ("?", "*", "{"):
        return ()
    words: list[str] = []
    for alternative in first[1].split("|"):
        literal = _LITERAL.match(alternative)
        if literal is None:
            return ()
        word = literal[0]
        if _BROKEN.match(alternative, literal.end()):
            word = word[:-1]
        if not word:
            return ()
        words.append(word.lower())
    return tuple(words)
