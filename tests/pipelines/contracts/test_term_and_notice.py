"""A period of notice is no term, and an earliest end is the end where start and term give the same day."""

import pytest

from stateward.pipelines.contracts.candidates import durations
from stateward.pipelines.contracts.rules import ACCEPTED_MIN
from tests.pipelines.contracts.capped import ENERGY, INSURANCE, extracted, value, written

ENDS = "Vertragsende: 30.04.2026"
TERM = "Mindestlaufzeit: 12 Monate"


@pytest.mark.parametrize(
    "sentence",
    [
        "Er kann mit einer Frist von 1 Monat zum Ende der Mindestlaufzeit gekündigt werden.",
        "Der Abschlag ist jeweils zum 1. eines Monats fällig.",
        "Vertragslaufzeit: 12 Monate, danach unbefristet mit 1 Monat Frist",
    ],
)
def test_a_notice_or_a_day_of_the_month_does_not_contradict_the_end(sentence: str) -> None:
    found = extracted(written(ENERGY, contract_end=f"{ENDS}\n{TERM}\n{sentence}"), "energy")
    assert "do not lie" not in value(found, "contract_end").why


@pytest.mark.parametrize("told", ["24 Monate", "24 Monate zum Ende April"])
def test_a_term_that_does_not_fit_the_dates_still_does(told: str) -> None:
    text = written(ENERGY, contract_end=f"{ENDS}\nMindestlaufzeit: {told}")
    end = value(extracted(text, "energy"), "contract_end")
    assert "do not lie 24 months apart" in end.why
    assert end.confidence < ACCEPTED_MIN


@pytest.mark.parametrize(
    ("lines", "is_certain"),
    [
        ("Frühestes Vertragsende: 30.04.2026\nMindestlaufzeit: 12 Monate", True),
        ("Frühestes Vertragsende: 30.04.2026", False),
        ("Frühestes Vertragsende: 30.04.2026\nMindestlaufzeit: 24 Monate", False),
        ("Vertragsende: voraussichtlich 30.04.2026\nMindestlaufzeit: 12 Monate", False),
    ],
)
def test_an_earliest_end_is_certain_only_where_start_and_term_give_it(
    lines: str, is_certain: bool
) -> None:
    end = value(extracted(written(ENERGY, contract_end=lines), "energy"), "contract_end")
    assert end.value == "2026-04-30"
    assert (end.confidence >= ACCEPTED_MIN) is is_certain


def test_an_earliest_start_is_not_agreed_whatever_the_term() -> None:
    text = written(
        ENERGY,
        contract_start="Lieferbeginn: frühestens 01.05.2025",
        contract_end=f"{ENDS}\n{TERM}",
    )
    assert value(extracted(text, "energy"), "contract_start").confidence < ACCEPTED_MIN


@pytest.mark.parametrize("day", ["zum 1. eines Monats", "am 15. eines jeden Monats"])
def test_a_day_of_the_month_is_no_period(day: str) -> None:
    assert not list(durations(f"Der Abschlag ist {day} fällig."))


@pytest.mark.parametrize("clause", ["2. 24 Monate Laufzeit", "Ziffer 3. 24 Monate Laufzeit"])
def test_the_number_of_a_clause_hides_no_period(clause: str) -> None:
    assert [each.value for each in durations(clause)] == ["24 months"]


def test_one_month_in_words_is_a_period() -> None:
    assert [each.value for each in durations("mit der Frist eines Monats")] == ["1 month"]


def test_months_before_the_end_are_those_of_a_notice() -> None:
    policy = written(
        INSURANCE,
        contract_start="Versicherungsbeginn: 01.04.2026, 0.00 Uhr",
        contract_end="Versicherungsablauf: 01.04.2027, 0.00 Uhr",
    )
    said = "Die\nKündigung muss uns spätestens drei Monate vor dem Ende des Versicherungsjahres zugehen."
    end = value(extracted(f"{policy}\n\nKündigung zum Ablauf. {said}", "insurance"), "contract_end")
    assert (end.value, end.confidence >= ACCEPTED_MIN) == ("2027-04-01", True)


def test_the_minutes_at_which_a_policy_begins_and_ends_change_nothing() -> None:
    period = "Period of insurance\tFrom 00.01 on 7 May 2026 to 23.59 on 6 May 2027"
    policy = written(INSURANCE, contract_start=period, contract_end="")
    found = extracted(policy, "insurance")
    days = [value(found, name) for name in ("contract_start", "contract_end")]
    assert [each.value for each in days] == ["2026-05-07", "2027-05-06"]
    assert all(each.confidence >= ACCEPTED_MIN for each in days)
