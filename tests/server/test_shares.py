"""Neither strangers who do not read nor one key that waits for much keeps others out."""

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from litestar.types import Message, Receive, Scope, Send

from stateward.app import App
from stateward.console import console
from stateward.console.static_files import static_base
from stateward.server.asgi import make_app
from stateward.server.connections import FULL, NEW_S, PIPELINED_MAX, Connections
from stateward.server.health import look_once
from stateward.server.listening import UNSENT_BYTES_MAX, listening
from stateward.server.service import Service
from stateward.server.strict import CALLER, PIECE_BYTES, around
from stateward.settings.server import ApiSettings
from tests.server.api_client import problem, serving, settings_at
from tests.server.raw_http import ask, connection
from tests.server.test_limits import made
from tests.waiting import WAIT_S_MAX, wait_until

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def test_strangers_who_do_not_read_keep_no_client_out(tmp_path: Path) -> None:
    asked = f"GET {static_base()}/console.css HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    settings = settings_at(tmp_path / "data", connections_max=10)
    with serving(settings, extra_routes=console()) as api, ExitStack() as held:
        for _ in range(10):
            reader = held.enter_context(connection(api, unread_bytes_max=2048))
            reader.sendall(asked * PIPELINED_MAX)

        wait_until(lambda: b" 200 OK" in ask(api, HEALTH))


def test_strangers_who_do_not_read_take_no_places_of_requests(tmp_path: Path) -> None:
    large = f"GET {static_base()}/vendor/pdf.worker.min.mjs HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    settings = settings_at(tmp_path / "data", requests_max=2)
    with serving(settings, extra_routes=console()) as api, ExitStack() as held:
        for _ in range(10):
            reader = held.enter_context(connection(api, unread_bytes_max=2048))
            reader.sendall(large * PIPELINED_MAX)
            assert reader.recv(1)  # its answer has begun, and does not end

        answers = [(b" 200 OK" in ask(api, HEALTH), api.get("/uploads").status_code)]

    assert answers == [(True, 200)]


@pytest.mark.parametrize(("path", "places"), [("/readyz", 0), ("/uploads", 1)])
def test_an_answer_that_is_sent_keeps_the_place_of_a_caller_and_none_of_a_stranger(
    tmp_path: Path, path: str, places: int
) -> None:
    settings = settings_at(tmp_path / "data")
    app = make_app(settings, open_app=lambda: App(settings))
    service: Service = app.state.service
    taken: list[tuple[str, int]] = []

    async def receive() -> Any:  # noqa: ANN401 - a message of ASGI
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        taken.append((message["type"], service.requests))

    async def play() -> None:
        scope: Any = {
            "type": "http",
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [(b"host", b"localhost")],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
            "scheme": "http",
            "state": {},
        }
        async with service.running():
            await app(scope, receive, send)

    asyncio.run(play())

    assert taken == [("http.response.start", places), ("http.response.body", places)]
    assert service.requests == 0


def test_what_asks_the_store_takes_a_place_also_for_strangers(tmp_path: Path) -> None:
    light = ["/healthz", f"{static_base()}/console.css"]
    others = ["/readyz", "/console/approve/none"]
    settings = settings_at(tmp_path / "data", requests_max=1)
    with serving(settings, extra_routes=console()) as api:
        api.service.requests = 1
        answers = [api.get(path).status_code for path in (*light, *others)]
        api.service.requests = 0

    assert answers == [200, 200, 503, 503]


def test_who_asks_at_once_whether_it_is_ready_waits_for_the_same_look(tmp_path: Path) -> None:
    async def play() -> tuple[int, int]:
        settings = settings_at(tmp_path / "data")
        service = Service(settings, open_app=lambda: App(settings))
        async with service.running():
            together = await asyncio.gather(*(look_once(service) for _ in range(8)))
            later = await look_once(service)
        return len({id(each) for each in together}), len({id(each) for each in (*together, later)})

    assert asyncio.run(play()) == (1, 2)


