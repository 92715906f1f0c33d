"""Webhooks and deliveries as the documents of the HTTP API, which commands print too."""

from collections.abc import Iterable

import msgspec
from msgspec import UNSET, UnsetType

from stateward import schemas
from stateward.core.model import Fields, to_iso, to_iso_or_none
from stateward.definition.plugin import Resource
from stateward.engine.registry import MachineRegistry
from stateward.notifications import Delivery, DeliveryAttempt, Webhook
from stateward.notifications.messages import MessageNames


def webhook_view(each: Webhook, *, secret: str | UnsetType = UNSET) -> schemas.WebhookDocument:
    """An address that is told; with its secret only where that is named."""
    return schemas.WebhookDocument(
        id=each.id,
        url=each.url,
        events=each.events,
        content=each.content,
        is_enabled=each.is_enabled,
        disabled_reason=each.disabled_reason,
        origin=each.origin,
        created_at=to_iso(each.created_at),
        secret=secret,
    )


def delivery_view(
    each: Delivery, attempts: list[DeliveryAttempt] | None = None
) -> schemas.DeliveryDocument:
    """A message; with its attempts also its body and their log."""
    return schemas.DeliveryDocument(
        webhook_id=each.webhook_id,
        message_id=each.message_id,
        type=each.type,
        record_id=each.record_id,
        version=each.version,
        state=each.state,
        attempts=each.attempts,
        status=each.status,
        error=each.error,
        created_at=to_iso(each.created_at),
        next_at=to_iso_or_none(each.due_at),
        ended_at=to_iso_or_none(each.ended_at),
        body=UNSET if attempts is None else msgspec.json.decode(each.body, type=Fields),
        log=UNSET if attempts is None else [_attempt_view(one) for one in attempts],
    )


def _attempt_view(each: DeliveryAttempt) -> schemas.AttemptDocument:
    return schemas.AttemptDocument(
        attempt=each.attempt,
        at=to_iso(each.at),
        duration_ms=each.duration_ms,
        url=each.url,
        address=each.address,
        request_headers=each.request_headers,
        status=each.status,
        error=each.error,
        response_headers=each.response_headers,
        response_body=each.response_body,
    )


def message_names(
    resources: Iterable[Resource], registry: MachineRegistry
) -> dict[str, MessageNames]:
    """What records are called in webhooks, by machine: as at their own path of the API."""
    return {
        each.machine: MessageNames(
            id_field=each.id_field,
            counts={
                f"{stage.name}.completed": f"{stage.produces}_count"
                for stage in registry.newest[each.machine].stages
                if f"{stage.produces}_count" in each.fields
            },
        )
        for each in resources
        if each.machine in registry.newest
    }
