"""Who has taken a review up, and until when. A claim counts for one version of a record and ends by itself.

It keeps two people from looking at the same thing, and nothing more: what a record does is decided elsewhere.
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
    """Somebody looks at a record, until then."""

    record_id: str
    version: int
    actor: str
    at: Micros
    until: Micros

    def is_live(self, record: Record, now: Micros) -> bool:
        """Whether it counts: the record has not moved since, and its time is not over."""
        return self.version == record.version and self.until > now


class Claims:
    """The claims, in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, record_ids: Iterable[str]) -> dict[str, Claim]:
        """The claims on these records, whether they still count or not."""
        wanted = sorted(set(record_ids))
        if not wanted:
            return {}
        condition, params = self._database.among("record_id", wanted)
        found = self._database.rows(f"SELECT {_COLUMNS} FROM claims WHERE {condition}", **params)
        return {str(row[0]): _claim(row) for row in found}

    def take(self, claim: Claim) -> None:
        """Keep a claim in place of the one there is; the caller holds the lock on the record."""
        with self._database.transaction():
            self._database.delete(CLAIMS, [(claim.record_id,)])
            row: Row = (claim.record_id, claim.version, claim.actor, claim.at, claim.until)
            self._database.insert(CLAIMS, [row])

    def drop(self, record_id: str) -> bool:
        """Forget the claim on a record; whether there was one."""
        with self._database.transaction():
            (was_there,) = self._database.delete(CLAIMS, [(record_id,)])
            return was_there


def _claim(row: Row) -> Claim:
    return Claim(**dict(zip(CLAIMS.columns, row, strict=True)))  # type: ignore[arg-type]
