"""Records over HTTP: the routes of `/records`, and of every further path that a plug-in declares for its machine.

`routes_of` makes the same routes for any `RecordRoutes`: submit, list, show, retry, cancel, history, items, files,
logs. A `Resource` of a plug-in differs in its path, in the name of the id, and in that exposed fields stand at the top
level; everything else is one code.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import msgspec
from litestar import Response, Router, get, post
from litestar.params import Body, FromPath, QueryParameter
from litestar.response import Stream
from msgspec import UNSET, UnsetType

from stateward import schemas
from stateward.app import App
from stateward.app.views import text_of
from stateward.core.files import SavedFile
from stateward.core.machine import Machine
from stateward.core.model import Record
from stateward.definition.plugin import Resource
from stateward.engine.coordinator import Submitted
from stateward.server import files, operations, submission, views
from stateward.server.auth import Asked, Caller, reply
from stateward.server.description import (
    ACTING,
    CHANGED,
    LOOKED_AT,
    PAGED,
    SENDING,
    SENT,
    described_as,
    form_body,
)
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
    query,
)
from stateward.server.problems import Refusal
from stateward.server.views import record_view
from stateward.storage.idempotency import Answer

OnDuplicate = Annotated[
    Literal["refuse", "return"],
    query(
        "on_duplicate",
        "The answer for bytes that were submitted before: 409, or with `return` 200.",
    ),
]
OptionalAsk = Annotated[schemas.Ask | None, Body(description="Why it is asked for.")]
KIND_CHARS_MAX = 100
EDITION_MAX = 10**9
StageName = Annotated[
    str | None,
    query("stage", "A stage of the machine, instead of a kind.", max_length=KIND_CHARS_MAX),
]
EditionNumber = Annotated[
    int | None,
    QueryParameter(
        name="edition",
        ge=0,
        le=EDITION_MAX,
        schema_extra={"minimum": 0, "maximum": EDITION_MAX},  # forgotten of what may be absent
        description="As they were before a rebuild: 0 is as the stage made them; otherwise the newest.",
        required=False,
    ),
]
# What a resource does not repeat of a record: its machine is its path, and labels are told one by one.
_LEFT_OUT = ("id", "machine", "exposed", "labels", "replaces", "replaced_by")
_LABELS = {"source_type": str | None, "filename": str | None, "size": schemas.Count | None}


class RecordRoutes(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between the paths at which records are reached. `machine` None is any, which `pipeline` names."""

    path: str
    machine: str | None
    id_field: str
    noun: str
    nouns: str
    required: tuple[str, ...]
    record: type[Any]
    page: type[Any]
    opened: type[Any]
    view: operations.ListedView
    opened_view: Callable[[App, Submitted, submission.Members], Any]
    kinds: tuple[str, ...] = ()

    @property
    def one(self) -> str:
        """`a record`, `an upload`."""
        return f"{'an' if self.noun[0] in 'aeiou' else 'a'} {self.noun}"

    def operation(self, verb: str, *, what: str = "", is_list: bool = False) -> str:
        """The name of an operation: `getUploadItems`, `listRecords`."""
        name = self.nouns if is_list else self.noun
        return f"{verb}{name.title().replace(' ', '')}{what}"


def any_record() -> RecordRoutes:
    """`/records`: those of every machine."""

    def opened(app: App, submitted: Submitted, members: submission.Members) -> schemas.RecordOpened:
        record = record_view(app, submitted.record)
        return schemas.RecordOpened(
            record=record,
            is_duplicate=submitted.is_duplicate,
            edition=submitted.edition,
            note=_note_of(app, submitted),
            members=members,
        )

    return RecordRoutes(
        path="/records",
        machine=None,
        id_field="record_id",
        noun="record",
        nouns="records",
        required=("file",),
        record=schemas.Record,
        page=schemas.RecordPage,
        opened=schemas.RecordOpened,
        view=record_view,
        opened_view=opened,
    )


