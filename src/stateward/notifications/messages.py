"""What a notice says: thin by default, one message for one transition, the same bytes at every attempt.

The id of a message is made of the record and the version that the transition gave it, so that a receiver that hears
it twice can tell. A message names the record and says what happened to it; who wants to know more asks for it.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

from stateward.core.model import Fields, Micros, to_iso

Content: TypeAlias = Literal["standard", "cloudevents"]
CONTENTS: tuple[Content, ...] = ("standard", "cloudevents")
CONTENT_TYPES: dict[Content, str] = {
    "standard": "application/json",
    "cloudevents": "application/cloudevents+json",
}
PING = "ping"
# What of a transition's metadata a receiver may see; the rest is for auditors.
_TOLD = ("count", "outcome", "error_code", "error_message", "failed_at_step", "retry_count", "rest")

_encode = msgspec.json.encode


class News(msgspec.Struct, frozen=True, kw_only=True):
    """A transition as notices need it."""

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

    @property
    def type(self) -> str:
        """What receivers choose by: `upload.normalized`."""
        return f"{self.machine}.{self.target}"

    @property
    def message_id(self) -> str:
        """One for each transition, and never another."""
        return f"msg_{self.record_id}_{self.version}"

    @property
    def trace(self) -> str | None:
        """The W3C traceparent that the change belongs to."""
        trace = self.metadata.get("trace")
        return trace if isinstance(trace, str) else None


def wanted_by(events: tuple[str, ...], machine: str, status: str) -> bool:
    """Whether a list like `upload.normalized`, `upload.*` or `*` means this status."""
    return not {f"{machine}.{status}", f"{machine}.*", "*"}.isdisjoint(events)


def body_of(news: News, *, content: Content, public_url: str | None) -> bytes:
    """The message in the envelope that an endpoint chose."""
    link = f"{public_url}/records/{news.record_id}" if public_url else None
    data: Fields = {
        "id": news.record_id,
        "machine": news.machine,
        "status": news.target,
        "previous_status": news.source,
        "version": news.version,
        "trigger": news.trigger,
        **{key: news.metadata[key] for key in _TOLD if key in news.metadata},
    }
    if link is not None:
        data["url"] = link
    if news.review is not None:
        data["review"] = news.review
        data["deadline"] = None if news.deadline is None else to_iso(news.deadline)
    return _enveloped(
        news.type,
        data,
        message_id=news.message_id,
        at=news.at,
        content=content,
        source=public_url,
        extra={"traceparent": news.trace} if news.trace else {},
    )


def ping_of(message_id: str, *, at: Micros, content: Content, public_url: str | None) -> bytes:
    """A message that says nothing but that it arrived."""
    data: Fields = {"message": "this is a test; nothing happened to any record"}
    return _enveloped(
        PING, data, message_id=message_id, at=at, content=content, source=public_url, extra={}
    )


def _enveloped(
    type_: str,
    data: Fields,
    *,
    message_id: str,
    at: Micros,
    content: Content,
    source: str | None,
    extra: Mapping[str, str],
) -> bytes:
    if content == "standard":
        return _encode({"type": type_, "timestamp": to_iso(at), "data": data})
    event: Fields = {
        "specversion": "1.0",
        "id": message_id,
        "source": source or "/stateward",
        "type": f"stateward.{type_}",
        "time": to_iso(at),
        "datacontenttype": "application/json",
        "data": data,
        **extra,
    }
    if "id" in data:
        event["subject"] = data["id"]
    return _encode(event)
