"""`/erasures`, `/holds` and `/retention`: deleting what records held while the proof stays, for administrators.

All of it concerns every pipeline, so a key that covers some may not ask. The database is not written anew, since
writers would wait for that: `stateward erase` does it.
"""

from typing import Any

from litestar import Response
from litestar.params import FromPath, JSONBody

from stateward import schemas
from stateward.app import App
from stateward.app.subjects import records_of, remaining_copies
from stateward.app.views import erasure_view, held_view, retention_view
from stateward.core.errors import InvalidRequest
from stateward.engine.erasure import BATCH_MAX, Erased
from stateward.server import route, views
from stateward.server.administration import check_whole
from stateward.server.auth import Asked, Caller, caller_of, reply, service_of
from stateward.server.operations import reply_once, reply_read
from stateward.server.parameters import IdempotencyKey
from stateward.storage.erasure import Hold
from stateward.storage.idempotency import Answer


@route.post(
    "/erasures",
    "admin",
    "eraseRecords",
    "Delete what records held, and keep the proof",
    tags=["service"],
)
async def erase(
    request: Asked, data: JSONBody[schemas.ErasureRequest], key: IdempotencyKey = None
) -> Response[schemas.ErasureAnswer]:
    """Documents, items, logs, labels, names, notes and search entries go; a transition says who, when and why.

    Records that are under way or on hold are refused, each with its reason; the others are erased. Backups, exports, a
    mirrored ledger and what was delivered are out of reach.
    """
    check_whole(request)
    actor = caller_of(request).actor

    def act(app: App) -> Erased:
        wanted = _ids_to_erase(app, data)
        return app.eraser.erase(wanted, actor=actor, reason=data.reason, is_dry_run=data.is_dry_run)

    def answer(app: App, done: Erased) -> Answer:
        copies = remaining_copies(app.settings, is_compacted=False)
        return views.json_answer(erasure_view(done, copies=copies, is_dry_run=data.is_dry_run))

    return await reply_once(request, key, act, answer)


def _ids_to_erase(app: App, data: schemas.ErasureRequest) -> list[str]:
    if bool(data.record_ids) == (data.subject is not None):
        raise InvalidRequest("name record_ids, or a subject")
    wanted = data.record_ids if data.subject is None else records_of(app, data.subject)
    if len(wanted) > BATCH_MAX:
        raise InvalidRequest(
            f"{len(wanted):,} records have this label, and one request erases {BATCH_MAX} at most; "
            "use: stateward erase --subject"
        )
    return wanted


@route.get(
    "/holds", "admin", "listHolds", "The records of which nothing may be deleted", tags=["service"]
)
async def holds(request: Asked) -> Response[schemas.HeldRecords]:
    """Neither a rule of retention nor a request deletes anything of them."""
    check_whole(request)

    def look(app: App, _: Caller) -> schemas.HeldRecords:
        return schemas.HeldRecords(
            items=[held_view(each, is_held=True) for each in app.eraser.holds()]
        )

    return await reply_read(request, look)


@route.post(
    "/records/{record_id:str}/hold",
    "admin",
    "holdRecord",
    "Forbid to delete anything of a record, or allow it again",
    tags=["service"],
)
async def hold(
    request: Asked,
    record_id: FromPath[str],
    data: JSONBody[schemas.HoldRequest],
    key: IdempotencyKey = None,
) -> Response[schemas.HeldRecord]:
    """Who held or released it, when and why is in the audit log."""
    check_whole(request)
    actor = caller_of(request).actor

    def act(app: App) -> Hold:
        change = app.eraser.hold if data.is_held else app.eraser.release
        return change(record_id, actor=actor, reason=data.reason)

    def answer(_: App, done: Hold) -> Answer:
        return views.json_answer(held_view(done, is_held=data.is_held))

    return await reply_once(request, key, act, answer)


@route.post(
    "/retention", "admin", "applyRetention", "Apply the rules of retention now", tags=["service"]
)
async def retention(
    request: Asked, data: JSONBody[schemas.RetentionRequest], key: IdempotencyKey = None
) -> Response[schemas.RetentionAnswer]:
    """Takes as long as there is to delete; other requests are answered meanwhile. A repetition deletes nothing more."""
    check_whole(request)
    del key  # what is gone is gone: a repetition finds nothing to do
    actor = caller_of(request).actor

    def act(app: App) -> schemas.RetentionAnswer:
        done = app.retention.run(actor=actor, is_dry_run=data.is_dry_run)
        return retention_view(done, is_dry_run=data.is_dry_run)

    return reply(views.json_answer(await service_of(request).aside("retention", act)))


HANDLERS: list[Any] = [erase, holds, hold, retention]
