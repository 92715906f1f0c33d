"""One seed from beginning to end: live with faults, heal, let nothing move any more, and be judged.

The scheduler picks who acts next; the seed's aim says which fault strikes in which state and where the crash comes
then. After that no more faults: everybody is up, clocks are right, what was held back arrives, and time passes to
whatever is due until nothing moves. The checker then reads the export.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import msgspec

from lab.checker import (
    History,
    Line,
    Seen,
    Violation,
    check,
    read_lines,
)
from lab.simulation.bench import Bench
from lab.simulation.faults import inject, let_others_in
from lab.simulation.plan import LOAD_FAULTS, Fault, Plan, plan_of
from lab.simulation.processes import (
    HEARTBEAT_S,
    LEASE_S,
    RECOVER_EVERY_S,
    REDELIVERY,
    Arena,
    Process,
)
from lab.simulation.shapes import plain, route_to
from lab.simulation.upkeep import Upkeep
from lab.simulation.witness import kept_effects, kept_marks, kept_work
from lab.simulation.world import World
from stateward.core.failpoints import Point, install
from stateward.core.machine import Machine
from stateward.core.model import (
    PERSON,
    SECOND,
    SEQUENCER,
    Event,
    Micros,
    to_iso,
)
from stateward.engine.history import anchor_line, lane_lines, record_line
from stateward.storage.store import Store
from stateward.transport import NO_WORKER

WRITTEN_EVERY = 8
DOCUMENTS_MAX = 8  # of which those of a short history are drawn
LOAD_STEPS_MAX = 8
IDLE_MAX = 8
WISH_WEIGHT = 4
HOLD_SHARE = 0.6  # of the answers to reviews, those that can be undone for a while
HEAL_MAX = 400
LOG_MAX = 100_000
AMBIENT = 0.06
STEP_S = (0.0, 0.01, 0.2, 0.9)
EVENT_FAULTS = (
    Fault.EVENT_LOST, Fault.EVENT_DOUBLED, Fault.EVENT_DELAYED, Fault.EVENTS_REORDERED,
)  # fmt: skip
WAITING = "SELECT id FROM records WHERE waiting IS NOT NULL OR (rest = 'held' AND due_at IS NULL)"

# Points that a quiet history does not come to, and what brings it there.
PROVOKED: dict[Point, tuple[Fault, ...]] = {
    Point.DEAD_LETTERS_WRITTEN: (Fault.EVENT_GARBLED,),
    Point.DISPOSITIONS_WRITTEN: (Fault.EVENT_FORGED, Fault.ASKED_LATE),
    Point.WORKER_REMOVED: (Fault.KILL_WORKER,),
    Point.WORK_RELEASED: (Fault.KILL_WORKER,),
    Point.WORK_RECLAIMED: (Fault.KILL_WORKER,),
    Point.RESTARTS_COMMITTED: (Fault.KILL_WORKER,),
    Point.RECORDS_UPGRADED: (Fault.UPGRADED,),
    Point.WORK_WITHDRAWN: (Fault.CANCELLED, Fault.SEQUENCED),
    Point.EFFECTS_ADDED: (Fault.CANCELLED,),
}

_encode = msgspec.json.Encoder(order="deterministic").encode


class Length(NamedTuple):
    """How long a history goes on, at most and after its aim was met."""

    steps_max: int
    steps_after: int
    crashes_max: int
    spares: int  # documents that are submitted only where no other one leads to the aim


LONG = Length(steps_max=70, steps_after=6, crashes_max=3, spares=0)
SHORT = Length(steps_max=45, steps_after=2, crashes_max=2, spares=3)


class Report(msgspec.Struct, kw_only=True):
    """What one seed did, saw and broke."""

    plan: Plan
    steps: int
    faults: dict[str, int]
    crashes: list[str]
    reached: list[str]
    struck: list[tuple[str, str]]
    cut: list[tuple[str, str]]
    triples: list[tuple[str, str, str]]
    entered: list[str]
    transitions: int
    foreseen: int
    refused: int
    violations: list[Violation]
    lines: Callable[[], list[str]]

    @property
    def trace(self) -> list[str]:
        """The whole history, a line each, and what was found."""
        return [*self.lines(), *(f"violated: {each}" for each in self.violations)]

    @property
    def is_hit(self) -> bool:
        """Whether the seed did what it aimed at."""
        aim = self.plan.aim
        return (f"{aim.machine}.{aim.state}", aim.fault.name, aim.point.label) in self.triples


def simulate(seed: int, arena: Arena | None = None, *, is_long: bool | None = None) -> Report:
    """Run a seed, in the long or the short history that it has or that is asked for.

    The same seed gives the same report, whatever ran before.
    """
    return simulate_plan(plan_of(seed, is_long=is_long), arena or Arena())


def simulate_plan(plan: Plan, arena: Arena) -> Report:
    """Run a plan."""
    world = World(plan, arena)
    life = Life(world)
    before = install(world.at_point)
    try:
        life.live()
        if life.bench is not None:
            life.bench.sit()
        heal(world)
        if life.upkeep is not None:
            life.upkeep.last()
    finally:
        install(before)
        for process in world.processes:
            process.die()
    life.follow()
    found = [*world.violations, *judge(world)]
    return life.report(found)


class Life:
    """The part of a history in which things go wrong."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._plan = world.plan
        self._aim = world.plan.aim
        self.upkeep = Upkeep(world) if world.plan.has_upkeep else None
        self.bench = Bench(world) if world.plan.needs_several else None
        if world.plan.foresees:
            let_others_in(world)
        self._length = LONG if world.plan.is_long else SHORT
        self._names = self._documents()
        self._spares = [f"spare-{letter}" for letter in "abc"[: self._length.spares]]
        self._faults: dict[str, int] = {}
        self._struck: dict[tuple[str, str], None] = {}
        self._cut: dict[tuple[str, str], None] = {}
        self._triples: dict[tuple[str, str, str], None] = {}
        self._entered: dict[str, None] = {}
        self._former = {new: old for old, new in world.plan.shape.newer.upgrades[1].items()}
        self._followed = 0
        self._crashes = 0
        self._struck_at: int | None = None
        self._met_at: int | None = None
        self._idle = 0
        self._is_in_parts = (
            world.machine.kind[self._aim.state] == "ready" or world.rng.random() < 0.5
        )

    def _documents(self) -> list[str]:
        """What is submitted. By their numbers some of those that are not guided are driven from outside or imported."""
        plan, rng = self._plan, self._world.rng
        if plan.is_long:
            return [f"doc{number}" for number in range(plan.records)]
        guided = range(plan.guided)
        others = rng.sample(range(plan.guided, DOCUMENTS_MAX), plan.records - plan.guided)
        return [f"doc{number}" for number in (*guided, *others)]

    def live(self) -> None:
        """Steps, until the aim is met and a little longer, or for too long."""
        world = self._world
        for process in world.processes:
            world.start(process)
        self._submit()
        while world.steps < self._length.steps_max and not self._is_over():
            world.steps += 1
            world.catch_up()
            guided = set(world.routes) if self._struck_at is None else set()
            if self.upkeep is not None:
                self.upkeep.step(guided)
            if self.bench is not None:
                self.bench.step(guided)
            self.follow()
            if self._is_astray():
                self._open((self._spares or self._names).pop(0))
            elif self._is_loaded():
                self._submit()
            elif not self._strike():
                self._step()
            world.around.pass_s(world.rng.choice(STEP_S))

    def _is_loaded(self) -> bool:
        """Whether one record is under way, so that the other can go to where the fault strikes."""
        world = self._world
        return (
            bool(world.held)
            and not world.routes
            and (
                world.witness.status[world.held[0]] in world.machine.stage_running_in
                or world.steps > LOAD_STEPS_MAX
            )
        )

    def _is_astray(self) -> bool:
        """Whether the guided record left its route before the fault; then the next one is guided."""
        world = self._world
        if self._struck_at is not None or not world.routes or not (self._names or self._spares):
            return False
        (record_id,) = world.routes
        is_there = world.witness.status[record_id] == self._aim.state
        if is_there or world.wanted(record_id) is not None:
            return False
        world.routes.clear()
        return True

    def _is_over(self) -> bool:
        world = self._world
        if self._idle > IDLE_MAX:
            return True
        if self._met_at is None:
            if self._struck_at is not None and self._aim.point in world.crashes:
                self._met_at = world.steps
            return False
        is_cut = len(world.crashes) >= self._length.crashes_max
        return is_cut or world.steps >= self._met_at + self._length.steps_after

    # The aim

    def _strike(self) -> bool:
        world, aim = self._world, self._aim
        if self._struck_at is None:
            if aim.state not in world.witness.status.values():
                return False
            if aim.fault in EVENT_FAULTS and not world.inbox():
                return self._prime()
            held, world.held = world.held, []
            if not self._inject(aim.fault):
                world.held = held
                return False
            self._struck_at = world.steps
            world.arm(aim.point, self._plan.nth)
            return True
        if world.armed is None:
            world.arm(world.rng.choice(list(Point)))
        elif self._met_at is None and world.rng.random() < 0.3:
            return self._provoke(world.armed)
        if world.rng.random() < AMBIENT:
            return self._inject(world.rng.choice(list(Fault)))
        return False

    def _prime(self) -> bool:
        """Put an event into the inbox that means something to the record in the state."""
        world = self._world
        rules = world.machine.rules
        for record_id, status in sorted(world.witness.status.items()):
            if status != self._aim.state:
                continue
            known = sorted(type_ for state, type_ in rules if state == status)
            type_ = world.rng.choice(known or ["retry.requested"])
            world.ask(record_id, type_, version=world.witness.version[record_id], is_passed_on=True)
        return True

    def _provoke(self, point: Point) -> bool:
        world = self._world
        if point is Point.DUE_FOUND:
            return self._leap_to_due()
        if point is Point.EFFECTS_ADDED:
            world.is_hopeless = True
            return False
        faults = PROVOKED.get(point)
        if faults is None or not self._inject(world.rng.choice(faults)):
            return False
        if Fault.KILL_WORKER in faults and not world.around.is_local:
            world.outlast_lease()
        return True

    def _inject(self, fault: Fault) -> bool:
        world = self._world
        where = sorted(set(world.witness.status.values()))
        if not inject(world, fault):
            return False
        self._faults[fault.name] = self._faults.get(fault.name, 0) + 1
        for state in where:
            self._struck[self._named(state), fault.name] = None
        return True

    def follow(self) -> None:
        """Take note of what was committed and of who crashed; guide records along."""
        world = self._world
        for record_id, state in world.witness.entered[self._followed :]:
            self._entered[self._named(state)] = None
            route = world.routes.get(record_id)
            if route and route[0].target == state:
                route.pop(0)
        self._followed = len(world.witness.entered)
        for point in world.crashes[self._crashes :]:
            for state in sorted(set(world.witness.status.values())):
                self._cut[self._named(state), point.label] = None
            for state, fault in self._struck:
                self._triples[state, fault, point.label] = None
        self._crashes = len(world.crashes)

    def _named(self, state: str) -> str:
        """States by the names of the first version."""
        return f"{self._plan.shape.newer.name}.{self._former.get(state, state)}"

    # The scheduler

    def _step(self) -> None:
        world = self._world
        due_at = world.due_at()
        is_far = self._is_far()
        choices: list[Callable[[], object]] = [
            (lambda process=process: self._run(process, due_at))  # type: ignore[misc]
            for process in world.running()
            if process.is_wanted(due_at) and not (is_far and _is_spare(world, process))
        ]
        choices += WISH_WEIGHT * [
            (lambda wish=wish: self._fulfil(*wish)) for wish in world.wishes()
        ]
        if self._struck_at is not None:
            choices += 2 * [
                (lambda wish=wish: self._fulfil(*wish)) for wish in world.open_reviews()
            ]
        if self._is_submit_time():
            choices.append(self._submit)
        if world.rng.random() < 0.1:
            choices.append(self._whim)
        is_early = due_at is not None and due_at > world.now
        if not choices and due_at is None and self._is_point_missed():
            self._open(self._spares.pop(0))
        elif not choices or (is_early and world.is_time_wanted()):
            self._leap_to_due()
        else:
            world.rng.choice(choices)()

    def _is_point_missed(self) -> bool:
        """Whether nothing moves any more that could come to the point; a spare document will."""
        return self._struck_at is not None and self._met_at is None and bool(self._spares)

    def _is_submit_time(self) -> bool:
        """Some documents come at any time; the last ones are kept for after the fault."""
        if self._struck_at is not None:
            return bool(self._names)
        return len(self._names) > 1 and self._world.rng.random() < 0.1

    def _run(self, process: Process, due_at: Micros | None) -> None:
        world = self._world
        if (
            not self._is_in_parts
            or self._is_far()
            or (process.is_coordinator and process.is_worker)
        ):
            self._looked(process, world.act(process, "turns", process.turn))
        elif process.worker is not None:
            self._run_worker(process)
        else:
            self._run_part(process, due_at)

    def _is_far(self) -> bool:
        """Whether a record has a long way to where the fault strikes: then no process dawdles."""
        return self._struck_at is None and any(
            len(route) > 2 and self._world.wanted(record_id)
            for record_id, route in self._world.routes.items()
        )

    def _run_worker(self, process: Process) -> None:
        world = self._world
        if process.worker is not None and process.worker.is_done:
            world.act(process, "writes", process.settle)
        elif world.act(process, "works", process.prepare) is False and _is_silent(process):
            world.act(process, "beats", process.settle)

    def _run_part(self, process: Process, due_at: Micros | None) -> None:
        world = self._world
        if due_at is not None and due_at <= process.clock() and not world.inbox():
            if world.witness.decisions:
                world.act(process, "makes decisions", process.make_decisions)
                if not process.is_running:
                    return
            self._looked(process, world.act(process, "ticks", process.scheduler.tick))
        elif world.inbox():
            world.remember_inbox()
            world.act(process, "handles", process.coordinator.handle_reported)
        elif world.now >= process.recover_at:
            world.act(process, "recovers", process.recover)
        else:
            process.listen_no_more()
            world.act(process, "hands out", partial(process.coordinator.turn, has_events=False))

    def _looked(self, process: Process, done: object) -> None:
        if process.is_coordinator and done is not None:
            self._world.looked()

    def _submit(self) -> None:
        if self._names:
            self._open(self._names.pop(0))

    def _open(self, name: str) -> None:
        self._world.submit([name])
        self._guide(name)

    def _guide(self, name: str) -> None:
        """The first record, or the second where the first is to be under way, goes where the aim is."""
        world = self._world
        own = [ack["record_id"] for ack in world.witness.acks if ack["dedupe"] == name]
        if not own or world.routes:
            return
        if self._aim.fault in LOAD_FAULTS and not world.held:
            world.held.append(own[0])
        else:
            world.routes[own[0]] = list(route_to(self._plan.shape.machine, self._aim.state))

    def _fulfil(self, record_id: str, type_: str) -> None:
        world = self._world
        name, _, answer = type_.partition(".")
        is_held = answer in ("approved", "rejected") and name in {
            each.name for each in world.machine.reviews
        }
        if is_held and world.rng.random() < HOLD_SHARE:
            world.hold(record_id, type_)
        else:
            world.ask(record_id, type_, version=world.witness.version[record_id])

    def _whim(self) -> None:
        """A client looks, or asks for something that the machine knows."""
        world = self._world
        if world.rng.random() < 0.5 or not world.witness.status:
            world.look()
            return
        record_id = world.rng.choice(sorted(world.witness.status))
        type_ = world.rng.choice(sorted(world.machine.event_types))
        version = world.rng.choice((world.witness.version[record_id], None))
        world.hear(
            Event(
                id=f"whim-{world.steps}",
                type=type_,
                record_id=record_id,
                version=version,
                at=world.now,
                actor=world.rng.choice((f"{PERSON}bob", f"{SEQUENCER}flow")),
                count=0,
            )
        )

    def _leap_to_due(self) -> bool:
        world = self._world
        due_at = world.due_at()
        if due_at is None:
            self._idle += not self._names
            world.leap(1.0)
        else:
            world.leap(max(0.0, (due_at - world.now) / SECOND))
        return True

    def report(self, found: list[Violation]) -> Report:
        """What there is to tell."""
        world = self._world
        reached = set(world.reached)
        return Report(
            plan=self._plan,
            steps=world.steps,
            faults=self._faults,
            crashes=[point.label for point in world.crashes],
            reached=[point.label for point in Point if point in reached],
            struck=list(self._struck),
            cut=list(self._cut),
            triples=list(self._triples),
            entered=list(self._entered),
            transitions=len(world.witness.entered),
            foreseen=world.witness.foreseen,
            refused=world.witness.refused,
            violations=found,
            lines=world.trace,
        )


