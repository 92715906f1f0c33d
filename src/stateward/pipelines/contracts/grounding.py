"""What a document bears out: whether words stand in it, where, and whether a value can be read from them.

A score rests on this and never on what a model says of itself. A quote is looked for character by character, except
that any white space is as good as any other: lines are broken by layouts, not by authors.
"""

import re

from stateward.pipelines.contracts.candidates import spots
from stateward.pipelines.contracts.rules import FieldRule, Rules
from stateward.pipelines.contracts.values import canonical, same
from stateward.pipelines.kit.documents import TextDocument, TextPlace, locate

UNGROUNDED_MAX = 60  # what a value may score that does not stand in the text
QUOTE_CHARS_MAX = 1000
MEASURED = frozenset({"date", "money", "duration", "quantity", "percent"})


def found_in(document: TextDocument, quote: str) -> TextPlace | None:
    """Where a quote stands, if it does."""
    words = quote.split()
    if not words or len(quote) > QUOTE_CHARS_MAX:
        return None
    pattern = re.compile(r"\s+".join(re.escape(word) for word in words))
    for page in document.pages:
        if found := pattern.search(page.text):
            return locate(document, page.number, found.start(), found.end())
    return None


def is_borne_out(rule: FieldRule, value: str, quote: str, rules: Rules) -> bool:
    """Whether a value can be read from a quote: a number that was reckoned, or a date that was guessed, cannot."""
    if rule.kind not in MEASURED and _folded(value) in _folded(quote):
        return True
    whole = canonical(rule, quote, rules)
    if whole is not None and same(rule, whole, value, rules):
        return True
    readings = [*spots(quote), *spots(quote, decimal=".")] if rule.kind in MEASURED else []
    return any(spot.kind == rule.kind and same(rule, spot.value, value, rules) for spot in readings)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
