"""A new store of SQLite, copied from one that was migrated before: to migrate one takes fifteen times as long.

Thousands of tests begin with a new store. What a migration does is proven by tests of `storage` and `faults`, which
take no copies. A copy never takes the place of a file that is there.
"""

import contextlib
import os
import tempfile
import uuid
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import apsw
import pytest

from stateward.storage import sqlite
from stateward.storage.sqlite import MEMORY, SqliteDatabase
from stateward.storage.sqlite_schema import migrate_schema

_open = SqliteDatabase.__init__


@contextlib.contextmanager
def copies_of_a_template() -> Iterator[None]:
    """While this is open, every new store of this process is a copy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqliteDatabase, "__init__", open_copy)
        patch.setattr(sqlite, "migrate_schema", copy_into_memory)
        yield


@contextlib.contextmanager
def migrated_each_time() -> Iterator[None]:
    """While this is open, every new store is migrated, as it is where no test runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqliteDatabase, "__init__", _open)
        patch.setattr(sqlite, "migrate_schema", migrate_schema)
        yield


def open_copy(self: SqliteDatabase, path: Path | str, **options: Any) -> None:  # noqa: ANN401 - its own
    if str(path) != MEMORY and not options.get("is_read_only") and not Path(path).exists():
        # What is wrong with a place, the store says better.
        with contextlib.suppress(OSError):
            place_copy(Path(path))
    _open(self, path, **options)


def place_copy(path: Path) -> None:
    """Put a whole copy there at once, unless another process or thread was faster."""
    path.absolute().parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    try:
        unfinished.touch(mode=0o600)
        unfinished.write_bytes(migrated_file())
        os.link(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def copy_into_memory(connection: apsw.Connection, path: str, transaction: Any) -> None:  # noqa: ANN401 - as given
    if path != MEMORY:
        migrate_schema(connection, path, transaction)
        return
    with connection.backup("main", migrated_in_memory()._connection, "main") as copy:
        copy.step()


@cache
def migrated_file() -> bytes:
    with tempfile.TemporaryDirectory() as folder, migrated_each_time():
        path = Path(folder) / "template.db"
        SqliteDatabase(path, is_durable=False).close()
        return path.read_bytes()


@cache
def migrated_in_memory() -> SqliteDatabase:
    with migrated_each_time():
        return SqliteDatabase(MEMORY)
