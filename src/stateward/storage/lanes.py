"""The rows of lanes, and how a transaction that has the store to itself extends them."""

from collections.abc import Mapping, Sequence

from stateward.core.errors import StoreMismatch
from stateward.core.failpoints import Point, point
from stateward.core.lanes import extend
from stateward.storage.database import Database, Row, Table

LANES = Table(
    "lanes",
    {"lane": "bigint", "count": "bigint", "head": "text", "epoch": "bigint", "since": "bigint"},
    key=("lane",),
)
HEADS = Table("lanes", {"lane": "bigint", "count": "bigint", "head": "text"}, key=("lane",))
LANES_GONE = "lanes of the history are missing or were changed; restore the database from a backup"


def append_now(
    database: Database, table: Table, rows: Sequence[Row], hashes: Mapping[int, Sequence[str]]
) -> None:
    """Write rows of the history and extend its lanes by their hashes."""
    database.insert(table, rows)
    point(Point.TRANSITIONS_APPENDED)
    numbers = sorted(hashes)
    named = {f"n{place}": number for place, number in enumerate(numbers)}
    places = ", ".join(f":{name}" for name in named)
    found = database.rows(
        f"SELECT lane, count, head FROM lanes WHERE lane IN ({places}) ORDER BY lane", **named
    )
    if len(found) < len(numbers):
        raise StoreMismatch(LANES_GONE)
    ends: list[Row] = [
        (lane, int(count or 0) + len(own), extend(str(head), own))
        for (lane, count, head), own in zip(found, map(hashes.__getitem__, numbers), strict=True)
    ]
    database.update(HEADS, ends, expected="count", column=[count for _, count, _ in found])
    point(Point.LANES_ADVANCED)
