"""`/literature`: add lists of papers, follow them, cite them, and read their intermediate form."""

from typing import Annotated, Any, Literal

import msgspec
from litestar import Response, Router, get, post
from litestar.params import Body, FromPath, QueryParameter

from stateward.core.model import Fields
from stateward.pipelines.literature import MACHINE
from stateward.pipelines.literature.intake import BATCH
from stateward.pipelines.literature.lists import ListedPaper
from stateward.pipelines.literature.papers import (
    AddedPaper,
    AddedPapers,
    Citations,
    SamePapers,
    StoredPapers,
)
from stateward.pipelines.literature.progress import Progress
from stateward.schemas import Request
from stateward.server.plugin_api import (
    SENDING,
    SENT,
    WRITING,
    Answer,
    App,
    Asked,
    Call,
    Caller,
    IdempotencyKey,
    Refusal,
    UploadReceiver,
    caller_of,
    described_as,
    form_body,
    get_visible_record,
    json_answer,
    once_of,
    own_machine,
    reply,
    reply_read,
    service_of,
    trace_of,
    write_once,
)

CITED_MAX = 200
CitationFormat = Annotated[
    Literal["bibtex", "ris", "csl-json"],
    QueryParameter(
        name="format",
        description="The format of the citations; `bibtex` by default.",
        required=False,
    ),
]
CitedIds = Annotated[
    list[str],
    QueryParameter(name="id", description="Records; may be repeated.", max_items=CITED_MAX),
]


Begins = Annotated[
    Literal["pending", "fetched", "legacy"],
    QueryParameter(
        name="begins",
        description="The state that it begins in; `fetched`: its file is what a source would send. `legacy`: a "
        "person adopts or skips it.",
        required=False,
    ),
]


class PapersRequest(Request, frozen=True, kw_only=True):
    """Entries of a list of papers, as many as are looked up together."""

    papers: Annotated[list[ListedPaper], msgspec.Meta(min_length=1, max_length=BATCH)]
    reason: Annotated[str, msgspec.Meta(max_length=2000)] | None = None
    is_filtered: bool = True


GivenPapers = Annotated[PapersRequest, Body(description="The entries of a list.")]


@get(
    "/status",
    opt=described_as("read"),
    operation_id="getLiteratureStatus",
    summary="Papers by source and state, and their pace",
)
async def status(request: Asked) -> Response[Progress]:
    """As `stateward literature status` says it."""

    def look(app: App, caller: Caller) -> Progress:
        own_machine(app, caller, MACHINE)
        return StoredPapers(app, caller.actor).status()

    return await reply_read(request, look)


@get(
    "/duplicates",
    opt=described_as("read"),
    operation_id="listSamePapers",
    summary="Papers that have several records",
)
async def duplicates(request: Asked) -> Response[SamePapers]:
    """They share an identifier, or title and year; the record that was indexed first is the canonical one."""

    def look(app: App, caller: Caller) -> SamePapers:
        own_machine(app, caller, MACHINE)
        return SamePapers(items=StoredPapers(app, caller.actor).duplicates())

    return await reply_read(request, look)


@get(
    "/{record_id:str}/ir",
    opt=described_as("read", problems=("not-found", "invalid-request")),
    operation_id="getIntermediateForm",
    summary="The intermediate form of a paper",
)
async def ir(request: Asked, record_id: FromPath[str]) -> Response[dict[str, Any]]:
    """Blocks with stable ids, kinds, text and places, as one document."""

    def look(app: App, caller: Caller) -> dict[str, Any]:
        record = get_visible_record(app, caller, record_id, machine=MACHINE)
        found: Fields = StoredPapers(app, caller.actor).ir(record.id)
        return found

    return await reply_read(request, look)


@get(
    "/citations",
    opt=described_as("read", problems=("not-found", "invalid-request")),
    operation_id="getCitations",
    summary="Papers as citations",
)
async def citations(
    request: Asked, ids: CitedIds, format_: CitationFormat = "bibtex"
) -> Response[Citations]:
    """BibTeX, RIS or CSL-JSON, as one text; each paper has a key of its own in it."""

    def look(app: App, caller: Caller) -> Citations:
        records = [get_visible_record(app, caller, each, machine=MACHINE).id for each in ids]
        return StoredPapers(app, caller.actor).citations(records, format_)

    return await reply_read(request, look)


@post(
    "/papers",
    opt=described_as("submit", problems=(*WRITING, "unknown-value")),
    status_code=200,
    operation_id="addPapers",
    summary="Add the papers that a list names",
)
async def add(
    request: Asked, data: GivenPapers, key: IdempotencyKey = None
) -> Response[AddedPapers]:
    """A record for every entry; known ones and those that the settings do not want are skipped with the reason.

    With `is_filtered: false` they are taken up as they are: a paper that a record has under another identifier is
    `known`, and gets no record to be skipped. To send the same entries again adds nothing twice. With an idempotency
    key the first answer comes back; without one the entries are known.
    """
    caller = caller_of(request)
    once = once_of(caller, request, key, (await request.body(),))

    def act(app: App) -> AddedPapers:
        own_machine(app, caller, MACHINE)
        added = StoredPapers(app, caller.actor).add(
            data.papers, reason=data.reason, is_filtered=data.is_filtered
        )
        return AddedPapers(items=[AddedPaper.of(each) for each in added])

    def answer(_: App, added: AddedPapers) -> Answer:
        return json_answer(added)

    return reply(await write_once(request, once, Call(act), answer))


@post(
    "/adopted",
    opt=described_as(
        "submit",
        problems=SENDING,
        headers={"200": SENT},
        body=form_body(("file",), without=("source_type", "pipeline")),
    ),
    status_code=200,
    request_max_body_size=None,
    operation_id="adoptPaper",
    summary="Take up a paper of an old ledger from its file",
)
async def adopt(
    request: Asked, begins: Begins = "pending", key: IdempotencyKey = None
) -> Response[AddedPaper]:
    """A record that begins where the work on it had come to elsewhere; its first transition says so.

    Labels are what is known of it: with `label.doi`, `label.pmid`, `label.pmcid`, `label.arxiv` or `label.nct` a paper
    that a record has already is `known`, whatever its file.
    """
    service, caller = service_of(request), caller_of(request)
    async with UploadReceiver(
        service, caller, request, machine=MACHINE, required=("file",)
    ) as receiver:
        form = await receiver.form()
    if form.machine != MACHINE:
        raise Refusal(
            "unprocessable", f"what is adopted is of the pipeline {MACHINE}; see /records"
        )
    said = (form.artifact.sha256, msgspec.json.encode(form.labels, order="sorted"), begins)
    once = once_of(caller, request, key, said)

    def act(app: App) -> AddedPaper:
        submission = app.submissions.prepare(
            form.artifact,
            machine=MACHINE,
            name=form.name,
            labels=form.labels,
            priority=form.priority,
            actor=caller.actor,
            reason=form.reason,
            trace=trace_of(request),
        )
        return StoredPapers(app, caller.actor).adopt(submission, begins=begins)

    def answer(_: App, added: AddedPaper) -> Answer:
        return json_answer(added)

    return reply(await write_once(request, once, Call(act), answer))


HANDLERS: list[Any] = [
    Router(
        path="/literature",
        route_handlers=[status, duplicates, ir, citations, add, adopt],
        tags=["literature"],
    )
]
