"""Every version of every state machine that records of this store follow or followed."""

from collections.abc import Sequence
from hashlib import sha256

import msgspec

from stateward.core.errors import StoreMismatch
from stateward.core.machine import Machine, load_machine
from stateward.core.model import COORDINATOR, Fields, Json, Micros
from stateward.storage.audit import MACHINES_STORED, AuditEntry, AuditLog
from stateward.storage.database import UNDECODABLE, UNREADABLE, Database, Row, Table
from stateward.storage.record_rows import decode_fields
from stateward.storage.row_seals import add_seals, row_digest

MACHINES = Table(
    "machines",
    {
        "name": "text", "version": "bigint", "digest": "text", "document": "json", "at": "bigint",
    },
    key=("name", "version"),
)  # fmt: skip


class MachineVersions:
    """State machines as they are stored; a version is written once and never changed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(self, machines: Sequence[tuple[Machine, str]], *, now: Micros) -> None:
        """Store versions of machines with their digests, for the records that follow them.

        One entry of the audit log seals the documents of those that are new.
        """
        rows: list[Row] = [
            (each.name, each.version, digest, msgspec.json.encode(each).decode(), now)
            for each, digest in machines
        ]
        with self._database.transaction():
            are_new = self._database.insert_new(MACHINES, rows)
            sealed: list[Json] = [
                [each.name, each.version, sha256(str(row[3]).encode()).hexdigest()]
                for (each, _), row, is_new in zip(machines, rows, are_new, strict=True)
                if is_new
            ]
            if sealed:
                detail: Fields = {"machines": sealed}
                entry = AuditEntry(at=now, actor=COORDINATOR, verb=MACHINES_STORED, detail=detail)
                AuditLog(self._database).add([entry])
                new = [row for row, is_new in zip(rows, are_new, strict=True) if is_new]
                digests = [row_digest("", row) for row in new]
                add_seals(self._database, {MACHINES.name: digests}, at=now)

    def all(self) -> list[tuple[Machine, str]]:
        """Every version of every machine that was ever in force here, with its digest."""
        made: list[tuple[Machine, str]] = []
        for name, version, document, digest in self._database.rows(
            "SELECT name, version, document, digest FROM machines ORDER BY name, version"
        ):
            try:
                made.append((load_machine(decode_fields(str(document))), str(digest)))
            except UNDECODABLE as error:
                what = f"version {version!s} of the machine {name!s}"
                raise StoreMismatch(UNREADABLE.format(what=what, error=error)) from error
        return made

    def document_digests(self) -> dict[tuple[str, int], str]:
        """The SHA-256 of the document of each version of each machine, as it is stored now."""
        found = self._database.rows("SELECT name, version, document FROM machines")
        return {
            (str(name), int(version or 0)): sha256(str(document).encode()).hexdigest()
            for name, version, document in found
        }
