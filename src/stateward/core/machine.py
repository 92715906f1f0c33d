"""A state machine: the declared graph of states, and the tables compiled from it.

A machine says what *may* happen. It is a value: it can be printed, compared, stored and drawn; it never runs
anything. `stateward.definition` builds machines from YAML or Python and refuses wrong ones; `core.decide` reads the
tables.
"""

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from stateward.core.model import (
    FATAL,
    OUTSIDE,
    SEQUENCING,
    Fields,
    Json,
    Record,
)
from stateward.core.retry import Retry

Kind: TypeAlias = Literal["ready", "running", "suspended", "failed", "terminal"]
KINDS: tuple[Kind, ...] = ("ready", "running", "suspended", "failed", "terminal")
# Long enough for a slow stage, short enough that a hung one is noticed the same day.
TIMEOUT_DEFAULT_S = 3600.0

SOURCE_TYPE = "source_type"  # the label that says what a document is
RETRY_REQUESTED = "retry.requested"
RETRY_DUE = "retry.due"
RETRIES_EXHAUSTED = "retries.exhausted"
CANCEL_REQUESTED = "cancel.requested"
UPGRADED = "machine.upgraded"
# What leaves a record in its review: one of several approvals, and asking another person (`core.approvals`).
ENDORSED, REFERRED = "endorsed", "referred"
APPROVALS_MAX = 10
REASON_CODE = re.compile(r"[a-z][a-z0-9_]{0,63}")
# The first words of the events above: a stage or review of such a name would have events that mean two things.
RESERVED_WORDS = frozenset({"retry", "retries", "cancel", "machine"})


class State(msgspec.Struct, frozen=True, kw_only=True):
    """A status that a record can have. `is_imported`: only records imported from elsewhere start in it."""

    name: str
    kind: Kind
    doc: str = ""
    is_imported: bool = False


class Guard(msgspec.Struct, frozen=True, kw_only=True):
    """A condition on the facts of an event, as a value."""

    op: Literal["at_least", "is_true", "equals", "all_of"]
    field: str = ""
    value: Json = None
    of: tuple["Guard", ...] = ()

    def holds(self, facts: Mapping[str, Json]) -> bool:
        """Whether the facts meet the condition; a fact that is missing meets none."""
        found = facts.get(self.field)
        match self.op:
            case "all_of":
                return all(guard.holds(facts) for guard in self.of)
            case "is_true":
                return found is True
            case "equals":
                return (
                    self.field in facts and type(found) is type(self.value) and found == self.value
                )
        # bool is an int in Python, but `true` is not a number that could reach a threshold.
        return _is_number(found) and _is_number(self.value) and found >= self.value  # type: ignore[operator]


def at_least(field: str, value: float) -> Guard:
    """The fact is a number of at least `value`."""
    return Guard(op="at_least", field=field, value=value)


def is_true(field: str) -> Guard:
    """The fact is exactly true."""
    return Guard(op="is_true", field=field)


def equals(field: str, value: Json) -> Guard:
    """The fact equals `value` and is of its type."""
    return Guard(op="equals", field=field, value=value)


def all_of(*guards: Guard) -> Guard:
    """Every one of the guards holds."""
    return Guard(op="all_of", of=guards)


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """Where an outcome leads, if its guard holds."""

    to: str
    when: Guard | None = None


class Earlier(msgspec.Struct, frozen=True, kw_only=True):
    """Which items of earlier records a stage reads: those whose `key` has a value that an item of its own record has.

    `of` are stages and reviews of the machine: of each record the items of the first one that it has count. `at` names
    the time of an item, `fields` what is handed out of each besides. A record counts in these `states`; without
    any, in all but failed ones.
    """

    of: tuple[str, ...]
    key: str
    at: str
    fields: tuple[str, ...]
    states: tuple[str, ...] = ()


class Stage(msgspec.Struct, frozen=True, kw_only=True, rename={"from_state": "from"}):
    """One step of domain work. `is_external`: an external driver decides when it runs. `programs` it may execute.

    `earlier` are the items of other records that it reads.
    """

    name: str
    from_state: str
    running: str
    outcomes: dict[str, tuple[Route, ...]]
    on_error: str
    on_fatal: str
    on_error_waiting: str | None
    resume: str
    timeout_s: float
    runner: str
    isolation: Literal["process", "inline"]
    produces: str | None
    log_field: str
    network: bool = False
    is_external: bool = False
    programs: tuple[str, ...] = ()
    earlier: Earlier | None = None

    def route(self, outcome: str, facts: Mapping[str, Json]) -> str | None:
        """The state that this outcome leads to, or None when the stage has no such outcome."""
        for candidate in self.outcomes.get(outcome, ()):
            if candidate.when is None or candidate.when.holds(facts):
                return candidate.to
        return None


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """A question to a person: the state it waits in, and where each answer and the timeout lead.

    `of` is the stage whose items are looked at, and which a correction stands for. `approvals` is how many people must
    accept them, `group` who may answer at all, and `reason_codes` are what a rejection can be for, with a text each.
    """

    name: str
    state: str
    outcomes: dict[str, str]
    timeout_s: float
    on_timeout: str
    of: str | None = None
    approvals: int = 1
    group: str | None = None
    reason_codes: dict[str, str] = {}


