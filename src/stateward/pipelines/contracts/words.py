"""Phrases found in text as a person reads them: whatever the case, the hyphens, the blanks and a scanner's slips.

A word is reduced to its skeleton: small letters without accents, in which letters that look alike are one (`l`, `i`
and `1`; `o` and `0`; `rn` and `m`). Words are then joined, so that `Arbeits-preis`, `Arbeits preis` and
`Arbeitsprels` are all found by `Arbeitspreis`.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

WINDOW_MAX = 28
GLUED_MIN = 3  # a word that a scanner broke has short parts
SLIP_CHARS_MIN = 9
COMPOUND_CHARS_MIN = 8
ENDING_CHARS = 2  # a slip in an ending may be another word: subscribed, subscriber
FOLDED_CHARS_MIN = 5
# Words that a label may have or lack: `Ende der Laufzeit`, `Ende Ihrer Laufzeit`, `Ende Laufzeit`.
ARTICLES = frozenset(
    "der dle das des dem den lhr lhrer lhres lhre von vom zur fur of the for a your our".split()
)
ENDINGS = ("", "s", "e", "n", "en", "es", "er", "em")
CACHE_MAX = 1 << 15
GAP_MAX = 8
LINE_CHARS_MIN = 45

_TOKEN = re.compile(r"[^\W_]+(?:['’](?=s\b))?")
_WORD = re.compile(r"[^\W_]+")
_LOOKS = str.maketrans({"0": "o", "1": "l", "|": "l", "i": "l", "j": "l", "5": "s", "8": "b"})
_STOP = re.compile(r"[:;\t|]|\n\s*\n|[.!?]\s+(?=[A-ZÄÖÜ])|\.{4,}")


_CELL = re.compile(r"\t| {3,}")


class Token(NamedTuple):
    """One word: its place, its skeleton, and whether a phrase may run on from the word before."""

    start: int
    end: int
    bones: str
    is_joined: bool


class Hit(NamedTuple, Generic[T]):
    """A phrase in a text. `slip` says how it was found: "" exactly, "slip" one letter off, "compound" as an end."""

    start: int
    end: int
    what: T
    slip: str = ""


@lru_cache(maxsize=CACHE_MAX)
def skeleton(text: str) -> str:
    """What is left of a text when case, accents, blanks and look-alikes are taken away; a number stays as it is."""
    low = unicodedata.normalize("NFD", text.casefold())
    low = "".join(letter for letter in low if not unicodedata.combining(letter))
    words = (word if word.isdigit() else word.translate(_LOOKS) for word in _WORD.findall(low))
    return _folded("".join(words))


def _folded(bare: str) -> str:
    """Spellings that mean the same, made one; a short word stays as it is: `due` is not `du`."""
    if len(bare) >= FOLDED_CHARS_MIN:
        bare = bare.replace("ae", "a").replace("oe", "o").replace("ue", "u")
    return bare.replace("rn", "m").replace("vv", "w")


def tokens(text: str) -> list[Token]:
    """The words of a text. A phrase runs on over the end of a line that is long or ends with a hyphen."""
    made: list[Token] = []
    last = 0
    for found in _TOKEN.finditer(text):
        between = text[last : found.start()]
        is_joined = (
            bool(made)
            and len(between) < GAP_MAX
            and not _STOP.search(between + text[found.start()])
        )
        if is_joined and "\n" in between:
            line = text[text.rfind("\n", 0, last) + 1 : last]
            length = len(_CELL.split(line)[-1])
            is_joined = length >= LINE_CHARS_MIN or between.startswith("-")
        made.append(Token(found.start(), found.end(), skeleton(found[0]), is_joined))
        last = found.end()
    return made


class Phrases(Generic[T]):
    """Phrases to be looked for, each standing for something."""

    def __init__(self, pairs: Iterable[tuple[str, T]]) -> None:
        listed = list(pairs)
        self._exact: dict[str, T] = {}
        for phrase, what in listed:
            self._exact.setdefault(skeleton(phrase), what)
        for phrase, what in listed:
            bare = [word for word in _WORD.findall(phrase) if skeleton(word) not in ARTICLES]
            if len(bare) > 1:
                self._exact.setdefault(skeleton(" ".join(bare)), what)
        self._exact.pop("", None)
        self._inflected: dict[str, T] = {}
        for bones, what in self._exact.items():
            for ending in ENDINGS:
                self._inflected.setdefault(bones + ending, what)
        self._inflected.update(self._exact)
        self._slips: dict[str, T] = {}
        for bones, what in self._exact.items():
            if len(bones) >= SLIP_CHARS_MIN:
                for at in range(1, len(bones) - ENDING_CHARS):
                    self._slips.setdefault(bones[:at] + bones[at + 1 :], what)
        self._longest = max(map(len, self._exact), default=0) + 2

    def whole(self, text: str) -> T | None:
        """What a whole text stands for."""
        return self._inflected.get(skeleton(text))

    def find(self, words: list[Token]) -> list[Hit[T]]:
        """Every phrase, the longest at each place; one does not overlap another."""
        hits: list[Hit[T]] = []
        at = 0
        while at < len(words):
            hit, step = self._at(words, at)
            if hit:
                hits.append(hit)
            at += step
        return hits

    def _at(self, words: list[Token], first: int) -> tuple[Hit[T] | None, int]:
        best: Hit[T] | None = None
        step = 1
        for count, (forms, end) in enumerate(self._windows(words, first), start=1):
            shortest = min(len(each.bones) for each in words[first : first + count])
            for bones in forms:
                what, slip = self._looked_up(bones, count, is_whole=count == 1 or shortest > 3)
                if what is not None and (not slip or best is None):
                    best, step = Hit(words[first].start, end, what, slip), count
                    break
        return best, step

    def _windows(self, words: list[Token], first: int) -> Iterator[tuple[list[str], int]]:
        """The joined skeletons from a word on: with all words, and without articles in the middle."""
        bones = bare = ""
        for at in range(first, min(first + WINDOW_MAX, len(words))):
            if at > first and not words[at].is_joined:
                return
            bones += words[at].bones
            is_article = words[at].bones in ARTICLES
            bare += "" if is_article and at > first else words[at].bones
            if len(bare) > self._longest:
                if at == first:
                    yield [bones], words[at].end
                return
            yield ([bones] if bare == bones or is_article else [bones, bare]), words[at].end

    def _looked_up(self, bones: str, count: int, *, is_whole: bool) -> tuple[T | None, str]:
        """What a joined phrase means. Short words are not mended: `Vertrag am` is not `Vertrag ab`."""
        bones = _folded(bones)
        if bones in self._inflected:
            return self._inflected[bones], ""
        if is_whole and len(bones) >= SLIP_CHARS_MIN:
            if bones in self._slips:
                return self._slips[bones], "slip"
            for at in range(1, len(bones) - ENDING_CHARS):
                short = bones[:at] + bones[at + 1 :]
                if short in self._slips or short in self._exact:
                    return self._slips.get(short, self._exact.get(short)), "slip"
        if count == 1 and len(bones) > COMPOUND_CHARS_MIN:
            for at in range(2, len(bones) - COMPOUND_CHARS_MIN + 1):
                if bones[at:] in self._exact:
                    return self._exact[bones[at:]], "compound"
        return None, ""
