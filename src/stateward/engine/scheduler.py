"""Time as a source of events: timeouts, retries, review deadlines.

Each record has at most one `due_at`. When it has come, the scheduler reports the event that it stands for, under an
id derived from record and version, so that ten schedulers which see the same deadline have one effect. Before a timeout
is reported, the attempt's result is looked up: an event that was lost on the way is found again. It never changes the
state of a record: whether the event still applies is decided under the record's lock, by the coordinator.

The time of an attempt runs only while a worker has it. Work that waits for a worker, because the one that had it was
lost or returned it, has its deadline moved on instead (docs/decisions/0038).
"""

from collections.abc import Callable

from stateward.core.failpoints import Point, point
from stateward.core.machine import Machine
from stateward.core.model import SECOND, Event, Micros, Record
from stateward.core.timers import due_event
from stateward.storage.outputs import Outputs, result_event
from stateward.storage.store import Store
from stateward.transport import Bus

# As many as a coordinator handles in one transaction; the rest is due in the next turn.
BATCH_MAX = 512


class Scheduler:
    """Reports an event for each record whose `due_at` has come."""

    def __init__(
        self,
        *,
        store: Store,
        outputs: Outputs,
        bus: Bus,
        machine_of: Callable[[Record], Machine],
        clock: Callable[[], Micros],
        batch_max: int = BATCH_MAX,
        is_clock_doubted: Callable[[], bool] = lambda: False,
    ) -> None:
        self._store = store
        self._outputs = outputs
        self._bus = bus
        self._machine_of = machine_of
        self._clock = clock
        self._batch_max = batch_max
        self._is_clock_doubted = is_clock_doubted
        self._bides_until: Micros = 0

    def bide(self, seconds: float) -> None:
        """Let no attempt time out for so long: workers that could not write their results get the time to.

        For a process that has just started, or whose database was away. In that time the lost ones are found, too.
        """
        self._bides_until = self._clock() + round(seconds * SECOND)

    def tick(self) -> int:
        """Report what is due now; how many events that made.

        Records are read without a lock. One that moves meanwhile has another version, and its event is ignored as
        stale. While the clock of this machine is not trusted, nothing is due.
        """
        if self._is_clock_doubted():
            return 0
        now = self._clock()
        events = [
            event
            for record in self._store.due(now, limit=self._batch_max)
            if (event := self._event(record, now)) is not None
        ]
        if events:
            point(Point.DUE_FOUND)
            self._bus.report(events)
        return len(events)

    def next_at(self) -> Micros | None:
        """The earliest `due_at` of all records: how long the loop may sleep."""
        return None if self._is_clock_doubted() else self._store.next_due()

    def _event(self, record: Record, now: Micros) -> Event | None:
        machine = self._machine_of(record)
        if machine.kind[record.status] == "running":
            # The work is done, only its event is missing: to report a timeout would throw the result away.
            mark = self._outputs.result(record.id, record.version)
            if mark is not None:
                return result_event(mark, self._outputs.seal(record.id, record.version))
            if self._is_standing(machine, record, now):
                return None
        return due_event(machine, record, now=now)

    def _is_standing(self, machine: Machine, record: Record, now: Micros) -> bool:
        """Whether the time of an attempt does not run now; then its deadline is moved on."""
        due_at = record.due_at or now
        if self._bus.waits_for_worker(record.id, record.version):
            wait = round(machine.stage_running_in[record.status].timeout_s * SECOND)
        elif now < self._bides_until:
            wait = self._bides_until - now
        else:
            return False
        self._store.postpone([(record.id, record.version)], by=now - due_at + wait)
        return True
