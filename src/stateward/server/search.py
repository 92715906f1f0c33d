"""`/search`: what documents say."""

from typing import Annotated, Any

from litestar import Response, get
from litestar.params import QueryParameter

from stateward import schemas
from stateward.app import App
from stateward.app.search import SearchPlace
from stateward.core.text_search import TEXT_CHARS_MAX
from stateward.server import views
from stateward.server.auth import Asked, Caller, caller_of, reply, service_of
from stateward.server.paging import (
    Cursor,
    link,
    list_name,
    read_cursor,
    write_cursor,
)
from stateward.server.parameters import CursorText
from stateward.storage.idempotency import Answer

HITS_DEFAULT = 20
HITS_MAX = 100

SearchText = Annotated[
    str,
    QueryParameter(
        name="q",
        max_length=TEXT_CHARS_MAX,
        description='What to look for: words that all occur, `"phrases"`, `prefix*`, `-not`, and filters such as '
        "`machine:invoices`, `status:error`, `source:scan`, `label.client:42`.",
        required=True,
    ),
]
HitLimit = Annotated[
    int,
    QueryParameter(
        name="limit", ge=1, le=HITS_MAX, description="The most results of a page.", required=False
    ),
]


@get(
    "/search",
    opt={"right": "read"},
    operation_id="searchText",
    summary="Search what documents say",
    tags=["records"],
)
async def search(
    request: Asked, q: SearchText, cursor: CursorText = None, limit: HitLimit = HITS_DEFAULT
) -> Response[schemas.SearchPage]:
    """Passages of the text that pipelines declare searchable, the best first; never what the caller may not see."""
    caller = caller_of(request)

    def look(app: App) -> Answer:
        page = search_page(app, caller, q, cursor=cursor, limit=limit)
        return views.json_answer(page, headers=link(request.url, page.next))

    return reply(await service_of(request).broad.ask(look))


def search_page(
    app: App, caller: Caller, text: str, *, cursor: str | None, limit: int
) -> schemas.SearchPage:
    """A page of results that a caller may see."""
    of = list_name("search", text, caller.machines)
    at = read_cursor(cursor, of=of)
    after = None
    if at is not None and len(at.numbers) == 2:
        after = SearchPlace(below=at.numbers[0], offset=at.numbers[1], now=at.at)
    found = app.search.find(text, machines=caller.machines, after=after, limit=limit)
    following = None
    if found.next is not None:
        numbers = (found.next.below, found.next.offset)
        following = write_cursor(Cursor(of=of, at=found.next.now, numbers=numbers))
    return schemas.SearchPage(items=found.hits, next=following)


HANDLERS: list[Any] = [search]
