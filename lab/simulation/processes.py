"""The simulated world: virtual time, processes made of the engine's own objects, and witnesses of what they do.

Every process has objects of its own (store, bus, outputs, coordinator, scheduler, worker) on one database in memory.
A crash is an exception that nothing catches on its way: the open unit is undone, as it is for a killed process, and
the process's objects are thrown away. Nothing here reads a real clock or an unseeded generator.
"""

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from hashlib import sha256
from itertools import compress
from pathlib import Path
from typing import Any, cast

import apsw
import msgspec

from lab.simulation.late_refusals import LateRefusals
from lab.simulation.witness import Witness, WitnessedBus
from stateward.blobs import Artifact
from stateward.core.chain import GENESIS
from stateward.core.errors import StoreUnreachable
from stateward.core.failpoints import Point
from stateward.core.files import DerivedFile
from stateward.core.lanes import Lane
from stateward.core.machine import Machine
from stateward.core.model import (
    SECOND,
    Event,
    Fields,
    Micros,
    Record,
    Work,
)
from stateward.core.redelivery import RedeliveryLimits
from stateward.engine.batch import Locked
from stateward.engine.coordinator import Coordinator
from stateward.engine.coordinator_config import CoordinatorConfig
from stateward.engine.foresight import LOOK_MAX
from stateward.engine.registry import MachineRegistry, register
from stateward.engine.review_tasks import Judged, SelfApproval
from stateward.engine.reviews import Reviews
from stateward.engine.scheduler import Scheduler
from stateward.storage.database import (
    TOPIC_EVENTS,
    TOPIC_READY,
    Row,
    Wakeup,
)
from stateward.storage.lanes import LANES
from stateward.storage.outputs import AttemptResult, Outputs, result_event
from stateward.storage.pipe_wakeups import PipeWakeup
from stateward.storage.sqlite import MEMORY
from stateward.storage.store import Store
from stateward.telemetry import Log
from stateward.transport import WorkerInfo, work_keys
from stateward.workers.results import Died
from stateward.workers.sdk import Completed, Limits, Result
from stateward.workers.worker import Key, Worker
from stateward.workers.worker_config import WorkerConfig, WorkerIdentity

START: Micros = 1_800_000_000 * SECOND
LEASE_S = 15.0
HEARTBEAT_S = 5.0
ASK_AGAIN_S = 1.0
REDELIVERY = RedeliveryLimits(deliveries_max=2, redeliveries_max=3)
UNDO_S = 10.0
RECOVER_EVERY_S = 5.0  # a node looks every second; here turns are counted

Outcome = Callable[[Work], Result | None]


class Crash(BaseException):
    """A process is killed at a point. No handler of the engine may know of it."""

    def __init__(self, point: Point) -> None:
        super().__init__(point.label)
        self.point = point


class FlagWakeup(PipeWakeup):
    """A wake-up that is a set in memory: no process sleeps here, and a history would make hundreds of system calls."""

    def __init__(self, topics: Iterable[str], *, on_close: Callable[[PipeWakeup], None]) -> None:
        self._topics = frozenset(topics)
        self._told: set[str] = set()
        self._leave = on_close
        self._is_open = True

    def notify(self, topics: Iterable[str]) -> None:
        """Ring for those of the topics that are listened to."""
        self._told |= self._topics.intersection(topics)

    def clear(self) -> frozenset[str]:
        """Forget what rang."""
        told, self._told = self._told, set()
        return frozenset(told)

    def wait(self, timeout_s: float) -> bool:
        """Whether anything rang; time passes only where the world says so."""
        return bool(self._told)

    def close(self) -> None:
        """Stop listening."""
        if self._is_open:
            self._is_open = False
            self._leave(self)


