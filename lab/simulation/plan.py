"""What a seed does: which machine, who is there, and which (state, fault, crash point) it aims at.

The aims are a covering list of every triple. Seed k aims at the k-th triple of that list in a fixed, shuffled order,
so that any run of seeds spreads evenly over it, a long one covers all of it, and a seed means the same for ever,
whatever ran before. All other choices are drawn from a generator with that seed.
"""

import random
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

import msgspec

from lab.simulation.shapes import BY_MACHINE, Shape, states, with_approvals
from stateward.core.failpoints import Point

APPROVALS = {0: 2, 5: 3}
"""How many people accept a review, by the rest of a seed; one person elsewhere."""
UPKEEP = (1, 5)
"""The rests of seeds with erasures, holds and retention."""
FORESIGHT = (0, 2, 3, 4)
"""The rests of seeds in which a process that decides and works decides on what it knows already."""
TOGETHER = 4
"""The rest of seeds in which every process does both."""
LONG_EVERY = 8
"""Of so many seeds one has a long history, in which more takes part and goes on for longer."""


class Fault(Enum):
    """What can go wrong, or come at a bad moment."""

    KILL_COORDINATOR = "a coordinator is killed between two steps"
    KILL_WORKER = "a worker is killed, with what it had"
    KILL_AGAIN = "whichever worker has a record's work is killed, again and again"
    STOP_WORKER = "a worker is stopped until its lease is over, comes back and tries to write"
    OUTAGE = "every process is killed, and none is started for two hours"
    EVENT_LOST = "an event never arrives"
    EVENT_DOUBLED = "an event arrives twice"
    EVENT_DELAYED = "an event arrives late"
    EVENTS_REORDERED = "events arrive in another order"
    EVENT_FORGED = "an event speaks of another version, or of what its actor may not do"
    EVENT_GARBLED = "something arrives that is no event"
    CLOCK_AHEAD = "the clock of a process is 25 hours ahead for a while"
    CLOCK_BACK = "the clock of a process is an hour behind for a while"
    CLOCK_SKEWED = "the clocks of two processes differ by some seconds"
    WAKE_LOST = "wake-ups are lost"
    SUBMITTED_TWICE = "the same bytes are submitted again"
    ASKED_LATE = "a person acts on what they saw some time ago"
    CANCELLED = "a person cancels what is under way"
    PAUSED = "a stage is paused for a while"
    SEQUENCED = "an outside sequencer reports a stage that a worker may have"
    MARK_FIRST = "a worker's mark is durable before its event is sent, as on an outside bus"
    RETUNED = "the number of retries is changed while records are under way"
    UPGRADED = "a newer version of the machine takes over while records are under way"


LOAD_FAULTS = (
    Fault.KILL_WORKER,
    Fault.KILL_AGAIN,
    Fault.STOP_WORKER,
    Fault.SEQUENCED,
    Fault.CANCELLED,
)
"""Those that strike while another record is under way."""


