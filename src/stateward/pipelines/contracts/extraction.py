"""The result of an extractor: values, each with its place and a confidence.

A value is canonical (see `values`), the raw text is what the document prints. A confidence depends only on what can be
checked in the document, never on what a model says about itself.
"""

from typing import Protocol

import msgspec

from stateward.core.model import Fields
from stateward.pipelines.contracts.rules import ContractRules, Vertical
from stateward.pipelines.kit.documents import TextDocument, TextPlace


class FoundValue(msgspec.Struct, frozen=True, kw_only=True):
    """One value of one field. None means that the label is there without a value."""

    field: str
    value: str | None
    raw: str
    confidence: int  # 0 to 100
    source: str  # "rules/3", "model/<name>", "both"
    unit: str = ""
    place: TextPlace | None = None
    why: str = ""
    cap: int = 100  # the highest confidence that it may have, whatever else speaks for it


class Extraction(msgspec.Struct, frozen=True, kw_only=True):
    """All values that an extractor found, and how (versions, prompt, model, cost)."""

    vertical: str
    provider: str | None
    found: list[FoundValue]
    extractor: str
    about: Fields = {}


class Extractor(Protocol):
    """Finds values in a document."""

    def extract(
        self, document: TextDocument, vertical: Vertical, rules: ContractRules
    ) -> Extraction:
        """The values of the fields of `vertical` in the document."""
        ...
