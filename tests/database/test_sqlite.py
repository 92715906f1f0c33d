"""SQLite in a file keeps what every engine promises."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from stateward.database.sqlite import SqliteDatabase
from stateward.testing.databases import DatabaseSuite, Opener


class TestSqlite(DatabaseSuite):
    @pytest.fixture
    def open_database(self, tmp_path: Path) -> Iterator[Opener]:
        opener = Opener(partial(SqliteDatabase, tmp_path / "kept.db", is_durable=False))
        yield opener
        opener.close()

    @pytest.fixture
    def open_empty_database(self, open_database: Opener) -> Opener:
        return open_database
