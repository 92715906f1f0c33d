"""Records: one query in the address, pages of rows, and acting on all that match after seeing how many that is."""

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath, QueryParameter
from msgspec.structs import replace

from stateward.app import App
from stateward.console.board import Row, rows_of
from stateward.console.kinds import CANCELLED_NAME, state_kinds
from stateward.console.layout import fragment, page, value_text
from stateward.core.errors import InvalidRequest
from stateward.core.machine import Machine
from stateward.core.model import PRIORITY_MAX, PRIORITY_MIN, PRIORITY_NORMAL, Fields, Micros, Record
from stateward.core.query import Query, Term
from stateward.server import batches, bulk, views
from stateward.server.auth import Asked, Caller, caller_of, service_of
from stateward.server.bulk import within
from stateward.server.paging import Cursor, list_name, read_cursor, write_cursor
from stateward.storage.idempotency import Batch
from stateward.storage.saved_views import SavedView
from stateward.storage.search import NEWEST, Order

ROWS = 50
COUNTED_MAX = 10_000
COLUMNS_MAX = 5
PAGE_IDS_MAX = 100
CURSOR_CHARS_MAX = 4000

QUERY_CHARS_MAX = 8000

QueryText = Annotated[str, QueryParameter(name="q", max_length=QUERY_CHARS_MAX, required=False)]
CursorText = Annotated[
    str, QueryParameter(name="cursor", max_length=CURSOR_CHARS_MAX, required=False)
]
SortText = Annotated[str, QueryParameter(name="sort", max_length=40, required=False)]


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A page of records."""

    rows: list[tuple[Row, list[str], int, int, Micros]]
    columns: list[str]
    next: str
    message: str = ""
    sort: str = ""

    def sorted_by(self, name: str) -> str:
        """`descending`, `ascending` or none: how a column is sorted now."""
        now = self.sort or NEWEST.by
        return {name: "descending", f"+{name}": "ascending"}.get(now, "none")

    def next_sort(self, name: str) -> str:
        """What a press on a column's head asks for: falling first, then rising."""
        return f"+{name}" if self.sorted_by(name) == "descending" else name


class StatusCount(msgspec.Struct, frozen=True, kw_only=True):
    """How many of those that match have a status, and the terms that leave only them."""

    machine: str
    status: str
    kind: str
    count: int
    terms: str


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """How many match."""

    total: int
    is_more: bool
    by_status: list[StatusCount]


@get("/records", opt={"right": "read"})
async def records(
    request: Asked, q: QueryText = "", cursor: CursorText = "", sort: SortText = ""
) -> Response[bytes]:
    """The list; its query and order stand in the address."""
    service, caller = service_of(request), caller_of(request)
    listed = await service.broad.ask(lambda app: look(app, caller, q, cursor, sort))
    views_ = await service.quick.ask(lambda app: app.saved_views.of(caller.id))
    facts = {
        "views": views_,
        "q": q,
        "sort": sort,
        "cursor": cursor,
        "is_first": not cursor,
        "listed": listed,
        "counted_max": COUNTED_MAX,
        "address": _address(q, sort),
    }
    status = 400 if listed.message else 200
    return await page(request, "records.html", facts, here="records", status=status)


@get("/records/rows", opt={"right": "read"})
async def rows(
    request: Asked, q: QueryText = "", cursor: CursorText = "", sort: SortText = ""
) -> Response[bytes]:
    """The rows as they are now, for a list that stays open."""
    caller = caller_of(request)
    listed = await service_of(request).broad.ask(lambda app: look(app, caller, q, cursor, sort))
    facts = {"listed": listed, "q": q, "is_first": not cursor, "address": _address(q, sort)}
    return fragment(request, "records_rows.html", facts)


@get("/records/count", opt={"right": "read"})
async def count(request: Asked, q: QueryText = "", sort: SortText = "") -> Response[bytes]:
    """How many match; asked for after the list, which does not wait for it."""
    caller = caller_of(request)

    def look_(app: App) -> Counted:
        return count_matches(app, within(app.records.query(q), caller.machines))

    found = await service_of(request).broad.ask(look_)
    return fragment(request, "records_count.html", {"counted": found, "q": q})


def _address(q: str, sort: str) -> str:
    return urlencode({"q": q, **({"sort": sort} if sort else {})})


