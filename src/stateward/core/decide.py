"""What does happen: pure functions from a machine, a record and an event to a decision.

`begin` creates a record, `start` dispatches it to a worker, `decide` applies an event, `upgrade` moves a record to a
newer version of its machine. None of them reads a clock or writes anything: the coordinator commits what they return.
That is what lets the simulation replay any history, and lets a coordinator decide hundreds of events in one
transaction.

An event that cannot apply is `Ignored` with a reason; it is never an error. Events are delivered at least once, so
stale and repeated ones are part of normal operation.
"""

from msgspec.structs import replace

from stateward.core.approvals import (
    APPROVALS,
    APPROVED,
    CORRECTED,
    endorse,
    is_corrected,
    refer,
    with_approval,
    without_answers,
)
from stateward.core.errors import InvalidRequest
from stateward.core.machine import (
    CANCEL_REQUESTED,
    RETRIES_EXHAUSTED,
    RETRY_DUE,
    RETRY_REQUESTED,
    UPGRADED,
    Machine,
    Review,
    Rule,
    Stage,
)
from stateward.core.model import (
    CANCELLED,
    CLOCK,
    COORDINATOR,
    ERASED_REST,
    FATAL,
    FLAGS,
    HELD,
    NOTES,
    PERSON,
    PRIORITY,
    PRIORITY_NORMAL,
    REVIEW_REJECTED,
    RUNNER,
    SECOND,
    SEQUENCER,
    SKIPPED,
    TRACE,
    Applied,
    Ask,
    Change,
    Decision,
    Effect,
    Event,
    Fields,
    Ignored,
    Json,
    Micros,
    Notify,
    Record,
    Transition,
    event_about,
    event_id,
    is_held,
    log_ref,
    plain_actor,
    timeout_message,
    to_iso,
)
from stateward.core.output_seal import LOG_DIGEST, OUTPUT_DIGEST
from stateward.core.retry import retry_after_s

TIMEOUT = "TIMEOUT"
# A worker ends an attempt that runs too long by itself, and its report says what the attempt was doing. The timer of
# the coordinator is the second line, for workers that hang or are gone, so it comes a little later.
GRACE_S = 5.0


def begin(
    machine: Machine,
    *,
    record_id: str,
    now: Micros,
    actor: str,
    artifact: str | None = None,
    dedupe: str | None = None,
    priority: int = PRIORITY_NORMAL,
    ageing_s: float = 0.0,
    labels: Fields | None = None,
    fields: Fields | None = None,
    replaces: str | None = None,
    reason: str | None = None,
    trace: str | None = None,
    entry: str | None = None,
) -> Applied:
    """A new record at version 0: in the machine's initial state, or in the one that an import gives as `entry`."""
    trigger = machine.created_by if entry is None else machine.imported_by
    status = machine.initial if entry is None else entry
    if not machine.can_begin(status, trigger):
        known = ", ".join(name for name in machine.state if name in machine.entries)
        raise InvalidRequest(
            f"no import begins in {status!r} of {machine.name}; it may in: {known}"
        )
    # Log references that are exposed from the first state on exist before any stage has run.
    first_logs: Fields = {
        field: log_ref(record_id, field.removesuffix("_log_ref"))
        for field, since in machine.expose.items()
        if since == machine.initial and field.endswith("_log_ref")
    }
    record = Record(
        id=record_id,
        machine=machine.name,
        machine_version=machine.version,
        status=status,
        version=0,
        created_at=now,
        entered_at=now,
        priority=priority,
        rank=rank_of(created_at=now, priority=priority, ageing_s=ageing_s),  # for good: see there
        artifact=artifact,
        dedupe=dedupe,
        labels=labels or {},
        fields=first_logs | (fields or {}) | _trace(trace),
        replaces=replaces,
    )
    record, effects = _arrive(machine, record, now)
    # A record begins with a transition like any other, with no source: a history without its first line is then seen
    # to be cut, and the chain of a record needs no special case.
    metadata: Fields = {} if reason is None else {"reason": reason}
    if replaces is not None:
        metadata["replaces"] = replaces
    if priority != PRIORITY_NORMAL:  # what it became later is in the audit log
        metadata[PRIORITY] = priority
    if record.rest is not None:
        metadata["rest"] = record.rest
    metadata |= _trace(trace)
    transition = Transition(
        record_id=record_id,
        machine=machine.name,
        machine_version=machine.version,
        source=None,
        target=status,
        version=0,
        event_id=event_id(record_id, makes=0, type_=trigger),
        at=now,
        actor=actor,
        trigger=trigger,
        metadata=metadata,
    )
    return Applied(Change(record=record, expected=None, transition=transition, effects=effects))


