"""Canonical forms, names of providers, and when two values are the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.pipelines.contracts.providers import provider_index, without_legal_form
from stateward.pipelines.contracts.rules import FieldRule, default_rules
from stateward.pipelines.contracts.values import canonical, number, same
from stateward.pipelines.contracts.words import Phrases, skeleton, tokens

RULES = default_rules()


def field(vertical: str, name: str) -> FieldRule:
    found = RULES.vertical(vertical).field(name)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("vertical", "name", "text", "value"),
    [
        ("energy", "provider", "Vattenfall Europe Sales GmbH", "Vattenfall"),
        ("energy", "provider", "E.ON Energie Deutschland GmbH", "E.ON"),
        ("telco", "provider", "Telekom Deutschland GmbH", "Deutsche Telekom"),
        ("telco", "provider", "Telefonica Germany GmbH & Co. OHG", "O2"),
        ("insurance", "provider", "ALLIANZ VERSICHERUNGS-AG", "Allianz"),
        ("energy", "provider", "Stadtwerke Neuburg GmbH", "Stadtwerke Neuburg GmbH"),
        ("energy", "monthly_rate", "89,00 € monatlich", "89.00"),
        ("energy", "kwh_price", "32,45 ct/kWh", "0.3245"),
        ("energy", "contract_start", "1. März 2025", "2025-03-01"),
        ("energy", "cancellation_period", "drei Monate zum Monatsende", "3 months"),
        ("energy", "cancellation_period", "monatlich kündbar", "1 month"),
        ("telco", "data_volume", "unbegrenzt", "unlimited"),
        ("insurance", "deductible", "keine", "0.00"),
        ("insurance", "coverage_amount", "10 Mio. EUR", "10000000.00"),
        ("energy", "tariff_name", " „Natur24  Strom“ ", "Natur24 Strom"),
        ("energy", "contract_start", "bald", None),
        ("energy", "monthly_rate", "nach Verbrauch", None),
        ("energy", "tariff_name", "  ", None),
    ],
)
def test_a_value_has_one_canonical_form(
    vertical: str, name: str, text: str, value: str | None
) -> None:
    assert canonical(field(vertical, name), text, RULES) == value


@given(st.decimals(min_value=0, max_value=10**9, places=2))
def test_a_canonical_amount_reads_back_equal(amount: object) -> None:
    rule = field("insurance", "coverage_amount")
    made = canonical(rule, f"{amount} EUR", RULES)

    assert made is not None
    assert canonical(rule, made, RULES) == made
    assert number(rule, made) == float(str(amount))


@pytest.mark.parametrize(
    ("vertical", "name", "one", "other"),
    [
        ("energy", "cancellation_period", "3 Monate", "3 months"),
        ("energy", "cancellation_period", "14 days", "2 weeks"),
        ("energy", "kwh_price", "32,45 ct/kWh", "0.3245"),
        ("energy", "monthly_rate", "89", "89.00"),
        ("telco", "data_volume", "0.5 GB", "500 MB"),
        ("insurance", "provider", "Aviva Insurance Ireland DAC", "Aviva"),
        ("insurance", "provider", "Allianz p.l.c.", "Allianz"),
        ("telco", "provider", "Deutsche Telekom AG", "Telekom Deutschland GmbH"),
        ("energy", "tariff_name", "ÖkoStrom Plus", "Ökostrom plus"),
    ],
)
def test_two_ways_to_write_a_value_are_the_same(
    vertical: str, name: str, one: str, other: str
) -> None:
    assert same(field(vertical, name), one, other, RULES)


@pytest.mark.parametrize(
    ("vertical", "name", "one", "other"),
    [
        ("energy", "cancellation_period", "1 month", "4 weeks"),
        ("energy", "kwh_price", "0.3245", "0.3246"),
        ("energy", "contract_start", "2025-03-01", "2025-03-02"),
        ("energy", "monthly_rate", "89.00", "nothing"),
    ],
)
def test_near_is_not_the_same(vertical: str, name: str, one: str, other: str) -> None:
    assert not same(field(vertical, name), one, other, RULES)


def test_a_provider_is_known_in_spite_of_a_scanner_and_a_legal_form() -> None:
    book = provider_index(RULES)

    assert book.match("Vattenfa11 Europe Sa1es GmbH") == ("Vattenfall", 100)
    assert book.match("Vatenfall Europe Sales") is not None
    assert book.match("Windhof Strom GmbH") is None


def test_a_short_name_must_be_printed_exactly() -> None:
    book = provider_index(RULES)

    assert [hit.what for hit in book.mentions("Ihr Netz: EE", tokens("Ihr Netz: EE"))] == ["EE"]
    assert book.mentions("three months", tokens("three months")) == []


def test_a_legal_form_is_taken_off_the_end_only() -> None:
    assert without_legal_form("Telefónica Germany GmbH & Co. OHG") == "Telefónica Germany"
    assert without_legal_form("AG Nord Energie") == "AG Nord Energie"


def test_a_phrase_is_found_through_hyphens_blanks_and_look_alikes() -> None:
    phrases = Phrases([("Arbeitspreis", "price"), ("Vertrag ab", "start")])

    for text in ("Arbeitspreis", "Arbeits-preis", "Arbe itspreis", "Arbeitsprels", "ARBEITSPREISE"):
        assert [hit.what for hit in phrases.find(tokens(text))] == ["price"], text
    assert phrases.find(tokens("Vertrag am")) == []
    assert phrases.find(tokens("Arbeit\tspreis")) == []


def test_a_number_is_not_read_as_letters() -> None:
    assert skeleton("5") == "5"
    assert skeleton("Pre1s") == skeleton("Preis")
