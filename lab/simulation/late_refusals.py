"""A store in memory that refuses as a server does: later than it is asked.

What a turn does not wait for, PostgreSQL refuses once the turn waits for something else, or with the commit. Until then
all is decided in memory as if it were done, and nothing of that may outlive the refusal. SQLite would say so at once.
"""

from collections.abc import Mapping, Sequence

from stateward.core.errors import StoreOvertaken
from stateward.core.failpoints import Point, point
from stateward.storage.database import Cell, Exchanged, Keys, Row, Table
from stateward.storage.sqlite import SqliteDatabase

REFUSED = "a row was changed by another writer; try again"


class LateRefusals(SqliteDatabase):
    """With `has_round_trips`: what is not waited for is refused with the next statement that is, or the commit."""

    _is_refused = False

    def _begin(self) -> None:
        self._is_refused = False
        super()._begin()

    def _undo(self) -> None:
        self._is_refused = False
        super()._undo()

    def _try(self, sql: str, params: Sequence[Cell] | Mapping[str, object] = ()) -> list[Row]:
        if self._is_refused:
            raise StoreOvertaken(REFUSED)
        return super()._try(sql, params)

    def _refuse(self, error: StoreOvertaken) -> None:
        if not self.has_round_trips:
            raise error
        self._is_refused = True

    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        """Write new rows, which is not waited for."""
        if not self._is_refused:
            super().insert(table, rows)

    def overwrite(
        self, table: Table, rows: Sequence[Row], *, expected: str, column: Sequence[Cell]
    ) -> None:
        """Overwrite rows, which is not waited for."""
        if not self._is_refused:
            try:
                super().overwrite(table, rows, expected=expected, column=column)
            except StoreOvertaken as error:
                self._refuse(error)

    def exchange(
        self, old: Keys, table: Table, rows: Sequence[Row], *, is_expected: bool = False
    ) -> Exchanged:
        """Delete rows and write others, which is not waited for where it is expected."""
        if not is_expected:
            return super().exchange(old, table, rows, is_expected=False)
        if not self._is_refused:
            found = super().exchange(old, table, rows, is_expected=False)
            if not all(found.are_new):
                self._refuse(StoreOvertaken(REFUSED))
        return Exchanged([True] * len(rows), [True] * len(rows))

    def require(self, condition: str, **params: object) -> None:
        """Go on as if a condition held."""
        if not self._is_refused:
            try:
                super().require(condition, **params)
            except StoreOvertaken as error:
                self._refuse(error)

    def append(
        self, table: Table, rows: Sequence[Row], hashes: Mapping[int, Sequence[str]]
    ) -> None:
        """Write rows of the history, which arrives with the commit."""
        if not self._is_refused:
            super().append(table, rows, hashes)
            return
        point(Point.TRANSITIONS_APPENDED)
        point(Point.LANES_ADVANCED)