class ArenaDatabase(LateRefusals):
    """The store in memory, with wake-ups in memory."""

    def __init__(self) -> None:
        super().__init__(MEMORY)
        run, frames = self._connection.execute, ("BEGIN IMMEDIATE", "COMMIT")

        def execute(sql: str, params: Any = ()) -> apsw.Cursor:  # noqa: ANN401 - apsw's own
            return run(sql, params, can_cache=sql not in frames)

        # The cache of apsw keeps the last 500 executions, not statements: these two would take a fifth of it.
        self._execute = cast("Any", execute)
        self._seen: dict[str, tuple[int, list[Row]]] = {}
        named = self.rows("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")
        # A full-text index has tables of its own, and is emptied with the texts in it.
        self._tables = [str(name) for (name,) in named if not str(name).startswith("search_index")]
        # The names come from the schema itself.
        held = ", ".join(f"EXISTS (SELECT 1 FROM {name})" for name in self._tables)
        self._look = f"SELECT {held}"
        self._columns: dict[str, list[str]] = {}

    def seen(self, sql: str) -> list[Row]:
        """The rows of a query that is asked at every step, and answered anew where anything was written since."""
        if self._depth:  # what is written may be undone, and still counts as changes
            return self.rows(sql)
        written = self._connection.total_changes()
        found = self._seen.get(sql)
        if found is None or found[0] != written:
            # Without the comforts of `rows`, which are for what the engine asks.
            found = self._seen[sql] = (written, cast("list[Row]", self._execute(sql).fetchall()))
        return found[1]

    def _held(self) -> list[str]:
        """The tables that hold anything: most do not."""
        return list(compress(self._tables, self.rows(self._look)[0]))

    def contents(self) -> list[tuple[str, list[str], list[Row]]]:
        """Every row: the tables that hold anything, with the names of their columns and their rows."""
        found: list[tuple[str, list[str], list[Row]]] = []
        for table in self._held():
            if table not in self._columns:
                named = self.rows(f"SELECT name FROM pragma_table_info('{table}')")
                self._columns[table] = [str(name) for (name,) in named]
            found.append((table, self._columns[table], self.rows(f"SELECT * FROM {table}")))
        return found

    def clear(self, lanes: int) -> None:
        """Make it what its migrations made, with so many lanes."""
        with self.transaction():
            for name in self._held():
                if name != "followers":
                    self.run(f"DELETE FROM {name}")
            self.run("UPDATE followers SET seq = 0")  # who follows is a row of a migration
            self.insert(
                LANES, [msgspec.structs.astuple(Lane(lane=number)) for number in range(lanes)]
            )
            self.run("INSERT INTO audit_head VALUES (1, 0, :genesis)", genesis=GENESIS)

    def wakeup(self, *topics: str) -> PipeWakeup:
        """A wake-up for these topics."""
        wakeup = FlagWakeup(topics, on_close=self._wakeups.remove)
        self._wakeups.append(wakeup)
        return wakeup


class Arena:
    """One database in memory for many histories, one after the other: emptying it is faster than a new one."""

    def __init__(self) -> None:
        self.database = ArenaDatabase()

    def cleared(self, *, lanes: int = 1, has_round_trips: bool = False) -> ArenaDatabase:
        """The database as its migrations made it, with so many lanes.

        With `has_round_trips` turns are decided on what is known before them, and refused late, as over a server.
        """
        self.database.has_round_trips = has_round_trips
        self.database.clear(lanes)
        return self.database


class Silent(Log):
    """A log that is not written."""

    def _write(self, level: str, event: str, facts: dict[str, object]) -> None:
        pass


class HashedOnly:
    """Blob storage that keeps nothing: what a worker writes about bytes is simulated, the bytes are not."""

    is_local = True

    def has_copy(self, digest: str) -> bool:
        return True

    def path(self, digest: str) -> Path:
        return Path(digest)

    def checked_path(self, digest: str) -> Path:
        """The same: nothing is there that could be hashed."""
        return Path(digest)

    def put_as(self, digest: str, pieces: Iterable[bytes], *, bytes_max: int) -> Artifact | None:
        return Artifact(sha256=digest, size=len(b"".join(pieces)), is_new=True)


