"""Providers by name, in any legal form and spelling."""

import re
from collections.abc import Iterable
from functools import lru_cache

from rapidfuzz import fuzz, process

from stateward.pipelines.contracts.rules import ContractRules, Provider
from stateward.pipelines.contracts.words import (
    PhraseHit,
    Phrases,
    PhraseToken,
    skeleton,
)

SHORT_CHARS = 4  # shorter names must be printed exactly so
NEAR_MIN = 88  # of 100: one wrong letter in eight
INDEXES_MAX = 8

LEGAL = (
    r"GmbH\s*&\s*Co\.?\s*(?:KG(?:aA)?|OHG)|gGmbH|GmbH|mbH|AG\s*&\s*Co\.?\s*KG(?:aA)?|AG|Aktiengesellschaft|SE|"
    r"KGaA|KG|"
    r"OHG|eG|e\.\s?G\.|e\.\s?V\.|VVaG|V\.?V\.?a\.?G\.?|a\.\s?G\.|UG|Ltd\.?|Limited|plc|PLC|Inc\.?|LLC|LLP|DAC|p\.\s?l\.\s?c\.|"
    r"Corp\.?|S\.?A\.?|B\.?V\.?|AöR|"
    r"Co\.\s*KG|Company|Mutual"
)
# Words of a company's name that tell no one brand from another: what it sells and where.
GENERAL_WORDS = frozenset(
    "versicherung versicherungen versicherungs insurance assurance energie energy strom gas telekom telecom "
    "telekommunikation telekommunikations mobilfunk deutschland germany uk ireland österreich austria schweiz "
    "group gruppe service services kundenservice vertrieb vertriebs holding allgemeine".split()
)
_LEGAL_END = re.compile(rf"[\s,]+(?:{LEGAL})(?=[\s,.;:)]|$)")
_ARTICLES = r"(?:The|Die|Der|Das|Bei|Von|Zwischen|Between|And|Und)\s"
_CAPITAL = r"[A-ZÄÖÜ0-9][\w&+.'’/-]*"
_LATER = r"(?:[A-ZÄÖÜ0-9(][\w&+.'’/()-]*|&|und|and|für|of|der|\+|mit|im)"
COMPANY = re.compile(
    rf"(?<![\w&])(?!{_ARTICLES})(?P<name>{_CAPITAL}(?:[ \u00a0]{_LATER}){{0,7}}[ ,\u00a0]+(?:{LEGAL}))(?![\w])"
)


class ProviderIndex:
    """All providers of the rules, indexed by name."""

    def __init__(self, providers: Iterable[Provider]) -> None:
        self._names: dict[str, tuple[str, str]] = {}
        for provider in providers:
            for alias in (provider.name, *provider.aliases):
                bare = without_legal_form(alias)
                self._names.setdefault(skeleton(bare), (provider.name, bare))
        self.phrases = Phrases((alias, (name, alias)) for name, alias in self._names.values())

    def match(self, text: str) -> tuple[str, int] | None:
        """The provider that a whole text names, and the similarity (100: exact)."""
        bare = without_legal_form(" ".join(text.split()))
        key = skeleton(bare)
        if key in self._names:
            name, alias = self._names[key]
            return (name, 100) if _is_spelled_like(bare, alias) else None
        if len(key) <= SHORT_CHARS:
            return None
        near = process.extractOne(key, self._names.keys(), scorer=fuzz.ratio, score_cutoff=NEAR_MIN)
        if near and len(near[0]) > SHORT_CHARS:
            return self._names[near[0]][0], int(near[1])
        return None

    def mentions(self, text: str, words: list[PhraseToken]) -> list[PhraseHit[str]]:
        """Every place of a text that names a provider."""
        return self.named(text, self.phrases.find(words))

    def named(self, text: str, hits: Iterable[PhraseHit[tuple[str, str]]]) -> list[PhraseHit[str]]:
        """Those of the phrases in a text that name a provider."""
        return [
            PhraseHit(hit.start, hit.end, hit.what[0], hit.slip)
            for hit in hits
            if hit.slip != "compound" and _is_spelled_like(text[hit.start : hit.end], hit.what[1])
        ]


def without_legal_form(name: str) -> str:
    """A name without GmbH, AG, plc and the like at its end."""
    for _ in range(3):
        shorter = _LEGAL_END.sub("", f"{name}").strip(" ,.;:")
        if shorter == name or not shorter:
            break
        name = shorter
    return name


def brand(name: str) -> str:
    """A name without its legal form and its last general words: `Aviva Insurance Ireland DAC` is Aviva."""
    first, *rest = without_legal_form(name).split() or [""]
    while rest and is_general(rest[-1]):
        rest.pop()
    return " ".join([first, *rest])


def is_general(word: str) -> bool:
    """Whether a word of a company's name is one that many have."""
    return word.strip("-.,&()").casefold() in GENERAL_WORDS


def _is_spelled_like(text: str, alias: str) -> bool:
    """Whether a short name is printed exactly, and a longer one with its capital: `three months` is no provider."""
    if len(skeleton(alias)) <= SHORT_CHARS:
        return text.replace(" ", "") in (
            alias.replace(" ", ""),
            alias.replace(" ", "").lower() if alias == "O2" else alias,
        )
    return not (alias[:1].isupper() and text[:1].islower() and " " not in alias)


@lru_cache(maxsize=INDEXES_MAX)
def _index(version: str, names: tuple[tuple[str, ...], ...]) -> ProviderIndex:
    return ProviderIndex(
        Provider(name=each[0], aliases=list(each[1:]), verticals={}) for each in names
    )


def provider_index(rules: ContractRules) -> ProviderIndex:
    """The index of these rules, cached."""
    return _index(rules.version, tuple((each.name, *each.aliases) for each in rules.providers))
