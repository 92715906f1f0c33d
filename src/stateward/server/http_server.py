"""The HTTP server of this process: uvicorn in a thread of its own, so that a loop of other roles can run beside it.

Without a key only a loopback address is listened to; any other needs a key and TLS, its own or a proxy's. The first
stop finishes what is under way; streams and long waits end at once.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence
from threading import Event, Thread
from typing import Self

import uvicorn
from litestar.types import ControllerRouterHandler

from stateward import telemetry
from stateward.app import App
from stateward.core.errors import InvalidRequest
from stateward.server import make_app
from stateward.server.auth import is_loopback
from stateward.server.connections import Connections
from stateward.server.service import Service
from stateward.server.strict import around
from stateward.settings import Settings

BACKLOG = 2048
# Connections are counted when they are made, and the loop makes none before it has accepted all that wait, up to this.
ACCEPTED_AT_ONCE = 64
RESTART_S = 1.0
GRACE_S = 10
KEEP_ALIVE_S = 30
STARTED_S = 60.0
POLL_S = 0.05


class Server:
    """The HTTP server of this process, open while the `with` lasts."""

    def __init__(
        self,
        settings: Settings,
        *,
        open_app: Callable[[], App],
        extra_routes: Sequence[ControllerRouterHandler] = (),
    ) -> None:
        self._settings = settings
        self._extra_routes = extra_routes
        self._open_app = open_app
        self._socket = _listening(settings)
        self._is_ready = Event()
        self._is_leaving = Event()
        self._trouble: BaseException | None = None
        self._server: uvicorn.Server | None = None
        self.service: Service | None = None  # once it listens
        self._thread = Thread(target=self._run, name="stateward-http", daemon=True)

    @property
    def url(self) -> str:
        """Where it listens."""
        own = self._settings.api
        scheme = "https" if own.tls_certificate else "http"
        host, port = self._socket.getsockname()[:2]
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"

    def __enter__(self) -> Self:
        self._thread.start()
        self._is_ready.wait(STARTED_S)
        if self._trouble is not None:
            self._thread.join()
            self._socket.close()
            raise self._trouble
        return self

    def __exit__(self, *_: object) -> None:
        self._is_leaving.set()
        if self._server is not None:
            self._server.should_exit = True
        self._thread.join(2 * GRACE_S)
        self._socket.close()

    def _run(self) -> None:
        while True:
            try:
                asyncio.run(self._serve())
            except BaseException as error:  # noqa: BLE001 - raised again in the thread that opened it
                if not self._is_ready.is_set():
                    self._trouble = error
                    self._is_ready.set()
                    return
                # Whatever it was: the other roles of this process go on, and so does this one.
                telemetry.log("api").error(
                    "the HTTP server failed, and starts again", exc_info=error
                )
            self._is_ready.set()
            if self._is_leaving.wait(RESTART_S):
                return

    async def _serve(self) -> None:
        own = self._settings.api
        app = make_app(self._settings, open_app=self._open_app, extra_routes=self._extra_routes)
        connections = Connections(own)
        config = uvicorn.Config(
            around(app, own),
            http=connections.protocol(),
            backlog=ACCEPTED_AT_ONCE,
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="off",
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=GRACE_S,
            ssl_certfile=own.tls_certificate,
            ssl_keyfile=own.tls_key,
        )
        server = self._server = uvicorn.Server(config)
        sweeping = asyncio.create_task(connections.keep_sweeping())
        self.service = app.state.service
        async with (
            app.lifespan()
        ):  # here and not in uvicorn, so that what keeps it closed is raised
            serving = asyncio.create_task(server.serve(sockets=[self._socket]))
            while not (server.started or serving.done()):  # noqa: ASYNC110 - uvicorn has no event for it
                await asyncio.sleep(POLL_S / 10)
            self._socket.listen(BACKLOG)  # the loop has set it to what it accepts at once
            self._is_ready.set()
            while not (server.should_exit or serving.done()):  # noqa: ASYNC110 - the same
                await asyncio.sleep(POLL_S)
            app.state.service.hub.close()  # waiting requests are answered, so that none keeps the server open
            await serving
            sweeping.cancel()


def check_address(settings: Settings, *, has_key: bool) -> None:
    """Refuse to listen where others could reach a service that asks for no key."""
    own = settings.api
    if is_loopback(own.host):
        return
    if not has_key:
        raise InvalidRequest(
            f"without a key the service listens at loopback only, not at {own.host}: "
            "make one with `stateward key create NAME --role admin`, then start again"
        )
    if own.tls_certificate is None and not own.behind_tls_proxy:
        raise InvalidRequest(
            f"keys must not cross a network in the open: to listen at {own.host}, name api.tls_certificate and "
            "api.tls_key, or say api.behind_tls_proxy: true if a proxy speaks TLS in front of it"
        )


def _listening(settings: Settings) -> socket.socket:
    own = settings.api
    try:
        family, _, _, _, address = socket.getaddrinfo(
            own.host, own.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # With its protocol named, so that asyncio knows it for TCP and lets no answer wait for more (TCP_NODELAY).
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
        listening.setblocking(False)
    except OSError as error:
        raise InvalidRequest(
            f"cannot listen at {own.host} port {own.port} ({error.strerror or error}); "
            "name another with --port or api.port"
        ) from error
    return listening