def _is_silent(process: Process) -> bool:
    return process.worker is not None and process.worker.is_beat_due


def heal(world: World) -> None:
    """No more faults: everybody is up and right, and time passes until nothing moves."""
    world.note("healing")
    world.armed, world.is_healing = None, True
    for process in world.processes:
        process.offset = 0
    world.catch_up(is_last=True)
    for process in world.processes:
        world.start(process)
    for pause in world.frontend.store.pauses.all():
        world.resume(pause.stage)
    for name in list(dict.fromkeys(world.unanswered)):
        world.submit([name])
    if not world.is_manned():
        world.outlast_lease()
    for process in world.running():
        process.recover_at = world.now
    _round(world, is_first=True)
    for _ in range(HEAL_MAX):
        if not _round(world) and not _pass_time(world):
            return
    sentence = f"something still moves after {HEAL_MAX} rounds"
    world.violations.append(Violation(law="V1", where="healing", sentence=sentence))


def _round(world: World, *, is_first: bool = False) -> bool:
    """Everybody who is awake turns once; of the coordinators one is enough by now."""
    due_at = world.due_at()
    is_busy = False
    for process in world.running():
        is_awake = process.is_wanted(due_at) or (is_first and _looks_unasked(process))
        if is_awake and not _is_spare(world, process):
            world.steps += 1
            is_busy |= bool(world.act(process, "turns", process.turn))
            if process.is_coordinator:
                world.looked()
    return is_busy


