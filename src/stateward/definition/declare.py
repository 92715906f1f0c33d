"""Build a checked `Machine` from a declaration, or raise `DeclarationError` with every fault, each with its line.

`from_yaml` reads text, `declare` takes Python values (members of a string enum may name states), `build` takes either
as a `Document`. All three share the same defaults and checks. Nothing here touches a disk.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Literal

import msgspec
from msgspec.structs import replace

from stateward.core.errors import DeclarationError, Fault
from stateward.core.machine import (
    APPROVALS_MAX,
    ENDORSED,
    REASON_CODE,
    REFERRED,
    RESERVED_WORDS,
    TIMEOUT_DEFAULT_S,
    Earlier,
    Guard,
    Kind,
    Machine,
    Move,
    Review,
    Route,
    Stage,
    State,
)
from stateward.core.model import Json
from stateward.core.retry import BACKOFF_DEFAULT_S, RETRIES_MAX, Retry
from stateward.definition.plain_values import Document, read_python
from stateward.definition.yaml_source import convert

NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
EARLIER_VERSION = re.compile(r"[1-9][0-9]{0,17}")
WAIT_MAX_S = 366 * 86_400
Path = tuple[str | int, ...]


class StateDeclared(msgspec.Struct, frozen=True, kw_only=True):
    kind: Kind
    doc: str = ""
    imported: bool = False


class RouteDeclared(msgspec.Struct, frozen=True, kw_only=True):
    to: str
    when: dict[str, Json] | None = None


class EarlierDeclared(msgspec.Struct, frozen=True, kw_only=True, rename={"states": "in"}):
    of: list[str]
    key: str
    at: str
    fields: list[str]
    states: list[str] = []


class StageDeclared(msgspec.Struct, frozen=True, kw_only=True, rename={"from_state": "from"}):
    from_state: str
    outcomes: dict[str, list[RouteDeclared]]
    on_error: str
    running: str | None = None
    on_fatal: str | None = None
    on_error_waiting: str | None = None
    resume: str | None = None
    timeout_s: float | None = TIMEOUT_DEFAULT_S
    runner: str | None = None
    isolation: Literal["process", "inline"] = "process"
    network: bool = False
    exec: list[str] = []
    produces: str | None = None
    log: str | None = None
    external: bool = False
    earlier: EarlierDeclared | None = None


class ReviewDeclared(msgspec.Struct, frozen=True, kw_only=True):
    state: str
    outcomes: dict[str, str]
    timeout_s: float
    on_timeout: str
    of: str | None = None
    approvals: int = 1
    group: str | None = None
    reason_codes: dict[str, str] = {}


class MoveDeclared(msgspec.Struct, frozen=True, kw_only=True, rename={"source": "from"}):
    source: str
    to: str
    on: str
    by: Literal["anyone", "person"] = "anyone"


class RetryDeclared(msgspec.Struct, frozen=True, kw_only=True):
    max_retries: int | None = 3
    backoff_s: tuple[float, ...] = BACKOFF_DEFAULT_S
    jitter_s: float = 0.0
    fatal_after_s: float | None = None


class MachineDeclared(msgspec.Struct, frozen=True, kw_only=True):
    machine: str
    version: int
    prefix: str
    initial: str
    states: dict[str, StateDeclared]
    stages: dict[str, StageDeclared]
    doc: str = ""
    on_exhausted: str | None = None
    reviews: dict[str, ReviewDeclared] = {}
    moves: list[MoveDeclared] = []
    retry: RetryDeclared = RetryDeclared()
    expose: dict[str, str] = {}
    upgrades: dict[str, dict[str, str]] = {}


def from_yaml(text: str, *, source: str, runners: Iterable[str] | None = None) -> Machine:
    """The machine that a YAML text declares; `runners`, if given, are the only ones that it may name."""
    from stateward.definition.yaml_text import read_yaml  # with PyYAML, which `declare` needs not

    return build(read_yaml(text, source=source), runners)


def declare(
    declaration: Mapping[str, object] | None = None,
    /,
    *,
    source: str = "<python>",
    runners: Iterable[str] | None = None,
    **parts: object,
) -> Machine:
    """The machine that Python values declare, under the keys of YAML: one mapping, keywords, or both."""
    values = _enum_values({**(declaration or {}), **parts})
    return build(read_python(values, source=source), runners)


def _enum_values(value: object) -> object:
    """The same value with the members of enums replaced by their values, at every depth."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {_enum_values(key): _enum_values(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_enum_values(each) for each in value]
    return value


