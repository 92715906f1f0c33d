"""Requests that give a route none of its parameters, and answers that are whole: the short way through Litestar.

Most requests are such. Litestar looks for every parameter of a route in each of them, checks what it did not find, and
builds an answer that is there already; that took a sixth of the time of the event loop. What a route does, who may ask
and what is answered are the same on both ways.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from litestar import Litestar, Response
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute
from litestar.types import ASGIApp, Receive, Scope, Send

from stateward.server.strict import ApiRequest
from stateward.storage.idempotency import Answer

PlainCalls = Mapping[object, frozenset[bytes]]
NO_BODY = frozenset({204, 304})


def plain_calls(app: Litestar, functions: Iterable[object]) -> PlainCalls:
    """Which of these functions of routes may be called with a request alone, and the headers that must not be there."""
    own = frozenset(functions)
    found: dict[object, frozenset[bytes]] = {}
    for route in app.routes:
        if isinstance(route, HTTPRoute):
            for handler, model in route.route_handler_map.values():
                is_plain = (
                    model.expected_reserved_kwargs == {"request"}
                    and not model.expected_path_params
                    and not model.expected_cookie_params
                    and not model.dependency_batches
                    and _is_alone(handler)
                )
                if handler.fn in own and is_plain:
                    found[handler.fn] = frozenset(
                        each.field_alias.lower().encode() for each in model.expected_header_params
                    )
    return found


def _is_alone(handler: HTTPRouteHandler) -> bool:
    """Whether nothing is done around the function of a route, and it needs nothing that a request may lack."""
    parameters = handler.parsed_fn_signature.parameters
    hooks = (
        handler.resolve_guards(),
        handler.resolve_before_request(),
        handler.resolve_after_response(),
        handler.cache,
    )
    return (
        not any(hooks)
        and not handler.has_sync_callable
        and all(each.has_default for name, each in parameters.items() if name != "request")
    )


async def respond(
    app: ASGIApp, known: PlainCalls, scope: Scope, receive: Receive, send: Send
) -> None:
    """Answer a request that was let in: by the function of its route alone where that is enough, else by `app`."""
    handler: HTTPRouteHandler = scope["route_handler"]  # type: ignore[assignment]
    headers = known.get(handler.fn)
    if (
        headers is None
        or scope.get("query_string")
        or any(name in headers for name, _ in scope["headers"])
    ):
        await app(scope, receive, send)
        return
    request = ApiRequest(scope, receive, send)
    response = await handler.fn(request=request)
    answer = await handler.to_response(app=scope["litestar_app"], data=response, request=request)
    await answer(scope, receive, send)


class WholeResponse(Response[bytes]):
    """An answer as it is sent: its bytes, its status, all of its headers."""

    def to_asgi_response(self, *given: Any, **named: Any) -> ASGIApp:  # type: ignore[override]  # noqa: ANN401 - as Litestar calls it
        """Two messages; with a cookie or something to be done afterwards, what Litestar makes of it."""
        if self.cookies or self.background is not None or named.get("headers"):
            return super().to_asgi_response(*given, **named)
        start: Any = {
            "type": "http.response.start",
            "status": self.status_code,
            "headers": self._head(),
        }
        body: Any = {"type": "http.response.body", "body": self.content, "more_body": False}

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            await send(start)
            await send(body)

        return answer

    def _head(self) -> list[tuple[bytes, bytes]]:
        head = [
            (name.lower().encode("latin-1"), value.encode("latin-1"))
            for name, value in self.headers.items()
        ]
        if self.status_code not in NO_BODY:
            media_type = str(self.media_type)
            charset = "; charset=utf-8" if media_type.startswith("text/") else ""
            head.append((b"content-type", f"{media_type}{charset}".encode("latin-1")))
            head.append((b"content-length", b"%d" % len(self.content)))
        return head


def whole_response(answer: Answer) -> Response[Any]:
    """An answer as Litestar sends it."""
    headers = dict(answer.headers)
    media_type = headers.pop("Content-Type", "application/json")
    return WholeResponse(
        content=answer.body, status_code=answer.status, headers=headers, media_type=media_type
    )