class SimulatedWorker(Worker):
    """The worker as it is, but for its children: what comes of an attempt, and when, the world says."""

    def __init__(self, process: "Process", outcome: Outcome, runners: Sequence[str]) -> None:
        self._outcome = outcome
        self._ask_at: dict[Key, Micros] = {}
        self._beat_due: Micros = 0
        self.is_deaf = False
        """Whether a ring may have been lost since it last looked; a real worker looks every second all the same."""
        loaded: dict[str, object] = dict.fromkeys(runners)
        super().__init__(
            WorkerIdentity(name=process.alias, host="here", pid=process.life, life=""),
            WorkerConfig(
                limits=Limits(),
                processes=process.around.slots,
                prefetch=0,
                inline_window=1,
                heartbeat_s=0.0,
                scratch_root=Path("/nowhere"),
                redelivery=REDELIVERY,
            ),
            database=process.database,
            bus=process.bus,
            runners=loaded,  # type: ignore[arg-type]
            artifacts=HashedOnly(),
            clock=process.clock,
            sleep=lambda _: None,
            log=Silent("worker"),
        )
        self._wakeup = self.calls._listen()

    @property
    def is_loaded(self) -> bool:
        """Whether it has anything under way or to write."""
        return bool(self._queue or self._finished or self._lost)

    @property
    def under_way(self) -> list[str]:
        """The records whose attempts run: here they are run from the queue."""
        return [work.record_id for work in self._queue.values()]

    def _is_told(self, ready: AbstractSet[int] | None) -> bool:
        """It looks for work in every turn: what it was told, the turn has already forgotten."""
        self._wakeup.clear()
        self.is_deaf = False
        return True

    def _run_inline(self) -> None:
        self._queue |= self._inline_queue
        self._inline_queue.clear()
        for key, work in list(self._queue.items()):
            result = self._outcome(work)
            if isinstance(result, Died) and key in self._begun:
                # As a real child: what had the document cannot die without having had it.
                result = msgspec.structs.replace(result, has_begun=True)
            if work.losses and getattr(result, "has_begun", True):
                self._record_begun(work)
            if result is None:
                self._ask_at[key] = self._clock() + round(ASK_AGAIN_S * SECOND)
            else:
                del self._queue[key]
                self._end(work, self._with_file(work, result))

    def _with_file(self, work: Work, result: Result) -> Result:
        """A result with a derived file, whose bytes are stored before there is anything that names it."""
        if not isinstance(result, Completed):
            return result
        data = work.stage.encode()
        digest, files = sha256(data).hexdigest(), self._attempts.files(work)
        files.announce([digest])
        files.put(digest, [data], bytes_max=len(data))
        file = DerivedFile(name="made", media_type="text/plain", size=len(data), sha256=digest)
        return msgspec.structs.replace(result, files=(file,))

    def _beat(self) -> None:
        """Say that it is alive, as often as a worker does: by the time that passes here."""
        if self.is_beat_due:
            self._beat_due = self._clock() + round(HEARTBEAT_S * SECOND)
            super()._beat()

    @property
    def is_beat_due(self) -> bool:
        """Whether it is time to say that it is alive; a clock that was set back makes it so, too."""
        early = self._beat_due - self._clock()
        return early <= 0 or early > 2 * HEARTBEAT_S * SECOND

    def _poll(self) -> None:
        pass

    def _start(self) -> None:
        pass

    @property
    def is_done(self) -> bool:
        """Whether it has anything to write."""
        return bool(self._finished or self._lost)

    @property
    def is_wanted(self) -> bool:
        """Whether it would be awake: an attempt may have ended, or its wakeup rang."""
        if self.is_done or self._wakeup.wait(0.0):
            return True
        now = self._clock()
        return any(self._ask_at.get(key, now) <= now for key in self._queue)

    def lose_rings(self) -> None:
        """Forget past rings."""
        self._wakeup.clear()

    def stop_listening(self) -> None:
        """What the kernel does for a process that is gone."""
        self._wakeup.close()


class SplitWorker(SimulatedWorker):
    """A worker on an outside bus: its mark is durable first, and only later is the event on its way."""

    def __init__(self, process: "Process", outcome: Outcome, runners: Sequence[str]) -> None:
        super().__init__(process, outcome, runners)
        self._marked: list[AttemptResult] = []

    @property
    def is_loaded(self) -> bool:
        """Whether it has anything to run, to write or to tell."""
        return super().is_loaded or bool(self._marked)

    @property
    def is_done(self) -> bool:
        """Whether it has anything to write or to tell."""
        return super().is_done or bool(self._marked)

    def settle(
        self,
        *,
        tell: Callable[[Sequence[Event]], object] | None = None,
        is_expected: bool = False,
    ) -> bool:
        """Write the marks, or tell of those that were written the last time."""
        self._is_written = False
        self._beat()
        if self._marked:
            return self._tell(tell or self._bus.report)
        self._return_lost()
        self._is_written = bool(self._lost)
        finished = list(self._finished.values())
        if not finished:
            return self._is_written
        outputs = [self._attempts.output(each.work, each.result) for each in finished]
        _, seals = self._outputs.write_finished(
            outputs, work_keys([each.work for each in finished])
        )
        self._marked = [each.result for each, seal in zip(outputs, seals, strict=True) if seal]
        self._is_written = True
        return True

    def _tell(self, tell: Callable[[Sequence[Event]], object]) -> bool:
        with self._database.transaction():
            marks = [self._outputs.result(each.record_id, each.version) for each in self._marked]
            tell(
                [
                    result_event(mark, self._outputs.seal(mark.record_id, mark.version))
                    for mark in marks
                    if mark is not None
                ]
            )
        self._marked = []
        return True


