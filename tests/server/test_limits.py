"""Nobody stops the service by holding connections, by odd requests, or by guessing keys."""

import asyncio
import errno
import json
import resource
import socket
import struct
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext, suppress
from io import StringIO
from itertools import count
from types import SimpleNamespace
from typing import Any, cast

import pytest
from litestar import Litestar, Request, Response, post
from litestar.connection import ASGIConnection
from litestar.datastructures import Headers

from stateward import telemetry
from stateward.engine.system import raise_open_files
from stateward.server import throttle
from stateward.server.auth import check_origin, session_cookie
from stateward.server.connections import (
    FULL,
    HEAD_BYTES_MAX,
    HEAD_TOO_LARGE,
    PIPELINED_MAX,
    BoundedProtocol,
    Connections,
)
from stateward.server.paging import list_name
from stateward.server.problems import ClientGone, Refusal
from stateward.server.strict import DEPTH_MAX, ApiRequest
from stateward.server.throttle import (
    LIMITS,
    WINDOW_S,
    Failures,
    account_of,
    address_of,
    network_of,
)
from stateward.settings.server import ApiSettings
from tests.server.api_client import ApiClient, problem, serving, settings_at, statement

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


def connection(api: ApiClient) -> socket.socket:
    host, port = api.url.removeprefix("http://").split(":")
    made = socket.create_connection((host, int(port)), timeout=20)
    # Closed with a reset: no port waits for a lost packet.
    made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return made


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
        super().__init__(written=b"", is_aborted=False)

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


def ask(api: ApiClient, *pieces: bytes) -> bytes:
    """All that the service says to these bytes, until it closes the connection."""
    said = b""
    with connection(api) as made, suppress(ConnectionError):
        for piece in pieces:
            made.sendall(piece)
        while piece := made.recv(65536):
            said += piece
    return said


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
                await asyncio.gather(*protocol.tasks)
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


@pytest.mark.parametrize("address", ["/records/%ff", "/records?q=%ff%fe", "/machines?%ff=1"])
def test_an_address_that_is_no_utf_8_is_400(shared: ApiClient, address: str) -> None:
    head = f"GET {address} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

    assert ask(shared, head.encode()).startswith(b"HTTP/1.1 400 ")


def test_an_upload_that_offers_another_protocol_is_read_whole(shared: ApiClient) -> None:
    # As curl --http2 sends it. The parser alone would take the form for the other protocol, and drop it.
    form = (
        b'--b\r\nContent-Disposition: form-data; name="source_type"\r\n\r\nbank_csv\r\n'
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n%b\r\n--b--\r\n'
    ) % statement(next(NUMBERS))
    head = (
        b"POST /uploads HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\n"
        b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n"
        b"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: %d\r\n\r\n"
    ) % len(form)
    after = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

    said = ask(shared, head, form, after)

    assert said.startswith(b"HTTP/1.1 201 ")
    assert b"HTTP/1.1 200 " in said  # and the connection goes on as it was


def test_the_soft_limit_of_open_files_is_raised_and_never_lowered() -> None:
    first = raise_open_files()

    assert raise_open_files() == first
    assert first >= 1024


# JSON


DEEP = DEPTH_MAX + 1


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000 + b"]" * 100_000,
        b'{"priority": ' + b"[" * DEEP + b"]" * DEEP + b"}",
        b'{"priority": 5, "priority": 6}',
        b'{"priority": 5, "reason": "\xff\xfe"}',
        b'{"priority": 5, "reason": "\\ud800"}',
        b'{"priority": NaN}',
        b'{"priority": 1e999}',
        b'{"priority": ' + b"1" * 5000 + b"}",
        b'{"priority": 5, "colour": "red"}',
        b'{"priority": true}',
        b'{"priority": "5"}',
        b'{"priority": 5.5}',
        b"{",
        b"",
        b"null",
    ],
)
def test_json_that_is_not_what_it_should_be_is_400(shared: ApiClient, body: bytes) -> None:
    record = shared.sent(statement(next(NUMBERS)))
    answer = shared.post(
        f"/records/{record}/priority", content=body, headers={"Content-Type": "application/json"}
    )

    assert (answer.status_code, problem(answer)) == (400, "invalid-request")


@pytest.mark.parametrize(
    ("at", "after", "numbers"),
    [(0, "", [10**30] * 3), (0, "", [-1] * 3), (2**63, "", []), (0, "\x00", [])],
)
def test_a_cursor_that_a_client_made_up_is_refused(
    shared: ApiClient, at: int, after: str, numbers: list[int]
) -> None:
    record = shared.sent(statement(next(NUMBERS)))
    of = list_name("items", record, None, None, None)
    cursor = urlsafe_b64encode(json.dumps([of, at, after, numbers]).encode()).decode()

    answer = shared.get(f"/records/{record}/items", params={"cursor": cursor})

    assert (answer.status_code, problem(answer)) == (422, "unprocessable")


