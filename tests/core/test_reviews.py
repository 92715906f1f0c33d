"""Reviews: one question, one answer, one deadline."""

import pytest

from stateward.core.model import SECOND, Ignored, plain_actor
from stateward.testing.builders import ADA, an_event
from tests.core.builders import HOUR_S, a_contract, refusal


def test_a_review_asks_a_person_once_with_a_deadline() -> None:
    story = a_contract("review_required")

    (ask,) = story.asked
    assert (ask.record_id, ask.review) == ("CW_1", "review")
    assert ask.version == story.record.version
    assert ask.deadline == story.record.due_at == story.now + 24 * HOUR_S * SECOND


@pytest.mark.parametrize(
    ("answer", "to"),
    [("approved", "validated"), ("corrected", "validated"), ("rejected", "rejected")],
)
def test_an_answer_moves_the_record_on(answer: str, to: str) -> None:
    story = a_contract("review_required")

    story.asks(f"review.{answer}", reason="seen", facts={"task": 7})

    assert story.status == to
    assert story.last.actor == ADA
    assert story.last.metadata == {"reason": "seen", "task": 7}
    assert story.record.due_at is None
    assert story.told == []


def test_after_validated_only_the_log_tells_who_validated_it() -> None:
    by_rule, by_person = a_contract("validated"), a_contract("review_required")
    by_person.asks("review.approved")

    by_rule.tries()
    by_person.tries()

    assert by_rule.status == by_person.status == "completed"
    assert "review_required" in by_person.path
    assert "review_required" not in by_rule.path


def test_an_external_driver_may_bring_the_answer_of_a_person() -> None:
    story = a_contract("review_required")

    story.asks("review.approved", by="sequencer:windmill")

    assert story.status == "validated"


@pytest.mark.parametrize("actor", ["runner:w1", "clock", "coordinator", "", "persona:x"])
def test_no_other_actor_may_answer_a_review(actor: str) -> None:
    story = a_contract("review_required")

    decision = story.asks("review.approved", by=actor)

    assert decision == Ignored(
        reason="not_allowed", detail=f"{plain_actor(actor)} is not allowed to send review.approved"
    )


def test_a_second_answer_to_the_same_question_is_refused() -> None:
    story = a_contract("review_required")
    question = story.record
    story.hear(an_event(question, "review.approved", actor=ADA))

    decision = story.hear(an_event(question, "review.rejected", actor="person:bob"))

    assert refusal(decision) == "stale"
    assert story.status == "validated"


def test_a_review_without_an_answer_for_a_day_times_out() -> None:
    story = a_contract("review_required")
    deadline = story.record.due_at

    story.rings()

    assert story.status == "timed_out"
    assert story.last.at == deadline
    assert story.last.trigger == "review.timed_out"
    assert story.told == []


def test_a_review_times_out_by_the_clock_alone() -> None:
    story = a_contract("review_required")
    story.passes(25 * HOUR_S)

    assert refusal(story.asks("review.timed_out")) == "not_allowed"
    assert story.status == "review_required"
