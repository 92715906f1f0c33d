"""Every transition of the three machines, cut at every crash point that lies on its way.

A record is led to where the transition begins, one hop at a time, never at random. A dry run writes down which points
the transition passes; then it is run once for each of them, and cut there. What was killed comes back, the world
heals, and the checker reads the export, as after any other history. What a stage completes is also run the hard way:
its first worker is lost, and its event arrives twice and in bad company.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from lab.checker import Violation
from lab.simulation.faults import GARBLED
from lab.simulation.plan import Aim, Fault, Plan
from lab.simulation.processes import Arena, Process
from lab.simulation.run import heal, judge
from lab.simulation.shapes import (
    BY_MACHINE,
    Hop,
    Shape,
    hops,
    route_through,
)
from lab.simulation.world import World
from stateward.core.failpoints import Point, install
from stateward.core.machine import (
    RETRIES_EXHAUSTED,
    RETRY_DUE,
    UPGRADED,
    Machine,
)
from stateward.core.model import SECOND

NAME = "doc"


class Way(NamedTuple):
    """A transition of a machine. `is_hard`: with a lost worker, and with its event in bad company."""

    machine: str
    hop: Hop
    is_hard: bool = False

    def __str__(self) -> str:
        """As a report prints it."""
        source, cause, target = self.hop
        how = " the hard way" if self.is_hard else ""
        return f"{self.machine} {source} -> {target} by {cause}{how}"


class Pair(NamedTuple):
    """A transition, the point that it is cut at, and the how manieth time of passing it."""

    way: "Way"
    point: Point
    nth: int

    def __str__(self) -> str:
        """As a report prints it."""
        return f"{self.way}, cut at {self.point.label}:{self.nth}"


class Verdict(NamedTuple):
    """What became of a pair. `is_cut`: the crash really came."""

    pair: Pair
    is_cut: bool
    violations: list[Violation]


def verdicts(machine: str, arena: Arena | None = None) -> Iterator[Verdict]:
    """Run every pair of one machine."""
    arena = arena or Arena()
    for way in ways(machine):
        for pair in pairs(way, arena):
            yield cut(pair, arena)


def ways(machine: str) -> Iterator[Way]:
    """Every transition of a machine by each of its causes, and what stages complete also the hard way."""
    for hop in hops(BY_MACHINE[machine][0].machine):
        yield Way(machine, hop)
        if hop.cause.endswith(".completed") and not hop.cause.startswith("document."):
            yield Way(machine, hop, is_hard=True)
    for old, new in BY_MACHINE[machine][0].newer.upgrades[1].items():
        yield Way(machine, Hop(old, UPGRADED, new))


def pairs(way: Way, arena: Arena) -> list[Pair]:
    """The points on the way of a transition, as a run without a crash passes them."""
    lead = Lead(way, arena)
    with_hook = install(lead.world.at_point)
    try:
        lead.to_the_brink()
        before = len(lead.world.reached)
        lead.over()
    finally:
        install(with_hook)
        lead.end()
    assert lead.status == way.hop.target, f"{way} led to {lead.status}"
    passed = lead.world.reached[before:]
    return [Pair(way, point, nth) for point in Point for nth in range(1, passed.count(point) + 1)]


def cut(pair: Pair, arena: Arena) -> Verdict:
    """Run one pair and judge it."""
    # Every fourth one goes on well to its end; the others are let fail, and end sooner.
    lead = Lead(pair.way, arena, seed=list(Point).index(pair.point))
    world = lead.world
    with_hook = install(world.at_point)
    try:
        lead.to_the_brink()
        world.arm(pair.point, pair.nth)
        lead.over()
        heal(world)
    finally:
        install(with_hook)
        lead.end()
    found = [*world.violations, *judge(world)]
    return Verdict(pair, world.crashes == [pair.point], found)


class Lead:
    """Leads one record along a route: a coordinator, a worker and a frontend, and no randomness."""

    def __init__(self, way: Way, arena: Arena, *, seed: int = 0) -> None:
        self._hop = way.hop
        self._is_hard = way.is_hard
        self._is_last = False
        self._shape = _shape(way)
        self.world = World(_plan(way, self._shape, seed), arena)
        self._frontend, self._coordinator, self._worker = self.world.processes

    def to_the_brink(self) -> None:
        """All hops but the last."""
        world = self.world
        for process in world.processes:
            world.start(process)
        route = route_through(self._shape.machine, self._hop)
        self._record_id = self._open(route[0].source)
        world.routes[self._record_id] = list(route)
        for hop in route[:-1]:
            self._take(hop)
            world.routes[self._record_id].pop(0)

    def over(self) -> None:
        """The last hop."""
        self._is_last = True
        self._take(self._hop)

    def end(self) -> None:
        """Let go of everything."""
        for process in self.world.processes:
            process.die()

    @property
    def status(self) -> str:
        """Where the record is."""
        return self.world.witness.status[self._record_id]

    def _open(self, state: str) -> str:
        world = self.world
        if state == self._shape.machine.initial:
            world.submit([NAME])
        else:
            self._import(state)
        return next(iter(world.witness.status))

    def _import(self, state: str) -> None:
        """A record in a state that only migration makes."""
        coordinator = self._frontend.coordinator
        coordinator.submit([replace(self.world.opening(NAME), entry=state)])

    def _take(self, hop: Hop) -> None:
        name, _, what = hop.cause.partition(".")
        machine = self.world.machine
        if name in machine.stage:
            self._hand_out()
            if what in ("completed", "failed"):
                self._work()
            elif what == "timed_out":
                self._wait()
        elif hop.cause == UPGRADED:
            self._restart_with(self._shape.newer)
            self._act(self._coordinator, "recovers", self._coordinator.recover)
        elif what == "timed_out" or hop.cause in (RETRY_DUE, RETRIES_EXHAUSTED):
            self._wait()
        else:
            world = self.world
            version = world.witness.version[self._record_id]
            world.ask(self._record_id, hop.cause, version=version, is_passed_on=False)

    def _hand_out(self) -> None:
        self._act(
            self._coordinator,
            "hands out",
            partial(self._coordinator.coordinator.turn, has_events=False),
        )

    def _work(self) -> None:
        is_hard = self._is_hard and self._is_last
        self._act(self._worker, "works", self._worker.prepare)
        if is_hard:
            self._lose_worker()
        self._act(self._worker, "writes", self._worker.settle)
        if is_hard:
            self._add_bad_company()
        self._handle()

    def _lose_worker(self) -> None:
        world = self.world
        self._worker.die()
        world.start(self._worker)
        self._act(self._coordinator, "recovers", self._coordinator.recover)
        self._hand_out()
        self._act(self._worker, "works", self._worker.prepare)

    def _add_bad_company(self) -> None:
        world = self.world
        for _, body in world.inbox():
            world.put_in(body)
        world.put_back(GARBLED[0])
        world.witness.garbled.append(GARBLED[0])

    def _wait(self) -> None:
        world = self.world
        if self._hop.cause == RETRIES_EXHAUSTED and world.machine.retry.max_retries:
            self._restart_with(self._shape.retuned)
        due_at = world.due_at()
        world.around.pass_s(0.0 if due_at is None else (due_at - world.now) / SECOND)
        self._act(self._worker, "beats", self._worker.settle)
        self._act(self._coordinator, "ticks", self._coordinator.scheduler.tick)
        self._handle()

    def _handle(self) -> None:
        self._act(self._coordinator, "handles", self._coordinator.coordinator.handle_reported)

    def _restart_with(self, machine: Machine) -> None:
        """The number of retries is lowered, or a newer version comes, while a record waits."""
        world = self.world
        world.around.machine = machine
        world.used.append(machine)
        for process in (self._frontend, self._coordinator):
            process.die()
            world.start(process)

    def _act(self, process: Process, what: str, do: object) -> None:
        if process.is_running:
            self.world.act(process, what, do)  # type: ignore[arg-type]


def _shape(way: Way) -> Shape:
    """With or without retries, as the transition needs it."""
    machine, hop, _ = way
    shapes = BY_MACHINE[machine]
    first = shapes[0].machine
    name, _, what = hop.cause.partition(".")
    stage = first.stage.get(name)
    is_final = (
        stage is not None and stage.on_fatal != stage.on_error and hop.target == stage.on_fatal
    )
    needs_none = (what == "timed_out" and is_final) or hop.cause == RETRIES_EXHAUSTED
    for shape in shapes:
        if needs_none and machine != "literature" and not shape.machine.retry.max_retries:
            return shape
        if needs_none and what == "timed_out" and not shape.machine.retry.max_retries:
            return shape
    return shapes[0]


def _plan(way: Way, shape: Shape, seed: int) -> Plan:
    return Plan(
        seed=seed,
        aim=Aim(way.machine, way.hop.source, Fault.KILL_COORDINATOR, Point.COMMIT_BEFORE),
        shape=shape,
        records=1,
        coordinators=1,
        workers=1,
        is_together=False,
        is_local=True,
        slots=1,
        nth=1,
    )
