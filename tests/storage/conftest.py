"""Databases of PostgreSQL, and assertions of the shared suite that say what they saw."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from stateward.storage.postgres import PostgresDatabase

pytest.register_assert_rewrite("tests.storage.suite")


@pytest.fixture(autouse=True)
def every_store_is_migrated(no_copies: None) -> None:
    """Here it is proven what a migration does."""


@pytest.fixture
def database(postgres_dsn: str) -> Iterator[PostgresDatabase]:
    with closing(PostgresDatabase(postgres_dsn)) as opened:
        yield opened


@pytest.fixture
def other(postgres_dsn: str) -> Iterator[PostgresDatabase]:
    with closing(PostgresDatabase(postgres_dsn)) as opened:
        yield opened
