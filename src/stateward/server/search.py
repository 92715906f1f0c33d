"""`/search`: what documents say."""

from typing import Annotated, Any

import msgspec
from litestar import Response

from stateward import schemas
from stateward.app import App
from stateward.app.search import SearchPlace
from stateward.core.text_search import TEXT_CHARS_MAX, with_types
from stateward.server import route, views
from stateward.server.auth import Asked, Caller, caller_of, reply, service_of
from stateward.server.paging import Cursor, link, list_name, read_cursor, write_cursor
from stateward.server.parameters import CursorText, query
from stateward.storage.idempotency import Answer

HITS_DEFAULT = 20
HITS_MAX = 100

SearchText = Annotated[
    str,
    query(
        "q",
        'What to look for: words that all occur, `"phrases"`, `prefix*`, `-not`, and filters such as '
        "`machine:invoices`, `status:error`, `source:scan`, `label.client:42`, `type:liability`.",
        max_length=TEXT_CHARS_MAX,
    ),
]
HitLimit = Annotated[
    int,
    query("limit", "The most results of a page.", ge=1, le=HITS_MAX),
]
SearchPipeline = Annotated[
    str,
    query(
        "pipeline",
        "Only of this pipeline. One that ranks its documents gives documents instead of passages.",
        max_length=100,
    ),
]
SearchTypes = Annotated[
    list[str] | None,
    query("type", "Only passages of one of these types, such as `liability` of clauses."),
]
SearchFilters = Annotated[
    list[str] | None,
    query("filter", "Of ranked documents: what must hold of their facts, such as `year>=2020`."),
]
SearchHybrid = Annotated[
    bool,
    query("hybrid", "Of ranked documents: also by meaning, where they were embedded."),
]
SearchFormat = Annotated[
    str,
    query(
        "format",
        "Of ranked documents: a format that their pipeline offers, such as `bibtex`, instead of JSON.",
        max_length=40,
    ),
]


@route.get("/search", "read", "searchText", "Search what documents say", tags=["records"])
async def search(
    request: Asked,
    q: SearchText = "",
    cursor: CursorText = None,
    limit: HitLimit = HITS_DEFAULT,
    pipeline: SearchPipeline = "",
    types: SearchTypes = None,
    filters: SearchFilters = None,
    is_hybrid: SearchHybrid = False,
    format_: SearchFormat = "",
) -> Response[schemas.SearchPage]:
    """Passages of the text that pipelines declare searchable, the best first; never what the caller may not see.

    A query about one pipeline that ranks its documents, by `pipeline` or by `machine:` in it, gives documents with
    their best passages and why they were found.
    """
    caller = caller_of(request)
    search_request = SearchRequest(
        text=with_types(q, types or ()),
        pipeline=pipeline,
        filters=tuple(filters or ()),
        is_hybrid=is_hybrid,
    )

    def look(app: App) -> Answer:
        if format_:
            return formatted_page(app, caller, search_request, format_, cursor=cursor, limit=limit)
        page = search_page(app, caller, search_request, cursor=cursor, limit=limit)
        return views.json_answer(page, headers=link(request.url, page.next))

    return reply(await service_of(request).broad.ask(look))


class SearchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is looked for."""

    text: str
    pipeline: str = ""
    filters: tuple[str, ...] = ()
    is_hybrid: bool = False


def search_page(
    app: App, caller: Caller, asked: SearchRequest, *, cursor: str | None, limit: int
) -> schemas.SearchPage:
    """A page of results that a caller may see."""
    of = list_name(
        "search", asked.text, asked.pipeline, *asked.filters, asked.is_hybrid, caller.machines
    )
    at = read_cursor(cursor, of=of)
    after = None
    if at is not None and len(at.numbers) == 2:
        after = SearchPlace(below=at.numbers[0], offset=at.numbers[1], now=at.at)
    found = app.search.find(
        asked.text,
        machines=caller.machines,
        pipeline=asked.pipeline,
        filters=asked.filters,
        is_hybrid=asked.is_hybrid,
        after=after,
        limit=limit,
    )
    following = None
    if found.next is not None:
        numbers = (found.next.below, found.next.offset)
        following = write_cursor(Cursor(of=of, at=found.next.now, numbers=numbers))
    return schemas.SearchPage(items=found.hits, next=following)


HANDLERS: list[Any] = [search]


def formatted_page(
    app: App,
    caller: Caller,
    asked: SearchRequest,
    format_: str,
    *,
    cursor: str | None = None,
    limit: int,
) -> Answer:
    """A page of results in a format that their pipeline offers."""
    page = search_page(app, caller, asked, cursor=cursor, limit=limit)
    text, media_type = app.search.formatted(format_, page.items, pipeline=asked.pipeline)
    headers = {"Content-Type": f"{media_type}; charset=utf-8"}
    return Answer(status=200, body=text.encode(), headers=headers)