def start(
    machine: Machine, record: Record, *, worker: str, now: Micros, given: Fields | None = None
) -> Applied:
    """Dispatch a waiting record to a worker. `given` says what the attempt reads besides its own record.

    It moves from the state it waits in to the running state. If it is in the running state already (the stage has no
    separate waiting state, or its worker was lost), nothing changes but the worker and the deadline: the version
    stays, because it identifies the attempt, and a second worker continues the same attempt.
    """
    now = _not_before(record, now)
    # A record whose worker was lost waits for nothing: the state that it is in says which stage is to go on.
    stage = (
        machine.stage[record.waiting] if record.waiting else machine.stage_running_in[record.status]
    )
    due_at = now + round((stage.timeout_s + GRACE_S) * SECOND)
    if record.status == stage.running:
        dispatched = replace(record, waiting=None, worker=worker, due_at=due_at)
        return Applied(Change(record=dispatched, expected=record.version, transition=None))
    trigger = f"{stage.name}.started"
    moved = replace(
        _move(record, to=stage.running, now=now),
        machine_version=machine.version,
        worker=worker,
        due_at=due_at,
        fields=_with_log(record, stage),
    )
    transition = Transition(
        record_id=record.id,
        machine=machine.name,
        machine_version=machine.version,
        source=record.status,
        target=stage.running,
        version=moved.version,
        event_id=event_id(record.id, makes=moved.version, type_=trigger),
        at=now,
        actor=COORDINATOR,
        trigger=trigger,
        attempt=moved.version,
        metadata={
            "worker": worker,
            "retry_count": record.retry_count,
            **_asked_by(record),
            **_trace(record.fields.get(TRACE)),
            **(given or {}),
        },
    )
    return Applied(Change(record=moved, expected=record.version, transition=transition))


def decide(machine: Machine, record: Record, event: Event, *, now: Micros) -> Decision:
    """What `event` does to `record`: the change to write, or why there is none."""
    decision = _decide(
        machine, _with_current_step(machine, record), event, _not_before(record, now)
    )
    if isinstance(decision, Applied) and decision.change.transition is not None:
        to = decision.change.record.status
        # The declared graph has the last word, so that a mistake in a rule cannot write an undeclared transition.
        trigger = decision.change.transition.trigger
        is_stay = record.status == to and machine.stays(to, trigger)
        if (record.status, to) not in machine.pairs and not is_stay:
            detail = f"{machine.name} has no transition from {record.status!r} to {to!r}"
            return Ignored(reason="impossible", detail=detail)
    return decision


def can_continue(machine: Machine, record: Record) -> bool:
    """Whether `machine` can process the record as it is: it has this version, or one that is upgraded in place."""
    if record.machine_version == machine.version:
        return True
    if record.machine_version not in machine.upgrades or record.status not in machine.kind:
        return False
    failed_from = _with_current_step(machine, record).failed_from
    is_resumable = failed_from is None or machine.stage_of(failed_from) is not None
    return is_resumable and machine.current_name(record.status, record) == record.status


def upgrade(machine: Machine, record: Record, *, now: Micros) -> Applied | None:
    """Move a record into the state that `machine` maps its old one to; None if the state keeps its name."""
    to = machine.current_name(record.status, record)
    if to == record.status:
        return None
    now = _not_before(record, now)
    event = event_about(
        record,
        UPGRADED,
        at=now,
        actor=COORDINATOR,
        facts={"from_machine_version": record.machine_version},
    )
    # A held record is held anew by `_arrive`, if its stage is external in this version too.
    rest = None if record.rest == HELD else record.rest
    moved = replace(_move(_with_current_step(machine, record), to=to, now=now), rest=rest)
    change = _apply(machine, moved, record, event, now).change
    # Only the name is new: a failed record keeps the time of its next retry, and no notification goes out twice.
    if machine.kind[to] == "failed":
        change = replace(change, record=replace(change.record, due_at=record.due_at))
    questions = tuple(effect for effect in change.effects if isinstance(effect, Ask))
    return Applied(replace(change, effects=questions))


