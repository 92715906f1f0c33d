"""What one transaction of a coordinator works on: the records that it holds, and what it will write."""

from collections import Counter
from collections.abc import Iterable, Mapping
from operator import attrgetter

import msgspec

from stateward.core.model import Change, Disposition, Micros, Record, Work
from stateward.storage.database import Asked
from stateward.storage.record_rows import records_of
from stateward.storage.store import Store


class Batch:
    """What one transaction of a coordinator will write, and the records as it leaves them.

    Nothing is written while a batch is decided. So a decision has to look here first: the store shows the records as
    they were.
    """

    def __init__(self, *, now: Micros, may_foresee: bool = False) -> None:
        self.now = now
        self.may_foresee = may_foresee
        """Whether a new record may be dispatched as if all workers were still idle: it is done again if not."""
        self.is_foreseen = False
        self.records: dict[str, Record] = {}
        self.changed: set[str] = set()
        self.taken: Counter[tuple[str, str]] = Counter()
        self.seen: set[str] = set()
        self.changes: list[Change] = []
        self.notes: list[Disposition] = []
        self.withdrawn: list[tuple[str, int]] = []
        self.sent: list[Work] = []
        self.resent: list[Work] = []
        self.own: frozenset[int] = (
            frozenset()
        )  # `id` of the events that did not come through the inbox
        self.epoch: Asked | None = None  # where it was asked for before the batch was decided
        self.paused: Asked | None = None
        self.is_turn = False

    def load(self, store: Store, ids: Iterable[str]) -> None:
        """Load records that are not here yet, locked."""
        self.take(self.ask(store, ids))

    def ask(self, store: Store, ids: Iterable[str]) -> Asked | None:
        """Ask for records that are not here yet, locked; None if there are none.

        Those of this batch are not read again: the store still has them as they were before it. The lock makes a second
        coordinator wait here, where it has decided nothing yet, and not fail at the version check.
        """
        missing = [record_id for record_id in ids if record_id not in self.records]
        return store.ask_load(missing) if missing else None

    def take(self, asked: Asked | None) -> None:
        """Take over the records that `ask` has asked for."""
        if asked is not None:
            self.records |= records_of(asked.rows())

    def change(self, change: Change) -> None:
        """Add a change; decisions after it see the record as it leaves it."""
        before = self.records.get(change.record.id)
        if before is not None and before.waiting is not None:
            self.taken[before.machine, before.waiting] += 1
        self.changes.append(change)
        self.changed.add(change.record.id)
        self.records[change.record.id] = change.record

    def arrived(self) -> dict[tuple[str, str], list[Record]]:
        """Records that wait for a stage because of this batch, by machine and stage."""
        arrived: dict[tuple[str, str], list[Record]] = {}
        for record_id in self.changed:
            record = self.records[record_id]
            if record.waiting is not None:
                arrived.setdefault((record.machine, record.waiting), []).append(record)
        # `heapq.merge` needs sorted input; the id makes the order of equal ranks repeatable, as that of a set is not.
        for records in arrived.values():
            records.sort(key=attrgetter("rank", "id"))
        return arrived


class Locked(msgspec.Struct, frozen=True):
    """Records that a transaction locks, and what it has asked for besides; `known` is the one that was foreseen."""

    records: Asked | None = None
    epoch: Asked | None = None
    paused: Asked | None = None
    known: Record | None = None

    def found(self) -> dict[str, Record]:
        if self.known is not None:
            return {self.known.id: self.known}
        return {} if self.records is None else records_of(self.records.rows())


def not_paused(
    arrived: Mapping[tuple[str, str], list[Record]], paused: Asked
) -> dict[tuple[str, str], list[Record]]:
    """The records by machine and stage, without those of paused stages and machines."""
    closed = {*paused.rows()}
    return {
        place: records
        for place, records in arrived.items()
        if place not in closed and (place[0], "") not in closed
    }
