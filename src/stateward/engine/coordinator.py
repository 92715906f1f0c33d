"""The only writer of status: `submit`, `handle`, `turn`.

The coordinator loads records, lets the pure core decide, and commits the result: record, transition, effects and the
work that follows in one transaction, hundreds of records at a time. Any number of coordinators may run side by
side and any of them may die at any instruction. It never runs domain code and never writes a domain row.
"""

from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from stateward.core.decide import begin, decide, rank_of, take_on, upgrade
from stateward.core.errors import ConcurrentModification, InvalidRequest, StoreOvertaken
from stateward.core.failpoints import Point, point
from stateward.core.machine import Machine
from stateward.core.model import (
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
    Micros,
    Record,
    Transition,
    Work,
    event_about,
    event_id,
    plain_actor,
)
from stateward.definition.plugin import AutomaticMove
from stateward.engine.batch import Batch, Locked
from stateward.engine.capacity import LeaseTracker
from stateward.engine.coordinator_config import CoordinatorConfig
from stateward.engine.dispatcher import Dispatcher
from stateward.engine.earlier_items import EarlierIndex
from stateward.engine.foresight import Foresight
from stateward.engine.owners import RecordOwners
from stateward.engine.registry import MachineRegistry
from stateward.storage.dead_letters import DeadLetter
from stateward.storage.store import Store
from stateward.transport import Bus, InboxEvent, WorkerInfo


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
    move: str | None = None
    """A move of the machine that is made in the same transaction, before a worker can be given the record."""
    move_reason: str | None = None
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
        self._is_alive = is_alive
        self._on_transitions = on_transitions
        self._config = config
        self._ticks = ticks or (lambda: clock() / SECOND)
        self._leases = LeaseTracker(lease_s=config.lease_s, ticks=self._ticks)
        self.foresight = Foresight(store.database, ticks=self._ticks)
        self.owners = RecordOwners(store, are_wanted=config.tells_owners)
        self.dispatcher = Dispatcher(
            store=store,
            bus=bus,
            registry=registry,
            earlier=self._earlier,
            leases=self._leases,
            config=config,
            ticks=self._ticks,
            give_up=self._decide,
        )
        self.tells_later = False
        self._untold: Sequence[Change | None] = ()
        self.sent: Sequence[Work] = ()
        """The work of the last turn, for the loop to tell once it is durable."""
        self.changed: frozenset[str] = frozenset()
        """The machines whose records the last turn changed."""
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
        # Who submits within a larger transaction could not do it again.
        if len(submissions) == 1 and not self._store.database.is_in_transaction:
            batch = Batch(now=self._clock(), may_foresee=True)
            try:
                return self._submit(submissions, batch)
            except StoreOvertaken:
                if not batch.is_foreseen:
                    raise
                self.dispatcher.forget_idle()
        return self._submit(submissions, Batch(now=self._clock()))

    def _submit(self, submissions: Sequence[Submission], batch: Batch) -> list[Submitted]:
        with self._store.transaction():
            for submission in submissions:
                batch.change(self._begin(submission, batch.now).change)
            # Before the dispatch, which would give a worker what is to be left out.
            for change, submission in zip(tuple(batch.changes), submissions, strict=True):
                if submission.move is not None:
                    self._make_first_move(change.record, submission, batch)
            self.dispatcher.dispatch_new(batch)
            written = self._store.commit(batch.changes, epoch=batch.epoch)
            self._tell(written)
            self._send_new(batch, written)
            return [
                self._existing(submission)
                if each is None
                else Submitted(each.record, is_duplicate=False)
                for each, submission in zip(written, submissions, strict=False)
            ]

    def _make_first_move(self, record: Record, submission: Submission, batch: Batch) -> None:
        type_ = submission.move or ""
        event = event_about(
            record, type_, at=batch.now, actor=submission.actor, reason=submission.move_reason
        )
        if isinstance(self._decide(event, batch), Ignored):
            raise InvalidRequest(f"{type_} is not possible from {record.status!r}")

    def _send_new(self, batch: Batch, written: Sequence[Change | None]) -> None:
        """Send the work of new records, but for those that existed already."""
        actors = {
            each.record.id: each.transition.actor
            for each in written
            if each is not None and each.transition is not None and each.expected is None
        }
        if self.owners.are_wanted:
            self.owners.learn(actors)
        sent = [
            replace(work, owner=actors[work.record_id]) if self.owners.is_needed(work) else work
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

        Their records are locked before they are read, so that another writer is waited for and never met.
        """
        batch = Batch(now=self._clock())
        with self._store.transaction():
            batch.load(self._store, (event.record_id for event in events))
            decisions = self._take(events, batch)
            self._write(batch)
        return decisions

    def _take(self, events: Sequence[Event], batch: Batch) -> list[Decision]:
        """Decide these events in order, each on the record as the ones before it left it; their records are loaded."""
        # A derived id needs no look-up: its version is stale once it was applied (docs/decisions/0007). That is nearly
        # every event, so a batch mostly costs one query, the load.
        batch.seen |= self._store.applied_event_ids(
            [each.id for each in events if not _is_derived(each)]
        )
        decisions = [self._decide(event, batch) for event in events]
        point(Point.EVENTS_DECIDED)
        return decisions

    def _decide(self, event: Event, batch: Batch) -> Decision:
        decision = self._decision(batch.records.get(event.record_id), event, batch)
        if isinstance(decision, Ignored):
            batch.notes.append(_note(event, decision, batch.now))
            return decision
        batch.change(decision.change)
        batch.seen.add(event.id)
        transition = decision.change.transition
        if transition is None:  # a release is not in the history, so a disposition records it
            outcome = f"it goes on with {decision.change.record.waiting}"
            note = Ignored(reason="released", detail=outcome)
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
            local = self.dispatcher.local_worker
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

    # Verb 3: turn, which handles what was reported and dispatches what waits, in one transaction

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
        return self._turn(
            told,
            locked=locked,
            has_events=has_events,
            has_waiting=has_waiting or self.dispatcher.has_waiting,
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
        if not is_alone:
            return Locked(self._store.ask_load(record_ids))
        records, epoch, paused = self._store.ask_alone(record_ids)
        return Locked(records, epoch=epoch, paused=paused)

    def handle_reported(self) -> int:
        """Handle a batch of the inbox and delete it in the same transaction; how many events there were.

        The half of a turn that decides. The simulation takes it alone, so that a process can die between the two halves
        and a record can be led through its states one by one.
        """
        return self._turn((), has_events=True, is_dispatching=False)

    def _turn(
        self,
        told: Sequence[Event],
        *,
        has_events: bool,
        is_dispatching: bool = True,
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
            reported = self._bus.next_events(limit=self._config.batch_max) if has_events else []
            # The worker's results come first: a completion wins over the timeout that is due in the same turn.
            events = [*told, *(each.event for each in reported if each.event is not None)]
            if reported:
                point(Point.EVENTS_TAKEN)
                self._bury([each for each in reported if each.event is None], batch)
            # All that is read before something is written is asked for at once, the locks on the records first.
            record_ids = [each.record_id for each in events]
            records = batch.ask(self._store, record_ids)
            queue = self.dispatcher.ask() if is_dispatching and has_waiting else None
            owners = self.owners.ask(record_ids) if is_dispatching and reported else None
            if events:
                batch.own = frozenset(map(id, told))
                batch.take(records)
                self._take(events, batch)
            if is_dispatching and not has_waiting:
                self.dispatcher.dispatch_here(batch)
            if is_dispatching and (has_waiting or batch.arrived()):
                self.dispatcher.dispatch_all(batch, queue)
                if batch.arrived():
                    self.dispatcher.has_waiting = True
            self.owners.name_in(batch.sent, owners)  # of all that is sent, by whichever way
            if locked is not None and batch.epoch is None and batch.changes:
                batch.epoch = self.foresight.hold_epoch()
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


def _automatic_event(move: AutomaticMove, record: Record, now: Micros) -> Event:
    # The settings are what drives the record here, so the machine's rules for drivers apply: no move that only a
    # person may make is made by itself.
    return event_about(
        record, move.event, at=now, actor=f"{SEQUENCER}settings", reason=move.reason or None
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
