"""Records carried over to a newer version of their state machine."""

import pytest
from msgspec.structs import replace

from stateward.core.decide import can_continue, decide, start, upgrade
from stateward.core.machine import Machine
from stateward.core.model import Applied, Record
from stateward.core.retry import Retry
from stateward.pipelines.contracts.machine import CONTRACT
from stateward.pipelines.uploads.machine import UPLOAD
from stateward.testing.builders import ADA, NOW, a_machine, a_record, an_event
from tests.core.builders import Story, a_contract, an_upload

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


def test_an_upgrade_sends_no_notification_twice() -> None:
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
    assert can_continue(V2, record) is is_home


def test_a_failure_is_retried_by_the_newer_machine_though_its_step_has_a_new_name() -> None:
    grown = replace(V2, upgrades={1: {"new": "fresh", "reading": "looking"}})
    failed = a_record(
        V1,
        status="faulty",
        failed_from="reading",
        error_code="BROKEN",
        fields={"read_log_ref": "r"},
    )
    assert can_continue(grown, failed)

    decision = decide(grown, failed, an_event(failed, "retry.requested", actor=ADA), now=NOW)

    assert isinstance(decision, Applied)
    assert decision.change.record.status == "fresh"
    assert decision.change.record.machine_version == 2
    assert grown.exposed(failed) == {"read_log_ref": "r"}
