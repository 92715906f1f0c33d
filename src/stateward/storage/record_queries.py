"""Queries of people and programs over all records: by status, machine, label, time and text, in pages."""

import msgspec

from stateward.core.model import Record
from stateward.core.query import Query
from stateward.storage.counters import counted_records, record_counts
from stateward.storage.database import PAGE_MAX, Database
from stateward.storage.record_rows import find_records
from stateward.storage.search import (
    NEWEST,
    Order,
    behind_prefix,
    by_time,
    prefix_of,
    time_part,
    where,
)

PREFIXES_MAX = 100


class QueryNames(msgspec.Struct, frozen=True, kw_only=True):
    """What the names in a query mean: by machine, the kind of each state, and the state that each stage runs in."""

    kinds: dict[str, dict[str, str]]
    running: dict[str, dict[str, str]]


class RecordQueries:
    """Finds and counts records."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(
        self,
        query: Query,
        *,
        names: QueryNames,
        after: str = "",
        limit: int = 100,
        order: Order = NEWEST,
    ) -> list[Record]:
        """Records that match, newest first or in another order; `after` is `order.place` of the last one seen."""
        condition, params = where(query, kinds=names.kinds, running=names.running)
        if order.by == NEWEST.by and len(prefixes := self._prefixes()) > 1:
            wanted, place = by_time(condition, prefixes, after=after, is_rising=order.is_rising)
            found = find_records(
                self._database, wanted, **params, **place, limit=min(limit, PAGE_MAX)
            )
            return sorted(found, key=lambda each: time_part(each.id), reverse=not order.is_rising)
        cursor, place = order.condition(after)
        return find_records(
            self._database,
            f"{condition}{cursor} ORDER BY {order.sql} LIMIT :limit",
            **params,
            **place,
            limit=min(limit, PAGE_MAX),
        )

    def _prefixes(self) -> list[str]:
        """What the ids begin with: one look at the index of ids for each pipeline that has records.

        None if there are ids without such a beginning, which nothing but their own order can sort.
        """
        found: list[str] = []
        first = self._first_id("")
        while first is not None and len(found) < PREFIXES_MAX:
            if not (prefix := prefix_of(first)):
                return []
            found.append(prefix)
            first = self._first_id(behind_prefix(prefix))
        return found

    def _first_id(self, at_least: str) -> str | None:
        ((least,),) = self._database.rows(
            "SELECT min(id) FROM records WHERE id >= :at_least", at_least=at_least
        )
        return None if least is None else str(least)

    def count(self, query: Query, *, names: QueryNames) -> dict[tuple[str, str], int]:
        """How many records match, by (machine, status)."""
        if query.is_empty:  # all of them, which need not be read to be counted
            return record_counts(self._database)
        condition, params = where(query, kinds=names.kinds, running=names.running)
        return counted_records(self._database, condition, **params)

    def counts(self) -> dict[tuple[str, str], int]:
        """How many records there are, by (machine, status): read, and not from the counters."""
        return counted_records(self._database, "TRUE")
