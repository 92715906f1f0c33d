"""The engine's tests run over every database: memory, an SQLite file, PostgreSQL."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stateward.pipelines.contracts.machine import CONTRACT
from stateward.pipelines.literature.machine import DOCUMENT_MACHINE
from stateward.pipelines.uploads.machine import UPLOAD
from stateward.storage.database import Database
from stateward.storage.postgres import PostgresDatabase
from stateward.storage.sqlite import MEMORY, SqliteDatabase
from stateward.testing.rig import Rig

Opener = Callable[[], Database]


# In memory it is the same SQLite without a file, and quicker by little: that is left to `make test-long`.
@pytest.fixture(params=[pytest.param("memory", marks=pytest.mark.long), "sqlite", "postgres"])
def open_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """Open the same database as often as wished (in memory: the one handle there is)."""
    opened: list[Database] = []
    if request.param == "memory":
        opened.append(SqliteDatabase(MEMORY))
        yield lambda: opened[0]
    else:
        dsn = request.getfixturevalue("postgres_dsn") if request.param == "postgres" else ""

        def another() -> Database:
            path = tmp_path / "engine.db"
            opened.append(PostgresDatabase(dsn) if dsn else SqliteDatabase(path, is_durable=False))
            return opened[-1]

        yield another
    for database in opened:
        database.close()


@pytest.fixture
def rig(open_database: Opener) -> Rig:
    """An engine with the three machines that ship, and no worker yet."""
    return Rig(open_database(), [UPLOAD, CONTRACT, DOCUMENT_MACHINE])