def _looks_unasked(process: Process) -> bool:
    """Whether it looks for work within a second although nothing rang: a ring may have been lost."""
    return process.is_coordinator or (process.worker is not None and process.worker.is_deaf)


def _is_spare(world: World, process: Process) -> bool:
    first = world.coordinators()[:1]
    return process.is_coordinator and not process.is_worker and process not in first


def _pass_time(world: World) -> bool:
    """On to what is due next; whether there is anything."""
    due_at = world.due_at()
    if _is_given_back(world) and _recover_once_more(world):
        return True
    _look_for_strays(world)
    if due_at is None:
        return _is_waiting(world) and _beat_once_more(world)
    world.leap(max(0.0, (due_at - world.now) / SECOND))
    return True


def _is_given_back(world: World) -> bool:
    """Whether lost or returned work waits for a worker with a place: a coordinator looks for that again and again."""
    return any(each["worker"] in NO_WORKER for each in kept_work(world.around.database))


def _recover_once_more(world: World) -> bool:
    """Let a coordinator look; whether that moves anything."""
    world.leap(RECOVER_EVERY_S)
    return _round(world)


def _look_for_strays(world: World) -> None:
    """What runs must be with a worker, or its mark must be there: no record may wait for a timeout in vain.

    A stage without a state of its own for waiting has records in its running state that wait to be handed out, or
    are held until an external driver asks for it.
    """
    database = world.around.database
    waiting = {str(id_) for (id_,) in database.rows(WAITING)}
    work = {(each["record_id"], each["version"]): each["worker"] for each in kept_work(database)}
    done = {(each["record_id"], each["version"]) for each in kept_marks(database)}
    for record_id, status in world.witness.status.items():
        attempt = (record_id, world.witness.version[record_id])
        is_running = world.machine.kind.get(status) == "running" and record_id not in waiting
        if is_running and attempt not in done and work.get(attempt) not in world.around.living:
            sentence = f"is {status!r}, but no worker has its work: {work.get(attempt)!r}"
            where = f"{record_id} version {attempt[1]}"
            world.violations.append(Violation(law="V1", where=where, sentence=sentence))


