"""`/uploads`: bank statements, by the names that their users know."""

from typing import Annotated, Any, Literal

from litestar import Response, Router, get, post
from litestar.params import Body, FromPath, QueryParameter

from stateward import schemas
from stateward.app import App
from stateward.engine.coordinator import Submitted
from stateward.server import operations, views
from stateward.server.auth import Asked, reply
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
from stateward.server.upload_stream import REQUIRED
from stateward.server.views import UPLOAD, upload_view
from stateward.storage.idempotency import Answer

OnDuplicate = Annotated[
    Literal["refuse", "return"],
    QueryParameter(
        name="on_duplicate",
        description="What to say of bytes that are there already: 409, or with `return` 200.",
        required=False,
    ),
]
OptionalAsk = Annotated[schemas.Ask | None, Body(description="Why it is asked for.")]


@post(
    "/",
    opt={"right": "submit"},
    status_code=201,
    request_max_body_size=None,
    operation_id="createUpload",
    summary="Send a statement",
)
async def create(
    request: Asked, key: IdempotencyKey = None, on_duplicate: OnDuplicate = "refuse"
) -> Response[schemas.Submitted]:
    """Keep a document and open its record. What it is, its content says, not its name."""

    def answer(_: App, opened: Submitted) -> Answer:
        record, is_duplicate = opened.record, opened.is_duplicate
        if is_duplicate and on_duplicate == "refuse":
            return Refusal(
                "duplicate",
                f"the same bytes are here already, as {record.id}",
                headers={"Location": f"/uploads/{record.id}"},
                upload_id=record.id,
            ).answer()
        headers = {"Location": f"/uploads/{record.id}", "ETag": views.etag(record.version)}
        document = views.submitted_view(record, is_duplicate=is_duplicate)
        return views.answered(document, status=200 if is_duplicate else 201, headers=headers)

    return reply(
        await operations.submitted(
            request, machine=UPLOAD, required=REQUIRED, key=key, answer=answer
        )
    )


@get("/", opt={"right": "read"}, operation_id="listUploads", summary="List uploads")
async def list_(
    request: Asked,
    q: QueryText = None,
    status: Statuses = None,
    source_type: SourceTypes = None,
    cursor: CursorText = None,
    limit: Limit = ROWS_DEFAULT,
) -> Response[schemas.UploadPage]:
    """Uploads that match, newest first."""
    text = operations.query_text(q=q, status=status, source_type=source_type)
    return reply(
        await operations.listed(
            request,
            text,
            view=upload_view,
            page=schemas.UploadPage,
            machine=UPLOAD,
            cursor=cursor,
            limit=limit,
        )
    )


@get(
    "/{upload_id:str}", opt={"right": "read"}, operation_id="getUpload", summary="Look at an upload"
)
async def show(
    request: Asked, upload_id: FromPath[str], wait: Wait = None, known: IfNoneMatch = None
) -> Response[schemas.Upload]:
    """Where an upload is. Fields appear when its status makes them due."""
    return reply(
        await operations.shown(
            request, upload_id, view=upload_view, machine=UPLOAD, wait=wait, if_none_match=known
        )
    )


@post(
    "/{upload_id:str}/retry",
    opt={"right": "act"},
    status_code=200,
    operation_id="retryUpload",
    summary="Try a failed upload again",
)
async def retry(
    request: Asked,
    upload_id: FromPath[str],
    data: OptionalAsk = None,
    key: IdempotencyKey = None,
    if_match: IfMatch = None,
) -> Response[schemas.Upload]:
    """Resume at the step that failed."""
    return reply(await _act(request, "retry", upload_id, data, key, if_match))


@post(
    "/{upload_id:str}/cancel",
    opt={"right": "act"},
    status_code=200,
    operation_id="cancelUpload",
    summary="Stop an upload where it is",
)
async def cancel(
    request: Asked,
    upload_id: FromPath[str],
    data: OptionalAsk = None,
    key: IdempotencyKey = None,
    if_match: IfMatch = None,
) -> Response[schemas.Upload]:
    """It is then failed, with the code CANCELLED."""
    return reply(await _act(request, "cancel", upload_id, data, key, if_match))


async def _act(
    request: Asked,
    verb: Literal["retry", "cancel"],
    upload_id: str,
    data: schemas.Ask | None,
    key: str | None,
    if_match: str | None,
) -> Answer:
    return await operations.acted(
        request,
        verb,
        upload_id,
        view=upload_view,
        machine=UPLOAD,
        ask=data,
        if_match=if_match,
        key=key,
    )


@get(
    "/{upload_id:str}/history",
    opt={"right": "read"},
    operation_id="getUploadHistory",
    summary="What happened to an upload",
)
async def history(
    request: Asked, upload_id: FromPath[str], cursor: CursorText = None, limit: Limit = ROWS_DEFAULT
) -> Response[schemas.History]:
    """Every change of status, oldest first, with who, why and its hash."""
    return reply(
        await operations.history(request, upload_id, machine=UPLOAD, cursor=cursor, limit=limit)
    )


@get(
    "/{upload_id:str}/items",
    opt={"right": "read"},
    operation_id="getUploadItems",
    summary="What was read from an upload",
)
async def items(
    request: Asked,
    upload_id: FromPath[str],
    kind: Annotated[
        Literal["observations", "canonicals"] | None,
        QueryParameter(
            name="kind",
            description="Which rows; otherwise the last that were made.",
            required=False,
        ),
    ] = None,
    cursor: CursorText = None,
    limit: Limit = ROWS_DEFAULT,
) -> Response[schemas.ItemPage]:
    """Observations are rows as the file has them; canonicals are clean transactions."""
    return reply(
        await operations.items(
            request, upload_id, machine=UPLOAD, kind=kind, cursor=cursor, limit=limit
        )
    )


@get(
    "/{upload_id:str}/logs/{stage:str}",
    opt={"right": "read"},
    operation_id="getUploadLog",
    summary="What was written while a stage ran",
)
async def log(
    request: Asked, upload_id: FromPath[str], stage: FromPath[str]
) -> Response[schemas.StageLog]:
    """Every attempt at `parse` or `normalize` with its log; `upload` is how the document came in."""
    return reply(await operations.stage_log(request, upload_id, stage, machine=UPLOAD))


HANDLERS: list[Any] = [create, list_, show, retry, cancel, history, items, log]
router = Router(path="/uploads", route_handlers=HANDLERS, tags=["uploads"])
