"""Which events count: timeouts, senders, late, repeated and impossible events, and clocks that go back."""

import pytest

from stateward.core.model import SECOND, Applied, Ignored
from stateward.core.timers import due_event
from stateward.pipelines.contracts.machine import CONTRACT
from stateward.pipelines.uploads.machine import UPLOAD
from stateward.testing.builders import NOW, a_machine, an_event
from tests.core.builders import (
    HOUR_S,
    Story,
    StoryTo,
    a_contract,
    a_paper,
    after,
    an_upload,
    refusal,
)

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
    tell: StoryTo, status: str, message: str
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


# Who may say what


@pytest.mark.parametrize(
    ("type_", "status"), [("parse.completed", "parsed"), ("parse.failed", "error")]
)
@pytest.mark.parametrize("actor", ["runner:w1", "sequencer:windmill", "coordinator"])
def test_runners_external_drivers_and_the_coordinator_report_on_a_stage(
    type_: str, status: str, actor: str
) -> None:
    story = an_upload("parsing")

    story.happens(type_, actor=actor)

    assert (story.record.status, story.last.actor) == (status, actor)


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

    assert decision == Ignored(
        reason="stale", detail="UL_1 is at version 2, the event is about version 1"
    )


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

    assert decision == Ignored(
        reason="ahead", detail="UL_1 is at version 1, the event is about version 9"
    )


def test_an_event_that_means_nothing_here_is_impossible() -> None:
    decision = an_upload("parsing").happens("normalize.completed")

    assert decision == Ignored(
        reason="impossible", detail="normalize.completed has no effect in 'parsing'"
    )


def test_an_event_that_the_machine_never_heard_of_is_unknown() -> None:
    decision = an_upload("parsing").happens("parse.exploded")

    assert decision == Ignored(
        reason="unknown_event", detail="upload has no event 'parse.exploded'"
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
