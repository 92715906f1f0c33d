"""The connections of the engines: what a server may do on one, and who may use it."""

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from threading import Thread

import pytest
import redis

from lab.brokers import Broker, nats_broker, nats_program
from stateward.core.errors import TransportUnreachable
from stateward.transport.connect import connect
from stateward.transport.engine import GROUP, Delivery, Parcel
from stateward.transport.nats_login import parse_nats_url
from stateward.transport.nats_wire import NatsMessage, NatsWire, NatsWireError, publication
from stateward.transport.redis_streams import CLAIM_MAX, UNREAD_MAX, _Wire
from tests.notifications.certificates import Authority
from tests.transport.brokers import server_of
from tests.waiting import wait_until

INFO = b'INFO {"max_payload":1000,"headers":true}\r\n'
Turn = Callable[[socket.socket], None]


@contextmanager
def server(*turns: Turn) -> Iterator[str]:
    """A server of NATS that does one of these on each connection, and then closes it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            for turn in turns:
                own, _ = listener.accept()
                with own:
                    own.sendall(INFO)
                    _heard(own, b"PING\r\n")
                    own.sendall(b"PONG\r\n")
                    turn(own)

        thread = Thread(target=serve)
        thread.start()
        yield f"nats://127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


def _heard(own: socket.socket, end: bytes) -> bytes:
    heard = b""
    while not heard.endswith(end):
        heard += own.recv(65536)
    return heard


def wire_to(url: str) -> NatsWire:
    return NatsWire(parse_nats_url(url), name="test", answer_s=5.0)


def test_a_message_in_pieces_is_read_whole_and_pings_are_answered() -> None:
    said: list[bytes] = []

    def turn(own: socket.socket) -> None:
        first, second = (
            b"MSG a.b 1 re.ply 4\r\n\r\nxy\r\n",
            b"HMSG in 1 16 16\r\nNATS/1.0 404\r\n\r\n\r\n",
        )
        for piece in (
            first[:22],
            first[22:27],
            first[27:] + b"PING\r\n" + second[:26],
            second[26:],
        ):
            own.sendall(piece)
        said.append(_heard(own, b"PONG\r\n"))

    with server(turn) as url:
        wire = wire_to(url)
        found: list[NatsMessage] = []
        while len(found) < 2:
            found += wire.messages(5.0)
    wire.close()

    assert [(each.subject, each.reply, each.data, each.status) for each in found] == [
        ("a.b", "re.ply", b"\r\nxy", ""),
        ("in", "", b"", "404"),
    ]
    assert said == [b"PONG\r\n"]


def test_what_a_server_refuses_is_said_but_not_what_only_may_not_be_listened_to() -> None:
    def turn(own: socket.socket) -> None:
        own.sendall(b"-ERR 'Permissions Violation for Subscription to \"x\"'\r\nMSG a 1 0\r\n\r\n")
        own.sendall(b"-ERR 'Permissions Violation for Publish to \"x\"'\r\n")
        own.recv(1)

    with server(turn) as url:
        wire = wire_to(url)

        def read() -> None:
            while True:
                wire.messages(5.0)

        with pytest.raises(NatsWireError, match='Violation for Publish to "x"'):
            read()


def test_a_connection_that_was_closed_meanwhile_is_made_anew_and_asked_again() -> None:
    def answer(own: socket.socket) -> None:
        reply = _heard(own, b"x\r\n").split()[2]
        own.sendall(b"MSG %b 1 2\r\nok\r\n" % reply)

    with server(answer, answer) as url:
        wire = wire_to(url)
        found = [
            wire.request(lambda reply: [publication("subject", b"x", reply)])[0].data
            for _ in range(2)
        ]
    wire.close()

    assert found == [b"ok", b"ok"]
    assert wire.connections == 2


@pytest.mark.parametrize("said", [b"HTTP/1.1 400 Bad Request\r\n", b"x" * 10, b""])
def test_what_is_no_server_of_nats_is_told_as_an_outage(said: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            own, _ = listener.accept()
            with own:
                own.sendall(said)

        thread = Thread(target=serve)
        thread.start()
        url = f"nats://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(TransportUnreachable, match="cannot be reached"):
            connect(url, consumer="one", lease_s=6.0).depth("s")
        thread.join()


def test_tls_and_a_password_are_used_and_a_wrong_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = nats_program()
    if program is None:
        pytest.skip("there is no nats-server here")
    authority = Authority(tmp_path)
    chain, secret = authority.certify("localhost")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    # On a busy machine a handshake may take longer than the two seconds after which this server hangs up.
    config = tmp_path / "nats.conf"
    config.write_text(
        f'tls {{ cert_file: "{chain}", key_file: "{secret}", timeout: 60 }}\n'
        'authorization { user: me, password: "p@ss", timeout: 60 }\n'
    )
    with Broker(
        lambda port, folder: [
            program,
            "-c",
            str(config),
            "-p",
            str(port),
            "-js",
            "-sd",
            str(folder),
        ],
        scheme="tls",
    ) as broker:
        engine = connect(f"tls://me:p%40ss@localhost:{broker.port}", consumer="one", lease_s=6.0)
        engine.publish("p.test.s", [Parcel("", b"hello")])
        found = engine.receive(["p.test.s"], limit=1, wait_s=1.0)
        engine.close()
        wrong = connect(f"tls://me:wrong@localhost:{broker.port}", consumer="one", lease_s=6.0)
        with pytest.raises(TransportUnreachable, match="Authorization Violation") as refused:
            wrong.depth("s")

    assert [each.body for each in found] == [b"hello"]
    assert "wrong" not in str(refused.value)


def test_two_threads_on_a_wire_of_redis_each_get_their_own_answers() -> None:
    with server_of("redis") as url:
        client = redis.Redis.from_url(url)
        wire = _Wire(client)

        def ask(name: str) -> bool:
            asked = [f"{name}{number}".encode() for number in range(200)]
            return [wire.ask((b"ECHO", each))[0] for each in asked] == asked

        with ThreadPoolExecutor(2) as pool:
            assert all(pool.map(ask, ("a", "b")))
        wire.close()
        client.close()


def test_what_a_wire_of_redis_does_not_wait_for_is_no_answer_to_what_is_asked_next() -> None:
    with server_of("redis") as url:
        client = redis.Redis.from_url(url)
        wire = _Wire(client)

        wire.send((b"ECHO", b"first"), (b"XACK",))  # the second one is refused
        wire.send((b"SET", b"name", b"value"))

        assert wire.ask((b"GET", b"name"), (b"ECHO", b"last")) == [b"value", b"last"]
        with pytest.raises(redis.ResponseError, match=r"(?i)xack"):
            wire.send((b"SET", b"name", b"sent all the same"))
        assert wire.ask((b"GET", b"name")) == [b"sent all the same"]
        wire.send((b"SET", b"name", b"the refusal was said once"))
        assert wire.close() is None
        assert client.get("name") == b"the refusal was said once"
        client.close()


def test_what_redis_refused_last_is_said_at_the_end(log_lines: StringIO) -> None:
    with server_of("redis") as url:
        engine = connect(url, consumer="one", lease_s=6.0)
        engine.publish("p.s", [Parcel("", b"hello")])
        found = engine.receive(["p.s"], limit=1, wait_s=1.0)
        client = redis.Redis.from_url(url)
        client.execute_command("ACL", "SETUSER", "default", "-xack")  # type: ignore[no-untyped-call]
        engine.ack(found)

        engine.close()

        client.execute_command("ACL", "SETUSER", "default", "+xack")  # type: ignore[no-untyped-call]
        client.close()
    assert "the server refused what was sent last" in log_lines.getvalue()


def test_who_could_not_give_back_is_given_what_comes_to_a_server_that_lost_its_disk() -> None:
    if nats_program() is None:
        pytest.skip("there is no nats-server here")
    found: list[Delivery] = []
    with nats_broker() as broker:
        engine, other = (connect(broker.url, consumer=each, lease_s=6.0) for each in ("one", "two"))
        assert engine.receive(["p.test.s"], limit=1, wait_s=0.1) == []  # its request is still open
        broker.kill()
        with pytest.raises(TransportUnreachable):
            engine.give_back()
        broker.lose()
        broker.start()
        other.publish("p.test.s", [Parcel("", b"hello")])

        def is_found() -> bool:
            found.extend(engine.receive(["p.test.s"], limit=1, wait_s=0.1))
            return bool(found)

        wait_until(is_found)
        engine.close()
        other.close()

    assert [each.body for each in found] == [b"hello"]


def test_what_a_lost_consumer_of_redis_left_behind_much_that_others_hold_is_found() -> None:
    with server_of("redis") as url:
        living, lost, other = (
            connect(url, consumer=name, lease_s=60, depth_max=1000)
            for name in ("living", "lost", "other")
        )
        living.publish("s", [Parcel("", b"a")] * (10 * CLAIM_MAX + 1))
        assert len(living.receive(["s"], limit=1000, wait_s=0.0)) > 10 * CLAIM_MAX
        living.publish("s", [Parcel("", b"b")])
        (left,) = lost.receive(["s"], limit=1, wait_s=0.0)
        with redis.Redis.from_url(url) as client:  # it was not heard from for an hour
            client.xclaim("s", GROUP, "lost", 0, [left.token], idle=3_600_000, justid=True)

        found = [each for _ in range(2) for each in other.receive(["s"], limit=10, wait_s=0.0)]

        assert [(each.body, each.count) for each in found] == [(b"b", 2)]
        for each in (living, lost, other):
            each.close()


def test_a_wire_of_redis_that_is_only_sent_to_reads_its_answers_now_and_then() -> None:
    with server_of("redis") as url:
        client = redis.Redis.from_url(url)
        wire = _Wire(client)

        for _ in range(3 * UNREAD_MAX):
            wire.send((b"INCR", b"sent"))
            assert wire._unread <= UNREAD_MAX

        assert wire.ask((b"GET", b"sent")) == [b"%d" % (3 * UNREAD_MAX)]
        wire.close()
        client.close()


def test_who_has_asked_for_nothing_gives_nothing_back_to_a_server_that_is_away() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    engine = connect(f"nats://127.0.0.1:{port}", consumer="one", lease_s=1.0)

    engine.give_back()
    engine.drain()

    engine.close()
