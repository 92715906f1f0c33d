"""`/workflows`: contracts that are driven from outside, step by step. Each call runs its step on our workers and waits.

The same call again is safe: what is done is answered as it stands, what is under way is waited for, and what failed of
something that may pass is tried again. A call that is not next is refused with those that are.
"""

import asyncio
import binascii
import time
from base64 import b64decode
from collections.abc import Callable
from typing import Annotated, Any, NoReturn

import msgspec
from litestar import Response, Router, get, post
from litestar.params import Body, FromPath, JSONBody, QueryParameter

from stateward.core.approvals import is_same_person, person_of
from stateward.core.errors import InvalidTransition, ReviewTaken
from stateward.core.model import (
    AUTO,
    FRESH_ANSWER,
    OUTSIDE,
    PERSON,
    SEQUENCER,
    SEQUENCING,
    Fields,
    Record,
    to_iso,
)
from stateward.pipelines.contracts import MODEL_CALLS, schemas
from stateward.pipelines.contracts.schemas import Sequencing
from stateward.server.plugin_api import (
    FORM,
    LOOK_PAUSE_S,
    LOOKED_AT,
    SENDING,
    SENT,
    STEPPING,
    Answer,
    App,
    Ask,
    Asked,
    Caller,
    DecisionRequest,
    FieldFault,
    Form,
    IdempotencyKey,
    IdempotentRequest,
    IfMatch,
    IfNoneMatch,
    Refusal,
    Service,
    Step,
    Submitted,
    UploadReceiver,
    Wait,
    caller_of,
    described_as,
    etag,
    expected_version,
    form_body,
    get_record,
    get_visible_record,
    json_answer,
    once_of,
    own_machine,
    pieces,
    reply,
    retried_step,
    service_of,
    strict_json,
    text_of,
    trace_of,
)

CONTRACT = "contract"
VERTICAL = "vertical"
INGESTED = "parse"  # the step that `ingest` runs
EXTRACTED, COMPARED = "extract", "compare"
REJECT = "reject"
INGEST = "ingest"
JOB_ID = "job_id"
PRODUCT_TYPE = "product_type"
ALIASES = {
    "verticalSlug": f"label.{VERTICAL}",
    "jobId": f"label.{JOB_ID}",
    "productType": f"label.{PRODUCT_TYPE}",
    "filename": "name",
}
JSON_OVERHEAD = 1.4  # base64, and what stands around it
SLACK_BYTES = 1 << 16
RETRY_AFTER_S = 1
REPLAYED = "Idempotency-Replayed"

INGESTING = (*SENDING, "out-of-order", "step-failed", "step-retryable", "step-unfinished")
REVIEWING = (
    *STEPPING, "review-taken", "review-refused", "invalid-correction", "unknown-value",
)  # fmt: skip

SequencingWay = Annotated[
    Sequencing | None,
    QueryParameter(
        name=SEQUENCING,
        description="`outside`: each step waits until it is called for. `auto`: all steps run by themselves.",
        required=False,
    ),
]
ReturnText = Annotated[
    bool,
    QueryParameter(
        name="returnText",
        description="Whether the answer has the text that was read.",
        required=False,
    ),
]
OptionalAsk = Annotated[Ask | None, Body(description="Why it is asked for.")]
OptionalReprocess = Annotated[
    schemas.ReprocessRequest | None, Body(description="Why, and as what kind of contract.")
]


def _ingest_body() -> dict[str, Any]:
    """A contract, as a form or as JSON."""
    body = form_body(("file",), without=("source_type", "name"))
    properties: dict[str, Any] = body["content"][FORM]["schema"]["properties"]
    properties["verticalSlug"] = {"type": "string", "description": "Its vertical.", "maxLength": 40}
    properties["filename"] = {"type": "string", "description": "Its name, instead of the file's."}
    properties["productType"] = {
        "type": "string",
        "description": "What kind of product it is; it selects the prompt of a model.",
        "maxLength": 40,
    }
    properties["jobId"] = {
        "type": "string",
        "description": "What its external driver calls this run.",
        "maxLength": 200,
    }
    _, components = msgspec.json.schema_components([schemas.IngestRequest])
    body["content"]["application/json"] = {"schema": dict(components["IngestRequest"])}
    return body


