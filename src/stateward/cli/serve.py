"""The HTTP API as a role of a process: where it listens, and what becomes of it when it cannot."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

import click

from stateward.cli.commands import option, options

if TYPE_CHECKING:
    from socket import socket

    from stateward.settings import Settings

# Where to listen.
where = options(
    option("--host ADDRESS", "Address to listen on; otherwise api.host (loopback)."),
    option(
        "--port N",
        "Port to listen on; 0 takes a free one. Otherwise api.port.",
        type=click.IntRange(0, 65_535),
    ),
)


def at(settings: "Settings", *, host: str | None, port: int | None) -> "Settings":
    """The settings, with what the options say of the address."""
    from msgspec.structs import replace

    from stateward.definition.plain_values import read_python

    given = {key: value for key, value in (("host", host), ("port", port)) if value is not None}
    if not given:
        return settings
    layers = (*settings.layers, read_python({"api": given}, source="options"))
    return replace(settings, api=replace(settings.api, **given), layers=layers)


@contextmanager
def listening_socket(settings: "Settings", *, has_key: bool) -> "Iterator[socket]":
    """What the HTTP API listens on, as long as this lasts; callers wait in it until the API is open.

    A port that is taken ends the process, also beside other roles: a service manager starts it again, but lets one
    be that works and does not answer.
    """
    from stateward.core.errors import InvalidRequest
    from stateward.server.listening import check_address, listening

    _check_installed()
    if settings.store.url.startswith("memory:"):
        raise InvalidRequest("a store in memory: cannot be served; name a file or PostgreSQL")
    check_address(settings, has_key=has_key)
    with listening(settings) as own:
        yield own


def _check_installed() -> None:
    """Refuse before anything is announced; the server itself is loaded later, beside a loop that works already."""
    from importlib.util import find_spec

    from stateward.extras import missing_extra

    for module in ("litestar", "uvicorn"):
        if find_spec(module) is None:
            error = ModuleNotFoundError(f"No module named {module!r}", name=module)
            raise missing_extra(error) or error


@contextmanager
def open_api(settings: "Settings", on: "socket") -> Iterator[str]:
    """The HTTP API with the console, open as long as this lasts; where."""
    from stateward.app import App
    from stateward.console import console
    from stateward.engine.system import raise_open_files
    from stateward.server.http_server import Server

    raise_open_files()
    with Server(settings, open_app=lambda: App(settings), extra_routes=console(), on=on) as server:
        yield server.url


@contextmanager
def api_beside(
    settings: "Settings", on: "socket | None", *, failed: Callable[[Exception], object]
) -> Iterator[Callable[[], None]]:
    """What opens the HTTP API beside a loop that works already, in a thread: its code takes longest to load.

    Callers wait meanwhile, in the socket that it listens on. `failed` is told what kept it closed.
    """
    is_leaving = Event()

    def run(own: "socket") -> None:
        try:
            with open_api(settings, own):
                is_leaving.wait()
        except Exception as error:  # noqa: BLE001 - raised again by the loop
            failed(error)

    thread = Thread(target=run, args=(on,), name="stateward-api", daemon=True)

    def start() -> None:
        if on is not None and thread.ident is None:
            thread.start()

    try:
        yield start
    finally:
        is_leaving.set()
        if thread.ident is not None:
            thread.join()