def test_a_whole_number_may_have_a_point(shared: ApiClient) -> None:
    record = shared.sent(statement(next(NUMBERS)))

    answer = shared.post(f"/records/{record}/priority", content=b'{"priority": 7.0}')

    assert answer.json()["priority"] == 7


def test_names_that_a_path_does_not_know_are_refused_in_a_query(shared: ApiClient) -> None:
    answer = shared.get("/records?staus=done&limit=3")

    assert (answer.status_code, problem(answer)) == (400, "invalid-request")
    assert "staus" in answer.text
    assert shared.get("/records?status=parsed&limit=3").status_code == 200
    assert shared.get("/healthz?x=1").status_code == 400


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/erasures", {"record_ids": ["R1"], "reason": "asked", "is_dry_run": 0}),
        ("/retention", {"is_dry_run": 1}),
        ("/records/R1/hold", {"is_held": "true", "reason": "a suit"}),
        ("/batches", {"action": "cancel", "query": "status:parsed", "dry_run": 1}),
        ("/reviews/batches", {"action": "approve", "reviews": [R1], "dry_run": "true"}),
        ("/records/R1/reparse", {"is_preview": 1}),
    ],
)
def test_a_flag_is_true_or_false_and_no_number(
    shared: ApiClient, path: str, body: dict[str, Any]
) -> None:
    answer = shared.post(path, json=body)

    assert (answer.status_code, problem(answer)) == (400, "invalid-request")
    assert answer.json()["errors"][0]["sentence"].startswith("Expected `bool`")


@pytest.mark.parametrize(
    "query",
    ["limit=1.0", "limit=1e2", "limit=null", "limit=+1", "limit=2&limit=3", "cursor=a&cursor=b"],
)
def test_a_query_says_one_thing_and_plainly(shared: ApiClient, query: str) -> None:
    answer = shared.get(f"/records?{query}")

    assert (answer.status_code, problem(answer)) == (400, "invalid-request")
    assert shared.get("/deliveries?state=null").status_code == 400
    assert shared.get("/records?status=parsed&status=failed&limit=2").status_code == 200


def test_head_is_get_without_a_body(shared: ApiClient) -> None:
    record = shared.sent(statement(next(NUMBERS)))
    for path in ("/records", f"/records/{record}", "/healthz", "/openapi.json"):
        got, asked = shared.get(path), shared.http.head(path)

        assert asked.status_code == got.status_code == 200
        assert asked.content == b""
        assert asked.headers["content-type"] == got.headers["content-type"]
    assert shared.http.head("/events/stream").status_code == 200
    assert shared.http.head("/nowhere").status_code == 404
    assert "HEAD" in shared.http.delete(f"/records/{record}").headers["allow"]


def test_answers_are_not_stored_and_their_type_is_not_guessed(shared: ApiClient) -> None:
    one = f"/records/{shared.sent(statement(next(NUMBERS)))}"
    for path in ("/records", one, "/healthz", "/nowhere", "/openapi.json"):
        headers = shared.get(path).headers

        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


def test_a_priority_is_changed_for_the_version_that_is_meant(shared: ApiClient) -> None:
    record = shared.sent(statement(next(NUMBERS)))
    path, tag = f"/records/{record}/priority", shared.get(f"/records/{record}").headers["etag"]

    stale = shared.post(path, json={"priority": 9}, headers={"If-Match": '"17"'})
    fresh = shared.post(path, json={"priority": 9}, headers={"If-Match": tag})

    assert (stale.status_code, fresh.status_code) == (412, 200)
    assert fresh.json()["priority"] == 9


# Guessing


def test_who_shows_wrong_keys_must_wait_and_a_right_one_works_elsewhere(
    limited: ApiClient,
) -> None:
    own = limited.with_key(role="viewer")
    limited.service.failures = Failures()
    wrong = {"Authorization": "Bearer sw_nobodysid_wrong"}
    statuses = [limited.get("/records", headers=wrong).status_code for _ in range(LIMITS["both"])]

    assert statuses == [401] * (LIMITS["both"] - 1) + [429]
    held_up = limited.get("/records", headers=wrong)
    assert held_up.status_code == 429
    assert int(held_up.headers["retry-after"]) <= WINDOW_S + 1
    assert own.get("/records").status_code == 200
    limited.service.failures = Failures()


def test_failures_count_by_address_account_and_both() -> None:
    now = 0.0
    failures = Failures(ticks=lambda: now)
    key, other = "sw_abc_secret", "sw_def_secret"
    for _ in range(LIMITS["both"]):
        failures.add("1.1.1.1", key)

    assert failures.wait_s("1.1.1.1", key) == WINDOW_S
    assert failures.wait_s("1.1.1.1", other) == 0.0
    assert failures.wait_s("2.2.2.2", key) == 0.0
    for number in range(LIMITS["address"]):
        failures.add("1.1.1.1", f"sw_k{number}_secret")
    assert failures.wait_s("1.1.1.1", other) == WINDOW_S
    waits = [failures.add(f"3.3.3.{number}", key)[1] for number in range(LIMITS["account"])]
    assert waits[-1] == WINDOW_S
    now = WINDOW_S
    assert failures.wait_s("1.1.1.1", key) == 0.0