def build(document: Document, runners: Iterable[str] | None) -> Machine:
    """The machine that a document declares; raises `DeclarationError` with every fault."""
    expanded = Document(
        source=document.source, value=_expand_short_forms(document.value), lines=document.lines
    )
    declared, faults = convert(expanded, MachineDeclared)
    if declared is None or faults:
        raise DeclarationError(faults)
    check = _Check(declared, expanded, frozenset(runners) if runners is not None else None)
    faults = [*check.names(), *check.parts()]
    if not faults:  # the graph of a machine that names unknown states says nothing
        machine = _to_machine(declared)
        faults = [*check.graph(machine)]
        if not faults:
            return machine
    raise DeclarationError(sorted(faults, key=lambda fault: (fault.line, fault.path)))


def _expand_short_forms(value: object) -> object:
    """`parsed: ready` means `parsed: {kind: ready}`, and `done: parsed` means `done: [{to: parsed}]`."""
    if not isinstance(value, dict):
        return value
    full = dict(value)
    if isinstance(states := full.get("states"), dict):
        full["states"] = {
            name: {"kind": state} if isinstance(state, str) else state
            for name, state in states.items()
        }
    if isinstance(stages := full.get("stages"), dict):
        full["stages"] = dict(stages)
        for name, stage in stages.items():
            if isinstance(stage, dict):
                full["stages"][name] = _expand_stage(stage)
    return full


def _expand_stage(stage: dict[str, object]) -> dict[str, object]:
    full = dict(stage)
    if isinstance(outcomes := full.get("outcomes"), dict):
        full["outcomes"] = {
            label: [{"to": route}] if isinstance(route, str) else route
            for label, route in outcomes.items()
        }
    if isinstance(earlier := full.get("earlier"), dict) and isinstance(earlier.get("of"), str):
        full["earlier"] = {**earlier, "of": [earlier["of"]]}
    return full


def _to_machine(declared: MachineDeclared) -> Machine:
    return Machine(
        name=declared.machine,
        version=declared.version,
        prefix=declared.prefix,
        initial=declared.initial,
        doc=declared.doc,
        states=tuple(
            State(name=name, kind=state.kind, doc=state.doc, is_imported=state.imported)
            for name, state in declared.states.items()
        ),
        stages=tuple(
            _to_stage(declared.machine, name, stage) for name, stage in declared.stages.items()
        ),
        reviews=tuple(
            Review(
                name=name,
                state=review.state,
                outcomes=review.outcomes,
                timeout_s=review.timeout_s,
                on_timeout=review.on_timeout,
                of=review.of,
                approvals=review.approvals,
                group=review.group,
                reason_codes=review.reason_codes,
            )
            for name, review in declared.reviews.items()
        ),
        moves=tuple(
            Move(on=move.on, source=move.source, to=move.to, is_by_person=move.by == "person")
            for move in declared.moves
        ),
        on_exhausted=declared.on_exhausted,
        retry=Retry(
            max_retries=declared.retry.max_retries or 0,
            backoff_s=declared.retry.backoff_s,
            jitter_s=declared.retry.jitter_s,
            fatal_after_s=declared.retry.fatal_after_s,
        ),
        expose=declared.expose,
        upgrades={int(version): mapping for version, mapping in declared.upgrades.items()},
    )


def _to_stage(machine: str, name: str, stage: StageDeclared) -> Stage:
    return Stage(
        name=name,
        from_state=stage.from_state,
        running=stage.running or stage.from_state,
        outcomes={
            label: tuple(Route(to=route.to, when=_to_guard(route.when)) for route in routes)
            for label, routes in stage.outcomes.items()
        },
        on_error=stage.on_error,
        on_fatal=stage.on_fatal or stage.on_error,
        on_error_waiting=stage.on_error_waiting,
        resume=stage.resume or stage.from_state,
        timeout_s=stage.timeout_s or TIMEOUT_DEFAULT_S,
        runner=stage.runner or f"{machine}.{name}",
        isolation=stage.isolation,
        network=stage.network,
        programs=tuple(stage.exec),
        produces=stage.produces,
        log_field=stage.log or f"{name}_log_ref",
        is_external=stage.external,
        earlier=_to_earlier(stage.earlier),
    )


