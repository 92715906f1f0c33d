"""A submission dispatches its record itself where it may: nothing is overtaken, lost or doubled by that."""

import pytest

from stateward.core.errors import InvalidRequest
from stateward.core.machine import CANCEL_REQUESTED
from stateward.engine.coordinator import Submission
from stateward.testing.rig import Rig
from tests.engine.histories import statuses


def test_a_new_record_goes_to_a_free_worker_with_its_submission(rig: Rig) -> None:
    rig.worker()

    record = rig.open()

    assert (record.status, record.version) == ("queued_for_parse", 0)
    assert statuses(rig, record) == ["queued_for_parse", "parsing"]
    assert [(work.record_id, work.version) for work in rig.work()] == [(record.id, 1)]
    assert rig.verify().is_sound


def test_a_new_record_does_not_overtake_what_waits(rig: Rig) -> None:
    first = rig.open()
    rig.worker(slots=1)

    second = rig.open()
    rig.settle()

    assert rig.now(first).status == "parsing"
    assert rig.now(second).status == "queued_for_parse"


def test_a_new_record_does_not_overtake_work_that_was_lost(rig: Rig) -> None:
    rig.worker("gone")
    lost = rig.open()
    rig.bus.remove_worker("gone")
    rig.bus.release_orphans()
    rig.worker(slots=1)

    new = rig.open()
    rig.settle()

    assert [work.record_id for work in rig.work()] == [lost.id]
    assert rig.now(new).status == "queued_for_parse"


def test_while_workers_are_busy_the_rest_of_a_submission_waits(rig: Rig) -> None:
    rig.worker(slots=2)
    opening = Submission(machine="upload", actor="person:x")

    submitted = rig.coordinator.submit([opening] * 5)
    later = rig.open()

    assert len(rig.work()) == 2
    waiting = [rig.now(each.record).waiting for each in submitted]
    assert sorted(map(str, waiting)) == ["None", "None", "parse", "parse", "parse"]
    assert rig.now(later).waiting == "parse"


def test_a_document_that_is_known_already_is_not_dispatched_again(rig: Rig) -> None:
    rig.worker()
    record = rig.open(dedupe="d")

    opening = Submission(machine="upload", actor="person:x", dedupe="d")
    again = rig.coordinator.submit([opening] * 2)

    assert [each.record.id for each in again] == [record.id] * 2
    assert [work.record_id for work in rig.work()] == [record.id]
    assert rig.now(record).version == 1


def test_a_record_that_is_cancelled_as_it_is_submitted_goes_to_no_free_worker(rig: Rig) -> None:
    rig.worker()
    plain = Submission(machine="upload", actor="person:x")
    left_out = Submission(
        machine="upload", actor="person:x", dedupe="d", move=CANCEL_REQUESTED, move_reason="known"
    )

    submitted = rig.coordinator.submit([left_out, plain, left_out])

    first, second, again = (each.record for each in submitted)
    assert [each.is_duplicate for each in submitted] == [False, False, True]
    assert again.id == first.id
    assert [work.record_id for work in rig.work()] == [second.id]
    assert statuses(rig, first) == ["queued_for_parse", "error"]
    assert rig.store.history(first.id)[-1].metadata["reason"] == "known"
    assert rig.verify().is_sound


def test_a_first_move_that_the_machine_does_not_have_creates_no_record(rig: Rig) -> None:
    opening = Submission(machine="upload", actor="person:x", move="review.approved")

    with pytest.raises(InvalidRequest, match="not possible from 'queued_for_parse'"):
        rig.coordinator.submit([opening])

    assert rig.work() == []
    assert rig.verify().records == 0


def test_a_worker_that_is_killed_after_the_hand_over_loses_and_doubles_nothing(rig: Rig) -> None:
    rig.worker("killed")
    record = rig.open()
    (before,) = rig.work("killed")
    rig.bus.remove_worker("killed")
    rig.bus.release_orphans()
    rig.worker("other")
    rig.settle()
    (work,) = rig.work("other")

    is_late_written = rig.complete(before, items=7)
    rig.run(items=2)

    assert (work.version, work.delivery) == (before.version, before.delivery + 1)
    assert not is_late_written
    assert statuses(rig, record) == [
        "queued_for_parse", "parsing", "parsed", "normalizing", "normalized",
    ]  # fmt: skip
    assert [result.count for result in rig.outputs.attempts(record.id)] == [2, 2]
    assert rig.verify().is_sound
