"""The change feed on real engines: brokers that go away, senders that are killed, Kafka read back."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from msgspec.structs import replace

from lab.brokers import Broker, nats_broker, nats_program, redis_broker, redis_program
from lab.kafka_mock import KafkaMock
from stateward.app import App
from stateward.app.feed import feed_of, feed_status, replay_feed, running_feed, target_of
from stateward.core.errors import (
    TransportUnreachable,
)
from stateward.notifications.feed_targets import STREAM
from tests.notifications.feed_scene import (
    apply_events,
    assert_in_order,
    drained,
    make_history,
    settings_of,
    statuses,
    steps,
)
from tests.waiting import wait_until


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with App(settings_of(tmp_path), machines=[steps(), steps("others")]) as own:
        yield own


def redis_events(url: str) -> list[dict[str, Any]]:
    import redis

    client: Any = redis.Redis.from_url(url)
    try:
        return [json.loads(entry[b"body"]) for _, entry in client.xrange("stateward.steps")]
    finally:
        client.close()


def nats_events(url: str) -> list[dict[str, Any]]:
    import asyncio

    import nats

    async def read() -> list[dict[str, Any]]:
        client = await nats.connect(url)
        stream = client.jetstream()
        count = (await stream.stream_info(STREAM)).state.messages
        reader = await stream.pull_subscribe("stateward.*")
        found: list[dict[str, Any]] = []
        while len(found) < count:
            for each in await reader.fetch(count - len(found), timeout=60):
                found.append(json.loads(each.data))
                await each.ack()
        await client.close()
        return found

    return asyncio.run(read())


ENGINES: dict[str, tuple[Callable[[], object], Callable[..., Any], Callable[[str], Any]]] = {
    "redis": (redis_program, redis_broker, redis_events),
    "nats": (nats_program, nats_broker, nats_events),
}


@pytest.mark.service
@pytest.mark.parametrize("engine", list(ENGINES))
def test_a_consumer_has_the_statuses_of_the_store_though_the_broker_was_away(
    tmp_path: Path, engine: str
) -> None:
    program, opened, events = ENGINES[engine]
    if program() is None:
        pytest.skip(f"there is no server of {engine} here")
    broker: Broker
    with opened() as broker:
        settings = settings_of(
            tmp_path, f"{{url: '{broker.url}', batch_max: 5, timeout_seconds: 3}}"
        )
        with App(settings, machines=[steps()]) as app:
            make_history(app, 4)
            feed, target = feed_of(app), target_of(settings.feed)
            feed.step(target)
            broker.kill()
            make_history(app, 4, after=4)
            with pytest.raises(TransportUnreachable, match="cannot be sent"):
                feed.step(target)
            target.close()
            broker.start()

            # The next sender is the thread that `stateward up` runs.
            with running_feed(settings, lambda: App(settings, machines=[steps()])):
                wait_until(lambda: not feed_status(app).behind)

            found = events(broker.url)
            assert_in_order(found)
            assert apply_events(found) == statuses(app)


@pytest.mark.long
@pytest.mark.chaos
@pytest.mark.parametrize("engine", list(ENGINES))
def test_senders_that_are_killed_lose_nothing(tmp_path: Path, engine: str) -> None:
    """Processes of `stateward notifier`, killed while records move, and the broker killed once in between."""
    program, opened, events = ENGINES[engine]
    if program() is None:
        pytest.skip(f"there is no server of {engine} here")
    with opened() as broker:
        settings = settings_of(
            tmp_path, f"{{url: '{broker.url}', batch_max: 3, timeout_seconds: 3}}"
        )
        command = [sys.executable, "-m", "stateward", "--config", str(tmp_path / "stateward.yaml")]
        with App(settings, machines=[steps()]) as app:
            for round_ in range(4):
                sender = subprocess.Popen(
                    [*command, "notifier"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
                make_history(app, 40, after=40 * round_)
                if round_ == 1:
                    broker.restart()
                sent = feed_status(app).sent
                wait_until(lambda sent=sent: feed_status(app).sent > sent)  # type: ignore[misc]
                sender.kill()
                sender.wait()
            with running_feed(settings, lambda: App(settings, machines=[steps()])):
                wait_until(lambda: not feed_status(app).behind)

            found = events(broker.url)
            assert_in_order(found)
            assert apply_events(found) == statuses(app)


def kafka_events(brokers: str, topic: str) -> list[dict[str, Any]]:
    """All events of a topic of four partitions, in the order of each."""
    consumer: Any = Consumer(
        {"bootstrap.servers": brokers, "group.id": "reader", "enable.partition.eof": True}
    )
    consumer.assign([TopicPartition(topic, number, 0) for number in range(4)])
    found, ended = [], 0
    while ended < 4:
        message = consumer.poll(10.0)
        assert message is not None
        if message.error() is not None:
            ended += 1
            continue
        found.append(json.loads(message.value()))
        assert message.key().decode() == found[-1]["subject"]
    consumer.close()
    return found


def test_kafka_has_every_transition_in_the_order_of_its_record(app: App) -> None:
    """Over the mock cluster of librdkafka."""
    make_history(app, 3)
    with KafkaMock(settings="") as mock:
        own = replace(app.settings.feed, url=mock.url, timeout_seconds=10.0)

        drained(feed_of(app), target_of(own))

        assert feed_status(app).behind == 0
        brokers = mock.url.removeprefix("kafka://").partition("?")[0]
        found = kafka_events(brokers, own.topic.format(machine="steps", status=""))
        assert_in_order(found)
        assert apply_events(found) == statuses(app)
    away = replace(app.settings.feed, url="kafka://127.0.0.1:1", timeout_seconds=0.2)
    replay_feed(app, 1, actor="person:ann")
    with pytest.raises(TransportUnreachable, match="cannot be sent"):
        feed_of(app).step(target_of(away))
    assert feed_status(app).behind == 6
