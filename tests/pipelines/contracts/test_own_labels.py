"""What looks like the label of something else, and speaks of the value."""

import pytest

from stateward.pipelines.contracts.rules import ACCEPTED_MIN
from tests.pipelines.contracts.capped import ENERGY, extracted, value, written

ENGLISH = {
    "head": "EE Limited, Trident Place, Hatfield\n\nContract summary",
    "plan_name": "Plan: Smart 100",
    "contract_start": "Contract start date: 1 May 2025",
    "contract_end": "Contract end date: 30 April 2027",
    "data_volume": "Data allowance: 50 GB",
    "monthly_rate": "Monthly price: £39.99",
    "cancellation_period": "Notice period: 30 days",
}


@pytest.mark.parametrize(
    "line",
    [
        "Abschlag monatlich\t95,00 €. Abschlag ab Mai: siehe Anlage",
        "Abschlag monatlich\t95,00 €. Rabatt: entfällt nach drei Monaten",
        "Kunde\tMonatlicher Abschlag\nAb Mai\t95,00 €",
        "Kundin\tMonatlicher Abschlag\nNeukunden\t95,00 €",
        "Abschlag monatlich: 15,17 € MwSt. enthalten, gesamt 95,00 €",
    ],
)
def test_what_looks_like_the_label_of_something_else_may_change_the_price(line: str) -> None:
    found = extracted(written(ENERGY, monthly_rate=line), "energy")
    assert value(found, "monthly_rate").confidence < ACCEPTED_MIN


@pytest.mark.parametrize(
    "line",
    [
        "Abschlag monatlich\t95,00 €. Lieferbeginn: 01.05.2025",
        "Kunde\tKundennummer\tMonatlicher Abschlag\nErika Berger\t12345678\t95,00 €",
    ],
)
def test_another_label_with_its_value_changes_nothing_of_the_price(line: str) -> None:
    found = extracted(written(ENERGY, monthly_rate=line), "energy")
    assert value(found, "monthly_rate").confidence >= ACCEPTED_MIN


@pytest.mark.parametrize(
    ("line", "is_certain"),
    [
        ("You may cancel your plan by giving us 30 days notice", True),
        ("We may cancel your plan by giving you 30 days notice", False),
        ("EE can cancel the service by giving you 30 days' notice", False),
        ("You can leave at any time. We may cancel the agreement by giving you 30 days", False),
    ],
)
def test_the_notice_that_the_provider_gives_is_not_that_of_the_customer(
    line: str, is_certain: bool
) -> None:
    found = extracted(written(ENGLISH, cancellation_period=line), "telco")
    assert (value(found, "cancellation_period").confidence >= ACCEPTED_MIN) is is_certain
