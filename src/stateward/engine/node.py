"""The loop of a process: do what there is to do, in all of its roles, then sleep until something rings.

`app` builds it from the parts that the roles need. It decides nothing about records.
"""

import errno
import math
import os
import select
import selectors
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Self

import msgspec

from stateward import telemetry
from stateward.core.errors import StoreBroken, StoreFull, StoreUnreachable
from stateward.core.model import SECOND, Event, Micros
from stateward.engine.coordinator import Coordinator
from stateward.engine.mirror import Mirror
from stateward.engine.scheduler import Scheduler
from stateward.engine.system import SteadyClock
from stateward.notifications import Notifier
from stateward.storage.database import (
    TOPIC_CHANGES,
    TOPIC_EVENTS,
    TOPIC_READY,
    Database,
    Wakeup,
)
from stateward.transport import Bus
from stateward.workers.worker import Worker

RECOVER_EVERY_S = 1.0
CLOCK_OFF_S = 5.0
PAUSE_MIN_S = 0.1  # while the database is away: doubled from try to try, up to
PAUSE_MAX_S = 2.0
REMIND_EVERY_S = 60.0
TURN_S = 0.02
DISK_FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT})
WAIT_STEP_S = 5.0


class Roles(msgspec.Struct, frozen=True, kw_only=True):
    """What a process does; None for what it does not. A coordinator comes with its scheduler."""

    worker: Worker | None = None
    coordinator: Coordinator | None = None
    scheduler: Scheduler | None = None
    mirror: Mirror | None = None
    notifier: Callable[[Callable[[], None]], Notifier] | None = None


