"""A record in words: transitions as lines of a log, and why it is where it is."""

import pytest
from msgspec.structs import replace

from stateward.core.machine import Machine
from stateward.core.model import SECOND, Record, plural, singular, to_iso
from stateward.core.retry import Retry
from stateward.core.view import (
    Explanation,
    WaitContext,
    explain,
    is_at_rest,
    note_codes,
    sentence,
)
from stateward.pipelines.contracts.machine import CONTRACT
from stateward.pipelines.literature.machine import DOCUMENT_MACHINE
from stateward.pipelines.uploads.machine import UPLOAD
from stateward.testing.builders import (
    NOW,
    a_machine,
    a_record,
    a_transition,
)
from tests.core.builders import Story, a_contract, a_paper, an_upload


def explained(story: Story, *, after_s: float = 0, **around: object) -> Explanation:
    """The explanation of a record, some time later."""
    now = story.now + round(after_s * SECOND)
    return explain(story.machine, story.record, WaitContext(now=now, **around))  # type: ignore[arg-type]


def because(machine: Machine, record: Record) -> Explanation:
    return explain(machine, record, WaitContext(now=NOW))


# A transition as one line of a log


def test_a_transition_reads_as_one_line() -> None:
    story = an_upload("parsed")

    lines = [sentence(UPLOAD, each) for each in story.history]

    assert lines == [
        "UL_1: new → queued_for_parse (upload.created)",
        "UL_1: queued_for_parse → parsing (parse.started)",
        "UL_1: parsing → parsed (parse.completed, 42 observations)",
    ]


def test_one_item_reads_in_the_singular() -> None:
    story = an_upload("parsing")
    story.completes(count=1)

    assert sentence(UPLOAD, story.last).endswith("(parse.completed, 1 observation)")


@pytest.mark.parametrize(
    ("count", "noun", "said"),
    [
        (1, "row", "1 row"),
        (0, "row", "0 rows"),
        (1200, "entry", "1,200 entries"),
        (2, "day", "2 days"),
    ],
)
def test_a_count_reads_with_its_noun(count: int, noun: str, said: str) -> None:
    assert plural(count, noun) == said
    assert singular(plural(2, noun).partition(" ")[2]) == noun


def test_a_failure_reads_with_its_error() -> None:
    story = an_upload("error")

    assert sentence(UPLOAD, story.last) == (
        "UL_1: parsing → error (parse.failed, BROKEN: it broke)"
    )


def test_a_request_reads_with_its_reason() -> None:
    story = an_upload("error")
    story.asks("retry.requested", reason="mended")

    assert sentence(UPLOAD, story.last) == (
        "UL_1: error → queued_for_parse (retry.requested, reason: mended)"
    )


def test_a_skipped_stage_reads_as_a_warning() -> None:
    story = an_upload("parsing")
    story.completes(count=0)

    assert sentence(UPLOAD, story.last) == (
        "UL_1: parsing → parsed (parse.completed, 0 observations, "
        "skipped: nothing for the next stage to do)"
    )


@pytest.mark.parametrize(
    ("trigger", "line"),
    [
        ("fetch.completed", "LT_1: new → pending (fetch.completed)"),
        ("document.skipped", "LT_1: new → pending (document.skipped)"),
    ],
)
def test_a_count_of_nothing_in_particular_is_left_out(trigger: str, line: str) -> None:
    counted = a_transition(a_record(DOCUMENT_MACHINE), trigger=trigger, metadata={"count": 3})

    assert sentence(DOCUMENT_MACHINE, counted) == line


def test_a_fact_that_looks_like_an_error_spoils_no_line() -> None:
    story = an_upload("parsing")
    story.completes(count=1, facts={"error_code": "E1"})

    assert sentence(UPLOAD, story.last) == (
        "UL_1: parsing → parsed (parse.completed, 1 observation, E1: None)"
    )


# Why it is where it is: waiting


def test_a_waiting_record_is_about_to_start_when_there_is_capacity() -> None:
    why = explained(an_upload(), workers_able=1, workers_free=1)

    assert why == Explanation(
        code="about_to_start", sentence="it is about to be dispatched to a worker for stage parse"
    )


def test_a_paused_stage_says_who_paused_it_and_how_to_go_on() -> None:
    why = explained(
        an_upload(), paused_by="person:ada", paused_stage="parse", pause_reason="bad parser"
    )

    assert why == Explanation(
        code="paused",
        sentence="stage parse is paused by ada (bad parser)",
        advice="stateward resume upload --stage parse",
    )


def test_a_pause_may_be_of_the_whole_machine_and_need_not_have_a_reason() -> None:
    why = explained(an_upload(), paused_by="person:ada")

    assert why == Explanation(
        code="paused",
        sentence="stage parse is paused by ada",
        advice="stateward resume upload",
    )


