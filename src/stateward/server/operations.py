"""The operations on records that every path of the API offers: get, wait, list, retry, cancel, logs, items.

Each reads or writes in a thread of the service and gives an `Answer`; which paths lead here and which document shows
a record, the callers say.
"""

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

import msgspec
from litestar import Response

from stateward import schemas
from stateward.app import App
from stateward.app.actions import Command, Verb
from stateward.app.views import attempt_view
from stateward.core.errors import StatewardError, UnknownName
from stateward.core.files import SavedFile
from stateward.core.model import Fields, Record, clean_text, plain_actor, to_iso
from stateward.core.query import quote_text
from stateward.server import views
from stateward.server.audit import note_read
from stateward.server.auth import (
    Asked,
    Caller,
    caller_of,
    get_visible_record,
    read_ahead,
    reply,
    service_of,
)
from stateward.server.bulk import within
from stateward.server.executors import Ask, Call, Open
from stateward.server.headers import expected_version, is_known, once_of, trace_of
from stateward.server.paging import Cursor, ListPage, link, list_name, read_cursor, write_cursor
from stateward.server.problems import Refusal
from stateward.storage.audit import EXPORTED
from stateward.storage.idempotency import Answer, IdempotentRequest
from stateward.storage.outputs import StoredChunks

T = TypeVar("T")

# Changes come in bursts: one look after a burst instead of one after each change.
LOOK_PAUSE_S = 0.03
CHUNKS_AT_ONCE = 4
EVENT_CHARS_MAX = 100
UPLOADED = "upload"  # the name of the log that says how a document came in, whatever its machine
WAIT = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,3})?)(?:s)?")


View = Callable[[App, Record], Any]
RecordLook = tuple[Record, bool, bytes]


class ListedView(Protocol):
    """How a record of a list is shown. `files` are its derived files, which are looked up for all of the page."""

    def __call__(
        self, app: App, record: Record, files: Sequence[SavedFile] | None = None, /
    ) -> Any: ...  # noqa: ANN401 - a document; which, the path says


# Queries


def look_at_record(
    app: App, *, caller: Caller, record_id: str, view: View, machine: str | None
) -> RecordLook:
    """A record, whether it rests, and how it is shown."""
    record = get_visible_record(app, caller, record_id, machine=machine)
    shown = view(app, record)
    if isinstance(shown, schemas.Record):
        shown = app.records.with_successors(shown, record)
    return record, app.records.is_at_rest(record), msgspec.json.encode(shown)


async def get_record(
    request: Asked,
    record_id: str,
    *,
    view: View,
    machine: str | None,
    wait: str | None,
    if_none_match: str | None,
) -> Answer:
    """A record; with `wait`, as soon as it changes or rests. 304 where the client has this version already."""
    service, caller = service_of(request), caller_of(request)
    deadline = time.monotonic() + wait_seconds(wait, most=service.settings.api.wait_seconds_max)
    look = partial(look_at_record, caller=caller, record_id=record_id, view=view, machine=machine)
    while True:
        # Before the look: a change during it then ends the wait at once.
        turn = None if wait is None else service.hub.turn()
        seen: RecordLook = read_ahead(request) or await service.quick.ask(look)
        record, is_at_rest, body = seen
        is_same = is_known(if_none_match, record.version)
        is_waited_for = is_same if if_none_match is not None else not is_at_rest
        left = deadline - time.monotonic()
        if turn is None or not is_waited_for or left <= 0 or service.hub.is_ending:
            break
        await service.hub.wait(turn, timeout_s=left)
        await asyncio.sleep(LOOK_PAUSE_S)
    headers = {
        "ETag": views.etag(record.version),
        "Cache-Control": "no-store",
        "Content-Type": views.JSON,
    }
    return (
        Answer(status=304, headers=headers, body=b"")
        if is_same
        else Answer(status=200, headers=headers, body=body)
    )


def wait_seconds(given: str | None, *, most: float) -> float:
    """`20s` or `20` as seconds; 0 without it."""
    if given is None:
        return 0.0
    found = WAIT.fullmatch(given)
    if found is None or float(found[1]) > most:
        raise Refusal("unprocessable", f"wait takes seconds, as in 20s, up to {most:g}s")
    return float(found[1])


async def list_records(
    request: Asked,
    text: str,
    *,
    view: ListedView,
    page: Callable[..., Any],
    machine: str | None,
    cursor: str | None,
    limit: int,
) -> Answer:
    """A page of the records that match a query, newest first."""
    caller = caller_of(request)
    listing = ListPage(request, cursor, limit, "records", machine, text, caller.machines)
    machines = caller.machines if machine is None else (machine,)
    if machine is not None and not caller.covers(machine):
        return views.json_answer(page(items=[], next=None))
    now, after = (None, "") if listing.at is None else (listing.at.at, listing.at.after)

    def look(app: App) -> Answer:
        query = app.records.query(text, now=now)
        found = app.records.find(within(query, machines), after=after, limit=listing.rows + 1)
        files = app.records.files_of(found[: listing.rows])
        return listing.answer(
            page,
            found,
            lambda each: view(app, each, files.get(each.id, [])),
            lambda last: Cursor(of=listing.of, at=query.now, after=last.id),
        )

    return await service_of(request).broad.ask(look)


