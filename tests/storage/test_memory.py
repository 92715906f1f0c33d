"""SQLite in memory keeps what every engine promises, in the one process that has it."""

from collections.abc import Iterator
from functools import partial

import pytest

from stateward.storage.sqlite import MEMORY, SqliteDatabase
from tests.storage.suite import DatabaseSuite
from tests.storage.suite.helpers import Opener


class TestMemory(DatabaseSuite):
    @pytest.fixture
    def open_database(self) -> Iterator[Opener]:
        opener = Opener(partial(SqliteDatabase, MEMORY), is_in_memory=True)
        yield opener
        opener.close()

    @pytest.fixture
    def open_empty_database(self, open_database: Opener) -> Opener:
        return open_database
