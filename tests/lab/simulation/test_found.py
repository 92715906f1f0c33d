"""What the simulation found in the engine, each as the shortest history that shows it."""

import pytest

from stateward.core.model import (
    Applied,
    Event,
    Ignored,
    Record,
    event_id,
)
from stateward.pipelines.uploads.machine import UPLOAD
from stateward.storage.pauses import Pause
from stateward.storage.sqlite import MEMORY, SqliteDatabase
from stateward.testing.rig import Rig


@pytest.fixture
def rig() -> Rig:
    return Rig(SqliteDatabase(MEMORY), [UPLOAD])


def test_an_outside_event_whose_id_looks_like_ours_counts_once(rig: Rig) -> None:
    """Seed 12409: ids that follow from record and version are not kept, so they were not recognised."""
    rig.worker()
    record = rig.open()
    rig.settle()
    event = Event(
        id=event_id(record.id, makes=2, type_="parse.failed"), type="parse.failed", record_id=record.id,
        version=None, at=rig.clock(), actor="sequencer:flow", error_code="FLOW",
    )  # fmt: skip
    (first,) = rig.coordinator.handle([event])
    rig.ask("retry.requested", record)
    rig.settle()
    assert rig.now(record).status == "parsing"

    (second,) = rig.coordinator.handle([event])

    assert isinstance(first, Applied)
    assert isinstance(second, Ignored)
    assert second.reason == "duplicate"
    assert rig.now(record).status == "parsing"
    ids = [each.event_id for each in rig.store.history(record.id)]
    assert len(ids) == len(set(ids))


def test_an_id_that_only_looks_like_ours_is_no_duplicate(rig: Rig) -> None:
    rig.worker()
    record = rig.open()
    rig.settle()

    (decision,) = rig.coordinator.handle(
        [
            Event(
                id=f"{record.id}:7:parse.failed", type="parse.failed", record_id=record.id,
                version=None, at=rig.clock(), actor="sequencer:flow",
            )
        ]
    )  # fmt: skip

    assert isinstance(decision, Applied)


def test_what_was_cancelled_in_the_same_turn_keeps_no_record_out_of_the_queue(rig: Rig) -> None:
    """Law P1: a place in the queue that the batch itself had emptied hid the next in line."""
    rig.worker(slots=10)
    rig.store.pauses.add(_pause())
    oldest, older, newest = _later(rig), _later(rig), _later(rig)
    rig.settle()
    work = {each.record_id: each for each in rig.work()}
    rig.complete(work[oldest.id])
    rig.complete(work[older.id])
    rig.settle()
    rig.store.pauses.lift("upload", "normalize", now=1)
    rig.worker(slots=1)

    rig.complete(work[newest.id])
    rig.bus.report([_cancel(rig, oldest)])
    rig.coordinator.turn()

    statuses = [rig.now(each).status for each in (oldest, older, newest)]
    assert statuses == ["error", "normalizing", "parsed"]


def _later(rig: Rig) -> Record:
    rig.clock.pass_s(1)
    return rig.open()


def _pause() -> Pause:
    return Pause(machine="upload", stage="normalize", at=0, actor="person:op", reason=None)


def _cancel(rig: Rig, record: Record) -> Event:
    seen = rig.now(record)
    type_ = "cancel.requested"
    return Event(
        id=event_id(seen.id, makes=seen.version + 1, type_=type_), type=type_, record_id=seen.id,
        version=seen.version, at=rig.clock(), actor="person:ada",
    )  # fmt: skip
