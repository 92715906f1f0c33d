"""The labels of a vertical in a page: those of its fields, of the time between two dates, and of other things."""

from functools import lru_cache
from typing import NamedTuple

from stateward.pipelines.contracts.rules import Vertical, all_labels
from stateward.pipelines.contracts.words import (
    Hit,
    Phrases,
    Token,
    skeleton,
)

STRONG, WEAK, DECOY = 1.0, 0.86, 1.0
SETS_MAX = 16
WORD_CHARS_MIN = 7
KNOWN = {"inklusive", "inklusiv", "inclusive"}  # near to words of the other language
ENDING_CHARS = 2  # `verlängert er` is two words


class Meaning(NamedTuple):
    """One thing that a label can mean: a field, the time between two fields, or something else."""

    what: str  # the field's name; "first>second" for the time between; "!name" for something else
    kinds: tuple[str, ...]
    weight: float


class Mention(NamedTuple):
    """A label in the text of a page."""

    start: int
    end: int
    meanings: tuple[Meaning, ...]
    slip: str

    @property
    def is_decoy(self) -> bool:
        """Whether it means something else than a field, whatever stands behind it."""
        return all(meaning.what.startswith("!") for meaning in self.meanings)

    def of_kind(self, kind: str) -> tuple[Meaning, ...]:
        """What it can mean for a value of that kind."""
        return tuple(meaning for meaning in self.meanings if kind in meaning.kinds)


def mentions(vertical: Vertical, words: list[Token]) -> list[Mention]:
    """Every label in a text."""
    hits: list[Hit[tuple[Meaning, ...]]] = _phrases(_key(vertical)).find(words)
    return [Mention(hit.start, hit.end, hit.what, hit.slip) for hit in hits]


def phrases_of(vertical: Vertical) -> Phrases[tuple[str, str]]:
    """Phrases that say the value of a field without a figure: (field, value)."""
    return Phrases(
        (label, (field.name, value))
        for field in vertical.fields
        for value, labels in field.phrases.items()
        for label in all_labels({"": labels})
    )


def rivals_of(vertical: Vertical) -> Phrases[str]:
    """Labels that are too near to a field to tell them apart: the field."""
    return Phrases(
        (label, field.name) for field in vertical.fields for label in all_labels(field.rivals)
    )


def spoilt_words(vertical: Vertical, text: str, words: list[Token]) -> int:
    """How many words are words of labels, but for a letter or a blank: a scanner's doing."""
    spoilt = 0
    for hit in _vocabulary(_key(vertical)).find(words):
        parts = text[hit.start : hit.end].split(" ")
        if len(parts) == 1:
            spoilt += hit.slip == "slip"
        elif all(part.isalpha() for part in parts):
            length = sum(map(len, parts))
            spoilt += not hit.slip and max(map(len, parts)) < length - ENDING_CHARS
    return spoilt


class _Key:
    """A vertical that can be remembered: two with the same labels are equal."""

    def __init__(self, vertical: Vertical, stamp: str) -> None:
        self.vertical = vertical
        self.stamp = stamp

    def __hash__(self) -> int:
        return hash(self.stamp)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.stamp == self.stamp


def _key(vertical: Vertical) -> _Key:
    return _Key(vertical, repr((vertical.slug, vertical.version, id(vertical))))


@lru_cache(maxsize=SETS_MAX)
def _phrases(key: _Key) -> Phrases[tuple[Meaning, ...]]:
    vertical = key.vertical
    table: dict[str, tuple[str, list[Meaning]]] = {}
    for field in vertical.fields:
        for words, weight in ((field.labels, STRONG), (field.weak, WEAK)):
            for label in all_labels(words):
                _add(table, label, Meaning(field.name, (field.kind,), weight))
    for order in vertical.orders:
        meaning = Meaning(f"{order.first}>{order.second}", ("date", "duration"), STRONG)
        for label in all_labels(order.labels):
            _add(table, label, meaning)
    for decoy in vertical.decoys:
        meaning = Meaning(f"!{decoy.name}", tuple(decoy.kinds), DECOY)
        for label in all_labels(decoy.labels):
            _add(table, label, meaning)
    return Phrases((label, tuple(meanings)) for label, meanings in table.values())


@lru_cache(maxsize=SETS_MAX)
def _vocabulary(key: _Key) -> Phrases[bool]:
    """The long words of all labels, one by one."""
    vertical = key.vertical
    sets = [words for field in vertical.fields for words in (field.labels, field.weak, field.words)]
    sets += [order.labels for order in vertical.orders] + [
        decoy.labels for decoy in vertical.decoys
    ]
    words = {word for each in sets for label in all_labels(each) for word in label.split()} | KNOWN
    return Phrases(
        (word, True) for word in sorted(words) if len(word) >= WORD_CHARS_MIN and word.isalpha()
    )


def _add(table: dict[str, tuple[str, list[Meaning]]], label: str, meaning: Meaning) -> None:
    """A label means one thing for each kind of value: what was named first."""
    _, held = table.setdefault(skeleton(label), (label, []))
    if not any(set(meaning.kinds) & set(other.kinds) for other in held):
        held.append(meaning)
