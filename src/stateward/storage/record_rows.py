"""Records and transitions as rows of their tables, and back.

They are converted field by field: on the path of every dispatch this is twice as fast as dicts.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from stateward.core.errors import StoreMismatch
from stateward.core.model import Fields, Record, Transition, event_id
from stateward.storage.database import UNDECODABLE, UNREADABLE, Database, Row, Table

# In the order of the fields of `Record`.
RECORDS = Table(
    "records",
    {
        "id": "text", "machine": "text", "machine_version": "bigint", "status": "text", "version": "bigint",
        "created_at": "bigint", "entered_at": "bigint", "priority": "bigint", "rank": "bigint", "waiting": "text",
        "due_at": "bigint", "worker": "text", "asked_by": "text", "retry_count": "bigint", "last_retry_at": "bigint",
        "failed_from": "text", "error_code": "text", "error_message": "text", "rest": "text", "artifact": "text",
        "dedupe": "text", "replaces": "text", "labels": "json", "fields": "json", "outputs": "json", "head": "text",
    },
    key=("id",),
)  # fmt: skip
# What a change writes. The rest of a record never changes after its creation, or only through `update_priority`: a
# dispatch that was decided on an older copy must not undo a new priority.
RECORD_CHANGES = Table(
    "records",
    {
        name: kind
        for name, kind in RECORDS.columns.items()
        if name not in {
            "machine", "created_at", "priority", "rank", "artifact", "dedupe", "replaces", "labels",
        }
    },
    key=("id",),
)  # fmt: skip
RECORD_PRIORITIES = Table(
    "records",
    {name: RECORDS.columns[name] for name in ("id", "version", "priority", "rank")},
    key=("id",),
)
TRANSITIONS = Table(
    "transitions",
    {
        "seq": "bigint", "record_id": "text", "version": "bigint", "machine": "text", "machine_version": "bigint",
        "source": "text", "target": "text", "event_id": "text", "at": "bigint", "actor": "text", "trigger": "text",
        "attempt": "bigint", "metadata": "json", "authority": "text", "epoch": "bigint", "record_hash": "text",
        "prev_hash": "text", "hash": "text", "salt": "text",
    },
    key=("seq",),
)  # fmt: skip
# The database numbers what is appended: a number is drawn while the lanes of its commit are locked.
APPENDED = Table(
    "transitions",
    {name: kind for name, kind in TRANSITIONS.columns.items() if name != "seq"},
    key=(),
)
RECORD_COLUMNS = ", ".join(RECORDS.columns)
TRANSITION_COLUMNS = ", ".join(TRANSITIONS.columns)
_encode = msgspec.json.Encoder(order="deterministic").encode
decode_fields = msgspec.json.Decoder(Fields).decode
_decode_outputs = msgspec.json.Decoder(dict[str, int]).decode


def find_records(database: Database, condition: str, **params: object) -> list[Record]:
    """The records that meet a condition of SQL, which may end with their order and a limit."""
    found = database.rows(f"SELECT {RECORD_COLUMNS} FROM records WHERE {condition}", **params)
    return [record_of_row(row) for row in found]


def records_of(rows: Iterable[Row]) -> dict[str, Record]:
    """Records by their ids, from the rows of `Store.ask_load`."""
    return {str(row[0]): record_of_row(row) for row in rows}


def _json(value: Fields | dict[str, int]) -> str:
    return _encode(value).decode() if value else "{}"


def record_row(r: Record) -> Row:
    return (
        r.id, r.machine, r.machine_version, r.status, r.version, r.created_at, r.entered_at, r.priority, r.rank,
        r.waiting, r.due_at, r.worker, r.asked_by, r.retry_count, r.last_retry_at, r.failed_from, r.error_code,
        r.error_message, r.rest, r.artifact, r.dedupe, r.replaces, _json(r.labels), _json(r.fields),
        _json(r.outputs), r.head,
    )  # fmt: skip


def change_row(r: Record) -> Row:
    """What a change writes of a record."""
    return (
        r.id, r.machine_version, r.status, r.version, r.entered_at, r.waiting, r.due_at, r.worker, r.asked_by,
        r.retry_count, r.last_retry_at, r.failed_from, r.error_code, r.error_message, r.rest, _json(r.fields),
        _json(r.outputs), r.head,
    )  # fmt: skip


def record_of_row(row: Row) -> Record:
    """A record from the columns of `RECORDS`, in their order."""
    cells: Any = row  # the schema says what type each cell has
    (
        id_, machine, machine_version, status, version, created_at, entered_at, priority, rank, waiting,
        due_at, worker, asked_by, retry_count, last_retry_at, failed_from, error_code, error_message, rest, artifact,
        dedupe, replaces, labels, fields, outputs, head,
    ) = cells  # fmt: skip
    try:
        return Record(
            id=id_, machine=machine, machine_version=machine_version, status=status, version=version,
            created_at=created_at, entered_at=entered_at, priority=priority, rank=rank, waiting=waiting, due_at=due_at,
            worker=worker, asked_by=asked_by, retry_count=retry_count, last_retry_at=last_retry_at,
            failed_from=failed_from, error_code=error_code, error_message=error_message, rest=rest, artifact=artifact,
            dedupe=dedupe, replaces=replaces,
            labels={} if labels == "{}" else decode_fields(labels),
            fields={} if fields == "{}" else decode_fields(fields),
            outputs={} if outputs == "{}" else _decode_outputs(outputs),
            head=head,
        )  # fmt: skip
    except UNDECODABLE as error:
        raise StoreMismatch(UNREADABLE.format(what=f"record {id_}", error=error)) from error


def transition_row(t: Transition) -> Row:
    derived = event_id(t.record_id, makes=t.version, type_=t.trigger)
    return (
        t.record_id, t.version, t.machine, t.machine_version, t.source, t.target,
        None if t.event_id == derived else t.event_id, t.at, t.actor, t.trigger, t.attempt, _json(t.metadata),
        t.authority, t.epoch, t.record_hash, t.prev_hash, t.hash, t.salt,
    )  # fmt: skip


def transition_of_row(row: Row) -> Transition:
    """A transition from the columns of `TRANSITIONS`, in their order."""
    cells: Any = row  # the schema says what type each cell has
    (
        seq, record_id, version, machine, machine_version, source, target, stored_id, at, actor, trigger, attempt,
        metadata, authority, epoch, record_hash, prev_hash, hash_, salt,
    ) = cells  # fmt: skip
    try:
        return Transition(
            seq=seq, record_id=record_id, version=version, machine=machine, machine_version=machine_version,
            source=source, target=target,
            event_id=event_id(record_id, makes=version, type_=trigger) if stored_id is None else stored_id,
            at=at, actor=actor, trigger=trigger, attempt=attempt,
            metadata={} if metadata == "{}" else decode_fields(metadata),
            authority=authority, epoch=epoch, record_hash=record_hash, prev_hash=prev_hash, hash=hash_, salt=salt,
        )  # fmt: skip
    except UNDECODABLE as error:
        what = f"entry {seq} of the history (record {record_id})"
        raise StoreMismatch(UNREADABLE.format(what=what, error=error)) from error
