"""What every request and every answer has in common, before and after a route has its say.

JSON is read strictly: UTF-8, no name twice in one object, no NaN, no nesting that no document has, and every value of
the type that its field has: `0` is not taken for `false`, nor `"7"` for 7. A query has no types; there a flag is
`true` or `false`, a number has digits only, and what can be said once is said once. Names in a query that the route
does not know are refused, because a mistyped filter would silently be none. HEAD works where GET does.
Answers of the API are not stored by anyone on the way, and no browser guesses their type.
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, Literal, get_args, get_origin
from urllib.parse import unquote_to_bytes

import msgspec
from litestar import Litestar, Request, Router
from litestar.connection import ASGIConnection
from litestar.exceptions import InternalServerException, ValidationException
from litestar.handlers import BaseRouteHandler
from litestar.routes import HTTPRoute
from litestar.types import ASGIApp, Message, Receive, Scope, Send
from litestar.typing import FieldDefinition

from stateward.core.model import clean_text
from stateward.server.problems import ClientGone, Refusal
from stateward.server.turns import Turns
from stateward.settings.server import ApiSettings

DEPTH_MAX = 64
INTEGER_END = 2.0**63
SHOWN_CHARS_MAX = 80
YEAR_S = 31_536_000
# An answer is handed over in pieces: who does not read keeps no more than some of them in memory.
PIECE_BYTES = 64 << 10
CALLER = "caller"
"""In the state of a request that was let in: who asks."""
HEAD_ONLY = "stateward.head"
"""In the scope of a request: its client asked for the head alone, and gets nothing of what it describes."""


def strict_json(body: bytes) -> Any:  # noqa: ANN401 - it is JSON
    """The JSON of a request; `Refusal` with 400 if it is not what it should be."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _bad(f"byte {error.start} is no UTF-8") from error
    try:
        found = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_number
        )
        # Half of a character can be escaped, and can be stored nowhere.
        json.dumps(found, ensure_ascii=False).encode()
    except RecursionError as error:
        raise _bad(f"it is nested more than {DEPTH_MAX} deep") from error
    except UnicodeEncodeError as error:
        raise _bad("it has half of a character in it (a lone surrogate)") from error
    except ValueError as error:  # also a number of more digits than Python reads
        raise _bad(clean_text(str(error), chars_max=SHOWN_CHARS_MAX)) from error
    _check_depth(found)
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"it names {twice[:SHOWN_CHARS_MAX]!r} twice in one object")
    return found


def _number(text: str) -> float | int:
    """A number with a point or an exponent; in JSON `5.0` is the whole number 5, and infinity is none."""
    value = float(text)
    if not isfinite(value):
        raise ValueError(f"{text[:SHOWN_CHARS_MAX]} is too large a number")
    return int(value) if value.is_integer() and abs(value) < INTEGER_END else value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _check_depth(value: object) -> None:
    level: Iterable[object] = [value]
    for _ in range(DEPTH_MAX):
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return
    raise _bad(f"it is nested more than {DEPTH_MAX} deep")


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _bad(why: str) -> Refusal:
    return Refusal("invalid-request", f"the body of this request is not valid JSON: {why}")


class ApiRequest(Request[Any, Any, Any]):
    """A request whose JSON is read strictly, whatever route reads it."""

    async def json(self) -> Any:  # noqa: ANN401 - it is JSON, or what the route declares as its `data`
        """The body. Litestar alone would convert it laxly, and what has its type already it leaves alone."""
        body = await self.body()
        if not body:
            return None
        declared = self.route_handler.parsed_fn_signature.parameters.get("data")
        found = strict_json(body)
        return found if declared is None else _convert_type(found, declared.annotation)

    async def stream(self) -> AsyncGenerator[bytes, None]:
        """The body in pieces; `ClientGone` where it ends too early."""
        try:
            async for piece in super().stream():
                yield piece
        except InternalServerException as error:
            # Litestar raises the same where a body is read twice, which is a fault of ours.
            if self.is_connected:
                raise ClientGone from error
            raise


def _convert_type(found: object, declared: object) -> object:
    try:
        return msgspec.convert(found, declared)
    except msgspec.ValidationError as error:
        said, _, path = str(error).partition(" - at `$")
        field = path.rstrip("`").lstrip(".") or "data"
        fault = {"key": field, "message": said}
        raise ValidationException(detail=f"{field}: {said}", extra=[fault]) from error


# Queries


class QueryName(msgspec.Struct, frozen=True):
    """A name that the query of a route may have."""

    form: re.Pattern[str] | None
    expected: str
    is_repeatable: bool


_DIGITS = re.compile(r"-?[0-9]+")
_FLAG = re.compile(r"true|false")


