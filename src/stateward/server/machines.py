"""`/machines`: what may happen, as data and as a picture; and what is paused for now."""

from typing import Annotated, Any

from litestar import Response, Router
from litestar.params import Body, FromPath

from stateward import schemas
from stateward.app import App
from stateward.core.errors import UnknownName
from stateward.core.machine import Machine
from stateward.core.model import clean_text, to_iso
from stateward.definition.draw import to_svg
from stateward.server import route, views
from stateward.server.auth import Asked, Caller, caller_of, reply, service_of
from stateward.server.operations import reply_once, reply_read
from stateward.server.parameters import IdempotencyKey
from stateward.storage.idempotency import Answer

SVG = "image/svg+xml"
OptionalPause = Annotated[schemas.PauseRequest | None, Body(description="Which stage, and why.")]


@route.get("/", "read", "listMachines", "List machines")
async def list_(request: Asked) -> Response[schemas.Machines]:
    """The machines in force."""

    def look(app: App, caller: Caller) -> schemas.Machines:
        found = [
            views.machine_view(app, each)
            for each in app.registry.newest.values()
            if caller.covers(each.name)
        ]
        return schemas.Machines(items=found)

    return await reply_read(request, look, is_quick=True)


@route.get("/{name:str}", "read", "getMachine", "Look at a machine")
async def show(request: Asked, name: FromPath[str]) -> Response[schemas.MachineDetail]:
    """States, stages and transitions."""
    return await reply_read(
        request,
        lambda app, caller: views.machine_detail(app, _visible_machine(app, caller, name)),
        is_quick=True,
    )


@route.get("/{name:str}/graph.svg", "read", "drawMachine", "A machine as a picture", media_type=SVG)
async def graph(request: Asked, name: FromPath[str]) -> Response[str]:
    """Drawn here; nothing is loaded from elsewhere."""
    caller = caller_of(request)

    def look(app: App) -> Answer:
        headers = {
            "Content-Type": SVG,
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
        }
        return Answer(
            status=200, headers=headers, body=to_svg(_visible_machine(app, caller, name)).encode()
        )

    return reply(await service_of(request).broad.ask(look))


@route.post("/{name:str}/pause", "act", "pauseMachine", "Stop dispatching")
async def pause(
    request: Asked, name: FromPath[str], data: OptionalPause = None, key: IdempotencyKey = None
) -> Response[schemas.Paused]:
    """Of a machine, or of one of its stages. What runs, runs on."""
    return await _pause(request, name, data, key, is_paused=True)


@route.post("/{name:str}/resume", "act", "resumeMachine", "Dispatch again")
async def resume(
    request: Asked, name: FromPath[str], data: OptionalPause = None, key: IdempotencyKey = None
) -> Response[schemas.Paused]:
    """What was paused as a stage is resumed as a stage."""
    return await _pause(request, name, data, key, is_paused=False)


async def _pause(
    request: Asked,
    name: str,
    data: schemas.PauseRequest | None,
    key: str | None,
    *,
    is_paused: bool,
) -> Response[schemas.Paused]:
    caller = caller_of(request)
    stage = (data.stage if data is not None else None) or ""
    reason = data.reason if data is not None else None

    def act(app: App) -> bool:
        machine = _visible_machine(app, caller, name).name
        was = any(
            each.machine == machine and each.stage == stage for each in app.store.pauses.all()
        )
        if is_paused:
            app.actions.pause(machine, stage, actor=caller.actor, reason=reason)
        else:
            app.actions.resume(machine, stage, actor=caller.actor)
        return was

    def answer(_: App, was: bool) -> Answer:
        return views.json_answer(
            schemas.Paused(machine=name, stage=stage or None, is_paused=is_paused, was_paused=was)
        )

    return await reply_once(request, key, act, answer)


@route.get("/pauses", "read", "listPauses", "What is paused", tags=["machines"])
async def pauses(request: Asked) -> Response[schemas.Pauses]:
    """Every pause in force, with who and why."""

    def look(app: App, caller: Caller) -> schemas.Pauses:
        found = [
            schemas.Pause(
                machine=each.machine,
                stage=each.stage or None,
                at=to_iso(each.at),
                actor=each.actor,
                reason=each.reason,
            )
            for each in app.store.pauses.all()
            if caller.covers(each.machine)
        ]
        return schemas.Pauses(items=found)

    return await reply_read(request, look, is_quick=True)


def _visible_machine(app: App, caller: Caller, name: str) -> Machine:
    machine = app.registry.newest.get(name)
    if machine is None or not caller.covers(name):
        raise UnknownName("machine", clean_text(name, chars_max=80))
    return machine


HANDLERS: list[Any] = [
    Router(path="/machines", route_handlers=[list_, show, graph, pause, resume], tags=["machines"]),
    pauses,
]