class ReviewRules(msgspec.Struct, frozen=True, kw_only=True):
    """What a profile says of a review; None: as the machine declares."""

    approvals: int | None = None
    group: str | None = None
    reason_codes: dict[str, str] | None = None

    def of(self, review: Review) -> Review:
        """The review under these rules."""
        return replace(
            review,
            approvals=review.approvals if self.approvals is None else self.approvals,
            group=review.group if self.group is None else self.group,
            reason_codes=review.reason_codes if self.reason_codes is None else self.reason_codes,
        )


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A transition that belongs to no stage. `is_by_person`: only a person may request it."""

    on: str
    source: str
    to: str
    is_by_person: bool = False


class Edge(msgspec.Struct, frozen=True, order=True):
    """One allowed change of status and the events that cause it."""

    source: str
    to: str
    on: tuple[str, ...]


class Rule(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What an event does in a status: the verb, and the part of the machine it concerns."""

    verb: Literal[
        "complete", "fail", "retry", "exhaust", "cancel", "answer", "refer", "move", "release"
    ]
    stage: Stage | None = None
    review: Review | None = None
    to: str = ""
    is_by_person: bool = False


class Machine(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A declared and checked graph. Build one with `Pipeline`, `declare` or `from_yaml`, never by hand.

    `dict=True` gives the frozen struct a place for the cached tables below.
    """

    name: str
    version: int
    prefix: str
    initial: str
    states: tuple[State, ...]
    stages: tuple[Stage, ...]
    on_exhausted: str | None
    doc: str = ""
    reviews: tuple[Review, ...] = ()
    moves: tuple[Move, ...] = ()
    retry: Retry = Retry()
    retry_by_source_type: dict[str, Retry] = {}
    expose: dict[str, str] = {}
    upgrades: dict[int, dict[str, str]] = {}

    # The tables below are compiled once per machine; `decide` is a few look-ups in them.

    @cached_property
    def state(self) -> dict[str, State]:
        """States by name."""
        return {state.name: state for state in self.states}

    @cached_property
    def stage(self) -> dict[str, Stage]:
        """Stages by name."""
        return {stage.name: stage for stage in self.stages}

    @cached_property
    def kind(self) -> dict[str, Kind]:
        """The kind of each state."""
        return {state.name: state.kind for state in self.states}

    @cached_property
    def stage_entered_at(self) -> dict[str, Stage]:
        """The stage that records of a state wait for."""
        return {stage.from_state: stage for stage in self.stages}

    @cached_property
    def stage_running_in(self) -> dict[str, Stage]:
        """The stage that is running in a state."""
        return {stage.running: stage for stage in self.stages}

    @cached_property
    def looked_up(self) -> frozenset[str]:
        """The stages whose items other records look up."""
        reads = [stage.earlier for stage in self.stages if stage.earlier is not None]
        return frozenset(name for each in reads for name in each.of if name in self.stage)

    @cached_property
    def review_in(self) -> dict[str, Review]:
        """The review that a suspended state waits for."""
        return {review.state: review for review in self.reviews}

    @cached_property
    def has_external_stages(self) -> bool:
        """Whether an external driver may decide when some of its stages run."""
        return any(stage.is_external for stage in self.stages)

    @cached_property
    def exposed_facts(self) -> tuple[str, ...]:
        """The exposed fields that stages report as facts; log references and counts are derived instead."""
        made = {stage.log_field for stage in self.stages}
        made |= {f"{stage.produces}_count" for stage in self.stages}
        return tuple(
            name
            for name, since in self.expose.items()
            if name not in made and not (since == self.initial and name.endswith("_log_ref"))
        )

    @cached_property
    def created_by(self) -> str:
        """The event that creates a record."""
        return f"{self.name}.created"

    @cached_property
    def imported_by(self) -> str:
        """The event that creates a record of which some of the work was done elsewhere."""
        return f"{self.name}.imported"

    @cached_property
    def entries(self) -> frozenset[str]:
        """The states in which an import may create a record: where work waits to begin, or that only imports use.

        Of a machine that exposes fields only the latter: from a state on, its records show what the stages before it
        reported, and no stage has reported anything of an imported one.
        """
        return frozenset(
            state.name
            for state in self.states
            if state.is_imported or (state.kind == "ready" and not self.expose)
        )

    def can_begin(self, status: str, trigger: str) -> bool:
        """Whether this trigger may create a record in a state."""
        is_import = trigger == self.imported_by
        return status in self.entries if is_import else status == self.initial

    @cached_property
    def rules(self) -> dict[tuple[str, str], Rule]:
        """(status, event type) → what happens. Everything else is impossible."""
        return _rules(self)

    @cached_property
    def event_types(self) -> frozenset[str]:
        """Every event type that has an effect in some state."""
        return frozenset(event for _, event in self.rules)

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """The whole transition graph, derived; the creation of a record is not part of it."""
        return _edges(self)

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """The graph as plain pairs of states."""
        return frozenset((edge.source, edge.to) for edge in self.edges)

    @cached_property
    def order(self) -> dict[str, int]:
        """The position of each state in the declaration, which is the order in which records reach them."""
        return {state.name: place for place, state in enumerate(self.states)}

    def allowed_from(self, status: str) -> tuple[str, ...]:
        """The states that may follow, in the order of the declaration."""
        return tuple(edge.to for edge in self.edges if edge.source == status)

    def stays(self, status: str, trigger: str) -> bool:
        """Whether this trigger leaves a record that waits for a review where it is."""
        review = self.review_in.get(status)
        return review is not None and is_stay(trigger) and trigger.startswith(f"{review.name}.")

    def stage_of(self, status: str) -> Stage | None:
        """The stage that a status belongs to, waiting or running."""
        return self.stage_running_in.get(status) or self.stage_entered_at.get(status)

    def tuned(
        self,
        *,
        retry: Retry | None = None,
        retry_by_source_type: Mapping[str, Retry] | None = None,
        timeouts_s: Mapping[str, float] | None = None,
        review: ReviewRules | None = None,
    ) -> "Machine":
        """The same graph with other timeouts, retries and rules of reviews: all that a profile may change."""
        waits = timeouts_s or {}
        stages = tuple(
            replace(stage, timeout_s=waits.get(stage.running, stage.timeout_s))
            for stage in self.stages
        )
        rules = review or ReviewRules()
        reviews = tuple(
            replace(rules.of(each), timeout_s=waits.get(each.state, each.timeout_s))
            for each in self.reviews
        )
        return replace(
            self,
            stages=stages,
            reviews=reviews,
            retry=retry or self.retry,
            retry_by_source_type=dict(retry_by_source_type or self.retry_by_source_type),
        )

    def retry_of(self, record: Record) -> Retry:
        """How a record is retried: as its source type says, or as the machine does."""
        own = self.retry_by_source_type
        return own.get(str(record.labels.get(SOURCE_TYPE)), self.retry) if own else self.retry

    def current_name(self, status: str, record: Record) -> str:
        """The name that this version gives to a state of the record's own version."""
        return self.upgrades.get(record.machine_version, {}).get(status, status)

    def is_externally_driven(self, record: Record) -> bool:
        """Whether an external driver decides when this record's external stages run and are retried."""
        return self.has_external_stages and record.labels.get(SEQUENCING) == OUTSIDE

    def is_exhausted(self, record: Record) -> bool:
        """Whether the record failed with no retry left, and the machine has a state for that."""
        is_over = (
            record.error_code is not None
            and record.retry_count >= self.retry_of(record).max_retries
        )
        return is_over and (record.status, RETRIES_EXHAUSTED) in self.rules

    def is_given_up(self, record: Record) -> bool:
        """Whether it failed of what no retry can cure; at its `due_at` it moves to the state for that."""
        return record.rest == FATAL and (record.status, RETRIES_EXHAUSTED) in self.rules

    def exposed(self, record: Record) -> Fields:
        """The fields that are declared for the record's status or an earlier one, and that it has.

        A failed record shows what it had when it failed. Where it failed is unknown of imported records: they show
        every field, null where it has no value.
        """
        is_failed = self.kind[record.status] == "failed"
        reached = record.status
        if is_failed and record.failed_from is not None:
            reached = self.current_name(record.failed_from, record)
        is_unknown = is_failed and record.failed_from is None
        limit = self.order[reached]
        return {
            field: record.fields.get(field)
            for field, since in self.expose.items()
            if self.order[since] <= limit and (is_unknown or field in record.fields)
        }


# Stored definitions are never rewritten, so the field names that they were first stored under stay readable.
_STORED_MACHINE_FIELDS = {"exhausted": "on_exhausted", "disclose": "expose"}
_STORED_STAGE_FIELDS = {"enter": "from", "is_gated": "is_external"}


def load_machine(stored: Mapping[str, Json]) -> Machine:
    """The machine of a stored definition decoded from JSON, under today's or earlier field names."""
    fields = {_STORED_MACHINE_FIELDS.get(name, name): value for name, value in stored.items()}
    stages = fields.get("stages")
    if isinstance(stages, list):
        fields["stages"] = [
            {_STORED_STAGE_FIELDS.get(name, name): value for name, value in stage.items()}
            for stage in stages
            if isinstance(stage, dict)
        ]
    return msgspec.convert(fields, Machine, str_keys=True)  # `upgrades` has version numbers as keys


def is_stay(trigger: str) -> bool:
    """Whether a transition left a record in its review."""
    return trigger.endswith((f".{ENDORSED}", f".{REFERRED}"))


def _rules(machine: Machine) -> dict[tuple[str, str], Rule]:
    rules: dict[tuple[str, str], Rule] = {}
    for stage in machine.stages:
        rules[stage.running, f"{stage.name}.completed"] = Rule(verb="complete", stage=stage)
        for event in (f"{stage.name}.failed", f"{stage.name}.timed_out"):
            rules[stage.running, event] = Rule(verb="fail", stage=stage)
        rules[stage.running, CANCEL_REQUESTED] = Rule(verb="cancel", stage=stage, to=stage.on_fatal)
        if stage.is_external:
            rules[stage.from_state, f"{stage.name}.requested"] = Rule(verb="release", stage=stage)
        if stage.on_error_waiting is not None:
            target = stage.on_error_waiting
            rules[stage.from_state, CANCEL_REQUESTED] = Rule(verb="cancel", stage=stage, to=target)
        if machine.kind[stage.on_error] == "failed":
            rules.update(_retry_rules(machine, stage))
    for review in machine.reviews:
        for label, target in review.outcomes.items():
            rules[review.state, f"{review.name}.{label}"] = Rule(
                verb="answer", review=review, to=target, is_by_person=True
            )
        rules[review.state, f"{review.name}.timed_out"] = Rule(
            verb="answer", review=review, to=review.on_timeout
        )
        rules[review.state, f"{review.name}.{REFERRED}"] = Rule(
            verb="refer", review=review, to=review.state, is_by_person=True
        )
    for move in machine.moves:
        rules[move.source, move.on] = Rule(verb="move", to=move.to, is_by_person=move.is_by_person)
    return rules


def _retry_rules(machine: Machine, stage: Stage) -> dict[tuple[str, str], Rule]:
    # Where a retry leads depends on the record (its failed step), so these rules name no target.
    rules = {
        (stage.on_error, RETRY_REQUESTED): Rule(verb="retry"),
        (stage.on_error, RETRY_DUE): Rule(verb="retry"),
    }
    if machine.on_exhausted is not None and machine.on_exhausted != stage.on_error:
        to = machine.on_exhausted
        rules[stage.on_error, RETRIES_EXHAUSTED] = Rule(verb="exhaust", to=to)
        if stage.on_fatal == to:
            rules[stage.on_error, CANCEL_REQUESTED] = Rule(verb="cancel", to=to)
    return rules


def _edges(machine: Machine) -> tuple[Edge, ...]:
    causes: dict[tuple[str, str], list[str]] = {}

    def add(source: str, to: str, on: str) -> None:
        events = causes.setdefault((source, to), [])
        if on not in events:
            events.append(on)

    for stage in machine.stages:
        _stage_edges(machine, stage, add)
    for review in machine.reviews:
        for label, target in review.outcomes.items():
            add(review.state, target, f"{review.name}.{label}")
        add(review.state, review.on_timeout, f"{review.name}.timed_out")
    for move in machine.moves:
        add(move.source, move.to, move.on)
    order = machine.order
    pairs = sorted(causes, key=lambda pair: (order[pair[0]], order[pair[1]]))
    return tuple(Edge(source, to, tuple(causes[source, to])) for source, to in pairs)


def _stage_edges(machine: Machine, stage: Stage, add: Callable[[str, str, str], None]) -> None:
    name = stage.name
    if stage.from_state != stage.running:
        add(stage.from_state, stage.running, f"{name}.started")
    for routes in stage.outcomes.values():
        for route in routes:
            add(stage.running, route.to, f"{name}.completed")
    for target in (stage.on_error, stage.on_fatal):
        add(stage.running, target, f"{name}.failed")
        add(stage.running, target, f"{name}.timed_out")
    add(stage.running, stage.on_fatal, CANCEL_REQUESTED)
    if stage.on_error_waiting is not None:
        add(stage.from_state, stage.on_error_waiting, CANCEL_REQUESTED)
    if machine.kind[stage.on_error] == "failed":
        add(stage.on_error, stage.resume, RETRY_REQUESTED)
        add(stage.on_error, stage.resume, RETRY_DUE)
        if machine.on_exhausted is not None and machine.on_exhausted != stage.on_error:
            add(stage.on_error, machine.on_exhausted, RETRIES_EXHAUSTED)
            if stage.on_fatal == machine.on_exhausted:
                add(stage.on_error, machine.on_exhausted, CANCEL_REQUESTED)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