def test_a_record_that_no_worker_can_take_says_which_runner_is_missing() -> None:
    why = explained(an_upload(), workers_able=0)

    assert (why.code, why.sentence) == (
        "no_worker",
        "no worker that can run upload.parse is alive",
    )
    assert why.advice == "start one: stateward up, or stateward worker"


def test_a_record_behind_others_says_how_many() -> None:
    why = explained(an_upload(), workers_able=2, workers_free=0, ahead=17)

    assert (why.code, why.sentence) == (
        "queued",
        "every worker for stage parse is busy; 17 records are ahead of it",
    )


def test_a_record_without_a_coordinator_says_so() -> None:
    why = explained(an_upload(), workers_able=1, workers_free=1, is_coordinated=False)

    assert why.code == "no_coordinator"
    assert "has not been dispatched" in why.sentence


def test_a_stage_that_is_no_longer_declared_is_still_explained() -> None:
    why = because(UPLOAD, a_record(UPLOAD, waiting="translate"))

    assert why.sentence == "no worker that can run its stage is alive"


def test_a_record_that_waits_in_its_running_state_is_waiting() -> None:
    assert explained(a_contract("extracting")).code == "no_worker"


def test_who_waits_for_a_record_is_told_at_once_of_what_no_retry_can_cure() -> None:
    story = a_contract("parsing_pdf")
    story.fails("NOT_A_PDF", is_fatal=True)

    assert story.record.due_at is not None
    assert is_at_rest(story.machine, story.record)


def test_a_failure_that_is_retried_by_itself_is_not_the_end() -> None:
    story = a_contract("parsing_pdf")
    story.fails("BUSY")

    assert not is_at_rest(story.machine, story.record)


def test_a_record_with_nothing_in_it_rests() -> None:
    story = an_upload("parsing")
    story.completes(count=0)

    why = explained(story)

    assert (why.code, why.sentence) == (
        "skipped",
        "the last stage produced nothing, so the next one was skipped; it stays in parsed",
    )


@pytest.mark.parametrize("kind", ["ready", "running"])
def test_a_record_that_no_stage_takes_waits_for_an_event(kind: str) -> None:
    machine = a_machine(
        initial="draft",
        states={
            "draft": kind,
            "new": "ready",
            "reading": "running",
            "read": "terminal",
            "broken": "failed",
        },
        moves=[
            {"from": "draft", "to": "new", "on": "note.sent"},
            {"from": "draft", "to": "read", "on": "note.dropped"},
        ],
    )

    why = because(machine, a_record(machine))

    assert (why.code, why.sentence) == (
        "waiting_for_event",
        "no stage processes it in draft; it waits for note.dropped or note.sent",
    )


# Why it is where it is: under way


def test_a_running_record_says_who_has_it_for_how_long_and_until_when() -> None:
    story = an_upload("parsing")
    assert story.record.due_at is not None

    why = explained(story, after_s=12)

    until = to_iso(story.record.due_at)
    assert why == Explanation(
        code="running",
        sentence=f"worker w1 has been running it for 12 s; its timeout is at {until}",
        until=until,
    )


def test_a_record_whose_worker_is_gone_says_that_another_will_take_it() -> None:
    why = explained(an_upload("parsing"), after_s=30, is_worker_lost=True)

    assert (why.code, why.sentence) == (
        "worker_lost",
        "worker w1, which ran it for 30 s, is gone; another worker will run it",
    )


def test_what_went_out_over_a_transport_is_lost_with_the_coordinator_that_sent_it() -> None:
    why = explained(an_upload("parsing"), is_worker_lost=True, is_sent=True)

    assert why.code == "worker_lost"
    assert "the coordinator that sent it over the transport is gone" in why.sentence


def test_an_overdue_record_says_so() -> None:
    story = an_upload("parsing")
    assert story.record.due_at is not None

    why = explained(story, after_s=4000)

    assert why == Explanation(
        code="overdue",
        sentence="worker w1 has been running it for 4000 s, past its timeout",
        advice="check that a coordinator runs: it ends overdue attempts",
        until=to_iso(story.record.due_at),
    )


def test_a_suspended_record_waits_for_a_person() -> None:
    story = a_contract("review_required")

    why = explained(story)

    until = to_iso(NOW + 86_400 * SECOND)
    assert why == Explanation(
        code="waiting_for_person",
        sentence=f"it is in review and waits for a decision until {until}",
        advice="decide it: stateward review show CW_1",
        until=until,
    )


def test_a_record_that_no_review_belongs_to_waits_for_a_move_and_names_it() -> None:
    why = because(DOCUMENT_MACHINE, a_record(DOCUMENT_MACHINE, status="legacy"))

    assert why.sentence == "it waits until a person moves it to pending or skipped"
    assert why.advice.endswith("document.adopted or document.skipped")
    assert "review" not in why.advice
    assert (why.code, why.until) == ("waiting_for_person", None)


