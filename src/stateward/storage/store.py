"""Records, their transitions and their effects, in one database.

`commit` is the only way to write a record: compare-and-set on `version`, the transition chained to the one before it,
the effects, and the heads of their lanes, in one transaction and for many records at a time. Everything else
reads. The store decides nothing; it refuses what does not fit.

What is not on the way of a record has a place of its own: `queries` of people, the `log` of all transitions, its
`lanes` and `tree`, `machine_versions`, `pauses` and `dead_letters`.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager

import msgspec
from msgspec.structs import replace

from stateward.core.chain import seal
from stateward.core.errors import ConcurrentModification
from stateward.core.failpoints import Point, point
from stateward.core.lanes import lane_of
from stateward.core.model import (
    RUNNER,
    Change,
    Disposition,
    Micros,
    Record,
    Transition,
    event_id,
)
from stateward.storage.database import (
    PAGE_MAX,
    TOPIC_CHANGES,
    TOPIC_READY,
    TOPIC_RESTS,
    Asked,
    Database,
    Row,
    Table,
)
from stateward.storage.dead_letters import DeadLetters
from stateward.storage.history_log import HistoryLog, find_transitions
from stateward.storage.history_tree import TreeRows
from stateward.storage.lanes import Lanes
from stateward.storage.machine_versions import MachineVersions
from stateward.storage.pauses import Pauses
from stateward.storage.record_queries import RecordQueries
from stateward.storage.record_rows import (
    APPENDED,
    RECORD_CHANGES,
    RECORD_COLUMNS,
    RECORD_PRIORITIES,
    RECORDS,
    change_row,
    find_records,
    record_row,
    records_of,
    transition_row,
)
from stateward.storage.row_seals import (
    SALT_BYTES,
    insert_sealed,
    seal_former,
)

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

_QUALIFIED_COLUMNS = ", ".join(f"r.{column}" for column in RECORDS.columns)
# What `core.model.event_id` returns.
_DERIVED_ID = re.compile(r"[^:]+:[0-9]+:[^:]+")


class Store:
    """The records and their history. The transport shares its database, so that their writes join one transaction."""

    def __init__(
        self, database: Database, *, random_bytes: Callable[[int], bytes] = os.urandom
    ) -> None:
        self._database = database
        self._random_bytes = random_bytes
        self.queries = RecordQueries(database)
        self.log = HistoryLog(database)
        self.lanes = Lanes(database)
        self.tree = TreeRows(database)
        self.machine_versions = MachineVersions(database)
        self.pauses = Pauses(database)
        self.dead_letters = DeadLetters(database, new_salt=self.new_salt)

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
            # Before anything is written: a record's row holds the hash of its last transition.
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
            # A document that is there already leaves nothing in the history: its first transition is the other one's.
            written = (
                [each for each in sealed if each.record.id not in duplicates]
                if duplicates
                else sealed
            )
            self._append(written)
            self._add_effects(written)
            if dispositions:
                rows = list(map(msgspec.structs.astuple, dispositions))
                insert_sealed(self._database, DISPOSITIONS, rows, new_salt=self.new_salt)
                point(Point.DISPOSITIONS_WRITTEN)
            topics = {TOPIC_CHANGES for change in written if change.transition is not None}
            # Of several changes of a record the last one counts: it may have been dispatched already.
            for each in finals.values():
                if each.record.waiting is not None:
                    topics.add(TOPIC_READY)
                elif each.record.worker is None:
                    topics.add(TOPIC_RESTS)
            if topics:
                self._database.notify(topics)
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
        lanes = self.lanes.number()
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
        """`ask_epoch` and `Pauses.ask` in one statement."""
        pending = self._database.ask(
            "SELECT epoch, machine, stage FROM current_epoch LEFT JOIN pauses ON TRUE"
        )
        return AskedPart(pending, _epoch_rows), AskedPart(pending, _paused_rows)

    def ask_alone(self, ids: Iterable[str]) -> tuple[Asked, Asked, Asked]:
        """What a turn reads that handles these records alone: `ask_load`, and `ask_epoch_and_paused`.

        Where nothing has to be locked first it is one statement, with a row of each record for each pause.
        """
        if self._database.for_update:
            return self.ask_load(ids), *self.ask_epoch_and_paused()
        condition, params = self._database.among("id", sorted(set(ids)))
        pending = self._database.ask(
            f"SELECT epoch, p.machine, p.stage, {_QUALIFIED_COLUMNS} FROM current_epoch"
            f" LEFT JOIN pauses AS p ON TRUE LEFT JOIN records AS r ON {condition}",
            **params,
        )
        return (
            AskedPart(pending, _record_rows),
            AskedPart(pending, _epoch_rows),
            AskedPart(pending, _paused_rows),
        )

    def ask_epoch_and_queue(self) -> tuple[Asked, Asked, Asked]:
        """`ask_epoch_and_paused`, and whether a record waits for any stage at all, in one statement."""
        # In the order of the index: without it PostgreSQL may prefer to look through all records, if many waited when
        # it last counted.
        pending = self._database.ask(
            "SELECT epoch, machine, stage, (SELECT machine FROM records WHERE waiting IS NOT NULL"
            " ORDER BY machine, waiting, rank LIMIT 1) FROM current_epoch LEFT JOIN pauses ON TRUE"
        )
        return (
            AskedPart(pending, _epoch_rows),
            AskedPart(pending, _paused_rows),
            AskedPart(pending, _waiting_rows),
        )

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
        found = find_records(
            self._database,
            "machine = :machine AND dedupe = :dedupe",
            machine=machine,
            dedupe=dedupe,
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
        return find_records(
            self._database,
            f"machine = :machine AND waiting = :stage{passed}"
            f" ORDER BY rank LIMIT :limit{self._database.skip_locked}",
            machine=machine,
            stage=stage,
            limit=limit,
            **others,
        )

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
        return find_records(
            self._database, "due_at <= :now ORDER BY due_at LIMIT :limit", now=now, limit=limit
        )

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
        return find_records(
            self._database,
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

    def history(self, record_id: str) -> list[Transition]:
        """All transitions of a record, oldest first."""
        return find_transitions(
            self._database, "record_id = :record_id ORDER BY version", record_id=record_id
        )

    def walk(self, *, chunk: int = 1000) -> Iterator[Record]:
        """Every record, by id, a chunk at a time: a cursor would hold a transaction open for minutes."""
        after = ""
        while True:
            found = find_records(
                self._database, "id > :after ORDER BY id LIMIT :chunk", after=after, chunk=chunk
            )
            yield from found
            if len(found) < chunk:
                return
            after = found[-1].id

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

    def seal_former_rows(self, *, now: Micros) -> None:
        """Seal rows that no transition binds and a former version did not seal, once."""
        seal_former(self._database, at=now, new_salt=self.new_salt)

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

    def new_salt(self) -> str:
        """For a row that is sealed: without it nothing can be guessed from the digest when the row was erased."""
        return self._random_bytes(SALT_BYTES).hex()

    def on_version(self, machine: str, version: int, status: str, *, limit: int) -> list[Record]:
        """Records in a status that follow this version of a machine; inside a transaction they are locked for it."""
        return find_records(
            self._database,
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
        return submitters_of(self.ask_submitters(record_ids)) if record_ids else {}

    def ask_submitters(self, record_ids: Sequence[str]) -> Asked:
        condition, params = self._database.among("record_id", record_ids)
        return self._database.ask(
            f"SELECT record_id, actor FROM transitions WHERE {condition} AND version = 0", **params
        )


def submitters_of(asked: Asked) -> dict[str, str]:
    """The answer to `Store.ask_submitters`."""
    return {str(record_id): str(actor) for record_id, actor in asked.rows()}


class AskedPart:
    """One of several things that were asked for in one statement."""

    def __init__(self, asked: Asked, part: Callable[[list[Row]], list[Row]]) -> None:
        self._asked = asked
        self._part = part

    def rows(self) -> list[Row]:
        return self._part(self._asked.rows())


# The parts of `Store.ask_epoch_and_queue` and `ask_alone`: the epoch, a row for each pause, and the machine of a record
# that waits or the records.
def _epoch_rows(rows: list[Row]) -> list[Row]:
    return [row[:1] for row in rows[:1]]


def _paused_rows(rows: list[Row]) -> list[Row]:
    return [*{row[1:3]: None for row in rows if row[1] is not None}]


def _waiting_rows(rows: list[Row]) -> list[Row]:
    return [row[3:] for row in rows[:1] if row[3] is not None]


def _record_rows(rows: list[Row]) -> list[Row]:
    return [*{row[3]: row[3:] for row in rows if row[3] is not None}.values()]


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
