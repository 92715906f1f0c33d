"""`/records`: the same as `/uploads`, for any machine; and what is asked of records together."""

from typing import Annotated, Any, Literal

from litestar import Response, Router, get, post
from litestar.params import Body, FromPath, JSONBody, QueryParameter

from stateward import wire
from stateward.api import asking, views
from stateward.api.bulk import within
from stateward.api.door import Asked, caller_of, reply, seen, service_of
from stateward.api.parameters import (
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
from stateward.api.problems import Refusal
from stateward.api.uploads import OnDuplicate
from stateward.api.views import record_view
from stateward.app import App
from stateward.coordinator import Opened
from stateward.requests import Answer

REQUIRED = ("file", "pipeline")
OptionalAsk = Annotated[wire.Ask | None, Body(description="Why it is asked for.")]


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
) -> Response[wire.RecordOpened]:
    """Keep a document and open its record in the machine that `pipeline` names."""

    def answer(app: App, opened: Opened) -> Answer:
        record, is_duplicate = opened.record, opened.is_duplicate
        if is_duplicate and on_duplicate == "refuse":
            return Refusal(
                "duplicate",
                f"the same bytes are here already, as {record.id}",
                headers={"Location": f"/records/{record.id}"},
                record_id=record.id,
            ).answer()
        headers = {"Location": f"/records/{record.id}", "ETag": views.etag(record.version)}
        document = wire.RecordOpened(record=record_view(app, record), is_duplicate=is_duplicate)
        return views.answered(document, status=200 if is_duplicate else 201, headers=headers)

    return reply(
        await asking.submitted(request, machine="", required=REQUIRED, key=key, answer=answer)
    )


@get("/", opt={"right": "read"}, operation_id="listRecords", summary="List records")
async def list_(
    request: Asked,
    q: QueryText = None,
    status: Statuses = None,
    source_type: SourceTypes = None,
    cursor: CursorText = None,
    limit: Limit = ROWS_DEFAULT,
) -> Response[wire.RecordPage]:
    """Records of all machines that match, newest first."""
    text = asking.query_text(q=q, status=status, source_type=source_type)
    return reply(
        await asking.listed(
            request,
            text,
            view=record_view,
            page=wire.RecordPage,
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
) -> Response[wire.Record]:
    """Where a record is, and what is disclosed at its status."""
    return reply(
        await asking.shown(
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
) -> Response[wire.Record]:
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
) -> Response[wire.Record]:
    """It is then failed, with the code CANCELLED, where its machine has that move."""
    return reply(await _act(request, "cancel", record_id, data, key, if_match))


async def _act(
    request: Asked,
    verb: Literal["retry", "cancel"],
    record_id: str,
    data: wire.Ask | None,
    key: str | None,
    if_match: str | None,
) -> Answer:
    return await asking.acted(
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
    data: JSONBody[wire.PriorityRequest],
    key: IdempotencyKey = None,
) -> Response[wire.Record]:
    """Its place in the queue changes, its status does not; a record that has ended is refused."""
    return reply(await asking.prioritised(request, record_id, data, key=key))


@get(
    "/{record_id:str}/history",
    opt={"right": "read"},
    operation_id="getRecordHistory",
    summary="What happened to a record",
)
async def history(
    request: Asked, record_id: FromPath[str], cursor: CursorText = None, limit: Limit = ROWS_DEFAULT
) -> Response[wire.History]:
    """Every change of status, oldest first, with who, why and its hash."""
    return reply(await asking.history(request, record_id, machine=None, cursor=cursor, limit=limit))


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
) -> Response[wire.ItemPage]:
    """Rows in their order. A page never mixes two attempts."""
    return reply(
        await asking.items(request, record_id, machine=None, kind=kind, cursor=cursor, limit=limit)
    )


@get(
    "/{record_id:str}/logs/{stage:str}",
    opt={"right": "read"},
    operation_id="getRecordLog",
    summary="What was written while a stage ran",
)
async def log(
    request: Asked, record_id: FromPath[str], stage: FromPath[str]
) -> Response[wire.StageLog]:
    """Every attempt at a stage with its log; `upload` is how the document came in."""
    return reply(await asking.stage_log(request, record_id, stage, machine=None))


@get(
    "/{record_id:str}/explain",
    opt={"right": "read"},
    operation_id="explainRecord",
    summary="Why a record is where it is",
)
async def explain(request: Asked, record_id: FromPath[str]) -> Response[wire.Why]:
    """A code for programs, a sentence for people, and what to do."""
    caller = caller_of(request)

    def look(app: App) -> Answer:
        record = seen(app, caller, record_id)
        return views.answered(views.why_view(record, app.explain(record_id)))

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
) -> Response[wire.StageLog]:
    """What `parse_log_ref` and its like lead to."""
    return reply(await asking.stage_log(request, record_id, stage, machine=None))


@get(
    "/counts",
    opt={"right": "read"},
    operation_id="getCounts",
    summary="Count records",
    tags=["records"],
)
async def counts(request: Asked, q: QueryText = None) -> Response[wire.Counts]:
    """Records by machine and status: all, or those that match."""
    caller = caller_of(request)

    def look(app: App) -> Answer:
        found = app.count(within(app.query(q or ""), caller.machines))
        orders = {machine.name: machine.order for machine in app.catalogue.newest.values()}

        def place(pair: tuple[str, str]) -> tuple[str, int, str]:
            return (pair[0], orders.get(pair[0], {}).get(pair[1], 1_000_000), pair[1])

        items = [
            wire.StatusCount(machine=machine, status=status, count=found[machine, status])
            for machine, status in sorted(found, key=place)
        ]
        return views.answered(wire.Counts(items=items))

    return reply(await service_of(request).broad.ask(look))


@get(
    "/errors",
    opt={"right": "read"},
    operation_id="getErrors",
    summary="Errors by cause",
    tags=["records"],
)
async def errors(request: Asked) -> Response[wire.Errors]:
    """Why records rest, the most frequent cause first."""
    caller = caller_of(request)

    def look(app: App) -> Answer:
        items = [
            wire.ErrorGroup(
                machine=group.machine,
                error_code=group.error_code,
                error_message=group.error_message,
                count=group.count,
            )
            for group in app.errors()
            if caller.covers(group.machine)
        ]
        return views.answered(wire.Errors(items=items))

    return reply(await service_of(request).broad.ask(look))


router = Router(
    path="/records",
    route_handlers=[create, list_, show, retry, cancel, prioritise, history, items, log, explain],
    tags=["records"],
)
HANDLERS: list[Any] = [router, log_by_reference, counts, errors]
