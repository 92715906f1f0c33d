"""The change feed: every transition, in order per record, at least once, from a cursor that outlives its sender."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from click.testing import CliRunner
from confluent_kafka import Consumer, TopicPartition
from msgspec.structs import replace

from lab.brokers import Broker, nats_broker, nats_program, redis_broker, redis_program
from lab.kafka_mock import KafkaMock
from stateward.app import App
from stateward.app.doctor import checks
from stateward.app.feed import feed_of, feed_status, replay_feed, running_feed, target_of
from stateward.cli import cli
from stateward.core.errors import (
    DeclarationError,
    InvalidRequest,
    TransportUnreachable,
)
from stateward.core.machine import Machine
from stateward.core.model import to_iso
from stateward.definition.declare import declare
from stateward.notifications.feed import Feed
from stateward.notifications.feed_targets import STREAM, FeedMessage, FeedTarget, waves
from stateward.settings import Settings
from tests.waiting import wait_until

Applied = dict[str, tuple[int, str]]


def steps(name: str = "steps") -> Machine:
    """A machine whose records move by requests alone: no runner is needed to make a history."""
    return declare(
        {
            "machine": name,
            "version": 1,
            "prefix": "ST",
            "initial": "received",
            "states": {
                "received": {"kind": "ready"},
                "working": {"kind": "running"},
                "done": {"kind": "terminal"},
                "error": {"kind": "failed"},
            },
            "stages": {
                "work": {
                    "from": "received",
                    "running": "working",
                    "outcomes": {"done": "done"},
                    "on_error": "error",
                    "on_error_waiting": "error",
                    "timeout_s": 300,
                },
            },
            "retry": {"max_retries": 0, "backoff_s": [1]},
        }
    )


class Collected:
    """A target that takes everything; one batch fails where it is told to, after some of it was taken."""

    def __init__(self, fails_at: Sequence[int] = ()) -> None:
        self.messages: list[FeedMessage] = []
        self._fails_at = set(fails_at)
        self._batches = 0

    def send(self, messages: Sequence[FeedMessage]) -> None:
        self._batches += 1
        if self._batches in self._fails_at:
            self.messages += messages[: len(messages) // 2]
            raise TransportUnreachable("gone")
        self.messages += messages

    def close(self) -> None: ...

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(each.body) for each in self.messages]


def settings_of(tmp_path: Path, feed: str = "{url: 'redis://localhost'}") -> Settings:
    config = tmp_path / "stateward.yaml"
    config.write_text(f"data: {tmp_path}/data\nfeed: {feed}\n")
    return Settings.load(config, environ={})


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with App(settings_of(tmp_path), machines=[steps(), steps("others")]) as own:
        yield own


def make_history(app: App, count: int, *, machine: str = "steps", after: int = 0) -> list[str]:
    """Records with two transitions each: received, and cancelled, which rests as an error."""
    ids = []
    for number in range(after, after + count):
        record = app.submit(
            b"%d" % number, machine=machine, labels={"client": str(number % 2)}
        ).record
        app.actions.act("cancel", record.id, actor="person:ann", reason="test")
        ids.append(record.id)
    return ids


def with_feed(app: App, **changes: object) -> Feed:
    app.settings = replace(app.settings, feed=replace(app.settings.feed, **changes))
    return feed_of(app)


def apply_events(events: Sequence[dict[str, Any]]) -> Applied:
    """What a consumer has after these events: it ignores versions that it knows."""
    known: Applied = {}
    for each in events:
        data = each["data"]
        if data["version"] > known.get(data["id"], (-1, ""))[0]:
            known[data["id"]] = (data["version"], data["status"])
    return known


def statuses(app: App) -> Applied:
    return {each.id: (each.version, each.status) for each in app.store.walk()}


def assert_in_order(events: Sequence[dict[str, Any]]) -> None:
    """No record's version ever appears before all of its earlier ones."""
    seen: dict[str, int] = {}
    for each in events:
        data = each["data"]
        assert data["version"] <= seen.get(data["id"], -1) + 1
        seen[data["id"]] = max(data["version"], seen.get(data["id"], -1))


