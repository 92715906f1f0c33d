"""`/batches`: one action on many records, as a thing that can be foreseen, watched and stopped."""

from typing import Any

from litestar import Response, Router
from litestar.params import FromPath, JSONBody
from msgspec.structs import replace

from stateward import schemas
from stateward.app import App
from stateward.core.errors import ConcurrentModification, UnknownName
from stateward.core.model import clean_text, to_iso
from stateward.server import bulk, route, views
from stateward.server.auth import Asked, Caller, caller_of, reply, service_of
from stateward.server.executors import Call
from stateward.server.headers import expected_version, is_known, once_of
from stateward.server.operations import reply_once, write_once
from stateward.server.paging import Cursor, ListPage
from stateward.server.parameters import (
    ROWS_DEFAULT,
    CursorText,
    IdempotencyKey,
    IfMatch,
    IfNoneMatch,
    Limit,
)
from stateward.storage.idempotency import Answer, Batch

NEWEST_MAX = 1000  # among which a bulk action is found by the beginning of its id


@route.post(
    "/", "act", "createBatch", "Retry, cancel or reprioritise many records", status_code=202
)
async def create(
    request: Asked, data: JSONBody[schemas.BatchRequest], key: IdempotencyKey = None
) -> Response[schemas.Batch]:
    """With `dry_run` only counts, at once (200). Otherwise it begins (202) and can be watched at `Location`."""
    service, caller = service_of(request), caller_of(request)
    verb = bulk.verb_of(data.action, data.priority)
    if data.dry_run:
        return reply(await service.broad.ask(lambda app: _dry_run(app, caller, data)))
    once = once_of(caller, request, key, (await request.body(),))

    def begin(app: App) -> Batch:
        return bulk.begin(
            app,
            verb,
            text=data.query,
            ids=data.ids,
            machines=caller.machines,
            actor=caller.actor,
            reason=data.reason,
        )

    def answer(app: App, batch: Batch) -> Answer:
        headers = {"Location": f"/batches/{batch.id}", "ETag": views.etag(batch.version)}
        shown = replace(views.batch_view(batch), note=bulk.note_of(app, batch))
        return views.json_answer(shown, status=202, headers=headers)

    given = await write_once(request, once, Call(begin), answer)
    if location := given.headers.get("Location"):
        service.run_batch(location.rpartition("/")[2])
    return reply(given)


def _dry_run(app: App, caller: Caller, data: schemas.BatchRequest) -> Answer:
    verb = bulk.verb_of(data.action, data.priority)
    found = bulk.foreseen(app, verb, text=data.query, ids=data.ids, machines=caller.machines)
    now = to_iso(app.clock())
    matched = sum(found.by_status.values())
    document = schemas.Batch(
        id=None,
        version=0,
        action=verb,
        status="dry_run",
        query=data.query,
        actor=caller.actor,
        reason=data.reason,
        expected=matched,
        matched=matched,
        applied=found.applied,
        refused=found.refused,
        by_status=found.by_status,
        examples=found.examples,
        note=found.note,
        created_at=now,
        updated_at=now,
    )
    return views.json_answer(document)


@route.get("/", "act", "listBatches", "List bulk actions")
async def list_(
    request: Asked, cursor: CursorText = None, limit: Limit = ROWS_DEFAULT
) -> Response[schemas.BatchPage]:
    """Bulk actions, newest first."""
    caller = caller_of(request)
    page = ListPage(request, cursor, limit, "batches", caller.machines)
    after = "" if page.at is None else page.at.after

    def look(app: App) -> Answer:
        return page.answer(
            schemas.BatchPage,
            app.idempotency.batches(after=after, limit=page.rows + 1),
            lambda each: views.batch_view(each) if is_seen(caller, each) else None,
            lambda last: Cursor(of=page.of, after=last.id),
        )

    return reply(await service_of(request).broad.ask(look))


@route.get("/{batch_id:str}", "act", "getBatch", "How far a bulk action is")
async def show(
    request: Asked, batch_id: FromPath[str], known: IfNoneMatch = None
) -> Response[schemas.Batch]:
    """Matched, applied and refused so far."""
    service, caller = service_of(request), caller_of(request)

    def look(app: App) -> Answer:
        batch = get_visible_batch(app, caller, batch_id)
        headers = {"ETag": views.etag(batch.version)}
        if is_known(known, batch.version):
            return Answer(status=304, headers=headers, body=b"")
        return views.json_answer(views.batch_view(batch), headers=headers)

    return reply(await service.quick.ask(look))


@route.post("/{batch_id:str}/abort", "act", "abortBatch", "Stop a bulk action")
async def abort(
    request: Asked, batch_id: FromPath[str], key: IdempotencyKey = None, if_match: IfMatch = None
) -> Response[schemas.Batch]:
    """It stops after the step that is under way; what it did, it did."""
    caller = caller_of(request)
    version = expected_version(service_of(request), if_match)

    def act(app: App) -> Batch | Answer:
        get_visible_batch(app, caller, batch_id)
        try:
            return bulk.abort(app, batch_id, version=version)
        except ConcurrentModification as error:
            return views.stale_answer(error, app.idempotency.batch(batch_id).version)

    def answer(_: App, batch: Batch | Answer) -> Answer:
        if isinstance(batch, Answer):
            return batch
        return views.json_answer(
            views.batch_view(batch), headers={"ETag": views.etag(batch.version)}
        )

    return await reply_once(request, key, act, answer, content=(if_match or "",))


def is_seen(caller: Caller, batch: Batch) -> bool:
    """A batch that reaches beyond what the caller may see is none of the caller's business."""
    return caller.covers_all or (
        bool(batch.pipelines) and set(batch.pipelines) <= set(caller.machines)
    )


def find_batches(app: App, caller: Caller, given: str) -> list[str]:
    """The bulk actions whose ids begin so, of the newest that a caller may see."""
    newest = app.idempotency.batches(limit=NEWEST_MAX)
    return [each.id for each in newest if is_seen(caller, each) and each.id.startswith(given)]


def get_visible_batch(app: App, caller: Caller, batch_id: str) -> Batch:
    """A batch, if the caller may see it."""
    batch = app.idempotency.batch(batch_id)
    if not is_seen(caller, batch):
        raise UnknownName("batch", clean_text(batch_id, chars_max=80))
    return batch


HANDLERS: list[Any] = [
    Router(path="/batches", route_handlers=[create, list_, show, abort], tags=["batches"])
]
