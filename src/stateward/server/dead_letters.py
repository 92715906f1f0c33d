"""`/dead-letters`: events and messages that no process could read, with the reasons, of the store and of the transport.

They are of all pipelines together, so a key that covers some may not ask.
"""

from typing import Any

from litestar import Response
from litestar.params import JSONBody

from stateward import schemas
from stateward.app import App
from stateward.app.transport_letters import act_on_letters, listed_letters
from stateward.app.views import dead_letter_view
from stateward.server import route, views
from stateward.server.administration import check_whole
from stateward.server.auth import Asked, caller_of, reply, service_of
from stateward.server.paging import Cursor, ListPage
from stateward.server.parameters import ROWS_DEFAULT, CursorText, IdempotencyKey, Limit
from stateward.storage.idempotency import Answer


@route.get(
    "/dead-letters",
    "observe",
    "listDeadLetters",
    "What could not be read, newest first",
    tags=["service"],
)
async def list_(
    request: Asked, cursor: CursorText = None, limit: Limit = ROWS_DEFAULT
) -> Response[schemas.DeadLetterPage]:
    """Events and messages that changed nothing because no process could read them."""
    check_whole(request)
    page = ListPage(request, cursor, limit, "dead letters")
    before = None if page.at is None else next(iter(page.at.numbers), 0)

    def look(app: App) -> Answer:
        return page.answer(
            schemas.DeadLetterPage,
            app.store.dead_letters.page(before=before, limit=page.rows + 1),
            lambda each: dead_letter_view(*each),
            lambda last: Cursor(of=page.of, numbers=(last[0],)),
        )

    return reply(await service_of(request).broad.ask(look))


@route.get(
    "/dead-letters/transport",
    "observe",
    "listTransportLetters",
    "Messages of the broker that could not be used, newest first",
    tags=["service"],
)
async def list_of_transport(
    request: Asked, limit: Limit = ROWS_DEFAULT
) -> Response[schemas.TransportLetters]:
    """Up to 1000, without data; none where work goes through the database. A `note` says that the broker is away."""
    check_whole(request)
    # A broker that does not answer is waited for, and no other request may wait with it.
    found = await service_of(request).aside("letters", lambda app: listed_letters(app, limit=limit))
    return reply(views.json_answer(found))


@route.post(
    "/dead-letters/transport",
    "act",
    "actOnTransportLetters",
    "Drop messages that could not be used, or have what they were about done again",
    tags=["service"],
)
async def act(
    request: Asked, data: JSONBody[schemas.LetterRequest], key: IdempotencyKey = None
) -> Response[schemas.LetterOutcomes]:
    """Each for itself. The data of the message is not kept: what is sent again comes from the store.

    The key has no effect: a letter that something was done with is gone. Who did it is in the audit log.
    """
    check_whole(request)
    del key
    actor = caller_of(request).actor

    def act_(app: App) -> schemas.LetterOutcomes:
        return schemas.LetterOutcomes(items=act_on_letters(app, data.action, data.ids, actor=actor))

    return reply(views.json_answer(await service_of(request).aside("letters", act_)))


HANDLERS: list[Any] = [list_, list_of_transport, act]
