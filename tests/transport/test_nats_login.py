"""How a connection to NATS is made and who it says it is, against a real server that asks for it."""

import base64
import json
import re
import socket
import ssl
import time
from binascii import crc_hqx
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from lab.brokers import Broker, free_port, nats_program
from stateward.core.errors import InvalidRequest, TransportUnreachable
from stateward.definition.section import mask_secrets
from stateward.settings.transport import is_engine_url
from stateward.transport.channel import Channel
from stateward.transport.connect import connect
from stateward.transport.engine import Parcel, masked_url
from stateward.transport.messages import (
    CLASSES,
    control_topic,
    dead_stream,
    results_stream,
    work_stream,
)
from stateward.transport.nats_login import FORMS, NatsUrl, parse_nats_url
from stateward.transport.nats_wire import NatsWire
from tests.notifications.certificates import Authority

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "workers-without-a-database.md"
PATIENCE_S = 60.0
T = TypeVar("T")
OPERATOR, ACCOUNT, USER = 14 << 3, 0, 20 << 3  # the letters O, A and U
UNLIMITED = {
    "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": True, "conn": -1, "leaf": -1,
    "mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1,
}  # fmt: skip


class Nkey:
    """A key of NATS, written by its specification."""

    def __init__(self, kind: int) -> None:
        self._key = Ed25519PrivateKey.generate()
        self.public = _base32(bytes([kind]) + self._key.public_key().public_bytes_raw())
        head = bytes([(18 << 3) | kind >> 5, (kind & 31) << 3])
        self.seed = _base32(head + self._key.private_bytes_raw())

    def vouch(self, subject: "Nkey", **about: object) -> str:
        """A JWT about another key."""
        claims = {"jti": "x", "iat": 1, "iss": self.public, "sub": subject.public, "name": "x"}
        parts = ({"typ": "JWT", "alg": "ed25519-nkey"}, {**claims, "nats": {"version": 2, **about}})
        said = ".".join(_base64(json.dumps(each).encode()) for each in parts)
        return f"{said}.{_base64(self._key.sign(said.encode()))}"


def _base32(body: bytes) -> str:
    return base64.b32encode(body + crc_hqx(body, 0).to_bytes(2, "little")).decode().rstrip("=")


def _base64(body: bytes) -> str:
    return base64.urlsafe_b64encode(body).decode().rstrip("=")


@contextmanager
def server(folder: Path, config: str) -> Iterator[Broker]:
    program = nats_program()
    if program is None:
        pytest.skip("there is no nats-server here")
    path = folder / f"nats{free_port()}.conf"
    path.write_text(config)
    with Broker(
        lambda port, own: [program, "-p", str(port), "-sd", str(own), "-c", str(path)],
        scheme="nats",
    ) as broker:
        yield broker


def send_and_receive(url: str) -> list[bytes]:
    engine = connect(url, consumer="one", lease_s=6.0)
    try:
        engine.publish("p.test.s", [Parcel("", b"hello")])
        return [each.body for each in engine.receive(["p.test.s"], limit=1, wait_s=1.0)]
    finally:
        engine.close()


