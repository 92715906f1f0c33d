"""The HTTP API as a role of a process: where it listens, and what becomes of it when it cannot."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from stateward.settings import Settings

Function = Callable[..., Any]


def where(function: Function) -> Function:
    """The options that say where to listen."""
    for decorate in (
        click.option(
            "--port",
            metavar="N",
            type=click.IntRange(0, 65_535),
            help="The port to listen at; 0 takes a free one. Otherwise api.port.",
        ),
        click.option(
            "--host",
            metavar="ADDRESS",
            help="The address to listen at; otherwise api.host, which is loopback.",
        ),
    ):
        function = decorate(function)
    return function


def at(settings: "Settings", *, host: str | None, port: int | None) -> "Settings":
    """The settings, with what the options say of the address."""
    from msgspec.structs import replace

    from stateward.definition.plain_values import read_python

    said = {key: value for key, value in (("host", host), ("port", port)) if value is not None}
    if not said:
        return settings
    layers = (*settings.layers, read_python({"api": said}, source="options"))
    return replace(settings, api=replace(settings.api, **said), layers=layers)


@contextmanager
def opened(settings: "Settings", *, is_asked_for: bool) -> Iterator[str | None]:
    """The HTTP API, open as long as this lasts; where.

    A port that is taken is an error if it was named. Otherwise, beside other roles, those go on without it.
    """
    from stateward import telemetry
    from stateward.app import App
    from stateward.console import console
    from stateward.core.errors import InvalidRequest
    from stateward.engine.system import raise_open_files
    from stateward.server.http_server import Server, check_address

    raise_open_files()
    is_named = is_asked_for or any(layer.has("api") for layer in settings.layers[1:])
    try:
        if settings.store.url.startswith("memory:"):
            raise InvalidRequest("a store in memory: cannot be served; name a file or PostgreSQL")
        with App(settings) as app:
            check_address(settings, has_key=app.keys.any_live(app.clock()))
        server = Server(settings, open_app=lambda: App(settings), extra_routes=console())
    except InvalidRequest as error:
        if is_named:
            raise
        telemetry.log("api").warning(f"the HTTP API stays closed: {error}")
        yield None
        return
    with server:
        yield server.url
