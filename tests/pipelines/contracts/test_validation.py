"""C5 and C6: the final score, what is valid, and what a person has to see."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.pipelines.contracts.extraction import Extraction, FoundValue
from stateward.pipelines.contracts.rules import default_rules, rules_of, shipped_texts
from stateward.pipelines.contracts.validation import (
    ValidationResult,
    validate_extraction,
    validate_values,
)

RULES = default_rules()
VALUES = {
    "provider": "Vattenfall",
    "tariff_name": "Easy24",
    "monthly_rate": "89.00",
    "contract_start": "2025-03-01",
    "contract_end": "2027-02-28",
    "kwh_price": "0.3245",
    "cancellation_period": "4 weeks",
}


def an_extraction(
    values: Mapping[str, str | None] = VALUES, *, seen: str = "energy", score: int = 95
) -> Extraction:
    found = [
        FoundValue(
            field=name, value=value, raw="", confidence=score if value else 0, source="rules/1"
        )
        for name, value in values.items()
    ]
    return Extraction(
        vertical="energy", provider=values.get("provider"), found=found, extractor="rules/1",
        about={"vertical_seen": seen},
    )  # fmt: skip


def verdict_on(**changes: str | None) -> ValidationResult:
    return validate_extraction(an_extraction(VALUES | changes), RULES)


def codes(verdict: ValidationResult) -> list[str]:
    return [problem.code for problem in verdict.problems]


def without(*names: str) -> dict[str, str | None]:
    return {name: value for name, value in VALUES.items() if name not in names}


def test_a_whole_contract_is_accepted_with_the_score_of_its_weakest_field() -> None:
    extraction = an_extraction()
    weak = FoundValue(field="kwh_price", value="0.3245", raw="", confidence=81, source="rules/1")
    kept = [each for each in extraction.found if each.field != "kwh_price"]

    verdict = validate_extraction(
        Extraction(vertical="energy", provider="Vattenfall", found=[*kept, weak], extractor="x"),
        RULES,
    )

    assert (verdict.final_confidence, verdict.valid, verdict.accepted) == (81, True, True)


def test_one_point_below_the_threshold_goes_to_a_person() -> None:
    verdict = validate_extraction(an_extraction(score=79), RULES)

    assert (verdict.final_confidence, verdict.valid, verdict.accepted) == (79, True, False)


def test_a_missing_field_costs_fifteen_and_an_empty_one_ten() -> None:
    missing = validate_extraction(an_extraction(without("tariff_name")), RULES)
    empty = verdict_on(tariff_name=None)

    assert (missing.final_confidence, codes(missing), missing.valid) == (80, ["MISSING"], False)
    assert (empty.final_confidence, codes(empty), empty.valid) == (85, ["EMPTY"], False)


def test_a_score_of_eighty_does_not_save_what_is_not_valid() -> None:
    verdict = validate_extraction(an_extraction(without("tariff_name")), RULES)

    assert verdict.final_confidence >= verdict.threshold
    assert not verdict.accepted


def test_a_value_out_of_its_range_costs_ten() -> None:
    verdict = verdict_on(kwh_price="3.2450")

    assert (verdict.final_confidence, codes(verdict)) == (85, ["OUT_OF_RANGE"])
    assert "3.245" in verdict.problems[0].sentence


def test_a_value_that_is_none_of_its_kind_is_told() -> None:
    assert codes(verdict_on(contract_start="soon")) == ["UNREADABLE"]


def test_a_wrong_vertical_costs_thirty_once() -> None:
    by_provider = verdict_on(provider="Allianz")
    by_text = validate_extraction(an_extraction(seen="telco"), RULES)
    by_both = validate_extraction(
        an_extraction(VALUES | {"provider": "Allianz"}, seen="insurance"), RULES
    )

    for verdict in (by_provider, by_text, by_both):
        assert (verdict.final_confidence, codes(verdict)) == (65, ["WRONG_VERTICAL"])
        assert not verdict.valid


def test_an_unknown_provider_goes_to_a_person_and_costs_nothing() -> None:
    verdict = verdict_on(provider="Windhof Strom GmbH")

    assert (verdict.final_confidence, verdict.valid) == (95, False)
    assert codes(verdict) == ["UNKNOWN_PROVIDER"]


def test_dates_in_the_wrong_order_are_not_valid() -> None:
    assert codes(verdict_on(contract_end="2025-03-01")) == ["OUT_OF_ORDER"]
    assert codes(verdict_on(contract_end="2055-03-01")) == ["OUT_OF_ORDER"]


def test_a_notice_longer_than_the_term_is_not_valid() -> None:
    verdict = verdict_on(contract_end="2025-04-01", cancellation_period="3 months")

    assert codes(verdict) == ["PERIOD_TOO_LONG"]


def test_nothing_found_scores_nothing() -> None:
    verdict = validate_extraction(an_extraction({}), RULES)

    assert (verdict.final_confidence, len(verdict.problems)) == (0, 7)


def test_penalties_and_threshold_are_those_of_the_provider() -> None:
    own = """
