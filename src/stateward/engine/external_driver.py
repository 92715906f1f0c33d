"""For external drivers: which steps a state machine with external stages has, which is next, and how one ended.

A step begins at an external stage and runs until the next one, a review, or the end. `request_step` releases a held
record, or retries a failed step. The external driver says what comes next, and never what state a record is in: its
requests become events, which the coordinator decides like all others (docs/decisions/0016).

Steps, retries and reprocessing may be requested again: a driver whose connection broke cannot know whether its request
arrived, so a request for what has happened already returns the record as it is.
"""

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

import msgspec

from stateward.core.errors import ConcurrentModification, InvalidRequest, UnknownName
from stateward.core.machine import RETRY_REQUESTED, Machine
from stateward.core.model import (
    CANCELLED,
    FRESH_ANSWER,
    SEQUENCING,
    Json,
    Micros,
    Record,
    clean_text,
    event_about,
    is_held,
)
from stateward.engine.coordinator import Coordinator, Submission, Submitted
from stateward.engine.registry import MachineRegistry
from stateward.storage.outputs import Outputs
from stateward.storage.store import Store

REVIEW, RETRY, REPROCESS = "review", "retry", "reprocess"
# A reason becomes part of the transition, which is hashed and stored for ever.
REASON_CHARS_MAX = 2000

