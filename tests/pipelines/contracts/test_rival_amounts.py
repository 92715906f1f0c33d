"""Two prices that happen to fit a tax, a sum or nothing at all are two prices, and wait for a person."""

import pytest

from stateward.pipelines.contracts.rules import ACCEPTED_MIN
from tests.pipelines.contracts.capped import ENERGY, INSURANCE, extracted, value, written

TELCO = """Telefónica Germany GmbH & Co. OHG, Georg-Brauchle-Ring 50, 80992 München

Vertragszusammenfassung

Tarif: o2 Mobile M
Vertragsbeginn: 01.05.2025
Vertragsende: 30.04.2027
{}
Datenvolumen: 25 GB
Kündigungsfrist: 1 Monat
Alle Preise inkl. MwSt."""


@pytest.mark.parametrize(
    "lines",
    [
        "Monatlicher Grundpreis\t40,00 EUR\t42,00 EUR",
        "Monatlicher Grundpreis\t40,00 EUR\t44,80 EUR",
        "\t1. Jahr\t2. Jahr\nMonatlicher Grundpreis\t40,00 EUR\t42,00 EUR",
        "\t2025\t2026\nMonatlicher Grundpreis\t40,00 EUR\t47,60 EUR",
        "\tPaket A\tPaket B\nMonatlicher Grundpreis\t40,00 EUR\t42,00 EUR",
        "\tMonate 1-12\tab Monat 13\nMonatlicher Grundpreis\t40,00 EUR\t55,00 EUR",
        "\tab dem 13. Monat\nMonatlicher Grundpreis\t40,00 EUR\t42,00 EUR",
        "Monatlicher Grundpreis: 42,00 EUR\nMonatlicher Grundpreis: 0,00 EUR",
        "Monatlicher Grundpreis: 42,00 EUR\nMonate 1-6: 0,00 EUR",
        "Monatlicher Grundpreis: 42,00 EUR\nMonatlicher Preis: 30,00 EUR\nMonatlicher Preis: 12,00 EUR",
    ],
)
def test_a_second_monthly_price_waits(lines: str) -> None:
    price = value(extracted(TELCO.format(lines), "telco"), "monthly_rate")
    assert price.confidence < ACCEPTED_MIN


@pytest.mark.parametrize(
    ("field", "lines"),
    [
        ("monthly_rate", "Abschlag\t95,00 EUR\t113,05 EUR"),
        (
            "monthly_rate",
            "Monatlicher Abschlag: 95,00 EUR\nMonatlicher Abschlag: 45,00 EUR\nMonatlicher Abschlag: 50,00 EUR",
        ),
        ("monthly_rate", "Monatlicher Abschlag: 95,00 EUR\nMonatlicher Abschlag Gas: 0,00 EUR"),
        ("kwh_price", "Arbeitspreis\t30,10 ct/kWh\t31,61 ct/kWh (brutto)"),
    ],
)
def test_a_second_price_of_energy_waits(field: str, lines: str) -> None:
    found = value(extracted(written(ENERGY, **{field: lines}), "energy"), field)
    assert found.confidence < ACCEPTED_MIN


@pytest.mark.parametrize(
    "lines",
    [
        "Annual premium: EUR 100.00\tEUR 105.00",
        "\tYear 1\tYear 2\nAnnual premium\tEUR 100.00\tEUR 112.00",
    ],
)
def test_a_second_premium_waits(lines: str) -> None:
    text = f"{written(INSURANCE, monthly_premium=lines)}\nAll prices include tax."
    premium = value(extracted(text, "insurance"), "monthly_premium")
    assert premium.confidence < ACCEPTED_MIN


@pytest.mark.parametrize(
    "lines",
    [
        "\tnetto\tbrutto\nArbeitspreis\t28,13 ct/kWh\t33,47 ct/kWh",
        "\tnet\tincl. 5% VAT\nArbeitspreis\t30,10 ct/kWh\t31,61 ct/kWh",
    ],
)
def test_heads_that_name_the_tax_tell_net_from_gross(lines: str) -> None:
    price = value(extracted(written(ENERGY, kwh_price=lines), "energy"), "kwh_price")
    assert price.value in {"0.3347", "0.3161"}


@pytest.mark.parametrize(
    "line",
    [
        "Ihr Anschluss wird geschlossen am 30.06.2026",
        "Ihr Anschluss wird am 30.06.2026 geschlossen.",
        "Das Konto wurde am 30.06.2026 geschlossen.",
        "Der Vertrag wird am 30.06.2026 geschlossen.",
    ],
)
def test_the_day_on_which_something_is_closed_is_no_day_of_signing(line: str) -> None:
    end = value(extracted(f"{written(ENERGY)}\n{line}", "energy"), "contract_end")
    assert end.confidence < ACCEPTED_MIN
