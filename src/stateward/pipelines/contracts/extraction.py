"""What an extractor gives: values, each with the place it came from and how far it can be trusted.

A value is canonical (see `values`), the raw text is what the document prints. A confidence rests on what can be
checked in the document; what a model says of itself never enters it.
"""

from typing import Protocol

import msgspec

from stateward.core.model import Fields
from stateward.pipelines.contracts.rules import Rules, Vertical
from stateward.pipelines.kit.documents import TextDocument, TextPlace


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One value of one field. A value of None says: the label stands there, and nothing behind it."""

    field: str
    value: str | None
    raw: str
    confidence: int  # 0 to 100
    source: str  # "rules/3", "model/<name>", "both"
    unit: str = ""
    place: TextPlace | None = None
    why: str = ""


class Extraction(msgspec.Struct, frozen=True, kw_only=True):
    """All that an extractor found in a document, and what made it (versions, prompt, model, cost)."""

    vertical: str
    provider: str | None
    found: list[Found]
    extractor: str
    about: Fields = {}


class Extractor(Protocol):
    """A way from a document to values."""

    def extract(self, document: TextDocument, vertical: Vertical, rules: Rules) -> Extraction:
        """The values of the fields of `vertical` that stand in the document."""
        ...
