"""A delivery and its attempts: what they are, and how they stand in the database."""

from typing import Literal, TypeAlias

import msgspec

from stateward.core.model import Micros
from stateward.notifications.endpoints import Webhook
from stateward.notifications.sending import HIDDEN, WebhookResponse
from stateward.storage.database import Row, Table

State: TypeAlias = Literal["pending", "delivered", "dead"]

DELIVERIES = Table(
    "deliveries",
    {
        "webhook_id": "text",
        "message_id": "text",
        "type": "text",
        "record_id": "text",
        "version": "bigint",
        "body": "text",
        "trace": "text",
        "created_at": "bigint",
        "state": "text",
        "attempts": "bigint",
        "tries": "bigint",
        "due_at": "bigint",
        "ended_at": "bigint",
        "status": "bigint",
        "error": "text",
    },
    key=("webhook_id", "message_id"),
)
# What an attempt changes.
OUTCOMES = Table(
    "deliveries",
    {
        name: DELIVERIES.columns[name]
        for name in (
            "webhook_id", "message_id", "state", "attempts", "tries", "due_at", "ended_at", "status", "error",
        )
    },
    key=("webhook_id", "message_id"),
)  # fmt: skip
ATTEMPTS = Table(
    "delivery_attempts",
    {
        "webhook_id": "text",
        "message_id": "text",
        "attempt": "bigint",
        "at": "bigint",
        "duration_ms": "bigint",
        "url": "text",
        "address": "text",
        "request_headers": "json",
        "status": "bigint",
        "error": "text",
        "response_headers": "json",
        "response_body": "text",
    },
    key=("webhook_id", "message_id", "attempt"),
)
_decode_headers = msgspec.json.Decoder(dict[str, str]).decode


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """One message on its way to one endpoint. `attempts` counts all, `tries` those since it was last replayed."""

    webhook_id: str
    message_id: str
    type: str
    record_id: str | None
    version: int | None
    body: str
    trace: str | None
    created_at: Micros
    state: State
    attempts: int
    tries: int
    due_at: Micros | None
    ended_at: Micros | None
    status: int | None
    error: str | None


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """What was sent once, and what was answered."""

    attempt: int
    at: Micros
    duration_ms: int
    url: str
    address: str
    request_headers: dict[str, str]
    status: int | None
    error: str
    response_headers: dict[str, str]
    response_body: str


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """A delivery that was tried: with which headers, when, and what came of it."""

    delivery: Delivery
    webhook: Webhook
    at: Micros
    headers: dict[str, str]
    answer: WebhookResponse


def delivery_row(delivery: Delivery) -> Row:
    """As it is written."""
    return tuple(getattr(delivery, name) for name in DELIVERIES.columns)


def delivery_of(row: Row) -> Delivery:
    """As it is read."""
    return Delivery(**dict(zip(DELIVERIES.columns, row, strict=True)))  # type: ignore[arg-type]


def attempt_row(sent: Sent) -> Row:
    """An attempt as it is written: nobody who reads it can sign with it."""
    shown = {
        name: HIDDEN if name == "webhook-signature" else value
        for name, value in sent.headers.items()
    }
    answer = sent.answer
    return (
        sent.delivery.webhook_id,
        sent.delivery.message_id,
        sent.delivery.attempts,
        sent.at,
        answer.duration_ms,
        sent.webhook.url,
        answer.address,
        msgspec.json.encode(shown).decode(),
        answer.status,
        answer.error,
        msgspec.json.encode(answer.headers).decode(),
        answer.body,
    )


def attempt_of(row: Row) -> Attempt:
    """An attempt as it is read, without the names of its delivery."""
    values = dict(zip(list(ATTEMPTS.columns)[2:], row, strict=True))
    for name in ("request_headers", "response_headers"):
        values[name] = _decode_headers(str(values[name]))  # type: ignore[assignment]
    return Attempt(**values)  # type: ignore[arg-type]
