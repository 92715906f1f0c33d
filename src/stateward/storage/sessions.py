"""Sign-in to the console: sessions, and links that sign in once.

A token is 256 random bits; only its SHA-256 is stored, so that a copy of the database lets no one sign in. A plain
hash is enough here: slow hashes protect secrets that can be guessed. A session belongs to an API key: once the key is
revoked, its sessions end with the next request.
"""

from hashlib import sha256

from stateward.core.model import Micros
from stateward.storage.database import ColumnType, Database, Table

TOKEN_CHARS_MAX = 200  # four times what we issue; anything longer is refused before it is hashed

_COLUMNS: dict[str, ColumnType] = {
    "token_hash": "text",
    "key_id": "text",
    "created_at": "bigint",
    "expires_at": "bigint",
}
SESSIONS = Table("sessions", _COLUMNS, key=("token_hash",))
LINKS = Table("links", _COLUMNS, key=("token_hash",))


class Sessions:
    """Sessions and sign-in links, in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, token: str, *, key_id: str, now: Micros, until: Micros) -> None:
        """Store a session. Expired ones are deleted along the way, so that no job has to do it."""
        with self._database.transaction():
            self._database.run("DELETE FROM sessions WHERE expires_at <= :now", now=now)
            self._database.insert(SESSIONS, [(_token_hash(token), key_id, now, until)])

    def key_of(self, token: str, *, now: Micros) -> str | None:
        """The id of the key behind a session; None if the session does not exist or has expired."""
        if len(token) > TOKEN_CHARS_MAX:
            return None
        found = self._database.rows(
            "SELECT key_id FROM sessions WHERE token_hash = :hash AND expires_at > :now",
            hash=_token_hash(token),
            now=now,
        )
        return str(found[0][0]) if found else None

    def end(self, token: str) -> None:
        self._database.delete(SESSIONS, [(_token_hash(token),)])

    def add_link(self, token: str, *, key_id: str, now: Micros, until: Micros) -> None:
        """Store a link that signs in once; expired ones are deleted along the way."""
        with self._database.transaction():
            self._database.run("DELETE FROM links WHERE expires_at <= :now", now=now)
            self._database.insert(LINKS, [(_token_hash(token), key_id, now, until)])

    def take_link(self, token: str, *, now: Micros) -> str | None:
        """The id of the key that a link signs in with; None if it is unknown, used or expired.

        The request that deletes the row has used the link, so of two requests at once only one signs in.
        """
        if len(token) > TOKEN_CHARS_MAX:
            return None
        with self._database.transaction():
            found = self._database.rows(
                f"SELECT key_id, expires_at FROM links WHERE token_hash = :hash{self._database.for_update}",
                hash=_token_hash(token),
            )
            (is_deleted,) = self._database.delete(LINKS, [(_token_hash(token),)])
        if not found or not is_deleted or int(found[0][1] or 0) <= now:
            return None
        return str(found[0][0])


def _token_hash(token: str) -> str:
    return sha256(token.encode("utf-8", "replace")).hexdigest()
