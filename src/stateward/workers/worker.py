"""The worker: runs the work that is assigned to it and writes each attempt's result.

Runners run in warm child processes with limits (the default), or inline where a stage is declared trusted and
fast. A worker never reads or writes a record: work comes from the bus, items go to the outputs, and events say
how each attempt ended. Output, event and the removal of the work are one transaction, and only for work that is
still assigned to this worker: one whose lease expired writes nothing. Whatever a runner does becomes an event.

One thread drives it in three steps: `prepare` runs work and writes no result, `settle` writes what is finished,
`committed` forgets it once the transaction is durable. They are apart because `settle` may run inside a
transaction of the coordinator: until that has committed, the results must be kept to be written again.
"""

import selectors
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from itertools import chain
from shutil import rmtree

import msgspec

from stateward.core.errors import (
    ArtifactError,
    ArtifactsUnreachable,
    StoreError,
)
from stateward.core.failpoints import Point, point
from stateward.core.model import (
    Event,
    Loss,
    Micros,
    Work,
)
from stateward.core.redelivery import loss_line, stop_reason
from stateward.storage.database import Database
from stateward.storage.outputs import (
    Output,
    Outputs,
    result_event,
)
from stateward.telemetry import Log
from stateward.transport import Bus, WorkerInfo, work_keys
from stateward.workers.attempt_data import (
    Artifacts,
)
from stateward.workers.attempts import Attempts
from stateward.workers.child_pool import ChildPool
from stateward.workers.failures import unusable_document
from stateward.workers.fetching import LOOK_S, Fetcher, Reach
from stateward.workers.prefetch import AHEAD_MAX, WAIT_S_MAX, Prefetch, is_to_announce
from stateward.workers.results import Died, NotStored, Result
from stateward.workers.routes import route_of
from stateward.workers.sandbox import Child, ChildJob
from stateward.workers.sdk import Runner
from stateward.workers.work_calls import WorkCalls
from stateward.workers.worker_config import WorkerConfig, WorkerIdentity

IDLE_S = 3600.0  # the longest sleep, however long the heartbeat interval is
# How often the worker looks for its work although no notification came: one may have been lost.
LOOK_EVERY_S = 1.0

# (record, version, delivery). Without the delivery, work that was taken from this worker and assigned to it again
# would look like the attempt that still runs, whose result the bus no longer accepts.
Key = tuple[str, int, int]
Tell = Callable[[Sequence[Event]], object]


class Finished(msgspec.Struct, frozen=True):
    """An attempt that ended here and is not written yet."""

    work: Work
    result: Result


class Lost(msgspec.Struct, frozen=True):
    """Work whose child process died here; it is returned with this loss, to be delivered again."""

    work: Work
    loss: Loss


