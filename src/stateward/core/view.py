"""A record in words: a transition as a line of a log, why a record is where it is, what its priority does. Pure."""

from collections import Counter
from collections.abc import Collection

import msgspec

from stateward.core.machine import RETRY_REQUESTED, Machine, Stage
from stateward.core.model import (
    CANCELLED,
    ERASED_REST,
    FATAL,
    FLAGS,
    HELD,
    NOTES,
    REVIEW_REJECTED,
    SECOND,
    Fields,
    Loss,
    Micros,
    Record,
    Transition,
    is_held,
    plain_actor,
    rest_reason,
    singular,
    to_iso,
    to_iso_or_none,
)
from stateward.core.redelivery import loss_line


class WaitContext(msgspec.Struct, frozen=True, kw_only=True):
    """What must be known beside the record itself to explain why it waits."""

    now: Micros
    paused_by: str | None = None
    paused_stage: str = ""
    pause_reason: str | None = None
    is_worker_lost: bool = False
    is_sent: bool = False  # over a transport, to workers of which one takes it
    holder: str = ""  # the worker that then has it, on which machine, and since when
    holder_host: str = ""
    held_since: Micros = 0
    workers_able: int = 0
    workers_free: int = 0
    is_runner_installed: bool = True
    is_engine_stage: bool = False
    ahead: int = 0
    is_coordinated: bool = True
    losses: tuple[Loss, ...] = ()
    asked_until: Micros | None = None  # when what the attempt asked may be asked again


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Why a record is where it is: a code for programs, a sentence for people, and what to do about it.

    `reasons` are what a stage said that a person should look at, of a record that waits for one.
    """

    code: str
    sentence: str
    advice: str = ""
    until: str | None = None
    reasons: tuple[str, ...] = ()


def document_name(record: Record) -> str:
    """What people call a document: the name of its file, or the id of its record."""
    return str(record.labels.get("filename") or record.id)


def is_at_rest(machine: Machine, record: Record) -> bool:
    """Whether nothing will happen to a record until a person acts."""
    kind = machine.kind[record.status]
    # A deadline that only ends the wait for a person, of a review or of a failure that no retry can cure, is no work.
    is_given_up = machine.is_given_up(record) and not machine.is_exhausted(record)
    if kind == "suspended" or (kind == "failed" and is_given_up):
        return True
    return record.waiting is None and record.due_at is None


def running_times(machine: Machine, record: Record) -> Fields:
    """`<state>_started_at` and `<state>_timeout_seconds` of a record that a worker has, or is about to have."""
    stage = machine.stage_running_in.get(record.status)
    if stage is None:
        return {}
    return {
        f"{record.status}_started_at": to_iso(record.entered_at),
        f"{record.status}_timeout_seconds": stage.timeout_s,
    }


def sentence(machine: Machine, transition: Transition, *, is_for_log: bool = False) -> str:
    """A transition as one line: `UL_x: parsing → parsed (parse.completed, 42 observations)`.

    Logs are kept longer and read by more people than records. For them, what a person wrote and a runner's message,
    which may quote the document, are left out: the history has both.
    """
    facts = [transition.trigger]
    metadata = transition.metadata
    stage = machine.stage.get(transition.trigger.partition(".")[0])
    if "count" in metadata and stage is not None and stage.produces is not None:
        count = metadata["count"]
        facts.append(f"{count} {singular(stage.produces) if count == 1 else stage.produces}")
    if "error_code" in metadata and is_for_log:
        facts.append(str(metadata["error_code"]))
    elif "error_code" in metadata:
        facts.append(f"{metadata['error_code']}: {metadata.get('error_message')}")
    if notes := metadata.get(NOTES):
        facts.append(f"notes: {note_codes(notes)}")
    if "asked_by" in metadata:
        facts.append(f"requested by {plain_actor(str(metadata['asked_by']))}")
    if metadata.get("rest") == HELD:
        facts.append(f"{HELD}: until its next stage is requested")
    elif metadata.get("rest") == FATAL:
        facts.append("no retry can cure it")
    elif "rest" in metadata:
        facts.append(f"{metadata['rest']}: nothing for the next stage to do")
    if "reason_code" in metadata:
        facts.append(f"reason code: {metadata['reason_code']}")
    # The message of a cancelled record is the reason itself.
    is_said = "reason" in metadata and metadata["reason"] != metadata.get("error_message")
    if is_said and not is_for_log:
        facts.append(f"reason: {metadata['reason']}")
    source = transition.source or "new"
    return f"{transition.record_id}: {source} → {transition.target} ({', '.join(facts)})"


def flag_codes(record: Record) -> list[str]:
    """The codes by which a stage flagged the result of a record as wrong or incomplete, decided or not."""
    found = record.fields.get(FLAGS)
    return [str(code) for code in found] if isinstance(found, list) else []


def review_reasons(record: Record) -> tuple[str, ...]:
    """Why a record waits for a person: what its last stage said that a person should look at."""
    notes = record.fields.get(NOTES)
    return tuple(str(each) for each in notes) if isinstance(notes, list) else ()


def note_codes(notes: object) -> str:
    """The codes of notes, each once: `MISSING (2), NOT_CHECKED`."""
    codes = [str(note).partition(":")[0] for note in notes] if isinstance(notes, list) else []
    return ", ".join(
        code if count == 1 else f"{code} ({count})" for code, count in Counter(codes).items()
    )


def explain(machine: Machine, record: Record, around: WaitContext) -> Explanation:
    """Why the record is where it is, and what a person can do about it."""
    if is_held(record):
        stage = machine.stage_of(record.status)
        name = "its next stage" if stage is None else f"stage {stage.name}"
        return Explanation(
            code="held",
            sentence=f"it is driven externally and held in {record.status} until {name} is requested",
            advice=f"check that its external driver runs; stateward advance {record.id} advances it by hand",
        )
    if record.rest == ERASED_REST:
        return Explanation(
            code="erased",
            sentence=f"what it held was erased; it stays in {record.status}, and so does its history",
            advice="its last transition says who erased it and why",
        )
    if rest_reason(record) is not None:
        return Explanation(
            code="skipped",
            sentence=f"the last stage produced nothing, so the next one was skipped; it stays in {record.status}",
            advice="look at its log; submit a corrected document as a new record",
        )
    if record.waiting is not None:
        return _waiting(machine, record, around)
    match machine.kind[record.status]:
        case "ready" | "running" if machine.stage_of(record.status) is None:
            events = sorted(type_ for status, type_ in machine.rules if status == record.status)
            return Explanation(
                code="waiting_for_event",
                sentence=f"no stage processes it in {record.status}; it waits for {' or '.join(events)}",
            )
        case "running":
            return _running(record, around)
        case "suspended" if record.status not in machine.review_in:
            return _waiting_for_move(machine, record)
        case "suspended":
            return Explanation(
                code="waiting_for_person",
                sentence=f"it is in review and waits for a decision{_at(record, 'until')}",
                advice=f"decide it: stateward review show {record.id}",
                until=to_iso_or_none(record.due_at),
                reasons=review_reasons(record),
            )
        case "failed":
            return _explain_failure(machine, record, around)
        case _ if record.error_code and (record.status, RETRY_REQUESTED) in machine.rules:
            return _explain_failure(machine, record, around)
        case _:
            return Explanation(
                code="ended", sentence=f"finished: {record.status}{_error_of(record)}"
            )


def _error_of(record: Record) -> str:
    """What ended it, of a record that ended by a failure."""
    return f" ({record.error_code}: {record.error_message})" if record.error_code else ""


def _waiting_for_move(machine: Machine, record: Record) -> Explanation:
    """Of a state that no review belongs to: a person takes the record out of it by a move of the machine."""
    moves = [each for each in machine.moves if each.source == record.status]
    targets = " or ".join(dict.fromkeys(each.to for each in moves))
    events = " or ".join(each.on for each in moves)
    return Explanation(
        code="waiting_for_person",
        sentence=f"it waits until a person moves it to {targets}",
        advice="move it by a command of its pipeline, on its page in the console, or over HTTP: "
        f"POST /records/{record.id}/moves/ and then {events}",
        until=to_iso_or_none(record.due_at),
        reasons=review_reasons(record),
    )


def _waiting(machine: Machine, record: Record, around: WaitContext) -> Explanation:
    stage = machine.stage.get(record.waiting or "")
    name = f"stage {record.waiting}"
    if around.paused_by is not None:
        why = f" ({around.pause_reason})" if around.pause_reason else ""
        return Explanation(
            code="paused",
            sentence=f"{name} is paused by {plain_actor(around.paused_by)}{why}",
            advice=f"stateward resume {record.machine}"
            + (f" --stage {around.paused_stage}" if around.paused_stage else ""),
        )
    if around.is_engine_stage:
        return Explanation(
            code="waiting_for_search",
            sentence=f"{name} completes when a search finds the document; the index has not come to it yet",
            advice="wait; if this lasts, check that a coordinator runs: stateward up, or stateward coordinator",
        )
    if around.workers_able == 0 and not around.is_runner_installed:
        return Explanation(
            code="no_runner",
            sentence=f"no worker that can run {_runner(stage)} is alive, and it is not installed here",
            advice="install the pipeline, or the extra, that it belongs to; if an external driver does this stage, "
            "check that it runs",
        )
    if around.workers_able == 0:
        return Explanation(
            code="no_worker",
            sentence=f"no worker that can run {_runner(stage)} is alive",
            advice="start one: stateward up, or stateward worker",
        )
    if around.workers_free == 0:
        return Explanation(
            code="queued",
            sentence=f"every worker for {name} is busy; {around.ahead} records are ahead of it",
            advice="wait, or start another worker",
        )
    if not around.is_coordinated:
        return Explanation(
            code="no_coordinator",
            sentence=f"workers for {name} have free slots, but it has not been dispatched",
            advice="if this lasts, check that a coordinator runs: stateward up, or stateward coordinator",
        )
    return Explanation(
        code="about_to_start", sentence=f"it is about to be dispatched to a worker for {name}"
    )


def _runner(stage: Stage | None) -> str:
    return "its stage" if stage is None else f"{stage.runner}"


def _running(record: Record, around: WaitContext) -> Explanation:
    since = (around.now - record.entered_at) / SECOND
    worker = around.holder or record.worker
    if around.is_worker_lost and around.is_sent and not around.holder:
        return Explanation(
            code="worker_lost",
            sentence="the coordinator that sent it over the transport is gone; another one will send it again",
            advice="check that a coordinator and a worker run: stateward up",
            until=to_iso_or_none(record.due_at),
        )
    if around.is_worker_lost:
        return Explanation(
            code="worker_lost",
            sentence=f"worker {worker}, which ran it for {since:.0f} s, is gone; another worker will run it",
            advice="check that a coordinator and a worker run: stateward up",
            until=to_iso_or_none(record.due_at),
        )
    if around.is_sent and not around.holder:
        return Explanation(
            code="sent",
            sentence=f"it was sent over the transport {since:.0f} s ago, and no worker has said yet that it has it",
            advice="if this lasts, stateward doctor says whether the broker and the workers behind it answer",
            until=to_iso_or_none(record.due_at),
        )
    if around.is_sent:
        host = f" on {around.holder_host}" if around.holder_host else ""
        held = f"worker {worker}{host} has had it since {to_iso(around.held_since)}"
    else:
        held = f"worker {worker} has been running it for {since:.0f} s"
    if record.due_at is not None and record.due_at < around.now:
        return Explanation(
            code="overdue",
            sentence=f"{held}, past its timeout",
            advice="check that a coordinator runs: it ends overdue attempts",
            until=to_iso_or_none(record.due_at),
        )
    return Explanation(
        code="running",
        sentence=f"{held}; its timeout is{_at(record)}"
        + "".join(f"; {loss_line(loss, n)}" for n, loss in enumerate(around.losses, 1)),
        until=to_iso_or_none(record.due_at),
    )


def _explain_failure(machine: Machine, record: Record, around: WaitContext) -> Explanation:
    if record.error_code is None:
        return Explanation(
            code="reopened",
            sentence=f"a person reopened it; it resumes from {record.failed_from}",
            advice="if this lasts, check that a coordinator runs",
            until=to_iso_or_none(record.due_at),
        )
    error = f"{record.error_code}: {record.error_message}"
    if machine.is_given_up(record):
        return Explanation(
            code="given_up",
            sentence=(
                f"it failed ({error}), which no retry can cure; it moves to {machine.on_exhausted}"
                f"{_at(record)}"
            ),
            advice=f"mend what it failed of, and then: stateward retry {record.id}",
            until=to_iso_or_none(record.due_at),
        )
    if record.due_at is not None and record.due_at > around.now:
        number = record.retry_count + 1
        sentence = (
            f"it failed ({error}); retry {number} of {machine.retry_of(record).max_retries} is due"
            f"{_at(record)}"
        )
        if around.asked_until is not None and around.asked_until > around.now:
            return Explanation(
                code="asked_to_wait",
                sentence=sentence,
                advice=f"wait: what it asked wants to be left alone until {to_iso(around.asked_until)}; "
                "an earlier retry is likely to end in the same way",
                until=to_iso_or_none(record.due_at),
            )
        return Explanation(
            code="waiting_for_retry",
            sentence=sentence,
            advice=f"stateward retry {record.id} retries it at once",
            until=to_iso_or_none(record.due_at),
        )
    if record.due_at is not None:
        return Explanation(
            code="retry_due",
            sentence=f"it failed ({error}) and is due to be moved on",
            advice="if this lasts, check that a coordinator runs",
            until=to_iso_or_none(record.due_at),
        )
    if machine.is_externally_driven(record):
        return Explanation(
            code="failed_outside",
            sentence=f"it failed ({error}); its external driver decides whether it is retried",
            advice=f"stateward retry {record.id} retries it at once",
        )
    if record.error_code == CANCELLED:
        return Explanation(
            code="cancelled",
            sentence=f"it was cancelled: {record.error_message}",
            advice=f"stateward retry {record.id} takes it up again",
        )
    if record.error_code == REVIEW_REJECTED:
        return Explanation(
            code="failed",
            sentence=f"it was rejected in review: {record.error_message}",
            advice=f"fix the cause, then: stateward retry {record.id}",
        )
    return Explanation(
        code="failed",
        sentence=f"it failed{_why_not_retried(machine, record)}: {error}",
        advice=f"fix the cause, then: stateward retry {record.id}",
    )


def _why_not_retried(machine: Machine, record: Record) -> str:
    most = machine.retry_of(record).max_retries
    if not most:
        return ", and nothing is retried automatically here"
    if record.retry_count < most:
        return ", and an automatic retry cannot cure it"
    return f" after {record.retry_count} automatic retries"


def _at(record: Record, word: str = "at") -> str:
    return f" {word} {to_iso_or_none(record.due_at)}" if record.due_at is not None else ""


def first_come(machines: Collection[str]) -> str:
    """That a priority does not count for these machines; empty if there are none."""
    if not machines:
        return ""
    return (
        f"a priority does not count for {', '.join(sorted(machines))}: first come, first served, until "
        "<machine>_record.priority_queue is on in the settings"
    )