def take_on(
    machine: Machine, former: Machine, record: Record, *, actor: str, now: Micros
) -> Decision:
    """Let a record that had ended under `former` go on with the stage that `machine` has grown there since.

    Its status and version stay: it begins to wait, and the transition that dispatches it says who asked.
    """
    stage = machine.stage_of(record.status)
    has_ended = former.kind.get(record.status) == "terminal"
    if not has_ended or stage is None or machine.kind.get(record.status) == "terminal":
        detail = f"{machine.name} has no stage after {record.status!r} that it did not have before"
        return Ignored(reason="impossible", detail=detail)
    if not can_continue(machine, record) or record.waiting is not None or record.rest is not None:
        detail = f"{record.id} waits already, or version {record.machine_version} is not upgraded"
        return Ignored(reason="impossible", detail=detail)
    # A stage that found nothing would have skipped the next one, had it been there: a new stage is skipped as well.
    produced = [
        f"{each.produces}_count"
        for each in machine.stages
        if any(route.to == record.status for routes in each.outcomes.values() for route in routes)
    ]
    if any(record.fields.get(name) == 0 for name in produced):
        detail = f"{record.id} has nothing for {stage.name} to do"
        return Ignored(reason="impossible", detail=detail)
    arrived, effects = _arrive(machine, record, _not_before(record, now))
    marked = replace(arrived, asked_by=actor)
    return Applied(Change(record=marked, expected=record.version, transition=None, effects=effects))


def rank_of(*, created_at: Micros, priority: int, ageing_s: float) -> int:
    """The position in the queue, lowest first: each point of priority counts as `ageing_s` of waiting.

    It does not change while a record waits, so an index can hold it; and because time passes for all records alike, a
    low priority that has waited long enough comes before a high one that is new.
    """
    return created_at - round(priority * ageing_s * SECOND)


def _decide(machine: Machine, record: Record, event: Event, now: Micros) -> Decision:
    """One rule for each state and type of event: what a machine allows can be read from its table, and drawn."""
    rule = machine.rules.get((record.status, event.type))
    refusal = _refusal(machine, record, event, rule, now)
    if rule is None or refusal is not None:
        return refusal or _no_rule(machine, record, event)
    match rule.verb:
        case "complete":
            return _complete(machine, record, event, _stage(rule), now)
        case "fail":
            return _fail(machine, record, event, _stage(rule), now)
        case "cancel":
            return _cancel(machine, record, event, rule, now)
        case "retry":
            return _retry(machine, record, event, now)
        case "release":
            return _release(machine, record, event, _stage(rule))
        case "answer":
            return _answer(machine, record, event, rule, now)
        case "refer":
            return refer(machine, record, event, now=now)
        case "exhaust" if machine.is_given_up(record):
            ended = _apply(machine, _move(record, to=rule.to, now=now), record, event, now)
            # People were told when it failed; this is the same failure.
            return Applied(replace(ended.change, effects=()))
        case "exhaust" if not machine.is_exhausted(record):
            return Ignored(reason="impossible", detail=f"{record.id} has retries left")
        case "move" if machine.kind[rule.to] == "failed":
            return _reopen(machine, record, event, rule, now)
    return _apply(machine, _move(record, to=rule.to, now=now), record, event, now)


def _refusal(
    machine: Machine, record: Record, event: Event, rule: Rule | None, now: Micros
) -> Ignored | None:
    """Why the event cannot apply whatever its rule says; None if it can."""
    # The version comes first: it is the fencing token. A report of an attempt that was given up speaks of a version
    # that is past, and must be called stale even where its type would also fit the present state.
    if event.version is not None and event.version != record.version:
        detail = f"{event.record_id} is at version {record.version}, the event is about version {event.version}"
        is_past = event.version < record.version
        return Ignored(reason="stale" if is_past else "ahead", detail=detail)
    if rule is None:
        return _no_rule(machine, record, event)
    # After the rule: of an erased record too, an event that never fitted is called impossible, not forbidden.
    if record.rest == ERASED_REST:
        return Ignored(reason="not_allowed", detail=f"what {record.id} held was erased")
    if not _is_permitted(rule, event, machine.is_externally_driven(record)):
        return Ignored(
            reason="not_allowed",
            detail=f"{plain_actor(event.actor)} is not allowed to send {event.type}",
        )
    # A scheduler whose clock is fast, or that read the record before its deadline moved, must not end it early.
    if event.actor == CLOCK and (record.due_at is None or record.due_at > now):
        return Ignored(reason="ahead", detail=f"{event.type} is not due yet in {record.status!r}")
    return None


