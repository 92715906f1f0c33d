"""Phrases in text, found regardless of case, hyphens, blanks and OCR errors.

A word is reduced to its skeleton (as in Unicode's confusables): lower case without accents, in which letters that look
alike are one (`l`, `i` and `1`; `o` and `0`; `rn` and `m`). Words are then joined, so that `Arbeits-preis`, `Arbeits
preis` and `Arbeitsprels` are all found by `Arbeitspreis`.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")
K = TypeVar("K")

WINDOW_MAX = 28
GLUED_MIN = 3  # a word that OCR split has short parts
SLIP_CHARS_MIN = 9
COMPOUND_CHARS_MIN = 8
ENDING_CHARS = 2  # a typo in an ending may be another word: subscribed, subscriber
FOLDED_CHARS_MIN = 5
# Words that a label may have or lack: `Ende der Laufzeit`, `Ende Ihrer Laufzeit`, `Ende Laufzeit`.
ARTICLES = frozenset(
    "der dle das des dem den lhr lhrer lhres lhre von vom zur fur of the for a your our".split()
)
ENDINGS = ("", "s", "e", "n", "en", "es", "er", "em")
CACHE_MAX = 1 << 15
GAP_MAX = 8
LINE_CHARS_MIN = 45
# Most places of a text begin no phrase, and that shows in the first letters. A slip spoils at most one of them.
START_CHARS = 6
# Two letters may be spelt as one, so that more are needed to tell the first ones whatever follows.
START_CHARS_SURE = 18

_TOKEN = re.compile(r"[^\W_]+(?:['’](?=s\b))?")
_WORD = re.compile(r"[^\W_]+")
_LOOKS = str.maketrans({"0": "o", "1": "l", "|": "l", "i": "l", "j": "l", "5": "s", "8": "b"})
_STOP = re.compile(r"[:;\t|]|\n\s*\n|[.!?]\s+(?=[A-ZÄÖÜ])|\.{4,}")


_CELL = re.compile(r"\t| {3,}")


class PhraseToken(NamedTuple):
    """One word: its offsets, its skeleton, and whether a phrase may continue from the word before.

    `heads` and `tail` are how a phrase may begin and end with it: made once, for all phrases that are looked for.
    """

    start: int
    end: int
    key: str
    is_joined: bool
    heads: tuple[str, ...] = ()
    tail: str = ""


class PhraseHit(NamedTuple, Generic[T]):
    """A phrase in a text. `slip` is its deviation: "" none, "slip" one wrong letter, "compound" the end of a word."""

    start: int
    end: int
    what: T
    slip: str = ""


@lru_cache(maxsize=CACHE_MAX)
def skeleton(text: str) -> str:
    """A text without case, accents and blanks, look-alike letters made equal; numbers stay as they are."""
    low = unicodedata.normalize("NFD", text.casefold())
    low = "".join(letter for letter in low if not unicodedata.combining(letter))
    words = (word if word.isdigit() else word.translate(_LOOKS) for word in _WORD.findall(low))
    return _unify_spelling("".join(words))


def _unify_spelling(bare: str) -> str:
    """Equivalent spellings made equal; short words stay as they are: `due` is not `du`."""
    if len(bare) >= FOLDED_CHARS_MIN:
        bare = bare.replace("ae", "a").replace("oe", "o").replace("ue", "u")
    return bare.replace("rn", "m").replace("vv", "w")


def tokens(text: str) -> list[PhraseToken]:
    """The words of a text. A phrase continues over the end of a line that is long or ends with a hyphen."""
    places: list[tuple[int, int]] = []
    keys: list[str] = []
    joined: list[bool] = []
    last = 0
    for found in _TOKEN.finditer(text):
        start, end = found.span()
        # Most words have a blank before them and nothing else.
        joined.append(bool(keys) and (text[last:start] == " " or _is_joined(text, last, start)))
        places.append((start, end))
        keys.append(skeleton(found[0]))
        last = end
    return [
        PhraseToken(start, end, key, is_joined, heads, _tail(key))
        for (start, end), key, is_joined, heads in zip(
            places, keys, joined, _heads_of(tuple(keys), joined), strict=True
        )
    ]


def _is_joined(text: str, last: int, start: int) -> bool:
    """Whether a phrase may go on from a word that ends at `last` to the next one."""
    between = text[last:start]
    if len(between) >= GAP_MAX or _STOP.search(between + text[start]):
        return False
    if "\n" not in between:
        return True
    line = text[text.rfind("\n", 0, last) + 1 : last]
    return len(_CELL.split(line)[-1]) >= LINE_CHARS_MIN or between.startswith("-")


@lru_cache(maxsize=CACHE_MAX)
def _tail(key: str) -> str:
    return _unify_spelling(key)[-COMPOUND_CHARS_MIN:]


def _heads_of(keys: tuple[str, ...], joined: Sequence[bool]) -> Iterator[tuple[str, ...]]:
    """The first letters that phrases from each word on may have, by the words that count: most come again and again."""
    # How many letters of phrases there are before each word: articles in the middle of one do not count.
    letters = [0, *accumulate(0 if key in ARTICLES else len(key) for key in keys)]
    breaks = [at for at, is_joined in enumerate(joined) if not is_joined]
    ends = (
        [*breaks[1:], len(keys)] if keys else []
    )  # where the run of joined words ends that begins at a break
    for first, end in zip(breaks, ends, strict=True):
        for at in range(first, end):
            enough = letters[at + 1] + START_CHARS_SURE - len(keys[at])
            yield _heads(keys[at : bisect_left(letters, enough, at + 1, min(at + WINDOW_MAX, end))])


@lru_cache(maxsize=CACHE_MAX)
def _heads(keys: tuple[str, ...]) -> tuple[str, ...]:
    """The first letters of the words joined: what follows may change how they are spelt."""
    heads: dict[str, None] = {}
    key = bare = ""
    for at, word in enumerate(keys):
        key += word
        bare += "" if word in ARTICLES and at else word
        for each in (key, bare) if key != bare else (key,):
            heads[_unify_spelling(each)[: START_CHARS + 1]] = None
    return tuple(heads)


class Phrases(Generic[T]):
    """Phrases to find, each with a meaning."""

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
        for key, what in self._exact.items():
            for ending in ENDINGS:
                self._inflected.setdefault(key + ending, what)
        self._inflected.update(self._exact)
        self._slips: dict[str, T] = {}
        for key, what in self._exact.items():
            if len(key) >= SLIP_CHARS_MIN:
                for at in range(1, len(key) - ENDING_CHARS):
                    self._slips.setdefault(key[:at] + key[at + 1 :], what)
        self._longest = max(map(len, self._exact), default=0) + 2
        self._starts = {
            key[:START_CHARS] for known in (self._inflected, self._slips) for key in known
        }
        self._may_start: dict[str, bool] = {}
        self._ends = {key[-COMPOUND_CHARS_MIN:] for key in self._exact}

    def whole(self, text: str) -> T | None:
        """The meaning of a whole text."""
        return self._inflected.get(skeleton(text))

    def find(self, words: list[PhraseToken]) -> list[PhraseHit[T]]:
        """Every phrase, the longest at each place, without overlaps."""
        return self.find_at(words, (at for at, word in enumerate(words) if self.may_hit(word)))

    def find_at(self, words: list[PhraseToken], places: Iterable[int]) -> list[PhraseHit[T]]:
        """The same, from the words on that may begin one, in their order."""
        hits: list[PhraseHit[T]] = []
        next_at = 0
        for at in places:
            if at < next_at:
                continue
            hit, step = self._at(words, at)
            if hit:
                hits.append(hit)
            next_at = at + step
        return hits

    def may_hit(self, word: PhraseToken) -> bool:
        """Whether a phrase may begin with a word, or be the end of it: most words are passed over here."""
        return any(map(self.may_begin, word.heads)) or self.may_end(word.tail)

    def may_end(self, tail: str) -> bool:
        """Whether a phrase ends with these letters."""
        return tail in self._ends

    def _at(self, words: list[PhraseToken], first: int) -> tuple[PhraseHit[T] | None, int]:
        """The longest phrase from a word on, and how many words to go on; one with a slip only if there is no other."""
        best: PhraseHit[T] | None = None
        step = 1
        key = bare = ""  # the words joined: all of them, and without articles in the middle
        shortest = len(words[first].key)
        for at in range(first, min(first + WINDOW_MAX, len(words))):
            word = words[at]
            if at > first and not word.is_joined:
                break
            is_article = word.key in ARTICLES
            key += word.key
            bare += "" if is_article and at > first else word.key
            is_too_long = len(bare) > self._longest
            if is_too_long and at > first:
                break
            shortest = min(shortest, len(word.key))
            for form in (key,) if bare == key or is_article else (key, bare):
                joined = _unify_spelling(form)
                what, slip = None, ""
                if self.may_begin(joined):
                    what, slip = self._look_up(joined, is_whole=at == first or shortest > 3)
                if what is None and at == first:
                    what, slip = self._end_of(joined), "compound"
                if what is not None and (not slip or best is None):
                    best, step = PhraseHit(words[first].start, word.end, what, slip), at - first + 1
                    break
            if is_too_long:
                break
        return best, step

    def may_begin(self, key: str) -> bool:
        """Whether a phrase begins as these letters do, but for one after the first."""
        head = key[: START_CHARS + 1]
        known = self._may_start.get(head)
        if known is None:
            without = (head[:at] + head[at + 1 :] for at in range(1, START_CHARS))
            known = any(each in self._starts for each in (head[:START_CHARS], *without))
            if len(self._may_start) < CACHE_MAX:
                self._may_start[head] = known
        return known

    def _look_up(self, key: str, *, is_whole: bool) -> tuple[T | None, str]:
        """The meaning of joined words. Typos in short words are not accepted: `Vertrag am` is not `Vertrag ab`."""
        if key in self._inflected:
            return self._inflected[key], ""
        if is_whole and len(key) >= SLIP_CHARS_MIN:
            if key in self._slips:
                return self._slips[key], "slip"
            for at in range(1, len(key) - ENDING_CHARS):
                short = key[:at] + key[at + 1 :]
                if short in self._slips or short in self._exact:
                    return self._slips.get(short, self._exact.get(short)), "slip"
        return None, ""

    def _end_of(self, key: str) -> T | None:
        """The meaning of a phrase with which a single word ends."""
        if len(key) <= COMPOUND_CHARS_MIN or key[-COMPOUND_CHARS_MIN:] not in self._ends:
            return None
        for at in range(2, len(key) - COMPOUND_CHARS_MIN + 1):
            if key[at:] in self._exact:
                return self._exact[key[at:]]
        return None


class PhraseSets:
    """Several sets of phrases, for which the words of a text are gone through once."""

    def __init__(self, sets: Sequence[Phrases[Any]]) -> None:
        self._sets = tuple(sets)
        self._heads: dict[tuple[str, ...], int] = {}  # the sets that may begin so, a bit for each
        self._tails: dict[str, int] = {}

    def places(self, words: Sequence[PhraseToken]) -> list[list[int]]:
        """For each of the sets, the words on which one of its phrases may begin."""
        found: list[list[int]] = [[] for _ in self._sets]
        for at, word in enumerate(words):
            heads, tails = self._heads.get(word.heads), self._tails.get(word.tail)
            if heads is None:
                heads = self._remember(self._heads, word.heads, self._beginning(word.heads))
            if tails is None:
                tails = self._remember(self._tails, word.tail, self._ending(word.tail))
            if bits := heads | tails:
                for number, listed in enumerate(found):
                    if bits >> number & 1:
                        listed.append(at)
        return found

    def _beginning(self, heads: Iterable[str]) -> int:
        return sum(any(map(each.may_begin, heads)) << bit for bit, each in enumerate(self._sets))

    def _ending(self, tail: str) -> int:
        return sum(each.may_end(tail) << bit for bit, each in enumerate(self._sets))

    @staticmethod
    def _remember(known: dict[K, int], key: K, bits: int) -> int:
        if len(known) < CACHE_MAX:
            known[key] = bits
        return bits
