"""Vectors that PostgreSQL compares itself: the same answers as the file gives, and nothing left of what is gone.

The server is that of the system, with the extension that is installed beside it. The server that the other tests share
is not asked: the extension that comes with it is built for other processors, and takes the server down on some.
"""

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psycopg
import pytest

from lab.postgres import MissingPostgres, cluster
from stateward.app.vector_file import VectorFile
from stateward.app.vectors import DatabaseVectors
from stateward.storage.pgvector import PgVectors, has_pgvector
from stateward.storage.postgres import PostgresDatabase
from stateward.storage.sqlite import MEMORY, SqliteDatabase
from stateward.storage.vectors import ItemVector, Vectors


def an_item(record_id: str, vector: "np.ndarray") -> ItemVector:
    packed = b64encode(np.round(vector * 40).astype(np.int8).tobytes()).decode()
    return ItemVector(record_id=record_id, item=0, model="m", vector=packed)


pytestmark = pytest.mark.long


@pytest.fixture
def dsn() -> Iterator[str]:
    """An empty database of a server that has the extension."""
    try:
        with cluster(is_of_system=True) as server:
            with psycopg.connect(server.dsn("postgres")) as connection:
                found = connection.execute(
                    "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"
                ).fetchall()
            if not found:
                pytest.skip("the PostgreSQL of this system has no pgvector: install it beside it")
            yield server.dsn(server.create_database())
    except MissingPostgres:
        pytest.skip(
            "this system has no PostgreSQL of its own, which pgvector could be installed for"
        )


def test_the_database_finds_what_the_file_finds(dsn: str, tmp_path: Path) -> None:
    database = PostgresDatabase(dsn)
    try:
        assert not has_pgvector(database), "it is turned on by the extension alone"
        database.run("CREATE EXTENSION vector")
        assert has_pgvector(database)
        vectors = Vectors(database)
        made = np.random.default_rng(5).normal(size=(40, 12))
        for number, row in enumerate(made):
            vectors.replace("m", f"r{number}", "embed", [an_item(f"r{number}", row)])
        own = PgVectors(database, "m", vectors)
        index, file = DatabaseVectors(own), VectorFile(tmp_path, "m", vectors)

        def agree(*numbers: int) -> None:
            for number in numbers:
                asked = (made[number] / np.linalg.norm(made[number])).tolist()
                rows, scores = index.near(asked, limit=10).best(asked)
                others, theirs = file.near(asked, limit=10).best(asked)
                assert rows.tolist() == others.tolist()
                assert np.allclose(scores, theirs, atol=1e-5)

        agree(0, 7, 39)
        vectors.replace("m", "r7", "embed", [an_item("r7", made[8])])
        database.run("DELETE FROM search_nearest WHERE id > 20")  # a copy that lags is brought up
        assert 7 not in [number for number, _ in own.nearest(made[7].tolist(), limit=50)]
        ((left,),) = database.rows("SELECT count(*) FROM search_nearest WHERE id = 7")
        assert left == 0, "nothing is left of a row that was emptied"
        while vectors.clear_some():
            pass
        vectors.replace("m", "other", "embed", [an_item("other", made[3])])
        assert [number for number, _ in own.nearest(made[3].tolist(), limit=5)] == [0]
        database.run("DROP TABLE search_nearest")  # a copy, which is missed by nothing
        vectors.replace("m", "other", "embed", [an_item("other", made[4])])
        assert [number for number, _ in own.nearest(made[4].tolist(), limit=5)] == [1]
    finally:
        database.close()


def test_sqlite_has_no_vectors_of_its_own() -> None:
    database = SqliteDatabase(MEMORY)
    assert not has_pgvector(database)
    database.close()
