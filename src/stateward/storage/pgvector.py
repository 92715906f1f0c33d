"""Vectors that PostgreSQL compares itself, where its database has the extension pgvector.

`CREATE EXTENSION vector` in the database is what turns it on; nothing here installs it. The table `search_nearest` is a
copy of `search_vectors` in the type of the extension: brought up to date before it is searched, and never the only
place of anything, so that it can be dropped at any time. A row that is emptied there is deleted here by a trigger.
"""

from collections.abc import Sequence

from stateward.storage.database import Database
from stateward.storage.vectors import StoredVector, Vectors, unpacked_vector

ROWS_AT_ONCE = 500
_TABLE = """
CREATE TABLE IF NOT EXISTS search_nearest (
    machine text NOT NULL,
    id bigint NOT NULL,
    size integer NOT NULL,
    chain text NOT NULL,
    embedding vector NOT NULL,
    PRIMARY KEY (machine, id)
)
"""
FORGET = """
CREATE OR REPLACE FUNCTION search_nearest_forget() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF to_regclass('search_nearest') IS NOT NULL THEN
        DELETE FROM search_nearest WHERE machine = OLD.machine AND id = OLD.id;
    END IF;
    RETURN NULL;
END
$$
"""
TRIGGERS = (
    "CREATE OR REPLACE TRIGGER search_vectors_emptied AFTER UPDATE OF vector ON search_vectors"
    " FOR EACH ROW WHEN (NEW.vector = '') EXECUTE FUNCTION search_nearest_forget()",
    "CREATE OR REPLACE TRIGGER search_vectors_deleted AFTER DELETE ON search_vectors"
    " FOR EACH ROW EXECUTE FUNCTION search_nearest_forget()",
)
_COPY = """
INSERT INTO search_nearest (machine, id, size, chain, embedding)
VALUES (:machine, :id, :size, :chain, CAST(:embedding AS vector)) ON CONFLICT DO NOTHING
"""
_NEAREST = """
SELECT n.id, v.vector FROM (
    SELECT machine, id FROM search_nearest WHERE machine = :machine AND size = :size
    ORDER BY embedding <=> CAST(:asked AS vector), id LIMIT :limit
) AS n JOIN search_vectors v ON v.machine = n.machine AND v.id = n.id WHERE v.vector <> ''
"""


def has_pgvector(database: Database) -> bool:
    """Whether this database compares vectors itself, and may be written to."""
    if database.text_index != "tsvector":
        return False
    found = database.rows(
        "SELECT current_setting('transaction_read_only') FROM pg_extension WHERE extname = 'vector'"
    )
    return bool(found) and found[0][0] == "off"


class PgVectors:
    """The vectors of one machine, in the database."""

    def __init__(self, database: Database, machine: str, vectors: Vectors) -> None:
        self._database = database
        self._machine = machine
        self._vectors = vectors

    def nearest(self, asked: Sequence[float], *, limit: int) -> list[tuple[int, str]]:
        """The rows that are most alike, with their vectors as they are stored."""
        self._bring_up_to_date()
        found = self._database.rows(
            _NEAREST,
            machine=self._machine,
            size=len(asked),
            asked=_text(asked),
            limit=limit,
        )
        return [(int(id_ or 0), str(vector)) for id_, vector in found]

    def _bring_up_to_date(self) -> None:
        ((known,),) = self._database.rows("SELECT to_regclass('search_nearest') IS NOT NULL")
        if not known:
            for statement in (_TABLE, FORGET, *TRIGGERS):
                self._database.run(statement)
        last = self._last()
        while found := self._vectors.after(self._machine, last, limit=ROWS_AT_ONCE):
            with self._database.transaction():
                for each in found:
                    self._copy(each)
            last = found[-1].id

    def _last(self) -> int:
        """The last row that was copied; a copy of another index is deleted first."""
        found = self._database.rows(
            "SELECT id, chain FROM search_nearest WHERE machine = :machine ORDER BY id DESC LIMIT 1",
            machine=self._machine,
        )
        if not found:
            return -1
        last = int(found[0][0] or 0)
        if found[0][1] == self._vectors.chain_at(self._machine, last):
            return last
        self._database.run(
            "DELETE FROM search_nearest WHERE machine = :machine", machine=self._machine
        )
        return -1

    def _copy(self, row: StoredVector) -> None:
        vector = unpacked_vector(row.vector).tolist()
        if vector:  # that of a record that is gone is empty
            self._database.run(
                _COPY,
                machine=self._machine,
                id=row.id,
                size=len(vector),
                chain=row.chain,
                embedding=_text(vector),
            )


def _text(vector: Sequence[float]) -> str:
    return f"[{','.join(f'{each:.6g}' for each in vector)}]"
