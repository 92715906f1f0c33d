"""How contracts are compared, as data: which field is the price, and what an offer must not take away.

A fourth vertical is compared by a few lines of YAML alone. Nothing here reckons.
"""

from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal

import msgspec

from stateward.core.errors import DeclarationError
from stateward.definition.yaml_source import Document, convert, read_yaml
from stateward.pipelines.contracts.switching import period_of
from stateward.pipelines.kit.money import typed_number

FILE = "comparing.yaml"


class Keep(msgspec.Struct, frozen=True, kw_only=True):
    """A field in which an offer must be as good as the contract.

    `kinds` are for `same`: texts that hold one of the words of a kind mean that kind; the first kind that fits counts.
    """

    field: str
    want: Literal["same", "at_least", "at_most"]
    kinds: dict[str, tuple[str, ...]] = {}


class Consumption(msgspec.Struct, frozen=True, kw_only=True):
    """What a year takes: the field or the words by which a contract may say it, and what is assumed otherwise."""

    unit: str
    assumed: str
    field: str = ""
    words: tuple[str, ...] = ()


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """How the contracts of one vertical are compared."""

    monthly: str
    unit_price: str = ""
    consumption: Consumption | None = None
    instalment_from: str = ""
    base_assumed: str = ""
    keep: tuple[Keep, ...] = ()
    notice: str = "1 month"
    renewal: str = ""

    @property
    def base(self) -> Decimal:
        """The part of an instalment that is taken for the base price."""
        return typed_number(self.base_assumed) or Decimal(0)

    @property
    def instalment(self) -> Decimal | None:
        """The monthly rate from which on it is taken for an instalment."""
        return typed_number(self.instalment_from) if self.instalment_from else None


class TermsFile(msgspec.Struct, frozen=True, kw_only=True):
    """What such a file says."""

    version: Annotated[int, msgspec.Meta(ge=1)]
    verticals: dict[str, Terms]


@cache
def shipped() -> Mapping[str, Terms]:
    """The terms that come with the package, by vertical."""
    return read_terms((files(__package__) / FILE).read_text("utf-8"), source=FILE)


def read_terms(text: str, *, source: str) -> Mapping[str, Terms]:
    """The terms of a file; raises `DeclarationError` with every fault."""
    return _checked(read_yaml(text, source=source))


def terms_of(own: Mapping[str, str]) -> Mapping[str, Terms]:
    """One's own terms, by the name of their file, over the shipped ones."""
    terms = dict(shipped())
    for name, text in own.items():
        terms.update(read_terms(text, source=name))
    return terms


def _checked(document: Document) -> Mapping[str, Terms]:
    file, faults = convert(document, TermsFile)
    if file is None:
        raise DeclarationError(faults)
    for slug, terms in file.verticals.items():
        for key, sentence in _wrong(terms):
            faults.append(document.fault(("verticals", slug, key), sentence))
    if faults:
        raise DeclarationError(faults)
    return file.verticals


def _wrong(terms: Terms) -> list[tuple[str, str]]:
    amounts = [("instalment_from", terms.instalment_from), ("base_assumed", terms.base_assumed)]
    if terms.consumption is not None:
        amounts.append(("consumption", terms.consumption.assumed))
    wrong = [
        (name, f"{text!r} is no amount; write it like '3500'")
        for name, text in amounts
        if text and typed_number(text) is None
    ]
    for name, text in (("notice", terms.notice), ("renewal", terms.renewal)):
        if text and period_of(text) is None:
            wrong.append((name, f"{text!r} is no length of time; write it like '3 months'"))
    if terms.unit_price and terms.consumption is None:
        wrong.append(("unit_price", "a price of a unit needs a consumption"))
    return wrong
