"""The SQL of bulk operations on PostgreSQL: one statement for any number of rows, and one for a single row.

Everything here makes text and parameters; nothing is sent from this module.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple, TypeAlias

from stateward.storage.database import TOPICS, ColumnType, Row
from stateward.storage.libpq import Joining, Param, Queued, to_arrays, to_cells

SCHEMA = "stateward"
Columns: TypeAlias = tuple[tuple[str, ColumnType], ...]
PAIR = -2  # two rows that are given by their cells, as one is
PLACE = re.compile(r"\$([0-9]+)")


class Appended(NamedTuple):
    """Rows of the history, which are written in the message that commits."""

    table: str
    columns: Columns
    size: int  # how many rows: 1, PAIR, or 2 for several, which are given as arrays
    params: list[Param]
    chained: int  # by how many hashes its one lane grows; 0: lanes, counts and hashes are given as arrays

    def queued(self, topics: frozenset[str] = frozenset(), joined: Sequence[Queued] = ()) -> Queued:
        """The statement that writes them, notifies the listeners of these topics, and does what these others do."""
        parts = tuple(each.joins for each in joined if each.joins is not None)
        fixed, own = _channels(topics)
        params = [*self.params, *own]
        for each in joined:
            params += each.params or ()
        sql = append_sql(self.table, self.columns, self.size, self.chained, fixed, len(own), parts)
        return Queued(sql, params)


@lru_cache(maxsize=512)
def append_sql(
    table: str,
    columns: Columns,
    count: int,
    chained: int,
    topics: frozenset[str],
    told: int,
    parts: tuple[Joining, ...] = (),
) -> str:
    """Extend the lanes, and then insert: the rows are numbered while their lanes are locked.

    The subquery is executed first and once, because its functions are volatile, and what is inserted is computed from
    its one row. `told` channels are notified besides these topics. `parts` change other tables, in no certain order;
    the parameters of both follow.
    """
    start = 2 * len(columns) if count == PAIR else len(columns)
    clauses: list[str] = []
    checks: list[str] = []
    if chained:
        clauses.append(f"lane AS ({_extend_one(start + 1, chained)})")
        calls = [_check_one(start + 1, chained)]
        start += 1 + chained
    else:
        numbers, counts, hashes = (f"${start + n}" for n in (1, 2, 3))
        calls = [f"extend_lanes({numbers}::bigint[], {counts}::bigint[], {hashes}::text[])"]
        start += 3
    calls += _notify_calls(topics, told, start + 1)
    start += told
    for number, part in enumerate(parts):
        clauses.append(f"p{number} AS ({_shift(part.sql, start)})")
        start += part.width
        if part.is_checked:
            checks.append(f"{_check(f'p{number}', start)} = 1")
    beginning = f"WITH {', '.join(clauses)} " if clauses else ""
    inserting = insert_sql(table, columns, count)
    # As a condition: what a subquery computes and nothing reads is left out, unless a function in it is volatile.
    ending = f" WHERE {' AND '.join(checks)}" if checks else ""
    return f"{beginning}{inserting} FROM (SELECT {', '.join(calls)} OFFSET 0) AS extended{ending}"


def _extend_one(place: int, count: int) -> str:
    """What the function `extend_lanes` does to one lane, which is the first parameter, by a few hashes after it."""
    head = "l.head"
    for n in range(1, count + 1):
        head = f"encode(sha256(convert_to({head} || ${place + n}::text, 'UTF8')), 'hex')"
    return (
        f"UPDATE lanes AS l SET count = l.count + {count}, head = {head}"
        f" WHERE l.lane = ${place}::bigint RETURNING 1"
    )


def _check_one(place: int, count: int) -> str:
    """Nothing if the lane was there. The function says what is wrong with lanes that are not."""
    hashes = ", ".join(f"${place + n}::text" for n in range(1, count + 1))
    refused = f"extend_lanes(ARRAY[${place}::bigint], ARRAY[{count}::bigint], ARRAY[{hashes}])"
    return f"CASE WHEN (SELECT count(*) FROM lane) = 1 THEN '' ELSE {refused}::text END"


def _shift(sql: str, by: int) -> str:
    """The statement with higher numbers for its parameters. It is one of this module: nothing is quoted in it."""
    return PLACE.sub(lambda place: f"${int(place[1]) + by}", sql)


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
    return f"WITH moved AS ({updating}) SELECT {_check('moved', len(columns) + 1)}"


def _check(name: str, place: int) -> str:
    """A division by zero unless a part of the statement returns as many rows as a parameter says."""
    return f"1 / ((SELECT count(*) FROM {name}) = ${place}::bigint)::int"


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


@lru_cache
def expected_sql(exchanging: str, place: int) -> str:
    """`exchange_sql`, and a division by zero unless as many rows as the last parameter says are new."""
    with_parts, _, _ = exchanging.rpartition("SELECT ")
    return f"{with_parts}SELECT {_check('made', place)}"


@lru_cache(maxsize=64)
def requiring(condition: str) -> str:
    """A division by zero unless a condition holds."""
    return f"SELECT 1 / ({condition})::int"


def _cells(columns: Columns, count: int, *, start: int = 0) -> str:
    """The rows that are given, as a select list: an array for each column, or for a single row its cells.

    In a select list the arrays are read in step; FROM unnest(a, b) would materialise them first. A statement with
    arrays is planned anew each time, because the plan for the arrays at hand always looks cheaper than the one for any:
    for a single row that costs more than to execute it.
    """
    numbered = [(n, type_) for n, (_, type_) in enumerate(columns, start)]
    if count == 1:
        return ", ".join(f"${n + 1}::{type_} AS c{n}" for n, type_ in numbered)
    if count == PAIR:
        pairs = (
            (n, type_, f"${2 * n + 1}::{type_}, ${2 * n + 2}::{type_}") for n, type_ in numbered
        )
        return ", ".join(f"unnest(ARRAY[{cells}]::{type_}[]) AS c{n}" for n, type_, cells in pairs)
    return ", ".join(f"unnest(${n + 1}::{type_}[]) AS c{n}" for n, type_ in numbered)


def params_of(columns: Columns, rows: Sequence[Row]) -> list[Param]:
    """The parameters for `_cells`."""
    if len(rows) == 1:
        if len(rows[0]) != len(columns):
            raise ValueError(f"a row has {len(rows[0])} cells for {len(columns)} columns")
        return to_cells(rows[0])
    return to_arrays([type_ for _, type_ in columns], rows)


def pair_of(rows: Sequence[Row]) -> list[Param]:
    """The parameters of two rows, by column."""
    first, second = rows
    return to_cells(chain.from_iterable(zip(first, second, strict=True)))


def _same(key: Sequence[str]) -> str:
    return " AND ".join(f't."{name}" = v.c{n}' for n, name in enumerate(key))


def quoted_names(names: Iterable[str], *, of: str = "") -> str:
    """Names of columns, as a list in SQL."""
    return ", ".join(f'{of}"{name}"' for name in names)


def notifying(topics: frozenset[str]) -> tuple[Queued, ...]:
    """One statement for all topics, prepared as others are; none if there are none."""
    fixed, own = _channels(topics)
    return (Queued(_notifying_sql(fixed, len(own)), own),) if topics else ()


@lru_cache
def _notifying_sql(topics: frozenset[str], told: int) -> str:
    return f"SELECT {', '.join(_notify_calls(topics, told, 1))}"


def _notify_calls(topics: frozenset[str], told: int, place: int) -> list[str]:
    """Calls that notify topics, and besides as many channels as are given as parameters."""
    own = [f"pg_notify(${place + n}::text, '')" for n in range(told)]
    return [f"pg_notify('{SCHEMA}_{topic}', '')" for topic in sorted(topics)] + own


def _channels(topics: frozenset[str]) -> tuple[frozenset[str], list[Param]]:
    """Topics that stand in statements, and the channels of others, which are too many for one statement each."""
    fixed = topics.intersection(TOPICS)
    return fixed, to_cells(f"{SCHEMA}_{each}" for each in sorted(topics - fixed))