def query_text(*, q: str | None, status: list[str] | None, source_type: list[str] | None) -> str:
    """The parameters of a list as one query."""
    terms = [
        *(f"status:{_quote(each)}" for each in status or ()),
        *(f"source:{_quote(each)}" for each in source_type or ()),
    ]
    return " ".join([q or "", *terms]).strip()


def _quote(values: str) -> str:
    parts = [each for each in values.split(",") if each] or [values]
    return ",".join(map(quote_text, parts))


async def get_history(
    request: Asked, record_id: str, *, machine: str | None, cursor: str | None, limit: int
) -> Answer:
    """What happened to a record, oldest first."""
    caller = caller_of(request)
    page = ListPage(request, cursor, limit, "history", record_id)
    first = page.at.numbers[0] + 1 if page.at is not None and page.at.numbers else 0

    def look(app: App) -> Answer:
        get_visible_record(app, caller, record_id, machine=machine)
        return page.answer(
            schemas.History,
            [each for each in app.store.history(record_id) if each.version >= first],
            app.records.transition_view,
            lambda last: Cursor(of=page.of, numbers=(last.version,)),
        )

    return await service_of(request).broad.ask(look)


async def get_items(
    request: Asked,
    record_id: str,
    *,
    machine: str | None,
    kind: str | None,
    stage: str | None = None,
    edition: int | None = None,
    cursor: str | None,
    limit: int,
) -> Answer:
    """Rows that a stage produced, a page at a time; a page never mixes attempts."""
    service, caller = service_of(request), caller_of(request)
    rows = min(limit, service.settings.limits.page_rows_max)
    of = list_name("items", record_id, kind, stage, edition)
    at = read_cursor(cursor, of=of)

    def look(app: App) -> Answer:
        record = get_visible_record(app, caller, record_id, machine=machine)
        made = app.records.find_items(record, stage=stage, kind=kind, edition=edition)
        if made is None:
            empty = schemas.ItemPage(kind=kind, stage=None, attempt=None, items=[], next=None)
            return views.json_answer(empty)
        maker, attempt = made
        chunk, place = 0, 0
        if at is not None and len(at.numbers) == 3:
            attempt, chunk, place = at.numbers  # the attempt that the first page showed
        found, after = _rows(app, record_id, attempt, chunk=chunk, place=place, rows=rows)
        following = None
        if after is not None:
            following = write_cursor(Cursor(of=of, numbers=(attempt, *after)))
        own = app.registry.of(record).stage.get(maker)
        document = schemas.ItemPage(
            kind=None if own is None else own.produces,
            stage=maker,
            attempt=attempt,
            items=found,
            next=following,
        )
        return views.json_answer(document, headers=link(request.url, following))

    answer = await service.broad.ask(look)
    if at is None:  # one who reads on has been noted
        await note_read(request, EXPORTED, record_id=record_id, what="items")
    return answer


def _rows(
    app: App, record_id: str, attempt: int, *, chunk: int, place: int, rows: int
) -> tuple[list[Fields], tuple[int, int] | None]:
    """Rows of an attempt from a place on, and the place after them; None at the end."""
    stored = StoredChunks(app.database, record_id, attempt)
    found: list[Fields] = []
    while True:
        texts = stored.page(chunk, limit=CHUNKS_AT_ONCE)
        if not texts:
            return found, None
        for text in texts:
            if text.startswith("{"):  # an object is what the stage said about its items as a whole
                chunk, place = chunk + 1, 0
                continue
            several: list[Fields] = msgspec.json.decode(text)
            taken = several[place : place + rows + 1 - len(found)]
            found += taken
            if len(found) > rows:
                return found[:rows], (chunk, place + len(taken) - 1)
            chunk, place = chunk + 1, 0


async def get_stage_log(
    request: Asked, record_id: str, stage: str, *, machine: str | None
) -> Answer:
    """What runners wrote while they executed a stage; `upload` is the submission of the document."""
    service, caller = service_of(request), caller_of(request)

    def look(app: App) -> Answer:
        record = get_visible_record(app, caller, record_id, machine=machine)
        stages = app.registry.of(record).stage
        if stage == UPLOADED and stage not in stages:
            attempts = [_submission_log(app, record)]
        elif stage in stages:
            found = app.outputs.attempts(record_id)
            attempts = [attempt_view(each) for each in found if each.stage == stage]
        else:
            raise UnknownName("log", clean_text(stage, chars_max=80), [*stages, UPLOADED])
        return views.json_answer(
            schemas.StageLog(record_id=record.id, stage=stage, attempts=attempts)
        )

    return await service.broad.ask(look)