def _no_rule(machine: Machine, record: Record, event: Event) -> Ignored:
    """Two reasons, because they have two cures: a misspelt type is mended by its sender, a late event by no one."""
    if event.type not in machine.event_types:
        return Ignored(reason="unknown_event", detail=f"{machine.name} has no event {event.type!r}")
    return Ignored(reason="impossible", detail=f"{event.type} has no effect in {record.status!r}")


def _is_permitted(rule: Rule, event: Event, is_externally_driven: bool) -> bool:
    """Runners report on their stage, the clock sends what is due, people and external drivers request the rest.

    A report must name its version; only a request may mean whatever is there now. An external driver may deliver a
    person's answer to a review, or say that there was none in the time it allowed, but may not make a move that is
    reserved for people.
    """
    is_request = event.actor.startswith((PERSON, SEQUENCER))
    if event.version is None and not is_request:
        return False
    if rule.is_by_person:
        return is_request if rule.verb == "answer" else event.actor.startswith(PERSON)
    # The coordinator reports for workers that are gone, and the clock for those that hang.
    if rule.verb in ("complete", "fail"):
        return event.actor.startswith((RUNNER, SEQUENCER)) or event.actor in (CLOCK, COORDINATOR)
    if event.type in (RETRY_REQUESTED, CANCEL_REQUESTED) or rule.verb in ("move", "release"):
        return is_request
    if rule.verb == "answer" and is_externally_driven and event.actor.startswith(SEQUENCER):
        return True
    return event.actor == CLOCK


def _stage(rule: Rule) -> Stage:
    assert rule.stage is not None  # noqa: S101 - rules of these verbs are only made with a stage
    return rule.stage


def _complete(
    machine: Machine, record: Record, event: Event, stage: Stage, now: Micros
) -> Decision:
    """A stage is done: its outcome and the facts that its guards name choose the next state.

    An outcome that the stage never declared is ignored instead of guessed at: the attempt then ends by its timeout, as
    one that never reported, and the reason is among the ignored events.
    """
    to = stage.route(event.outcome, event.facts)
    if to is None:
        known = ", ".join(stage.outcomes)
        detail = f"stage {stage.name} has no outcome {event.outcome!r}; it has: {known}"
        return Ignored(reason="unknown_outcome", detail=detail)
    count = event.count or 0
    fields = _with_log(record, stage)
    if stage.produces is not None:
        fields[f"{stage.produces}_count"] = count
    # Notes stay until a later stage says others: a reader that was unsure is still unsure after the next stage.
    if NOTES in event.facts:
        fields[NOTES] = event.facts[NOTES]
    if FLAGS in event.facts:
        fields.pop(FLAGS, None)  # what the stage before said is no longer so
        fields |= {FLAGS: event.facts[FLAGS]} if event.facts[FLAGS] else {}
    fields |= {name: event.facts[name] for name in machine.exposed_facts if name in event.facts}
    is_empty = stage.produces is not None and count == 0
    moved = replace(
        _move(record, to=to, now=now),
        fields=fields,
        # The attempt whose items count. A later attempt at the same stage replaces it; older items stay stored.
        outputs=record.outputs | {stage.name: record.version},
        # Nothing was produced, so the next stage has nothing to do: it is skipped, and the record rests.
        rest=SKIPPED if is_empty and machine.kind[to] == "ready" else None,
    )
    return _apply(machine, moved, record, event, now)


