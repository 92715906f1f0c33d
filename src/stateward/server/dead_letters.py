"""`/dead-letters`: events and messages that no process could read, with the reasons.

They are of all pipelines together, so a key that covers some may not ask.
"""

from typing import Any

from litestar import Response

from stateward import schemas
from stateward.app import App
from stateward.app.views import dead_letter_view
from stateward.server import route
from stateward.server.administration import check_whole
from stateward.server.auth import Asked, reply, service_of
from stateward.server.paging import Cursor, ListPage
from stateward.server.parameters import ROWS_DEFAULT, CursorText, Limit
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


HANDLERS: list[Any] = [list_]
