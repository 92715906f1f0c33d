"""The role of a column by its heading. The words, in many languages, are data in `headings.yaml`."""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

import msgspec

from stateward.pipelines.kit.dates import MONTHS, fold
from stateward.pipelines.statements.heading_parts import (
    label_by_parts,
    label_words,
    role_by_parts,
)

AVAILABLE = ("available", "disponib", "disponivel", "verfugbar", "disponibel", "tillganglig")
HEADING_CHARS_MAX = 60
NEAR_CHARS = 16  # for each wrong letter beyond the first
NEAR_CHARS_MIN = 6  # in shorter words one letter makes another word
_SIGNS = re.compile(r"[\W_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")  # dateOp, amountEur
_IN_BRACKETS = re.compile(r"[(\[（].*?[)\]）]")
# What a heading says of the currency of its column.
_CURRENCY = re.compile(
    r"(?i)\b(?:in |en )?(?:eur|euro[sa]?|usd|gbp|chf|sek|nok|dkk|pln|czk|huf|jpy|inr|cad|aud|brl|rub|sgd|zar)\b"
    r"|[€$£¥円元]"
)
# What it says of the unit: whole numbers of cents.
_MINOR = re.compile(r"(?i)[ _]?(?:in[ _])?(?:pence|cents?|centimes?|minor(?:[ _]units?)?)$")
# What may follow a label in its own cell: a date, or a word before one.
_DAY = re.compile(r"[0-9]{1,4}[./-][0-9]{1,2}")
_LABEL_TAIL = re.compile(
    r"(?i)(?:\b(?:as of|as at|as on|at|on|am|vom|per|au|du|del|al|en|a|on date|inr|eur|usd|gbp|chf)\b"
    r"|[0-9./:\-–€$£\s])+$"
)


class HeadingWords(NamedTuple):
    """The words of `headings.yaml`, ready for lookup."""

    columns: dict[str, str]
    facts: dict[str, str]
    day_first: dict[str, str]
    card: frozenset[str]
    fact_starts: frozenset[str]  # the first letters of all labels
    payers: frozenset[str]
    credit_cards: tuple[str, ...]  # anywhere in a heading
    account_currency: tuple[str, ...]  # anywhere in the heading of an amount
    contra_accounts: tuple[str, ...]  # anywhere in the heading of an account
    charges: frozenset[str]  # what a card was used for, without a sign
    titles: tuple[str, ...]  # what a statement calls itself, without blanks


_LABEL_SIGNS = frozenset("|*=")  # before a label, but no name of a shop
DIGITS = frozenset("0123456789")
BANK_CODES = (["bic"], ["iban"], ["swift"])  # the last word of a heading
WHOLE_ONLY = frozenset({"status", "mark", "other"})  # "City/State" tells no status


@cache
def words() -> HeadingWords:
    """Read once. Where two roles have the same words, the first one gets them."""
    data = msgspec.yaml.decode((files(__package__) / "headings.yaml").read_text("utf-8"))
    languages = {word: name for name, listed in data["day_first"].items() for word in listed}
    card = frozenset(map(simplify, data["card"]))
    facts = _table(data["facts"])
    starts = frozenset(simplify(label[:3]) for label in (*facts, *label_words()))
    payers = frozenset(map(simplify, data["payers"]))
    cards = tuple(map(simplify, data["credit_cards"]))
    own = tuple(map(simplify, data["account_currency"]))
    contra = tuple(map(simplify, data["contra_accounts"]))
    columns = _table(data["columns"])
    charges = frozenset(map(simplify, data["charges"]))
    titles = tuple(
        simplify(title).replace(" ", "") for line in data["titles"] for title in line.split(",")
    )
    return HeadingWords(
        columns, facts, languages, card, starts, payers, cards, own, contra, charges, titles
    )


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


def without_unit(heading: str) -> str:
    """A heading without what it says of the unit of its amounts, in brackets or behind it."""
    return _MINOR.sub("", _IN_BRACKETS.sub(" ", heading).partition("(")[0].strip())


