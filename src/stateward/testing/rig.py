"""An engine to test with: the real store, bus, outputs, coordinator and scheduler, with time held still.

No thread, no process, no sleeping: a test says what the worker reports and when time passes. It is what users
of Stateward test their machines with, too.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import count

from stateward.core.machine import Machine
from stateward.core.model import (
    PERSON,
    SECOND,
    Decision,
    Fields,
    Micros,
    Record,
    Work,
    event_about,
)
from stateward.core.query import Query, parse_query
from stateward.core.redelivery import RedeliveryLimits
from stateward.engine.coordinator import Coordinator, Submission
from stateward.engine.coordinator_config import CoordinatorConfig
from stateward.engine.history import Verdict, verify
from stateward.engine.registry import MachineRegistry, register
from stateward.engine.scheduler import Scheduler
from stateward.proofs.history_checkpoint import HistoryCheckpoint
from stateward.storage.audit import AuditLog
from stateward.storage.database import Database
from stateward.storage.outputs import (
    AttemptResult,
    Output,
    Outputs,
    result_event,
)
from stateward.storage.store import Store
from stateward.transport import Bus, WorkerInfo

START: Micros = 1_800_000_000 * SECOND
TURNS_MAX = 10_000


class Clock:
    """Time that passes only when told to."""

    def __init__(self, now: Micros = START) -> None:
        self.now = now

    def __call__(self) -> Micros:
        """The present."""
        return self.now

    def pass_s(self, seconds: float) -> None:
        """Let time pass (or, below zero, let the clock be set back)."""
        self.now += round(seconds * SECOND)


class Rig:
    """One coordinator over one database, with workers that do what the test says."""

    def __init__(
        self,
        database: Database,
        machines: Sequence[Machine],
        *,
        clock: Clock | None = None,
        ageing_s: float = 0.0,
        lease_s: float = 15.0,
        redelivery: RedeliveryLimits = RedeliveryLimits(),  # noqa: B008 - frozen
        batch_max: int = 512,
        new_id: Callable[[str], str] | None = None,
    ) -> None:
        self.database = database
        self.clock = clock or Clock()
        self.store, self.bus, self.outputs = Store(database), Bus(database), Outputs(database)
        self.registry: MachineRegistry = register(self.store, machines, now=self.clock())
        numbers = count(1)
        self.gone: set[str] = set()
        self.coordinator = Coordinator(
            store=self.store,
            bus=self.bus,
            registry=self.registry,
            clock=self.clock,
            new_id=new_id or (lambda prefix: f"{prefix}_{next(numbers):06d}"),
            is_alive=lambda worker: worker.id not in self.gone,
            config=CoordinatorConfig(
                batch_max=batch_max,
                lease_s=lease_s,
                redelivery=redelivery,
                ageing_s={machine.name: ageing_s for machine in machines},
            ),
        )
        self.scheduler = Scheduler(
            store=self.store,
            outputs=self.outputs,
            bus=self.bus,
            machine_of=self.registry.of,
            clock=self.clock,
        )

    # What people do

    def open(self, machine: str | None = None, **parts: object) -> Record:
        """A new record, of the first machine unless another is named."""
        name = machine or next(iter(self.registry.newest))
        opening = Submission(machine=name, **{"actor": f"{PERSON}test", **parts})  # type: ignore[arg-type]
        return self.coordinator.submit([opening])[0].record

    def ask(
        self, type_: str, record: Record, *, facts: Fields | None = None, reason: str | None = None
    ) -> Decision:
        """A person asks for something, having seen the record as it is now."""
        seen = self.now(record)
        event = event_about(
            seen, type_, at=self.clock(), actor=f"{PERSON}test", facts=facts, reason=reason
        )
        return self.coordinator.handle([event])[0]

    def now(self, record: Record) -> Record:
        """The record as it stands."""
        found = self.store.get(record.id)
        assert found is not None
        return found

    def query(self, text: str) -> Query:
        """A query in the one grammar."""
        return parse_query(text, now=self.clock())

    # What workers do

    def worker(
        self, name: str = "w1", *, slots: int = 1000, runners: Iterable[str] | None = None
    ) -> str:
        """A worker that is alive now."""
        every = [s.runner for m in self.registry.newest.values() for s in m.stages]
        self.bus.heartbeat(
            WorkerInfo(
                id=name,
                host="here",
                pid=1,
                life="",
                runners=tuple(every if runners is None else runners),
                slots=slots,
                inline_slots=slots,
                started_at=self.clock(),
                seen_at=self.clock(),
            )
        )
        return name

    def work(self, worker: str = "w1") -> list[Work]:
        """What a worker has to do."""
        return self.bus.assigned_work(worker, limit=1000)

    def complete(
        self, work: Work, *, items: int = 1, facts: Fields | None = None, outcome: str = "done"
    ) -> bool:
        """A worker finishes an attempt well; False where it was no longer its own."""
        mark = AttemptResult(
            record_id=work.record_id,
            version=work.version,
            stage=work.stage,
            worker=work.worker,
            at=self.clock(),
            outcome=outcome,
            count=items,
            facts=facts or {},
        )
        data = "[" + ",".join(f'{{"n":{number}}}' for number in range(items)) + "]"
        return self._end(work, Output(mark, ((items, data),) if items else ()))

    def fail(self, work: Work, code: str = "BROKEN", *, is_retryable: bool = True) -> bool:
        """A worker finishes an attempt badly."""
        mark = AttemptResult(
            record_id=work.record_id,
            version=work.version,
            stage=work.stage,
            worker=work.worker,
            at=self.clock(),
            error_code=code,
            error_message=f"{code} in {work.stage}",
            is_retryable=is_retryable,
        )
        return self._end(work, Output(mark))

    def _end(self, work: Work, output: Output) -> bool:
        with self.database.transaction():
            (is_own,) = self.bus.finish([work])
            if is_own:
                (seal,) = self.outputs.write([output])
                self.bus.report([result_event(output.result, seal)] if seal else [])
            return is_own

    def write_but_lose_event(self, work: Work, *, items: int = 1) -> None:
        """A worker writes its output, and its event is lost on the way."""
        mark = AttemptResult(
            record_id=work.record_id,
            version=work.version,
            stage=work.stage,
            worker=work.worker,
            at=self.clock(),
            count=items,
        )
        self.outputs.write([Output(mark)])

    # What the service does

    def turn(self) -> int:
        """One round of the coordinator: time, events, dispatch; how much there was to do."""
        with self.database.transaction():
            self.scheduler.tick()
            return self.coordinator.turn()

    def settle(self) -> None:
        """Rounds until nothing is left to do now."""
        for _ in range(TURNS_MAX):
            if not self.turn():
                return
        raise AssertionError("the engine never came to rest")

    def run(self, *, items: int = 1) -> None:
        """Everything that can be done now, done well."""
        for _ in range(TURNS_MAX):
            self.settle()
            work = [each for worker in self.bus.workers() for each in self.work(worker.id)]
            if not work:
                return
            for each in work:
                self.complete(each, items=items)
        raise AssertionError("the engine never came to rest")

    def verify(self, kept: HistoryCheckpoint | None = None) -> Verdict:
        """Replay and check everything, also against a checkpoint."""
        versions = {(m.name, m.version): m for m, _ in self.store.machine_versions.all()}
        return verify(self.store, versions, audit=AuditLog(self.database), kept=kept)
