"""One record: where it is and why, its document beside its results, its history, and what may be done with it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, islice
from pathlib import PurePath
from typing import Annotated, Any, Literal
from urllib.parse import quote

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath, QueryParameter
from litestar.response import Stream
from markupsafe import Markup

from stateward import schemas
from stateward.app import App
from stateward.app.views import attempt_view
from stateward.console.document import (
    content_of,
    file_links,
    note_shown,
    pictures_of,
    place_of,
    shown_file,
)
from stateward.console.kinds import CANCELLED_NAME, shown_kind, state_kind
from stateward.console.layout import (
    HEADERS,
    console_of,
    fragment,
    page,
    reason_of,
    refused_line,
    seconds_between,
    tell_page,
    value_text,
)
from stateward.console.static_files import BASE
from stateward.core.errors import InvalidRequest, UnknownName
from stateward.core.machine import CANCEL_REQUESTED, RETRY_REQUESTED, Machine
from stateward.core.model import NOTES, Fields, Micros, Record, Transition, clean_text
from stateward.core.view import Explanation, document_name, flag_codes
from stateward.definition.display import (
    Column,
    columns_of,
    csv_lines,
    doubt_of,
    flagged_rows,
    with_flags,
)
from stateward.definition.draw import to_svg
from stateward.monitoring.dashboard import AttemptSummary
from stateward.server import operations
from stateward.server.audit import note_read
from stateward.server.auth import Asked, Caller, caller_of, get_visible_record, service_of
from stateward.server.files import OCTETS, download_link, sandboxed_stream
from stateward.server.problems import Refusal
from stateward.server.views import record_view
from stateward.storage.audit import DOCUMENT_READ, EXPORTED, AuditEntry
from stateward.storage.idempotency import Answer
from stateward.storage.keys import roles_with

TIMELINE_ROWS = 40
ATTEMPTS_SHOWN = 40
ITEM_ROWS = 100
ACTS_SHOWN = 20
CODE_CHARS_READ = 14
VERBS = ("retry", "cancel", "priority")
SAID = (
    "count",
    "error_code",
    "error_message",
    NOTES,
    "rest",
    "reason",
    "retry_count",
    "final_confidence",
)
# By the code of an explanation: what the buttons of the page do. The words of `explain` name commands.
DECIDED_HERE = frozenset({"waiting_for_person", "ended"})
RETRIED_HERE = {
    "failed": "Fix the cause, then retry it.",
    "given_up": "Fix the cause, then retry it.",
    "failed_outside": "Retry starts it again at once.",
    "waiting_for_retry": "Retry starts it again at once.",
    "cancelled": "Retry takes it up again.",
}
ENCRYPTED = "PDF_ENCRYPTED"

Before = Annotated[int | None, QueryParameter(name="before", ge=0, required=False)]
Place = Annotated[int, QueryParameter(name="place", ge=0, required=False)]
StageName = Annotated[str, QueryParameter(name="stage", max_length=100, required=False)]
FileName = Annotated[str, QueryParameter(name="file", max_length=400, required=False)]


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the timeline; `took_s` is how long the record then stayed."""

    transition: Transition
    kind: str
    took_s: float
    is_present: bool
    fields: list[tuple[str, object]]


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """All that the page of a record shows at once."""

    record: Record
    name: str
    status: str
    kind: str
    why: Explanation
    advice: str
    is_flagged: bool
    exposed: Fields
    labels: Fields
    replaced_by: list[str]
    drawing: str
    entries: list[Entry]
    older: int | None
    attempts: list[tuple[int, AttemptSummary]]
    acts: list[AuditEntry]
    can_retry: bool
    can_cancel: bool
    can_place: bool
    can_correct: bool
    is_retry: bool
    can_review: bool
    moves: list[tuple[str, str]]
    max_retries: int
    pictures: Mapping[str, str]
    now: Micros


@get("/records/{record_id:str}", opt={"right": "read"})
async def record(request: Asked, record_id: FromPath[str]) -> Response[bytes]:
    """The whole page."""
    looked = await _look_up(request, record_id)
    return await page(request, "record.html", {"it": looked}, here="records")


