"""Approver links: each lets one named person decide one review.

A link's text is `<id>_<secret>`. The id finds its row; of the secret, 256 random bits, only the SHA-256 is stored and
compared in constant time, as with API keys. Whether a link may still be used also depends on its record: that is
decided by `app.approver_links`.
"""

from contextlib import AbstractContextManager
from hashlib import sha256
from hmac import compare_digest

import msgspec

from stateward.core.model import PERSON, SECOND, Micros
from stateward.storage.database import Database, Row, Table
from stateward.storage.row_seals import sealed_change

LINK_PREFIX = "link-"
"""What the id of a link begins with; that of an API key cannot."""
TEXT_CHARS_MAX = 200  # anything longer is refused before it is hashed
LINKS_SHOWN_MAX = 1000
# The history and the audit log name a link and who made it for ever; the row is needed no longer than this.
STORED_AFTER_EXPIRY: Micros = 30 * 86_400 * SECOND

REVIEW_LINKS = Table(
    "review_links",
    {
        "id": "text", "secret_hash": "text", "record_id": "text", "machine": "text", "version": "bigint",
        "person": "text", "created_at": "bigint", "created_by": "text", "key_id": "text", "expires_at": "bigint",
        "opened_at": "bigint", "revoked_at": "bigint",
    },
    key=("id",),
)  # fmt: skip
_COLUMNS = ", ".join(REVIEW_LINKS.columns)


class ReviewLink(msgspec.Struct, frozen=True, kw_only=True):
    """An approver link without its secret. `key_id` is the key that it was made with, '' if none."""

    id: str
    record_id: str
    machine: str
    version: int
    person: str
    created_at: Micros
    created_by: str
    key_id: str
    expires_at: Micros
    opened_at: Micros | None = None
    revoked_at: Micros | None = None

    @property
    def actor(self) -> str:
        """Who its person is in the history."""
        return f"{PERSON}{self.person}@{self.id}"


def link_text(link_id: str, secret: str) -> str:
    """A link's text, which is shown once."""
    return f"{link_id}_{secret}"


def is_by_link(actor: str) -> bool:
    """Whether an actor acts by a link: keys have ids of another form."""
    return actor.rpartition("@")[2].startswith(LINK_PREFIX)


class ReviewLinks:
    """Approver links, in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, link: ReviewLink, *, secret: str, now: Micros) -> None:
        """Store a link. Those that ended long ago are deleted along the way, so that no job has to do it."""
        row: Row = (
            link.id, _secret_hash(secret), link.record_id, link.machine, link.version, link.person,
            link.created_at, link.created_by, link.key_id, link.expires_at, link.opened_at, link.revoked_at,
        )  # fmt: skip
        old = self._database.rows(
            f"SELECT id FROM review_links WHERE expires_at <= :before LIMIT {LINKS_SHOWN_MAX}",
            before=now - STORED_AFTER_EXPIRY,
        )
        gone: list[Row] = [(link_id,) for (link_id,) in old]
        with self._seal_change(link.id, *(str(link_id) for (link_id,) in old), now=now):
            self._database.delete(REVIEW_LINKS, gone)
            self._database.insert(REVIEW_LINKS, [row])

    def _seal_change(self, *link_ids: str, now: Micros) -> AbstractContextManager[None]:
        return sealed_change(self._database, REVIEW_LINKS.name, link_ids, at=now)

    def authenticate(self, text: str) -> ReviewLink | None:
        """The link that this text is, whatever became of it; None if it is none."""
        link_id, _, secret = text.partition("_")
        if not secret or len(text) > TEXT_CHARS_MAX:
            return None
        found = self._rows("id = :id", id=link_id)
        if not found or not compare_digest(found[0][1], _secret_hash(secret)):
            return None
        return found[0][0]

    def get(self, link_id: str) -> ReviewLink | None:
        found = self._rows("id = :id", id=link_id)
        return found[0][0] if found else None

    def of_record(self, record_id: str) -> list[ReviewLink]:
        """The links to the reviews of a record, oldest first."""
        return [link for link, _ in self._rows("record_id = :id", id=record_id)]

    def of_actor(self, actor: str) -> ReviewLink | None:
        """The link by which an actor acts; None for everyone else."""
        return self.get(actor.rpartition("@")[2]) if is_by_link(actor) else None

    def open(self, link_id: str, *, now: Micros) -> bool:
        """Note that a link was opened; False if it was before. Of two requests at once only one gets True."""
        with self._seal_change(link_id, now=now):
            changed = self._database.run(
                "UPDATE review_links SET opened_at = :now WHERE id = :id AND opened_at IS NULL",
                id=link_id,
                now=now,
            )
        return bool(changed)

    def revoke(self, link_id: str, *, now: Micros) -> bool:
        """Revoke a link from the next request on; whether it was not revoked before."""
        with self._seal_change(link_id, now=now):
            changed = self._database.run(
                "UPDATE review_links SET revoked_at = :now WHERE id = :id AND revoked_at IS NULL",
                id=link_id,
                now=now,
            )
        return bool(changed)

    def _rows(self, condition: str, **params: str) -> list[tuple[ReviewLink, str]]:
        found = self._database.rows(
            f"SELECT {_COLUMNS} FROM review_links WHERE {condition} ORDER BY created_at, id LIMIT {LINKS_SHOWN_MAX}",
            **params,
        )
        return [_link(row) for row in found]


def _secret_hash(secret: str) -> str:
    return sha256(secret.encode("utf-8", "replace")).hexdigest()


def _link(row: Row) -> tuple[ReviewLink, str]:
    values = REVIEW_LINKS.named(row)
    secret_hash = str(values.pop("secret_hash"))
    return ReviewLink(**values), secret_hash
