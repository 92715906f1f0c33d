"""An edition is made outside of any transaction, and its record may be erased meanwhile."""

from collections.abc import Callable

import pytest

from stateward.app import App
from stateward.core.errors import ConcurrentModification
from stateward.core.machine import Machine
from stateward.definition.declare import declare
from stateward.workers.sdk import Job, runner
from tests.app.erasing import ANNA, CELL
from tests.apps import Maker

MACHINE: Machine = declare(
    machine="letters",
    version=1,
    prefix="LE",
    initial="received",
    states={"received": "ready", "reading": "running", "read": "terminal", "error": "failed"},
    stages={
        "read": {
            "from": "received", "running": "reading", "outcomes": {"done": "read"}, "on_error": "error",
            "isolation": "inline", "runner": "erased_meanwhile.read",
        }
    },
)  # fmt: skip

meanwhile: list[Callable[[], object]] = []


@runner("erased_meanwhile.read")
def read(job: Job) -> list[dict[str, object]]:
    times = len(meanwhile)
    while meanwhile:
        meanwhile.pop()()
    return [{"text": CELL, "times": times}]


@pytest.fixture
def app(make_app: Maker) -> App:
    return make_app(machines=[MACHINE])


def test_a_record_that_is_erased_while_it_is_rebuilt_gets_no_items_back(
    app: App, make_app: Maker
) -> None:
    record = app.submit(b"a letter", machine="letters").record
    app.run_until_idle()
    other = make_app(machines=[MACHINE])
    meanwhile.append(
        lambda: other.eraser.erase([record.id], actor=ANNA, reason="request 17", kinds=("items",))
    )

    with pytest.raises(ConcurrentModification):
        app.editions.rebuild(record.id, "read", actor=ANNA)

    assert app.database.rows("SELECT 1 FROM item_chunks") == []
    assert app.admin.verify().is_sound
