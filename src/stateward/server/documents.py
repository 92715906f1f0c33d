"""`/openapi.json` and `/docs`: what can be asked, for programs and for people."""

from typing import Any

import msgspec
from litestar import Response, get

from stateward.server import pages
from stateward.server.auth import Asked, reply
from stateward.storage.idempotency import Answer

DOCS = "/docs"


@get("/openapi.json", opt={"right": "observe"}, include_in_schema=False)
async def openapi(request: Asked) -> Response[Any]:
    """The OpenAPI document."""
    body = msgspec.json.encode(request.app.state.described())
    return reply(Answer(status=200, headers={"Content-Type": "application/json"}, body=body))


@get(DOCS, opt={"right": "observe"}, include_in_schema=False)
async def docs(request: Asked) -> Response[Any]:
    """The same for people; it loads nothing from elsewhere."""
    headers = {
        "Content-Type": "text/html",  # Litestar adds the charset
        "Content-Security-Policy": pages.POLICY,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
    }
    body = pages.docs(request.app.state.described()).encode()
    return reply(Answer(status=200, headers=headers, body=body))


@get("/llms.txt", opt={"right": "observe"}, include_in_schema=False)
async def llms(request: Asked) -> Response[Any]:
    """The same in short, for language models."""
    headers = {"Content-Type": "text/plain", "X-Content-Type-Options": "nosniff"}
    body = pages.llms(request.app.state.described()).encode()
    return reply(Answer(status=200, headers=headers, body=body))


HANDLERS: list[Any] = [openapi, docs, llms]
