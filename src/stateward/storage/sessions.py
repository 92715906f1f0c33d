"""People at the console: who is signed in, links that sign in once, causes that were seen, and what people did.

A token is 256 random bits; only its SHA-256 is kept, so what is in the database opens nothing. A session lives as
long as its key does: revoke the key, and its sessions end with the next request. Acts are what people did without
moving a record, for the history that people read. Nothing here moves a record.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256

import msgspec

from stateward.core.model import Fields, Micros
from stateward.storage.database import Database, Table

TOKEN_CHARS_MAX = 200
ACTS_MAX = 1000

SESSIONS = Table(
    "sessions",
    {"token_hash": "text", "key_id": "text", "created_at": "bigint", "expires_at": "bigint"},
    key=("token_hash",),
)
LINKS = Table(
    "links",
    {"token_hash": "text", "key_id": "text", "created_at": "bigint", "expires_at": "bigint"},
    key=("token_hash",),
)
ACKNOWLEDGED = Table(
    "acknowledged",
    {"machine": "text", "cause": "text", "at": "bigint", "actor": "text", "reason": "text"},
    key=("machine", "cause"),
)
ACTS = Table(
    "audit_log",
    {
        "at": "bigint",
        "actor": "text",
        "verb": "text",
        "record_id": "text",
        "detail": "text",
        "reason": "text",
    },
    key=(),
)
_decode_fields = msgspec.json.Decoder(Fields).decode


class Acknowledged(msgspec.Struct, frozen=True, kw_only=True):
    """A cause of errors that somebody has seen."""

    machine: str
    cause: str
    at: Micros
    actor: str
    reason: str | None


class Act(msgspec.Struct, frozen=True, kw_only=True):
    """What a person did that moved no record; `record_id` is '' where it concerns no single one."""

    at: Micros
    actor: str
    verb: str
    record_id: str = ""
    detail: Fields = {}
    reason: str | None = None


class Sessions:
    """Sessions, links, acknowledgements and acts, in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # Signing in

    def begin(self, token: str, *, key_id: str, now: Micros, until: Micros) -> None:
        """Sign somebody in; what has expired is forgotten on the way."""
        with self._database.transaction():
            self._database.run("DELETE FROM sessions WHERE expires_at <= :now", now=now)
            self._database.insert(SESSIONS, [(hashed(token), key_id, now, until)])

    def key_of(self, token: str, *, now: Micros) -> str | None:
        """The id of the key behind a session; None if there is no such session any more."""
        if len(token) > TOKEN_CHARS_MAX:
            return None
        found = self._database.rows(
            "SELECT key_id FROM sessions WHERE token_hash = :hash AND expires_at > :now",
            hash=hashed(token),
            now=now,
        )
        return str(found[0][0]) if found else None

    def end(self, token: str) -> None:
        """Sign somebody out."""
        self._database.delete(SESSIONS, [(hashed(token),)])

    def add_link(self, token: str, *, key_id: str, now: Micros, until: Micros) -> None:
        """Keep a link that signs in once."""
        with self._database.transaction():
            self._database.run("DELETE FROM links WHERE expires_at <= :now", now=now)
            self._database.insert(LINKS, [(hashed(token), key_id, now, until)])

    def take_link(self, token: str, *, now: Micros) -> str | None:
        """The id of the key that a link signs in with. It is used up by this, whoever else tries at the same time."""
        if len(token) > TOKEN_CHARS_MAX:
            return None
        with self._database.transaction():
            found = self._database.rows(
                f"SELECT key_id, expires_at FROM links WHERE token_hash = :hash{self._database.for_update}",
                hash=hashed(token),
            )
            (is_taken,) = self._database.delete(LINKS, [(hashed(token),)])
        if not found or not is_taken or int(found[0][1] or 0) <= now:
            return None
        return str(found[0][0])

    # Causes of errors

    def acknowledge(self, seen: Acknowledged) -> None:
        """Note that a cause was seen."""
        with self._database.transaction():
            self._database.delete(ACKNOWLEDGED, [(seen.machine, seen.cause)])
            row = (seen.machine, seen.cause, seen.at, seen.actor, seen.reason)
            self._database.insert(ACKNOWLEDGED, [row])

    def unacknowledge(self, machine: str, cause: str) -> None:
        """Take that back."""
        self._database.delete(ACKNOWLEDGED, [(machine, cause)])

    def acknowledged(self) -> dict[tuple[str, str], Acknowledged]:
        """All that was seen, by machine and cause."""
        found = self._database.rows("SELECT machine, cause, at, actor, reason FROM acknowledged")
        seen = [
            Acknowledged(**dict(zip(ACKNOWLEDGED.columns, row, strict=True)))  # type: ignore[arg-type]
            for row in found
        ]
        return {(each.machine, each.cause): each for each in seen}

    # Acts

    def note(self, acts: Sequence[Act]) -> None:
        """Keep what people did."""
        rows = [
            (
                each.at,
                each.actor,
                each.verb,
                each.record_id,
                msgspec.json.encode(each.detail).decode(),
                each.reason,
            )
            for each in acts
        ]
        if rows:
            self._database.insert(ACTS, rows)

    def acts(self, *, record_id: str | None = None, limit: int = 100) -> list[Act]:
        """What people did, newest first: to one record, or at all."""
        condition = "" if record_id is None else " WHERE record_id = :record_id"
        params: Mapping[str, object] = {} if record_id is None else {"record_id": record_id}
        found = self._database.rows(
            f"SELECT at, actor, verb, record_id, detail, reason FROM audit_log{condition}"
            " ORDER BY id DESC LIMIT :limit",
            limit=min(limit, ACTS_MAX),
            **params,
        )
        return [
            Act(
                at=int(at or 0),
                actor=str(actor),
                verb=str(verb),
                record_id=str(of),
                detail=_decode_fields(str(detail)),
                reason=None if reason is None else str(reason),
            )
            for at, actor, verb, of, detail, reason in found
        ]


def hashed(token: str) -> str:
    """What is kept of a token."""
    return sha256(token.encode("utf-8", "replace")).hexdigest()