def records_of(resource: Resource, machine: Machine) -> RecordRoutes:
    """The records of one machine, at the path and by the names that a plug-in declares for them."""
    name = resource.noun.title().replace(" ", "")
    due = [each for each in resource.fields if machine.expose.get(each) == machine.initial]
    running = _running_fields(machine)
    exposed = [(each, _exposed_type(each) | UnsetType, UNSET) for each in resource.fields]
    exposed += [(each, type_ | UnsetType, UNSET) for each, type_ in running.items()]
    further = Annotated[
        dict[str, Any] | UnsetType,
        msgspec.Meta(description="What stages expose that were added to the machine since."),
    ]
    shared = [
        (each.encode_name, each.type)
        for each in msgspec.structs.fields(schemas.Record)
        if each.name not in _LEFT_OUT
    ]
    place = [each for each, _ in shared].index("priority")
    record = msgspec.defstruct(
        name,
        [
            (resource.id_field, str),
            *shared[:2],
            *_LABELS.items(),
            *shared[2:place],
            *exposed,
            ("further", further, UNSET),
            *shared[place:],
        ],
        bases=(schemas.Document,),
        frozen=True,
        kw_only=True,
        namespace={"__doc__": f"{machine.doc} What is not due at its status is absent."},
    )
    page = msgspec.defstruct(
        f"{name}Page",
        [("items", list[record]), ("next", str | None)],  # type: ignore[valid-type]
        bases=(schemas.Document,),
        frozen=True,
        kw_only=True,
        namespace={"__doc__": f"Some {resource.nouns}, newest first; `next` leads on, or is null."},
    )
    opened = msgspec.defstruct(
        f"{name}Submitted",
        [
            (resource.id_field, str),
            ("status", str),
            ("version", schemas.Count),
            *((each, _exposed_type(each)) for each in due),
            ("is_duplicate", bool),
            ("edition", schemas.Count | UnsetType, UNSET),
            ("note", str | UnsetType, UNSET),
            ("members", list[schemas.ArchiveMember] | UnsetType, UNSET),
        ],
        bases=(schemas.Document,),
        frozen=True,
        kw_only=True,
        namespace={
            "__doc__": "What became of a document that was sent: its record, which may have been there."
        },
    )

    def view(app: App, found: Record, files: Sequence[SavedFile] | None = None) -> msgspec.Struct:
        document = msgspec.structs.asdict(record_view(app, found, files))
        exposed = document["exposed"]
        known = (*resource.fields, *running)
        fields = {each: exposed[each] for each in known if each in exposed}
        rest = {each: value for each, value in exposed.items() if each not in fields}
        size = found.labels.get("size")
        return record(
            **{resource.id_field: found.id},
            **{each: document[each] for each, _ in shared},
            source_type=text_of(found.labels.get("source_type")),
            filename=text_of(found.labels.get("filename")),
            size=size if isinstance(size, int) else None,
            **fields,
            further=rest or UNSET,
        )

    def opened_view(app: App, submitted: Submitted, members: submission.Members) -> msgspec.Struct:
        found = submitted.record
        return opened(
            **{resource.id_field: found.id},
            status=found.status,
            version=found.version,
            **{each: found.fields.get(each) for each in due},
            is_duplicate=submitted.is_duplicate,
            edition=UNSET if submitted.edition is None else submitted.edition,
            note=_note_of(app, submitted) or UNSET,
            members=members,
        )

    return RecordRoutes(
        path=resource.path,
        machine=resource.machine,
        id_field=resource.id_field,
        noun=resource.noun,
        nouns=resource.nouns,
        required=resource.required,
        record=record,
        page=page,
        opened=opened,
        view=view,
        opened_view=opened_view,
        kinds=tuple(stage.produces for stage in machine.stages if stage.produces is not None),
    )


def _note_of(app: App, submitted: Submitted) -> str:
    return app.submissions.with_note(submitted).note


def _running_fields(machine: Machine) -> dict[str, Any]:
    """What a record shows while a worker has it, by running state, with the type of each."""
    return {
        f"{state}_{name}": type_
        for state in machine.stage_running_in
        for name, type_ in (("started_at", schemas.Time), ("timeout_seconds", schemas.Seconds))
    }


def _exposed_type(name: str) -> Any:  # noqa: ANN401 - a type
    return schemas.Count | None if name.endswith("_count") else str | None


def routes_of(at: RecordRoutes) -> Router:
    """The routes of one path."""
    handlers = [*_submitting(at), *_looking(at), *_acting(at)]
    return Router(path=at.path, route_handlers=handlers, tags=[at.nouns])


def _id(at: RecordRoutes, request: Asked) -> str:
    # The name of the parameter is that of the resource, so it cannot be the name of an argument.
    return str(request.path_params[at.id_field])


def _one(at: RecordRoutes, below: str = "") -> str:
    return f"/{{{at.id_field}:str}}{below}"


