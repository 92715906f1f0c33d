"""A delivery and its attempts: what they are, and how they are stored."""

from typing import Literal, TypeAlias

import msgspec

from stateward.core.model import Micros
from stateward.notifications.endpoints import Webhook
from stateward.notifications.sending import HIDDEN, WebhookResponse
from stateward.storage.database import Row, Table

DeliveryState: TypeAlias = Literal["pending", "delivered", "dead"]

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
# The key, and what an attempt changes.
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
ATTEMPT_COLUMNS = tuple(ATTEMPTS.columns)[2:]  # without the key of the delivery
_decode_headers = msgspec.json.Decoder(dict[str, str]).decode


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """One message to one endpoint. `attempts` counts all of them, `tries` those since it was last replayed.

    `due_at` is the time of the next attempt; None once the delivery has ended, as delivered or as a dead letter.
    """

    webhook_id: str
    message_id: str
    type: str
    record_id: str | None = None
    version: int | None = None
    body: str
    trace: str | None = None
    created_at: Micros
    state: DeliveryState = "pending"
    attempts: int = 0
    tries: int = 0
    due_at: Micros | None
    ended_at: Micros | None = None
    status: int | None = None
    error: str | None = None


class DeliveryAttempt(msgspec.Struct, frozen=True, kw_only=True):
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


class FinishedAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that is over and not yet stored."""

    delivery: Delivery
    webhook: Webhook
    at: Micros
    headers: dict[str, str]
    response: WebhookResponse


def delivery_row(delivery: Delivery) -> Row:
    return tuple(getattr(delivery, name) for name in DELIVERIES.columns)


def delivery_of(row: Row) -> Delivery:
    return Delivery(**DELIVERIES.named(row))


def attempt_row(attempt: FinishedAttempt) -> Row:
    """An attempt as it is stored: without the signature, which is valid for some minutes yet."""
    headers = attempt.headers | {"webhook-signature": HIDDEN}
    response = attempt.response
    return (
        attempt.delivery.webhook_id,
        attempt.delivery.message_id,
        attempt.delivery.attempts,
        attempt.at,
        response.duration_ms,
        attempt.webhook.url,
        response.address,
        msgspec.json.encode(headers).decode(),
        response.status,
        response.error,
        msgspec.json.encode(response.headers).decode(),
        response.body,
    )


def attempt_of(row: Row) -> DeliveryAttempt:
    """An attempt as it was stored, from `ATTEMPT_COLUMNS`."""
    values = dict(zip(ATTEMPT_COLUMNS, row, strict=True))
    for name in ("request_headers", "response_headers"):
        values[name] = _decode_headers(str(values[name]))  # type: ignore[assignment]
    return DeliveryAttempt(**values)  # type: ignore[arg-type]
