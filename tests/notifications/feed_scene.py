"""A store with a history for the change feed, and what a consumer makes of it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from stateward.app import App
from stateward.app.feed import feed_of
from stateward.core.errors import (
    TransportUnreachable,
)
from stateward.core.machine import Machine
from stateward.definition.declare import declare
from stateward.notifications.feed import Feed
from stateward.notifications.feed_targets import FeedMessage, FeedTarget
from stateward.settings import Settings

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
