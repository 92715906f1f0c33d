"""A long history in a short time: records that really went through both stages, copied within the database.

The first thousand are moved by the product; the rest are copies of their rows under ids and places of their own,
older than everything that follows. All columns are as the product wrote them, but a copy's hashes are those of its
original, so that `verify` would not accept the whole. It is for measuring, and for nothing else.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import apsw
import psycopg

from lab.bench.runs import measured
from stateward.settings import DATABASE
from stateward.storage.database import Table
from stateward.storage.outputs import ITEM_CHUNKS, OUTPUTS
from stateward.storage.record_rows import RECORDS, TRANSITIONS
from stateward.testing.bench.jobs import Job

ORIGINALS = 1_000
COPIES_AT_ONCE = 25
TABLES: tuple[Table, ...] = (RECORDS, OUTPUTS, ITEM_CHUNKS)


class Loader(Protocol):
    """What copying needs of an engine."""

    padded: str
    """The number of a copy, `i`, in seven digits."""

    def run(self, sql: str) -> None:
        """Carry out a statement."""

    def number(self, sql: str) -> int:
        """The one number that a query finds."""

    def number_on(self) -> None:
        """Number new transitions from the last one on."""

    def numbers(self, first: int, last: int) -> str:
        """A table expression with one row for each number, as `i`."""


class History:
    """The finished records of one store; it only grows."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._copies = 0

    def fill(self, size: int) -> None:
        """See to it that about so many records are finished."""
        if not self._copies:
            measured(self._job._replace(system="ours", mode="burst", records=ORIGINALS))
        with loader(self._job) as to:
            self._take_originals(to)
            wanted = (size - to.number("SELECT count(*) FROM records")) // ORIGINALS
            last = self._copies + max(0, wanted)
            while self._copies < last:
                first = self._copies + 1
                self._copies = min(last, self._copies + COPIES_AT_ONCE)
                self._copy(to, first, self._copies)
            to.number_on()

    def _take_originals(self, to: Loader) -> None:
        """Their openings are the first entries of the log."""
        to.run(
            "CREATE TEMP TABLE originals AS"
            f" SELECT record_id AS original FROM transitions WHERE seq <= {ORIGINALS} ORDER BY 1"
        )
        for table in TABLES:
            key = table.key[0]
            to.run(
                f"CREATE TEMP TABLE own_{table.name} AS SELECT t.* FROM originals"
                f" JOIN {table.name} AS t ON t.{key} = original ORDER BY {', '.join(table.key)}"
            )
        to.run(
            "CREATE TEMP TABLE own_transitions AS SELECT t.*, row_number() OVER (ORDER BY seq) AS place"
            " FROM originals JOIN transitions AS t ON t.record_id = original"
        )

    def _copy(self, to: Loader, first: int, last: int) -> None:
        id_ = f"'BN_' || {to.padded} || substr({{}}, 11)"
        each = to.number("SELECT count(*) FROM own_transitions")
        before = to.number("SELECT max(seq) FROM transitions")
        seq = f"{before} + (i - {first}) * {each} + place"
        to.run("BEGIN")
        for table in TABLES:
            key = table.key[0]
            to.run(_copy_sql(table, to.numbers(first, last), {key: id_.format(key)}))
        changed = {"seq": seq, "record_id": id_.format("record_id")}
        to.run(_copy_sql(TRANSITIONS, to.numbers(first, last), changed))
        to.run("COMMIT")


def _copy_sql(table: Table, numbers: str, changed: dict[str, str]) -> str:
    columns = ", ".join(table.columns)
    values = ", ".join(changed.get(column, column) for column in table.columns)
    return f"INSERT INTO {table.name} ({columns}) SELECT {values} FROM {numbers} CROSS JOIN own_{table.name}"


@contextmanager
def loader(job: Job) -> Iterator[Loader]:
    """An engine for copying on the store of this job, in haste; afterwards it is durable again."""
    if job.url:
        with psycopg.connect(job.url, autocommit=True) as connection:
            yield PostgresLoader(connection)
            for statement in ("VACUUM (ANALYZE)", "CHECKPOINT"):
                connection.execute(statement)
        return
    sqlite = apsw.Connection(str(Path(job.folder) / DATABASE))
    try:
        yield SqliteLoader(sqlite)
        sqlite.execute("PRAGMA journal_mode = WAL").fetchall()
    finally:
        sqlite.close()


class SqliteLoader:
    """SQLite without a journal."""

    padded = "printf('%07d', i)"

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -500000"):
            self.run(f"PRAGMA {pragma}")

    def run(self, sql: str) -> None:
        """Carry out a statement."""
        self._connection.execute(sql).fetchall()

    def number(self, sql: str) -> int:
        """The one number that a query finds."""
        ((found,),) = self._connection.execute(sql).fetchall()
        return int(str(found or 0))

    def number_on(self) -> None:
        """SQLite does so by itself."""

    def numbers(self, first: int, last: int) -> str:
        """A table expression with one row for each number."""
        return (
            f"(WITH RECURSIVE n(i) AS (VALUES ({first}) UNION ALL SELECT i + 1 FROM n WHERE i < {last})"
            " SELECT i FROM n) AS n"
        )


class PostgresLoader:
    """PostgreSQL, whose commits need not wait."""

    padded = "lpad(i::text, 7, '0')"

    def __init__(self, connection: "psycopg.Connection[tuple[object, ...]]") -> None:
        self._connection = connection
        for setting in ("search_path = stateward", "synchronous_commit = off"):
            self.run(f"SET {setting}")

    def run(self, sql: str) -> None:
        """Carry out a statement."""
        self._connection.execute(sql)

    def number(self, sql: str) -> int:
        """The one number that a query finds."""
        ((found,),) = self._connection.execute(sql).fetchall()
        return int(str(found or 0))

    def number_on(self) -> None:
        """Number new transitions from the last one on."""
        self.run("SELECT setval('transitions_numbers', (SELECT max(seq) FROM transitions))")

    def numbers(self, first: int, last: int) -> str:
        """A table expression with one row for each number."""
        return f"generate_series({first}, {last}) AS n(i)"