@get("/records/{record_id:str}/live", opt={"right": "read"})
async def live(request: Asked, record_id: FromPath[str]) -> Response[bytes]:
    """What changes on it."""
    return fragment(request, "record_live.html", {"it": await _look_up(request, record_id)})


async def _look_up(request: Asked, record_id: str) -> Looked:
    caller = caller_of(request)
    return await service_of(request).broad.ask(lambda app: look(app, caller, record_id))


def look(app: App, caller: Caller, record_id: str) -> Looked:
    """A record with the end of its history."""
    found = get_visible_record(app, caller, record_id)
    machine = app.registry.of(found)
    entries, older = timeline(app, found, machine, before=None)
    kind = shown_kind(machine, found)
    path = app.dashboard.path(record_id)
    why = app.records.explain(record_id)
    return Looked(
        record=found,
        name=document_name(found),
        status=CANCELLED_NAME if kind == CANCELLED_NAME else found.status,
        kind=kind,
        why=why,
        advice=_advice(why, found, can_correct=can_correct(app, found), may_act=caller.may("act")),
        is_flagged=bool(flag_codes(found)) and not app.flags.decisions([found]),
        exposed=machine.exposed(found),
        labels=found.labels,
        replaced_by=app.external_driver.successors(found),
        drawing=Markup(  # noqa: S704 - `to_svg` escapes every text
            to_svg(
                machine,
                path=path,
                present=found.status,
                following=_following(machine, found),
                is_styled=False,
            )
        ),
        entries=entries,
        older=older,
        attempts=_number(app.dashboard.attempts(record_id, limit=ATTEMPTS_SHOWN)),
        acts=app.audit.entries(record_id=record_id, limit=ACTS_SHOWN),
        can_retry=(found.status, RETRY_REQUESTED) in machine.rules,
        can_cancel=(found.status, CANCEL_REQUESTED) in machine.rules,
        can_place=machine.kind[found.status] != "terminal",
        can_correct=can_correct(app, found),
        is_retry=machine.kind[found.status] in ("failed", "suspended"),
        can_review=kind == "suspended" and found.status in machine.review_in,
        moves=[
            (each.on, each.to)
            for each in machine.moves
            if each.source == found.status and each.on not in (RETRY_REQUESTED, CANCEL_REQUESTED)
        ],
        max_retries=machine.retry_of(found).max_retries,
        pictures=pictures_of(found, app.records.files(found)),
        now=app.clock(),
    )


def can_correct(app: App, record: Record) -> bool:
    """Whether a document can be read again, or retried, with other options."""
    if record.artifact is None or not app.plugins.hints(record.machine):
        return False
    kind = app.registry.of(record).kind[record.status]
    return kind in ("failed", "suspended") or (kind == "terminal" and bool(record.outputs))


def _advice(why: Explanation, record: Record, *, can_correct: bool, may_act: bool) -> str:
    """What to do, by the buttons of this page; where it has none for it, what `stateward explain` says."""
    if why.code in DECIDED_HERE:
        return ""
    if why.code not in RETRIED_HERE:
        return why.advice
    if not may_act:
        return f"A key with the role {roles_with('act')} can retry it."
    if record.error_code == ENCRYPTED and can_correct:
        return "Enter its password under Retry with other options."
    return RETRIED_HERE[why.code]


def _following(machine: Machine, record: Record) -> tuple[str, ...]:
    """The statuses that may come next; a failed record goes on where it failed."""
    if machine.kind[record.status] != "failed" or record.failed_from is None:
        return machine.allowed_from(record.status)
    stage = machine.stage_of(machine.current_name(record.failed_from, record))
    return machine.allowed_from(record.status) if stage is None else (stage.resume,)


def _made_by_stage(app: App, record: Record) -> list[tuple[str, str]]:
    """What there are items of, the newest first: each stage, and what people call its items."""
    kinds = {stage.name: stage.produces for stage in app.registry.of(record).stages}
    made = sorted(record.outputs, key=lambda name: -record.outputs[name])
    views = {name: app.plugins.item_view(record, name) for name in made}
    return [
        (name, (view.title if view else "") or kinds.get(name) or name)
        for name, view in views.items()
    ]


def _number(attempts: list[AttemptSummary]) -> list[tuple[int, AttemptSummary]]:
    """Attempts, newest first, each with its number among those at the same stage."""
    counted: Counter[str] = Counter()
    numbered = []
    for each in reversed(attempts):
        counted[each.stage] += 1
        numbered.append((counted[each.stage], each))
    return numbered[::-1]


