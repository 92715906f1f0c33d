"""Suppliers' categories mapped by rules, which are data (`categories.yaml`). Each printed category is mapped once."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

import msgspec

from stateward.core.model import Json
from stateward.pipelines.catalogs.headings import simplify

UNKNOWN, UNMAPPED = "UNKNOWN_CATEGORY", "UNMAPPED_CATEGORY"
CACHE_MAX = 100_000
_STEPS = re.compile(r"[>/|,;»\\]")
_LETTER = re.compile(r"[^\W\d_]")
_NUMBERED = re.compile(
    r"\d{1,7}(?:\s*-\s*)?"
)  # the id of the Google taxonomy, alone or before its path


class CategoryRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A category and the words that lead to it."""

    category: str
    words: tuple[str, ...]


class CategoryRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of rules, and the words that stand for no category at all."""

    version: int
    rules: tuple[CategoryRule, ...]
    unknown: tuple[str, ...] = ()


class Mapped(NamedTuple):
    """A category of the taxonomy, or the code of what is wrong with the printed one."""

    category: str
    fault: str = ""


@cache
def shipped_rules() -> CategoryRules:
    """The rules that ship."""
    data = msgspec.yaml.decode((files(__package__) / "categories.yaml").read_text("utf-8"))
    return msgspec.convert(data, CategoryRules)


class CategoryMapper:
    """Maps the categories of one file: own rules first, then those that ship."""

    def __init__(self, own: Mapping[str, Json]) -> None:
        given = [msgspec.convert(own, CategoryRules)] if own else []
        every = [*given, shipped_rules()]
        self.version = ".".join(str(each.version) for each in every)
        self._unknown = {simplify(word) for each in every for word in each.unknown}
        self._words: dict[str, str] = {}
        for rule in (rule for each in every for rule in each.rules):
            for word in (rule.category, *rule.words):
                self._words.setdefault(simplify(word), rule.category)
        self._known: dict[str, Mapped] = {}

    def map(self, printed: str) -> Mapped:
        """The category of a printed one that is not empty."""
        found = self._known.get(printed)
        if found is None:
            found = self._map(printed)
            if len(self._known) < CACHE_MAX:
                self._known[printed] = found
        return found

    def _map(self, printed: str) -> Mapped:
        text = simplify(printed)
        is_number = text.isdigit()
        if text in self._unknown or not (_LETTER.search(text) or is_number):
            return Mapped("", UNKNOWN)
        for candidate in self._candidates(printed):
            if (found := self._words.get(candidate)) is not None:
                return Mapped(found)
        return Mapped("", UNMAPPED)

    def _candidates(self, printed: str) -> Iterator[str]:
        """The whole, the steps of its path from the last to the first, then the words of these steps."""
        yield simplify(printed)
        steps = [simplify(step) for step in _STEPS.split(printed)]
        yield from reversed(steps)
        for step in reversed(steps):
            yield from _parts(step.split())


def _parts(words: Sequence[str]) -> Iterator[str]:
    """Neighbouring words first, then each of them; "and" joins two."""
    yield from (f"{one} {two}" for one, two in pairwise(words))
    yield from reversed(words)
