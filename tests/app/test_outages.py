"""A database that goes away: processes that stay wait for it, say so once, and go on where they were."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import pytest

from lab.postgres import Cluster
from stateward import telemetry
from stateward.app import App
from stateward.core.errors import StoreUnreachable
from stateward.engine.node import Node
from stateward.settings import Settings
from tests.faults.scene import INLINE
from tests.waiting import WAIT_S_MAX, wait_until


@contextmanager
def heard() -> Iterator[StringIO]:
    stream = StringIO()
    telemetry.set_up(level="warning", stream=stream)
    yield stream
    telemetry.set_up(level="warning")


@contextmanager
def running(node: Node) -> Iterator[list[BaseException]]:
    """A node in a thread, and what it ended with."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            node.run()
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    yield failures
    node.stop()
    thread.join(WAIT_S_MAX)
    assert not thread.is_alive()


@pytest.fixture
def settings(postgres_cluster: Cluster, tmp_path: Path) -> Settings:
    url = postgres_cluster.dsn(postgres_cluster.create_database())
    return Settings.load(environ={"STATEWARD_DATA": str(tmp_path), "STATEWARD_STORE_URL": url})


@pytest.mark.service
@pytest.mark.timeout(120)
def test_a_killed_database_is_waited_for(settings: Settings, postgres_cluster: Cluster) -> None:
    with (
        App(settings, machines=[INLINE]) as app,
        App(settings, machines=[INLINE]) as other,
        heard() as words,
    ):
        with app.node() as node, running(node) as failures:
            first = other.submit(b"one", machine="two_steps").record
            wait_until(lambda: other.record(first.id).status == "done")

            postgres_cluster.kill()
            wait_until(lambda: "cannot go on" in words.getvalue())
            postgres_cluster.start()
            second = other.submit(b"two", machine="two_steps").record
            wait_until(lambda: other.record(second.id).status == "done")

        assert failures == []
        said = words.getvalue()
        # It was cut off in the middle of something, or could not be reached again: said once.
        assert said.count("cannot go on, trying again until it passes: ") == 1
        assert "PostgreSQL" in said
        assert said.count("going on after") == 1
        assert other.admin.verify().is_sound


@pytest.mark.service
@pytest.mark.timeout(120)
def test_who_is_asked_to_stop_does_not_wait_for_the_database(
    settings: Settings, postgres_cluster: Cluster
) -> None:
    with App(settings, machines=[INLINE]) as app, heard() as words:
        with app.node() as node, running(node) as failures:
            postgres_cluster.kill()
            wait_until(lambda: "cannot go on" in words.getvalue())

        assert [type(error) for error in failures] == [StoreUnreachable]


@pytest.mark.service
@pytest.mark.timeout(120)
def test_a_batch_command_does_not_wait_for_the_database(
    settings: Settings, postgres_cluster: Cluster
) -> None:
    with App(settings, machines=[INLINE]) as app, app.node() as node:
        postgres_cluster.kill()

        with pytest.raises(StoreUnreachable):
            node.run(until_idle=True)


def test_a_clock_that_was_set_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from stateward.engine.system import SteadyClock, wall_clock

    jump = [0]
    clock = SteadyClock(lambda: wall_clock() + jump[0])
    settings = Settings.load(environ={"STATEWARD_DATA": str(tmp_path)})
    with App(settings, machines=[INLINE], clock=clock) as app, app.node() as node, heard() as words:
        monkeypatch.setattr("stateward.engine.node.RECOVER_EVERY_S", 0.0)
        node.turn()
        assert words.getvalue() == ""

        jump[0] = 90_000_000_000
        node.turn()
        node.turn()

    said = words.getvalue()
    assert said.count("was set ahead by 90000 s") == 1
    assert "no deadline moves" in said
