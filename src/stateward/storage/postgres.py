"""PostgreSQL 13 or newer: one connection per `PostgresDatabase`, all tables in the schema `stateward`.

A bulk operation is one statement per batch: `insert` is a COPY, the others pass each column as an array and unnest
the arrays in a select list. CPU of client and server together on 2 arm64 cores, in µs per row of 25 columns, 256 rows
per batch, commit included: insert by COPY 17, by arrays 19, VALUES 21, JSON 28, executemany 57, psycopg's own lists
84; compare-and-set by arrays 37, VALUES 39, JSON 44, executemany 73, psycopg's own lists 105.

Text and NULL parameters get their type from the context, so `:x IS NULL` alone says too little: write
`CAST(:x AS text) IS NULL`. Whole numbers are bigint, sequences are arrays (`= ANY(:ids)`).

Plans must not depend on how fresh the statistics are: a queue is empty when they are taken and full when it matters.
Each hot statement has its index, and the session is configured to use it. This module never knows what a row means.
"""

import selectors
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from math import ceil
from threading import RLock
from typing import Any, NamedTuple, NoReturn, TypeAlias, TypeVar

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from stateward.core.errors import (
    StoreError,
    StoreFull,
    StoreMismatch,
    StoreUnreachable,
)
from stateward.core.failpoints import Point, point
from stateward.storage.amcheck import amcheck_schema, index_damage
from stateward.storage.database import (
    TOPICS,
    Cell,
    ColumnType,
    Exchanged,
    Keys,
    Row,
    Table,
    TextIndex,
    exchange_in_two,
)
from stateward.storage.lanes import LANES_GONE
from stateward.storage.libpq import (
    Param,
    Queued,
    Session,
    check_text,
    copy_lines,
    number_params,
    to_arrays,
    to_cell,
)
from stateward.storage.migrations import Migration, migrations

SCHEMA = "stateward"
RUNNER_ROLE = "stateward_runner"
VERSION_MIN = (
    130_000  # the oldest that was supported when this was written, and the oldest that is tested
)
TURN_LOCK = (
    0x54_75_72_6E  # "Turn": with a second number, so it is another lock than that of migrations
)
MIGRATION_LOCK = 0x53_74_57_64  # "StWd", as in the header of our SQLite files: an advisory lock has a number for a name
CONNECT_S = 10.0
CONNECT_TRIES_MAX = 5
CONNECT_PAUSE_S = 0.1  # doubled from try to try
LOCK_S = 30  # a commit takes milliseconds: a longer wait means that a process hangs
TRANSACTION_IDLE_S = (
    15.0  # a process that is stopped in a transaction must not hold its rows for ever
)
COPY_ROWS_MIN = 16  # up to here a prepared statement is cheaper: COPY takes two round trips, and is parsed each time
WAKEUP_PAUSE_S = 0.5  # between attempts to listen again, while the server is away

# Scans and joins are switched off, because an empty queue makes a sequential scan look cheap in the statistics, and
# the plan of a prepared statement outlives that moment. READ COMMITTED is enough: versions are compared, rows are
# locked.
SETUP = f"""
SET idle_in_transaction_session_timeout = {{transaction_idle_ms}};
SET search_path = {SCHEMA};
SET client_min_messages = warning;
SET default_transaction_isolation = 'read committed';
SET lock_timeout = '{LOCK_S}s';
SET enable_seqscan = off; SET enable_bitmapscan = off;
SET enable_hashjoin = off; SET enable_mergejoin = off;
SET jit = off
"""
NETWORK = {  # a server that disappeared is noticed within half a minute; unix sockets ignore these
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "25000",
}
DOOMED = "a part of this transaction failed, so none of it is written"
GRANT_ROLE = f"GRANT {RUNNER_ROLE} TO {{login}}"
CREATE_ROLE = f"CREATE ROLE {RUNNER_ROLE} NOLOGIN; {GRANT_ROLE}; SELECT {SCHEMA}.grant_to_runners()"
ADMINISTRATOR = "; an administrator must run: "

BEGIN = Queued("BEGIN")  # sent with the first statement of the transaction
COMMIT = Queued("COMMIT")

T = TypeVar("T")
Columns: TypeAlias = tuple[tuple[str, ColumnType], ...]


