"""`/dead-letters`: events and messages that no process could read, with the reasons.

They are of all pipelines together, so a key that covers some may not ask.
"""

from typing import Any

from litestar import Response, get

from stateward import schemas
from stateward.app import App
from stateward.app.views import dead_letter_view
from stateward.server import views
from stateward.server.administration import check_whole
from stateward.server.auth import Asked, reply, service_of
from stateward.server.paging import Cursor, link, list_name, read_cursor, write_cursor
from stateward.server.parameters import ROWS_DEFAULT, CursorText, Limit
from stateward.storage.idempotency import Answer


@get(
    "/dead-letters",
    opt={"right": "observe"},
    operation_id="listDeadLetters",
    summary="What could not be read, newest first",
    tags=["service"],
)
async def list_(
    request: Asked, cursor: CursorText = None, limit: Limit = ROWS_DEFAULT
) -> Response[schemas.DeadLetterPage]:
    """Events and messages that changed nothing because no process could read them."""
    check_whole(request)
    service = service_of(request)
    rows = min(limit, service.settings.limits.page_rows_max)
    of = list_name("dead letters")
    at = read_cursor(cursor, of=of)
    before = None if at is None else next(iter(at.numbers), 0)

    def look(app: App) -> Answer:
        found = app.store.dead_letters.page(before=before, limit=rows + 1)
        following = None
        if len(found) > rows:
            following = write_cursor(Cursor(of=of, numbers=(found[rows - 1][0],)))
        items = [dead_letter_view(*each) for each in found[:rows]]
        page = schemas.DeadLetterPage(items=items, next=following)
        return views.json_answer(page, headers=link(request.url, following))

    return reply(await service.broad.ask(look))


HANDLERS: list[Any] = [list_]