@post(
    "/ingest",
    opt=described_as("submit", problems=INGESTING, headers={"200": SENT}, body=_ingest_body()),
    status_code=200,
    request_max_body_size=None,
    operation_id="ingestWorkflow",
    summary="Take a contract in and read its text",
)
async def ingest(
    request: Asked,
    key: IdempotencyKey = None,
    sequencing: SequencingWay = None,
    return_text: ReturnText = False,
) -> Response[schemas.Workflow]:
    """Keep a contract, open its workflow and run the first step; with `auto` all of them, without waiting."""
    service, caller = service_of(request), caller_of(request)
    form = await _form(service, caller, request)
    if form.machine != CONTRACT:
        raise Refusal("unprocessable", "a workflow is of the pipeline contract; see /records")
    way = sequencing or OUTSIDE

    def opened(app: App) -> Submitted:
        labels = {**form.labels, SEQUENCING: way}
        if (vertical := form.labels.get(VERTICAL)) is not None:
            app.plugins.configured("contracts").rules.vertical(vertical)
        opening = app.submissions.prepare(
            form.artifact,
            machine=CONTRACT,
            name=form.name,
            labels=labels,
            priority=form.priority,
            actor=_actor(caller),
            reason=form.reason,
            trace=trace_of(request),
        )
        (found,) = app.submissions.create([opening])
        if not _is_other_vertical(found, vertical):
            return found
        # The same bytes as another kind of contract: a workflow of its own, so that neither hides the other.
        return app.external_driver.reprocess(
            found.record.id,
            actor=_actor(caller),
            sequencing=way,
            labels={VERTICAL: vertical},
            machines=_machines(caller),
            reason=form.reason,
            trace=trace_of(request),
            is_ended=False,
        )

    asked = (form.artifact.sha256, msgspec.json.encode(form.labels), str(return_text))
    once = once_of(caller, request, key, asked)

    async def run() -> Answer:
        record = (await service.writer.ask(opened)).record
        if record.labels.get(SEQUENCING) != OUTSIDE:
            return await _document(service, record.id)
        answer = await _run_step(request, _step(request, record.id, INGESTED))
        return await _document(service, record.id, has_text=True) if return_text else answer

    return reply(await _once(request, once, run))


def _is_other_vertical(opened: Submitted, vertical: str | None) -> bool:
    """Whether the same bytes are a workflow already that was taken in, or read, as another vertical."""
    record = opened.record
    before = record.labels.get(VERTICAL) or record.fields.get(VERTICAL)
    return opened.is_duplicate and vertical is not None and before != vertical


@post(
    "/{workflow_id:str}/extract",
    opt=described_as("submit", problems=STEPPING, headers={"200": SENT}),
    status_code=200,
    operation_id="extractWorkflow",
    summary="Extract the terms and check them",
)
async def extract(
    request: Asked,
    workflow_id: FromPath[str],
    key: IdempotencyKey = None,
    if_match: IfMatch = None,
) -> Response[schemas.Workflow]:
    """`needsReview` says whether a person must look at it, `reviewTaskId` which review that is."""
    return reply(await _call_step(request, workflow_id, EXTRACTED, key, if_match))


@post(
    "/{workflow_id:str}/compare",
    opt=described_as("submit", problems=STEPPING, headers={"200": SENT}),
    status_code=200,
    operation_id="compareWorkflow",
    summary="Compare with offers",
)
async def compare(
    request: Asked,
    workflow_id: FromPath[str],
    key: IdempotencyKey = None,
    if_match: IfMatch = None,
) -> Response[schemas.Workflow]:
    """The last step: `comparison` has the offers, ranked."""
    return reply(await _call_step(request, workflow_id, COMPARED, key, if_match))


