"""What does happen: the life of a record in each machine, told as stories."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from stateward.core.decide import (
    GRACE_S,
    begin,
    decide,
    is_at_home,
    rank_of,
    start,
    upgrade,
)
from stateward.core.machine import Machine
from stateward.core.model import (
    SECOND,
    Applied,
    Fields,
    Ignored,
    Micros,
    Notify,
    Record,
)
from stateward.core.retry import Retry
from stateward.core.timers import due_event
from stateward.pipelines.contracts import CONTRACT
from stateward.pipelines.literature import LITERATURE
from stateward.pipelines.statements import UPLOAD
from stateward.testing.builders import (
    ADA,
    NOW,
    a_machine,
    a_record,
    an_event,
)
from tests.core.builders import Story, a_contract, a_paper, an_upload, refusal

HOUR_S = 3600
Teller = Callable[[str], Story]


def after(timeout_s: float, now: Micros = NOW) -> Micros:
    """When the coordinator gives an attempt up: its worker gets a little time to do so first."""
    return now + round((timeout_s + GRACE_S) * SECOND)


# A record is opened


def test_a_record_is_opened_at_version_zero_in_the_initial_state() -> None:
    applied = begin(
        UPLOAD,
        record_id="UL_7",
        now=NOW,
        actor=ADA,
        artifact="sha-1",
        dedupe="d1",
        labels={"bank": "x"},
        reason="again",
        replaces="UL_6",
    )

    record, transition = applied.change.record, applied.change.transition
    assert applied.change.expected is None
    assert (record.status, record.version, record.waiting) == ("queued_for_parse", 0, "parse")
    assert (record.artifact, record.dedupe, record.labels) == ("sha-1", "d1", {"bank": "x"})
    assert record.replaces == "UL_6"
    assert record.fields == {"upload_log_ref": "/logs/upload/UL_7"}
    assert transition is not None
    assert (transition.source, transition.target) == (None, "queued_for_parse")
    assert (transition.record_id, transition.version, transition.at) == ("UL_7", 0, NOW)
    assert (transition.actor, transition.trigger) == (ADA, "upload.created")
    assert transition.event_id == "UL_7:0:upload.created"
    assert transition.metadata == {"reason": "again", "replaces": "UL_6"}


def test_a_record_is_opened_with_nothing_but_an_id() -> None:
    applied = begin(UPLOAD, record_id="UL_7", now=NOW, actor=ADA)

    assert applied.change.transition is not None
    assert applied.change.transition.metadata == {}
    assert applied.change.record.replaces is None


# The life of an upload


def test_an_upload_goes_from_the_queue_to_normalized() -> None:
    story = Story(UPLOAD)

    story.tries(count=42)
    story.tries(count=40)

    assert story.path == ["queued_for_parse", "parsing", "parsed", "normalizing", "normalized"]
    assert [each.version for each in story.history] == [0, 1, 2, 3, 4]
    assert [each.trigger for each in story.history] == [
        "upload.created",
        "parse.started",
        "parse.completed",
        "normalize.started",
        "normalize.completed",
    ]
    assert [each.event_id for each in story.history[1:3]] == [
        "UL_1:1:parse.started",
        "UL_1:2:parse.completed",
    ]
    assert [each.attempt for each in story.history] == [None, 1, 1, 3, 3]
    assert story.record.outputs == {"parse": 1, "normalize": 3}
    assert story.told == []
    assert story.findings() == []


def test_a_worker_is_named_with_the_attempt_that_it_was_given() -> None:
    story = an_upload()

    story.starts(worker="parser-3")

    assert story.record.worker == "parser-3"
    assert story.record.waiting is None
    assert story.last.actor == "coordinator"
    assert story.last.attempt == story.record.version == 1
    assert story.last.metadata == {"worker": "parser-3", "retry_count": 0}


def test_a_change_says_which_version_it_expects_to_find() -> None:
    queued, extracting = an_upload(), a_contract("extracting")
    running = an_upload("parsing").record

    moved = start(UPLOAD, queued.record, worker="w1", now=NOW).change
    handed = start(CONTRACT, extracting.record, worker="w1", now=NOW).change
    decided = decide(UPLOAD, running, an_event(running, "parse.failed"), now=NOW)

    assert isinstance(decided, Applied)
    assert (moved.expected, handed.expected, decided.change.expected) == (0, 2, 1)


def test_a_running_record_is_due_when_its_timeout_comes() -> None:
    story = Story(UPLOAD.tuned(timeouts_s={"parsing": 120.0}))

    story.starts()

    assert story.record.due_at == after(120)


def test_what_has_ended_takes_no_more_events() -> None:
    story = an_upload("normalized")

    reasons = [
        refusal(story.asks(type_))
        for type_ in ("retry.requested", "cancel.requested", "normalize.completed")
    ]

    assert reasons == ["impossible"] * 3
    assert story.record.version == 4


# The life of a contract


def test_a_contract_that_passes_every_check_needs_no_person() -> None:
    story = a_contract("completed", confidence=80)

    assert story.path == [
        "pending",
        "parsing_pdf",
        "extracting",
        "validating",
        "validated",
        "comparing",
        "completed",
    ]
    assert story.asked == []
    assert story.findings() == []


def test_a_stage_without_a_state_for_waiting_starts_without_a_transition() -> None:
    story = a_contract("extracting")
    before = story.record

    story.starts()

    assert before.waiting == "extract"
    assert len(story.history) == 3
    assert story.record.version == before.version
    assert story.record == replace(before, waiting=None, worker="w1", due_at=after(600))


def test_work_of_a_lost_worker_starts_anew_under_the_same_version() -> None:
    story = an_upload("parsing")
    story.passes(60)

    story.starts(worker="w2")

    assert story.record.worker == "w2"
    assert story.record.version == 1
    assert story.record.due_at == after(HOUR_S, story.now)


@pytest.mark.parametrize(
    ("facts", "to"),
    [
        ({"final_confidence": 80, "valid": True}, "validated"),
        ({"final_confidence": 100.0, "valid": True}, "validated"),
        ({"final_confidence": 79.999, "valid": True}, "review_required"),
        ({"final_confidence": 100, "valid": False}, "review_required"),
        ({"final_confidence": "100", "valid": True}, "review_required"),
        ({"final_confidence": 100}, "review_required"),
        ({"valid": True}, "review_required"),
        ({}, "review_required"),
    ],
)
def test_only_a_sure_and_valid_contract_gets_past_the_person(facts: Fields, to: str) -> None:
    story = a_contract("validating")

    story.tries(facts=facts)

    assert story.status == to
    assert story.last.metadata == facts


# Reviews


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


def test_after_validated_nobody_can_tell_who_validated_it_except_from_the_log() -> None:
    by_rule, by_person = a_contract("validated"), a_contract("review_required")
    by_person.asks("review.approved")

    by_rule.tries()
    by_person.tries()

    assert by_rule.status == by_person.status == "completed"
    assert "review_required" in by_person.path
    assert "review_required" not in by_rule.path


def test_a_sequencer_may_bring_the_answer_of_a_person() -> None:
    story = a_contract("review_required")

    story.asks("review.approved", by="sequencer:windmill")

    assert story.status == "validated"


@pytest.mark.parametrize("actor", ["runner:w1", "clock", "coordinator", "", "persona:x"])
def test_nobody_else_may_answer_a_review(actor: str) -> None:
    story = a_contract("review_required")

    decision = story.asks("review.approved", by=actor)

    assert decision == Ignored(reason="not_allowed", detail=f"review.approved is not for {actor}")


def test_a_second_answer_to_the_same_question_is_refused() -> None:
    story = a_contract("review_required")
    question = story.record
    story.hear(an_event(question, "review.approved", actor=ADA))

    decision = story.hear(an_event(question, "review.rejected", actor="person:bob"))

    assert refusal(decision) == "stale"
    assert story.status == "validated"


def test_nobody_answers_for_a_day_and_it_times_out() -> None:
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


# The life of a paper


def test_a_paper_goes_through_all_its_steps() -> None:
    story = a_paper("completed")

    assert story.path == [
        "pending",
        "fetching",
        "fetched",
        "parsing",
        "parsed",
        "validating",
        "validated",
        "ir_building",
        "ir_ready",
        "embedding",
        "indexed",
        "completed",
    ]
    assert story.findings() == []


@pytest.mark.parametrize(
    ("status", "type_", "to"),
    [
        ("pending", "document.skipped", "skipped"),
        ("ir_ready", "document.completed", "completed"),
    ],
)
def test_a_paper_can_be_moved_by_name(status: str, type_: str, to: str) -> None:
    by_person, by_sequencer = a_paper(status), a_paper(status)

    by_person.asks(type_)
    by_sequencer.asks(type_, by="sequencer:windmill")

    assert by_person.status == by_sequencer.status == to
    assert refusal(a_paper(status).happens(type_)) == "not_allowed"


@pytest.mark.parametrize(
    ("type_", "to", "waiting"),
    [("document.adopted", "pending", "fetch"), ("document.skipped", "skipped", None)],
)
def test_an_imported_paper_is_adopted_or_skipped(type_: str, to: str, waiting: str | None) -> None:
    imported = a_record(LITERATURE, status="legacy")

    decision = decide(LITERATURE, imported, an_event(imported, type_, actor=ADA), now=NOW)

    assert isinstance(decision, Applied)
    assert (decision.change.record.status, decision.change.record.waiting) == (to, waiting)


def test_a_suspended_state_without_a_review_asks_nobody_and_has_no_deadline() -> None:
    machine = a_machine(
        states={
            "new": "ready",
            "reading": "running",
            "held": "suspended",
            "read": "terminal",
            "broken": "failed",
        },
        moves=[
            {"from": "new", "to": "held", "on": "note.held"},
            {"from": "held", "to": "read", "on": "note.closed"},
        ],
    )
    story = Story(machine)

    story.asks("note.held")

    assert story.record.due_at is None
    assert story.effects == []
    assert due_event(machine, story.record, now=NOW) is None


def test_a_state_that_no_stage_takes_from_waits_for_nothing() -> None:
    machine = a_machine(
        initial="draft",
        states={
            "draft": "ready",
            "new": "ready",
            "reading": "running",
            "read": "terminal",
            "broken": "failed",
        },
        moves=[{"from": "draft", "to": "new", "on": "note.sent"}],
    )
    story = Story(machine)
    assert story.record.waiting is None

    story.asks("note.sent")

    assert story.record.waiting == "read"


# Retries


@pytest.mark.parametrize(
    ("status", "resumed"), [("parsing", "queued_for_parse"), ("normalizing", "parsed")]
)
def test_an_upload_resumes_before_the_step_that_failed(status: str, resumed: str) -> None:
    story = an_upload(status)
    story.fails("BAD_PDF", "metadata corrupted")
    failed = story.record

    story.rings()

    assert (failed.status, failed.failed_from) == ("error", status)
    assert (failed.error_code, failed.error_message) == ("BAD_PDF", "metadata corrupted")
    assert failed.due_at == NOW + 60 * SECOND
    assert story.status == resumed
    assert (story.record.retry_count, story.record.last_retry_at) == (1, NOW + 60 * SECOND)
    assert (story.record.error_code, story.record.error_message) == (None, None)
    assert story.record.failed_from is None


@pytest.mark.parametrize("step", ["parsing_pdf", "extracting", "validating", "comparing"])
def test_a_contract_resumes_at_the_very_step_that_failed(step: str) -> None:
    story = a_contract(step)
    story.starts()
    outputs = story.record.outputs

    story.fails()
    story.rings()

    assert story.path[-2:] == ["failed", step]
    assert story.history[-2].metadata["failed_at_step"] == step
    assert story.record.waiting == story.stage.name
    assert story.record.outputs == outputs, "earlier steps are not run again"


@pytest.mark.parametrize("step", ["fetching", "parsing", "validating", "ir_building", "embedding"])
def test_a_paper_resumes_at_the_running_state_of_the_step_that_failed(step: str) -> None:
    story = a_paper(step)

    story.fails()
    story.rings()

    assert story.path[-2:] == ["retrying", step]


def test_waits_grow_from_retry_to_retry() -> None:
    story = an_upload()
    waits = []

    for _ in range(3):
        story.tries_in_vain()
        waits.append((story.record.due_at or 0) - story.now)
        story.rings()

    assert waits == [60 * SECOND, 300 * SECOND, 900 * SECOND]


def test_a_person_need_not_wait_for_the_next_retry() -> None:
    story = an_upload("error")

    story.asks("retry.requested", reason="mended")

    assert story.status == "queued_for_parse"
    assert story.record.retry_count == 1
    assert story.last.metadata == {"reason": "mended", "retry_count": 1}


def test_an_exhausted_upload_rests_in_error_and_tells_once() -> None:
    story = an_upload()

    for _ in range(3):
        story.tries_in_vain()
        assert story.told == []
        story.rings()
    story.tries_in_vain()

    assert story.status == "error"
    assert story.record.retry_count == 3
    assert story.record.due_at is None
    assert story.effects == [
        Notify(
            record_id="UL_1",
            version=story.record.version,
            topic="exhausted",
            facts={
                "status": "error",
                "error_code": "BROKEN",
                "error_message": "it broke",
                "retry_count": 3,
            },
        )
    ]
    assert story.findings() == []


def test_an_exhausted_upload_can_still_be_retried_by_a_person_but_not_by_the_clock() -> None:
    story = Story(UPLOAD.tuned(retry=Retry(max_retries=0)))
    story.tries_in_vain()

    assert refusal(story.happens("retry.due", actor="clock")) == "ahead"
    story.asks("retry.requested")

    assert story.status == "queued_for_parse"


def test_an_exhausted_contract_is_rejected_and_tells_once() -> None:
    story = a_contract("extracting")

    for _ in range(3):
        story.tries_in_vain()
        story.rings()
    story.tries_in_vain()
    assert story.told == [], "it is told at its end"
    story.rings()

    assert story.path[-2:] == ["failed", "rejected"]
    assert story.last.trigger == "retries.exhausted"
    assert story.last.metadata["retry_count"] == 3
    assert story.told == ["exhausted"]
    assert story.record.due_at is None
    assert story.findings() == []


def test_an_exhausted_contract_is_not_retried_even_by_a_person() -> None:
    story = a_contract("extracting")
    for _ in range(3):
        story.tries_in_vain()
        story.asks("retry.requested")
    story.tries_in_vain()

    decision = story.asks("retry.requested")

    assert decision == Ignored(
        reason="impossible", detail="CW_1 was retried 3 times, and moves to 'rejected'"
    )


def test_a_contract_whose_last_retry_fails_for_good_is_rejected_too() -> None:
    story = a_contract("extracting")
    for _ in range(3):
        story.tries_in_vain()
        story.rings()

    story.tries_in_vain(is_fatal=True)
    story.rings()

    assert story.status == "rejected"


def test_nothing_is_given_up_while_retries_are_left() -> None:
    story = a_contract("extracting")
    story.tries_in_vain()
    story.passes(HOUR_S)

    decision = story.happens("retries.exhausted", actor="clock")

    assert decision == Ignored(reason="impossible", detail="CW_1 has retries left")


def test_an_exhausted_paper_fails_at_once_and_tells_once() -> None:
    story = a_paper("fetching")

    for _ in range(3):
        story.fails()
        story.rings()
    story.fails()

    assert story.path[-3:] == ["retrying", "fetching", "failed"]
    assert story.told == ["exhausted"]
    assert story.record.due_at is None
    assert story.findings() == []


@pytest.mark.parametrize(
    ("tell", "status", "rests_in"),
    [
        (an_upload, "parsing", "error"),
        (a_contract, "parsing_pdf", "failed"),
        (a_paper, "fetching", "failed"),
    ],
)
def test_what_no_retry_can_cure_is_not_retried_and_is_told(
    tell: Teller, status: str, rests_in: str
) -> None:
    story = tell(status)

    story.fails("NOT_A_PDF", is_fatal=True)

    assert story.status == rests_in
    assert story.record.due_at is None
    assert story.told == ["failed"]


@pytest.mark.parametrize("actor", ["runner:w1", "clock", "coordinator"])
def test_only_who_may_ask_asks_for_a_retry(actor: str) -> None:
    assert refusal(an_upload("error").asks("retry.requested", by=actor)) == "not_allowed"


@pytest.mark.parametrize("actor", [ADA, "sequencer:windmill", "runner:w1", "coordinator"])
def test_only_the_clock_says_that_a_retry_is_due(actor: str) -> None:
    story = an_upload("error")
    story.passes(HOUR_S)

    assert refusal(story.asks("retry.due", by=actor)) == "not_allowed"


def test_a_record_that_forgot_where_it_failed_is_not_retried() -> None:
    lost = a_record(UPLOAD, status="error", error_code="BROKEN", failed_from=None)

    decision = decide(UPLOAD, lost, an_event(lost, "retry.requested", actor=ADA), now=NOW)

    assert decision == Ignored(
        reason="impossible", detail="UL_1 does not say at which step it failed"
    )


def test_the_graph_is_the_law_whatever_a_record_says() -> None:
    odd = a_record(LITERATURE, status="retrying", error_code="BROKEN", failed_from="indexed")

    decision = decide(LITERATURE, odd, an_event(odd, "retry.requested", actor=ADA), now=NOW)

    assert decision == Ignored(
        reason="impossible", detail="literature has no way from 'retrying' to 'indexed'"
    )


# Reopening


def test_a_person_reopens_a_failed_paper_and_it_is_tried_once_more() -> None:
    story = a_paper("parsing")
    for _ in range(3):
        story.fails()
        story.rings()
    story.fails()

    story.asks("retry.requested", reason="the source is back")
    assert story.status == "retrying"
    assert (story.record.error_code, story.record.due_at) == (None, story.now)
    story.rings()

    assert story.path[-3:] == ["failed", "retrying", "parsing"]
    assert story.record.retry_count == 4
    story.fails()
    assert story.status == "failed", "one more try is one more"
    assert story.told == ["exhausted", "exhausted"]
    assert story.findings() == []


@pytest.mark.parametrize("actor", ["sequencer:windmill", "runner:w1", "clock", "coordinator"])
def test_only_a_person_reopens_what_has_failed(actor: str) -> None:
    assert refusal(a_paper("failed").asks("retry.requested", by=actor)) == "not_allowed"


def test_what_has_no_step_to_resume_at_is_not_reopened() -> None:
    story = a_paper("indexed")
    story.starts()
    story.fails()

    decision = story.asks("retry.requested")

    assert story.path[-2:] == ["indexed", "failed"]
    assert decision == Ignored(
        reason="impossible",
        detail="LT_1 has no step to resume at; submit its document as a new record",
    )


def test_an_imported_failure_is_not_reopened() -> None:
    imported = a_record(LITERATURE, status="failed")

    decision = decide(
        LITERATURE, imported, an_event(imported, "retry.requested", actor=ADA), now=NOW
    )

    assert refusal(decision) == "impossible"


# Cancelling


@pytest.mark.parametrize(
    ("tell", "status", "to"),
    [
        (an_upload, "queued_for_parse", "error"),
        (an_upload, "parsing", "error"),
        (an_upload, "parsed", "error"),
        (an_upload, "normalizing", "error"),
        (a_contract, "parsing_pdf", "failed"),
        (a_contract, "extracting", "failed"),
        (a_contract, "validating", "failed"),
        (a_contract, "comparing", "failed"),
        (a_paper, "fetching", "failed"),
        (a_paper, "fetched", "failed"),
        (a_paper, "parsing", "failed"),
        (a_paper, "parsed", "failed"),
        (a_paper, "validating", "failed"),
        (a_paper, "validated", "failed"),
        (a_paper, "ir_building", "failed"),
        (a_paper, "ir_ready", "failed"),
        (a_paper, "embedding", "failed"),
        (a_paper, "indexed", "failed"),
        (a_paper, "retrying", "failed"),
    ],
)
def test_cancelling_is_a_failure_where_the_graph_has_one(
    tell: Teller, status: str, to: str
) -> None:
    story = tell(status)
    left = story.record

    story.asks("cancel.requested")

    assert story.status == to
    assert (story.record.error_code, story.record.error_message) == (
        "CANCELLED",
        "Cancelled by person:ada",
    )
    assert story.record.failed_from == (left.failed_from or left.status)
    assert story.record.due_at is None, "what a person cancelled does not start again by itself"
    assert story.told == []
    assert story.findings() == []


@pytest.mark.parametrize(
    ("tell", "status"),
    [
        (an_upload, "normalized"),
        (an_upload, "error"),
        (a_contract, "pending"),
        (a_contract, "validated"),
        (a_contract, "review_required"),
        (a_contract, "completed"),
        (a_paper, "pending"),
        (a_paper, "completed"),
        (a_paper, "failed"),
    ],
)
def test_cancelling_is_refused_where_the_graph_has_no_such_edge(tell: Teller, status: str) -> None:
    story = tell(status)

    decision = story.asks("cancel.requested")

    assert decision == Ignored(
        reason="impossible", detail=f"cancel.requested means nothing in {story.status!r}"
    )


def test_who_cancels_may_say_why() -> None:
    story = an_upload("parsing")

    story.asks("cancel.requested", reason="wrong file")

    assert story.record.error_message == "wrong file"
    assert story.last.metadata == {
        "error_code": "CANCELLED",
        "error_message": "wrong file",
        "failed_at_step": "parsing",
        "reason": "wrong file",
    }


@pytest.mark.parametrize(
    ("status", "resumed"), [("queued_for_parse", "queued_for_parse"), ("parsed", "parsed")]
)
def test_what_was_cancelled_while_it_waited_can_be_retried(status: str, resumed: str) -> None:
    story = an_upload(status)
    story.asks("cancel.requested")

    story.asks("retry.requested")

    assert story.status == resumed
    assert story.record.waiting is not None


@pytest.mark.parametrize("actor", ["runner:w1", "clock", "coordinator"])
def test_runners_and_clocks_cancel_nothing(actor: str) -> None:
    assert refusal(an_upload("parsing").asks("cancel.requested", by=actor)) == "not_allowed"


# Timeouts


def test_a_timeout_says_what_took_too_long_and_follows_the_retry_rule() -> None:
    story = Story(UPLOAD.tuned(timeouts_s={"parsing": 120.0}))
    story.starts()

    story.rings()

    assert story.status == "error"
    assert story.record.error_code == "TIMEOUT"
    assert story.record.error_message == "Parsing timeout (120s)"
    assert story.record.due_at == story.now + 60 * SECOND


@pytest.mark.parametrize(
    ("tell", "status", "message"),
    [
        (a_contract, "parsing_pdf", "Parsing pdf timeout (300s)"),
        (a_paper, "ir_building", "Ir building timeout (3600s)"),
    ],
)
def test_a_timeout_is_worded_after_the_running_state(
    tell: Teller, status: str, message: str
) -> None:
    story = tell(status)

    story.rings()

    assert story.record.error_message == message


def test_a_timeout_is_never_early() -> None:
    story = an_upload("parsing")
    assert story.record.due_at is not None
    story.now = story.record.due_at - 1

    decision = story.happens("parse.timed_out", actor="clock")

    assert decision == Ignored(reason="ahead", detail="parse.timed_out is not due yet in 'parsing'")


def test_a_timeout_of_the_lost_worker_does_not_hit_the_next_one() -> None:
    story = a_contract("extracting")
    story.starts(worker="w1")
    story.now = after(600)
    late = due_event(CONTRACT, story.record, now=story.now)
    assert late is not None
    story.starts(worker="w2")

    assert refusal(story.hear(late)) == "ahead"
    assert story.record.worker == "w2"


def test_ten_clocks_ringing_at_once_count_once() -> None:
    story = an_upload("parsing")
    story.now = after(HOUR_S)
    rings = [due_event(UPLOAD, story.record, now=story.now) for _ in range(10)]

    decisions = [story.hear(ring) for ring in rings if ring is not None]

    assert {ring.id for ring in rings if ring is not None} == {"UL_1:2:parse.timed_out"}
    assert isinstance(decisions[0], Applied)
    assert [refusal(each) for each in decisions[1:]] == ["stale"] * 9


def test_what_has_ended_or_only_waits_is_never_due() -> None:
    assert due_event(UPLOAD, an_upload().record, now=NOW) is None
    assert due_event(UPLOAD, an_upload("normalized").record, now=NOW) is None


def test_a_runner_that_says_nothing_more_has_still_failed() -> None:
    story = an_upload("parsing")

    story.happens("parse.failed")

    assert (story.record.error_code, story.record.error_message) == ("STAGE_FAILED", "STAGE_FAILED")


# A stage that found nothing


def test_nothing_found_means_that_the_next_stage_is_skipped() -> None:
    story = an_upload("parsing")

    story.completes(count=0)

    assert (story.status, story.record.rest, story.record.waiting) == ("parsed", "skipped", None)
    assert story.last.metadata == {"count": 0, "rest": "skipped"}
    assert story.findings() == [], "it rests, it is not stuck"


def test_a_count_that_was_not_given_is_nothing_found() -> None:
    story = an_upload("parsing")

    story.completes(count=None)

    assert story.record.fields["observations_count"] == 0
    assert story.record.rest == "skipped"


def test_nothing_found_by_the_last_stage_is_an_end_like_any_other() -> None:
    story = an_upload("normalizing")

    story.completes(count=0)

    assert (story.status, story.record.rest) == ("normalized", None)


def test_a_stage_that_makes_no_items_skips_nothing() -> None:
    story = a_paper("fetching")

    story.completes()

    assert (story.status, story.record.rest, story.record.waiting) == ("fetched", None, "parse")


# Who may say what


@pytest.mark.parametrize("type_", ["parse.completed", "parse.failed"])
@pytest.mark.parametrize("actor", ["runner:w1", "sequencer:windmill", "coordinator"])
def test_runners_sequencers_and_the_coordinator_report_on_a_stage(type_: str, actor: str) -> None:
    assert isinstance(an_upload("parsing").happens(type_, actor=actor), Applied)


@pytest.mark.parametrize("type_", ["parse.completed", "parse.failed", "parse.timed_out"])
def test_people_do_not_report_on_a_stage(type_: str) -> None:
    assert refusal(an_upload("parsing").asks(type_)) == "not_allowed"


def test_a_runner_must_say_which_attempt_it_speaks_of() -> None:
    decision = an_upload("parsing").happens("parse.completed", version=None, count=1)

    assert refusal(decision) == "not_allowed"


def test_who_asks_may_mean_whatever_is_there_now() -> None:
    story = an_upload("parsing")

    assert isinstance(story.asks("cancel.requested", version=None), Applied)
    assert isinstance(
        an_upload("parsing").happens("parse.completed", version=None, actor="sequencer:windmill"),
        Applied,
    )


# Late, early, twice, or nonsense


def test_an_event_that_was_applied_changes_nothing_the_second_time() -> None:
    story = an_upload("parsing")
    event = an_event(story.record, "parse.completed", count=42)
    story.hear(event)

    decision = story.hear(event)

    assert decision == Ignored(reason="stale", detail="UL_1 is at version 2, the event speaks of 1")


def test_the_result_of_an_attempt_that_timed_out_is_not_taken_for_the_next_one() -> None:
    story = an_upload("parsing")
    late = an_event(story.record, "parse.completed", count=42)
    story.rings()
    story.rings()
    story.starts()
    assert story.status == "parsing"

    assert refusal(story.hear(late)) == "stale"


def test_an_event_about_a_version_that_is_not_there_yet_is_ahead() -> None:
    decision = an_upload("parsing").happens("parse.completed", version=9)

    assert decision == Ignored(reason="ahead", detail="UL_1 is at version 1, the event speaks of 9")


def test_an_event_that_means_nothing_here_is_impossible() -> None:
    decision = an_upload("parsing").happens("normalize.completed")

    assert decision == Ignored(
        reason="impossible", detail="normalize.completed means nothing in 'parsing'"
    )


def test_an_event_that_the_machine_never_heard_of_is_unknown() -> None:
    decision = an_upload("parsing").happens("parse.exploded")

    assert decision == Ignored(
        reason="unknown_event", detail="upload knows no event 'parse.exploded'"
    )


def test_an_outcome_that_the_stage_does_not_have_is_unknown() -> None:
    decision = an_upload("parsing").happens("parse.completed", outcome="maybe", count=1)

    assert decision == Ignored(
        reason="unknown_outcome", detail="stage parse has no outcome 'maybe'; it has: done"
    )


def test_each_outcome_of_a_stage_leads_to_its_own_state() -> None:
    machine = a_machine(
        states={
            "new": "ready",
            "reading": "running",
            "read": "terminal",
            "blank": "terminal",
            "broken": "failed",
        },
        stages={
            "read": {
                "from": "new",
                "running": "reading",
                "outcomes": {"done": "read", "empty": "blank"},
                "on_error": "broken",
            }
        },
    )
    story = Story(machine)
    story.starts()

    story.happens("read.completed", outcome="empty", trace="t-1")

    assert story.status == "blank"
    assert story.last.metadata == {"outcome": "empty", "trace": "t-1"}


# Time


def test_time_never_runs_backwards_in_a_record() -> None:
    story = an_upload()

    story.passes(-HOUR_S)
    story.starts()
    story.passes(-HOUR_S)
    story.fails()
    story.passes(-HOUR_S)
    story.asks("retry.requested")

    assert [each.at for each in story.history] == [NOW] * 4
    assert story.record.entered_at == story.record.last_retry_at == NOW
    assert story.findings() == []


def test_a_clock_set_back_makes_no_wait_shorter() -> None:
    story = Story(UPLOAD.tuned(timeouts_s={"parsing": 120.0}))
    story.passes(-HOUR_S)

    story.starts()
    timeout_at = story.record.due_at
    story.fails()

    assert timeout_at == after(120)
    assert story.record.due_at == NOW + 60 * SECOND


# Progressive disclosure


UPLOAD_LOG = {"upload_log_ref": "/logs/upload/UL_1"}
PARSE_LOG = {**UPLOAD_LOG, "parse_log_ref": "/logs/parse/UL_1"}
PARSED: dict[str, object] = {**PARSE_LOG, "observations_count": 42}
NORMALIZE_LOG = {**PARSED, "normalizer_log_ref": "/logs/normalize/UL_1"}
NORMALIZED = {**NORMALIZE_LOG, "canonicals_count": 40}


@pytest.mark.parametrize(
    ("status", "fields"),
    [
        ("queued_for_parse", UPLOAD_LOG),
        ("parsing", PARSE_LOG),
        ("parsed", PARSED),
        ("normalizing", NORMALIZE_LOG),
        ("normalized", NORMALIZED),
    ],
)
def test_an_upload_discloses_exactly_what_is_due(status: str, fields: Fields) -> None:
    assert UPLOAD.exposed(an_upload(status).record) == fields


@pytest.mark.parametrize(
    ("status", "fields"),
    [
        ("queued_for_parse", UPLOAD_LOG),
        ("parsing", PARSE_LOG),
        ("parsed", PARSED),
        ("normalizing", NORMALIZE_LOG),
    ],
)
def test_an_error_discloses_what_was_reached_before_it(status: str, fields: Fields) -> None:
    story = an_upload(status)

    story.asks("cancel.requested")

    assert story.status == "error"
    assert UPLOAD.exposed(story.record) == fields


def test_a_retry_hides_again_what_is_not_reached() -> None:
    story = an_upload("normalizing")

    story.fails()
    story.rings()

    assert UPLOAD.exposed(story.record) == PARSED


def test_the_log_of_a_step_can_be_asked_for_as_soon_as_it_is_entered() -> None:
    story = a_contract("extracting")

    assert CONTRACT.exposed(story.record) == {
        "parse_log_ref": "/logs/parse/CW_1",
        "extract_log_ref": "/logs/extract/CW_1",
    }


def test_a_failed_state_that_was_imported_discloses_what_every_failed_one_may() -> None:
    imported = a_record(UPLOAD, status="error")

    assert set(UPLOAD.exposed(imported)) == set(UPLOAD.expose)


# A machine that grows


V1 = a_machine(
    stages={
        "read": {
            "from": "new",
            "running": "reading",
            "outcomes": {"done": "read"},
            "on_error": "broken",
            "on_error_waiting": "broken",
            "produces": "lines",
        }
    },
    expose={"read_log_ref": "reading"},
)

V2 = a_machine(
    version=2,
    initial="fresh",
    states={
        "fresh": "ready",
        "looking": "running",
        "seen": "ready",
        "filing": "running",
        "read": "terminal",
        "faulty": "failed",
    },
    stages={
        "read": {
            "from": "fresh",
            "running": "looking",
            "outcomes": {"done": "seen"},
            "on_error": "faulty",
            "on_error_waiting": "faulty",
            "produces": "lines",
        },
        "file": {
            "from": "seen",
            "running": "filing",
            "outcomes": {"done": "read"},
            "on_error": "faulty",
        },
    },
    expose={"read_log_ref": "looking"},
    upgrades={"1": {"new": "fresh", "reading": "looking", "broken": "faulty"}},
)


def upgraded(record: Record, machine: Machine = V2) -> Applied:
    applied = upgrade(machine, record, now=NOW)
    assert applied is not None
    return applied


def test_a_record_in_a_renamed_state_is_carried_over() -> None:
    story = Story(V1)
    story.passes(60)

    change = upgraded(story.record).change

    assert (change.expected, change.record.version) == (0, 1)
    assert (change.record.status, change.record.waiting) == ("fresh", "read")
    assert change.record.machine_version == 2
    assert change.transition is not None
    assert change.transition.record_id == "NT_1"
    assert change.transition.event_id == "NT_1:1:machine.upgraded"
    assert change.transition.trigger == "machine.upgraded"
    assert change.transition.actor == "coordinator"
    assert change.transition.metadata == {"from_machine_version": 1}


def test_a_record_under_way_is_handed_out_again_after_the_upgrade() -> None:
    story = Story(V1)
    story.starts()

    carried = upgraded(story.record).change.record

    assert (carried.status, carried.waiting, carried.worker) == ("looking", "read", None)
    handed = start(V2, carried, worker="w2", now=NOW).change.record
    assert (handed.status, handed.worker, handed.version) == ("looking", "w2", carried.version)


def test_a_failed_record_is_carried_over_with_the_step_it_failed_at() -> None:
    story = Story(V1)
    story.tries_in_vain()
    due_at = story.record.due_at

    carried = upgraded(story.record).change.record

    assert (carried.status, carried.failed_from) == ("faulty", "looking")
    assert carried.due_at == due_at, "the retry comes when it was due"
    assert V2.exposed(carried) == {"read_log_ref": "/logs/read/NT_1"}
    retried = decide(V2, carried, an_event(carried, "retry.requested", actor=ADA), now=NOW)
    assert isinstance(retried, Applied)
    assert retried.change.record.status == "fresh"


def test_what_was_cancelled_is_not_started_again_by_an_upgrade() -> None:
    story = Story(V1)
    story.asks("cancel.requested")

    carried = upgraded(story.record).change.record

    assert (carried.status, carried.failed_from, carried.due_at) == ("faulty", "fresh", None)


def test_an_upgrade_tells_nobody_twice() -> None:
    story = Story(V1.tuned(retry=Retry(max_retries=0)))
    story.tries_in_vain()
    assert story.told == ["exhausted"]

    assert upgraded(story.record).change.effects == ()


def test_what_was_skipped_stays_skipped_after_an_upgrade() -> None:
    story = an_upload("parsing")
    story.completes(count=0)
    renamed = replace(
        UPLOAD, version=2, initial="parsed", upgrades={1: {"parsed": "queued_for_parse"}}
    )

    carried = upgraded(story.record, renamed).change.record

    assert (carried.rest, carried.waiting) == ("skipped", None)


def test_a_question_is_asked_again_under_its_new_version() -> None:
    story = a_contract("review_required")
    grown = replace(CONTRACT, version=2, upgrades={1: {"review_required": "asking"}})
    states = tuple(
        replace(each, name="asking") if each.name == "review_required" else each
        for each in CONTRACT.states
    )
    grown = replace(
        grown, states=states, reviews=(replace(CONTRACT.reviews[0], state="asking"),), stages=()
    )

    change = upgraded(story.record, grown).change

    assert [effect.version for effect in change.effects] == [story.record.version + 1]


def test_a_state_that_kept_its_name_needs_no_carrying_over() -> None:
    assert upgrade(V2, a_record(V1, status="read"), now=NOW) is None
    assert upgrade(V2, a_record(V2), now=NOW) is None


@pytest.mark.parametrize(
    ("record", "is_home"),
    [
        (a_record(V2, status="seen"), True),
        (a_record(V1, status="read"), True),
        (a_record(V1, status="new"), False),
        (a_record(V1, status="reading"), False),
        (a_record(V2, status="read", machine_version=3), False),
        (a_record(V1, status="faulty", failed_from="reading"), True),
        (a_record(V1, status="faulty", failed_from="guessing"), False),
    ],
)
def test_a_machine_goes_on_with_what_it_knows(record: Record, is_home: bool) -> None:
    assert is_at_home(V2, record) is is_home


def test_a_failure_is_retried_by_the_newer_machine_though_its_step_has_a_new_name() -> None:
    grown = replace(V2, upgrades={1: {"new": "fresh", "reading": "looking"}})
    failed = a_record(
        V1,
        status="faulty",
        failed_from="reading",
        error_code="BROKEN",
        fields={"read_log_ref": "r"},
    )
    assert is_at_home(grown, failed)

    decision = decide(grown, failed, an_event(failed, "retry.requested", actor=ADA), now=NOW)

    assert isinstance(decision, Applied)
    assert decision.change.record.status == "fresh"
    assert decision.change.record.machine_version == 2
    assert grown.exposed(failed) == {"read_log_ref": "r"}


# Whose turn it is


def test_a_higher_priority_goes_first_and_then_the_oldest() -> None:
    queue = [(1, 5, "normal"), (2, 10, "vip"), (3, 5, "late"), (0, 1, "batch"), (4, 7, "filing")]

    ranked = sorted(
        (rank_of(created_at=NOW + age * SECOND, priority=priority, ageing_s=600), name)
        for age, priority, name in queue
    )

    assert [name for _, name in ranked] == ["vip", "filing", "normal", "late", "batch"]


def test_no_class_starves() -> None:
    old = rank_of(created_at=NOW, priority=1, ageing_s=60)
    new = rank_of(created_at=NOW + (9 * 60 + 1) * SECOND, priority=10, ageing_s=60)

    assert old < new, "nine points of priority are worth nine minutes of waiting, no more"


def test_without_ageing_the_oldest_goes_first() -> None:
    assert rank_of(created_at=NOW, priority=1, ageing_s=0) < rank_of(
        created_at=NOW + 1, priority=10, ageing_s=0
    )


def test_a_record_keeps_its_place_from_its_birth_on() -> None:
    story = an_upload(priority=10, ageing_s=60.0)
    rank = story.record.rank

    story.tries(count=1)

    assert rank == NOW - 600 * SECOND
    assert story.record.rank == rank
