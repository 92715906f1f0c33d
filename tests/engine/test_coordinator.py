"""The coordinator over real stores: records move, once, and only as their machine allows."""

import pytest

from stateward.core.errors import UnknownName
from stateward.core.model import (
    Applied,
    Event,
    Ignored,
    Record,
)
from stateward.engine.coordinator import Submission
from stateward.pipelines.statements import UPLOAD
from stateward.storage.database import Database
from stateward.storage.store import Pause
from stateward.testing.rig import Rig
from tests.engine.conftest import Opener


def statuses(rig: Rig, record: Record) -> list[str]:
    return [each.target for each in rig.store.history(record.id)]


def test_a_record_goes_through_both_stages_to_its_end(rig: Rig) -> None:
    rig.worker()
    record = rig.open()

    rig.run(items=42)

    assert statuses(rig, record) == [
        "queued_for_parse", "parsing", "parsed", "normalizing", "normalized",
    ]  # fmt: skip
    ended = rig.now(record)
    assert ended.version == 4
    assert ended.fields["observations_count"] == 42
    assert rig.store.due(10**18, limit=10) == []
    assert rig.verify().is_sound


def test_an_unknown_machine_is_refused_with_those_there_are(rig: Rig) -> None:
    with pytest.raises(UnknownName, match="there are: contract, literature, upload"):
        rig.open("invoice")


def test_the_same_bytes_give_the_same_record(rig: Rig) -> None:
    first = rig.open(dedupe="d")
    again = rig.coordinator.open([Submission(machine="upload", actor="person:x", dedupe="d")] * 3)

    assert [each.record.id for each in again] == [first.id] * 3
    assert all(each.is_duplicate for each in again)
    assert rig.store.anchor().count == 1


def test_two_of_the_same_bytes_in_one_call_make_one_record(rig: Rig) -> None:
    opening = Submission(machine="upload", actor="person:x", dedupe="d")

    one, other = rig.coordinator.open([opening, opening])

    assert one.record.id == other.record.id
    assert (one.is_duplicate, other.is_duplicate) == (False, True)


def test_nobody_working_means_nothing_is_dispatched(rig: Rig) -> None:
    record = rig.open()

    rig.settle()

    assert rig.now(record).status == "queued_for_parse"
    assert rig.now(record).waiting == "parse"


def test_a_worker_gets_no_more_than_it_has_room_for(rig: Rig) -> None:
    rig.worker(slots=2)
    records = [rig.open() for _ in range(5)]

    rig.settle()

    assert [rig.now(record).status for record in records] == ["parsing"] * 2 + [
        "queued_for_parse"
    ] * 3


def test_a_worker_gets_only_what_it_can_run(rig: Rig) -> None:
    rig.worker(runners=["upload.normalize"])
    record = rig.open()

    rig.settle()

    assert rig.now(record).status == "queued_for_parse"


def test_work_is_spread_over_the_workers(rig: Rig) -> None:
    rig.worker("w1", slots=3)
    rig.worker("w2", slots=3)
    for _ in range(4):
        rig.open()

    rig.settle()

    assert (len(rig.work("w1")), len(rig.work("w2"))) == (2, 2)


def test_higher_priorities_go_first_then_the_oldest(open_database: Opener) -> None:
    rig = Rig(open_database(), [UPLOAD], ageing_s=600)
    low, normal, late, vip = (_later(rig, priority) for priority in (1, 5, 5, 10))

    rig.worker(slots=10)
    rig.settle()

    assert [work.record_id for work in rig.work()] == [vip.id, normal.id, late.id, low.id]


def _later(rig: Rig, priority: int) -> Record:
    rig.clock.pass_s(1)
    return rig.open(priority=priority)


def test_no_class_starves(open_database: Opener) -> None:
    rig = Rig(open_database(), [UPLOAD], ageing_s=60)
    low = rig.open(priority=1)
    rig.clock.pass_s(9 * 60 + 1)
    rig.open(priority=10)

    rig.worker(slots=1)
    rig.settle()

    assert [work.record_id for work in rig.work()] == [low.id]


def test_a_paused_stage_is_not_handed_out_and_a_resumed_one_is(rig: Rig) -> None:
    rig.worker()
    record = rig.open()
    rig.store.pause(Pause(machine="upload", stage="parse", at=0, actor="person:op", reason=None))
    rig.settle()
    assert rig.now(record).status == "queued_for_parse"

    rig.store.resume("upload", "parse")
    rig.settle()

    assert rig.now(record).status == "parsing"


