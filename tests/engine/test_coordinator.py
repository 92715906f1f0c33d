"""The coordinator: submit, dispatch, handle events; nothing is counted twice."""

from contextlib import suppress

import msgspec
import pytest

from stateward.core.errors import UnknownName
from stateward.core.model import Applied, Event, Ignored, Record
from stateward.engine.coordinator import Submission
from stateward.pipelines.uploads.machine import UPLOAD
from stateward.storage.pauses import Pause
from stateward.storage.store import Store
from stateward.testing.builders import an_event
from stateward.testing.rig import Rig
from stateward.transport import Bus, WorkerInfo
from tests.engine.conftest import Opener
from tests.engine.histories import statuses


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
    again = rig.coordinator.submit([Submission(machine="upload", actor="person:x", dedupe="d")] * 3)

    assert [each.record.id for each in again] == [first.id] * 3
    assert all(each.is_duplicate for each in again)
    assert rig.store.lanes.count_transitions() == 1


def test_two_of_the_same_bytes_in_one_call_make_one_record(rig: Rig) -> None:
    opening = Submission(machine="upload", actor="person:x", dedupe="d")

    one, other = rig.coordinator.submit([opening, opening])

    assert one.record.id == other.record.id
    assert (one.is_duplicate, other.is_duplicate) == (False, True)


def test_without_a_worker_nothing_is_dispatched(rig: Rig) -> None:
    record = rig.open()

    rig.settle()

    assert rig.now(record).status == "queued_for_parse"
    assert rig.now(record).waiting == "parse"


def test_a_worker_gets_no_more_than_its_capacity(rig: Rig) -> None:
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
    rig.store.pauses.add(
        Pause(machine="upload", stage="parse", at=0, actor="person:op", reason=None)
    )
    record = rig.open()
    rig.settle()
    assert rig.now(record).status == "queued_for_parse"

    rig.store.pauses.lift("upload", "parse", now=1)
    rig.settle()

    assert rig.now(record).status == "parsing"


def test_a_paused_machine_lets_what_runs_run_on(rig: Rig) -> None:
    rig.worker()
    record = rig.open()
    rig.settle()
    rig.store.pauses.add(Pause(machine="upload", stage="", at=0, actor="person:op", reason=None))

    rig.run()

    assert rig.now(record).status == "parsed"


def test_an_event_handled_twice_counts_once_and_is_noted(rig: Rig) -> None:
    rig.worker()
    record = rig.open()
    rig.settle()
    (work,) = rig.work()
    rig.complete(work)
    event = rig.bus.next_events(limit=1)[0].event
    assert event is not None
    rig.settle()

    (decision,) = rig.coordinator.handle([event])

    assert decision == Ignored(
        reason="stale", detail=f"{record.id} is at version 3, the event is about version 1"
    )
    ((_, note),) = rig.store.dispositions()
    assert (note.event_id, note.reason) == (event.id, "stale")


@pytest.mark.parametrize("type_", ["parse.completed", "parse.failed"])
def test_a_report_of_a_worker_that_does_not_have_the_work_changes_nothing(
    rig: Rig, type_: str
) -> None:
    rig.worker()
    record = rig.open()
    rig.settle()
    (work,) = rig.work()
    forged = an_event(rig.now(record), type_, actor="runner:another", count=1)

    (decision,) = rig.coordinator.handle([forged])

    assert isinstance(decision, Ignored)
    assert decision.reason == "not_allowed"
    assert rig.now(record).status == "parsing"
    rig.complete(work)  # the worker that has it is still heard
    rig.settle()
    assert rig.now(record).status != "parsing"


@pytest.mark.parametrize("worker", ["w1", "", "None"])
def test_while_a_record_waits_for_a_worker_in_its_running_state_no_report_counts(
    rig: Rig, worker: str
) -> None:
    rig.worker()
    record = rig.open("literature")
    rig.settle()
    rig.fail(rig.work()[0])
    rig.bus.remove_worker("w1")
    rig.settle()
    rig.clock.pass_s(3600)
    rig.settle()
    waiting = rig.now(record)
    assert (waiting.status, waiting.waiting, waiting.worker) == ("fetching", "fetch", None)

    for type_ in ("fetch.completed", "fetch.failed"):
        forged = an_event(waiting, type_, actor=f"runner:{worker}", count=1)
        (decision,) = rig.coordinator.handle([forged])

        assert isinstance(decision, Ignored)
        assert decision.reason == "not_allowed"
    assert rig.now(record) == waiting


def test_the_first_stored_result_counts_although_the_work_went_to_another(rig: Rig) -> None:
    record = rig.open()
    rig.worker("w1")
    rig.settle()
    (work,) = rig.work("w1")
    rig.write_but_lose_event(work)
    rig.bus.remove_worker("w1")
    rig.bus.release_orphans()
    rig.worker("w2")
    rig.settle()
    assert rig.now(record).worker == "w2"

    (decision,) = rig.coordinator.handle([an_event(rig.now(record), "parse.completed", count=1)])

    assert isinstance(decision, Applied)


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
    failed = rig.bus.next_events(limit=1)[0].event
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

    ((_, letter),) = rig.store.dead_letters.page()
    assert (letter.kind, letter.body) == ("event", '{"id": 7}')
    assert rig.bus.depth() == 0


