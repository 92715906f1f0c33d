"""Seals of rows that no transition binds.

These are events that changed nothing, dead letters, editions of items, and what acts of people left in force: pauses,
webhooks, keys, credentials of workers, pending decisions, approver links, acknowledgements; and machines.

An entry of the audit log, written in the transaction of the rows, holds a digest of each; the chain of that log binds
them, and a checkpoint binds the chain. A digest is the SHA-256 of a compact JSON array: the salt of the row, then its
values in the order of the table. The salt goes with the row when it is erased, and then nothing can be guessed from the
digest. An edition's is that of the digests of its items and log (`core.output_seal`); its salt is one of its facts.

What an erasure deletes, it names by the digests in an entry of its own: everything else that is missing was deleted by
no one who said so. What an act replaces or removes is named the same way (`sealed_change`). Neither needs to know what
was sealed before: a row that was forged is not the one that was sealed, and that one stays missing.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import NamedTuple

import msgspec

from stateward.core.model import COORDINATOR, Fields, Json, Micros
from stateward.core.output_seal import OutputSeal
from stateward.storage import mentions
from stateward.storage.audit import SEALED, SEALING_BEGAN, AuditEntry, AuditLog
from stateward.storage.database import Database, Row, Table
from stateward.storage.mentions import rows_naming
from stateward.storage.output_seals import stored_editions

DISPOSITIONS, DEAD_LETTERS, EDITIONS = "dispositions", "dead_letters", "editions"
KINDS_OF_ROWS = (DISPOSITIONS, DEAD_LETTERS, EDITIONS)
ERASED = "erased_"
"""What the name of a kind begins with where its rows were deleted by an erasure."""
DIGESTS_MAX = 1000  # of one entry


class Standing(NamedTuple):
    """A table whose rows are in force until an act replaces or removes them.

    `names` is how many of its values name a row, `values` are all that are sealed. What else a row has is moved by no
    act of a person, such as until when an endpoint asked for rest.
    """

    names: int
    values: str


STANDING = {
    "acknowledged": Standing(2, "machine, cause, at, actor, reason"),
    "api_keys": Standing(
        1,
        "id, name, role, pipelines, secret_hash, created_at, created_by, expires_at, revoked_at, rate_per_minute,"
        " upload_bytes_max",
    ),
    "lanes": Standing(1, "lane, since"),  # from which moment on the history has lanes
    "machines": Standing(2, "name, version, digest, document, at"),
    "pauses": Standing(2, "machine, stage, at, actor, reason"),
    "pending_decisions": Standing(
        1, "record_id, version, actor, action, request, at, effective_at"
    ),
    "review_links": Standing(
        1,
        "id, secret_hash, record_id, machine, version, person, created_at, created_by, key_id, expires_at, opened_at,"
        " revoked_at",
    ),
    "webhooks": Standing(
        1,
        "id, url, events, content, secret, old_secret, old_until, CAST(is_enabled AS integer), disabled_reason, origin,"
        " created_at, since",
    ),
    "worker_keys": Standing(1, "id, name, stages, secret, created_at, created_by, revoked_at"),
}
PRIORITIES = "priorities"
"""No rows of their own: from then on the first transition of a record says its priority where it is not normal."""
OUTPUTS = "outputs"
"""No rows of their own either: from then on the transition that ends an attempt has the digest of its output."""
EPOCHS = "epochs"
"""Nor these: from then on a coordinator announces its start before it counts it."""
FORMER_ACTS = "former_acts"
"""Entries of the audit log that a version wrote which did not chain them."""
_ABOUT_RECORDS = ("pending_decisions", "review_links")  # go with their record when it is erased
SALT_BYTES = 16
EDITION_SALT = "seal_salt"  # a fact of an edition

_CHUNK = 1000
ROWS_MAX = 1_000_000  # about the records of one erasure
_VALUES = {
    DISPOSITIONS: "event_id, event_type, record_id, version, actor, reason, detail, at",
    DEAD_LETTERS: "kind, body, reason, at",
}


def row_digest(salt: str, values: Sequence[object]) -> str:
    """The digest of a row with this salt; the values are in the order of its table."""
    return sha256(msgspec.json.encode([salt, *values])).hexdigest()


def edition_digest(seal: OutputSeal) -> str:
    """The digest of an edition."""
    return sha256(f"{seal.output}{seal.log or ''}".encode()).hexdigest()


def add_seals(database: Database, digests: Mapping[str, Sequence[str]], *, at: Micros) -> None:
    """Seal rows, by their kind, in the transaction that writes or erases them."""
    entries: list[AuditEntry] = []
    for kind, own in digests.items():
        for start in range(0, len(own), DIGESTS_MAX):
            part: list[Json] = [*own[start : start + DIGESTS_MAX]]
            detail: Fields = {kind: part}
            entries.append(AuditEntry(at=at, actor=COORDINATOR, verb=SEALED, detail=detail))
    AuditLog(database).add(entries)


def insert_sealed(
    database: Database, table: Table, rows: Sequence[Row], *, new_salt: Callable[[], str]
) -> None:
    """Write rows that no transition binds, each with a salt, and their seals. The last value of one is its time."""
    pairs = [(row, new_salt()) for row in rows]
    database.insert(table, [(*row, salt) for row, salt in pairs])
    digests = [row_digest(salt, row) for row, salt in pairs]
    add_seals(database, {table.name: digests}, at=max(int(row[-1] or 0) for row in rows))


def stored_digests(database: Database) -> Iterator[tuple[str, str, str]]:
    """(kind, where, digest) of every such row as it is stored now."""
    for kind in (DISPOSITIONS, DEAD_LETTERS):
        for number, digest in _digests(database, kind):
            yield kind, f"{kind} {number}", digest
    for (record_id, version), seal in stored_editions(database):
        yield EDITIONS, f"{record_id} edition {-version}", edition_digest(seal)
    for table in STANDING:
        for where, digest in _standing(database, table):
            yield table, where, digest
    for number, digest in _former_acts(database):
        yield FORMER_ACTS, f"audit log {number}", digest


def _former_acts(database: Database) -> Iterator[tuple[int, str]]:
    after = 0
    while found := database.rows(
        "SELECT id, at, actor, verb, record_id, detail, reason FROM audit_log WHERE seq IS NULL"
        f" AND id > :after ORDER BY id LIMIT {_CHUNK}",
        after=after,
    ):
        yield from ((int(row[0] or 0), row_digest("", row)) for row in found)
        after = int(found[-1][0] or 0)


@contextmanager
def sealed_change(
    database: Database, table: str, among: Sequence[str] | None = None, *, at: Micros
) -> Iterator[None]:
    """A transaction that changes rows of a standing table, and seals what it changed.

    `among` are values of its first column: no other row is changed. One such change is made at a time, so that of two
    each takes for its own what it did itself.
    """
    with database.transaction():
        lock_seals(database)
        before = _standing_digests(database, table, among)
        yield
        database.flush()
        _seal_difference(database, before, _standing_digests(database, table, among), at)


def lock_seals(database: Database) -> None:
    """Let no one else seal rows until the transaction ends."""
    database.rows(f"SELECT count FROM audit_head WHERE id = 1{database.for_update}")


def _standing_digests(
    database: Database, table: str, among: Sequence[str] | None, column: str = ""
) -> Counter[tuple[str, str]]:
    first = column or STANDING[table].values.partition(",")[0]
    condition, params = ("TRUE", {}) if among is None else database.among(first, list(among))
    return Counter((table, digest) for _, digest in _standing(database, table, condition, params))


def _standing(
    database: Database,
    table: str,
    condition: str = "TRUE",
    params: Mapping[str, object] | None = None,
) -> Iterator[tuple[str, str]]:
    names, values = STANDING[table]
    for row in database.rows(f"SELECT {values} FROM {table} WHERE {condition}", **(params or {})):
        yield f"{table} {' '.join(map(str, row[:names]))}".strip(), row_digest("", row)


def digests_of(database: Database, record_ids: Sequence[str]) -> Counter[tuple[str, str]]:
    """(kind, digest) of the rows that are about these records."""
    condition, params = database.among("record_id", list(record_ids))
    found = Counter(
        (DISPOSITIONS, digest) for _, digest in _number(database, DISPOSITIONS, condition, params)
    )
    for (number,) in rows_naming(database, mentions.DEAD_LETTERS, record_ids):
        letters = _number(database, DEAD_LETTERS, "id = :id", {"id": number})
        found.update((DEAD_LETTERS, digest) for _, digest in letters)
    editions = stored_editions(database, record_ids)
    found.update((EDITIONS, edition_digest(seal)) for _, seal in editions)
    for table in _ABOUT_RECORDS:
        found += _standing_digests(database, table, record_ids, "record_id")
    return found


def reseal(
    database: Database, before: Counter[tuple[str, str]], record_ids: Sequence[str], *, at: Micros
) -> None:
    """After an erasure: say which of the rows there were are gone, and seal what is left of others."""
    _seal_difference(database, before, digests_of(database, record_ids), at)


def _seal_difference(
    database: Database,
    before: Counter[tuple[str, str]],
    after: Counter[tuple[str, str]],
    at: Micros,
) -> None:
    digests: dict[str, list[str]] = {}
    for kind, digest in (before - after).elements():
        digests.setdefault(f"{ERASED}{kind}", []).append(digest)
    for kind, digest in (after - before).elements():
        digests.setdefault(kind, []).append(digest)
    add_seals(database, digests, at=at)


def seal_former(database: Database, *, at: Micros, new_salt: Callable[[], str]) -> None:
    """Seal what a version has left that did not seal such rows, once: from now on it cannot change unseen."""
    if _unsealed_kinds(database):  # hardly ever: otherwise no other writer waits
        with database.transaction():
            lock_seals(database)
            if kinds := _unsealed_kinds(database):
                for kind in kinds & _VALUES.keys():
                    # Give each row that a former version wrote a salt, before its digest is made:
                    # it can be erased later.
                    while found := database.rows(
                        f"SELECT id FROM {kind} WHERE salt IS NULL LIMIT {_CHUNK}"
                    ):
                        for (number,) in found:
                            sql = f"UPDATE {kind} SET salt = :salt WHERE id = :id"
                            database.run(sql, salt=new_salt(), id=number)
                digests: dict[str, list[str]] = {}
                for kind, _, digest in stored_digests(database):
                    if kind in kinds:
                        digests.setdefault(kind, []).append(digest)
                ((epoch,),) = database.rows("SELECT max(epoch) FROM lanes")
                detail: Fields = {"kinds": [*sorted(kinds)], "epoch": int(epoch or 0)}
                detail |= mark_of_log(database)
                entry = AuditEntry(at=at, actor=COORDINATOR, verb=SEALING_BEGAN, detail=detail)
                AuditLog(database).add([entry])
                add_seals(database, digests, at=at)


def mark_of_log(database: Database) -> Fields:
    """The number and the hash of the newest transition: entries of the audit log bind the numbers of the log so."""
    found = database.rows("SELECT seq, hash FROM transitions ORDER BY seq DESC LIMIT 1")
    return {"log": int(found[0][0] or 0), "hash": str(found[0][1])} if found else {"log": 0}


def sealing_began(audit: AuditLog) -> dict[str, AuditEntry]:
    """By kind of row, the entry of the audit log after which its seals count; a kind that is not there has none.

    `log` of its detail is the number of the last transition then.
    """
    return first_of_kinds(audit.walk(verb=SEALING_BEGAN))


def first_of_kinds(entries: Iterable[AuditEntry]) -> dict[str, AuditEntry]:
    """By kind of row, the first of these entries that names it."""
    found: dict[str, AuditEntry] = {}
    for entry in entries:
        kinds = entry.detail.get("kinds")
        for kind in kinds if isinstance(kinds, list) else ():
            found.setdefault(str(kind), entry)
    return found


def began_at(first: Mapping[str, AuditEntry]) -> dict[str, int]:
    """By kind of row, the number of the entry from which on its seals count.

    A version that sealed the first kinds did not say since when; it sealed nothing of the others.
    """
    return dict.fromkeys(KINDS_OF_ROWS, 0) | {kind: entry.seq or 0 for kind, entry in first.items()}


def _unsealed_kinds(database: Database) -> set[str]:
    audit = AuditLog(database)
    kinds = {*KINDS_OF_ROWS, *STANDING, FORMER_ACTS, PRIORITIES, OUTPUTS, EPOCHS}
    kinds -= sealing_began(audit).keys()
    # A version that sealed these did not say since when.
    return kinds - {*KINDS_OF_ROWS} if audit.entries(verb=SEALED, limit=1) else kinds


def _digests(database: Database, kind: str) -> Iterator[tuple[int, str]]:
    after = 0
    while found := _number(database, kind, "id > :after", {"after": after}, limit=_CHUNK):
        yield from found
        after = found[-1][0]


def _number(
    database: Database,
    kind: str,
    condition: str,
    params: Mapping[str, object],
    *,
    limit: int = ROWS_MAX,
) -> list[tuple[int, str]]:
    found = _rows_with_salts(database, kind, condition, params, limit=limit)
    return [(number, row_digest(salt, values)) for number, salt, values in found]


def salted_rows(database: Database, kind: str) -> Iterator[tuple[str, Sequence[object]]]:
    """Each row with its salt, in the order in which they were written."""
    after = 0
    while found := _rows_with_salts(database, kind, "id > :after", {"after": after}, limit=_CHUNK):
        yield from ((salt, values) for _, salt, values in found)
        after = found[-1][0]


def columns_of(kind: str) -> list[str]:
    """The names of the values that are sealed, in their order."""
    return _VALUES[kind].split(", ")


def _rows_with_salts(
    database: Database, kind: str, condition: str, params: Mapping[str, object], *, limit: int
) -> list[tuple[int, str, Sequence[object]]]:
    found = database.rows(
        f"SELECT id, salt, {_VALUES[kind]} FROM {kind} WHERE {condition} ORDER BY id LIMIT {limit}",
        **params,
    )
    return [(int(number or 0), str(salt or ""), values) for number, salt, *values in found]