@post(
    "/{workflow_id:str}/retry",
    opt=described_as("act", problems=STEPPING, headers={"200": SENT}),
    status_code=200,
    operation_id="retryWorkflow",
    summary="Try the failed step again",
)
async def retry(
    request: Asked,
    workflow_id: FromPath[str],
    data: OptionalAsk = None,
    key: IdempotencyKey = None,
    if_match: IfMatch = None,
) -> Response[schemas.Workflow]:
    """Resume at the step that failed, whatever it failed of, and wait for it. Earlier steps are not run again."""
    service, caller = service_of(request), caller_of(request)
    step = _step(request, workflow_id, "", expected_version(service, if_match))
    step = msgspec.structs.replace(step, reason=None if data is None else data.reason)

    async def run() -> Answer:
        record = await service.writer.ask(lambda app: app.external_driver.retry(step))
        stage = await service.quick.ask(lambda app: _retry_step(app, record))
        return await _await_step(request, workflow_id, stage)

    once = once_of(caller, request, key, (await request.body(), if_match or ""))
    return reply(await _once(request, once, run))


def _retry_step(app: App, record: Record) -> str:
    """The step that is tried again; refused where there was nothing to retry."""
    stage = retried_step(app.registry.of(record), record)
    if stage is None:
        _refuse_order(app, record, "retry")
    return stage


@post(
    "/{workflow_id:str}/review",
    opt=described_as("review", problems=REVIEWING, headers={"200": SENT}),
    status_code=200,
    operation_id="reviewWorkflow",
    summary="Bring the answer to a review",
)
async def review(
    request: Asked,
    workflow_id: FromPath[str],
    data: JSONBody[schemas.WorkflowReview],
    key: IdempotencyKey = None,
    if_match: IfMatch = None,
) -> Response[schemas.Workflow]:
    """Approve, correct or reject; `timeout` ends it at its deadline, or earlier for an administrator who says why."""
    service, caller = service_of(request), caller_of(request)
    _check_named(caller, data.reviewer)
    deciding = DecisionRequest(
        record_id=workflow_id,
        action=data.action,
        actor=_actor(caller),
        corrected=data.corrected_data,
        notes=data.notes,
        reviewer=data.reviewer,
        version=expected_version(service, if_match),
        machines=_machines(caller),
        trace=trace_of(request),
        is_administrator=caller.may("admin"),
    )

    async def run() -> Answer:
        try:
            await service.writer.ask(lambda app: _decide(app, deciding, data.vertical_slug))
        except ReviewTaken:
            if not await service.quick.ask(
                lambda app: _is_repeat(app, deciding, data.vertical_slug)
            ):
                raise
        except InvalidTransition:
            await service.quick.ask(
                lambda app: _refuse_order(app, app.record(workflow_id), "review")
            )
        return await _document(service, workflow_id)

    once = once_of(caller, request, key, (await request.body(), if_match or ""))
    return reply(await _once(request, once, run))


def _check_named(caller: Caller, reviewer: str | None) -> None:
    """Who only reviews decides in their own name: in those of others one person would give all approvals."""
    is_own = reviewer is None or is_same_person(reviewer, person_of(caller.actor))
    if not is_own and not caller.may("act"):
        raise Refusal(
            "forbidden",
            "a decision of another person is brought by an external driver, whose key has the right to act",
        )


def _decide(app: App, deciding: DecisionRequest, vertical: str | None) -> None:
    """Make the decision; with another vertical the document is processed again, in the same transaction."""
    if vertical is None:
        app.reviews.decide(deciding)
        return
    if deciding.action != REJECT:
        raise _refused_field("verticalSlug", "another vertical goes with the action `reject`")
    app.plugins.configured("contracts").rules.vertical(vertical)
    with app.store.transaction():
        record = app.reviews.decide(deciding)
        app.external_driver.reprocess(
            record.id,
            actor=deciding.actor,
            labels={VERTICAL: vertical},
            machines=deciding.machines,
            reason=deciding.notes,
            trace=deciding.trace,
        )


def _is_repeat(app: App, deciding: DecisionRequest, vertical: str | None) -> bool:
    """Whether this answer was given before, and its document is processed again as what it asks for."""
    if not app.reviews.is_repeat(deciding):
        return False
    if vertical is None:
        return True
    successors = app.external_driver.successors(app.record(deciding.record_id))
    return any(app.record(each).labels.get(VERTICAL) == vertical for each in successors)


