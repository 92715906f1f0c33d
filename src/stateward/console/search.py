"""Search: a box in the header of every page, results with snippets, each a link to the place in its document."""

from typing import Annotated, Any
from urllib.parse import quote, urlencode

import msgspec
from litestar import Response, get
from litestar.params import FromPath, QueryParameter

from stateward import schemas
from stateward.app import App
from stateward.console.kinds import state_kinds
from stateward.console.layout import page
from stateward.console.records import CursorText
from stateward.core.errors import InvalidRequest
from stateward.core.model import Fields
from stateward.core.text_search import TEXT_CHARS_MAX, with_types
from stateward.definition.display import Where
from stateward.server.audit import note_read
from stateward.server.auth import Asked, Caller, caller_of, reply, service_of
from stateward.server.search import SearchRequest, formatted_page, search_page
from stateward.storage.audit import EXPORTED

HITS = 20
EXPORTED_MAX = 100

SearchText = Annotated[str, QueryParameter(name="q", max_length=TEXT_CHARS_MAX, required=False)]


SearchPipeline = Annotated[str, QueryParameter(name="pipeline", max_length=100, required=False)]
Hybrid = Annotated[bool, QueryParameter(name="hybrid", required=False)]
TypeName = Annotated[str, QueryParameter(name="type", max_length=100, required=False)]
FilterText = Annotated[str, QueryParameter(name="filter", max_length=1000, required=False)]


class PassageLink(msgspec.Struct, frozen=True, kw_only=True):
    """A passage of a result with the address that opens its place, and that place for people."""

    snippet: list[schemas.SnippetSegment]
    address: str
    place: str


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """A result with the address that opens its place, and that place for people."""

    hit: schemas.SearchHit
    kind: str
    state: str
    address: str
    place: str
    passages: list[PassageLink]


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A page of results; `message` says what is wrong with the query."""

    results: list[Result]
    next: str = ""
    message: str = ""


class RankedChoice(msgspec.Struct, frozen=True, kw_only=True):
    """A pipeline that ranks its documents: its name, its title, what results can be filtered by, and their formats.

    `is_hybrid`: its documents can be searched by meaning as well.
    """

    name: str
    title: str
    filters: list[str]
    formats: list[tuple[str, str]]
    is_hybrid: bool


@get("/search", opt={"right": "read"})
async def search(
    request: Asked,
    q: SearchText = "",
    cursor: CursorText = "",
    pipeline: SearchPipeline = "",
    type_: TypeName = "",
    filters: FilterText = "",
    is_hybrid: Hybrid = False,
) -> Response[bytes]:
    """What documents say; the query stands in the address."""
    service, caller = service_of(request), caller_of(request)
    search_request = SearchRequest(
        text=with_types(q, [type_] if type_ else []),
        pipeline=pipeline,
        filters=tuple(filters.split()),
        is_hybrid=is_hybrid,
    )
    found = Found(results=[])
    if search_request.text.strip():
        found = await service.broad.ask(lambda app: look(app, caller, search_request, cursor))
    choices = await service.broad.ask(lambda app: ranked_choices(app, caller))
    types = await service.broad.ask(lambda app: app.plugins.passage_types(caller.machines))
    given = {
        "q": q,
        "pipeline": pipeline,
        "type": type_,
        "filter": filters,
        "hybrid": "true" * is_hybrid,
    }
    facts = {
        "searched": q,
        "is_asked": bool(search_request.text.strip()),
        "types": types,
        "type": type_,
        "found": found,
        "is_first": not cursor,
        "address": urlencode({name: value for name, value in given.items() if value}),
        "choices": choices,
        "chosen": next((each for each in choices if each.name == pipeline), None),
        "filters": filters,
        "is_hybrid": is_hybrid,
    }
    status = 400 if found.message else 200
    return await page(request, "search.html", facts, here="search", status=status)


def ranked_choices(app: App, caller: Caller) -> list[RankedChoice]:
    """The pipelines that rank their documents, of those that a caller may see."""
    return [
        RankedChoice(
            name=each.machine,
            title=app.plugins.record_view(each.machine).title or each.machine,
            filters=list(each.filters),
            formats=[(made.name, made.suffix or made.name) for made in each.formats],
            is_hybrid=bool(each.vectors) and app.plugins.configured(plugin.name).is_embedding,
        )
        for plugin in app.plugins
        for each in plugin.ranked
        if not caller.machines or each.machine in caller.machines
    ]


def look(app: App, caller: Caller, asked: SearchRequest, cursor: str) -> Found:
    """A page of what a caller may see."""
    try:
        answer = search_page(app, caller, asked, cursor=cursor or None, limit=HITS)
    except InvalidRequest as error:
        return Found(results=[], message=str(error))
    return Found(results=[_result(app, hit) for hit in answer.items], next=answer.next or "")


def _result(app: App, hit: schemas.SearchHit) -> Result:
    stage = app.registry.named(hit.machine).stage.get(hit.stage)
    address, place = _document_link(hit.where)
    return Result(
        hit=hit,
        kind=hit.kind or (stage.produces if stage is not None else None) or "",
        state=state_kinds(app).get(hit.machine, {}).get(hit.status, "ready"),
        address=address,
        place=place,
        passages=[_passage(each.snippet, each.where) for each in hit.passages]
        or [PassageLink(snippet=hit.snippet, address="", place="")],
    )


def _passage(snippet: list[schemas.SnippetSegment], where: Fields | None) -> PassageLink:
    address, place = _document_link(where)
    return PassageLink(snippet=snippet, address=address, place=place)


def _document_link(where: Fields | None) -> tuple[str, str]:
    """The end of the address that opens a document at a place, and the place for people."""
    place = Where.read(where)
    text = "" if where is None else msgspec.json.encode(where).decode()
    return f"#place={quote(text)}" if text else "", "" if place is None else place.text


@get("/search/export/{form:str}", opt={"right": "read"})
async def export(
    request: Asked,
    form: FromPath[str],
    q: SearchText = "",
    pipeline: SearchPipeline = "",
    filters: FilterText = "",
    is_hybrid: Hybrid = False,
) -> Response[Any]:
    """The best results in a format that their pipeline offers."""
    caller = caller_of(request)
    search_request = SearchRequest(
        text=q, pipeline=pipeline, filters=tuple(filters.split()), is_hybrid=is_hybrid
    )
    answer = await service_of(request).broad.ask(
        lambda app: formatted_page(app, caller, search_request, form, limit=EXPORTED_MAX)
    )
    await note_read(request, EXPORTED, what="search results", form=form)
    return reply(answer)


HANDLERS: list[Any] = [search, export]
