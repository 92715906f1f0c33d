"""An answer to a review: when it was given, and what follows from one that ends in a failed state."""

from stateward.core.errors import InvalidCorrection
from stateward.core.machine import Machine
from stateward.core.view import WaitContext, explain
from stateward.definition.declare import declare
from tests.core.builders import Story


def a_machine() -> Machine:
    return declare(
        machine="memo",
        version=1,
        prefix="ME",
        initial="new",
        states={
            "new": "ready", "reading": "running", "read": "suspended", "approved": "terminal", "error": "failed",
        },
        stages={
            "scan": {"from": "new", "running": "reading", "outcomes": {"done": "read"}, "on_error": "error"},
        },
        reviews={
            "approval": {
                "state": "read", "of": "scan", "outcomes": {"approved": "approved", "rejected": "error"},
                "timeout_s": 60, "on_timeout": "error",
            },
        },
        expose={"approval_timestamp": "approved"},
    )  # fmt: skip


def a_read_memo() -> Story:
    story = Story(a_machine())
    story.tries()
    return story


def test_an_approval_says_when_it_was_given() -> None:
    story = a_read_memo()

    story.asks("approval.approved")

    assert story.status == "approved"
    assert str(story.machine.exposed(story.record)["approval_timestamp"]).startswith("20")


def test_a_rejection_that_fails_rests_until_a_person_retries_the_stage_that_was_reviewed() -> None:
    story = a_read_memo()

    story.asks("approval.rejected")

    assert (story.status, story.record.error_code) == ("error", "REVIEW_REJECTED")
    assert (story.record.failed_from, story.record.due_at) == ("reading", None)
    why = explain(story.machine, story.record, WaitContext(now=story.record.entered_at))
    assert why.sentence.startswith("it was rejected in review: Rejected by ")

    story.asks("retry.requested")
    assert story.status == "new"
    assert story.findings() == []


def test_a_review_without_an_answer_fails_with_a_code_of_its_own() -> None:
    story = a_read_memo()

    story.rings()

    assert (story.status, story.record.error_code) == ("error", "REVIEW_TIMED_OUT")
    assert story.record.due_at is None


def test_a_refused_correction_names_each_field_once() -> None:
    faults = [("contract_end", "contract_end: is in the past"), ("term", "terminates never")]

    refused = InvalidCorrection("CW_1", faults)

    said = "contract_end: is in the past; term: terminates never"
    assert str(refused) == f"CW_1 cannot be accepted like this: {said}"
