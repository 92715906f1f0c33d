"""Candidates by the sentences of a field: patterns with a group `value`, for what labels cannot catch."""

import re
from collections.abc import Iterator
from functools import lru_cache

from stateward.pipelines.contracts.candidates import Spot
from stateward.pipelines.contracts.offline.fields import TERMS, Candidate
from stateward.pipelines.contracts.offline.reading import Leaf, Reading
from stateward.pipelines.contracts.offline.texts import tidy
from stateward.pipelines.contracts.rules import FieldRule

SENTENCE = 0.9
HITS_MAX = 50


def candidates(rule: FieldRule, reading: Reading) -> list[Candidate]:
    """Every value that a sentence of the field says."""
    return [
        candidate
        for pattern in rule.sentences
        for at, leaf in enumerate(reading.leaves)
        for candidate in _on_page(rule, _compiled(pattern), leaf, at)
    ]


def _on_page(rule: FieldRule, pattern: re.Pattern[str], leaf: Leaf, at: int) -> Iterator[Candidate]:
    for _, found in zip(range(HITS_MAX), pattern.finditer(leaf.page.text), strict=False):
        start, end = found.span("value")
        score = SENTENCE * (TERMS if leaf.is_small_print(start) else 1.0)
        if rule.kind == "text":
            name = tidy(found["value"])
            if name:
                yield Candidate(rule.name, name, 0.0, at, start, end, score, "by a sentence")
        elif spot := _spot(rule, leaf, start, end):
            place = (at, spot.start, spot.end)
            unit = rule.unit or spot.unit
            yield Candidate(
                rule.name, spot.value, spot.number, *place, score, "by a sentence", unit=unit
            )


def _spot(rule: FieldRule, leaf: Leaf, start: int, end: int) -> Spot | None:
    inside = (each for each in leaf.spots if start <= each.start and each.end <= end)
    return next((each for each in inside if each.kind == rule.kind), None)


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
