"""Work out to workers, events in to coordinators. The transport stores and delivers them; it never interprets them.

Work is assigned by the coordinator to a worker by name, in the same transaction as the transition that
asks for it; the worker reads what is its own, and removes it in the same transaction as its output. So a
piece of work is somewhere at every instant, and a worker whose work was given to another can write nothing.
Events wait in the order of their arrival until the transaction that handles them removes them.
"""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from stateward.core.failpoints import Point, point
from stateward.core.model import Event, Micros, Work
from stateward.storage.database import (
    TOPIC_EVENTS,
    TOPIC_READY,
    TOPIC_WORK,
    Database,
    Row,
    Table,
)

UNASSIGNED = ""  # its worker was lost
RETURNED = "-"  # whose worker had not begun with it, and took it for too long to wait
NO_WORKER = (UNASSIGNED, RETURNED)
WORKERS_MAX = 10_000

WORK = Table(
    "work",
    {
        "record_id": "text",
        "version": "bigint",
        "worker": "text",
        "delivery": "bigint",
        "rank": "bigint",
        "is_inline": "boolean",
        "body": "json",
    },
    key=("record_id", "version"),
)
EVENTS = Table("events", {"body": "json"}, key=())
WORKERS = Table(
    "workers",
    {
        "id": "text",
        "host": "text",
        "pid": "bigint",
        "life": "text",
        "runners": "json",
        "slots": "bigint",
        "inline_slots": "bigint",
        "started_at": "bigint",
        "seen_at": "bigint",
        "is_draining": "boolean",
    },
    key=("id",),
)

_encode = msgspec.json.encode
_decode_event = msgspec.json.Decoder(Event).decode
_decode_work = msgspec.json.Decoder(Work).decode
_decode_names = msgspec.json.Decoder(tuple[str, ...]).decode


class WorkerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker says of itself. `life` tells this process from a later one with the same pid."""

    id: str
    host: str
    pid: int
    life: str
    runners: tuple[str, ...]
    slots: int
    inline_slots: int
    started_at: Micros
    seen_at: Micros
    is_draining: bool = False


class InboxEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event in the inbox; None where its text could not be read as one."""

    seq: int
    event: Event | None
    body: str


