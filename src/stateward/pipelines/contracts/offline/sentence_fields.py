"""Candidates by the sentence patterns of a field (with a group `value`), for what labels cannot find."""

import re
from collections.abc import Iterator
from functools import lru_cache

from stateward.pipelines.contracts.candidates import ValueCandidate
from stateward.pipelines.contracts.offline.number_fields import TERMS, FieldCandidate
from stateward.pipelines.contracts.offline.page_analysis import AnalyzedPage, ContractReading
from stateward.pipelines.contracts.offline.text_fields import tidy
from stateward.pipelines.contracts.rules import FieldRule

SENTENCE = 0.9
HITS_MAX = 50


def candidates(rule: FieldRule, reading: ContractReading) -> list[FieldCandidate]:
    """Every value that a sentence pattern of the field finds."""
    return [
        candidate
        for pattern in rule.sentences
        for at, page in enumerate(reading.pages)
        for candidate in _on_page(rule, _compile(pattern), page, at)
    ]


def _on_page(
    rule: FieldRule, pattern: re.Pattern[str], page: AnalyzedPage, at: int
) -> Iterator[FieldCandidate]:
    for _, found in zip(range(HITS_MAX), pattern.finditer(page.text), strict=False):
        start, end = found.span("value")
        score = SENTENCE * (TERMS if page.is_small_print(start) else 1.0)
        if rule.kind == "text":
            name = tidy(found["value"])
            if name:
                yield FieldCandidate(rule.name, name, 0.0, at, start, end, score, "by a sentence")
        elif candidate := _value_in(rule, page, start, end):
            place = (at, candidate.start, candidate.end)
            unit = rule.unit or candidate.unit
            yield FieldCandidate(
                rule.name,
                candidate.value,
                candidate.number,
                *place,
                score,
                "by a sentence",
                unit=unit,
            )


def _value_in(rule: FieldRule, page: AnalyzedPage, start: int, end: int) -> ValueCandidate | None:
    inside = (each for each in page.candidates if start <= each.start and each.end <= end)
    return next((each for each in inside if each.kind == rule.kind), None)


@lru_cache(maxsize=256)
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
