"""By which keys the items of an attempt can be found from other records. No value of a key is stored, only its HMAC.

The salt is that of the database: two installations that see the same person cannot compare their indexes.
"""

import hashlib
import hmac
from collections.abc import Collection, Iterable

from stateward.core.model import Json, Micros
from stateward.storage.database import Database, Row, Table

ITEM_KEYS = Table(
    "item_keys",
    {"key": "text", "record_id": "text", "version": "bigint", "at": "bigint"},
    key=("key", "record_id", "version"),
)
DIGEST_CHARS = 32
KEYS_MAX = 10_000  # of one attempt: a file with the results of a whole clinic


class ItemKeys:
    """The index, in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._salt = b""  # made with the table and never changed, so it is read once

    def digest(self, machine: str, field: str, value: Json) -> str:
        """What stands for a value; "" for what is no key: nothing, an empty text, a list."""
        if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
            return ""
        text = "\x00".join((machine, field, str(value).strip()))
        if not self._salt:
            ((salt,),) = self._database.rows("SELECT salt FROM item_key_salt")
            self._salt = str(salt).encode()
        return hmac.new(self._salt, text.encode(), hashlib.sha256).hexdigest()[:DIGEST_CHARS]

    def add(self, record_id: str, version: int, keys: Iterable[str], *, at: Micros) -> None:
        """Index an attempt under these keys."""
        rows: list[Row] = [(key, record_id, version, at) for key in sorted(set(keys))[:KEYS_MAX]]
        if rows:
            self._database.insert_new(ITEM_KEYS, rows)

    def of(self, record_id: str, version: int) -> set[str]:
        found = self._database.rows(
            "SELECT key FROM item_keys WHERE record_id = :record_id AND version = :version",
            record_id=record_id,
            version=version,
        )
        return {str(key) for (key,) in found}

    def others(self, keys: Collection[str], *, than: str, limit: int) -> list[str]:
        """Other records with one of these keys, those that were indexed last first."""
        if not keys:
            return []
        condition, params = self._database.among("key", sorted(keys))
        found = self._database.rows(
            f"SELECT record_id FROM item_keys WHERE {condition} AND record_id <> :than"
            " GROUP BY record_id ORDER BY max(at) DESC, record_id DESC LIMIT :limit",
            than=than,
            limit=limit,
            **params,
        )
        return [str(record_id) for (record_id,) in found]
