"""Records, their transitions and their effects, in one database.

`commit` is the only way to write a record: compare-and-set on `version`, the transition chained to the one before it,
the effects, and the heads of their lanes, in one transaction and for many records at a time. Everything else
reads. The store decides nothing; it refuses what does not fit.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from hashlib import sha256
from typing import Any

import msgspec
from msgspec.structs import replace

from stateward.core.chain import seal
from stateward.core.errors import ConcurrentModification, StoreMismatch
from stateward.core.failpoints import Point, point
from stateward.core.lanes import FORMER, Lane, LogEntry, lane_of
from stateward.core.machine import Machine, load_machine
from stateward.core.model import (
    COORDINATOR,
    RUNNER,
    Change,
    Disposition,
    Fields,
    Json,
    Micros,
    Record,
    Transition,
    event_id,
)
from stateward.core.output_seal import OutputSeal
from stateward.core.query import Query
from stateward.storage.audit import COORDINATOR_STARTED, MACHINES_STORED, AuditEntry, AuditLog
from stateward.storage.counters import record_counts
from stateward.storage.database import (
    TOPIC_CHANGES,
    TOPIC_READY,
    TOPIC_RESTS,
    UNREADABLE,
    Asked,
    Database,
    Row,
    Table,
    log_end,
)
from stateward.storage.history_tree import TreeRows
from stateward.storage.lanes import LANES, LANES_GONE
from stateward.storage.output_seals import stored_seals, strays
from stateward.storage.record_rows import (
    APPENDED,
    RECORD_CHANGES,
    RECORD_COLUMNS,
    RECORD_PRIORITIES,
    RECORDS,
    TRANSITION_COLUMNS,
    change_row,
    decode_fields,
    record_of_row,
    record_row,
    records_of,
    transition_of_row,
    transition_row,
)
from stateward.storage.row_seals import (
    SALT_BYTES,
    add_seals,
    mark_of_log,
    row_digest,
    seal_former,
    sealed_change,
    stored_digests,
)
from stateward.storage.search import (
    NEWEST,
    Order,
    behind_prefix,
    by_time,
    prefix_of,
    time_part,
    where,
)

PREFIXES_MAX = 100
NUMBER_MAX = (1 << 63) - 1
PAGE_MAX = 10_000  # rows of one answer: a careless limit must not fill the memory of a coordinator

EFFECTS = Table(
    "effects",
    {
        "record_id": "text", "version": "bigint", "kind": "text", "payload": "json", "created_at": "bigint",
    },
    key=("record_id", "version", "kind"),
)  # fmt: skip
DISPOSITIONS = Table(
    "dispositions",
    {
        "event_id": "text", "event_type": "text", "record_id": "text", "version": "bigint", "actor": "text",
        "reason": "text", "detail": "text", "at": "bigint", "salt": "text",
    },
    key=(),
)  # fmt: skip
DEAD_LETTERS = Table(
    "dead_letters",
    {"kind": "text", "body": "text", "reason": "text", "at": "bigint", "salt": "text"},
    key=(),
)
PAUSES = Table(
    "pauses",
    {"machine": "text", "stage": "text", "at": "bigint", "actor": "text", "reason": "text"},
    key=("machine", "stage"),
)
MACHINES = Table(
    "machines",
    {
        "name": "text", "version": "bigint", "digest": "text", "document": "json", "at": "bigint",
    },
    key=("name", "version"),
)  # fmt: skip


# What `core.model.event_id` returns.
_DERIVED_ID = re.compile(r"[^:]+:[0-9]+:[^:]+")


class Pause(msgspec.Struct, frozen=True, kw_only=True):
    """A stage that is not dispatched for now; stage '' is the whole machine."""

    machine: str
    stage: str
    at: Micros
    actor: str
    reason: str | None


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True):
    """Something that could not be processed, kept with the reason for a person to look at."""

    kind: str
    body: str
    reason: str
    at: Micros


class QueryNames(msgspec.Struct, frozen=True, kw_only=True):
    """What the names in a query mean: by machine, the kind of each state, and the state that each stage runs in."""

    kinds: dict[str, dict[str, str]]
    running: dict[str, dict[str, str]]


class Store:
    """The records and their history. The transport shares its database, so that their writes join one transaction."""

    def __init__(
        self, database: Database, *, random_bytes: Callable[[int], bytes] = os.urandom
    ) -> None:
        self._database = database
        self.tree = TreeRows(database)
        self._random_bytes = random_bytes
        self._lane_count = 0  # fixed when a store is made, so it is read once

    @property
    def database(self) -> Database:
        """The database, for what must be written in the same transactions."""
        return self._database

    def transaction(self) -> AbstractContextManager[None]:
        """One transaction; see `Database.transaction`."""
        return self._database.transaction()

    # Writing

    def commit(
        self,
        changes: Sequence[Change],
        *,
        dispositions: Sequence[Disposition] = (),
        epoch: Asked | None = None,
        are_locked: bool = False,
    ) -> list[Change | None]:
        """Write these changes, all or none; several changes of one record follow each other.

        Returns them with their hashes; None for a new record whose dedupe key exists already. A record that is no
        longer at the expected version raises `ConcurrentModification`, and nothing is written.

        `epoch` was asked for in the same transaction. `are_locked`: the records that exist were loaded with a lock in
        the same transaction, so that no other version can be met, and nothing is waited for to know that.
        """
        with self._database.transaction():
            known = self._epoch(changes, epoch)
            sealed = _seal_all(changes, epoch=known, random_bytes=self._random_bytes)
            # One row per record: from what its first change expects to what its last one leaves.
            finals: dict[str, Change] = {}
            for change in sealed:
                first = finals.get(change.record.id)
                finals[change.record.id] = (
                    change if first is None else replace(change, expected=first.expected)
                )
            duplicates = self._insert([each for each in finals.values() if each.expected is None])
            existing = [each for each in finals.values() if each.expected is not None]
            self._compare_and_set(existing, are_locked=are_locked)
            point(Point.RECORDS_WRITTEN)
            written = (
                [each for each in sealed if each.record.id not in duplicates]
                if duplicates
                else sealed
            )
            self._append(written)
            self._add_effects(written)
            if dispositions:
                self._add_sealed(DISPOSITIONS, list(map(msgspec.structs.astuple, dispositions)))
                point(Point.DISPOSITIONS_WRITTEN)
            # Of several changes of a record the last one counts: it may have been dispatched already.
            if any(each.record.waiting is not None for each in finals.values()):
                self._database.notify([TOPIC_READY])
            if any(_is_left_alone(each.record) for each in finals.values()):
                self._database.notify([TOPIC_RESTS])
            if any(change.transition is not None for change in written):
                self._database.notify([TOPIC_CHANGES])
            return [None if each.record.id in duplicates else each for each in sealed]

    def _insert(self, changes: Sequence[Change]) -> frozenset[str]:
        """Write new records; returns the ids of those whose dedupe key exists already."""
        if not changes:
            return frozenset()
        # In the order of their keys: two that submit the same documents wait for each other, but never in a circle.
        ordered = sorted(
            (each for each in changes if each.record.dedupe is not None), key=_dedupe_order
        )
        written = (
            self._database.insert_new(RECORDS, [record_row(each.record) for each in ordered])
            if ordered
            else ()
        )
        # Those without a key cannot be there already, so that no answer is waited for: a round trip less.
        keyless = [record_row(each.record) for each in changes if each.record.dedupe is None]
        self._database.insert(RECORDS, keyless)
        return frozenset(
            change.record.id
            for change, is_written in zip(ordered, written, strict=True)
            if not is_written
        )

    def _compare_and_set(self, changes: Sequence[Change], *, are_locked: bool) -> None:
        if not changes:
            return
        # The version is the optimistic lock: of two coordinators that both read version 7, one writes version 8, and
        # the other finds that no row has version 7 any more.
        rows = [change_row(change.record) for change in changes]
        versions = [change.expected for change in changes]
        if are_locked:
            self._database.overwrite(RECORD_CHANGES, rows, expected="version", column=versions)
            return
        moved = self._database.update(RECORD_CHANGES, rows, expected="version", column=versions)
        for change, is_moved in zip(changes, moved, strict=True):
            if not is_moved:
                raise ConcurrentModification(change.record.id, expected=change.expected)

    def _append(self, changes: Sequence[Change]) -> None:
        transitions = [change.transition for change in changes if change.transition is not None]
        if not transitions:
            return
        lanes = self._lane_count or self._count_lanes()
        hashes: dict[int, list[str]] = {}
        for each in transitions:
            hashes.setdefault(lane_of(each.record_id, lanes), []).append(each.hash)
        self._database.append(APPENDED, [transition_row(each) for each in transitions], hashes)

    def ask_epoch(self) -> Asked:
        """Ask for the epoch of what this transaction will commit; it does not rise before the transaction ends.

        Records are locked first: what holds the epoch must not wait for what waits for it.
        """
        return self._database.ask("SELECT epoch FROM current_epoch")

    def ask_epoch_and_paused(self) -> tuple[Asked, Asked]:
        """`ask_epoch` and `ask_paused` in one statement."""
        asked = self._database.ask(
            "SELECT epoch, machine, stage FROM current_epoch LEFT JOIN pauses ON TRUE"
        )
        return AskedEpoch(asked), AskedPaused(asked)

    def ask_epoch_and_queue(self) -> tuple[Asked, Asked, Asked]:
        """`ask_epoch_and_paused`, and whether a record waits for any stage at all, in one statement."""
        # In the order of the index: without it PostgreSQL may prefer to look through all records, if many waited when
        # it last counted.
        asked = self._database.ask(
            "SELECT epoch, machine, stage, (SELECT machine FROM records WHERE waiting IS NOT NULL"
            " ORDER BY machine, waiting, rank LIMIT 1) FROM current_epoch LEFT JOIN pauses ON TRUE"
        )
        return AskedEpoch(asked), AskedPaused(asked), AskedWaiting(asked)

    def _epoch(self, changes: Sequence[Change], asked: Asked | None) -> int:
        if not any(change.transition for change in changes):
            return 0
        ((epoch,),) = (asked or self.ask_epoch()).rows()
        return int(epoch or 0)

    def _add_effects(self, changes: Sequence[Change]) -> None:
        rows: list[Row] = [
            (
                effect.record_id,
                effect.version,
                str(effect.__struct_config__.tag),
                msgspec.json.encode(effect).decode(),
                change.record.entered_at,
            )
            for change in changes
            for effect in change.effects
        ]
        if rows:
            self._database.insert(EFFECTS, rows)
            point(Point.EFFECTS_ADDED)

    def update_priority(self, records: Sequence[Record]) -> list[bool]:
        """Write priority and rank of records that are still at their version; for each, whether it was."""
        rows = [(each.id, each.version, each.priority, each.rank) for each in records]
        return self._database.update(
            RECORD_PRIORITIES, rows, expected="version", column=[each.version for each in records]
        )

    def postpone(self, attempts: Iterable[tuple[str, int]], *, by: Micros) -> None:
        """Move the deadlines of these (record, version) on, as far as they are still at their version.

        Like the priority this is no transition: the attempt is the same, its time did not run (docs/decisions/0038).
        """
        for record_id, version in sorted(attempts):  # the order in which everyone locks
            self._database.run(
                "UPDATE records SET due_at = due_at + :by"
                " WHERE id = :id AND version = :version AND due_at IS NOT NULL",
                by=by,
                id=record_id,
                version=version,
            )

    # What the coordinator and the scheduler look up: live records only, through partial indexes

    def load(self, ids: Iterable[str], *, lock: bool = False) -> dict[str, Record]:
        """The records of these ids; with `lock`, no other transaction changes them until this one ends."""
        wanted = sorted(set(ids))
        if not wanted:
            return {}
        sql, params = self._loading(wanted, lock=lock)
        return records_of(self._database.rows(sql, **params))

    def ask_load(self, ids: Iterable[str]) -> Asked:
        """Ask for records as `load` does, with a lock: it is held from the next statement on."""
        sql, params = self._loading(sorted(set(ids)), lock=True)
        return self._database.ask(sql, **params)

    def _loading(self, wanted: Sequence[str], *, lock: bool) -> tuple[str, dict[str, object]]:
        condition, params = self._database.among("id", wanted)
        # Everyone locks in the order of ids, so that two transactions wait for each other but never in a circle.
        suffix = f" ORDER BY id{self._database.for_update}" if lock else ""
        return f"SELECT {RECORD_COLUMNS} FROM records WHERE {condition}{suffix}", params

    def get(self, record_id: str) -> Record | None:
        """One record, or None."""
        return self.load([record_id]).get(record_id)

    def successors(self, record: Record, *, prefix: str) -> list[str]:
        """The ids of the records that replace one; their dedupe keys begin with `prefix`, which is indexed."""
        rows = self._database.rows(
            "SELECT id FROM records WHERE machine = :machine AND dedupe >= :prefix AND dedupe < :end"
            " AND replaces = :id ORDER BY created_at, id LIMIT 100",
            machine=record.machine,
            prefix=prefix,
            end=prefix + "\x7f",
            id=record.id,
        )
        return [str(row[0]) for row in rows]

    def by_dedupe(self, machine: str, dedupe: str) -> Record | None:
        """The record that was created with this dedupe key, or None."""
        found = self._records(
            "machine = :machine AND dedupe = :dedupe", machine=machine, dedupe=dedupe
        )
        return found[0] if found else None

    def waiting(
        self, machine: str, stage: str, *, limit: int, without: Sequence[str] = ()
    ) -> list[Record]:
        """Records that wait for a stage, by rank; inside a transaction they are locked for it.

        `without` are source types whose records are passed over.
        """
        others = {f"t{n}": name for n, name in enumerate(without)}
        names = ", ".join(f":{name}" for name in others)
        passed = f" AND coalesce(labels ->> 'source_type', '') NOT IN ({names})" if others else ""
        return self._records(
            f"machine = :machine AND waiting = :stage{passed}"
            f" ORDER BY rank LIMIT :limit{self._database.skip_locked}",
            machine=machine,
            stage=stage,
            limit=limit,
            **others,
        )

    def open_stages(self, stages: Sequence[tuple[str, str]]) -> dict[tuple[str, str], bool]:
        """Which of these (machine, stage) are not paused, and for each whether records wait for it."""
        if not stages:
            return {}
        given = {f"p{n}": name for n, name in enumerate(name for pair in stages for name in pair)}
        found = self._database.rows(_open_stages_sql(len(stages)), **given)
        return {(str(machine), str(stage)): bool(waits) for machine, stage, waits in found}

    def ask_paused(self) -> Asked:
        """Ask for the (machine, stage) that are paused; stage '' is the whole machine."""
        return self._database.ask("SELECT machine, stage FROM pauses")

    def count_ahead(self, record: Record) -> int:
        """How many records wait for the same stage and come before this one."""
        ((count,),) = self._database.rows(
            "SELECT count(*) FROM records WHERE machine = :machine AND waiting = :stage AND rank < :rank",
            machine=record.machine,
            stage=record.waiting,
            rank=record.rank,
        )
        return int(count or 0)

    def due(self, now: Micros, *, limit: int) -> list[Record]:
        """Records whose `due_at` has come, the longest overdue first."""
        return self._records("due_at <= :now ORDER BY due_at LIMIT :limit", now=now, limit=limit)

    def due_in(
        self, states: Sequence[tuple[str, str]], *, after: tuple[Micros, str] | None, limit: int
    ) -> list[Record]:
        """Records in these (machine, status) that have a `due_at`, soonest first; `after` is the last one seen."""
        if not states:
            return []
        given: dict[str, str | int] = {f"m{n}": machine for n, (machine, _) in enumerate(states)}
        given |= {f"s{n}": status for n, (_, status) in enumerate(states)}
        places = " OR ".join(f"(machine = :m{n} AND status = :s{n})" for n, _ in enumerate(states))
        cursor = ""
        if after is not None:
            cursor = " AND (due_at, id) > (:due_at, :id)"
            given |= {"due_at": after[0], "id": after[1]}
        return self._records(
            f"due_at IS NOT NULL AND ({places}){cursor} ORDER BY due_at, id LIMIT :limit",
            **given,
            limit=min(limit, PAGE_MAX),
        )

    def next_due(self) -> Micros | None:
        """The earliest `due_at` of all records."""
        ((at,),) = self._database.rows("SELECT min(due_at) FROM records WHERE due_at IS NOT NULL")
        return None if at is None else int(at)

    def applied_event_ids(self, event_ids: Sequence[str]) -> set[str]:
        """Which of these event ids have made a transition already.

        Events whose id follows from the record and version that they are about need no look-up: the version tells
        whether they are stale.
        """
        if not event_ids:
            return set()
        self._database.flush()
        condition, params = self._database.among("event_id", event_ids)
        found = self._database.rows(f"SELECT event_id FROM transitions WHERE {condition}", **params)
        applied = {str(each) for (each,) in found}
        # Ids that follow from record, version and trigger are not stored with the transition (it saves a column and
        # an index entry). They come here only when a client sends such an id with another version, or with none.
        derived = [each for each in event_ids if _DERIVED_ID.fullmatch(each)]
        if not derived:
            return applied
        condition, params = self._database.among(
            "record_id", sorted({each.partition(":")[0] for each in derived})
        )
        found = self._database.rows(
            f"SELECT record_id, version, trigger FROM transitions WHERE {condition} AND event_id IS NULL",
            **params,
        )
        made = {
            event_id(str(record_id), makes=int(version or 0), type_=str(trigger))
            for record_id, version, trigger in found
        }
        return applied | made.intersection(derived)

    def result_worker(self, record_id: str, version: int) -> str | None:
        """The worker that stored the result of an attempt; None if there is no result."""
        found = self._database.rows(
            "SELECT worker FROM outputs WHERE record_id = :record_id AND version = :version",
            record_id=record_id,
            version=version,
        )
        return str(found[0][0]) if found else None

    # Queries of people and programs

    def find(
        self,
        query: Query,
        *,
        names: QueryNames,
        after: str = "",
        limit: int = 100,
        order: Order = NEWEST,
    ) -> list[Record]:
        """Records that match, newest first or in another order; `after` is `order.place` of the last one seen."""
        condition, params = where(query, kinds=names.kinds, running=names.running)
        if order.by == NEWEST.by and len(prefixes := self._prefixes()) > 1:
            wanted, place = by_time(condition, prefixes, after=after, is_rising=order.is_rising)
            found = self._records(wanted, **params, **place, limit=min(limit, PAGE_MAX))
            return sorted(found, key=lambda each: time_part(each.id), reverse=not order.is_rising)
        cursor, place = order.condition(after)
        return self._records(
            f"{condition}{cursor} ORDER BY {order.sql} LIMIT :limit",
            **params,
            **place,
            limit=min(limit, PAGE_MAX),
        )

    def _prefixes(self) -> list[str]:
        """What the ids begin with: one look at the index of ids for each pipeline that has records.

        None if there are ids without such a beginning, which nothing but their own order can sort.
        """
        found: list[str] = []
        first = self._first_id("")
        while first is not None and len(found) < PREFIXES_MAX:
            if not (prefix := prefix_of(first)):
                return []
            found.append(prefix)
            first = self._first_id(behind_prefix(prefix))
        return found

    def _first_id(self, at_least: str) -> str | None:
        ((least,),) = self._database.rows(
            "SELECT min(id) FROM records WHERE id >= :at_least", at_least=at_least
        )
        return None if least is None else str(least)

    def count(self, query: Query, *, names: QueryNames) -> dict[tuple[str, str], int]:
        """How many records match, by (machine, status)."""
        if query.is_empty:  # all of them, which need not be read to be counted
            return record_counts(self._database)
        return self._counts(*where(query, kinds=names.kinds, running=names.running))

    def counts(self) -> dict[tuple[str, str], int]:
        """How many records there are, by (machine, status)."""
        return self._counts("TRUE", {})

    def _counts(self, condition: str, params: dict[str, object]) -> dict[tuple[str, str], int]:
        found = self._database.rows(
            f"SELECT machine, status, count(*) FROM records WHERE {condition} GROUP BY machine, status",
            **params,
        )
        return {(str(machine), str(status)): int(n or 0) for machine, status, n in found}

    def history(self, record_id: str) -> list[Transition]:
        """All transitions of a record, oldest first."""
        return self._transitions("record_id = :record_id ORDER BY version", record_id=record_id)

    def log(self, *, after: int = 0, limit: int = 1000) -> list[Transition]:
        """The log after this `seq`, as far as it is complete: for readers that follow it."""
        end = self.log_end()
        return self.log_between(after, end, limit=limit) if end > after else []

    def log_between(self, after: int, until: int, *, limit: int = 1000) -> list[Transition]:
        """What can be seen of the log after this `seq` and up to that one."""
        return self._transitions(
            "seq > :after AND seq <= :until ORDER BY seq LIMIT :limit",
            after=after,
            until=until,
            limit=limit,
        )

    def log_entries(self, after: int, until: int, *, limit: int) -> list[LogEntry]:
        """Of what can be seen of the log after this `seq` and up to that one, what its lanes are made of."""
        self._database.flush()
        found: list[Any] = self._database.rows(
            "SELECT seq, record_id, epoch, hash FROM transitions WHERE seq > :after AND seq <= :until"
            " ORDER BY seq LIMIT :limit",
            after=after,
            until=until,
            limit=limit,
        )
        return [LogEntry(*row) for row in found]

    def log_hashes(self, after: int, until: int, *, chunk: int) -> Iterator[tuple[int, str, str]]:
        """(seq, record, hash) of what can be seen of the log after this `seq` and up to that one."""
        self._database.flush()
        while found := self._database.rows(
            "SELECT seq, record_id, hash FROM transitions WHERE seq > :after AND seq <= :until"
            " ORDER BY seq LIMIT :chunk",
            after=after,
            until=until,
            chunk=chunk,
        ):
            for seq, record_id, own in found:
                after = int(seq or 0)
                yield after, str(record_id), str(own)

    def walk(self, *, chunk: int = 1000) -> Iterator[Record]:
        """Every record, by id, a chunk at a time: a cursor would hold a transaction open for minutes."""
        after = ""
        while True:
            found = self._records("id > :after ORDER BY id LIMIT :chunk", after=after, chunk=chunk)
            yield from found
            if len(found) < chunk:
                return
            after = found[-1].id

    def walk_history(self, *, until: int, chunk: int = 1000) -> Iterator[Transition]:
        """Every transition up to this `seq`, ordered by record and version, a chunk at a time."""
        record_id, version = "", -1
        while True:
            found = self._transitions(
                "(record_id, version) > (:record_id, :version) AND seq <= :until"
                " ORDER BY record_id, version LIMIT :chunk",
                record_id=record_id,
                version=version,
                until=until,
                chunk=chunk,
            )
            yield from found
            if len(found) < chunk:
                return
            record_id, version = found[-1].record_id, found[-1].version

    def damage(self) -> list[str]:
        """What the database's own check finds wrong with it."""
        return self._database.damage()

    def output_seals(self) -> Iterator[tuple[tuple[str, int], OutputSeal]]:
        """The seal of every attempt's output as it is stored, by record and version."""
        return stored_seals(self._database)

    def output_strays(self) -> Iterator[tuple[tuple[str, int], str]]:
        """Items and files that belong to no output."""
        return strays(self._database)

    def is_told(self, record_id: str, version: int) -> bool:
        """Whether a runner told of its attempt in vain, or its event still waits."""
        found = self._database.rows(
            "SELECT 1 FROM dispositions WHERE record_id = :record_id AND version = :version"
            " AND actor LIKE :runner UNION ALL"
            " SELECT 1 FROM events WHERE CAST(body AS text) LIKE :mention LIMIT 1",
            record_id=record_id,
            version=version,
            runner=f"{RUNNER}%",
            mention=f"%{record_id}%",
        )
        return bool(found)

    def row_digests(self) -> Iterator[tuple[str, str, str]]:
        """(kind, where, digest) of every row that is sealed in the audit log, as it is stored."""
        return stored_digests(self._database)

    def seal_former_rows(self, *, now: Micros) -> None:
        """Seal such rows of a former version, once."""
        seal_former(self._database, at=now, new_salt=self.new_salt)

    # Lanes

    def lanes(self) -> list[Lane]:
        """The lanes of the history as they are at one moment, in order."""
        self._database.flush()
        return self._lanes("TRUE")

    def _lanes(self, condition: str, *, lock: bool = False, **params: object) -> list[Lane]:
        suffix = self._database.for_update if lock else ""
        found: list[Any] = self._database.rows(
            f"SELECT lane, count, head, epoch, since FROM lanes WHERE {condition} ORDER BY lane{suffix}",
            **params,
        )
        return [
            Lane(lane=lane, count=count, head=head, epoch=epoch, since=since)
            for lane, count, head, epoch, since in found
        ]

    def _count_lanes(self) -> int:
        ((count,),) = self._database.rows("SELECT count(*) FROM lanes WHERE lane >= 0")
        if not count:
            raise StoreMismatch(LANES_GONE)
        self._lane_count = int(count)
        return self._lane_count

    def make_lanes(self, count: int, *, now: Micros) -> bool:
        """Divide a history that has not begun into so many lanes; whether it has that many now.

        Their number is fixed by the first transition: the lane of a record follows from it.
        """
        with self._database.transaction():
            lanes = self._lanes("TRUE", lock=True)
            if sum(each.lane != FORMER for each in lanes) == count:
                return True
            if any(each.count for each in lanes):
                return False
            epoch = max((each.epoch for each in lanes), default=0)
            fresh = [Lane(lane=number, epoch=epoch, since=now) for number in range(count)]
            with sealed_change(self._database, LANES.name, at=now):
                self._database.delete(LANES, [(each.lane,) for each in lanes])
                self._database.insert(LANES, [msgspec.structs.astuple(each) for each in fresh])
            self._lane_count = count
            return True

    def count_transitions(self) -> int:
        """How many transitions there are."""
        self._database.flush()
        ((count,),) = self._database.rows("SELECT sum(count) FROM lanes")
        return int(count or 0)

    def last_seq(self) -> int:
        """The number of the newest transition that can be seen; below it others may still appear."""
        ((seq,),) = self._database.rows("SELECT max(seq) FROM transitions")
        return int(seq or 0)

    def log_end(self) -> int:
        """The number up to which the log is complete: what was read up to here lacks nothing."""
        return log_end(self._database)

    def begin_epoch(self, *, now: Micros) -> int:
        """Count one more start of a coordinator; transitions record in which epoch they were made.

        It is announced in the audit log first, in a transaction of its own: who writes holds the epoch and then waits
        for the head of that log, so both at once could wait in a circle.
        """
        ((before,),) = self._database.rows("SELECT max(epoch) FROM lanes")
        detail: Fields = {"epoch": int(before or 0), **mark_of_log(self._database)}
        entry = AuditEntry(at=now, actor=COORDINATOR, verb=COORDINATOR_STARTED, detail=detail)
        AuditLog(self._database).add([entry])
        with self._database.transaction():
            self._database.run("UPDATE lanes SET epoch = epoch + 1")
            ((epoch,),) = self._database.rows("SELECT max(epoch) FROM lanes")
            return int(epoch or 0)

    def dispositions(self, *, after: int = 0, limit: int = 1000) -> list[tuple[int, Disposition]]:
        """Events that made no transition, each with its id."""
        found = self._database.rows(
            f"SELECT id, {', '.join(DISPOSITIONS.columns)} FROM dispositions WHERE id > :after"
            " ORDER BY id LIMIT :limit",
            after=after,
            limit=limit,
        )
        names = tuple(DISPOSITIONS.columns)[:-1]
        return [
            (int(row[0] or 0), Disposition(**dict(zip(names, row[1:-1], strict=True))))  # type: ignore[arg-type]
            for row in found
        ]

    def add_dead_letters(self, letters: Sequence[DeadLetter]) -> None:
        """Store what could not be processed."""
        rows: list[Row] = [(each.kind, each.body, each.reason, each.at) for each in letters]
        with self._database.transaction():
            self._add_sealed(DEAD_LETTERS, rows)

    def new_salt(self) -> str:
        """For a row that is sealed: without it nothing can be guessed from the digest when the row was erased."""
        return self._random_bytes(SALT_BYTES).hex()

    def _add_sealed(self, table: Table, rows: Sequence[Row]) -> None:
        """Write rows that no transition binds, each with a salt, and their seals. The last value of one is its time."""
        salts = [self.new_salt() for _ in rows]
        pairs = list(zip(rows, salts, strict=True))
        self._database.insert(table, [(*row, salt) for row, salt in pairs])
        digests = [row_digest(salt, row) for row, salt in pairs]
        add_seals(self._database, {table.name: digests}, at=max(int(row[-1] or 0) for row in rows))

    def dead_letters(
        self, *, before: int | None = None, limit: int = PAGE_MAX
    ) -> list[tuple[int, DeadLetter]]:
        """What could not be processed, newest first, each with its number; `before` is the last one that was seen."""
        least = NUMBER_MAX if before is None else before
        return self._dead_letters("WHERE id < :before ORDER BY id DESC", before=least, limit=limit)

    def walk_dead_letters(self, *, chunk: int = 1000) -> Iterator[DeadLetter]:
        """All of it, oldest first, a chunk in memory at a time."""
        after = 0
        while found := self._dead_letters(
            "WHERE id > :after ORDER BY id", after=after, limit=chunk
        ):
            yield from (letter for _, letter in found)
            after = found[-1][0]

    def _dead_letters(self, which: str, **values: int) -> list[tuple[int, DeadLetter]]:
        found = self._database.rows(
            f"SELECT id, kind, body, reason, at FROM dead_letters {which} LIMIT :limit",
            **values,
        )
        return [
            (
                int(number or 0),
                DeadLetter(kind=str(kind), body=str(body), reason=str(reason), at=int(at or 0)),
            )
            for number, kind, body, reason, at in found
        ]

    # Pauses

    def pause(self, pause: Pause) -> None:
        """Stop dispatching a stage; attempts that run are not stopped. Pausing again replaces the reason."""
        with sealed_change(self._database, PAUSES.name, [pause.machine], at=pause.at):
            self._database.delete(PAUSES, [(pause.machine, pause.stage)])
            row = (pause.machine, pause.stage, pause.at, pause.actor, pause.reason)
            self._database.insert(PAUSES, [row])

    def resume(self, machine: str, stage: str, *, now: Micros) -> bool:
        """Dispatch a stage again; whether it was paused."""
        with sealed_change(self._database, PAUSES.name, [machine], at=now):
            (was_paused,) = self._database.delete(PAUSES, [(machine, stage)])
            self._database.notify([TOPIC_READY])
            return was_paused

    def pauses(self) -> list[Pause]:
        """Every pause in force."""
        found = self._database.rows(
            "SELECT machine, stage, at, actor, reason FROM pauses ORDER BY machine, stage"
        )
        names = tuple(PAUSES.columns)
        return [Pause(**dict(zip(names, row, strict=True))) for row in found]  # type: ignore[arg-type]

    # Machines

    def save_machines(self, machines: Sequence[tuple[Machine, str]], *, now: Micros) -> None:
        """Store versions of machines with their digests, for the records that follow them.

        One entry of the audit log seals the documents of those that are new.
        """
        rows: list[Row] = [
            (each.name, each.version, digest, msgspec.json.encode(each).decode(), now)
            for each, digest in machines
        ]
        with self._database.transaction():
            are_new = self._database.insert_new(MACHINES, rows)
            sealed: list[Json] = [
                [each.name, each.version, sha256(str(row[3]).encode()).hexdigest()]
                for (each, _), row, is_new in zip(machines, rows, are_new, strict=True)
                if is_new
            ]
            if sealed:
                detail: Fields = {"machines": sealed}
                entry = AuditEntry(at=now, actor=COORDINATOR, verb=MACHINES_STORED, detail=detail)
                AuditLog(self._database).add([entry])
                new = [row for row, is_new in zip(rows, are_new, strict=True) if is_new]
                digests = [row_digest("", row) for row in new]
                add_seals(self._database, {MACHINES.name: digests}, at=now)

    def machine_digests(self) -> dict[tuple[str, int], str]:
        """The SHA-256 of the document of each version of each machine, as it is stored now."""
        found = self._database.rows("SELECT name, version, document FROM machines")
        return {
            (str(name), int(version or 0)): sha256(str(document).encode()).hexdigest()
            for name, version, document in found
        }

    def machines(self) -> list[tuple[Machine, str]]:
        """Every version of every machine that was ever in force here, with its digest."""
        made: list[tuple[Machine, str]] = []
        for name, version, document, digest in self._database.rows(
            "SELECT name, version, document, digest FROM machines ORDER BY name, version"
        ):
            try:
                made.append((load_machine(decode_fields(str(document))), str(digest)))
            except msgspec.DecodeError as error:
                what = f"version {version!s} of the machine {name!s}"
                raise StoreMismatch(UNREADABLE.format(what=what, error=error)) from error
        return made

    def on_version(self, machine: str, version: int, status: str, *, limit: int) -> list[Record]:
        """Records in a status that follow this version of a machine; inside a transaction they are locked for it."""
        return self._records(
            "machine = :machine AND status = :status AND machine_version = :version"
            f" ORDER BY id LIMIT :limit{self._database.skip_locked}",
            machine=machine,
            version=version,
            status=status,
            limit=limit,
        )

    def count_on_version(self, machine: str, version: int, status: str) -> int:
        """How many records in a status follow this version of a machine."""
        ((count,),) = self._database.rows(
            "SELECT count(*) FROM records"
            " WHERE machine = :machine AND status = :status AND machine_version = :version",
            machine=machine,
            version=version,
            status=status,
        )
        return int(count or 0)

    def submitters(self, record_ids: Sequence[str]) -> dict[str, str]:
        """Who submitted each of these records."""
        if not record_ids:
            return {}
        condition, params = self._database.among("record_id", record_ids)
        found = self._database.rows(
            f"SELECT record_id, actor FROM transitions WHERE {condition} AND version = 0", **params
        )
        return {str(record_id): str(actor) for record_id, actor in found}

    def _records(self, condition: str, **params: object) -> list[Record]:
        found = self._database.rows(
            f"SELECT {RECORD_COLUMNS} FROM records WHERE {condition}", **params
        )
        return [record_of_row(row) for row in found]

    def _transitions(self, condition: str, **params: object) -> list[Transition]:
        self._database.flush()
        found = self._database.rows(
            f"SELECT {TRANSITION_COLUMNS} FROM transitions WHERE {condition}", **params
        )
        return [transition_of_row(row) for row in found]


