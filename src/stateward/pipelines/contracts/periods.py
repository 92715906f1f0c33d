"""Amounts for other periods and units than a field has, converted with the arithmetic shown.

Only what is exact: so many whole months, and MWh for kWh. Eleven instalments a year or four weeks are no number of
months; those stay as printed, and their cap sends them to a person.
"""

import re
from decimal import Decimal

from msgspec.structs import replace

from stateward.pipelines.contracts.extraction import FoundValue
from stateward.pipelines.contracts.rules import FieldRule

CONVERTED_CAP = 70  # a value that was computed and is not printed
CENT = Decimal("0.01")
PRICE = Decimal("0.000001")
_MONTHS = (
    (2, r"(?:alle|je|für)\s+(?:zwei|2)\s+Monate|zwei-?monatlich|every\s+(?:two|2|second|other)\s+months?|bi-?monthly"),
    (3, r"(?:je|pro|im|ein|/|per|each|every|a)\s*(?:Quartal|Vierteljahr|quarter\b)"
        r"|vierteljährlich|quartalsweise|quarterly|(?:alle|every)\s+(?:drei|3|three)\s+(?:Monate|months)"),
    (6, r"(?:je|pro|im|/|per)\s*(?:Halbjahr|half-?year)|halbjährlich|half-?yearly|semi-?annual"
        r"|(?:alle|every)\s+(?:sechs|6|six)\s+(?:Monate|months)"),
)  # fmt: skip
_PERIODS = tuple((months, re.compile(pattern, re.IGNORECASE)) for months, pattern in _MONTHS)
_MEGA = re.compile(
    r"^\s*(?:EUR|€|Euro)?\s*(?:/|je|pro|per)\s*(?:MWh|Megawattstunde|megawatt)", re.IGNORECASE
)
_COUNTED = re.compile(
    r"\d+\s+(?:Abschläge|Abschlagszahlungen|Raten|instal+ments)|jährlich|per\s+year|pro\s+Jahr",
    re.IGNORECASE,
)


def convert_period(found: FoundValue, field: FieldRule, before: str, behind: str) -> FoundValue:
    """The value for the period or unit of its field, if the words around it name another that divides exactly."""
    if field.per == "kWh" and _MEGA.match(behind):
        return _divide(found, 1000, PRICE, "EUR/MWh, which are 1000 kWh", is_capped=False)
    if field.per != "month" or "computed" in found.why:
        return found
    around = f"{before} {behind}"
    for months, pattern in _PERIODS:
        if pattern.search(around) and not _is_yearly_apart(around, months):
            return _divide(found, months, CENT, f"{months} months", is_capped=True)
    return found


def _is_yearly_apart(around: str, months: int) -> bool:
    """Whether `jährlich` is more than the end of `vierteljährlich`: then it is not certain what is meant."""
    left = re.sub(r"(?:viertel|halb)jährlich|half-?yearly", " ", around, flags=re.IGNORECASE)
    return months > 0 and bool(_COUNTED.search(left))


def _divide(found: FoundValue, by: int, step: Decimal, what: str, *, is_capped: bool) -> FoundValue:
    printed = Decimal(found.value or "0")
    # A candidate may have been read as a price of its unit already; then there is nothing to divide.
    if by == 1000 and printed < 2:
        return found
    exact = (printed / by).quantize(step)
    value = f"{exact.normalize():f}" if by == 1000 else f"{exact:f}"
    why = f"{printed} for {what}: {printed} / {by} = {value}"
    cap = CONVERTED_CAP if is_capped else found.cap
    return replace(
        found,
        value=value,
        confidence=min(found.confidence, cap),
        cap=min(found.cap, cap),
        why=f"{why}; {found.why}" if found.why else why,
    )
