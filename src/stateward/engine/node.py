"""The main loop of a process: run one turn of each of its roles, then sleep until a wake-up or a deadline.

`app` builds it from the parts that the roles need. It decides nothing about records.
"""

import errno
import math
import os
import select
import selectors
import time
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import NamedTuple, Self

import msgspec

from stateward import telemetry
from stateward.core.errors import StoreBroken, StoreFull, StoreUnreachable
from stateward.core.model import SECOND, Event, Micros
from stateward.engine.coordinator import Coordinator
from stateward.engine.foresight import LOOK_MAX
from stateward.engine.indexer import Indexer
from stateward.engine.mirror import Mirror
from stateward.engine.relay import Relay
from stateward.engine.scheduler import Scheduler
from stateward.engine.search_confirmation import SearchConfirmation
from stateward.engine.system import SteadyClock
from stateward.notifications import Notifier
from stateward.storage.database import (
    TOPIC_CHANGES,
    TOPIC_EVENTS,
    TOPIC_READY,
    Database,
    Wakeup,
)
from stateward.storage.pipe_wakeups import is_readable
from stateward.transport import Bus
from stateward.workers.courier import Courier
from stateward.workers.worker import Tell, Worker

# Leases last many seconds, turns milliseconds: recovery in each would be wasted queries.
RECOVER_EVERY_S = 1.0
CLOCK_OFF_S = 5.0  # less is drift, which `SteadyClock` follows; more was set by hand or by NTP (docs/decisions/0011)
# The pause while the database is away doubles from PAUSE_MIN_S, so that a short outage costs little, up to PAUSE_MAX_S,
# so that work resumes soon after a long one.
PAUSE_MIN_S = 0.1
PAUSE_MAX_S = 2.0
# Tries are at most 2 s apart: an outage is logged when it begins, and then only this often.
REMIND_EVERY_S = 60.0
# What waits until the loop has begun waits no longer than this where there is a lot to do.
BEGIN_S_MAX = 0.5
# Under load a turn starts at most this often: its commit then serves the results of many jobs.
TURN_S = 0.04
# A full disk and a full quota: both pass.
DISK_FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT})
NOTHING: frozenset[str] = frozenset()
WAIT_STEP_S = 5.0  # how often `work_while` checks its condition when nothing happens


class Roles(msgspec.Struct, frozen=True, kw_only=True):
    """What a process does; None for what it does not. A coordinator comes with its scheduler.

    `notifier` is a factory: a notifier calls from its threads, and the wake-up that it needs belongs to the loop.
    Over a transport, `relay` has work for workers elsewhere, and `courier` brings a worker its work.
    """

    worker: Worker | None = None
    coordinator: Coordinator | None = None
    scheduler: Scheduler | None = None
    relay: Relay | None = None
    courier: Courier | None = None
    mirror: Mirror | None = None
    indexer: Indexer | None = None
    confirmation: SearchConfirmation | None = None
    notifier: Callable[[Callable[[], None]], Notifier] | None = None
    decisions: Callable[[], int] | None = None
    """Makes the pending decisions that are due; how many there were."""