def drained(feed: Feed, target: FeedTarget) -> None:
    while feed.step(target):
        pass


def test_every_transition_is_a_cloud_event(app: App) -> None:
    (record_id,) = make_history(app, 1)
    target = Collected()

    drained(feed_of(app), target)

    first, last = target.events
    assert first["type"] == "stateward.steps.received"
    assert last == {
        "specversion": "1.0",
        "id": f"{record_id}.1",
        "source": "/stateward",
        "type": "stateward.steps.error",
        "subject": record_id,
        "time": last["time"],
        "datacontenttype": "application/json",
        "sequence": f"{2:020d}",
        "partitionkey": record_id,
        "data": {
            "id": record_id,
            "machine": "steps",
            "machine_version": 1,
            "status": "error",
            "version": 1,
            "seq": 2,
            "previous_status": "received",
            "trigger": last["data"]["trigger"],
            "attempt": None,
            "facts": last["data"]["facts"],
        },
    } | ({"traceparent": last["traceparent"]} if "traceparent" in last else {})
    assert {(each.topic, each.key) for each in target.messages} == {("stateward.steps", record_id)}


def test_a_batch_that_fails_is_sent_again_and_order_holds(app: App) -> None:
    make_history(app, 6)
    feed = with_feed(app, batch_max=4)
    target = Collected(fails_at=[1, 3])
    for _ in range(2):
        with pytest.raises(TransportUnreachable):
            drained(feed, target)

    drained(feed, target)

    assert len(target.events) > 12  # some came twice
    assert_in_order(target.events)
    assert apply_events(target.events) == statuses(app)


def test_a_sender_goes_on_where_the_last_one_ended(app: App, tmp_path: Path) -> None:
    make_history(app, 2)
    first, second = Collected(), Collected()
    drained(feed_of(app), first)
    make_history(app, 1, after=2)

    with App(app.settings, machines=[steps(), steps("others")]) as other:
        drained(feed_of(other), second)

    assert (len(first.events), len(second.events)) == (4, 2)


def test_one_process_sends_at_a_time(app: App) -> None:
    make_history(app, 1)
    feed, other, taken = feed_of(app), feed_of(app), Collected()

    class Meanwhile(Collected):
        def send(self, messages: Sequence[FeedMessage]) -> None:
            assert other.step(taken) == 0
            super().send(messages)

    target = Meanwhile()
    drained(feed, target)

    assert (len(target.events), len(taken.events)) == (2, 0)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"events": ("steps.error",)}, ["steps.error"] * 2),
        ({"events": ("others.*",)}, ["others.received", "others.error"]),
        ({"query": "machine:others"}, ["others.received", "others.error"]),
        ({"query": "meta.client=1"}, ["steps.received", "steps.error"]),
        ({"query": "meta.client=7"}, []),
    ],
    ids=str,
)
def test_a_filter_passes_over_the_others(
    app: App, changes: dict[str, object], expected: list[str]
) -> None:
    make_history(app, 2)
    make_history(app, 1, machine="others", after=2)
    target = Collected()

    drained(with_feed(app, **changes), target)

    assert [each["type"].removeprefix("stateward.") for each in target.events] == expected
    assert feed_status(app).behind == 0


def test_fields_and_topic_are_those_of_the_settings(app: App) -> None:
    make_history(app, 1)
    target = Collected()

    drained(with_feed(app, fields=("labels", "actor"), topic="x.{machine}.{status}"), target)

    last = target.events[-1]["data"]
    assert (last["labels"]["client"], last["actor"]) == ("0", "person:ann")
    assert "facts" not in last
    assert [each.topic for each in target.messages] == ["x.steps.received", "x.steps.error"]


def test_an_event_that_is_too_large_goes_without_its_facts(app: App) -> None:
    make_history(app, 1)
    target = Collected()

    drained(with_feed(app, fields=("facts", "labels"), event_bytes_max=10), target)

    assert [each["data"]["is_shortened"] for each in target.events] == [True, True]
    assert target.events[0]["data"]["labels"] is None


