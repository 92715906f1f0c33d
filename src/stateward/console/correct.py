"""The correction screen: what a person says about a document, what would come out, and then the new edition.

The fields are the options (hints) that the pipelines of a machine declare. Nothing is stored before it was seen:
accepting is a part of the preview. A secret goes from the form to the reader and nowhere else. What failed or is in
review is retried with them, by a successor.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath

from stateward import schemas
from stateward.app import App
from stateward.console.document import ShownFile, shown_file
from stateward.console.layout import console_of, go_on, html, page, reason_of, refused_line
from stateward.console.record import order_columns
from stateward.console.static_files import BASE
from stateward.core.errors import InvalidRequest
from stateward.core.machine import SOURCE_TYPE
from stateward.core.model import Fields, Record
from stateward.core.view import document_name, flag_codes
from stateward.definition.display import Column, columns_of
from stateward.definition.plugin import Hint
from stateward.server.audit import note_read
from stateward.server.auth import Asked, caller_of, get_visible_record, service_of
from stateward.server.flags import reread
from stateward.storage.audit import DOCUMENT_READ

VALUE_CHARS_MAX = 2000
CODE_CHARS_MAX = 80
COLUMN = "column-"  # and the number of a column: the fields that say what each column is
COLUMNS_MAX = 100
RAW_ROWS_SHOWN = 12
CHANGES_SHOWN = 100


class HintField(msgspec.Struct, frozen=True, kw_only=True):
    """A hint as a field of the form."""

    name: str
    doc: str
    value: str
    choices: tuple[str, ...]
    is_secret: bool


class RawTable(msgspec.Struct, frozen=True, kw_only=True):
    """The first rows of the document, and what a person says that each column is."""

    roles: tuple[str, ...]
    rows: list[list[str]]
    chosen: list[str]


class CorrectionForm(msgspec.Struct, frozen=True, kw_only=True):
    """A record with what can be said about its document."""

    record: Record
    name: str
    flags: list[str]
    fields: list[HintField]
    others: list[HintField]
    """Options of pipelines that read other kinds of documents: for one that was taken for the wrong kind."""
    shown: ShownFile | None
    """The document, where its rows are not shown."""
    table: RawTable | None
    is_retry: bool
    is_in_review: bool
    reason_codes: Mapping[str, str]


class ShownChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What would change, for people: rows with + or -."""

    found: schemas.RereadAnswer
    rows: list[tuple[str, Fields]]
    more: int
    columns: list[Column]
    is_in_review: bool


@get("/records/{record_id:str}/correct", opt={"right": "act"})
async def correction(request: Asked, record_id: FromPath[str]) -> Response[bytes]:
    """The form."""
    caller = caller_of(request)

    def look(app: App) -> CorrectionForm:
        try:
            return form_of(app, get_visible_record(app, caller, record_id))
        finally:
            app.editions.release()

    found = await service_of(request).upload_thread().ask(look)
    await note_read(request, DOCUMENT_READ, record_id=record_id)
    here = "flags" if found.flags else "review" if found.is_in_review else "records"
    return await page(request, "correct.html", {"it": found}, here=here)


@post("/records/{record_id:str}/correct", opt={"right": "act"}, status_code=200)
async def correct(request: Asked, record_id: FromPath[str]) -> Response[bytes]:
    """What would come out; and with `do=accept`, exactly as the API does it, the new edition."""
    given = {name: str(value) for name, value in (await request.form()).items()}
    caller = caller_of(request)
    hints = await service_of(request).broad.ask(
        lambda app: app.plugins.hints(get_visible_record(app, caller, record_id).machine)
    )
    is_accepting = given.get("do") == "accept"
    wanted = reread_request(given, hints, is_preview=not is_accepting)
    answer = await reread(request, record_id, wanted)
    if answer.status >= 400:
        return refused_line(answer)
    found = msgspec.json.decode(answer.body, type=schemas.RereadAnswer)
    if is_accepting:
        console_of(request).forget_badges()
        return go_on(f"{BASE}/records/{found.successor or record_id}")
    shown = await service_of(request).broad.ask(lambda app: _changes(app, record_id, found))
    return html("correct_preview.html", {"it": shown, "base": BASE, "record_id": record_id})