class Node:
    """One thread that drives the roles of a process.

    What the roles write in one turn is one transaction where they share a database, so that an output, the
    transition that follows from it and the work that follows from that cost one durable commit.

    A database that is unreachable or full is waited for: the loop logs it, retries with growing pauses, and continues
    where it was. After a disk failed during a write the process ends, because what the disk holds is unknown until the
    store is reopened (`StoreBroken`).
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
        self._relay = roles.relay
        self._courier = roles.courier
        self._links: list[Relay | Courier] = [
            each for each in (roles.relay, roles.courier) if each is not None
        ]
        self._mirror = roles.mirror
        self._indexer = roles.indexer
        self._confirmation = roles.confirmation
        self._decisions = roles.decisions
        self._is_stopping = False
        self._failure: Exception | None = None
        self._once_begun: Callable[[], object] | None = None
        self._begin_by = math.inf
        self._is_waited_for = True  # by a caller that goes on when all is done
        self._recover_at = 0.0
        self._due_at: float | None = None
        self._trouble: Trouble | None = None
        self._turned_at = -math.inf
        self._has_more = False
        self._ready: AbstractSet[int] | None = None
        """The descriptors that ended the last sleep, until a turn has used them; None if any may be ready."""
        self._log = telemetry.log("process")
        self._is_clock_off = False
        self._poll = Poll()
        self._wake_reader, self._wake_writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        # A notifier beside a coordinator runs at the end of each turn and needs no wake-up for changes. Other
        # coordinators' changes reach it with the next turn, at the latest after RECOVER_EVERY_S.
        notifier = roles.notifier
        topics = (
            (TOPIC_EVENTS, TOPIC_READY)
            if roles.coordinator is not None
            else (TOPIC_CHANGES,) * (notifier is not None)
        )
        # What has the work of this process hears of it from here, and has no wake-up of its own.
        self._called = [
            each.calls
            for each in (roles.worker, roles.relay)
            if each is not None and roles.coordinator is not None
        ]
        for calls in self._called:
            calls.leave_to_loop()
        self._work_topics = frozenset(each for calls in self._called for each in calls.topics)
        topics += tuple(self._work_topics)
        self._wakeup: Wakeup | None = database.wakeup(*topics) if topics else None
        self._notifier = None if notifier is None else notifier(self._wake)
        if self._coordinator is not None:
            self._coordinator.dispatcher.local_worker = self._worker or self._relay
            self._coordinator.tells_later = True
        self._bide()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stop(self) -> None:
        """Make the loop finish what runs and end; safe in a signal handler and from other threads."""
        self._is_stopping = True
        self._wake()

    def abort(self, error: Exception) -> None:
        """Make `run` raise this before its next turn; what is under way goes to another worker. From any thread."""
        self._failure = error
        self._wake()

    def _wake(self) -> None:
        # A byte in a pipe ends a `select` that has begun and one that is about to begin, which a flag alone cannot.
        # A full pipe means that a wake-up is pending already; a closed one, that the loop has ended.
        with suppress(BlockingIOError, OSError):
            os.write(self._wake_writer, b"!")

    def run(
        self, *, until_idle: bool = False, once_begun: Callable[[], object] | None = None
    ) -> None:
        """Run turns until `stop`, or, with `until_idle`, until nothing is left to do.

        `once_begun` is for what can wait until the work that there was has been taken up: it is called when there is
        nothing to do for the first time, and at the latest after BEGIN_S_MAX; again, if the database fails it.

        A service waits for its database to come back. With `until_idle`, or when it is stopping, the error is raised: a
        caller waits for the result, or for the process to end.
        """
        self._is_waited_for = until_idle
        self._once_begun = once_begun
        self._begin_by = time.monotonic() + BEGIN_S_MAX
        while self._failure is None:
            try:
                if self._is_ended(until_idle=until_idle):
                    return
            except (StoreUnreachable, StoreFull, OSError) as error:
                if until_idle or self._is_stopping or not _may_pass(error):
                    raise
                self._endure(error)
        raise self._failure

    def work_while(self, is_wanted: Callable[[], bool], *, step_s: float = WAIT_STEP_S) -> None:
        """Run turns while `is_wanted`; it is checked after every turn, and every `step_s` when nothing happens."""
        while is_wanted():
            has_more = self.turn() and self._has_more
            # Asked before the sleep: what was waited for may have come with this turn, and then nothing wakes it.
            if not has_more and is_wanted():
                self._sleep(at_most_s=step_s)

    def _is_ended(self, *, until_idle: bool) -> bool:
        """A turn and the sleep after it; whether that was the last one.

        When stopping, roles drain but turns go on until they are idle: what runs is still settled, not lost.
        """
        if self._is_stopping and self._worker is not None:
            self._worker.drain()
        if self._is_stopping and self._notifier is not None:
            self._notifier.drain()
        if self._is_stopping:
            for link in self._links:
                link.drain()
        self._keep_pace()
        is_busy = self.turn()
        self._relieve()
        if self._once_begun is not None and (not is_busy or time.monotonic() >= self._begin_by):
            self._once_begun()
            self._once_begun = None
        if self._is_stopping and self._is_idle:
            return True
        if not is_busy and until_idle and self._is_done():
            return True
        # A caller that waits for the end is told by a turn that finds nothing to do.
        if not is_busy or not (until_idle or self._has_more):
            self._sleep()
        return False

    def _keep_pace(self) -> None:
        """When several jobs are in flight, wait until TURN_S have passed since the last turn, or none runs any more.

        One durable commit then serves many results. Child processes are given their next queued jobs meanwhile. A
        single job is not delayed: there is nothing to share its commit with.
        """
        next_at = self._turned_at + TURN_S if self._in_flight > 1 else -math.inf
        while (left := next_at - time.monotonic()) > 0 and not self._is_stopping:
            if self._worker is None:
                time.sleep(left)
                continue
            self._worker.tend()
            if not self._worker.is_running:
                break
            # Children only: the wake-up for new work would end the pause that is to collect results.
            self._poll.wait(
                self._worker.watched(is_called=False), min(left, self._worker.wake_in())
            )
        self._turned_at = time.monotonic()

    @property
    def _in_flight(self) -> int:
        """How many jobs there were in the last turn: the worker's own, or without a worker, those of all workers.

        A relay knows better than the last look at all workers, which may be a second old and then hold up one alone.
        """
        if self._worker is not None:
            return self._worker.in_flight
        if self._relay is not None:
            return self._relay.in_flight
        return 0 if self._coordinator is None else self._coordinator.dispatcher.in_flight

    @property
    def _is_idle(self) -> bool:
        """Whether nothing that this process started is unfinished."""
        is_worker_idle = self._worker is None or self._worker.is_idle
        # A relay is not waited for: the store has its work, and another coordinator goes on with it.
        is_reported = self._courier is None or self._courier.is_idle
        return is_worker_idle and is_reported and (self._notifier is None or self._notifier.is_idle)

    def _endure(self, error: Exception) -> None:
        """Wait before the next try. The first failure in a row is logged, and then one a minute."""
        trouble = self._trouble or Trouble(since=time.monotonic())
        if time.monotonic() >= trouble.remind_at:
            trouble.remind_at = time.monotonic() + REMIND_EVERY_S
            self._log.warning(f"cannot go on, trying again until it passes: {error}")
        self._trouble = trouble
        if self._coordinator is not None:
            self._coordinator.reset_leases()  # workers could not write heartbeats either
            self._bide()
        # On the pipe alone, not on the database: `stop` must end the pause.
        is_readable(self._wake_reader, timeout_s=trouble.pause_s)
        trouble.pause_s = min(2 * trouble.pause_s, PAUSE_MAX_S)

    def _bide(self) -> None:
        if self._scheduler is not None and self._coordinator is not None:
            self._scheduler.bide(self._coordinator.lease_s)

    def _relieve(self) -> None:
        if self._trouble is not None:
            self._log.warning(f"going on after {time.monotonic() - self._trouble.since:.1f} s")
            self._trouble = None

    def turn(self) -> bool:
        """One turn of all roles; whether there was anything to do.

        The order matters. Wake-ups are cleared before anything is read, so that what is written after the read wakes
        the loop again. The worker prepares outside the transaction, because inline runners run there and must not hold
        the write lock. It settles before the coordinator's part, which handles the results in the same transaction and
        dispatches to the slots that they freed. Mirror, notifier and indexer follow the log, so they come after the
        commit. A busy turn mostly leaves nothing but what a wake-up will tell of: `_has_more` says whether the next one
        should follow at once.
        """
        ready, self._ready = self._ready, None
        topics = self._topics_told(ready)
        self._make_decisions()
        worker = self._worker
        is_busy = False
        for link in self._links:  # before the worker: what came for it is there when it looks
            is_busy |= link.prepare(ready)
        is_busy |= worker.prepare(ready) if worker is not None else False
        if worker is not None and worker.database is not self._database:
            # A worker with a connection of its own cannot join our transaction: it reports through the inbox.
            is_busy |= _settle_apart(worker)
            worker.committed()
            worker = None
        changed: frozenset[str] = frozenset()
        has_turned = False
        if self._coordinator is not None:
            news = self._news(topics)
            if is_busy or any(news) or self._is_due(worker):
                is_busy |= self._coordinate_anew(self._coordinator, worker, news)
                has_turned = True
                changed = self._coordinator.changed
        elif worker is not None:
            ended: list[Event] = []
            is_busy |= _settle_apart(worker, None if self._courier is None else ended.extend)
            worker.committed()
            if self._courier is not None:
                self._courier.end(ended)
        try:
            for link in self._links:  # what is durable now is told to the other side
                link.flush()
        finally:
            if has_turned and self._coordinator is not None:
                self._coordinator.tell()
        foresight = None if self._coordinator is None else self._coordinator.foresight
        if foresight is not None and foresight.is_worth_it:
            foresight.look(self._under_way(worker))
        has_more = is_busy and self._is_more_at_hand
        is_followed = self._follow(changed, is_busy=has_more or self._in_flight > 0)
        self._has_more = has_more or is_followed
        return is_busy or is_followed

    def _under_way(self, worker: Worker | None) -> Sequence[str]:
        """The records whose results this process will settle and decide on in one transaction, while they are few."""
        own = worker or self._relay
        return () if own is None or own.in_flight > LOOK_MAX else own.under_way

    def _is_due(self, worker: Worker | None) -> bool:
        """Whether a worker that shares our transactions, or the relay, has something to write now, results aside."""
        return (worker is not None and worker.is_due) or (
            self._relay is not None and self._relay.is_due
        )

    def _topics_told(self, ready: AbstractSet[int] | None) -> frozenset[str]:
        """The topics of the wake-ups since the last turn.

        What came after the sleep ended is left for the next turn. Once a second all is looked at: a wake-up whose
        connection was lost has no descriptor to tell it.
        """
        wakeup = self._wakeup
        is_round = time.monotonic() >= self._recover_at
        if wakeup is None or not (ready is None or is_round or wakeup.fileno() in ready):
            return NOTHING
        topics = wakeup.clear()
        if not topics.isdisjoint(self._work_topics):
            for calls in self._called:
                calls.tell()
        return topics

    @property
    def _is_more_at_hand(self) -> bool:
        """Whether a busy turn has left work that no descriptor and no time will tell of."""
        is_cut_off = self._coordinator is not None and self._coordinator.has_more
        has_work = self._worker is not None and self._worker.is_at_hand
        return is_cut_off or has_work or any(link.is_at_hand for link in self._links)

    def _follow(self, changed: frozenset[str], *, is_busy: bool) -> bool:
        """Let the roles that follow the log do a step, now that it is durable; whether there may be more for them."""
        has_more = False
        if self._mirror is not None:
            # A full batch means that there may be more.
            has_more |= self._mirror.step() >= self._mirror.batch_max
        if self._notifier is not None:
            has_more |= self._notifier.step()
        is_indexed = self._indexer is not None and self._indexer.step(
            is_busy=is_busy or has_more,
            is_waited_for=self._is_waited_for,
            changed=changed,
        )
        has_more |= is_indexed
        if self._confirmation is not None:  # of what the indexer has just passed
            has_more |= self._confirmation.step(is_news=is_indexed)
        return has_more

    def _make_decisions(self) -> None:
        """Once a second, make the decisions of people that are due.

        Before anything else: a review whose deadline has passed as well was decided first. Each is a transaction of its
        own, for one that is refused must not take the others back.
        """
        if self._decisions is not None and time.monotonic() >= self._recover_at:
            self._decisions()

    def _news(self, told: AbstractSet[str]) -> "News":
        """What there may be to do: what the wake-ups say, what is due, and once a second everything.

        A wake-up may be lost, and a turn that was cut off by a limit leaves more of it.
        """
        has_more = self._coordinator is not None and self._coordinator.has_more
        is_round = time.monotonic() >= self._recover_at
        is_all = is_round or has_more
        return News(
            is_round=is_round,
            has_due=is_all or (self._due_at is not None and self._due_at <= self._clock()),
            has_events=is_all or TOPIC_EVENTS in told,
            has_waiting=is_all or TOPIC_READY in told,
        )

    def _coordinate_anew(
        self, coordinator: Coordinator, worker: Worker | None, news: "News"
    ) -> bool:
        """`_coordinate`, and again where something was otherwise than foreseen."""
        coordinator.foresight.begin()
        try:
            return self._coordinate(coordinator, worker, news)
        except StoreUnreachable:
            if not coordinator.foresight.is_wrong():
                raise
        return self._coordinate(coordinator, worker, news)

    def _coordinate(self, coordinator: Coordinator, worker: Worker | None, news: "News") -> bool:
        """Settle and decide in one transaction; whether there was anything to do."""
        events: list[Event] = []
        is_busy = False
        settling = [each for each in (worker, self._relay) if each is not None]
        with self._database.transaction():
            finishing = [record_id for each in settling for record_id in each.finishing]
            # Without news the turn handles these results alone.
            locked = coordinator.lock(finishing, is_alone=not any(news))
            for each in settling:
                coordinator.owners.learn(each.owners)
                is_busy |= each.settle(tell=events.extend, is_expected=locked.known is not None)
            if locked.known is not None:
                self._database.push()
            if news.is_round:
                self._look_around(coordinator)
            # Before the inbox is read, so that what is due now is decided in this very transaction.
            scheduler = self._scheduler if news.has_due else None
            ticked = 0 if scheduler is None else scheduler.tick()
            is_busy |= bool(
                coordinator.turn(
                    events,
                    locked=locked,
                    has_events=news.has_events or ticked > 0,
                    has_waiting=news.has_waiting,
                )
            )
            if scheduler is not None:
                self._due_at = scheduler.next_at()
            elif coordinator.soonest_due is not None:
                self._due_at = min(self._due_at or math.inf, coordinator.soonest_due)
        # Results are forgotten only now: had the commit failed, the next turn would settle them again.
        if worker is not None:
            worker.committed()
        if self._relay is not None:
            self._relay.committed()
            self._relay.accept(coordinator.sent)
        if self._worker is not None and coordinator.sent:
            self._worker.accept(coordinator.sent)
            self._worker.tend()  # children begin at once, and not with the next turn
        return is_busy

    def _look_around(self, coordinator: Coordinator) -> None:
        self._recover_at = time.monotonic() + RECOVER_EVERY_S
        self._watch_clock()
        coordinator.recover()
        coordinator.upgrade_records()

    def _watch_clock(self) -> None:
        """Log once that the clock of this machine was set while the process runs."""
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
        if self._indexer is not None and not self._indexer.is_done():
            return False
        if self._confirmation is not None and not self._confirmation.is_done():
            return False
        return self._notifier is None or self._notifier.is_done()

    def _sleep(self, *, at_most_s: float = math.inf) -> None:
        seconds = max(0.0, min(self._patience(), at_most_s))
        self._ready = self._poll.wait(self._watch().items(), seconds)
        if self._wake_reader in self._ready:
            # Drained, or the pipe would end every later sleep at once. Many wake-ups count as one.
            os.read(self._wake_reader, 4096)

    def _watch(self) -> dict[int, int]:
        """The descriptors that end a sleep, each with the events of `selectors`."""
        watched = {self._wake_reader: selectors.EVENT_READ}
        if self._wakeup is not None:
            watched[self._wakeup.fileno()] = selectors.EVENT_READ
        if self._worker is not None:
            watched.update(self._worker.watched())
        for link in self._links:
            # -1: it has no connection just now
            watched.update((each, selectors.EVENT_READ) for each in link.watched() if each >= 0)
        return watched

    def _patience(self) -> float:
        """Seconds until something is due that sends no wake-up. `idle_s` bounds it, should a wake-up ever be missed."""
        waits = [self._idle_s]
        if self._worker is not None:
            waits.append(self._worker.wake_in())
        if self._links:
            waits += [link.wake_in() for link in self._links]
        if self._mirror is not None and (wakes_in := self._mirror.wakes_in) is not None:
            waits.append(wakes_in)
        if self._notifier is not None:
            waits.append(self._notifier.wakes_in)
        if self._indexer is not None:
            waits.append(self._indexer.wakes_in)
        if self._confirmation is not None:
            waits.append(self._confirmation.wakes_in)
        if self._coordinator is not None:
            waits.append(self._recover_at - time.monotonic())
        if self._due_at is not None:
            waits.append((self._due_at - self._clock()) / SECOND)
        return min(waits)

    def close(self) -> None:
        """Close all roles; unfinished work of this process goes to another one."""
        for link in self._links:  # first: a courier gives back what its worker has not finished
            link.close()
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


class News(NamedTuple):
    """What a turn has to look for besides the results of its own worker."""

    is_round: bool
    has_due: bool
    has_events: bool
    has_waiting: bool


class Trouble(msgspec.Struct, kw_only=True):
    """An outage: since when, the pause before the next try, and when it is logged again."""

    since: float
    pause_s: float = PAUSE_MIN_S
    remind_at: float = 0.0


class Poll:
    """Sleeps on descriptors that may be others each time.

    `poll` itself: a selector is a descriptor of its own, with a system call for each that it is given. Most of what is
    watched was watched in the last sleep, and need not be registered again.
    """

    def __init__(self) -> None:
        self._poll = select.poll()
        self._registered: dict[int, int] = {}

    def wait(self, watched: Iterable[tuple[int, int]], seconds: float) -> frozenset[int]:
        """Sleep until one of these descriptors is ready, at most so long; those that are."""
        wanted, registered = dict(watched), self._registered
        if wanted != registered:
            for descriptor in registered.keys() - wanted.keys():
                self._poll.unregister(descriptor)
                del registered[descriptor]
            for descriptor, events in wanted.items():
                if registered.get(descriptor) != events:
                    self._poll.register(descriptor, _POLLED[events])
                    registered[descriptor] = events
        return frozenset([descriptor for descriptor, _ in self._poll.poll(seconds * 1000)])


_POLLED = {
    selectors.EVENT_READ: select.POLLIN,
    selectors.EVENT_WRITE: select.POLLOUT,
    selectors.EVENT_READ | selectors.EVENT_WRITE: select.POLLIN | select.POLLOUT,
}


def _settle_apart(worker: Worker, tell: Tell | None = None) -> bool:
    """Write results in a transaction of their own, in one round trip; whether there were any.

    That work was given to another meanwhile is rare, and an error then: only the second try waits to know which it was.
    """
    try:
        return worker.settle(tell=tell, is_expected=True)
    except StoreUnreachable:
        return worker.settle(tell=tell)


def _may_pass(error: Exception) -> bool:
    """Whether waiting can help: the database is unreachable or locked, or the disk is full.

    `StoreBroken` is a `StoreFull` that does not pass: after a failed sync a later success proves nothing.
    """
    if isinstance(error, OSError):
        return error.errno in DISK_FULL_ERRNOS
    return not isinstance(error, StoreBroken)
