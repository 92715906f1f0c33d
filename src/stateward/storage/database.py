"""One interface to the databases: units of work, three bulk verbs, wakeups, and numbered migrations.

The engines are `database.sqlite` (a file, or memory) and `database.postgres`. What stands in the tables
is the business of the rooms above (outputs, store, bus); this room knows how to write rows in batches,
when a transaction begins and ends, and how one process wakes another. It must never know what a row means.

Statements are written once, in the subset that both engines speak, with named parameters (`:name`).
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol, TypeAlias

import msgspec

Cell: TypeAlias = str | int | float | bytes | bool | None
Row: TypeAlias = tuple[Cell, ...]
ColumnType: TypeAlias = Literal["text", "bigint", "double precision", "boolean", "json"]

TOPIC_EVENTS = "events"
TOPIC_READY = "ready"
TOPIC_WORK = "work"
TOPIC_CHANGES = "changes"
TOPICS = (TOPIC_EVENTS, TOPIC_READY, TOPIC_WORK, TOPIC_CHANGES)


class Table(msgspec.Struct, frozen=True):
    """The name, columns and key of a table that is written in batches."""

    name: str
    columns: dict[str, ColumnType]
    key: tuple[str, ...]


class Wakeup(Protocol):
    """Something to sleep on until another thread or process rings one of its topics."""

    def fileno(self) -> int:
        """A descriptor that becomes readable when it rings, for use in a selector."""

    def clear(self) -> None:
        """Forget past rings. Do this *before* looking for work, or a ring in between is lost."""

    def wait(self, timeout_s: float) -> bool:
        """Sleep until it rings; False when the time was up first."""

    def close(self) -> None:
        """Stop listening."""


class Database(Protocol):
    """What the rooms above need of an engine."""

    for_update: str
    """What a SELECT ends with to lock its rows inside a unit."""

    skip_locked: str
    """The same, but rows that somebody else has locked are left out."""

    def transaction(self) -> AbstractContextManager[None]:
        """One transaction. A unit inside a unit joins it; an exception undoes all of it."""

    def rows(self, sql: str, **params: object) -> list[Row]:
        """The rows of a query."""

    def among(self, column: str, values: Sequence[str]) -> tuple[str, dict[str, object]]:
        """A condition that a column holds one of these texts, and its parameter `:among`.

        One statement text for any number of values, so that it is prepared once.
        """

    def run(self, sql: str, **params: object) -> int:
        """Carry out one statement; how many rows it changed."""

    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        """Write new rows; a key that exists already is an error."""

    def insert_new(self, table: Table, rows: Sequence[Row]) -> list[bool]:
        """Write the rows that break no unique rule; for each, whether it was written."""

    def update(
        self, table: Table, rows: Sequence[Row], *, expected: str, column: Sequence[Cell]
    ) -> list[bool]:
        """Overwrite rows by key where the column `expected` still holds the given old value."""

    def delete(self, table: Table, keys: Sequence[Row], *, by: Sequence[str] = ()) -> list[bool]:
        """Delete rows by key (or by the columns `by`); for each key, whether there was such a row."""

    def notify(self, topics: Iterable[str]) -> None:
        """Wake those who listen, once the present unit is durable (at once outside of one)."""

    def wakeup(self, *topics: str) -> Wakeup:
        """A wakeup that these topics ring."""

    def check(self) -> dict[str, str]:
        """What `doctor` wants to know of the engine: version, durability, size."""

    def close(self) -> None:
        """Let go of the connection."""
