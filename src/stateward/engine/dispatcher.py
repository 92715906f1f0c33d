"""Chooses the records that workers do next, by rank, and the worker of each.

It decides nothing about a record: it adds dispatches and work to the batch of a coordinator, which commits them.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

from msgspec.structs import replace

from stateward.core.decide import start
from stateward.core.machine import Machine, Stage
from stateward.core.model import (
    COORDINATOR,
    Decision,
    Event,
    Loss,
    Micros,
    Record,
    Work,
    event_about,
)
from stateward.core.redelivery import WORKER_LOST, stop_reason, workers_to_avoid
from stateward.engine.batch import Batch, not_paused
from stateward.engine.capacity import Capacity, LeaseTracker, LocalWorker
from stateward.engine.coordinator_config import CoordinatorConfig
from stateward.engine.earlier_items import EarlierIndex, Found
from stateward.engine.registry import MachineRegistry
from stateward.storage.database import Asked, Known
from stateward.storage.pauses import stages_waited_for
from stateward.storage.store import Store
from stateward.transport import (
    NO_WORKER,
    Bus,
    Orphan,
    WorkerInfo,
    runners_column,
    workers_and_load,
)
from stateward.workers.routes import is_of_one_machine, source_types_of_one_machine

# After a submission that could not be handed over: while workers are busy, the next ones are not worth the look.
HAND_OVER_PAUSE_S = 0.05
# After a whole line was read for what other machines could do: for how many times as long it is not read again.
PASS_PAUSE = 9
# For how long it is known which workers there are, once they were all idle.
IDLE_KNOWN_S = 5.0
OVERTAKEN_PAUSE_S = 1.0  # after something was otherwise than known: other submissions come, too

# Everything that a submission looks at before it hands its record to this worker. The epoch last: it is held from then.
_IS_IDLE = (
    "CASE WHEN NOT EXISTS (SELECT 1 FROM work) AND NOT EXISTS (SELECT 1 FROM pauses)"
    " AND (SELECT machine FROM records WHERE waiting IS NOT NULL ORDER BY machine, waiting, rank LIMIT 1) IS NULL"
    " AND EXISTS (SELECT 1 FROM workers WHERE id = :id AND life = :life AND NOT is_draining AND slots = :slots"
    " AND inline_slots = :inline_slots AND CAST(runners AS text) = :runners)"
    " THEN (SELECT epoch FROM current_epoch) = :epoch ELSE FALSE END"
)


class Idle(NamedTuple):
    """What a submission found that nothing else was under way for."""

    workers: Sequence[WorkerInfo]
    silent: AbstractSet[str]
    epoch: int
    until: float


class AskedQueue(NamedTuple):
    """What a dispatch looks at first: the workers with their load, and the stages that are open and waited for."""

    workers: Asked
    stages: Asked


class Dispatcher:
    """The queue of a coordinator.

    `give_up` decides the event that ends an attempt which took its workers down too often.
    """

    def __init__(
        self,
        *,
        store: Store,
        bus: Bus,
        registry: MachineRegistry,
        earlier: EarlierIndex,
        leases: LeaseTracker,
        config: CoordinatorConfig,
        ticks: Callable[[], float],
        give_up: Callable[[Event, Batch], Decision],
    ) -> None:
        self._store = store
        self._bus = bus
        self._registry = registry
        self._earlier = earlier
        self._leases = leases
        self._config = config
        self._ticks = ticks
        self._give_up = give_up
        self.local_worker: LocalWorker | None = None
        """The worker of the same loop, which tells it of its new work itself."""
        self.in_flight = 0
        """How many jobs workers had at the last dispatch. Above 1, the loop collects more results per commit."""
        self.has_waiting = True
        """Whether records may wait for a stage although the last turn dispatched what it could."""
        self._waited_for: set[tuple[str, str]] = set()
        self._hand_over_at = ticks()
        self._idle: Idle | None = None
        self._foresees_at = ticks()
        self._pass_at: dict[tuple[str, str], float] = {}

    def dispatch_new(self, batch: Batch) -> None:
        """Dispatch new records where nothing waits before them: the turn and the commit of a dispatch are saved.

        Whatever has a reason to go first, a record of any stage or lost work, leaves it to the next turn of a
        coordinator to choose by rank. What is foreseen fails with `StoreOvertaken` where it is otherwise.
        """
        if not self._config.hands_over or self._ticks() < self._hand_over_at:
            return
        if batch.may_foresee and self._dispatch_foreseen(batch):
            return
        answers = self._bus.ask_workers_and_load()
        batch.epoch, paused, waiting = self._store.ask_epoch_and_queue()
        capacity, load = self._capacity(answers)
        if not (load or paused.rows() or waiting.rows()):
            self._note_idle(answers, batch.epoch)
        is_free = capacity.is_available and not _has_orphans(load)
        if not is_free or (waiting.rows() and self._is_waited_for()):
            self._hand_over_at = self._ticks() + HAND_OVER_PAUSE_S
            return
        self._assign(self._workable(not_paused(batch.arrived(), paused)), capacity, batch)

    def _workable(
        self, arrived: Mapping[tuple[str, str], Sequence[Record]]
    ) -> list[Sequence[Record]]:
        """The records that wait for a stage which workers do."""
        return [arrived[place] for place in self._stages if place in arrived]

    def _note_idle(self, answers: Asked, epoch: Asked) -> None:
        if self._store.database.has_round_trips and self._ticks() >= self._foresees_at:
            workers, _ = workers_and_load(answers)
            self._idle = Idle(
                workers=workers,
                silent=self._leases.expired(workers),
                epoch=int(epoch.rows()[0][0] or 0),
                until=self._ticks() + IDLE_KNOWN_S,
            )

    def _dispatch_foreseen(self, batch: Batch) -> bool:
        """Dispatch the new record of a batch if it is known that workers were idle, and have the server compare."""
        idle = self._idle
        if idle is None or self._ticks() >= idle.until:
            return False
        queues = self._workable(batch.arrived())
        # Which machine does work of one machine is known by looking at all of them.
        if any(
            self._is_of_one_machine(each, each.waiting or "") for queue in queues for each in queue
        ):
            return False
        self._assign(queues, Capacity(idle.workers, {}, silent=idle.silent), batch)
        chosen = {each.worker for each in batch.sent}
        for worker in (each for each in idle.workers if each.id in chosen):
            self._store.database.require(
                _IS_IDLE,
                id=worker.id,
                life=worker.life,
                slots=worker.slots,
                inline_slots=worker.inline_slots,
                runners=runners_column(worker),
                epoch=idle.epoch,
            )
            self._store.database.push(is_first=True)
            batch.epoch = Known([(idle.epoch,)])
            batch.is_foreseen = True
        return batch.is_foreseen

    def forget_idle(self) -> None:
        """What was foreseen was otherwise."""
        self._idle, self._foresees_at = None, self._ticks() + OVERTAKEN_PAUSE_S

    def _is_waited_for(self) -> bool:
        """Whether a record waits for a stage that workers do and that is not paused."""
        return any(self._store.pauses.open_stages(tuple(self._stages)).values())

    def dispatch_here(self, batch: Batch) -> None:
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

    def ask(self) -> "AskedQueue":
        """Ask for what `dispatch_all` looks at first."""
        return AskedQueue(
            workers=self._bus.ask_workers_and_load(),
            stages=self._store.pauses.ask_open_stages(tuple(self._stages)),
        )

    def dispatch_all(self, batch: Batch, asked: "AskedQueue | None" = None) -> None:
        """Dispatch what waits and what arrived in this batch to all workers, lost work first.

        `asked` was asked for in the same transaction.
        """
        self.has_waiting = True  # until the stages were asked
        asked = asked or self.ask()
        capacity, load = self._capacity(asked.workers)
        self.in_flight = sum(load.values())
        if not capacity.is_available:
            return
        # Lost work goes first: it was dispatched before, so its turn in the queue is over.
        if _has_orphans(load):
            self._redeliver(capacity, batch)
        self._assign(self._queues(capacity, batch, asked.stages), capacity, batch)
        self.has_waiting = bool(self._waited_for)

    def _capacity(self, asked: Asked) -> tuple[Capacity, Mapping[tuple[str, bool], int]]:
        """The free slots of all workers, and how much work each has."""
        workers, load = workers_and_load(asked)
        silent = self._leases.expired(workers)
        return Capacity(workers, load, silent=silent, has_alone=self._has_alone), load

    def _assign(self, queues: Iterable[Iterable[Record]], capacity: Capacity, batch: Batch) -> None:
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

    @cached_property
    def _stages(self) -> dict[tuple[str, str], Stage]:
        """The stages of all machines that workers do, by machine and stage; later ones first."""
        return {
            (machine.name, stage.name): stage
            for machine in self._registry.newest.values()
            for stage in reversed(machine.stages)
            if (machine.name, stage.name) not in self._config.engine_stages
        }

    def _queues(
        self, capacity: Capacity, batch: Batch, open_stages: Asked
    ) -> list[Iterable[Record]]:
        """The waiting records of each stage that is not paused and has free slots.

        Later stages come first: `heapq.merge` keeps that order among equal ranks, so that of two equal records the one
        nearer to its end is dispatched. Of each stage there are two queues: what arrived in this batch, which the
        database does not show yet, and what it shows.
        """
        arrived = batch.arrived()
        count = sum(map(len, arrived.values()))
        stages = self._stages
        is_waited_for = stages_waited_for(open_stages)
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
        capacity: Capacity,
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

    def _redeliver(self, capacity: Capacity, batch: Batch) -> None:
        """Give work without a worker to another one; work that has killed what ran it is a failed attempt.

        The version stays: it is the same attempt (docs/decisions/0003). Work that its worker returned without having
        begun it counts as no loss.
        """
        orphans = self._bus.orphaned_work(limit=self._config.batch_max)
        batch.load(self._store, (orphan.work.record_id for orphan in orphans))
        for orphan in orphans:
            work = _with_loss(orphan)
            record = batch.records.get(work.record_id)
            if record is None or record.version != work.version:  # the record moved on without it
                batch.withdrawn.append((work.record_id, work.version))
            elif (reason := stop_reason(work.losses, self._config.redelivery)) is not None:
                self._give_up(_lost_event(record, work, reason, batch.now), batch)
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


def _lost_event(record: Record, work: Work, reason: str, now: Micros) -> Event:
    # As if the attempt had reported it, so the machine's own retry rules apply; all coordinators derive the same id.
    return event_about(
        record,
        f"{work.stage}.failed",
        at=now,
        actor=COORDINATOR,
        error_code=WORKER_LOST,
        error_message=f"its worker was lost while it ran {work.stage}: {reason}",
    )
