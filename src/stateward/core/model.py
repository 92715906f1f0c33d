"""The values that everything else passes around: record, event, transition, work.

All are frozen. Times are whole microseconds of UTC since 1970 (`Micros`): exact, the same in both databases, and
cheap to compare; the API and the CLI turn them into RFC 3339 with `to_iso`. Nothing here decides anything.

The structs are declared with `gc=False`: none can be part of a reference cycle, and the garbage collector then need
not visit the thousands of them that a batch creates.
"""

from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from stateward.core.errors import InvalidRequest

if TYPE_CHECKING:
    Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
else:
    Json = Any  # msgspec cannot decode recursive type aliases

Micros: TypeAlias = int
Fields: TypeAlias = dict[str, Json]

SECOND: Micros = 1_000_000
PRIORITY_MIN, PRIORITY_MAX, PRIORITY_NORMAL = 1, 10, 5
PRIORITY = "priority"  # in the metadata of the first transition, where it is not the normal one
PRIORITY_REASON = "priority_reason"  # the label that says why a document has its priority
# Written into every transition: who was allowed to write it. Verification refuses any other value.
AUTHORITY = "coordinator"
SKIPPED = "skipped"
CANCELLED = "CANCELLED"  # the error code of a record that a person stopped: an outcome of its own
REVIEW_REJECTED = "REVIEW_REJECTED"  # the error code of one that a person refused in a review
FATAL = "fatal"  # failed of what no retry can cure; moves on when its `due_at` comes, unless a person retries it
ERASED_REST = "erased"  # its contents were erased: nothing can happen to it any more
HELD = "held"  # waits before an external stage until its driver requests the stage
# A label that is stored with records and set over HTTP: who says when a stage runs.
SEQUENCING, OUTSIDE, AUTO = "sequencing", "outside", "auto"
# How the names of saved values begin that are answers which were paid for: a record that processes the same document
# again has them, too. A name tells the whole question, and `<name>-of` the record that paid.
ANSWER, ANSWER_OF = "answer-", "-of"
FRESH_ANSWER = "fresh_answer"  # the label of a record that has none of them: it asks anew
TRACE = "trace"  # the W3C traceparent of the request that created a record
# The fact by which a stage says what a person should look at; the record exposes it.
NOTES = "notes"

# The fact by which a stage says that its result is wrong or incomplete: codes. Until a person has decided about it, the
# record is flagged.
FLAGS = "flags"

# Actors. Those with a colon are prefixes: a person, a worker or an external driver has a name after it.
COORDINATOR = "coordinator"
CLOCK = "clock"
PERSON = "person:"
RUNNER = "runner:"
SEQUENCER = "sequencer:"