def test_a_credentials_file_logs_in_over_tls_that_comes_first_with_a_certificate(
    tmp_path: Path,
) -> None:
    operator, account, system, user = (Nkey(each) for each in (OPERATOR, ACCOUNT, ACCOUNT, USER))
    of_operator = operator.vouch(operator, type="operator", system_account=system.public)
    of_account = operator.vouch(account, type="account", limits=UNLIMITED)
    of_system = operator.vouch(
        system, type="account", limits={**UNLIMITED, "disk_storage": 0, "mem_storage": 0}
    )
    of_user = account.vouch(user, type="user", subs=-1, data=-1, payload=-1)
    good, other = tmp_path / "good.creds", tmp_path / "other.creds"
    for path, key in ((good, user), (other, Nkey(USER))):
        path.write_text(
            f"-----BEGIN NATS USER JWT-----\n{of_user}\n------END NATS USER JWT------\n\n"
            f"-----BEGIN USER NKEY SEED-----\n{key.seed}\n------END USER NKEY SEED------\n"
        )
    authority = Authority(tmp_path)
    chain, secret = authority.certify("localhost")
    mine, my_secret = authority.certify("me")
    config = f"""
        operator: {of_operator}
        system_account: {system.public}
        resolver: MEMORY
        resolver_preload: {{ {account.public}: {of_account}, {system.public}: {of_system} }}
        jetstream: enabled
        tls {{ cert_file: "{chain}", key_file: "{secret}", ca_file: "{authority.file}",
               verify: true, handshake_first: true }}
    """
    with server(tmp_path, config) as broker:
        url = f"nats://localhost:{broker.port}?tlsca={authority.file}&tlsfirst=1"
        shown = f"{url}&tlscert={mine}&tlskey={my_secret}"
        assert send_and_receive(f"{shown}&creds={good}") == [b"hello"]
        refused = {
            f"{shown}&creds={other}": "Authorization Violation",
            f"{shown}&creds={mine}": "is no credentials file of NATS",
            f"{shown}&creds={tmp_path}/none": "creds: .*/none cannot be read",
            f"{shown}&nkey={good}": "holds no seed of an nkey",
            shown: "Authorization Violation",
            f"{url}&creds={good}": "cannot be reached",
            f"{url}&tlscert={good}&creds={good}": "no TLS with the files",
        }
        for each, why in refused.items():
            with pytest.raises(TransportUnreachable, match=why):
                connect(each, consumer="one", lease_s=6.0).depth("s")


def test_a_seed_and_a_token_log_in_and_other_ones_do_not(tmp_path: Path) -> None:
    key, seed, wrong = Nkey(USER), tmp_path / "seed", tmp_path / "wrong"
    seed.write_text(key.seed + "\n")
    wrong.write_text(Nkey(USER).seed)
    users = f"jetstream: enabled\nauthorization {{ users: [ {{ nkey: {key.public} }} ] }}"
    with server(tmp_path, users) as broker:
        assert send_and_receive(f"{broker.url}?nkey={seed}") == [b"hello"]
        with pytest.raises(TransportUnreachable, match="Authorization Violation"):
            send_and_receive(f"{broker.url}?nkey={wrong}")
    with server(tmp_path, 'jetstream: enabled\nauthorization { token: "t/k" }') as broker:
        port = broker.port
        assert send_and_receive(f"nats://t%2Fk@127.0.0.1:{port}") == [b"hello"]
        with pytest.raises(TransportUnreachable, match="Authorization Violation") as refused:
            send_and_receive(f"nats://other@127.0.0.1:{port}")
        away = f"127.0.0.1:{free_port()}"
        each = rf"{away}: .*refused, 127.0.0.1:{port}: Authorization Violation"
        with pytest.raises(TransportUnreachable, match=each):
            send_and_receive(f"nats://other@{away},127.0.0.1:{port}")
    assert "other" not in str(refused.value)
    assert mask_secrets("nats://other@a:1,b:2?creds=/x") == "nats://***@a:1,b:2?creds=/x"


def test_another_server_is_used_that_the_url_names_or_that_the_first_one_told_of(
    tmp_path: Path,
) -> None:
    authority = Authority(tmp_path)
    chain, secret = authority.certify("localhost")
    routes = free_port(), free_port()
    tls = f'tls {{ cert_file: "{chain}", key_file: "{secret}" }}'

    def config(own: int, other: int) -> str:
        return (
            f"host: 127.0.0.1\n{tls}\n"
            f"cluster {{ name: c, listen: 127.0.0.1:{own}, routes: [nats://127.0.0.1:{other}] }}"
        )

    with (
        server(tmp_path, config(routes[0], routes[1])) as first,
        server(tmp_path, config(routes[1], routes[0])) as second,
    ):
        nowhere = free_port()
        url = f"tls://localhost:{nowhere},localhost:{first.port}?tlsca={authority.file}"
        wire = NatsWire(parse_nats_url(url), name="test", answer_s=5.0)
        told = f"127.0.0.1:{second.port}"
        for _ in range(500):
            wire.messages(0.02)
            if told in wire.info.connect_urls:
                break
        assert told in wire.info.connect_urls
        first.kill()
        wire.flush()
        wire.close()

    assert wire.connections == 2
    assert masked_url("nats://me:secret@a:1,b:2?creds=/x") == "nats://a:1,b:2"


