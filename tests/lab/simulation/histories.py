"""Sound histories to plant violations in, and what it takes to plant just one."""

from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from functools import cache

from msgspec.structs import replace

from lab.checker import (
    History,
    Line,
    Violation,
    check,
)
from lab.checker.laws import (
    GENESIS,
    SEALED_OF_TRANSITION,
    chained,
    committed,
    root_of,
    sealed,
    sealed_record,
)
from lab.simulation.plan import Plan, plan_of
from lab.simulation.processes import Arena
from lab.simulation.run import exported, heal, seen
from lab.simulation.shapes import BY_MACHINE, Hop, plain
from lab.simulation.world import World
from stateward.core.failpoints import install

Plant = Callable[[History], object]

UPLOAD = (
    Hop("queued_for_parse", "parse.started", "parsing"),
    Hop("parsing", "parse.failed", "error"),
    Hop("error", "retry.due", "queued_for_parse"),
    Hop("queued_for_parse", "parse.started", "parsing"),
    Hop("parsing", "parse.completed", "parsed"),
    Hop("parsed", "normalize.started", "normalizing"),
    Hop("normalizing", "normalize.completed", "normalized"),
)
CONTRACT = (
    Hop("pending", "parse.started", "parsing_pdf"),
    Hop("parsing_pdf", "parse.completed", "extracting"),
    Hop("extracting", "extract.completed", "validating"),
    Hop("validating", "validate.completed", "review_required"),
    Hop("review_required", "review.timed_out", "timed_out"),
)
DOCUMENT_MACHINE = (
    Hop("pending", "fetch.started", "fetching"),
    Hop("fetching", "fetch.failed", "failed"),
    Hop("failed", "retry.requested", "retrying"),
)
ROUTES = {"upload": UPLOAD, "contract": CONTRACT, "literature": DOCUMENT_MACHINE}


def a_history(machine: str = "upload", *, records: int = 2) -> History:
    """A sound history of this machine, with all that outsiders saw; a copy of its own."""
    return deepcopy(_lived(machine, records))


@cache
def _lived(machine: str, records: int) -> History:
    world = World(_plan(machine), Arena())
    before = install(world.at_point)
    try:
        for process in world.processes:
            world.start(process)
        for number in range(records):
            world.submit([f"doc{number}"])
            world.around.pass_s(1)
        for record_id in list(world.witness.status):
            world.routes[record_id] = list(ROUTES[machine])
        _follow(world)
        heal(world)
    finally:
        install(before)
        for process in world.processes:
            process.die()
    history, malformed = exported(world.frontend.store, machines=[plain(world.machine)])
    history.seen = seen(world)
    assert malformed == []
    assert check(history) == []
    return history


def _plan(machine: str) -> Plan:
    return replace(
        plan_of(0),
        seed=0,
        shape=BY_MACHINE[machine][0],
        coordinators=1,
        workers=1,
        slots=2,
        is_together=False,
        hands_over=False,
    )


def _follow(world: World) -> None:
    """Turn until no record is on its route any more."""
    for _ in range(100):
        for record_id, type_ in world.wishes():
            version = world.witness.version[record_id]
            world.ask(record_id, type_, version=version, is_passed_on=False)
            _advance(world)
        is_busy = False
        for process in world.running():
            is_busy |= bool(world.act(process, "turns", process.turn))
            _advance(world)
        if not is_busy:
            due_at = world.due_at()
            if due_at is None or not any(world.routes.values()):
                return
            world.leap((due_at - world.now) / 1_000_000)


def _advance(world: World) -> None:
    entered, world.witness.entered = world.witness.entered, []
    for record_id, state in entered:
        route = world.routes[record_id]
        if route and route[0].target == state:
            route.pop(0)


def resealed(history: History) -> History:
    """The same history with every hash as a forger would make it: only what was planted is wrong."""
    heads: dict[str, str] = {}
    records = {record["record_id"]: record for record in history.records or ()}
    last = {entry["record_id"]: entry for entry in history.transitions}
    ends: dict[int, str] = {}
    for entry in history.transitions:
        record_id = entry["record_id"]
        if entry is last[record_id] and record_id in records:
            entry["record_hash"] = sealed_record(records[record_id], entry)
        entry["record_prev"] = heads.get(record_id, GENESIS)
        entry["seal"] = heads[record_id] = sealed(committed(entry), SEALED_OF_TRANSITION)
        entry["lane_prev"] = ends.get(entry["lane"], GENESIS)
        entry["lane_hash"] = ends[entry["lane"]] = chained(entry["lane_prev"], entry["seal"])
    for record_id, head in heads.items():
        if record_id in records:
            records[record_id]["head"] = head
    if history.anchor is not None:
        counts = Counter(entry["lane"] for entry in history.transitions)
        lanes = [
            {**each, "count": counts[each["lane"]], "head": ends.get(each["lane"], GENESIS)}
            for each in history.anchor["lanes"]
        ]
        history.anchor = {"lanes": lanes, "root": root_of(lanes)}
    for move in history.seen.moves:
        move["hash"] = None
    return history


def laws(found: list[Violation]) -> set[str]:
    """The ids of what was found."""
    return {violation.law for violation in found}


def entries(history: History, record_id: str | None = None) -> list[Line]:
    """The transitions of one record, by default the first."""
    wanted = record_id or history.transitions[0]["record_id"]
    return [entry for entry in history.transitions if entry["record_id"] == wanted]


def first(history: History, trigger: str) -> Line:
    """The first transition that this caused."""
    return next(entry for entry in history.transitions if entry["trigger"] == trigger)


def record(history: History, place: int = 0) -> Line:
    """A record by its place."""
    assert history.records is not None
    return history.records[place]
