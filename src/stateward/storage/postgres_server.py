"""The PostgreSQL server around a connection: where it is, whether it fits, its schema, and its errors as ours."""

from collections.abc import Callable, Sequence
from math import ceil

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from stateward.core.errors import (
    StoreError,
    StoreFull,
    StoreMismatch,
    StoreOutdated,
    StoreOvertaken,
    StoreUnreachable,
)
from stateward.storage.database import Row
from stateward.storage.lanes import LANES_GONE
from stateward.storage.libpq import Session, check_text
from stateward.storage.migrations import Migration, migrations
from stateward.storage.postgres_sql import SCHEMA
from stateward.storage.transactions import DOOMED

# The oldest that was supported when this was written, and the oldest that is tested.
VERSION_MIN = 130_000
MIGRATION_LOCK = 0x53_74_57_64  # "StWd", as in the header of our SQLite files: an advisory lock has a number for a name
NETWORK = {  # a server that disappeared is noticed within half a minute; unix sockets ignore these
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "25000",
}


def check_server(session: Session, where: str) -> None:
    """Refuse a server that is too old, or whose encoding has not every character."""
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


def become_role(session: Session, role: str) -> None:
    """Act as this role from now on."""
    name = check_text(role).replace('"', '""')
    try:
        session.command(f'SET ROLE "{name}"')
    except (errors.InvalidParameterValue, errors.InsufficientPrivilege) as error:
        # A role that does not exist may be created with the tables, by the first process that may do so.
        is_missing = isinstance(error, errors.InvalidParameterValue)
        raise (StoreOutdated if is_missing else StoreError)(
            f"this login cannot act as the role {role!r} ({' '.join(str(error).split())}); "
            "`stateward doctor` with the owner's login says what an administrator has to do"
        ) from error


def migrate_schema(
    session: Session, where: str, *, is_allowed: bool, before: Callable[[int], None]
) -> None:
    """Bring the schema up to date, if that `is_allowed`; `before` is called before one with data is changed."""
    missing = _missing(session, where)
    if not missing:
        return
    if not is_allowed:
        raise StoreOutdated(
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
        # That of `overwrite_sql` and `requiring`.
        (errors.DivisionByZero,),
        StoreOvertaken,
        "{where} rolled this back to resolve a conflict with another writer ({words}); try again",
    ),
    (
        (errors.DeadlockDetected, errors.SerializationFailure),
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
        # Who drops or renames the schema of a running service made no mistake of ours.
        (errors.UndefinedTable, errors.InvalidSchemaName),
        StoreMismatch,
        "the tables of Stateward are not in {where} any more ({words}); stop its processes, bring the database back, "
        "and then start them",
    ),
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


def translate_error(
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


def connection_parameters(url: str, connect_s: float) -> dict[str, str]:
    """What libpq needs to connect, with our defaults under what the address says."""
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


def location_of(parameters: dict[str, str]) -> str:
    """The database for messages, without its password."""
    host = parameters.get("host") or parameters.get("hostaddr") or "the default host"
    name = parameters.get("dbname") or "the default one"
    return f"PostgreSQL database {name} at {host}, port {parameters.get('port') or '5432'}"


class PostgresAsked:
    """A query that was queued; `flush` sends it if nothing else has."""

    __slots__ = ("_flush", "_rows")

    def __init__(self, flush: Callable[[], None]) -> None:
        self._flush = flush
        self._rows: list[Row] | None = None

    def take(self, rows: list[Row]) -> None:
        self._rows = rows

    @property
    def is_taken(self) -> bool:
        """Whether the rows have come."""
        return self._rows is not None

    def rows(self) -> list[Row]:
        """The rows; they are waited for if the query has not been sent yet."""
        if self._rows is None:
            self._flush()
        if self._rows is None:  # its transaction has ended
            raise StoreError(DOOMED)
        return self._rows