def test_a_name_that_a_line_in_clear_text_told_of_is_given_no_login(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*authority.certify("localhost"))

    def info(*servers: str) -> bytes:
        return b"INFO %b\r\n" % json.dumps({"tls_required": True, "connect_urls": servers}).encode()

    def serve() -> None:
        own, _ = listening.accept()
        with own:
            own.sendall(info("thief.example:4222", "10.0.0.7:4222", "[fd00::7]:4222", "[nonsense"))
            with context.wrap_socket(own, server_side=True) as safe:
                while b"PING\r\n" not in safe.recv(65536):
                    pass
                safe.sendall(b"PONG\r\n")
                assert safe.recv(65536) == b"PING\r\n"
                safe.sendall(info("b.example:4222") + b"PONG\r\n")
                safe.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as threads:
        done = threads.submit(serve)
        url = f"nats://localhost:{listening.getsockname()[1]}?tlsca={authority.file}"
        wire = NatsWire(parse_nats_url(url), name="test", answer_s=5.0)
        wire.messages(0.0)
        told_in_clear = wire.info.connect_urls
        wire.flush()
        wire.close()
        done.result(5)

    # An address shows the certificate of the name in the URL: an attacker who wrote it gains nothing.
    assert told_in_clear == ["10.0.0.7:4222", "[fd00::7]:4222"]
    assert wire.info.connect_urls == ["b.example:4222"]


def test_a_worker_with_the_documented_rule_can_work_and_reads_no_other_stage(
    tmp_path: Path,
) -> None:
    (rule,) = re.findall(r"```text\n(authorization .*?)```", PAGE.read_text(), flags=re.DOTALL)
    work = [work_stream("papers", "extract", each) for each in CLASSES]
    other = work_stream("papers", "read", "normal")
    with server(tmp_path, f"jetstream: enabled\n{rule}") as broker:
        at = f"127.0.0.1:{broker.port}"
        coordinator = connect(f"nats://coordinator:change-me@{at}", consumer="c", lease_s=9)
        one = connect(f"nats://ocr:change-me@{at}?inbox-prefix=_INBOX_ocr", consumer="w", lease_s=9)
        coordinator.receive([results_stream()], limit=1, wait_s=0.0)
        coordinator.publish(other, [Parcel("", b"x")])
        assert one.receive(work, limit=2, wait_s=0.0) == []  # it makes what is not there
        coordinator.publish(work[0], [Parcel("", b"a"), Parcel("", b"b")])

        found = one.receive(work, limit=2, wait_s=1.0)
        one.extend(found)
        one.publish(results_stream(), [Parcel("", b"1"), Parcel("", b"2")])
        one.ack(found[:1])
        one.release(found[1:])
        one.bury(dead_stream(), Parcel("", b"c"))
        assert one.broadcasts(control_topic()) == []
        told: list[bytes] = []
        for _ in range(500):  # what was said before it listened is not heard
            coordinator.broadcast(control_topic(), b"stop")
            told = told or one.broadcasts(control_topic())
        assert (len(found), told[:1], coordinator.depth(work[0])) == (2, [b"stop"], 1)
        for engine in (one, connect(f"nats://ocr:change-me@{at}", consumer="v", lease_s=9)):
            with pytest.raises(TransportUnreachable, match="cannot be reached"):
                engine.receive([other], limit=1, wait_s=0.0)
            engine.close()
        coordinator.close()


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("nats://a?tls_ca=x", "tls_ca is no option of a NATS URL; there are tlsca, tlscert"),
        ("nats://a?tlskey=x", "tlskey is the key of a certificate"),
        ("nats://a?tlsfirst=yes", "or 0: write tlsfirst=1"),
        ("nats://a?creds=", "creds= in a NATS URL: creds is a credentials file: write creds=/"),
        ("nats://a?inbox-prefix=", "write inbox-prefix=_INBOX_ocr"),
        ("nats://a?replicas=0", "1 to 5: write replicas=3"),
        ("nats://to/ken@a", "percent-encode it as %40"),
        ("nats://to?ken@a", "percent-encode it as %40"),
        ("nats://to#ken@a", "percent-encode it as %40"),
        ("nats://a,nats://b", "a NATS URL names its servers as"),
    ],
)
def test_a_url_that_says_what_is_not_known_is_refused_with_a_sentence(url: str, why: str) -> None:
    with pytest.raises(InvalidRequest, match=re.escape(why)) as refused:
        parse_nats_url(url)
    assert "ken@" not in str(refused.value)


