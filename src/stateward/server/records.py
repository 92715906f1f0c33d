"""`/records`: those of every machine; and what is asked of records together."""

from typing import Any

from litestar import Response, Router, get, post
from litestar.params import FromPath, JSONBody

from stateward import schemas
from stateward.app import App
from stateward.app.views import error_group_view, status_counts, why_view
from stateward.server import operations, views
from stateward.server.auth import (
    Asked,
    caller_of,
    reply,
    seen,
    service_of,
)
from stateward.server.bulk import within
from stateward.server.description import described_as, form_body
from stateward.server.parameters import (
    IdempotencyKey,
    IfMatch,
    QueryText,
)
from stateward.server.resources import any_record, routes_of
from stateward.storage.idempotency import Answer


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
    if_match: IfMatch = None,
) -> Response[schemas.Record]:
    """Its place in the queue changes, its status does not; a record that has ended is refused."""
    return reply(
        await operations.set_priority(request, record_id, data, key=key, if_match=if_match)
    )


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
        return views.json_answer(why_view(record, app.records.explain(record_id)))

    return reply(await service_of(request).broad.ask(look))


async def detect(request: Asked, key: IdempotencyKey = None) -> Response[schemas.Detection]:
    """Asked of every pipeline, without keeping anything: what a person may be shown before it is sent."""
    return reply(await operations.detect_document(request))


detecting = post(
    "/detect",
    opt=described_as(
        "submit",
        problems=(
            "missing-fields",
            "timed-out",
            "too-large",
            "unsupported-content",
            "storage-full",
        ),
        body=form_body(("file",), without=("source_type", "pipeline", "priority", "reason")),
    ),
    status_code=200,
    request_max_body_size=None,
    operation_id="detectDocument",
    summary="What a document is",
    tags=["records"],
)(detect)


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
    return reply(await operations.get_stage_log(request, record_id, stage, machine=None))


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
        return views.json_answer(schemas.Counts(items=status_counts(found)))

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
            error_group_view(group)
            for group in app.records.errors()
            if caller.covers(group.machine)
        ]
        return views.json_answer(schemas.Errors(items=items))

    return reply(await service_of(request).broad.ask(look))


router = Router(path="/records", route_handlers=[prioritise, explain], tags=["records"])
HANDLERS: list[Any] = [
    routes_of(any_record()),
    router,
    detecting,
    log_by_reference,
    counts,
    errors,
]