def test_who_guesses_now_is_counted_however_many_others_did(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(throttle, "REMEMBERED_MAX", 30)
    failures = Failures(ticks=lambda: 0.0)
    for number in range(100):
        failures.add(f"1.1.1.{number}", f"sw_k{number}_secret")

    for _ in range(LIMITS["both"]):
        failures.add("2.2.2.2", "sw_abc_secret")

    assert failures.wait_s("2.2.2.2", "sw_abc_secret") == WINDOW_S
    assert len(failures._counts) == 30


def test_who_has_a_network_of_addresses_is_held_up_as_one() -> None:
    failures = Failures(ticks=lambda: 0.0)
    for number in range(LIMITS["both"]):
        failures.add(f"2001:db8:1:2::{number:x}", "sw_abc_secret")

    assert failures.wait_s("2001:db8:1:2:ffff::1", "sw_abc_secret") == WINDOW_S
    assert failures.wait_s("2001:db8:1:3::1", "sw_abc_secret") == 0.0
    assert network_of("::ffff:1.2.3.4") == network_of("1.2.3.4")


@pytest.mark.parametrize(
    ("is_behind_tls", "origin", "is_ours"),
    [
        (False, "http://localhost", True),
        (True, "https://localhost", True),
        (True, "http://localhost", False),
        (True, "null", False),
        (False, "http://[", False),
        (True, "https://localhost.elsewhere", False),
    ],
)
def test_with_tls_a_page_that_came_without_it_is_not_ours(
    *, is_behind_tls: bool, origin: str, is_ours: bool
) -> None:
    service = SimpleNamespace(
        settings=SimpleNamespace(api=ApiSettings(behind_tls_proxy=is_behind_tls))
    )
    asked = SimpleNamespace(
        app=SimpleNamespace(state=SimpleNamespace(service=service)),
        headers={"host": "localhost", "origin": origin},
    )

    with nullcontext() if is_ours else pytest.raises(Refusal):
        check_origin(cast("ASGIConnection[Any, Any, Any, Any]", asked))


@pytest.mark.parametrize(
    ("shown", "account"),
    [("sw_abc_secret", "abc"), ("my password", ""), ("sw_abc", ""), ("sw_a b_c", ""), ("", "")],
)
def test_what_is_no_key_names_no_account(shown: str, account: str) -> None:
    assert account_of(shown) == account


def test_what_is_no_key_leaves_nothing_of_itself_in_the_log(api: ApiClient) -> None:
    api.with_key(name="ann", role="admin")
    log = StringIO()
    telemetry.set_up(level="warning", stream=log)
    try:
        api.get("/uploads", headers={"Authorization": "Bearer my-own-password"})
    finally:
        telemetry.set_up(level="warning")

    assert "a key was refused" in log.getvalue()
    assert "my-own-password" not in log.getvalue()
    assert "my-own-password" not in repr(api.app.audit.entries())


@pytest.mark.parametrize(
    ("peer", "heard", "address"),
    [
        ("9.9.9.9", "1.1.1.1", "9.9.9.9"),
        ("10.0.0.1", "1.1.1.1", "1.1.1.1"),
        ("10.0.0.1", "6.6.6.6, 1.1.1.1, 10.0.0.2", "1.1.1.1"),
        ("10.0.0.1", "6.6.6.6, nonsense", "10.0.0.1"),
        ("10.0.0.1", "6.6.6.6, 1.1.1.1:5123, 10.0.0.2:80", "1.1.1.1"),
        ("10.0.0.1", "[2001:db8::1]:443", "2001:db8::1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("::ffff:10.0.0.1", "1.1.1.1", "1.1.1.1"),
        ("10.0.0.1", "6.6.6.6\n1.1.1.1", "1.1.1.1"),  # a proxy that appends a line of its own
    ],
)
def test_an_address_is_believed_from_trusted_proxies_only(
    peer: str, heard: str, address: str
) -> None:
    lines = [(b"x-forwarded-for", line.encode()) for line in heard.splitlines()]
    asked = SimpleNamespace(client=SimpleNamespace(host=peer), headers=Headers(lines))
    settings = ApiSettings(trusted_proxies=("10.0.0.0/8",))

    assert address_of(cast("ASGIConnection[Any, Any, Any, Any]", asked), settings) == address


def test_with_tls_the_cookie_belongs_to_this_host_alone() -> None:
    assert session_cookie(ApiSettings(behind_tls_proxy=True)) == "__Host-stateward_session"
    assert session_cookie(ApiSettings()) == "stateward_session"
