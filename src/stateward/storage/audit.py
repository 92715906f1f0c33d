"""The audit log: what people did that made no transition.

Transitions have their own, hash-chained history. This log holds the rest of what an auditor asks for: who signed in or
failed to, keys that were created, used, revoked or refused, documents that were read, exports, other settings, that a
review was decided, a changed priority, an acknowledged error, stages that were paused, who else is told. It is
append-only, and a chain as well: the hash of each entry covers the one before it, and one row holds the count and the
last hash, which `head` gives to who keeps it elsewhere. Nothing here changes a record or holds text of a document.

The reason that a person gave for an act about a record may name someone. Its place in the hash is taken by a
commitment, so that reason and salt can be erased with the record, and the chain still holds.
"""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from os import urandom

import msgspec

from stateward.core.errors import StoreMismatch
from stateward.core.model import Fields, Micros
from stateward.storage.database import UNDECODABLE, UNREADABLE, Cell, Database, Row, Table

ENTRIES_MAX = 1000
_SALT_BYTES = 16

AUDIT_LOG = Table(
    "audit_log",
    {
        "at": "bigint",
        "actor": "text",
        "verb": "text",
        "record_id": "text",
        "detail": "text",
        "reason": "text",
        "seq": "bigint",
        "hash": "text",
        "salt": "text",
        "reason_hash": "text",
    },
    key=(),
)
# Verbs of what concerns no record.
SIGNED_IN, SIGN_IN_FAILED, SIGNED_OUT = "sign_in", "sign_in_failed", "sign_out"
KEY_CREATED, KEY_REVOKED, KEY_REFUSED = "key_created", "key_revoked", "key_refused"
KEY_SEAL = "sealed"  # in the detail of a key that was created: a digest of its row
HELD, HOLD_RELEASED = "hold", "hold_released"
FLAG_DECIDED = "flag."  # followed by what was decided
PAUSED, RESUMED = "paused", "resumed"
WEBHOOK_ADDED, WEBHOOK_REMOVED, WEBHOOK_ROTATED, WEBHOOK_ENABLED, WEBHOOK_DISABLED = (
    "webhook_added", "webhook_removed", "webhook_secret_rotated", "webhook_enabled", "webhook_disabled",
)  # fmt: skip
PRIORITY_SET = "priority"
EXPORTED = "exported"
MACHINES_STORED = "machines_stored"
CLOCK_CONFIRMED = "clock_confirmed"
DOCUMENT_READ, KEY_USED = "document_read", "key_used"
REVIEW_DECIDED, DECISION_UNDONE, DECISION_DROPPED = (
    "review_decided", "decision_undone", "decision_dropped",
)  # fmt: skip
REVIEW_REFERRED = "review_referred"
LINK_CREATED, LINK_OPENED, LINK_REFUSED, LINK_REVOKED = (
    "review_link_created", "review_link_opened", "review_link_refused", "review_link_revoked",
)  # fmt: skip
SETTINGS_CHANGED = "settings_changed"
REREAD = "reread"  # read again with other options: as a new edition, or by a successor
SECRETS_ROTATED = "secrets_rotated"
# Digests of rows (`storage.row_seals`), since when which tables have them, and starts of coordinators: no acts of a
# person, and only shown to who asks for them.
SEALED, SEALING_BEGAN = "sealed", "sealing_began"
COORDINATOR_STARTED = "coordinator_started"
ANCHORED = "anchored"
_COLUMNS = "at, actor, verb, record_id, detail, reason, seq, hash, salt, reason_hash"
_SEQ = 6
_ACTS = f"verb NOT IN ('{SEALED}', '{SEALING_BEGAN}', '{COORDINATOR_STARTED}')"
_decode_fields = msgspec.json.Decoder(Fields).decode


GENESIS = "0" * 64
HEAD_GONE = "the head of the audit log was deleted; restore the database from a backup"


def entry_hash(before: str, seq: int, said: Sequence[object]) -> str:
    """SHA-256 of the hash before, the place, and what the entry says, as one JSON array."""
    return sha256(msgspec.json.encode([before, seq, *said])).hexdigest()


def reason_hash(salt: str, reason: str) -> str:
    """The commitment to a reason: what stays of it when it is erased."""
    return sha256((salt + reason).encode()).hexdigest()


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One action of a person; `record_id` is '' where it concerns no single record."""

    at: Micros
    actor: str
    verb: str
    record_id: str = ""
    detail: Fields = {}
    reason: str | None = None
    seq: int | None = None
    """Its place in the chain; None: not stored yet, or by a former version."""
    hash: str | None = None
    salt: str | None = None
    reason_hash: str | None = None
    """What is sealed in the place of the reason, where the act was about a record; without a salt it was erased."""


class AuditQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries are wanted. With `machines`, those about their records, and those of the actor `own`."""

    actor: str | None = None
    verb: str | None = None
    record_id: str | None = None
    since: Micros | None = None
    until: Micros | None = None
    machines: tuple[str, ...] = ()
    own: str = ""


