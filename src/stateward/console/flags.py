"""Flagged results: what a stage calls wrong or incomplete, the document beside its rows, and the decision.

The decision goes through the function of the API, with the version that was looked at: what has moved on is refused.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath

from stateward import schemas
from stateward.app import App
from stateward.console.badges import open_flags
from stateward.console.document import FileLink, ShownFile, file_links, note_shown, shown_file
from stateward.console.layout import console_of, fragment, go_on, page, reason_of, refused_line
from stateward.console.review import CheckedRows, checked_rows, row_marks
from stateward.console.static_files import BASE
from stateward.core.errors import InvalidRequest, UnknownName
from stateward.core.model import NOTES, Micros, Record, clean_text, plain_actor
from stateward.core.view import document_name, flag_codes
from stateward.engine.flags import ACTIONS, FlagAction, FlagDecision
from stateward.server.auth import Asked, Caller, caller_of, service_of
from stateward.server.flags import decide_flags
from stateward.server.problems import Refusal

QUEUE_MAX = 100


class FlaggedRow(msgspec.Struct, frozen=True, kw_only=True):
    """A flagged record in the queue."""

    id: str
    name: str
    machine: str
    status: str
    flags: list[str]
    since: Micros


class FlaggedWork(msgspec.Struct, frozen=True, kw_only=True):
    """One flagged record with its document and its rows."""

    record: Record
    name: str
    flags: list[str]
    notes: list[str]
    checked: CheckedRows
    decision: FlagDecision | None
    shown: ShownFile | None
    table: list[
        list[str]
    ]  # the first rows of a document that a browser cannot show, such as a sheet
    marks: str
    can_correct: bool
    files: list[FileLink]


@get("/flags", opt={"right": "read"})
async def queue(request: Asked) -> Response[bytes]:
    """The queue, and the oldest one of it."""
    return await _page(request, None)


@get("/flags/{record_id:str}", opt={"right": "read"})
async def flag_page(request: Asked, record_id: FromPath[str]) -> Response[bytes]:
    """The queue, and this one."""
    return await _page(request, record_id)


async def _page(request: Asked, record_id: str | None) -> Response[bytes]:
    caller = caller_of(request)
    decided = request.query_params.get("decided", "")

    def look(app: App) -> dict[str, Any]:
        queue = _queue(app, caller)
        rows = queue["rows"]
        wanted = record_id or (rows[0].id if rows else None)
        work = None if wanted is None else look_at(app, caller, wanted)
        return {**queue, "work": work, "decided": _last_decision(app, caller, decided)}

    facts = await service_of(request).broad.ask(look)
    if work := facts["work"]:
        await note_shown(request, work.record, work.shown)
    return await page(request, "flags.html", facts, here="flags")


@get("/flag-queue", opt={"right": "read"})
async def queue_rows(request: Asked) -> Response[bytes]:
    """What changes on it: the queue. What a person is looking at stays as it is."""
    caller = caller_of(request)
    queue = await service_of(request).broad.ask(lambda app: _queue(app, caller))
    of = request.query_params.get("of", "")
    return fragment(request, "flags_queue.html", {**queue, "of": of})


@post("/flags/{record_id:str}/decide", opt={"right": "review"}, status_code=200)
async def decide(request: Asked, record_id: FromPath[str]) -> Response[bytes]:
    """Confirm or reject it, exactly as the API does it; then the next one."""
    form = await request.form()
    action = _action(str(form.get("action", "")))
    wanted = schemas.FlagRequest(action=action, reason=reason_of(form))
    version, seen = request.headers.get("if-match"), str(form.get("seen", ""))
    following = await service_of(request).broad.ask(
        lambda app: _following(app, caller_of(request), record_id, seen=seen)
    )
    answer = await decide_flags(request, record_id, wanted, if_match=version)
    if answer.status >= 400:
        return refused_line(answer)
    console_of(request).forget_badges()
    return go_on(f"{BASE}/flags{following}?{urlencode({'decided': record_id})}")


def _following(app: App, caller: Caller, record_id: str, *, seen: str) -> str:
    """The end of the address of what comes after this one in the queue, which is the oldest after the last.

    `seen` is when the decision was made that the person saw: one that was made since is not replaced unseen.
    """
    made = app.flags.decisions([app.records.get(record_id)]).get(record_id)
    if made is not None and str(made.at) != seen:
        raise Refusal(
            "stale",
            f"{plain_actor(made.actor)} decided it meanwhile ({made.action}): load the page again",
        )
    ids = [each.id for each in app.flags.pending(machines=caller.machines, limit=QUEUE_MAX)]
    later = ids[ids.index(record_id) + 1 :] if record_id in ids else []
    return f"/{quote(later[0], safe='')}" if later else ""


class LastDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What was decided before this page: it can be changed."""

    id: str
    name: str
    action: str


def _last_decision(app: App, caller: Caller, record_id: str) -> LastDecision | None:
    record = app.store.load([record_id]).get(record_id) if record_id else None
    if record is None or not caller.covers(record.machine):
        return None
    made = app.flags.decisions([record]).get(record_id)
    if made is None:
        return None
    return LastDecision(id=record_id, name=document_name(record), action=made.action)


def _action(text: str) -> FlagAction:
    for action in ACTIONS:
        if action == text:
            return action
    raise InvalidRequest("decide: confirm or reject")


def _queue(app: App, caller: Caller) -> dict[str, Any]:
    """The queue, and how many there are: more than are listed, where the list is full."""
    rows = flagged_rows(app, caller)
    total = len(rows) if len(rows) < QUEUE_MAX else max(open_flags(app, caller), len(rows))
    return {"rows": rows, "total": total}


def flagged_rows(app: App, caller: Caller) -> list[FlaggedRow]:
    """What waits, the oldest first."""
    found = app.flags.pending(machines=caller.machines, limit=QUEUE_MAX)
    return [
        FlaggedRow(
            id=each.id,
            name=document_name(each),
            machine=each.machine,
            status=each.status,
            flags=flag_codes(each),
            since=each.entered_at,
        )
        for each in found
    ]


def look_at(app: App, caller: Caller, record_id: str) -> FlaggedWork:
    """One flagged record."""
    record = app.records.get(record_id)
    if not caller.covers(record.machine):
        raise UnknownName("record", clean_text(record_id, chars_max=80))
    found = app.records.find_items(record)
    view = None if found is None else app.plugins.item_view(record, found[0])
    checked = checked_rows(app.records.items(record_id), view)
    shown = shown_file(app, record, BASE)
    is_drawn = shown is not None and shown.is_shown
    return FlaggedWork(
        record=record,
        name=document_name(record),
        flags=flag_codes(record),
        notes=_texts(record.fields.get(NOTES)),
        checked=checked,
        decision=app.flags.decisions([record]).get(record.id),
        shown=shown,
        table=[] if is_drawn else app.editions.raw_table(record) or [],
        marks=msgspec.json.encode(row_marks(checked.rows, view)).decode(),
        can_correct=bool(app.plugins.hints(record.machine)),
        files=file_links(record, app.records.files(record)),
    )


def _texts(value: object) -> list[str]:
    return (
        [str(each) for each in value]
        if isinstance(value, Sequence) and not isinstance(value, str)
        else []
    )


HANDLERS: list[Any] = [queue, flag_page, queue_rows, decide]
