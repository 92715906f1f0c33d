"""Rows of tables whose values have words of labels in them, and names that begin with digits."""

import pytest

from stateward.pipelines.contracts.rules import ACCEPTED_MIN
from tests.pipelines.contracts.capped import extracted, value

LINE = """1&1 Telecom GmbH, Elgendorfer Straße 57, 56410 Montabaur

Auftragsbestätigung

Tarif\t{plan}
Vertragsbeginn\t20.05.2026
Vertragsende\t19.05.2028
Monatlicher Grundpreis\t44,99 EUR
{above}
Kündigungsfrist\t1 Monat
"""
POLICY = """Gothaer Allgemeine Versicherung AG, Gothaer Allee 1, 50969 Köln

Ihre Police

{label}\t{kind}
{number}\t44.812.338
Beginn\t01.07.2026
Ende\t30.06.2027
"""


@pytest.mark.parametrize("plan", ["1&1 DSL 100", "5G 200 Flex", "O2 500 DSL", "100/40 Glasfaser"])
def test_a_plan_may_have_more_digits_than_letters(plan: str) -> None:
    found = value(extracted(LINE.format(plan=plan, above=""), "telco"), "plan_name")

    assert (found.value, found.confidence >= ACCEPTED_MIN) == (plan, True)


@pytest.mark.parametrize("plan", ["711/204811-K", "4471 8820", "B-2026-55"])
def test_a_number_is_no_plan(plan: str) -> None:
    found = extracted(LINE.format(plan=plan, above=""), "telco").found

    assert plan not in [each.value for each in found]


@pytest.mark.parametrize(
    "above",
    [
        "Geschwindigkeit\tbis zu 100 MBit/s im Download",
        "Bandbreite\t100 MBit/s Download und 40 MBit/s Upload",
    ],
)
def test_a_label_within_the_value_of_the_row_above_claims_nothing(above: str) -> None:
    found = value(
        extracted(LINE.format(plan="1&1 DSL 100", above=above), "telco"), "cancellation_period"
    )

    assert (found.value, found.confidence >= ACCEPTED_MIN) == ("1 month", True)


@pytest.mark.parametrize(
    ("label", "kind", "number"),
    [
        ("Versicherung", "Privathaftpflichtversicherung", "Police Nr."),
        ("Versicherung", "Hausratversicherung", "Schein Nr."),
        ("Versicherung", "Unfallversicherung", "Ihre Nummer"),
    ],
)
def test_a_word_that_ends_like_its_label_is_the_value_of_the_row(
    label: str, kind: str, number: str
) -> None:
    found = value(
        extracted(POLICY.format(label=label, kind=kind, number=number), "insurance"), "policy_type"
    )

    assert (found.value, found.confidence >= ACCEPTED_MIN) == (kind, True)