def note_queries(app: Litestar, handlers: Iterable[object]) -> None:
    """Remember for each of our routes what its query may have; those of the console are their own affair."""
    own = {getattr(each, "fn", None) for each in _flat(handlers)}
    found: dict[object, dict[str, QueryName]] = {}
    for route in app.routes:
        if isinstance(route, HTTPRoute):
            for handler, model in route.route_handler_map.values():
                if handler.fn in own:
                    declared = handler.parsed_fn_signature.parameters
                    found[handler.fn] = {
                        each.field_alias: _query_name(
                            declared[each.field_name], is_repeatable=each.is_sequence
                        )
                        for each in model.expected_query_params
                    }
    app.state.queries = found


def _query_name(declared: FieldDefinition, *, is_repeatable: bool) -> QueryName:
    types = {each.annotation for each in declared.inner_types or (declared,)}
    if bool in types:
        return QueryName(_FLAG, "true or false", is_repeatable)
    if int in types:
        return QueryName(_DIGITS, "a whole number", is_repeatable)
    # Litestar alone would take the text `null` for none of them.
    if words := [word for each in types if get_origin(each) is Literal for word in get_args(each)]:
        return QueryName(_choice(words), f"one of {', '.join(words)}", is_repeatable)
    return QueryName(None, "", is_repeatable)


def _choice(words: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, words)))


def _flat(handlers: Iterable[object]) -> Iterable[object]:
    for each in handlers:
        if isinstance(each, Router):
            for route in each.routes:
                yield from getattr(route, "route_handlers", ())
        else:
            yield each


def check_address_text(connection: ASGIConnection[Any, Any, Any, Any]) -> None:
    """Refuse an address that is no UTF-8: with what stands for the bytes it would silently name something else."""
    scope = connection.scope
    for part in (scope.get("raw_path", b""), scope.get("query_string", b"")):
        if b"%" not in part and part.isascii():
            continue
        try:
            unquote_to_bytes(part).decode("utf-8")
        except UnicodeDecodeError as error:
            raise Refusal("invalid-request", "the address of this request is not UTF-8") from error


def check_query(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Refuse names that the route does not know, and values that are not plainly of their type."""
    known: Mapping[object, Mapping[str, QueryName]] = connection.app.state.queries
    names = known.get(handler.fn)
    if names is None or not connection.scope.get("query_string"):
        return
    given = connection.query_params.dict()
    # A route whose names depend on the pipelines checks the others itself.
    other = [] if handler.opt.get("checks_query") else [name for name in given if name not in names]
    if other:
        shown = ", ".join(clean_text(name, chars_max=SHOWN_CHARS_MAX) for name in other[:5])
        there = f"it knows {', '.join(sorted(names))}" if names else "it takes none"
        raise Refusal("invalid-request", f"this path knows no query {shown}; {there}")
    for name, values in given.items():
        if name in names:
            _check_values(name, values, names[name])


def _check_values(name: str, values: list[Any], declared: QueryName) -> None:
    if len(values) > 1 and not declared.is_repeatable:
        raise Refusal("invalid-request", f"the query has {name} {len(values)} times; say it once")
    if declared.form is not None:
        for value in values:
            if not declared.form.fullmatch(value):
                shown = clean_text(value, chars_max=SHOWN_CHARS_MAX)
                detail = f"{name} is {declared.expected}, not {shown!r}"
                raise Refusal("invalid-request", detail)


# All answers


def around(
    app: ASGIApp, settings: ApiSettings, line_of: Callable[[Scope], Turns | None] = lambda _: None
) -> ASGIApp:
    """The application with HEAD, with the headers that every answer has, and with strangers who wait in line."""
    fixed = [(b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]
    if settings.tls_certificate is not None or settings.behind_tls_proxy:
        fixed.append((b"strict-transport-security", b"max-age=%d" % YEAR_S))

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        is_head = scope.get("method") == "HEAD"
        is_begun = is_ended = False
        line = line_of(scope)
        if line is not None and not await line.next(scope["state"]):
            return

        async def with_headers(message: Message) -> None:
            nonlocal is_begun, is_ended
            if message["type"] == "http.response.start":
                is_begun = True
                headers = list(message.get("headers", ()))
                names = {bytes(name).lower() for name, _ in headers}
                message["headers"] = [*headers, *(each for each in fixed if each[0] not in names)]
            elif message["type"] == "http.response.body":
                is_ended = not message.get("more_body", False)
                rest = memoryview(message.get("body", b""))
                while len(rest) > PIECE_BYTES:
                    piece, rest = bytes(rest[:PIECE_BYTES]), rest[PIECE_BYTES:]
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                    # Others have their turn, and so has the news that this client is gone.
                    if line is None or CALLER in scope["state"]:
                        await asyncio.sleep(0)
                    elif not await line.next(scope["state"]):
                        return
                message["body"] = bytes(rest)
            await send(message)

        async def heard() -> Any:  # noqa: ANN401 - a message of ASGI
            # A stream has no end: who asked for its head alone has heard enough.
            return {"type": "http.disconnect"} if is_head and is_begun else await receive()

        # uvicorn knows that it was HEAD, and sends no body.
        inner: Any = {**scope, "method": "GET", HEAD_ONLY: True} if is_head else scope
        await app(inner, heard, with_headers)
        if is_head and is_begun and not is_ended:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    return wrapped
