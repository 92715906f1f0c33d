"""SQLite in a file keeps what every engine promises, and says what is wrong with a file."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import apsw
import pytest

from stateward.core.errors import StoreFull, StoreMismatch, StoreUnreachable
from stateward.storage import pipe_wakeups
from stateward.storage.database import TOPIC_WORK
from stateward.storage.migrations import migrations
from stateward.storage.sqlite import MEMORY, SqliteDatabase
from tests.storage.suite import DatabaseSuite
from tests.storage.suite.helpers import PAUSES, WAIT_S, Opener, a_pause, stages


class TestSqlite(DatabaseSuite):
    @pytest.fixture
    def open_database(self, tmp_path: Path) -> Iterator[Opener]:
        opener = Opener(partial(SqliteDatabase, tmp_path / "store.db", is_durable=False))
        yield opener
        opener.close()

    @pytest.fixture
    def open_empty_database(self, open_database: Opener) -> Opener:
        return open_database


def test_a_file_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    with closing(sqlite3.connect(path)) as theirs:
        theirs.execute("CREATE TABLE records (x)")

    with pytest.raises(StoreMismatch, match="a database of another program"):
        SqliteDatabase(path)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear reader, " * 1000)

    with pytest.raises(StoreMismatch, match="not an intact SQLite database"):
        SqliteDatabase(path)


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(SqliteDatabase(path)) as database:
        database.run("PRAGMA user_version = 999")

    with pytest.raises(StoreMismatch, match="newer Stateward"):
        SqliteDatabase(path)


def test_a_version_that_does_not_announce_its_starts_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would count starts that no entry of the audit log tells of, and verify would call them forged for good."""
    path = tmp_path / "store.db"
    SqliteDatabase(path).close()
    older = [each for each in migrations("sqlite") if each.number < 32]
    monkeypatch.setattr("stateward.storage.sqlite_schema.migrations", lambda _: older)

    with pytest.raises(StoreMismatch, match="newer Stateward"):
        SqliteDatabase(path)


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreachable, match="cannot open"):
        SqliteDatabase(tmp_path)


def test_a_writer_that_waits_too_long_says_so(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(SqliteDatabase(path)) as one, closing(SqliteDatabase(path, busy_s=0.1)) as other:
        with one.transaction(), pytest.raises(StoreUnreachable, match="locked by another writer"):
            other.insert(PAUSES, [a_pause("a")])

        other.insert(PAUSES, [a_pause("a")])
        assert stages(one) == ["a"]


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path) -> None:
    with closing(SqliteDatabase(tmp_path / "store.db")) as database:
        ((pages,),) = database.rows("PRAGMA page_count")
        database.rows(f"PRAGMA max_page_count = {pages!r}")

        with pytest.raises(StoreFull, match="free some space"):
            database.insert(PAUSES, [a_pause(f"{n}", reason="x" * 9_000) for n in range(50)])

        assert stages(database) == []
        database.rows("PRAGMA max_page_count = 100000")
        database.insert(PAUSES, [a_pause("a")])
        assert stages(database) == ["a"]


def test_the_pipe_of_a_listener_that_died_is_swept_away(tmp_path: Path) -> None:
    with closing(SqliteDatabase(tmp_path / "store.db")) as database:
        wakeup = database.wakeup(TOPIC_WORK)
        left_behind = tmp_path / "store.db-wake" / TOPIC_WORK / "4242-dead"
        os.mkfifo(left_behind)

        database.notify([TOPIC_WORK])

        assert wakeup.wait(WAIT_S)
        assert not left_behind.exists()


def test_listeners_that_come_and_die_while_the_pipes_are_kept_open_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipe_wakeups, "TICK_S", -1.0)  # kept open from the first notification on
    with closing(SqliteDatabase(tmp_path / "store.db")) as database:
        first = database.wakeup(TOPIC_WORK)
        folder = tmp_path / "store.db-wake"
        os.utime(folder, (0, 0))
        database.notify([TOPIC_WORK])
        with closing(SqliteDatabase(tmp_path / "store.db")) as other:
            another = other.wakeup(TOPIC_WORK)
            (name,) = {each.name for each in (folder / TOPIC_WORK).iterdir()} - {
                each.name for each in first._names
            }

            database.notify([TOPIC_WORK])
            assert another.wait(WAIT_S)
            os.close(another.fileno())  # as when its process dies: the name stays
            first.clear()
            database.notify([TOPIC_WORK])

            assert first.clear() == {TOPIC_WORK}
            assert not (folder / TOPIC_WORK / name).exists()
            another._reader = another._writer = -1


