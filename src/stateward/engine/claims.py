"""Who is working on a review, and until when. A claim is valid for one version of a record and expires by itself.

It keeps two people from working on the same review, and nothing more: it is not part of the history, and never decides
what happens to a record (docs/decisions/0016).
"""

from collections.abc import Iterable

import msgspec

from stateward.core.model import Micros, Record
from stateward.storage.database import Database, Row, Table

CLAIMS = Table(
    "claims",
    {
        "record_id": "text",
        "version": "bigint",
        "actor": "text",
        "at": "bigint",
        "until": "bigint",
    },
    key=("record_id",),
)
_COLUMNS = ", ".join(CLAIMS.columns)


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """One person's claim on the review of a record."""

    record_id: str
    version: int
    actor: str
    at: Micros
    until: Micros

    def is_live(self, record: Record, now: Micros) -> bool:
        """Whether it is valid: the record has not moved since, and its time is not over.

        The version is compared so that claims need no cleaning up: every transition of a record ends the claim on it.
        """
        return self.version == record.version and self.until > now


class Claims:
    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, record_ids: Iterable[str]) -> dict[str, Claim]:
        """The claims on these records, valid or not."""
        wanted = sorted(set(record_ids))
        if not wanted:
            return {}
        condition, params = self._database.among("record_id", wanted)
        found = self._database.rows(f"SELECT {_COLUMNS} FROM claims WHERE {condition}", **params)
        return {str(row[0]): Claim(**CLAIMS.named(row)) for row in found}

    def take(self, claim: Claim) -> None:
        """Store a claim in place of the present one; the caller holds the lock on the record.

        Without that lock two people could both see no claim, and the second would replace the first one's.
        """
        with self._database.transaction():
            self._database.delete(CLAIMS, [(claim.record_id,)])
            row: Row = (claim.record_id, claim.version, claim.actor, claim.at, claim.until)
            self._database.insert(CLAIMS, [row])

    def drop(self, record_id: str) -> bool:
        """Delete the claim on a record; whether there was one."""
        with self._database.transaction():
            (was_there,) = self._database.delete(CLAIMS, [(record_id,)])
            return was_there