def _fail(machine: Machine, record: Record, event: Event, stage: Stage, now: Micros) -> Applied:
    """An attempt has failed: to the state that is retried while retries are left, else to the one that is final.

    `failed_from` is where a retry resumes. The count of retries goes into the message only when it is the last one: a
    person who reads it then knows that nothing more will happen by itself.
    """
    is_timeout = event.type.endswith(".timed_out")
    code = event.error_code or (TIMEOUT if is_timeout else "STAGE_FAILED")
    message = event.error_message or (
        timeout_message(stage.running, stage.timeout_s) if is_timeout else code
    )
    has_retries = event.is_retryable and record.retry_count < machine.retry_of(record).max_retries
    if event.is_retryable and not has_retries and record.retry_count:
        times = "1 retry" if record.retry_count == 1 else f"{record.retry_count} retries"
        message = f"{message} (after {times})"
    moved = replace(
        _move(record, to=stage.on_error if has_retries else stage.on_fatal, now=now),
        fields=_with_log(record, stage),
        failed_from=record.status,
        error_code=code,
        error_message=message,
    )
    return _apply(machine, moved, record, event, now)


def _cancel(machine: Machine, record: Record, event: Event, rule: Rule, now: Micros) -> Applied:
    """A person wants no more of it. Work under way is fenced off by the version; its report will be stale."""
    moved = replace(
        _move(record, to=rule.to, now=now),
        # A record that is cancelled after it failed still shows where it failed.
        failed_from=record.status if rule.stage else record.failed_from,
        error_code=CANCELLED,
        error_message=event.reason or f"Cancelled by {plain_actor(event.actor)}",
    )
    # No retry by itself: a person who cancels means it, and may still ask for one.
    return _apply(machine, moved, record, replace(event, is_retryable=False), now)


def _retry(machine: Machine, record: Record, event: Event, now: Micros) -> Decision:
    """Resume at the step that failed; stages before it are not repeated, because their items are stored.

    Retries that people ask for count as well, so that the count says how often the step was repeated.
    """
    stage = machine.stage_of(record.failed_from) if record.failed_from else None
    if stage is None:
        detail = f"{record.id} does not say at which step it failed"
        return Ignored(reason="impossible", detail=detail)
    if machine.is_exhausted(record):
        detail = f"{record.id} was retried {record.retry_count} times, and moves to {machine.on_exhausted!r}"
        return Ignored(reason="impossible", detail=detail)
    moved = replace(
        _move(record, to=stage.resume, now=now),
        retry_count=record.retry_count + 1,
        last_retry_at=now,
        failed_from=None,
        error_code=None,
        error_message=None,
    )
    return _apply(machine, moved, record, event, now)


def _release(machine: Machine, record: Record, event: Event, stage: Stage) -> Decision:
    """Let a held record start its external stage. Its status stays the same, so there is no transition."""
    if not is_held(record):
        if machine.is_externally_driven(record):
            return Ignored(reason="duplicate", detail=f"{stage.name} was requested already")
        detail = f"{record.id} is not driven externally: {stage.name} runs by itself"
        return Ignored(reason="impossible", detail=detail)
    requested = replace(record, waiting=stage.name, asked_by=event.actor)
    return Applied(Change(record=requested, expected=record.version, transition=None))


def _answer(machine: Machine, record: Record, event: Event, rule: Rule, now: Micros) -> Decision:
    """Apply the answer to a review, or the last of several that it needs."""
    review = rule.review
    answer = event.type.rpartition(".")[2]
    if review is None or review.approvals == 1 or answer not in (APPROVED, CORRECTED):
        return _conclude(machine, record, event, rule, now)
    approvals = with_approval(record, event, review)
    if isinstance(approvals, Ignored):
        return approvals
    if len(approvals) < review.approvals:
        return endorse(machine, record, event, review, approvals, now=now)
    if is_corrected(approvals):  # the last approval accepts the corrected values
        event = replace(event, type=f"{review.name}.{CORRECTED}")
        rule = replace(rule, to=review.outcomes[CORRECTED])
    approved = replace(event, facts=event.facts | {APPROVALS: [*approvals]})
    return _conclude(machine, record, approved, rule, now)


def _conclude(machine: Machine, record: Record, event: Event, rule: Rule, now: Micros) -> Applied:
    """End a review. Corrected items count as the output of the review, for the stages after it."""
    moved = without_answers(_move(record, to=rule.to, now=now))
    review = rule.review
    if review is None:
        return _apply(machine, moved, record, event, now)
    if event.count is not None:
        moved = replace(moved, outputs=record.outputs | {review.name: record.version})
    if machine.kind[rule.to] == "failed":
        return _refuse(machine, moved, record, event, review, now)
    answered_at = f"{review.name}_timestamp"
    if answered_at in machine.expose:
        moved = replace(moved, fields=moved.fields | {answered_at: to_iso(moved.entered_at)})
    return _apply(machine, moved, record, event, now)


