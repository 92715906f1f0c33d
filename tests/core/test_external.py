"""A record with an external driver: it is held at each gate until the stage behind it is asked for."""

import pytest
from msgspec.structs import replace

from stateward.core.model import (
    AUTO,
    HELD,
    OUTSIDE,
    SEQUENCING,
    Applied,
    Decision,
    Fields,
    is_held,
    rest_reason,
)
from stateward.core.view import (
    WaitContext,
    explain,
    sentence,
)
from stateward.pipelines.contracts.machine import CONTRACT
from stateward.pipelines.uploads.machine import UPLOAD
from stateward.testing.builders import ADA
from tests.core.builders import Story, a_contract, refusal

WINDMILL = "sequencer:windmill"
GOOD: Fields = {"final_confidence": 95, "valid": True}
DOUBTFUL: Fields = {"final_confidence": 50, "valid": True}


def outside(**opening: object) -> Story:
    return Story(CONTRACT, labels={SEQUENCING: OUTSIDE}, **opening)  # type: ignore[arg-type]


def asks_for(story: Story, stage: str, *, by: str = WINDMILL) -> Decision:
    return story.asks(f"{stage}.requested", by=by)


def runs(story: Story, stage: str, **parts: object) -> None:
    asks_for(story, stage)
    story.tries(**parts)  # type: ignore[arg-type]


def awaiting_review() -> Story:
    story = outside()
    runs(story, "parse")
    runs(story, "extract")
    story.tries(facts=DOUBTFUL)
    return story


def test_a_contract_with_an_external_driver_is_held_before_its_first_step() -> None:
    story = outside()

    assert (story.status, story.record.rest, story.record.waiting) == ("pending", HELD, None)
    assert is_held(story.record)
    assert story.last.metadata == {"rest": HELD}
    assert story.findings() == []


@pytest.mark.parametrize("labels", [{}, {SEQUENCING: AUTO}, {SEQUENCING: "else"}])
def test_every_other_contract_goes_its_way_by_itself(labels: Fields) -> None:
    story = Story(CONTRACT, labels=labels)

    assert (story.record.rest, story.record.waiting) == (None, "parse")


def test_a_machine_without_gates_heeds_no_such_label() -> None:
    story = Story(UPLOAD, labels={SEQUENCING: OUTSIDE})
    assert story.record.waiting == "parse"

    story.tries_in_vain()

    assert story.record.due_at is not None


def test_asking_lets_it_through_without_a_transition_and_the_next_one_says_who_asked() -> None:
    story = outside()

    decision = asks_for(story, "parse")

    assert isinstance(decision, Applied)
    assert len(story.history) == 1
    assert (story.record.waiting, story.record.asked_by) == ("parse", WINDMILL)
    assert rest_reason(story.record) is None
    assert story.findings() == []
    story.starts()
    assert story.last.metadata["asked_by"] == WINDMILL
    assert (story.record.asked_by, story.record.rest) == (None, None)
    assert story.findings() == []


def test_a_step_without_a_state_for_waiting_is_held_in_the_state_it_runs_in() -> None:
    story = outside()
    runs(story, "parse")
    assert (story.status, is_held(story.record)) == ("extracting", True)
    assert story.last.metadata["rest"] == HELD

    asks_for(story, "extract", by=ADA)
    story.starts()

    assert not is_held(story.record)
    assert rest_reason(story.record) is None
    assert story.findings() == []
    story.completes()
    assert (story.status, story.last.metadata["asked_by"]) == ("validating", ADA)


def test_what_lies_behind_one_gate_runs_through_to_the_next() -> None:
    story = outside()
    runs(story, "parse")
    runs(story, "extract")
    assert (story.status, story.record.waiting) == ("validating", "validate")

    story.tries(facts=GOOD)

    assert (story.status, is_held(story.record)) == ("validated", True)
    runs(story, "compare")
    assert story.status == "completed"
    assert [each.metadata.get("asked_by") for each in story.history] == [
        None, WINDMILL, None, WINDMILL, None, WINDMILL, None,
    ]  # fmt: skip


def test_both_ways_make_the_same_moves() -> None:
    by_itself = a_contract("completed")
    driven = outside()
    runs(driven, "parse")
    runs(driven, "extract")
    driven.tries(facts=GOOD)
    runs(driven, "compare")

    assert driven.path == by_itself.path
    assert [each.trigger for each in driven.history] == [each.trigger for each in by_itself.history]


def test_asking_twice_changes_nothing_more() -> None:
    story = outside()
    asks_for(story, "parse")

    assert refusal(asks_for(story, "parse")) == "duplicate"
    story.starts()
    assert refusal(asks_for(story, "parse")) == "impossible"