def test_an_answer_that_is_not_read_is_given_up() -> None:
    async def play() -> list[bool]:
        own = Connections(ApiSettings())
        stuck, slow, ended = opened = [made(own) for _ in range(3)]
        for protocol, transport in opened:
            protocol.data_received(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            transport.unsent = 100_000
            protocol.pause_writing()
        slow[1].unsent -= 60_000
        ended[0].resume_writing()
        now = asyncio.get_running_loop().time()
        own.sweep(now + 29)
        kept = len(own)
        own.sweep(now + 60)
        for protocol, _ in (stuck, slow):
            protocol.resume_writing()  # or it would wait for ever to say that it was cancelled
        await asyncio.sleep(0)
        return [kept == 3, *(transport.is_aborted for _, transport in opened)]

    assert asyncio.run(play()) == [True, True, False, False]


@pytest.mark.parametrize("is_let_in", [False, True])
def test_a_request_of_a_stranger_gives_way_and_that_of_a_caller_does_not(
    *, is_let_in: bool
) -> None:
    async def play() -> None:
        own = Connections(ApiSettings(connections_max=4))
        busy = [made(own) for _ in range(4)]
        for protocol, _ in busy:
            protocol.data_received(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            protocol._since -= NEW_S + 1
            if is_let_in:
                protocol.scope["state"][CALLER] = "ann"

        _, newest = made(own)

        assert [each.is_aborted for _, each in busy] == [not is_let_in, False, False, False]
        assert newest.written == (FULL if is_let_in else b"")
        await asyncio.sleep(0)

    asyncio.run(play())


def test_strangers_who_come_back_take_no_place_of_a_client_that_has_just_come() -> None:
    async def play() -> None:
        own = Connections(ApiSettings(connections_max=4))
        strangers = [made(own) for _ in range(3)]
        for protocol, _ in strangers:
            protocol.data_received(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            protocol._since -= NEW_S + 1
        _, honest = made(own)

        for _ in range(3):
            made(own)

        assert [each.is_aborted for _, each in strangers] == [True, True, True]
        assert not honest.is_aborted
        await asyncio.sleep(0)

    asyncio.run(play())


def test_one_byte_on_the_longest_idle_shields_no_other_that_is_silent() -> None:
    async def play() -> None:
        own = Connections(ApiSettings(connections_max=4))
        begun, silent, _, stranger = opened = [made(own) for _ in range(4)]
        stranger[0].data_received(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        for protocol, _ in opened:
            protocol._since -= NEW_S + 1
        begun[0].data_received(b"G")

        made(own)

        assert [each for each in opened if each[1].is_aborted] == [silent]
        await asyncio.sleep(0)

    asyncio.run(play())


def test_of_an_answer_that_is_not_read_the_kernel_takes_little(tmp_path: Path) -> None:
    with listening(settings_at(tmp_path / "data", port=0)) as own:
        own.setblocking(True)
        with socket.create_connection(own.getsockname()), own.accept()[0] as accepted:
            most = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT)

    assert most == UNSENT_BYTES_MAX


def test_others_have_their_turn_while_a_large_answer_is_handed_over() -> None:
    order: list[str] = []

    async def large(_: Scope, __: Receive, send: Send) -> None:
        body = bytes(3 * PIECE_BYTES)
        await send({"type": "http.response.body", "body": body, "more_body": False})

    async def send(_: Message) -> None:
        order.append("piece")

    async def receive() -> Any:  # noqa: ANN401 - a message of ASGI
        return {"type": "http.disconnect"}

    async def other() -> None:
        order.append("other")

    async def play() -> None:
        scope: Any = {"type": "http", "method": "GET", "path": "/", "headers": []}
        asyncio.get_running_loop().call_soon(asyncio.ensure_future, other())
        await around(large, ApiSettings())(scope, receive, send)
        await asyncio.sleep(0)

    asyncio.run(play())

    assert order.index("other") < len(order) - 1


def test_one_key_leaves_half_of_what_may_be_under_way_to_others(tmp_path: Path) -> None:
    with serving(settings_at(tmp_path / "data", requests_max=4, streams_max=2)) as api:
        upload_id = api.sent()
        greedy, other = (api.with_key(name=name, role="viewer") for name in ("ann", "bo"))
        with greedy.http.stream("GET", "/events/stream") as first:
            lines = first.iter_lines()
            next(lines)
            second = greedy.get("/events/stream")
            with other.http.stream("GET", "/events/stream") as others:
                assert others.status_code == 200
        api.until_quiet()
        with ThreadPoolExecutor(2) as pool:
            waits = [pool.submit(greedy.get, f"/uploads/{upload_id}?wait=60s") for _ in range(2)]
            wait_until(lambda: api.service.requests == 2)
            answers = [greedy.get("/uploads"), other.get("/uploads")]
            api.work()
            for each in waits:
                each.result(WAIT_S_MAX)

    assert (second.status_code, problem(second)) == (429, "too-many-requests")
    assert [each.status_code for each in answers] == [429, 200]
    assert "requests under way" in answers[0].text