def _refuse(
    machine: Machine, moved: Record, record: Record, event: Event, review: Review, now: Micros
) -> Applied:
    """An answer that ends in a failed state. A retry repeats the stage whose items were looked at, then asks again."""
    is_timeout = event.type.endswith(".timed_out")
    stage = None if review.of is None else machine.stage[review.of]
    moved = replace(
        moved,
        failed_from=record.status if stage is None else stage.running,
        error_code="REVIEW_TIMED_OUT" if is_timeout else REVIEW_REJECTED,
        error_message=event.reason
        or (
            f"no person answered the review {review.name} in time"
            if is_timeout
            else f"Rejected by {plain_actor(event.actor)}"
        ),
    )
    return _apply(machine, moved, record, replace(event, is_retryable=False), now)


def _reopen(machine: Machine, record: Record, event: Event, rule: Rule, now: Micros) -> Decision:
    """Back from a final state into the failed one, from which the scheduler retries it at once.

    Two transitions instead of one: the history then shows that a person undid an end, apart from the retry.
    """
    stage = machine.stage_of(record.failed_from) if record.failed_from else None
    if stage is None or (rule.to, stage.resume) not in machine.pairs:
        detail = f"{record.id} has no step to resume at; submit its document as a new record"
        return Ignored(reason="impossible", detail=detail)
    reopened = replace(_move(record, to=rule.to, now=now), error_code=None, error_message=None)
    return _apply(machine, reopened, record, event, now)


def _not_before(record: Record, now: Micros) -> Micros:
    """`now`, but never before the record's last transition: clocks of several machines differ, a history must not."""
    return max(now, record.entered_at)


def _with_current_step(machine: Machine, record: Record) -> Record:
    """The record with the step that it failed at under the name that this version of the machine gives it."""
    if record.failed_from is None or record.machine_version == machine.version:
        return record
    return replace(record, failed_from=machine.current_name(record.failed_from, record))


def _move(record: Record, *, to: str, now: Micros) -> Record:
    """The record in another status, with everything cleared that belonged to the old one.

    Cleared here and nowhere else: a deadline or a worker that outlived its state would fire on the next one.
    """
    return replace(
        record,
        status=to,
        version=record.version + 1,
        entered_at=now,
        waiting=None,
        due_at=None,
        worker=None,
        asked_by=None,
        rest=None,
    )


def _apply(machine: Machine, moved: Record, record: Record, event: Event, now: Micros) -> Applied:
    """The change that takes `record` to `moved`, with its transition and effects."""
    arrived, effects = _arrive(
        machine,
        moved,
        now,
        is_retryable=event.is_retryable,
        retry_after_s=retry_after_s(event.facts),
        # A retry, and an upgrade of a record that was not held, do not wait for the external driver once more.
        is_requested=event.type in (RETRY_REQUESTED, RETRY_DUE)
        or (event.type == UPGRADED and not is_held(record)),
    )
    transition = Transition(
        record_id=record.id,
        machine=machine.name,
        machine_version=machine.version,
        source=record.status,
        target=arrived.status,
        version=arrived.version,
        event_id=event.id,
        at=arrived.entered_at,
        actor=event.actor,
        trigger=event.type,
        attempt=record.version if record.status in machine.stage_running_in else None,
        metadata=_metadata(event, arrived) | _asked_by(record),
    )
    arrived = replace(arrived, machine_version=machine.version)
    return Applied(
        Change(record=arrived, expected=record.version, transition=transition, effects=effects)
    )


def _metadata(event: Event, arrived: Record) -> Fields:
    """What an auditor needs beside the move itself.

    Absent facts are left out: metadata is hashed and stored for ever.
    """
    metadata: Fields = dict(event.facts)
    if event.count is not None:
        metadata["count"] = event.count
    if event.output_digest is not None:
        metadata[OUTPUT_DIGEST] = event.output_digest
    if event.log_digest is not None:
        metadata[LOG_DIGEST] = event.log_digest
    if event.outcome != "done":
        metadata["outcome"] = event.outcome
    if arrived.error_code is not None:
        metadata["error_code"] = arrived.error_code
        metadata["error_message"] = arrived.error_message
        metadata["failed_at_step"] = arrived.failed_from
    if arrived.retry_count:
        metadata["retry_count"] = arrived.retry_count
    if arrived.rest is not None:
        metadata["rest"] = arrived.rest
    if event.reason is not None:
        metadata["reason"] = event.reason
    return metadata | _trace(event.trace or arrived.fields.get(TRACE))