class Aim(NamedTuple):
    """The triple that a seed is for."""

    machine: str
    state: str
    fault: Fault
    point: Point


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is decided before the first step."""

    seed: int
    aim: Aim
    shape: Shape
    records: int
    coordinators: int
    workers: int
    is_together: bool  # coordinator and worker in one process, as `stateward up` has it
    is_local: bool  # processes can see whether a worker's process is there
    slots: int  # how much a worker takes at once
    nth: int  # the how manieth time at the point counts
    hands_over: bool = False  # submissions are dispatched with their records where they can be
    # People erase and hold records, and rules of retention delete what is old.
    has_upkeep: bool = False
    # Turns are decided on what is known before them, as over a server of databases, which refuses a turn at its end.
    foresees: bool = False
    is_long: bool = False

    @property
    def guided(self) -> int:
        """How many records are led to where the aim is: where it needs one that is under way, that one as well."""
        return 2 if self.aim.fault in LOAD_FAULTS else 1

    @property
    def needs_several(self) -> bool:
        """Whether several people must accept a review, and none of them its submitter."""
        return any(review.approvals > 1 for review in self.shape.machine.reviews)

    def __str__(self) -> str:
        """The head of a trace."""
        aim = self.aim
        return (
            f"seed {self.seed}: {self.shape.name}; {self.records} records, "
            f"{self.coordinators} coordinators, {self.workers} workers"
            f"{', together' if self.is_together else ''}{'' if self.is_local else ', far apart'}"
            f"{', handed over' if self.hands_over else ''}{', with upkeep' if self.has_upkeep else ''}"
            f"{', foreseeing' if self.foresees else ''}{', long' if self.is_long else ''}; "
            f"aims at {aim.fault.name} in {aim.state}, then a crash at {aim.point.label}:{self.nth}"
        )


def plan_of(seed: int, *, is_long: bool | None = None) -> Plan:
    """The plan of a seed: always the same. `is_long` asks for the long or the short one, whichever the seed has."""
    plan = _long_plan(seed)
    is_long = seed % LONG_EVERY == 0 if is_long is None else is_long
    return plan if is_long else _shortened(plan)


def _shortened(plan: Plan) -> Plan:
    """The same aim with less around it: what else takes part is drawn, and mostly is little."""
    rng = random.Random(f"short {plan.seed}")
    return msgspec.structs.replace(
        plan,
        is_long=False,
        records=max(plan.guided, rng.choice((1, 1, 1, 1, 2, 3))),
        coordinators=rng.choice((1, 1, 1, 1, 2)),
        workers=rng.choice((1, 1, 1, 2)),
    )


def _long_plan(seed: int) -> Plan:
    aims = covering_list()
    aim = aims[seed % len(aims)]
    rng = random.Random(seed)
    shape = _shape(aim, rng)
    approvals = APPROVALS.get(seed % 7, 1) if shape.machine.reviews else 1
    return Plan(
        seed=seed,
        aim=aim,
        shape=shape if approvals == 1 else with_approvals(shape.name, approvals),
        has_upkeep=seed % 7 in UPKEEP,
        foresees=seed % 5 in FORESIGHT,
        records=rng.choice((2, 2, 2, 2, 3, 3, 4, 6)),
        coordinators=rng.choice((1, 2)),
        workers=rng.choice((1, 2, 2, 3)),
        is_together=(rng.random() < 0.2 or seed % 5 == TOGETHER) and _is_seen_together(aim, shape),
        is_local=rng.random() < 0.7,
        slots=rng.choice((1, 2, 2)),
        nth=rng.choice((1, 1, 1, 2)),
        # A state in which a record waits would hardly be seen.
        hands_over=rng.random() < 0.5 and shape.machine.kind[aim.state] != "ready",
        is_long=True,
    )


def _is_seen_together(aim: Aim, shape: Shape) -> bool:
    """Whether a process that does all in one unit lets the state, and events on their way, be seen."""
    is_on_the_way = aim.fault.name.startswith("EVENT")
    return shape.machine.kind[aim.state] != "ready" and not is_on_the_way


def _shape(aim: Aim, rng: random.Random) -> Shape:
    """A shape in which records can get to the state: without retries nothing waits for one."""
    able = [
        shape
        for shape in BY_MACHINE[aim.machine]
        if shape.machine.kind[aim.state] != "failed" or shape.machine.retry.max_retries
    ]
    return rng.choice(able)


@lru_cache(maxsize=1)
def covering_list() -> tuple[Aim, ...]:
    """Every triple once, in an order that mixes all three well and never changes."""
    aims = [
        Aim(machine, state, fault, point)
        for machine, shapes in BY_MACHINE.items()
        for state in states(shapes[0].machine)
        for fault in Fault
        for point in Point
    ]
    random.Random(1).shuffle(aims)
    return tuple(aims)