# The timeline


@get("/records/{record_id:str}/timeline", opt={"right": "read"})
async def older(request: Asked, record_id: FromPath[str], before: Before = None) -> Response[bytes]:
    """What happened before."""
    caller = caller_of(request)

    def look_(app: App) -> dict[str, Any]:
        found = get_visible_record(app, caller, record_id)
        entries, rest = timeline(app, found, app.registry.of(found), before=before)
        return {"entries": entries, "older": rest, "record": found}

    return fragment(request, "timeline.html", await service_of(request).broad.ask(look_))


def timeline(
    app: App, record: Record, machine: Machine, *, before: int | None
) -> tuple[list[Entry], int | None]:
    """A page of what happened, newest first, and the version to go on before; None where it began."""
    # One more at each end: the one after says how long the first stayed, the one before says whether there is more.
    top = None if before is None else before + 1
    found = app.dashboard.timeline(record.id, before=top, limit=TIMELINE_ROWS + 2)
    later = found.pop(0).at if before is not None and found else app.clock()
    shown = found[:TIMELINE_ROWS]
    ends = [later, *(each.at for each in shown)]
    entries = [
        Entry(
            transition=each,
            kind=_entry_kind(machine, each),
            took_s=seconds_between(each.at, end),
            is_present=each.version == record.version,
            fields=_stated_fields(each),
        )
        for each, end in zip(shown, ends, strict=False)
    ]
    has_more = len(found) > TIMELINE_ROWS
    return entries, shown[-1].version if has_more and shown else None


def _entry_kind(machine: Machine, transition: Transition) -> str:
    is_cancelled = transition.trigger == CANCEL_REQUESTED
    return CANCELLED_NAME if is_cancelled else state_kind(machine, transition.target)


def _stated_fields(transition: Transition) -> list[tuple[str, object]]:
    metadata = transition.metadata
    return [
        (name, metadata[name])
        for name in SAID
        if metadata.get(name) not in (None, "", []) and (name, metadata[name]) != ("retry_count", 0)
    ]


# Acting


@get("/records/{record_id:str}/ask/{verb:str}", opt={"right": "act"})
async def ask(request: Asked, record_id: FromPath[str], verb: FromPath[str]) -> Response[bytes]:
    """Why, before it is done."""
    caller = caller_of(request)

    def look_(app: App) -> tuple[Record, str]:
        """The record, and where a move of its machine leads."""
        found = get_visible_record(app, caller, record_id)
        if verb in VERBS:
            return found, ""
        moves = {
            each.on: each.to for each in app.registry.of(found).moves if each.source == found.status
        }
        if verb not in moves:
            raise UnknownName("action", clean_text(verb, chars_max=40), [*VERBS, *moves])
        return found, moves[verb]

    found, to = await service_of(request).quick.ask(look_)
    is_fifo = service_of(request).settings.machine(found.machine).is_fifo
    facts = {"record": found, "verb": verb, "to": to, "is_fifo": is_fifo}
    return fragment(request, "ask.html", facts)


@post("/records/{record_id:str}/act/{verb:str}", opt={"right": "act"}, status_code=200)
async def act(request: Asked, record_id: FromPath[str], verb: FromPath[str]) -> Response[bytes]:
    """Retry, cancel, change the priority, or make a move of the machine: exactly as the API does it."""
    form = await request.form()
    reason = reason_of(form)
    if verb == "priority":
        number = str(form.get("priority", ""))
        if not number.isdecimal() or not 1 <= int(number) <= 10:
            raise InvalidRequest("a priority is a number from 1 to 10")
        wanted = schemas.PriorityRequest(priority=int(number), reason=reason)
        answer = await operations.set_priority(request, record_id, wanted, key=None, if_match="*")
    elif verb in ("retry", "cancel"):
        answer = await _act(request, "retry" if verb == "retry" else "cancel", record_id, reason)
    else:
        wish = schemas.Ask(reason=reason)
        answer = await operations.move_record(
            request,
            record_id,
            verb,
            ask=wish,
            if_match=request.headers.get("if-match") or "*",
            key=None,
        )
    if answer.status >= 400:
        return refused_line(answer)
    console_of(request).forget_badges()
    done = {"retry": "It is tried again.", "cancel": "It is cancelled."}.get(verb, "Done.")
    return tell_page(close={}, refresh={}, toast={"value": done})


