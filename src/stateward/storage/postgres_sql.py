"""The SQL of bulk operations on PostgreSQL: one statement for any number of rows, and one for a single row.

Everything here makes text and parameters; nothing is sent from this module.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from stateward.storage.database import ColumnType, Row
from stateward.storage.libpq import Param, Queued, to_arrays, to_cell

SCHEMA = "stateward"
Columns: TypeAlias = tuple[tuple[str, ColumnType], ...]


class Appended(NamedTuple):
    """Rows of the history, which are written in the message that commits."""

    table: str
    columns: Columns
    size: int  # 1, or 2 for several rows: they are given as arrays
    params: list[Param]

    def queued(self, topics: frozenset[str] = frozenset()) -> Queued:
        """The statement that writes them, and notifies the listeners of these topics."""
        return Queued(append_sql(self.table, self.columns, self.size, topics), self.params)


@lru_cache
def append_sql(table: str, columns: Columns, count: int, topics: frozenset[str]) -> str:
    """Extend the lanes, and then insert: the rows are numbered while their lanes are locked.

    The subquery is executed first and once, because its functions are volatile, and what is inserted is computed from
    its one row.
    """
    numbers, counts, hashes = (f"${len(columns) + n}" for n in (1, 2, 3))
    calls = [f"extend_lanes({numbers}::bigint[], {counts}::bigint[], {hashes}::text[])"]
    calls += _notify_calls(topics)
    return (
        f"{insert_sql(table, columns, count)} FROM (SELECT {', '.join(calls)} OFFSET 0) AS extended"
    )


@lru_cache
def insert_sql(table: str, columns: Columns, count: int) -> str:
    """Write new rows."""
    return f"INSERT INTO {table} ({quoted_names(name for name, _ in columns)}) SELECT {_cells(columns, count)}"


@lru_cache
def insert_new_sql(table: str, columns: Columns, key: tuple[str, ...], count: int) -> str:
    """Write the rows that violate no unique constraint; their keys are returned."""
    names = quoted_names(name for name, _ in columns)
    return (
        f"INSERT INTO {table} ({names}) SELECT {_cells(columns, count)} "
        f"ON CONFLICT DO NOTHING RETURNING {quoted_names(key) or '1'}"
    )


@lru_cache
def update_sql(
    table: str, columns: Columns, key: tuple[str, ...], expected: str, count: int
) -> str:
    """Overwrite rows by key where the column `expected` holds the old value; the keys of these are returned."""
    numbered = list(enumerate(columns))
    changed = ", ".join(f'"{name}" = v.c{n}' for n, (name, _) in numbered[len(key) : -1])
    return (
        f"UPDATE {table} AS t SET {changed} FROM (SELECT {_cells(columns, count)}) AS v "
        f'WHERE {_same(key)} AND t."{expected}" = v.c{len(columns) - 1} '
        f"RETURNING {quoted_names(key, of='t.')}"
    )


@lru_cache
def overwrite_sql(
    table: str, columns: Columns, key: tuple[str, ...], expected: str, count: int
) -> str:
    """`update_sql`, and a division by zero unless as many rows as the last parameter says were changed."""
    updating = update_sql(table, columns, key, expected, count)
    place = len(columns) + 1
    return f"WITH moved AS ({updating}) SELECT 1 / (count(*) = ${place}::bigint)::int FROM moved"


@lru_cache
def delete_sql(table: str, columns: Columns, count: int) -> str:
    """Delete rows by these columns, which are returned."""
    names = [name for name, _ in columns]
    return (
        f"DELETE FROM {table} AS t USING (SELECT {_cells(columns, count)}) AS v "
        f"WHERE {_same(names)} RETURNING {quoted_names(names, of='t.')}"
    )


@lru_cache
def exchange_sql(
    old: str, gone: Columns, new: str, columns: Columns, key: tuple[str, ...], count: int
) -> str:
    """What is inserted is joined with what the deletion returns, which therefore comes first and locks its rows."""
    names = [name for name, _ in gone]
    same = " AND ".join(f'gone."{name}" = w.c{len(gone) + n}' for n, name in enumerate(key))
    cells = ", ".join(f"w.c{len(gone) + n}" for n, _ in enumerate(columns))
    return (
        f"WITH gone AS (DELETE FROM {old} AS t USING (SELECT {_cells(gone, count)}) AS v "
        f"WHERE {_same(names)} RETURNING {quoted_names(key, of='t.')}), "
        f"made AS (INSERT INTO {new} ({quoted_names(name for name, _ in columns)}) SELECT {cells} "
        f"FROM gone JOIN (SELECT {_cells(columns, count, start=len(gone))}) AS w ON {same} "
        f"ON CONFLICT DO NOTHING RETURNING {quoted_names(key)}) "
        f'SELECT {quoted_names(key, of="gone.")}, made."{key[0]}" IS NOT NULL '
        f"FROM gone LEFT JOIN made USING ({quoted_names(key)})"
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


def params_of(columns: Columns, rows: Sequence[Row]) -> list[Param]:
    """The parameters for `_cells`."""
    if len(rows) == 1:
        return [to_cell(cell) for cell, _ in zip(rows[0], columns, strict=True)]
    return to_arrays([type_ for _, type_ in columns], rows)


def _same(key: Sequence[str]) -> str:
    return " AND ".join(f't."{name}" = v.c{n}' for n, name in enumerate(key))


def quoted_names(names: Iterable[str], *, of: str = "") -> str:
    """Names of columns, as a list in SQL."""
    return ", ".join(f'{of}"{name}"' for name in names)


@lru_cache
def notifying(topics: frozenset[str]) -> tuple[Queued, ...]:
    """One statement for all topics, prepared as others are; none if there are none."""
    calls = _notify_calls(topics)
    return (Queued(f"SELECT {', '.join(calls)}", ()),) if calls else ()


def _notify_calls(topics: frozenset[str]) -> list[str]:
    return [f"pg_notify('{SCHEMA}_{topic}', '')" for topic in sorted(topics)]
