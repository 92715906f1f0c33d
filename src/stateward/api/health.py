"""`/healthz` and `/readyz`: for those who watch the process, without a key and without a word too many."""

from typing import Any

from litestar import Response, get

from stateward import wire
from stateward.api import views
from stateward.api.door import Asked, reply, service_of
from stateward.app import App
from stateward.core.errors import StatewardError
from stateward.core.model import SECOND
from stateward.requests import Answer
from stateward.world import is_alive


@get(
    "/healthz",
    opt={"right": "anybody"},
    operation_id="getHealth",
    summary="Whether the process answers",
    tags=["service"],
)
async def healthz() -> Response[wire.Health]:
    """It does, if this comes back."""
    return reply(views.answered(wire.Health(status="ok")))


@get(
    "/readyz",
    opt={"right": "anybody"},
    operation_id="getReadiness",
    summary="Whether the service can work",
    tags=["service"],
)
async def readyz(request: Asked) -> Response[wire.Readiness]:
    """200 if it can; 503 if it cannot, with what is missing."""
    service = service_of(request)
    try:
        checks = await service.quick.ask(_checks)
    except StatewardError:
        checks = [_check("database", "it cannot be used now", is_well=False)]
    is_ready = all(check.is_well for check in checks)
    document = wire.Readiness(status="ready" if is_ready else "not_ready", checks=checks)
    headers = {} if is_ready else {"Retry-After": "5"}
    answer: Answer = views.answered(document, status=200 if is_ready else 503, headers=headers)
    return reply(answer)


def _checks(app: App) -> list[wire.ReadyCheck]:
    app.store.anchor()
    workers = [worker for worker in app.bus.workers() if is_alive(worker)]
    silence = app.clock() - round(2 * app.settings.worker.lease_seconds * SECOND)
    overdue = bool(app.store.due(silence, limit=1))
    return [
        _check("database", "it answers", is_well=True),
        _check(
            "workers",
            "some run" if workers else "none runs: start stateward up, or stateward worker",
            is_well=bool(workers),
        ),
        _check(
            "coordinator",
            "records are past their time: start stateward up, or stateward coordinator"
            if overdue
            else "no record is past its time",
            is_well=not overdue,
        ),
    ]


def _check(name: str, sentence: str, *, is_well: bool) -> wire.ReadyCheck:
    return wire.ReadyCheck(name=name, is_well=is_well, sentence=sentence)


HANDLERS: list[Any] = [healthz, readyz]
