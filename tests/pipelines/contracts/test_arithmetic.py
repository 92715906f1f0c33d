"""Amounts that arithmetic explains are no rivals: net and gross in one row, and parts of a sum."""

import pytest

from stateward.pipelines.contracts.candidates import quantities
from stateward.pipelines.contracts.offline.arithmetic import is_net_of, parts_of
from stateward.pipelines.contracts.rules import ACCEPTED_MIN
from stateward.pipelines.contracts.values import canonical
from tests.pipelines.contracts.capped import ENERGY, INSURANCE, RULES, extracted, value, written


@pytest.mark.parametrize(
    "lines",
    [
        "Ihre Preise\nPreisbestandteil\tnetto\tbrutto (inkl. 19 % USt.)\nArbeitspreis\t28,13 ct/kWh\t33,47 ct/kWh",
        "Arbeitspreis brutto: 33,47 ct/kWh (28,13 ct/kWh netto)",
    ],
)
def test_the_gross_price_of_a_row_is_the_one_that_is_paid(lines: str) -> None:
    price = value(extracted(written(ENERGY, kwh_price=lines), "energy"), "kwh_price")
    assert price.value == "0.3347"


def test_two_prices_that_no_tax_explains_wait() -> None:
    lines = "Arbeitspreis\t28,13 ct/kWh\t34,40 ct/kWh"
    price = value(extracted(written(ENERGY, kwh_price=lines), "energy"), "kwh_price")
    assert price.confidence < ACCEPTED_MIN


def test_a_net_amount_is_known_by_the_usual_taxes() -> None:
    assert is_net_of(28.13, 33.47)
    assert is_net_of(268.75, 301.00)
    assert not is_net_of(33.47, 28.13)
    assert not is_net_of(28.13, 34.40)


def test_parts_are_amounts_in_a_row_with_that_sum() -> None:
    assert parts_of(14.28, [65000.0, 9.15, 2.41, 2.72, 14.28]) == {1, 2, 3}
    assert parts_of(14.28, [9.15, 2.41, 14.28]) == set()
    assert parts_of(20.0, [20.0, 10.0]) == set()


@pytest.mark.parametrize(
    "line", ["Der Beitrag wird jeweils zum 01.12. eingezogen.", "Fällig zum 01.12."]
)
def test_a_day_of_every_year_is_no_amount(line: str) -> None:
    found = extracted(f"{written(INSURANCE)}\n{line}", "insurance")
    assert value(found, "monthly_premium").value == "10.00"


def test_a_price_with_three_decimals_of_a_penny_is_an_amount() -> None:
    rule = RULES.vertical("energy").field("kwh_price")
    assert rule is not None
    assert canonical(rule, "0.26047", RULES) == "0.26047"


@pytest.mark.parametrize(
    "line",
    [
        "Versicherungsnehmer: Gernot Halm, geb. 07.02.1979",
        "Der Anfangsstand wird zum 30.04.2025 abgelesen.",
        "Your cooling-off period runs until 14 April 2025.",
    ],
)
def test_birthdays_readings_and_days_of_withdrawal_contradict_no_date(line: str) -> None:
    start = value(extracted(f"{written(ENERGY)}\n{line}", "energy"), "contract_start")
    assert start.confidence >= ACCEPTED_MIN


def test_a_year_of_consumption_beside_a_monthly_instalment_is_no_period_of_it() -> None:
    line = "Mit Ihrem Verbrauch von 2.100 kWh im Jahr landen wir bei einem monatlichen Abschlag von 64 Euro."
    rate = value(extracted(written(ENERGY, monthly_rate=line), "energy"), "monthly_rate")
    assert (rate.value, rate.cap) == ("64.00", 100)


def test_the_times_of_a_period_are_read_over() -> None:
    line = "Period of insurance: From 00:01 on 1 May 2026 to 23:59 on 30 April 2027"
    found = extracted(written(INSURANCE, contract_start=line, contract_end=""), "insurance")
    assert (value(found, "contract_start").value, value(found, "contract_end").value) == (
        "2026-05-01",
        "2027-04-30",
    )


def test_the_day_on_which_a_contract_was_made_is_none_of_its_dates() -> None:
    line = "Here is a summary of the contract that you made with us on 24 January 2025."
    start = value(extracted(f"{written(ENERGY)}\n{line}", "energy"), "contract_start")
    assert start.confidence >= ACCEPTED_MIN


def test_amounts_in_cells_of_their_own_do_not_stand_side_by_side() -> None:
    lines = "Monatlicher Abschlag\tWechselbonus (einmalig)\n95,00 EUR\t39,99 EUR"
    rate = value(extracted(written(ENERGY, monthly_rate=lines), "energy"), "monthly_rate")
    assert "side by side" not in rate.why


def test_what_follows_a_term_leaves_its_end_as_it_is() -> None:
    line = "Laufzeit: 12 Monate, danach unbefristet"
    end = value(extracted(written(ENERGY, contract_end=line), "energy"), "contract_end")
    assert (end.value, end.confidence) == ("2026-04-30", 84)


def test_megabits_are_no_volume_and_a_volume_may_stand_before_its_label() -> None:
    assert [each.value for each in quantities("500 Mb Broadband, 20 MB, 25 GB")] == [
        "20 MB",
        "25 GB",
    ]
    text = "Dienst\tTelefonie, SMS und 25 GB Datenvolumen"
    assert value(extracted(text, "telco"), "data_volume").value == "25 GB"


@pytest.mark.parametrize(
    "line",
    [
        "Sie dürfen Ihre Vertragserklärung bis zum 23.10.2025 widerrufen.",
        "You may withdraw until 23 October 2025.",
    ],
)
def test_the_last_day_of_a_withdrawal_is_no_end_of_the_contract(line: str) -> None:
    found = extracted(written(ENERGY, contract_end=line), "energy")
    assert all(each.value != "2025-10-23" for each in found.found)


def test_a_fee_of_nothing_is_no_rival() -> None:
    text = written(ENERGY, more="Wechselgebühr: 0,00 EUR")
    assert value(extracted(text, "energy"), "monthly_rate").confidence >= ACCEPTED_MIN


@pytest.mark.parametrize(
    "line",
    [
        "Kündigungsfrist: 1 Monat; danach jederzeit mit einer Frist von 1 Monat",
        "Kündigungsfrist: 1 Monat, per Brief oder E-Mail",
    ],
)
def test_how_notice_is_given_changes_no_notice(line: str) -> None:
    notice = value(
        extracted(written(ENERGY, cancellation_period=line), "energy"), "cancellation_period"
    )
    assert (notice.value, notice.confidence >= ACCEPTED_MIN) == ("1 month", True)


@pytest.mark.parametrize(
    "line",
    [
        "Der Vertrag wurde am 28.04.2025 geschlossen.",
        "Wir buchen den Abschlag ab, erstmals am 01.06.2025.",
    ],
)
def test_the_day_of_the_first_payment_or_of_signing_contradicts_no_date(line: str) -> None:
    start = value(extracted(f"{written(ENERGY)}\n{line}", "energy"), "contract_start")
    assert (start.value, start.confidence >= ACCEPTED_MIN) == ("2025-05-01", True)
