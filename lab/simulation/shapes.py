"""What is simulated: the three machines in several tunings, and the ways through them.

A shape is a machine as some profile has it, the same machine after the profile was changed, and its next version,
in which two states have other names. A route is how a record gets to a state, hop by hop: what must cause each one.
Values only; nothing here runs anything.
"""

import re
from collections import deque
from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

import msgspec

from stateward.core.machine import (
    RETRIES_EXHAUSTED,
    RETRY_DUE,
    RETRY_REQUESTED,
    Machine,
    ReviewRules,
    Stage,
)
from stateward.core.retry import Retry
from stateward.definition.declare import from_yaml
from stateward.definition.draw import machine_json

RETRIES = (RETRY_REQUESTED, RETRY_DUE)


class Hop(NamedTuple):
    """One transition of a machine and one of its causes."""

    source: str
    cause: str
    target: str


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """A machine as it is run, as a changed profile would run it, and its next version."""

    name: str
    machine: Machine
    retuned: Machine
    newer: Machine
    ageing_s: float = 0.0


def _declared(package: str, file: str, renames: dict[str, str]) -> tuple[Machine, Machine]:
    """The machine of a file, and its next version with some states renamed."""
    text = (files(package) / file).read_text("utf-8")
    newer = text.replace("version: 1", "version: 2")
    for old, new in renames.items():
        newer = re.sub(rf"\b{old}\b", new, newer)
    mapping = ", ".join(f"{old}: {new}" for old, new in renames.items())
    newer += f'upgrades:\n  "1": {{{mapping}}}\n'
    return from_yaml(text, source=file), from_yaml(newer, source=f"newer {file}")


def _shape(
    name: str,
    machines: tuple[Machine, Machine],
    *,
    retries: int,
    backoff_s: tuple[float, ...] = (60.0, 300.0, 900.0),
    timeouts_s: dict[str, float] | None = None,
    ageing_s: float = 0.0,
) -> Shape:
    machine, newer = machines
    rule = Retry(max_retries=retries, backoff_s=backoff_s)
    other = Retry(max_retries=1 if retries == 0 else 0, backoff_s=backoff_s)
    return Shape(
        name=name,
        machine=machine.tuned(retry=rule, timeouts_s=timeouts_s),
        retuned=machine.tuned(retry=other, timeouts_s=timeouts_s),
        newer=newer.tuned(retry=rule, timeouts_s=timeouts_s),
        ageing_s=ageing_s,
    )


_UPLOAD = _declared(
    "stateward.pipelines.uploads",
    "machine.yaml",
    {"parsed": "observed", "normalizing": "cleaning"},
)
_CONTRACT = _declared(
    "stateward.pipelines.contracts",
    "machine.yaml",
    {"validated": "accepted", "comparing": "weighing"},
)
_LITERATURE = _declared(
    "stateward.ledger", "document.yaml", {"ir_ready": "ir_built", "embedding": "vectoring"}
)

SHAPES: tuple[Shape, ...] = (
    _shape("upload, business", _UPLOAD, retries=3, timeouts_s={"parsing": 300, "normalizing": 60}),
    _shape("upload, personal", _UPLOAD, retries=0),
    _shape(
        "upload, enterprise",
        _UPLOAD,
        retries=5,
        backoff_s=(10.0, 30.0, 60.0, 300.0, 900.0),
        timeouts_s={"parsing": 120, "normalizing": 30},
        ageing_s=600.0,
    ),
    _shape("contract", _CONTRACT, retries=3, backoff_s=(10.0, 60.0, 300.0)),
    _shape("contract, no retries", _CONTRACT, retries=0),
    _shape("literature", _LITERATURE, retries=3, ageing_s=600.0),
    _shape("literature, no retries", _LITERATURE, retries=0),
)
BY_MACHINE: dict[str, tuple[Shape, ...]] = {
    name: tuple(shape for shape in SHAPES if shape.machine.name == name)
    for name in ("upload", "contract", "literature")
}


@lru_cache
def with_approvals(name: str, approvals: int) -> Shape:
    """The shape of that name, with reviews that so many people must accept."""
    shape = next(each for each in SHAPES if each.name == name)
    rules = ReviewRules(approvals=approvals)
    return msgspec.structs.replace(
        shape,
        name=f"{name}, {approvals} approvals",
        machine=shape.machine.tuned(review=rules),
        retuned=shape.retuned.tuned(review=rules),
        newer=shape.newer.tuned(review=rules),
    )


_GRAPHS = {
    (each.name, each.version): each for shape in SHAPES for each in (shape.machine, shape.newer)
}


def states(machine: Machine) -> list[str]:
    """The states that a record can get to by itself: all but those that only migration makes."""
    return [state.name for state in machine.states if not state.is_imported]


def hops(machine: Machine) -> list[Hop]:
    """Every transition of a machine, once for each of its causes."""
    return [Hop(edge.source, cause, edge.to) for edge in machine.edges for cause in edge.on]


def route_to(machine: Machine, state: str) -> tuple[Hop, ...]:
    """The shortest way for a new record into a state."""
    return _routes(machine.name, machine.version).get(state, ())


def route_through(machine: Machine, last: Hop) -> tuple[Hop, ...]:
    """A way for a record that ends with this hop, whatever the hop needs to have happened before."""
    if machine.state[last.source].is_imported:
        return (last,)
    stage = _failed_stage(machine, last)
    if stage is None:
        return (*route_to(machine, last.source), last)
    fails = Hop(stage.running, f"{stage.name}.failed", last.source)
    return (*route_to(machine, stage.running), fails, last)


def _failed_stage(machine: Machine, last: Hop) -> Stage | None:
    """The stage that must have failed for this hop: a retry resumes at the very step."""
    if machine.kind[last.source] != "failed":
        return None
    for stage in machine.stages:
        is_end = last.cause not in RETRIES and stage.on_error == last.source
        if is_end or (stage.on_error == last.source and stage.resume == last.target):
            return stage
    return None


@lru_cache
def _routes(name: str, version: int) -> dict[str, tuple[Hop, ...]]:
    """The shortest way into every state; tunings do not change a graph."""
    machine = _GRAPHS[name, version]
    found: dict[str, tuple[Hop, ...]] = {machine.initial: ()}
    waiting = deque([machine.initial])
    while waiting:
        here = waiting.popleft()
        for hop in hops(machine):
            is_open = hop.source == here and hop.cause not in (*RETRIES, RETRIES_EXHAUSTED)
            if is_open and hop.target not in found:
                found[hop.target] = (*found[here], hop)
                waiting.append(hop.target)
    return found


def plain(machine: Machine) -> dict[str, Any]:
    """The machine as plain data for the checker: `machine_json`, and the waits and rules beside the graph."""
    return {
        **machine_json(machine),
        "imported": [state.name for state in machine.states if state.is_imported],
        "stages": [_plain_stage(each) for each in machine.stages],
        "reviews": [msgspec.to_builtins(review) for review in machine.reviews],
        "retry": msgspec.to_builtins(machine.retry),
        "on_exhausted": machine.on_exhausted,
        "expose": machine.expose,
        "by_person": [f"{move.source} {move.on}" for move in machine.moves if move.is_by_person],
        "upgrades": {str(version): names for version, names in machine.upgrades.items()},
    }


def _plain_stage(stage: Stage) -> dict[str, Any]:
    wanted = ("name", "running", "resume", "on_error", "on_fatal", "timeout_s", "produces")
    return {"from": stage.from_state, **{name: getattr(stage, name) for name in wanted}}
