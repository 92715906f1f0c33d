"""Which column is what, by its heading: words in many languages, kept as data in `headings.yaml`."""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

import yaml
from rapidfuzz import fuzz, process

from stateward.pipelines.kit.dates import fold

HEADING_CHARS_MAX = 60
NEAR_SCORE = 88.0
NEAR_CHARS_MIN = 6
_SIGNS = re.compile(r"[\W_]+")
_IN_BRACKETS = re.compile(r"[(\[].*?[)\]]")


class Words(NamedTuple):
    """The words of `headings.yaml`, ready to be looked up."""

    columns: dict[str, str]
    facts: dict[str, str]
    day_first: dict[str, str]
    card: frozenset[str]


@cache
def words() -> Words:
    """Read once. Where two roles claim the same words, the one that stands first keeps them."""
    data = yaml.safe_load((files(__package__) / "headings.yaml").read_text("utf-8"))
    languages = {word: name for name, listed in data["day_first"].items() for word in listed}
    card = frozenset(map(plain, data["card"]))
    return Words(_table(data["columns"]), _table(data["facts"]), languages, card)


def _table(roles: Mapping[str, Sequence[str]]) -> dict[str, str]:
    table: dict[str, str] = {}
    for role, lines in roles.items():
        for line in lines:
            for word in line.split(","):
                table.setdefault(plain(word), role)
    return table


@lru_cache(maxsize=4096)
def plain(text: str) -> str:
    """A heading without case, accents and signs: `Date de l'opération` is `date de l operation`."""
    return _SIGNS.sub(" ", fold(text)).strip()


@lru_cache(maxsize=4096)
def role_of(heading: str) -> str:
    """The role of a column, or "". Exactly, without what stands in brackets, or but for a slip of the pen."""
    if not heading or len(heading) > HEADING_CHARS_MAX:
        return ""
    table = words().columns
    for text in (
        heading,
        _IN_BRACKETS.sub(" ", heading),
        heading.split("/")[0],
        heading.rstrip("0123456789 "),
    ):
        if (found := table.get(plain(text))) is not None:
            return found
    text = plain(heading)
    if len(text) < NEAR_CHARS_MIN or any(c.isdigit() for c in text):
        return ""
    near = process.extractOne(text, table.keys(), scorer=fuzz.ratio, score_cutoff=NEAR_SCORE)
    return table[near[0]] if near else ""


def fact_of(text: str) -> str:
    """The fact that a label announces, or ""; the longest label that the text begins with."""
    label = plain(text[:HEADING_CHARS_MAX])
    table = words().facts
    parts = label.split()
    for length in range(min(len(parts), 5), 0, -1):
        if (found := table.get(" ".join(parts[:length]))) is not None:
            return found
    return ""


def is_card(headings: Sequence[str]) -> bool:
    """Whether a heading is one that only statements of a card have."""
    return any(plain(text) in words().card for text in headings)


def day_first_language(headings: Sequence[str]) -> str:
    """The language that a heading is of, if it is one in which dates begin with the day."""
    table = words().day_first
    return next((table[plain(text)] for text in headings if plain(text) in table), "")
