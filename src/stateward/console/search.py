"""Search: a box in the header of every page, results with snippets, each a link to the place in its document."""

from typing import Annotated, Any
from urllib.parse import quote, urlencode

import msgspec
from litestar import Response, get
from litestar.params import QueryParameter

from stateward import schemas
from stateward.app import App
from stateward.console.layout import page
from stateward.console.records import CursorText
from stateward.core.errors import InvalidRequest
from stateward.core.text_search import TEXT_CHARS_MAX
from stateward.definition.display import Where
from stateward.server.auth import Asked, Caller, caller_of, service_of
from stateward.server.search import search_page

HITS = 20

SearchText = Annotated[str, QueryParameter(name="q", max_length=TEXT_CHARS_MAX, required=False)]


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """A result with the address that opens its place, and that place for people."""

    hit: schemas.SearchHit
    kind: str
    state: str
    address: str
    place: str


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A page of results; `said` is what is wrong with the query."""

    results: list[Result]
    next: str = ""
    said: str = ""


@get("/search", opt={"right": "read"})
async def search(request: Asked, q: SearchText = "", cursor: CursorText = "") -> Response[bytes]:
    """What documents say; the query stands in the address."""
    service, caller = service_of(request), caller_of(request)
    found = Found(results=[])
    if q.strip():
        found = await service.broad.ask(lambda app: look(app, caller, q, cursor))
    facts = {
        "searched": q,
        "found": found,
        "is_first": not cursor,
        "address": urlencode({"q": q}),
    }
    status = 400 if found.said else 200
    return await page(request, "search.html", facts, here="search", status=status)


def look(app: App, caller: Caller, text: str, cursor: str) -> Found:
    """A page of what a caller may see."""
    try:
        answer = search_page(app, caller, text, cursor=cursor or None, limit=HITS)
    except InvalidRequest as error:
        return Found(results=[], said=str(error))
    return Found(results=[_result(app, hit) for hit in answer.items], next=answer.next or "")


def _result(app: App, hit: schemas.SearchHit) -> Result:
    place = Where.read(hit.where)
    stage = app.registry.named(hit.machine).stage.get(hit.stage)
    told = "" if hit.where is None else msgspec.json.encode(hit.where).decode()
    return Result(
        hit=hit,
        kind=hit.kind or (stage.produces if stage is not None else None) or hit.stage,
        state=app.registry.query_names.kinds.get(hit.machine, {}).get(hit.status, "ready"),
        address=f"#place={quote(told)}" if told else "",
        place="" if place is None else place.text,
    )


HANDLERS: list[Any] = [search]
