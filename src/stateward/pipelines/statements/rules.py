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
PREFIX_ROUNDS_MAX = 4
CACHE_MAX = 1 << 16
MERCHANT_CHARS_MAX = 60
_BLANKS = re.compile(r"\s+")


class Rewrite(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pattern and what takes its place."""

    match: str
    replace: str = ""


class Merchant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pattern and the name that it means."""

    match: str
    name: str


class RuleFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a file of rules may say."""

    version: int | str
    descriptions: list[Rewrite] = []
    prefixes: list[str] = []
    suffixes: list[str] = []
    merchants: list[Merchant] = []


class Rules:
    """Rules, ready to be applied. The same text gives the same answer, which is remembered."""

    def __init__(self, layers: Sequence[RuleFile]) -> None:
        self.version = "+".join(str(layer.version) for layer in layers)
        self._descriptions = [
            (_compiled(rule.match), rule.replace) for layer in layers for rule in layer.descriptions
        ]
        self._prefixes = [_compiled(text) for layer in layers for text in layer.prefixes]
        self._suffixes = [_compiled(text) for layer in layers for text in layer.suffixes]
        self._merchants = [
            (_compiled(rule.match), rule.name) for layer in layers for rule in layer.merchants
        ]
        self.description = lru_cache(CACHE_MAX)(self._description)
        self.merchant = lru_cache(CACHE_MAX)(self._merchant)

    def _description(self, text: str) -> str:
        """A description in one line, its blanks closed up, by the rules."""
        text = text[:TEXT_CHARS_MAX]
        for pattern, replacement in self._descriptions:
            text = pattern.sub(replacement, text)
        return _BLANKS.sub(" ", text).strip()

    def _merchant(self, text: str) -> str:
        """Who it was: a known name, or what is left when the noise around it is taken off."""
        text = text[:TEXT_CHARS_MAX]
        for pattern, name in self._merchants:
            if pattern.search(text):
                return name
        for _ in range(PREFIX_ROUNDS_MAX):
            shorter = text
            for pattern in self._prefixes:
                found = pattern.match(shorter)
                if found and found.end() < len(shorter):
                    shorter = shorter[found.end() :]
            if shorter == text:
                break
            text = shorter
        for pattern in self._suffixes:
            shorter = pattern.sub("", text)
            text = shorter if len(shorter.strip()) > 1 else text
        text = _BLANKS.sub(" ", text).strip(" -:;,.*")[:MERCHANT_CHARS_MAX]
        return text.title() if text.isupper() and len(text) > 4 else text


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


def _compiled(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text, re.IGNORECASE)
    except re.error as error:
        raise FatalFailure(
            f"the rule {text!r} is no regular expression: {error}", code="BAD_RULES"
        ) from error
