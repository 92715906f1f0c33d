"""The audit log: what people did that made no transition, and which causes of errors they acknowledged.

Transitions have their own, hash-chained history. This log holds the rest of what an auditor asks for, such as a
changed priority or an acknowledged error. It is append-only; nothing here changes a record.
"""

from collections.abc import Mapping, Sequence

import msgspec

from stateward.core.model import Fields, Micros
from stateward.storage.database import Database, Table

ENTRIES_MAX = 1000

ACKNOWLEDGED = Table(
    "acknowledged",
    {"machine": "text", "cause": "text", "at": "bigint", "actor": "text", "reason": "text"},
    key=("machine", "cause"),
)
AUDIT_LOG = Table(
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


class Acknowledgement(msgspec.Struct, frozen=True, kw_only=True):
    """Who acknowledged a cause of errors, and when. Records that fail later of the same cause count as new again."""

    machine: str
    cause: str
    at: Micros
    actor: str
    reason: str | None


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One action of a person; `record_id` is '' where it concerns no single record."""

    at: Micros
    actor: str
    verb: str
    record_id: str = ""
    detail: Fields = {}
    reason: str | None = None


class AuditLog:
    """Audit entries and acknowledgements, in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, entries: Sequence[AuditEntry]) -> None:
        """Append entries."""
        rows = [
            (
                each.at,
                each.actor,
                each.verb,
                each.record_id,
                msgspec.json.encode(each.detail).decode(),
                each.reason,
            )
            for each in entries
        ]
        if rows:
            self._database.insert(AUDIT_LOG, rows)

    def entries(self, *, record_id: str | None = None, limit: int = 100) -> list[AuditEntry]:
        """Entries about one record, or about anything; newest first."""
        condition = "" if record_id is None else " WHERE record_id = :record_id"
        params: Mapping[str, object] = {} if record_id is None else {"record_id": record_id}
        found = self._database.rows(
            f"SELECT at, actor, verb, record_id, detail, reason FROM audit_log{condition}"
            " ORDER BY id DESC LIMIT :limit",
            limit=min(limit, ENTRIES_MAX),
            **params,
        )
        return [
            AuditEntry(
                at=int(at or 0),
                actor=str(actor),
                verb=str(verb),
                record_id=str(of),
                detail=_decode_fields(str(detail)),
                reason=None if reason is None else str(reason),
            )
            for at, actor, verb, of, detail, reason in found
        ]

    def acknowledge(self, given: Acknowledgement) -> None:
        """Acknowledge a cause of errors; a newer acknowledgement replaces the older one."""
        with self._database.transaction():
            self._database.delete(ACKNOWLEDGED, [(given.machine, given.cause)])
            row = (given.machine, given.cause, given.at, given.actor, given.reason)
            self._database.insert(ACKNOWLEDGED, [row])

    def unacknowledge(self, machine: str, cause: str) -> None:
        """Remove an acknowledgement."""
        self._database.delete(ACKNOWLEDGED, [(machine, cause)])

    def acknowledgements(self) -> dict[tuple[str, str], Acknowledgement]:
        """Every acknowledgement, by machine and cause."""
        found = self._database.rows("SELECT machine, cause, at, actor, reason FROM acknowledged")
        given = [
            Acknowledgement(**dict(zip(ACKNOWLEDGED.columns, row, strict=True)))  # type: ignore[arg-type]
            for row in found
        ]
        return {(each.machine, each.cause): each for each in given}
