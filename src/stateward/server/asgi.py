"""The ASGI application: all routes, and what is around each request."""

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from copy import copy
from functools import cache, lru_cache
from typing import Any, TypeAlias

from litestar import Litestar, Request, Response
from litestar.connection import ASGIConnection
from litestar.datastructures import State
from litestar.exceptions import HTTPException, MethodNotAllowedException, NotFoundException
from litestar.types import ASGIApp, ControllerRouterHandler, Message, Receive, Scope, Send
from msgspec import UNSET

from stateward.app import App
from stateward.core.errors import StatewardError
from stateward.core.model import clean_text
from stateward.definition import discovery
from stateward.definition.plugin import Plugin, resolve
from stateward.schemas import FieldFault
from stateward.server import (
    administration,
    audit,
    batches,
    dead_letters,
    documents,
    erasure,
    events,
    exports,
    feed,
    flags,
    health,
    keys,
    machines,
    metrics,
    record_schemas,
    records,
    refused_uploads,
    review_batches,
    review_links,
    reviews,
    search,
    webhooks,
)
from stateward.server.auth import (
    OPTIONS,
    RIGHTS,
    Caller,
    OptionsAsked,
    confirm_caller,
    guard,
    reply,
)
from stateward.server.description import Document, describe
from stateward.server.executors import overload_refusal
from stateward.server.extra_routes import LoadedRoutes, PageOf
from stateward.server.plain_calls import PlainCalls, plain_calls, respond
from stateward.server.problems import Refusal, internal_error, refusal_of
from stateward.server.resources import records_of, routes_of
from stateward.server.service import Service
from stateward.server.short_ids import find_records
from stateward.server.strict import CALLER, ApiRequest, note_queries
from stateward.settings import Settings

DETAIL_CHARS_MAX = 500
HTML = "text/html"
Connection: TypeAlias = "ASGIConnection[Any, Any, Any, Any]"
ID_PARAMETER = re.compile(r"\{(\w+_id):str\}")


def make_app(settings: Settings, *, open_app: Callable[[], App]) -> Litestar:
    """The API as an ASGI application; `open_app` gives each of its threads an App."""
    plugins = tuple(each.plugin for each in discovery.plugins(settings.pipelines))
    app = copy(_with_routes(plugins, settings.api.body_bytes_max))
    app.state = State(
        {
            **app.state.dict(),
            "service": Service(settings, open_app=open_app),
            "page_of": None,
            "described": lambda: describe_api(plugins),
            "record_schemas": cache(lambda: record_schemas.record_schemas(plugins)),
        }
    )
    return app


def make_extra_app(api: Litestar, extra: LoadedRoutes) -> Litestar:
    """Routes beside the API as an application of their own, with the state, the rights and the limits of the API."""
    service: Service = api.state.service
    app = copy(_with_extra_routes(extra.handlers, service.settings.api.body_bytes_max))
    app.state = api.state
    app.state.page_of = extra.page_of
    return app


# To register the routes takes 0.15 s of CPU and depends on no store: services of one process share the result.
@lru_cache(maxsize=4)
def _with_routes(plugins: tuple[Plugin, ...], body_bytes_max: int) -> Litestar:
    """All routes of the API, and of what a service has only what its routes may be asked."""
    own = _routes(plugins)
    app = _register(own, body_bytes_max)
    note_queries(app, own)
    app.state.plain_calls = plain_calls(app, app.state.queries)
    app.state.short_ids = {
        **dict.fromkeys(("record_id", *_id_fields(plugins), *_own_ids(plugins)), find_records),
        "batch_id": batches.find_batches,
        "key_id": keys.find_keys,
        "webhook_id": webhooks.find_webhooks,
    }
    return app


@lru_cache(maxsize=4)
def _with_extra_routes(
    handlers: tuple[ControllerRouterHandler, ...], body_bytes_max: int
) -> Litestar:
    return _register(handlers, body_bytes_max)


def _register(handlers: Sequence[ControllerRouterHandler], body_bytes_max: int) -> Litestar:
    app = Litestar(
        route_handlers=handlers,
        request_class=ApiRequest,
        middleware=[_let_in],
        openapi_config=None,
        logging_config=None,
        exception_handlers={Exception: _problem},
        request_max_body_size=body_bytes_max,
        signature_namespace={},
        debug=False,
    )
    _check_rights(app)
    return app


