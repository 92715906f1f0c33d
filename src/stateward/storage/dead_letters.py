"""What could not be processed, kept with the reason for a person to look at."""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from stateward.core.model import Micros
from stateward.storage.database import PAGE_MAX, Database, Row, Table
from stateward.storage.row_seals import insert_sealed

NUMBER_MAX = (1 << 63) - 1
DEAD_LETTERS = Table(
    "dead_letters",
    {"kind": "text", "body": "text", "reason": "text", "at": "bigint", "salt": "text"},
    key=(),
)


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True):
    """Something that could not be processed."""

    kind: str
    body: str
    reason: str
    at: Micros


class DeadLetters:
    """The dead letters of a store; `new_salt` is for their seals."""

    def __init__(self, database: Database, *, new_salt: Callable[[], str]) -> None:
        self._database = database
        self._new_salt = new_salt

    def add(self, letters: Sequence[DeadLetter]) -> None:
        """Store what could not be processed."""
        rows: list[Row] = [(each.kind, each.body, each.reason, each.at) for each in letters]
        with self._database.transaction():
            insert_sealed(self._database, DEAD_LETTERS, rows, new_salt=self._new_salt)

    def page(
        self, *, before: int | None = None, limit: int = PAGE_MAX
    ) -> list[tuple[int, DeadLetter]]:
        """The newest first, each with its number; `before` is the last one that was seen."""
        least = NUMBER_MAX if before is None else before
        return self._find("WHERE id < :before ORDER BY id DESC", before=least, limit=limit)

    def walk(self, *, chunk: int = 1000) -> Iterator[DeadLetter]:
        """All of them, oldest first, a chunk in memory at a time."""
        after = 0
        while found := self._find("WHERE id > :after ORDER BY id", after=after, limit=chunk):
            yield from (letter for _, letter in found)
            after = found[-1][0]

    def _find(self, which: str, **values: int) -> list[tuple[int, DeadLetter]]:
        found = self._database.rows(
            f"SELECT id, kind, body, reason, at FROM dead_letters {which} LIMIT :limit",
            **values,
        )
        return [
            (
                int(number or 0),
                DeadLetter(kind=str(kind), body=str(body), reason=str(reason), at=int(at or 0)),
            )
            for number, kind, body, reason, at in found
        ]