class Worker:
    """All attempts of one process.

    `settling` is the connection of the coordinator in the same process, if it is not `database` itself: results are
    written through it, so that they and what is decided on them are one transaction. `outputs` is where jobs read
    and save, if that is not the database alone.
    """

    def __init__(
        self,
        identity: WorkerIdentity,
        config: WorkerConfig,
        *,
        database: Database,
        bus: Bus,
        runners: Mapping[str, Runner],
        artifacts: Artifacts,
        clock: Callable[[], Micros],
        sleep: Callable[[float], object],
        log: Log,
        settling: Database | None = None,
        outputs: Outputs | None = None,
    ) -> None:
        self.name = identity.name
        self._config = config
        self._database = database
        self._bus = bus
        self._settling = settling or database
        self._settling_bus = bus if settling is None else Bus(settling)
        self._outputs = outputs or Outputs(database)
        self._settling_outputs = self._outputs if settling is None else Outputs(settling)
        self.returned = 0
        """How often work was given back."""
        self._ahead = Prefetch(config.prefetch)
        # The most that can ever be assigned: the slots that are announced grow with prefetch up to AHEAD_MAX.
        # A smaller limit would cut off assigned work, and `_stop_withdrawn` would take it for withdrawn. Twice, because
        # the coordinator of this process may fill slots for which another one has just sent work.
        slots_max = config.processes * (1 + max(config.prefetch, AHEAD_MAX))
        self._window = 2 * (slots_max + config.inline_window)
        self._clock = clock
        self._log = log
        self._info = WorkerInfo(
            id=identity.name,
            host=identity.host,
            pid=identity.pid,
            life=identity.life,
            runners=tuple(sorted(runners)),
            slots=config.processes * (1 + config.prefetch),
            inline_slots=config.inline_window,
            started_at=clock(),
            seen_at=clock(),
        )
        self.calls = WorkCalls(database, identity.name)
        self._children = ChildPool(config, runners=runners, clock=clock, log=log)
        self._fetcher = Fetcher(artifacts)
        self._reach = Reach(self._fetcher, log)
        self._attempts = Attempts(
            identity.name,
            config,
            runners=runners,
            outputs=self._outputs,
            artifacts=artifacts,
            fetcher=self._fetcher,
            clock=clock,
            sleep=sleep,
        )
        self._queue: dict[Key, Work] = {}
        self._inline_queue: dict[Key, Work] = {}
        self._finished: dict[Key, Finished] = {}
        self._lost: dict[Key, Lost] = {}
        self._begun: set[Key] = (
            set()
        )  # work whose beginning is recorded, because it was lost before
        self._is_written = False  # by a transaction that may still be rolled back
        self._written: list[Output] = []
        self._look_at = 0.0
        # The next one becomes the current one when it is durable; a heartbeat that was rolled back is repeated.
        self._beat_at = self._next_beat_at = 0.0

    # The three steps of a turn

    def prepare(self, ready: AbstractSet[int] | None = None) -> bool:
        """Take new work, stop what was withdrawn, run and poll; whether anything is finished.

        Must be called outside of a transaction: saved values are committed one by one while jobs run. `ready` are the
        descriptors that are known to be; None if any may be.
        """
        # Before the query: a notification that comes after it must still wake us.
        if self._is_told(ready):
            assigned = self._bus.assigned_work(self.name, limit=self._window)
            self._stop_withdrawn({_key(work) for work in assigned})  # first: it frees children
            self.accept(assigned)
        self._run_inline()
        self.tend()
        return bool(self._finished or self._lost)

    def _is_told(self, ready: AbstractSet[int] | None) -> bool:
        """Whether its work may have changed: a notification came, or one may have been lost meanwhile."""
        now = time.monotonic()
        is_late = now >= self._look_at
        is_told = self.calls.take(None if is_late else ready) or is_late
        if is_told:
            self._look_at = now + LOOK_EVERY_S
        return is_told

    def accept(self, work: Sequence[Work]) -> None:
        """Queue work that is durably assigned, as far as it is this worker's and new.

        A coordinator in the same process tells it here, which saves a query.
        """
        known = {_key(each) for given in self._children.given.values() for each in given}
        for each in work:
            key = _key(each)
            queue = self._inline_queue if each.is_inline else self._queue
            is_new = key not in known and not any(
                key in held for held in (queue, self._finished, self._lost)
            )
            if each.worker == self.name and is_new and not self._info.is_draining:
                queue[key] = self._route(each)

    def tend(self) -> None:
        """Keep the children busy with work that was read before; no work is read from the database.

        The loop calls it between two turns, so that quick jobs follow each other while one commit is put off to
        serve many results.
        """
        self._reach.look()
        self._poll()  # before `_start`: a child whose job has just ended takes the next one at once
        self._start()
        for child, given in self._children.given.items():
            if given and given[0].losses and child.has_begun:
                self._record_begun(given[0])

    def settle(
        self,
        *,
        tell: Tell | None = None,
        is_expected: bool = False,
    ) -> bool:
        """Write results and, when it is due, a heartbeat; whether any result was written.

        The events go into the inbox of the coordinators. `tell` is for a coordinator that handles them in the same
        transaction: it saves an insert into the inbox and a delete from it for each attempt. Work that was given to
        another is an error with `is_expected`, and then this is called again without.
        """
        self._is_written = False
        if not (self._finished or self._lost or self.is_due):
            return False
        # In a transaction of the coordinator the SQL of the worker still has only its own rights.
        with self._settling.transaction(), self._settling.as_worker():
            self._give_back()
            self._return_lost()
            self._beat()
            if self._finished:
                return self._write(tell, is_expected=is_expected)
        self._is_written = bool(self._lost)
        return self._is_written

    def _return_lost(self) -> None:
        for each in self._lost.values():
            self._settling_bus.return_lost(each.work, each.loss)
            self.returned += 1

    def _write(self, tell: Tell | None, *, is_expected: bool) -> bool:
        finished = list(self._finished.values())
        point(Point.WORK_DONE)
        # Deleting the work is the check that it is still ours, and on PostgreSQL it locks the row, so that no
        # coordinator can reassign it before the output is committed. Without it nothing is written.
        outputs = [self._attempts.output(each.work, each.result) for each in finished]
        work = work_keys([each.work for each in finished])
        # An attempt that already has a result keeps it, and is not reported a second time.
        is_ours, seals = self._settling_outputs.write_finished(
            outputs, work, is_expected=is_expected
        )
        stored = [(each, seal) for each, seal in zip(outputs, seals, strict=True) if seal]
        self._written = [each for each, _ in stored]
        if stored:
            events = [result_event(each.result, seal) for each, seal in stored]
            (tell or self._settling_bus.report)(events)
        # Slots are free again. A coordinator in the same transaction fills them itself.
        if tell is None:
            self._settling_bus.request_work()
        self._is_written = True
        for each, is_own in zip(finished, is_ours, strict=True):
            if not is_own:
                self._log.warning(
                    f"dropped a result of {each.work.record_id}: the work was given to another",
                    **_facts(each.work),
                )
        return True

    def committed(self) -> None:
        """The transaction of `settle` is durable: forget what it wrote.

        If it failed, this is not called, and the next `settle` writes the same results and the heartbeat again.
        """
        self._beat_at = self._next_beat_at
        if self._is_written:
            point(Point.RESULTS_DURABLE)
            self._finished.clear()
            self._lost.clear()
            self._is_written = False
            for output in self._written:
                self._attempts.recent.add(output)
            self._written = []

    # For the loop that drives it

    @property
    def database(self) -> Database:
        """The database that `settle` writes to: shared with the coordinator of its process, or its own connection.

        On PostgreSQL everything else goes through its own, with a role that has no right to change a record.
        """
        return self._settling

    @property
    def info(self) -> WorkerInfo:
        return self._info

    def load(self) -> dict[tuple[str, bool], int]:
        """How much work it has, by (its name, whether inline); what it is about to settle is not counted."""
        in_children = self._children.count() + len(self._queue)
        return {(self.name, False): in_children, (self.name, True): len(self._inline_queue)}

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way, queued or unwritten."""
        return self.in_flight == 0

    @property
    def is_running(self) -> bool:
        """Whether there is nothing to do but to wait for children."""
        return self._children.is_busy and not self._inline_queue

    @property
    def is_at_hand(self) -> bool:
        """Whether a turn can do something for it now that no notification and no time (`wake_in`) will tell of."""
        return bool(self._inline_queue or self._finished or self._lost) or self._has_other_slots

    @property
    def is_due(self) -> bool:
        """Whether `settle` has something to write now, results aside: a heartbeat, or work to return."""
        return self._has_other_slots or self.wake_in() <= 0.0

    @property
    def finishing(self) -> list[str]:
        """The records whose attempts `settle` will write."""
        return [record_id for record_id, _, _ in (*self._finished, *self._lost)]

    @property
    def owners(self) -> dict[str, str]:
        """Who submitted the records whose attempts `settle` will write, as their work says it."""
        return {
            each.work.record_id: each.work.owner
            for each in self._finished.values()
            if each.work.owner
        }

    @property
    def under_way(self) -> list[str]:
        """The records whose attempts its children run."""
        return [work.record_id for given in self._children.given.values() for work in given]

    @property
    def in_flight(self) -> int:
        """How many jobs it has: running, queued, or not written yet."""
        unwritten = len(self._finished) + len(self._lost)
        return self._children.count() + len(self._queue) + len(self._inline_queue) + unwritten

    def watched(self, *, is_called: bool = True) -> Iterable[tuple[int, int]]:
        """The descriptors to sleep on: those of busy children and, with `is_called`, the wakeup for new work."""
        calls = self.calls.filenos() if is_called else ()
        if not calls:
            return self._children.watched()
        called = [(each, selectors.EVENT_READ) for each in calls]
        return chain(called, self._children.watched())

    def wake_in(self) -> float:
        """Seconds until something is due without a notification: a heartbeat, a timeout, unstarted work."""
        now = time.monotonic()
        own = self._children.due_at(now, has_queue=bool(self._queue))
        due_at = min(self._beat_at, now + IDLE_S, own)
        if self._reach.is_lost:
            due_at = min(due_at, now + self._reach.wake_in())
        elif self._fetcher.is_busy:
            due_at = min(due_at, now + LOOK_S)
        return max(0.0, due_at - now)

    def drain(self) -> None:
        """Take nothing new; what runs, runs to its end."""
        if not self._info.is_draining:
            self._info = msgspec.structs.replace(self._info, is_draining=True)
            # Announced at once, so that no more work is assigned.
            self._beat_at = self._next_beat_at = 0.0
            self._inline_queue.clear()
            self._queue.clear()  # not started: it goes to another worker when this one leaves
            self._log.info("draining: finishing what runs", worker=self.name)

    def close(self) -> None:
        """Stop everything and sign off; unfinished work goes to another worker."""
        self._children.close()
        self._fetcher.close()
        rmtree(self._config.scratch_root, ignore_errors=True)
        self.calls.close()
        with suppress(StoreError):  # then the lease expires, with the same effect but later
            self._bus.return_all(self.name)
            self._bus.remove_worker(self.name)
        if self._config.owns_database:
            self._database.close()

    # Inside

    def _route(self, work: Work) -> Work:
        """The work with the runner that its source type selects."""
        route = route_of(self._config.routes, work.machine, work.stage, work.labels)
        if route is None:
            return work
        return msgspec.structs.replace(
            work, runner=route.runner, network=route.network, programs=route.programs
        )

    def _stop_withdrawn(self, assigned: AbstractSet[Key]) -> None:
        """Drop and kill what is no longer assigned; nothing is reported, because nothing would be accepted."""
        for child, given in list(self._children.given.items()):
            if any(_key(work) not in assigned for work in given):
                child.recall()  # only the job that runs costs the child its life
                self._collect(child)
                if given and _key(given[0]) not in assigned:
                    self._log.info("stopped: the work was withdrawn", **_facts(given.popleft()))
                    child.cancel()
                    self._collect(child)
        for queue in (self._queue, self._inline_queue):
            for key in [key for key in queue if key not in assigned]:
                del queue[key]

    def _run_inline(self) -> None:
        """Run the inline work in this thread: until it returns there are no heartbeats and no polls."""
        for key, work in list(self._inline_queue.items()):
            if self._reach.is_lost:
                return
            if not self._fetcher.is_here(work.artifact):
                continue
            del self._inline_queue[key]
            if work.losses:
                self._record_begun(work)
            try:
                self._finished[key] = Finished(work, self._attempts.run_here(work))
            except ArtifactsUnreachable as error:
                self._inline_queue[key] = work
                self._reach.lose(work.artifact, error)
                return

    def _start(self) -> None:
        """Give the idle children work, in the order of the queue; several quick jobs at a time."""
        if not self._queue:
            self._fetcher.forget_done()
            return
        while not self._reach.is_lost:
            # The first one whose document is here; those before it are fetched meanwhile.
            here = (each for each in self._queue.values() if self._fetcher.is_here(each.artifact))
            work = next(here, None)
            if work is None:
                if not self._queue:
                    self._fetcher.forget_done()
                return
            child = self._children.idle_child(work)
            if child is None:
                return
            # Shared evenly: a job that waits for another one here could run in the next child.
            share = -(-len(self._queue) // self._config.processes)
            most = 1 if self._config.recycle == "always" else min(child.capacity, share)
            self._give(child, jobs_max=most)

    def _give(self, child: Child, *, jobs_max: int) -> None:
        """Give a child the first jobs of the queue that it may run; one with large inputs goes alone.

        Jobs of other owners are passed over: one child for several jobs of an owner costs less than one for each.
        """
        jobs: list[ChildJob] = []
        given = self._children.given[child]
        for key, work in list(self._queue.items()):
            if len(jobs) == jobs_max:
                break
            if not self._children.is_for(child, work) or not self._fetcher.is_here(work.artifact):
                continue
            try:
                order = self._attempts.order(work)
                # What was lost before goes alone: should the child die, it is known which document it had begun.
                if jobs and (work.losses or not order.is_small):
                    break
                order = child.staged(order)
            except (
                ArtifactsUnreachable
            ) as error:  # no document's fault: it costs no attempt and no time
                self._reach.lose(work.artifact, error)
                break
            except ArtifactError as error:
                del self._queue[key]
                self._finished[key] = Finished(work, unusable_document(error))
                continue
            del self._queue[key]
            child.owner = work.owner
            jobs.append(self._attempts.child_job(work, order))
            given.append(work)
            if work.losses or not order.is_small:
                break
        if jobs:
            child.start_all(jobs)
            self._children.began[child] = time.monotonic()

    def _give_back(self) -> None:
        """Return work that has waited too long behind long jobs, so that a worker with free slots can take it.

        And all that waits while documents cannot be read here: its time runs only while a worker has it.
        """
        if self._reach.is_lost:
            unstarted = [*self._queue.values(), *self._inline_queue.values()]
            if unstarted:
                self._settling_bus.return_unstarted(unstarted)
                self.returned += 1
            self._queue.clear()
            self._inline_queue.clear()
            return
        waiting = list(self._queue.values())
        if not waiting or len(self._children.began) < self._config.processes:
            return
        # Since the latest start: as long as any child still gets to a next job, the queue is moving.
        elapsed_s = time.monotonic() - max(self._children.began.values())
        if elapsed_s < WAIT_S_MAX:
            return
        self._ahead.fall_behind(elapsed_s)
        self._settling_bus.return_unstarted(waiting)
        self.returned += 1
        for work in waiting:
            del self._queue[_key(work)]
        # Announces the smaller number of slots now, or the same work would come back.
        self._beat_at = 0.0

    def _poll(self) -> None:
        for child, given in list(self._children.given.items()):
            if given:
                self._collect(child)

    def _collect(self, child: Child) -> None:
        """Take the results that a child has; what it was given and will not run goes back to the head of the queue."""
        given = self._children.given[child]
        now = time.monotonic()
        while given and (result := child.on_ready() or child.expire(now)) is not None:
            self._end(given.popleft(), result)
            self._ahead.note(child.ran_s)
            self._children.began[child] = now
        back = [given.pop() for _ in range(len(given) - child.pending)]
        if back:
            self._queue = {**{_key(work): work for work in reversed(back)}, **self._queue}
        if not given:
            self._children.began.pop(child, None)

    def _end(self, work: Work, result: Result) -> None:
        """Keep a result to be settled. A child that died is one only if this document has killed several."""
        key = _key(work)
        self._begun.discard(key)
        if not isinstance(result, Died):
            self._finished[key] = Finished(work, result)
            return
        if isinstance(result, NotStored):
            self._reach.lose(work.artifact, ArtifactsUnreachable(result.message))
        loss = Loss(worker=self.name, has_begun=result.has_begun, cause=result.message)
        reason = stop_reason((*work.losses, loss), self._config.redelivery)
        if reason is None:
            self._lost[key] = Lost(work, loss)
            self._log.warning(loss_line(loss, work.delivery), **_facts(work))
            return
        message = f"{result.message}; {reason}"
        self._finished[key] = Finished(work, msgspec.structs.replace(result, message=message))

    def _record_begun(self, work: Work) -> None:
        """Record that work which was lost before has begun here: should this worker die, it is evidence."""
        if _key(work) not in self._begun:
            self._begun.add(_key(work))
            loss = Loss(worker=self.name, has_begun=True, cause="the worker was lost")
            self._bus.record_begun(work, loss)

    def _beat(self) -> None:
        now = time.monotonic()
        if now < self._beat_at and not self._has_other_slots:
            return
        self._next_beat_at = now + self._config.heartbeat_s  # once this one is durable
        inline_slots = 0 if self._reach.is_lost else self._config.inline_window
        self._info = msgspec.structs.replace(
            self._info, seen_at=self._clock(), slots=self._slots, inline_slots=inline_slots
        )
        self._settling_bus.heartbeat(self._info)
        self._settling_bus.request_work()

    @property
    def _slots(self) -> int:
        return 0 if self._reach.is_lost else self._config.processes * (1 + self._ahead.jobs)

    @property
    def _has_other_slots(self) -> bool:
        return is_to_announce(self._slots, self._info.slots)


def _key(work: Work) -> Key:
    return work.record_id, work.version, work.delivery


def _facts(work: Work) -> dict[str, object]:
    return {"record_id": work.record_id, "stage": work.stage, "version": work.version}