@post(
    "/{workflow_id:str}/reprocess",
    opt=described_as("submit", problems=STEPPING, headers={"200": SENT}),
    status_code=200,
    operation_id="reprocessWorkflow",
    summary="Process a contract that has ended again",
)
async def reprocess(
    request: Asked,
    workflow_id: FromPath[str],
    data: OptionalReprocess = None,
    key: IdempotencyKey = None,
    sequencing: SequencingWay = None,
) -> Response[schemas.Workflow]:
    """A new workflow for the same document, which `replaces` the old one; that keeps its history."""
    service, caller = service_of(request), caller_of(request)
    vertical = None if data is None else data.vertical_slug
    labels = {} if vertical is None else {VERTICAL: vertical}
    if data is not None and data.fresh_answer:
        labels[FRESH_ANSWER] = "yes"

    def opened(app: App) -> Submitted:
        record = get_visible_record(app, caller, workflow_id, machine=CONTRACT)
        if app.registry.of(record).kind[record.status] != "terminal":
            _refuse_order(app, record, "reprocess")
        if vertical is not None:
            app.plugins.configured("contracts").rules.vertical(vertical)
        return app.external_driver.reprocess(
            workflow_id,
            actor=_actor(caller),
            sequencing=sequencing,
            labels=labels,
            machines=_machines(caller),
            reason=None if data is None else data.reason,
            trace=trace_of(request),
        )

    async def run() -> Answer:
        record = (await service.writer.ask(opened)).record
        if record.labels.get(SEQUENCING) != OUTSIDE:
            return await _document(service, record.id)
        return await _run_step(request, _step(request, record.id, INGESTED))

    once = once_of(caller, request, key, (await request.body(),))
    return reply(await _once(request, once, run))


@get(
    "/{workflow_id:str}",
    opt=described_as("read", problems=("not-found",), headers={"200": LOOKED_AT, "304": LOOKED_AT}),
    operation_id="getWorkflow",
    summary="Look at a workflow",
)
async def show(
    request: Asked, workflow_id: FromPath[str], wait: Wait = None, known: IfNoneMatch = None
) -> Response[schemas.Workflow]:
    """Where a contract is, what was found, and what may be called next."""
    return reply(
        await get_record(
            request,
            workflow_id,
            view=workflow_view,
            machine=CONTRACT,
            wait=wait,
            if_none_match=known,
        )
    )


# Steps


async def _call_step(
    request: Asked, workflow_id: str, stage: str, key: str | None, if_match: str | None
) -> Answer:
    service, caller = service_of(request), caller_of(request)
    step = _step(request, workflow_id, stage, expected_version(service, if_match))
    once = once_of(caller, request, key, (if_match or "",))
    return await _once(request, once, lambda: _run_step(request, step))


async def _run_step(request: Asked, step: Step) -> Answer:
    """Have a step run and wait for it."""
    await service_of(request).writer.ask(lambda app: app.external_driver.request_step(step))
    return await _await_step(request, step.record_id, step.stage)


async def _await_step(request: Asked, record_id: str, stage: str) -> Answer:
    """What became of a step, as soon as something did."""
    service = service_of(request)
    deadline = time.monotonic() + service.settings.api.step_seconds_max

    def look(app: App) -> str:
        return app.external_driver.step_state(app.record(record_id), stage)

    while True:
        turn = service.hub.turn()
        standing = await service.quick.ask(look)
        left = deadline - time.monotonic()
        if standing not in ("under_way", "held"):
            break
        if left <= 0 or service.hub.is_ending:
            raise Refusal(
                "step-unfinished",
                f"{record_id} is still at {stage}; call again to wait on",
                headers={"Retry-After": str(RETRY_AFTER_S)},
                record_id=record_id,
                retryable=True,
                allowed=[_call(stage)],
            )
        await service.hub.wait(turn, timeout_s=left)
        await asyncio.sleep(LOOK_PAUSE_S)
    if standing == "done":
        return await _document(service, record_id)
    return await service.quick.ask(lambda app: _unhappy(app, app.record(record_id), stage))


def _unhappy(app: App, record: Record, stage: str) -> NoReturn:
    if app.external_driver.step_state(record, stage) != "failed":
        _refuse_order(app, record, _call(stage))
    is_retryable = app.external_driver.is_retryable(record)
    said = (
        f"{record.id} failed at {record.failed_from}: {record.error_code}: {record.error_message}"
    )
    raise Refusal(
        "step-retryable" if is_retryable else "step-failed",
        said,
        headers={"Retry-After": str(RETRY_AFTER_S)} if is_retryable else {},
        record_id=record.id,
        found=record.status,
        error_code=record.error_code or "",
        retryable=is_retryable,
        allowed=_calls(app, record),
    )