@lru_cache(maxsize=4096)
def role_of(heading: str) -> str:
    """The role of a column, or "": by the whole heading, without brackets, or with one wrong letter."""
    if not heading or len(heading) > HEADING_CHARS_MAX:
        return ""
    if (
        heading[0] in DIGITS
    ):  # no heading begins so: a cell, mostly one that a wrong delimiter has cut
        return ""
    table = words().columns
    for inside in _IN_BRACKETS.findall(heading):
        if (side := table.get(simplify(inside), "")) in ("debit", "credit"):
            return side
    if simplify(heading) not in table and simplify(heading).split()[-1:] in BANK_CODES:
        return "other"  # of a counterparty, it says less than the name beside it
    halves = (heading.split("/")[0], heading.rpartition("/")[2]) if "/" in heading else ()
    if {table.get(simplify(half)) for half in halves} == {"debit", "credit"}:
        return "mark"  # if amounts stand below it, they are of both sides
    for text in (
        heading,
        _IN_BRACKETS.sub(" ", heading),
        *(half for half in halves if table.get(simplify(half)) not in WHOLE_ONLY),
        heading.rstrip("0123456789- "),
        _CURRENCY.sub(" ", _IN_BRACKETS.sub(" ", heading)),
        _MINOR.sub(" ", heading),
        _CAMEL.sub(" ", heading),
        heading.lstrip("おご"),  # politeness
    ):
        if (found := table.get(simplify(text))) is not None:
            return found
    text = simplify(heading)
    if any(c.isdigit() for c in text):
        return ""
    if found := role_by_parts(text) or role_by_parts(simplify(_IN_BRACKETS.sub(" ", heading))):
        return found
    if len(text) < NEAR_CHARS_MIN:
        return ""
    # Here, because `detect` asks for words where the package of this extra need not be installed.
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    wrong_max = len(text) // NEAR_CHARS + 1
    near = process.extractOne(text, table.keys(), scorer=OSA.distance, score_cutoff=wrong_max)
    return table[near[0]] if near else ""


def is_in_account_currency(heading: str) -> bool:
    """Whether a heading says that its amounts are in the currency of the account."""
    text = simplify(heading)
    return any(said in text for said in words().account_currency)


def split_camel(text: str) -> str:
    """A name as programs write it, in words: `openingBalance` is `opening Balance`."""
    return _CAMEL.sub(" ", text)


def fact_of(text: str) -> str:
    """The fact that a label names, or ""; the longest label that the text starts with."""
    label = simplify(text[:HEADING_CHARS_MAX])
    table = words().facts
    parts = label.split()
    for length in range(min(len(parts), 5), 0, -1):
        if (found := table.get(" ".join(parts[:length]))) is not None:
            return found
    return ""


def is_available(text: str) -> bool:
    """Whether a label names what can be spent, which a credit line makes more than the balance."""
    return any(word.startswith(AVAILABLE) for word in simplify(text).split())


@lru_cache(maxsize=1 << 14)
def whole_fact(text: str) -> str:
    """The fact that a text names with nothing else beside it but a date: a shop called "Total Wine" names none."""
    text = text[:HEADING_CHARS_MAX].strip(" *=:|")
    bare = _LABEL_TAIL.sub("", text)
    label = simplify(bare)
    if not label:
        return ""
    found = words().facts.get(label, "")
    if not found and _DAY.search(text[len(bare) :]) and role_of(bare) == "balance":
        return "closing"  # "Balance as of 31/03/2026": no name of a column tells a day
    if found or " " not in label:
        return found
    rest = " ".join(w for w in label.split() if w not in MONTHS)
    return words().facts.get(rest, "") or label_by_parts(rest)


def is_balance_label(text: str) -> bool:
    """Whether a text says with all of its words that it is a balance."""
    return whole_fact(text) in ("opening", "closing")


def may_be_fact(text: str, *, is_whole: bool = False) -> bool:
    """Whether a text starts as a label does, or (`is_whole`) is one; quick, because it is asked of every row."""
    start = text.lstrip("|*= ") if text[:1] in _LABEL_SIGNS else text
    return bool(start) and _is_fact_start(start[:3]) and (not is_whole or bool(whole_fact(text)))


@lru_cache(maxsize=1 << 14)
def _is_fact_start(letters: str) -> bool:
    """Labels are compared without accents, and so is their start."""
    return simplify(letters)[:3] in words().fact_starts


def is_card(headings: Sequence[str]) -> bool:
    """Whether a heading is one that only card statements have."""
    names = [simplify(text) for text in headings]
    return any(
        name in words().card or any(c in name for c in words().credit_cards) for name in names
    )


def is_card_title(cells: Sequence[str]) -> bool:
    """Whether a line above a table names the credit card that it is of."""
    names = [simplify(text) for text in cells if text and len(text) <= HEADING_CHARS_MAX]
    return any(card in name for name in names for card in words().credit_cards)


def names_charges(heading: str) -> bool:
    """Whether a heading says of its amounts that a card was charged with them."""
    return simplify(_IN_BRACKETS.sub(" ", heading)) in words().charges


def is_payer(heading: str) -> bool:
    """Whether a column of counterparties names who paid."""
    text = simplify(heading)
    return not words().payers.isdisjoint((text, *text.split()))


def is_contra_account(heading: str) -> bool:
    """Whether a column names the other account of a booking in books."""
    text = simplify(heading)
    return any(said in text for said in words().contra_accounts)


def has_point_decimals(headings: Sequence[str]) -> bool:
    """Whether headings are in a language whose figures never have a decimal comma: Chinese, Japanese or Korean."""
    return any("\u3000" < c < "\ud7b0" for text in headings for c in text)


def day_first_language(headings: Sequence[str]) -> str:
    """The language of the headings, if it is one in which dates start with the day."""
    table = words().day_first
    return next((table[simplify(text)] for text in headings if simplify(text) in table), "")
