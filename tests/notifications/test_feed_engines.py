"""The change feed on real engines: those that go away and come back, and followers that die."""

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from lab.chaos.feed import ENGINES, feed_engine, lacks_feed, unlike_store
from stateward.app import App
from stateward.app.feed import feed_of, feed_status, replay_feed, running_feed, target_of
from stateward.core.errors import TransportUnreachable
from tests.notifications.feed_scene import make_history, settings_of, steps
from tests.waiting import wait_until


@pytest.mark.service
@pytest.mark.parametrize("kind", ENGINES)
def test_a_follower_has_the_statuses_of_the_store_though_it_died_and_the_engine_was_away(
    tmp_path: Path, kind: str
) -> None:
    """With the mock cluster of librdkafka in the place of a Kafka."""
    if reason := lacks_feed(kind):
        pytest.skip(reason)
    with feed_engine(kind) as engine:
        settings = settings_of(tmp_path, msgspec.json.encode(engine.settings()).decode())
        with App(settings, machines=[steps()]) as app:
            make_history(app, 4)
            feed, target = feed_of(app), target_of(settings.feed)
            feed.step(target)
            follower = engine.follower
            assert follower.step() == settings.feed.batch_max
            follower.die()
            engine.stop()
            make_history(app, 4, after=4)
            with pytest.raises(TransportUnreachable, match="cannot be sent"):
                feed.step(target)
            target.close()
            engine.go_on()
            replay_feed(app, 1, actor="person:ann")

            # The next sender is the thread that `stateward up` runs.
            with running_feed(settings, lambda: App(settings, machines=[steps()])):
                wait_until(lambda: not feed_status(app).behind)

            assert list(unlike_store(engine.follower, app)) == []


@pytest.mark.service
@pytest.mark.parametrize("kind", ENGINES)
def test_what_is_replayed_at_once_arrives_again(tmp_path: Path, kind: str) -> None:
    """Also on JetStream, whose server can be told to drop what it has seen within two minutes."""
    if reason := lacks_feed(kind):
        pytest.skip(reason)
    with feed_engine(kind) as engine:
        settings = settings_of(tmp_path, msgspec.json.encode(engine.settings()).decode())
        with App(settings, machines=[steps()]) as app:
            make_history(app, 3)
            feed, target = feed_of(app), target_of(settings.feed)
            follower = engine.follower

            while feed.step(target):
                pass
            sent = feed_status(app).sent

            replay_feed(app, 1, actor="person:ann")
            while feed.step(target):
                pass

            def has_all_again() -> bool:
                follower.step()
                return follower.repeated >= sent

            wait_until(has_all_again)
            target.close()
            assert follower.repeated == sent


def test_what_kafka_does_not_take_in_time_is_not_counted_as_sent(tmp_path: Path) -> None:
    with App(settings_of(tmp_path), machines=[steps()]) as app:
        make_history(app, 3)
        away = replace(app.settings.feed, url="kafka://127.0.0.1:1", timeout_seconds=0.2)

        with pytest.raises(TransportUnreachable, match="cannot be sent"):
            feed_of(app).step(target_of(away))

        assert feed_status(app).behind == 6
