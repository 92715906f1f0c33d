"""What runners write: items, logs and completion marks. Never a status.

An attempt is (record, version). Its mark, its log and its items appear together, in one transaction, once:
a second output for the same attempt is dropped. Items are kept in chunks, each a JSON array, so that a stage
with a hundred thousand rows costs a few hundred inserts; what is known of them as a whole is one more chunk, a JSON
object that counts for none. When an event is lost on the way, the mark tells the
clock how the attempt ended. Beside that a stage may keep a little that outlives its attempts, such as an answer
that was paid for.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import msgspec

from stateward.core.failpoints import Point, point
from stateward.core.model import (
    RUNNER,
    Event,
    Fields,
    Micros,
    event_id,
    log_ref,
)
from stateward.storage.database import Database, Row, Table

ATTEMPTS_MAX = 1000
CHUNKS_AT_ONCE = 64
PORTION_ROWS = 10_000
PORTION_CHARS = 8 * 1024 * 1024

OUTPUTS = Table(
    "outputs",
    {
        "record_id": "text",
        "version": "bigint",
        "stage": "text",
        "outcome": "text",
        "count": "bigint",
        "facts": "json",
        "error_code": "text",
        "error_message": "text",
        "is_retryable": "boolean",
        "worker": "text",
        "at": "bigint",
        "log": "text",
    },
    key=("record_id", "version"),
)
ITEM_CHUNKS = Table(
    "item_chunks",
    {
        "record_id": "text",
        "version": "bigint",
        "chunk": "bigint",
        "count": "bigint",
        "data": "text",
    },
    key=("record_id", "version", "chunk"),
)
SAVED_VALUES = Table(
    "saved_values",
    {"record_id": "text", "stage": "text", "name": "text", "data": "text", "at": "bigint"},
    key=("record_id", "stage", "name"),
)

_encode = msgspec.json.Encoder(order="deterministic").encode
_decode_facts = msgspec.json.Decoder(Fields).decode
_decode_items = msgspec.json.Decoder(list[Fields]).decode


class AttemptResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How an attempt ended. `error_code` is None where it was completed."""

    record_id: str
    version: int
    stage: str
    worker: str
    at: Micros
    outcome: str = "done"
    count: int = 0
    facts: Fields = {}
    error_code: str | None = None
    error_message: str | None = None
    is_retryable: bool = True
    log: str = ""


class Output(msgspec.Struct, frozen=True, gc=False):
    """A mark with the items that go with it, as (count, JSON array text)."""

    result: AttemptResult
    chunks: Iterable[tuple[int, str]] = ()


class StoredChunks(Sequence[str]):
    """The chunks of an attempt where they lie: a few at a time are read, in order."""

    def __init__(self, database: Database, record_id: str, version: int) -> None:
        self._database = database
        self._of = {"record_id": record_id, "version": version}

    def __len__(self) -> int:
        ((count,),) = self._database.rows(
            "SELECT count(*) FROM item_chunks WHERE record_id = :record_id AND version = :version",
            **self._of,
        )
        return int(str(count))

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        found = self.page(index, limit=1) if index >= 0 else []
        if not found:
            raise IndexError(index)
        return found[0]

    def __iter__(self) -> Iterator[str]:
        start = 0
        while page := self.page(start):
            yield from page
            start += len(page)

    def page(self, start: int, *, limit: int = CHUNKS_AT_ONCE) -> list[str]:
        """Some of them, from a number on."""
        found = self._database.rows(
            "SELECT data FROM item_chunks WHERE record_id = :record_id AND version = :version"
            f" AND chunk >= :start ORDER BY chunk LIMIT {limit}",
            start=start,
            **self._of,
        )
        return [str(data) for (data,) in found]


