"""The seals of outputs, computed anew from what is stored: for `verify`, and for a result whose event was lost."""

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from msgspec.structs import replace

from stateward.core.erasure import CONTENTS, ITEMS
from stateward.core.model import Fields
from stateward.core.output_seal import (
    LEFT_DIGEST,
    ChunkDigest,
    FileFacts,
    OutputSeal,
    chunk_digest,
    left_digest,
    seal_output,
)
from stateward.storage.database import Cell, Database, Row

# Results with their logs, and chunks of up to 256 KiB, that are in memory at once.
RESULTS_AT_ONCE = 200
CHUNKS_AT_ONCE = 64
EDITIONS_MAX = 100_000  # of one record
OUTPUTS_MAX = 1_000_000  # of one record
STRAYS_AT_ONCE = 1000
VERSION_MAX = 1 << 62
NUMBER_MIN, NUMBER_MAX = -(1 << 62), (1 << 63) - 1
MISPLACED: ChunkDigest = (-1, "")
_ATTEMPTS, _EDITIONS = "version >= 0", "version < 0"

Key = tuple[str, int]

# The values of a seal in their order, between the key and the log.
_COLUMNS = "record_id, version, stage, outcome, count, facts, error_code, error_message, is_retryable, worker, at, log"


def stored_seals(database: Database) -> Iterator[tuple[Key, OutputSeal]]:
    """The seal of every attempt's output as it is stored now, ordered by record and version.

    Editions are left out: no transition seals them.
    """
    return _walk(database, _ATTEMPTS)


def stored_editions(
    database: Database, record_ids: Sequence[str] | None = None
) -> Iterator[tuple[Key, OutputSeal]]:
    """The seal of every edition as it is stored now, or of those of some records."""
    if record_ids is None:
        yield from _walk(database, _EDITIONS)
        return
    for record_id in record_ids:
        condition = f"{_EDITIONS} AND record_id = :record_id AND version >= :version"
        rows = _results(database, condition, record_id, -VERSION_MAX, limit=EDITIONS_MAX)
        yield from _seal(database, rows, _EDITIONS)


def _walk(database: Database, own: str) -> Iterator[tuple[Key, OutputSeal]]:
    key: Key = ("", -VERSION_MAX)
    while rows := _results(
        database,
        f"{own} AND (record_id, version) > (:record_id, :version)",
        *key,
        limit=RESULTS_AT_ONCE,
    ):
        yield from _seal(database, rows, own)
        key = _key(rows[-1])


def strays(database: Database) -> Iterator[tuple[Key, str]]:
    """Items and files that belong to no output, or to one of another stage; which of the two they are."""
    for table, what, more in (
        ("item_chunks", "items", ""),
        ("derived_files", "files", " AND o.stage = t.stage"),
    ):
        after: Key = ("", NUMBER_MIN)
        while found := database.rows(
            f"SELECT DISTINCT record_id, version FROM {table} t WHERE NOT EXISTS (SELECT 1 FROM outputs o"
            f" WHERE o.record_id = t.record_id AND o.version = t.version{more})"
            " AND (record_id, version) > (:record_id, :version)"
            f" ORDER BY record_id, version LIMIT {STRAYS_AT_ONCE}",
            record_id=after[0],
            version=after[1],
        ):
            yield from ((_key(row), what) for row in found)
            after = _key(found[-1])


def stored_seal(database: Database, record_id: str, version: int) -> OutputSeal | None:
    """The seal of one output as it is stored now; None if there is none."""
    condition = "record_id = :record_id AND version = :version"
    rows = _results(database, condition, record_id, version, limit=1)
    return next((seal for _, seal in _seal(database, rows)), None)


def digests_left(
    database: Database, record_ids: Sequence[str], kinds: Collection[str]
) -> dict[str, Fields]:
    """What the transition that erases these kinds of a record says of the rest of its outputs, if there is any.

    Everything below the version of that transition is as it will be: nothing moves while it is erased.
    """
    if len({ITEMS, CONTENTS}.intersection(kinds)) != 1:
        return {each: {} for each in record_ids}
    left = _results_left if ITEMS in kinds else items_left
    return {each: {LEFT_DIGEST: left_digest(left(database, each))} for each in record_ids}


def _results_left(database: Database, record_id: str) -> list[tuple[int, str]]:
    """The digests of results without their items, by version."""
    condition = f"{_ATTEMPTS} AND record_id = :record_id AND version >= :version"
    rows = _results(database, condition, record_id, 0, limit=OUTPUTS_MAX)
    # facts and message are what an erasure of the items empties
    bare = [
        (_key(row)[1], (*row[2:5], "{}", row[6], None, _truth(row[8]), *row[9:-1])) for row in rows
    ]
    return [(version, seal_output(values, (), (), log="").output) for version, values in bare]


