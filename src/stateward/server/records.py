"""`/records`: the same as `/uploads`, for any machine; and what is asked of records together."""

from typing import Annotated, Any, Literal

from litestar import Response, Router, get, post
from litestar.params import Body, FromPath, JSONBody, QueryParameter

from stateward import schemas
from stateward.app import App
from stateward.engine.coordinator import Submitted
from stateward.server import operations, views
from stateward.server.auth import (
    Asked,
    caller_of,
    reply,
    seen,
    service_of,
)
from stateward.server.bulk import within
from stateward.server.parameters import (
    ROWS_DEFAULT,
    CursorText,
    IdempotencyKey,
    IfMatch,
    IfNoneMatch,
    Limit,
    QueryText,
    SourceTypes,
    Statuses,
    Wait,
)
from stateward.server.problems import Refusal
from stateward.server.uploads import OnDuplicate
from stateward.server.views import record_view
from stateward.storage.idempotency import Answer

REQUIRED = ("file", "pipeline")
OptionalAsk = Annotated[schemas.Ask | None, Body(description="Why it is asked for.")]


@post(
    "/",
    opt={"right": "submit"},
    status_code=201,
    request_max_body_size=None,
    operation_id="createRecord",
    summary="Send a document to any machine",
)
async def create(
    request: Asked, key: IdempotencyKey = None, on_duplicate: OnDuplicate = "refuse"
) -> Response[schemas.RecordOpened]:
    """Keep a document and open its record in the machine that `pipeline` names."""

    def answer(app: App, opened: Submitted) -> Answer:
        record, is_duplicate = opened.record, opened.is_duplicate
        if is_duplicate and on_duplicate == "refuse":
            return Refusal(
                "duplicate",
                f"the same bytes are here already, as {record.id}",
                headers={"Location": f"/records/{record.id}"},
                record_id=record.id,
            ).answer()
        headers = {"Location": f"/records/{record.id}", "ETag": views.etag(record.version)}
        document = schemas.RecordOpened(record=record_view(app, record), is_duplicate=is_duplicate)
        return views.answered(document, status=200 if is_duplicate else 201, headers=headers)

    return reply(
        await operations.submitted(request, machine="", required=REQUIRED, key=key, answer=answer)
    )


@get("/", opt={"right": "read"}, operation_id="listRecords", summary="List records")
async def list_(
    request: Asked,
    q: QueryText = None,
    status: Statuses = None,
    source_type: SourceTypes = None,
    cursor: CursorText = None,
    limit: Limit = ROWS_DEFAULT,
) -> Response[schemas.RecordPage]:
    """Records of all machines that match, newest first."""
    text = operations.query_text(q=q, status=status, source_type=source_type)
    return reply(
        await operations.listed(
            request,
            text,
            view=record_view,
            page=schemas.RecordPage,
            machine=None,
            cursor=cursor,
            limit=limit,
        )
    )


@get(
    "/{record_id:str}", opt={"right": "read"}, operation_id="getRecord", summary="Look at a record"
)
async def show(
    request: Asked, record_id: FromPath[str], wait: Wait = None, known: IfNoneMatch = None
) -> Response[schemas.Record]:
    """Where a record is, and what is disclosed at its status."""
    return reply(
        await operations.shown(
            request, record_id, view=record_view, machine=None, wait=wait, if_none_match=known
        )
    )


@post(
    "/{record_id:str}/retry",
    opt={"right": "act"},
    status_code=200,
    operation_id="retryRecord",
    summary="Try a failed record again",
)
async def retry(
    request: Asked,
    record_id: FromPath[str],
    data: OptionalAsk = None,
    key: IdempotencyKey = None,
    if_match: IfMatch = None,
) -> Response[schemas.Record]:
    """Resume at the step that failed."""
    return reply(await _act(request, "retry", record_id, data, key, if_match))


@post(
    "/{record_id:str}/cancel",
    opt={"right": "act"},
    status_code=200,
    operation_id="cancelRecord",
    summary="Stop a record where it is",
)
async def cancel(
    request: Asked,
    record_id: FromPath[str],
    data: OptionalAsk = None,
    key: IdempotencyKey = None,
    if_match: IfMatch = None,
) -> Response[schemas.Record]:
    """It is then failed, with the code CANCELLED, where its machine has that move."""
    return reply(await _act(request, "cancel", record_id, data, key, if_match))


async def _act(
    request: Asked,
    verb: Literal["retry", "cancel"],
    record_id: str,
    data: schemas.Ask | None,
    key: str | None,
    if_match: str | None,
) -> Answer:
    return await operations.acted(
        request,
        verb,
        record_id,
        view=record_view,
        machine=None,
        ask=data,
        if_match=if_match,
        key=key,
    )


