"""The loop of a process: what it does first, what waits until it has begun, and what ends it."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import suppress
from pathlib import Path

import pytest

from stateward.app import App
from stateward.core.errors import StoreUnreachable
from stateward.engine.node import Node
from stateward.settings import Settings
from tests.faults.scene import INLINE


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    settings = Settings.load(environ={"STATEWARD_DATA": str(tmp_path)})
    with App(settings, machines=[INLINE]) as app:
        yield app


@pytest.fixture
def node(app: App) -> Iterator[Node]:
    with app.node() as node:
        yield node


def test_work_is_taken_up_before_whatever_can_wait(app: App, node: Node) -> None:
    record = app.submit(b"one", machine="two_steps").record
    seen: list[str] = []

    node.run(until_idle=True, once_begun=lambda: seen.append(app.record(record.id).status))

    assert len(seen) == 1
    assert seen[0] != record.status


def test_what_came_with_a_turn_is_seen_before_any_sleep(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: float) -> None:
        raise AssertionError("it sleeps, and nothing wakes it")

    monkeypatch.setattr(node, "_sleep", refuse)
    wanted = [True, False]

    node.work_while(lambda: wanted.pop(0))

    assert wanted == []


def test_what_the_database_failed_is_done_again(node: Node) -> None:
    calls: list[int] = []

    def begin() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise StoreUnreachable("it was away")
        node.stop()

    node.run(once_begun=begin)

    assert len(calls) == 2


def test_a_loop_raises_what_another_thread_says_that_ends_it(node: Node) -> None:
    node.abort(StoreUnreachable("the API cannot open"))  # which the loop itself would wait for

    with pytest.raises(StoreUnreachable, match="the API cannot open"):
        node.run()


class FailingLink:
    """A transport whose database goes away where it is to publish something."""

    is_at_hand = False

    def prepare(self, ready: AbstractSet[int] | None) -> bool:
        return False

    def flush(self) -> None:
        raise StoreUnreachable("it was away")


def test_what_is_durable_is_told_even_if_publishing_it_fails(
    app: App, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = app.submit(b"one", machine="two_steps").record
    told: list[int] = []
    monkeypatch.setattr(
        node._coordinator,
        "_on_transitions",
        lambda transitions, _: told.extend(each.version for each in transitions),
    )
    monkeypatch.setattr(node, "_links", [FailingLink()])

    for _ in range(3):
        with suppress(StoreUnreachable):
            node.turn()

    now = app.record(record.id).version
    assert now > record.version
    assert told == [*range(record.version + 1, now + 1)]