def test_a_paused_machine_lets_what_runs_run_on(rig: Rig) -> None:
    rig.worker()
    record = rig.open()
    rig.settle()
    rig.store.pause(Pause(machine="upload", stage="", at=0, actor="person:op", reason=None))

    rig.run()

    assert rig.now(record).status == "parsed"


def test_an_event_handled_twice_counts_once_and_is_noted(rig: Rig) -> None:
    rig.worker()
    record = rig.open()
    rig.settle()
    (work,) = rig.work()
    rig.complete(work)
    event = rig.bus.reported(limit=1)[0].event
    assert event is not None
    rig.settle()

    (decision,) = rig.coordinator.handle([event])

    assert decision == Ignored(
        reason="stale", detail=f"{record.id} is at version 3, the event speaks of 1"
    )
    ((_, note),) = rig.store.dispositions()
    assert (note.event_id, note.reason) == (event.id, "stale")


def test_an_id_given_from_outside_counts_once_for_ever(rig: Rig) -> None:
    rig.worker()
    record = rig.open()
    rig.settle()
    rig.fail(rig.work()[0], is_retryable=False)
    rig.settle()
    request = Event(
        id="from-outside-1", type="retry.requested", record_id=record.id, version=None,
        at=rig.clock(), actor="person:a",
    )  # fmt: skip
    (first,) = rig.coordinator.handle([request])
    rig.settle()
    rig.fail(rig.work()[0], is_retryable=False)
    rig.settle()

    (second,) = rig.coordinator.handle([request])

    assert isinstance(first, Applied)
    assert isinstance(second, Ignored)
    assert second.reason == "duplicate"
    assert rig.now(record).status == "error"


def test_two_events_for_one_record_in_one_batch_are_taken_in_order(rig: Rig) -> None:
    rig.worker()
    record = rig.open("literature")
    rig.settle()
    rig.fail(rig.work()[0])
    failed = rig.bus.reported(limit=1)[0].event
    assert failed is not None
    retry = Event(
        id="r1", type="retry.requested", record_id=record.id, version=None, at=rig.clock(), actor="person:a",
    )  # fmt: skip

    decisions = rig.coordinator.handle([failed, retry])

    assert all(isinstance(each, Applied) for each in decisions)
    assert rig.now(record).status == "fetching"
    assert rig.verify().is_sound


def test_events_for_unknown_records_and_of_unknown_kinds_are_noted(rig: Rig) -> None:
    record = rig.open()
    strange = [
        Event(
            id="1", type="parse.completed", record_id="UL_nobody", version=1, at=0, actor="runner:w"
        ),
        Event(
            id="2", type="parse.exploded", record_id=record.id, version=0, at=0, actor="runner:w"
        ),
        Event(
            id="3", type="parse.completed", record_id=record.id, version=0, at=0, actor="runner:w"
        ),
        Event(
            id="4", type="parse.completed", record_id=record.id, version=9, at=0, actor="runner:w"
        ),
    ]

    decisions = rig.coordinator.handle(strange)

    reasons = [each.reason for each in decisions if isinstance(each, Ignored)]
    assert reasons == ["unknown_record", "unknown_event", "impossible", "ahead"]
    assert rig.now(record).version == 0
    assert len(rig.store.dispositions()) == 4


def test_what_is_no_event_at_all_is_kept_as_a_dead_letter(rig: Rig) -> None:
    rig.database.run("INSERT INTO events (body) VALUES (:body)", body='{"id": 7}')

    rig.settle()

    (letter,) = rig.store.dead_letters()
    assert (letter.kind, letter.body) == ("event", '{"id": 7}')
    assert rig.bus.depth() == 0


def test_nothing_found_skips_the_next_stage_and_is_not_stuck(rig: Rig) -> None:
    rig.worker()
    record = rig.open()

    rig.run(items=0)

    rested = rig.now(record)
    assert (rested.status, rested.rest, rested.waiting) == ("parsed", "skipped", None)
    assert rig.verify().is_sound


def test_a_retry_waits_its_turn_and_resumes_at_the_failed_step(rig: Rig) -> None:
    rig.worker()
    record = rig.open()
    rig.settle()
    rig.complete(rig.work()[0])
    rig.settle()
    rig.fail(rig.work()[0])
    rig.settle()
    assert rig.now(record).status == "error"

    rig.clock.pass_s(59)
    rig.settle()
    assert rig.now(record).status == "error"
    rig.worker()
    rig.clock.pass_s(2)
    rig.worker()
    rig.settle()

    assert rig.now(record).status == "normalizing"
    assert rig.now(record).retry_count == 1
    assert statuses(rig, record)[-3:] == ["error", "parsed", "normalizing"]


