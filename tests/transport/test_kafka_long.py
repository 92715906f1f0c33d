"""Kafka while its broker is away, and while members with a name of their own restart: longer than `make test` waits."""

import os
import time

import pytest
from confluent_kafka import TopicPartition

from lab.kafka_mock import KafkaMock
from stateward.core.errors import TransportUnreachable
from stateward.transport.connect import connect
from stateward.transport.engine import Delivery, Engine, Parcel
from stateward.transport.kafka_member import Member
from tests.transport.brokers import server_of

STREAM = "t.test.s"
PATIENCE_S = 10.0


def receive(engine: Engine, count: int, stream: str = STREAM) -> list[Delivery]:
    found: list[Delivery] = []
    until = time.monotonic() + PATIENCE_S
    while len(found) < count and time.monotonic() < until:
        try:
            found += engine.receive([stream], limit=count, wait_s=0.2)
        except TransportUnreachable:
            continue  # it has only just come back
    return found


def ask_until_it_fails(engine: Engine) -> None:
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        engine.receive([STREAM], limit=1, wait_s=0.2)


def test_a_broker_that_was_away_is_used_again() -> None:
    with KafkaMock() as mock:
        engine = connect(mock.url, consumer="one", lease_s=60.0)
        engine.publish(STREAM, [Parcel("a", b"before")])
        (held,) = receive(engine, 1)

        mock.stop()
        with pytest.raises(TransportUnreachable, match="cannot be reached"):
            engine.publish(STREAM, [Parcel("b", b"lost")])
        with pytest.raises(TransportUnreachable):
            ask_until_it_fails(engine)
        mock.go_on()

        engine.ack([held])
        engine.publish(STREAM, [Parcel("c", b"after")])
        # Those before it may come too: what became of them was not known when the connection broke.
        bodies = {each.body for _ in range(3) for each in receive(engine, 1)}
        assert b"after" in bodies
        engine.close()


def test_a_member_keeps_its_other_partitions_while_a_second_one_joins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rebalancing is cooperative: what moves is given up alone, where an eager one would take all from all first."""
    taken: list[tuple[Member, int, int]] = []
    revoked = Member._revoked

    def note(self: Member, consumer: object, places: list[TopicPartition]) -> None:
        taken.append((self, len(places), len(self._partitions)))
        revoked(self, consumer, places)

    monkeypatch.setattr(Member, "_revoked", note)
    with server_of("kafka") as url:
        stream = f"t{time.monotonic_ns()}.test.s"
        first, second = (connect(url, consumer=each, lease_s=60.0) for each in ("first", "second"))
        first.publish(stream, [Parcel(str(each), b"a") for each in range(32)])
        first.ack(receive(first, 32, stream))
        until = time.monotonic() + PATIENCE_S
        while not taken and time.monotonic() < until:
            for engine in (second, first):
                engine.ack(engine.receive([stream], limit=32, wait_s=0.1))
        (_, given_up, before) = taken[0]
        assert 0 < given_up < before
        second.close()
        first.close()


@pytest.mark.skipif(
    "TEST_KAFKA_BOOTSTRAP" not in os.environ, reason="the mock cluster knows no static members"
)
def test_a_member_with_a_name_of_its_own_gets_its_partitions_again_after_a_restart() -> None:
    settings = "session.timeout.ms=30000&group.instance.id=worker-1&partitions=4&replicas=1"
    url = f"kafka://{os.environ['TEST_KAFKA_BOOTSTRAP']}?{settings}"
    stream = f"t{time.monotonic_ns()}.test.s"
    first = connect(url, consumer="first", lease_s=60.0)
    first.publish(stream, [Parcel(str(each), b"a") for each in range(8)])
    assert receive(first, 1, stream)
    first.close()

    second = connect(url, consumer="second", lease_s=60.0)
    began = time.monotonic()
    assert receive(second, 1, stream)
    assert time.monotonic() - began < 20  # it did not wait for the session of the first to end
    second.close()