class Node:
    """One thread that drives the roles of a process: do what there is to do, then sleep until it rings.

    What the roles write in one turn is one transaction where they share a database, so that an output, the
    transition that follows from it and the work that follows from that cost one durable commit.

    A database that is away or full passes: the loop says so once, tries again with growing pauses, and goes on
    where it was. A disk that failed under a write does not pass: then the process ends.
    """

    def __init__(
        self,
        roles: Roles,
        *,
        database: Database,
        bus: Bus,
        clock: Callable[[], Micros],
        idle_s: float,
    ) -> None:
        self._database = database
        self._clock = clock
        self._bus = bus
        self._idle_s = idle_s
        self._worker = roles.worker
        self._coordinator = roles.coordinator
        self._scheduler = roles.scheduler
        self._mirror = roles.mirror
        self._is_stopping = False
        self._recover_at = 0.0
        self._trouble: Trouble | None = None
        self._turned_at = -math.inf
        self._log = telemetry.log("process")
        self._is_clock_off = False
        self._wake_reader, self._wake_writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        # A notifier beside a coordinator sees what that did at the end of the same turn.
        notifier = roles.notifier
        topics = (
            (TOPIC_EVENTS, TOPIC_READY)
            if roles.coordinator is not None
            else (TOPIC_CHANGES,) * (notifier is not None)
        )
        self._wakeup: Wakeup | None = database.wakeup(*topics) if topics else None
        self._notifier = None if notifier is None else notifier(self._wake)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stop(self) -> None:
        """Ask the loop to finish what runs and end; safe in a signal handler and from other threads."""
        self._is_stopping = True
        self._wake()

    def _wake(self) -> None:
        with suppress(BlockingIOError, OSError):
            os.write(self._wake_writer, b"!")

    def run(self, *, until_idle: bool = False) -> None:
        """Turn until asked to stop, or, with `until_idle`, until nothing is left to do."""
        while True:
            try:
                if self._is_ended(until_idle=until_idle):
                    return
            except (StoreUnreachable, StoreFull, OSError) as error:
                if until_idle or self._is_stopping or not _may_pass(error):
                    raise
                self._endure(error)

    def work_while(self, is_wanted: Callable[[], bool], *, step_s: float = WAIT_STEP_S) -> None:
        """Turn as long as somebody wants it; asked after every turn, and now and then while nothing happens."""
        while is_wanted():
            if not self.turn():
                self._sleep(at_most_s=step_s)

    def _is_ended(self, *, until_idle: bool) -> bool:
        """A turn and the sleep after it; whether that was the last one."""
        if self._is_stopping and self._worker is not None:
            self._worker.drain()
        if self._is_stopping and self._notifier is not None:
            self._notifier.drain()
        if not until_idle:
            self._keep_pace()
        is_busy = self.turn()
        self._relieve()
        if self._is_stopping and self._is_idle:
            return True
        if not is_busy:
            if until_idle and self._is_done():
                return True
            self._sleep()
        return False

    def _keep_pace(self) -> None:
        """Where many jobs are under way, let a little more happen before the next turn.

        One durable commit then serves many of them. The children go on meanwhile with what they have. Where there is
        one job at a time nothing is put off.
        """
        next_at = self._turned_at + TURN_S if self._in_flight > 1 else -math.inf
        while (left := next_at - time.monotonic()) > 0 and not self._is_stopping:
            if self._worker is None:
                time.sleep(left)
                continue
            self._worker.tend()
            with selectors.DefaultSelector() as selector:
                for descriptor, events in self._worker.watched(is_called=False):
                    selector.register(descriptor, events)
                selector.select(left)
        self._turned_at = time.monotonic()

    @property
    def _in_flight(self) -> int:
        """How many jobs the last turn saw."""
        if self._worker is not None:
            return self._worker.in_flight
        return 0 if self._coordinator is None else self._coordinator.in_flight

    @property
    def _is_idle(self) -> bool:
        """Whether nothing that this process began is under way."""
        is_worker_idle = self._worker is None or self._worker.is_idle
        return is_worker_idle and (self._notifier is None or self._notifier.is_idle)

    def _endure(self, error: Exception) -> None:
        """Wait a little before the next try; the first of a row is told, and one a minute."""
        trouble = self._trouble or Trouble(since=time.monotonic())
        if time.monotonic() >= trouble.remind_at:
            trouble.remind_at = time.monotonic() + REMIND_EVERY_S
            self._log.warning(f"cannot go on, trying again until it passes: {error}")
        self._trouble = trouble
        if self._coordinator is not None:
            self._coordinator.reset_leases()  # who could not write is not silent
        select.select([self._wake_reader], [], [], trouble.pause_s)
        trouble.pause_s = min(2 * trouble.pause_s, PAUSE_MAX_S)

    def _relieve(self) -> None:
        if self._trouble is not None:
            self._log.warning(f"going on after {time.monotonic() - self._trouble.since:.1f} s")
            self._trouble = None

    def turn(self) -> bool:
        """One round of all roles; whether there was anything to do."""
        if self._wakeup is not None:
            self._wakeup.clear()
        worker = self._worker
        is_busy = worker.prepare() if worker is not None else False
        if worker is not None and worker.database is not self._database:
            is_busy |= worker.settle()  # in transactions of its own
            worker.committed()
            worker = None
        if self._coordinator is not None:
            told: list[Event] = []
            with self._database.transaction():
                if worker is not None:
                    is_busy |= worker.settle(tell=told.extend)
                is_busy |= self._coordinate(self._coordinator, told)
        elif worker is not None:
            with self._database.transaction():
                is_busy |= worker.settle()
        if worker is not None:
            worker.committed()
        if self._mirror is not None:
            is_busy |= self._mirror.step() >= self._mirror.batch_max
        if self._notifier is not None:
            is_busy |= self._notifier.step()
        return is_busy

    def _coordinate(self, coordinator: Coordinator, told: Sequence[Event]) -> bool:
        if time.monotonic() >= self._recover_at:
            self._recover_at = time.monotonic() + RECOVER_EVERY_S
            self._watch_clock()
            coordinator.recover()
            coordinator.upgrade_records()
        if self._scheduler is not None:
            self._scheduler.tick()
        return bool(coordinator.turn(told))

    def _watch_clock(self) -> None:
        """Say once that somebody set the clock of this machine."""
        clock = self._clock
        off_s = clock.off_s if isinstance(clock, SteadyClock) else 0.0
        is_off = abs(off_s) > CLOCK_OFF_S
        if is_off and not self._is_clock_off:
            self._log.warning(
                f"the clock of this machine was set {'ahead' if off_s > 0 else 'back'} by {abs(off_s):.0f} s; "
                "this process keeps its own time, so that no deadline moves: start it again to take the new one over"
            )
        self._is_clock_off = is_off

    def _is_done(self) -> bool:
        if not self._is_idle or self._bus.load_by_worker() or self._bus.depth():
            return False
        return self._notifier is None or self._notifier.is_done()

    def _sleep(self, *, at_most_s: float = math.inf) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake_reader, selectors.EVENT_READ)
            if self._wakeup is not None:
                selector.register(self._wakeup.fileno(), selectors.EVENT_READ)
            if self._worker is not None:
                for descriptor, events in self._worker.watched():
                    selector.register(descriptor, events)
            selector.select(max(0.0, min(self._patience(), at_most_s)))
        with suppress(BlockingIOError):
            os.read(self._wake_reader, 4096)

    def _patience(self) -> float:
        waits = [self._idle_s]
        if self._worker is not None:
            waits.append(self._worker.wake_in())
        if self._mirror is not None and (wakes_in := self._mirror.wakes_in) is not None:
            waits.append(wakes_in)
        if self._notifier is not None:
            waits.append(self._notifier.wakes_in)
        if self._coordinator is not None:
            waits.append(max(0.0, self._recover_at - time.monotonic()))
        due_at = None if self._scheduler is None else self._scheduler.next_at()
        if due_at is not None:
            waits.append((due_at - self._clock()) / SECOND)
        return min(waits)

    def close(self) -> None:
        """Leave: what this process still had waits for another."""
        if self._worker is not None:
            self._worker.close()
        if self._mirror is not None:
            self._mirror.close()
        if self._notifier is not None:
            self._notifier.close()
        if self._wakeup is not None:
            self._wakeup.close()
        os.close(self._wake_reader)
        os.close(self._wake_writer)


class Trouble(msgspec.Struct, kw_only=True):
    """Since when a loop cannot go on, how long it waits before the next try, and when it says so again."""

    since: float
    pause_s: float = PAUSE_MIN_S
    remind_at: float = 0.0


def _may_pass(error: Exception) -> bool:
    """Whether waiting can help: the database is away or held, or the disk is full."""
    if isinstance(error, OSError):
        return error.errno in DISK_FULL_ERRNOS
    return not isinstance(error, StoreBroken)
