"""Operations: who works, what is paused, who is told, what could not be carried, and the settings in force."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import yaml
from litestar import Response, get, post
from litestar.params import FromPath, QueryParameter

from stateward import schemas
from stateward.app import App
from stateward.app.doctor import Check, checks
from stateward.console.layout import fragment, page, reason_of, tell_page
from stateward.core.errors import InvalidRequest
from stateward.core.model import Micros, Work
from stateward.engine.system import is_alive
from stateward.notifications import Delivery, DeliveryAttempt, Webhook
from stateward.server import batches, dead_letters, machines, webhooks
from stateward.server.auth import Asked, Caller, caller_of, service_of
from stateward.storage.dead_letters import DeadLetter
from stateward.storage.idempotency import Batch
from stateward.storage.keys import ApiKey
from stateward.storage.pauses import Pause
from stateward.transport import WorkerInfo

WORK_SHOWN = 12
HELD_LOOKED_AT = 1000  # attempts that workers behind a transport have
DELIVERIES_SHOWN = 25
LETTERS_SHOWN = 50
BATCHES_SHOWN = 15
KEYS_SHOWN = 200

StateText = Annotated[str, QueryParameter(name="state", max_length=20, required=False)]


class Busy(msgspec.Struct, frozen=True, kw_only=True):
    """A worker and what it has in hand."""

    worker: WorkerInfo
    is_alive: bool
    work: list[Work]


class Stages(msgspec.Struct, frozen=True, kw_only=True):
    """A machine with its stages, for those who pause."""

    name: str
    stages: list[str]


class Operating(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the page shows."""

    now: Micros
    checks: list[Check]
    workers: list[Busy]
    events_waiting: int | None
    pauses: list[Pause]
    machines: list[Stages]
    webhooks: list[Webhook]
    deliveries: list[Delivery]
    letters: list[DeadLetter]
    has_broker: bool
    keys: list[tuple[ApiKey, bool]]
    batches: list[Batch]
    settings: str


@get("/operations", opt={"right": "read"})
async def operations(request: Asked, wanted: StateText = "") -> Response[bytes]:
    """The whole page."""
    service, caller = service_of(request), caller_of(request)
    it = await service.broad.ask(lambda app: look(app, caller, wanted, is_whole=True))
    facts = {"it": it, "state": wanted, "address": service.settings.api}
    return await page(request, "operations.html", facts, here="operations")


@get("/operations/live", opt={"right": "read"})
async def live(request: Asked, wanted: StateText = "") -> Response[bytes]:
    """What changes on it."""
    return await _live(request, wanted)


async def _live(request: Asked, wanted: str) -> Response[bytes]:
    caller = caller_of(request)
    it = await service_of(request).broad.ask(lambda app: look(app, caller, wanted, is_whole=False))
    return fragment(request, "operations_live.html", {"it": it, "state": wanted})


def look(app: App, caller: Caller, state: str, *, is_whole: bool) -> Operating:
    """What the caller may know of the installation; without what does not change by itself, if not whole."""
    now = app.clock()
    may_observe = caller.may("observe")
    # As the API has it: the installation is for those who may see all of it.
    is_observer = may_observe and caller.covers_all
    is_administrator = caller.may("admin") and caller.covers_all
    covered = [each for each in app.notifications.webhooks() if webhooks.covers(caller, each)]
    ids = {each.id for each in covered}
    wanted = state if state in ("pending", "delivered", "dead") else None
    deliveries = app.notifications.deliveries(state=wanted, limit=DELIVERIES_SHOWN)  # type: ignore[arg-type]
    workers = app.bus.workers()
    held = app.bus.held_work(limit=HELD_LOOKED_AT) if any(each.via for each in workers) else []
    return Operating(
        now=now,
        checks=[*checks(app)] if is_observer and is_whole else [],
        workers=[_busy(app, each, held, caller) for each in workers],
        events_waiting=app.bus.depth() if caller.covers_all else None,
        pauses=[each for each in app.store.pauses.all() if caller.covers(each.machine)],
        machines=[
            Stages(name=own.name, stages=[stage.name for stage in own.stages])
            for own in app.registry.newest.values()
            if caller.covers(own.name) and own.stages
        ],
        webhooks=covered if may_observe else [],
        deliveries=[each for each in deliveries if each.webhook_id in ids] if may_observe else [],
        letters=_letters(app) if is_observer else [],
        has_broker=is_observer and not app.settings.transport.is_database,
        keys=[(each, each.is_live(now)) for each in app.keys.all()[-KEYS_SHOWN:]]
        if is_administrator and is_whole
        else [],
        batches=[
            each
            for each in app.idempotency.batches(limit=BATCHES_SHOWN)
            if batches.is_seen(caller, each)
        ]
        if caller.may("act")
        else [],
        settings=_settings(app) if is_administrator and is_whole else "",
    )


