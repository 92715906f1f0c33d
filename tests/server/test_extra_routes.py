"""Routes beside the API: the API does not wait for them, and who asks for one of them does."""

import asyncio
import io
from threading import Event
from typing import Any

import pytest

from stateward import telemetry
from stateward.server.extra_routes import Beside, ExtraRoutes, LoadedRoutes


def answering(word: str) -> Any:  # noqa: ANN401 - an ASGI application
    async def app(scope: Any, _: Any, send: Any) -> None:  # noqa: ANN401 - words of ASGI
        await send((word, scope["path"]))

    return app


def beside(load: Any) -> Beside:  # noqa: ANN401 - what loads them
    extra = ExtraRoutes(base="/console", load=load)
    return Beside(answering("api"), extra, lambda _: answering("extra"))


async def asked(app: Beside, path: str, *, accept: bytes = b"*/*") -> tuple[str, str]:
    sent: list[Any] = []

    async def send(message: Any) -> None:  # noqa: ANN401 - a message of ASGI
        sent.append(message)

    scope = {"type": "http", "path": path, "headers": [(b"accept", accept)]}
    await app(scope, None, send)  # type: ignore[arg-type]
    return sent[0]  # type: ignore[no-any-return]


def test_the_api_answers_while_the_console_is_loaded_and_a_page_waits_for_it() -> None:
    may_load = Event()

    def load() -> LoadedRoutes:
        may_load.wait()
        return LoadedRoutes(handlers=())

    async def scene() -> None:
        app = beside(load)
        pages = [asyncio.ensure_future(asked(app, path)) for path in ("/", "/console/login")]
        lost = asyncio.ensure_future(asked(app, "/nowhere", accept=b"text/html,*/*;q=0.8"))
        assert await asked(app, "/consoles") == ("api", "/consoles")
        assert not any(page.done() for page in (*pages, lost))
        may_load.set()
        assert await asyncio.gather(*pages) == [("extra", "/"), ("extra", "/console/login")]
        assert await lost == ("api", "/nowhere")

    asyncio.run(scene())


def test_a_console_that_cannot_be_loaded_is_logged_and_the_api_works() -> None:
    def load() -> LoadedRoutes:
        raise ImportError("no such template")

    async def scene() -> None:
        app = beside(load)
        with pytest.raises(ImportError):
            await asked(app, "/console")
        assert await asked(app, "/uploads") == ("api", "/uploads")
        assert await asked(app, "/docs", accept=b"text/html") == ("api", "/docs")

    log = io.StringIO()
    telemetry.set_up(level="warning", stream=log)
    try:
        asyncio.run(scene())
    finally:
        telemetry.set_up(level="warning")
    assert "the console cannot be loaded" in log.getvalue()
