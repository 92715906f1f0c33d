"""Calibration: an isotonic curve, fitted on one half of the contracts and checked on the other."""

from hypothesis import given
from hypothesis import strategies as st

from stateward.pipelines.contracts.calibration import (
    CurveStep,
    ScoredValue,
    check,
    error_of,
    fit,
    half_of,
)

values = st.lists(
    st.builds(
        ScoredValue,
        half=st.just("fit"),
        field=st.just("party"),
        confidence=st.integers(0, 100),
        is_right=st.booleans(),
    ),
    max_size=60,
)


def scored(confidence: int, *outcomes: bool) -> list[ScoredValue]:
    return [ScoredValue("fit", "party", confidence, each) for each in outcomes]


def test_neighbours_that_would_fall_are_pooled() -> None:
    given = [*scored(60, False, True), *scored(70, True, True), *scored(80, True, False)]

    assert fit(given) == [CurveStep(60, 60, 2, 1), CurveStep(70, 80, 4, 3)]


@given(values)
def test_the_curve_rises_and_counts_every_value(given: list[ScoredValue]) -> None:
    curve = fit(given)

    shares = [step.share for step in curve]
    assert shares == sorted(set(shares))
    assert sum(step.found for step in curve) == len(given)
    assert check(curve, given) == curve
    assert error_of(curve, check(curve, given)) == 0


def test_other_values_are_counted_in_the_steps_of_the_curve() -> None:
    curve = [CurveStep(50, 60, 4, 2), CurveStep(80, 90, 4, 4)]

    checked = check(curve, [*scored(40, True), *scored(70, False), *scored(99, True, False)])

    assert checked == [CurveStep(50, 60, 2, 1), CurveStep(80, 90, 2, 1)]
    assert error_of(curve, checked) == 0.25
    assert check([], scored(40, True)) == [], "one half may have no contracts"
    assert error_of(curve, [CurveStep(50, 60, 0, 0), CurveStep(80, 90, 0, 0)]) == 0


def test_the_halves_are_always_the_same_and_both_have_contracts() -> None:
    names = [f"{number}.pdf" for number in range(100)]

    halves = [half_of(name) for name in names]

    assert halves == [half_of(name) for name in names]
    assert 30 < halves.count("fit") < 70
