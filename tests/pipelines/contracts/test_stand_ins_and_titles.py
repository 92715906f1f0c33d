"""A base price beside an instalment of something else, and titles that greet before they say what the letter is."""

import pytest

from stateward.pipelines.contracts.rules import ACCEPTED_MIN
from tests.pipelines.contracts.capped import ENERGY, extracted, value, written


@pytest.mark.parametrize(
    "line",
    [
        "Bisheriger monatlicher Abschlag\t84,00 EUR",
        "Ihr bisheriger Abschlag: 84,00 EUR",
        "Alter Abschlag: 84,00 EUR",
        "Previous monthly payment: £84.00",
        "Old direct debit amount: £84.00",
        "Former monthly charge\t£84.00",
    ],
)
def test_a_base_price_is_not_the_rate_where_an_instalment_of_something_else_is_printed(
    line: str,
) -> None:
    text = written(ENERGY, monthly_rate=f"Grundpreis\t11,90 EUR/Monat (brutto)\n{line}")

    found = extracted(text, "energy")

    assert value(found, "monthly_rate").confidence < ACCEPTED_MIN


@pytest.mark.parametrize(
    "behind",
    [
        "",
        "Den Abschlag legen wir nach dem ersten Jahr fest.",
        "Mahnung\t1,50 EUR",
        "Bonus: 50,00 EUR",
    ],
)
def test_it_is_where_no_instalment_has_an_amount(behind: str) -> None:
    text = written(ENERGY, monthly_rate=f"Grundpreis\t11,90 EUR/Monat (brutto)\n{behind}")

    assert value(extracted(text, "energy"), "monthly_rate").value == "11.90"
    assert "label of its own" not in value(extracted(text, "energy"), "monthly_rate").why


@pytest.mark.parametrize(
    "title",
    [
        "Herzlich willkommen bei E.ON: Ihre Vertragsbestätigung",
        "Willkommen bei E.ON - Ihre Auftragsbestätigung",
        "Vielen Dank für Ihr Vertrauen - Ihre Vertragsbestätigung",
        "Gute Nachrichten von E.ON: Ihre Lieferbestätigung",
        "Welcome to E.ON Next - your contract summary",
        "Thank you for joining us - your new contract details",
        "Good news from E.ON - your plan details",
    ],
)
def test_a_title_that_greets_names_no_tariff(title: str) -> None:
    text = written(ENERGY, head=f"E.ON Energie Deutschland GmbH\n\n{title}\n")

    tariff = value(extracted(text, "energy"), "tariff_name")

    assert tariff.value == "E.ON Strom 24"
    assert tariff.confidence >= ACCEPTED_MIN


@pytest.mark.parametrize(
    "title",
    [
        "Naturstrom Plus - wir bestätigen Ihre Belieferung",
        "Willkommensstrom Zwölf - Ihre Vertragsbestätigung",
        "Welcome Saver Fix - your contract summary",
        "Dankeschön Strom 12: Ihre Vertragsbestätigung",
        "Vertragsbestätigung: Willkommen Strom Flex",
    ],
)
def test_a_title_that_names_another_tariff_still_contradicts_the_label(title: str) -> None:
    text = written(ENERGY, head=f"E.ON Energie Deutschland GmbH\n\n{title}\n")

    assert value(extracted(text, "energy"), "tariff_name").confidence < ACCEPTED_MIN