class AskedEpoch:
    """The epoch, of `Store.ask_epoch_and_paused` and `Store.ask_epoch_and_queue`."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    def rows(self) -> list[Row]:
        """One row."""
        return [row[:1] for row in self._asked.rows()[:1]]


class AskedPaused:
    """What is paused, of `Store.ask_epoch_and_paused` and `Store.ask_epoch_and_queue`."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    def rows(self) -> list[Row]:
        """A row for each."""
        return [row[1:3] for row in self._asked.rows() if row[1] is not None]


class AskedWaiting:
    """The machine of a record that waits, of `Store.ask_epoch_and_queue`."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    def rows(self) -> list[Row]:
        """One row, or none."""
        return [row[3:] for row in self._asked.rows()[:1] if row[3] is not None]


# One statement for all stages, asked at every turn; a short list of machines makes few distinct counts.
@lru_cache
def _open_stages_sql(count: int) -> str:
    values = ", ".join(f"(:p{2 * n}, :p{2 * n + 1})" for n in range(count))
    return (
        "SELECT v.column1, v.column2, EXISTS"
        " (SELECT 1 FROM records WHERE machine = v.column1 AND waiting = v.column2)"
        f" FROM (VALUES {values}) AS v WHERE NOT EXISTS"
        " (SELECT 1 FROM pauses WHERE machine = v.column1 AND stage IN ('', v.column2))"
    )


def _is_left_alone(record: Record) -> bool:
    """Whether a record waits for no stage and no worker has it: it has ended, or rests, perhaps for a while."""
    return record.waiting is None and record.worker is None


def _dedupe_order(change: Change) -> tuple[str, str]:
    return change.record.machine, change.record.dedupe or ""


def _seal_all(
    changes: Sequence[Change], *, epoch: int, random_bytes: Callable[[int], bytes]
) -> list[Change]:
    """Chain each transition to the one before it, also where that is in the same batch."""
    heads: dict[str, str] = {}
    sealed: list[Change] = []
    salts = random_bytes(SALT_BYTES * len(changes)).hex()  # one call for the whole batch
    for place, change in enumerate(changes):
        record, transition, id_ = change.record, change.transition, change.record.id
        if transition is not None:
            salt = salts[2 * SALT_BYTES * place : 2 * SALT_BYTES * (place + 1)]
            transition, record = seal(
                transition, record, epoch=epoch, head=heads.get(id_), salt=salt
            )
            heads[id_] = record.head
        elif id_ in heads:
            record = replace(record, head=heads[id_])
        sealed.append(replace(change, record=record, transition=transition))
    return sealed
