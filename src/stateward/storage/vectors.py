"""Vectors of ranked documents: rows in the database, in the order of indexing, each with a chain over those before.

A vector is eight-bit numbers of a vector of length 1 (base64); searches hold them in a file beside the data, as 32-bit
numbers (`app.vector_file`). A row whose record is gone or was embedded anew is emptied, and its number is never used
again. A writer holds the lock of the full-text cursor.
"""

from base64 import b64decode
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec

from stateward.storage.database import Database, Row, Table

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

DELETED_AT_ONCE = 5000
CHAIN_CHARS = 32
_COLUMNS = "id, record_id, item, model, vector, chain"

VECTORS = Table(
    "search_vectors",
    {
        "machine": "text", "id": "bigint", "record_id": "text", "stage": "text", "item": "bigint", "model": "text",
        "vector": "text", "chain": "text",
    },
    key=("machine", "id"),
)  # fmt: skip


class ItemVector(msgspec.Struct, frozen=True, kw_only=True):
    """The vector of one piece of a document: `item` is the number of the item that it begins with."""

    record_id: str
    item: int
    model: str
    vector: str


class StoredVector(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    record_id: str
    item: int
    model: str
    vector: str
    chain: str


class Vectors:
    def __init__(self, database: Database) -> None:
        self._database = database

    def replace(
        self, machine: str, record_id: str, stage: str, vectors: Sequence[ItemVector]
    ) -> None:
        """Store the vectors of a document; those that it had are emptied."""
        self._database.run(
            "UPDATE search_vectors SET record_id = '', vector = ''"
            " WHERE record_id = :record_id AND stage = :stage",
            record_id=record_id,
            stage=stage,
        )
        newest = self._last(machine)
        chain, at = ("", 0) if newest is None else (newest.chain, newest.id + 1)
        rows: list[Row] = []
        for id_, each in enumerate(vectors, at):
            row = (each.record_id, stage, each.item, each.model, each.vector)
            chain = sha256(" ".join(map(str, (chain, *row))).encode()).hexdigest()[:CHAIN_CHARS]
            rows.append((machine, id_, *row, chain))
        self._database.insert(VECTORS, rows)

    def _last(self, machine: str) -> StoredVector | None:
        found = self._database.rows(
            f"SELECT {_COLUMNS} FROM search_vectors WHERE machine = :machine ORDER BY id DESC LIMIT 1",
            machine=machine,
        )
        return _stored_vector(found[0]) if found else None

    def chain_at(self, machine: str, id_: int) -> str | None:
        """The chain of a row; None if there is no such row."""
        found = self._database.rows(
            "SELECT chain FROM search_vectors WHERE machine = :machine AND id = :id",
            machine=machine,
            id=id_,
        )
        return str(found[0][0]) if found else None

    def after(self, machine: str, id_: int, *, limit: int) -> list[StoredVector]:
        """The rows after a number, in order."""
        found = self._database.rows(
            f"SELECT {_COLUMNS} FROM search_vectors WHERE machine = :machine AND id > :id"
            f" ORDER BY id LIMIT {int(limit)}",
            machine=machine,
            id=id_,
        )
        return [_stored_vector(row) for row in found]

    def records(self, machine: str, ids: Sequence[int], *, model: str) -> dict[int, str]:
        """The records of those of these rows that are of a model and not empty."""
        wanted = ", ".join(str(int(each)) for each in ids)
        if not wanted:
            return {}
        found = self._database.rows(
            f"SELECT id, record_id FROM search_vectors WHERE machine = :machine AND id IN ({wanted})"
            " AND model = :model AND record_id <> ''",
            machine=machine,
            model=model,
        )
        return {int(id_ or 0): str(record_id) for id_, record_id in found}

    def newest_size(self, machine: str) -> int:
        """How many numbers the newest vector has; 0 if there is none."""
        found = self._database.rows(
            "SELECT vector FROM search_vectors WHERE machine = :machine AND vector <> ''"
            " ORDER BY id DESC LIMIT 1",
            machine=machine,
        )
        return len(b64decode(str(found[0][0]))) if found else 0

    def of_record(self, machine: str, record_id: str, *, model: str) -> dict[str, int]:
        """The vectors of a record by a model, each with its row."""
        found = self._database.rows(
            "SELECT vector, id FROM search_vectors WHERE machine = :machine AND record_id = :record_id"
            " AND model = :model",
            machine=machine,
            record_id=record_id,
            model=model,
        )
        return {str(vector): int(id_ or 0) for vector, id_ in found}

    def clear_some(self) -> int:
        """Delete some rows; 0 when none is left."""
        return self._database.run(
            "DELETE FROM search_vectors WHERE (machine, id) IN"
            f" (SELECT machine, id FROM search_vectors LIMIT {DELETED_AT_ONCE})"
        )


def unpacked_vector(text: str) -> "npt.NDArray[np.float32]":
    """A stored vector with the length 1; that of an emptied row has no numbers."""
    import numpy as np

    vector = np.frombuffer(b64decode(text), np.int8).astype(np.float32)
    return vector / (np.linalg.norm(vector) or 1)


def _stored_vector(row: Row) -> StoredVector:
    id_, record_id, item, model, vector, chain = row
    return StoredVector(
        id=int(id_ or 0),
        record_id=str(record_id),
        item=int(item or 0),
        model=str(model),
        vector=str(vector),
        chain=str(chain),
    )
