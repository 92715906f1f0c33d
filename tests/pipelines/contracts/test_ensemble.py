"""Two readings made one: agreement raises, silence lowers, disagreement sinks, and nothing ungrounded passes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.pipelines.contracts.ensemble import combine
from stateward.pipelines.contracts.extraction import Extraction, FoundValue
from stateward.pipelines.kit.documents import TextPlace
from tests.pipelines.contracts.builders import the_rules

RULES = the_rules()
GYM = RULES.vertical("gym")
HERE = TextPlace(page=1, start=0, end=4)


def a_found(value: str | None, field: str = "monthly_fee", **changes: object) -> FoundValue:
    given = {
        "field": field,
        "value": value,
        "raw": value or "",
        "confidence": 88,
        "source": "rules/1",
        "place": HERE,
    }
    return FoundValue(**(given | changes))  # type: ignore[arg-type]  # fmt: skip


def fused(ours: list[FoundValue], theirs: list[FoundValue]) -> Extraction:
    by_rules = Extraction(
        vertical="gym", provider="Muscle House", found=ours, extractor="rules/1", about={"vertical_seen": "gym"}
    )  # fmt: skip
    by_model = Extraction(
        vertical="insurance", provider="Evil", found=theirs, extractor="model/1", about={"model": "m"}
    )  # fmt: skip
    return combine(by_rules, by_model, GYM, RULES)


def model(value: str, field: str = "monthly_fee", **changes: object) -> FoundValue:
    return a_found(value, field, **({"confidence": 70, "source": "model/x"} | changes))


@pytest.mark.parametrize(
    ("ours", "theirs", "score", "source"),
    [
        ([a_found("29.90")], [model("29.9")], 95, "both"),
        ([a_found("29.90", confidence=40)], [model("29.90")], 95, "both"),
        ([a_found("29.90", place=None)], [model("29.90", place=None)], 60, "both"),
        ([a_found("29.90")], [model("29.90", place=None, confidence=60)], 95, "both"),
        ([a_found("29.90")], [], 70, "rules/1"),
        ([a_found("29.90", confidence=55)], [], 55, "rules/1"),
        ([], [model("29.90")], 70, "model/x"),
        ([], [model("29.90", place=None, confidence=60)], 60, "model/x"),
        ([a_found("29.90")], [model("19.90")], 40, "rules/1"),
        ([a_found("29.90", place=None)], [model("19.90")], 40, "model/x"),
    ],
)
def test_agreement_is_the_score(
    ours: list[FoundValue], theirs: list[FoundValue], score: int, source: str
) -> None:
    (found,) = fused(ours, theirs).found

    assert (found.confidence, found.source) == (score, source)


def test_a_disagreement_names_the_other_value() -> None:
    (found,) = fused([a_found("29.90")], [model("19.90")]).found

    assert found.value == "29.90"
    assert "model/x says '19.90'" in found.why


def test_several_values_are_matched_with_their_like() -> None:
    ours = [a_found("Ann Ant", "member"), a_found("Cat Cow", "member")]
    theirs = [model("Ben Bee", "member"), model("Ann Ant", "member")]

    found = fused(ours, theirs).found

    assert [(each.value, each.confidence) for each in found] == [
        ("Ann Ant", 95),
        ("Cat Cow", 70),
        ("Ben Bee", 70),
    ]


def test_an_empty_field_of_the_rules_stays_empty() -> None:
    (found,) = fused([a_found(None)], []).found

    assert found.value is None


def test_neither_the_vertical_nor_the_provider_is_the_models_to_say() -> None:
    extraction = fused([a_found("29.90")], [model("29.90")])

    assert (extraction.vertical, extraction.provider) == ("gym", "Muscle House")
    assert extraction.extractor == "rules/1+model/1"
    assert extraction.about == {"vertical_seen": "gym", "model": {"model": "m"}}


values = st.sampled_from(["29.90", "19.90", "29.9", "1000.00"])
places = st.sampled_from([HERE, None])
readings = st.lists(
    st.builds(
        lambda value, at, score: a_found(value, place=at, confidence=score),
        values,
        places,
        st.integers(min_value=0, max_value=100),
    ),
    max_size=2,
)


@given(readings, readings)
def test_nothing_goes_past_a_person_unless_both_say_it_and_it_stands_there(
    ours: list[FoundValue], theirs: list[FoundValue]
) -> None:
    for found in fused(ours, theirs).found:
        if found.confidence >= 80:
            assert found.place is not None
            assert found.source == "both"
            said = [each.value for each in theirs if each.value]
            assert any(float(each) == float(found.value or 0) for each in said)
