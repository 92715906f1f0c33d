"""Rows that name records in their text: answers to requests, and dead letters. No column says whom they are about.

One pass over such a table serves many records, however many these are.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from stateward.storage.database import Database, Row, Table

CHUNK = 500  # bodies in memory at once
ANSWERS = Table("answers", {"caller": "text", "key": "text"}, key=("caller", "key"))
DEAD_LETTERS = Table("dead_letters", {"id": "bigint"}, key=("id",))


def rows_naming(database: Database, table: Table, record_ids: Sequence[str]) -> list[Row]:
    """The keys of the rows whose body names one of these records."""
    is_named = _finder(record_ids)
    return [row[:-1] for row in _bodies(database, table) if is_named(str(row[-1]))]


def _bodies(database: Database, table: Table) -> Iterator[Row]:
    columns = ", ".join(table.key)
    condition = "TRUE"
    params: dict[str, object] = {}
    while found := database.rows(
        f"SELECT {columns}, body FROM {table.name} WHERE {condition} ORDER BY {columns} LIMIT {CHUNK}",
        **params,
    ):
        yield from found
        names = [f"k{place}" for place, _ in enumerate(table.key)]
        condition = f"({columns}) > ({', '.join(f':{name}' for name in names)})"
        params = dict(zip(names, found[-1], strict=False))


def _finder(record_ids: Sequence[str]) -> Callable[[str], bool]:
    """Whether a text holds one of these ids, wherever it begins and ends.

    Ids begin with a prefix and have a length; there are few pairs of these, so a text is searched a few times and not
    once for each id.
    """
    ids = frozenset(record_ids)
    shapes = {(each[: each.find("_") + 1], len(each)) for each in ids}
    patterns = [
        re.compile(f"(?=({re.escape(prefix)}.{{{length - len(prefix)}}}))", re.DOTALL)
        for prefix, length in sorted(shapes)
    ]
    return lambda text: any(
        match[1] in ids for pattern in patterns for match in pattern.finditer(text)
    )
