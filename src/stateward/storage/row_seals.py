"""Seals of rows that no transition binds: events that changed nothing, dead letters, and editions of items.

An entry of the audit log, written in the transaction of the rows, holds a digest of each; the chain of that log binds
them, and a checkpoint binds the chain. A digest is the SHA-256 of a compact JSON array: the salt of the row, then its
values in the order of the table. The salt goes with the row when it is erased, and then nothing can be guessed from the
digest. An edition's is that of the digests of its items and log (`core.output_seal`); its salt is one of its facts.

What an erasure deletes, it names by the digests in an entry of its own: everything else that is missing was deleted by
no one who said so.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256

import msgspec

from stateward.core.model import COORDINATOR, Fields, Json, Micros
from stateward.core.output_seal import OutputSeal
from stateward.storage import mentions
from stateward.storage.audit import SEALED, AuditEntry, AuditLog
from stateward.storage.database import Database
from stateward.storage.mentions import rows_naming
from stateward.storage.output_seals import stored_editions

DISPOSITIONS, DEAD_LETTERS, EDITIONS = "dispositions", "dead_letters", "editions"
ERASED = "erased_"
"""What the name of a kind begins with where its rows were deleted by an erasure."""
DIGESTS_MAX = 1000  # of one entry
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


def stored_digests(database: Database) -> Iterator[tuple[str, str, str]]:
    """(kind, where, digest) of every such row as it is stored now."""
    for kind in (DISPOSITIONS, DEAD_LETTERS):
        for number, digest in _digests(database, kind):
            yield kind, f"{kind} {number}", digest
    for (record_id, version), seal in stored_editions(database):
        yield EDITIONS, f"{record_id} edition {-version}", edition_digest(seal)


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
    return found


def reseal(
    database: Database, before: Counter[tuple[str, str]], record_ids: Sequence[str], *, at: Micros
) -> None:
    """After an erasure: say which of the rows there were are gone, and seal what is left of others."""
    after = digests_of(database, record_ids)
    digests: dict[str, list[str]] = {}
    for kind, digest in (before - after).elements():
        digests.setdefault(f"{ERASED}{kind}", []).append(digest)
    for kind, digest in (after - before).elements():
        digests.setdefault(kind, []).append(digest)
    add_seals(database, digests, at=at)


def seal_former(database: Database, *, at: Micros) -> None:
    """Seal what a former version has left, once: from now on it cannot change unseen."""
    if _is_sealed(database):  # nearly always, and then no other writer waits
        return
    with database.transaction():
        if _is_sealed(database):
            return
        digests: dict[str, list[str]] = {}
        for kind, _, digest in stored_digests(database):
            digests.setdefault(kind, []).append(digest)
        add_seals(database, digests, at=at)


def _is_sealed(database: Database) -> bool:
    if AuditLog(database).entries(verb=SEALED, limit=1):
        return True
    return next(stored_digests(database), None) is None


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
    found = database.rows(
        f"SELECT id, salt, {_VALUES[kind]} FROM {kind} WHERE {condition} ORDER BY id LIMIT {limit}",
        **params,
    )
    return [
        (int(number or 0), row_digest(str(salt or ""), values)) for number, salt, *values in found
    ]