def _asked_by(record: Record) -> Fields:
    return {} if record.asked_by is None else {"asked_by": record.asked_by}


def _trace(trace: Json) -> Fields:
    return {} if trace is None else {TRACE: trace}


def _arrive(
    machine: Machine,
    record: Record,
    now: Micros,
    *,
    is_retryable: bool = True,
    is_requested: bool = False,
    retry_after_s: float = 0.0,
) -> tuple[Record, tuple[Effect, ...]]:
    """What being in the new state means: what the record waits for, until when, and which effects follow.

    Effects are written with the change and carried out later, so that no notification goes out for a change that was
    not committed, and none is lost for one that was.
    """
    kind = machine.kind[record.status]
    if kind == "terminal":
        is_news = record.error_code is not None and record.error_code != CANCELLED
        return record, _notify(record, "exhausted" if is_retryable else "failed") if is_news else ()
    if kind == "suspended":
        review = machine.review_in.get(record.status)
        if review is None:
            return record, ()
        record = without_answers(record)  # what a move took out of its review begins anew
        deadline = now + round(review.timeout_s * SECOND)
        ask = Ask(
            record_id=record.id, version=record.version, review=review.name, deadline=deadline
        )
        return replace(record, due_at=deadline), (ask,)
    if kind == "failed":
        not_before = now + round(retry_after_s * SECOND)
        return _arrive_failed(machine, record, now, not_before, is_retryable=is_retryable)
    stage = machine.stage_of(record.status)
    if stage is None or record.rest is not None:
        return record, ()
    if record.status == stage.running:  # its log can be read from here on
        record = replace(record, fields=_with_log(record, stage))
    if stage.is_external and not is_requested and machine.is_externally_driven(record):
        return replace(record, rest=HELD), ()
    return replace(record, waiting=stage.name), ()


def _arrive_failed(
    machine: Machine, record: Record, now: Micros, not_before: Micros, *, is_retryable: bool
) -> tuple[Record, tuple[Effect, ...]]:
    # Reopened by a person, or out of retries: the scheduler moves it on at once. In the second case the notification
    # waits for the state that it ends in, so that people hear of one failure once.
    if record.error_code is None or machine.is_exhausted(record):
        # Settings may allow more retries before it moves on: what none can cure is marked, so that it gets none.
        is_fatal = not is_retryable and record.error_code not in (None, CANCELLED)
        return replace(record, rest=FATAL if is_fatal else record.rest, due_at=now), ()
    if not is_retryable:
        return _arrive_fatal(machine, record, now)
    if machine.is_externally_driven(record):  # its driver decides whether to retry
        return record, ()
    # The token makes the jitter of the backoff a function of the attempt: a replayed history has the same times.
    due_at = machine.retry_of(record).next_at(
        retry_count=record.retry_count, token=f"{record.id}:{record.version}", now=now
    )
    if due_at is not None:
        return replace(record, due_at=max(due_at, not_before)), ()
    return record, _notify(record, "exhausted")


def _arrive_fatal(
    machine: Machine, record: Record, now: Micros
) -> tuple[Record, tuple[Effect, ...]]:
    """No retry can cure it: a person has `fatal_after_s` to mend what it failed of, and then it is given up."""
    if record.error_code == CANCELLED:
        return record, ()
    wait_s = machine.retry.fatal_after_s
    if wait_s is not None and (record.status, RETRIES_EXHAUSTED) in machine.rules:
        record = replace(record, rest=FATAL, due_at=now + round(wait_s * SECOND))
    return record, _notify(record, "failed")


def _notify(record: Record, topic: str) -> tuple[Effect, ...]:
    facts: Fields = {
        "status": record.status,
        "error_code": record.error_code,
        "error_message": record.error_message,
        "retry_count": record.retry_count,
    }
    return (Notify(record_id=record.id, version=record.version, topic=topic, facts=facts),)


def _with_log(record: Record, stage: Stage) -> Fields:
    return record.fields | {stage.log_field: log_ref(record.id, stage.name)}
