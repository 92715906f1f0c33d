"""Flagged results: what a stage calls wrong or incomplete, the document beside its rows, and the decision.

The decision goes through the function of the API, with the version that was looked at: what has moved on is refused.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath

from stateward import schemas
from stateward.app import App
from stateward.console.document import ShownFile, shown_file
from stateward.console.layout import HEADERS, console_of, fragment, html, page, problem_text
from stateward.console.record import order_columns
from stateward.console.review import row_marks
from stateward.console.static_files import BASE
from stateward.core.errors import InvalidRequest, UnknownName
from stateward.core.model import NOTES, Fields, Micros, Record, clean_text
from stateward.core.view import flag_codes
from stateward.definition.display import Column, columns_of
from stateward.engine.flags import ACTIONS, FlagAction, FlagDecision
from stateward.server.auth import Asked, Caller, caller_of, service_of
from stateward.server.flags import decide_flags

QUEUE_MAX = 100
ROWS_MAX = 500
REASON_CHARS_MAX = 2000


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
    rows: list[Fields]
    columns: list[Column]
    decision: FlagDecision | None
    shown: ShownFile | None
    marks: str
    can_correct: bool


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

    def look(app: App) -> tuple[list[FlaggedRow], FlaggedWork | None]:
        rows = flagged_rows(app, caller)
        wanted = record_id or (rows[0].id if rows else None)
        return rows, None if wanted is None else look_at(app, caller, wanted)

    rows, work = await service_of(request).broad.ask(look)
    return await page(request, "flags.html", {"rows": rows, "work": work}, here="flags")


@get("/flag-queue", opt={"right": "read"})
async def queue_rows(request: Asked) -> Response[bytes]:
    """What changes on it: the queue. What a person is looking at stays as it is."""
    caller = caller_of(request)
    rows = await service_of(request).broad.ask(lambda app: flagged_rows(app, caller))
    of = request.query_params.get("of", "")
    return fragment(request, "flags_queue.html", {"rows": rows, "of": of})


@post("/flags/{record_id:str}/decide", opt={"right": "review"}, status_code=200)
async def decide(request: Asked, record_id: FromPath[str]) -> Response[bytes]:
    """Confirm or reject it, exactly as the API does it; then the next one."""
    form = await request.form()
    reason = clean_text(str(form.get("reason", "")).strip(), chars_max=REASON_CHARS_MAX) or None
    wanted = schemas.FlagRequest(action=_action(str(form.get("action", ""))), reason=reason)
    version = request.headers.get("if-match")
    answer = await decide_flags(request, record_id, wanted, if_match=version)
    if answer.status >= 400:
        return html("problem_line.html", {"said": problem_text(answer)}, status=answer.status)
    console_of(request).forget_badges()
    return Response(
        content=b"", headers={**HEADERS, "HX-Redirect": f"{BASE}/flags"}, media_type="text/html"
    )


def _action(text: str) -> FlagAction:
    for action in ACTIONS:
        if action == text:
            return action
    raise InvalidRequest("decide: confirm or reject")


def flagged_rows(app: App, caller: Caller) -> list[FlaggedRow]:
    """What waits, the oldest first."""
    found = app.flags.pending(machines=caller.machines, limit=QUEUE_MAX)
    return [
        FlaggedRow(
            id=each.id,
            name=_name(each),
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
    rows: list[Fields] = []
    view = None
    if found is not None:
        view = app.plugins.item_view(record, found[0])
        rows = [row for _, row in zip(range(ROWS_MAX), app.records.items(record_id), strict=False)]
    return FlaggedWork(
        record=record,
        name=_name(record),
        flags=flag_codes(record),
        notes=_texts(record.fields.get(NOTES)),
        rows=rows,
        columns=order_columns(columns_of(view, rows)),
        decision=app.flags.decisions([record]).get(record.id),
        shown=shown_file(app, record, BASE),
        marks=msgspec.json.encode(row_marks(rows, view)).decode(),
        can_correct=bool(app.plugins.hints(record.machine)),
    )


def _name(record: Record) -> str:
    return str(record.labels.get("filename") or record.id)


def _texts(value: object) -> list[str]:
    return (
        [str(each) for each in value]
        if isinstance(value, Sequence) and not isinstance(value, str)
        else []
    )


HANDLERS: list[Any] = [queue, flag_page, queue_rows, decide]
