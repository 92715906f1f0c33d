"""`/records`: those of every machine; and what is asked of records together."""

from typing import Annotated, Any, Literal

from litestar import Response, Router, post
from litestar.params import Body, FromPath, JSONBody

from stateward import schemas
from stateward.app import App
from stateward.app.provenance import provenance as make_provenance
from stateward.app.views import error_group_views, status_counts, why_view
from stateward.core.model import Record
from stateward.engine.coordinator import Submitted
from stateward.server import operations, route, submission, views
from stateward.server.auth import Asked, Caller, caller_of, get_visible_record, reply
from stateward.server.bulk import within
from stateward.server.description import described_as, form_body
from stateward.server.headers import trace_of
from stateward.server.parameters import IdempotencyKey, IfMatch, QueryText, query
from stateward.server.resources import any_record, routes_of
from stateward.storage.idempotency import Answer

OptionalAsk = Annotated[schemas.Ask | None, Body(description="Why.")]
OptionalReprocess = Annotated[
    schemas.ReprocessRecordRequest | None, Body(description="Why, and with which hints.")
]
ProvenanceFormat = Annotated[
    Literal["prov", "openlineage"],
    query("format", "`prov` (W3C PROV-JSON) or `openlineage`."),
]


@route.post(
    "/{record_id:str}/priority", "act", "prioritiseRecord", "Let a record go sooner or later"
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


@route.get("/{record_id:str}/explain", "read", "explainRecord", "Why a record is where it is")
async def explain(request: Asked, record_id: FromPath[str]) -> Response[schemas.Why]:
    """A code for programs, a sentence for people, and what to do."""

    def look(app: App, caller: Caller) -> schemas.Why:
        record = get_visible_record(app, caller, record_id)
        return why_view(record, app.records.explain(record_id))

    return await operations.reply_read(request, look)


@route.post(
    "/{record_id:str}/reprocess",
    "submit",
    "reprocessRecord",
    "Process the document of a record that has ended again",
)
async def reprocess(
    request: Asked,
    record_id: FromPath[str],
    data: OptionalReprocess = None,
    key: IdempotencyKey = None,
) -> Response[schemas.RecordOpened]:
    """A new record that `replaces` the old one, which keeps its history; asked for again, the same one."""
    caller = caller_of(request)

    def act(app: App) -> Submitted:
        return app.editions.reprocess(
            record_id,
            {} if data is None else data.hints,
            actor=caller.actor,
            machines=caller.machines,
            reason=None if data is None else data.reason,
            trace=trace_of(request),
        )

    def answer(app: App, opened: Submitted) -> Answer:
        record = views.record_view(app, opened.record)
        document = schemas.RecordOpened(record=record, is_duplicate=opened.is_duplicate)
        return views.json_answer(document)

    return await operations.reply_once(request, key, act, answer)


@route.post(
    "/{record_id:str}/advance",
    "act",
    "advanceRecord",
    "Let a held record go on with its next stage",
)
async def advance(
    request: Asked,
    record_id: FromPath[str],
    data: OptionalAsk = None,
    key: IdempotencyKey = None,
) -> Response[schemas.Record]:
    """In place of its external driver."""
    caller = caller_of(request)

    def act(app: App) -> Record:
        get_visible_record(app, caller, record_id)
        reason = None if data is None else data.reason
        return app.external_driver.advance(record_id, actor=caller.actor, reason=reason)

    return await operations.reply_once(request, key, act, views.record_answer)


@route.post(
    "/{record_id:str}/moves/{event:str}",
    "act",
    "moveRecord",
    "Make a move that the state machine of a record declares",
)
async def move(
    request: Asked,
    record_id: FromPath[str],
    event: FromPath[str],
    data: OptionalAsk = None,
    key: IdempotencyKey = None,
    if_match: IfMatch = None,
) -> Response[schemas.Record]:
    """By the event of one of the machine's `moves`, such as `document.skipped`; refused where it has none from here."""
    return reply(
        await operations.move_record(
            request, record_id, event, ask=data, if_match=if_match, key=key
        )
    )


@route.get(
    "/{record_id:str}/provenance",
    "read",
    "getProvenance",
    "The history of a record as W3C PROV or OpenLineage",
)
async def provenance(
    request: Asked, record_id: FromPath[str], form: ProvenanceFormat = "prov"
) -> Response[schemas.Provenance]:
    """PROV-JSON, or a list of OpenLineage run events; the same history gives the same document."""

    def look(app: App, caller: Caller) -> schemas.Provenance:
        record = get_visible_record(app, caller, record_id)
        document = make_provenance(record, app.records.history(record_id), form=form)
        return schemas.Provenance(record_id=record_id, format=form, document=document)

    return await operations.reply_read(request, look)


async def detect(request: Asked, key: IdempotencyKey = None) -> Response[schemas.Detection]:
    """Asked of every pipeline, without keeping anything: what a person may be shown before it is sent."""
    return reply(await submission.detect_document(request))


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


@route.get(
    "/logs/{stage:str}/{record_id:str}",
    "read",
    "getLog",
    "A log by its reference",
    tags=["records"],
)
async def log_by_reference(
    request: Asked, stage: FromPath[str], record_id: FromPath[str]
) -> Response[schemas.StageLog]:
    """What `parse_log_ref` and its like lead to."""
    return reply(await operations.get_stage_log(request, record_id, stage, machine=None))


@route.get("/counts", "read", "getCounts", "Count records", tags=["records"])
async def counts(request: Asked, q: QueryText = None) -> Response[schemas.Counts]:
    """Records by machine and status: all, or those that match."""

    def look(app: App, caller: Caller) -> schemas.Counts:
        query = within(app.records.query(q or ""), caller.machines)
        found, cancelled = app.records.count(query), app.records.count_cancelled(query)
        return schemas.Counts(items=status_counts(found, cancelled))

    return await operations.reply_read(request, look)


@route.get("/errors", "read", "getErrors", "Errors by cause", tags=["records"])
async def errors(request: Asked) -> Response[schemas.Errors]:
    """Why records rest, the most frequent cause first."""

    def look(app: App, caller: Caller) -> schemas.Errors:
        found = [each for each in app.dashboard.causes() if caller.covers(each.machine)]
        return schemas.Errors(items=error_group_views(found))

    return await operations.reply_read(request, look)


router = Router(
    path="/records",
    route_handlers=[prioritise, explain, reprocess, advance, move, provenance],
    tags=["records"],
)
HANDLERS: list[Any] = [
    routes_of(any_record()),
    router,
    detecting,
    log_by_reference,
    counts,
    errors,
]