def _refuse_order(app: App, record: Record, call: str) -> NoReturn:
    allowed = _calls(app, record)
    raise Refusal(
        "out-of-order",
        f"{call} is not next: {record.id} is {record.status}; possible: {', '.join(allowed) or 'nothing'}",
        record_id=record.id,
        found=record.status,
        allowed=allowed,
        retryable=False,
    )


async def _document(service: Service, record_id: str, *, has_text: bool = False) -> Answer:
    def look(app: App) -> Answer:
        record = app.record(record_id)
        headers = {"ETag": etag(record.version), "Location": f"/workflows/{record.id}"}
        shown = workflow_view(app, record)
        if has_text:
            shown = msgspec.structs.replace(shown, text=_text(app, record))
        return json_answer(shown, headers=headers)

    return await service.broad.ask(look)


async def _once(request: Asked, once: IdempotentRequest | None, run: Callable[[], Any]) -> Answer:
    """Run it; with an Idempotency-Key the answer is kept, unless it says that the call is to be repeated."""
    if once is None:
        fresh: Answer = await run()
        return fresh
    service = service_of(request)
    service.writer.begin(once)
    try:
        found = await service.quick.ask(lambda app: app.idempotency.answers([once]))
        if (once.caller, once.key) in found:
            fingerprint, before = found[once.caller, once.key]
            if fingerprint != once.fingerprint:
                raise Refusal(
                    "key-reused",
                    "this Idempotency-Key was used for another request; take a new one",
                )
            return msgspec.structs.replace(before, headers={**before.headers, REPLAYED: "true"})
        answer: Answer = await run()
        await service.writer.ask(
            lambda app: app.idempotency.remember(once, answer, now=app.clock())
        )
        return answer
    finally:
        service.writer.end(once)


def _step(request: Asked, record_id: str, stage: str, version: int | None = None) -> Step:
    caller = caller_of(request)
    return Step(
        record_id=record_id,
        stage=stage,
        actor=_actor(caller),
        version=version,
        machines=_machines(caller),
        trace=trace_of(request),
    )


def _actor(caller: Caller) -> str:
    """The caller is the external driver; it makes no decision of its own."""
    return SEQUENCER + caller.actor.removeprefix(PERSON)


def _machines(caller: Caller) -> tuple[str, ...]:
    return (CONTRACT,) if caller.covers(CONTRACT) else ("",)


def _call(stage: str) -> str:
    return INGEST if stage == INGESTED else stage


def _calls(app: App, record: Record) -> list[str]:
    return [_call(each) for each in app.external_driver.next_calls(record)]


# Taking in


async def _form(service: Service, caller: Caller, request: Asked) -> Form:
    if not request.headers.get("content-type", "").startswith("application/json"):
        async with UploadReceiver(
            service, caller, request, machine=CONTRACT, required=("file",), aliases=ALIASES
        ) as reception:
            return await reception.form()
    asked = _read(await _body(service, caller, request))
    app = service.app
    own_machine(app, caller, CONTRACT)
    try:
        content = b64decode(asked.pdf_base64, validate=True)
    except (binascii.Error, ValueError):
        raise _refused_field("pdfBase64", "this is not base64") from None
    if not content:
        raise _refused_field("pdfBase64", "the document is empty")
    bytes_max = _bytes_max(service, caller)
    artifact = await service.upload_thread().ask(
        lambda app: app.artifacts.put((content,), bytes_max=bytes_max)
    )
    given = {
        VERTICAL: asked.vertical_slug,
        PRODUCT_TYPE: asked.product_type,
        JOB_ID: asked.job_id,
    }
    labels = {name: value for name, value in given.items() if value is not None}
    return Form(
        artifact=artifact,
        machine=CONTRACT,
        name=asked.filename,
        labels=labels,
        priority="5",
        reason=None,
    )


# Larger bodies carry a document in them, and are read once only.
STRICT_BYTES_MAX = 1024 * 1024


