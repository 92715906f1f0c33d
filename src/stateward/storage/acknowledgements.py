"""Causes of errors that people acknowledged. Each act seals the row that it leaves, and is in the audit log."""

import msgspec

from stateward.core.model import Micros
from stateward.storage.audit import AuditEntry, AuditLog
from stateward.storage.database import Database, Row, Table
from stateward.storage.row_seals import sealed_change

ACKNOWLEDGED = Table(
    "acknowledged",
    {"machine": "text", "cause": "text", "at": "bigint", "actor": "text", "reason": "text"},
    key=("machine", "cause"),
)
_COLUMNS = ", ".join(ACKNOWLEDGED.columns)


class Acknowledgement(msgspec.Struct, frozen=True, kw_only=True):
    """Who acknowledged a cause of errors, and when. Records that fail later of the same cause count as new again."""

    machine: str
    cause: str
    at: Micros
    actor: str
    reason: str | None


class Acknowledgements:
    def __init__(self, database: Database, audit: AuditLog) -> None:
        self._database, self._audit = database, audit

    def add(self, given: Acknowledgement) -> None:
        """Acknowledge a cause of errors; a newer acknowledgement replaces the older one."""
        self._put("acknowledge", given, [msgspec.structs.astuple(given)])

    def remove(self, taken_back: Acknowledgement) -> None:
        """Take the acknowledgement of a cause back: who does it, when and why is said in the form of one."""
        self._put("unacknowledge", taken_back, [])

    def _put(self, verb: str, act: Acknowledgement, rows: list[Row]) -> None:
        with sealed_change(self._database, ACKNOWLEDGED.name, [act.machine], at=act.at):
            self._database.delete(ACKNOWLEDGED, [(act.machine, act.cause)])
            self._database.insert(ACKNOWLEDGED, rows)
            entry = AuditEntry(
                at=act.at,
                actor=act.actor,
                verb=verb,
                detail={"machine": act.machine, "cause": act.cause},
                reason=act.reason,
            )
            self._audit.add([entry])

    def every(self) -> dict[tuple[str, str], Acknowledgement]:
        """Every acknowledgement, by machine and cause."""
        found = self._database.rows(f"SELECT {_COLUMNS} FROM acknowledged")
        given = [Acknowledgement(**ACKNOWLEDGED.named(row)) for row in found]
        return {(each.machine, each.cause): each for each in given}
