"""The only writer of status: `submit`, `handle`, `dispatch`.

The coordinator loads records, lets the pure core decide, and commits the result: record, transition, effects and the
work that follows in one transaction, hundreds of records at a time. Any number of coordinators may run side by
side and any of them may die at any instruction. It never runs domain code and never writes a domain row.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from stateward.core.decide import (
    begin,
    decide,
    rank_of,
    start,
    take_on,
    upgrade,
)
from stateward.core.errors import (
    ConcurrentModification,
)
from stateward.core.failpoints import Point, point
from stateward.core.machine import Machine, Stage
from stateward.core.model import (
    COORDINATOR,
    PRIORITY_NORMAL,
    RUNNER,
    SECOND,
    SEQUENCER,
    Applied,
    Change,
    Decision,
    Disposition,
    Event,
    Fields,
    Ignored,
    Loss,
    Micros,
    Record,
    Transition,
    Work,
    event_id,
    plain_actor,
)
from stateward.core.redelivery import RedeliveryLimits, stop_reason, workers_to_avoid
from stateward.definition.plugin import AutomaticMove
from stateward.engine.batch import Batch, Locked, not_paused
from stateward.engine.capacity import Capacity, LeaseTracker, LocalWorker
from stateward.engine.earlier_items import EarlierIndex, Found
from stateward.engine.foresight import Foresight
from stateward.engine.registry import MachineRegistry
from stateward.storage.database import Asked
from stateward.storage.dead_letters import DeadLetter
from stateward.storage.store import Store
from stateward.transport import (
    NO_WORKER,
    Bus,
    InboxEvent,
    Orphan,
    WorkerInfo,
    workers_and_load,
)
from stateward.workers.routes import Routes, is_of_one_machine, source_types_of_one_machine

# After a conflict another writer was first, and reading again mostly suffices. The waits grow in case writers keep
# meeting, and end after 0.7 s because a caller waits. They are documented in docs/reference/errors.md.
CONFLICT_WAITS_S = (0.1, 0.2, 0.4)
WORKER_LOST = "WORKER_LOST"
OWNERS_MAX = 10_000  # records whose submitter is remembered
# After a submission that could not be handed over: while workers are busy, the next ones are not worth the look.
HAND_OVER_PAUSE_S = 0.05
# After a whole line was read for what other machines could do: for how many times as long it is not read again.
PASS_PAUSE = 9

T = TypeVar("T")


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a new record."""

    machine: str
    actor: str
    artifact: str | None = None
    dedupe: str | None = None
    priority: int = PRIORITY_NORMAL
    labels: Fields = {}
    replaces: str | None = None
    reason: str | None = None
    trace: str | None = None
    entry: str | None = None
    """The state that an import creates the record in, because the work before it was done elsewhere."""
    is_artifact_known: bool = False
    """Its bytes were stored before it came, so that an erasure may be deleting them at this moment."""


class Submitted(msgspec.Struct, frozen=True):
    """The record that a submission created, or the existing one with the same dedupe key.

    `edition` is that which was made because it came with other hints, and `note` what became of those.
    """

    record: Record
    is_duplicate: bool
    edition: int | None = None
    note: str = ""


class CoordinatorConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a coordinator.

    `batch_max` bounds one transaction. Commits on the same lanes take turns, so throughput comes from
    many records per commit (docs/decisions/0024); the bound keeps that turn, and the memory of a batch, small.
    `lease_s` is three heartbeats: one that is lost must not cost a job. `redelivery` ends work that takes its
    worker down each time, which would otherwise go from worker to worker for ever. `ageing_s`, by machine: the wait
    that counts as one point of priority; 0 for first come, first served. `automatic_moves`, by machine and status:
    moves that records make in the transaction that brings them there. `tells_owners`: work says who submitted its
    record, for workers that give each owner a process; it costs a query for each batch. `hands_over`: a submission
    dispatches its records itself where nothing waits before them (docs/decisions/0035). `engine_stages`, (machine,
    stage): no worker is given them, because the engine does them itself (docs/decisions/0041). `routes` say which work
    the workers of one machine at a time are given (docs/decisions/0049).
    """

    batch_max: int = 512
    lease_s: float = 15.0
    redelivery: RedeliveryLimits = RedeliveryLimits()
    ageing_s: Mapping[str, float] = {}
    automatic_moves: Mapping[tuple[str, str], AutomaticMove] = {}
    tells_owners: bool = False
    hands_over: bool = True
    engine_stages: frozenset[tuple[str, str]] = frozenset()
    routes: Routes = {}


class Coordinator:
    """Commits what the core decides.

    `clock` is the time of day, for what is stored. `ticks` is monotonic, for leases: a clock that is set must not make
    a worker look lost (docs/decisions/0011). `on_transitions` is called inside the transaction, before it commits: it
    may write log lines, but nothing that must not outlive a rollback. A loop that sets `tells_later` calls `tell` after
    a turn, when its commit is durable and others have what they wait for.
    """

    def __init__(
        self,
        *,
        store: Store,
        bus: Bus,
        registry: MachineRegistry,
        clock: Callable[[], Micros],
        new_id: Callable[[str], str],
        sleep: Callable[[float], None],
        is_alive: Callable[[WorkerInfo], bool] = lambda _: True,
        on_transitions: Callable[[Sequence[Transition], Sequence[Record]], None] | None = None,
        config: CoordinatorConfig = CoordinatorConfig(),  # noqa: B008 - frozen
        ticks: Callable[[], float] | None = None,
    ) -> None:
        self._store = store
        self._earlier = EarlierIndex(store.database)
        self._looking_up = {name for name, each in registry.newest.items() if each.looked_up}
        self._bus = bus
        self._registry = registry
        self._clock = clock
        self._new_id = new_id
        self._sleep = sleep
        self._is_alive = is_alive
        self._on_transitions = on_transitions
        self._config = config
        self._ticks = ticks or (lambda: clock() / SECOND)
        self._leases = LeaseTracker(lease_s=config.lease_s, ticks=self._ticks)
        self.foresight = Foresight(store.database, ticks=self._ticks)
        self._hand_over_at = self._ticks()
        self.in_flight = 0
        """How many jobs workers had at the last dispatch. Above 1, the loop collects more results per commit."""
        self.local_worker: LocalWorker | None = None
        """The worker of the same loop, which tells it of its new work itself, from `sent`."""
        self.tells_later = False
        self._untold: Sequence[Change | None] = ()
        self.sent: Sequence[Work] = ()
        """The work of the last turn, for the loop to tell once it is durable."""
        self.changed: frozenset[str] = frozenset()
        """The machines whose records the last turn changed."""
        self.has_waiting = True
        """Whether records may wait for a stage although the last turn dispatched what it could."""
        self._waited_for: set[tuple[str, str]] = set()
        self._pass_at: dict[tuple[str, str], float] = {}
        self._owners: dict[str, str] = {}
        self.soonest_due: Micros | None = None
        """The earliest `due_at` that the last turn gave a record."""
        self.has_more = False
        """Whether the last turn was cut off by a limit: there may be more to do at once."""

    # Verb 1: submit

    def submit(self, submissions: Sequence[Submission]) -> list[Submitted]:
        """New records at version 0; for a dedupe key that was used before, the record that it created then.

        The unique constraint decides which of two concurrent submissions creates the record, not a look-up before.
        What a worker has a free slot for is dispatched in the same transaction; the answer is the record as it began.
        """
        batch = Batch(now=self._clock())
        with self._store.transaction():
            for submission in submissions:
                batch.change(self._begin(submission, batch.now).change)
            self._hand_over(batch)
            written = self._store.commit(batch.changes, epoch=batch.epoch)
            self._tell(written)
            self._send_new(batch, written)
            return [
                self._existing(submission)
                if each is None
                else Submitted(each.record, is_duplicate=False)
                for each, submission in zip(written, submissions, strict=False)
            ]

    def _hand_over(self, batch: Batch) -> None:
        """Dispatch new records where nothing waits before them: the turn and the commit of a dispatch are saved.

        Whatever has a reason to go first, a record of any stage or lost work, leaves it to the next turn of a
        coordinator to choose by rank.
        """
        if not self._config.hands_over or self._ticks() < self._hand_over_at:
            return
        asked = self._bus.ask_workers_and_load()
        batch.epoch, paused, waiting = self._store.ask_epoch_and_queue()
        capacity, load = self._capacity(asked)
        is_free = capacity.is_available and not _has_orphans(load)
        if not is_free or (waiting.rows() and self._is_waited_for()):
            self._hand_over_at = self._ticks() + HAND_OVER_PAUSE_S
            return
        arrived = not_paused(batch.arrived(), paused)
        self._assign(
            [arrived[place] for place in self._stages if place in arrived], capacity, batch
        )

    def _is_waited_for(self) -> bool:
        """Whether a record waits for a stage that workers do and that is not paused."""
        return any(self._store.pauses.open_stages(tuple(self._stages)).values())

    def _send_new(self, batch: Batch, written: Sequence[Change | None]) -> None:
        """Send the work of new records, but for those that existed already."""
        actors = {
            each.record.id: each.transition.actor
            for each in written
            if each is not None and each.transition is not None and each.expected is None
        }
        if self._config.tells_owners:
            self.learn_owners(actors)
        sent = [
            replace(work, owner=actors[work.record_id]) if self._needs_owner(work) else work
            for work in batch.sent
            if work.record_id in actors
        ]
        if sent:
            self._send(sent)

    def _existing(self, submission: Submission) -> Submitted:
        record = self._store.by_dedupe(submission.machine, submission.dedupe or "")
        # The insert violated a unique constraint, and yet no record has this key: nothing to return, but worth a retry.
        if record is None:
            raise ConcurrentModification(submission.dedupe or submission.machine, expected=None)
        return Submitted(record, is_duplicate=True)

    def _begin(self, submission: Submission, now: Micros) -> Applied:
        machine = self._registry.named(submission.machine)
        return begin(
            machine,
            record_id=self._new_id(machine.prefix),
            now=now,
            actor=submission.actor,
            artifact=submission.artifact,
            dedupe=submission.dedupe,
            priority=submission.priority,
            ageing_s=self._config.ageing_s.get(machine.name, 0.0),
            labels=submission.labels,
            replaces=submission.replaces,
            reason=submission.reason,
            trace=submission.trace,
            entry=submission.entry,
        )

    def set_priority(self, records: Sequence[Record], priority: int) -> list[Record | None]:
        """Give records another priority, and so another place in the queue; None where one has moved meanwhile.

        This is no transition: the version identifies the attempt under way and must not change under it
        (docs/decisions/0015). The rank counts from `created_at`, so the time that a record has waited is not lost.
        """
        placed = [
            replace(
                record,
                priority=priority,
                rank=rank_of(
                    created_at=record.created_at,
                    priority=priority,
                    ageing_s=self._config.ageing_s.get(record.machine, 0.0),
                ),
            )
            for record in records
        ]
        kept = self._store.update_priority(placed)
        return [each if is_kept else None for each, is_kept in zip(placed, kept, strict=True)]

    def advance_to_new_stages(
        self, records: Sequence[Record], *, actor: str, is_dry_run: bool = False
    ) -> list[Decision]:
        """Let records that had ended go on with the stages that their machines have grown since, in one transaction."""
        with self._store.transaction():
            found = self._store.load([each.id for each in records], lock=not is_dry_run)
            decisions = [self._take_on(found.get(each.id, each), actor) for each in records]
            if not is_dry_run:
                self._store.commit([each.change for each in decisions if isinstance(each, Applied)])
            return decisions

    def commit_erasures(self, changes: Sequence[Change]) -> None:
        """Write the transitions that say what was erased, inside the transaction that deletes it."""
        self._tell(self._store.commit(changes))

    def _take_on(self, record: Record, actor: str) -> Decision:
        newest = self._registry.named(record.machine)
        former = self._registry.exactly(record.machine, record.machine_version)
        return take_on(newest, former, record, actor=actor, now=self._clock())

    # Verb 2: handle

    def handle(self, events: Sequence[Event]) -> list[Decision]:
        """Decide and commit these events, in one transaction; an event that changes nothing is stored with the reason.

        A conflict with another writer is retried three times, after 0.1, 0.2 and 0.4 s.
        """
        return self._patiently(lambda: self._handle(events))

    def _patiently(self, act: Callable[[], T]) -> T:
        # Everything is loaded and decided again, because the conflict means that it was decided on an old version. That
        # needs a transaction of its own: inside an outer one the failure has already doomed the outer one.
        for wait_s in CONFLICT_WAITS_S:
            try:
                return act()
            except ConcurrentModification:
                self._sleep(wait_s)
        return act()

    def _handle(self, events: Sequence[Event]) -> list[Decision]:
        batch = Batch(now=self._clock())
        with self._store.transaction():
            decisions = self._take(events, batch)
            self._write(batch)
        return decisions

    def _take(self, events: Sequence[Event], batch: Batch) -> list[Decision]:
        """Decide these events in order, each on the record as the ones before it left it."""
        self._load((event.record_id for event in events), batch)
        # A derived id needs no look-up: its version is stale once it was applied (docs/decisions/0007). That is nearly
        # every event, so a batch mostly costs one query, the load.
        batch.seen |= self._store.applied_event_ids(
            [each.id for each in events if not _is_derived(each)]
        )
        decisions = [self._decide(event, batch) for event in events]
        point(Point.EVENTS_DECIDED)
        return decisions

    def _load(self, ids: Iterable[str], batch: Batch) -> None:
        # Records of this batch are not read again: the store still has them as they were before the batch. The lock
        # makes a second coordinator wait here, where it has decided nothing yet, and not fail at the version check.
        missing = [record_id for record_id in ids if record_id not in batch.records]
        batch.records |= self._store.load(missing, lock=True)

    def _decide(self, event: Event, batch: Batch) -> Decision:
        decision = self._decision(batch.records.get(event.record_id), event, batch)
        if isinstance(decision, Ignored):
            batch.notes.append(_note(event, decision, batch.now))
            return decision
        batch.change(decision.change)
        batch.seen.add(event.id)
        transition = decision.change.transition
        if transition is None:  # a release is not in the history, so a disposition records it
            asked = f"it goes on with {decision.change.record.waiting}"
            note = Ignored(reason="released", detail=asked)
            batch.notes.append(_note(event, note, batch.now))
        if (
            transition is not None
            and transition.attempt is not None
            and not event.actor.startswith(RUNNER)
        ):
            # A timeout, a cancellation or a lost worker ended the attempt, not its runner. Without its work row a
            # worker that still runs it stops, and cannot settle a result.
            batch.withdrawn.append((event.record_id, transition.attempt))
        if (
            event.output_digest is not None
            and event.error_code is None
            and decision.change.record.machine in self._looking_up
        ):
            self._index_keys(decision.change.record, event, batch)
        if transition is not None and self._config.automatic_moves:
            self._move_on(decision.change.record, batch)
        return decision

    def _index_keys(self, record: Record, event: Event, batch: Batch) -> None:
        """Let later records find the items of this attempt, if a stage of the machine looks up its like."""
        machine, stage = self._registry.of(record), event.type.partition(".")[0]
        if stage in machine.looked_up and event.version is not None:
            self._earlier.add(machine, record.id, stage, event.version, at=batch.now)

    def _move_on(self, record: Record, batch: Batch) -> None:
        """Make the move that the settings ask for at this status, in the same batch: no dispatch comes between."""
        move = self._config.automatic_moves.get((record.machine, record.status))
        if move is not None:
            self._decide(_automatic_event(move, record, batch.now), batch)

    def _decision(self, record: Record | None, event: Event, batch: Batch) -> Decision:
        if record is None:
            return Ignored(reason="unknown_record", detail=f"there is no record {event.record_id}")
        # Before the version check in `decide`: the same request sent twice is a duplicate, not a stale event.
        if event.id in batch.seen:
            return Ignored(reason="duplicate", detail=f"{event.id} was applied before")
        decision = decide(self._registry.of(record), record, event, now=batch.now)
        # What the worker or relay of this process says, it has written in this very transaction.
        is_foreign = id(event) not in batch.own
        if isinstance(decision, Applied) and is_foreign and self._is_forged(record, event):
            detail = (
                f"{plain_actor(event.actor)} does not have version {record.version} of {record.id}"
            )
            return Ignored(reason="not_allowed", detail=detail)
        return decision

    def _is_forged(self, record: Record, event: Event) -> bool:
        """Whether a runner reports on an attempt that its worker does not have; the version alone can be guessed.

        A worker that was taken for lost may have been the first to store a result: that one counts, whichever worker
        the record was given to meanwhile. It is asked for only where the names differ, which is rare.
        """
        if not event.actor.startswith(RUNNER):
            return False
        worker = event.actor.removeprefix(RUNNER)
        if record.worker is not None and worker == record.worker:
            return False
        return worker != self._store.result_worker(record.id, record.version)

    def _write(self, batch: Batch) -> None:
        """Write a batch: what changed, what was ignored, and the work that follows.

        The caller's transaction makes it all or nothing: a dispatched record and its work row appear together, wherever
        a process dies (docs/decisions/0003).
        """
        if batch.changes or batch.notes:
            written = self._store.commit(
                batch.changes, dispositions=batch.notes, epoch=batch.epoch, are_locked=True
            )
            self.foresight.note(written, batch.sent)
            if batch.is_turn and self.tells_later:
                self._untold = written
            else:
                self._tell(written)
        if batch.withdrawn:
            self._bus.withdraw(batch.withdrawn)
            point(Point.WORK_WITHDRAWN)
        if batch.resent:
            point(Point.RESTARTS_COMMITTED)
            self._bus.reassign(batch.resent)
        if batch.sent:
            local = self.local_worker
            self._send(batch.sent, told="" if local is None else local.info.id)

    def _send(self, work: Sequence[Work], *, told: str = "") -> None:
        point(Point.STARTS_COMMITTED)
        self._bus.send(work, told=told)

    def tell(self) -> None:
        """Tell of the transitions of the last turn, which is durable."""
        written, self._untold = self._untold, ()
        self._tell(written)

    def _tell(self, written: Sequence[Change | None]) -> None:
        if self._on_transitions is not None:
            done = [change for change in written if change is not None and change.transition]
            self._on_transitions(
                [change.transition for change in done if change.transition is not None],
                [change.record for change in done],
            )

    # Verb 3: dispatch, and all verbs in one transaction

    def turn(
        self,
        told: Sequence[Event] = (),
        *,
        locked: Locked | None = None,
        has_events: bool = True,
        has_waiting: bool = True,
    ) -> int:
        """Handle a batch of the inbox and dispatch what waits, in one transaction; how much there was.

        `told` are the events of the worker in this process, which never go through the inbox, and `locked` is what
        `lock` found of their records. A record that completes one stage and is dispatched to the next is then written
        once for both steps. Without `has_events` the inbox is not read. Without `has_waiting`, and if nothing waited
        after the last turn, only what arrives in this one is dispatched.
        """
        return self._patiently(
            lambda: self._turn(
                told,
                locked=locked,
                is_taking=has_events,
                is_handing_out=True,
                has_waiting=has_waiting or self.has_waiting,
            )
        )

    def lock(self, record_ids: Sequence[str], *, is_alone: bool = False) -> Locked:
        """Load records for a `turn` in the same transaction, before the worker touches their work.

        Records are locked before work by every process, or two of them could wait for each other in a circle. If the
        turn `is_alone` with them, and will lock no others, what else it needs is asked for with its next query.
        """
        if not record_ids:
            return Locked()
        if is_alone and (foreseen := self.foresight.hold(record_ids)) is not None:
            return foreseen
        # The answer is waited for with that to the next query: they are executed in this order.
        records = self._store.ask_load(record_ids)
        if not is_alone:
            return Locked(records)
        epoch, paused = self._store.ask_epoch_and_paused()
        return Locked(records, epoch=epoch, paused=paused)

    def handle_reported(self) -> int:
        """Handle a batch of the inbox and delete it in the same transaction; how many events there were."""
        return self._patiently(lambda: self._turn((), is_taking=True, is_handing_out=False))

    def dispatch(self) -> int:
        """Dispatch waiting records to workers with free slots, by rank; how many were dispatched."""
        return self._patiently(lambda: self._turn((), is_taking=False, is_handing_out=True))

    def _turn(
        self,
        told: Sequence[Event],
        *,
        is_taking: bool,
        is_handing_out: bool,
        locked: Locked | None = None,
        has_waiting: bool = True,
    ) -> int:
        batch = Batch(now=self._clock())
        if locked is not None:
            batch.records.update(locked.found())
            batch.epoch, batch.paused = locked.epoch, locked.paused
        self.sent, self.has_more = (), True
        self._untold, batch.is_turn = (), True
        with self._store.transaction():
            reported = self._bus.next_events(limit=self._config.batch_max) if is_taking else []
            # The worker's results come first: a completion wins over the timeout that is due in the same turn.
            events = [*told, *(each.event for each in reported if each.event is not None)]
            if reported:
                point(Point.EVENTS_TAKEN)
                self._bury([each for each in reported if each.event is None], batch)
            if events:
                batch.own = frozenset(map(id, told))
                self._take(events, batch)
            if is_handing_out and not has_waiting:
                self._hand_on(batch)
            if is_handing_out and (has_waiting or batch.arrived()):
                self._hand_out(batch)
                self.has_waiting = self.has_waiting or bool(batch.arrived())
            self._tell_owners(batch)  # of all that is sent, by whichever way
            self._write(batch)
            # In the transaction that handled them: an event leaves the inbox if, and only if, its decision is durable.
            if reported:
                self._bus.settle([each.seq for each in reported])
        self.sent = batch.sent
        self.changed = frozenset(each.record.machine for each in batch.changes)
        dues = [each.record.due_at for each in batch.changes if each.record.due_at is not None]
        self.soonest_due = min(dues, default=None)
        self.has_more = self._config.batch_max in (len(reported), len(batch.sent))
        return len(told) + len(reported) + len(batch.sent) + len(batch.resent)

    def _bury(self, unreadable: Sequence[InboxEvent], batch: Batch) -> None:
        # The inbox is read oldest first: an event that cannot be decoded would come back in every batch for ever.
        if unreadable:
            self._store.dead_letters.add(
                [
                    DeadLetter(kind="event", body=each.body, reason="not an event", at=batch.now)
                    for each in unreadable
                ]
            )
            point(Point.DEAD_LETTERS_WRITTEN)

    def _hand_on(self, batch: Batch) -> None:
        """Dispatch what arrived in this batch to the worker of this process, as far as that has free slots.

        Only while nothing else waits: then no record of a higher rank is passed over. Neither the other workers nor the
        queue are asked for, which is most of what one record alone costs.
        """
        arrived = batch.arrived() if self.local_worker is not None else {}
        if not arrived or self.local_worker is None:
            return
        capacity = Capacity([self.local_worker.info], self.local_worker.load())
        is_open = not_paused(arrived, batch.paused or self._store.pauses.ask())
        # Which machine does work of one machine is known by looking at all of them.
        anyones = (
            [each for each in queue if not self._is_of_one_machine(each, stage)]
            for (_, stage), queue in is_open.items()
        )
        self._assign(anyones, capacity, batch)

    def _hand_out(self, batch: Batch) -> None:
        self.has_waiting = True  # until the stages were asked
        capacity, load = self._capacity(self._bus.ask_workers_and_load())
        self.in_flight = sum(load.values())
        if not capacity.is_available:
            return
        # Lost work goes first: it was dispatched before, so its turn in the queue is over.
        if _has_orphans(load):
            self._hand_out_again(capacity, batch)
        self._assign(self._queues(capacity, batch), capacity, batch)
        self.has_waiting = bool(self._waited_for)

    def _capacity(self, asked: Asked) -> "tuple[Capacity, Mapping[tuple[str, bool], int]]":
        """The free slots of all workers, and how much work each has."""
        workers, load = workers_and_load(asked)
        silent = self._leases.expired(workers)
        return Capacity(workers, load, silent=silent, has_alone=self._has_alone), load

    def _assign(
        self, queues: Iterable[Iterable[Record]], capacity: "Capacity", batch: Batch
    ) -> None:
        """Dispatch the records of these queues by rank, while there are free slots."""
        for record in heapq.merge(*queues, key=attrgetter("rank")):
            machine = self._registry.of(record)
            stage = machine.stage[record.waiting or ""]
            is_alone = self._is_of_one_machine(record, stage.name)
            worker = capacity.take(stage, is_of_one_machine=is_alone)
            if worker is None:  # full for this stage, but maybe not for the next record's
                continue
            found = self._look_up(machine, stage, record, batch) if stage.earlier else None
            given = None if found is None else found.metadata()
            change = start(machine, record, worker=worker, now=batch.now, given=given).change
            batch.change(change)
            work = _work(change.record, stage, worker)
            batch.sent.append(work if found is None else replace(work, earlier=found.given))
            if len(batch.sent) == self._config.batch_max or not capacity.is_available:
                return

    def _is_of_one_machine(self, record: Record, stage: str) -> bool:
        return is_of_one_machine(self._config.routes, record.machine, stage, record.labels)

    def _has_alone(self, relay: str) -> bool:
        return any(
            is_of_one_machine(self._config.routes, each.machine, each.stage, each.labels)
            for each in self._bus.assigned_work(relay, limit=self._config.batch_max)
        )

    def _look_up(
        self, machine: Machine, stage: Stage, record: Record, batch: Batch
    ) -> Found | None:
        """What a stage reads of other records."""

        def load(ids: Sequence[str]) -> dict[str, Record]:
            # As this batch leaves them: two that are dispatched together see each other.
            own = {id_: batch.records[id_] for id_ in ids if id_ in batch.records}
            return own | self._store.load(id_ for id_ in ids if id_ not in own)

        return self._earlier.find(machine, stage, record, load)

    def _tell_owners(self, batch: Batch) -> None:
        """Say in the work who submitted its record."""
        apart = [work.record_id for work in batch.sent if self._needs_owner(work)]
        if not apart:
            return
        # Who submitted a record never changes, and mostly its stages follow each other here.
        known = self._owners
        owners = {each: known[each] for each in apart if each in known}
        if len(owners) < len(apart):
            found = self._store.submitters([each for each in apart if each not in owners])
            self.learn_owners(found)
            owners |= found
        batch.sent[:] = [replace(work, owner=owners.get(work.record_id, "")) for work in batch.sent]

    def learn_owners(self, owners: Mapping[str, str]) -> None:
        """Remember who submitted records, so that it is not asked when they go on to their next stage."""
        if len(self._owners) > OWNERS_MAX:
            self._owners = {}  # another one: a thread that submits may come between the questions of a turn
        self._owners.update(owners)

    def _needs_owner(self, work: Work) -> bool:
        """Inline work runs in no process of its own, so that its owner does not matter."""
        return self._config.tells_owners and not work.is_inline

    @cached_property
    def _stages(self) -> dict[tuple[str, str], Stage]:
        """The stages of all machines that workers do, by machine and stage; later ones first."""
        return {
            (machine.name, stage.name): stage
            for machine in self._registry.newest.values()
            for stage in reversed(machine.stages)
            if (machine.name, stage.name) not in self._config.engine_stages
        }

    def _queues(self, capacity: "Capacity", batch: Batch) -> list[Iterable[Record]]:
        """The waiting records of each stage that is not paused and has free slots.

        Later stages come first: `heapq.merge` keeps that order among equal ranks, so that of two equal records the one
        nearer to its end is dispatched. Of each stage there are two queues: what arrived in this batch, which the
        database does not show yet, and what it shows.
        """
        arrived = batch.arrived()
        count = sum(map(len, arrived.values()))
        stages = self._stages
        is_waited_for = self._store.pauses.open_stages(tuple(stages))
        # Until its line is read to the end.
        self._waited_for = {place for place, is_waiting in is_waited_for.items() if is_waiting}
        queues: list[Iterable[Record]] = []
        for place, stage in stages.items():
            if place not in is_waited_for or not capacity.free_slots(stage):
                continue
            if place in arrived:
                queues.append(arrived[place])
            if is_waited_for[place]:
                queues.append(self._line(place, stage, capacity, batch, count))
        return queues

    def _line(
        self,
        place: tuple[str, str],
        stage: Stage,
        capacity: "Capacity",
        batch: Batch,
        arrived: int,
    ) -> Iterator[Record]:
        """Records that wait for a stage, by rank, while it has free slots.

        Records that arrived in this batch will mostly take as many slots, so a first query reads only enough for the
        rest, and a second one all if that was too few: each row read is also locked. Records that this batch has moved
        on still wait as far as the database knows; the limit is raised by their number, so that they displace no other.
        """
        taken = batch.taken[place]
        seen = set(batch.changed)
        most = min(capacity.free_slots(stage), self._config.batch_max)
        for enough in sorted({max(1, most - arrived), most}):
            if not capacity.free_slots(stage):
                return
            found = self._store.waiting(*place, limit=enough + taken)
            fresh = [record for record in found if record.id not in seen]
            seen.update(record.id for record in fresh)
            yield from fresh
            if len(found) < enough + taken:
                self._waited_for.discard(place)
                return
        # Slots are left although more waits than there are slots: what came first is for one machine, which is full.
        alone = source_types_of_one_machine(self._config.routes, *place)
        begun = self._ticks()
        if alone and capacity.free_slots(stage) and begun >= self._pass_at.get(place, begun):
            found = self._store.waiting(*place, limit=most + taken, without=alone)
            if len(found) < most + taken:  # the whole line was read, however long it is
                now = self._ticks()
                self._pass_at[place] = now + (now - begun) * PASS_PAUSE
            yield from (record for record in found if record.id not in seen)

    def _hand_out_again(self, capacity: "Capacity", batch: Batch) -> None:
        """Give work without a worker to another one; work that has killed what ran it is a failed attempt.

        The version stays: it is the same attempt (docs/decisions/0003). Work that its worker returned without having
        begun it counts as no loss.
        """
        orphans = self._bus.orphaned_work(limit=self._config.batch_max)
        self._load((orphan.work.record_id for orphan in orphans), batch)
        for orphan in orphans:
            work = _with_loss(orphan)
            record = batch.records.get(work.record_id)
            if record is None or record.version != work.version:  # the record moved on without it
                batch.withdrawn.append((work.record_id, work.version))
            elif (reason := stop_reason(work.losses, self._config.redelivery)) is not None:
                self._decide(_lost_event(work, reason, batch.now), batch)
            else:
                machine = self._registry.of(record)
                stage = machine.stage[work.stage]
                worker = capacity.take(
                    stage,
                    avoided=workers_to_avoid(work.losses),
                    is_of_one_machine=self._is_of_one_machine(record, stage.name),
                )
                if worker is not None:
                    batch.change(start(machine, record, worker=worker, now=batch.now).change)
                    batch.resent.append(replace(work, worker=worker))

    # Recovery

    def recover(self) -> list[str]:
        """Take the work from workers that are gone; their names.

        Workers are removed first, for `release_orphans` frees the work of every worker that has no row: of these, and
        of those that left by themselves.
        """
        workers = self._bus.workers()
        silent = self._leases.expired(workers)
        gone = [
            worker.id for worker in workers if worker.id in silent or not self._is_alive(worker)
        ]
        for worker in gone:
            self._bus.remove_worker(worker)
        self._bus.release_orphans()
        return gone

    @property
    def lease_s(self) -> float:
        """How long a worker may be silent."""
        return self._config.lease_s

    def reset_leases(self) -> None:
        """Start every lease again: while the database was away no worker could write its heartbeat."""
        self._leases.forget()

    def upgrade_records(self) -> int:
        """Move records in renamed states to the newest state machines, one batch of each state; how many moved.

        Not all at once: the loop calls this within the transaction of a turn, for which other commits have to wait.
        """
        now = self._clock()
        moved = 0
        for machine in self._registry.newest.values():
            for version, mapping in machine.upgrades.items():
                for old, new in mapping.items():
                    if old != new:
                        moved += self._adopt(machine, version, old, now)
        return moved

    def _adopt(self, machine: Machine, version: int, status: str, now: Micros) -> int:
        with self._store.transaction():
            records = self._store.on_version(
                machine.name, version, status, limit=self._config.batch_max
            )
            changes = [
                applied.change
                for record in records
                if (applied := upgrade(machine, record, now=now)) is not None
            ]
            self._tell(self._store.commit(changes))
            point(Point.RECORDS_UPGRADED)
            # A result of work under way would be stale at the new version, so its worker need not go on.
            self._bus.withdraw([(record.id, record.version) for record in records])
            return len(changes)


def _has_orphans(load: Mapping[tuple[str, bool], int]) -> bool:
    """Whether there is work without a worker: the counts by worker spare a query that nearly always finds nothing."""
    return any(worker in NO_WORKER for worker, _ in load)


def _work(record: Record, stage: Stage, worker: str) -> Work:
    return Work(
        record_id=record.id,
        version=record.version,
        machine=record.machine,
        stage=stage.name,
        running=stage.running,
        runner=stage.runner,
        worker=worker,
        created_at=record.created_at,
        rank=record.rank,
        timeout_s=stage.timeout_s,
        artifact=record.artifact,
        labels=record.labels,
        inputs=record.outputs,
        retry_count=record.retry_count,
        is_inline=stage.isolation == "inline",
        network=stage.network,
        programs=stage.programs,
        produces=stage.produces,
    )


def _with_loss(orphan: Orphan) -> Work:
    """The work with the loss that left it without a worker, if it was one."""
    work, loss = orphan.work, orphan.loss
    if loss is None and not orphan.is_returned:
        loss = Loss(worker=work.worker, has_begun=False, cause="the worker was lost")
    if loss is None:
        return work
    return replace(work, losses=(*work.losses, loss), delivery=work.delivery + 1)


def _lost_event(work: Work, reason: str, now: Micros) -> Event:
    # As if the attempt had reported it, so the machine's own retry rules apply; all coordinators derive the same id.
    type_ = f"{work.stage}.failed"
    return Event(
        id=event_id(work.record_id, makes=work.version + 1, type_=type_),
        type=type_,
        record_id=work.record_id,
        version=work.version,
        at=now,
        actor=COORDINATOR,
        error_code=WORKER_LOST,
        error_message=f"its worker was lost while it ran {work.stage}: {reason}",
    )


def _automatic_event(move: AutomaticMove, record: Record, now: Micros) -> Event:
    # The settings are what drives the record here, so the machine's rules for drivers apply: no move that only a
    # person may make is made by itself.
    return Event(
        id=event_id(record.id, makes=record.version + 1, type_=move.event),
        type=move.event,
        record_id=record.id,
        version=record.version,
        at=now,
        actor=f"{SEQUENCER}settings",
        reason=move.reason or None,
    )


def _is_derived(event: Event) -> bool:
    # The whole id is compared: a client may choose an id of this form for another version or type, and that one has to
    # be looked up.
    return event.version is not None and event.id == event_id(
        event.record_id, makes=event.version + 1, type_=event.type
    )


def _note(event: Event, ignored: Ignored, now: Micros) -> Disposition:
    return Disposition(
        event_id=event.id,
        event_type=event.type,
        record_id=event.record_id,
        version=event.version,
        actor=event.actor,
        reason=ignored.reason,
        detail=ignored.detail,
        at=now,
    )
