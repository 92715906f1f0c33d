"""Beside a value: that of another label above it, the law, a speed and the usual words of a notice change nothing."""

import pytest

from stateward.pipelines.contracts.rules import ACCEPTED_MIN
from tests.pipelines.contracts.test_elimination import ENGLISH, TELCO, found

PAIRS = "{first}\nVertragsbeginn\t01.05.2025\tMonatlicher Preis\t39,99 €"


@pytest.mark.parametrize("field", ["contract_start", "monthly_rate"])
def test_the_name_and_number_above_a_value_are_no_heads_of_its_column(field: str) -> None:
    text = PAIRS.format(first="Kunde\tSvenja Papke\tKundennummer\t8852 610 077")
    sure = found(TELCO, field, contract_start="", monthly_rate=text)
    assert sure.confidence >= ACCEPTED_MIN, sure.why


@pytest.mark.parametrize("head", ["Bestandskunden", "Probemonat", "Erstes Jahr"])
def test_a_condition_above_a_price_is_its_head_whatever_stands_beside_it(head: str) -> None:
    text = PAIRS.format(first=f"Kunde\tSvenja Papke\tKundenart\t{head}")
    held = found(TELCO, "monthly_rate", contract_start="", monthly_rate=text)
    assert held.confidence < ACCEPTED_MIN


@pytest.mark.parametrize(
    ("base", "field", "line"),
    [
        (TELCO, "cancellation_period", "Kündigungsfrist: 1 Monat (§ 56 Abs. 3 TKG)"),
        (TELCO, "cancellation_period", "Er kann mit einer Frist von 1 Monat gekündigt werden (§ 20 StromGVV)."),
        (TELCO, "data_volume", "30 GB Datenvolumen pro Monat mit max. 100 MBit/s und 64 KBit/s"),
        (ENGLISH, "cancellation_period", "You can end the contract at any time by giving 30 days' notice."),
    ],
)  # fmt: skip
def test_the_law_a_speed_and_usual_words_change_nothing(
    base: dict[str, str], field: str, line: str
) -> None:
    sure = found(base, field, **{field: line})
    assert sure.confidence >= ACCEPTED_MIN, sure.why


@pytest.mark.parametrize(
    ("base", "field", "line"),
    [
        (TELCO, "cancellation_period", "Kündigungsfrist: 1 Monat (§ 3 Nachtrag)"),
        (TELCO, "data_volume", "30 GB Datenvolumen pro Monat mit max. 100 MBit/s, ab Juni 10 GB"),
        (ENGLISH, "cancellation_period", "You can end the contract any time after a year by giving 30 days' notice."),
    ],
)  # fmt: skip
def test_other_words_in_their_place_wait(base: dict[str, str], field: str, line: str) -> None:
    assert found(base, field, **{field: line}).confidence < ACCEPTED_MIN
