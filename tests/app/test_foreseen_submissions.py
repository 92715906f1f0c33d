"""A submission that is handed over as if workers were still idle: whatever changed meanwhile counts all the same."""

from collections.abc import Callable, Iterator

import pytest

from stateward.app import App
from stateward.core.model import Record
from stateward.engine import dispatcher
from stateward.engine.dispatcher import Dispatcher
from stateward.engine.node import Node
from stateward.testing.bench.product import ACTOR, INLINE, submit_records
from tests.apps import Maker


@pytest.fixture
def app(make_app: Maker) -> App:
    return make_app(machines=[INLINE])


@pytest.fixture
def other(make_app: Maker, app: App) -> App:
    """Another process on the same store."""
    return make_app(machines=[INLINE])


@pytest.fixture
def node(app: App) -> Iterator[Node]:
    with app.node() as node:
        node.turn()  # announces its worker, so that a submission hands over
        yield node


@pytest.fixture
def client(make_app: Maker, app: App, node: Node, monkeypatch: pytest.MonkeyPatch) -> App:
    """One that has submitted before, so that it knows what workers there are."""
    monkeypatch.setattr(dispatcher, "IDLE_KNOWN_S", 600.0)
    client = make_app(machines=[INLINE])
    finish(node, client, submit(client))
    return client


@pytest.fixture
def foreseen(client: App, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each submission that was foreseen, True, and False once it was refused."""
    found: list[bool] = []
    foresee, forget = Dispatcher._dispatch_foreseen, Dispatcher.forget_idle

    def foreseeing(own: Dispatcher, batch: object) -> bool:
        found.extend([True] * (is_done := foresee(own, batch)))  # type: ignore[arg-type]
        return is_done

    def refused(own: Dispatcher) -> None:
        found[-1:] = [False]
        forget(own)

    monkeypatch.setattr(Dispatcher, "_dispatch_foreseen", foreseeing)
    monkeypatch.setattr(Dispatcher, "forget_idle", refused)
    return found


def submit(app: App) -> Record:
    (record_id,) = submit_records(app, 1, isolation="inline")
    return app.record(record_id)


def finish(node: Node, app: App, record: Record) -> None:
    node.work_while(lambda: app.record(record.id).status != "finished")


on_a_server = pytest.mark.parametrize("store_url", ["postgres"], indirect=True)


@on_a_server
def test_where_all_is_idle_a_record_is_handed_over_at_once(
    app: App, node: Node, client: App, foreseen: list[bool]
) -> None:
    for _ in range(3):
        record = submit(client)
        assert record.status == "first_running"
        finish(node, client, record)

    assert foreseen == [True] * 3
    assert app.admin.verify().is_sound


def test_on_a_file_nothing_is_foreseen(client: App, foreseen: list[bool]) -> None:
    is_file = not client.database.has_round_trips

    assert submit(client).status == "first_running"
    assert foreseen == [] if is_file else [True]


def _pause(other: App, _: Node) -> None:
    other.actions.pause(INLINE.name, "first", actor=ACTOR, reason=None)


def _pause_another_stage(other: App, _: Node) -> None:
    other.actions.pause(INLINE.name, "second", actor=ACTOR, reason=None)


def _begin_work(other: App, _: Node) -> None:
    submit(other)


def _lose_the_worker(other: App, node: Node) -> None:
    assert node._worker is not None
    other.bus.remove_worker(node._worker.name)


def _drain_the_worker(_: App, node: Node) -> None:
    assert node._worker is not None
    node._worker.drain()
    node.turn()


@on_a_server
@pytest.mark.parametrize(
    ("change", "status"),
    [
        (_pause, "queued"),
        (_pause_another_stage, "first_running"),
        (_begin_work, "first_running"),
        (_lose_the_worker, "queued"),
        (_drain_the_worker, "queued"),
    ],
)
def test_what_changed_meanwhile_is_found(
    client: App,
    other: App,
    node: Node,
    foreseen: list[bool],
    change: Callable[[App, Node], None],
    status: str,
) -> None:
    change(other, node)

    record = submit(client)

    assert foreseen == [False]
    assert (record.status, record.version) == (status, int(status != "queued"))
    assert client.admin.verify().is_sound


@on_a_server
def test_a_record_that_waits_is_not_overtaken(
    client: App, other: App, node: Node, foreseen: list[bool]
) -> None:
    other.actions.pause(INLINE.name, "first", actor=ACTOR, reason=None)
    first = submit(other)
    other.actions.resume(INLINE.name, "first", actor=ACTOR)

    second = submit(client)

    assert foreseen == [False]
    assert [client.record(each.id).status for each in (first, second)] == ["queued", "queued"]
    finish(node, client, second)
    finish(node, client, first)


@on_a_server
def test_a_coordinator_that_started_meanwhile_is_sealed_in_it(
    client: App, node: Node, make_app: Maker, foreseen: list[bool]
) -> None:
    with make_app(machines=[INLINE]).node(is_worker=False):
        pass

    record = submit(client)

    assert foreseen == [False]
    epochs = {each.epoch for each in client.store.history(record.id)}
    assert epochs == {client.store.ask_epoch().rows()[0][0]}


@on_a_server
def test_within_a_larger_transaction_nothing_is_foreseen(
    client: App, other: App, foreseen: list[bool]
) -> None:
    """A refusal would take along what its caller has written."""
    other.actions.pause(INLINE.name, "first", actor=ACTOR, reason=None)

    with client.database.transaction():
        record = submit(client)

    assert foreseen == []
    assert client.record(record.id).status == "queued"


@on_a_server
def test_after_a_refusal_nothing_is_foreseen_for_a_while(
    client: App, other: App, node: Node, foreseen: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatcher, "OVERTAKEN_PAUSE_S", 600.0)
    running = submit(other)
    later = submit(client)
    assert foreseen == [False]
    for each in (running, later):
        finish(node, client, each)

    for _ in range(2):
        finish(node, client, submit(client))

    assert foreseen == [False]
