"""Which workers there are, which of them are silent, and how much more work each can take."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from stateward.core.machine import Stage
from stateward.core.model import Micros
from stateward.transport import WorkerInfo


class LeaseTracker:
    """Which workers are silent: those whose heartbeat has not changed for a whole lease.

    A worker writes its own time into `seen_at`. That is never compared with the clock of this process, because either
    may be set while they run: only a change counts, and the lease is measured in monotonic ticks of this process. A
    worker that is seen for the first time has its whole lease left (docs/decisions/0011).
    """

    def __init__(self, *, lease_s: float, ticks: Callable[[], float]) -> None:
        self._lease_s = lease_s
        self._ticks = ticks
        self._heard: dict[str, tuple[Micros, float]] = {}

    def expired(self, workers: Sequence[WorkerInfo]) -> set[str]:
        """The names of the workers whose lease has expired."""
        now = self._ticks()
        before = self._heard
        self._heard = {}  # built anew, so that workers that left do not pile up
        for worker in workers:
            word, heard_at = before.get(worker.id, (None, now))
            is_new = word != worker.seen_at
            self._heard[worker.id] = (worker.seen_at, now if is_new else heard_at)
        return {name for name, (_, at) in self._heard.items() if at + self._lease_s < now}

    def forget(self) -> None:
        """Treat every worker as seen for the first time."""
        self._heard.clear()


class LocalWorker(Protocol):
    """The worker in the process of a coordinator."""

    @property
    def info(self) -> WorkerInfo:
        """What it announces about itself."""

    def load(self) -> Mapping[tuple[str, bool], int]:
        """How much work it has, by (its name, whether inline); what it is about to settle is not counted."""


class Capacity:
    """The free slots of each worker, of each kind of work.

    Inline work runs in the worker itself and takes no child process, so it has slots of its own. A draining worker has
    none, and neither has a silent one: what it was given would only have to be taken back by the next `recover`. A
    worker behind a transport has none here: its relay announces them.

    Work that one machine at a time may do goes to the machine whose worker has been there longest, so that one that
    joins changes nothing; to a relay only where no worker with a database can do it (docs/decisions/0049). A relay
    publishes one at a time, so it is given the next one when `has_alone` says that it has none: others would take slots
    of it that all other work needs.
    """

    def __init__(
        self,
        workers: Sequence[WorkerInfo],
        load: Mapping[tuple[str, bool], int],
        *,
        silent: AbstractSet[str] = frozenset(),
        has_alone: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._has_alone = has_alone
        self._alone: dict[str, bool] = {}
        """Of relays that were asked about, whether they have work of one machine."""
        self._free: dict[tuple[str, bool], int] = {}
        self._runners: dict[str, frozenset[str]] = {}
        self._places: dict[str, tuple[bool, Micros, str]] = {}
        for worker in workers:
            if worker.is_draining or worker.via or worker.id in silent:
                continue
            self._runners[worker.id] = frozenset(worker.runners)
            place = worker.id if worker.is_relay else worker.host
            self._places[worker.id] = (worker.is_relay, worker.started_at, place)
            for is_inline, slots in ((False, worker.slots), (True, worker.inline_slots)):
                # Never negative: a worker that lowers its prefetch may have more work than it announces slots.
                self._free[worker.id, is_inline] = max(
                    0, slots - load.get((worker.id, is_inline), 0)
                )

    @property
    def is_available(self) -> bool:
        """Whether any worker has a free slot."""
        return any(self._free.values())

    def free_slots(self, stage: Stage) -> int:
        """How many attempts at this stage could be dispatched now."""
        is_inline = stage.isolation == "inline"
        return sum(
            self._free[worker, is_inline]
            for worker, runners in self._runners.items()
            if stage.runner in runners
        )

    def take(
        self,
        stage: Stage,
        *,
        avoided: AbstractSet[str] = frozenset(),
        is_of_one_machine: bool = False,
    ) -> str | None:
        """Take a slot of the worker with the most free ones: work spreads evenly. Ties go by name, to be repeatable.

        One that is `avoided` is taken only where there is no other.
        """
        is_inline = stage.isolation == "inline"
        workers = [worker for worker, runners in self._runners.items() if stage.runner in runners]
        if is_of_one_machine:
            is_relay, _, only = min(
                (self._places[each] for each in workers), default=(False, 0, "")
            )
            workers = [each for each in workers if self._places[each][-1] == only]
            if is_relay and self._is_asking(only):
                return None
        able = [
            (worker not in avoided, self._free[worker, is_inline], worker)
            for worker in workers
            if self._free[worker, is_inline]
        ]
        if not able:
            return None
        *_, worker = max(able)
        self._free[worker, is_inline] -= 1
        if worker in self._alone:
            self._alone[worker] |= is_of_one_machine
        return worker

    def _is_asking(self, relay: str) -> bool:
        if relay not in self._alone:
            self._alone[relay] = self._has_alone(relay)
        return self._alone[relay]
