"""`/webhooks` and `/deliveries`: who is told, what was delivered, and once more what was not.

A secret is in the answer to its making and in no other. A key that covers some machines only sees and makes webhooks
of these machines.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from litestar import Response, Router
from litestar.params import Body, FromPath, JSONBody
from msgspec import UNSET

from stateward import schemas
from stateward.app import App
from stateward.app.webhook_views import delivery_view, webhook_view
from stateward.core.errors import UnknownName
from stateward.core.model import Micros, clean_text, time_given
from stateward.notifications import Delivery, DeliveryState, Webhook
from stateward.schemas.webhooks import WEBHOOK_ID_CHARS_MAX as ID_CHARS_MAX
from stateward.server import route, views
from stateward.server.auth import Asked, Caller, caller_of, reply, service_of
from stateward.server.operations import reply_once, reply_read
from stateward.server.paging import Cursor, ListPage
from stateward.server.parameters import ROWS_DEFAULT, CursorText, IdempotencyKey, Limit, query
from stateward.server.problems import Refusal
from stateward.storage.idempotency import Answer

StateText = Annotated[
    Literal["pending", "delivered", "dead"] | None,
    query("state", "Only what is so."),
]
OptionalDisable = Annotated[schemas.DisableRequest | None, Body(description="Why.")]


@route.get("/", "observe", "listWebhooks", "List webhooks")
async def list_(request: Asked) -> Response[schemas.WebhookList]:
    """Without secrets."""

    def look(app: App, caller: Caller) -> schemas.WebhookList:
        found = [each for each in app.notifications.webhooks() if covers(caller, each)]
        return schemas.WebhookList(items=[webhook_view(each) for each in found])

    return await reply_read(request, look, is_quick=True)


@route.post("/", "admin", "createWebhook", "Create a webhook", status_code=201)
async def create(
    request: Asked, data: JSONBody[schemas.WebhookRequest], key: IdempotencyKey = None
) -> Response[schemas.WebhookDocument]:
    """It receives what happens from now on. Keep the secret: it is not shown again."""
    caller = caller_of(request)

    def act(app: App) -> Webhook:
        made = app.notifications.add(
            data.url,
            events=data.events,
            content=data.content,
            secret=data.secret,
            actor=caller.actor,
        )
        if not covers(caller, made):  # the transaction that made it is undone with this
            raise Refusal("forbidden", "the key does not cover all of these machines")
        return made

    def answer(_: App, made: Webhook) -> Answer:
        headers = {"Location": f"/webhooks/{made.id}"}
        shown = webhook_view(made, secret=made.secret)
        return views.json_answer(shown, status=201, headers=headers, is_secret=True)

    return await reply_once(request, key, act, answer)


@route.get("/{webhook_id:str}", "observe", "getWebhook", "Look at a webhook")
async def show(request: Asked, webhook_id: FromPath[str]) -> Response[schemas.WebhookDocument]:
    """Without its secret."""
    return await reply_read(
        request,
        lambda app, caller: webhook_view(get_visible_webhook(app, caller, webhook_id)),
        is_quick=True,
    )


@route.delete(
    "/{webhook_id:str}", "admin", "deleteWebhook", "Delete a webhook and its log", status_code=204
)
async def remove(request: Asked, webhook_id: FromPath[str]) -> None:
    """The log of its deliveries is deleted too."""
    caller = caller_of(request)

    def act(app: App) -> None:
        get_visible_webhook(app, caller, webhook_id)
        app.notifications.remove(webhook_id, actor=caller.actor)

    await service_of(request).writer.ask(act)


@route.post("/{webhook_id:str}/rotate", "admin", "rotateWebhook", "Give a webhook a new secret")
async def rotate(
    request: Asked, webhook_id: FromPath[str], key: IdempotencyKey = None
) -> Response[schemas.WebhookDocument]:
    """For `notifications.rotation_seconds` messages are signed with both."""
    return await _answer_change(
        request,
        webhook_id,
        key,
        lambda app: app.notifications.rotate(webhook_id, actor=caller_of(request).actor),
        is_secret_shown=True,
    )


@route.post("/{webhook_id:str}/enable", "admin", "enableWebhook", "Enable a webhook")
async def enable(
    request: Asked, webhook_id: FromPath[str], key: IdempotencyKey = None
) -> Response[schemas.WebhookDocument]:
    """It receives what happens from now on; replay what it missed."""
    return await _answer_change(
        request,
        webhook_id,
        key,
        lambda app: app.notifications.enable(webhook_id, actor=caller_of(request).actor),
    )


@route.post("/{webhook_id:str}/disable", "admin", "disableWebhook", "Disable a webhook")
async def disable(
    request: Asked,
    webhook_id: FromPath[str],
    data: OptionalDisable = None,
    key: IdempotencyKey = None,
) -> Response[schemas.WebhookDocument]:
    """What waits for it is dead, and can be replayed."""
    reason = None if data is None else data.reason
    actor = caller_of(request).actor
    return await _answer_change(
        request,
        webhook_id,
        key,
        lambda app: app.notifications.disable(webhook_id, actor=actor, reason=reason),
    )


async def _answer_change(
    request: Asked,
    webhook_id: str,
    key: str | None,
    change: Callable[[App], Webhook],
    *,
    is_secret_shown: bool = False,
) -> Response[schemas.WebhookDocument]:
    caller = caller_of(request)

    def act(app: App) -> Webhook:
        get_visible_webhook(app, caller, webhook_id)
        return change(app)

    def answer(_: App, changed: Webhook) -> Answer:
        shown = webhook_view(changed, secret=changed.secret if is_secret_shown else UNSET)
        return views.json_answer(shown, is_secret=is_secret_shown)

    return await reply_once(request, key, act, answer)


@route.post("/{webhook_id:str}/ping", "act", "pingWebhook", "Send a test message", status_code=202)
async def ping(
    request: Asked, webhook_id: FromPath[str], key: IdempotencyKey = None
) -> Response[schemas.DeliveryDocument]:
    """It is delivered like any other message; `Location` is where its delivery is shown."""
    caller = caller_of(request)

    def act(app: App) -> Delivery:
        get_visible_webhook(app, caller, webhook_id)
        return app.notifications.ping(webhook_id)

    def answer(_: App, sent: Delivery) -> Answer:
        headers = {"Location": f"/deliveries/{sent.webhook_id}/{sent.message_id}"}
        return views.json_answer(delivery_view(sent), status=202, headers=headers)

    return await reply_once(request, key, act, answer)


@route.get("/", "observe", "listDeliveries", "List deliveries")
async def deliveries(
    request: Asked,
    webhook_id: Annotated[
        str | None,
        query("webhook_id", "To this address.", max_length=ID_CHARS_MAX),
    ] = None,
    record_id: Annotated[
        str | None,
        query("record_id", "Of this record.", max_length=ID_CHARS_MAX),
    ] = None,
    wanted: StateText = None,
    cursor: CursorText = None,
    limit: Limit = ROWS_DEFAULT,
) -> Response[schemas.DeliveryPage]:
    """Newest first. `?state=dead` lists the failed deliveries."""
    caller = caller_of(request)
    named = ("deliveries", webhook_id, record_id, wanted, caller.machines)
    page = ListPage(request, cursor, limit, *named)

    def look(app: App) -> Answer:
        covered = {each.id for each in app.notifications.webhooks() if covers(caller, each)}
        if webhook_id is not None:
            get_visible_webhook(app, caller, webhook_id)
        found = app.notifications.deliveries(
            webhook_id=None if webhook_id is None else _clean(webhook_id),
            record_id=None if record_id is None else _clean(record_id),
            state=wanted,
            after=None if page.at is None else _place(page.at),
            limit=page.rows + 1,
        )
        return page.answer(
            schemas.DeliveryPage,
            found,
            lambda each: delivery_view(each) if each.webhook_id in covered else None,
            lambda last: Cursor(
                of=page.of, at=last.created_at, after=f"{last.message_id} {last.webhook_id}"
            ),
        )

    return reply(await service_of(request).broad.ask(look))


def _place(at: Cursor) -> tuple[Micros, str, str]:
    message_id, _, webhook_id = at.after.partition(" ")
    return at.at, message_id, webhook_id


@route.get(
    "/{webhook_id:str}/{message_id:str}",
    "observe",
    "getDelivery",
    "Look at a delivery, with every attempt",
)
async def delivery(
    request: Asked, webhook_id: FromPath[str], message_id: FromPath[str]
) -> Response[schemas.DeliveryDocument]:
    """What was sent, what was answered, and why it is tried again."""

    def look(app: App, caller: Caller) -> schemas.DeliveryDocument:
        get_visible_webhook(app, caller, webhook_id)
        found, attempts = app.notifications.delivery(_clean(webhook_id), _clean(message_id))
        return delivery_view(found, attempts)

    return await reply_read(request, look, is_quick=True)


@route.post("/replay", "act", "replayDeliveries", "Replay deliveries", status_code=202)
async def replay(
    request: Asked, data: JSONBody[schemas.ReplayRequest], key: IdempotencyKey = None
) -> Response[schemas.Replayed]:
    """Under the same ids, signed with the secrets of now."""
    caller = caller_of(request)
    since = time_given("since", data.since)

    def act(app: App) -> int:
        if data.webhook_id is not None:
            get_visible_webhook(app, caller, data.webhook_id)
        elif caller.machines:
            raise Refusal("forbidden", "name the webhook: the key does not cover all machines")
        state: DeliveryState | None = data.state
        return app.notifications.replay(
            webhook_id=None if data.webhook_id is None else _clean(data.webhook_id),
            message_id=None if data.message_id is None else _clean(data.message_id),
            state=state,
            since=since,
        )

    def answer(_: App, count: int) -> Answer:
        return views.json_answer(schemas.Replayed(replayed=count), status=202)

    return await reply_once(request, key, act, answer)


def _clean(given: str) -> str:
    """An id that any database can look for."""
    return clean_text(given, chars_max=ID_CHARS_MAX)


def covers(caller: Caller, webhook: Webhook) -> bool:
    """Whether all that a webhook is told of is the caller's business."""
    if caller.covers_all:
        return True
    return all(caller.covers(event.partition(".")[0]) for event in webhook.events)


def find_webhooks(app: App, caller: Caller, given: str) -> list[str]:
    """The webhooks whose ids begin so, of those that a caller may see."""
    own = (each.id for each in app.notifications.webhooks() if covers(caller, each))
    return [each for each in own if each.startswith(given)]


def get_visible_webhook(app: App, caller: Caller, webhook_id: str) -> Webhook:
    """A webhook, if all that it is told of is the caller's business."""
    webhook = app.notifications.webhook(_clean(webhook_id))
    if not covers(caller, webhook):
        raise UnknownName("webhook", clean_text(webhook_id, chars_max=80))
    return webhook


HANDLERS: list[Any] = [
    Router(
        path="/webhooks",
        route_handlers=[list_, create, show, remove, rotate, enable, disable, ping],
        tags=["webhooks"],
    ),
    Router(path="/deliveries", route_handlers=[deliveries, delivery, replay], tags=["webhooks"]),
]