def test_a_file_that_another_process_is_just_making_is_not_taken_for_a_strangers(
    tmp_path: Path,
) -> None:
    path = tmp_path / "new.db"
    others: list[SqliteDatabase] = []

    def make_it_meanwhile(_: object, sql: str, __: object) -> bool:
        if "sqlite_schema" in sql and not others:
            others.append(None)  # type: ignore[arg-type]  # its own statements come here, too
            others[0] = SqliteDatabase(path)
        return True

    def watch(connection: apsw.Connection) -> None:
        connection.exec_trace = make_it_meanwhile

    apsw.connection_hooks.append(watch)
    try:
        database = SqliteDatabase(path)
    finally:
        apsw.connection_hooks.remove(watch)

    assert database.check()["schema"] == others[0].check()["schema"]
    database.close()
    others[0].close()


def test_a_store_of_an_older_schema_is_copied_before_it_is_migrated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    steps = migrations("sqlite")
    with monkeypatch.context() as older:
        older.setattr("stateward.storage.sqlite_schema.migrations", lambda _: steps[:-1])
        SqliteDatabase(path).close()
    assert list(tmp_path.glob("*.before-*")) == []

    SqliteDatabase(path).close()

    copy = tmp_path / f"store.db.before-schema-{len(steps)}"
    assert copy.stat().st_mode & 0o077 == 0
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(steps) - 1,)


def test_a_copy_of_an_earlier_upgrade_is_replaced_by_what_came_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, steps = tmp_path / "store.db", migrations("sqlite")
    copy = tmp_path / f"store.db.before-schema-{len(steps)}"
    copy.write_bytes(b"of an upgrade from which someone went back")
    with monkeypatch.context() as older:
        older.setattr("stateward.storage.sqlite_schema.migrations", lambda _: steps[:-1])
        with closing(SqliteDatabase(path)) as database:
            database.insert(PAUSES, [a_pause("parse")])

    SqliteDatabase(path).close()

    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("SELECT stage FROM pauses").fetchall() == [("parse",)]
    assert list(tmp_path.glob("*.before-*")) == [copy]


def test_a_store_whose_tables_are_not_those_of_its_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    SqliteDatabase(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 33")

    with pytest.raises(StoreMismatch, match="its tables are others"):
        SqliteDatabase(path)


def test_a_file_with_a_rollback_journal_is_not_read_past_it(tmp_path: Path) -> None:
    """The next process that may write puts its pages into the file: who reads without it proves another history."""
    with closing(SqliteDatabase(tmp_path / "own.db")):
        pass
    forging = apsw.Connection(str(tmp_path / "own.db"))
    forging.execute("PRAGMA journal_mode = DELETE")
    forging.execute("BEGIN IMMEDIATE; UPDATE audit_head SET count = 77")
    forging.cache_flush()
    for end in ("", "-journal"):
        shutil.copy(tmp_path / f"own.db{end}", tmp_path / f"copy.db{end}")
    forging.close()

    with pytest.raises(StoreUnreachable, match="-journal"):
        SqliteDatabase(tmp_path / "copy.db", is_read_only=True)

    with closing(SqliteDatabase(tmp_path / "copy.db")) as database:
        assert database.rows("SELECT count FROM audit_head") == [(0,)]


def test_a_statement_is_compiled_once_whatever_its_parameters_are() -> None:
    compiled: list[int] = []

    def allow(what: int, *_: object) -> int:
        compiled.append(what)
        return apsw.SQLITE_OK

    with closing(SqliteDatabase(MEMORY)) as database:
        sql = "SELECT id FROM records WHERE machine = :name AND waiting = :name ORDER BY rank LIMIT :limit"
        # SQLite asks for rights while it compiles.
        database._connection.authorizer = allow
        database.rows(sql, name="upload", limit=1)
        once = len(compiled)
        database.rows(sql, name="statement", limit=256)

    assert len(compiled) == once > 0


def test_an_index_and_a_view_of_an_operator_are_no_damage() -> None:
    with closing(SqliteDatabase(MEMORY)) as database:
        database.run("CREATE INDEX ours ON transitions (at)")
        database.run("CREATE VIEW ours_too AS SELECT machine, count(*) FROM records GROUP BY 1")

        assert database.damage() == []
