"""`/healthz` and `/readyz`: for those who watch the process, without a key and without a word too many."""

import asyncio
from typing import Any

from litestar import Response

from stateward import schemas
from stateward.app import App
from stateward.app.artifacts import storing_fault
from stateward.core.errors import StatewardError
from stateward.core.model import SECOND
from stateward.engine.system import is_alive
from stateward.server import route, views
from stateward.server.auth import Asked, reply, service_of
from stateward.server.service import Service
from stateward.storage.idempotency import Answer


@route.get(
    "/healthz",
    "anybody",
    "getHealth",
    "Whether the process answers",
    opt={"is_light": True},
    tags=["service"],
)
async def healthz() -> Response[schemas.Health]:
    """It does, if this comes back."""
    return reply(views.json_answer(schemas.Health(status="ok")))


@route.get("/readyz", "anybody", "getReadiness", "Whether the service can work", tags=["service"])
async def readyz(request: Asked) -> Response[schemas.Readiness]:
    """200 if it can; 503 if it cannot, with what is missing."""
    service = service_of(request)
    try:
        checks = await look_once(service)
    except StatewardError:
        checks = [_check("database", "it cannot be used now", is_well=False)]
    is_ready = all(check.is_well for check in checks)
    document = schemas.Readiness(status="ready" if is_ready else "not_ready", checks=checks)
    headers = {} if is_ready else {"Retry-After": "5"}
    answer: Answer = views.json_answer(document, status=200 if is_ready else 503, headers=headers)
    return reply(answer)


async def look_once(service: Service) -> list[schemas.ReadyCheck]:
    """What there is to say now: one look for all who ask at once, because it writes to the disk for strangers, too."""
    if service.readiness is None or service.readiness.done():
        service.readiness = asyncio.ensure_future(service.quick.ask(_checks))
    return await asyncio.shield(service.readiness)


def _checks(app: App) -> list[schemas.ReadyCheck]:
    app.store.lanes.all()
    workers = [each for each in app.bus.workers() if is_alive(each) and not each.is_relay]
    silence = app.clock() - round(2 * app.settings.worker.lease_seconds * SECOND)
    overdue = bool(app.store.due(silence, limit=1))
    is_storing = not storing_fault(app.artifacts)
    return [
        _check("database", "it answers", is_well=True),
        _check(
            "documents",
            "they can be stored"
            if is_storing
            else "they cannot be stored: see the disk with stateward doctor",
            is_well=is_storing,
        ),
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


def _check(name: str, sentence: str, *, is_well: bool) -> schemas.ReadyCheck:
    return schemas.ReadyCheck(name=name, is_well=is_well, sentence=sentence)


HANDLERS: list[Any] = [healthz, readyz]