@post(
    "/{record_id:str}/priority",
    opt={"right": "act"},
    status_code=200,
    operation_id="prioritiseRecord",
    summary="Let a record go sooner or later",
)
async def prioritise(
    request: Asked,
    record_id: FromPath[str],
    data: JSONBody[schemas.PriorityRequest],
    key: IdempotencyKey = None,
) -> Response[schemas.Record]:
    """Its place in the queue changes, its status does not; a record that has ended is refused."""
    return reply(await operations.prioritised(request, record_id, data, key=key))


@get(
    "/{record_id:str}/history",
    opt={"right": "read"},
    operation_id="getRecordHistory",
    summary="What happened to a record",
)
async def history(
    request: Asked, record_id: FromPath[str], cursor: CursorText = None, limit: Limit = ROWS_DEFAULT
) -> Response[schemas.History]:
    """Every change of status, oldest first, with who, why and its hash."""
    return reply(
        await operations.history(request, record_id, machine=None, cursor=cursor, limit=limit)
    )


@get(
    "/{record_id:str}/items",
    opt={"right": "read"},
    operation_id="getRecordItems",
    summary="What stages made of a record",
)
async def items(
    request: Asked,
    record_id: FromPath[str],
    kind: Annotated[
        str | None,
        QueryParameter(
            name="kind",
            max_length=100,
            description="What a stage of the machine produces; otherwise the last that was made.",
            required=False,
        ),
    ] = None,
    cursor: CursorText = None,
    limit: Limit = ROWS_DEFAULT,
) -> Response[schemas.ItemPage]:
    """Rows in their order. A page never mixes two attempts."""
    return reply(
        await operations.items(
            request, record_id, machine=None, kind=kind, cursor=cursor, limit=limit
        )
    )


@get(
    "/{record_id:str}/logs/{stage:str}",
    opt={"right": "read"},
    operation_id="getRecordLog",
    summary="What was written while a stage ran",
)
async def log(
    request: Asked, record_id: FromPath[str], stage: FromPath[str]
) -> Response[schemas.StageLog]:
    """Every attempt at a stage with its log; `upload` is how the document came in."""
    return reply(await operations.stage_log(request, record_id, stage, machine=None))


@get(
    "/{record_id:str}/explain",
    opt={"right": "read"},
    operation_id="explainRecord",
    summary="Why a record is where it is",
)
async def explain(request: Asked, record_id: FromPath[str]) -> Response[schemas.Why]:
    """A code for programs, a sentence for people, and what to do."""
    caller = caller_of(request)

    def look(app: App) -> Answer:
        record = seen(app, caller, record_id)
        return views.answered(views.why_view(record, app.records.explain(record_id)))

    return reply(await service_of(request).broad.ask(look))


@get(
    "/logs/{stage:str}/{record_id:str}",
    opt={"right": "read"},
    operation_id="getLog",
    summary="A log by its reference",
    tags=["records"],
)
async def log_by_reference(
    request: Asked, stage: FromPath[str], record_id: FromPath[str]
) -> Response[schemas.StageLog]:
    """What `parse_log_ref` and its like lead to."""
    return reply(await operations.stage_log(request, record_id, stage, machine=None))


@get(
    "/counts",
    opt={"right": "read"},
    operation_id="getCounts",
    summary="Count records",
    tags=["records"],
)
async def counts(request: Asked, q: QueryText = None) -> Response[schemas.Counts]:
    """Records by machine and status: all, or those that match."""
    caller = caller_of(request)

    def look(app: App) -> Answer:
        found = app.records.count(within(app.records.query(q or ""), caller.machines))
        items = [
            schemas.StatusCount(machine=machine, status=status, count=count)
            for (machine, status), count in found.items()
        ]
        return views.answered(schemas.Counts(items=items))

    return reply(await service_of(request).broad.ask(look))


@get(
    "/errors",
    opt={"right": "read"},
    operation_id="getErrors",
    summary="Errors by cause",
    tags=["records"],
)
async def errors(request: Asked) -> Response[schemas.Errors]:
    """Why records rest, the most frequent cause first."""
    caller = caller_of(request)

    def look(app: App) -> Answer:
        items = [
            schemas.ErrorGroup(
                machine=group.machine,
                error_code=group.error_code,
                error_message=group.error_message,
                count=group.count,
            )
            for group in app.records.errors()
            if caller.covers(group.machine)
        ]
        return views.answered(schemas.Errors(items=items))

    return reply(await service_of(request).broad.ask(look))


router = Router(
    path="/records",
    route_handlers=[create, list_, show, retry, cancel, prioritise, history, items, log, explain],
    tags=["records"],
)
HANDLERS: list[Any] = [router, log_by_reference, counts, errors]
