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

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TypeVar

import psycopg
from psycopg.conninfo import make_conninfo

from stateward.core.errors import (
    StoreError,
    StoreUnreachable,
)
from stateward.core.failpoints import Point, point
from stateward.storage.amcheck import amcheck_schema, index_damage
from stateward.storage.database import (
    Cell,
    Exchanged,
    Keys,
    Row,
    Table,
    TextIndex,
    exchange_in_two,
    known_topics,
    topics_to_hear,
)
from stateward.storage.libpq import (
    Joining,
    Queued,
    Session,
    copy_lines,
    number_params,
    to_arrays,
    to_cells,
)
from stateward.storage.postgres_server import (
    LOST_IN_COMMIT,
    PostgresAsked,
    become_role,
    check_server,
    connection_parameters,
    location_of,
    migrate_schema,
    translate_error,
)
from stateward.storage.postgres_sql import (
    PAIR,
    SCHEMA,
    Appended,
    Columns,
    delete_sql,
    exchange_sql,
    expected_sql,
    insert_new_sql,
    insert_sql,
    notifying,
    overwrite_sql,
    pair_of,
    params_of,
    quoted_names,
    requiring,
    update_sql,
)
from stateward.storage.postgres_wakeups import PostgresWakeup
from stateward.storage.schema_check import changed_in_postgres
from stateward.storage.transactions import DOOMED, Transactions

RUNNER_ROLE = "stateward_runner"
# "Turn": with a second number, so it is another lock than that of migrations.
TURN_LOCK = 0x54_75_72_6E
CONNECT_S = 10.0
CONNECT_TRIES_MAX = 5
CONNECT_PAUSE_S = 0.1  # doubled from try to try
LOCK_S = 30  # a commit takes milliseconds: a longer wait means that a process hangs
# A process that is stopped in a transaction must not hold its rows for ever.
TRANSACTION_IDLE_S = 15.0
COPY_ROWS_MIN = 16  # up to here a prepared statement is cheaper: COPY takes two round trips, and is parsed each time
CHAINED_MAX = 3  # hashes by which one lane is extended in plain SQL; the function for any number of them costs more

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
GRANT_ROLE = f"GRANT {RUNNER_ROLE} TO {{login}}"
CREATE_ROLE = f"CREATE ROLE {RUNNER_ROLE} NOLOGIN; {GRANT_ROLE}; SELECT {SCHEMA}.grant_to_runners()"
ADMINISTRATOR = "; an administrator must run: "

BEGIN = Queued("BEGIN", ())  # sent with the first statement of the transaction
COMMIT = Queued("COMMIT", ())
# Gives a transaction its number, as its first write would: by that what is sent later knows that it was begun.
NUMBER = Queued("SELECT pg_current_xact_id()::text", ())
AS_RUNNER = Queued(f"SET LOCAL ROLE {RUNNER_ROLE}", ())

T = TypeVar("T")


