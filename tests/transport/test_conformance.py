"""One suite for every engine: what coordinators and workers may rely on, and nothing more."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from threading import Event

import pytest

from lab.brokers import nats_broker, nats_program, redis_broker, redis_program
from stateward import telemetry
from stateward.blobs import Folder
from stateward.core.errors import TransportError, TransportFull
from stateward.transport import inbox
from stateward.transport.channel import Channel, MessageTooLarge, Received
from stateward.transport.connect import connect
from stateward.transport.engine import Delivery, Engine, Parcel
from stateward.transport.inbox import MessageSource, open_inbox
from stateward.transport.messages import (
    HEARTBEAT,
    Envelope,
    HeartbeatMessage,
    data_of,
    dead_stream,
    encode,
)
from tests.transport.brokers import ENGINES, LEASE_S, Site, site_of
from tests.waiting import wait_until

PATIENCE_S = 60.0  # only a failure takes so long


@pytest.fixture(scope="module", params=ENGINES)
def server(request: pytest.FixtureRequest) -> Iterator[Site]:
    with site_of(request.param) as site:
        yield site


@pytest.fixture
def site(server: Site) -> Iterator[Site]:
    """The server, with names of streams that no other test uses."""
    server.prefix = f"{server.prefix[:13]}x{time.monotonic_ns()}"
    yield server
    server.close()


def parcels(*bodies: str) -> list[Parcel]:
    return [Parcel(f"rec_{each}", each.encode()) for each in bodies]


def received(engine: Engine, stream: str, count: int) -> list[Delivery]:
    """So many messages, with patience: a server may need more than one call."""
    found: list[Delivery] = []
    until = time.monotonic() + PATIENCE_S
    while len(found) < count and time.monotonic() < until:
        found += engine.receive([stream], limit=count - len(found), wait_s=0.2)
    return found


def eventually(is_true: Callable[[], bool]) -> bool:
    until = time.monotonic() + PATIENCE_S
    while not is_true():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def message(name: str = "w", *, rank: int = 0, runners: int = 1) -> Envelope:
    data = HeartbeatMessage(worker=name, runners=["a.b"] * runners, slots=1)
    return encode(HEARTBEAT, data, id_=name, source="/t", subject="rec_1", at=1, rank=rank)


def channel(engine: Engine, site: Site, **more: object) -> Channel:
    return Channel(engine, clock=lambda: 1, prefix=site.prefix, **more)  # type: ignore[arg-type]


def turns(own: Channel, streams: list[str], count: int) -> list[list[Received]]:
    """So many messages, as one call after the other gave them."""
    found: list[list[Received]] = []
    until = time.monotonic() + PATIENCE_S
    while (left := count - sum(map(len, found))) and time.monotonic() < until:
        found.append(own.receive(streams, limit=left, wait_s=0.2))
    return found


def taken(own: Channel, streams: list[str], count: int) -> list[Received]:
    return [each for turn in turns(own, streams, count) for each in turn]


def _asks(own: MessageSource, count: int) -> bool:
    """As the loop does in each turn."""
    own.want(count)
    return True


def _grows(found: list[Received], came: list[Received]) -> bool:
    found += came
    return bool(found)


def names(found: list[Received]) -> list[str]:
    return [data_of(each.envelope, HeartbeatMessage).worker for each in found]


def test_what_was_published_before_a_consumer_came_is_delivered_to_it(site: Site) -> None:
    site.engine("sender").publish(site.stream(), parcels("a", "b", "c"))

    found = received(site.engine(), site.stream(), 3)

    assert sorted(each.body for each in found) == [b"a", b"b", b"c"]
    assert {each.count for each in found} == {1}


def test_two_consumers_share_a_stream(site: Site) -> None:
    one, two = site.engine("one", lease_s=60), site.engine("two", lease_s=60)
    one.publish(site.stream(), parcels(*"abcd"))

    found = received(one, site.stream(), 1)
    until = time.monotonic() + PATIENCE_S
    while len({each.body for each in found}) < 4 and time.monotonic() < until:
        for each in (two, one):
            found += each.receive([site.stream()], limit=1, wait_s=0.1)

    # On a busy machine a member of a Kafka group may be taken for lost: what it had comes again, and is counted.
    first = [each.body for each in found if each.count == 1]
    assert sorted(first) == [b"a", b"b", b"c", b"d"]


def test_an_acknowledged_message_is_gone_and_no_longer_counted(site: Site) -> None:
    engine = site.engine()
    engine.publish(site.stream(), parcels("a", "b"))
    found = received(engine, site.stream(), 2)
    assert engine.depth(site.stream()) == 2  # leased is not settled

    engine.ack(found)
    engine.ack(found)  # of which the first answer was lost

    assert eventually(lambda: engine.depth(site.stream()) == 0)


def test_the_messages_of_a_lost_consumer_go_to_another_one_and_are_counted(site: Site) -> None:
    lost = site.engine("lost")
    lost.publish(site.stream(), parcels("a"))
    assert received(lost, site.stream(), 1)

    again = received(site.engine("other"), site.stream(), 1)

    assert [(each.body, each.count) for each in again] == [(b"a", 2)]


def test_a_consumer_that_extends_its_lease_loses_nothing(site: Site) -> None:
    lease_s = LEASE_S
    stolen, gap_s = stolen_while_extended(site, lease_s)
    while gap_s > lease_s / 2 and lease_s < PATIENCE_S / 2:
        # A machine that is too busy to extend a lease in time has proved nothing.
        lease_s *= 2
        stolen, gap_s = stolen_while_extended(site, lease_s)

    assert gap_s <= lease_s / 2
    assert stolen == []


def stolen_while_extended(site: Site, lease_s: float) -> tuple[list[Delivery], float]:
    """What another consumer got in two leases, and the longest time for which the first was not extended.

    It is extended by a thread of its own: one call of the other consumer may wait for its broker longer than a lease.
    """
    slow, other = site.engine("slow", lease_s=lease_s), site.engine("other", lease_s=lease_s)
    stream = site.stream(f"for-{lease_s:g}")
    slow.publish(stream, parcels("a"))
    asked_at, held, has_ended = 0.0, list[Delivery](), Event()

    def is_held() -> bool:
        nonlocal asked_at
        asked_at = time.monotonic()
        held.extend(slow.receive([stream], limit=1, wait_s=LEASE_S / 5))
        return bool(held)

    wait_until(is_held)
    times = [asked_at]

    def extend() -> None:
        while not has_ended.wait(lease_s / 10):
            slow.extend(held)
            times.append(time.monotonic())

    stolen: list[Delivery] = []
    with ThreadPoolExecutor(1) as pool:
        extending = pool.submit(extend)
        try:
            while time.monotonic() < times[0] + 2.2 * lease_s:
                stolen += other.receive([stream], limit=1, wait_s=0.1)
        finally:
            has_ended.set()
        extending.result()
    times.append(time.monotonic())
    site.close()
    return stolen, max(after - before for before, after in pairwise(times))


def test_what_is_released_is_delivered_at_once(site: Site) -> None:
    leaving, other = site.engine("leaving", lease_s=60), site.engine("other", lease_s=60)
    leaving.publish(site.stream(), parcels("a"))

    leaving.release(received(leaving, site.stream(), 1))

    assert [each.body for each in received(other, site.stream(), 1)] == [b"a"]


def test_what_is_released_is_still_counted_for_those_who_were_lost_with_it(site: Site) -> None:
    """Else a message that ends its consumers begins anew whenever a worker gives it back."""
    site.engine("sender").publish(site.stream(), parcels("a"))
    received(site.engine("lost"), site.stream(), 1)
    careful = site.engine("careful")
    (second,) = received(careful, site.stream(), 1)

    careful.release([second])
    (third,) = received(site.engine("last"), site.stream(), 1)

    assert [(each.body, each.count) for each in (second, third)] == [(b"a", 2), (b"a", 2)]


def test_what_was_delivered_once_and_released_counts_as_new(site: Site) -> None:
    engine = site.engine(lease_s=60)
    engine.publish(site.stream(), parcels("a"))

    engine.release(received(engine, site.stream(), 1))

    assert [each.count for each in received(engine, site.stream(), 1)] == [1]


def test_a_stream_with_its_most_unsettled_messages_takes_no_more(site: Site) -> None:
    engine = site.engine(depth_max=3)
    engine.publish(site.stream(), parcels("a", "b", "c"))
    with pytest.raises(TransportFull, match="consumers are behind"):
        engine.publish(site.stream(), parcels("d"))

    engine.ack(received(engine, site.stream(), 1))
    assert eventually(lambda: engine.depth(site.stream()) == 2)

    engine.publish(site.stream(), parcels("d"))


def test_the_lowest_rank_of_all_streams_comes_first_whatever_its_class(site: Site) -> None:
    engine = site.engine(lease_s=60)
    own = channel(engine, site)
    high, low = site.stream("high"), site.stream("low")
    own.publish(high, [message("new, high", rank=50), message("newer, high", rank=60)])
    own.publish(low, [message("old, low", rank=40), message("new, low", rank=90)])

    found = turns(own, [high, low], 4)

    # An engine may bring one of them later than the others; what is here at a time comes in the order of its rank.
    ranks = [[int(each.envelope.rank) for each in turn] for turn in found]
    assert ranks == [sorted(turn) for turn in ranks]
    assert sorted(rank for turn in ranks for rank in turn) == [40, 50, 60, 90]


def test_what_was_leased_ahead_goes_back_when_a_consumer_drains(site: Site) -> None:
    own = channel(site.engine("leaving", lease_s=60), site)
    high, low = site.stream("high"), site.stream("low")
    own.publish(high, [message("first", rank=1)])
    own.publish(low, [message("second", rank=2)])
    # Which of the two comes first is no promise: an engine may have one of them here before the other.
    (kept,) = names(taken(own, [high, low], 1))

    own.drain()

    other = channel(site.engine("other", lease_s=60), site)
    (given_back,) = names(taken(other, [high, low], 1))
    assert {kept, given_back} == {"first", "second"}


def test_what_a_busy_worker_has_leased_ahead_goes_to_one_that_has_time(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "WAIT_S", 0.05)
    monkeypatch.setattr(inbox, "GIVE_BACK_S", 0.0)
    streams = [site.stream(each) for each in ("high", "normal", "low")]
    busy = channel(site.engine("one", lease_s=60), site)
    for number, stream in enumerate(streams):
        busy.publish(stream, [message(str(number))])
    own = open_inbox(busy, streams, telemetry.log("test"), listens=True)
    first: list[Received] = []
    assert eventually(lambda: _asks(own, 1) and _grows(first, own.take()))

    idle = channel(site.engine("two", lease_s=60), site)
    # A consumer that joins a group of Kafka's may be given again what the other has: at least once.
    found = list(first)
    assert eventually(
        lambda: (
            _asks(own, 0)
            # Its thread may have brought a second one between its last two questions.
            and _grows(found, own.take() + idle.receive(streams, limit=1, wait_s=0.2))
            and set(names(found)) == {"0", "1", "2"}
        )
    )
    own.close()


def test_what_comes_after_a_worker_became_busy_goes_to_one_that_has_time(site: Site) -> None:
    """A request to an engine may outlive the call that sent it, and would lease what comes for nobody."""
    first, second = (site.stream(each) for each in ("high", "normal"))
    busy = channel(site.engine("one", lease_s=600), site)
    idle = channel(site.engine("two", lease_s=600), site)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(busy.receive, [first, second], limit=1, wait_s=5.0)
        # A wait in which the other has probably asked; if it has not, there is nothing to give back.
        assert idle.receive([site.stream("low")], limit=1, wait_s=0.3) == []
        idle.publish(first, [message("early")])
        waiting.result()
    idle.publish(second, [message("late")])
    found: list[Received] = []

    def is_found() -> bool:
        busy.give_back()
        return _grows(found, idle.receive([second], limit=1, wait_s=0.1))

    assert eventually(is_found)
    assert names(found) == ["late"]


def test_who_gave_back_is_given_nothing_until_it_asks_again(site: Site) -> None:
    stream = site.stream()
    busy = channel(site.engine("one", lease_s=600), site)
    idle = channel(site.engine("two", lease_s=600), site)
    assert busy.receive([stream], limit=1, wait_s=0.1) == []
    busy.give_back()

    idle.publish(stream, [message("for who has time")])

    assert names(taken(idle, [stream], 1)) == ["for who has time"]


def test_what_is_no_message_is_buried_with_the_reason(site: Site) -> None:
    engine = site.engine()
    own = channel(engine, site)
    bad = (b"{", b'{"specversion":"1.0","id":"1","source":"/","type":"x","data":"Ada"}')
    engine.publish(site.stream(), [Parcel("rec_1", each) for each in bad])
    own.publish(site.stream(), [message("good")])

    assert names(taken(own, [site.stream()], 1)) == ["good"]

    reasons = [each.reason for each in own.dead_letters()]
    # More than two where burying one took longer than its lease.
    assert {each.partition(":")[0] for each in reasons} == {"not a message"}
    assert len({each for each in reasons if "type 'x' is not known here" in each}) == 1
    assert len(set(reasons)) == 2
    assert {each.stream for each in own.dead_letters()} == {site.stream()}
    heads = {each.head for each in own.dead_letters()}
    assert len(heads) == 2  # of the one that was a message
    assert not any("Ada" in each for each in heads)  # no erasure reaches what a broker keeps


def test_dead_letters_are_taken_out_one_by_one(site: Site) -> None:
    engine, stream = site.engine(), dead_stream(site.prefix)
    assert engine.buried(stream, limit=9) == []
    engine.unbury(stream, ["1-0", "1"])  # which are not there
    for number in range(5):
        engine.bury(stream, Parcel("", b"%d" % number))
    found = engine.buried(stream, limit=9)

    engine.unbury(stream, [found[1].id, found[3].id, "no id", "9" * 40])

    assert [each.body for each in found] == [b"0", b"1", b"2", b"3", b"4"]
    assert [each.body for each in engine.buried(stream, limit=9)] == [b"0", b"2", b"4"]
    assert [each.body for each in engine.buried(stream, limit=2)] == [b"2", b"4"]


def test_what_others_wrote_among_the_dead_letters_is_one_that_says_so(site: Site) -> None:
    engine = site.engine()
    engine.bury(dead_stream(site.prefix), Parcel("", b"{"))

    (letter,) = channel(engine, site).dead_letters()

    assert "another program wrote it" in letter.reason


def test_a_message_that_ends_its_consumers_is_told_by_its_count(site: Site) -> None:
    channel(site.engine("sender"), site).publish(site.stream(), [message("poison")])
    for name in ("one", "two"):
        (found,) = taken(channel(site.engine(name), site, deliveries_max=2), [site.stream()], 1)
    third = channel(site.engine("three"), site, deliveries_max=2)
    (found,) = taken(third, [site.stream()], 1)

    assert third.is_poison(found)
    third.bury(found.delivery, "delivered 3 times without an answer")

    assert [each.reason for each in third.dead_letters()] == ["delivered 3 times without an answer"]
    assert eventually(lambda: third.depth(site.stream()) == 0)


def test_a_message_beyond_the_limit_of_the_engine_goes_through_blob_storage(
    site: Site, tmp_path: Path
) -> None:
    engine = site.engine()
    large = message("large", runners=engine.bytes_max // 5)
    with pytest.raises(MessageTooLarge, match="name a blob storage"):
        channel(engine, site).publish(site.stream(), [large])
    own = channel(engine, site, blobs=Folder(tmp_path))

    own.publish(site.stream(), [large])

    (found,) = taken(own, [site.stream()], 1)
    assert data_of(found.envelope, HeartbeatMessage).worker == "large"
    assert found.envelope.dataref is None
    assert found.envelope.data == large.data


def test_data_that_was_changed_in_blob_storage_is_buried(site: Site, tmp_path: Path) -> None:
    own = channel(site.engine(), site, blobs=Folder(tmp_path), bytes_max=300)
    own.publish(site.stream(), [message("large", runners=200)])
    (stored,) = tmp_path.glob("??/*")
    stored.chmod(0o600)
    stored.write_bytes(b'{"worker":"forged","runners":[],"slots":9}')
    own.publish(site.stream(), [message("good")])

    assert names(taken(own, [site.stream()], 1)) == ["good"]
    assert ["is not what it was" in each.reason for each in own.dead_letters()] == [True]


def test_what_is_told_to_all_reaches_each_that_listens_and_is_not_stored(site: Site) -> None:
    one, two, sender = (site.engine(each, lease_s=60) for each in ("one", "two", "sender"))
    topic = f"{site.prefix}.control"
    sender.broadcast(topic, b"too early")
    assert one.broadcasts(topic) == two.broadcasts(topic) == []

    heard: dict[str, list[bytes]] = {"one": [], "two": []}

    def is_heard() -> bool:
        sender.broadcast(topic, b"stop")  # again: a subscription may take a moment
        heard["one"] += one.broadcasts(topic)
        heard["two"] += two.broadcasts(topic)
        return all(heard.values())

    assert eventually(is_heard)
    assert set(heard["one"] + heard["two"]) == {b"stop"}


@pytest.mark.parametrize("name", [pytest.param("redis", marks=pytest.mark.long), "nats"])
def test_a_server_that_lost_all_of_its_files_is_used_again(name: str) -> None:
    if (redis_program if name == "redis" else nats_program)() is None:
        pytest.skip(f"there is no {name}-server here")
    with (redis_broker if name == "redis" else nats_broker)() as broker:
        engine = connect(broker.url, consumer="one", lease_s=LEASE_S)
        engine.publish("a.b", parcels("before"))
        assert len(received(engine, "a.b", 1)) == 1
        broker.kill()
        broker.lose()
        broker.start()

        def is_published() -> bool:
            with suppress(TransportError):
                engine.publish("a.b", parcels("after"))
                return True
            return False

        def is_received() -> bool:
            with suppress(TransportError):
                return any(each.body == b"after" for each in received(engine, "a.b", 1))
            return False

        assert eventually(is_published)
        assert eventually(is_received)
        assert engine.losses
        engine.close()
