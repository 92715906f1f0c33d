"""Rounds of chaos with a change feed, and that they would show a defect of it."""

from pathlib import Path
from typing import Any

import pytest

from lab.chaos.faults import SQLITE
from lab.chaos.feed import ENGINES, lacks_feed, unlike_store
from lab.chaos.rounds import run_round
from lab.feed_follower import Follower
from stateward.app import App
from stateward.app.feed import feed_of
from tests.notifications.feed_scene import Collected, drained, make_history, settings_of, steps


@pytest.mark.chaos
@pytest.mark.service
@pytest.mark.long
@pytest.mark.timeout(240)
@pytest.mark.parametrize("kind", ENGINES)
def test_a_follower_has_the_statuses_of_the_store_though_senders_and_engine_are_killed(
    kind: str,
) -> None:
    if reason := lacks_feed(kind):
        pytest.skip(reason)

    outcome = run_round(f"feed-{kind}", SQLITE, seed=21, cluster=None)

    assert outcome.violations == []
    assert outcome.records > 5


def follower_of(events: list[dict[str, Any]]) -> Follower:
    return Follower(lambda position: (events[position or 0 :], len(events)))


def test_a_feed_with_a_gap_or_in_another_order_would_be_found_out(tmp_path: Path) -> None:
    with App(settings_of(tmp_path), machines=[steps()]) as app:
        first, second = make_history(app, 2)
        sent = Collected()
        drained(feed_of(app), sent)
        events = sent.events

        assert list(unlike_store(follower_of(events), app)) == []
        assert list(unlike_store(follower_of([*events, *events[:2]]), app)) == []
        assert list(unlike_store(follower_of(events[:-1]), app)) == [
            f"{second} is (1, 'error') in the store, and (0, 'received') by the feed"
        ]
        assert list(unlike_store(follower_of(events[1:]), app)) == [
            f"{first}: version 1 came after -1"
        ]


def test_a_follower_that_dies_goes_on_from_what_it_had_saved(tmp_path: Path) -> None:
    with App(settings_of(tmp_path), machines=[steps()]) as app:
        make_history(app, 2)
        sent = Collected()
        drained(feed_of(app), sent)
        follower = follower_of(sent.events)
        follower.step()
        follower.die()

        assert follower.known == {}
        assert follower.step() == len(sent.events)
        follower.save()
        follower.die()
        assert (follower.step(), len(follower.known)) == (0, 2)
