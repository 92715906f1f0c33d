"""A few words that deny an agreement, or say what it lacks, are for a person."""

import pytest

from stateward.pipelines.contracts.validation import validate_extraction
from tests.pipelines.contracts.capped import ENERGY, INSURANCE, RULES, extracted, written
from tests.pipelines.contracts.test_matters import ENGLISH, GERMAN, is_approved

SERVICES = "Employees carry their own tools on the premises."
LEISTUNG = (
    "Der Auftragnehmer wartet die sechs Kälteanlagen zweimal jährlich und beseitigt Störungen "
    "binnen vier Stunden."
)


@pytest.mark.parametrize(
    "said",
    [
        "Der Kunde widerruft nach § 355 BGB.",
        "Der Auftraggeber widerruft die Leistungen.",
        "Seite 2 fehlt.",
        "Anlage 1 und Anlage 2 fehlen.",
        "Unterzeichnet ohne Vollmacht.",
        "Der Vertrag ist unwirksam.",
        "Bergmann kündigt.",
    ],
)
def test_a_short_german_denial_waits(said: str) -> None:
    assert is_approved(GERMAN, LEISTUNG)
    assert not is_approved(GERMAN, f"{LEISTUNG}\n{said}")


@pytest.mark.parametrize(
    "said",
    [
        "The customer cancels under section 29.",
        "Page 2 is missing.",
        "Signed without authority.",
        "Signed without proper authority.",
        "Valid only if countersigned.",
        "Tidewell cancels.",
        "The Agreement is void.",
    ],
)
def test_a_short_denial_waits(said: str) -> None:
    assert is_approved(ENGLISH, SERVICES)
    assert not is_approved(ENGLISH, f"{SERVICES}\n{said}")
    assert not is_approved(ENGLISH, f"{SERVICES} {said}")


@pytest.mark.parametrize("base", ["energy", "insurance"])
@pytest.mark.parametrize(
    "said",
    [
        "Die Preise enthalten keine Umsatzsteuer.",
        "The prices include no VAT.",
        "Der Vertrag verlängert sich um zwölf Monate bis Mai 2028.",
        "Ihr Vertrag verlängert sich um ein Jahr bis Ende April 2028.",
        "Prices include none of the taxes.",
        "The contract is extended until the end of May 2028.",
    ],
)
def test_net_prices_and_a_renewal_up_to_a_month_wait(said: str, base: str) -> None:
    text = written(ENERGY if base == "energy" else INSURANCE)
    found = extracted(f"{text}\n\n{said}", base)
    assert not validate_extraction(found, RULES).accepted


@pytest.mark.parametrize("base", ["energy", "insurance"])
@pytest.mark.parametrize(
    "said",
    [
        "Here are the details of your old plan.",
        "Willkommen bei Ihrem Probeabo.",
        "Neu: 120,00",
        "Amendment: notice three months.",
        "Korrektur: Frist drei Monate.",
    ],
)
def test_a_usual_form_with_an_altering_word_and_a_short_remark_of_a_change_wait(
    said: str, base: str
) -> None:
    text = written(ENERGY if base == "energy" else INSURANCE)
    found = extracted(f"{text}\n\n{said}", base)
    assert not validate_extraction(found, RULES).accepted
