"""What workers write: attempt results with their log, items and derived files, and saved values. Never a status.

An attempt is (record, version). Its result, log, items and files appear together, in one transaction, once: a second
output of the same attempt is dropped. Items are stored in chunks, each a JSON array, so that a stage with a hundred
thousand rows costs a few hundred inserts. What a stage says about its items as a whole is one more chunk, a JSON object
with count 0.

Of a derived file only its name, media type, size and SHA-256 are here. Its bytes are an artifact that was durable
before, so a result never names bytes that are not there.

The result is written before its event is handled. If the event is lost, the scheduler finds the result and reports it
again instead of a timeout.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import overload

import msgspec

from stateward.core.failpoints import Point, point
from stateward.core.files import DerivedFile, SavedFile
from stateward.core.model import (
    ANSWER,
    ANSWER_OF,
    RUNNER,
    Event,
    Fields,
    Micros,
    event_id,
    log_ref,
)
from stateward.core.output_seal import ChunkDigest, OutputSeal, chunk_digest, seal_output
from stateward.storage.database import Asked, Database, Keys, Row, Table
from stateward.storage.output_seals import stored_seal
from stateward.storage.row_seals import EDITIONS, add_seals, edition_digest

ATTEMPTS_MAX = 1000
EDITION_OF = "edition_of"  # the fact of a rebuilt output: the version that it replaces
CHUNKS_AT_ONCE = 64  # of up to 256 KiB: what a reader of many items holds in memory
# Chunks are inserted in portions, so that an output of a gigabyte is never in memory at once.
PORTION_ROWS = 10_000
PORTION_CHARS = 8 * 1024 * 1024

OUTPUTS = Table(
    "outputs",
    {
        "record_id": "text", "version": "bigint", "stage": "text", "outcome": "text", "count": "bigint",
        "facts": "json", "error_code": "text", "error_message": "text", "is_retryable": "boolean", "worker": "text",
        "at": "bigint", "log": "text",
    },
    key=("record_id", "version"),
)  # fmt: skip
ITEM_CHUNKS = Table(
    "item_chunks",
    {
        "record_id": "text", "version": "bigint", "chunk": "bigint", "count": "bigint", "data": "text",
    },
    key=("record_id", "version", "chunk"),
)  # fmt: skip
SAVED_VALUES = Table(
    "saved_values",
    {"record_id": "text", "stage": "text", "name": "text", "data": "text", "at": "bigint"},
    key=("record_id", "stage", "name"),
)
DERIVED_FILES = Table(
    "derived_files",
    {
        "record_id": "text", "version": "bigint", "name": "text", "number": "bigint", "stage": "text",
        "media_type": "text", "size": "bigint", "sha256": "text",
    },
    key=("record_id", "version", "name"),
)  # fmt: skip
ANNOUNCED_FILES = Table(
    "announced_files",
    {"sha256": "text", "record_id": "text", "at": "bigint"},
    key=("sha256", "record_id", "at"),
)
FILES_CHUNK = 500  # records whose files are read at once
_RESULT_COLUMNS = ", ".join(OUTPUTS.columns)

_encode = msgspec.json.Encoder(order="deterministic").encode
_decode_facts = msgspec.json.Decoder(Fields).decode
_decode_items = msgspec.json.Decoder(list[Fields]).decode


def stored_files(database: Database) -> Iterator[tuple[str, str]]:
    """(record, SHA-256) of every derived file, a part at a time."""
    after = ""
    while found := database.rows(
        "SELECT record_id, sha256 FROM derived_files WHERE record_id IN (SELECT DISTINCT record_id FROM derived_files"
        " WHERE record_id > :after ORDER BY record_id LIMIT :limit) ORDER BY record_id",
        after=after,
        limit=FILES_CHUNK,
    ):
        yield from ((str(record_id), str(digest)) for record_id, digest in found)
        after = str(found[-1][0])


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
    """A result with the items that go with it, as (count, text of a JSON array), and its derived files."""

    result: AttemptResult
    chunks: Iterable[tuple[int, str]] = ()
    files: Sequence[DerivedFile] = ()


def items_in(chunk: str) -> list[Fields]:
    """The items of a stored chunk; one about all items has none."""
    return [] if chunk.startswith("{") else _decode_items(chunk)


class StoredChunks(Sequence[str]):
    """The chunks of an attempt in the database, read a few at a time in order."""

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
        """Some of the chunks, from a number on."""
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

    def write(self, outputs: Sequence[Output]) -> list[OutputSeal | None]:
        """Store each output, unless its attempt has one already; for each its seal, None if it was not stored."""
        with self._database.transaction():
            results = [_result_row(each.result) for each in outputs]
            return self._complete(outputs, results, self._database.insert_new(OUTPUTS, results))

    def write_finished(
        self, outputs: Sequence[Output], work: Keys, *, is_expected: bool = False
    ) -> tuple[list[bool], list[OutputSeal | None]]:
        """Remove the work of each output, and `write` those whose work was there; for each, whether it was.

        With `is_expected` that is not waited for, and an error where it was not (`Database.exchange`).
        """
        with self._database.transaction():
            results = [_result_row(each.result) for each in outputs]
            were_there, are_new = self._database.exchange(
                work, OUTPUTS, results, is_expected=is_expected
            )
            return were_there, self._complete(outputs, results, are_new)

    def _complete(
        self, outputs: Sequence[Output], results: Sequence[Row], written: Sequence[bool]
    ) -> list[OutputSeal | None]:
        """Store what belongs to the results that were written in this transaction; their seals."""
        point(Point.RESULTS_WRITTEN)
        stored = [each for each, is_new in zip(outputs, written, strict=True) if is_new]
        digests: list[list[ChunkDigest]] = [[] for _ in stored]
        for rows in _portions(_chunk_rows(stored, digests)):
            self._database.insert(ITEM_CHUNKS, rows)
        files: list[Row] = [row for each in stored if each.files for row in _file_rows(each)]
        if files:
            self._database.insert(DERIVED_FILES, files)
        point(Point.OUTPUTS_WRITTEN)
        own = iter(digests)
        seals = [
            _seal(each, row, next(own)) if is_new else None
            for each, row, is_new in zip(outputs, results, written, strict=True)
        ]
        self._seal_editions(outputs, seals)
        return seals

    def _seal_editions(self, outputs: Sequence[Output], seals: Sequence[OutputSeal | None]) -> None:
        """What no attempt wrote is sealed by no transition."""
        for each, seal in zip(outputs, seals, strict=True):
            if each.result.version < 0 and seal is not None:
                add_seals(self._database, {EDITIONS: [edition_digest(seal)]}, at=each.result.at)

    def seal(self, record_id: str, version: int) -> OutputSeal:
        """The seal of an output that is stored, computed anew."""
        found = stored_seal(self._database, record_id, version)
        if found is None:
            raise LookupError(f"{record_id} has no output of version {version}")
        return found

    def result(self, record_id: str, version: int) -> AttemptResult | None:
        """How this attempt ended; None if it has not."""
        found = self._results(
            "record_id = :record_id AND version = :version", record_id=record_id, version=version
        )
        return found[0] if found else None

    def attempts(self, record_id: str) -> list[AttemptResult]:
        """Every attempt at any stage of a record that has ended, oldest first, with its log."""
        return self._results(
            f"record_id = :record_id AND version >= 0 ORDER BY version LIMIT {ATTEMPTS_MAX}",
            record_id=record_id,
        )

    def editions(self, record_id: str) -> list[AttemptResult]:
        """Outputs that were rebuilt from the items of an earlier stage, without an attempt; newest last.

        Their versions are negative, so that they never collide with the version of an attempt.
        """
        return self._results(
            f"record_id = :record_id AND version < 0 ORDER BY version DESC LIMIT {ATTEMPTS_MAX}",
            record_id=record_id,
        )

    def _results(self, condition: str, **params: object) -> list[AttemptResult]:
        found = self._database.rows(
            f"SELECT {_RESULT_COLUMNS} FROM outputs WHERE {condition}", **params
        )
        return [_result(row) for row in found]

    def item_chunks(self, record_id: str, version: int) -> Sequence[str]:
        """The items of an attempt, as JSON arrays: in memory if they are few, read on demand if they are many."""
        stored = StoredChunks(self._database, record_id, version)
        first = stored.page(0)
        return first if len(first) < CHUNKS_AT_ONCE else stored

    def counted_chunks_of(
        self, record_ids: Sequence[str]
    ) -> dict[tuple[str, int], list[tuple[int, str]]]:
        """The items of all attempts at these records, by (record, version), each chunk with its count."""
        condition, params = self._database.among("record_id", record_ids)
        chunks: dict[tuple[str, int], list[tuple[int, str]]] = {}
        for record_id, version, count, data in self._database.rows(
            "SELECT record_id, version, count, data FROM item_chunks"
            f" WHERE {condition} ORDER BY record_id, version, chunk",
            **params,
        ):
            attempt = (str(record_id), int(str(version)))
            chunks.setdefault(attempt, []).append((int(str(count)), str(data)))
        return chunks

    def items(self, record_id: str, version: int) -> Iterator[Fields]:
        for data in self.item_chunks(record_id, version):
            if not data.startswith("{"):  # an object is what `about` returns
                yield from _decode_items(data)

    def some_chunks(
        self, record_id: str, version: int, *, start: int, limit: int
    ) -> list[list[Fields]]:
        """The items of some chunks of an attempt, from a number on; a chunk about all items has none."""
        stored = StoredChunks(self._database, record_id, version)
        return [items_in(data) for data in stored.page(start, limit=limit)]

    def first_chunks(self, transitions: Sequence[int], *, limit: int) -> dict[int, list[str]]:
        """The first chunks of all outputs that these transitions applied, by their numbers, for `items_in`.

        An output of which the database has no chunk is left out.
        """
        condition, params = self._database.among("t.seq", transitions)
        found: dict[int, list[str]] = {}
        for seq, data in self._database.rows(
            "SELECT t.seq, c.data FROM transitions t"
            " JOIN item_chunks c ON c.record_id = t.record_id AND c.version = t.version - 1"
            f" WHERE {condition} AND c.chunk < :limit ORDER BY t.seq, c.chunk",
            limit=limit,
            **params,
        ):
            found.setdefault(int(seq or 0), []).append(str(data))
        return found

    def newest_edition(self, record_id: str, *, stage: str, made: int) -> int:
        """The version under which the newest edition of an output is stored: `made` itself if it is the only one."""
        return self.newest_editions([record_id]).get((record_id, stage, made), made)

    def newest_editions(self, record_ids: Sequence[str]) -> dict[tuple[str, str, int], int]:
        """The same of all outputs of these records that have others: by record, stage and `made`."""
        condition, params = self._database.among("record_id", record_ids)
        found: dict[tuple[str, str, int], int] = {}
        for record_id, stage, version, facts in self._database.rows(
            "SELECT record_id, stage, version, facts FROM outputs"
            f" WHERE {condition} AND version < 0 ORDER BY record_id, version",
            **params,
        ):
            made = _decode_facts(str(facts)).get(EDITION_OF)
            if isinstance(made, int):
                found.setdefault((str(record_id), str(stage), made), int(version or 0))
        return found

    def about(self, record_id: str, version: int) -> Fields:
        """What the attempt said about its items as a whole; empty if nothing."""
        found = self._database.rows(
            "SELECT data FROM item_chunks WHERE record_id = :record_id AND version = :version"
            " AND count = 0",
            record_id=record_id,
            version=version,
        )
        return _decode_facts(str(found[0][0])) if found else {}

    def files(self, record_id: str, attempts: Mapping[str, int]) -> list[SavedFile]:
        """The derived files of these attempts (stage to version), by attempt and in the order of saving."""
        found = self.files_of({record_id: attempts})
        return found.get(record_id, [])

    def files_of(self, attempts: Mapping[str, Mapping[str, int]]) -> dict[str, list[SavedFile]]:
        """The same for several records at once; records without files are left out."""
        condition, params = self._database.among("record_id", list(attempts))
        found: dict[str, list[SavedFile]] = {}
        for record_id, version, stage, name, media_type, size, sha256 in self._database.rows(
            "SELECT record_id, version, stage, name, media_type, size, sha256 FROM derived_files"
            f" WHERE {condition} ORDER BY record_id, version, number",
            **params,
        ):
            if attempts[str(record_id)].get(str(stage)) != version:
                continue  # of an attempt that a later one replaced
            file = DerivedFile(
                name=str(name), media_type=str(media_type), size=int(str(size)), sha256=str(sha256)
            )
            saved = SavedFile(stage=str(stage), attempt=int(str(version)), file=file)
            found.setdefault(str(record_id), []).append(saved)
        return found

    def newest_files_of(
        self, attempts: Mapping[str, Mapping[str, int]]
    ) -> dict[str, list[SavedFile]]:
        """The same; those of the newest edition of a stage, where an edition has files of its own."""
        condition, params = self._database.among("record_id", list(attempts))
        found = self._database.rows(
            f"SELECT DISTINCT record_id, stage FROM derived_files WHERE {condition} AND version < 0",
            **params,
        )
        edited = {(str(record_id), str(stage)) for record_id, stage in found}
        if not edited:
            return self.files_of(attempts)
        records = sorted({record_id for record_id, _ in edited})
        newest = {
            key: version
            for key, version in self.newest_editions(records).items()
            if key[:2] in edited
        }
        wanted = {
            record_id: {
                stage: newest.get((record_id, stage, made), made)
                for stage, made in versions.items()
            }
            for record_id, versions in attempts.items()
        }
        return self.files_of(wanted)

    def announce_files(self, record_id: str, digests: Sequence[str], *, at: Micros) -> None:
        """Say which bytes are about to be stored for a record; durable on return.

        If the attempt is lost before it has a result, its record still leads to them (`Eraser`). An erasure of another
        record with the same bytes takes turns with this: it leaves them, or they are gone before they are stored.
        """
        with self._database.transaction():
            self._database.take_turns(digests)
            rows: list[Row] = [(digest, record_id, at) for digest in dict.fromkeys(digests)]
            self._database.insert_new(ANNOUNCED_FILES, rows)

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

    def hand_on_answers(self, record_id: str, successor: str, *, at: Micros) -> int:
        """Give a record that processes the same document again the answers that were paid for; how many there were.

        They are the saved values whose names begin with `ANSWER`; beside each stands whose it was.
        """
        found = self._database.rows(
            "SELECT stage, name, data FROM saved_values WHERE record_id = :record_id"
            f" AND substr(name, 1, {len(ANSWER)}) = '{ANSWER}' ORDER BY stage, name",
            record_id=record_id,
        )
        said = {(stage, str(name)): data for stage, name, data in found}
        own = b64encode(record_id.encode()).decode()
        rows: list[Row] = []
        for (stage, name), data in said.items():
            if not name.endswith(ANSWER_OF):
                whose = said.get((stage, name + ANSWER_OF), own)
                rows += [
                    (successor, stage, name, data, at),
                    (successor, stage, name + ANSWER_OF, whose, at),
                ]
        self._database.insert_new(SAVED_VALUES, rows)
        return len(rows) // 2

    def saved_values_of(self, record_ids: Sequence[str]) -> dict[tuple[str, str], dict[str, bytes]]:
        """All values that attempts at these records have saved, by (record, stage) and name."""
        return saved_values(self.ask_saved_values_of(record_ids))

    def ask_saved_values_of(self, record_ids: Sequence[str]) -> Asked:
        """Ask for them; inside a transaction the question travels with the next statement."""
        condition, params = self._database.among("record_id", record_ids)
        return self._database.ask(
            f"SELECT record_id, stage, name, data FROM saved_values WHERE {condition}", **params
        )


def saved_values(asked: Asked) -> dict[tuple[str, str], dict[str, bytes]]:
    """The answer to `Outputs.ask_saved_values_of`."""
    found: dict[tuple[str, str], dict[str, bytes]] = {}
    for record_id, stage, name, data in asked.rows():
        found.setdefault((str(record_id), str(stage)), {})[str(name)] = b64decode(str(data))
    return found


def result_event(result: AttemptResult, seal: OutputSeal) -> Event:
    """The event that reports how an attempt ended. Its id is derived, so that reporting it twice is harmless."""
    type_ = f"{result.stage}.{'completed' if result.error_code is None else 'failed'}"
    return Event(
        id=event_id(result.record_id, makes=result.version + 1, type_=type_),
        type=type_,
        record_id=result.record_id,
        version=result.version,
        at=result.at,
        actor=RUNNER + result.worker,
        count=result.count if result.error_code is None else None,
        outcome=result.outcome,
        facts=result.facts,
        error_code=result.error_code,
        error_message=result.error_message,
        is_retryable=result.is_retryable,
        log_ref=log_ref(result.record_id, result.stage),
        output_digest=seal.output,
        log_digest=seal.log,
    )


def _chunk_rows(outputs: Sequence[Output], digests: Sequence[list[ChunkDigest]]) -> Iterator[Row]:
    """The rows of all items; their digests are made on the way, because large outputs are read from a file once."""
    for each, own in zip(outputs, digests, strict=True):
        record_id, version = each.result.record_id, each.result.version
        for number, (count, data) in enumerate(each.chunks):
            own.append(chunk_digest(count, data))
            yield record_id, version, number, count, data


def _seal(output: Output, row: Row, chunks: Sequence[ChunkDigest]) -> OutputSeal:
    files = ((file.name, file.media_type, file.size, file.sha256) for file in output.files)
    # Not its key, which is that of the transition, nor the log, which has a digest of its own.
    return seal_output(row[2:-1], chunks, files, log=output.result.log)


def _result_row(r: AttemptResult) -> Row:
    return (
        r.record_id, r.version, r.stage, r.outcome, r.count, _encode(r.facts).decode() if r.facts else "{}",
        r.error_code, r.error_message, r.is_retryable, r.worker, r.at, r.log,
    )  # fmt: skip


def _file_rows(output: Output) -> Iterator[Row]:
    of = output.result
    for number, file in enumerate(output.files):
        yield (
            of.record_id, of.version, file.name, number, of.stage, file.media_type, file.size, file.sha256,
        )  # fmt: skip


def _portions(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """Rows in portions that are bounded in number and in size."""
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


def _result(row: Row) -> AttemptResult:
    values = OUTPUTS.named(row)
    values["facts"] = _decode_facts(str(values["facts"]))
    values["is_retryable"] = bool(values["is_retryable"])
    return AttemptResult(**values)
