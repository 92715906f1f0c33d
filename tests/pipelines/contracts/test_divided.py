"""A premium of a longer period goes on where no other period is named; two kinds of insurance wait for a person."""

import pytest

from stateward.pipelines.contracts.rules import ACCEPTED_MIN, default_rules
from stateward.pipelines.contracts.validation import validate_extraction
from tests.pipelines.contracts.capped import ENERGY, INSURANCE, extracted, value, written

RULES = default_rules()


def is_accepted(text: str, vertical: str) -> bool:
    return validate_extraction(extracted(text, vertical), RULES).accepted


@pytest.mark.parametrize(
    "lines",
    [
        "Annual premium: EUR 148.20\nMonthly premium on request: EUR 13.00",
        # The head of a column, a frequency or another sentence may name another period than the label.
        "Zahlweise\tmonatlich\nJahresbeitrag\t148,20 EUR",
        "Zahlweise\tvierteljährlich\nJahresbeitrag\t148,20 EUR",
        "Payment frequency\tquarterly\nAnnual premium\tEUR 148.20",
        "Beitrag: 12,35 EUR jährlich\nZahlweise: monatlich",
        "Annual premium: EUR 37.05\nWe collect EUR 37.05 every quarter.",
        "Annual premium: EUR 148.20\nInstalment loading: 8%",
        "Jahresbeitrag: 148,20 EUR\nRatenzahlungszuschlag: 5 %",
        "Annual premium: EUR 148.20, in ten instalments",
        "Annual premium: EUR 148.20 plus IPT",
        "Premium: EUR 148.20\nPayment frequency: annual",
        "Jahresbeitrag netto: 148,20 EUR",
    ],
)
def test_a_premium_of_a_longer_period_waits(lines: str) -> None:
    assert not is_accepted(written(INSURANCE, monthly_premium=lines), "insurance")


@pytest.mark.parametrize(
    ("lines", "monthly"),
    [
        ("Annual premium: EUR 148.20", "12.35"),
        ("Jahresbeitrag inkl. Versicherungsteuer: 148,20 EUR", "12.35"),
        (
            "Jahresbeitrag ohne Versicherungsteuer\t124,54 EUR\nJährlich zu zahlender Beitrag\t148,20 EUR",
            "12.35",
        ),
        ("Beitrag je Vierteljahr: 37,05 EUR", "12.35"),
    ],
)
def test_a_premium_of_the_only_period_that_is_named_is_divided(lines: str, monthly: str) -> None:
    found = value(
        extracted(written(INSURANCE, monthly_premium=lines), "insurance"), "monthly_premium"
    )
    assert found.value == monthly
    assert f"= {monthly}" in found.why


def test_a_premium_by_the_year_goes_on_with_its_arithmetic() -> None:
    text = written(INSURANCE, monthly_premium="Annual premium: EUR 148.20")
    assert is_accepted(text, "insurance")


@pytest.mark.parametrize(
    ("title", "label"),
    [
        ("Your home insurance", "Type of cover\tContents insurance"),
        ("Ihre Kfz-Versicherung", "Versicherungsart\tKfz-Haftpflicht mit Vollkasko"),
        (
            "Versicherungsschein Hausratversicherung",
            "Versicherte Gefahr\tFeuer, Sturm, Hagel, Einbruch",
        ),
    ],
)
def test_a_name_that_says_the_same_more_closely_is_no_contradiction(title: str, label: str) -> None:
    text = f"{title}\n" + written(INSURANCE, policy_type=label)
    assert "nearly as likely" not in value(extracted(text, "insurance"), "policy_type").why


def test_an_instalment_by_the_quarter_is_no_premium_and_waits() -> None:
    found = extracted(written(ENERGY, monthly_rate="Abschlag: 150,00 EUR je Quartal"), "energy")
    assert value(found, "monthly_rate").confidence < ACCEPTED_MIN


@pytest.mark.parametrize(
    "names",
    [
        (
            "Versicherungsschein Hausratversicherung",
            "Versicherungsart\tPrivathaftpflichtversicherung",
        ),
        ("Ihre Teilkaskoversicherung", "Versicherungsart\tVollkaskoversicherung"),
        ("Your buildings insurance", "Policy type\tContents insurance"),
        ("Your home insurance", "Policy type\tTravel insurance"),
    ],
)
def test_two_kinds_of_insurance_contradict_each_other(names: tuple[str, str]) -> None:
    title, label = names
    text = f"{title}\n" + written(INSURANCE, policy_type=label)
    assert value(extracted(text, "insurance"), "policy_type").confidence < ACCEPTED_MIN


@pytest.mark.parametrize(
    "line",
    [
        "Der erste Abschlag wird am 15.05.2025 eingezogen.",
        "München, am 12. April 2025",
    ],
)
def test_a_day_of_a_payment_or_of_the_letter_keeps_no_date_from_going_on(line: str) -> None:
    start = value(extracted(f"{written(ENERGY)}\n\n{line}", "energy"), "contract_start")
    assert start.confidence >= ACCEPTED_MIN


@pytest.mark.parametrize(
    "line",
    [
        "Die Belieferung beginnt am 12.04.2025.",
        "Am 15.06.2025 sind wir bei Ihnen.",
        "Der Vertrag läuft seit 12.04.2025.",
        "Kündigung: 12.04.2025",
        "Es gilt der Vertrag vom 12.04.2025",
    ],
)
def test_a_day_of_the_contract_or_an_unknown_later_one_does(line: str) -> None:
    start = value(extracted(f"{written(ENERGY)}\n\n{line}", "energy"), "contract_start")
    assert start.confidence < ACCEPTED_MIN
