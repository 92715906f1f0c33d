"""Words of reports in several languages: columns, flags, ordinal values, specimens; from words.yaml."""

import re
import unicodedata
from functools import lru_cache
from importlib.resources import files
from typing import Any

import yaml

_SPECIAL = str.maketrans({"ß": "ss", "œ": "oe", "æ": "ae", "ø": "o", "ł": "l", "µ": "u", "μ": "u"})


def load_data(name: str) -> Any:  # noqa: ANN401 - YAML of our own, checked by the tests
    """A YAML file of this package."""
    # libyaml's parser, where PyYAML has it, is ten times as fast; both build plain values only.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return loader(files(__package__).joinpath(name).read_text("utf-8")).get_single_data()


@lru_cache(maxsize=8192)
def fold(text: str) -> str:
    """A text without case, accents and punctuation, `+` aside; ä, ae and a are the same."""
    bare = unicodedata.normalize("NFKD", text.casefold().translate(_SPECIAL))
    bare = "".join(c for c in bare if not unicodedata.combining(c))
    bare = re.sub(r"(?<=[a-z])(?:ae)", "a", bare) if "ae" in bare else bare
    return " ".join(re.sub(r"[^\w+%]+|_", " ", bare).split())


def _fold_words(words: dict[str, list[str]]) -> dict[str, str]:
    """Words by their folded form; signs without letters and digits as they are."""
    return {_key(word): name for name, spelled in words.items() for word in spelled}


def _key(text: str) -> str:
    return fold(text) if any(map(str.isalnum, text)) else text.strip()


_WORDS = load_data("words.yaml")
COLUMNS: dict[str, str] = _fold_words(_WORDS["columns"])
FLAGS: dict[str, str] = {
    word.casefold(): name for name, spelled in _WORDS["flags"].items() for word in spelled
}
_ORDINALS: dict[str, str] = _fold_words(_WORDS["ordinals"])
SPECIMENS: dict[str, str] = _fold_words(_WORDS["specimens"])
HL7_SPECIMENS: dict[str, str] = _WORDS["hl7_specimens"]
SECTIONS: frozenset[str] = frozenset(map(fold, _WORDS["sections"]))
COLLECTED: tuple[str, ...] = tuple(map(fold, _WORDS["collected"]))
PENDING_WORDS: frozenset[str] = frozenset(map(fold, _WORDS["pending"]))
ANTIBIOGRAMS: frozenset[str] = frozenset(map(fold, _WORDS["antibiograms"]))
SUSCEPTIBILITIES: dict[str, str] = _WORDS["susceptibilities"]
LABELS: frozenset[str] = frozenset(map(fold, _WORDS["no_result_labels"]))
LINES: tuple[str, ...] = tuple(map(fold, _WORDS["no_results"]))


def ordinal_of(text: str) -> str:
    """The ordinal value that a text means, such as negative or 2+; "" if it means none."""
    return _ORDINALS.get(_key(text), "")


def column_of(text: str) -> str:
    """The column that a heading names; "" for a text that is no heading."""
    return COLUMNS.get(_key(text), "")


def specimen_of(text: str) -> str:
    """The specimen that a text names: blood, urine, stool, csf; "" if it names none."""
    words = f" {fold(text)} "
    return next((name for word, name in SPECIMENS.items() if f" {word} " in words), "")