class AuditHead(msgspec.Struct, frozen=True, kw_only=True):
    """The end of the chain: kept elsewhere, it shows that nothing before it was changed or cut off."""

    count: int
    hash: str


class AuditLog:
    """Audit entries, in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, entries: Sequence[AuditEntry]) -> None:
        """Append entries to the chain."""
        if not entries:
            return
        with self._database.transaction():
            # Locked, so that others read the hash when this one is durable.
            head = self._read_head(self._database.for_update)
            last, rows = head.hash, []
            for seq, each in enumerate(entries, start=head.count + 1):
                detail = msgspec.json.encode(each.detail).decode()
                fields = (each.at, each.actor, each.verb, each.record_id, detail)
                salt = urandom(_SALT_BYTES).hex() if each.record_id and each.reason else None
                sealed = reason_hash(salt, each.reason or "") if salt else None
                last = entry_hash(last, seq, (*fields, sealed or each.reason))
                rows.append((*fields, each.reason, seq, last, salt, sealed))
            self._database.insert(AUDIT_LOG, rows)
            self._database.run(
                "UPDATE audit_head SET count = :count, hash = :hash WHERE id = 1",
                count=head.count + len(entries),
                hash=last,
            )

    def head(self) -> AuditHead:
        """The end of the chain, to be kept elsewhere."""
        return self._read_head()

    def _read_head(self, for_update: str = "") -> AuditHead:
        found = self._database.rows(f"SELECT count, hash FROM audit_head WHERE id = 1{for_update}")
        if not found:
            raise StoreMismatch(HEAD_GONE)
        ((count, last),) = found
        return AuditHead(count=int(count or 0), hash=str(last))

    def entries(
        self,
        *,
        record_id: str | None = None,
        verb: str | None = None,
        actor: str | None = None,
        limit: int = 100,
    ) -> list[AuditEntry]:
        """Entries about one record, of one verb or actor, or about anything; newest first."""
        wanted = AuditQuery(record_id=record_id, verb=verb, actor=actor)
        return [entry for _, entry in self.find(wanted, limit=min(limit, ENTRIES_MAX))]

    def find(
        self, query: AuditQuery, *, place: int | None = None, is_rising: bool = False, limit: int
    ) -> list[tuple[int, AuditEntry]]:
        """Entries with their numbers: the newest first, or rising. `place` is the last number that was seen."""
        conditions, params = self._conditions(query)
        if place is not None:
            conditions.append("id > :place" if is_rising else "id < :place")
            params["place"] = place
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        found = self._database.rows(
            f"SELECT id, {_COLUMNS} FROM audit_log{where} ORDER BY id{'' if is_rising else ' DESC'} LIMIT :limit",
            limit=limit,
            **params,
        )
        return [(int(number or 0), _entry(row)) for number, *row in found]

    def _conditions(self, query: AuditQuery) -> tuple[list[str], dict[str, object]]:
        params: dict[str, object] = {
            name: value
            for name in ("actor", "verb", "record_id")
            if (value := getattr(query, name)) is not None
        }
        conditions = [f"{name} = :{name}" for name in params] + [_ACTS] * (query.verb is None)
        for name, sign in (("since", ">="), ("until", "<")):
            if (moment := getattr(query, name)) is not None:
                conditions.append(f"at {sign} :{name}")
                params[name] = moment
        if query.machines:
            among, named = self._database.among("machine", list(query.machines))
            conditions.append(
                f"(actor = :own OR record_id IN (SELECT id FROM records WHERE {among}))"
            )
            params |= {"own": query.own, **named}
        return conditions, params

    def walk(self, *, verb: str | None = None, after: int = 0) -> Iterator[AuditEntry]:
        """Every entry of the chain after this place, or those of one verb, the oldest first."""
        return map(_entry, self._walk(verb=verb, after=after))

    def _walk(self, *, verb: str | None = None, after: int = 0) -> Iterator[Row]:
        seq = after
        condition, params = ("", {}) if verb is None else (" AND verb = :verb", {"verb": verb})
        while found := self._database.rows(
            f"SELECT {_COLUMNS} FROM audit_log WHERE seq > :seq{condition}"
            f" ORDER BY seq LIMIT {ENTRIES_MAX}",
            seq=seq,
            **params,
        ):
            yield from found
            seq = int(found[-1][_SEQ] or 0)

    def acts(self, *verbs: str) -> Iterator[AuditEntry]:
        """Entries of these verbs, the oldest first; also those of a version that had no chain."""
        place: int | None = -1
        while place is not None:
            condition, params = self._database.among("verb", list(verbs))
            found = self._database.rows(
                f"SELECT id, {_COLUMNS} FROM audit_log WHERE id > :place AND {condition}"
                f" ORDER BY id LIMIT {ENTRIES_MAX}",
                place=place,
                **params,
            )
            yield from (_entry(row) for _, *row in found)
            place = int(found[-1][0] or 0) if found else None

    def chained_since(self) -> Micros | None:
        """When the first entry of the chain was written; None where there is none."""
        found = self._database.rows("SELECT at FROM audit_log WHERE seq = 1")
        return int(found[0][0] or 0) if found else None

    def unchained(self) -> tuple[int, int]:
        """How many entries are in no chain: all of them, and those that came after its begin."""
        ((count, late),) = self._database.rows(
            "SELECT count(*), coalesce(sum(CASE WHEN id > (SELECT id FROM audit_log WHERE seq = 1)"
            " THEN 1 ELSE 0 END), 0) FROM audit_log WHERE seq IS NULL"
        )
        return int(count or 0), int(late or 0)

    def hashes(self, after: int, until: int) -> Iterator[tuple[int, str]]:
        """(place, hash) of the entries of the chain after this place and up to that one."""
        while found := self._database.rows(
            "SELECT seq, hash FROM audit_log WHERE seq > :after AND seq <= :until"
            f" ORDER BY seq LIMIT {ENTRIES_MAX}",
            after=after,
            until=until,
        ):
            for seq, own in found:
                after = int(seq or 0)
                yield after, str(own)

    def faults(self, *, kept: AuditHead | None = None) -> list[str]:
        """What is wrong with the chain; `kept` is a head that was kept elsewhere, which it must have grown from."""
        head, last, count = self.head(), GENESIS, 0
        found: list[str] = []
        for *said, reason, seq, own, salt, sealed in self._walk():  # the detail as it is stored
            count += 1
            if seq != count:
                return [*found, f"entry {count} is missing: the next one is {seq!s}"]
            last = entry_hash(last, count, (*said, reason if sealed is None else sealed))
            if own != last or not is_reason(reason, salt, sealed):
                return [*found, f"entry {count} was changed"]
            if kept is not None and kept.count == count and kept.hash != last:
                found.append(f"entry {count} is not the one that was kept elsewhere")
            if count == head.count:
                break  # what was added meanwhile is behind this head
        if (count, last) != (head.count, head.hash):
            found.append(f"it ends after {count} entries, and should have {head.count}")
        if kept is not None and kept.count > count:
            found.append(f"it has {count} entries, and had {kept.count} when its head was kept")
        ((newest,),) = self._database.rows("SELECT max(seq) FROM audit_log")
        end = int(newest or 0)
        if end > self.head().count:  # which is read later: what is added meanwhile is in it
            found.append(f"it goes on to entry {end}, behind its head")
        if moved := self._count_moved():
            found.append(f"{moved} entries are listed before one that they follow in the chain")
        return found

    def erased_reasons(self) -> Iterator[str]:
        """The records whose acts have lost their reasons, each once."""
        after = ""
        while found := self._database.rows(
            "SELECT DISTINCT record_id FROM audit_log WHERE record_id > :after AND reason_hash IS NOT NULL"
            f" AND salt IS NULL ORDER BY record_id LIMIT {ENTRIES_MAX}",
            after=after,
        ):
            yield from (str(record_id) for (record_id,) in found)
            after = str(found[-1][0])

    def _count_moved(self) -> int:
        """Entries whose number, by which lists and `acts` are ordered, is not above that of the one before them.

        The hash does not cover the number, and of two acts the later one counts.
        """
        ((count,),) = self._database.rows(
            "SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY seq) AS before FROM audit_log"
            " WHERE seq IS NOT NULL) AS numbered WHERE id <= before"
        )
        return int(count or 0)


def is_reason(reason: Cell, salt: Cell, sealed: Cell) -> bool:
    """Whether a reason is the one that was sealed, or was erased as a whole."""
    if sealed is None:
        return salt is None
    return reason is None if salt is None else reason_hash(str(salt), str(reason)) == sealed


def _entry(row: Sequence[Cell]) -> AuditEntry:
    at, actor, verb, of, detail, reason, seq, own, salt, sealed = row
    try:
        fields = _decode_fields(str(detail))
    except UNDECODABLE as error:
        what = f"entry {seq!s} of the audit log"
        raise StoreMismatch(UNREADABLE.format(what=what, error=error)) from error
    return AuditEntry(
        at=int(at or 0),
        actor=str(actor),
        verb=str(verb),
        record_id=str(of),
        detail=fields,
        reason=None if reason is None else str(reason),
        seq=None if seq is None else int(seq),
        hash=None if own is None else str(own),
        salt=None if salt is None else str(salt),
        reason_hash=None if sealed is None else str(sealed),
    )
