"""A service ends when it is told to, at whatever moment that is."""

from pathlib import Path

import httpx2
import pytest

from stateward.app import App
from stateward.server.http_server import Server
from tests.server.api_client import settings_at

ENDED_S = 60.0


def test_a_server_that_is_told_to_stop_while_it_starts_stops(tmp_path: Path) -> None:
    settings = settings_at(tmp_path)
    server = Server(settings, open_app=lambda: App(settings))
    server._is_leaving.set()

    with server:
        server._thread.join(ENDED_S)

        assert not server._thread.is_alive()


def test_a_server_that_is_told_to_stop_takes_no_more_requests(tmp_path: Path) -> None:
    settings = settings_at(tmp_path)
    with Server(settings, open_app=lambda: App(settings)) as server:
        url = server.url
        assert httpx2.get(f"{url}/healthz").status_code == 200

    assert not server._thread.is_alive()
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(f"{url}/healthz")
