"""Premiums of longer periods are divided with certainty; kinds of insurance and days of payments contradict nothing."""

import pytest

from stateward.pipelines.contracts.rules import ACCEPTED_MIN, default_rules
from stateward.pipelines.contracts.validation import validate_extraction
from tests.pipelines.contracts.capped import ENERGY, INSURANCE, extracted, value, written

RULES = default_rules()


def is_accepted(text: str, vertical: str) -> bool:
    return validate_extraction(extracted(text, vertical), RULES).accepted


@pytest.mark.parametrize(
    ("line", "amount", "arithmetic"),
    [
        ("Annual premium: EUR 148.20", "12.35", "148.20 / 12 = 12.35"),
        ("Annual premium including IPT\tEUR 148.20", "12.35", "148.20 / 12 = 12.35"),
        ("Total annual premium incl. government levy\tEUR 148.20", "12.35", "148.20 / 12 = 12.35"),
        ("Premium: EUR 148.20 per year", "12.35", "148.20 / 12 = 12.35"),
        ("Jahresbeitrag inkl. Versicherungsteuer: 148,20 EUR", "12.35", "148.20 / 12 = 12.35"),
        ("Beitrag: 148,20 EUR jährlich", "12.35", "148.20 / 12 = 12.35"),
        ("Beitrag: 37,05 EUR vierteljährlich", "12.35", "37.05 / 3 = 12.35"),
        ("Premium: EUR 74.10 half-yearly", "12.35", "74.10 / 6 = 12.35"),
    ],
)
def test_a_premium_of_a_longer_period_goes_on_divided(
    line: str, amount: str, arithmetic: str
) -> None:
    text = written(INSURANCE, monthly_premium=line)
    premium = value(extracted(text, "insurance"), "monthly_premium")

    assert (premium.value, arithmetic in premium.why) == (amount, True)
    assert is_accepted(text, "insurance")


@pytest.mark.parametrize(
    "lines",
    [
        "Annual premium: EUR 148.20\nMonthly premium: EUR 13.10",  # with a surcharge: which one?
        "Annual premium in the first year: EUR 148.20",
        "Annual premium: EUR 148.20, then EUR 180.00",
        "Annual premium: EUR 148.20, in ten instalments",
        "Annual premium: EUR 148.20 plus IPT",
        "Expected annual premium: EUR 148.20",
        "Premium: EUR 148.20\nPayment frequency: annual",
        "Jahresbeitrag netto: 148,20 EUR",
    ],
)
def test_a_premium_of_a_year_that_something_qualifies_waits(lines: str) -> None:
    assert not is_accepted(written(INSURANCE, monthly_premium=lines), "insurance")


def test_an_instalment_by_the_quarter_is_no_premium_and_waits() -> None:
    found = extracted(written(ENERGY, monthly_rate="Abschlag: 150,00 EUR je Quartal"), "energy")
    assert value(found, "monthly_rate").confidence < ACCEPTED_MIN


@pytest.mark.parametrize(
    ("title", "label", "is_sure"),
    [
        ("Versicherungsschein zur Kfz-Versicherung", "Versicherungsart\tKfz-Haftpflicht mit Vollkasko", True),
        ("Your home insurance", "Class of insurance\tHousehold (buildings)", True),
        ("Versicherungsschein Hausratversicherung", "Versicherungsart\tPrivathaftpflichtversicherung", False),
        ("Your home insurance", "Policy type\tTravel insurance", False),
    ],
)  # fmt: skip
def test_two_names_contradict_only_if_they_are_of_different_kinds(
    title: str, label: str, is_sure: bool
) -> None:
    text = f"{title}\n" + written(INSURANCE, policy_type=label)
    found = value(extracted(text, "insurance"), "policy_type")
    assert (found.confidence >= ACCEPTED_MIN) is is_sure


@pytest.mark.parametrize(
    "line",
    [
        "Der erste Abschlag wird am 15.05.2025 eingezogen.",
        "Guten Tag, danke für das Gespräch am 12.04.2025.",
        "München, am 12. April 2025",
    ],
)
def test_a_day_of_a_payment_or_before_the_start_keeps_no_date_from_going_on(line: str) -> None:
    start = value(extracted(f"{written(ENERGY)}\n\n{line}", "energy"), "contract_start")
    assert start.confidence >= ACCEPTED_MIN


@pytest.mark.parametrize(
    "line",
    [
        "Die Belieferung beginnt am 12.04.2025.",
        "Am 15.06.2025 sind wir bei Ihnen.",
        "Der Vertrag läuft seit 12.04.2025.",
    ],
)
def test_a_day_of_the_contract_or_an_unknown_later_one_does(line: str) -> None:
    start = value(extracted(f"{written(ENERGY)}\n\n{line}", "energy"), "contract_start")
    assert start.confidence < ACCEPTED_MIN