@pytest.mark.parametrize("token", ["to/ken", "to?ken", "to#ken", "to/k:en", "to@ken", "/"])
def test_a_token_that_is_not_encoded_is_not_shown_and_refused_by_the_settings(token: str) -> None:
    assert mask_secrets(f"nats://{token}@a:1,b:2?creds=/x") == "nats://***@a:1,b:2?creds=/x"
    assert mask_secrets(f"nats://me:{token}@a:1") == "nats://me:***@a:1"
    assert is_engine_url(f"nats://{token}@a:1") == (token == "to@ken")


def test_tls_is_asked_for_by_a_file_or_a_flag_that_is_set() -> None:
    urls = ("nats://a", "nats://a?tlsfirst=0", "nats://a?tlsfirst=1", "nats://a?tlsca=x", "tls://a")
    assert [parse_nats_url(each).is_tls for each in urls] == [False, False, True, True, True]


def test_every_option_of_a_nats_url_says_what_to_write() -> None:
    assert tuple(FORMS) == NatsUrl.__struct_fields__[4:]


@pytest.mark.long  # three servers elect who leads, twice
def test_a_cluster_over_tls_goes_on_with_two_of_three_servers(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    chain, secret = authority.certify("localhost")
    tls = f'tls {{ cert_file: "{chain}", key_file: "{secret}", ca_file: "{authority.file}" }}'
    routes = [free_port() for _ in range(3)]
    known = ", ".join(f"nats://localhost:{each}" for each in routes)

    def config(number: int) -> str:
        return (
            f"server_name: s{number}\nhost: 127.0.0.1\njetstream: enabled\n{tls}\n"
            f"cluster {{ name: c, listen: 127.0.0.1:{routes[number]}, routes: [{known}], {tls} }}"
        )

    with ExitStack() as stack:
        brokers = [stack.enter_context(server(tmp_path, config(number))) for number in range(3)]
        # The first alone is named: of the others the cluster tells.
        url = f"tls://localhost:{brokers[0].port}?tlsca={authority.file}&replicas=3"
        engine = connect(url, consumer="one", lease_s=15.0)
        stack.callback(engine.close)
        patiently(lambda: engine.publish("p.test.s", [Parcel("", b"before")]))
        first = patiently(lambda: engine.receive(["p.test.s"], limit=1, wait_s=0.5))
        engine.ack(first)
        patiently(lambda: engine.publish("p.test.s", [Parcel("", b"kept")]))

        brokers[0].kill()
        patiently(lambda: engine.publish("p.test.s", [Parcel("", b"after")]))
        bodies: set[bytes] = set()
        while bodies != {b"kept", b"after"}:
            found = patiently(lambda: engine.receive(["p.test.s"], limit=2, wait_s=0.5))
            engine.ack(found)
            bodies |= {each.body for each in found}

    assert [each.body for each in first] == [b"before"]


def patiently(ask: Callable[[], T]) -> T:
    """Ask until there is an answer, as all who use an engine do; not for ever."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            found = ask()
        except TransportUnreachable:
            if time.monotonic() > until:
                raise
        else:
            if found != [] or time.monotonic() > until:
                return found
        time.sleep(0.05)


def test_the_documented_rights_are_enough_for_doctor(tmp_path: Path) -> None:
    (rule,) = re.findall(r"\| NATS \| publish to (.*?); subscribe to `(.*?)` \|", PAGE.read_text())
    subjects, inbox = rule
    publish = ", ".join(f'"{each}"' for each in re.findall("`(.*?)`", subjects))
    user = f'{{ user: doctor, password: p, permissions: {{ publish: [{publish}], subscribe: "{inbox}" }} }}'
    with server(tmp_path, f"jetstream: enabled\nauthorization {{ users: [ {user} ] }}") as broker:
        url = f"nats://doctor:p@127.0.0.1:{broker.port}"
        channel = Channel(connect(url, consumer="doctor", lease_s=9), clock=lambda: 1)
        try:
            channel.check_writable()
            assert (channel.depth(results_stream()), channel.dead_letters()) == (0, [])
        finally:
            channel.close()
