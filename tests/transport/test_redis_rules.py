"""How a Redis is reached: the rule that the pages give for the user of a worker, TLS, and what is not supported."""

import re
import uuid
from pathlib import Path
from typing import Any

import pytest
import redis

from lab.brokers import Broker, free_port, redis_program
from stateward.core.errors import InvalidRequest, TransportUnreachable
from stateward.transport.channel import Channel
from stateward.transport.connect import connect
from stateward.transport.engine import Parcel
from tests.notifications.certificates import Authority
from tests.transport.brokers import server_of

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "workers-without-a-database.md"


def test_a_worker_with_the_documented_rule_can_work_and_listen() -> None:
    (rule,) = re.findall(r"`ACL SETUSER ocr on >… (.*?)`", PAGE.read_text())
    with server_of("redis") as url:
        admin: Any = redis.Redis.from_url(url)
        work, control = "stateward.work.papers.extract.normal", "stateward.control"
        user, secret = f"u{uuid.uuid4().hex[:8]}", uuid.uuid4().hex
        admin.execute_command("ACL", "SETUSER", user, "on", f">{secret}", *rule.split())
        one = connect(url.replace("redis://", f"redis://{user}:{secret}@"), consumer="w", lease_s=9)
        try:
            connect(url, consumer="c", lease_s=9).publish(
                work, [Parcel("", b"a"), Parcel("", b"b")]
            )
            found = one.receive([work], limit=2, wait_s=1.0)
            one.extend(found)
            one.publish("stateward.results", [Parcel("", b"1"), Parcel("", b"2")])
            one.ack(found[:1])
            one.release(found[1:])
            one.bury("stateward.dead", Parcel("", b"c"))
            assert one.broadcasts(control) == []
            with pytest.raises(TransportUnreachable, match="no permissions"):
                one.receive(["stateward.work.papers.other.normal"], limit=1, wait_s=0.0)
        finally:
            one.close()
            admin.delete(work, "stateward.results", "stateward.dead")
            admin.execute_command("ACL", "DELUSER", user)
            admin.close()


def test_the_documented_rights_are_enough_for_doctor() -> None:
    (rule,) = re.findall(r"\| Redis, Valkey \| `(~stateward\.results .*?)` \|", PAGE.read_text())
    with server_of("redis") as url:
        admin: Any = redis.Redis.from_url(url)
        user, secret = f"u{uuid.uuid4().hex[:8]}", uuid.uuid4().hex
        admin.execute_command("ACL", "SETUSER", user, "on", f">{secret}", *rule.split())
        own = url.replace("redis://", f"redis://{user}:{secret}@")
        channel = Channel(connect(own, consumer="doctor", lease_s=9), clock=lambda: 1)
        try:
            channel.check_writable()
            assert (channel.depth("stateward.results"), channel.dead_letters()) == (0, [])
        finally:
            channel.close()
            admin.delete("stateward.dead")
            admin.execute_command("ACL", "DELUSER", user)
            admin.close()


def test_a_redis_is_reached_over_tls_with_a_certificate_of_the_client(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    chain, secret = authority.certify("localhost")
    mine, my_secret = authority.certify("me")
    options = [
        "--tls-cert-file",
        chain,
        "--tls-key-file",
        secret,
        "--tls-ca-cert-file",
        str(authority.file),
    ]
    own = f"ssl_ca_certs={authority.file}&ssl_certfile={mine}&ssl_keyfile={my_secret}"
    with _server(
        "--port", "0", "--requirepass", "p@ss", *options, port_option="--tls-port"
    ) as broker:
        one = connect(f"rediss://:p%40ss@localhost:{broker.port}/0?{own}", consumer="w", lease_s=9)
        one.publish("s", [Parcel("", b"a")])
        assert one.depth("s") == 1
        one.close()
        for url, why in (
            (f"rediss://:wrong@localhost:{broker.port}?{own}", "invalid username-password"),
            (
                f"rediss://:p%40ss@localhost:{broker.port}?ssl_ca_certs={authority.file}",
                "cannot be reached",
            ),
            (f"rediss://:p%40ss@localhost:{broker.port}", "certificate verify failed"),
            (
                f"rediss://localhost:{broker.port}/0?{own}",
                "reached: it asks for a password; correct user and password",
            ),
        ):
            with pytest.raises(TransportUnreachable, match=why):
                connect(url, consumer="w", lease_s=9).depth("s")
        with pytest.raises(InvalidRequest, match="there is no option tlsca"):
            connect(f"rediss://localhost:{broker.port}?tlsca=x", consumer="w", lease_s=9)


def test_a_cluster_and_a_sentinel_are_refused_by_name(tmp_path: Path) -> None:
    with (
        # Its nodes would speak to each other 10,000 ports higher, which not every free port allows.
        _server("--cluster-enabled", "yes", "--cluster-port", str(free_port())) as broker,
        pytest.raises(TransportUnreachable, match="a node of a Redis Cluster, which is not"),
    ):
        connect(broker.url, consumer="w", lease_s=9).publish("s", [Parcel("", b"a")])
    config = tmp_path / "sentinel.conf"
    config.touch()
    with (
        _server("--sentinel", first=str(config)) as broker,
        pytest.raises(TransportUnreachable, match="or it is a Sentinel"),
    ):
        connect(broker.url, consumer="w", lease_s=9).publish("s", [Parcel("", b"a")])


def _server(*options: str, port_option: str = "--port", first: str = "") -> Broker:
    program = redis_program()
    if program is None:
        pytest.skip("there is no redis-server here")
    return Broker(
        lambda port, folder: [
            program, *filter(None, [first]), *options, port_option, str(port), "--dir", str(folder), "--save", "",
        ],
        scheme="redis",
    )  # fmt: skip
