"""The change feed: every transition, in order per record, at least once, from a cursor that outlives its sender."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Thread

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from stateward.app import App
from stateward.app.doctor import checks
from stateward.app.feed import feed_of, feed_status, replay_feed
from stateward.cli import cli
from stateward.core.errors import (
    DeclarationError,
    InvalidRequest,
    TransportUnreachable,
)
from stateward.core.model import to_iso
from stateward.notifications.feed_targets import FeedMessage, waves
from tests.notifications.feed_scene import (
    Collected,
    apply_events,
    assert_in_order,
    drained,
    make_history,
    settings_of,
    statuses,
    steps,
    with_feed,
)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with App(settings_of(tmp_path), machines=[steps(), steps("others")]) as own:
        yield own


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
    "query", ["meta.client=1", "-meta.client=0", "machine:steps meta.client=1"]
)
def test_who_was_sent_a_record_by_a_filter_is_told_of_its_erasure(app: App, query: str) -> None:
    record_id, target = make_history(app, 2)[1], Collected()
    make_history(app, 1, machine="others", after=2)
    feed = with_feed(app, query=query)
    drained(feed, target)
    before = apply_events(target.events)

    app.eraser.erase([record_id], actor="person:ann", reason="request 17")
    drained(feed, target)

    assert record_id in before
    assert target.events[-1]["type"] == "stateward.steps.erased"
    assert apply_events(target.events).keys() == before.keys()
    assert apply_events(target.events)[record_id] == statuses(app)[record_id]


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


def test_consumers_are_told_of_an_erasure_and_are_sent_nothing_of_it_again(app: App) -> None:
    (record_id,) = make_history(app, 1)
    target = Collected()
    drained(feed_of(app), target)
    before = target.events[1]["data"]["facts"]

    app.eraser.erase([record_id], actor="person:ann", reason="request 17")
    replay_feed(app, 1, actor="person:ann")
    drained(feed_of(app), target)

    *_, last = target.events
    assert (last["type"], last["data"]["trigger"]) == ("stateward.steps.erased", "record.erased")
    again = [each["data"] for each in target.events[2:-1]]
    assert (bool(before), [each["facts"] for each in again]) == (True, [{}, {}])


def test_the_doctor_and_the_metric_say_how_late_it_is(app: App) -> None:
    make_history(app, 1)
    check = next(each for each in checks(app) if each.name == "feed")
    assert (check.is_well, check.sentence.partition(",")[0]) == (True, "2 transitions not sent yet")
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
    oldest = to_iso(app.store.log.read()[1].at)
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
