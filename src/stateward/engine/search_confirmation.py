"""Stages that the engine does itself: a document is confirmed when a search finds it.

A pipeline names such a stage in its `RankedText`. No worker is given it, because a runner has no database: records that
wait for it are looked for in the index here, in the process that indexes, once the indexer has passed them. What is
found is reported as completed; what is not, as failed with `NOT_SEARCHABLE`. It writes events only: whether one still
applies is decided by the coordinator (docs/decisions/0041).
"""

import math
from collections.abc import Callable, Collection

import msgspec

from stateward.core.model import COORDINATOR, Event, Micros, Record, event_about
from stateward.storage.full_text import FullTextIndex, IndexCursor
from stateward.storage.store import Store
from stateward.transport import Bus

NOT_SEARCHABLE = "NOT_SEARCHABLE"
ADVICE = "make the index anew with stateward search --rebuild, and retry"
BATCH_MAX = 32  # records of one step: each costs some milliseconds, for which the loop waits
# On PostgreSQL a search of several queries can meet an index that is being joined. What is missing is looked for again.
LOOKS_MAX = 3
LOOK_EVERY_S = 0.5


class Probed(msgspec.Struct, frozen=True, kw_only=True):
    """What a search said of a document: by what it was found, or why it was not."""

    found_by: tuple[str, ...] = ()
    missing: str = ""


class SearchConfirmation:
    """Asks the search for the documents that wait to be confirmed."""

    def __init__(
        self,
        stages: Collection[tuple[str, str]],
        *,
        store: Store,
        index: FullTextIndex,
        bus: Bus,
        probe: Callable[[Record], Probed],
        clock: Callable[[], Micros],
        ticks: Callable[[], float],
    ) -> None:
        self._stages = tuple(stages)
        self._store = store
        self._index = index
        self._bus = bus
        self.probe = probe
        self._clock = clock
        self._ticks = ticks
        self._look_at = 0.0
        self._is_waited_for = True
        self._looks: dict[tuple[str, int], int] = {}

    def step(self, *, is_news: bool) -> bool:
        """Confirm some of what waits; whether there was anything. Without news it looks twice a second."""
        now = self._ticks()
        if not self._stages or not (is_news or now >= self._look_at):
            return False
        self._look_at = now + LOOK_EVERY_S
        open_stages = self._store.pauses.open_stages(self._stages)
        self._is_waited_for = any(open_stages.values())
        if not self._is_waited_for:
            self._looks.clear()
            return False
        cursor = self._index.cursor()
        events = [
            event
            for (machine, stage), is_waiting in open_stages.items()
            if is_waiting
            for record in self._store.waiting(machine, stage, limit=BATCH_MAX)
            if (event := self._event(record, stage, cursor)) is not None
        ]
        if events:
            with self._store.transaction():
                self._bus.report(events)
        return bool(events)

    @property
    def wakes_in(self) -> float:
        """Seconds until the next look, if something waits for one."""
        return max(0.0, self._look_at - self._ticks()) if self._is_waited_for else math.inf

    def is_done(self) -> bool:
        """Whether nothing waits to be confirmed, but for what is paused."""
        return not self._stages or not any(self._store.pauses.open_stages(self._stages).values())

    def _event(self, record: Record, stage: str, cursor: IndexCursor) -> Event | None:
        """What is to be reported; None while it cannot be told yet."""
        last = self._store.history(record.id)[-1]
        if cursor.record_id == record.id or cursor.seq < last.seq:  # the index is not past it yet
            return None
        probed = self.probe(record)
        key = (record.id, record.version)
        if probed.missing:
            looks = self._looks[key] = self._looks.get(key, 0) + 1
            if looks < LOOKS_MAX:
                return None
        self._looks.pop(key, None)
        return _report(record, stage, probed, self._clock())


def _report(record: Record, stage: str, probed: Probed, now: Micros) -> Event:
    return event_about(
        record,
        f"{stage}.failed" if probed.missing else f"{stage}.completed",
        at=now,
        actor=COORDINATOR,
        facts={} if probed.missing else {"found_by": [*probed.found_by]},
        error_code=NOT_SEARCHABLE if probed.missing else None,
        error_message=f"{probed.missing}; {ADVICE}" if probed.missing else None,
    )
