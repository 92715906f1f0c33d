"""Cleaning and naming by rules, which are data with a version; one's own come before those that ship."""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files

import msgspec
import yaml

from stateward.core.errors import FatalFailure
from stateward.core.model import Json

TEXT_CHARS_MAX = 1000
ROUNDS_MAX = 6
SHORT_CHARS = 4
CACHE_MAX = 1 << 16
MERCHANT_CHARS_MAX = 60
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028\u2029\ufeff]+")
_WORDS = re.compile(r"[a-z0-9']{3,}")


class Rewrite(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pattern and what takes its place."""

    match: str
    replace: str = ""


class Merchant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A name, and what means it: phrases that begin with a whole word of the text, or a pattern."""

    name: str
    match: str = ""
    words: list[str] = []


class RuleFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a file of rules may say."""

    version: int | str
    descriptions: list[Rewrite] = []
    prefixes: list[str] = []
    suffixes: list[str] = []
    merchants: list[Merchant] = []


class Rules:
    """Rules, ready to be applied. The same text gives the same answer, which is remembered.

    Patterns meet the text in small letters, all prefixes as one pattern and all suffixes as another: many rows
    have a text of their own, and fifty thousand of them a second leave little time for each.
    """

    def __init__(self, layers: Sequence[RuleFile]) -> None:
        self.version = "+".join(str(layer.version) for layer in layers)
        self._descriptions = [
            (_compiled(rule.match), rule.replace) for layer in layers for rule in layer.descriptions
        ]
        self._prefix = _joined([text for layer in layers for text in layer.prefixes])
        self._suffix = _joined([text for layer in layers for text in layer.suffixes])
        merchants = [rule for layer in layers for rule in layer.merchants]
        self._patterns = [(_compiled(rule.match), rule.name) for rule in merchants if rule.match]
        self._phrases: dict[str, list[tuple[str, str]]] = {}
        for rule in merchants:
            for phrase in rule.words:
                first = next(iter(_WORDS.findall(phrase.lower())), "")
                self._phrases.setdefault(first, []).append((phrase.lower(), rule.name))
        self.description = lru_cache(CACHE_MAX)(self._description)
        self.merchant = lru_cache(CACHE_MAX)(self._merchant)

    def _description(self, text: str) -> str:
        """A description in one line, its blanks closed up, by the rules."""
        text = text[:TEXT_CHARS_MAX]
        if not text.isprintable():
            text = _CONTROLS.sub(" ", text)
        for pattern, replacement in self._descriptions:
            text = pattern.sub(replacement, text)
        return " ".join(text.split())

    def _merchant(self, text: str) -> str:
        """Who it was: a known name, or what is left when the noise around it is taken off."""
        text = text[:TEXT_CHARS_MAX]
        low = text.lower()
        for pattern, name in self._patterns:
            if pattern.search(low):
                return name
        for word in _WORDS.findall(low):
            for phrase, name in self._phrases.get(word, ()):
                if phrase in low:
                    return name
        if len(low) == len(text):  # a few letters are longer when small; then nothing is taken off
            text = self._bare(text, low)
        text = " ".join(text.split()).strip(" -:;,.*")[:MERCHANT_CHARS_MAX]
        return text.title() if text.isupper() and len(text) > SHORT_CHARS else text

    def _bare(self, text: str, low: str) -> str:
        start, end = 0, len(low)
        for _ in range(ROUNDS_MAX):
            found = self._prefix.match(low, start) if self._prefix else None
            if found is None or found.end() >= end or found.end() == start:
                break
            start = found.end()
        for _ in range(ROUNDS_MAX):
            found = self._suffix.search(low, start + 2, end) if self._suffix else None
            if found is None:
                break
            end = found.start()
        return text[start:end]


@cache
def shipped() -> RuleFile:
    """The rules that come with the package."""
    text = (files(__package__) / "rules.yaml").read_text("utf-8")
    return msgspec.convert(yaml.safe_load(text), RuleFile)


def rules_of(own: Mapping[str, Json]) -> Rules:
    """One's own rules (as the settings give them) over the shipped ones."""
    if not own:
        return _plain()
    try:
        return Rules([msgspec.convert(dict(own), RuleFile), shipped()])
    except msgspec.ValidationError as error:
        raise FatalFailure(
            f"the file of rules cannot be used: {error}", code="BAD_RULES"
        ) from error


@cache
def _plain() -> Rules:
    return Rules([shipped()])


def _joined(patterns: Sequence[str]) -> re.Pattern[str] | None:
    """Patterns as one that matches where the first of them does."""
    for text in patterns:
        _compiled(text)  # says which one is wrong
    return re.compile("|".join(f"(?:{text})" for text in patterns)) if patterns else None


def _compiled(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text, re.IGNORECASE)
    except re.error as error:
        raise FatalFailure(
            f"the rule {text!r} is no regular expression: {error}", code="BAD_RULES"
        ) from error
