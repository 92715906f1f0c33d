"""Values beside the chosen one that account for themselves, and those that do not."""

import pytest

from stateward.pipelines.contracts.rules import ACCEPTED_MIN
from stateward.pipelines.contracts.validation import validate_extraction
from tests.pipelines.contracts.capped import ENERGY, RULES, extracted, value, written


@pytest.mark.parametrize(
    "line",
    [
        "Router: eigenes Gerät\t0,00 EUR",
        "Exit fees (if you cancel this tariff before the end date)\t50.00 EUR",
        "Your first Direct Debit will be collected on 20 May 2025.",
        "You accepted this contract on 17 April 2025.",
    ],
)
def test_what_accounts_for_itself_is_no_rival(line: str) -> None:
    found = extracted(f"{written(ENERGY)}\n{line}", "energy")
    assert all("not accounted for" not in each.why for each in found.found)


@pytest.mark.parametrize(
    ("lines", "field"),
    [
        ({"contract_end": "Vertragsende: 30.04.2027\n\nVertragsende, abgeschlossen am 30.06.2026"}, "contract_end"),
        ({"monthly_rate": "Monatlicher Abschlag\tEUR 100.00\tEUR 105.00 tax"}, "monthly_rate"),
    ],
)  # fmt: skip
def test_a_day_alone_behind_its_label_and_an_amount_with_its_tax_are_rivals(
    lines: dict[str, str], field: str
) -> None:
    found = extracted(written(ENERGY, **lines), "energy")
    assert value(found, field).confidence < ACCEPTED_MIN


@pytest.mark.parametrize(
    "sentence", ["Thank you for your application.", "Thanks for your enquiry."]
)
def test_thanks_for_an_application_are_no_contract(sentence: str) -> None:
    found = extracted(f"{written(ENERGY)}\n\n{sentence}", "energy")
    assert not validate_extraction(found, RULES).accepted


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Ihre Vertragsbestätigung: Natur12 Strom", "Natur12 Strom"),
        ("Auftragsbestätigung: Ihr E.ON Strom 24", "E.ON Strom 24"),
        ("Confirmation of your new contract: Fixed Price VP4", "Fixed Price VP4"),
        ("Mainova Gas Direkt - wir bestätigen Ihre Belieferung", "Mainova Gas Direkt"),
        ("Fixed Price VP4 \u2013 your contract summary", "Fixed Price VP4"),
    ],
)
def test_a_name_behind_the_title_of_a_letter_is_that_of_the_tariff(title: str, name: str) -> None:
    found = value(extracted(written(ENERGY, tariff_name=title), "energy"), "tariff_name")
    assert (found.value, found.confidence >= ACCEPTED_MIN) == (name, True)


@pytest.mark.parametrize(
    "title", ["Auftragsbestätigung: Umzug", "Auftragsbestätigung: Kundennummer 4711"]
)
def test_what_is_no_name_behind_a_title_is_not_read_as_one(title: str) -> None:
    found = extracted(written(ENERGY, tariff_name=title), "energy")
    assert not any(each.field == "tariff_name" for each in found.found)


@pytest.mark.parametrize(
    "line", ["Tariff Information Label \u2013 Gas", "Ihr Produkt: 100 % erneuerbare Energien"]
)
def test_a_heading_or_a_share_is_no_name_of_a_tariff(line: str) -> None:
    named = value(extracted(f"{written(ENERGY)}\n{line}", "energy"), "tariff_name")
    assert (named.value, named.confidence >= ACCEPTED_MIN) == ("E.ON Strom 24", True)