def _read(body: bytes) -> schemas.IngestRequest:
    if len(body) <= STRICT_BYTES_MAX:
        strict_json(body)
    try:
        return msgspec.json.decode(body, type=schemas.IngestRequest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refusal("invalid-request", f"the document cannot be read: {error}") from None


def _refused_field(field: str, sentence: str) -> Refusal:
    fault = FieldFault(field=field, sentence=sentence)
    return Refusal("unprocessable", f"{field}: {sentence}", errors=[fault])


async def _body(service: Service, caller: Caller, request: Asked) -> bytes:
    limit = _bytes_max(service, caller)
    body = bytearray()
    async for piece, _ in pieces(request, idle_s=service.settings.api.idle_seconds):
        body += piece
        if len(body) > limit * JSON_OVERHEAD + SLACK_BYTES:
            raise Refusal(
                "too-large",
                f"the document has more than {limit} bytes, which is the limit; large ones are sent as {FORM}",
                headers={"Connection": "close"},
                limit=limit,
            )
    return bytes(body)


def _bytes_max(service: Service, caller: Caller) -> int:
    own = None if caller.key is None else caller.key.upload_bytes_max
    return own or service.settings.limits.upload_bytes_max


# View


def workflow_view(app: App, record: Record) -> schemas.Workflow:
    """A contract as its external driver sees it."""
    machine = app.registry.of(record)
    needs_review = machine.kind[record.status] == "suspended"
    confidence = record.fields.get("final_confidence")
    return schemas.Workflow(
        workflow_id=record.id,
        status=record.status,
        version=record.version,
        sequencing=OUTSIDE if machine.is_externally_driven(record) else AUTO,  # type: ignore[arg-type]
        needs_review=needs_review,
        review_task_id=record.id if needs_review else None,
        review_deadline=to_iso(record.due_at) if needs_review and record.due_at else None,
        final_confidence=confidence if isinstance(confidence, int) else None,
        vertical=text_of(record.fields.get(VERTICAL) or record.labels.get(VERTICAL)),
        provider=text_of(record.fields.get("provider")),
        retryable=app.external_driver.is_retryable(record),
        retry_count=record.retry_count,
        error=_error(record),
        next_calls=_calls(app, record),
        fields=_fields(app, record),
        detection=_detection(app, record),
        problems=app.reviews.problems(record),
        comparison=_comparison(app, record),
        model_calls=_model_calls(app, record),
        text=None,
        job_id=text_of(record.labels.get(JOB_ID)),
        filename=text_of(record.labels.get("filename")),
        replaces=record.replaces,
        replaced_by=app.external_driver.successors(record),
        created_at=to_iso(record.created_at),
        updated_at=to_iso(record.entered_at),
    )


def _error(record: Record) -> schemas.WorkflowError | None:
    if record.error_code is None:
        return None
    return schemas.WorkflowError(
        code=record.error_code, message=record.error_message, failed_at_step=record.failed_from
    )


def _detection(app: App, record: Record) -> Fields | None:
    """What the words of the document speak for; null before the extraction, or where it was not looked for."""
    made = record.outputs.get(EXTRACTED)
    found = None if made is None else app.outputs.about(record.id, made).get("detection")
    return found if isinstance(found, dict) else None


def _model_calls(app: App, record: Record) -> list[Fields]:
    """The answers of a model that the extraction rests on; with two extractors they are a part of what it says."""
    made = record.outputs.get(EXTRACTED)
    return [] if made is None else MODEL_CALLS.rows(app.outputs.about(record.id, made))


def _text(app: App, record: Record) -> str | None:
    made = record.outputs.get(INGESTED)
    if made is None:
        return None
    return "\n".join(str(page.get("text") or "") for page in app.outputs.items(record.id, made))


def _fields(app: App, record: Record) -> list[Fields]:
    corrected = record.outputs.get("review")
    if corrected is not None:
        return list(app.outputs.items(record.id, corrected))
    return app.reviews.items(record)


def _comparison(app: App, record: Record) -> Fields | None:
    made = record.outputs.get(COMPARED)
    if made is None:
        return None
    offers: list[Any] = list(app.outputs.items(record.id, made))
    return {**app.outputs.about(record.id, made), "offers": offers}


router = Router(
    path="/workflows",
    route_handlers=[ingest, extract, compare, retry, review, reprocess, show],
    tags=["workflows"],
)
HANDLERS: list[Any] = [router]
