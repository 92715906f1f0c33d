"""Failures: retries, resuming, exhaustion, reopening and cancelling."""

import pytest
from msgspec.structs import replace

from stateward.core.decide import decide
from stateward.core.model import SECOND, Ignored, Json, Notify
from stateward.core.retry import Retry
from stateward.pipelines.literature.machine import DOCUMENT_MACHINE
from stateward.pipelines.uploads.machine import UPLOAD
from stateward.testing.builders import ADA, NOW, a_record, an_event
from tests.core.builders import HOUR_S, Story, StoryTo, a_contract, a_paper, an_upload, refusal

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


@pytest.mark.parametrize(
    ("said", "waits_s"),
    [(7200, 7200), (5.5, 60), (10**400, 86_400), (-1, 60), (True, 60), ("7200", 60), (None, 60)],
)
def test_a_retry_waits_as_long_as_the_failure_asks_for(said: Json, waits_s: int) -> None:
    story = an_upload("parsing")

    story.happens("parse.failed", error_code="BUSY", facts={"retry_after_s": said})
    failed = story.record
    story.rings()

    assert failed.due_at == NOW + waits_s * SECOND
    assert story.record.retry_count == 1


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
                "error_message": "it broke (after 3 retries)",
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
        (a_paper, "fetching", "failed"),
    ],
)
def test_what_no_retry_can_cure_is_not_retried_and_is_told(
    tell: StoryTo, status: str, rests_in: str
) -> None:
    story = tell(status)

    story.fails("NOT_A_PDF", is_fatal=True)

    assert story.status == rests_in
    assert story.record.due_at is None
    assert story.told == ["failed"]


def test_what_no_retry_can_cure_waits_a_day_for_a_person_and_is_then_given_up_with_its_reason() -> (
    None
):
    story = a_contract("parsing_pdf")

    story.fails("NOT_A_PDF", is_fatal=True)
    failed = story.record
    story.rings()

    assert (failed.status, failed.due_at, story.told) == (
        "failed", failed.entered_at + 24 * HOUR_S * 1_000_000, ["failed"],
    )  # fmt: skip
    assert (story.status, story.record.error_code) == ("rejected", "NOT_A_PDF")
    assert story.record.rest is None
    assert story.findings() == []


def test_what_no_retry_can_cure_is_given_up_even_if_retries_are_allowed_meanwhile() -> None:
    story = a_contract("parsing_pdf")
    retrying, never = story.machine, replace(story.machine.retry, max_retries=0)
    story.machine = replace(retrying, retry=never)
    story.fails("NOT_A_PDF", is_fatal=True)

    story.machine = retrying
    story.rings()

    assert (story.status, story.record.rest) == ("rejected", None)
    assert story.findings() == []


def test_a_person_may_retry_what_no_retry_can_cure_before_it_is_given_up() -> None:
    story = a_contract("parsing_pdf")
    story.fails("NOT_A_PDF", is_fatal=True)

    story.asks("retry.requested", by=ADA)

    assert (story.status, story.record.rest, story.record.due_at) == ("parsing_pdf", None, None)


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


# A machine whose last stage ends where no retry is: there is no way back from there to its own state.
STRANDING = replace(
    DOCUMENT_MACHINE,
    stages=(*DOCUMENT_MACHINE.stages[:-1], replace(DOCUMENT_MACHINE.stages[-1], resume="indexed")),
)


def test_the_graph_is_the_law_whatever_a_record_says() -> None:
    odd = a_record(STRANDING, status="retrying", error_code="BROKEN", failed_from="indexed")

    decision = decide(STRANDING, odd, an_event(odd, "retry.requested", actor=ADA), now=NOW)

    assert decision == Ignored(
        reason="impossible", detail="literature has no transition from 'retrying' to 'indexed'"
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


def test_a_paper_that_is_not_found_is_embedded_again() -> None:
    story = a_paper("indexed")
    story.asks("confirm.failed", by="coordinator", error_code="NOT_SEARCHABLE")

    story.asks("retry.requested")
    story.rings()

    assert story.path[-4:] == ["indexed", "failed", "retrying", "embedding"]
    assert story.findings() == []


def test_what_has_no_step_to_resume_at_is_not_reopened() -> None:
    lost = a_record(STRANDING, status="failed", error_code="BROKEN", failed_from="indexed")

    decision = decide(STRANDING, lost, an_event(lost, "retry.requested", actor=ADA), now=NOW)

    assert decision == Ignored(
        reason="impossible",
        detail="LT_1 has no step to resume at; submit its document as a new record",
    )


def test_an_imported_failure_is_not_reopened() -> None:
    imported = a_record(DOCUMENT_MACHINE, status="failed")

    decision = decide(
        DOCUMENT_MACHINE, imported, an_event(imported, "retry.requested", actor=ADA), now=NOW
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
    tell: StoryTo, status: str, to: str
) -> None:
    story = tell(status)
    left = story.record

    story.asks("cancel.requested")

    assert story.status == to
    assert (story.record.error_code, story.record.error_message) == (
        "CANCELLED",
        "Cancelled by ada",
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
def test_cancelling_is_refused_where_the_graph_has_no_such_edge(tell: StoryTo, status: str) -> None:
    story = tell(status)

    decision = story.asks("cancel.requested")

    assert decision == Ignored(
        reason="impossible", detail=f"cancel.requested has no effect in {story.status!r}"
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
