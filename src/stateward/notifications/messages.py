"""The body of a webhook: one message for one transition, the same bytes at every attempt.

The id of a message consists of the record and the version that the transition gave it, so that a receiver can
recognise a repetition. A message names the record and what happened to it; the receiver asks the API for the rest.
"""

from typing import Literal, TypeAlias

import msgspec

from stateward.core.model import Fields, Micros, to_iso, to_iso_or_none

Content: TypeAlias = Literal["standard", "cloudevents"]
CONTENTS: tuple[Content, ...] = ("standard", "cloudevents")
CONTENT_TYPES: dict[Content, str] = {
    "standard": "application/json",
    "cloudevents": "application/cloudevents+json",
}
PING = "ping"
ERASED = "erased"  # an event of every machine: what a record held was erased
FLAGGED = "flagged"  # an event of every machine: a stage flagged its result
# What receivers get of a transition's metadata; the rest, such as reasons that people gave, is for auditors.
_EXPOSED = (
    "count", "outcome", "error_code", "error_message", "failed_at_step", "retry_count", "rest", "flags",
)  # fmt: skip


class MessageNames(msgspec.Struct, frozen=True, kw_only=True):
    """What the records of a machine are called where they have a path of their own in the API.

    `counts` are the exposed counts by the event that reports them, such as `parse.completed`.
    """

    id_field: str
    counts: dict[str, str] = {}


class StatusChange(msgspec.Struct, frozen=True, kw_only=True):
    """A transition as notifications need it."""

    seq: int
    record_id: str
    version: int
    machine: str
    source: str | None
    target: str
    at: Micros
    trigger: str
    metadata: Fields
    review: str | None = None
    deadline: Micros | None = None
    topic: str = ""  # what happened beside the change of status, or instead: "flagged", "erased"
    own: Fields = {}
    """The record under the names of its own path: its id, its status and its counts so far."""

    @property
    def type(self) -> str:
        """What receivers subscribe to: `invoices.completed`, `invoices.flagged`."""
        return f"{self.machine}.{self.topic or self.target}"

    @property
    def message_id(self) -> str:
        """The same whenever this transition is sent."""
        suffix = f"_{self.topic}" if self.topic else ""
        return f"msg_{self.record_id}_{self.version}{suffix}"

    @property
    def trace(self) -> str | None:
        """The W3C traceparent that the transition belongs to."""
        trace = self.metadata.get("trace")
        return trace if isinstance(trace, str) else None


def is_subscribed(events: tuple[str, ...], machine: str, status: str) -> bool:
    """Whether a list like `invoices.completed`, `invoices.*` or `*` includes this status."""
    return not {f"{machine}.{status}", f"{machine}.*", "*"}.isdisjoint(events)


def exposed_facts(metadata: Fields) -> Fields:
    """What receivers get of a transition's metadata."""
    return {key: metadata[key] for key in _EXPOSED if key in metadata}


def message_body(change: StatusChange, *, content: Content, public_url: str | None) -> bytes:
    """The message in the form that an endpoint chose."""
    data: Fields = {
        "id": change.record_id,
        "machine": change.machine,
        "status": change.target,
        "previous_status": change.source,
        "version": change.version,
        "trigger": change.trigger,
        **exposed_facts(change.metadata),
    }
    if public_url:
        data["url"] = f"{public_url}/records/{change.record_id}"
    if change.review is not None:
        data["review"] = change.review
        data["deadline"] = to_iso_or_none(change.deadline)
    data |= change.own
    if content == "standard":
        return _standard(change.type, data, at=change.at, beside=change.own)
    return _cloud_event(
        change.type, data, message_id=change.message_id, at=change.at, source=public_url, trace=change.trace
    )  # fmt: skip


def ping_body(message_id: str, *, at: Micros, content: Content, public_url: str | None) -> bytes:
    """A message for testing an endpoint."""
    data: Fields = {"message": "this is a test; nothing happened to any record"}
    if content == "standard":
        return _standard(PING, data, at=at)
    return _cloud_event(PING, data, message_id=message_id, at=at, source=public_url)


def _standard(type_: str, data: Fields, *, at: Micros, beside: Fields | None = None) -> bytes:
    # Beside the envelope, too: a receiver of the simple form looks for them at the top.
    body: Fields = {"type": type_, "timestamp": to_iso(at), "data": data, **(beside or {})}
    return msgspec.json.encode(body)


def _cloud_event(
    type_: str,
    data: Fields,
    *,
    message_id: str,
    at: Micros,
    source: str | None,
    trace: str | None = None,
) -> bytes:
    """CloudEvents 1.0 in structured mode, with the extension for distributed tracing."""
    event: Fields = {
        "specversion": "1.0",
        "id": message_id,
        "source": source or "/stateward",
        "type": f"stateward.{type_}",
        "time": to_iso(at),
        "datacontenttype": "application/json",
        "data": data,
    }
    if trace is not None:
        event["traceparent"] = trace
    if "id" in data:
        event["subject"] = data["id"]
    return msgspec.json.encode(event)
