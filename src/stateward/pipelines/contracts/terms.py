"""How contracts are compared, as data: which field is the price, and in what an offer must not be worse.

A new vertical needs only a few lines of YAML. Nothing here computes.
"""

from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal

import msgspec

from stateward.core.errors import DeclarationError
from stateward.definition.plain_values import Document
from stateward.definition.yaml_source import convert
from stateward.definition.yaml_text import read_yaml
from stateward.pipelines.contracts.switching import period_of
from stateward.pipelines.kit.money import typed_number

FILE = "comparing.yaml"


class KeepRule(msgspec.Struct, frozen=True, kw_only=True):
    """A field in which an offer must be as good as the contract.

    `kinds` are for `same`: texts that hold one of the words of a kind mean that kind; the first kind that fits counts.
    """

    field: str
    want: Literal["same", "at_least", "at_most"]
    kinds: dict[str, tuple[str, ...]] = {}


class ConsumptionTerms(msgspec.Struct, frozen=True, kw_only=True):
    """The yearly consumption: the field or words with which a contract may state it, and what is assumed otherwise."""

    unit: str
    assumed: str
    field: str = ""
    words: tuple[str, ...] = ()


class ComparisonTerms(msgspec.Struct, frozen=True, kw_only=True):
    """How the contracts of one vertical are compared."""

    monthly: str
    unit_price: str = ""
    consumption: ConsumptionTerms | None = None
    instalment_from: str = ""
    base_assumed: str = ""
    keep: tuple[KeepRule, ...] = ()
    notice: str = "1 month"
    renewal: str = ""

    @property
    def base(self) -> Decimal:
        """The part of an instalment that is the base price."""
        return typed_number(self.base_assumed) or Decimal(0)

    @property
    def instalment(self) -> Decimal | None:
        """A monthly rate from here on is an instalment."""
        return typed_number(self.instalment_from) if self.instalment_from else None


class ComparisonTermsFile(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of a terms file."""

    version: Annotated[int, msgspec.Meta(ge=1)]
    verticals: dict[str, ComparisonTerms]


@cache
def default_terms() -> Mapping[str, ComparisonTerms]:
    """The terms that come with the package, by vertical."""
    return read_terms((files(__package__) / FILE).read_text("utf-8"), source=FILE)


def read_terms(text: str, *, source: str) -> Mapping[str, ComparisonTerms]:
    """The terms of a file; raises `DeclarationError` with every fault."""
    return _check(read_yaml(text, source=source))


def terms_of(own: Mapping[str, str]) -> Mapping[str, ComparisonTerms]:
    """Own terms, by the name of their file, over the shipped ones."""
    terms = dict(default_terms())
    for name, text in own.items():
        terms.update(read_terms(text, source=name))
    return terms


def _check(document: Document) -> Mapping[str, ComparisonTerms]:
    file, faults = convert(document, ComparisonTermsFile)
    if file is None:
        raise DeclarationError(faults)
    for slug, terms in file.verticals.items():
        for key, sentence in _wrong(terms):
            faults.append(document.fault(("verticals", slug, key), sentence))
    if faults:
        raise DeclarationError(faults)
    return file.verticals


def _wrong(terms: ComparisonTerms) -> list[tuple[str, str]]:
    amounts = [("instalment_from", terms.instalment_from), ("base_assumed", terms.base_assumed)]
    if terms.consumption is not None:
        amounts.append(("consumption", terms.consumption.assumed))
    wrong = [
        (name, f"{text!r} is not an amount; write it like '3500'")
        for name, text in amounts
        if text and typed_number(text) is None
    ]
    for name, text in (("notice", terms.notice), ("renewal", terms.renewal)):
        if text and period_of(text) is None:
            wrong.append((name, f"{text!r} is not a length of time; write it like '3 months'"))
    if terms.unit_price and terms.consumption is None:
        wrong.append(("unit_price", "a unit price needs a consumption"))
    return wrong
