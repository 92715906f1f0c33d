"""Nobody stops the service by holding connections, or by requests that have no end."""

import asyncio
import errno
import json
import resource
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from types import SimpleNamespace
from typing import Any, cast

import pytest
from litestar import Litestar, Request, Response, post

from stateward.engine.system import raise_open_files
from stateward.server.connections import (
    FULL,
    HEAD_BYTES_MAX,
    HEAD_TOO_LARGE,
    PIPELINED_MAX,
    BoundedProtocol,
    Connections,
)
from stateward.server.problems import ClientGone
from stateward.server.strict import ApiRequest
from stateward.settings.server import ApiSettings
from tests.server.api_client import ApiClient, serving, settings_at, statement
from tests.server.raw_http import ask, connection

NUMBERS = count(1000)
CHUNKED = (
    b"POST /records/none/cancel HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
R1 = {"record_id": "R1", "version": 1}


@pytest.fixture
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiClient]:
    with serving(settings_at(tmp_path_factory.mktemp("limited"), connections_max=20)) as api:
        yield api


def test_silent_connections_keep_no_client_out(limited: ApiClient) -> None:
    with ExitStack() as held:
        for _ in range(100):
            held.enter_context(connection(limited))
        for _ in range(20):
            half_said = held.enter_context(connection(limited))
            half_said.sendall(b"GET /records HTTP/1.1\r\nHost: loc")

        for number in range(5):
            limited.sent(statement(number))

        assert limited.get("/healthz").status_code == 200


class Transport(SimpleNamespace):
    """A connection that notes what becomes of it."""

    def __init__(self) -> None:
        super().__init__(written=b"", is_aborted=False, unsent=0)

    def write(self, data: bytes) -> None:
        self.written += data

    def abort(self) -> None:
        self.is_aborted = True

    def close(self) -> None:
        self.is_aborted = True

    def is_closing(self) -> bool:
        return bool(self.is_aborted)

    def get_extra_info(self, name: str) -> object:
        return None

    def get_write_buffer_size(self) -> int:
        return int(self.unsent)

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


async def silent(scope: object, receive: object, send: object) -> None:
    await asyncio.Event().wait()


def made(own: Connections, app: Callable[..., Any] = silent) -> tuple[BoundedProtocol, Transport]:
    import uvicorn
    from uvicorn.server import ServerState

    config = uvicorn.Config(app, log_config=None, lifespan="off")
    protocol = BoundedProtocol(own, config, ServerState(), {})
    transport = Transport()
    protocol.connection_made(transport)  # type: ignore[arg-type]
    return protocol, transport


def test_the_idlest_gives_way_and_a_full_house_is_refused() -> None:
    async def play() -> None:
        own = Connections(ApiSettings(connections_max=16))
        assert own.most == 16
        _, first_transport = made(own)
        others = [made(own) for _ in range(15)]
        assert len(own) == 16

        newest, _ = made(own)
        assert first_transport.is_aborted
        assert (len(own), own.displaced) == (16, 1)

        for protocol, _ in (*others, (newest, None)):
            protocol.data_received(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        _, refused = made(own)
        assert refused.written == FULL
        assert (len(own), own.refused) == (16, 1)
        await asyncio.sleep(0)  # what was begun is cancelled, not forgotten

    asyncio.run(play())


@pytest.mark.parametrize(
    ("sent", "elapsed", "is_late"),
    [
        (b"", 29.0, False),
        (b"", 31.0, True),
        (b"GET / HT", 9.0, False),
        (b"GET / HT", 11.0, True),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n12", 29.0, False),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n12", 31.0, True),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 10_000.0, False),  # it is ours to answer
    ],
)
def test_what_is_too_slow_is_closed(sent: bytes, elapsed: float, *, is_late: bool) -> None:
    async def play() -> None:
        own = Connections(ApiSettings())
        protocol, transport = made(own)
        if sent:
            protocol.data_received(sent)

        own.sweep(asyncio.get_running_loop().time() + elapsed)

        assert transport.is_aborted == is_late
        assert len(own) == (0 if is_late else 1)
        await asyncio.sleep(0)

    asyncio.run(play())