class WaitContext(msgspec.Struct, kw_only=True):
    """What all processes of a world share, and what faults change: the time, the machine, who is there."""

    database: ArenaDatabase
    witness: Witness
    machine: Machine
    outcome: Outcome
    ageing_s: float = 0.0
    hands_over: bool = False
    is_local: bool = True
    slots: int = 2
    self_approval: SelfApproval = "allow"
    now: Micros = START
    numbers: int = 0
    living: set[str] = set()
    registered: tuple[Machine, MachineRegistry] | None = None
    meanwhile: Callable[[], None] = lambda: None
    """What others do while a process has results and has not begun to decide on what it knew of their records."""

    def registry(self, store: Store, now: Micros) -> MachineRegistry:
        """The machine in force; it is registered by the first process that starts with it."""
        if self.registered is None or self.registered[0] is not self.machine:
            self.registered = (self.machine, register(store, [self.machine], now=now))
        return self.registered[1]

    def new_id(self, prefix: str) -> str:
        """Ids in order."""
        self.numbers += 1
        return f"{prefix}_{self.numbers:04d}"

    def pass_s(self, seconds: float) -> None:
        """Let time pass."""
        self.now += round(seconds * SECOND)

    def is_alive(self, worker: WorkerInfo) -> bool:
        """What a coordinator on the same machine can see of a worker; of another machine it sees nothing."""
        return not self.is_local or worker.id in self.living


