"""The vertical of a document, by the words it uses."""

import math
import re
from functools import lru_cache

import msgspec

from stateward.pipelines.contracts.offline.labels import VerticalKey, vertical_key
from stateward.pipelines.contracts.providers import ProviderIndex, provider_index
from stateward.pipelines.contracts.rules import ContractRules, Vertical, all_labels
from stateward.pipelines.contracts.words import Phrases, PhraseSets, tokens
from stateward.pipelines.kit.documents import TextDocument

CHARS_MAX = 30_000
SETS_MAX = 8
FIELD_WEIGHT = 0.5
# A name alone is evidence only in the letterhead: a city, or a street, may be called as an insurer is.
PROVIDER_WEIGHT = 2.5
HEAD_CHARS = 200
SURE_RATIO = 2.0
SURE_MIN = 5.0
WORDS_MAX = 8  # of the evidence for one vertical
SIDES_WEIGHT = 4.0  # of two companies between which an agreement is made
SIDES_MIN = 3  # words for its sides, where none stands before their names
SIDES_CHARS, NAMES_CHARS = (
    4000,
    900,
)  # where they are named: in the beginning, one soon after the other
GENERAL = "general"

_STREET = re.compile(  # or the place of a letter, before its date
    r"\s+(?:Straße|Strasse|Str\.|Platz|Allee|Weg|Ring|Road|Street)(?!\w)|,\s+(?:den\s+)?\d{1,2}\."
)
_BETWEEN = re.compile(
    r"\b(?:between|among|zwischen|parties|parteien|vertragspartner)\b", re.IGNORECASE
)
# The two roles of a contract for services, one soon after the other: they are its sides.
_ROLES = re.compile(
    r"\bAuftraggeber(?:in)?\b[^\n]{0,160}\n?[^\n]{0,40}?\bAuftragnehmer(?:in)?\b"
    r"|\bAuftragnehmer(?:in)?\b[^\n]{0,160}\n?[^\n]{0,40}?\bAuftraggeber(?:in)?\b"
)
_SIDE = re.compile(
    r"\b(?:the\s+parties|(?:either|neither|each|one|other)\s+part(?:y|ies)|(?:keine|andere[nr]?|jede[rn]?)\s+"
    r"(?:Vertrags)?Partei|(?:Vertrags)?Parteien|Auftragnehmer(?:s|in)?)\b",
    re.IGNORECASE,
)
_COMPANY = re.compile(
    r"\b(?:GmbH|mbH|AG|SE|KG|OHG|GbR|PartG|eG|e\.\s?V|UG|Inc|Incorporated|LLC|L\.L\.C|LLP|LP|Ltd|Limited|plc|PLC|DAC|dac|"
    r"Corp|Corporation|Company|B\.?V|N\.?V|S\.?A|S\.?r\.?l|Pty|University|Universität|Hochschule|Institut|Trust)\b"
)


class Evidence(msgspec.Struct, frozen=True):
    """What speaks for a vertical: its score, and the words that were found, the most frequent first."""

    vertical: str
    score: float
    words: tuple[str, ...]


class Detection(msgspec.Struct, frozen=True):
    """The most likely vertical ("" if none), whether it is certain, and what speaks for each, the best first."""

    vertical: str
    is_sure: bool
    evidence: tuple[Evidence, ...]


def detect(document: TextDocument, rules: ContractRules) -> tuple[str, bool]:
    """The most likely vertical of a document ("" if none), and whether it is certain."""
    found = detection_of(document, rules)
    return found.vertical, found.is_sure


def detection_of(document: TextDocument, rules: ContractRules) -> Detection:
    """The most likely vertical of a document, with its evidence."""
    weighed = sorted(weigh(document, rules), key=lambda each: (each.score, each.vertical))[::-1]
    if not weighed or weighed[0].score <= 0:
        return Detection("", is_sure=False, evidence=tuple(weighed))
    best = weighed[0].score
    second = weighed[1].score if len(weighed) > 1 else 0.0
    is_sure = best >= SURE_MIN and best >= SURE_RATIO * second
    return Detection(weighed[0].vertical, is_sure=is_sure, evidence=tuple(weighed))


def weigh(document: TextDocument, rules: ContractRules) -> list[Evidence]:
    """What speaks for each vertical that has signs."""
    text = document.text[:CHARS_MAX]
    words = tokens(text)
    providers = provider_index(rules)
    keys = tuple(vertical_key(each) for each in rules.verticals.values() if each.signs)
    of_providers, *places = _sets(providers, keys).places(words)
    hits = [
        hit
        for hit in providers.named(text, providers.phrases.find_at(words, of_providers))
        if not _STREET.match(text, hit.end)
    ]
    named = {hit.what for hit in hits}
    heading = {hit.what for hit in hits if _is_letterhead(text, hit.start)}
    found: list[Evidence] = []
    for key, begins in zip(keys, places, strict=True):
        vertical, slug = key.vertical, key.vertical.slug
        counts: dict[str, int] = {}
        for hit in _signs(key).find_at(words, begins):
            counts[hit.what] = counts.get(hit.what, 0) + 1
        own = [
            provider.name
            for provider in rules.providers
            if provider.name in named and list(provider.verticals) == [slug]
        ]
        score = sum(1 + math.log2(count) for count in counts.values())
        score += FIELD_WEIGHT * _units(vertical, text)
        is_named = score > 0 or any(name in heading for name in own)
        score += PROVIDER_WEIGHT * len(own) if is_named else 0.0
        if vertical.extractor == GENERAL and (sides := _sides(text)):
            score += SIDES_WEIGHT
            own.append(sides)
        common = sorted(counts, key=lambda word: (-counts[word], word))
        found.append(Evidence(slug, round(score, 2), (*own, *common)[:WORDS_MAX]))
    return found


def _is_letterhead(text: str, start: int) -> bool:
    """Whether a line of the first few begins there."""
    return start < HEAD_CHARS and not text[:start].rpartition("\n")[2].strip()


def _sides(text: str) -> str:
    """A word for two companies as the sides of an agreement: one before their names, or one that comes often."""
    for opener in _BETWEEN.finditer(text, 0, SIDES_CHARS):
        if len(_COMPANY.findall(text, opener.end(), opener.end() + NAMES_CHARS)) > 1:
            return opener[0].casefold()
    sides = _SIDE.findall(text)
    is_named = len(_COMPANY.findall(text, 0, NAMES_CHARS)) > 1
    if is_named and (roles := _ROLES.search(text, 0, NAMES_CHARS)):
        return " ".join(roles[0].split()[:1]).casefold()
    return sides[0].casefold() if is_named and len(sides) >= SIDES_MIN else ""


def _units(vertical: Vertical, text: str) -> int:
    """How often the units of the fields of a vertical are printed: kWh, GB."""
    units: set[str] = {str(field.per) for field in vertical.fields if field.per == "kWh"}
    units |= {field.unit for field in vertical.fields if field.kind == "quantity"}
    return sum(min(4, len(re.findall(rf"\b{re.escape(unit)}\b", text))) for unit in units - {""})


@lru_cache(maxsize=SETS_MAX)
def _sets(providers: ProviderIndex, keys: tuple[VerticalKey, ...]) -> PhraseSets:
    """The names of providers, and the signs of each vertical."""
    return PhraseSets([providers.phrases, *map(_signs, keys)])


@lru_cache(maxsize=64)
def _signs(key: VerticalKey) -> Phrases[str]:
    return Phrases((word, word.casefold()) for word in all_labels(key.vertical.signs))
