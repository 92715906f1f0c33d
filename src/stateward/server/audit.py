"""`/audit`: who did what that made no transition, and who read what. For administrators.

What is read is noted before the first byte of it is sent: an entry may stand for an answer that broke off, and no
answer goes without its entry. Who asks for a head alone has read nothing.
"""

from typing import Annotated, Any

from litestar import Response
from litestar.params import QueryParameter

from stateward import schemas
from stateward.app import App
from stateward.app.views import audit_view
from stateward.core.model import Fields, time_given
from stateward.server import route
from stateward.server.auth import Asked, caller_of, reply, service_of
from stateward.server.paging import Cursor, ListPage
from stateward.server.parameters import ROWS_DEFAULT, CursorText, Limit
from stateward.server.strict import HEAD_ONLY
from stateward.storage.audit import AuditEntry, AuditQuery
from stateward.storage.idempotency import Answer

NAME_CHARS_MAX = 200


def _name(description: str) -> QueryParameter:
    return QueryParameter(
        min_length=1, max_length=NAME_CHARS_MAX, description=description, required=False
    )


Actor = Annotated[str | None, _name("By this person or key, as in the history.")]
Verb = Annotated[str | None, _name("Of this kind, such as `sign_in` or `document_read`.")]
RecordId = Annotated[str | None, _name("About this record.")]
Time = Annotated[
    str | None,
    QueryParameter(
        max_length=40,
        schema_extra={"format": "date-time"},
        description="A time of RFC 3339, such as 2026-11-16T00:00:00Z.",
        required=False,
    ),
]
After = Annotated[
    str | None,
    QueryParameter(
        pattern=r"^[0-9]{1,18}$",
        description="Entries after this number, the oldest first; without it the newest come first.",
        required=False,
    ),
]


@route.get("/audit", "admin", "listAudit", "Who did and read what", tags=["service"])
async def list_(
    request: Asked,
    actor: Actor = None,
    verb: Verb = None,
    record_id: RecordId = None,
    since: Time = None,
    until: Time = None,
    after: After = None,
    cursor: CursorText = None,
    limit: Limit = ROWS_DEFAULT,
) -> Response[schemas.AuditPage]:
    """Entries of the audit log. A key that covers some pipelines sees those about their records, and its own."""
    caller = caller_of(request)
    named = ("audit", caller.id, actor, verb, record_id, since, until, after)
    page = ListPage(request, cursor, limit, *named)
    query = AuditQuery(
        actor=actor,
        verb=verb,
        record_id=record_id,
        since=time_given("since", since),
        until=time_given("until", until),
        machines=caller.machines,
        own=caller.actor,
    )
    is_rising = after is not None
    place = None if after is None else int(after)
    place = place if page.at is None else next(iter(page.at.numbers), 0)

    def look(app: App) -> Answer:
        return page.answer(
            schemas.AuditPage,
            app.audit.find(query, place=place, is_rising=is_rising, limit=page.rows + 1),
            lambda each: audit_view(*each),
            lambda last: Cursor(of=page.of, numbers=(last[0],)),
        )

    return reply(await service_of(request).broad.ask(look))


async def note(request: Asked, verb: str, *, record_id: str = "", **detail: str) -> None:
    """Write an entry about what is read in the name of the caller, durably."""
    if HEAD_ONLY in request.scope:
        return
    actor = caller_of(request).actor
    facts: Fields = {name: value for name, value in detail.items() if value}

    def add(app: App) -> None:
        entry = AuditEntry(
            at=app.clock(), actor=actor, verb=verb, record_id=record_id, detail=facts
        )
        app.audit.add([entry])

    await service_of(request).writer.ask(add)


async def note_read(request: Asked, verb: str, *, record_id: str = "", **detail: str) -> None:
    """The same for what is read, where the settings want it."""
    if service_of(request).settings.api.audit_reads:
        await note(request, verb, record_id=record_id, **detail)


HANDLERS: list[Any] = [list_]
