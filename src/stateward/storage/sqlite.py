"""SQLite through apsw: a file in WAL mode with synchronous=FULL, or `:memory:`.

apsw carries a current SQLite of its own; the one in many distributions' Python can lose committed pages
when a checkpoint races a write. Several processes may use one file: writers take turns (BEGIN IMMEDIATE),
and wake each other through named pipes in a folder beside the file. After a failed write or fsync the
connection is not used again: what the disk holds is then unknown until the file is opened anew.
"""

import errno
import os
import select
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from threading import RLock
from typing import NoReturn, cast

import apsw
import msgspec

from stateward.core.errors import (
    StoreBroken,
    StoreError,
    StoreFull,
    StoreMismatch,
    StoreUnreachable,
)
from stateward.core.failpoints import Point, point
from stateward.storage.database import (
    TOPICS,
    Cell,
    Row,
    Table,
)
from stateward.storage.migrations import migrations

MEMORY = ":memory:"
APPLICATION_ID = 0x53_74_57_64  # "StWd": tells our files from other SQLite files
BUSY_S = 30.0
WAL_PAGES = 4000
WAL_PAUSE_S = 0.01
PAGE_CACHE_KIB = 65_536
RING_BYTE = b"!"
BATCH_MIN = 4
FULL = "the disk that holds {path} is full; nothing was half-written: free some space and try again"
# The index of the WAL could not grow. It is no data: it is made anew from the WAL at every opening.
NO_ROOM = frozenset({apsw.SQLITE_IOERR_SHMSIZE})

_encode = msgspec.json.encode