def _is_waiting(world: World) -> bool:
    ((count,),) = world.around.database.rows(
        "SELECT count(*) FROM records WHERE waiting IS NOT NULL"
    )
    return bool(count)


def _beat_once_more(world: World) -> bool:
    """A worker that was given up says within a heartbeat that it is there; whether that moves anything."""
    world.leap(HEARTBEAT_S)
    return _round(world)


# The verdict


def judge(world: World) -> list[Violation]:
    """What the checker says of the history as it is exported."""
    store = Store(world.around.database)
    is_written = world.plan.seed % WRITTEN_EVERY == 0
    machines = [_plain(each) for each in world.used]
    history, malformed = exported(store, machines=machines, is_written=is_written)
    history.seen = seen(world)
    return [*malformed, *check(history)]


def exported(
    store: Store, *, machines: list[Line], is_written: bool = True
) -> tuple[History, list[Violation]]:
    """The history as `stateward export history` writes it, read again by the checker.

    What is written can be read by itself; `is_written` False leaves that out, and saves its time.
    """
    lanes = store.lanes.all()
    log = [store.log.read(limit=LOG_MAX)]
    files: dict[str, list[Any]] = {
        "transitions": [msgspec.to_builtins(each) for each in lane_lines(lanes, log)],
        "records": [record_line(each) for each in store.walk()],
        "dispositions": [
            {**msgspec.to_builtins(each), "at": to_iso(each.at)}
            for _, each in store.dispositions(limit=LOG_MAX)
        ],
        "dead_letters": [
            {**msgspec.to_builtins(each), "at": to_iso(each.at)}
            for each in store.dead_letters.walk()
        ],
    }
    read: dict[str, list[Line]] = {}
    found: list[Violation] = []
    for name, lines in files.items():
        if not is_written:
            read[name] = lines
            continue
        raw = b"".join(_encode(line) + b"\n" for line in lines)
        read[name], malformed = read_lines(f"{name}.jsonl", raw)
        found += malformed
    history = History(
        transitions=read["transitions"],
        records=read["records"],
        dispositions=read["dispositions"],
        dead_letters=read["dead_letters"],
        anchor=anchor_line(lanes),
        machines=machines,
    )
    return history, found


def seen(world: World) -> Seen:
    """What outsiders saw of a world."""
    witness, database = world.witness, world.around.database
    unseen_s = world.unseen / SECOND
    return Seen(
        **world.told(),
        is_own_refused=world.plan.needs_several,
        acks=witness.acks,
        moves=witness.moves,
        events=witness.events,
        garbled=witness.garbled,
        inbox=[body for _, body in world.inbox()],
        work=kept_work(database),
        in_force={world.machine.name: world.machine.version},
        handed=witness.handed,
        marks=kept_marks(database),
        effects=kept_effects(database),
        begun=witness.begun,
        stale_work=witness.stale_work,
        paused=witness.paused,
        decisions=witness.decisions,
        redelivery=msgspec.to_builtins(REDELIVERY),
        ageing_s=world.plan.shape.ageing_s,
        now=to_iso(world.now),
        slack_s=world.jumped_s + unseen_s + 2 * LEASE_S,
        is_healed=True,
    )


_PLAIN: dict[int, Line] = {}


def _plain(machine: Machine) -> Line:
    """The machine as plain data; machines of shapes live as long as the process does."""
    if id(machine) not in _PLAIN:
        _PLAIN[id(machine)] = plain(machine)
    return _PLAIN[id(machine)]
