"""Whole applications with a notifier: real files, each kind of database, real receivers."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stateward.app import App
from stateward.core.model import SECOND, Micros
from stateward.engine.system import wall_clock
from tests.apps import Maker, apps_on, fresh_store
from tests.waiting import wait_until


class ManualClock:
    """A clock that moves only by `tick`."""

    def __init__(self) -> None:
        self._at = wall_clock()

    def __call__(self) -> Micros:
        return self._at

    def tick(self, seconds: float) -> None:
        self._at += round(seconds * SECOND)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


LOOPBACK = "notifications: {webhook_allow: [127.0.0.1], webhook_timeout_seconds: 60, webhook_backoff_seconds: [0, 0]}"
STATEMENT = b"date;amount;text\n2026-01-02;-12,50;Coffee\n"


@pytest.fixture
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return fresh_store(request, tmp_path)


@pytest.fixture
def make_app(store_url: str, tmp_path: Path) -> Iterator[Maker]:
    """Apps on one store; more settings as YAML text."""
    with apps_on(store_url, tmp_path, default=LOOPBACK) as make:
        yield make


@pytest.fixture
def app(make_app: Maker) -> App:
    """An app that may send webhooks to this machine."""
    return make_app()


def deliver(app: App, *, until: Callable[[], bool] | None = None) -> None:
    """Run a notifier alone until nothing is left to do, or until a condition holds."""
    with app.node(is_coordinator=False, is_worker=False, is_notifier=True) as node:
        if until is None:
            node.run(until_idle=True)
            return

        def is_so() -> bool:
            node.turn()
            return until()

        wait_until(is_so)
