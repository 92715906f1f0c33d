"""The schema of a SQLite database: its version, and the migrations that bring an older one up to date."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import cast

import apsw

from stateward.core.errors import StoreMismatch
from stateward.storage.migrations import migrations
from stateward.storage.sqlite_file import read_only_connection, snapshot

APPLICATION_ID = 0x53_74_57_64  # "StWd" in the file header: tells our files from other SQLite files


def migrate_schema(
    connection: apsw.Connection, path: str, transaction: Callable[[], AbstractContextManager[None]]
) -> None:
    """Bring the schema up to date; safe to run twice, and by two processes at once."""
    steps = migrations("sqlite")
    found = schema_version(connection, path)
    if found == len(steps):
        return  # the usual start takes no write lock
    if 0 < found < len(steps):
        _copy_before(path, found, len(steps))
    with transaction():
        done = schema_version(
            connection, path
        )  # again: another process may have migrated meanwhile
        if done > len(steps):
            raise StoreMismatch(
                f"{path} was made by a newer Stateward (schema {done}, this one has {len(steps)}); upgrade Stateward"
            )
        for step in steps[done:]:
            try:
                connection.execute(step.sql)
            except apsw.SQLError as error:
                raise StoreMismatch(
                    f"{path} says that it has schema {done}, but its tables are others ({error}); nothing was "
                    "changed: restore a backup"
                ) from error
        connection.execute(f"PRAGMA user_version = {len(steps)}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _copy_before(path: str, found: int, version: int) -> None:
    """Keep the file as the older version of Stateward left it, so that there is a way back.

    A copy of an earlier upgrade, from which someone went back, does not have what came since.
    """
    copy = Path(f"{path}.before-schema-{version}")
    unfinished = Path(f"{copy}.{os.getpid()}")
    unfinished.unlink(missing_ok=True)
    snapshot(Path(path), unfinished)
    with closing(read_only_connection(unfinished)) as connection:
        ((copied,),) = connection.execute("PRAGMA user_version").fetchall()
    if copied == found:
        unfinished.rename(copy)
    else:  # another process has migrated meanwhile, and has made the copy
        unfinished.unlink()


def check_schema(connection: apsw.Connection, path: str) -> None:
    """Refuse a file that nothing may be written to and that has another schema than this version."""
    found, steps = schema_version(connection, path), len(migrations("sqlite"))
    if not found:
        raise StoreMismatch(
            f"{path} holds no store yet: it was begun, and its tables were not written, as on a full disk; "
            "free some space and give the command again"
        )
    if found != steps:
        age = "an older" if found < steps else "a newer"
        raise StoreMismatch(
            f"{path} was written by {age} Stateward (schema {found}, this one has {steps}), and nothing may "
            "be written here: verify it with that version, or a copy in a folder that can be written to"
        )


def schema_version(connection: apsw.Connection, path: str) -> int:
    """How many migrations were made.

    Three reads in one transaction, because another process may be migrating: its tables, its id and its version
    appear together or not at all.
    """
    is_outermost = not connection.in_transaction
    if is_outermost:
        connection.execute("BEGIN")
    try:
        ((application,),) = connection.execute("PRAGMA application_id").fetchall()
        ((tables,),) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        if application != APPLICATION_ID and tables:
            raise StoreMismatch(f"{path} is a database of another program; use another file")
        ((version,),) = connection.execute("PRAGMA user_version").fetchall()
        return cast("int", version)
    finally:
        # A read that the disk failed has ended it already, and is the error that counts.
        if is_outermost and connection.in_transaction:
            connection.execute("COMMIT")
