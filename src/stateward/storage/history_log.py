"""The transitions of all records in the order of their numbers, for what follows, verifies or exports the history."""

from collections.abc import Iterator
from typing import Any

from stateward.core.lanes import LogEntry
from stateward.core.model import Transition
from stateward.storage.database import Database, log_end
from stateward.storage.record_rows import TRANSITION_COLUMNS, transition_of_row


class HistoryLog:
    """The log of transitions. It only reads: `Store.commit` alone appends."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, *, after: int = 0, limit: int = 1000) -> list[Transition]:
        """The log after this `seq`, as far as it is complete: for readers that follow it."""
        end = self.end()
        return self.between(after, end, limit=limit) if end > after else []

    def between(self, after: int, until: int, *, limit: int = 1000) -> list[Transition]:
        """What can be seen of the log after this `seq` and up to that one."""
        return find_transitions(
            self._database,
            "seq > :after AND seq <= :until ORDER BY seq LIMIT :limit",
            after=after,
            until=until,
            limit=limit,
        )

    def walk(self, *, until: int, chunk: int = 1000) -> Iterator[Transition]:
        """Every transition up to this `seq`, ordered by record and version, a chunk at a time."""
        record_id, version = "", -1
        while True:
            found = find_transitions(
                self._database,
                "(record_id, version) > (:record_id, :version) AND seq <= :until"
                " ORDER BY record_id, version LIMIT :chunk",
                record_id=record_id,
                version=version,
                until=until,
                chunk=chunk,
            )
            yield from found
            if len(found) < chunk:
                return
            record_id, version = found[-1].record_id, found[-1].version

    def entries(self, after: int, until: int, *, limit: int) -> list[LogEntry]:
        """Of what can be seen of the log after this `seq` and up to that one, what its lanes are made of."""
        self._database.flush()
        found: list[Any] = self._database.rows(
            "SELECT seq, record_id, epoch, hash FROM transitions WHERE seq > :after AND seq <= :until"
            " ORDER BY seq LIMIT :limit",
            after=after,
            until=until,
            limit=limit,
        )
        return [LogEntry(*row) for row in found]

    def hashes(self, after: int, until: int, *, chunk: int) -> Iterator[tuple[int, str, str]]:
        """(seq, record, hash) of what can be seen of the log after this `seq` and up to that one."""
        self._database.flush()
        while found := self._database.rows(
            "SELECT seq, record_id, hash FROM transitions WHERE seq > :after AND seq <= :until"
            " ORDER BY seq LIMIT :chunk",
            after=after,
            until=until,
            chunk=chunk,
        ):
            for seq, record_id, own in found:
                after = int(seq or 0)
                yield after, str(record_id), str(own)

    def last_seq(self) -> int:
        """The number of the newest transition that can be seen; below it others may still appear."""
        ((seq,),) = self._database.rows("SELECT max(seq) FROM transitions")
        return int(seq or 0)

    def end(self) -> int:
        """The number up to which the log is complete: what was read up to here lacks nothing."""
        return log_end(self._database)


def find_transitions(database: Database, condition: str, **params: object) -> list[Transition]:
    """The transitions that meet a condition of SQL, which may end with their order and a limit."""
    database.flush()
    found = database.rows(
        f"SELECT {TRANSITION_COLUMNS} FROM transitions WHERE {condition}", **params
    )
    return [transition_of_row(row) for row in found]
