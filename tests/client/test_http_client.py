"""One POST to servers that fail, hang, redirect and lie: a reply or an OSError, in time, and bounded."""

import socket
import threading
from pathlib import Path

import pytest

from stateward import http_client
from stateward.http_client import HttpReply, InvalidResponse, post, retry_after_s
from tests.notifications.receivers import Answer, receiving, saying
from tests.waiting import WAIT_S_MAX

NOW_S = 1_800_000_000.0


def posted(
    url: str, *, timeout_s: float = WAIT_S_MAX, addresses: tuple[str, ...] = ()
) -> HttpReply:
    return post(
        url, b"{}", {"x-key": "k"}, timeout_s=timeout_s, body_bytes_max=1000, addresses=addresses
    )


def test_the_reply_holds_status_headers_and_body() -> None:
    with receiving(Answer(418, headers=(("X-Tea", "green"),), body=b"pot")) as receiver:
        reply = posted(f"{receiver.url}/a[b]%20c?d=e")

    assert (reply.status, reply.body, reply.body_end) == (418, b"pot", "complete")
    assert (reply.header("X-TEA"), reply.header("x-coffee")) == ("green", None)
    (received,) = receiver.posts
    assert (received.path, received.body) == ("/hook/a[b]%20c?d=e", b"{}")
    assert received.headers["host"] == receiver.url.split("/")[2]
    assert set(received.headers) == {"host", "connection", "x-key", "content-length"}


def test_certificates_are_read_for_tls_alone(tmp_path: Path) -> None:
    missing = str(tmp_path / "no certificates")

    with receiving() as receiver:
        reply = post(
            receiver.url, b"", {}, timeout_s=WAIT_S_MAX, body_bytes_max=1000, ca_file=missing
        )
        with pytest.raises(FileNotFoundError):
            post(
                receiver.url.replace("http:", "https:"), b"", {},
                timeout_s=WAIT_S_MAX, body_bytes_max=1000, ca_file=missing,
            )  # fmt: skip

    assert reply.status == 204


def test_a_name_is_not_looked_up_where_addresses_are_given() -> None:
    with receiving() as receiver:
        url = receiver.url.replace("127.0.0.1", "nowhere.invalid")
        reply = posted(url, addresses=("127.0.0.1",))

    assert (reply.status, reply.address) == (204, "127.0.0.1")
    assert receiver.posts[0].headers["host"] == url.split("/")[2]


def test_the_next_address_is_tried_where_the_first_accepts_no_connection() -> None:
    with receiving() as receiver:  # it listens at 127.0.0.1 only
        reply = posted(receiver.url, addresses=("127.0.0.2", "127.0.0.1"))

    assert (reply.status, reply.address) == (204, "127.0.0.1")


def test_what_may_have_been_received_is_not_sent_to_a_second_address() -> None:
    connections: list[None] = []

    def hang_up(_: socket.socket) -> None:
        connections.append(None)

    with saying(hang_up) as url, pytest.raises(InvalidResponse):
        posted(url, addresses=("127.0.0.1", "127.0.0.1"))

    assert len(connections) == 1


def test_no_address_that_accepts_is_the_error_of_the_last() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    with pytest.raises(ConnectionRefusedError):
        posted(f"http://127.0.0.1:{port}/", addresses=("127.0.0.2", "127.0.0.1"))


def test_a_redirect_is_a_reply_and_is_not_followed() -> None:
    with (
        receiving() as other,
        receiving(Answer(307, headers=(("Location", other.url),))) as receiver,
    ):
        reply = posted(receiver.url)

    assert (reply.status, other.posts) == (307, [])


def test_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving() as proxy, receiving() as receiver:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        posted(receiver.url)

    assert (len(proxy.posts), len(receiver.posts)) == (0, 1)


def test_a_body_beyond_the_limit_is_cut() -> None:
    with receiving(Answer(200, body=b"x" * 1001), Answer(200, body=b"x" * 1000)) as receiver:
        assert (posted(receiver.url).body_end, posted(receiver.url).body_end) == (
            "limit",
            "complete",
        )


def test_a_body_is_kept_as_it_is_on_the_wire() -> None:
    packed = (("Content-Encoding", "gzip"),)
    with receiving(Answer(200, headers=packed, body=b"\x1f\x8b no gzip")) as receiver:
        assert posted(receiver.url).body == b"\x1f\x8b no gzip"


def test_a_body_that_breaks_off_leaves_the_status() -> None:
    def break_off(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")

    with saying(break_off) as url:
        reply = posted(url)

    assert (reply.status, reply.body, reply.body_end) == (200, b"half", "broken")


def test_a_body_that_does_not_end_in_time_leaves_the_status(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, done = threading.Event(), threading.Event()

    def drip(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while not done.wait(0.02):
            connection.sendall(b".")
            begun.set()

    class TimeIsUp(threading.Timer):
        """The time is up once the body has begun, however long that takes."""

        def run(self) -> None:
            assert begun.wait(WAIT_S_MAX)
            self.function()

    monkeypatch.setattr(http_client, "Timer", TimeIsUp)
    with saying(drip) as url:
        reply = posted(url)
        done.set()

    assert (reply.status, reply.body_end) == (200, "timeout")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, None), ("120", 120), (" 7 ", 7), ("0.5", 0.5), ("0", 0), ("-1", None), ("1e3", None),
        ("soon", None), ("", None), ("१२", None), ("9" * 5000, None),
        ("Fri, 15 Jan 2027 08:02:00 GMT", 120), ("Fri, 15 Jan 2027 07:00:00 GMT", None),
        ("Fri, 15 Jan 2027 08:02:00", None), ("Wed, 21 Oct 99999 07:28:00 GMT", None),
    ],
)  # fmt: skip
def test_retry_after_is_read_in_seconds_or_as_a_date(
    text: str | None, seconds: float | None
) -> None:
    assert retry_after_s(text, now_s=NOW_S) == seconds


def test_a_date_cannot_be_read_without_the_time() -> None:
    assert retry_after_s("Fri, 15 Jan 2027 08:02:00 GMT", now_s=None) is None
