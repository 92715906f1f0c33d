"""Details of the upload record: retries by source type, times of running states, what the last retry says."""

from stateward.app.views import record_view
from stateward.core.model import SECOND, Record, to_iso
from stateward.core.retry import Retry
from stateward.pipelines.uploads.machine import UPLOAD
from stateward.testing.rig import Rig
from tests.engine.conftest import Opener

PATIENT = UPLOAD.tuned(
    retry=Retry(max_retries=1, backoff_s=(60.0,)),
    retry_by_source_type={"scan": Retry(max_retries=3, backoff_s=(5.0, 7.0))},
    timeouts_s={"parsing": 120.0},
)


def an_engine(open_database: Opener) -> Rig:
    rig = Rig(open_database(), [PATIENT])
    rig.worker()
    return rig


def failing(rig: Rig, record: Record, *, passing_s: float = 0.0) -> Record:
    """The record after its next attempt failed."""
    rig.clock.pass_s(passing_s)
    rig.worker()
    rig.settle()
    (work,) = rig.work()
    rig.fail(work, "CORRUPT_FILE")
    rig.settle()
    return rig.now(record)


def test_retries_and_their_waits_differ_by_source_type(open_database: Opener) -> None:
    rig = an_engine(open_database)
    scan = rig.open(labels={"source_type": "scan"})

    waits: list[float | None] = []
    passed = 0.0
    for _ in range(4):
        failed = failing(rig, scan, passing_s=passed)
        wait = None if failed.due_at is None else (failed.due_at - rig.clock()) / SECOND
        waits.append(wait)
        passed = wait or 0.0

    assert waits == [5.0, 7.0, 7.0, None]
    assert record_view(PATIENT, rig.now(scan)).max_retries == 3


def test_other_source_types_follow_the_machine(open_database: Opener) -> None:
    rig = an_engine(open_database)
    record = rig.open(labels={"source_type": "letter"})

    first = failing(rig, record)
    second = failing(rig, record, passing_s=60.0)

    assert first.due_at is not None
    assert second.due_at is None
    assert record_view(PATIENT, second).max_retries == 1


def test_after_the_last_retry_the_message_names_their_number(open_database: Opener) -> None:
    rig = an_engine(open_database)
    record = rig.open()

    first = failing(rig, record)
    second = failing(rig, record, passing_s=60.0)

    assert first.error_message == "CORRUPT_FILE in parse"
    assert second.error_message == "CORRUPT_FILE in parse (after 1 retry)"
    assert rig.verify().is_sound


def test_a_running_record_shows_since_when_and_how_long_it_may_run(open_database: Opener) -> None:
    rig = an_engine(open_database)
    record = rig.open()
    waiting = record_view(PATIENT, record).exposed
    rig.settle()
    running = record_view(PATIENT, rig.now(record)).exposed
    rig.run()
    ended = record_view(PATIENT, rig.now(record)).exposed

    assert running["parsing_started_at"] == to_iso(rig.now(record).created_at)
    assert running["parsing_timeout_seconds"] == 120.0
    assert not any("_started_at" in name or "_timeout" in name for name in (*waiting, *ended))
