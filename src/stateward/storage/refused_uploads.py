"""Uploads that were refused, with the reason, until the person who sent them dismisses them.

A refused document leaves no record, so without this its reason is gone with the page that showed it. Only the name and
the reason are stored, never the bytes.
"""

import msgspec

from stateward.core.model import Micros, clean_text
from stateward.storage.database import Database, Row, Table

REFUSED_MAX = 200  # of one caller: the oldest give way
NAME_CHARS_MAX = 255
REASON_CHARS_MAX = 2000

REFUSED_UPLOADS = Table(
    "refused_uploads",
    {
        "id": "text",
        "owner": "text",
        "name": "text",
        "problem": "text",
        "reason": "text",
        "at": "bigint",
    },
    key=("id",),
)


class RefusedUpload(msgspec.Struct, frozen=True, kw_only=True):
    """A document that was sent and not accepted. `problem` is the word of the problem, `reason` its sentence."""

    id: str
    owner: str
    name: str
    problem: str
    reason: str
    at: Micros


class RefusedUploads:
    """The refused uploads, in one database; `owner` is the id of a key, or of the user of this machine."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, owner: str) -> list[RefusedUpload]:
        """Those of one caller, the newest first."""
        found = self._database.rows(
            "SELECT id, owner, name, problem, reason, at FROM refused_uploads "
            "WHERE owner = :owner ORDER BY at DESC, id DESC",
            owner=owner,
        )
        return [RefusedUpload(**REFUSED_UPLOADS.named(row)) for row in found]

    def note(self, refused: RefusedUpload) -> None:
        """Store one; beyond the limit the oldest of its owner are dropped."""
        row: Row = (
            refused.id,
            refused.owner,
            clean_text(refused.name, chars_max=NAME_CHARS_MAX),
            refused.problem,
            clean_text(refused.reason, chars_max=REASON_CHARS_MAX),
            refused.at,
        )
        with self._database.transaction():
            self._database.insert(REFUSED_UPLOADS, [row])
            surplus = self.of(refused.owner)[REFUSED_MAX:]
            if surplus:
                self._database.delete(REFUSED_UPLOADS, [(each.id,) for each in surplus])

    def dismiss(self, owner: str, refused_id: str | None = None) -> int:
        """Remove one of a caller's, or all; how many there were."""
        with self._database.transaction():
            own = [each.id for each in self.of(owner) if refused_id in (None, each.id)]
            if own:
                self._database.delete(REFUSED_UPLOADS, [(each,) for each in own])
        return len(own)
