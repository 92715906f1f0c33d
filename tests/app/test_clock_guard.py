"""A clock that is far ahead at the start fires no deadline, until it is set right or a person confirms it."""

from pathlib import Path

import pytest

from stateward.app import App
from stateward.app.doctor import checks
from stateward.core.model import SECOND, Micros
from stateward.engine import system
from stateward.engine.system import SteadyClock
from stateward.pipelines.contracts.machine import CONTRACT
from stateward.settings import Settings
from stateward.storage.audit import CLOCK_CONFIRMED
from tests.waiting import wait_until

HOUR: Micros = 3600 * SECOND


class Machine:
    """A computer whose wall clock can be set; the kernel's count cannot."""

    def __init__(self, tmp_path: Path) -> None:
        self.set_by: Micros = 0
        config = tmp_path / "clock.yaml"
        config.write_text(f"data: {tmp_path}/data\n")
        self._settings = Settings.load(config, environ={})

    def app(self) -> App:
        return App(self._settings, clock=SteadyClock(lambda: system.wall_clock() + self.set_by))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def a_record_that_is_due(app: App) -> str:
    """A review whose deadline comes in 24 hours."""
    record = app.submit(b"a contract", machine=CONTRACT.name).record
    due_at = app.clock() + 24 * HOUR
    app.database.run(
        "UPDATE records SET waiting = NULL, due_at = :due WHERE id = :id", due=due_at, id=record.id
    )
    return record.id


def test_25_hours_ahead_fire_nothing_and_doctor_says_so(machine: Machine) -> None:
    with machine.app() as app:
        record_id = a_record_that_is_due(app)
        assert not app.clock_guard.is_doubted()
        assert app.scheduler.next_at() is not None

    machine.set_by = 25 * HOUR
    with machine.app() as app:
        assert app.scheduler.tick() == 0
        assert app.scheduler.next_at() is None
        (said,) = [check for check in checks(app) if check.name == "clock"]
        assert not said.is_well
        assert "25.0 h ahead" in said.sentence
        assert "stateward clock confirm" in said.advice
    with machine.app() as app:  # a second start judges by the same
        assert app.scheduler.tick() == 0
        assert app.record(record_id).version == 0


def test_a_clock_that_is_set_right_is_believed_again(machine: Machine) -> None:
    with machine.app() as app:
        a_record_that_is_due(app)
        assert not app.clock_guard.is_doubted()
    machine.set_by = 25 * HOUR
    with machine.app() as app:
        assert app.clock_guard.is_doubted()

    machine.set_by = 0
    with machine.app() as app:
        assert not app.clock_guard.is_doubted()


def test_a_person_confirms_the_clock_and_a_running_service_goes_on(machine: Machine) -> None:
    with machine.app() as app:
        a_record_that_is_due(app)
        assert not app.clock_guard.is_doubted()
    machine.set_by = 25 * HOUR
    with machine.app() as service, machine.app() as command:
        assert service.clock_guard.is_doubted()

        fault = command.admin.confirm_clock(command.clock_guard, reason="it was off for a day")

        assert "25.0 h ahead" in str(fault)
        wait_until(lambda: not service.clock_guard.is_doubted())
        assert service.scheduler.next_at() is not None
        (entry,) = service.audit.entries(verb=CLOCK_CONFIRMED)
        assert entry.reason == "it was off for a day"
        assert "25.0 h ahead" in str(entry.detail["fault"])


def test_a_folder_without_an_anchor_is_judged_by_its_newest_transition(
    machine: Machine, tmp_path: Path
) -> None:
    with machine.app() as app:
        a_record_that_is_due(app)
        assert not app.clock_guard.is_doubted()
    (tmp_path / "data" / "clock.json").unlink()

    machine.set_by = 25 * HOUR
    with machine.app() as app:
        assert app.clock_guard.is_doubted()