class PostgresDatabase(Transactions):
    """One connection to one database. Threads that share it take turns, one transaction at a time.

    With a `role` it acts as that role after login and does not migrate the schema. `before_migration` is called with
    the number of the new schema before one that holds data is changed; what it raises leaves it as it is.
    `is_read_only` is for a replica, or a login that may only read. A lost connection is reopened at the next use, but
    never inside a transaction: what came before in it is lost with the connection.
    """

    has_round_trips = True
    is_gapless = False
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
        super().__init__()
        self._is_read_only = is_read_only
        self._parameters = connection_parameters(url, connect_s)
        self._transaction_idle_ms = max(1, round(transaction_idle_s * 1000))
        self._where = location_of(self._parameters)
        self._role = role
        self._is_closed = False
        self._notified: set[str] = set()
        self._appended: list[Appended] = []  # what waits for the commit
        self._wakeups: list[PostgresWakeup] = []
        self._session: Session | None = None
        self._session = self._connect()
        try:
            with self._translate_errors():
                is_allowed = role is None and not is_read_only
                migrate_schema(
                    self._session, self._where, is_allowed=is_allowed, before=before_migration
                )
        except BaseException:
            self.close()
            raise

    # Connection

    def _connect(self) -> Session:
        with self._translate_errors():
            session = Session(make_conninfo("", **self._parameters))
            try:
                check_server(session, self._where)
                session.command(SETUP.format(transaction_idle_ms=self._transaction_idle_ms))
                if self._role is not None:
                    become_role(session, self._role)
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
        ours = translate_error(error, self._where, is_lost=is_lost, unreachable=unreachable)
        if ours is None:
            raise error
        raise ours from error

    # Transactions

    @contextmanager
    def as_worker(self) -> Iterator[None]:
        """Inside a transaction: statements with the rights of the runners' role, until the `with` ends."""
        # LOCAL: a connection whose `with` was never left must not stay a runner's for its next transaction.
        self._later(AS_RUNNER)
        yield
        # Not after a failure: the transaction is rolled back, and the role with it.
        role = "NONE" if self._role is None else self._role
        self._later(Queued(f"SET LOCAL ROLE {role}", ()))

    def _begin(self) -> None:
        try:
            self._use().later(BEGIN)
        except psycopg.Error as error:
            self._fail(error)

    def _commit(self) -> None:
        session = self._use()
        is_begun = BEGIN not in session.queued
        if self._is_doomed or (is_begun and session.has_failed):
            raise StoreError(DOOMED)
        point(Point.COMMIT_BEFORE)
        # NOTIFY belongs to the transaction: the server delivers it after the commit, and only then.
        topics = frozenset(self._notified)
        notified = notifying(topics)
        if session.queued == (BEGIN,) and not self._appended:  # there was no statement
            session.forget()
            if notified:
                self._run(lambda own: own.now(*notified))
        elif session.queued or self._appended or notified:
            if self._appended:
                # The last of these statements notifies as well, and does what was queued before.
                joined = () if len(self._appended) > 1 else session.take_joining()
                *others, last = self._appended
                notified = (*(each.queued() for each in others), last.queued(topics, joined))
            commands = [*notified, COMMIT]
            self._run_once(lambda own: own.now(*commands), unreachable=LOST_IN_COMMIT)
        else:
            self._run_once(lambda own: own.command(COMMIT.sql), unreachable=LOST_IN_COMMIT)
        point(Point.COMMIT_AFTER)

    def _run_once(self, act: Callable[[Session], T], *, unreachable: str = "") -> T:
        """Do something with the connection that must not be done twice, such as a commit."""
        # A connection that breaks under a COMMIT leaves open whether the server did it. The caller hears just that, and
        # reads the record again: its version tells, and a second try would be refused by it.
        with self._lock:
            try:
                return act(self._use())
            except psycopg.Error as error:
                self._fail(error, unreachable=unreachable)

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

    def _clean_up(self) -> None:
        self._notified.clear()
        self._appended.clear()

    # Statements

    def rows(self, sql: str, **params: object) -> list[Row]:
        numbered = number_params(sql, params)
        return self._run(lambda session: session.load(session.statement(*numbered)))

    def ask(self, sql: str, **params: object) -> PostgresAsked:
        pending = PostgresAsked(lambda: self._run(lambda session: session.flush()))
        with self._lock:  # else the transaction may be that of another thread
            if self._depth:
                self._later(Queued(*number_params(sql, params), take=pending.take))
            else:  # nothing that it could travel with
                pending.take(self.rows(sql, **params))
        return pending

    def ask_ahead(self, sql: str, **params: object) -> PostgresAsked:
        """A query that travels with the next statement, be that of a transaction or not."""
        if self._depth:
            return self.ask(sql, **params)

        def ask_alone() -> None:
            self._run(lambda session: session.flush())
            # What it travelled with may have failed, or the connection may have been lost before.
            if not pending.is_taken:
                pending.take(self.rows(sql, **params))

        pending = PostgresAsked(ask_alone)
        queued = Queued(*number_params(sql, params), take=pending.take)
        self._run(lambda session: session.later(queued))
        return pending

    def among(
        self, column: str, values: Sequence[str] | Sequence[int]
    ) -> tuple[str, dict[str, object]]:
        if len(values) == 1:  # planned once, which a list is not
            return f"{column} = :among", {"among": values[0]}
        return f"{column} = ANY(:among)", {"among": list(values)}

    def run(self, sql: str, **params: object) -> int:
        numbered = number_params(sql, params)
        return self._run(lambda session: session.statement(*numbered)).command_tuples or 0

    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        if rows:
            if len(rows) <= COPY_ROWS_MIN and not table.is_copied:
                columns = tuple(table.columns.items())
                sql = insert_sql(table.name, columns, min(len(rows), 2))
                params = params_of(columns, rows)
                self._write(Queued(sql, params, joins=Joining(table.name, sql, len(params))))
                return
            sql = f"COPY {table.name} ({quoted_names(table.columns)}) FROM STDIN"
            data = copy_lines(table.columns.values(), rows)
            self._run(lambda session: session.copy(sql, data))

    def _write(self, queued: Queued) -> None:
        """Execute a statement whose result is not waited for inside a transaction."""
        with self._lock:  # else the transaction may be that of another thread
            if self._depth:
                self._later(queued)
            else:
                self._run(lambda session: session.now(queued))

    def _later(self, queued: Queued) -> None:
        """Inside a transaction of this thread: let a statement travel with the next one that is waited for."""
        session = self._session
        if session is None or session.is_lost or not session.put(queued):
            self._run(lambda own: own.later(queued))

    def insert_new(self, table: Table, rows: Sequence[Row]) -> list[bool]:
        columns = tuple(table.columns.items())
        width = len(table.key)

        def sql(rows: Sequence[Row]) -> str:
            return insert_new_sql(table.name, columns, table.key, min(len(rows), 2))

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
        sql = update_sql(table.name, columns, table.key, expected, min(len(rows), 2))
        with_old: list[Any] = [(*row, old) for row, old in zip(rows, column, strict=True)]
        # In the order of keys: two writers of the same rows wait for each other, but never in a circle.
        return _were_found(rows, len(table.key), self._bulk(sql, columns, sorted(with_old)))

    def overwrite(
        self, table: Table, rows: Sequence[Row], *, expected: str, column: Sequence[Cell]
    ) -> None:
        """As `update`, without waiting for the result: the server refuses what follows a row with another value."""
        columns = (*table.columns.items(), ("was", table.columns[expected]))
        sql = overwrite_sql(table.name, columns, table.key, expected, min(len(rows), 2))
        with_old: list[Any] = [(*row, old) for row, old in zip(rows, column, strict=True)]
        params = [*params_of(columns, sorted(with_old)), b"%d" % len(rows)]
        joins = None
        if len(rows) == 1:
            updating = update_sql(table.name, columns, table.key, expected, 1)
            joins = Joining(table.name, updating, len(params), is_checked=True)
        self._write(Queued(sql, params, joins=joins))

    def delete(self, table: Table, keys: Sequence[Row], *, by: Sequence[str] = ()) -> list[bool]:
        sql, columns = _deleting(table, keys, by)
        deleted = self._bulk(sql, columns, keys)
        return _were_found(keys, len(columns), deleted)

    def discard(self, table: Table, keys: Sequence[Row], *, by: Sequence[str] = ()) -> None:
        """Delete rows by key (or by the columns `by`), without waiting for which there were."""
        if keys:
            sql, columns = _deleting(table, keys, by)
            params = params_of(columns, keys)
            joins = Joining(table.name, sql, len(params)) if len(keys) == 1 else None
            self._write(Queued(sql, params, joins=joins))

    def require(self, condition: str, **params: object) -> None:
        """Go on as if a condition held: the server refuses what follows if it does not."""
        self._write(Queued(*number_params(requiring(condition), params)))

    def exchange(
        self, old: Keys, table: Table, rows: Sequence[Row], *, is_expected: bool = False
    ) -> Exchanged:
        """Delete rows, and write others in the place of those that were there."""
        keys = [tuple(row[: len(table.key)]) for row in rows]
        # Joins are nested loops here: of many rows, two statements are cheaper than one. And what is returned tells
        # rows apart by their keys alone.
        if not 0 < len(set(keys)) == len(keys) <= COPY_ROWS_MIN:
            return exchange_in_two(self, old, table, rows, is_expected=is_expected)
        gone: Columns = tuple((name, old.table.columns[name]) for name in old.by)
        new: Columns = tuple(table.columns.items())
        sql = exchange_sql(old.table.name, gone, table.name, new, table.key, min(len(rows), 2))
        params = [*params_of(gone, old.keys), *params_of(new, rows)]
        if is_expected:
            self._write(Queued(expected_sql(sql, len(params) + 1), [*params, b"%d" % len(rows)]))
            return Exchanged([True] * len(rows), [True] * len(rows))
        found = self._run(lambda session: session.load(session.statement(sql, params)))
        were_there = {tuple(row[:-1]): bool(row[-1]) for row in found}
        return Exchanged(
            [key in were_there for key in keys], [were_there.get(key, False) for key in keys]
        )

    def _bulk(self, sql: str, columns: Columns, rows: Sequence[Row]) -> set[Row]:
        """Execute a statement that takes one array per column; the keys that it returns."""
        if not rows:
            return set()
        params = params_of(columns, rows)
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
        chained = len(own) if len(lanes) == 1 and len(own) <= CHAINED_MAX else 0
        grown = (
            to_cells([cell for (cell, *_) in (*lanes, *own)])
            if chained
            else [*to_arrays(["bigint", "bigint"], lanes), *to_arrays(["text"], own)]
        )
        columns = tuple(table.columns.items())
        # One record that ends a stage and begins the next, or is opened and begins the first, has two rows.
        is_pair = len(rows) == 2
        given = pair_of(rows) if is_pair else params_of(columns, rows)
        size = PAIR if is_pair else min(len(rows), 2)
        self._appended.append(Appended(table.name, columns, size, [*given, *grown], chained))
        point(Point.TRANSITIONS_APPENDED)
        point(Point.LANES_ADVANCED)

    def push(self, *, is_first: bool = False) -> None:
        """Let the server begin with what is queued, while we go on."""
        if is_first:
            self._later(NUMBER)
        self._run(lambda session: session.push())

    def flush(self) -> None:
        """Do what was put off until the commit."""
        if self._appended:
            appended, self._appended = self._appended, []
            self._run(lambda session: session.now(*(each.queued() for each in appended)))

    # Wake-ups

    def notify(self, topics: Iterable[str]) -> None:
        known = known_topics(topics)
        with self._lock:
            if self._depth:
                self._notified |= known
            elif known:
                self._run(lambda session: session.now(*notifying(known)))

    def wakeup(self, *topics: str) -> PostgresWakeup:
        """A wake-up for these topics, with a connection of its own."""
        known = topics_to_hear(topics)
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

    @property
    def is_compact(self) -> bool:
        """The server vacuums by itself."""
        return True

    def damage(self) -> list[str]:
        """What of the schema is not ours, and what `amcheck` finds wrong where it is installed and allowed."""
        schema, changed = amcheck_schema(self), changed_in_postgres(self)
        return changed if schema is None else index_damage(self, schema) + changed

    def check(self) -> dict[str, str]:
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
        with self._lock:
            for wakeup in list(self._wakeups):
                wakeup.close()
            self._is_closed = True
            self._drop()


def migrate(url: str) -> None:
    """Bring the schema up to date; safe to run twice, and by two processes at once."""
    PostgresDatabase(url).close()


def has_schema(url: str) -> bool:
    """Whether the database holds our schema already, whatever is in it; it is only looked at."""
    parameters = connection_parameters(url, CONNECT_S)
    where = location_of(parameters)
    try:
        with psycopg.connect(make_conninfo("", **parameters), autocommit=True) as connection:
            return (
                connection.execute(
                    "SELECT 1 FROM pg_namespace WHERE nspname = %s", (SCHEMA,)
                ).fetchone()
                is not None
            )
    except psycopg.Error as error:
        ours = translate_error(error, where, is_lost=False, unreachable="")
        raise ours or error from error


def _deleting(table: Table, keys: Sequence[Row], by: Sequence[str]) -> tuple[str, Columns]:
    # A key that is not among the columns we write is a number that the database assigns itself.
    names = tuple(by) or table.key
    columns: Columns = tuple((name, table.columns.get(name, "bigint")) for name in names)
    return delete_sql(table.name, columns, min(len(keys), 2)), columns


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
