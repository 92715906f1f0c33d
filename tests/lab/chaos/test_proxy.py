"""The proxy of the chaos rounds: it passes bytes on, and behaves as badly as it is told."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from random import Random

import pytest

from lab.chaos.proxy import (
    LOOPBACK,
    Behaviour,
    Link,
    Switchboard,
)

WAIT_S = 120.0


@pytest.fixture
def echo(tmp_path: Path) -> Iterator[Path]:
    """A server on a unix socket that says what it hears."""
    path = tmp_path / "socket"
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

    def answer(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while piece := connection.recv(1000):
                connection.sendall(piece)

    threading.Thread(target=serve, daemon=True).start()
    yield path
    server.close()


@pytest.fixture
def link(echo: Path) -> Iterator[Link]:
    with Switchboard(echo, rng=Random(1)) as board:
        yield board.link()


def connect(link: Link) -> socket.socket:
    return socket.create_connection((LOOPBACK, link.port), timeout=WAIT_S)


def is_answered(connection: socket.socket) -> bool:
    connection.sendall(b"hello")
    return connection.recv(100) == b"hello"


def test_a_link_passes_bytes_on(link: Link) -> None:
    with connect(link) as connection:
        assert is_answered(connection)


def test_a_slow_link_is_slow(link: Link) -> None:
    link.behave(Behaviour(latency_s=(0.1, 0.1)))
    start = time.monotonic()

    with connect(link) as connection:
        assert is_answered(connection)

    assert time.monotonic() - start >= 0.2


def test_a_link_that_is_reset_tears_its_connections_down(link: Link) -> None:
    with connect(link) as connection:
        assert is_answered(connection)

        assert link.reset() == 1

        with pytest.raises(ConnectionResetError):
            connection.recv(100)


def test_a_link_that_refuses_takes_no_connection(link: Link) -> None:
    link.behave(Behaviour(is_refusing=True))

    with pytest.raises(ConnectionResetError), connect(link) as connection:
        is_answered(connection)


def test_a_black_hole_says_nothing_until_it_is_closed(link: Link) -> None:
    with connect(link) as connection:
        assert is_answered(connection)
        link.behave(Behaviour(is_holding=True))
        connection.settimeout(0.2)
        with pytest.raises(TimeoutError):
            is_answered(connection)

        link.behave(Behaviour())

        connection.settimeout(WAIT_S)
        assert connection.recv(100) == b"hello"


def test_a_link_without_a_server_behind_it_hangs_up(tmp_path: Path) -> None:
    with Switchboard(tmp_path / "nobody", rng=Random(1)) as board:
        link = board.link()

        with pytest.raises(ConnectionResetError), connect(link) as connection:
            is_answered(connection)


def test_a_link_that_tears_passes_half_of_an_answer_on(link: Link) -> None:
    link.behave(Behaviour(tear_odds=1.0))

    with connect(link) as connection:
        connection.sendall(b"four")

        assert connection.recv(100) == b"fo"
        assert connection.recv(100) == b""


def test_a_link_that_fails_answers_a_request_itself(tmp_path: Path) -> None:
    with Switchboard(tmp_path / "nothing", rng=Random(1)) as board:
        link = board.link()
        link.behave(Behaviour(is_failing=True))

        for body in ("", "x" * 1_000_000):
            asked = HTTPConnection(LOOPBACK, link.port, timeout=WAIT_S)
            asked.request("PUT", "/bucket/name", body=body)
            assert asked.getresponse().status == 500
            asked.close()
