"""What Kafka needs beyond the suite of all engines: messages finished out of order, and partitions that move."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from lab.kafka_mock import KafkaMock
from stateward.core.errors import InvalidRequest
from stateward.transport.connect import connect
from stateward.transport.engine import Delivery, Engine, Parcel
from stateward.transport.kafka import KafkaEngine, _consumer
from stateward.transport.kafka_offsets import (
    METADATA_BYTES_MAX,
    WINDOW,
    PartitionOffsets,
    settled_above,
)
from tests.transport.brokers import Site, site_of
from tests.waiting import wait_until

PATIENCE_S = 60.0
JOIN_GROUP, LEAVE_GROUP = 11, 13  # requests, by their numbers in the protocol


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with site_of("kafka") as own:
        yield own


@pytest.fixture
def stream(site: Site) -> Iterator[str]:
    """A stream, and so a group, that no other test uses."""
    site.prefix = f"t{time.monotonic_ns()}"
    yield site.stream()
    site.close()


def receive(engine: Engine, stream: str, count: int) -> list[Delivery]:
    found: list[Delivery] = []
    until = time.monotonic() + PATIENCE_S
    while len(found) < count and time.monotonic() < until:
        found += engine.receive([stream], limit=count - len(found), wait_s=0.2)
    return found


def seen(offsets: PartitionOffsets, *numbers: int) -> list[int]:
    return [each for each in numbers if offsets.arrive(each)]


def successor(offsets: PartitionOffsets) -> PartitionOffsets:
    """What another consumer knows of the partition from what was committed."""
    return PartitionOffsets(offsets.position, offsets.metadata())


def test_the_position_waits_for_the_oldest_message_and_then_passes_all_that_are_settled() -> None:
    offsets = PartitionOffsets(7)
    assert seen(offsets, 7, 8, 9, 10) == [7, 8, 9, 10]

    offsets.settle(9)
    offsets.settle(8)
    assert offsets.position == 7
    assert settled_above(offsets.metadata()) == 2

    offsets.settle(7)
    assert offsets.position == 10
    assert settled_above(offsets.metadata()) == 0


def test_who_gets_the_partition_next_skips_what_is_settled_and_counts_what_went_out() -> None:
    offsets = PartitionOffsets(0)
    seen(offsets, 0, 1, 2, 3)
    assert [offsets.deliver(each) for each in (0, 1, 2)] == [1, 1, 1]
    offsets.settle(1)

    second = successor(offsets)
    assert seen(second, 0, 1, 2, 3) == [0, 2, 3]
    assert [second.deliver(each) for each in (0, 2, 3)] == [2, 2, 1]

    third = successor(second)
    assert seen(third, 0, 1, 2, 3) == [0, 2, 3]
    assert [third.deliver(each) for each in (0, 2, 3)] == [3, 3, 2]


def test_numbers_that_the_log_does_not_have_hold_nothing_up() -> None:
    offsets = PartitionOffsets(0)

    assert seen(offsets, 0, 5, 5, 1_000_000) == [0, 5, 1_000_000]
    for each in (0, 5):
        offsets.settle(each)

    assert offsets.position == 1_000_000


@pytest.mark.parametrize("metadata", ["", "null", "{", '{"d":"?"}', '{"n":{"x":2}}', '{"out":7}'])
def test_metadata_of_another_program_means_that_all_comes_again(metadata: str) -> None:
    offsets = PartitionOffsets(3, metadata)

    assert seen(offsets, 3, 4) == [3, 4]
    assert settled_above(metadata) == 0


def test_what_is_known_of_a_full_window_fits_into_what_a_broker_takes() -> None:
    offsets = PartitionOffsets(0)
    for each in range(WINDOW):
        offsets.arrive(each)
        for _ in range(3):
            offsets.deliver(each)
    for each in range(1, WINDOW, 2):
        offsets.settle(each)

    assert len(offsets.metadata()) <= METADATA_BYTES_MAX
    assert settled_above(offsets.metadata()) == WINDOW // 2
    assert offsets.is_beyond_window(WINDOW)


def test_what_a_lost_consumer_had_finished_does_not_come_again(site: Site, stream: str) -> None:
    lost = site.engine("lost")
    lost.publish(stream, [Parcel("same record", each) for each in (b"slow", b"quick", b"other")])
    found = {each.body: each for each in receive(lost, stream, 3)}
    lost.ack([found[b"quick"], found[b"other"]])

    again = receive(site.engine("next"), stream, 1)

    assert [(each.body, each.count) for each in again] == [(b"slow", 2)]
    assert site.engine("looks").depth(stream) == 1


def test_a_message_that_is_not_extended_comes_back_to_a_consumer_that_lives(
    site: Site, stream: str
) -> None:
    engine = site.engine()
    engine.publish(stream, [Parcel("r", b"a")])

    counts = [each.count for _ in range(3) for each in receive(engine, stream, 1)]

    assert counts == [1, 2, 3]


def test_who_waited_longer_than_a_lease_for_a_message_was_heard_from_when_it_came(
    site: Site, stream: str
) -> None:
    engine = connect(site.url, consumer="one", lease_s=0.2)
    assert isinstance(engine, KafkaEngine)
    with closing(engine), ThreadPoolExecutor(1) as pool:
        member = engine._member([stream])
        waiting = pool.submit(member.take, [stream], limit=1, wait_s=PATIENCE_S)
        wait_until(lambda: time.monotonic() > member._asked_at + 0.4)
        published_at = time.monotonic()

        engine.publish(stream, [Parcel("r", b"a")])
        (found,) = waiting.result()

    # Else it leaves the group at once, and another one gets the message too.
    assert (found.body, found.count) == (b"a", 1)
    assert member._heard_at >= published_at


def test_what_a_consumer_has_stays_its_own_when_others_get_its_partitions(
    site: Site, stream: str
) -> None:
    first, second = site.engine("first", lease_s=60), site.engine("second", lease_s=60)
    first.publish(stream, [Parcel(str(each), b"%d" % each) for each in range(16)])
    held = receive(first, stream, 8)

    others: list[Delivery] = []
    until = time.monotonic() + PATIENCE_S
    while len({each.body for each in (*held, *others)}) < 16 and time.monotonic() < until:
        # The first one asks for nothing more, and messages wait.
        others += second.receive([stream], limit=8, wait_s=0.2)

    # On a busy machine the first one may be taken for lost: what it had comes again, and is counted.
    assert len([each for each in (*held, *others) if each.count == 1]) == 16
    first.extend(held)
    first.ack(held)
    second.ack(others)
    until = time.monotonic() + PATIENCE_S
    while second.depth(stream) and time.monotonic() < until:
        time.sleep(0.01)
    assert second.depth(stream) == 0


@pytest.mark.parametrize("more", ["", "&group.instance.id=worker-1"], ids=["by chance", "own name"])
def test_a_member_with_a_name_of_its_own_does_not_leave_its_group_when_it_ends(more: str) -> None:
    """So the broker keeps its partitions for it, until its session ends."""
    with KafkaMock() as mock:
        engine = connect(f"{mock.url}{more}", consumer="one", lease_s=1.0)
        engine.publish("t.test.s", [Parcel("r", b"a")])
        engine.ack(receive(engine, "t.test.s", 1))
        engine.close()
        asked = mock.asked()

    assert JOIN_GROUP in asked
    assert (LEAVE_GROUP in asked) == (not more)


def test_an_engine_that_is_closed_leaves_no_thread_behind(site: Site, stream: str) -> None:
    before = threads()
    engine = connect(site.url, consumer="one", lease_s=1.0)
    engine.publish(stream, [Parcel("r", b"a")])
    engine.broadcasts(f"{site.prefix}.control")
    receive(engine, stream, 1)

    engine.close()

    # Those of other tests may end or begin meanwhile.
    wait_until(lambda: threads() <= before)


def threads() -> set[str]:
    return {path.name for path in Path("/proc/self/task").iterdir()}


@pytest.mark.parametrize(("lease_s", "beat_ms"), [(15.0, 1500), (600.0, 3000)])
def test_a_member_with_a_long_lease_hears_within_three_seconds_that_another_joins(
    lease_s: float, beat_ms: int
) -> None:
    assert _consumer({}, "group", lease_s)["heartbeat.interval.ms"] == beat_ms


@pytest.mark.parametrize("query", ["partitions=x", "no.such.setting=1"])
def test_a_url_with_an_option_that_kafka_does_not_know_is_refused(query: str) -> None:
    with pytest.raises(InvalidRequest, match=r"transport.url: .*(number|no.such.setting)"):
        connect(f"kafka://127.0.0.1:1?{query}", consumer="one", lease_s=1.0)
