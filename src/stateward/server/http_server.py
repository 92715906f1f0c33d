"""The HTTP server of this process: uvicorn in a thread of its own, so that a loop of other roles can run beside it.

The first stop finishes what is under way; streams and long waits end at once.
"""

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Event, Thread
from typing import Self

import uvicorn

from stateward import telemetry
from stateward.app import App
from stateward.server.asgi import make_app, make_extra_app
from stateward.server.auth import line_of
from stateward.server.connections import Connections
from stateward.server.extra_routes import Beside, ExtraRoutes
from stateward.server.listening import BACKLOG, listening, url_of
from stateward.server.service import Service
from stateward.server.strict import around
from stateward.settings import Settings

# Connections are counted when they are made, and the loop makes none before it has accepted all that wait, up to this.
ACCEPTED_AT_ONCE = 64
LOGGERS = ("uvicorn", "asyncio")
RESTART_S = 1.0
GRACE_S = 10
KEEP_ALIVE_S = 30
STARTED_S = 60.0
STARTING_POLL_S = 0.005


class _IntoLog(logging.Handler):
    """What uvicorn and asyncio have to say, in the one log of the service."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        write = getattr(telemetry.log("api"), record.levelname.lower(), telemetry.log("api").error)
        write(record.getMessage().strip(), exc_info=record.exc_info)


class Server:
    """The HTTP server of this process, open while the `with` lasts.

    It listens `on` this socket, or on one of its own where the settings say.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        open_app: Callable[[], App],
        extra_routes: ExtraRoutes | None = None,
        on: socket.socket | None = None,
    ) -> None:
        self._settings = settings
        self._extra_routes = extra_routes
        self._open_app = open_app
        self._socket = listening(settings) if on is None else on
        self._is_ready = Event()
        self._is_leaving = Event()
        self._trouble: BaseException | None = None
        self._leave: Callable[[], object] | None = None  # ends the server, from any thread
        self.service: Service | None = None  # once it listens
        self._thread = Thread(target=self._run, name="stateward-http", daemon=True)

    @property
    def url(self) -> str:
        """Where it listens."""
        return url_of(self._settings, self._socket)

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
        if self._leave is not None:
            with suppress(RuntimeError):  # its loop has ended already
                self._leave()
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
        app = make_app(self._settings, open_app=self._open_app)
        beside = None
        if self._extra_routes is not None:
            beside = Beside(app, self._extra_routes, partial(make_extra_app, app))
        connections = Connections(own)
        for name in LOGGERS:
            logging.getLogger(name).handlers = [_IntoLog()]
        config = uvicorn.Config(
            around(beside or app, own, partial(line_of, app.state.service, self._extra_routes)),
            http=connections.protocol(),
            ws="none",
            backlog=min(ACCEPTED_AT_ONCE, connections.most),
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
        server = uvicorn.Server(config)
        loop, leaving = asyncio.get_running_loop(), asyncio.Event()
        self._leave = partial(loop.call_soon_threadsafe, leaving.set)
        if self._is_leaving.is_set():  # before there was a way to tell it
            leaving.set()
        loop.set_exception_handler(connections.note_fault)
        sweeping = asyncio.create_task(connections.keep_sweeping())
        self.service = app.state.service
        # Here and not in uvicorn's own lifespan, so that what keeps it closed is raised.
        async with self.service.running():
            serving = asyncio.create_task(server.serve(sockets=[self._socket]))
            while not (server.started or serving.done()):  # noqa: ASYNC110 - uvicorn has no event for it
                await asyncio.sleep(STARTING_POLL_S)
            self._socket.listen(BACKLOG)  # the loop has set it to what it accepts at once
            self._is_ready.set()
            if beside is not None:
                beside.load()
            left = asyncio.create_task(leaving.wait())
            await asyncio.wait((serving, left), return_when=asyncio.FIRST_COMPLETED)
            left.cancel()
            server.should_exit = True
            app.state.service.hub.close()  # waiting requests are answered, so that none keeps the server open
            await serving
            sweeping.cancel()
