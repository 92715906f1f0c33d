"""The rows of the Merkle trees over the lanes and the audit log: derived from them, and stored to be read instead."""

from collections.abc import Sequence
from typing import NamedTuple

from stateward.storage.database import Database, Table

HISTORY_TREE = Table(
    "history_tree",
    {"log": "bigint", "level": "bigint", "place": "bigint", "seq": "bigint", "hash": "text"},
    key=("log", "level", "place"),
)


class TreeRow(NamedTuple):
    """The root of one complete, aligned subtree; `seq` is the number of its last leaf in the log."""

    log: int
    level: int
    place: int
    seq: int
    hash: str


class TreeRows:
    """The stored hashes, in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, rows: Sequence[TreeRow]) -> None:
        """Store rows; what another process has stored meanwhile is the same, and stays."""
        if rows:
            with self._database.transaction():
                self._database.insert_new(HISTORY_TREE, [tuple(each) for each in rows])

    def counts(self, level: int) -> dict[int, int]:
        """How many subtrees of this level each log has."""
        found = self._database.rows(
            "SELECT log, count(*) FROM history_tree WHERE level = :level GROUP BY log", level=level
        )
        return {int(log or 0): int(count or 0) for log, count in found}

    def read(self, log: int, level: int, first: int, last: int) -> list[TreeRow]:
        """The subtrees of a log from one place up to, and without, another."""
        found = self._database.rows(
            "SELECT log, level, place, seq, hash FROM history_tree WHERE log = :log AND level = :level"
            " AND place >= :first AND place < :last ORDER BY place",
            log=log,
            level=level,
            first=first,
            last=last,
        )
        return [TreeRow(*row) for row in found]  # type: ignore[arg-type]

    def every(self) -> list[TreeRow]:
        """Every row; there is one for 255 transitions."""
        found = self._database.rows(
            "SELECT log, level, place, seq, hash FROM history_tree ORDER BY log, level, place"
        )
        return [TreeRow(*row) for row in found]  # type: ignore[arg-type]