StepState: TypeAlias = Literal["held", "under_way", "failed", "done", "early", "over"]


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a step of a record. `machines` are those that the caller may see; none means all.

    With `version` it is refused if the record has moved since the caller read it.
    """

    record_id: str
    stage: str
    actor: str
    version: int | None = None
    machines: tuple[str, ...] = ()
    reason: str | None = None
    trace: str | None = None


def steps_of(machine: Machine) -> dict[str, tuple[str, ...]]:
    """Each external stage, and the stages that run when it is requested, in the order of the declaration."""
    steps: dict[str, tuple[str, ...]] = {}
    gate = ""
    for stage in machine.stages:
        gate = stage.name if stage.is_external else gate
        if gate:
            steps[gate] = (*steps.get(gate, ()), stage.name)
    return steps


def step_at(machine: Machine, status: str) -> str | None:
    """The step that a state belongs to; for a review, the step that led to it; None before the first step."""
    if machine.kind[status] == "suspended":
        sources = (edge.source for edge in machine.edges if edge.to == status)
        return next((step for source in sources if (step := step_at(machine, source))), None)
    stage = machine.stage_of(status)
    if stage is None:
        return None
    return next((gate for gate, own in steps_of(machine).items() if stage.name in own), None)


def step_state(machine: Machine, record: Record, step: str) -> StepState:
    """Where a record is relative to a step: before it, in it, or past it.

    It follows from the record alone. No call keeps state between a request and its end, so that it can be cut off,
    repeated, or answered by another process.
    """
    kind = machine.kind[record.status]
    places = list(steps_of(machine))
    if kind == "terminal":
        # The status no longer says how far it came; outputs do. A step is done when its last stage has one.
        if steps_of(machine)[step][-1] in record.outputs:
            return "done"
        is_here = step_at(machine, _reached_state(machine, record)) == step
        return "failed" if is_here and record.error_code is not None else "over"
    here = step_at(machine, _reached_state(machine, record))
    if here is None:
        return "early"
    if here != step:
        return "done" if places.index(step) < places.index(here) else "early"
    if kind == "suspended":  # the step ends with the review: its answer is another call
        return "done"
    if kind == "failed":
        # Without retries left the scheduler moves it to its final state at once; a driver waits for that.
        return "under_way" if machine.is_exhausted(record) else "failed"
    return "held" if is_held(record) else "under_way"


def _reached_state(machine: Machine, record: Record) -> str:
    """The state that tells the step: for a failed record, where it failed, by its present name after an upgrade."""
    if record.error_code is not None and record.failed_from is not None:
        return machine.current_name(record.failed_from, record)
    return record.status


def retried_step(machine: Machine, record: Record) -> str | None:
    """The step that failed or was retried; None where nothing ever failed."""
    if record.error_code is None and not record.retry_count:
        return None
    if machine.kind[record.status] == "terminal" and record.error_code is None:
        return list(steps_of(machine))[-1]
    return step_at(machine, _reached_state(machine, record))


def next_calls(machine: Machine, record: Record) -> tuple[str, ...]:
    """The possible requests: steps by their stage, `review`, `retry`, `reprocess`.

    Empty for a failed record without retries left: the scheduler is about to move it.
    """
    match machine.kind[record.status]:
        case "suspended":
            return (REVIEW,)
        case "failed" if machine.is_exhausted(record):
            return ()
        case "failed":
            step = step_at(machine, _reached_state(machine, record))
            return (RETRY,) if step is None else (step, RETRY)
        case "terminal":
            return (REPROCESS,)
    step = step_at(machine, record.status)
    return () if step is None else (step,)


class ExternalDriver:
    """The requests of an external driver. Each holds the record's lock from its check to its commit.

    `coordinator` is called when needed: a process that only reads builds none.
    """

    def __init__(
        self,
        *,
        store: Store,
        outputs: Outputs,
        coordinator: Callable[[], Coordinator],
        registry: MachineRegistry,
        clock: Callable[[], Micros],
    ) -> None:
        self._store = store
        self._outputs = outputs
        self._coordinator = coordinator
        self._registry = registry
        self._clock = clock

    def step_state(self, record: Record, step: str) -> StepState:
        """Where a record is relative to a step; see the function of this name."""
        return step_state(self._registry.of(record), record, step)

    def next_calls(self, record: Record) -> tuple[str, ...]:
        """The possible requests; see the function of this name."""
        return next_calls(self._registry.of(record), record)

    def is_retryable(self, record: Record) -> bool:
        """Whether a retry may succeed: the failed attempt did not say that none can.

        An attempt without a result timed out or lost its worker; both are worth a retry.
        """
        machine = self._registry.of(record)
        if machine.kind[record.status] != "failed" or machine.is_exhausted(record):
            return False
        if record.error_code == CANCELLED:
            return False
        # The failure made the present version, so the attempt ran at the one before.
        mark = self._outputs.result(record.id, record.version - 1)
        return mark is None or mark.is_retryable

    def request_step(self, step: Step) -> Record:
        """Run a step: release a held record, or retry a failure that a retry may cure. Otherwise nothing changes."""
        with self._store.transaction():
            record = self._record(step)
            match self.step_state(record, step.stage):
                case "held":
                    return self._report_step(record, f"{step.stage}.requested", step)
                case "failed" if self.is_retryable(record):
                    return self._report_step(record, RETRY_REQUESTED, step)
            return record

    def retry(self, step: Step) -> Record:
        """Retry a failed step, even after an error that called a retry useless. Otherwise nothing changes."""
        with self._store.transaction():
            record = self._record(step)
            machine = self._registry.of(record)
            if machine.kind[record.status] != "failed" or machine.is_exhausted(record):
                return record
            return self._report_step(record, RETRY_REQUESTED, step)

    def advance(self, record_id: str, *, actor: str, reason: str | None = None) -> Record:
        """Release a held record by hand: a driver that went away leaves its records held."""
        with self._store.transaction():
            record = self._record(Step(record_id=record_id, stage="", actor=actor, reason=reason))
            stage = step_at(self._registry.of(record), record.status)
            if stage is None or not is_held(record):
                raise InvalidRequest(f"{record_id} is not held; only a held record can be advanced")
            step = Step(record_id=record_id, stage=stage, actor=actor, reason=reason)
            return self._report_step(record, f"{stage}.requested", step)

    def reprocess(
        self,
        record_id: str,
        *,
        actor: str,
        sequencing: str | None = None,
        labels: Mapping[str, Json] | None = None,
        machines: tuple[str, ...] = (),
        reason: str | None = None,
        trace: str | None = None,
        is_ended: bool = True,
        artifact: str | None = None,
    ) -> Submitted:
        """Process the document of a finished record again, as a new record that refers to it.

        The old record and its history stay as they are. A repeated request returns the same new record. `labels` are
        those that the new one has besides or instead. With `is_ended` false the old one may still be under way: its
        document was read as the wrong kind, and does not have to come to its end for that to be mended. `artifact` is
        the document in another form, such as without its password. What was paid for is handed on, unless the label
        `fresh_answer` says that it is to be asked for anew.
        """
        with self._store.transaction():
            step = Step(record_id=record_id, stage="", actor=actor, machines=machines)
            record = self._record(step)
            machine = self._registry.of(record)
            if is_ended and machine.kind[record.status] != "terminal":
                raise InvalidRequest(
                    f"{record.id} has not ended: it is {record.status}, and goes on from there"
                )
            before = {name: value for name, value in record.labels.items() if name != FRESH_ANSWER}
            changed = {
                name: value for name, value in (labels or {}).items() if value != before.get(name)
            }
            way = {SEQUENCING: sequencing} if sequencing else {}
            opening = Submission(
                machine=record.machine,
                actor=actor,
                artifact=artifact or record.artifact,
                # Derived from the old record: the document's own key belongs to that, and a repeat must find this one.
                dedupe=_successor_key(record, changed),
                priority=record.priority,
                labels={**before, **changed, **way},
                replaces=record.id,
                reason=_reason(reason),
                trace=trace,
            )
            (opened,) = self._coordinator().submit([opening])
            if not opened.is_duplicate and FRESH_ANSWER not in changed:
                self._outputs.hand_on_answers(record.id, opened.record.id, at=self._clock())
            return opened

    def successors(self, record: Record) -> list[str]:
        """The records that process its document again, the oldest first."""
        return self._store.successors(record, prefix=_successor_key(record, {}))

    def _record(self, step: Step) -> Record:
        record = self._store.load([step.record_id], lock=True).get(step.record_id)
        # The same error for a record that the caller may not see: it must not tell that the record exists.
        if record is None or (step.machines and record.machine not in step.machines):
            raise UnknownName("record", clean_text(step.record_id, chars_max=80))
        if step.version is not None and step.version != record.version:
            raise ConcurrentModification(record.id, expected=step.version)
        return record

    def _report_step(self, record: Record, type_: str, step: Step) -> Record:
        event = event_about(
            record,
            type_,
            at=self._clock(),
            actor=step.actor,
            reason=_reason(step.reason),
            trace=step.trace,
        )
        self._coordinator().handle([event])
        # Read again: a transition has changed the version that the caller expected.
        return self._record(msgspec.structs.replace(step, version=None))


def _successor_key(record: Record, changed: Mapping[str, Json]) -> str:
    """The dedupe key of a record that processes the document of another again; every set of labels has its own."""
    names = "".join(f":{name}={changed[name]}" for name in sorted(changed))
    return f"{record.artifact or ''}:{record.id}{names}"


def _reason(given: str | None) -> str | None:
    return None if given is None else clean_text(given, chars_max=REASON_CHARS_MAX)
