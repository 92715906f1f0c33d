"""Values in running text: dates, amounts, periods, volumes."""

import pytest

from stateward.pipelines.contracts.candidates import ValueCandidate, find_candidates


def only(text: str, kind: str, **manner: str) -> ValueCandidate:
    found = [candidate for candidate in find_candidates(text, **manner) if candidate.kind == kind]  # type: ignore[arg-type]
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("am 01.03.2025", "2025-03-01"),
        ("am 1.3.25 um", "2025-03-01"),
        ("1. März 2025", "2025-03-01"),
        ("12. Mai 2024", "2024-05-12"),
        ("1st March 2025", "2025-03-01"),
        ("the 1st day of March 2025", "2025-03-01"),
        ("March 3rd, 2026", "2026-03-03"),
        ("2025-03-01", "2025-03-01"),
        ("31/03/2026", "2026-03-31"),
        ("O1.O3.2O25", "2025-03-01"),
        ("01. 03. 2025", "2025-03-01"),
    ],
)
def test_a_date_is_read_as_people_print_it(text: str, value: str) -> None:
    assert only(text, "date").value == value


@pytest.mark.parametrize("text", ["31.02.2025", "13/13/2025", "1.1", "3.5.1", "Version 2.10.0.1"])
def test_what_is_no_date_is_none(text: str) -> None:
    assert not [candidate for candidate in find_candidates(text) if candidate.kind == "date"]


def test_a_date_with_strokes_is_open_until_another_one_tells_the_order() -> None:
    assert only("02/01/2025", "date").is_ambiguous
    assert only("02/01/2025", "date", order="mdy").value == "2025-02-01"
    assert not only("13/01/2025", "date").is_ambiguous


@pytest.mark.parametrize(
    ("text", "value", "unit", "per"),
    [
        ("89,00 €", "89.00", "EUR", ""),
        ("EUR 1,234.56 monthly", "1234.56", "EUR", "month"),
        ("1.234,56€/Jahr", "1234.56", "EUR", "year"),
        ("monatlich 89,00 Euro", "89.00", "EUR", "month"),
        ("32,45 ct/kWh (brutto)", "0.3245", "EUR", "kWh"),
        ("31,87 Cent je Kilowattstunde", "0.3187", "EUR", "kWh"),
        ("EUR 0.2890 per kWh", "0.289", "EUR", "kWh"),
        ("28.4 p per kWh", "0.284", "GBP", "kWh"),
        ("10 Mio. € pauschal", "10000000.00", "EUR", ""),
        ("3,5 Millionen Euro", "3500000.00", "EUR", ""),
        ("EUR 5 million", "5000000.00", "EUR", ""),
        ("50.000 EUR", "50000.00", "EUR", ""),
        ("12,- €", "12.00", "EUR", ""),
        ("39,95 € einmalig", "39.95", "EUR", "once"),
        ("20 € inkl. 19 % MwSt. im Monat", "20.00", "EUR", "month"),
        ("3l,9O €", "31.90", "EUR", ""),
    ],
)
def test_an_amount_has_its_currency_and_what_it_is_for(
    text: str, value: str, unit: str, per: str
) -> None:
    found = next(candidate for candidate in find_candidates(text) if candidate.kind == "money")

    assert (found.value, found.unit, found.per) == (value, unit, per)


def test_an_adjective_of_the_next_noun_says_nothing_of_the_amount_before() -> None:
    first, second = (
        candidate
        for candidate in find_candidates("Grundpreis 49,95 €, der einmalige Preis 39,95 €")
        if candidate.kind == "money"
    )

    assert (first.per, second.value) == ("", "39.95")


def test_net_and_gross_are_told_apart_and_a_network_is_neither() -> None:
    assert only("netto 25,21 ct/kWh", "money").tax == "net"
    assert only("30,00 ct/kWh (brutto)", "money").tax == "gross"
    assert only("All-Net-Flat L 38,66 € Netzbetreiber", "money").tax == ""


def test_no_amount_runs_from_one_cell_into_the_next() -> None:
    values = [
        candidate.value for candidate in find_candidates("EUR 288.88\t€0.2445/kWh", decimal=".")
    ]

    assert values == ["288.88", "0.2445"]


def test_a_short_line_ends_a_value_and_a_long_one_does_not() -> None:
    long = "Der monatliche Abschlag, den wir mit Ihnen vereinbart haben, ist 12,00 €\npro Monat"

    assert only("Selbstbehalt EUR 500\nMonthly instalment", "money").per == ""
    assert only(long, "money").per == "month"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("vier Wochen", "4 weeks"),
        ("drei (3) Monate", "3 months"),
        ("24-monatige Laufzeit", "24 months"),
        ("one month's notice", "1 month"),
        ("thirty (30) days", "30 days"),
        ("zwei Mo nate", "2 months"),
        ("6 W0chen", "6 weeks"),
        ("2 Jahre", "2 years"),
    ],
)
def test_a_period_is_read_in_figures_and_in_words(text: str, value: str) -> None:
    assert only(text, "duration").value == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("20GB", "20 GB"),
        ("10 GB/Monat", "10 GB"),
        ("unbegrenzt", "unlimited"),
        ("500 MB", "500 MB"),
    ],
)
def test_a_volume_of_data_has_its_unit(text: str, value: str) -> None:
    assert only(text, "quantity").value == value


@pytest.mark.parametrize("text", ["5G", "unlimited minutes", "300 Mbit/s", "1 GB/s"])
def test_what_is_no_volume_of_data_is_none(text: str) -> None:
    assert not [candidate for candidate in find_candidates(text) if candidate.kind == "quantity"]


@pytest.mark.parametrize("text", ["3 2,45 ct/kWh", "1 5.03.2025", "1 2 Monate", "5 0 GB"])
def test_a_figure_that_may_be_torn_apart_is_doubtful(text: str) -> None:
    found = [candidate for candidate in find_candidates(text) if not candidate.is_bare]

    assert all(candidate.is_ambiguous for candidate in found)


def test_a_letter_of_a_name_is_no_digit_of_the_volume_behind_it() -> None:
    assert only("Red S, 10 GB", "quantity").value == "10 GB"


def test_an_ordinal_after_a_year_makes_no_date() -> None:
    values = [
        candidate.value
        for candidate in find_candidates("am 15.04.2025.\n3.2 It ends")
        if candidate.kind == "date"
    ]

    assert values == ["2025-04-15"]
