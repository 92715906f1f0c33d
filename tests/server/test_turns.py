"""Strangers wait in line, one served in each round of the event loop; who was let in before does not wait with them."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from litestar.types import Receive, Scope, Send

from stateward.app import App
from stateward.console import console
from stateward.server.auth import line_of
from stateward.server.connections import Connections
from stateward.server.service import Service
from stateward.server.strict import CALLER, PIECE_BYTES, around
from stateward.server.turns import TURN, Turns
from stateward.settings.server import ApiSettings
from tests.server.api_client import ApiClient, serving, settings_at
from tests.server.raw_http import ask, connection
from tests.server.test_limits import made

ROUNDS = 5
STRANGERS = 200


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiClient]:
    """A service with its console, for tests that change nothing."""
    with serving(settings_at(tmp_path_factory.mktemp("turns")), extra_routes=console()) as api:
        yield api


def asked(path: str, **headers: str) -> Any:  # noqa: ANN401 - a scope of ASGI
    fields = [(name.encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http", "method": "GET", "path": path, "headers": fields, "state": {}}


async def receive() -> Any:  # noqa: ANN401 - a message of ASGI
    return {"type": "http.disconnect"}


async def wait_for(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110 - rounds are what is counted here
        await asyncio.sleep(0)


def test_a_caller_waits_for_few_strangers_however_many_there_are() -> None:
    line = Turns()
    served: list[str] = []

    async def app(scope: Scope, _: Receive, __: Send) -> None:
        for _round in range(ROUNDS if scope["path"] == "/caller" else 0):
            await asyncio.sleep(0)
        served.append(scope["path"])

    async def send(_: Any) -> None:  # noqa: ANN401 - a message of ASGI
        """Nobody reads it."""

    async def play() -> None:
        own = around(app, ApiSettings(), lambda scope: line if scope["path"] == "/" else None)
        strangers = [
            asyncio.ensure_future(own(asked("/"), receive, send)) for _ in range(STRANGERS)
        ]
        await own(asked("/caller"), receive, send)
        before = len(served)
        await asyncio.gather(*strangers)
        assert before <= 2 * ROUNDS

    asyncio.run(play())

    assert len(served) == STRANGERS + 1


@pytest.mark.parametrize("is_caller", [False, True])
def test_each_piece_of_an_answer_takes_a_turn_of_a_stranger_and_none_of_a_caller(
    *, is_caller: bool
) -> None:
    line = Turns()
    sent: list[int] = []

    async def large(scope: Scope, _: Receive, send: Send) -> None:
        if is_caller:
            scope["state"][CALLER] = "ann"
        body = bytes(3 * PIECE_BYTES)
        await send({"type": "http.response.body", "body": body, "more_body": False})

    async def send(message: Any) -> None:  # noqa: ANN401 - a message of ASGI
        sent.append(len(message["body"]))

    async def play() -> list[int]:
        own = around(large, ApiSettings(), lambda _: line)
        answer = asyncio.ensure_future(own(asked("/"), receive, send))
        await wait_for(lambda: bool(sent))
        others = [asyncio.create_task(line.next({})) for _ in range(STRANGERS)]
        for _ in range(3 * ROUNDS):
            await asyncio.sleep(0)
        soon = list(sent)
        await asyncio.gather(answer, *others)
        return soon

    soon = asyncio.run(play())

    assert sum(soon) == (3 if is_caller else 2) * PIECE_BYTES
    assert sum(sent) == 3 * PIECE_BYTES


def test_a_client_that_has_gone_waits_for_no_turn() -> None:
    line = Turns()
    begun: list[str] = []

    async def app(scope: Scope, _: Receive, __: Send) -> None:
        begun.append(scope["path"])

    async def play() -> None:
        own = Connections(ApiSettings())
        protocol, _ = made(own, around(app, ApiSettings(), lambda _: line))
        others = [asyncio.create_task(line.next({})) for _ in range(STRANGERS)]
        await asyncio.sleep(0)
        protocol.data_received(b"GET /gone HTTP/1.1\r\nHost: x\r\n\r\n")
        await wait_for(lambda: TURN in protocol.scope["state"])
        protocol.connection_lost(None)
        await asyncio.gather(*others)

    asyncio.run(play())

    assert begun == []


def test_who_was_let_in_before_and_who_watches_the_service_wait_in_no_line(tmp_path: Path) -> None:
    settings = settings_at(tmp_path / "data")
    service = Service(settings, open_app=lambda: App(settings))
    extra = console()
    service.remember_session("a-session")

    def line(path: str, **headers: str) -> Turns | None:
        return line_of(service, extra, asked(path, **headers))

    api, pages = service.turns, service.page_turns
    known = {"cookie": "stateward_session=a-session"}
    assert [line("/healthz"), line("/readyz"), line("/records", **known)] == [None, None, None]
    assert line("/console", **known) is None
    assert line("/records", cookie="stateward_session=another") is api
    assert line("/records", authorization="Bearer sw_a_b") is api
    assert line("/records", authorization="Bearer ") is api
    assert (line("/records"), line("/no/such/path"), line("/console/login")) == (api, api, pages)


def test_a_key_and_the_user_of_this_machine_are_known_while_they_are_let_in(tmp_path: Path) -> None:
    with serving(settings_at(tmp_path / "data"), extra_routes=console()) as api:

        def is_known(**headers: str) -> bool:
            return line_of(api.service, None, asked("/records", **headers)) is None

        assert api.get("/records").status_code == 200
        was_open = is_known()
        ann = api.with_key(name="ann", role="viewer")
        shown = str(ann.http.headers["authorization"])
        assert ann.get("/records").status_code == 200
        is_let_in = is_known(authorization=shown)
        assert api.get("/records").status_code == 401
        is_open = is_known()
        api.app.admin.revoke_key(shown.split("_")[1], actor="person:anonymous@local")
        assert ann.get("/records").status_code == 401

        assert (was_open, is_let_in, is_open) == (True, True, False)
        assert not is_known(authorization=shown)


def test_a_session_is_known_while_it_lasts(tmp_path: Path) -> None:
    with serving(settings_at(tmp_path / "data"), extra_routes=console()) as api:
        key, text = api.app.admin.new_key("ann", role="viewer")
        signed_in = api.http.post("/console/login", data={"key": text})
        cookie = signed_in.headers["set-cookie"].split(";")[0]

        def answer() -> tuple[int, bool]:
            status = api.get("/records", headers={"Cookie": cookie}).status_code
            return status, line_of(api.service, None, asked("/records", cookie=cookie)) is None

        before = answer()
        api.app.admin.revoke_key(key.id, actor="person:anonymous@local")

        assert (before, answer()) == ((200, True), (401, False))


def test_an_empty_key_does_not_close_a_service_that_is_open(tmp_path: Path) -> None:
    with serving(settings_at(tmp_path / "data")) as api:
        assert api.get("/records").status_code == 200
        assert api.get("/records", headers={"Authorization": "Bearer"}).status_code == 401

        assert line_of(api.service, None, asked("/records")) is None


@pytest.mark.parametrize("shown", [b"Basic \xe9", b"Bearer \xe9", b"Basic a", b"\xff", b""])
@pytest.mark.parametrize("path", ["/records", "/console", "/nowhere", "/healthz"])
def test_what_is_no_key_at_all_is_answered_as_any_other(
    shared: ApiClient, path: str, shown: bytes
) -> None:
    lines = (f"GET {path} HTTP/1.1", "Host: localhost", "Connection: close")
    head = "\r\n".join(lines).encode() + b"\r\nAuthorization: " + shown + b"\r\n\r\n"

    said = ask(shared, head)

    assert b" 500 " not in said.splitlines()[0]
    assert b"x-content-type-options: nosniff" in said.lower()


def test_a_body_that_a_stranger_sends_slowly_keeps_no_place(tmp_path: Path) -> None:
    head = b"POST /console/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n"
    head += b"Content-Type: application/x-www-form-urlencoded\r\nExpect: 100-continue\r\n\r\n"
    settings = settings_at(tmp_path / "data", requests_max=2)
    with serving(settings, extra_routes=console()) as api, ExitStack() as held:
        api.app.admin.new_key("root", role="admin")
        slow = [held.enter_context(connection(api)) for _ in range(4)]
        for each in slow:
            each.sendall(head)
            assert b" 100 " in each.recv(65536)  # its body is waited for

        answers = [api.get("/uploads").status_code for _ in range(3)]
        slow[0].sendall(b"key=wrong")
        said = slow[0].recv(65536)
        ready = ask(api, b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")

    assert answers == [401, 401, 401]
    assert b" 401 " in said
    assert ready
    assert b"too much is under way" not in ready