def form_of(app: App, record: Record) -> CorrectionForm:
    """What can be said about a document, with what was said."""
    known = app.plugins.hints(record.machine)
    if not known:
        raise InvalidRequest(f"the pipelines of {record.machine} declare no options")
    values = {**record.labels, **app.editions.hints_of(record)}
    plain = [hint for hint in known.values() if not hint.roles]
    serving = app.plugins.serving(record)
    own = {SOURCE_TYPE, *(each.name for plugin in serving for each in plugin.hints)}
    fields = [_field(app, record, hint, values) for hint in plain]
    table = _table(app, record, [hint for name, hint in known.items() if name in own], values)
    review = app.registry.of(record).review_in.get(record.status)
    return CorrectionForm(
        record=record,
        name=document_name(record),
        flags=flag_codes(record),
        fields=[each for each in fields if each.name in own],
        others=[each for each in fields if each.name not in own],
        shown=None if table else shown_file(app, record, BASE),
        table=table,
        is_retry=app.editions.begins_anew(record),
        is_in_review=review is not None,
        reason_codes={} if review is None else review.reason_codes,
    )


def _field(app: App, record: Record, hint: Hint, values: Fields) -> HintField:
    choices = app.plugins.hint_choices(record.machine, hint)
    if hint.name == SOURCE_TYPE:
        choices = tuple(app.plugins.source_types(record.machine))
    value = "" if hint.is_secret else str(values.get(hint.name) or "")
    if choices and value and value not in choices:
        choices = (*choices, value)  # such as one of settings that have changed since
    return HintField(
        name=hint.name, doc=hint.doc, value=value, choices=choices, is_secret=hint.is_secret
    )


def _table(app: App, record: Record, known: Sequence[Hint], values: Fields) -> RawTable | None:
    hint = next((each for each in known if each.roles), None)
    rows = None if hint is None else app.editions.raw_table(record)
    if hint is None or not rows:
        return None
    width = min(max(map(len, rows)), COLUMNS_MAX)
    chosen = [""] * width
    for part in str(values.get(hint.name) or "").split(","):
        role, _, number = part.partition("=")
        if number.isdecimal() and 0 < int(number) <= width:
            chosen[int(number) - 1] = role
    return RawTable(roles=hint.roles, rows=rows[:RAW_ROWS_SHOWN], chosen=chosen)


def reread_request(
    given: Mapping[str, str], hints: Mapping[str, Hint], *, is_preview: bool
) -> schemas.RereadRequest:
    """What the form says, as a request: all of its fields, so that an empty one takes back what was said before."""
    declared: dict[str, str] = {}
    secrets: dict[str, str] = {}
    for name, hint in hints.items():
        if hint.roles:
            if (columns := _columns(given)) is not None:
                declared[name] = columns
        elif hint.is_secret:
            if given.get(name):
                secrets[name] = given[name][:VALUE_CHARS_MAX]
        elif name in given:
            declared[name] = given[name].strip()[:VALUE_CHARS_MAX]
    return schemas.RereadRequest(
        hints=declared,
        secrets=secrets,
        is_preview=is_preview,
        is_reset=True,
        accept_flags="accept_flags" in given,
        remember="remember" in given,
        reason=reason_of(given),
        reason_code=given.get("reason_code", "")[:CODE_CHARS_MAX] or None,
    )


def _columns(given: Mapping[str, str]) -> str | None:
    """The roles of the columns as one hint; None where the form showed no table."""
    shown = [
        (int(name.removeprefix(COLUMN)), role)
        for name, role in given.items()
        if name.startswith(COLUMN) and name.removeprefix(COLUMN).isdecimal()
    ]
    chosen = [f"{role}={number}" for number, role in sorted(shown) if role]
    return ",".join(chosen) if shown else None


def _changes(app: App, record_id: str, found: schemas.RereadAnswer) -> ShownChanges:
    record = app.records.get(record_id)
    rows = [("-", row) for row in found.removed] + [("+", row) for row in found.added]
    changed = [row for _, row in rows]
    view = app.plugins.item_view(record, found.stage) if found.stage else None
    return ShownChanges(
        found=found,
        rows=rows[:CHANGES_SHOWN],
        more=max(0, len(rows) - CHANGES_SHOWN),
        columns=order_columns(columns_of(view, changed), changed),
        is_in_review=app.registry.of(record).kind[record.status] == "suspended",
    )


HANDLERS: list[Any] = [correction, correct]
