"""A turn that is decided on what was known before it: whatever changed meanwhile counts all the same."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec.structs import replace

from stateward.app import App
from stateward.core.errors import StoreError
from stateward.core.machine import Machine
from stateward.core.model import Change, Record
from stateward.definition.declare import declare
from stateward.engine.foresight import PAUSE_S, Foresight
from stateward.engine.node import Node
from stateward.workers.sdk import Job, runner
from tests.apps import Maker
from tests.waiting import wait_until

ACTOR = "person:anna"


def _stage(number: int) -> dict[str, object]:
    return {
        "from": f"ready{number}", "running": f"running{number}", "outcomes": {"done": f"ready{number + 1}"},
        "on_error": "error", "isolation": "inline", "runner": "foresight.step",
    }  # fmt: skip


MACHINE: Machine = declare(
    machine="three_steps",
    version=1,
    prefix="FS",
    initial="ready1",
    states={
        **{f"ready{n}": "ready" for n in (1, 2, 3)},
        **{f"running{n}": "running" for n in (1, 2, 3)},
        "ready4": "terminal",
        "error": "failed",
    },
    stages={f"step{n}": _stage(n) for n in (1, 2, 3)},
)


@runner("foresight.step")
def step(job: Job) -> list[dict[str, object]]:
    return [{"stage": job.stage}]


@pytest.fixture
def app(make_app: Maker) -> App:
    return make_app(machines=[MACHINE])


@pytest.fixture
def other(make_app: Maker, app: App) -> App:
    """Another process on the same store."""
    return make_app(machines=[MACHINE])


@pytest.fixture
def node(app: App) -> Iterator[Node]:
    with app.node() as node:
        node.turn()  # announces its worker, so that a submission hands over
        yield node


def at(node: Node, app: App, status: str) -> Record:
    """A record that has come to a status, whose work the node has and has not begun."""
    record_id = app.submit(b"a letter", machine="three_steps").record.id
    node.work_while(lambda: app.record(record_id).status != status)
    return app.record(record_id)


def finish(node: Node, app: App, record: Record) -> Record:
    node.run(until_idle=True)
    assert app.admin.verify().is_sound
    return app.record(record.id)


def counts(app: App, record: Record) -> list[tuple[str, int]]:
    return [(each.stage, each.count) for each in app.outputs.attempts(record.id)]


def test_a_record_goes_through_all_stages(app: App, node: Node) -> None:
    record = at(node, app, "running2")

    assert finish(node, app, record).status == "ready4"
    assert counts(app, record) == [("step1", 1), ("step2", 1), ("step3", 1)]


def test_a_priority_that_was_given_while_a_stage_ran_counts_for_the_next_one(
    app: App, node: Node, other: App
) -> None:
    record = at(node, app, "running2")
    raised = replace(record, priority=9, rank=record.rank - 1)
    assert other.store.update_priority([raised]) == [True]

    node.work_while(lambda: app.record(record.id).status != "running3")

    later = app.record(record.id)
    work = app.bus.assigned(later.id, later.version)
    assert work is not None
    assert work.rank == raised.rank


def test_a_stage_that_was_paused_meanwhile_is_not_begun(app: App, node: Node, other: App) -> None:
    record = at(node, app, "running2")
    other.actions.pause("three_steps", "step3", actor=ACTOR, reason=None)

    assert finish(node, app, record).waiting == "step3"
    assert app.bus.load_by_worker() == {}

    other.actions.resume("three_steps", "step3", actor=ACTOR)
    node.work_while(lambda: app.record(record.id).status != "ready4")


def test_what_was_given_to_another_worker_meanwhile_is_dropped(
    app: App, node: Node, other: App
) -> None:
    record = at(node, app, "running2")
    work = other.bus.assigned(record.id, record.version)
    assert work is not None
    other.bus.return_unstarted([work])

    assert finish(node, app, record).status == "ready4"
    assert counts(app, record) == [("step1", 1), ("step2", 1), ("step3", 1)]


def test_a_coordinator_that_started_meanwhile_is_sealed_in_what_follows(
    app: App, node: Node, make_app: Maker
) -> None:
    record = at(node, app, "running2")
    before = app.store.history(record.id)[-1].epoch
    with make_app(machines=[MACHINE]).node():
        pass

    assert finish(node, app, record).status == "ready4"
    assert app.store.history(record.id)[-1].epoch > before


on_a_server = pytest.mark.parametrize("store_url", ["postgres"], indirect=True)


def note(foresight: Foresight, app: App, record: Record) -> None:
    """A turn left a record so, and its work went out."""
    work = app.bus.assigned(record.id, record.version)
    last = app.store.history(record.id)[-1]
    assert work is not None
    foresight.note([Change(record=record, expected=None, transition=last)], [work])
    foresight.begin()


def is_foreseen(foresight: Foresight, app: App, record: Record) -> bool:
    """Whether a turn is decided on what is known; raises where the server refuses that."""
    with app.database.transaction():
        return foresight.hold([record.id]) is not None


@on_a_server
def test_what_a_turn_left_that_was_rolled_back_is_refused_though_another_came_as_far(
    app: App, node: Node
) -> None:
    record = at(node, app, "running2")
    foresight = Foresight(app.database, ticks=lambda: 0.0)
    note(foresight, app, record)
    assert is_foreseen(foresight, app, record)

    note(foresight, app, replace(record, head="0" * len(record.head)))

    with pytest.raises(StoreError, match="try again"):
        is_foreseen(foresight, app, record)


@on_a_server
def test_after_a_refusal_nothing_is_foreseen_for_a_while(app: App, node: Node, other: App) -> None:
    """A pause may last for days: each result would be sent, refused and decided anew."""
    record = at(node, app, "running2")
    now = 0.0
    foresight = Foresight(app.database, ticks=lambda: now)
    other.actions.pause("three_steps", "step3", actor=ACTOR, reason=None)
    note(foresight, app, record)
    with pytest.raises(StoreError, match="try again"):
        is_foreseen(foresight, app, record)
    assert foresight.is_wrong()

    note(foresight, app, record)
    assert not is_foreseen(foresight, app, record)

    other.actions.resume("three_steps", "step3", actor=ACTOR)
    now = PAUSE_S
    note(foresight, app, record)
    assert is_foreseen(foresight, app, record)


def is_locked_out(app: App) -> bool:
    """Whether a session of the store waits for a lock of another one."""
    waiting = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database()"
    return bool(app.database.rows(f"{waiting} AND wait_event_type = 'Lock'"))


@on_a_server
def test_a_pause_that_is_made_while_a_turn_waits_for_its_record_is_heeded(
    app: App, node: Node, other: App, make_app: Maker
) -> None:
    """A statement sees what was committed when it began, and the one that locks the record may wait for long."""
    record = at(node, app, "running2")
    foresight = Foresight(app.database, ticks=lambda: 0.0)
    note(foresight, app, record)
    operator = make_app(machines=[MACHINE])
    with ThreadPoolExecutor(1) as turns:
        with other.database.transaction():
            other.store.load([record.id], lock=True)
            turn = turns.submit(is_foreseen, foresight, app, record)
            wait_until(lambda: is_locked_out(operator))
            operator.actions.pause("three_steps", "step3", actor=ACTOR, reason=None)

        with pytest.raises(StoreError, match="try again"):
            turn.result()
