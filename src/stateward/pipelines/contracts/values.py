"""The canonical form of a value that an extractor, a model, a person or a truth file gave.

Dates are ISO (`2025-03-01`), and the end of a contract that says it has none is `open-ended`. Amounts are plain
decimals in the whole currency (`89.90`; `32,45 ct/kWh` is `0.3245`),
periods are counted in the unit that is printed (`4 weeks`), volumes are `20 GB` or `unlimited`, providers have their
canonical name where the rules know them, and texts stay as printed, with single blanks.
"""

import re

from stateward.pipelines.contracts import candidates
from stateward.pipelines.contracts.providers import brand, provider_index, without_legal_form
from stateward.pipelines.contracts.rules import ContractRules, FieldRule, all_labels
from stateward.pipelines.contracts.switching import day_of
from stateward.pipelines.contracts.words import Phrases, skeleton

TEXT_CHARS_MAX = 300
NEAR = 0.005  # half a cent: rounding to the cent is no difference
MONTH_DAYS = candidates.UNITS["month"]
_QUOTES = "\"'„“”‚‘’»«›‹ \u00a0\t"
_DECIMAL_POINT = re.compile(r"\d\.\d{1,2}(?!\d)")


def canonical(field: FieldRule, text: str, rules: ContractRules) -> str | None:
    """The canonical form of a text as the value of a field; None if it is not a value of its kind."""
    text = " ".join(text.split())[:TEXT_CHARS_MAX]
    if not text:
        return None
    match field.kind:
        case "provider":
            named = provider_index(rules).match(text)
            return named[0] if named else text.strip(_QUOTES)
        case "text" | "party" | "law":
            return text.strip(_QUOTES) or None
        case "money":
            return _money(field, text)
        case "date":
            found = next(
                (candidate.value for candidate in candidates.dates(candidates.repair_digits(text))),
                None,
            )
            return found or _phrase(field, text)
        case "duration":
            found = next(
                (
                    candidate.value
                    for candidate in candidates.durations(candidates.repair_digits(text))
                ),
                None,
            )
            return found or _phrase(field, text)
        case "quantity":
            return next(
                (
                    candidate.value
                    for candidate in candidates.quantities(text, decimal=_decimal(text))
                ),
                None,
            )
        case "percent":
            return next((candidate.value for candidate in _percents(text)), None)


def number(field: FieldRule, value: str) -> float | None:
    """A canonical value as the number that ranges are in: money, GB, months, years; None for words."""
    match field.kind:
        case "money" | "percent":
            return float(value)
        case "date":
            day = day_of(value)
            return None if day is None else day.year + (day.timetuple().tm_yday - 1) / 366
        case "duration":
            return next((candidate.number for candidate in candidates.durations(value)), None)
        case "quantity":
            return next(
                (candidate.number for candidate in candidates.quantities(value, decimal=".")), None
            )
        case _:
            return None


def same(field: FieldRule, first: str, second: str, rules: ContractRules) -> bool:
    """Whether two texts are the same value of a field: `3 Monate` and `3 months`, `32,45 ct` and `0.3245`."""
    one, other = canonical(field, first, rules), canonical(field, second, rules)
    if one is None or other is None:
        return one == other
    match field.kind:
        case "provider":
            return skeleton(brand(one)) == skeleton(brand(other))
        case "party":
            return skeleton(without_legal_form(one)) == skeleton(without_legal_form(other))
        case "text" | "law":
            return skeleton(one) == skeleton(other)
        case "date":
            return one == other
        case _:
            left, right = number(field, one), number(field, other)
            if left is None or right is None:
                return one == other
            return abs(left - right) <= NEAR * (0.01 if field.per == "kWh" else 1)


def _money(field: FieldRule, text: str) -> str | None:
    decimal = _decimal(text)
    repaired = candidates.repair_digits(text)
    found = next(iter(candidates.money(repaired, decimal=decimal)), None)
    found = found or next(iter(candidates.bare_numbers(repaired, decimal=decimal)), None)
    if found is None:
        zero = Phrases((word, True) for words in field.zero.values() for word in words)
        return "0.00" if zero.whole(text) else _phrase(field, text)
    return found.value


def _phrase(field: FieldRule, text: str) -> str | None:
    pairs = (
        (phrase, value)
        for value, phrases in field.phrases.items()
        for phrase in (value, *all_labels({"": phrases}))
    )
    return Phrases(pairs).whole(text)


def _percents(text: str) -> list[candidates.ValueCandidate]:
    found = list(candidates.percents(text, decimal=_decimal(text)))
    return found or list(candidates.bare_numbers(text, decimal=_decimal(text)))


def _decimal(text: str) -> str:
    """A point before one or two last digits is a decimal point: so canonical values read back equal."""
    return "." if _DECIMAL_POINT.search(text) and "," not in text else ","