def look(app: App, caller: Caller, text: str, cursor: str, sort: str = "") -> Listed:
    """A page of the records that match."""
    order = Order.parse(sort) if sort else NEWEST
    of = list_name("console", text, caller.machines, sort)
    at = read_cursor(cursor or None, of=of)
    try:
        query = app.records.query(text, now=None if at is None else at.at)
    except InvalidRequest as error:
        return Listed(rows=[], columns=[], next="", message=str(error))
    found = app.records.find(
        within(query, caller.machines),
        after="" if at is None else at.after,
        limit=ROWS + 1,
        order=order,
    )
    following = ""
    if len(found) > ROWS:
        place = order.place(found[ROWS - 1])
        following = write_cursor(Cursor(of=of, at=query.now, after=place))
    columns = columns_of(app, query)
    rows = [
        (
            row,
            _cells(app.registry.of(record), record, columns),
            record.priority,
            record.retry_count,
            record.created_at,
        )
        for row, record in zip(rows_of(app, found[:ROWS]), found, strict=False)
    ]
    return Listed(rows=rows, columns=columns, next=following, sort=sort)


def columns_of(app: App, query: Query) -> list[str]:
    """What a list of one machine shows besides: the fields that it exposes, except logs."""
    if len(query.machines) != 1:
        return []
    machine = app.registry.newest.get(query.machines[0])
    if machine is None:
        return []
    return [name for name in machine.expose if not name.endswith("_ref")][:COLUMNS_MAX]


def _cells(machine: Machine, record: Record, columns: list[str]) -> list[str]:
    exposed: Fields = machine.exposed(record)
    return [value_text(exposed.get(name)) for name in columns]


def count_matches(app: App, query: Query) -> Counted:
    """How many match, by status in the order of the machines; what a person stopped did not fail."""
    names = app.registry.query_names
    found = app.dashboard.count_matching(query, names=names, most=COUNTED_MAX + 1)
    stopped = replace(query, terms=(*query.terms, Term(key="is", values=(CANCELLED_NAME,))))
    cancelled = app.dashboard.count_matching(stopped, names=names, most=COUNTED_MAX + 1)
    total = sum(found.values())
    is_capped = total == COUNTED_MAX + 1 and any(
        term.key not in ("machine", "status") for term in query.terms
    )
    machines = app.registry.newest

    def place(pair: tuple[str, str]) -> tuple[int, int]:
        machine = machines.get(pair[0])
        return (
            list(machines).index(pair[0]) if machine else len(machines),
            machine.order.get(pair[1], 0) if machine else 0,
        )

    kinds = state_kinds(app)
    by_status = [
        each
        for pair in sorted(found, key=place)
        for each in _by_outcome(
            pair, kinds.get(pair[0], {}).get(pair[1], "ready"), found[pair], cancelled.get(pair, 0)
        )
    ]
    return Counted(total=total - is_capped, is_more=is_capped, by_status=by_status)


def _by_outcome(
    pair: tuple[str, str], kind: str, count: int, cancelled: int
) -> Iterator[StatusCount]:
    machine, status = pair
    if count > cancelled:
        terms = f"machine:{machine} status:{status}" + " -is:cancelled" * bool(cancelled)
        yield StatusCount(
            machine=machine, status=status, kind=kind, count=count - cancelled, terms=terms
        )
    if cancelled:
        yield StatusCount(
            machine=machine,
            status=CANCELLED_NAME,
            kind=CANCELLED_NAME,
            count=cancelled,
            terms=f"machine:{machine} status:{status} is:cancelled",
        )


# Views of one's own


@post("/records/views", opt={"right": "read"}, status_code=200)
async def save_view(request: Asked) -> Response[bytes]:
    """Save the query and the order of a list under a name, for this key; the views as they are then."""
    form = await request.form()
    q, sort, name = (str(form.get(each, "")) for each in ("q", "sort", "name"))
    if sort:
        Order.parse(sort)  # refused here, and not each time that the view is opened
    view = SavedView(name=name, query=q, sort=sort)
    return await _changed_views(
        request, lambda app, owner: app.saved_views.save(owner, view, now=app.clock())
    )


