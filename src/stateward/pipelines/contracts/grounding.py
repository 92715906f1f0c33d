"""Whether a document supports a value: whether a quote is in it, where, and whether the value follows from it.

The confidence of a model's value depends on this, never on what the model says about itself. A quote is compared
character by character, except for white space: line breaks come from the layout.
"""

import re

from stateward.pipelines.contracts.candidates import find_candidates
from stateward.pipelines.contracts.rules import ContractRules, FieldRule
from stateward.pipelines.contracts.values import canonical, same
from stateward.pipelines.kit.documents import TextDocument, TextPlace, locate

UNGROUNDED_MAX = 60  # the highest confidence of a value that is not in the text
QUOTE_CHARS_MAX = 1000
MEASURED = frozenset({"date", "money", "duration", "quantity", "percent"})


def locate_quote(document: TextDocument, quote: str) -> TextPlace | None:
    """The place of a quote in a document; None if it is not there."""
    words = quote.split()
    if not words or len(quote) > QUOTE_CHARS_MAX:
        return None
    pattern = re.compile(r"\s+".join(re.escape(word) for word in words))
    for page in document.pages:
        if found := pattern.search(page.text):
            return locate(document, page.number, found.start(), found.end())
    return None


def is_supported(rule: FieldRule, value: str, quote: str, rules: ContractRules) -> bool:
    """Whether a value follows from a quote: a computed number or a guessed date does not."""
    if rule.kind not in MEASURED and _fold(value) in _fold(quote):
        return True
    whole = canonical(rule, quote, rules)
    if whole is not None and same(rule, whole, value, rules):
        return True
    readings = (
        [*find_candidates(quote), *find_candidates(quote, decimal=".")]
        if rule.kind in MEASURED
        else []
    )
    return any(
        candidate.kind == rule.kind and same(rule, candidate.value, value, rules)
        for candidate in readings
    )


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())
