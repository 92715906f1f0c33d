"""The role of a column by its heading. The words, in many languages, are data in `headings.yaml`."""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

import yaml
from rapidfuzz import fuzz, process

from stateward.pipelines.kit.dates import fold

HEADING_CHARS_MAX = 60
NEAR_SCORE = 88.0  # of 100: one wrong letter in eight
NEAR_CHARS_MIN = 6  # in shorter words one letter makes another word
_SIGNS = re.compile(r"[\W_]+")
_IN_BRACKETS = re.compile(r"[(\[].*?[)\]]")


class HeadingWords(NamedTuple):
    """The words of `headings.yaml`, ready for lookup."""

    columns: dict[str, str]
    facts: dict[str, str]
    day_first: dict[str, str]
    card: frozenset[str]


@cache
def words() -> HeadingWords:
    """Read once. Where two roles have the same words, the first one gets them."""
    data = yaml.safe_load((files(__package__) / "headings.yaml").read_text("utf-8"))
    languages = {word: name for name, listed in data["day_first"].items() for word in listed}
    card = frozenset(map(simplify, data["card"]))
    return HeadingWords(_table(data["columns"]), _table(data["facts"]), languages, card)


def _table(roles: Mapping[str, Sequence[str]]) -> dict[str, str]:
    table: dict[str, str] = {}
    for role, lines in roles.items():
        for line in lines:
            for word in line.split(","):
                table.setdefault(simplify(word), role)
    return table


@lru_cache(maxsize=4096)
def simplify(text: str) -> str:
    """A heading without case, accents and signs: `Date de l'opération` is `date de l operation`."""
    return _SIGNS.sub(" ", fold(text)).strip()


@lru_cache(maxsize=4096)
def role_of(heading: str) -> str:
    """The role of a column, or "": by the whole heading, without brackets, or with one wrong letter."""
    if not heading or len(heading) > HEADING_CHARS_MAX:
        return ""
    table = words().columns
    for text in (
        heading,
        _IN_BRACKETS.sub(" ", heading),
        heading.split("/")[0],
        heading.rstrip("0123456789 "),
    ):
        if (found := table.get(simplify(text))) is not None:
            return found
    text = simplify(heading)
    if len(text) < NEAR_CHARS_MIN or any(c.isdigit() for c in text):
        return ""
    near = process.extractOne(text, table.keys(), scorer=fuzz.ratio, score_cutoff=NEAR_SCORE)
    return table[near[0]] if near else ""


def fact_of(text: str) -> str:
    """The fact that a label names, or ""; the longest label that the text starts with."""
    label = simplify(text[:HEADING_CHARS_MAX])
    table = words().facts
    parts = label.split()
    for length in range(min(len(parts), 5), 0, -1):
        if (found := table.get(" ".join(parts[:length]))) is not None:
            return found
    return ""


def is_card(headings: Sequence[str]) -> bool:
    """Whether a heading is one that only card statements have."""
    return any(simplify(text) in words().card for text in headings)


def day_first_language(headings: Sequence[str]) -> str:
    """The language of the headings, if it is one in which dates start with the day."""
    table = words().day_first
    return next((table[simplify(text)] for text in headings if simplify(text) in table), "")
