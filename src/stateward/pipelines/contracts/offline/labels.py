"""The labels of a vertical in a page: those of its fields, of the time between two dates, and of other things."""

from functools import lru_cache
from typing import NamedTuple

from stateward.pipelines.contracts.rules import FieldRule, Vertical, all_labels
from stateward.pipelines.contracts.words import (
    PhraseHit,
    Phrases,
    PhraseToken,
    skeleton,
    tokens,
)

STRONG, WEAK, DECOY = 1.0, 0.86, 1.0
SETS_MAX = 16
WORD_CHARS_MIN = 7
# Near to words of labels, and no damaged ones: of the other language, and ordinary ones.
KNOWN = {"inklusive", "inklusiv", "inclusive", "verwendet", "angeschlossen", "Schadensersatz"}
ENDING_CHARS = 2  # `verlängert er` is two words, not one that is split


class VerticalKey:
    """A vertical as a cache key: verticals with the same labels are equal."""

    def __init__(self, vertical: Vertical, stamp: str) -> None:
        self.vertical = vertical
        self.stamp = stamp

    def __hash__(self) -> int:
        return hash(self.stamp)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VerticalKey) and other.stamp == self.stamp


def vertical_key(vertical: Vertical) -> VerticalKey:
    """What is made once for a vertical is kept by this."""
    return VerticalKey(vertical, repr((vertical.slug, vertical.version, id(vertical))))


class LabelMeaning(NamedTuple):
    """One thing that a label can mean: a field, the time between two fields, or something else."""

    what: str  # the field's name; "first>second" for the time between; "!name" for something else
    kinds: tuple[str, ...]
    weight: float


class LabelMention(NamedTuple):
    """A label where it stands on a page."""

    start: int
    end: int
    meanings: tuple[LabelMeaning, ...]
    slip: str

    @property
    def is_decoy(self) -> bool:
        """Whether it labels something that is no field."""
        return all(meaning.what.startswith("!") for meaning in self.meanings)

    def of_kind(self, kind: str) -> tuple[LabelMeaning, ...]:
        """Its meanings for values of that kind."""
        return tuple(meaning for meaning in self.meanings if kind in meaning.kinds)


def mentions(vertical: Vertical, words: list[PhraseToken]) -> list[LabelMention]:
    """Every label in a text."""
    hits: list[PhraseHit[tuple[LabelMeaning, ...]]] = _phrases(vertical_key(vertical)).find(words)
    return [LabelMention(hit.start, hit.end, hit.what, hit.slip) for hit in hits]


def phrases_of(vertical: Vertical) -> Phrases[tuple[str, str]]:
    """Phrases that state the value of a field without a number: (field, value)."""
    return _stated_values(vertical_key(vertical))


@lru_cache(maxsize=SETS_MAX)
def _stated_values(key: VerticalKey) -> Phrases[tuple[str, str]]:
    return Phrases(
        (label, (field.name, value))
        for field in key.vertical.fields
        for value, labels in field.phrases.items()
        for label in all_labels({"": labels})
    )


def rivals_of(vertical: Vertical) -> Phrases[str]:
    """Labels that are too similar to those of a field to be distinguished, with the field."""
    return _rivals(vertical_key(vertical))


@lru_cache(maxsize=SETS_MAX)
def _rivals(key: VerticalKey) -> Phrases[str]:
    return Phrases(
        (label, field.name) for field in key.vertical.fields for label in all_labels(field.rivals)
    )


def stands_in(rule: FieldRule, label: str) -> bool:
    """Whether a label, as printed, names the field only where none of its own labels does."""
    lowered = label.casefold()
    return any(each.casefold() in lowered for each in all_labels(rule.instead))


def damaged_words(vertical: Vertical, text: str, words: list[PhraseToken]) -> int:
    """How many words are words of labels with one wrong letter or a blank inside: damage by OCR."""
    damaged = 0
    known = _vocabulary(vertical_key(vertical))
    for hit in known.find(words):
        parts = text[hit.start : hit.end].split(" ")
        if len(parts) == 1:
            damaged += hit.slip == "slip"
        elif all(part.isalpha() for part in parts):
            length = sum(map(len, parts))
            # Two words of which one is known alone are two words, and not a torn one.
            is_torn = not hit.slip and max(map(len, parts)) < length - ENDING_CHARS
            damaged += is_torn and not any(known.find(tokens(part)) for part in parts)
    return damaged


@lru_cache(maxsize=SETS_MAX)
def _phrases(key: VerticalKey) -> Phrases[tuple[LabelMeaning, ...]]:
    vertical = key.vertical
    table: dict[str, tuple[str, list[LabelMeaning]]] = {}
    for field in vertical.fields:
        for words, weight in ((field.labels, STRONG), (field.weak, WEAK)):
            for label in all_labels(words):
                _add(table, label, LabelMeaning(field.name, (field.kind,), weight))
    for order in vertical.orders:
        meaning = LabelMeaning(f"{order.first}>{order.second}", ("date", "duration"), STRONG)
        for label in all_labels(order.labels):
            _add(table, label, meaning)
    for decoy in vertical.decoys:
        meaning = LabelMeaning(f"!{decoy.name}", tuple(decoy.kinds), DECOY)
        for label in all_labels(decoy.labels):
            _add(table, label, meaning)
    return Phrases((label, tuple(meanings)) for label, meanings in table.values())


@lru_cache(maxsize=SETS_MAX)
def _vocabulary(key: VerticalKey) -> Phrases[bool]:
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


def _add(
    table: dict[str, tuple[str, list[LabelMeaning]]], label: str, meaning: LabelMeaning
) -> None:
    """Add a meaning to a label, unless it already has one for that kind of value."""
    _, meanings = table.setdefault(skeleton(label), (label, []))
    if not any(set(meaning.kinds) & set(other.kinds) for other in meanings):
        meanings.append(meaning)