# Why it is where it is: failed


def test_a_failed_record_says_when_it_is_retried_and_how_to_be_faster() -> None:
    story = an_upload("error")

    why = explained(story)

    until = to_iso(NOW + 60 * SECOND)
    assert why == Explanation(
        code="waiting_for_retry",
        sentence=f"it failed (BROKEN: it broke); retry 1 of 3 is due at {until}",
        advice="stateward retry UL_1 retries it at once",
        until=until,
    )


def test_a_record_that_was_asked_to_wait_is_not_advised_to_be_retried_at_once() -> None:
    until = NOW + 30 * SECOND

    why = explained(an_upload("error"), asked_until=until)
    later = explained(an_upload("error"), after_s=30, asked_until=until)

    assert why.code == "asked_to_wait"
    assert why.advice.startswith("wait: what it asked wants to be left alone until")
    assert why.until == to_iso(NOW + 60 * SECOND)
    assert later.code == "waiting_for_retry"


def test_a_retry_that_is_due_moves_on_as_soon_as_a_coordinator_runs() -> None:
    why = explained(an_upload("error"), after_s=60)

    assert why == Explanation(
        code="retry_due",
        sentence="it failed (BROKEN: it broke) and is due to be moved on",
        advice="if this lasts, check that a coordinator runs",
        until=to_iso(NOW + 60 * SECOND),
    )


@pytest.mark.parametrize(
    ("retries_max", "retries", "said"),
    [
        (0, 0, "it failed, and nothing is retried automatically here: BROKEN: it broke"),
        (5, 0, "it failed, and an automatic retry cannot cure it: BROKEN: it broke"),
        (5, 5, "it failed after 5 automatic retries: BROKEN: it broke"),
    ],
)
def test_a_failed_record_with_no_retry_left_needs_a_person(
    retries_max: int, retries: int, said: str
) -> None:
    story = Story(UPLOAD.tuned(retry=Retry(max_retries=0)))
    story.tries_in_vain()
    machine = UPLOAD.tuned(retry=Retry(max_retries=retries_max))
    record = replace(story.record, retry_count=retries)

    why = explain(machine, record, WaitContext(now=NOW))

    advice = "fix the cause, then: stateward retry UL_1"
    assert why == Explanation(code="failed", sentence=said, advice=advice)


def test_a_cancelled_record_did_not_fail() -> None:
    story = Story(UPLOAD)
    story.asks("cancel.requested", reason="sent by mistake")

    why = explained(story)

    assert (why.code, why.sentence) == ("cancelled", "it was cancelled: sent by mistake")
    assert sentence(UPLOAD, story.last).count("sent by mistake") == 1


def test_codes_of_notes_are_told_once() -> None:
    notes = ["MISSING: the date", "NOT_CHECKED: no total", "MISSING: the payee"]

    assert note_codes(notes) == "MISSING (2), NOT_CHECKED"


def test_a_stage_whose_runner_is_not_installed_needs_more_than_a_worker() -> None:
    around = WaitContext(now=NOW, is_runner_installed=False)

    why = explain(UPLOAD, Story(UPLOAD).record, around)

    assert why.code == "no_runner"
    assert "install the pipeline" in why.advice


def test_a_reopened_record_says_who_reopened_it_and_where_it_resumes() -> None:
    story = a_paper("failed")
    story.asks("retry.requested")

    why = explained(story)

    assert (why.code, why.sentence) == (
        "reopened",
        "a person reopened it; it resumes from fetching",
    )


def test_an_end_from_which_it_may_be_retried_says_what_failed() -> None:
    record = a_record(
        DOCUMENT_MACHINE, status="failed", error_code="NOT_FOUND", error_message="no such paper"
    )

    why = because(DOCUMENT_MACHINE, record)

    assert (why.code, why.advice) == ("failed", f"fix the cause, then: stateward retry {record.id}")
    assert why.sentence.endswith("NOT_FOUND: no such paper")


@pytest.mark.parametrize(
    ("machine", "status"),
    [(UPLOAD, "normalized"), (CONTRACT, "timed_out"), (DOCUMENT_MACHINE, "skipped")],
)
def test_what_has_ended_says_where(machine: Machine, status: str) -> None:
    why = because(machine, a_record(machine, status=status))

    assert why == Explanation(code="ended", sentence=f"finished: {status}")


def test_what_ended_by_a_failure_says_which() -> None:
    ended = a_record(CONTRACT, status="rejected", error_code="NO_ORDER", error_message="no order")

    assert because(CONTRACT, ended).sentence == "finished: rejected (NO_ORDER: no order)"