class Outputs:
    """The outputs of all attempts, in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def write(self, outputs: Sequence[Output]) -> list[bool]:
        """Keep each output, unless its attempt has one already; for each, whether it was kept."""
        with self._database.transaction():
            kept = self._database.insert_new(OUTPUTS, [_mark_row(each.result) for each in outputs])
            point(Point.RESULTS_WRITTEN)
            chunks = (
                row
                for each, is_kept in zip(outputs, kept, strict=True)
                if is_kept
                for row in _chunk_rows(each)
            )
            for rows in _portions(chunks):
                self._database.insert(ITEM_CHUNKS, rows)
            point(Point.OUTPUTS_WRITTEN)
            return kept

    def result(self, record_id: str, version: int) -> AttemptResult | None:
        """How this attempt ended, if it did."""
        found = self._database.rows(
            f"SELECT {', '.join(OUTPUTS.columns)} FROM outputs"
            " WHERE record_id = :record_id AND version = :version",
            record_id=record_id,
            version=version,
        )
        return _mark(found[0]) if found else None

    def attempts(self, record_id: str) -> list[AttemptResult]:
        """Every attempt at any stage of a record that ended, oldest first, with its log."""
        found = self._database.rows(
            f"SELECT {', '.join(OUTPUTS.columns)} FROM outputs"
            f" WHERE record_id = :record_id AND version >= 0 ORDER BY version LIMIT {ATTEMPTS_MAX}",
            record_id=record_id,
        )
        return [_mark(row) for row in found]

    def editions(self, record_id: str) -> list[AttemptResult]:
        """Outputs that were made anew from what an earlier stage left, without an attempt; the newest last.

        Their versions are below zero, so that they never meet the version of an attempt.
        """
        found = self._database.rows(
            f"SELECT {', '.join(OUTPUTS.columns)} FROM outputs"
            " WHERE record_id = :record_id AND version < 0"
            f" ORDER BY version DESC LIMIT {ATTEMPTS_MAX}",
            record_id=record_id,
        )
        return [_mark(row) for row in found]

    def item_chunks(self, record_id: str, version: int) -> Sequence[str]:
        """The items of an attempt, as the JSON arrays they are kept in; where they lie, if they are many."""
        stored = StoredChunks(self._database, record_id, version)
        first = stored.page(0)
        return first if len(first) < CHUNKS_AT_ONCE else stored

    def chunks(self, record_id: str, version: int) -> list[str]:
        """All of them at once."""
        found = self._database.rows(
            "SELECT data FROM item_chunks WHERE record_id = :record_id AND version = :version"
            " ORDER BY chunk",
            record_id=record_id,
            version=version,
        )
        return [str(data) for (data,) in found]

    def items(self, record_id: str, version: int) -> Iterator[Fields]:
        """The items of an attempt, one by one."""
        for data in self.item_chunks(record_id, version):
            if not data.startswith("{"):
                yield from _decode_items(data)

    def about(self, record_id: str, version: int) -> Fields:
        """What the attempt said of its items as a whole; nothing if it said nothing."""
        found = self._database.rows(
            "SELECT data FROM item_chunks WHERE record_id = :record_id AND version = :version"
            " AND count = 0",
            record_id=record_id,
            version=version,
        )
        return _decode_facts(str(found[0][0])) if found else {}

    def save_value(self, record_id: str, stage: str, name: str, data: bytes, *, at: Micros) -> None:
        """Store bytes for all attempts of a stage; durable on return. The first value under a name wins."""
        row: Row = (record_id, stage, name, b64encode(data).decode(), at)
        self._database.insert_new(SAVED_VALUES, [row])

    def load_value(self, record_id: str, stage: str, name: str) -> bytes | None:
        """The value that an attempt at the stage saved under a name, or None."""
        found = self._database.rows(
            "SELECT data FROM saved_values WHERE record_id = :record_id AND stage = :stage AND name = :name",
            record_id=record_id,
            stage=stage,
            name=name,
        )
        return b64decode(str(found[0][0])) if found else None


def result_event(mark: AttemptResult) -> Event:
    """The event that a worker reports for an attempt; made anew from its mark when it was lost."""
    type_ = f"{mark.stage}.{'completed' if mark.error_code is None else 'failed'}"
    return Event(
        id=event_id(mark.record_id, makes=mark.version + 1, type_=type_),
        type=type_,
        record_id=mark.record_id,
        version=mark.version,
        at=mark.at,
        actor=RUNNER + mark.worker,
        count=mark.count if mark.error_code is None else None,
        outcome=mark.outcome,
        facts=mark.facts,
        error_code=mark.error_code,
        error_message=mark.error_message,
        is_retryable=mark.is_retryable,
        log_ref=log_ref(mark.record_id, mark.stage),
    )


def _mark_row(mark: AttemptResult) -> Row:
    return (
        mark.record_id,
        mark.version,
        mark.stage,
        mark.outcome,
        mark.count,
        _encode(mark.facts).decode(),
        mark.error_code,
        mark.error_message,
        mark.is_retryable,
        mark.worker,
        mark.at,
        mark.log,
    )


def _portions(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """Rows in portions that are many where they are small, and few where they are large."""
    portion: list[Row] = []
    size = 0
    for row in rows:
        portion.append(row)
        size += len(str(row[-1]))
        if size >= PORTION_CHARS or len(portion) >= PORTION_ROWS:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


def _chunk_rows(output: Output) -> Iterator[Row]:
    mark = output.result
    return (
        (mark.record_id, mark.version, place, count, data)
        for place, (count, data) in enumerate(output.chunks)
    )


def _mark(row: Row) -> AttemptResult:
    values = dict(zip(OUTPUTS.columns, row, strict=True))
    values["facts"] = _decode_facts(str(values["facts"]))  # type: ignore[assignment]
    values["is_retryable"] = bool(values["is_retryable"])
    return AttemptResult(**values)  # type: ignore[arg-type]
