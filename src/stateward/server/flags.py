"""`/records/{id}/flags`: what a person decides about a result that a stage flagged as wrong or incomplete.

The queue itself is a list of records: `GET /records?q=is:flagged`.
"""

from typing import Any

from litestar import Response, post
from litestar.params import FromPath, JSONBody

from stateward import schemas
from stateward.app import App
from stateward.core.model import Record
from stateward.server import operations, views
from stateward.server.auth import (
    Asked,
    caller_of,
    expected_version,
    once_of,
    reply,
    service_of,
)
from stateward.server.executors import Call
from stateward.server.parameters import IdempotencyKey, IfMatch
from stateward.storage.idempotency import Answer


@post(
    "/records/{record_id:str}/flags",
    opt={"right": "review"},
    status_code=200,
    operation_id="decideFlags",
    summary="Decide about a flagged result",
    tags=["reviews"],
)
async def decide(
    request: Asked,
    record_id: FromPath[str],
    data: JSONBody[schemas.FlagRequest],
    key: IdempotencyKey = None,
    if_match: IfMatch = None,
) -> Response[schemas.Record]:
    """Confirm it as it is, call it corrected, or reject it. The record does not move; it leaves the queue."""
    return reply(await decide_flags(request, record_id, data, key=key, if_match=if_match))


async def decide_flags(
    request: Asked,
    record_id: str,
    data: schemas.FlagRequest,
    *,
    key: str | None = None,
    if_match: str | None = None,
) -> Answer:
    """The same for the API and the console."""
    caller = caller_of(request)
    version = expected_version(service_of(request), if_match)

    def act(app: App) -> Record:
        return app.flags.decide(
            record_id,
            data.action,
            actor=caller.actor,
            reason=data.reason,
            machines=caller.machines,
            expected=version,
        )

    def answer(app: App, record: Record) -> Answer:
        headers = {"ETag": views.etag(record.version)}
        return views.json_answer(views.record_view(app, record), headers=headers)

    once = once_of(caller, request, key, (await request.body(), if_match or ""))
    return await operations.write_once(request, once, Call(act), answer)


HANDLERS: list[Any] = [decide]