class Record(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One document's place in one machine.

    `version` counts transitions. It is the optimistic lock of the record, and the fencing token of its attempt: a
    result that names another version comes from an attempt that was given up. `waiting` names the stage that the
    record waits to be dispatched for; `due_at` is when the scheduler sends an event for it (timeout, next retry or
    review deadline, depending on the kind of state). `outputs` maps each stage to the attempt whose items are valid.
    `asked_by` is who requested an external stage. `head` is the hash of the last transition.
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
    """A fact reported to the coordinator. `version` is the version of the record that it is about.

    `output_digest` and `log_digest` seal what was stored with it (`core.output_seal`).
    """

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
    output_digest: str | None = None
    log_digest: str | None = None
    reason: str | None = None
    trace: str | None = None


class Transition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One change of status; append-only. `record_hash` seals the record as it was just after it.

    `salt` is what lets its metadata be erased without breaking the chain (`core.chain`).
    """

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
    salt: str | None = None


class Ask(msgspec.Struct, frozen=True, kw_only=True, gc=False, tag="ask"):
    """A question to a person, with its deadline."""

    record_id: str
    version: int
    review: str
    deadline: Micros | None


class Notify(msgspec.Struct, frozen=True, kw_only=True, gc=False, tag="notify"):
    """Something to notify people of; `topic` says what kind of news it is."""

    record_id: str
    version: int
    topic: str
    facts: Fields = {}


Effect: TypeAlias = Ask | Notify


class Disposition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Why an event made no transition."""

    event_id: str
    event_type: str
    record_id: str
    version: int | None
    actor: str
    reason: str
    detail: str
    at: Micros


class Change(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What one decision writes. Without a `transition` the status stays: a stage was requested, or a worker assigned.

    `expected` is the version that the record must still have when this is written; None for a new record.
    """

    record: Record
    expected: int | None
    transition: Transition | None
    effects: tuple[Effect, ...] = ()


Reason: TypeAlias = Literal[
    "duplicate", "stale", "ahead", "impossible", "unknown_record", "unknown_event", "unknown_outcome",
    "not_allowed", "released",
]  # fmt: skip


class Applied(msgspec.Struct, frozen=True, gc=False):
    """The event applies: this is what to write."""

    change: Change


class Ignored(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The event changes nothing, for this reason."""

    reason: Reason
    detail: str


Decision: TypeAlias = Applied | Ignored


class Loss(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A worker or a child process that died while it had work. `has_begun`: its runner had been given the document."""

    worker: str
    has_begun: bool
    cause: str


class EarlierItems(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Items of earlier records with the same key, as a stage declares that it reads them (`core.machine.Earlier`).

    The oldest come first. Each says under `record_id` which record it is of. `is_cut`: there were more than are handed
    out at once, and the oldest are missing.
    """

    items: tuple[Fields, ...] = ()
    is_cut: bool = False


class Work(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One attempt at one stage, assigned to one worker. (record_id, version) is the fencing token.

    `losses` are what died with it before this delivery.
    `earlier` is what a stage that declares it reads of other records; it goes with the work, and is deleted with it.
    `owner` is who submitted the record: a child process that has seen documents of one owner runs none of another.
    `programs` are those that the stage may execute.
    """

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
    programs: tuple[str, ...] = ()
    owner: str = ""
    produces: str | None = None
    losses: tuple[Loss, ...] = ()
    earlier: EarlierItems | None = None


def is_held(record: Record) -> bool:
    """Whether it waits before an external stage that has not been requested yet."""
    return record.rest == HELD and record.waiting is None and record.due_at is None


def rest_reason(record: Record) -> str | None:
    """Why the record rests, if it does.

    `rest` itself stays `held` until the next transition, because it is hashed. A failure is no rest: it has its own
    explanation.
    """
    if record.rest == FATAL or (record.rest == HELD and not is_held(record)):
        return None
    return record.rest


def event_id(record_id: str, *, makes: int, type_: str) -> str:
    """The id of an event that follows from what it is about: the record, the version it makes, the type.

    Ten schedulers that see one deadline, or a worker that reports twice, make the same id, so it is applied once.
    """
    return f"{record_id}:{makes}:{type_}"


def event_about(
    record: Record,
    type_: str,
    *,
    at: Micros,
    actor: str,
    facts: Fields | None = None,
    reason: str | None = None,
    trace: str | None = None,
    count: int | None = None,
    output_digest: str | None = None,
    error_code: str | None = None,
    error_message: str | None = None,
) -> Event:
    """An event about a record as it is now: it counts for this version, and once, however often it is sent."""
    return Event(
        id=event_id(record.id, makes=record.version + 1, type_=type_),
        type=type_,
        record_id=record.id,
        version=record.version,
        at=at,
        actor=actor,
        facts=facts or {},
        reason=reason,
        trace=trace,
        count=count,
        output_digest=output_digest,
        error_code=error_code,
        error_message=error_message,
    )


@lru_cache(maxsize=1024)
def timeout_message(running: str, timeout_s: float) -> str:
    """The error message of a timeout, like `Parsing timeout (120s)`."""
    return f"{running.replace('_', ' ').capitalize()} timeout ({timeout_s:g}s)"


def log_ref(record_id: str, stage: str) -> str:
    """The opaque reference by which the log of a stage can be fetched."""
    return f"/logs/{stage}/{record_id}"


# A batch writes many records at the same instant, so the text of an instant is needed again and again.
def without_key(name: str) -> str:
    """A name without the id of the key or link that follows its last `@`; `anna@a.org` without one stays whole.

    An id never has a dot. A domain without one is taken for an id: then two people count as one, and not one as two.
    """
    before, at, after = name.rpartition("@")
    return before if at and before and "." not in after else name


def plain_actor(actor: str) -> str:
    """Who did it, without what only programs need: `person:anna@4k2m` is anna."""
    if actor.startswith(PERSON):
        return without_key(actor.removeprefix(PERSON))
    if actor.startswith(RUNNER):
        return f"worker {actor.removeprefix(RUNNER)}"
    actor = actor.removeprefix(SEQUENCER)
    return actor.partition("@")[0] if "@" in actor else actor


def plural(count: int, noun: str) -> str:
    """A number and its noun: `1 row`, `1,200 rows`, `2 entries`."""
    if count == 1:
        return f"1 {noun}"
    is_ies = noun.endswith("y") and noun[-2:-1] not in "aeiou"
    return f"{count:,} {noun[:-1]}ies" if is_ies else f"{count:,} {noun}s"


def singular(nouns: str) -> str:
    """One of them: `observation` of `observations`, `entry` of `entries`; a word without a plural stays."""
    if nouns.endswith("ies"):
        return nouns.removesuffix("ies") + "y"
    return nouns if nouns.endswith("ss") else nouns.removesuffix("s")


@lru_cache(maxsize=4096)
def to_iso(at: Micros) -> str:
    """RFC 3339 in UTC with microseconds: of fixed width, so that text sorts as time does."""
    seconds, micros = divmod(at, SECOND)
    return f"{_iso_seconds(seconds)}.{micros:06d}Z"


def to_iso_or_none(at: Micros | None) -> str | None:
    """The same of a moment that there may not be."""
    return None if at is None else to_iso(at)


@lru_cache(maxsize=4096)
def _iso_seconds(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"


def from_iso(text: str) -> Micros:
    """The instant that an RFC 3339 text means; a text without a zone is refused."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone; end it with Z for UTC")
    # timestamp() is a float, which is too coarse for microseconds: only the whole seconds go through it.
    whole = int(moment.replace(microsecond=0).timestamp())
    return whole * SECOND + moment.microsecond


def time_given(name: str, text: str | None) -> Micros | None:
    """The instant that a person or a program gave as `name`; None if they gave none."""
    try:
        return None if text is None else from_iso(text)
    except (ValueError, OverflowError):
        message = f"{name} is a time with its zone, such as 2026-11-16T00:00:00Z"
        raise InvalidRequest(message) from None


def clean_text(text: str, *, chars_max: int) -> str:
    """Text that both databases can store: without NUL and lone surrogates, and bounded."""
    # Nearly all texts are ASCII without NUL, and are safe as they are.
    safe = text
    if not text.isascii() or "\x00" in text:
        safe = text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")
    return safe if len(safe) <= chars_max else safe[: chars_max - 1] + "…"
