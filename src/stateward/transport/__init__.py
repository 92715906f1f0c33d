"""The bus between coordinators and workers: work in one direction, events in the other, as rows of tables.

It stores rows and wakes listeners, and must never decide by what is in them. The coordinator assigns work to a
worker by name, in the same transaction as the transition that asks for it; the worker reads what is assigned to
it, and removes it in the same transaction as its output. So no crash loses work or leaves it in two places, and a
worker whose work was given to another can write nothing (docs/decisions/0003). Events wait in the order of their
arrival until the transaction that handles them removes them.

Notifications carry no data and are sent once the transaction is durable: what they announce is in the tables.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from stateward.core.failpoints import Point, point
from stateward.core.model import Event, Loss, Micros, Work
from stateward.storage.database import (
    TOPIC_EVENTS,
    TOPIC_READY,
    TOPIC_WORK,
    Asked,
    Database,
    Keys,
    Row,
    Table,
    work_topic,
)

# In place of a worker's name. Two of them, because returned work that was never started must not count as lost.
UNASSIGNED = ""  # its worker was lost
# Its worker returned it: it had not started it, or has recorded what was lost with it.
RETURNED = "-"
NO_WORKER = (UNASSIGNED, RETURNED)
# Of workers that have no database: a relay gives them work, not the coordinator.
VIA_TRANSPORT = "transport"
RELAY = "relay-"  # how the names of relays begin
# All of them are read for each dispatch; heartbeats as rows are not meant for more.
WORKERS_MAX = 10_000

# Up to so many workers are woken each by itself; a notification for all of them costs less than one for each of many.
TOLD_APART_MAX = 4

# The columns beside `body` are those that statements select by; `body` is the whole `Work`. In the body `worker` is
# the one it was sent to: the column counts.
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
# The same rows: who has the work, where a relay stands for it in `worker`.
HOLDERS = Table(
    "work",
    {
        "record_id": "text",
        "version": "bigint",
        "delivery": "bigint",
        "holder": "text",
        "held_since": "bigint",
    },
    key=("record_id", "version"),
)
HOLDERS_AT_ONCE = 500  # rows that are compared with one statement
# `seq` is given by the database: the order of arrival.
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
        "via": "text",
    },
    key=("id",),
)

# Rows of either kind; of the other kind's columns all are NULL.
_WORKERS_AND_LOAD = (
    f"SELECT * FROM (SELECT {', '.join(WORKERS.columns)},"
    " CAST(NULL AS text) AS owner, CAST(NULL AS boolean) AS is_inline, 0 AS load"
    f" FROM workers ORDER BY id LIMIT {WORKERS_MAX}) AS w UNION ALL"
    f" SELECT {', '.join('NULL' for _ in WORKERS.columns)}, worker, is_inline, count(*)"
    " FROM work GROUP BY worker, is_inline"
)

_encode = msgspec.json.encode
_decode_event = msgspec.json.Decoder(Event).decode
_decode_work = msgspec.json.Decoder(Work).decode
_decode_loss = msgspec.json.Decoder(Loss).decode
_decode_names = msgspec.json.Decoder(tuple[str, ...]).decode


class WorkerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker announces about itself. `life` tells this process from a later one with the same pid.

    `via` is empty for a worker that reads its work here, and `VIA_TRANSPORT` for one behind a relay.
    """

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
    via: str = ""

    @property
    def is_relay(self) -> bool:
        """Whether it runs nothing itself: it stands for the workers behind a transport, whose rows are beside it."""
        return self.id.startswith(RELAY)


class InboxEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event in the inbox. `event` is None if `body` cannot be decoded: it becomes a dead letter.

    Not an exception, because one unreadable event must not keep the others of its batch from being handled.
    """

    seq: int
    event: Event | None
    body: str


class Orphan(msgspec.Struct, frozen=True, kw_only=True):
    """Work without a worker; `work.worker` is the one that had it last, `loss` what that worker recorded, if it did."""

    work: Work
    is_returned: bool
    loss: Loss | None


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """The worker behind a transport that has work, and since when a coordinator knows that. Empty: none has said so."""

    worker: str
    since: Micros


def work_keys(work: Sequence[Work]) -> Keys:
    """The rows of work as it was assigned.

    Worker and delivery are part of the key: they fence off a worker that was taken for lost and comes back. It
    deletes nothing, and so learns that it must not write its output.
    """
    keys: list[Row] = [(each.record_id, each.version, each.worker, each.delivery) for each in work]
    return Keys(WORK, ("record_id", "version", "worker", "delivery"), keys)


class Bus:
    """Work, events and workers, in the database that also holds the records."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # Work

    def send(self, work: Sequence[Work], *, told: str = "") -> None:
        """Assign work to the workers it names, inside the transaction of its transitions.

        `told` is a worker that the caller tells itself once this is durable: it needs no notification.
        """
        self._database.insert(WORK, [_work_row(each) for each in work])
        point(Point.WORK_SENT)
        workers = {each.worker for each in work if each.worker != told}
        are_few = len(workers) <= TOLD_APART_MAX
        self._database.notify(map(work_topic, workers) if are_few else [TOPIC_WORK])

    def assigned_work(self, worker: str, *, limit: int) -> list[Work]:
        """The work of one worker, highest priority first."""
        found = self._database.rows(
            "SELECT body FROM work WHERE worker = :worker ORDER BY rank LIMIT :limit",
            worker=worker,
            limit=limit,
        )
        return [_decode_work(str(body)) for (body,) in found]

    def assigned(self, record_id: str, version: int) -> Work | None:
        """The work of one attempt, whichever worker has it; None if there is none any more."""
        found = self._database.rows(
            "SELECT body FROM work WHERE record_id = :record_id AND version = :version",
            record_id=record_id,
            version=version,
        )
        return _decode_work(str(found[0][0])) if found else None

    def deliveries(self, record_ids: Sequence[str]) -> set[tuple[str, int, int]]:
        """The work that there is for these records, as (record, version, delivery)."""
        condition, given = self._database.among("record_id", record_ids)
        found = self._database.rows(
            f"SELECT record_id, version, delivery FROM work WHERE {condition}", **given
        )
        return {(str(record_id), int(str(v)), int(str(d))) for record_id, v, d in found}

    def holder(self, record_id: str, version: int) -> Holder | None:
        """Which worker behind a transport has the work of an attempt; None if there is no such work."""
        found = self._database.rows(
            "SELECT holder, held_since FROM work WHERE record_id = :record_id AND version = :version",
            record_id=record_id,
            version=version,
        )
        return Holder(worker=str(found[0][0]), since=int(found[0][1] or 0)) if found else None

    def held_work(self, *, limit: int) -> list[tuple[str, Work]]:
        """Work that workers behind a transport have, with the worker, highest priority first."""
        found = self._database.rows(
            "SELECT holder, body FROM work WHERE holder <> '' ORDER BY rank LIMIT :limit",
            limit=limit,
        )
        return [(str(holder), _decode_work(str(body))) for holder, body in found]

    def note_holder(
        self,
        worker: str,
        attempts: Iterable[tuple[str, int, int]],
        *,
        at: Micros,
        is_let: Callable[[Work], bool],
        is_holding: bool = True,
    ) -> None:
        """Note that a worker has these (record, version, delivery), or has them no more; what it may not have is left.

        Call it outside of other transactions: those of other coordinators delete rows of theirs.
        """
        wanted = sorted(attempts)  # the order in which everyone locks
        for start in range(0, len(wanted), HOLDERS_AT_ONCE):
            some = wanted[start : start + HOLDERS_AT_ONCE]
            found = self._holders_of(some)
            rows: list[Row] = [
                (*key, worker if is_holding else "", at if is_holding else 0)
                for key in some
                if key in found
                and (found[key][0] == worker) != is_holding
                and is_let(found[key][1])
            ]
            if rows:
                self._database.update(
                    HOLDERS, rows, expected="delivery", column=[row[2] for row in rows]
                )

    def _holders_of(
        self, attempts: Sequence[tuple[str, int, int]]
    ) -> dict[tuple[str, int, int], tuple[str, Work]]:
        among, given = self._database.among("record_id", [each[0] for each in attempts])
        found = self._database.rows(
            f"SELECT record_id, version, delivery, holder, body FROM work WHERE {among}", **given
        )
        return {
            (str(record_id), int(str(version)), int(str(delivery))): (
                str(holder),
                _decode_work(str(body)),
            )
            for record_id, version, delivery, holder, body in found
        }

    def orphaned_work(self, *, limit: int) -> list[Orphan]:
        """Work whose worker was lost, and work that was returned."""
        found = self._database.rows(
            "SELECT worker, loss, body FROM work WHERE worker IN ('', '-') ORDER BY rank LIMIT :limit",
            limit=limit,
        )
        return [
            Orphan(
                work=_decode_work(str(body)),
                is_returned=worker == RETURNED,
                loss=_decode_loss(str(loss)) if loss else None,
            )
            for worker, loss, body in found
        ]

    def waits_for_worker(self, record_id: str, version: int) -> bool:
        """Whether the work of an attempt is there and no worker has it."""
        found = self._database.rows(
            "SELECT worker FROM work WHERE record_id = :record_id AND version = :version",
            record_id=record_id,
            version=version,
        )
        return bool(found) and str(found[0][0]) in NO_WORKER

    def return_unstarted(self, work: Sequence[Work]) -> None:
        """Give up work that this worker has not started, for another to take; no loss is counted for it."""
        for each in work:
            self._set(each, worker=RETURNED, loss=None)
        self._database.notify([TOPIC_READY])

    def return_lost(self, work: Work, loss: Loss) -> None:
        """Give up work whose child process died, with what is known of that, for another to take."""
        self._set(work, worker=RETURNED, loss=loss)
        self._database.notify([TOPIC_READY])

    def return_all(self, worker: str) -> None:
        """Give up all work of a worker that ends in order: nothing was lost, so no loss is counted."""
        self._database.run(
            "UPDATE work SET worker = '-', loss = '' WHERE worker = :worker", worker=worker
        )

    def record_begun(self, work: Work, loss: Loss) -> None:
        """Say, before work begins, what its loss would mean; it counts if this worker is not heard of again."""
        self._set(work, worker=work.worker, loss=loss)

    def _set(self, work: Work, *, worker: str, loss: Loss | None) -> None:
        """Change a row of work; the condition has worker and delivery: what was taken away meanwhile is left alone."""
        self._database.run(
            "UPDATE work SET worker = :to, loss = :loss"
            " WHERE record_id = :record_id AND version = :version AND worker = :worker"
            " AND delivery = :delivery",
            to=worker,
            loss="" if loss is None else _encode(loss).decode(),
            record_id=work.record_id,
            version=work.version,
            worker=work.worker,
            delivery=work.delivery,
        )

    def losses(self, record_id: str, version: int) -> tuple[Loss, ...]:
        """What died with the work of this attempt so far."""
        work = self.assigned(record_id, version)
        return () if work is None else work.losses

    def reassign(self, work: Sequence[Work]) -> None:
        """Assign work that was sent before to the workers it names now.

        Deleted and inserted rather than updated: worker, delivery and the copy of both in `body` change together.
        """
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
        """Remove work; for each, whether it was still assigned to this worker."""
        rows = work_keys(work)
        return self._database.delete(rows.table, rows.keys, by=rows.by)

    def withdraw(self, attempts: Sequence[tuple[str, int]]) -> None:
        """Remove work that is no longer wanted; its worker finds it gone and stops."""
        if any(self._database.delete(WORK, list(attempts))):
            self._database.notify([TOPIC_WORK])

    def release_orphans(self) -> int:
        """Unassign all work of workers that are gone; it waits for others.

        A step of its own after `remove_worker`, by comparison of the tables: so it also finds what a crash between
        the two left behind.
        """
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
        """The oldest events that no other coordinator is handling; call it inside a transaction.

        On PostgreSQL the rows are locked and locked ones skipped, so that coordinators share the inbox without
        waiting for each other; on SQLite there is one writer at a time.
        """
        found = self._database.rows(
            f"SELECT seq, body FROM events ORDER BY seq LIMIT :limit{self._database.skip_locked}",
            limit=limit,
        )
        return [_inbox_event(int(seq or 0), str(body)) for seq, body in found]

    def settle(self, seqs: Sequence[int]) -> None:
        """Delete events in the transaction that handled them, so that none is lost or handled twice."""
        self._database.discard(EVENTS, [(seq,) for seq in seqs], by=("seq",))
        point(Point.EVENTS_SETTLED)

    def depth(self) -> int:
        """How many events wait."""
        ((count,),) = self._database.rows("SELECT count(*) FROM events")
        return int(count or 0)

    # Workers

    def heartbeat(self, worker: WorkerInfo) -> None:
        """Announce a worker: what it can run, how much, and that it was alive just now.

        In a transaction, so that no reader sees the worker missing and takes its work away.
        """
        with self._database.transaction():
            self._database.delete(WORKERS, [(worker.id,)])
            point(Point.WORKER_REPLACED)
            # Two coordinators may hear the same remote worker at once: then either row will do.
            self._database.insert_new(WORKERS, [_worker_row(worker)])

    def request_work(self) -> None:
        """Notify the coordinators that a worker has free slots."""
        self._database.notify([TOPIC_READY])

    def remove_worker(self, worker: str) -> None:
        """Delete a worker that leaves or is lost; its work waits for another after `release_orphans`."""
        self._database.delete(WORKERS, [(worker,)])
        point(Point.WORKER_REMOVED)
        self._database.notify([TOPIC_READY])

    def ask_workers_and_load(self) -> Asked:
        """Ask for all workers, and how much work each has: `workers` and `load_by_worker` in one statement."""
        return self._database.ask(_WORKERS_AND_LOAD)

    def workers(self) -> list[WorkerInfo]:
        """All workers that announced themselves and were not removed, also those whose lease has expired."""
        found = self._database.rows(
            f"SELECT {', '.join(WORKERS.columns)} FROM workers ORDER BY id LIMIT {WORKERS_MAX}"
        )
        return [_worker(row) for row in found]


def workers_and_load(asked: Asked) -> tuple[list[WorkerInfo], dict[tuple[str, bool], int]]:
    """The answer to `Bus.ask_workers_and_load`."""
    workers: list[WorkerInfo] = []
    load: dict[tuple[str, bool], int] = {}
    for *cells, owner, is_inline, count in asked.rows():
        if cells[0] is not None:
            workers.append(_worker(tuple(cells)))
        else:
            load[str(owner), bool(is_inline)] = int(count or 0)
    return workers, load


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


def _inbox_event(seq: int, body: str) -> InboxEvent:
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
        runners_column(worker),
        worker.slots,
        worker.inline_slots,
        worker.started_at,
        worker.seen_at,
        worker.is_draining,
        worker.via,
    )


def runners_column(worker: WorkerInfo) -> str:
    """The runners of a worker, as its row has them."""
    return _encode(worker.runners).decode()


def _worker(row: Row) -> WorkerInfo:
    values = WORKERS.named(row)
    values["runners"] = _decode_names(str(values["runners"]))
    values["is_draining"] = bool(values["is_draining"])
    return WorkerInfo(**values)