def test_nothing_found_skips_the_next_stage_and_is_not_stuck(rig: Rig) -> None:
    rig.worker()
    record = rig.open()

    rig.run(items=0)

    rested = rig.now(record)
    assert (rested.status, rested.rest, rested.waiting) == ("parsed", "skipped", None)
    assert rig.verify().is_sound


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
    assert rigs[1].store.queries.counts() == {("upload", "normalized"): 20}
    assert rigs[1].store.lanes.count_transitions() == 100
    assert rigs[1].verify().is_sound


class WorkerHere(msgspec.Struct):
    """The worker in the process of the coordinator."""

    info: WorkerInfo
    taken: int = 0

    def load(self) -> dict[tuple[str, bool], int]:
        return {(self.info.id, False): self.taken}


@pytest.fixture
def parsed_here(rig: Rig) -> Record:
    """A record whose first stage has just ended at the worker of the coordinator's own process."""
    rig.worker()
    (info,) = rig.bus.workers()
    rig.coordinator.dispatcher.local_worker = WorkerHere(info)
    record = rig.open()
    rig.settle()
    (work,) = rig.work()
    rig.complete(work)
    assert not rig.coordinator.dispatcher.has_waiting
    return record


def test_a_record_alone_goes_on_at_the_worker_here_without_a_look_at_the_queue(
    rig: Rig, parsed_here: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Bus, "ask_workers_and_load", None)
    monkeypatch.setattr(Store, "waiting", None)

    rig.coordinator.turn(has_waiting=False)

    assert rig.now(parsed_here).status == "normalizing"
    assert [work.stage for work in rig.work()] == ["normalize"]


def test_work_says_who_submitted_its_record_by_whichever_way_it_is_sent(
    rig: Rig, parsed_here: Record
) -> None:
    rig.coordinator.owners.are_wanted = True
    other = rig.coordinator.submit([Submission(machine="upload", actor="person:other")])[0].record

    rig.coordinator.turn(has_waiting=False)
    rig.coordinator.turn()

    owners = {work.record_id: work.owner for work in rig.work()}
    assert owners == {parsed_here.id: "person:test", other.id: "person:other"}


def test_where_the_worker_here_is_full_another_one_is_given_the_record(
    rig: Rig, parsed_here: Record
) -> None:
    here = rig.coordinator.dispatcher.local_worker
    assert isinstance(here, WorkerHere)
    here.taken = here.info.slots
    rig.worker("other", slots=5000)

    rig.coordinator.turn(has_waiting=False)

    assert [work.stage for work in rig.work("other")] == ["normalize"]


def test_a_record_does_not_go_on_to_a_paused_stage(rig: Rig, parsed_here: Record) -> None:
    rig.store.pauses.add(
        Pause(machine="upload", stage="normalize", at=0, actor="person:op", reason=None)
    )

    rig.coordinator.turn(has_waiting=False)

    assert rig.now(parsed_here).status == "parsed"
    assert rig.work() == []


def test_a_record_that_ends_its_stage_does_not_overtake_what_waits(open_database: Opener) -> None:
    rig = Rig(open_database(), [UPLOAD], ageing_s=60.0)
    first, urgent = rig.open(), rig.open(priority=100)
    rig.worker(slots=1)
    (info,) = rig.bus.workers()
    rig.coordinator.dispatcher.local_worker = WorkerHere(info)
    rig.coordinator.turn()
    (work,) = rig.work()
    rig.complete(work)
    more_urgent = rig.open(priority=200)

    rig.coordinator.turn(has_waiting=False)

    assert work.record_id == urgent.id
    assert [each.record_id for each in rig.work()] == [more_urgent.id]
    assert rig.now(first).status == "queued_for_parse"


def test_a_loop_tells_of_the_transitions_of_a_turn_when_they_are_durable(rig: Rig) -> None:
    told: list[str] = []
    rig.coordinator._on_transitions = lambda transitions, _: told.extend(
        each.target for each in transitions
    )
    rig.coordinator.tells_later = True
    rig.open()
    rig.worker()

    rig.coordinator.turn()
    before = list(told)
    rig.coordinator.tell()
    rig.coordinator.tell()

    assert before == ["queued_for_parse"]  # a submission is told of at once
    assert told == ["queued_for_parse", "parsing"]


def test_what_a_turn_took_back_is_not_told(rig: Rig) -> None:
    told: list[str] = []
    rig.coordinator._on_transitions = lambda transitions, _: told.extend(
        each.target for each in transitions
    )
    rig.coordinator.tells_later = True
    rig.open()
    rig.worker()

    with suppress(RuntimeError), rig.store.transaction():
        rig.coordinator.turn()
        raise RuntimeError
    rig.coordinator.turn()
    rig.coordinator.tell()

    assert told == ["queued_for_parse", "parsing"]