version: 1
providers:
  - name: Vattenfall
    verticals:
      energy: {threshold: 90, penalties: {out_of_range: 2}, ranges: {monthly_rate: {max: 50}}}
"""
    rules = rules_of({**shipped_texts(), "own.yaml": own})
    verdict = validate_extraction(an_extraction(), rules)

    assert (verdict.final_confidence, verdict.threshold, verdict.valid) == (93, 90, False)


def test_the_surest_of_several_values_counts_and_an_empty_one_does_not() -> None:
    extraction = an_extraction()
    others = [
        FoundValue(field="kwh_price", value="9.99", raw="", confidence=20, source="x"),
        FoundValue(field="kwh_price", value=None, raw="", confidence=99, source="x"),
    ]
    found = [*others, *extraction.found]

    verdict = validate_extraction(
        Extraction(vertical="energy", provider=None, found=found, extractor="x"), RULES
    )

    assert (verdict.final_confidence, verdict.problems) == (95, [])


def test_the_values_of_a_person_are_held_to_the_same_rules() -> None:
    energy = RULES.vertical("energy")
    good = validate_values(
        {**VALUES, "kwh_price": "32,45 ct/kWh", "contract_start": "1. März 2025"}, energy, RULES
    )
    bad = validate_values({**VALUES, "kwh_price": "cheap"}, energy, RULES)

    assert (good.valid, good.final_confidence) == (True, 100)
    assert (bad.valid, codes(bad)) == (False, ["UNREADABLE"])


def test_a_person_may_name_a_provider_that_is_not_listed() -> None:
    verdict = validate_values(
        VALUES | {"provider": "Windhof Strom GmbH"}, RULES.vertical("energy"), RULES
    )

    assert verdict.valid
    assert codes(verdict) == ["UNKNOWN_PROVIDER"]


@given(
    values=st.dictionaries(
        st.sampled_from(sorted(VALUES)), st.none() | st.text(max_size=20), max_size=7
    ),
    score=st.integers(0, 100),
)
def test_whatever_is_given_the_score_stays_within_bounds_and_never_rises(
    values: dict[str, str | None], score: int
) -> None:
    verdict = validate_extraction(an_extraction(values, score=score), RULES)

    assert 0 <= verdict.final_confidence <= verdict.base <= 100
    assert verdict.accepted == (verdict.valid and verdict.final_confidence >= verdict.threshold)


@pytest.mark.parametrize("name", ["missing", "empty", "out_of_range", "wrong_vertical"])
def test_the_penalties_are_those_of_the_seed(name: str) -> None:
    expected = {"missing": 15, "empty": 10, "out_of_range": 10, "wrong_vertical": 30}

    for slug in ("energy", "telco", "insurance"):
        assert getattr(RULES.vertical(slug).penalties, name) == expected[name]
        assert RULES.vertical(slug).threshold == 80


def test_one_party_that_is_not_sure_keeps_the_contract_for_a_person() -> None:
    found = [
        FoundValue(field="party", value="Acme Inc.", raw="", confidence=95, source="rules/1"),
        FoundValue(field="party", value="Somebody", raw="", confidence=60, source="rules/1"),
        FoundValue(
            field="governing_law", value="Delaware", raw="", confidence=95, source="rules/1"
        ),
    ]

    verdict = validate_extraction(
        Extraction(vertical="general", provider=None, found=found, extractor="x"), RULES
    )

    assert verdict.base == 60
    assert not verdict.accepted
