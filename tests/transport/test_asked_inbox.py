"""Messages that an engine sends to a descriptor: the loop sleeps on it, and no thread waits for them."""

import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from lab.brokers import Broker, nats_broker, nats_program, redis_broker, redis_program
from stateward import telemetry
from stateward.transport import inbox
from stateward.transport.channel import Channel, Received
from stateward.transport.connect import connect
from stateward.transport.inbox import AskedInbox, Inbox, open_inbox
from stateward.transport.messages import HEARTBEAT, Envelope, HeartbeatMessage, encode
from tests.transport.brokers import Site, site_of

LEASE_S = 60.0
PATIENCE_S = 60.0  # only a failure takes so long


@pytest.fixture(scope="module", params=("redis", "nats"))
def server(request: pytest.FixtureRequest) -> Iterator[Site]:
    with site_of(request.param) as site:
        yield site


@pytest.fixture
def site(server: Site) -> Iterator[Site]:
    server.prefix = f"{server.prefix[:13]}x{time.monotonic_ns()}"
    yield server
    server.close()


def channel(site: Site, consumer: str, *, lease_s: float = LEASE_S) -> Channel:
    return Channel(site.engine(consumer, lease_s=lease_s), clock=lambda: 1, prefix=site.prefix)


def asked(own: Channel, *streams: str, listens: bool = False) -> AskedInbox:
    found = open_inbox(own, streams, telemetry.log("test"), listens=listens)
    assert isinstance(found, AskedInbox)
    return found


def message(name: str) -> Envelope:
    data = HeartbeatMessage(worker=name, runners=[], slots=1)
    return encode(HEARTBEAT, data, id_=name, source="/test", subject=name, at=1)


def slept(own: AskedInbox, count: int) -> list[Received]:
    """The messages that come to a loop that asks for so many, and sleeps until its descriptor or the inbox wakes it."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        own.want(count)
        poll = select.poll()
        if own.fileno() >= 0:
            poll.register(own.fileno(), select.POLLIN)
        # Longer than any test: what is to be shown is that the descriptor ends the sleep.
        ready = poll.poll(1000 * min(own.wake_in(), PATIENCE_S))
        if found := own.take({descriptor for descriptor, _ in ready}):
            return found
    raise AssertionError("nothing came")


def names(received: list[Received]) -> list[str]:
    return [each.envelope.id for each in received]


def test_a_message_wakes_the_loop_that_sleeps_on_the_descriptor(site: Site) -> None:
    own = asked(channel(site, "one"), site.stream())
    other = channel(site, "two")
    for number in range(3):
        own.want(1)
        assert own.take(frozenset()) == []

        other.publish(site.stream(), [message(str(number))])

        assert names(slept(own, 1)) == [str(number)]
    own.close()


def test_what_was_there_before_it_was_asked_for_comes_too(site: Site) -> None:
    streams = [site.stream(each) for each in ("high", "low")]
    other = channel(site, "two")
    for each in streams:
        other.publish(each, [message(f"{each}.{number}") for number in range(3)])

    own = asked(channel(site, "one"), *streams)

    found: list[Received] = []
    while len(found) < 6:
        found += slept(own, 6 - len(found))
    assert sorted(names(found)) == sorted(f"{each}.{n}" for each in streams for n in range(3))
    own.close()


def test_no_more_come_than_were_asked_for(site: Site) -> None:
    own = asked(channel(site, "one"), site.stream())
    channel(site, "two").publish(site.stream(), [message(str(number)) for number in range(5)])

    assert len(slept(own, 2)) <= 2
    own.close()


def test_the_message_of_a_consumer_that_was_lost_comes(site: Site) -> None:
    lost = channel(site, "lost", lease_s=0.5)
    lost.publish(site.stream(), [message("left")])
    assert names(slept(asked(lost, site.stream()), 1)) == ["left"]

    own = asked(channel(site, "one", lease_s=0.5), site.stream())

    (found,) = slept(own, 1)
    assert (found.envelope.id, found.delivery.count) == ("left", 2)
    own.close()


def test_what_comes_while_a_worker_is_told_something_is_not_overlooked(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With NATS both come over one connection, and who reads the one reads the other."""
    monkeypatch.setattr(inbox, "WAIT_S", 0.0)
    own = asked(channel(site, "one"), site.stream(), listens=True)
    own.want(1)
    own.take()
    other = channel(site, "two")
    other.publish(site.stream(), [message("work")])
    other.broadcast(message("stop"))

    assert names(slept(own, 1)) == ["work"]
    until = time.monotonic() + PATIENCE_S
    while not (told := own.take_told()) and time.monotonic() < until:
        own.take()
    assert [each.id for each in told] == ["stop"]
    own.close()