def _let_in(app: ASGIApp) -> ASGIApp:
    """No more requests under way than the settings say, and none that `guard` refuses.

    Here, and not as a guard of Litestar, which copies the handler of a route for each request: 0.05 ms.
    """

    async def bounded(scope: Scope, receive: Receive, send: Send) -> None:
        state = scope["litestar_app"].state
        service: Service = state.service
        place = _Place(service, is_needed=not _is_light(scope))
        place.take()
        connection: Connection = ASGIConnection(scope, receive, send)
        try:
            await guard(connection, scope["route_handler"])
            if CALLER not in scope["state"]:
                await app(scope, place.left_while(receive), place.left_at(send))
                return
            known: PlainCalls = state.plain_calls
            with ExitStack() as places:
                try:
                    _take_places(service, scope, places)
                except Refusal:
                    await confirm_caller(connection)
                    raise
                await respond(app, known, scope, receive, send)
        finally:
            place.leave()

    return bounded


class _Place:
    """Of what may be under way at once, the place of one request; what is light needs none.

    A stranger has it only while the service is at work: who sends a body slowly or does not read the answer would
    keep it, where callers have a share of them each.
    """

    def __init__(self, service: Service, *, is_needed: bool) -> None:
        self._service = service
        self._is_needed = is_needed
        self._is_taken = False

    def take(self) -> None:
        """Have it; `Refusal` where there is none left."""
        service = self._service
        if self._is_taken or not self._is_needed:
            return
        if service.requests >= service.settings.api.requests_max:
            raise overload_refusal()
        service.requests += 1
        self._is_taken = True

    def leave(self) -> None:
        """Give it back, if it is taken."""
        self._service.requests -= self._is_taken
        self._is_taken = False

    def left_while(self, receive: Receive) -> Receive:
        """`receive`, without the place until something comes."""

        async def received() -> Any:  # noqa: ANN401 - a message of ASGI
            self.leave()
            message = await receive()
            self.take()
            return message

        return received

    def left_at(self, send: Send) -> Send:
        """`send`, without the place from the first message of the answer on."""

        async def sent(message: Message) -> None:
            self.leave()
            await send(message)

        return sent


def _is_light(scope: Scope) -> bool:
    """Whether it asks the store for nothing: the health, and files of the console.

    Clients that do not read the answer would otherwise hold the places of those who work: how many there may be is
    for the limit on connections, where strangers give way.
    """
    is_light: bool = scope["route_handler"].opt.get("is_light", False)
    return is_light and scope.get("method") in ("GET", "HEAD")


def _take_places(service: Service, scope: Scope, places: ExitStack) -> None:
    """Of what may be under way at once, the share of who was let in."""
    caller: Caller | None = scope["state"].get(CALLER)
    if caller is None:
        return
    is_stream = scope["route_handler"].opt.get("is_stream", False)
    for each in (service.let_in, service.streams) if is_stream else (service.let_in,):
        places.enter_context(each.taken_by(caller.id, is_key=caller.key is not None))


@cache
def describe_api(plugins: tuple[Plugin, ...] | None = None) -> Document:
    """The OpenAPI document of all routes: our own, and those of these plug-ins (by default all that are installed)."""
    found = (
        tuple(each.plugin for each in discovery.installed_plugins()) if plugins is None else plugins
    )
    return describe(_routes(found), id_fields=_id_fields(found))


def _id_fields(plugins: Sequence[Plugin]) -> list[str]:
    """What the paths of pipelines call the id of a record."""
    return [each.id_field for plugin in plugins for each in plugin.resources]


def _own_ids(plugins: Sequence[Plugin]) -> set[str]:
    """What the routes that pipelines contribute call ids: always of records, which is all that they have."""
    paths = (
        route.path
        for plugin in plugins
        for handler in _plugin_routes(plugin)
        for route in getattr(handler, "routes", ())
    )
    return {name for path in paths for name in ID_PARAMETER.findall(path)}


def _plugin_routes(plugin: Plugin) -> list[ControllerRouterHandler]:
    return resolve(plugin.routes) if plugin.routes else []


