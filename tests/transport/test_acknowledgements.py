"""Settled messages are acknowledged some at a time, and streams that say nothing cost nothing."""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from lab.memory_broker import MemoryBroker, MemoryEngine
from stateward import telemetry
from stateward.transport import VIA_TRANSPORT
from stateward.transport.channel import ACK_S, ACKS_MAX, Acknowledgements, Channel, Received
from stateward.transport.connect import connect
from stateward.transport.inbox import open_inbox
from stateward.transport.messages import (
    HEARTBEAT,
    Envelope,
    HeartbeatMessage,
    encode,
    results_stream,
    work_stream,
)
from tests.transport.brokers import Site, server_of, site_of
from tests.transport.scene import Scene

PATIENCE_S = 60.0  # only a failure takes so long
STATEMENT = b"Date;Text;Amount\n2026-01-05;a;-1,00\n"


@pytest.fixture(scope="module", params=("redis", "nats"))
def server(request: pytest.FixtureRequest) -> Iterator[Site]:
    with site_of(request.param) as site:
        yield site


@pytest.fixture
def site(server: Site) -> Iterator[Site]:
    server.prefix = f"{server.prefix[:13]}x{time.monotonic_ns()}"
    yield server
    server.close()


class Clock:
    """Seconds that pass when a test says so."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def channel(site: Site, consumer: str) -> Channel:
    return Channel(site.engine(consumer, lease_s=PATIENCE_S), clock=lambda: 1, prefix=site.prefix)


def message(name: str) -> Envelope:
    data = HeartbeatMessage(worker=name, runners=[], slots=1)
    return encode(HEARTBEAT, data, id_=name, source="/test", subject=name, at=1)


def leased(own: Channel, stream: str, count: int) -> list[Received]:
    """So many messages, published and then received."""
    own.publish(stream, [message(str(number)) for number in range(count)])
    found: list[Received] = []
    until = time.monotonic() + PATIENCE_S
    while len(found) < count and time.monotonic() < until:
        found += own.receive([stream], limit=count, wait_s=0.1)
    return found


def depth(own: Channel, stream: str, wanted: int) -> int:
    """How many are not settled; an engine may hear of an acknowledgement a moment later."""
    until = time.monotonic() + PATIENCE_S
    while (found := own.depth(stream)) != wanted and time.monotonic() < until:
        time.sleep(0.01)
    return found


def test_settled_messages_wait_for_others_to_be_acknowledged_with(site: Site) -> None:
    own, clock = channel(site, "one"), Clock()
    settled = Acknowledgements(own, ticks=clock)
    for each in leased(own, site.stream(), 3):
        settled.add([each])
        settled.send()
    assert own.depth(site.stream()) == 3
    assert settled.due_at == ACK_S

    clock.now = ACK_S
    settled.send()

    assert depth(own, site.stream(), 0) == 0
    assert settled.due_at > PATIENCE_S  # nothing is due any more


def test_many_settled_messages_do_not_wait(site: Site) -> None:
    own = channel(site, "one")
    settled = Acknowledgements(own, ticks=Clock())

    settled.add(leased(own, site.stream(), ACKS_MAX))
    settled.send()

    assert depth(own, site.stream(), 0) == 0


def test_what_an_engine_hands_out_by_partition_is_acknowledged_at_once() -> None:
    engine = MemoryEngine(MemoryBroker(), consumer="one", lease_s=PATIENCE_S)
    own = Channel(engine, clock=lambda: 1)
    settled = Acknowledgements(own, ticks=Clock())
    assert not own.can_ask

    settled.add(leased(own, "s", 1))
    settled.send()

    assert own.depth("s") == 0


@pytest.mark.parametrize("name", ["redis", "nats"])
def test_who_ends_leaves_no_message_that_is_settled(name: str, tmp_path: Path) -> None:
    prefix = f"e{os.urandom(6).hex()}"
    with server_of(name) as url:
        scene = Scene(url, tmp_path, prefix)
        worker = scene.add_worker()
        scene.finish(scene.app.submit(STATEMENT).record.id)

        scene.end_worker(worker)
        scene.until(lambda: not any(each.via == VIA_TRANSPORT for each in scene.app.bus.workers()))
        scene.close()

        engine = connect(url, consumer="looks", lease_s=PATIENCE_S, depth_max=100)
        streams = (results_stream(prefix), work_stream("upload", "parse", "normal", prefix=prefix))
        left = [engine.depth(each) for each in streams]
        engine.close()
    assert left == [0, 0]


def calls_of_a_turn(site: Site, streams: list[str]) -> int:
    """How many Python functions a worker of these streams calls for the second of two messages."""
    other, own = (
        channel(site, "two"),
        open_inbox(channel(site, "one"), streams, telemetry.log("test")),
    )
    made = 0
    for number in range(2):
        own.want(2)
        while own.take(frozenset()):
            pass
        other.publish(streams[0], [message(str(number))])
        found: list[Received] = []
        until = time.monotonic() + PATIENCE_S
        while not found and time.monotonic() < until:
            counted = [0]

            def count(_: FrameType, event: str, __: object, counted: list[int] = counted) -> None:
                counted[0] += event == "call"

            sys.setprofile(count)
            try:
                found = own.take()
                own.want(2)
            finally:
                sys.setprofile(None)
            made = counted[0]
    own.close()
    return made


def test_a_message_costs_the_same_however_many_streams_say_nothing() -> None:
    with site_of("nats") as site:
        few = calls_of_a_turn(site, [site.stream(f"few{number}") for number in range(3)])
        many = calls_of_a_turn(site, [site.stream(f"many{number}") for number in range(60)])
    assert many < 2 * few