def _answering(handler: Any, document: type[Any]) -> Any:  # noqa: ANN401 - a function, with its type
    """A handler that says in its signature which document it answers with, for the OpenAPI document."""
    handler.__annotations__["return"] = Response[document]  # type: ignore[valid-type]
    return handler


def _submitting(at: RecordRoutes) -> list[Any]:
    async def create(
        request: Asked, key: IdempotencyKey = None, on_duplicate: OnDuplicate = "refuse"
    ) -> Response[Any]:
        """Store a document and create its record. What it is, its content says, not its name.

        Of a zip archive that no pipeline reads as it is, each file is a document; `members` says what became of each.
        """

        def answer(app: App, opened: Submitted, members: submission.Members) -> Answer:
            record, is_duplicate = opened.record, opened.is_duplicate
            location = f"{at.path}/{record.id}"
            # One that came with other hints was not repeated: it was read again, or is said not to be.
            if is_duplicate and on_duplicate == "refuse" and not opened.note:
                has_failed = app.registry.of(record).kind[record.status] == "failed"
                advice = f", which is in {record.status!r}; to try again: POST {location}/retry"
                return Refusal(
                    "duplicate",
                    f"duplicate: the same bytes are stored as {record.id}{advice if has_failed else ''}",
                    headers={"Location": location},
                    **{at.id_field: record.id},
                ).answer()
            headers = {"Location": location, "ETag": views.etag(record.version)}
            status = 200 if is_duplicate else 201
            return views.json_answer(
                at.opened_view(app, opened, members), status=status, headers=headers
            )

        return reply(
            await submission.submit_document(
                request, machine=at.machine or "", required=at.required, key=key, answer=answer
            )
        )

    return [
        post(
            "/",
            opt={
                **described_as(
                    "submit",
                    problems=SENDING,
                    headers={"201": SENT, "200": SENT},
                    body=form_body(at.required),
                ),
                "rechecks": True,
            },
            status_code=201,
            request_max_body_size=None,
            operation_id=at.operation("create"),
            summary=f"Submit {at.one}" if at.machine else "Submit a document to any machine",
        )(_answering(create, at.opened))
    ]


