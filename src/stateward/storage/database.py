"""The interface to a database: transactions, bulk statements, wake-ups and numbered migrations.

There are two implementations, `storage.sqlite` (a file, or memory) and `storage.postgres`. They know how to write
rows in batches, when a transaction begins and ends, and how one process wakes another; they never know what a row
means.

SQL is written once, in the subset that both databases understand, with named parameters (`:name`).
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from stateward.core.errors import StoreError, StoreOvertaken
from stateward.core.failpoints import Point, point

Cell: TypeAlias = str | int | float | bytes | bool | None
Row: TypeAlias = tuple[Cell, ...]
TextIndex: TypeAlias = Literal["fts5", "tsvector"]
ColumnType: TypeAlias = Literal["text", "bigint", "double precision", "boolean", "json"]

PAGE_MAX = 10_000  # rows of one answer: a careless limit must not fill the memory of a coordinator
UNREADABLE = (
    "{what} cannot be read ({error}): something other than Stateward wrote it; "
    "restore the database from a backup"
)

UNDECODABLE = (msgspec.DecodeError, RecursionError)
"""What a JSON text raises that is none, or none for this table: the second one if it is nested a thousand times."""

# What a wake-up is about, so that a process that is woken asks the database for that alone.
TOPIC_EVENTS = "events"  # the inbox has events
TOPIC_READY = "ready"  # records wait for a stage, or a worker has free slots
TOPIC_WORK = "work"  # workers were given work, or lost some
TOPIC_CHANGES = "changes"  # there are new transitions
TOPIC_RESTS = "rests"  # records have ended or rest: they wait for no stage, and no worker has them
# In this order, which other versions of Stateward on the same file know: new ones come last.
TOPICS = (TOPIC_EVENTS, TOPIC_READY, TOPIC_WORK, TOPIC_CHANGES, TOPIC_RESTS)


def work_topic(worker: str) -> str:
    """The topic of the work of one worker, by which no other is woken.

    Where a notification costs nothing to those that it does not concern, it is the same as `TOPIC_WORK`.
    """
    return f"{TOPIC_WORK}_{hashlib.sha256(worker.encode()).hexdigest()[:16]}"


def known_topics(topics: Iterable[str]) -> frozenset[str]:
    """The topics, all of which there are, also of single workers."""
    given = frozenset(topics)
    unknown = {each for each in given.difference(TOPICS) if not each.startswith(f"{TOPIC_WORK}_")}
    if unknown:
        raise StoreError(f"no such topic: {', '.join(sorted(unknown))}")
    return given


def topics_to_hear(topics: Iterable[str]) -> frozenset[str]:
    """The topics of a wake-up, which needs one."""
    if not (known := known_topics(topics)):
        raise StoreError("a wake-up needs a topic")
    return known


class Table(msgspec.Struct, frozen=True):
    """The name, columns and key of a table that is written in batches. The key columns come first.

    `is_copied`: PostgreSQL has a column of another type, which only COPY converts from text.
    """

    name: str
    columns: dict[str, ColumnType]
    key: tuple[str, ...]
    is_copied: bool = False

    def named(self, row: Row) -> dict[str, Any]:
        """A row with the names of its columns, where all were selected in their order."""
        return dict(zip(self.columns, row, strict=True))


class Wakeup(Protocol):
    """Something to sleep on until another thread or process notifies one of its topics.

    A wake-up carries no data but its topic, and may be spurious. It may never be lost between `clear` and `wait`: that
    is why a listener clears first, then looks for work, then sleeps.
    """

    def fileno(self) -> int:
        """A descriptor that becomes readable on a notification, for use in a selector."""

    def clear(self) -> frozenset[str]:
        """Forget past notifications; the topics that there may have been any of.

        Do this *before* looking for work, or one that comes in between is lost.
        """

    def wait(self, timeout_s: float) -> bool:
        """Sleep until a notification; False when the time was up first."""

    def close(self) -> None:
        """Stop listening."""


class Keys(NamedTuple):
    """Which rows of a table are meant, by the columns `by`."""

    table: Table
    by: tuple[str, ...]
    keys: Sequence[Row]


class Exchanged(NamedTuple):
    """For each row of `Database.exchange`: whether the old one was there, and whether the new one was written."""

    were_there: list[bool]
    are_new: list[bool]


class Asked(Protocol):
    """A query whose rows are not needed yet."""

    def rows(self) -> list[Row]:
        """Its rows, as they were at some moment since it was asked."""


class Known(NamedTuple):
    """The rows of a query that need not be asked."""

    known: list[Row]

    def rows(self) -> list[Row]:
        """These."""
        return self.known


class Database(Protocol):
    """What the modules above need of a database."""

    for_update: str
    """What a SELECT ends with to lock its rows until the transaction ends.

    SQLite has one writer, and needs nothing.
    """

    skip_locked: str
    """The same, but rows that another transaction has locked are left out: several coordinators share one queue."""

    has_round_trips: bool
    """Whether each statement that is waited for is a round trip to a server."""

    is_gapless: bool
    """Whether numbers that it gives to rows have no gaps: those of PostgreSQL are lost with a transaction."""

    text_index: TextIndex
    """How the database finds words: a virtual table of its own (FTS5), or a column with an index (tsvector)."""

    def transaction(self) -> AbstractContextManager[None]:
        """One transaction. A nested one joins the outer one; an exception in either rolls all of it back."""

    def as_worker(self) -> AbstractContextManager[None]:
        """Inside a transaction: statements with no more rights than a worker needs, where the database has roles."""

    def rows(self, sql: str, **params: object) -> list[Row]:
        """The rows of a query."""

    def ask(self, sql: str, **params: object) -> Asked:
        """Ask a query now and read its rows later, inside one transaction.

        It travels with the next statement, and so costs no round trip of its own where there are any.
        """

    def ask_ahead(self, sql: str, **params: object) -> Asked:
        """As `ask`, and also outside of a transaction: it travels with the next statement.

        If that one fails, it is asked by itself when it is read.
        """

    def among(
        self, column: str, values: Sequence[str] | Sequence[int]
    ) -> tuple[str, dict[str, object]]:
        """A condition that a column holds one of these values, and its parameter `:among`.

        The statement is the same for any number of values above one, so that it is prepared once.
        """

    def run(self, sql: str, **params: object) -> int:
        """Execute one statement; how many rows it changed."""

    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        """Write new rows; a key that exists already is an error, of this call or of a later one in the transaction."""

    def insert_new(self, table: Table, rows: Sequence[Row]) -> list[bool]:
        """Write the rows that violate no unique constraint; for each, whether it was written."""

    def update(
        self, table: Table, rows: Sequence[Row], *, expected: str, column: Sequence[Cell]
    ) -> list[bool]:
        """Compare and set: overwrite rows by key where the column `expected` still holds the given old value."""

    def overwrite(
        self, table: Table, rows: Sequence[Row], *, expected: str, column: Sequence[Cell]
    ) -> None:
        """As `update`, of rows that this transaction has locked and read; keys are distinct.

        That one does not hold its old value is an error, of this call or of a later one up to the commit.
        """

    def delete(self, table: Table, keys: Sequence[Row], *, by: Sequence[str] = ()) -> list[bool]:
        """Delete rows by key (or by the columns `by`); for each key, whether there was such a row."""

    def discard(self, table: Table, keys: Sequence[Row], *, by: Sequence[str] = ()) -> None:
        """As `delete`, where nothing depends on which of the rows there were: it is not waited for."""

    def exchange(
        self, old: "Keys", table: Table, rows: Sequence[Row], *, is_expected: bool = False
    ) -> "Exchanged":
        """Delete rows, and for each that was there write the one in its place, unless that one exists already.

        Both have the key of `table` first. A few are one statement, where a round trip is what a statement costs. With
        `is_expected` nothing is waited for: that one was not there, or not new, is an error as of `require`.
        """

    @property
    def is_in_transaction(self) -> bool:
        """Whether a transaction is open, of whichever thread: who fails in it takes all of it along."""

    def require(self, condition: str, **params: object) -> None:
        """Go on as if a condition held; that it does not is an error, of this call or of a later one up to the commit.

        It is looked at where this is called in the order of statements, and `StoreOvertaken` where it does not hold.
        """

    def append(
        self, table: Table, rows: Sequence[Row], hashes: Mapping[int, Sequence[str]]
    ) -> None:
        """Write rows of the history and extend its lanes by their hashes, in this order, inside a transaction.

        It may be done as late as with the commit. What reads the history in the same transaction calls `flush`.
        """

    def push(self, *, is_first: bool = False) -> None:
        """Inside a transaction: let the server begin with what is not waited for.

        What was asked so far must lock or write a row; `is_first`: it only reads, and the transaction will write.
        """

    def flush(self) -> None:
        """Do what `append` was asked for so far."""

    def notify(self, topics: Iterable[str]) -> None:
        """Wake the listeners once the current transaction is durable, or at once outside of one."""

    def wakeup(self, *topics: str) -> Wakeup:
        """A wake-up for these topics."""

    def take_turns(self, names: Iterable[str]) -> None:
        """Wait for every open transaction that called this with one of these names; others wait for this one.

        Last in a transaction, so that it waits for nothing else while it holds a name.
        """

    def erasing(self) -> AbstractContextManager[None]:
        """Around a transaction: what it deletes is overwritten, where the database can do that."""

    def compact(self) -> None:
        """Write the files anew, so that nothing that was deleted earlier can be read from unused parts of them.

        On SQLite writers wait meanwhile. On PostgreSQL it is a VACUUM, and the write-ahead log is left to the server.
        """

    @property
    def is_compact(self) -> bool:
        """Whether nothing that was erased can be left in unused parts of its files, as far as it is known."""

    def damage(self) -> list[str]:
        """What the database's own check of its pages and indexes finds, a sentence each; it reads all of it."""

    def check(self) -> dict[str, str]:
        """Version, durability and size of the database, for `stateward doctor`."""

    def close(self) -> None:
        """Close the connection."""


def exchange_in_two(
    database: Database, old: Keys, table: Table, rows: Sequence[Row], *, is_expected: bool
) -> Exchanged:
    """`Database.exchange` as two statements."""
    with database.transaction():
        were_there = database.delete(old.table, old.keys, by=old.by)
        point(Point.WORK_FINISHED)  # what is exchanged is work for its output
        own = [row for row, is_there in zip(rows, were_there, strict=True) if is_there]
        are_new = iter(database.insert_new(table, own))
        found = Exchanged(were_there, [is_there and next(are_new) for is_there in were_there])
        if is_expected and not all(found.are_new):
            raise StoreOvertaken("a row was changed by another writer; try again")
        return found


def log_end(database: Database) -> int:
    """The number up to which the history is complete, for what follows it by number.

    Commits on different lanes do not wait for each other, so a lower number may become visible after a higher one.
    What has a number up to this one is visible to every statement from now on, or will never exist.
    """
    ((seq,),) = database.rows("SELECT seq FROM log_end")
    return int(seq or 0)
