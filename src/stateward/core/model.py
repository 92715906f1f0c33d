"""The values everything else passes around: record, event, transition, work.

All are frozen. Times are whole microseconds of UTC since 1970 (`Micros`): exact, the same in every
engine, and cheap; doors turn them into RFC 3339 with `to_iso`. Nothing here decides anything.
"""

from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

if TYPE_CHECKING:
    Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
else:
    Json = Any  # the decoder knows no recursive types, and needs none for these

Micros: TypeAlias = int
Fields: TypeAlias = dict[str, Json]

SECOND: Micros = 1_000_000
PRIORITY_MIN, PRIORITY_MAX, PRIORITY_NORMAL = 1, 10, 5
AUTHORITY = "coordinator"
SKIPPED = "skipped"
HELD = "held"  # rests before a gate until somebody outside asks for its next stage
# A label that is stored with records and set over HTTP: who says when a stage runs.
SEQUENCING, OUTSIDE, AUTO = "sequencing", "outside", "auto"
TRACE = (
    "trace"  # the W3C traceparent of whoever opened a record; it goes with everything that follows
)
NOTES = "notes"  # the fact by which a stage tells a person what to look at; the record shows it

COORDINATOR = "coordinator"
CLOCK = "clock"
PERSON = "person:"
RUNNER = "runner:"
SEQUENCER = "sequencer:"


class Record(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One document's place in one machine.

    `version` is the only lock and the fencing token of the attempt under way. `waiting` names the
    stage that the record waits to be dispatched for; `due_at` is when time itself becomes an event
    (timeout, next retry or review deadline, as the kind of state says). `outputs` says, per stage,
    which attempt's items are the valid ones. `asked_by` is who asked for the stage that it waits for
    or is in, where it was held before it. `head` is the hash of the last transition.
    """

    id: str
    machine: str
    machine_version: int
    status: str
    version: int
    created_at: Micros
    entered_at: Micros
    priority: int = PRIORITY_NORMAL
    rank: int = 0
    waiting: str | None = None
    due_at: Micros | None = None
    worker: str | None = None
    asked_by: str | None = None
    retry_count: int = 0
    last_retry_at: Micros | None = None
    failed_from: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    rest: str | None = None
    artifact: str | None = None
    dedupe: str | None = None
    replaces: str | None = None
    labels: Fields = {}
    fields: Fields = {}
    outputs: dict[str, int] = {}
    head: str = ""


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A fact from outside the coordinator. `version` is the attempt (or the sight) it speaks of."""

    id: str
    type: str
    record_id: str
    version: int | None
    at: Micros
    actor: str
    count: int | None = None
    outcome: str = "done"
    facts: Fields = {}
    error_code: str | None = None
    error_message: str | None = None
    is_retryable: bool = True
    log_ref: str | None = None
    reason: str | None = None
    trace: str | None = None


class Transition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One change of status, for ever. `record_hash` seals the record as it was just after it."""

    record_id: str
    machine: str
    machine_version: int
    source: str | None
    target: str
    version: int
    event_id: str
    at: Micros
    actor: str
    trigger: str
    attempt: int | None = None
    metadata: Fields = {}
    authority: str = AUTHORITY
    epoch: int = 0
    seq: int = 0
    record_hash: str = ""
    prev_hash: str = ""
    hash: str = ""


class Ask(msgspec.Struct, frozen=True, kw_only=True, gc=False, tag="ask"):
    """A question to a person, until its deadline."""

    record_id: str
    version: int
    review: str
    deadline: Micros | None


class Notify(msgspec.Struct, frozen=True, kw_only=True, gc=False, tag="notify"):
    """Something that somebody outside wants to hear of; `topic` says what kind of news."""

    record_id: str
    version: int
    topic: str
    facts: Fields = {}


Effect: TypeAlias = Ask | Notify


class Disposition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What became of an event that changed nothing, and why."""

    event_id: str
    event_type: str
    record_id: str
    version: int | None
    actor: str
    reason: str
    detail: str
    at: Micros


class Change(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What one decision writes. No `transition`: the same status, asked for or handed to a worker."""

    record: Record
    expected: int | None
    transition: Transition | None
    effects: tuple[Effect, ...] = ()


Reason: TypeAlias = Literal[
    "duplicate", "stale", "ahead", "impossible", "unknown_record", "unknown_event", "unknown_outcome",
    "not_allowed", "released",
]  # fmt: skip


class Applied(msgspec.Struct, frozen=True, gc=False):
    """The event counts: this is what to write."""

    change: Change


class Ignored(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The event changes nothing, for this reason."""

    reason: Reason
    detail: str


Decision: TypeAlias = Applied | Ignored


class Work(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One attempt at one stage, for one worker. (record_id, version) is the fencing token."""

    record_id: str
    version: int
    machine: str
    stage: str
    running: str
    runner: str
    worker: str
    created_at: Micros
    rank: int
    timeout_s: float
    delivery: int = 1
    artifact: str | None = None
    labels: Fields = {}
    inputs: dict[str, int] = {}
    retry_count: int = 0
    is_inline: bool = False
    network: bool = False
    produces: str | None = None


def is_held(record: Record) -> bool:
    """Whether it rests before a gate, and nobody has asked for its stage yet."""
    return record.rest == HELD and record.waiting is None and record.due_at is None


def rest_reason(record: Record) -> str | None:
    """Why the record rests, if it does. What was held goes on saying so until its next transition."""
    return None if record.rest == HELD and not is_held(record) else record.rest


def event_id(record_id: str, *, makes: int, type_: str) -> str:
    """The id of an event that only one fact can have: the record, the version it makes, the kind.

    Ten clocks that ring for one deadline, or a worker that reports twice, make the same id.
    """
    return f"{record_id}:{makes}:{type_}"


def timeout_message(running: str, timeout_s: float) -> str:
    """What an overrun of a state is called, like `Parsing timeout (120s)`."""
    return f"{running.replace('_', ' ').capitalize()} timeout ({timeout_s:g}s)"


def log_ref(record_id: str, stage: str) -> str:
    """The opaque name under which a stage's log of a record can be asked for."""
    return f"/logs/{stage}/{record_id}"


@lru_cache(maxsize=4096)
def to_iso(at: Micros) -> str:
    """RFC 3339 in UTC with microseconds: one fixed width, so that text sorts as time does."""
    seconds, micros = divmod(at, SECOND)
    return f"{_to_the_second(seconds)}.{micros:06d}Z"


@lru_cache(maxsize=4096)
def _to_the_second(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"


def from_iso(text: str) -> Micros:
    """The instant that an RFC 3339 text means; a text without a zone is refused."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone; end it with Z for UTC")
    whole = int(moment.replace(microsecond=0).timestamp())
    return whole * SECOND + moment.microsecond


def clean_text(text: str, *, chars_max: int) -> str:
    """Text that every engine can keep: no NUL, no lone surrogates, bounded."""
    safe = text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")
    return safe if len(safe) <= chars_max else safe[: chars_max - 1] + "…"