async def _act(
    request: Asked, verb: Literal["retry", "cancel"], record_id: str, reason: str | None
) -> Answer:
    return await operations.act_on_record(
        request,
        verb,
        record_id,
        view=record_view,
        machine=None,
        ask=schemas.Ask(reason=reason),
        if_match=request.headers.get("if-match"),
        key=None,
    )


# Results


@get("/records/{record_id:str}/items", opt={"right": "read"})
async def items(
    request: Asked, record_id: FromPath[str], stage: StageName = "", place: Place = 0
) -> Response[bytes]:
    """Rows that a stage made."""
    caller = caller_of(request)

    def look_(app: App) -> dict[str, Any]:
        found = get_visible_record(app, caller, record_id)
        name = _stage(app, found, stage)
        rows = (
            list(islice(app.items(record_id, name), place, place + ITEM_ROWS + 1)) if name else []
        )
        view = app.plugins.item_view(found, name)
        places = [place_of(view, row) for row in rows[:ITEM_ROWS]]
        about = app.records.about(record_id, name) if name else {}
        tables = () if view is None else view.tables
        return {
            "record": found,
            "stage": name,
            "stages": _made_by_stage(app, found),
            "rows": rows[:ITEM_ROWS],
            "columns": order_columns(columns_of(view, rows[:ITEM_ROWS]), rows),
            "places": places if any(places) else [],
            "pictures": pictures_of(found, app.records.files(found)),
            "place": place,
            "earlier": [("First", 0), ("Previous", max(0, place - ITEM_ROWS))] if place else [],
            "next": place + ITEM_ROWS if len(rows) > ITEM_ROWS else None,
            "about": about,
            "tables": [(each, made) for each in tables if (made := each.rows(about))],
            "headline": headline(app, found),
            "notes": found.fields.get(NOTES) or [],
            "forms": ["csv", "json", *app.plugins.exports(found, name)],
        }

    return fragment(request, "items.html", await service_of(request).broad.ask(look_))


def order_columns(columns: Sequence[Column], rows: Sequence[Fields]) -> list[Column]:
    """What people read first; identifiers, which programs need, last. A unit or a currency stays beside its value."""
    return sorted(columns, key=lambda column: column.format == "code" and _is_long(column, rows))


def _is_long(column: Column, rows: Sequence[Fields]) -> bool:
    return any(len(column.text(row)) > CODE_CHARS_READ for row in rows)


def headline(app: App, record: Record) -> str:
    """The sentence that sums the record up, where its pipeline declares one and its stage is done."""
    result = app.plugins.record_view(record.machine).result
    if result is None or result[0] not in record.outputs:
        return ""
    stage, key = result
    return value_text(app.records.about(record.id, stage).get(key))


def _stage(app: App, record: Record, name: str) -> str:
    """The named stage; else the one whose items are in review, else one that made rows, else the newest."""
    made = [stage for stage, _ in _made_by_stage(app, record)]
    if name and name not in made:
        raise UnknownName("stage", clean_text(name, chars_max=80), made)
    reviews = app.registry.of(record).review_in
    review = reviews.get(record.status)
    reviewed = [review.of] if review and review.of in made else []
    # A last stage without rows gives way to what people look at.
    looked_at = {each for found in reviews.values() for each in (found.name, found.of)}
    subjects = [stage for stage in made if stage in looked_at]
    filled = (
        stage
        for stage in (*made[:1], *subjects, *made)
        if next(app.items(record.id, stage), None) is not None
    )
    return name or next(chain(reviewed, filled, made), "")