def _looking(at: RecordRoutes) -> list[Any]:
    async def list_(
        request: Asked,
        q: QueryText = None,
        status: Statuses = None,
        source_type: SourceTypes = None,
        cursor: CursorText = None,
        limit: Limit = ROWS_DEFAULT,
    ) -> Response[Any]:
        """Those that match, newest first."""
        text = operations.query_text(q=q, status=status, source_type=source_type)
        return reply(
            await operations.list_records(
                request,
                text,
                view=at.view,
                page=at.page,
                machine=at.machine,
                cursor=cursor,
                limit=limit,
            )
        )

    async def show(request: Asked, wait: Wait = None, known: IfNoneMatch = None) -> Response[Any]:
        """Where it is. Fields appear when its status makes them due."""
        return reply(
            await operations.get_record(
                request,
                _id(at, request),
                view=at.view,
                machine=at.machine,
                wait=wait,
                if_none_match=known,
            )
        )

    def read(app: App, caller: Caller, connection: Asked) -> operations.RecordLook:
        return operations.look_at_record(
            app, caller=caller, record_id=_id(at, connection), view=at.view, machine=at.machine
        )

    async def history(
        request: Asked, cursor: CursorText = None, limit: Limit = ROWS_DEFAULT
    ) -> Response[schemas.History]:
        """Every change of status, oldest first, with who, why and its hash."""
        return reply(
            await operations.get_history(
                request, _id(at, request), machine=at.machine, cursor=cursor, limit=limit
            )
        )

    async def items(
        request: Asked,
        kind: Any = None,  # noqa: ANN401 - which kinds there are, the machine says; see below
        stage: StageName = None,
        edition: EditionNumber = None,
        cursor: CursorText = None,
        limit: Limit = ROWS_DEFAULT,
    ) -> Response[schemas.ItemPage]:
        """Rows in their order. A page never mixes two attempts."""
        return reply(
            await operations.get_items(
                request,
                _id(at, request),
                machine=at.machine,
                kind=kind,
                stage=stage,
                edition=edition,
                cursor=cursor,
                limit=limit,
            )
        )

    items.__annotations__["kind"] = _kind_parameter(at)

    async def list_files(request: Asked) -> Response[schemas.RecordFiles]:
        """Pictures, PDFs, bundles and whatever else its stages derived from the document."""
        return reply(await files.list_files(request, _id(at, request), machine=at.machine))

    async def file(
        request: Asked, stage: FromPath[str], name: FromPath[str], known: IfNoneMatch = None
    ) -> Response[Any] | Stream:
        """The bytes, of which a browser runs nothing. The content type is the stage's where it is one of a few."""
        return await files.get_file(
            request, _id(at, request), stage, name, machine=at.machine, known=known
        )

    async def log(request: Asked, stage: FromPath[str]) -> Response[schemas.StageLog]:
        """Every attempt at a stage with its log; `upload` is how the document came in."""
        return reply(
            await operations.get_stage_log(request, _id(at, request), stage, machine=at.machine)
        )

    paged = {"200": PAGED}
    unknown = ("not-found", "unknown-value")
    return [
        get(
            "/",
            opt=described_as("read", headers=paged),
            operation_id=at.operation("list", is_list=True),
            summary=f"List {at.nouns}",
        )(_answering(list_, at.page)),
        get(
            _one(at),
            opt={
                **described_as(
                    "read", problems=("not-found",), headers={"200": LOOKED_AT, "304": LOOKED_AT}
                ),
                "reads": read,
            },
            operation_id=at.operation("get"),
            summary=f"Look at {at.one}",
        )(_answering(show, at.record)),
        get(
            _one(at, "/history"),
            opt=described_as("read", problems=("not-found",), headers=paged),
            operation_id=at.operation("get", what="History"),
            summary=f"What happened to {at.one}",
        )(history),
        get(
            _one(at, "/items"),
            opt=described_as("read", problems=unknown, headers=paged),
            operation_id=at.operation("get", what="Items"),
            summary=f"What stages made of {at.one}",
        )(items),
        get(
            _one(at, "/files"),
            opt=described_as("read", problems=("not-found",)),
            operation_id=at.operation("get", what="Files"),
            summary=f"Files that stages derived from {at.one}",
        )(list_files),
        get(
            _one(at, "/files/{stage:str}/{name:str}"),
            opt={
                **described_as(
                    "read", problems=unknown, headers={"200": LOOKED_AT, "304": LOOKED_AT}
                ),
                "media_types": files.MEDIA_TYPES,
            },
            operation_id=at.operation("get", what="File"),
            summary="A derived file",
        )(file),
        get(
            _one(at, "/logs/{stage:str}"),
            opt=described_as("read", problems=unknown),
            operation_id=at.operation("get", what="Log"),
            summary="What was written while a stage ran",
        )(log),
    ]


def _kind_parameter(at: RecordRoutes) -> Any:  # noqa: ANN401 - a type
    """The kinds of items that a machine produces; where it may be any machine, any word."""
    described = (
        "Which rows, as a stage of the machine produces them; otherwise the last that were made."
    )
    if not at.kinds:
        parameter = query("kind", described, max_length=KIND_CHARS_MAX)
        return Annotated[str | None, parameter]
    parameter = query("kind", described)
    return Annotated[Literal[at.kinds] | None, parameter]


def _acting(at: RecordRoutes) -> list[Any]:
    async def act(
        request: Asked,
        verb: Literal["retry", "cancel"],
        data: schemas.Ask | None,
        key: str | None,
        if_match: str | None,
    ) -> Response[Any]:
        return reply(
            await operations.act_on_record(
                request,
                verb,
                _id(at, request),
                view=at.view,
                machine=at.machine,
                ask=data,
                if_match=if_match,
                key=key,
            )
        )

    async def retry(
        request: Asked,
        data: OptionalAsk = None,
        key: IdempotencyKey = None,
        if_match: IfMatch = None,
    ) -> Response[Any]:
        """Resume at the step that failed."""
        return await act(request, "retry", data, key, if_match)

    async def cancel(
        request: Asked,
        data: OptionalAsk = None,
        key: IdempotencyKey = None,
        if_match: IfMatch = None,
    ) -> Response[Any]:
        """It is then failed, with the code CANCELLED, where its machine has that move."""
        return await act(request, "cancel", data, key, if_match)

    def route(verb: str, summary: str, handler: Any) -> Any:  # noqa: ANN401 - handlers
        return post(
            _one(at, f"/{verb}"),
            opt=described_as("act", problems=ACTING, headers={"200": CHANGED}),
            status_code=200,
            operation_id=at.operation(verb),
            summary=summary,
        )(_answering(handler, at.record))

    return [
        route("retry", f"Try a failed {at.noun} again", retry),
        route("cancel", f"Stop {at.one} where it is", cancel),
    ]
