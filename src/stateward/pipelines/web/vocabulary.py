"""The words that facts are recognised by, as patterns; the words themselves are data (`vocabulary.yaml`)."""

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

import msgspec

FALLBACK = "en"
# Languages that write a comma before decimals.
COMMA_LANGUAGES = frozenset({"de", "fr", "es"})


class VocabularyFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file as it is written."""

    version: int
    relations: dict[str, dict[str, tuple[str, ...]]]
    scales: dict[str, dict[str, int]]
    currencies: dict[str, tuple[str, ...]]
    units: dict[str, tuple[str, ...]]
    between: dict[str, str]
    prepositions: dict[str, str]
    not_said: dict[str, str]
    not_names: dict[str, str]


class Vocabulary(msgspec.Struct, frozen=True):
    """The words of one language."""

    verbs: re.Pattern[str]
    relation_of: dict[str, str]
    quantity: re.Pattern[str]
    scales: dict[str, int]
    units: dict[str, str]
    currencies: dict[str, str]
    between: frozenset[str]
    prepositions: frozenset[str]
    not_said: frozenset[str]
    not_names: frozenset[str]
    decimal: str


@cache
def _file() -> VocabularyFile:
    data = msgspec.yaml.decode((files(__package__) / "vocabulary.yaml").read_text("utf-8"))
    return msgspec.convert(data, VocabularyFile)


@cache
def vocabulary(language: str) -> Vocabulary:
    """The words of a language; those of English for one that is not known."""
    words = _file()
    if language not in words.not_names:
        language = FALLBACK
    verbs = {
        form: name for name, forms in words.relations.items() for form in forms.get(language, ())
    }
    currencies = {word: code for code, listed in words.currencies.items() for word in listed}
    units = {word: unit for unit, listed in words.units.items() for word in listed}
    scales = words.scales[language]
    return Vocabulary(
        verbs=re.compile(rf"(?<![\w-])(?:{_any(verbs)})(?![\w-])"),
        relation_of=verbs,
        quantity=_quantity(scales, currencies, units),
        scales=scales,
        units=units,
        currencies=currencies,
        between=frozenset(words.between[language].split()),
        prepositions=frozenset(words.prepositions[language].split()),
        not_said=frozenset(words.not_said[language].split()),
        not_names=frozenset(words.not_names[language].split()),
        decimal="," if language in COMMA_LANGUAGES else ".",
    )


def _quantity(
    scales: Iterable[str], currencies: Iterable[str], units: Iterable[str]
) -> re.Pattern[str]:
    """A number with its scale and unit: `$4.3 billion`, `12,5 Prozent`, `3 Mio. Euro`, `40 MW`.

    An amount with letters behind it that are no scale of the language (`$14x`) is none: it may be any multiple of it.
    """
    number = r"\d{1,3}(?:[.,\u00a0\u202f' ]\d{3})+(?:[.,]\d{1,4})?|\d+(?:[.,]\d{1,4})?"
    sign = r"(?P<sign>US\$|[$€£¥₹])\s?"
    words = _any([*currencies, *units, "$"])
    return re.compile(
        rf"(?<![\w.,$€£¥₹-]){sign}(?P<first>{number})(?:\s?(?P<scale1>{_any(scales)})\b\.?)?(?!\w)"
        rf"|(?<![\w.,$€£¥₹-])(?P<number>{number})(?:[\s-]?(?P<scale>{_any(scales)})\b\.?)?"
        rf"(?:\s(?:of|de|d['\u2019])(?=\s?\w))?[\s-]?(?P<unit>{words})(?!\w)",
        re.IGNORECASE,
    )


def _any(words: Iterable[str]) -> str:
    """An alternative of all words, the longest first."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