def test_a_body_that_drips_is_too_slow_and_one_that_flows_is_not() -> None:
    async def play() -> None:
        own = Connections(ApiSettings())
        head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n"
        (dripping, dripped), (flowing, flowed) = made(own), made(own)
        for protocol, size in ((dripping, 10), (flowing, 60_000)):
            protocol.data_received(head)
            protocol.data_received(bytes(size))

        own.sweep(asyncio.get_running_loop().time() + 60)

        assert (dripped.is_aborted, flowed.is_aborted) == (True, False)
        await asyncio.sleep(0)

    asyncio.run(play())


@pytest.mark.parametrize(
    ("begin", "endless"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n", b"X-More: " + b"a" * 8182 + b"\r\n"),
        (b"GET /", b"a" * 8192),
    ],
)
def test_a_head_without_an_end_is_refused(begin: bytes, endless: bytes) -> None:
    async def play() -> None:
        protocol, transport = made(Connections(ApiSettings()))
        protocol.data_received(begin)
        for _ in range(HEAD_BYTES_MAX // len(endless)):
            assert (transport.written, transport.is_closing()) == (b"", False)
            protocol.data_received(endless)
        assert (transport.written, transport.is_closing()) == (HEAD_TOO_LARGE, True)

    asyncio.run(play())


@pytest.mark.parametrize("endless", [b"0\r\nA: ", b"5;"])
def test_what_follows_a_body_has_an_end_too(endless: bytes) -> None:
    async def play() -> None:
        own = Connections(ApiSettings())
        protocol, transport = made(own)
        protocol.data_received(
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
        )
        protocol.data_received(endless)
        for _ in range(2):
            assert not transport.is_aborted
            protocol.data_received(b"z" * (HEAD_BYTES_MAX // 2))

        assert transport.is_aborted
        await asyncio.sleep(0)

    asyncio.run(play())


def test_fields_after_a_body_are_not_taken_for_the_head() -> None:
    async def play() -> None:
        protocol, _ = made(Connections(ApiSettings()))

        protocol.data_received(
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"5\r\nhello\r\n0\r\nAuthorization: Bearer sw_x\r\n\r\n"
        )

        assert [name for name, _ in protocol.headers] == [b"host", b"transfer-encoding"]
        assert not protocol.cycle.more_body
        await asyncio.sleep(0)

    asyncio.run(play())


@pytest.mark.parametrize("offer", [b"", b"Connection: upgrade\r\nUpgrade: h2c\r\n"])
def test_more_requests_ahead_than_are_kept_end_the_connection(offer: bytes) -> None:
    async def play() -> None:
        request = b"GET / HTTP/1.1\r\nHost: x\r\n" + offer + b"\r\n"
        (few, few_kept), (many, many_dropped) = (made(Connections(ApiSettings())) for _ in "ab")

        few.data_received(request * PIPELINED_MAX)
        many.data_received(request * 4000)  # as many as one read may bring

        assert (few_kept.is_aborted, many_dropped.is_aborted) == (False, True)
        await asyncio.sleep(0)

    asyncio.run(play())


@pytest.mark.parametrize("offer", [b"close", b"close, upgrade\r\nUpgrade: h2c"])
def test_what_follows_a_request_that_closes_does_not_cost_it_its_answer(offer: bytes) -> None:
    async def play() -> None:
        protocol, transport = made(Connections(ApiSettings()))
        protocol.data_received(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: " + offer + b"\r\n\r\n")
        protocol.data_received(b"\r\nmore")

        assert (transport.is_aborted, protocol.is_busy) == (False, True)
        await asyncio.sleep(0)

    asyncio.run(play())


@pytest.mark.parametrize("ahead", [0, 1, 3])
def test_a_stream_hears_that_its_reader_left_whatever_was_asked_after_it(ahead: int) -> None:
    heard: list[tuple[str, str]] = []

    async def stream(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
        while (said := (await receive())["type"]) != "http.disconnect":
            heard.append((scope["path"], said))
        heard.append((scope["path"], said))

    async def play() -> None:
        protocol, _ = made(Connections(ApiSettings()), stream)
        protocol.data_received(b"GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")
        await asyncio.sleep(0)
        protocol.data_received(b"GET /next HTTP/1.1\r\nHost: x\r\n\r\n" * ahead)
        protocol.connection_lost(None)
        async with asyncio.timeout(5):
            await asyncio.gather(*protocol.tasks)

    asyncio.run(play())

    assert heard == [("/stream", "http.request"), ("/stream", "http.disconnect")]


@pytest.mark.parametrize(
    "head",
    [
        b"GET /healthz HTTP/1.1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
        *(
            b"GET /healthz HTTP/1.1\r\nHost: " + host + b"\r\n\r\n"
            for host in (b"a:1:2", b"a:65536", b"[::1", b"[::1]a", b"[zz]", b"a b", b"a/b", b"a@b")
        ),
        *(
            CHUNKED.replace(b"Transfer-Encoding: chunked", field) + b"{}"
            for field in (
                b"Content-Length : 2",
                b"Content-Length: +2",
                b"Content-Length: 2, 2",
                b"Content-Length: 2\r\nContent-Length: 40",
                b"Content-Length: -1",
                b"Content-Length: 0x2",
                b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
                b"Transfer-Encoding: chunked\x0b",
                b"X: a\0b",
                b"X: a\rb",
                b"no colon",
            )
        ),
        b"GET http://localhost@elsewhere/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET\t/healthz\tHTTP/1.1\r\nHost: localhost\r\n\r\n",
        CHUNKED + b"FFFFFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n",
        CHUNKED + b"-2\r\n{}\r\n0\r\n\r\n",
        CHUNKED + b"2;a\n{}\r\n0\r\n\r\n",
        b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /uploads HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n",
        b"GET /healthz HTTP/1.1\nHost: localhost\n\n",
        b"GET /healthz HTTP/2.0\r\nHost: localhost\r\n\r\n",
        b"GET http://elsewhere/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET ftp://localhost/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /healthz#part HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /" + b"a" * 65_600 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        CHUNKED.replace(b"chunked", b"gzip, chunked") + b"2\r\n{}\r\n0\r\n\r\n",
        CHUNKED.replace(b"chunked", b"xchunked") + b"2\r\n{}\r\n0\r\n\r\n",
        CHUNKED.replace(b"HTTP/1.1", b"HTTP/1.0") + b"2\r\n{}\r\n0\r\n\r\n",
        CHUNKED + b"0x2\r\n{}\r\n0\r\n\r\n",
        CHUNKED + b"2\n{}\n0\n\n",
        CHUNKED + b"2\r\n{}xx0\r\n\r\n",
    ],
)
def test_a_request_that_two_servers_could_read_differently_is_400(
    shared: ApiClient, head: bytes
) -> None:
    said = ask(shared, head)

    fields, _, body = said.partition(b"\r\n\r\n")
    assert fields.startswith(b"HTTP/1.1 400 ")
    assert b"\r\nContent-Type: application/problem+json\r\n" in fields
    assert json.loads(body)["type"].endswith(":invalid-request")  # and nothing after it


def test_a_whole_address_of_the_host_that_is_named_is_taken(shared: ApiClient) -> None:
    said = ask(
        shared,
        b"GET http://localhost/healthz HTTP/1.1\r\nHost: LOCALHOST\r\nConnection: close\r\n\r\n",
    )

    assert said.startswith(b"HTTP/1.1 200 ")


WHOLE = b"GET /first HTTP/1.1\r\nHost: x\r\n\r\n"
HALF = b"POST /half HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n"


@pytest.mark.parametrize("bad", [b"GARBAGE\r\n\r\n", HALF])
@pytest.mark.parametrize("ahead", [1, 3])
def test_what_is_no_request_costs_those_before_it_no_answer(bad: bytes, ahead: int) -> None:
    # To say 400 of a request that is whole and under way would be a lie about what it did.
    begun: list[str] = []

    async def play() -> bytes:
        may_answer = asyncio.Event()

        async def answering(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
            begun.append(scope["path"])
            await may_answer.wait()
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        protocol, transport = made(Connections(ApiSettings()), answering)
        protocol.data_received(WHOLE * ahead + bad)
        protocol.data_received(WHOLE)
        await asyncio.sleep(0)
        assert (transport.written, transport.is_aborted) == (b"", False)
        may_answer.set()
        async with asyncio.timeout(5):
            while protocol.tasks:
                # The next one begins when the loop has told of the end of this one.
                await asyncio.gather(*protocol.tasks)
                await asyncio.sleep(0)
        assert transport.is_aborted
        return bytes(transport.written)

    said = asyncio.run(play())

    assert [line[:12] for line in said.split(b"\r\n") if line.startswith(b"HTTP/")] == [
        *[b"HTTP/1.1 204"] * ahead,
        b"HTTP/1.1 400",
    ]
    assert begun == ["/first"] * ahead


def test_what_is_no_http_is_logged_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[object] = []

    async def play() -> None:
        own = Connections(ApiSettings())
        monkeypatch.setattr(own._log, "warning", lambda _, **facts: lines.append(facts["count"]))
        protocol, _ = made(own)
        for now in (1000.0, 1001.0, 1002.0, 1061.0):
            own.note_invalid(protocol, now)

    asyncio.run(play())

    assert lines == [1, 3]


@pytest.mark.parametrize(
    ("files", "most"), [(40, 4), (64, 4), (256, 52), (1024, 384), (9999, 2000)]
)
def test_connections_leave_descriptors_to_the_rest(
    monkeypatch: pytest.MonkeyPatch, files: int, most: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))

    assert Connections(ApiSettings()).most == most


def test_where_no_file_can_be_opened_idle_connections_give_theirs_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines: list[str] = []

    async def play() -> list[bool]:
        own = Connections(ApiSettings())
        for level in ("warning", "error"):
            monkeypatch.setattr(own._log, level, lambda said, **_: lines.append(said))
        (_, idle), (busy, asked) = made(own), made(own)
        busy.data_received(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        for _ in range(64):
            fault = {"message": "accept", "exception": OSError(errno.EMFILE, "Too many open files")}
            own.note_fault(busy.loop, fault)
        own.note_fault(busy.loop, {"message": "another", "exception": ValueError()})
        return [idle.is_aborted, asked.is_aborted]

    assert asyncio.run(play()) == [True, False]
    assert lines == [
        "there are no open files left for connections; idle ones are closed",
        "the event loop: another",
    ]


def test_a_client_that_leaves_within_its_body_is_no_fault_of_ours() -> None:
    raised: list[Exception] = []

    @post("/")
    async def read(request: Request[Any, Any, Any]) -> None:
        await request.body()

    def answer(_: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
        raised.append(error)
        return Response(b"")

    async def leaves() -> dict[str, str]:
        return {"type": "http.disconnect"}

    async def send(_: object) -> None: ...

    app = Litestar([read], request_class=ApiRequest, exception_handlers={Exception: answer})
    scope = {"type": "http", "method": "POST", "path": "/", "headers": [], "query_string": b""}

    asyncio.run(app(cast("Any", scope), cast("Any", leaves), cast("Any", send)))

    assert [type(each) for each in raised] == [ClientGone]


def test_the_soft_limit_of_open_files_is_raised_and_never_lowered() -> None:
    first = raise_open_files()

    assert raise_open_files() == first
    assert first >= 1024