class SqliteDatabase:
    """One connection to one file; threads that share it take turns unit by unit."""

    for_update = ""
    skip_locked = ""

    def __init__(
        self, path: Path | str, *, is_durable: bool = True, busy_s: float = BUSY_S
    ) -> None:
        self._path = str(path)
        self._lock = RLock()
        self._depth = 0
        self._is_doomed = False
        self._rung: set[str] = set()
        self._broken: str | None = None
        self._wake = None if self._path == MEMORY else Path(f"{self._path}-wake")
        self._wakeups: list[PipeWakeup] = []
        with self._translated():
            self._connection = self._open(busy_s, is_durable=is_durable)
            self._execute = self._connection.execute
            self._migrate()

    def _open(self, busy_s: float, *, is_durable: bool) -> apsw.Connection:
        if self._wake is not None:
            Path(self._path).absolute().parent.mkdir(parents=True, exist_ok=True)
        connection = apsw.Connection(self._path, statementcachesize=200)
        connection.set_busy_timeout(round(busy_s * 1000))
        _enter_wal(connection, busy_s)
        connection.execute(f"PRAGMA synchronous = {'FULL' if is_durable else 'OFF'}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
        connection.execute(f"PRAGMA cache_size = -{PAGE_CACHE_KIB}")
        connection.execute("PRAGMA temp_store = MEMORY")
        return connection

    # Units

    def transaction(self) -> "SqliteTransaction":
        """One transaction. A unit inside a unit joins it, and dooms it when it fails."""
        return SqliteTransaction(self)

    def _begin(self) -> None:
        self._lock.acquire()
        if self._depth:
            self._depth += 1
            return
        try:
            self._try("BEGIN IMMEDIATE")
        except BaseException:
            self._lock.release()
            raise
        self._depth, self._is_doomed = 1, False

    def _end(self, *, is_failed: bool) -> None:
        try:
            if self._depth > 1:
                self._is_doomed |= is_failed
            elif is_failed:
                self._undo()
            else:
                self._commit()
        finally:
            self._depth -= 1
            if not self._depth and self._rung:
                self._ring_now()
            self._lock.release()

    def _commit(self) -> None:
        try:
            if self._is_doomed:
                raise StoreError("a part of this unit failed, so none of it is written")
            point(Point.COMMIT_BEFORE)
            self._try("COMMIT")
            point(Point.COMMIT_AFTER)
        except BaseException:
            self._undo()
            raise

    def _undo(self) -> None:
        self._rung.clear()
        if self._connection.in_transaction:
            with suppress(apsw.Error):
                self._execute("ROLLBACK")

    def _try(self, sql: str, params: Sequence[Cell] | dict[str, Cell] = ()) -> list[Row]:
        """Carry out a statement; its rows. SQLite's errors become ours, and doom the unit they happen in."""
        if self._broken is not None:
            raise StoreBroken(self._broken)
        try:
            return cast("list[Row]", self._execute(sql, params).fetchall())
        except (apsw.Error, OSError) as error:
            self._fail(error)

    def _fail(self, error: Exception) -> NoReturn:
        self._is_doomed = True
        ours = self._ours(error)
        if ours is error:
            raise error
        raise ours from error

    def _ours(self, error: Exception) -> Exception:
        """Our error for one of SQLite's, with a sentence that says what to do."""
        match error:
            case apsw.FullError():
                return StoreFull(FULL.format(path=self._path))
            case apsw.IOError() if getattr(error, "extendedresult", None) in NO_ROOM:
                return StoreFull(FULL.format(path=self._path))
            case apsw.IOError():
                self._broken = (
                    f"the disk under {self._path} failed ({error}); stop, look at the disk, and start again: "
                    "what was acknowledged is on it"
                )
                return StoreBroken(self._broken)
            case apsw.BusyError():
                return StoreUnreachable(
                    f"{self._path} is held by another writer for too long; look for a process that hangs"
                )
            case apsw.CantOpenError() | apsw.ReadOnlyError() | apsw.PermissionsError() | OSError():
                return StoreUnreachable(
                    f"cannot open {self._path} for writing ({error}); check the path and its permissions"
                )
            case apsw.ConstraintError():
                return StoreError(f"{self._path} refused a row ({error}); nothing was written")
            case apsw.NotADBError() | apsw.CorruptError():
                return StoreMismatch(
                    f"{self._path} is not a sound SQLite database ({error}); name another file or restore a copy"
                )
        return error

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """SQLite's errors as ours, for more than one statement."""
        try:
            yield
        except (apsw.Error, OSError) as error:
            self._fail(error)

    # Statements

    def rows(self, sql: str, **params: object) -> list[Row]:
        """The rows of a query."""
        with self._lock:
            return self._try(sql, cast("dict[str, Cell]", params))

    def among(self, column: str, values: Sequence[str]) -> tuple[str, dict[str, object]]:
        """A condition that a column holds one of these texts, and its parameter."""
        return f"{column} IN (SELECT value FROM json_each(:among))", {
            "among": _encode(values).decode()
        }

    def run(self, sql: str, **params: object) -> int:
        """Carry out one statement; how many rows it changed."""
        with self._lock:
            self._try(sql, cast("dict[str, Cell]", params))
            return self._connection.changes()

    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        """Write new rows."""
        with self.transaction():
            self._try_all(_insert_sql(table.name, tuple(table.columns)), rows)

    def insert_new(self, table: Table, rows: Sequence[Row]) -> list[bool]:
        """Write the rows that break no unique rule."""
        sql = _insert_sql(table.name, tuple(table.columns)) + " ON CONFLICT DO NOTHING"
        return self._each(sql, rows)

    def update(
        self, table: Table, rows: Sequence[Row], *, expected: str, column: Sequence[Cell]
    ) -> list[bool]:
        """Overwrite rows by key where `expected` still holds the old value."""
        sql = _update_sql(table.name, tuple(table.columns), table.key, expected)
        width = len(table.key)
        keyed = [(*row[width:], *row[:width], old) for row, old in zip(rows, column, strict=True)]
        return self._each(sql, keyed)

    def delete(self, table: Table, keys: Sequence[Row], *, by: Sequence[str] = ()) -> list[bool]:
        """Delete rows by key; for each key, whether there was such a row."""
        return self._each(_delete_sql(table.name, tuple(by) or table.key), keys)

    def _each(self, sql: str, rows: Sequence[Row]) -> list[bool]:
        """Carry a statement out for each row; for each, whether it changed anything.

        Nearly always all of them do, and one pass through the library finds that out three times as fast as
        asking after each row. Where one does not, the pass is undone and they are asked one by one.
        """
        with self.transaction():
            if len(rows) < BATCH_MIN:
                return [self._changed(sql, row) for row in rows]
            before = self._connection.total_changes()
            self._try("SAVEPOINT pass")
            self._try_all(sql, rows)
            is_all = self._connection.total_changes() - before == len(rows)
            if not is_all:
                self._try("ROLLBACK TO pass")
            self._try("RELEASE pass")
            return [True] * len(rows) if is_all else [self._changed(sql, row) for row in rows]

    def _try_all(self, sql: str, rows: Sequence[Row]) -> None:
        if self._broken is not None:
            raise StoreBroken(self._broken)
        try:
            self._connection.executemany(sql, rows)
        except (apsw.Error, OSError) as error:
            self._fail(error)

    def _changed(self, sql: str, row: Row) -> bool:
        self._try(sql, row)
        return self._connection.changes() > 0

    # Bells

    def notify(self, topics: Iterable[str]) -> None:
        """Wake those who listen, once the present unit is durable."""
        with self._lock:
            self._rung.update(topics)
            if not self._depth:
                self._ring_now()

    def _ring_now(self) -> None:
        rung, self._rung = self._rung, set()
        if not rung:
            return
        if self._wake is None:
            for wakeup in self._wakeups:
                wakeup.strike(rung)
            return
        for topic in rung:
            ring_pipes(self._wake / topic)

    def wakeup(self, *topics: str) -> "PipeWakeup":
        """A wakeup that these topics ring."""
        unknown = set(topics) - set(TOPICS)
        if unknown:
            raise StoreError(f"no such topic: {', '.join(sorted(unknown))}")
        if not topics:
            raise StoreError("a wakeup needs a topic")
        with self._translated():
            wakeup = PipeWakeup(self._wake, topics, forget=self._wakeups.remove)
        self._wakeups.append(wakeup)
        return wakeup

    # Schema

    def _migrate(self) -> None:
        """Bring the schema up to date; safe to run twice, and by two processes at once."""
        steps = migrations("sqlite")
        if self._schema_version() == len(steps):
            return
        with self.transaction():
            done = self._schema_version()
            if done > len(steps):
                raise StoreMismatch(
                    f"{self._path} was made by a newer Stateward (schema {done}, this one knows "
                    f"{len(steps)}); upgrade Stateward"
                )
            for step in steps[done:]:
                self._execute(step.sql)
            self._execute(f"PRAGMA user_version = {len(steps)}")
            self._execute(f"PRAGMA application_id = {APPLICATION_ID}")

    def _schema_version(self) -> int:
        """How many migrations were made; all of it as of one moment, for another process may be making them."""
        if self._connection.in_transaction:
            return self._schema_version_now()
        self._execute("BEGIN")
        try:
            return self._schema_version_now()
        finally:
            self._execute("COMMIT")

    def _schema_version_now(self) -> int:
        ((ours,),) = self._execute("PRAGMA application_id").fetchall()
        ((tables,),) = self._execute("SELECT count(*) FROM sqlite_schema").fetchall()
        if ours != APPLICATION_ID and tables:
            raise StoreMismatch(f"{self._path} is a database of another program; name another file")
        ((version,),) = self._execute("PRAGMA user_version").fetchall()
        return cast("int", version)

    def check(self) -> dict[str, str]:
        """Version, durability and size, for `doctor`."""
        ((journal,),) = self.rows("PRAGMA journal_mode")
        ((synchronous,),) = self.rows("PRAGMA synchronous")
        ((pages, size),) = self.rows(
            "SELECT page_count, page_size FROM pragma_page_count, pragma_page_size"
        )
        return {
            "engine": f"SQLite {apsw.sqlite_lib_version()}",
            "where": self._path,
            "journal": str(journal),
            "synchronous": {0: "OFF", 1: "NORMAL", 2: "FULL"}.get(
                cast("int", synchronous), "EXTRA"
            ),
            "bytes": str(cast("int", pages) * cast("int", size)),
            "schema": str(self._schema_version()),
        }

    def close(self) -> None:
        """Let go of the file."""
        for wakeup in list(self._wakeups):
            wakeup.close()
        with suppress(
            apsw.IOError, apsw.FullError
        ):  # what is committed is in the WAL, if not in the file
            self._connection.close()


class SqliteTransaction:
    """One transaction, as long as the `with` lasts. A class, for this is entered at every step of everything."""

    __slots__ = ("_database",)

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    def __enter__(self) -> None:
        self._database._begin()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._database._end(is_failed=kind is not None)


class PipeWakeup:
    """A wakeup made of a named pipe per topic: each listener has its own, ringers write to them all."""

    def __init__(
        self, folder: Path | None, topics: Sequence[str], *, forget: Callable[["PipeWakeup"], None]
    ) -> None:
        self._topics = frozenset(topics)
        self._forget = forget
        self._reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._names: list[Path] = []
        if folder is not None:
            os.close(self._reader)
            os.close(self._writer)
            self._reader = self._writer = self._listen(folder)

    def _listen(self, folder: Path) -> int:
        # One pipe with a name in the folder of each topic: a ring of any of them arrives in one place.
        # It is opened before it gets a name there, or a ringer could take it for a dead listener's.
        folder.mkdir(parents=True, exist_ok=True)
        own = f"{os.getpid()}-{id(self):x}"
        hidden = folder / f".{own}"
        hidden.unlink(missing_ok=True)
        os.mkfifo(hidden, 0o600)
        reader = os.open(hidden, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        for topic in sorted(self._topics):
            (folder / topic).mkdir(exist_ok=True)
            name = folder / topic / own
            name.unlink(missing_ok=True)
            os.link(hidden, name)
            self._names.append(name)
        hidden.unlink()
        return reader

    def strike(self, topics: Iterable[str]) -> None:
        """Ring it from inside the process."""
        if not self._topics.isdisjoint(topics):
            with suppress(BlockingIOError):  # the pipe is full of rings already
                os.write(self._writer, RING_BYTE)

    def fileno(self) -> int:
        """The reading end."""
        return self._reader

    def clear(self) -> None:
        """Forget past rings."""
        with suppress(BlockingIOError):
            while len(os.read(self._reader, 65_536)) == 65_536:
                pass

    def wait(self, timeout_s: float) -> bool:
        """Sleep until it rings; False when the time was up first."""
        return bool(select.select([self._reader], [], [], max(timeout_s, 0.0))[0])

    def close(self) -> None:
        """Stop listening; the pipes go away."""
        for name in self._names:
            name.unlink(missing_ok=True)
        if self._reader >= 0:
            os.close(self._reader)
            if self._writer != self._reader:
                os.close(self._writer)
            self._reader = self._writer = -1
            self._forget(self)


def _enter_wal(connection: apsw.Connection, busy_s: float) -> None:
    """Switch to WAL. Of two that meet a new file at once SQLite lets one go on and does not let the other wait."""
    deadline = time.monotonic() + busy_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except apsw.BusyError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(WAL_PAUSE_S)
        else:
            return


def ring_pipes(folder: Path) -> None:
    """Write a byte to every pipe in the folder; pipes whose listener died are swept away."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 - twice as fast, and this is the hot path
    except FileNotFoundError:
        return
    for name in names:
        path = f"{folder}/{name}"
        try:
            pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno == errno.ENXIO:  # nobody reads it any more
                with suppress(OSError):
                    os.unlink(path)  # noqa: PTH108
            continue
        with suppress(BlockingIOError, BrokenPipeError):
            os.write(pipe, RING_BYTE)
        os.close(pipe)


@lru_cache
def _insert_sql(table: str, columns: tuple[str, ...]) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


@lru_cache
def _update_sql(table: str, columns: tuple[str, ...], key: tuple[str, ...], expected: str) -> str:
    changed = ", ".join(f"{column} = ?" for column in columns[len(key) :])
    same = " AND ".join(f"{column} = ?" for column in (*key, expected))
    return f"UPDATE {table} SET {changed} WHERE {same}"


@lru_cache
def _delete_sql(table: str, by: tuple[str, ...]) -> str:
    return f"DELETE FROM {table} WHERE {' AND '.join(f'{column} = ?' for column in by)}"