def items_left(
    database: Database, record_id: str, *, before: int = VERSION_MAX
) -> list[tuple[int, str]]:
    """The digests of items and files whose results are gone, or will be, by version; only those before one."""
    first, last = (record_id, -1), (record_id, before - 1)
    files = _files(database, first, last, _ATTEMPTS)
    chunks: dict[Key, list[ChunkDigest]] = {}
    for key, digest in _chunks(database, first, last, _ATTEMPTS):
        chunks.setdefault(key, []).append(digest)
    return [
        (key[1], seal_output((), chunks.get(key, ()), files.get(key, ()), log="").output)
        for key in sorted({*chunks, *files})
    ]


def _results(
    database: Database, condition: str, record_id: str, version: int, *, limit: int
) -> list[Row]:
    return list(
        database.rows(
            f"SELECT {_COLUMNS} FROM outputs WHERE {condition} ORDER BY record_id, version LIMIT {limit}",
            record_id=record_id,
            version=version,
        )
    )


def _seal(
    database: Database, rows: list[Row], own: str = "TRUE"
) -> Iterator[tuple[Key, OutputSeal]]:
    if not rows:
        return
    first, last = _key(rows[0]), _key(rows[-1])
    files = _files(database, first, last, own)
    chunks = groupby(_chunks(database, first, last, own), key=lambda each: each[0])
    chunks_key, own_chunks = next(chunks, (None, iter(())))
    for row in rows:
        key = _key(row)
        while chunks_key is not None and chunks_key < key:  # of no result
            chunks_key, own_chunks = next(chunks, (None, iter(())))
        found = [digest for _, digest in own_chunks] if chunks_key == key else []
        values = (*row[2:8], _truth(row[8]), *row[9:-1])
        seal = seal_output(values, found, files.get(key, ()), log=str(row[-1]))
        is_bare = not found and key not in files and (row[5], row[7]) == ("{}", None)
        yield key, replace(seal, is_bare=is_bare)


def _chunks(
    database: Database, first: Key, last: Key, own: str
) -> Iterator[tuple[Key, ChunkDigest]]:
    """The digests of all chunks of these outputs, in order; `chunk` is unique, so a doubled one has its own number.

    Readers ask for chunks by their numbers, which are 0, 1, 2, … in each output. One that has another gets no digest
    that could have been sealed: with 5, 6, 7, … a reader of many items would be given some of them twice.
    """
    (record_id, version), chunk = first, NUMBER_MAX
    version = max(
        version - 1, -NUMBER_MAX
    )  # behind all of the output before, whatever numbers these have
    place, of = 0, None
    while found := database.rows(
        "SELECT record_id, version, chunk, count, data FROM item_chunks"
        f" WHERE {own} AND (record_id, version, chunk) > (:record_id, :version, :chunk)"
        " AND (record_id, version) <= (:last_id, :last_version)"
        f" ORDER BY record_id, version, chunk LIMIT {CHUNKS_AT_ONCE}",
        record_id=record_id,
        version=version,
        chunk=chunk,
        last_id=last[0],
        last_version=last[1],
    ):
        for row in found:
            key = _key(row)
            place, of = (place + 1 if key == of else 0), key
            digest = chunk_digest(int(row[3] or 0), str(row[4]))
            yield key, digest if row[2] == place else MISPLACED
        (record_id, version), chunk = _key(found[-1]), int(found[-1][2] or 0)


def _files(database: Database, first: Key, last: Key, own: str) -> dict[Key, list[FileFacts]]:
    found: dict[Key, list[FileFacts]] = {}
    for row in database.rows(
        "SELECT record_id, version, name, media_type, size, sha256, number FROM derived_files"
        f" WHERE {own} AND (record_id, version) >= (:record_id, :version)"
        " AND (record_id, version) <= (:last_id, :last_version) ORDER BY record_id, version, number",
        record_id=first[0],
        version=first[1],
        last_id=last[0],
        last_version=last[1],
    ):
        saved = found.setdefault(_key(row), [])
        is_in_place = row[6] == len(saved)  # as chunks are
        saved.append(
            (str(row[2]), str(row[3]), int(row[4] or 0), str(row[5]) if is_in_place else "")
        )
    return found


def _truth(cell: Cell) -> Cell:
    """1 and 0 as what they are sealed as; any other number is not the one that was sealed."""
    return bool(cell) if cell in (0, 1) else cell


def _key(row: Row) -> Key:
    return str(row[0]), int(row[1] or 0)