@post("/records/views/remove", opt={"right": "read"}, status_code=200)
async def remove_view(request: Asked) -> Response[bytes]:
    """Forget a view."""
    name = str((await request.form()).get("name", ""))
    return await _changed_views(request, lambda app, owner: app.saved_views.remove(owner, name))


async def _changed_views(request: Asked, change: Callable[[App, str], None]) -> Response[bytes]:
    owner, form = caller_of(request).id, await request.form()
    q, sort = str(form.get("q", "")), str(form.get("sort", ""))

    def act(app: App) -> list[SavedView]:
        if len(q) > QUERY_CHARS_MAX:
            raise InvalidRequest(f"a query has at most {QUERY_CHARS_MAX} characters")
        change(app, owner)
        return app.saved_views.of(owner)

    found = await service_of(request).writer.ask(act)
    return fragment(request, "records_views.html", {"views": found, "q": q, "sort": sort})


# Acting on many


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What a person wants to do with many records."""

    action: Literal["retry", "cancel", "priority"] = "retry"
    scope: Literal["all", "page"] = "all"
    q: str = ""
    ids: tuple[str, ...] = ()
    priority: Annotated[int, msgspec.Meta(ge=PRIORITY_MIN, le=PRIORITY_MAX)] = PRIORITY_NORMAL
    reason: str = ""

    @property
    def verb(self) -> str:
        """The action as it is stored and shown."""
        return bulk.verb_of(self.action, self.priority if self.action == "priority" else None)


@post("/records/bulk", opt={"right": "act"}, status_code=200)
async def bulk_form(request: Asked) -> Response[bytes]:
    """What to do, with which of them, and why."""
    return fragment(request, "bulk.html", {"wanted": await _selection(request), "message": ""})


@post("/records/bulk/check", opt={"right": "act"}, status_code=200)
async def bulk_check(request: Asked) -> Response[bytes]:
    """What would happen: nothing does. What was checked is stored, and confirmed by its id alone."""
    wanted, caller = await _selection(request), caller_of(request)

    def check(app: App) -> tuple[Batch, bulk.Foreseen]:
        return bulk.check(
            app,
            wanted.verb,
            text=None if wanted.scope == "page" else wanted.q,
            ids=wanted.ids if wanted.scope == "page" else (),
            machines=caller.machines,
            actor=caller.actor,
            reason=wanted.reason.strip() or None,
        )

    batch, found = await service_of(request).writer.ask(check)
    facts = {"batch": batch, "found": found, "reason": wanted.reason.strip()}
    return fragment(request, "bulk_check.html", facts)


@post("/records/bulk/begin", opt={"right": "act"}, status_code=200)
async def bulk_begin(request: Asked) -> Response[bytes]:
    """Begin what was checked, whatever the form says now; how far it is comes after."""
    service, caller = service_of(request), caller_of(request)
    batch_id = str((await request.form()).get("batch", ""))

    def confirm(app: App) -> Batch:
        batches.get_visible_batch(app, caller, batch_id)
        with app.database.transaction():
            return bulk.confirm(app, batch_id, actor=caller.actor)

    batch = await service.writer.ask(confirm)
    service.run_batch(batch.id)
    return fragment(request, "bulk_progress.html", {"batch": views.batch_view(batch)})


@get("/batches/{batch_id:str}", opt={"right": "act"})
async def bulk_progress(request: Asked, batch_id: FromPath[str]) -> Response[bytes]:
    """How far a bulk action is."""
    caller = caller_of(request)

    def look_(app: App) -> Batch:
        return batches.get_visible_batch(app, caller, batch_id)

    batch = await service_of(request).quick.ask(look_)
    return fragment(request, "bulk_progress.html", {"batch": views.batch_view(batch)})


async def _selection(request: Asked) -> Wanted:
    form = await request.form()
    facts: dict[str, Any] = {name: str(form.get(name, "")) for name in ("q", "reason")}
    for name in ("action", "scope", "priority"):
        if form.get(name):
            facts[name] = str(form.get(name))
    facts["ids"] = [each for each in str(form.get("ids", "")).split(",") if each][:PAGE_IDS_MAX]
    try:
        return msgspec.convert(facts, Wanted, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidRequest(str(error)) from None


HANDLERS: list[Any] = [
    records,
    rows,
    count,
    save_view,
    remove_view,
    bulk_form,
    bulk_check,
    bulk_begin,
    bulk_progress,
]
