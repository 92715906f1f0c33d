"""Webhooks and deliveries: who is told, what was delivered, what is delivered again."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from stateward.core.field_docs import about
from stateward.core.model import Fields
from stateward.schemas.base import Count, Document, Reason, Request, Time

WEBHOOK_ID_CHARS_MAX = 120
IdText = Annotated[str, Meta(min_length=1, max_length=WEBHOOK_ID_CHARS_MAX)]


class WebhookRequest(Request, frozen=True, kw_only=True):
    """An address to tell."""

    url: Annotated[str, about("Where to post: https, without a login.", max_length=2000)]
    events: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=200)], ...],
        Meta(
            min_length=1,
            max_length=100,
            description="Statuses as `machine.status`; `machine.*` and `*` mean all.",
        ),
    ]
    content: Annotated[Literal["standard", "cloudevents"], about("The envelope of messages.")] = (
        "standard"
    )
    secret: Annotated[
        Annotated[str, Meta(max_length=200)] | None,
        Meta(description="`whsec_` and 24 to 64 bytes in base64; left out, one is made."),
    ] = None


class WebhookDocument(Document, frozen=True, kw_only=True):
    """An address that is told. `secret` is there in the answer to its making alone."""

    id: str
    url: str
    events: tuple[str, ...]
    content: Literal["standard", "cloudevents"]
    is_enabled: bool
    disabled_reason: str | None
    origin: Annotated[str, about("Who made it; `settings` for those of the settings file.")]
    created_at: Time
    secret: str | UnsetType = UNSET


class WebhookList(Document, frozen=True, kw_only=True):
    """All of them, oldest first."""

    items: list[WebhookDocument]


class DisableRequest(Request, frozen=True, kw_only=True):
    """Why an address is told nothing for now."""

    reason: Reason = None


class AttemptDocument(Document, frozen=True, kw_only=True):
    """What was sent once, and what was answered; signatures and cookies are hidden."""

    attempt: Count
    at: Time
    duration_ms: Count
    url: str
    address: str
    request_headers: dict[str, str]
    status: int | None
    error: str
    response_headers: dict[str, str]
    response_body: str


class DeliveryDocument(Document, frozen=True, kw_only=True):
    """One message to one address. `body` and `log` are there when it is looked at alone."""

    webhook_id: str
    message_id: str
    type: str
    record_id: str | None
    version: int | None
    state: Literal["pending", "delivered", "dead"]
    attempts: Count
    status: int | None
    error: str | None
    created_at: Time
    next_at: Time | None
    ended_at: Time | None
    body: Fields | UnsetType = UNSET
    log: list[AttemptDocument] | UnsetType = UNSET


class DeliveryPage(Document, frozen=True, kw_only=True):
    """Deliveries, newest first."""

    items: list[DeliveryDocument]
    next: str | None


class ReplayRequest(Request, frozen=True, kw_only=True):
    """What to deliver once more; at least one of these."""

    webhook_id: IdText | None = None
    message_id: IdText | None = None
    state: Annotated[
        Literal["delivered", "dead"] | None, about("Only what is so; `dead` is usual.")
    ] = None
    since: Annotated[Time | None, about("Only what is as new as this.")] = None


class Replayed(Document, frozen=True, kw_only=True):
    """How many messages will be delivered again."""

    replayed: Count
