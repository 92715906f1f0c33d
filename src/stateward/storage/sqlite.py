"""SQLite through apsw: a file in WAL mode with synchronous=FULL, or `:memory:`.

apsw comes with a current SQLite of its own; the one in the Python of many distributions can lose committed pages when
a checkpoint races a write. Several processes may use one file: writers take turns (BEGIN IMMEDIATE) and wake each
other through named pipes in a folder beside the file. After a failed write or fsync the connection is not used again:
what the disk holds is then unknown until the file is reopened.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn, cast

import apsw
import msgspec

from stateward.core.errors import (
    StoreBroken,
    StoreError,
    StoreFull,
    StoreMismatch,
    StoreOvertaken,
    StoreUnreachable,
)
from stateward.core.failpoints import Point, point
from stateward.core.lanes import extend
from stateward.storage.database import (
    TOPIC_WORK,
    UNREADABLE,
    Cell,
    Exchanged,
    Keys,
    Row,
    Table,
    TextIndex,
    exchange_in_two,
    topics_to_hear,
)
from stateward.storage.lanes import LANES_GONE
from stateward.storage.pipe_wakeups import PipeWakeup, TopicPipes
from stateward.storage.schema_check import changed_in_sqlite
from stateward.storage.sqlite_file import (
    BUSY_S,
    FULL,
    enter_wal,
    read_only_connection,
    refuse_special_files,
)
from stateward.storage.sqlite_schema import check_schema, migrate_schema, schema_version
from stateward.storage.transactions import DOOMED, Transactions
from stateward.storage.wal_reserve import WalReserve
from stateward.storage.write_queue import Patience, WriteQueue

MEMORY = ":memory:"
# 16 MB of WAL before a checkpoint (SQLite's default is 4): each checkpoint writes and syncs the main file.
WAL_PAGES = 4000
PAGE_CACHE_KIB = 65_536  # the indexes of live records stay in memory; SQLite's default of 2 MB does not hold them
STATEMENT_CACHE = 500  # a coordinator and a worker alone ask 230 distinct ones, and a full cache compiles them anew
DAMAGE_MAX = 100  # sentences of a check of the file; the first ones show what happened
BATCH_MIN = 4  # below this, counting changes row by row is as quick as a savepoint
# The shared-memory index of the WAL could not grow. It holds no data (it is rebuilt from the WAL), so unlike any
# other I/O error this one passes when there is space again.
NO_SPACE = frozenset({apsw.SQLITE_IOERR_SHMSIZE})

EXTEND_LANE = "UPDATE lanes SET count = count + ?, head = extended(head, ?) WHERE lane = ?"

_encode = msgspec.json.encode


class SqliteDatabase(Transactions):
    """One connection to one file. Threads that share it take turns, one transaction at a time."""

    has_round_trips = False
    is_gapless = True
    for_update = ""  # BEGIN IMMEDIATE admits one writer at a time, so nothing more has to be locked
    skip_locked = ""
    text_index: TextIndex = "fts5"

    def __init__(
        self,
        path: Path | str,
        *,
        is_durable: bool = True,
        busy_s: float = BUSY_S,
        is_read_only: bool = False,
    ) -> None:
        super().__init__()
        self._path = str(path)
        self._is_read_only = is_read_only
        self._notified: set[str] = set()
        self._broken: str | None = None
        self._wakeup_folder = None if self._path == MEMORY else Path(f"{self._path}-wake")
        self._erased_mark = None if self._path == MEMORY else Path(f"{self._path}-erased")
        self._queue = None if self._wakeup_folder is None else WriteQueue(self._wakeup_folder)
        self._wakeups: list[PipeWakeup] = []
        self._pipes = None if self._wakeup_folder is None else TopicPipes(self._wakeup_folder)
        self._reserve: WalReserve | None = None
        if self._wakeup_folder is not None:
            refuse_special_files(self._path)
        if is_read_only:
            self._open_read_only()
            return
        with self._translate_errors():
            if self._wakeup_folder is not None:
                Path(self._path).absolute().parent.mkdir(parents=True, exist_ok=True)
                # SQLite alone would make it readable for others. Its WAL gets the mode of the file.
                with suppress(OSError):  # it is there, or SQLite says what is wrong
                    os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            self._connection = apsw.Connection(self._path, statementcachesize=STATEMENT_CACHE)
            self._connection.set_busy_timeout(round(busy_s * 1000))
            enter_wal(self._connection, busy_s)
            self._connection.set_busy_handler(Patience(busy_s).wait)
            self._use_connection()
            # Otherwise SQLite compiles a statement anew whenever a parameter has another value, a limit for instance,
            # although no statistics are kept here that could make another plan of it.
            self._connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
            self._connection.create_scalar_function(
                "extended", _lane_end, 2, deterministic=True, flags=apsw.SQLITE_DIRECTONLY
            )
            # WAL with FULL syncs the WAL at every commit. NORMAL would not: a commit that was acknowledged could be
            # lost with the power, and with it a transition that the ledger or a webhook has already told of.
            self._execute(f"PRAGMA synchronous = {'FULL' if is_durable else 'OFF'}")
            self._execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
            self._execute(f"PRAGMA cache_size = -{PAGE_CACHE_KIB}")
            self._execute("PRAGMA temp_store = MEMORY")
            migrate_schema(self._connection, self._path, self.transaction)
            if is_durable and self._path != MEMORY:
                self._reserve = WalReserve(self._connection.filename_wal, pages_max=WAL_PAGES)

    def _open_read_only(self) -> None:
        """Open a file that nothing may be written to, nor beside: a copy, or one on a read-only medium."""
        with self._translate_errors():
            self._connection = read_only_connection(Path(self._path))
            self._use_connection()
            self._execute(f"PRAGMA cache_size = -{PAGE_CACHE_KIB}")
            try:
                check_schema(self._connection, self._path)
            except StoreMismatch:
                self.close()
                raise

    def _use_connection(self) -> None:
        # One cursor for all statements, under the lock: each is read to its end before the next one, and a cursor of
        # its own costs as much as a third of a small one.
        cursor: Any = self._connection.cursor()  # the schema says what types its rows have
        self._execute, self._execute_all = cursor.execute, cursor.executemany

    # Transactions

    def as_worker(self) -> AbstractContextManager[None]:
        """Nothing: a file has no roles."""
        return nullcontext()

    def _begin(self) -> None:
        if self._is_read_only:
            self._try("BEGIN")
        else:
            self._begin_writing()
        if self._reserve is not None:
            self._reserve.keep()

    def _begin_writing(self) -> None:
        """Take the write lock, after those who wait for it already.

        IMMEDIATE takes it now. A deferred transaction that reads first and then writes fails at the write if another
        process wrote in between, and no busy timeout helps.
        """
        is_first = self._queue is not None and self._queue.enter()
        try:
            self._try("BEGIN IMMEDIATE")
        finally:
            if is_first and self._queue is not None:
                self._queue.leave()

    def _commit(self) -> None:
        if self._is_doomed:
            raise StoreError(DOOMED)
        point(Point.COMMIT_BEFORE)
        self._try("COMMIT")
        point(Point.COMMIT_AFTER)

    def _clean_up(self) -> None:
        # Only after the commit: a process that is woken earlier would not see what it was woken for.
        if self._notified:
            self._notify_now()

    def _undo(self) -> None:
        self._notified.clear()
        if self._connection.in_transaction:
            with suppress(apsw.Error):
                self._execute("ROLLBACK")

    def _try(self, sql: str, params: Sequence[Cell] | Mapping[str, object] = ()) -> list[Row]:
        """Execute a statement; its rows. An error of SQLite becomes one of ours, and dooms the transaction."""
        if self._broken is not None:
            raise StoreBroken(self._broken)
        try:
            found: list[Row] = self._execute(sql, params).fetchall()
        except (apsw.Error, OSError, UnicodeDecodeError) as error:
            self._fail(error)
        return found

    def _fail(self, error: Exception) -> NoReturn:
        # A caller may catch the error and go on, but what the failed statement was to write is missing.
        self._is_doomed = True
        ours = self._translation(error)
        if ours is error:
            raise error
        raise ours from error

    def _translation(self, error: Exception) -> Exception:
        """Our error for one of SQLite, with a sentence that says what to do."""
        match error:
            case apsw.ConnectionClosedError() | apsw.CursorClosedError():
                return StoreError(f"{self._path} was closed; open it again")
            case apsw.FullError():
                return StoreFull(FULL.format(path=self._path))
            case apsw.IOError() if getattr(error, "extendedresult", None) in NO_SPACE:
                return StoreFull(FULL.format(path=self._path))
            case apsw.IOError():
                self._broken = (
                    f"the disk under {self._path} failed ({error}); stop, check the disk, and start again: "
                    "what was acknowledged is on it"
                )
                return StoreBroken(self._broken)
            case apsw.BusyError():
                return StoreUnreachable(
                    f"{self._path} is locked by another writer for too long; look for a process that hangs"
                )
            case apsw.CantOpenError() | apsw.ReadOnlyError() | apsw.PermissionsError() | OSError():
                if self._is_read_only:
                    return StoreUnreachable(
                        f"cannot read {self._path} ({error}); if a file {Path(self._path).name}-wal or -journal is "
                        "beside it, copy both into a folder that can be written to"
                    )
                return StoreUnreachable(
                    f"cannot open {self._path} for writing ({error}); check the path and its permissions"
                )
            case apsw.ConstraintError():
                return StoreError(f"{self._path} refused a row ({error}); nothing was written")
            case UnicodeDecodeError():  # SQLite takes any bytes for a text
                return StoreMismatch(UNREADABLE.format(what=f"a text in {self._path}", error=error))
            case apsw.NotADBError() | apsw.CorruptError():
                return StoreMismatch(
                    f"{self._path} is not an intact SQLite database ({error}); use another file or restore a backup"
                )
        return error

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except (apsw.Error, OSError) as error:
            self._fail(error)

    # Statements

    def rows(self, sql: str, **params: object) -> list[Row]:
        with self._lock:
            return self._try(sql, params)

    def ask(self, sql: str, **params: object) -> "SqliteAsked":
        """A query whose rows are read when they are needed: there is no round trip to save."""
        return SqliteAsked(self, sql, params)

    ask_ahead = ask

    def among(
        self, column: str, values: Sequence[str] | Sequence[int]
    ) -> tuple[str, dict[str, object]]:
        if len(values) == 1:  # which spares it the table that JSON becomes
            return f"{column} = :among", {"among": values[0]}
        return f"{column} IN (SELECT value FROM json_each(:among))", {
            "among": _encode(values).decode()
        }

    def run(self, sql: str, **params: object) -> int:
        with self._lock:
            self._try(sql, params)
            return self._connection.changes()

    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        sql = _insert_sql(table.name, tuple(table.columns))
        with self._lock:
            if self._depth:
                self._try_all(sql, rows)
                return
        with self._transaction:
            self._try_all(sql, rows)

    def insert_new(self, table: Table, rows: Sequence[Row]) -> list[bool]:
        sql = _insert_sql(table.name, tuple(table.columns)) + " ON CONFLICT DO NOTHING"
        return self._each(sql, rows)

    def update(
        self, table: Table, rows: Sequence[Row], *, expected: str, column: Sequence[Cell]
    ) -> list[bool]:
        sql = _update_sql(table.name, tuple(table.columns), table.key, expected)
        width = len(table.key)
        keyed = [(*row[width:], *row[:width], old) for row, old in zip(rows, column, strict=True)]
        return self._each(sql, keyed)

    def overwrite(
        self, table: Table, rows: Sequence[Row], *, expected: str, column: Sequence[Cell]
    ) -> None:
        if not all(self.update(table, rows, expected=expected, column=column)):
            raise StoreOvertaken(f"{self._path}: a row was changed by another writer; try again")

    def delete(self, table: Table, keys: Sequence[Row], *, by: Sequence[str] = ()) -> list[bool]:
        return self._each(_delete_sql(table.name, tuple(by) or table.key), keys)

    def discard(self, table: Table, keys: Sequence[Row], *, by: Sequence[str] = ()) -> None:
        """Delete rows by key: there is no round trip to save."""
        self.delete(table, keys, by=by)

    def exchange(
        self, old: Keys, table: Table, rows: Sequence[Row], *, is_expected: bool = False
    ) -> Exchanged:
        """Delete rows, and write others in the place of those that were there."""
        return exchange_in_two(self, old, table, rows, is_expected=is_expected)

    def require(self, condition: str, **params: object) -> None:
        """Go on if a condition holds: there is no round trip to save."""
        if not self.rows(f"SELECT {condition}", **params)[0][0]:
            raise StoreOvertaken(f"{self._path}: a row was changed by another writer; try again")

    def _each(self, sql: str, rows: Sequence[Row]) -> list[bool]:
        """Execute a statement for each row; for each, whether it changed anything.

        Nearly always every row does, and one `executemany` finds that out three times as fast as asking after each
        row. If one does not, the savepoint undoes that pass, and the rows are executed one by one.
        """
        with self._lock:
            if (
                self._depth and len(rows) < BATCH_MIN
            ):  # a statement that fails dooms the transaction
                return [self._has_changed(sql, row) for row in rows]
        with self._transaction:
            if len(rows) < BATCH_MIN:
                return [self._has_changed(sql, row) for row in rows]
            before = self._connection.total_changes()
            self._try("SAVEPOINT pass")
            self._try_all(sql, rows)
            is_all = self._connection.total_changes() - before == len(rows)
            if not is_all:
                self._try("ROLLBACK TO pass")
            self._try("RELEASE pass")
            return [True] * len(rows) if is_all else [self._has_changed(sql, row) for row in rows]

    def _try_all(self, sql: str, rows: Sequence[Row]) -> None:
        if self._broken is not None:
            raise StoreBroken(self._broken)
        try:
            self._execute_all(sql, rows)
        except (apsw.Error, OSError) as error:
            self._fail(error)

    def _has_changed(self, sql: str, row: Row) -> bool:
        self._try(sql, row)
        return self._connection.changes() > 0

    def append(
        self, table: Table, rows: Sequence[Row], hashes: Mapping[int, Sequence[str]]
    ) -> None:
        """Write rows of the history and extend its lanes, at once: there is one writer at a time."""
        self.insert(table, rows)
        point(Point.TRANSITIONS_APPENDED)
        # Computed inside the statement, so that the value before need not be asked for first.
        ends = [(len(own), " ".join(own), lane) for lane, own in hashes.items()]
        if not all(self._each(EXTEND_LANE, ends)):
            raise StoreMismatch(LANES_GONE)
        point(Point.LANES_ADVANCED)

    def push(self, *, is_first: bool = False) -> None:
        """Nothing: nothing is put off."""

    flush = push

    # Wake-ups

    def notify(self, topics: Iterable[str]) -> None:
        with self._lock:
            self._notified.update(map(_topic_of, topics))
            if not self._depth:
                self._notify_now()

    def _notify_now(self) -> None:
        topics, self._notified = self._notified, set()
        if self._pipes is not None:
            self._pipes.notify(topics)
            return
        for wakeup in self._wakeups:
            wakeup.notify(topics)

    def wakeup(self, *topics: str) -> "PipeWakeup":
        known = {_topic_of(each) for each in topics_to_hear(topics)}
        with self._translate_errors():
            wakeup = PipeWakeup(self._wakeup_folder, tuple(known), on_close=self._wakeups.remove)
        self._wakeups.append(wakeup)
        return wakeup

    # Administration

    def take_turns(self, names: Iterable[str]) -> None:
        """Nothing: of all that write to a file only one has a transaction open."""

    @contextmanager
    def erasing(self) -> Iterator[None]:
        """Deleted rows are overwritten."""
        with self._lock:
            if self._erased_mark is not None:
                self._erased_mark.touch(0o600)  # before: who is killed must not leave it unknown
            self._try("PRAGMA secure_delete = ON")
            try:
                yield
            finally:
                self._try("PRAGMA secure_delete = OFF")

    def compact(self) -> None:
        """Write the file anew; its unused pages hold earlier states of rows, and so does the log of writes."""
        with self._lock:
            # Words of a full-text index are marked as deleted first, and go when its parts are merged.
            self._try("INSERT INTO search_index (search_index) VALUES ('optimize')")
            self._try("VACUUM")
            self._try("PRAGMA wal_checkpoint(TRUNCATE)")
            if self._erased_mark is not None:
                self._erased_mark.unlink(missing_ok=True)

    @property
    def is_compact(self) -> bool:
        """Whether it was written anew since something was erased."""
        return self._erased_mark is None or not self._erased_mark.exists()

    def damage(self) -> list[str]:
        """What SQLite finds wrong with the file itself, and what of its schema is not ours.

        `quick_check` would not compare indexes with their tables, and lists are read from indexes alone.
        """
        check = f"PRAGMA integrity_check({DAMAGE_MAX})"
        found = [str(sentence) for (sentence,) in self.rows(check)]
        return ([] if found == ["ok"] else found) + changed_in_sqlite(self)

    def check(self) -> dict[str, str]:
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
            "schema": str(schema_version(self._connection, self._path)),
        }

    def close(self) -> None:
        for wakeup in list(self._wakeups):
            wakeup.close()
        if self._pipes is not None:
            self._pipes.close()
        if self._reserve is not None:
            self._reserve.close()
        if self._queue is not None:
            self._queue.close()
        # Closing checkpoints, which a full or failed disk refuses. What is committed is in the WAL even so.
        with suppress(apsw.IOError, apsw.FullError):
            self._connection.close()


class SqliteAsked:
    """A query that is executed when its rows are first read."""

    __slots__ = ("_database", "_params", "_rows", "_sql")

    def __init__(self, database: SqliteDatabase, sql: str, params: dict[str, object]) -> None:
        self._database = database
        self._sql = sql
        self._params = params
        self._rows: list[Row] | None = None

    def rows(self) -> list[Row]:
        """The rows, as they were when they were first read."""
        if self._rows is None:
            self._rows = self._database.rows(self._sql, **self._params)
        return self._rows


def _topic_of(topic: str) -> str:
    """The topic that listeners have a pipe for: a byte in a pipe costs too little to have one for each worker."""
    return TOPIC_WORK if topic.startswith(f"{TOPIC_WORK}_") else topic


def _lane_end(*values: object) -> str:
    head, hashes = values
    return extend(str(head), str(hashes).split(" "))


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
