"""The messages between coordinators and workers: CloudEvents 1.0 in structured mode, in JSON.

    stateward.work.v1        coordinator to workers    one attempt at one stage, with all that it reads
    stateward.result.v1      worker to coordinators    how the attempt ended, with its items
    stateward.saved.v1       worker to coordinators    bytes that a runner saves for later attempts
    stateward.returned.v1    worker to coordinators    an attempt whose process or worker died, for another to take
    stateward.heartbeat.v1   worker to coordinators    a worker is alive, what it can run, what it has
    stateward.stop.v1        coordinator to workers    attempts that are not wanted any more; told once, not stored

Their form is published as JSON Schema in docs/reference/transport-messages.schema.json, for workers in other
languages. What is too large for the engine goes through blob storage: `dataref` then names the SHA-256 of the data.

Everything here is a value; nothing is sent from this module.
"""

from collections.abc import Sequence
from inspect import cleandoc
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from stateward.core.model import SECOND, Fields, Loss, Micros, Work, to_iso

WORK = "stateward.work.v1"
RESULT = "stateward.result.v1"
SAVED = "stateward.saved.v1"
RETURNED = "stateward.returned.v1"
HEARTBEAT = "stateward.heartbeat.v1"
STOP = "stateward.stop.v1"
PREFIX = "stateward"
CLASSES = ("high", "normal", "low")
PriorityClass = Literal["high", "normal", "low"]
REFERENCE = "sha256:"
NO_DATA = msgspec.Raw(b"null")
HEX = "^[0-9a-f]{64}$"

T = TypeVar("T")
Key = tuple[str, int, int]
"""(record, version, delivery): one attempt as it was sent once. The version is the fencing token."""


