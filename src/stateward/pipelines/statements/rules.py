"""Cleaned descriptions and merchant names by rules, which are versioned data; own rules precede the shipped ones."""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files

import msgspec

from stateward.core.errors import FatalFailure
from stateward.core.model import Json

TEXT_CHARS_MAX = 1000
ROUNDS_MAX = 6  # prefixes or suffixes that are removed one after the other
SHORT_CHARS = 4  # names as short as IKEA stay in capitals
CACHE_MAX = 1 << 16
MERCHANT_CHARS_MAX = 60
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028\u2029\ufeff]+")
_WORDS = re.compile(r"[a-z0-9']{3,}")


class Rewrite(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pattern and its replacement."""

    match: str
    replace: str = ""


class Merchant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A name, and the phrases (which start with a whole word of the text) or the pattern that mean it."""

    name: str
    match: str = ""
    words: list[str] = []


class Category(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A category, and the pattern of descriptions or merchants that belong to it."""

    name: str
    match: str


class CleaningRuleFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of a rules file."""

    version: int | str
    descriptions: list[Rewrite] = []
    prefixes: list[str] = []
    suffixes: list[str] = []
    merchants: list[Merchant] = []
    categories: list[Category] = []


class CleaningRules:
    """Rules, compiled. Results are cached by text.

    Patterns are applied to the text in lower case, all prefixes as one pattern and all suffixes as another: at fifty
    thousand rows per second, many with a text of their own, there are a few microseconds for each.
    """

    def __init__(self, layers: Sequence[CleaningRuleFile]) -> None:
        self.version = "+".join(str(layer.version) for layer in layers)
        self._descriptions = [
            (_compile(rule.match), rule.replace) for layer in layers for rule in layer.descriptions
        ]
        self._prefix = _join([text for layer in layers for text in layer.prefixes])
        self._suffix = _join([text for layer in layers for text in layer.suffixes])
        merchants = [rule for layer in layers for rule in layer.merchants]
        self._patterns = [(_compile(rule.match), rule.name) for rule in merchants if rule.match]
        self._phrases: dict[str, list[tuple[str, str]]] = {}
        for rule in merchants:
            for phrase in rule.words:
                first = next(iter(_WORDS.findall(phrase.lower())), "")
                self._phrases.setdefault(first, []).append((phrase.lower(), rule.name))
        self._categories = [
            (_compile(rule.match), rule.name) for layer in layers for rule in layer.categories
        ]
        self.description = lru_cache(CACHE_MAX)(self._description)
        self.merchant = lru_cache(CACHE_MAX)(self._merchant)
        self.has_categories = bool(self._categories)
        self.category = lru_cache(CACHE_MAX)(self._category)

    def _description(self, text: str) -> str:
        """A description on one line with single blanks, rewritten by the rules."""
        text = text[:TEXT_CHARS_MAX]
        if not text.isprintable():
            text = _CONTROLS.sub(" ", text)
        for pattern, replacement in self._descriptions:
            text = pattern.sub(replacement, text)
        return " ".join(text.split())

    def _merchant(self, text: str) -> str:
        """A known name, or the text without prefixes and suffixes."""
        text = text[:TEXT_CHARS_MAX]
        low = text.lower()
        for pattern, name in self._patterns:
            if pattern.search(low):
                return name
        for word in _WORDS.findall(low):
            for phrase, name in self._phrases.get(word, ()):
                if phrase in low:
                    return name
        if len(low) == len(
            text
        ):  # some letters change their length in lower case; then nothing is removed
            text = self._without_affixes(text, low)
        text = " ".join(text.split()).strip(" -:;,.*")[:MERCHANT_CHARS_MAX]
        # A capital of Turkish has a dot of its own, which small letters have anyway.
        title = text.title().replace("i\u0307", "i")
        return title if text.isupper() and len(text) > SHORT_CHARS else text

    def _category(self, merchant: str, description: str) -> str:
        """The category of the first rule that fits the merchant or the description; "" for none."""
        texts = (merchant[:TEXT_CHARS_MAX].lower(), description[:TEXT_CHARS_MAX].lower())
        for pattern, name in self._categories:
            if any(pattern.search(text) for text in texts):
                return name
        return ""

    def _without_affixes(self, text: str, low: str) -> str:
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
def default_rules() -> CleaningRuleFile:
    """The rules that come with the package."""
    text = (files(__package__) / "rules.yaml").read_text("utf-8")
    return msgspec.yaml.decode(text, type=CleaningRuleFile)


def rules_of(own: Mapping[str, Json]) -> CleaningRules:
    """The rules of the settings, before the shipped ones."""
    if not own:
        return _shipped_rules()
    try:
        return CleaningRules([msgspec.convert(dict(own), CleaningRuleFile), default_rules()])
    except msgspec.ValidationError as error:
        raise FatalFailure(f"invalid rules file: {error}", code="BAD_RULES") from error


@cache
def _shipped_rules() -> CleaningRules:
    return CleaningRules([default_rules()])


def _join(patterns: Sequence[str]) -> re.Pattern[str] | None:
    """One pattern that matches where the first of these does."""
    for text in patterns:
        _compile(text)  # so that an error names the pattern
    return re.compile("|".join(f"(?:{text})" for text in patterns)) if patterns else None


def _compile(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text, re.IGNORECASE)
    except re.error as error:
        raise FatalFailure(
            f"the rule {text!r} is not a regular expression: {error}", code="BAD_RULES"
        ) from error