def test_exhausted_retries_rest_in_error_and_the_admin_is_told_once(rig: Rig) -> None:
    record = rig.open()
    for _ in range(4):
        rig.worker()
        rig.settle()
        rig.fail(rig.work()[0])
        rig.settle()
        rig.clock.pass_s(10_000)
    rig.worker()
    rig.settle()

    assert rig.now(record).status == "error"
    assert rig.now(record).retry_count == 3
    assert rig.work() == []
    told = rig.database.rows("SELECT kind, payload FROM effects")
    assert len(told) == 1
    assert '"exhausted"' in str(told[0][1])


def test_a_timeout_fails_the_attempt_and_takes_the_work_away(rig: Rig) -> None:
    rig.worker()
    record = rig.open()
    rig.settle()
    (work,) = rig.work()

    rig.clock.pass_s(3604)
    rig.settle()
    assert rig.now(record).status == "parsing", "its worker has a moment to report it itself"
    rig.clock.pass_s(1)
    rig.settle()

    failed = rig.now(record)
    assert (failed.status, failed.error_code) == ("error", "TIMEOUT")
    assert failed.error_message == "Parsing timeout (3600s)"
    assert rig.work() == []
    assert not rig.complete(work), "a worker that was given up may not write"
    assert rig.outputs.mark(record.id, work.version) is None


def test_a_lost_event_is_found_again_by_its_completion_mark(rig: Rig) -> None:
    rig.worker()
    record = rig.open()
    rig.settle()
    rig.write_but_lose_event(rig.work()[0], items=7)

    rig.clock.pass_s(3605)
    rig.settle()

    found = rig.now(record)
    assert statuses(rig, record)[:3] == ["queued_for_parse", "parsing", "parsed"]
    assert found.fields["observations_count"] == 7
    assert "error" not in statuses(rig, record)


def test_work_of_a_lost_worker_goes_to_another_under_the_same_version(rig: Rig) -> None:
    rig.worker("w1")
    record = rig.open()
    rig.settle()
    (lost,) = rig.work("w1")
    rig.gone.add("w1")
    rig.worker("w2")

    assert rig.coordinator.recover() == ["w1"]
    rig.settle()

    (again,) = rig.work("w2")
    assert (again.record_id, again.version, again.delivery) == (record.id, lost.version, 2)
    assert not rig.complete(lost), "the lost worker came back too late"
    assert rig.complete(again)
    rig.settle()
    assert rig.now(record).status == "normalizing"


def test_work_that_is_given_back_goes_to_another_and_costs_no_delivery(rig: Rig) -> None:
    rig.worker("w1", slots=1)
    record = rig.open()
    rig.settle()
    (unbegun,) = rig.work("w1")

    for _ in range(5):  # more often than a job may lose its worker
        rig.bus.give_back(rig.work("w1"))
        rig.coordinator.recover()
        rig.settle()
    rig.bus.leave("w1")
    rig.bus.give_back(rig.work("w1"))
    rig.worker("w2")
    rig.settle()

    (again,) = rig.work("w2")
    assert (again.version, again.delivery) == (unbegun.version, 1)
    assert not rig.complete(unbegun), "who gave it back has no say in it"
    assert rig.complete(again)
    rig.settle()
    assert rig.now(record).status == "normalizing"


def test_a_silent_worker_loses_its_work_when_its_lease_is_over(rig: Rig) -> None:
    rig.worker("w1")
    rig.open()
    rig.settle()

    rig.clock.pass_s(14)
    assert rig.coordinator.recover() == []
    rig.clock.pass_s(2)

    assert rig.coordinator.recover() == ["w1"]


def test_work_that_loses_every_worker_fails_in_the_end(rig: Rig) -> None:
    record = rig.open()
    for number in range(3):
        rig.worker(f"w{number}")
        rig.settle()
        assert len(rig.work(f"w{number}")) == 1
        rig.gone.add(f"w{number}")
        rig.coordinator.recover()
    rig.worker("w9")
    rig.settle()

    assert (rig.now(record).status, rig.now(record).error_code) == ("error", "WORKER_LOST")


def test_a_cancelled_attempt_is_taken_from_its_worker(rig: Rig) -> None:
    rig.worker()
    record = rig.open()
    rig.settle()
    (work,) = rig.work()

    decision = rig.ask("cancel.requested", record, reason="wrong file")

    assert isinstance(decision, Applied)
    cancelled = rig.now(record)
    assert (cancelled.status, cancelled.error_code) == ("error", "CANCELLED")
    assert cancelled.error_message == "wrong file"
    assert cancelled.due_at is None
    assert rig.work() == []
    assert not rig.complete(work)


