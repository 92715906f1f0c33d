"""The decisions of a relay: how much it may send, what its stream has lost, and whom it has heard."""

import pytest
from msgspec.structs import replace

from stateward.core.model import Work
from stateward.engine.sent_work import Sent, lost_work, publishable, window
from stateward.storage.sqlite import MEMORY, SqliteDatabase
from stateward.transport import VIA_TRANSPORT, Bus, WorkerInfo
from stateward.workers.routes import RunnerRoute

LEASE_S = 10.0


def sent(number: int, *, sent_at: float = 0.0, heard_at: float = 0.0, stream: str = "s") -> Sent:
    work = Work(
        record_id=f"r{number}", version=1, machine="m", stage="s", running="r", runner="m.s", worker="relay-1",
        created_at=0, rank=0, timeout_s=60.0,
    )  # fmt: skip
    return Sent(work=work, stream=stream, number=number, sent_at=sent_at, heard_at=heard_at)


def lost(*some: Sent, now: float, is_empty: bool) -> list[int]:
    found = lost_work(some, now=now, lease_s=LEASE_S, is_empty=lambda _: is_empty)
    return [each.number for each in found]


def worker(name: str, *, slots: int, via: str = "", is_draining: bool = False) -> WorkerInfo:
    return WorkerInfo(
        id=name, host="h", pid=1, life="1", runners=(), slots=slots, inline_slots=slots, started_at=0, seen_at=0,
        via=via, is_draining=is_draining,
    )  # fmt: skip


def test_work_in_an_empty_stream_that_no_worker_has_is_lost_after_a_lease() -> None:
    assert lost(sent(1), now=9.9, is_empty=True) == []
    assert lost(sent(1), now=10.0, is_empty=True) == [1]


def test_work_that_a_worker_has_or_that_waits_is_not_lost() -> None:
    assert lost(sent(1, heard_at=15.0), now=20.0, is_empty=True) == []
    assert lost(sent(1), now=1000.0, is_empty=False) == []
    assert lost(sent(0), now=1000.0, is_empty=True) == []  # not published yet


def test_work_that_later_work_has_overtaken_is_lost_after_two_leases() -> None:
    later = sent(2, sent_at=12.0, heard_at=19.0)

    assert lost(sent(1), later, now=19.9, is_empty=False) == []
    assert lost(sent(1), later, now=20.0, is_empty=False) == [1]
    assert lost(sent(1, stream="other"), later, now=20.0, is_empty=False) == []


def test_of_work_that_one_machine_at_a_time_may_do_only_one_is_published_at_a_time() -> None:
    routes = {("m", "s", "polite"): RunnerRoute(runner="m.ask", one_machine=True)}

    def of_source(name: str, *, number: int = 0) -> Sent:
        work = replace(
            sent(1).work, record_id=name, rank=int(name[-1]), labels={"source_type": name[:-1]}
        )
        return Sent(work=work, stream="s", number=number)

    def named(*some: Sent) -> list[str]:
        return [each.work.record_id for each in publishable(some, routes)]

    waiting = [of_source("polite3"), of_source("polite2"), of_source("other4")]

    assert named(*waiting) == ["polite2", "other4"]
    assert named(*waiting, of_source("polite9", number=7)) == ["other4", "polite9"]


def test_relays_share_the_slots_of_the_workers_behind_the_transport() -> None:
    workers = [
        worker("relay-1", slots=9),
        worker("relay-2", slots=9),
        worker("here", slots=50),
        worker("far", slots=3, via=VIA_TRANSPORT),
        worker("leaving", slots=8, via=VIA_TRANSPORT, is_draining=True),
    ]

    assert window(workers) == (2, 2)
    assert window([]) == (0, 0)


def test_what_was_published_before_a_stream_was_found_gone_is_lost_after_a_lease() -> None:
    def found(gone_at: float, now: float) -> list[int]:
        some = [sent(1), sent(3, sent_at=14.0)]
        lost = lost_work(some, now=now, lease_s=LEASE_S, is_empty=lambda _: False, gone_at=gone_at)
        return [each.number for each in lost]

    assert found(gone_at=12.0, now=21.9) == []
    assert found(gone_at=12.0, now=22.0) == [1]
    assert found(gone_at=15.0, now=25.0) == [1, 3]


def test_two_coordinators_may_write_the_heartbeat_of_one_worker_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    database = SqliteDatabase(MEMORY)
    bus = Bus(database)
    bus.heartbeat(worker("far", slots=1, via=VIA_TRANSPORT))
    monkeypatch.setattr(database, "delete", lambda *_, **__: [])  # it does not see the other's row

    bus.heartbeat(worker("far", slots=1, via=VIA_TRANSPORT))

    assert [each.id for each in bus.workers()] == ["far"]
    database.close()
