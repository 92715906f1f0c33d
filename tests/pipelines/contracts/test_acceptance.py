"""A sentence that accepts an order is ordinary; another one with most of its words may say the opposite."""

import pytest

from tests.pipelines.contracts.capped import ENERGY, INSURANCE, extracted, flags, written


@pytest.mark.parametrize(
    "sentence",
    [
        "Ihren Auftrag vom 19.02.2026 haben wir angenommen.",
        "Ihren Antrag vom 1. Dezember 2025 haben wir gern angenommen.",
        "Ihre Bestellung nehmen wir hiermit an.",
        "Wir haben Ihren Antrag vom 03.05.2026 angenommen.",
        "Deine Bestellung haben wir erhalten und angenommen.",
        "We have accepted your application of 3 March 2026.",
        "Your order dated 14th April 2026 has been accepted.",
    ],
)
def test_a_sentence_that_accepts_an_order_holds_no_contract_up(sentence: str) -> None:
    for base, vertical in ((ENERGY, "energy"), (INSURANCE, "insurance")):
        assert flags(extracted(f"{written(base)}\n\n{sentence}", vertical)) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Ihren Auftrag vom 19.02.2026 haben wir nicht angenommen.",
        "Ihren Auftrag vom 19.02.2026 haben wir noch nicht angenommen.",
        "Ihren Auftrag vom 19.02.2026 haben wir unter Vorbehalt angenommen.",
        "Ihren Antrag vom 01.12.2025 haben wir mit Änderungen angenommen.",
        "Ihren Antrag vom 01.12.2025 haben wir vorläufig angenommen.",
        "Ihren Antrag haben wir teilweise angenommen.",
        "Ihren Antrag vom 01.12.2025 haben wir zu einem anderen Beitrag angenommen.",
        "Ihre Bestellung nehmen wir erst nach der Bonitätsprüfung an.",
        "Ihre Bestellung nehmen wir leider nicht an.",
        "Wir haben Ihren Antrag vom 03.05.2026 geändert angenommen.",
        "Ihren Widerruf vom 03.05.2026 haben wir angenommen.",
        "Ihre Kündigung vom 19.02.2026 haben wir angenommen.",
        "Ihren Auftrag über 49,90 EUR haben wir angenommen.",
        "We have not accepted your application of 3 March 2026.",
        "We have accepted your application of 3 March 2026 subject to a survey.",
        "Your application has been accepted on special terms.",
        "Your order dated 14 April 2026 has been accepted in part.",
        "We have accepted your cancellation of 3 March 2026.",
        "Your order has been accepted for the smaller plan.",
    ],
)
def test_one_that_accepts_something_else_or_not_all_waits(sentence: str) -> None:
    for base, vertical in ((ENERGY, "energy"), (INSURANCE, "insurance")):
        assert flags(extracted(f"{written(base)}\n\n{sentence}", vertical)) != []