def test_a_review_is_asked_for_and_its_deadline_rings_once(rig: Rig) -> None:
    rig.worker()
    record = rig.open("contract")
    for _ in range(2):
        rig.settle()
        rig.complete(rig.work()[0])
    rig.settle()
    rig.complete(rig.work()[0], facts={"final_confidence": 79, "valid": True})
    rig.settle()
    assert rig.now(record).status == "review_required"
    ((kind,),) = rig.database.rows("SELECT kind FROM effects")
    assert kind == "ask"

    rig.clock.pass_s(86_400)
    rig.scheduler.tick()
    rig.scheduler.tick()
    rig.settle()

    assert rig.now(record).status == "timed_out"
    assert {note.reason for _, note in rig.store.dispositions()} == {"duplicate"}
    assert statuses(rig, record).count("timed_out") == 1


def test_several_coordinators_share_the_work_without_a_double(open_database: Opener) -> None:
    rigs = [Rig(open_database(), [UPLOAD], batch_max=3) for _ in range(2)]
    for number in range(20):
        rigs[0].open(dedupe=str(number))
    rigs[0].worker(slots=100)

    for round_ in range(200):
        rig = rigs[round_ % 2]
        rig.turn()
        for work in rig.work()[:2]:
            rig.complete(work)
    assert rigs[1].store.counts() == {("upload", "normalized"): 20}
    assert rigs[1].store.anchor().count == 100
    assert rigs[1].verify().is_sound


def _planted(database: Database, sql: str) -> None:
    assert database.run(sql) > 0


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE transitions SET source = 'parsed' WHERE seq = 3",
        "UPDATE transitions SET target = 'error' WHERE seq = 3",
        "UPDATE transitions SET trigger = 'parse.failed' WHERE seq = 3",
        "UPDATE transitions SET actor = 'person:eve' WHERE seq = 3",
        "UPDATE transitions SET at = at + 1 WHERE seq = 3",
        "UPDATE transitions SET event_id = 'x' WHERE seq = 3",
        "UPDATE transitions SET metadata = '{}' WHERE seq = 3",
        "UPDATE transitions SET attempt = 9 WHERE seq = 3",
        "UPDATE transitions SET epoch = 9 WHERE seq = 3",
        "UPDATE transitions SET authority = 'runner' WHERE seq = 3",
        "UPDATE transitions SET machine = 'contract' WHERE seq = 3",
        "UPDATE transitions SET machine_version = 2 WHERE seq = 3",
        "UPDATE transitions SET record_hash = 'x' WHERE seq = 3",
        "UPDATE transitions SET prev_hash = 'x' WHERE seq = 3",
        "UPDATE transitions SET hash = 'x' WHERE seq = 3",
        "UPDATE transitions SET seq = 99 WHERE seq = 3",
        "UPDATE transitions SET version = 99 WHERE seq = 3",
        "UPDATE transitions SET record_id = 'UL_x' WHERE seq = 3",
        "DELETE FROM transitions WHERE seq = 5",
        "DELETE FROM records",
        "DELETE FROM transitions",
        "UPDATE records SET status = 'parsed'",
        "UPDATE records SET version = 3",
        "UPDATE records SET retry_count = 1",
        "UPDATE records SET error_code = 'X'",
        "UPDATE records SET error_message = 'X'",
        "UPDATE records SET artifact = 'x'",
        "UPDATE records SET labels = '{\"a\":1}'",
        "UPDATE records SET fields = '{}'",
        "UPDATE records SET outputs = '{}'",
        "UPDATE records SET head = 'x'",
        "UPDATE records SET rest = 'skipped'",
        "UPDATE records SET created_at = 1",
        "UPDATE records SET entered_at = 1",
        "UPDATE records SET machine_version = 2",
        "UPDATE records SET failed_from = 'parsing'",
        "UPDATE records SET replaces = 'x'",
        "UPDATE records SET dedupe = 'x'",
        "UPDATE records SET last_retry_at = 1",
        "UPDATE records SET priority = 99",
        "UPDATE records SET waiting = 'parse'",
        "UPDATE records SET due_at = 1",
        "UPDATE anchor SET count = 4",
        "UPDATE anchor SET head = 'x'",
        "UPDATE anchor SET digest = 'x'",
    ],
)
def test_verify_finds_a_planted_change(rig: Rig, change: str) -> None:
    rig.worker()
    rig.open()
    rig.run()
    assert rig.verify().is_sound

    _planted(rig.database, change)

    assert not rig.verify().is_sound