@get("/records/{record_id:str}/export/{form:str}", opt={"right": "read"})
async def export(
    request: Asked, record_id: FromPath[str], form: FromPath[str], stage: StageName = ""
) -> Response[Any]:
    """All rows as a file; in CSV no cell is a formula."""
    caller = caller_of(request)

    def make(app: App) -> tuple[str, str, bytes]:
        found = get_visible_record(app, caller, record_id)
        name = _stage(app, found, stage)
        document = record_view(app, found)
        flags = document.flags if document.flag_decision is None else []
        rows = flagged_rows(app.items(record_id, name) if name else iter(()), flags)
        further = app.plugins.exports(found, name)
        file = f"{found.id}-{name or 'items'}.{form}"
        if form == "csv":
            lines = csv_lines(rows, with_flags(app.plugins.item_view(found, name)))
            return file, "text/csv", "".join(lines).encode("utf-8-sig")
        if form == "json":
            return file, "application/json", msgspec.json.encode(list(rows))
        if form not in further:
            raise UnknownName("format", clean_text(form, chars_max=20), ("csv", "json", *further))
        export = further[form]
        doubts = [doubt_of(found.id, flags)] if flags else []
        return file, export.media_type, "".join(export.written(rows, doubts)).encode()

    name, media_type, body = await service_of(request).broad.ask(make)
    await note_read(request, EXPORTED, record_id=record_id, what="items", form=form)
    headers = {
        **HEADERS,
        "Content-Disposition": f'attachment; filename="{name}"',
        "Content-Security-Policy": "default-src 'none'; sandbox",
    }
    return Response(content=body, media_type=media_type, headers=headers)


@get("/records/{record_id:str}/log/{version:int}", opt={"right": "read"})
async def log(request: Asked, record_id: FromPath[str], version: FromPath[int]) -> Response[bytes]:
    """What was written during one attempt."""
    caller = caller_of(request)

    def look_(app: App) -> dict[str, Any]:
        get_visible_record(app, caller, record_id)
        mark = app.outputs.result(record_id, version)
        if mark is None:
            raise UnknownName("attempt", str(version))
        attempts = _number(app.dashboard.attempts(record_id, limit=ATTEMPTS_SHOWN))
        number = next((number for number, each in attempts if each.version == version), None)
        return {"mark": mark, "number": number, "lines": attempt_view(mark).log}

    return fragment(request, "log.html", await service_of(request).broad.ask(look_))


# The document


@get("/records/{record_id:str}/document", opt={"right": "read"})
async def document(
    request: Asked, record_id: FromPath[str], file: FileName = ""
) -> Response[bytes]:
    """The document or a file that a stage derived from it, shown so that nothing in it can act."""
    caller = caller_of(request)

    def look_(app: App) -> dict[str, Any]:
        found = get_visible_record(app, caller, record_id)
        files = file_links(found, app.records.files(found))
        shown = shown_file(app, found, BASE, file=file)
        return {"record": found, "shown": shown, "files": files}

    facts = await service_of(request).broad.ask(look_)
    await note_shown(request, facts["record"], facts["shown"])
    return fragment(request, "document.html", facts)


@get("/records/{record_id:str}/content", opt={"right": "read", "by_link": True})
async def content(
    request: Asked,
    record_id: FromPath[str],
    save: Annotated[bool, QueryParameter(name="save", required=False)] = False,
) -> Response[Any] | Stream:
    """The bytes of the document, in a cage: whatever they are, a browser runs nothing of them."""
    service, caller = service_of(request), caller_of(request)
    found = await service.quick.ask(lambda app: get_visible_record(app, caller, record_id))
    await note_read(request, DOCUMENT_READ, record_id=found.id)
    if save and found.artifact and (link := await download_link(request, found.artifact)):
        return link
    what = await service.upload_thread().ask(lambda app: content_of(app, found))
    if what is None:
        raise Refusal("not-found", "this record has no document here")
    # The viewer draws a PDF from its bytes. Opened by itself it is saved: a browser's own reader runs what is in it.
    is_saved = save or not what.is_shown or what.form == "pdf"
    headers = {"Cache-Control": "private, no-store"}
    if is_saved:
        headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{_saved_name(found)}"
    media_type = OCTETS if save else what.media_type
    return sandboxed_stream(
        request, what.path, size=what.size, media_type=media_type, headers=headers
    )


def _saved_name(record: Record) -> str:
    """The name under which a browser saves the document, as a header has it: whatever it is, it is one name."""
    name = PurePath(document_name(record)).name
    return quote(name or record.id, safe="", errors="replace")


HANDLERS: list[Any] = [
    record, live, older, ask, act, items, export, log, document, content,
]  # fmt: skip