class Bus:
    """Work, events and workers, in the database that also holds the records."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # Work

    def send(self, work: Sequence[Work]) -> None:
        """Hand work to the workers it names."""
        self._database.insert(WORK, [_work_row(each) for each in work])
        point(Point.WORK_SENT)
        self._database.notify([TOPIC_WORK])

    def assigned_work(self, worker: str, *, limit: int) -> list[Work]:
        """The work of one worker, first things first."""
        found = self._database.rows(
            "SELECT body FROM work WHERE worker = :worker ORDER BY rank LIMIT :limit",
            worker=worker,
            limit=limit,
        )
        return [_decode_work(str(body)) for (body,) in found]

    def orphaned_work(self, *, limit: int) -> list[Work]:
        """Work whose worker was lost, and work that was given back: its `worker` says which."""
        found = self._database.rows(
            "SELECT worker, body FROM work WHERE worker IN ('', '-') ORDER BY rank LIMIT :limit",
            limit=limit,
        )
        return [replace(_decode_work(str(body)), worker=str(worker)) for worker, body in found]

    def return_unstarted(self, work: Sequence[Work]) -> None:
        """Let another worker do what this one has not started; it does not count as a lost delivery."""
        for each in work:
            self._database.run(
                "UPDATE work SET worker = '-'"
                " WHERE record_id = :record_id AND version = :version AND worker = :worker"
                " AND delivery = :delivery",
                record_id=each.record_id,
                version=each.version,
                worker=each.worker,
                delivery=each.delivery,
            )
        self._database.notify([TOPIC_READY])

    def reassign(self, work: Sequence[Work]) -> None:
        """Hand work that was sent before to the workers it names now."""
        self._database.delete(WORK, [(each.record_id, each.version) for each in work])
        point(Point.WORK_RECLAIMED)
        self.send(work)

    def load_by_worker(self) -> dict[tuple[str, bool], int]:
        """How much work each worker has, by (worker, whether inline)."""
        found = self._database.rows(
            "SELECT worker, is_inline, count(*) FROM work GROUP BY worker, is_inline"
        )
        return {(str(worker), bool(inline)): int(count or 0) for worker, inline, count in found}

    def finish(self, work: Sequence[Work]) -> list[bool]:
        """Take work off the bus; for each, whether it was still this worker's to finish."""
        keys: list[Row] = [
            (each.record_id, each.version, each.worker, each.delivery) for each in work
        ]
        return self._database.delete(WORK, keys, by=("record_id", "version", "worker", "delivery"))

    def withdraw(self, attempts: Sequence[tuple[str, int]]) -> None:
        """Take back work that is no longer wanted; its worker finds it gone and stops."""
        if any(self._database.delete(WORK, list(attempts))):
            self._database.notify([TOPIC_WORK])

    def release_orphans(self) -> int:
        """Take all work from workers that are no longer there; it waits for others."""
        count = self._database.run(
            "UPDATE work SET worker = '' WHERE worker NOT IN ('', '-')"
            " AND worker NOT IN (SELECT id FROM workers)"
        )
        if count:
            point(Point.WORK_RELEASED)
            self._database.notify([TOPIC_READY])
        return count

    # Events

    def report(self, events: Sequence[Event]) -> None:
        """Put events into the inbox of the coordinators."""
        self._database.insert(EVENTS, [(_encode(event).decode(),) for event in events])
        point(Point.EVENTS_REPORTED)
        self._database.notify([TOPIC_EVENTS])

    def next_events(self, *, limit: int) -> list[InboxEvent]:
        """The oldest events that no other coordinator is handling, inside a transaction."""
        found = self._database.rows(
            f"SELECT seq, body FROM events ORDER BY seq LIMIT :limit{self._database.skip_locked}",
            limit=limit,
        )
        return [_reported(int(seq or 0), str(body)) for seq, body in found]

    def settle(self, seqs: Sequence[int]) -> None:
        """Delete events that were handled, in the transaction that handled them."""
        self._database.delete(EVENTS, [(seq,) for seq in seqs], by=("seq",))
        point(Point.EVENTS_SETTLED)

    def depth(self) -> int:
        """How many events wait."""
        ((count,),) = self._database.rows("SELECT count(*) FROM events")
        return int(count or 0)

    # Workers

    def heartbeat(self, worker: WorkerInfo) -> None:
        """Say that a worker is there, what it can run, and that it was alive just now."""
        with self._database.transaction():
            self._database.delete(WORKERS, [(worker.id,)])
            point(Point.WORKER_REPLACED)
            self._database.insert(WORKERS, [_worker_row(worker)])

    def request_work(self) -> None:
        """Notify the coordinators that a worker has free slots."""
        self._database.notify([TOPIC_READY])

    def remove_worker(self, worker: str) -> None:
        """A worker goes, or is given up; what it still had waits for another once it is released."""
        self._database.delete(WORKERS, [(worker,)])
        point(Point.WORKER_REMOVED)
        self._database.notify([TOPIC_READY])

    def workers(self) -> list[WorkerInfo]:
        """Every worker that has sent a heartbeat and was not removed."""
        found = self._database.rows(
            f"SELECT {', '.join(WORKERS.columns)} FROM workers ORDER BY id LIMIT {WORKERS_MAX}"
        )
        return [_worker(row) for row in found]


def _work_row(work: Work) -> Row:
    return (
        work.record_id,
        work.version,
        work.worker,
        work.delivery,
        work.rank,
        work.is_inline,
        _encode(work).decode(),
    )


def _reported(seq: int, body: str) -> InboxEvent:
    try:
        return InboxEvent(seq=seq, event=_decode_event(body), body=body)
    except msgspec.DecodeError:
        return InboxEvent(seq=seq, event=None, body=body)


def _worker_row(worker: WorkerInfo) -> Row:
    return (
        worker.id,
        worker.host,
        worker.pid,
        worker.life,
        _encode(worker.runners).decode(),
        worker.slots,
        worker.inline_slots,
        worker.started_at,
        worker.seen_at,
        worker.is_draining,
    )


def _worker(row: Row) -> WorkerInfo:
    values = dict(zip(WORKERS.columns, row, strict=True))
    values["runners"] = _decode_names(str(values["runners"]))  # type: ignore[assignment]
    values["is_draining"] = bool(values["is_draining"])
    return WorkerInfo(**values)  # type: ignore[arg-type]
