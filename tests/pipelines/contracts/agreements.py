"""The beginning of an agreement, and what is found in a text that has it."""

from stateward.pipelines.contracts.extraction import FoundValue
from stateward.pipelines.contracts.general import find_values
from stateward.pipelines.contracts.general.prose import Prose
from stateward.pipelines.kit.reader import text_document

REST = (
    "\n1. Secrets. The parties shall keep secrets. This Agreement shall be governed by the laws of the"
    " State of New York.\n" + "It is a sentence of no importance. " * 20
)
BETWEEN = 'CONFIDENTIALITY AGREEMENT between Acme Inc. ("Acme") and Beta LLC ("Beta"). 1. Purpose. The parties talk. '


def found(text: str, field: str) -> list[FoundValue]:
    return [one for one in find_values(Prose(text_document(text))) if one.field == field]


def values(text: str, field: str) -> list[str]:
    return [one.value or "" for one in found(text, field)]


# Each first sentence with its parties and its date.