def test_a_replay_sends_again_and_is_in_the_audit_log(app: App) -> None:
    make_history(app, 3)
    target = Collected()
    drained(feed_of(app), target)

    status = replay_feed(app, 5, actor="person:ann")
    drained(feed_of(app), target)

    assert (status.sent, status.behind) == (4, 2)
    assert [each["data"]["seq"] for each in target.events] == [1, 2, 3, 4, 5, 6, 5, 6]
    assert "feed.replayed" in [each.verb for each in app.audit.entries(limit=10)]
    with pytest.raises(InvalidRequest, match="from 1 to 7"):
        replay_feed(app, 8, actor="person:ann")


def test_the_doctor_and_the_metric_say_how_late_it_is(app: App) -> None:
    make_history(app, 1)
    check = next(each for each in checks(app) if each.name == "feed")
    assert (check.is_well, check.sentence[:31]) == (True, "2 transitions are not sent yet,")
    with_feed(app, warn_after_seconds=1e-9)
    assert not next(each for each in checks(app) if each.name == "feed").is_well

    drained(feed_of(app), Collected())

    lag = 'stateward_follower_lag{follower="feed"} 0'
    assert lag in app.monitor.text()


def test_status_and_replay_are_commands(app: App, tmp_path: Path) -> None:
    make_history(app, 1)
    drained(feed_of(app), Collected())
    config = ["--config", str(tmp_path / "stateward.yaml")]

    shown = CliRunner().invoke(cli, [*config, "feed", "replay", "--from", "2", "--json"])
    text = CliRunner().invoke(cli, [*config, "feed", "status"])

    assert shown.exit_code == 0, shown.output
    oldest = to_iso(app.store.log()[1].at)
    assert {**json.loads(shown.stdout), "late_seconds": 0} == {
        "sent": 1, "end": 2, "behind": 1, "late_seconds": 0, "oldest_at": oldest, "is_late": False,
    }  # fmt: skip
    assert "sent up to 1 of 2; 1 transition to send" in text.stdout


@pytest.mark.parametrize(
    ("feed", "fault"),
    [
        ("ftp://x", "url must begin with redis://"),
        ("{url: 'kafka://'}", "url must begin with redis://"),
        ("{topic: 'a b'}", "topic may hold letters"),
        ("{topic: 'a.{owner}'}", "topic may hold letters"),
        ("{query: 'status:done'}", "status: changes in a record's life"),
        ("{query: 'nonsense:1'}", "nonsense"),
        ("{fields: [secrets]}", "fields"),
    ],
)
def test_an_impossible_feed_is_refused(tmp_path: Path, feed: str, fault: str) -> None:
    with pytest.raises(DeclarationError, match=fault):
        settings_of(tmp_path, feed)


def test_without_a_target_there_is_nothing_to_show(tmp_path: Path) -> None:
    with (
        App(settings_of(tmp_path, "{}")) as app,
        pytest.raises(InvalidRequest, match=r"name its target in feed\.url"),
    ):
        feed_status(app)


def test_no_wave_holds_a_record_twice() -> None:
    def message(key: str) -> FeedMessage:
        return FeedMessage(topic="t", key=key, id="", body=b"")

    found = [[each.key for each in wave] for wave in waves([message(key) for key in "abcabba"])]

    assert found == [["a", "b", "c"], ["a", "b"], ["b", "a"]]


@pytest.mark.service
def test_on_postgresql_a_second_sender_waits_and_the_status_does_not(
    tmp_path: Path, postgres_url: str
) -> None:
    settings = settings_of(tmp_path)
    settings = replace(settings, store=replace(settings.store, url=postgres_url))
    with App(settings, machines=[steps()]) as app, App(settings, machines=[steps()]) as other:
        make_history(app, 3)
        taken = Collected()
        second = Thread(target=lambda: feed_of(other).step(taken))

        class Meanwhile(Collected):
            def send(self, messages: Sequence[FeedMessage]) -> None:
                second.start()
                second.join(0.2)
                with App(settings, machines=[steps()]) as third:
                    assert feed_status(third).behind == 6
                super().send(messages)

        target = Meanwhile()
        feed_of(app).step(target)
        second.join()

        assert (len(target.events), taken.events) == (6, [])
        assert apply_events(target.events) == statuses(app)


# With real engines


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
