"""One post to a receiver that fails, hangs, redirects and lies: always an answer, in time, and bounded."""

import socket
import ssl
import struct
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from stateward.engine.system import wall_clock
from stateward.http_addresses import AllowedHosts, Lookup, look_up
from stateward.notifications.sending import (
    BODY_CHARS_MAX,
    RESPONSE_BYTES_MAX,
    Sender,
    WebhookResponse,
)
from tests.notifications.certificates import Authority
from tests.notifications.receivers import Answer as Said
from tests.notifications.receivers import receiving, saying
from tests.waiting import WAIT_S_MAX

Talk = Callable[[socket.socket], None]


def sender(
    *,
    allow: tuple[str, ...] = ("127.0.0.1",),
    timeout_s: float = WAIT_S_MAX,
    lookup: Lookup = look_up,
    ca_file: Path | None = None,
) -> Sender:
    return Sender(
        allowed=AllowedHosts(allow),
        timeout_s=timeout_s,
        now=wall_clock,
        ticks=time.monotonic,
        lookup=lookup,
        ca_file=None if ca_file is None else str(ca_file),
    )


def posted(talk: Talk, *, timeout_s: float = WAIT_S_MAX) -> WebhookResponse:
    with saying(talk) as url:
        return sender(timeout_s=timeout_s).post(url, b"{}", {})


def test_only_2xx_is_success() -> None:
    for status in (200, 201, 204, 299, 300, 301, 308, 400, 404, 410, 429, 500, 503, 599):
        with receiving(status) as receiver:
            answer = sender().post(receiver.url, b"{}", {})
        assert answer.status == status
        assert answer.is_success == (200 <= status < 300)
        assert answer.is_gone == (status == 410)


def drip(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:  # until the other side has left
        connection.sendall(b"x")
        time.sleep(0.02)


def drip_interim(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        time.sleep(0.02)


def hang(connection: socket.socket) -> None:
    while connection.recv(65_536):
        pass


@pytest.mark.parametrize("talk", [hang, drip, drip_interim])
def test_who_does_not_answer_in_time_is_left(talk: Talk) -> None:
    answer = posted(talk, timeout_s=0.5)

    assert (answer.status, answer.error) == (None, "no response within 0.5 s")


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def babble(connection: socket.socket) -> None:
    connection.sendall(b"\x00\xff SSH-2.0 \r\n\r\n")


def say_nothing(connection: socket.socket) -> None:
    pass


def many_headers(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000)


def long_line(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 1_000_000)


@pytest.mark.parametrize("talk", [reset, babble, say_nothing, many_headers, long_line])
def test_who_speaks_no_http_is_a_failure_with_a_sentence(talk: Talk) -> None:
    answer = posted(talk)

    assert answer.status is None
    assert answer.error.startswith(("no valid HTTP response: ", "no response: "))
    assert len(answer.error) <= 500


def test_a_status_counts_even_if_the_body_lies_about_its_length() -> None:
    def lie(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nshort")

    answer = posted(lie)

    assert answer.is_success
    assert answer.body == "short"


def test_a_body_without_end_is_read_up_to_a_limit() -> None:
    sent = []

    def flood(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 500 Oh\r\n\r\n")
        for _ in range(1000):
            connection.sendall(b"y" * 65_536)
            sent.append(1)

    answer = posted(flood)

    assert answer.status == 500
    assert len(answer.body) == BODY_CHARS_MAX
    assert sum(sent) * 65_536 < 100 * RESPONSE_BYTES_MAX


def test_an_address_without_a_server_is_a_failure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    assert "refused" in sender().post(f"http://127.0.0.1:{port}/", b"", {}).error


def test_a_host_that_no_request_can_be_made_to_is_a_failure() -> None:
    own = sender(allow=("01.2.3.4",), lookup=to_loopback)  # a resolver may read it as 1.2.3.4

    assert own.post("http://01.2.3.4:9/", b"", {}).error.startswith("no response: Invalid IPv4")


# TLS


def wrapping(authority: Authority, name: str) -> Callable[[socket.socket], socket.socket]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.certify(name))

    def wrap(sock: socket.socket) -> socket.socket:
        return context.wrap_socket(sock, server_side=True)

    return wrap


def to_loopback(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


def test_the_certificate_is_that_of_the_name_though_the_address_was_looked_up(
    tmp_path: Path,
) -> None:
    authority = Authority(tmp_path)
    with receiving(wrap=wrapping(authority, "hooks.example.com")) as receiver:
        url = receiver.url.replace("127.0.0.1", "hooks.example.com")
        own = sender(allow=("hooks.example.com",), lookup=to_loopback, ca_file=authority.file)

        answer = own.post(url, b"{}", {})

    assert answer.is_success, answer.error
    assert answer.address == "127.0.0.1"
    assert receiver.posts[0].headers["host"] == url.split("/")[2]


@pytest.mark.parametrize("is_trusted", [True, False], ids=["wrong name", "unknown authority"])
def test_a_certificate_that_is_not_right_is_refused(tmp_path: Path, *, is_trusted: bool) -> None:
    authority = Authority(tmp_path)
    name = "other.example.com" if is_trusted else "hooks.example.com"
    with receiving(wrap=wrapping(authority, name)) as receiver:
        url = receiver.url.replace("127.0.0.1", "hooks.example.com")
        own = sender(
            allow=("hooks.example.com",),
            lookup=to_loopback,
            ca_file=authority.file if is_trusted else None,
        )

        answer = own.post(url, b"{}", {})

    assert receiver.posts == []
    assert "certificate" in answer.error.lower()


def test_a_handshake_that_never_ends_is_cut() -> None:
    with saying(hang) as url:
        own = sender(allow=("hooks.example.com",), lookup=to_loopback, timeout_s=0.5)
        there = url.replace("http://127.0.0.1", "https://hooks.example.com")

        answer = own.post(there, b"{}", {})

    assert answer.error == "no response within 0.5 s"


# What a receiver asks for


def test_a_receiver_that_asks_for_a_pause_is_heard() -> None:
    with receiving(
        Said(503, headers=(("Retry-After", "30"),)), Said(503, headers=(("Retry-After", "999999"),))
    ) as receiver:
        assert sender().post(receiver.url, b"{}", {}).retry_after_s == 30
        assert sender().post(receiver.url, b"{}", {}).retry_after_s == 86_400
