"""A contract that says it has no end has answered; one that says so of the time after a term has not."""

import pytest

from stateward.pipelines.contracts import values
from stateward.pipelines.contracts.rules import ACCEPTED_MIN
from stateward.pipelines.contracts.validation import validate_extraction, validate_values
from tests.pipelines.contracts.capped import ENERGY, RULES, extracted, value, written

ENDLESS = "open-ended"


@pytest.mark.parametrize(
    "line",
    [
        "Ende: unbefristet (keine Mindestlaufzeit)",
        "Laufzeit: unbefristet, ohne Mindestlaufzeit",
        "Der Vertrag läuft auf unbestimmte Zeit.",
        "Der Vertrag wird auf unbestimmte Zeit geschlossen.",
        "End date: No end date",
        "There is no minimum term.",
    ],
)
def test_a_contract_that_says_it_has_no_end_goes_on(line: str) -> None:
    found = extracted(written(ENERGY, contract_end=line), "energy")
    end = value(found, "contract_end")
    assert (end.value, end.confidence >= ACCEPTED_MIN) == (ENDLESS, True)
    assert end.raw.casefold() in line.casefold()
    assert validate_extraction(found, RULES).accepted


@pytest.mark.parametrize(
    "line",
    [
        "Mindestlaufzeit: 12 Monate, danach unbefristet",
        "Erstlaufzeit bis 30.04.2026, danach unbefristet.",
        "Nach der Mindestlaufzeit läuft der Vertrag auf unbestimmte Zeit weiter.",
        "Der Vertrag verlängert sich auf unbestimmte Zeit.",
        "Kündigen Sie nicht, läuft er auf unbestimmte Zeit weiter.",
        "After the fix there is no minimum term.",
        "",
    ],
)
def test_what_is_said_of_the_time_after_a_term_is_no_answer(line: str) -> None:
    found = extracted(written(ENERGY, contract_end=line), "energy")
    assert ENDLESS not in {each.value for each in found.found}


def test_a_printed_end_beside_it_is_the_end() -> None:
    text = written(ENERGY, contract_end="Vertragsende: 30.04.2027\nLaufzeit: unbefristet")
    assert value(extracted(text, "energy"), "contract_end").value == "2027-04-30"


def test_an_unknown_word_beside_it_is_for_a_person() -> None:
    text = written(ENERGY, contract_end="Laufzeit: unbefristet auf Widerruf der Behörde")
    assert value(extracted(text, "energy"), "contract_end").confidence < ACCEPTED_MIN


@pytest.mark.parametrize("told", ["open-ended", "unbefristet", "auf unbestimmte Zeit"])
def test_a_person_may_say_that_there_is_no_end(told: str) -> None:
    vertical = RULES.vertical("energy")
    rule = vertical.field("contract_end")
    assert rule is not None
    assert values.canonical(rule, told, RULES) == ENDLESS
    given = {
        "provider": "E.ON", "tariff_name": "Strom 24", "monthly_rate": "95.00", "contract_start": "2025-05-01",
        "contract_end": told, "kwh_price": "0.3010", "cancellation_period": "1 month",
    }  # fmt: skip
    assert validate_values(given, vertical, RULES).problems == []


@pytest.mark.parametrize(
    "line",
    [
        "Kündigungsfrist: ohne Kündigungsfrist",
        "You do not have to give us any period of notice.",
        "No notice is required.",
    ],
)
def test_a_contract_that_wants_no_notice_has_answered(line: str) -> None:
    found = extracted(written(ENERGY, cancellation_period=line), "energy")
    assert value(found, "cancellation_period").value == "no notice"
    assert not [
        each for each in validate_extraction(found, RULES).problems if each.code != "LOW_CONFIDENCE"
    ]


def test_a_notice_that_is_printed_is_not_lost_to_one_that_a_right_does_not_want() -> None:
    line = "Kündigungsfrist: 1 Monat\nIf you move home no notice is required."
    found = extracted(written(ENERGY, cancellation_period=line), "energy")
    assert value(found, "cancellation_period").value == "1 month"


@pytest.mark.parametrize(
    "line",
    [
        "Bei einer Preiserhöhung können Sie ohne Kündigungsfrist gehen.",
        "If you move home no notice is required.",
    ],
)
def test_a_right_that_wants_no_notice_in_a_case_is_for_a_person(line: str) -> None:
    found = extracted(written(ENERGY, cancellation_period=line), "energy")
    assert not validate_extraction(found, RULES).accepted