class Process:
    """One process in its roles, with a clock that may be wrong. `start` makes its objects, `die` drops them."""

    def __init__(
        self,
        around: WaitContext,
        name: str,
        *,
        is_coordinator: bool = False,
        is_worker: bool = False,
        is_split: bool = False,
    ) -> None:
        self.around = around
        self.name = name
        self.is_coordinator = is_coordinator
        self.is_worker = is_worker
        self.is_split = is_split
        self.offset: Micros = 0
        self.life = 0
        self.is_up = False
        self.is_stopped = False
        self.recover_at: Micros = 0
        self.worker: SimulatedWorker | None = None
        self._wakeup: Wakeup | None = None

    @property
    def alias(self) -> str:
        """The name of this life of the process."""
        return f"{self.name}.{self.life}"

    @property
    def database(self) -> ArenaDatabase:
        """The one database."""
        return self.around.database

    @property
    def is_running(self) -> bool:
        """Whether it can do anything."""
        return self.is_up and not self.is_stopped

    def clock(self) -> Micros:
        """The time as this process has it."""
        return self.around.now + self.offset

    # Life

    def start(self) -> None:
        """New objects on the database as it is."""
        around = self.around
        self.life += 1
        # Salts without chance: the same seed gives the same hashes.
        self.store = Store(self.database, random_bytes=bytes)
        self.outputs = Outputs(self.database)
        self.bus = WitnessedBus(self.database, around.witness, self.clock)
        self.is_up, self.is_stopped = True, False
        if self.is_coordinator or not self.is_worker:
            self._be_coordinator()
        if self.is_worker:
            self._be_worker()

    def _be_coordinator(self) -> None:
        around = self.around
        registry = around.registry(self.store, self.clock())
        self.coordinator = Coordinator(
            store=self.store,
            bus=self.bus,
            registry=registry,
            clock=self.clock,
            new_id=around.new_id,
            is_alive=around.is_alive,
            on_transitions=around.witness.moved,
            config=CoordinatorConfig(
                lease_s=LEASE_S,
                redelivery=REDELIVERY,
                ageing_s={around.machine.name: around.ageing_s},
                hands_over=around.hands_over,
            ),
            ticks=lambda: around.now / SECOND,
        )
        self.reviews = Reviews(
            database=self.database,
            store=self.store,
            outputs=self.outputs,
            coordinator=lambda: self.coordinator,
            registry=registry,
            clock=self.clock,
            claim_s=UNDO_S,
            undo_s=UNDO_S,
            self_approval=around.self_approval,
            has_keys=lambda: False,
            judge=_as_it_is,
        )
        self.reviews._log = Silent("reviews")
        if not self.is_coordinator:  # a frontend: it opens and asks, but has no loop
            return
        self.scheduler = Scheduler(
            store=self.store,
            outputs=self.outputs,
            bus=self.bus,
            machine_of=registry.of,
            clock=self.clock,
        )
        self.recover_at = self.around.now
        self._wakeup = self.database.wakeup(TOPIC_EVENTS, TOPIC_READY)
        self.store.lanes.begin_epoch(now=self.clock())

    def _be_worker(self) -> None:
        self.around.living.add(self.alias)
        runners = [stage.runner for stage in self.around.machine.stages]
        kind = SplitWorker if self.is_split else SimulatedWorker
        self.worker = kind(self, self.around.outcome, runners)

    def die(self) -> None:
        """What the kernel cleans up after a kill, and nothing more."""
        self.around.living.discard(self.alias)
        self.is_up = self.is_stopped = False
        if self._wakeup is not None:
            self._wakeup.close()
            self._wakeup = None
        if self.worker is not None:
            self.worker.stop_listening()
            self.worker = None

    # What it does, whole or in parts

    def turn(self) -> bool:
        """One round of all its roles in one unit, as `Node.turn` has it; whether there was anything to do."""
        topics = self.listen_no_more()
        worker = self.worker
        is_busy = bool(self.make_decisions())
        is_busy |= worker.prepare() if worker is not None else False
        if self.is_coordinator and worker is not None and worker.finishing:
            self.around.meanwhile()
        is_busy |= self._coordinate_anew(topics) if self.is_coordinator else self.settle()
        if worker is not None and self.is_coordinator:
            worker.committed()
            worker.accept(self.coordinator.sent)
            self.coordinator.foresight.look(worker.under_way[:LOOK_MAX])
        return is_busy

    def _coordinate_anew(self, topics: AbstractSet[str]) -> bool:
        """Settle and decide, and again where something was otherwise than foreseen."""
        foresight = self.coordinator.foresight
        foresight.begin()
        try:
            return self._coordinate(topics)
        except StoreUnreachable:
            if not foresight.is_wrong():
                raise
        self.around.witness.forget()
        self.around.witness.refused += 1
        return self._coordinate(topics)

    def make_decisions(self) -> int:
        """Make the decisions of people that are due, as `Node` does first of all; how many there were."""
        if not self.is_coordinator or not self.around.witness.decisions:
            return 0
        return self.reviews.apply_due()

    def _coordinate(self, topics: AbstractSet[str]) -> bool:
        """Settle, recover, tick and turn in one unit.

        What is looked for is what the wake-ups say, and at times everything; without any of it the turn handles the
        results of its own worker alone.
        """
        coordinator, worker = self.coordinator, self.worker
        is_round = self.around.now >= self.recover_at
        is_all = is_round or coordinator.has_more
        due_at = self.scheduler.next_at()
        is_due = due_at is not None and due_at <= self.clock()
        told: list[Event] = []
        locked: Locked | None = None
        is_busy = False
        with self.database.transaction():
            if worker is not None:
                coordinator.dispatcher.local_worker = worker
                is_alone = not (topics or is_all or is_due)
                locked = coordinator.lock(worker.finishing, is_alone=is_alone)
                self.around.witness.foreseen += locked.known is not None
                is_busy |= worker.settle(tell=told.extend, is_expected=locked.known is not None)
                self.bus.overhear(told)
            if is_round:
                self.recover()
            ticked = self.scheduler.tick() if is_due else 0
            return is_busy | bool(
                coordinator.turn(
                    told,
                    locked=locked,
                    has_events=is_all or ticked > 0 or TOPIC_EVENTS in topics,
                    has_waiting=is_all or TOPIC_READY in topics,
                )
            )

    def recover(self) -> int:
        """Look for lost workers and renamed states; how much was found."""
        if self.around.now - self.recover_at > LEASE_S / 2 * SECOND:
            self.coordinator.reset_leases()
        self.recover_at = self.around.now + round(RECOVER_EVERY_S * SECOND)
        with self.database.transaction():
            return len(self.coordinator.recover()) + self.coordinator.upgrade_records()

    def prepare(self) -> bool:
        """The worker takes and does its work, and writes nothing."""
        return self.worker is not None and self.worker.prepare()

    def settle(self) -> bool:
        """The worker writes what it has done, and says that it is alive."""
        if self.worker is None:
            return False
        with self.database.transaction():
            is_written = self.worker.settle()
        self.worker.committed()
        return is_written

    # When it wakes

    def is_wanted(self, due_at: Micros | None) -> bool:
        """Whether it would be awake now: a wakeup rang, or its time has come."""
        if not self.is_running:
            return False
        if self.is_coordinator and self._wakeup is not None:
            is_due = due_at is not None and due_at <= self.clock()
            if is_due or self.around.now >= self.recover_at or self._wakeup.wait(0.0):
                return True
        return self.worker is not None and self.worker.is_wanted

    def listen_no_more(self) -> frozenset[str]:
        """Forget past rings, as a process does before it looks for work, or as a lost wake-up does for it."""
        topics = frozenset[str]() if self._wakeup is None else self._wakeup.clear()
        if self.worker is not None:
            self.worker.lose_rings()
        return topics


def _as_it_is(record: Record, items: Sequence[Fields], fields: Sequence[str]) -> Judged:
    """No pipeline judges corrections here: none is made."""
    raise AssertionError(f"{record.id} is not corrected: {items}, {fields}")
