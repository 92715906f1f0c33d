"""The vertical of a document, by the words it uses."""

import math
import re
from functools import lru_cache

from stateward.pipelines.contracts.providers import provider_index
from stateward.pipelines.contracts.rules import ContractRules, Vertical, all_labels
from stateward.pipelines.contracts.words import Phrases, tokens
from stateward.pipelines.kit.documents import TextDocument

CHARS_MAX = 30_000
FIELD_WEIGHT = 0.5
PROVIDER_WEIGHT = 2.5
SURE_RATIO = 2.0
SURE_MIN = 5.0


def detect(document: TextDocument, rules: ContractRules) -> tuple[str, bool]:
    """The most likely vertical of a document ("" if none), and whether it is certain."""
    scores = sorted(((score, slug) for slug, score in weigh(document, rules).items()), reverse=True)
    if not scores or scores[0][0] <= 0:
        return "", False
    second = scores[1][0] if len(scores) > 1 else 0.0
    return scores[0][1], scores[0][0] >= SURE_MIN and scores[0][0] >= SURE_RATIO * second


def weigh(document: TextDocument, rules: ContractRules) -> dict[str, float]:
    """The score of each vertical that has signs."""
    text = document.text[:CHARS_MAX]
    words = tokens(text)
    named = {hit.what for hit in provider_index(rules).mentions(text, words)}
    scores: dict[str, float] = {}
    for slug, vertical in rules.verticals.items():
        if not vertical.signs:
            continue
        counts: dict[str, int] = {}
        for hit in _signs(tuple(all_labels(vertical.signs))).find(words):
            counts[hit.what] = counts.get(hit.what, 0) + 1
        scores[slug] = sum(1 + math.log2(count) for count in counts.values())
        scores[slug] += PROVIDER_WEIGHT * sum(
            slug in provider.verticals and len(provider.verticals) == 1
            for provider in rules.providers
            if provider.name in named
        )
        scores[slug] += FIELD_WEIGHT * _units(vertical, text)
    return scores


def _units(vertical: Vertical, text: str) -> int:
    """How often the units of the fields of a vertical are printed: kWh, GB."""
    units: set[str] = {str(field.per) for field in vertical.fields if field.per == "kWh"}
    units |= {field.unit for field in vertical.fields if field.kind == "quantity"}
    return sum(min(4, len(re.findall(rf"\b{re.escape(unit)}\b", text))) for unit in units - {""})


@lru_cache(maxsize=64)
def _signs(words: tuple[str, ...]) -> Phrases[str]:
    return Phrases((word, word.casefold()) for word in words)