def test_a_step_that_is_not_next_cannot_be_asked_for() -> None:
    assert refusal(asks_for(outside(), "compare")) == "impossible"


def test_what_runs_by_itself_need_not_be_asked_for() -> None:
    assert refusal(asks_for(Story(CONTRACT), "parse")) == "impossible"


@pytest.mark.parametrize("actor", ["runner:w1", "clock", "coordinator"])
def test_only_people_and_external_drivers_ask_for_a_step(actor: str) -> None:
    assert refusal(asks_for(outside(), "parse", by=actor)) == "not_allowed"


def test_a_failure_waits_for_the_external_driver_and_a_retry_runs_at_once() -> None:
    story = outside()
    asks_for(story, "parse")
    story.tries_in_vain()
    assert (story.status, story.record.due_at) == ("failed", None)

    story.asks("retry.requested", by=WINDMILL)

    assert (story.status, story.record.waiting, story.record.rest) == ("parsing_pdf", "parse", None)
    story.tries()
    assert is_held(story.record), "the gate behind it is closed again"


def test_used_up_retries_end_it_as_they_do_otherwise() -> None:
    story = outside()
    asks_for(story, "parse")
    story.tries_in_vain()
    for _ in range(3):
        story.asks("retry.requested", by=WINDMILL)
        story.tries_in_vain()

    story.rings()

    assert (story.status, story.told) == ("rejected", ["exhausted"])


def test_an_external_driver_may_end_a_review_that_was_not_answered_in_the_time_it_gave() -> None:
    story = awaiting_review()

    story.asks("review.timed_out", by=WINDMILL)

    assert (story.status, story.last.actor) == ("timed_out", WINDMILL)


@pytest.mark.parametrize("actor", [ADA, "runner:w1", "coordinator"])
def test_no_other_actor_ends_it_before_its_deadline(actor: str) -> None:
    assert refusal(awaiting_review().asks("review.timed_out", by=actor)) == "not_allowed"


def test_an_external_driver_has_no_say_in_the_time_of_a_contract_that_is_not_its_own() -> None:
    story = a_contract("review_required")

    assert refusal(story.asks("review.timed_out", by=WINDMILL)) == "not_allowed"


def test_a_correction_stands_beside_what_the_stages_made() -> None:
    story = awaiting_review()
    made_at = story.record.version

    story.asks("review.corrected", count=2)

    assert story.record.outputs["review"] == made_at
    assert story.record.outputs["extract"] < made_at
    assert story.findings() == []


def test_an_approval_without_items_leaves_no_output() -> None:
    story = awaiting_review()

    story.asks("review.approved")

    assert "review" not in story.record.outputs


# What is seen of it


def test_why_it_is_held_is_explained() -> None:
    story = outside()

    why = explain(CONTRACT, story.record, WaitContext(now=story.now))

    assert why.code == "held"
    assert "until stage parse is requested" in why.sentence
    assert "stateward" in why.advice
    assert rest_reason(story.record) == HELD


def test_a_failure_that_waits_for_its_external_driver_says_so() -> None:
    story = outside()
    asks_for(story, "parse")
    story.tries_in_vain()

    why = explain(CONTRACT, story.record, WaitContext(now=story.now))

    assert why.code == "failed_outside"
    assert "its external driver decides" in why.sentence


def test_the_log_says_what_it_is_held_for_and_who_asked() -> None:
    story = outside()
    runs(story, "parse")

    assert "held: until its next stage is requested" in sentence(CONTRACT, story.last)
    assert "requested by windmill" in sentence(CONTRACT, story.history[1])
    by_hand = replace(story.history[1], metadata={"asked_by": "person:otto@4k2m"})
    assert "requested by otto)" in sentence(CONTRACT, by_hand)


# What it discloses


def test_a_contract_that_ended_early_discloses_only_what_it_came_by() -> None:
    story = a_contract("review_required")
    story.asks("review.rejected")

    assert set(CONTRACT.exposed(story.record)) == {
        "parse_log_ref", "extract_log_ref", "validate_log_ref", "final_confidence",
    }  # fmt: skip


def test_a_fact_that_a_machine_discloses_is_kept_with_the_record() -> None:
    story = a_contract("completed")

    assert CONTRACT.exposed(story.record)["final_confidence"] == 95
    assert "valid" not in story.record.fields


def test_a_fact_cannot_pose_as_a_count_or_a_log() -> None:
    story = Story(UPLOAD)
    story.starts()

    story.completes(count=3, facts={"observations_count": 7, "parse_log_ref": "x"})

    assert story.record.fields["observations_count"] == 3
    assert story.record.fields["parse_log_ref"] == "/logs/parse/UL_1"