def test_what_came_and_was_not_taken_is_for_others_at_once_when_it_stops(site: Site) -> None:
    own = asked(channel(site, "one"), site.stream())
    own.want(5)
    assert own.take(frozenset()) == []
    other = channel(site, "two")
    other.publish(site.stream(), [message("given back")])

    own.close()

    idle = asked(other, site.stream())
    assert names(slept(idle, 1)) == ["given back"]
    idle.close()


def test_an_engine_without_a_descriptor_has_a_thread(site: Site) -> None:
    with site_of("memory") as plain:
        own = open_inbox(channel(plain, "one"), [plain.stream()], telemetry.log("test"))
        assert isinstance(own, Inbox)
        assert own.wake_in() > PATIENCE_S
        own.close()


@pytest.mark.parametrize("name", ["redis", "nats"])
def test_after_an_outage_it_asks_again(name: str) -> None:
    if (redis_program() if name == "redis" else nats_program()) is None:
        pytest.skip(f"there is no {name}-server here")
    make = redis_broker if name == "redis" else nats_broker
    with make() as broker, ExitStack() as stack:
        channels = [_reached(broker, each) for each in ("one", "two")]
        for each in channels:
            stack.callback(each.close)
        own = asked(channels[0], "t.test.s")
        own.want(1)
        assert own.take(frozenset()) == []

        broker.kill()
        until = time.monotonic() + PATIENCE_S
        while own.fileno() >= 0 and time.monotonic() < until:
            own.take()
            own.want(1)
        assert own.fileno() < 0
        assert own.wake_in() < PATIENCE_S  # it tries again by itself
        broker.start()

        channels[1].publish("t.test.s", [message("after")])
        assert names(slept(own, 1)) == ["after"]
        own.close()


@pytest.mark.parametrize("count", [0, None])
@pytest.mark.parametrize("name", ["redis", "nats"])
def test_a_loop_that_wants_nothing_while_the_engine_is_away_sleeps(
    name: str, count: int | None
) -> None:
    """`None`: it does not say anything, for its own messages do not arrive either."""
    if (redis_program() if name == "redis" else nats_program()) is None:
        pytest.skip(f"there is no {name}-server here")
    make = redis_broker if name == "redis" else nats_broker
    now = 100.0
    with make() as broker, ExitStack() as stack:
        channel_ = _reached(broker, "one")
        stack.callback(channel_.close)
        own = AskedInbox(channel_, ["t.test.s"], telemetry.log("test"), ticks=lambda: now)
        stack.callback(own.close)
        broker.kill()
        own.want(1)
        assert own.wake_in() < PATIENCE_S

        now += PATIENCE_S
        own.take()
        if count is not None:
            own.want(count)

        assert own.wake_in() > PATIENCE_S


def test_an_inbox_that_was_stopped_wakes_its_loop_no_more(site: Site) -> None:
    own = asked(channel(site, "one"), site.stream(), listens=True)
    assert own.wake_in() < PATIENCE_S

    own.stop()

    assert own.wake_in() > PATIENCE_S


@pytest.mark.parametrize("name", ["redis", "nats"])
def test_an_engine_that_is_silent_does_not_hold_up_the_loop_with_each_try(name: str) -> None:
    if (redis_program() if name == "redis" else nats_program()) is None:
        pytest.skip(f"there is no {name}-server here")
    make = redis_broker if name == "redis" else nats_broker
    with make() as broker, ExitStack() as stack:
        channels = [_reached(broker, each, lease_s=0.5) for each in ("one", "two")]
        for each in channels:
            stack.callback(each.close)
        own = asked(channels[0], "t.test.s")
        own.want(1)
        assert own.take(frozenset()) == []

        os.kill(broker.pid, signal.SIGSTOP)
        until = time.monotonic() + PATIENCE_S
        while not _is_trying() and time.monotonic() < until:
            own.take()
            own.want(1)
        assert _is_trying()  # and `want` has returned
        os.kill(broker.pid, signal.SIGCONT)

        channels[1].publish("t.test.s", [message("after")])
        assert names(slept(own, 1)) == ["after"]
        own.close()


def _is_trying() -> bool:
    return any(each.name.startswith("transport-try") for each in threading.enumerate())


def _reached(broker: Broker, consumer: str, *, lease_s: float = LEASE_S) -> Channel:
    engine = connect(broker.url, consumer=consumer, lease_s=lease_s, depth_max=100)
    return Channel(engine, clock=lambda: 1, prefix="t")