def _routes(plugins: Sequence[Plugin]) -> list[ControllerRouterHandler]:
    machines_ = {
        machine.name: machine for plugin in plugins for machine in discovery.machines(plugin)
    }
    resources = [
        routes_of(records_of(each, machines_[each.machine]))
        for plugin in plugins
        for each in plugin.resources
    ]
    contributed = [handler for plugin in plugins for handler in _plugin_routes(plugin)]
    return [
        *resources,
        *records.HANDLERS,
        *refused_uploads.HANDLERS,
        *search.HANDLERS,
        *record_schemas.HANDLERS,
        *reviews.HANDLERS,
        *review_batches.HANDLERS,
        *review_links.HANDLERS,
        *flags.HANDLERS,
        *contributed,
        *batches.HANDLERS,
        *machines.HANDLERS,
        *events.HANDLERS,
        *health.HANDLERS,
        *administration.HANDLERS,
        *keys.HANDLERS,
        *feed.HANDLERS,
        *dead_letters.HANDLERS,
        *erasure.HANDLERS,
        *exports.HANDLERS,
        *audit.HANDLERS,
        *documents.HANDLERS,
        *metrics.HANDLERS,
        *webhooks.HANDLERS,
    ]


def _check_rights(app: Litestar) -> None:
    """A route that does not say who may ask is a fault of ours, seen before anybody asks."""
    for route in app.routes:
        for handler in getattr(route, "route_handlers", ()):
            is_ours = handler.http_methods != {OPTIONS}  # Litestar answers those itself
            if is_ours and handler.opt.get("right") not in RIGHTS:
                raise AssertionError(f"{route.path} does not say which right it needs")


def _problem(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    """Whatever was raised, as a problem."""
    if isinstance(error, OptionsAsked):
        return Response(content=b"", status_code=204, headers={"Allow": ", ".join(error.methods)})
    refusal = refusal_for(error)
    if refusal.kind.status == 500:
        service: Service = request.app.state.service
        service.log.error(
            f"{request.method} {request.url.path} failed", exc_info=error, kind=type(error).__name__
        )
    page_of: PageOf | None = request.app.state.page_of
    is_for_people = isinstance(error, NotFoundException) or request.url.path == documents.DOCS
    if page_of is not None and is_for_people and _is_browser(request):
        return page_of(request, refusal)
    return reply(refusal.answer())


def _is_browser(request: Request[Any, Any, Any]) -> bool:
    """Whether a person looks at the answer: clients of the API do not ask for pages."""
    return request.method == "GET" and HTML in request.headers.get("accept", "")


def refusal_for(error: Exception) -> Refusal:
    """What anything that was raised means to who asked."""
    match error:
        case Refusal():
            return error
        case StatewardError():
            return refusal_of(error)
        case NotFoundException():
            return Refusal("not-found", "there is nothing at this address; see /openapi.json")
        case MethodNotAllowedException():
            return Refusal("method-not-allowed", "see /openapi.json", headers=_allowing_head(error))
        case HTTPException():
            return _refused_by_litestar(error)
    return internal_error()


def _allowing_head(error: HTTPException) -> dict[str, str]:
    headers = {name.title(): value for name, value in (error.headers or {}).items()}
    allowed = {each.strip() for each in headers.get("Allow", "").split(",") if each.strip()}
    if "GET" in allowed:
        headers["Allow"] = ", ".join(sorted({*allowed, "HEAD"}))
    return headers


def _refused_by_litestar(error: HTTPException) -> Refusal:
    if error.status_code == 413:
        return Refusal("too-large", "the document of this request is too large")
    if error.status_code >= 500:
        return internal_error()
    faults = [
        FieldFault(
            field=str(each.get("key", "")),
            sentence=clean_text(_sentence(each), chars_max=DETAIL_CHARS_MAX),
        )
        for each in (error.extra if isinstance(error.extra, list) else [])
        if isinstance(each, dict)
    ]
    message = "; ".join(f"{each.field}: {each.sentence}" for each in faults)
    detail = clean_text(message or str(error.detail), chars_max=DETAIL_CHARS_MAX)
    return Refusal("invalid-request", detail, errors=faults or UNSET)


def _sentence(fault: dict[str, Any]) -> str:
    """What Litestar says of a parameter. Of a missing one it says only its name, in quotes."""
    name, said = str(fault.get("key", "")), str(fault.get("message", ""))
    if said != repr(name):
        return said
    return "the request has no body; it needs a JSON document" if name == "data" else "is missing"
