"""Views of the list of records that people saved in the console: name, query and order, for each caller apart."""

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.core.model import Micros
from stateward.storage.database import Database, Table

VIEWS_MAX = 50  # of one caller: all are shown above the list
NAME_CHARS_MAX = 40

SAVED_VIEWS = Table(
    "saved_views",
    {"owner": "text", "name": "text", "query": "text", "at": "bigint", "sort": "text"},
    key=("owner", "name"),
)


class SavedView(msgspec.Struct, frozen=True, kw_only=True):
    """A query under a name, and the order of its list as the address has it; empty: the newest first."""

    name: str
    query: str
    sort: str = ""


class SavedViews:
    """The views, in one database; `owner` is the id of a key, or of the user of this machine."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, owner: str) -> list[SavedView]:
        """Those of one caller, in the order in which they were saved."""
        found = self._database.rows(
            "SELECT name, query, sort FROM saved_views WHERE owner = :owner ORDER BY at, name",
            owner=owner,
        )
        return [
            SavedView(name=str(name), query=str(query), sort=str(sort))
            for name, query, sort in found
        ]

    def save(self, owner: str, view: SavedView, *, now: Micros) -> None:
        """Save a view; one of the same name is replaced."""
        name = view.name.strip()
        if not 0 < len(name) <= NAME_CHARS_MAX or not name.isprintable():
            raise InvalidRequest(f"the name of a view has 1 to {NAME_CHARS_MAX} characters")
        with self._database.transaction():
            self._database.delete(SAVED_VIEWS, [(owner, name)])
            if len(self.of(owner)) >= VIEWS_MAX:
                raise InvalidRequest(f"there are {VIEWS_MAX} views already; remove some")
            self._database.insert(SAVED_VIEWS, [(owner, name, view.query, now, view.sort)])

    def remove(self, owner: str, name: str) -> None:
        """Remove a view; one that is not there is removed already."""
        with self._database.transaction():
            self._database.delete(SAVED_VIEWS, [(owner, name)])