class Envelope(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The attributes of a CloudEvent and its data.

    `rank` is the place in the queue, lowest first, as text: it has 64 bits, and CloudEvents has no such integer.
    `keyid` and `signature` are those of the worker's credential.
    """

    specversion: Literal["1.0"]
    id: Annotated[str, Meta(min_length=1, max_length=512)]
    source: Annotated[str, Meta(min_length=1, max_length=512)]
    type: str
    subject: str = ""
    time: str = ""
    datacontenttype: Literal["application/json"] = "application/json"
    rank: Annotated[str, Meta(pattern="^-?[0-9]{1,19}$")] = "0"
    keyid: str | None = None
    signature: str | None = None
    dataref: Annotated[str, Meta(pattern="^sha256:[0-9a-f]{64}$")] | None = None
    data: msgspec.Raw = msgspec.field(default_factory=lambda: NO_DATA)


class FileReference(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A derived file: its bytes are an artifact in blob storage, or `data` (base64) where both sides share none."""

    name: str
    media_type: str
    size: Annotated[int, Meta(ge=0)]
    sha256: Annotated[str, Meta(pattern=HEX)]
    stage: str = ""
    data: bytes | None = None


class WorkMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An attempt and what it reads.

    `items` are those of earlier stages, as lists of chunks; `saved` are bytes that earlier attempts at the stage saved.
    `document` holds a small document; a larger one is the artifact `work.artifact` in blob storage.
    """

    work: Work
    document: bytes | None = None
    items: dict[str, list[msgspec.Raw]] = {}
    files: list[FileReference] = []
    saved: dict[str, bytes] = {}


class ItemChunk(msgspec.Struct, frozen=True, kw_only=True):
    """Some items, as a JSON array; or what the stage says about all of them, as an object with `count` 0."""

    count: Annotated[int, Meta(ge=0)]
    data: msgspec.Raw


class ResultMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How an attempt ended. `error_code` is absent where it was completed.

    `record_id`, `version`, `delivery` and `assigned_to` are those of the work (`assigned_to` is its `worker`):
    together they are the fencing token. A result for anything but the work that the store still has is dropped.
    """

    record_id: str
    version: int
    delivery: int
    assigned_to: str
    stage: str
    worker: str
    outcome: str = "done"
    count: Annotated[int, Meta(ge=0)] = 0
    facts: Fields = {}
    error_code: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    error_message: str | None = None
    is_retryable: bool = True
    log: str = ""
    items: list[ItemChunk] = []
    files: list[FileReference] = []


class SavedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes that a runner saves across attempts; the first value under a name wins."""

    record_id: str
    version: int
    delivery: int
    assigned_to: str
    stage: str
    name: str
    data: bytes


class ReturnedMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An attempt that ended without a result because its process died; it is no failure, and is delivered again.

    Without `loss` it was not begun here: another worker had its message and was lost. What that one saved since is not
    in the message, so that the coordinator sends it anew.
    """

    record_id: str
    version: int
    delivery: int
    assigned_to: str
    stage: str
    loss: Loss | None = None


class HeartbeatMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A worker is alive: what it can run, how many jobs it takes at once, and which attempts it has.

    `host` is the name of its machine, for people.
    """

    worker: str
    host: Annotated[str, Meta(max_length=253)] = ""
    runners: list[str]
    slots: Annotated[int, Meta(ge=0, le=100_000)]
    inline_slots: Annotated[int, Meta(ge=0, le=100_000)] = 0
    is_draining: bool = False
    holding: list[tuple[str, int, int]] = []


class StopMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Attempts whose result would be dropped: a worker that has one stops it. Who misses this works in vain.

    `revoked` are ids of credentials that count no more or are not known: a worker that has one gives back what it has,
    and ends. `refuses_unsigned`: so does one without a credential, for nothing that it reports counts.
    """

    attempts: list[tuple[str, int, int]]
    revoked: list[str] = []
    refuses_unsigned: bool = False


class DeadLetterMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message that could not be used: why, and in which stream it was.

    `head` is all but its data, empty where it was no message; its hash tells which one it was.
    """

    reason: str
    stream: str
    at: str
    head: str = ""
    size: int = 0
    sha256: str = ""


DATA: dict[str, Any] = {
    WORK: WorkMessage,
    RESULT: ResultMessage,
    SAVED: SavedMessage,
    RETURNED: ReturnedMessage,
    HEARTBEAT: HeartbeatMessage,
    STOP: StopMessage,
}
_encode = msgspec.json.encode
_decode_envelope = msgspec.json.Decoder(Envelope).decode


def work_stream(machine: str, stage: str, priority_class: str, *, prefix: str = PREFIX) -> str:
    """The stream of the work of one stage and one class of priorities.

    A stream for each stage: a worker reads only those of its own, and an engine can be told to allow no other.
    """
    return f"{prefix}.work.{machine}.{stage}.{priority_class}"


def results_stream(prefix: str = PREFIX) -> str:
    """The stream of all that workers report."""
    return f"{prefix}.results"


def dead_stream(prefix: str = PREFIX) -> str:
    """The stream of what could not be used."""
    return f"{prefix}.dead"


def control_topic(prefix: str = PREFIX) -> str:
    """Where coordinators tell all workers what is not stored."""
    return f"{prefix}.control"


def priority_class(work: Work, *, ageing_s: float, normal: int) -> PriorityClass:
    """The class of an attempt. Its rank is its age less its priority (`rank_of`), so the priority is in it.

    Classes only keep a queue of low priority from delaying a high one inside the engine; among the heads of the streams
    the rank decides, as everywhere.
    """
    lead = work.created_at - work.rank - round(normal * ageing_s * SECOND)
    if ageing_s <= 0 or lead == 0:
        return "normal"
    return "high" if lead > 0 else "low"


def encode(
    type_: str,
    data: object,
    *,
    id_: str,
    source: str,
    subject: str,
    at: Micros,
    rank: int = 0,
) -> Envelope:
    """A message, not signed yet."""
    return Envelope(
        specversion="1.0",
        id=id_,
        source=source,
        type=type_,
        subject=subject,
        time=to_iso(at),
        rank=str(rank),
        data=msgspec.Raw(_encode(data)),
    )


def to_bytes(envelope: Envelope) -> bytes:
    """A message as it travels."""
    return _encode(envelope)


def from_bytes(body: bytes) -> Envelope:
    """A message as it came; raises ValueError if it is none."""
    try:
        return _decode_envelope(body)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def data_of(envelope: Envelope, kind: type[T]) -> T:
    """The data of a message; raises ValueError if it is not of this kind."""
    try:
        return msgspec.json.decode(envelope.data, type=kind)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def json_schema() -> dict[str, Any]:
    """The JSON Schema of all messages, by type."""
    kinds: Sequence[Any] = (Envelope, *DATA.values(), DeadLetterMessage)
    found, definitions = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    by_kind = dict(zip(kinds, found, strict=True))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Messages between Stateward's coordinators and workers",
        "oneOf": [
            {
                "allOf": [
                    by_kind[Envelope],
                    {"properties": {"type": {"const": type_}, "data": by_kind[kind]}},
                ]
            }
            for type_, kind in DATA.items()
        ],
        "$defs": {name: _laid_out(each) for name, each in definitions.items()},
    }


def _laid_out(definition: dict[str, Any]) -> dict[str, Any]:
    """With the description as the interpreters from 3.13 on keep a docstring: not indented."""
    description = definition.get("description")
    return (
        definition if description is None else {**definition, "description": cleandoc(description)}
    )