def _submission_log(app: App, record: Record) -> schemas.Attempt:
    first = app.store.history(record.id)[0]
    line: Fields = {
        "at": to_iso(first.at),
        "level": "info",
        "message": f"submitted by {plain_actor(first.actor)}",
        **{key: record.labels[key] for key in ("filename", "size") if key in record.labels},
    }
    return schemas.Attempt(
        stage=UPLOADED,
        attempt=0,
        at=to_iso(first.at),
        worker=first.actor,
        outcome="done",
        count=1,
        error_code=None,
        error_message=None,
        log=[line],
    )


# Actions


async def act_on_record(
    request: Asked,
    verb: Verb,
    record_id: str,
    *,
    view: View,
    machine: str | None,
    ask: schemas.Ask | None,
    if_match: str | None,
    key: str | None,
) -> Answer:
    """Retry or cancel a record."""
    service, caller = service_of(request), caller_of(request)
    version = expected_version(service, if_match)
    machines = _machines(caller, machine)
    once = once_of(caller, request, key, (await request.body(), if_match or ""))
    command = Command(
        verb=verb,
        record_id=record_id,
        actor=caller.actor,
        reason=None if ask is None else ask.reason,
        version=version,
        machines=machines,
        trace=trace_of(request),
    )

    def answer(app: App, record: Record) -> Answer:
        return views.json_answer(view(app, record), headers={"ETag": views.etag(record.version)})

    return await write_once(request, once, Ask(command), answer)


async def move_record(
    request: Asked,
    record_id: str,
    event: str,
    *,
    ask: schemas.Ask | None,
    if_match: str | None,
    key: str | None,
) -> Answer:
    """Make a move that the machine of a record declares."""

    def act(app: App, caller: Caller, version: int | None) -> Record | StatewardError:
        (answer,) = app.actions.move(
            clean_text(event, chars_max=EVENT_CHARS_MAX),
            [record_id],
            actor=caller.actor,
            reason=None if ask is None else ask.reason,
            machines=caller.machines,
            version=version,
        )
        return answer

    return await change_record(request, act, key=key, if_match=if_match, content=(event,))


async def set_priority(
    request: Asked,
    record_id: str,
    data: schemas.PriorityRequest,
    *,
    key: str | None,
    if_match: str | None = None,
) -> Answer:
    """Give a record another priority."""

    def act(app: App, caller: Caller, version: int | None) -> Record | StatewardError:
        (answer,) = app.actions.set_priority(
            [record_id],
            data.priority,
            actor=caller.actor,
            reason=data.reason,
            machines=caller.machines,
            version=version,
        )
        return answer

    return await change_record(request, act, key=key, if_match=if_match)


async def change_record(
    request: Asked,
    act: Callable[[App, Caller, int | None], Any],
    *,
    key: str | None,
    if_match: str | None,
    content: Sequence[str] = (),
    answer: Callable[[App, Any], Answer] = views.record_answer,
) -> Answer:
    """Change a record at the version that `If-Match` names (None is any), once for an Idempotency-Key.

    `content` is what makes a request with the same key another one, beside its body and the version.
    """
    caller = caller_of(request)
    version = expected_version(service_of(request), if_match)
    once = once_of(caller, request, key, (await request.body(), *content, if_match or ""))
    return await write_once(request, once, Call(lambda app: act(app, caller, version)), answer)


async def reply_read(
    request: Asked, look: Callable[[App, Caller], object], *, is_quick: bool = False
) -> Response[Any]:
    """Reply with the document that `look` makes, in a thread for what reads much, or for what `is_quick`."""
    service, caller = service_of(request), caller_of(request)
    thread = service.quick if is_quick else service.broad
    return reply(await thread.ask(lambda app: views.json_answer(look(app, caller))))


async def reply_once(
    request: Asked,
    key: str | None,
    act: Callable[[App], T],
    answer: Callable[[App, T], Answer],
    *,
    content: Sequence[bytes | str] | None = None,
) -> Response[Any]:
    """Do something once for an Idempotency-Key, and reply with what `answer` makes of its result.

    `content` is what makes a request with the same key another one; None: its body.
    """
    if content is None:
        content = (await request.body(),)
    once = once_of(caller_of(request), request, key, content)
    return reply(await write_once(request, once, Call(act), answer))


async def write_once(
    request: Asked,
    once: IdempotentRequest | None,
    intent: Open | Ask | Call,
    answer: Callable[[App, Any], Answer],
) -> Answer:
    """Write something; with an Idempotency-Key, once however often it is asked for."""
    writer = service_of(request).writer
    writer.begin(once)
    try:
        return await writer.write(intent, answer, once=once)
    finally:
        writer.end(once)


def _machines(caller: Caller, machine: str | None) -> tuple[str, ...]:
    """The machines among which a record must be; a name that no machine has, if it can be of none."""
    if machine is None:
        return caller.machines
    return (machine,) if caller.covers(machine) else ("",)
