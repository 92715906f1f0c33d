"""`/records/{id}/flags`: what a person decides about a result that a stage flagged as wrong or incomplete.

The queue itself is a list of records: `GET /records?q=is:flagged`.
"""

from typing import Any

import msgspec
from litestar import Response
from litestar.params import FromPath, JSONBody

from stateward import schemas
from stateward.app import App
from stateward.app.records import unknown_record
from stateward.app.rereading import Reading
from stateward.core.model import Record
from stateward.server import operations, route, views
from stateward.server.auth import Asked, Caller, caller_of, reply, service_of
from stateward.server.executors import Call
from stateward.server.headers import once_of
from stateward.server.parameters import IdempotencyKey, IfMatch
from stateward.storage.idempotency import Answer


@route.post(
    "/records/{record_id:str}/flags",
    "review",
    "decideFlags",
    "Decide about a flagged result",
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

    def act(app: App, caller: Caller, version: int | None) -> Record:
        return app.flags.decide(
            record_id,
            data.action,
            actor=caller.actor,
            reason=data.reason,
            machines=caller.machines,
            expected=version,
        )

    return await operations.change_record(request, act, key=key, if_match=if_match)


@route.post(
    "/records/{record_id:str}/reparse",
    "act",
    "reparseRecord",
    "Read a document again, or retry it, with other options",
    tags=["records"],
)
async def reparse(
    request: Asked,
    record_id: FromPath[str],
    data: JSONBody[schemas.RereadRequest],
    key: IdempotencyKey = None,
) -> Response[schemas.RereadAnswer]:
    """What was read before stays, and the history says who changed which options.

    Of a finished record, what comes out is a new edition of its items. What failed, is in review, or is of a machine
    with reviews, is processed anew by a `successor`; a review that is open ends as rejected.
    """
    return reply(await reread(request, record_id, data, key=key))


async def reread(
    request: Asked, record_id: str, data: schemas.RereadRequest, *, key: str | None = None
) -> Answer:
    """The same for the API and the console. It is read beside the writer, which stores what came out."""
    caller = caller_of(request)

    def look(app: App) -> Reading:
        record = app.records.get(record_id)
        if not caller.covers(record.machine):
            raise unknown_record(record_id)
        try:
            return app.editions.read(record_id, data)
        finally:
            app.editions.release()  # a server is not to hold a process for what is asked for rarely

    # By a thread that waits for slow things: other questions must not wait for a document.
    reading = await service_of(request).upload_thread().ask(look)
    if data.is_preview or reading.found.is_skipped:
        return views.json_answer(reading.found)

    def act(app: App) -> schemas.RereadAnswer:
        return app.editions.store(
            reading, data, actor=caller.actor, is_administrator=caller.may("admin")
        )

    # Without the secrets: a key is stored with a digest of what was asked.
    content = msgspec.json.encode(msgspec.structs.replace(data, secrets={}), order="sorted")
    once = once_of(caller, request, key, (content,))
    return await operations.write_once(
        request, once, Call(act), lambda _, found: views.json_answer(found)
    )


HANDLERS: list[Any] = [decide, reparse]
