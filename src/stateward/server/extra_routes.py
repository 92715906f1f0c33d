"""Routes at the same address that are no part of the API, such as the console: loaded once the API is open.

Their code and their registration take as long as those of the API, and nothing that waits for the API needs them. A
request for one of them that comes before they are there waits.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from stateward import telemetry

if TYPE_CHECKING:
    from litestar import Request, Response
    from litestar.types import ASGIApp, ControllerRouterHandler, Receive, Scope, Send

    from stateward.server.problems import Refusal

# A refusal as a page for people.
PageOf: TypeAlias = "Callable[[Request[Any, Any, Any], Refusal], Response[Any]]"


class LoadedRoutes(msgspec.Struct, frozen=True, kw_only=True):
    """The handlers; `page_of` is what a browser is shown at an address that leads nowhere."""

    handlers: "tuple[ControllerRouterHandler, ...]"
    page_of: "PageOf | None" = None


class ExtraRoutes(msgspec.Struct, frozen=True, kw_only=True):
    """Where they are, and what imports them: the root and all below `base`."""

    base: str
    load: Callable[[], LoadedRoutes]

    def covers(self, path: str) -> bool:
        """Whether a path is one of theirs."""
        return path in ("/", self.base) or path.startswith(f"{self.base}/")


class Beside:
    """The API, and beside it an application for the extra routes, made in a thread when `load` is called."""

    def __init__(
        self, api: "ASGIApp", extra: ExtraRoutes, make: "Callable[[LoadedRoutes], ASGIApp]"
    ) -> None:
        self._api = api
        self._extra = extra
        self._make = make
        self._loading: asyncio.Future[ASGIApp] | None = None

    def load(self) -> "asyncio.Future[ASGIApp]":
        """Begin to load them, unless that has begun; what goes wrong is logged, and each request for one fails."""
        if self._loading is None:
            self._loading = asyncio.get_running_loop().run_in_executor(None, self._load)
            self._loading.add_done_callback(_log_failure)
        return self._loading

    def _load(self) -> "ASGIApp":
        return self._make(self._extra.load())

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Have one of the two answer."""
        app = self._api
        if self._extra.covers(scope["path"]):
            # Shielded: a client that goes away does not end what others wait for.
            app = await asyncio.shield(self.load())
        elif any(name == b"accept" and b"text/html" in value for name, value in scope["headers"]):
            # An address that leads nowhere is answered with a page of theirs; without them the API answers alone.
            await asyncio.wait([self.load()])
        await app(scope, receive, send)


def _log_failure(loading: "asyncio.Future[ASGIApp]") -> None:
    if not loading.cancelled() and (error := loading.exception()) is not None:
        telemetry.log("api").error("the console cannot be loaded", exc_info=error)