def _to_earlier(declared: EarlierDeclared | None) -> Earlier | None:
    if declared is None:
        return None
    return Earlier(
        of=tuple(declared.of),
        key=declared.key,
        at=declared.at,
        fields=tuple(declared.fields),
        states=tuple(declared.states),
    )


def _to_guard(when: dict[str, Json] | None) -> Guard | None:
    """The guard of a declared form that `_Check` has accepted."""
    if when is None:
        return None
    ((op, given),) = when.items()
    if op == "all":
        parts = [_to_guard(part) for part in given if isinstance(part, dict)]  # type: ignore[union-attr]
        return Guard(op="all_of", of=tuple(part for part in parts if part is not None))
    if op == "is_true":
        return Guard(op="is_true", field=str(given))
    field, value = given  # type: ignore[misc, str-unpack]
    return Guard(op="at_least" if op == "at_least" else "equals", field=str(field), value=value)


class _Check:
    """Every fault of one declaration, in three passes: names, the parts by themselves, the graph as a whole."""

    def __init__(
        self, declared: MachineDeclared, document: Document, runners: frozenset[str] | None
    ) -> None:
        self._declared = declared
        self._document = document
        self._runners = runners
        self._kinds = {name: state.kind for name, state in declared.states.items()}

    def _fault(self, path: Path, sentence: str) -> Fault:
        return self._document.fault(path, sentence)

    # Names

    def names(self) -> Iterator[Fault]:
        d = self._declared
        yield from self._name(("machine",), d.machine, "a machine")
        if not (
            d.prefix.isascii() and d.prefix.isalpha() and d.prefix.isupper() and len(d.prefix) <= 8
        ):
            yield self._fault(("prefix",), f"{d.prefix!r} must be 1 to 8 capital letters, like UL")
        if d.version < 1:
            yield self._fault(("version",), f"versions start at 1, not {d.version}")
        for section, names in (("states", d.states), ("stages", d.stages), ("reviews", d.reviews)):
            for name in names:
                yield from self._name((section, name), name, f"a name in {section}")
        for section in ("stages", "reviews"):
            for name in getattr(d, section):
                if name in RESERVED_WORDS:
                    yield self._fault(
                        (section, name), f"{name!r} is reserved for Stateward's own events"
                    )
        for name in d.stages.keys() & d.reviews.keys():
            yield self._fault(("reviews", name), f"there is a stage called {name!r} already")
        for version in d.upgrades:
            if not EARLIER_VERSION.fullmatch(version) or int(version) >= d.version:
                yield self._fault(
                    ("upgrades", version), "must be an earlier version of this machine"
                )

    def _name(self, path: Path, name: str, what: str) -> Iterator[Fault]:
        if not NAME.fullmatch(name):
            yield self._fault(
                path,
                f"{what} is written in lower-case letters, digits and _, like 'parsed', not {name!r}",
            )

    # The parts by themselves

    def parts(self) -> Iterator[Fault]:
        d = self._declared
        if not d.states:
            yield self._fault(("states",), "a machine has at least one state")
        if not d.stages and not d.moves:
            yield self._fault(("stages",), "a machine has at least one stage or move")
        yield from self._state(("initial",), d.initial, ("ready", "running"))
        if d.on_exhausted is not None:
            yield from self._state(("on_exhausted",), d.on_exhausted, ("failed", "terminal"))
        for name, stage in d.stages.items():
            yield from self._stage(("stages", name), name, stage)
        for name, review in d.reviews.items():
            yield from self._review(("reviews", name), review)
        for place, move in enumerate(d.moves):
            yield from self._move(("moves", place), move)
        yield from self._retry(d.retry)
        for field, since in d.expose.items():
            yield from self._state(("expose", field), since, None)
        for version, mapping in d.upgrades.items():
            for old, new in mapping.items():
                yield from self._state(("upgrades", version, old), new, None)
        yield from self._ownership()

    def _state(self, path: Path, name: str, kinds: tuple[str, ...] | None) -> Iterator[Fault]:
        if name not in self._kinds:
            known = ", ".join(self._kinds)
            yield self._fault(path, f"there is no state {name!r}; there are: {known}")
        elif kinds is not None and self._kinds[name] not in kinds:
            expected = " or ".join(kinds)
            yield self._fault(path, f"{name!r} is {self._kinds[name]}, but must be {expected}")

    def _permissions(self, path: Path, stage: StageDeclared) -> Iterator[Fault]:
        for key in ("network", "exec"):
            if getattr(stage, key) and stage.isolation == "inline":
                yield self._fault(
                    (*path, key),
                    "is a permission of the child process, and an inline stage has none",
                )
        if any(not program or "\0" in program for program in stage.exec):
            yield self._fault((*path, "exec"), "names programs, such as [tesseract]")

    def _before(self, stage: StageDeclared) -> Iterator[str]:
        """Where a retry of a stage may resume before it runs: where it waits, or at the stage that leads there."""
        yield stage.from_state
        for other in self._declared.stages.values():
            targets = {route.to for routes in other.outcomes.values() for route in routes}
            if stage.from_state in targets:
                yield from (other.from_state, other.running or other.from_state)

    def _stage(self, path: Path, name: str, stage: StageDeclared) -> Iterator[Fault]:
        running = stage.running or stage.from_state
        yield from self._state((*path, "running"), running, ("running",))
        if stage.from_state != running:
            yield from self._state((*path, "from"), stage.from_state, ("ready",))
        yield from self._state((*path, "on_error"), stage.on_error, ("failed", "terminal"))
        for key in ("on_fatal", "on_error_waiting"):
            target = getattr(stage, key)
            if target is not None:
                yield from self._state((*path, key), target, ("failed", "terminal"))
        if stage.resume is not None and stage.resume not in (*self._before(stage), running):
            yield self._fault(
                (*path, "resume"),
                f"a retry of {name!r} resumes at {stage.from_state!r} or {running!r}",
            )
        if stage.on_error_waiting is not None and stage.from_state == running:
            yield self._fault(
                (*path, "on_error_waiting"), f"{name!r} has no separate state for waiting"
            )
        yield from self._permissions(path, stage)
        if stage.earlier is not None:
            yield from self._earlier((*path, "earlier"), stage, stage.earlier)
        if stage.timeout_s is None or not 0 < stage.timeout_s <= WAIT_MAX_S:
            yield self._fault(
                (*path, "timeout_s"),
                f"{running!r} needs a timeout of more than 0 s and at most a year",
            )
        if self._runners is not None:
            runner = stage.runner or f"{self._declared.machine}.{name}"
            if runner not in self._runners:
                known = ", ".join(sorted(self._runners)) or "none"
                yield self._fault(
                    (*path, "runner"), f"there is no runner {runner!r}; there are: {known}"
                )
        if not stage.outcomes:
            yield self._fault(
                (*path, "outcomes"), f"{name!r} has no outcomes: say where it leads when it is done"
            )
        for label, routes in stage.outcomes.items():
            yield from self._routes((*path, "outcomes", label), routes)

    def _earlier(
        self, path: Path, stage: StageDeclared, earlier: EarlierDeclared
    ) -> Iterator[Fault]:
        running = stage.running or stage.from_state
        if running == stage.from_state or stage.resume == running:
            # What it was given is part of the transition that starts an attempt.
            yield self._fault(
                path,
                "needs a state in which the stage waits before each attempt ('from', 'resume')",
            )
        known = {**self._declared.stages, **self._declared.reviews}
        for name in earlier.of:
            if name not in known:
                there = ", ".join(known)
                yield self._fault(
                    (*path, "of"), f"there is no stage or review {name!r}; there are: {there}"
                )
        if not any(name in self._declared.stages for name in earlier.of):
            yield self._fault((*path, "of"), "names at least one stage: its items hold the keys")
        for field in ("key", "at"):
            if not getattr(earlier, field):
                yield self._fault((*path, field), "names a field of the items")
        for place, state in enumerate(earlier.states):
            yield from self._state((*path, "in", place), state, None)

    def _routes(self, path: Path, routes: list[RouteDeclared]) -> Iterator[Fault]:
        if not routes or routes[-1].when is not None:
            yield self._fault(
                path, "the last route must have no 'when': it takes every record that no guard took"
            )
        for place, route in enumerate(routes):
            yield from self._state((*path, place, "to"), route.to, None)
            if route.when is None and place < len(routes) - 1:
                yield self._fault(
                    (*path, place), "a route without 'when' hides the routes after it"
                )
            if route.when is not None:
                yield from self._guard((*path, place, "when"), route.when)

    def _guard(self, path: Path, when: Mapping[str, Json]) -> Iterator[Fault]:
        form = "a guard is one of at_least: [fact, number], equals: [fact, value], is_true: fact, all: [...]"
        if len(when) != 1:
            yield self._fault(path, form)
            return
        ((op, given),) = when.items()
        is_pair = isinstance(given, list) and len(given) == 2 and isinstance(given[0], str)
        if op == "all" and isinstance(given, list) and given:
            for place, part in enumerate(given):
                if isinstance(part, dict):
                    yield from self._guard((*path, op, place), part)
                else:
                    yield self._fault((*path, op, place), form)
        elif op == "at_least" and is_pair and _is_number(given[1]):  # type: ignore[index]
            return
        elif not ((op == "is_true" and isinstance(given, str)) or (op == "equals" and is_pair)):
            yield self._fault(path, form)

    def _review(self, path: Path, review: ReviewDeclared) -> Iterator[Fault]:
        yield from self._state((*path, "state"), review.state, ("suspended",))
        if "timed_out" in review.outcomes:
            yield self._fault(
                (*path, "outcomes", "timed_out"), "this is not an answer: say 'on_timeout'"
            )
        for label in (ENDORSED, REFERRED):
            if label in review.outcomes:
                yield self._fault(
                    (*path, "outcomes", label),
                    "this name is taken: it leaves a record in its review",
                )
        if not 1 <= review.approvals <= APPROVALS_MAX:
            yield self._fault(
                (*path, "approvals"), f"a review needs 1 to {APPROVALS_MAX} approvals"
            )
        for code in review.reason_codes:
            if not REASON_CODE.fullmatch(code):
                yield self._fault(
                    (*path, "reason_codes", code), "a code is lower case letters, digits and _"
                )
        yield from self._state((*path, "on_timeout"), review.on_timeout, None)
        if review.of is not None and review.of not in self._declared.stages:
            known = ", ".join(self._declared.stages)
            yield self._fault((*path, "of"), f"there is no stage {review.of!r}; there are: {known}")
        if not review.outcomes:
            yield self._fault((*path, "outcomes"), "a review has at least one answer")
        for label, target in review.outcomes.items():
            yield from self._state((*path, "outcomes", label), target, None)
        if not 0 < review.timeout_s <= WAIT_MAX_S:
            yield self._fault(
                (*path, "timeout_s"), "a deadline is more than 0 s and at most a year"
            )

    def _move(self, path: Path, move: MoveDeclared) -> Iterator[Fault]:
        yield from self._state((*path, "from"), move.source, None)
        yield from self._state((*path, "to"), move.to, None)
        if self._kinds.get(move.source) == "terminal" and move.by != "person":
            yield self._fault(
                (*path, "by"),
                f"only a person may move a record out of the terminal state {move.source!r}",
            )

    def _retry(self, retry: RetryDeclared) -> Iterator[Fault]:
        if retry.max_retries is None or not 0 <= retry.max_retries <= RETRIES_MAX:
            yield self._fault(
                ("retry", "max_retries"), f"retries need a limit, from 0 to {RETRIES_MAX} retries"
            )
        if not retry.backoff_s or any(not 0 <= wait <= WAIT_MAX_S for wait in retry.backoff_s):
            yield self._fault(
                ("retry", "backoff_s"), "needs at least one wait, each from 0 s to a year"
            )
        if not 0 <= retry.jitter_s <= WAIT_MAX_S:
            yield self._fault(("retry", "jitter_s"), "must be from 0 s to a year")
        if retry.fatal_after_s is not None and not 0 <= retry.fatal_after_s <= WAIT_MAX_S:
            yield self._fault(("retry", "fatal_after_s"), "must be from 0 s to a year")

    def _ownership(self) -> Iterator[Fault]:
        """Every ready or running state belongs to one stage, and every suspended one has an exit."""
        d = self._declared
        owners: dict[str, str] = {}
        for name, stage in d.stages.items():
            for state in dict.fromkeys((stage.from_state, stage.running or stage.from_state)):
                if state in owners:
                    yield self._fault(
                        ("stages", name), f"{state!r} belongs to stage {owners[state]!r} already"
                    )
                owners[state] = name
        review_in: dict[str, str] = {}
        for name, review in d.reviews.items():
            if review.state in review_in:
                other = review_in[review.state]
                yield self._fault(
                    ("reviews", name, "state"),
                    f"{review.state!r} waits for review {other!r} already",
                )
            review_in[review.state] = name
        leaving = {move.source for move in d.moves} | review_in.keys()
        for name, kind in self._kinds.items():
            if kind in ("ready", "running") and name not in owners and name not in leaving:
                yield self._fault(
                    ("states", name),
                    f"no stage takes records from {name!r}: they would wait for ever",
                )
            if kind == "suspended" and name not in leaving:
                yield self._fault(
                    ("states", name), f"nothing leads out of {name!r}: give it a review or a move"
                )

    # The graph

    def graph(self, machine: Machine) -> Iterator[Fault]:
        yield from self._unreachable(machine)
        yield from self._dead_ends(machine)
        yield from self._unbounded_loops(machine)
        yield from self._ambiguous_moves(machine)

    def _unreachable(self, machine: Machine) -> Iterator[Fault]:
        starts = [machine.initial, *(state.name for state in machine.states if state.is_imported)]
        reached = _reachable(starts, machine.pairs)
        for state in machine.states:
            if state.name not in reached:
                yield self._fault(("states", state.name), f"nothing leads to {state.name!r}")

    def _dead_ends(self, machine: Machine) -> Iterator[Fault]:
        ends = [state.name for state in machine.states if state.kind == "terminal"]
        if not ends:
            yield self._fault(("states",), "no state is terminal: records would never end")
            return
        alive = _reachable(ends, {(to, source) for source, to in machine.pairs})
        for state in machine.states:
            if state.name not in alive:
                yield self._fault(
                    ("states", state.name), f"no path leads from {state.name!r} to a terminal state"
                )

    def _unbounded_loops(self, machine: Machine) -> Iterator[Fault]:
        """A loop of completed stages and missed deadlines never ends: no person and no retry limit stops it."""
        pairs = {
            (edge.source, edge.to)
            for edge in machine.edges
            if any(on.endswith((".started", ".completed", ".timed_out")) for on in edge.on)
        }
        places = [(("stages", stage.name), stage.running) for stage in machine.stages]
        places += [(("reviews", review.name), review.state) for review in machine.reviews]
        for path, state in places:
            after = {to for source, to in pairs if source == state}
            if state in _reachable(after, pairs):
                yield self._fault(
                    path,
                    f"{state!r} leads back to itself, and neither a person nor a retry limit ends the loop",
                )

    def _ambiguous_moves(self, machine: Machine) -> Iterator[Fault]:
        """An event has one meaning in a state; a move must not silently replace another rule."""
        taken = set(replace(machine, moves=()).rules)
        for place, move in enumerate(machine.moves):
            if (move.source, move.on) in taken:
                yield self._fault(
                    ("moves", place),
                    f"{move.on} already has another meaning in {move.source!r}",
                )
            taken.add((move.source, move.on))


def _reachable(starts: Iterable[str], pairs: Iterable[tuple[str, str]]) -> set[str]:
    nexts: dict[str, list[str]] = {}
    for source, to in pairs:
        nexts.setdefault(source, []).append(to)
    seen = set(starts)
    queue = deque(seen)
    while queue:
        for to in nexts.get(queue.popleft(), ()):
            if to not in seen:
                seen.add(to)
                queue.append(to)
    return seen


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
