"""The lanes of the history: independent chains of transitions, so that commits of different records rarely meet.

The lane of a record follows from its id and the number of lanes, which is why the first transition fixes that number.
"""

from typing import Any

import msgspec

from stateward.core.errors import StoreMismatch
from stateward.core.lanes import FORMER, Lane
from stateward.core.model import COORDINATOR, Fields, Micros
from stateward.storage.audit import COORDINATOR_STARTED, AuditEntry, AuditLog
from stateward.storage.database import Database, Table
from stateward.storage.row_seals import mark_of_log, sealed_change

LANES = Table(
    "lanes",
    {"lane": "bigint", "count": "bigint", "head": "text", "epoch": "bigint", "since": "bigint"},
    key=("lane",),
)
LANES_GONE = "lanes of the history are missing or were changed; restore the database from a backup"


class Lanes:
    """The lanes of a store: their heads, their number, and the epoch of the coordinator that writes to them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._count = 0  # fixed when a store is made, so it is read once

    def all(self) -> list[Lane]:
        """The lanes as they are at one moment, in order."""
        self._database.flush()
        return self._find()

    def _find(self, *, lock: bool = False) -> list[Lane]:
        suffix = self._database.for_update if lock else ""
        found: list[Any] = self._database.rows(
            f"SELECT lane, count, head, epoch, since FROM lanes ORDER BY lane{suffix}"
        )
        return [
            Lane(lane=lane, count=count, head=head, epoch=epoch, since=since)
            for lane, count, head, epoch, since in found
        ]

    def number(self) -> int:
        if not self._count:
            ((count,),) = self._database.rows("SELECT count(*) FROM lanes WHERE lane >= 0")
            if not count:
                raise StoreMismatch(LANES_GONE)
            self._count = int(count)
        return self._count

    def make(self, number: int, *, now: Micros) -> bool:
        """Divide a history that has not begun into so many lanes; whether it has that many now."""
        with self._database.transaction():
            lanes = self._find(lock=True)
            if sum(each.lane != FORMER for each in lanes) == number:
                return True
            if any(each.count for each in lanes):
                return False
            epoch = max((each.epoch for each in lanes), default=0)
            fresh = [Lane(lane=lane, epoch=epoch, since=now) for lane in range(number)]
            with sealed_change(self._database, LANES.name, at=now):
                self._database.delete(LANES, [(each.lane,) for each in lanes])
                self._database.insert(LANES, [msgspec.structs.astuple(each) for each in fresh])
            self._count = number
            return True

    def count_transitions(self) -> int:
        self._database.flush()
        ((count,),) = self._database.rows("SELECT sum(count) FROM lanes")
        return int(count or 0)

    def begin_epoch(self, *, now: Micros) -> int:
        """Count one more start of a coordinator; transitions record in which epoch they were made.

        It is announced in the audit log first, in a transaction of its own: who writes holds the epoch and then waits
        for the head of that log, so both at once could wait in a circle.
        """
        ((before,),) = self._database.rows("SELECT max(epoch) FROM lanes")
        detail: Fields = {"epoch": int(before or 0), **mark_of_log(self._database)}
        entry = AuditEntry(at=now, actor=COORDINATOR, verb=COORDINATOR_STARTED, detail=detail)
        AuditLog(self._database).add([entry])
        with self._database.transaction():
            self._database.run("UPDATE lanes SET epoch = epoch + 1")
            ((epoch,),) = self._database.rows("SELECT max(epoch) FROM lanes")
            return int(epoch or 0)