class PostgresDatabase:
    """One connection to one database. Threads that share it take turns, one transaction at a time.

    With a `role` it acts as that role after login and does not migrate the schema. `before_migration` is called with
    the number of the new schema before one that holds data is changed; what it raises leaves it as it is.
    `is_read_only` is for a replica, or a login that may only read. A lost connection is reopened at the next use, but
    never inside a transaction: what came before in it is lost with the connection.
    """

    for_update = " FOR UPDATE"
    skip_locked = " FOR UPDATE SKIP LOCKED"
    text_index: TextIndex = "tsvector"

    def __init__(
        self,
        url: str,
        *,
        role: str | None = None,
        connect_s: float = CONNECT_S,
        transaction_idle_s: float = TRANSACTION_IDLE_S,
        is_read_only: bool = False,
        before_migration: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._is_read_only = is_read_only
        self._parameters = _parameters(url, connect_s)
        self._transaction_idle_ms = max(1, round(transaction_idle_s * 1000))
        self._where = _location(self._parameters)
        self._role = role
        # Reentrant: a transaction holds it from begin to end, and the statements inside take it again.
        self._lock = RLock()
        self._depth = 0
        self._is_doomed = False
        self._is_closed = False
        self._notified: set[str] = set()
        self._appended: list[Appended] = []  # what waits for the commit
        self._wakeups: list[PostgresWakeup] = []
        self._session: Session | None = None
        self._session = self._connect()
        try:
            with self._translate_errors():
                is_allowed = role is None and not is_read_only
                _migrate(self._session, self._where, is_allowed=is_allowed, before=before_migration)
        except BaseException:
            self.close()
            raise

    # Connection

    def _connect(self) -> Session:
        with self._translate_errors():
            session = Session(make_conninfo("", **self._parameters))
            try:
                _check_server(session, self._where)
                session.command(SETUP.format(transaction_idle_ms=self._transaction_idle_ms))
                if self._role is not None:
                    _become(session, self._role)
                if self._is_read_only:
                    session.command("SET default_transaction_read_only = on")
            except BaseException:
                session.close()
                raise
            return session

    def _use(self) -> Session:
        """The connection, reopened if it was lost; inside a transaction only the one that it began with."""
        session = self._session
        if self._is_closed:
            raise StoreError(f"the connection to {self._where} was closed")
        if self._depth:
            if session is not None and session.is_lost and BEGIN in session.queued:
                return self._renew(session.queued)
            if session is None or session.is_lost:
                raise StoreUnreachable(
                    f"{self._where}: the connection was lost inside a transaction; nothing of it is written"
                )
            return session
        if session is None or not session.is_idle():
            self._drop()
            session = self._session = self._reconnect()
        return session

    def _renew(self, queued: Sequence[Queued]) -> Session:
        """A new connection, with what the old one had not sent."""
        self._drop()
        self._session = session = self._reconnect()
        session.later(*queued)
        return session

    def _reconnect(self) -> Session:
        # A server that restarts refuses connections for a moment; the callers wait here and not in code of their own.
        for number in range(CONNECT_TRIES_MAX - 1):
            with suppress(StoreUnreachable):
                return self._connect()
            time.sleep(CONNECT_PAUSE_S * 2**number)
        return self._connect()

    def _drop(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()

    @contextmanager
    def _translate_errors(self, *, unreachable: str = "") -> Iterator[None]:
        """Errors of PostgreSQL as ours, each with a sentence that says what to do."""
        try:
            yield
        except psycopg.Error as error:
            self._fail(error, unreachable=unreachable)

    def _fail(self, error: psycopg.Error, *, unreachable: str = "") -> NoReturn:
        is_lost = self._session is not None and self._session.is_lost
        ours = _translation(error, self._where, is_lost=is_lost, unreachable=unreachable)
        if ours is None:
            raise error
        raise ours from error

    # Transactions

    def transaction(self) -> "PostgresTransaction":
        """One transaction. A nested one joins it, and dooms it when it fails."""
        return PostgresTransaction(self)

    def _enter(self) -> None:
        self._lock.acquire()
        try:
            if not self._depth:
                self._begin()
                self._is_doomed = False
        except BaseException:
            self._lock.release()
            raise
        self._depth += 1

    def _leave(self, *, is_failed: bool) -> None:
        try:
            if self._depth > 1:
                self._is_doomed |= is_failed  # a caller that catches it must not commit half of it
            elif is_failed:
                self._undo()
            else:
                self._commit_or_undo()
        finally:
            self._depth -= 1
            if not self._depth:
                self._notified.clear()
                self._appended.clear()
            self._lock.release()

    def _commit_or_undo(self) -> None:
        try:
            self._commit()
        except BaseException:
            self._undo()
            raise

    @contextmanager
    def as_worker(self) -> Iterator[None]:
        """Inside a transaction: statements with the rights of the runners' role, until the `with` ends."""
        self._use().later(Queued(f"SET LOCAL ROLE {RUNNER_ROLE}"))
        yield
        # Not after a failure: the transaction is rolled back, and the role with it.
        role = "NONE" if self._role is None else self._role
        self._use().later(Queued(f"SET LOCAL ROLE {role}"))

    def _begin(self) -> None:
        with self._translate_errors():
            self._use().later(BEGIN)

    def _commit(self) -> None:
        session = self._use()
        is_begun = BEGIN not in session.queued
        if self._is_doomed or (is_begun and session.has_failed):
            raise StoreError(DOOMED)
        point(Point.COMMIT_BEFORE)
        # NOTIFY belongs to the transaction: the server delivers it after the commit, and only then.
        topics = frozenset(self._notified)
        told = _notifying(topics)
        if session.queued == (BEGIN,) and not self._appended:  # there was no statement
            session.forget()
            if told:
                self._run(lambda own: own.now(*told))
        elif session.queued or self._appended or told:
            if self._appended:  # the last of these statements notifies as well
                *others, last = self._appended
                told = (*(each.queued() for each in others), last.queued(topics))
            commands = [*told, COMMIT]
            self._run_once(lambda own: own.now(*commands), unreachable=LOST_IN_COMMIT)
        else:
            self._run_once(lambda own: own.command(COMMIT.sql), unreachable=LOST_IN_COMMIT)
        point(Point.COMMIT_AFTER)

    def _run_once(self, act: Callable[[Session], T], *, unreachable: str = "") -> T:
        """Do something with the connection that must not be done twice, such as a commit."""
        with self._lock, self._translate_errors(unreachable=unreachable):
            return act(self._use())

    def _run(self, act: Callable[[Session], T]) -> T:
        """Do something with the connection.

        A connection may be lost after it was looked at and before the first statement of a transaction. Then nothing
        was begun, so all of it is sent again over a new one.
        """
        with self._lock:
            try:
                return self._act(act)
            except psycopg.Error as error:
                self._fail(error)

    def _act(self, act: Callable[[Session], T]) -> T:
        session = self._use()
        queued = session.queued
        try:
            return act(session)
        except psycopg.Error:
            if BEGIN not in queued or not session.is_lost:
                raise
        return act(self._renew(queued))

    def _undo(self) -> None:
        if self._session is None or not self._session.undo():
            self._drop()

    # Statements

    def rows(self, sql: str, **params: object) -> list[Row]:
        """The rows of a query."""
        numbered = number_params(sql, params)
        return self._run(lambda session: session.load(session.statement(*numbered)))

    def ask(self, sql: str, **params: object) -> "PostgresAsked":
        """A query that travels with the next statement of the transaction."""
        asked = PostgresAsked(lambda: self._run(lambda session: session.flush()))
        if not self._depth:  # nothing that it could travel with
            asked.take(self.rows(sql, **params))
            return asked
        queued = Queued(*number_params(sql, params), take=asked.take)
        self._run(lambda session: session.later(queued))
        return asked

    def among(self, column: str, values: Sequence[str]) -> tuple[str, dict[str, object]]:
        """A condition that a column holds one of these texts, and its parameter."""
        if len(values) == 1:  # planned once, which a list is not
            return f"{column} = :among", {"among": values[0]}
        return f"{column} = ANY(:among)", {"among": list(values)}

    def run(self, sql: str, **params: object) -> int:
        """Execute one statement; how many rows it changed."""
        numbered = number_params(sql, params)
        return self._run(lambda session: session.statement(*numbered)).command_tuples or 0

    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        """Write new rows; a key that exists already is an error, of this or of a later call in the transaction."""
        if rows:
            if len(rows) <= COPY_ROWS_MIN and not table.is_copied:
                columns = tuple(table.columns.items())
                sql = _insert_sql(table.name, columns, min(len(rows), 2))
                self._write(Queued(sql, _params(columns, rows)))
                return
            sql = f"COPY {table.name} ({_names(table.columns)}) FROM STDIN"
            data = copy_lines(table.columns.values(), rows)
            self._run(lambda session: session.copy(sql, data))

    def _write(self, queued: Queued) -> None:
        """Execute a statement whose result is not waited for inside a transaction."""
        is_alone = not self._depth
        self._run(lambda session: session.now(queued) if is_alone else session.later(queued))

    def insert_new(self, table: Table, rows: Sequence[Row]) -> list[bool]:
        """Write the rows that violate no unique constraint; for each, whether it was written."""
        columns = tuple(table.columns.items())
        width = len(table.key)

        def sql(rows: Sequence[Row]) -> str:
            return _insert_new_sql(table.name, columns, table.key, min(len(rows), 2))

        if (
            not width or tuple(table.columns)[:width] != table.key
        ):  # without a key nothing tells them apart
            return [bool(self._bulk(sql([row]), columns, [row])) for row in rows]
        return [
            is_written
            for part in _without_repeats(rows, width)
            for is_written in _were_found(part, width, self._bulk(sql(part), columns, part))
        ]

    def update(
        self, table: Table, rows: Sequence[Row], *, expected: str, column: Sequence[Cell]
    ) -> list[bool]:
        """Overwrite rows by key where `expected` still holds the old value; keys are distinct."""
        columns = (*table.columns.items(), ("was", table.columns[expected]))
        sql = _update_sql(table.name, columns, table.key, expected, min(len(rows), 2))
        with_old: list[Any] = [(*row, old) for row, old in zip(rows, column, strict=True)]
        # In the order of keys: two writers of the same rows wait for each other, but never in a circle.
        return _were_found(rows, len(table.key), self._bulk(sql, columns, sorted(with_old)))

    def overwrite(
        self, table: Table, rows: Sequence[Row], *, expected: str, column: Sequence[Cell]
    ) -> None:
        """As `update`, without waiting for the result: the server refuses what follows a row with another value."""
        columns = (*table.columns.items(), ("was", table.columns[expected]))
        sql = _overwrite_sql(table.name, columns, table.key, expected, min(len(rows), 2))
        with_old: list[Any] = [(*row, old) for row, old in zip(rows, column, strict=True)]
        params = [*_params(columns, sorted(with_old)), to_cell(len(rows))]
        self._write(Queued(sql, params))

    def delete(self, table: Table, keys: Sequence[Row], *, by: Sequence[str] = ()) -> list[bool]:
        """Delete rows by key (or by the columns `by`); for each key, whether there was a row."""
        # A key that is not among the columns we write is a number that the database assigns itself.
        names = tuple(by) or table.key
        columns: Columns = tuple((name, table.columns.get(name, "bigint")) for name in names)
        sql = _delete_sql(table.name, columns, min(len(keys), 2))
        deleted = self._bulk(sql, columns, keys)
        return _were_found(keys, len(names), deleted)

    def exchange(self, old: Keys, table: Table, rows: Sequence[Row]) -> Exchanged:
        """Delete rows, and write others in the place of those that were there."""
        keys = [tuple(row[: len(table.key)]) for row in rows]
        # Joins are nested loops here: of many rows, two statements are cheaper than one. And what is returned tells
        # rows apart by their keys alone.
        if not 0 < len(set(keys)) == len(keys) <= COPY_ROWS_MIN:
            return exchange_in_two(self, old, table, rows)
        gone: Columns = tuple((name, old.table.columns[name]) for name in old.by)
        new: Columns = tuple(table.columns.items())
        sql = _exchange_sql(old.table.name, gone, table.name, new, table.key, min(len(rows), 2))
        params = [*_params(gone, old.keys), *_params(new, rows)]
        found = self._run(lambda session: session.load(session.statement(sql, params)))
        were_there = {tuple(row[:-1]): bool(row[-1]) for row in found}
        return Exchanged(
            [key in were_there for key in keys], [were_there.get(key, False) for key in keys]
        )

    def _bulk(self, sql: str, columns: Columns, rows: Sequence[Row]) -> set[Row]:
        """Execute a statement that takes one array per column; the keys that it returns."""
        if not rows:
            return set()
        params = _params(columns, rows)
        return self._run(lambda session: set(session.load(session.statement(sql, params))))

    def append(
        self, table: Table, rows: Sequence[Row], hashes: Mapping[int, Sequence[str]]
    ) -> None:
        """Write rows of the history and extend its lanes, in the message that commits.

        The lanes are locked from then on, so that others wait for this transaction for no round trip.
        """
        numbers = sorted(hashes)
        lanes: list[Row] = [(number, len(hashes[number])) for number in numbers]
        own: list[Row] = [(each,) for number in numbers for each in hashes[number]]
        arrays = [*to_arrays(["bigint", "bigint"], lanes), *to_arrays(["text"], own)]
        columns = tuple(table.columns.items())
        params = [*_params(columns, rows), *arrays]
        self._appended.append(Appended(table.name, columns, min(len(rows), 2), params))
        point(Point.TRANSITIONS_APPENDED)
        point(Point.LANES_ADVANCED)

    def flush(self) -> None:
        """Do what was put off until the commit."""
        if self._appended:
            appended, self._appended = self._appended, []
            self._run(lambda session: session.now(*(each.queued() for each in appended)))

    # Wake-ups

    def notify(self, topics: Iterable[str]) -> None:
        """Wake the listeners once the current transaction is durable."""
        known = _known_extensions(topics)
        with self._lock:
            if self._depth:
                self._notified |= known
            elif known:
                self._run(lambda session: session.now(*_notifying(known)))

    def wakeup(self, *topics: str) -> "PostgresWakeup":
        """A wake-up for these topics, with a connection of its own."""
        known = _known_extensions(topics)
        if not known:
            raise StoreError("a wake-up needs a topic")
        with self._translate_errors():
            wakeup = PostgresWakeup(self._connect, known, on_close=self._wakeups.remove)
        self._wakeups.append(wakeup)
        return wakeup

    # Administration

    def take_turns(self, names: Iterable[str]) -> None:
        """By advisory locks, which end with the transaction; in one order, so that no two wait for each other."""
        for name in sorted(set(names)):
            self.rows(
                f"SELECT pg_advisory_xact_lock({TURN_LOCK}, hashtext(:name))::text", name=name
            )

    @contextmanager
    def erasing(self) -> Iterator[None]:
        """Nothing can be overwritten here: see `compact`."""
        yield

    def compact(self) -> None:
        """Free what was deleted, as the server does by itself sooner or later."""
        found = self.rows(
            "SELECT tablename::text FROM pg_tables WHERE schemaname = :schema", schema=SCHEMA
        )
        tables = ", ".join(f'"{name!s}"' for (name,) in found)
        self._run(lambda session: session.command(f"VACUUM {tables}"))

    def damage(self) -> list[str]:
        """What `amcheck` finds wrong with tables and indexes; nothing where it is not installed or not allowed."""
        schema = amcheck_schema(self)
        return [] if schema is None else index_damage(self, schema)

    def check(self) -> dict[str, str]:
        """Version, durability and size, for `stateward doctor`."""
        ((version, fsync, commit, size),) = self.rows(
            "SELECT current_setting('server_version'), current_setting('fsync'), "
            "current_setting('synchronous_commit'), pg_database_size(current_database())"
        )
        ((schema,),) = self.rows("SELECT count(*) FROM schema_migrations")
        return {
            "engine": "PostgreSQL " + str(version),
            "where": self._where,
            "fsync": str(fsync),
            "synchronous_commit": str(commit),
            "bytes": str(size),
            "schema": str(schema),
            "runner_role": self._runner_role(),
        }

    def _runner_role(self) -> str:
        """The role of workers, or what an administrator has to do to grant it to this login."""
        ((is_runner, login),) = self.rows("SELECT is_runner(), quote_ident(current_user)")
        if is_runner is None:
            return "missing" + ADMINISTRATOR + CREATE_ROLE.format(login=login)
        if not is_runner:
            return "not granted to this login" + ADMINISTRATOR + GRANT_ROLE.format(login=login)
        return RUNNER_ROLE

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            for wakeup in list(self._wakeups):
                wakeup.close()
            self._is_closed = True
            self._drop()


class PostgresTransaction:
    """One transaction, as long as the `with` lasts.

    A class and not a generator with @contextmanager, which costs more: this is entered for every write.
    """

    __slots__ = ("_database",)

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def __enter__(self) -> None:
        self._database._enter()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._database._leave(is_failed=kind is not None)


class PostgresAsked:
    """A query that was queued; `flush` sends it if nothing else has."""

    __slots__ = ("_flush", "_rows")

    def __init__(self, flush: Callable[[], None]) -> None:
        self._flush = flush
        self._rows: list[Row] | None = None

    def take(self, rows: list[Row]) -> None:
        """The rows have come."""
        self._rows = rows

    def rows(self) -> list[Row]:
        """The rows; they are waited for if the query has not been sent yet."""
        if self._rows is None:
            self._flush()
        if self._rows is None:  # its transaction has ended
            raise StoreError(DOOMED)
        return self._rows


class PostgresWakeup:
    """LISTEN on a connection of its own. Losing it counts as a notification, because one may have been missed."""

    def __init__(
        self,
        connect: Callable[[], Session],
        topics: frozenset[str],
        *,
        on_close: Callable[["PostgresWakeup"], None],
    ) -> None:
        self._connect = connect
        self._topics = topics
        self._sql = ";".join(f"LISTEN {SCHEMA}_{topic}" for topic in sorted(topics))
        self._on_close = on_close
        self._session: Session | None = None
        self._is_closed = False
        # An epoll selector around the connection, because its descriptor stays the same when the connection is
        # replaced: the selector of a caller keeps working after the server was restarted.
        self._selector = selectors.DefaultSelector()
        try:
            self._listen()
        except BaseException:
            self._selector.close()
            raise

    def _listen(self) -> None:
        session = self._connect()
        try:
            session.command(self._sql)
            self._selector.register(session.socket, selectors.EVENT_READ)
        except BaseException:
            session.close()
            raise
        self._session = session

    def fileno(self) -> int:
        """A descriptor that becomes readable on a notification."""
        return self._selector.fileno()

    def clear(self) -> frozenset[str]:
        """Forget past notifications; listen again if the connection was lost. The topics there may have been any of."""
        if self._session is not None:
            channels = self._session.drain_notifications()
            if channels is not None:
                return frozenset(each.removeprefix(f"{SCHEMA}_") for each in channels)
            self._lose()
        self._try_to_listen()
        return self._topics  # some may have been missed

    def wait(self, timeout_s: float) -> bool:
        """Sleep until a notification; False when the time was up first."""
        deadline = time.monotonic() + timeout_s
        while self._session is None:
            if self._try_to_listen():
                return True
            left = deadline - time.monotonic()
            time.sleep(max(0.0, min(left, WAKEUP_PAUSE_S)))
            if left <= WAKEUP_PAUSE_S:
                return False
        return bool(self._selector.select(max(0.0, deadline - time.monotonic())))

    def _try_to_listen(self) -> bool:
        with suppress(StoreUnreachable, psycopg.Error):
            self._listen()
        return self._session is not None

    def _lose(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            for key in list(self._selector.get_map().values()):
                self._selector.unregister(key.fileobj)
            session.close()

    def close(self) -> None:
        """Stop listening."""
        if not self._is_closed:
            self._is_closed = True
            self._lose()
            self._selector.close()
            self._on_close(self)


# Server and schema


def migrate(url: str) -> None:
    """Bring the schema up to date; safe to run twice, and by two processes at once."""
    PostgresDatabase(url).close()


def _check_server(session: Session, where: str) -> None:
    if session.version < VERSION_MIN:
        raise StoreMismatch(
            f"{where} is served by PostgreSQL {session.version // 10_000}, which is too old; "
            f"Stateward needs {VERSION_MIN // 10_000} or newer"
        )
    if session.encoding != "UTF8":
        raise StoreMismatch(
            f"{where} keeps text as {session.encoding}, not every name fits that; make another with "
            "CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
        )


def _become(session: Session, role: str) -> None:
    name = check_text(role).replace('"', '""')
    try:
        session.command(f'SET ROLE "{name}"')
    except (errors.InvalidParameterValue, errors.InsufficientPrivilege) as error:
        raise StoreError(
            f"this login cannot act as the role {role!r} ({' '.join(str(error).split())}); "
            "`stateward doctor` with the owner's login says what an administrator has to do"
        ) from error


def _migrate(
    session: Session, where: str, *, is_allowed: bool, before: Callable[[int], None]
) -> None:
    missing = _missing(session, where)
    if not missing:
        return
    if not is_allowed:
        raise StoreMismatch(
            f"the schema of {where} is older than this Stateward; start the coordinator first: "
            "it migrates the schema with its own login"
        )
    if missing[0].number > 1:
        before(missing[-1].number)
    # PostgreSQL runs DDL in transactions, so a migration that fails leaves nothing; the lock lets one process do it.
    session.command(f"BEGIN; SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")
    try:
        _create_schema(session, where)
        for step in _missing(session, where):  # again: another process may have been faster
            session.command(step.sql)
            session.command(
                f"INSERT INTO {SCHEMA}.schema_migrations VALUES ({step.number}, '{step.name}', "
                f"'{step.digest}', (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"
            )
        session.command("COMMIT")
    except BaseException:
        session.undo()
        raise


def _missing(session: Session, where: str) -> Sequence[Migration]:
    """The migrations that the database still lacks; refuses a database that was made by other ones."""
    steps = migrations("postgres")
    done: list[Row] = []
    if session.query(f"SELECT 1 WHERE to_regclass('{SCHEMA}.schema_migrations') IS NOT NULL"):
        done = session.query(
            f"SELECT number, name, digest FROM {SCHEMA}.schema_migrations ORDER BY number"
        )
    if len(done) > len(steps):
        raise StoreMismatch(
            f"{where} was made by a newer Stateward (schema {len(done)}, this one has "
            f"{len(steps)}); upgrade Stateward"
        )
    for step, row in zip(steps, done, strict=False):
        if row != (step.number, step.name, step.digest):
            raise StoreMismatch(
                f"migration {step.number} ({step.name}) is not the one that made {where}; a "
                "migration that ran is never edited: restore the file, and write a new one"
            )
    return steps[len(done) :]


def _create_schema(session: Session, where: str) -> None:
    """Create the schema and the table of migrations, unless they exist."""
    names = session.query(
        "SELECT c.relname::text FROM pg_namespace n "
        f"LEFT JOIN pg_class c ON c.relnamespace = n.oid WHERE n.nspname = '{SCHEMA}'"
    )
    if ("schema_migrations",) in names:
        return
    if not names:
        session.command(f"CREATE SCHEMA {SCHEMA}")
    elif names != [(None,)]:
        raise StoreMismatch(
            f"the schema {SCHEMA!r} in {where} holds tables of another program; "
            "use another database"
        )
    session.command(
        f"CREATE TABLE {SCHEMA}.schema_migrations (number bigint PRIMARY KEY, name text NOT NULL, "
        "digest text NOT NULL, at bigint NOT NULL)"
    )


# Errors

UNREACHABLE = (
    "cannot reach {where} ({words}); check that the server runs, that host, port and database are "
    "right, and that this user may connect"
)
LOST_IN_COMMIT = (
    "{where}: the connection was lost during a commit ({words}); all of it is written or none: "
    "check before you repeat it"
)
SENTENCES: tuple[tuple[tuple[type[psycopg.Error], ...], type[StoreError], str], ...] = (
    (
        (errors.DiskFull, errors.IoError),
        StoreFull,
        "the disk under {where} is full or failing ({words}); nothing was half-written: free some "
        "space and try again",
    ),
    (
        # The division is that of `_overwrite_sql`.
        (errors.DeadlockDetected, errors.SerializationFailure, errors.DivisionByZero),
        StoreUnreachable,
        "{where} rolled this back to resolve a conflict with another writer ({words}); try again",
    ),
    (
        (errors.LockNotAvailable, errors.QueryCanceled),
        StoreUnreachable,
        "{where} is locked by another writer for too long ({words}); look for a process that hangs",
    ),
    (
        (errors.IdleInTransactionSessionTimeout,),
        StoreUnreachable,
        "{where} rolled back a transaction that was idle for too long ({words}); try again",
    ),
    (
        (errors.ReadOnlySqlTransaction,),
        StoreUnreachable,
        "{where} accepts no writes ({words}); if it is a standby, use the primary, or add "
        "target_session_attrs=read-write to the address",
    ),
    ((errors.InFailedSqlTransaction,), StoreError, DOOMED),
    ((errors.DataCorrupted,), StoreMismatch, f"{{where}}: {LANES_GONE} ({{words}})"),
    (
        (psycopg.IntegrityError,),
        StoreError,
        "{where} refused a row ({words}); nothing was written",
    ),
    (
        (errors.InsufficientPrivilege,),
        StoreError,
        "this login may not do that in {where} ({words}); use the owner's login, or grant the right",
    ),
)


def _translation(
    error: psycopg.Error, where: str, *, is_lost: bool, unreachable: str
) -> StoreError | None:
    """Our error for one of PostgreSQL; None for a mistake in the statement, which must not be disguised."""
    words = " ".join(str(error).split())
    for kinds, ours, sentence in SENTENCES:
        if isinstance(error, kinds):
            return ours(sentence.format(where=where, words=words))
    if is_lost or isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return StoreUnreachable((unreachable or UNREACHABLE).format(where=where, words=words))
    return None


def _parameters(url: str, connect_s: float) -> dict[str, str]:
    try:
        given = conninfo_to_dict(url)
    except psycopg.Error:  # its message may quote the password
        raise StoreUnreachable(
            "the address of the database cannot be parsed; "
            "write postgresql://user:password@host:5432/database"
        ) from None
    return {
        **NETWORK,
        "fallback_application_name": SCHEMA,
        "connect_timeout": str(ceil(connect_s)),
        **{name: str(value) for name, value in given.items()},
        "client_encoding": "UTF8",
    }


def _location(parameters: dict[str, str]) -> str:
    """The database for messages, without its password."""
    host = parameters.get("host") or parameters.get("hostaddr") or "the default host"
    name = parameters.get("dbname") or "the default one"
    return f"PostgreSQL database {name} at {host}, port {parameters.get('port') or '5432'}"


# The SQL of bulk operations


class Appended(NamedTuple):
    """Rows of the history, which are written in the message that commits."""

    table: str
    columns: Columns
    size: int  # 1, or 2 for several rows: they are given as arrays
    params: list[Param]

    def queued(self, topics: frozenset[str] = frozenset()) -> Queued:
        """The statement that writes them, and notifies the listeners of these topics."""
        return Queued(_append_sql(self.table, self.columns, self.size, topics), self.params)


@lru_cache
def _append_sql(table: str, columns: Columns, count: int, topics: frozenset[str]) -> str:
    """Extend the lanes, and then insert: the rows are numbered while their lanes are locked.

    The subquery is executed first and once, because its functions are volatile, and what is inserted is computed from
    its one row.
    """
    numbers, counts, hashes = (f"${len(columns) + n}" for n in (1, 2, 3))
    calls = [f"extend_lanes({numbers}::bigint[], {counts}::bigint[], {hashes}::text[])"]
    calls += _notify_calls(topics)
    return f"{_insert_sql(table, columns, count)} FROM (SELECT {', '.join(calls)} OFFSET 0) AS extended"


@lru_cache
def _insert_sql(table: str, columns: Columns, count: int) -> str:
    return f"INSERT INTO {table} ({_names(name for name, _ in columns)}) SELECT {_cells(columns, count)}"


@lru_cache
def _insert_new_sql(table: str, columns: Columns, key: tuple[str, ...], count: int) -> str:
    names = _names(name for name, _ in columns)
    return (
        f"INSERT INTO {table} ({names}) SELECT {_cells(columns, count)} "
        f"ON CONFLICT DO NOTHING RETURNING {_names(key) or '1'}"
    )


@lru_cache
def _update_sql(
    table: str, columns: Columns, key: tuple[str, ...], expected: str, count: int
) -> str:
    numbered = list(enumerate(columns))
    changed = ", ".join(f'"{name}" = v.c{n}' for n, (name, _) in numbered[len(key) : -1])
    return (
        f"UPDATE {table} AS t SET {changed} FROM (SELECT {_cells(columns, count)}) AS v "
        f'WHERE {_same(key)} AND t."{expected}" = v.c{len(columns) - 1} '
        f"RETURNING {_names(key, of='t.')}"
    )


@lru_cache
def _overwrite_sql(
    table: str, columns: Columns, key: tuple[str, ...], expected: str, count: int
) -> str:
    """`_update_sql`, and a division by zero unless as many rows as the last parameter says were changed."""
    updating = _update_sql(table, columns, key, expected, count)
    place = len(columns) + 1
    return f"WITH moved AS ({updating}) SELECT 1 / (count(*) = ${place}::bigint)::int FROM moved"


@lru_cache
def _delete_sql(table: str, columns: Columns, count: int) -> str:
    names = [name for name, _ in columns]
    return (
        f"DELETE FROM {table} AS t USING (SELECT {_cells(columns, count)}) AS v "
        f"WHERE {_same(names)} RETURNING {_names(names, of='t.')}"
    )


@lru_cache
def _exchange_sql(
    old: str, gone: Columns, new: str, columns: Columns, key: tuple[str, ...], count: int
) -> str:
    """What is inserted is joined with what the deletion returns, which therefore comes first and locks its rows."""
    names = [name for name, _ in gone]
    same = " AND ".join(f'gone."{name}" = w.c{len(gone) + n}' for n, name in enumerate(key))
    cells = ", ".join(f"w.c{len(gone) + n}" for n, _ in enumerate(columns))
    return (
        f"WITH gone AS (DELETE FROM {old} AS t USING (SELECT {_cells(gone, count)}) AS v "
        f"WHERE {_same(names)} RETURNING {_names(key, of='t.')}), "
        f"made AS (INSERT INTO {new} ({_names(name for name, _ in columns)}) SELECT {cells} "
        f"FROM gone JOIN (SELECT {_cells(columns, count, start=len(gone))}) AS w ON {same} "
        f"ON CONFLICT DO NOTHING RETURNING {_names(key)}) "
        f'SELECT {_names(key, of="gone.")}, made."{key[0]}" IS NOT NULL '
        f"FROM gone LEFT JOIN made USING ({_names(key)})"
    )


def _cells(columns: Columns, count: int, *, start: int = 0) -> str:
    """The rows that are given, as a select list: an array for each column, or for a single row its cells.

    In a select list the arrays are read in step; FROM unnest(a, b) would materialise them first. A statement with
    arrays is planned anew each time, because the plan for the arrays at hand always looks cheaper than the one for any:
    for a single row that costs more than to execute it.
    """
    numbered = [(n, type_) for n, (_, type_) in enumerate(columns, start)]
    if count == 1:
        return ", ".join(f"${n + 1}::{type_} AS c{n}" for n, type_ in numbered)
    return ", ".join(f"unnest(${n + 1}::{type_}[]) AS c{n}" for n, type_ in numbered)


def _params(columns: Columns, rows: Sequence[Row]) -> list[Param]:
    """The parameters for `_cells`."""
    if len(rows) == 1:
        return [to_cell(cell) for cell, _ in zip(rows[0], columns, strict=True)]
    return to_arrays([type_ for _, type_ in columns], rows)


def _same(key: Sequence[str]) -> str:
    return " AND ".join(f't."{name}" = v.c{n}' for n, name in enumerate(key))


def _names(names: Iterable[str], *, of: str = "") -> str:
    return ", ".join(f'{of}"{name}"' for name in names)


@lru_cache
def _notifying(topics: frozenset[str]) -> tuple[Queued, ...]:
    """One statement for all topics, prepared as others are; none if there are none."""
    calls = _notify_calls(topics)
    return (Queued(f"SELECT {', '.join(calls)}", ()),) if calls else ()


def _notify_calls(topics: frozenset[str]) -> list[str]:
    return [f"pg_notify('{SCHEMA}_{topic}', '')" for topic in sorted(topics)]


def _known_extensions(topics: Iterable[str]) -> frozenset[str]:
    given = frozenset(topics)
    unknown = given.difference(TOPICS)
    if unknown:
        raise StoreError(f"no such topic: {', '.join(sorted(unknown))}")
    return given


def _without_repeats(rows: Sequence[Row], width: int) -> Iterator[Sequence[Row]]:
    """The rows, cut where a key repeats, so that a key that is returned means one row."""
    part: dict[Row, Row] = {}
    for row in rows:
        if row[:width] in part:
            yield list(part.values())
            part = {}
        part[row[:width]] = row
    yield list(part.values())


def _were_found(rows: Sequence[Row], width: int, found: set[Row]) -> list[bool]:
    """For each row whether its key was returned; of repeated keys, the first one counts."""
    if len(found) == len(rows):
        return [True] * len(rows)
    were_found: list[bool] = []
    for row in rows:
        key = tuple(row[:width])
        were_found.append(key in found)
        found.discard(key)
    return were_found
