"""A known name that is not, or not surely, that of the provider: part of an address, or of a longer name."""

import pytest

from stateward.pipelines.contracts.evaluate import by_rules
from stateward.pipelines.contracts.extraction import FoundValue
from stateward.pipelines.contracts.rules import ACCEPTED_MIN, default_rules
from stateward.pipelines.kit.reader import text_document

REST = (
    "Vertragszusammenfassung\nTarif: Allnet M\nDatenvolumen: 25 GB\nMonatlicher Grundpreis: 22,00 EUR\n"
    "Vertragsbeginn: 15.02.2026\nVertragsende: 14.02.2028\nKündigungsfrist: 1 Monat\n"
)


def sure_providers(head: str) -> list[str]:
    return [each.value or "" for each in providers(head) if each.confidence >= ACCEPTED_MIN]


def providers(head: str) -> list[FoundValue]:
    rules = default_rules()
    extraction = by_rules(text_document(f"{head}\n\n{REST}"), rules.vertical("telco"), rules)
    return [each for each in extraction.found if each.field == "provider"]


@pytest.mark.parametrize(
    "printed",
    ["Yallo Mobile Genossenschaft", "Vodafone Freunde Nord", "Wingo Breitband Cooperative"],
)
def test_words_with_a_capital_behind_a_known_name_may_make_it_another_company(printed: str) -> None:
    (provider,) = providers(f"Anbieter: {printed}")

    assert provider.confidence < ACCEPTED_MIN
    assert "its name goes on" in provider.why


@pytest.mark.parametrize(
    "head",
    [
        "Talnetz\nWingo-Straße 7, 50823 Köln",
        "Talnetz\nWingo Straße 7, 50823 Köln",
        "Talnetz\nVodafone-Platz 1",
        "Rimrock Networks\nBillings, Yallo",
    ],
)
def test_a_known_name_in_an_address_is_no_provider(head: str) -> None:
    assert sure_providers(head) == []


def test_a_known_name_above_its_address_is_the_provider() -> None:
    assert sure_providers("Vodafone GmbH\nFerdinand-Braun-Platz 1, 40549 Düsseldorf") == [
        "Vodafone"
    ]