def _busy(app: App, worker: WorkerInfo, held: Sequence[tuple[str, Work]], caller: Caller) -> Busy:
    work = (
        [each for holder, each in held if holder == worker.id][:WORK_SHOWN]
        if worker.via
        else app.bus.assigned_work(worker.id, limit=WORK_SHOWN)
    )
    return Busy(
        worker=worker,
        is_alive=is_alive(worker),
        work=[each for each in work if caller.covers(each.machine)],
    )


def _letters(app: App) -> list[DeadLetter]:
    return [letter for _, letter in app.store.dead_letters.page(limit=LETTERS_SHOWN)]


def _settings(app: App) -> str:
    text: str = yaml.safe_dump(
        app.settings.as_mapping(),
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=None,
        width=100,
    )
    return text


@post("/operations/pause", opt={"right": "act"}, status_code=200)
async def pause(request: Asked) -> Response[bytes]:
    """Pause a stage, or resume it: exactly as the API does it."""
    form = await request.form()
    machine, _, stage = str(form.get("what", "")).partition(".")
    reason = reason_of(form)
    act = machines.resume if form.get("undo") == "yes" else machines.pause
    if not machine:
        raise InvalidRequest("say what to pause")
    await act.fn(request, machine, schemas.PauseRequest(stage=stage or None, reason=reason), None)
    return await _live(request, "")


@get("/operations/deliveries/{webhook_id:str}/{message_id:str}", opt={"right": "observe"})
async def delivery(
    request: Asked, webhook_id: FromPath[str], message_id: FromPath[str]
) -> Response[bytes]:
    """One message with everything that was sent and answered."""
    caller = caller_of(request)

    def look_(app: App) -> tuple[Delivery, list[DeliveryAttempt]]:
        webhooks.get_visible_webhook(app, caller, webhook_id)
        return app.notifications.delivery(webhook_id, message_id)

    found, attempts = await service_of(request).quick.ask(look_)
    return fragment(request, "delivery.html", {"delivery": found, "attempts": attempts})


@post("/operations/replay", opt={"right": "act"}, status_code=200)
async def replay(request: Asked) -> Response[bytes]:
    """Deliver once more: one message, or all that died of a webhook."""
    form = await request.form()
    message_id = str(form.get("message_id", "")) or None
    wanted = schemas.ReplayRequest(
        webhook_id=str(form.get("webhook_id", "")) or None,
        message_id=message_id,
        state=None if message_id else "dead",
    )
    answer = await webhooks.replay.fn(request, wanted, None)
    count = msgspec.json.decode(answer.content, type=schemas.Replayed).replayed
    return _message_line(f"{count} will be delivered again.")


@post("/operations/ping/{webhook_id:str}", opt={"right": "act"}, status_code=200)
async def ping(request: Asked, webhook_id: FromPath[str]) -> Response[bytes]:
    """Send a test."""
    await webhooks.ping.fn(request, webhook_id, None)
    return _message_line("A test message was queued; see the deliveries.")


@get("/operations/letters", opt={"right": "observe"})
async def list_letters(request: Asked) -> Response[bytes]:
    """Dead letters of the broker, for themselves: one that does not answer keeps nothing else from being shown."""
    answer = await dead_letters.list_of_transport.fn(request, LETTERS_SHOWN)
    found = msgspec.json.decode(answer.content, type=schemas.TransportLetters)
    return fragment(request, "operations_letters.html", {"it": found})


@post("/operations/letters/{action:str}", opt={"right": "act"}, status_code=200)
async def letters(request: Asked, action: FromPath[str]) -> Response[bytes]:
    """Drop a dead letter of the broker, or have what it was about done again."""
    form = await request.form()
    wanted: schemas.LetterAction = "resend" if action == "resend" else "drop"
    asked = schemas.LetterRequest(action=wanted, ids=[str(form.get("id", ""))])
    answer = await dead_letters.act.fn(request, asked, None)
    (outcome,) = msgspec.json.decode(answer.content, type=schemas.LetterOutcomes).items
    return _message_line(outcome.sentence)


def _message_line(text: str) -> Response[bytes]:
    """A line that the page shows for a moment; what it shows besides is asked for anew."""
    return tell_page(toast={"value": text}, refresh={})


HANDLERS: list[Any] = [operations, live, pause, delivery, replay, ping, list_letters, letters]
