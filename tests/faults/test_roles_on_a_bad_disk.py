"""A process that stays, on a disk that fails: full it waits for, broken it ends for, and it says which."""

import errno
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import pytest

from lab.disk import (
    Disk,
    DiskFault,
    Operation,
    faulty_sqlite,
)
from stateward import telemetry
from stateward.app import App
from stateward.core.errors import StoreBroken, StoreFull
from stateward.engine.node import Node
from tests.faults.scene import an_app, assert_recovered
from tests.waiting import WAIT_S_MAX, wait_until


class Running:
    """A node in a thread, and how it ended."""

    def __init__(self, node: Node) -> None:
        self.failure: BaseException | None = None
        self._node = node
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._node.run()
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            self.failure = error

    def stop(self) -> None:
        self._node.stop()
        self.join()

    def join(self) -> None:
        self._thread.join(WAIT_S_MAX)
        assert not self._thread.is_alive(), "it never ended"


@contextmanager
def heard() -> Iterator[StringIO]:
    stream = StringIO()
    telemetry.set_up(level="warning", stream=stream)
    yield stream
    telemetry.set_up(level="warning")


def is_done(app: App) -> bool:
    return all(app.records.is_at_rest(record) for record in app.store.walk())


@pytest.mark.parametrize("nth", [1, 5, 30])
def test_a_full_disk_is_waited_for_and_nothing_is_lost(tmp_path: Path, nth: int) -> None:
    disk = Disk()
    with faulty_sqlite(disk), an_app(tmp_path) as app, heard() as words:
        record = app.submit(b"one", machine="two_steps").record
        with app.node() as node:
            disk.counts.clear()
            disk.fault = DiskFault(operation="write", nth=nth, errno=errno.ENOSPC, is_lasting=True)
            running = Running(node)
            wait_until(lambda: disk.failures > 3)
            disk.heal()
            wait_until(lambda: is_done(app))
            running.stop()

    assert running.failure is None
    said = words.getvalue()
    assert said.count("cannot go on, trying again until it passes") == 1
    assert "free some space" in said
    assert "going on after" in said
    assert_recovered(tmp_path, {b"one": record.id})


@pytest.mark.parametrize("operation", ["write", "sync"])
def test_a_disk_that_broke_ends_the_process(tmp_path: Path, operation: Operation) -> None:
    disk = Disk()
    with faulty_sqlite(disk), an_app(tmp_path) as app:
        record = app.submit(b"one", machine="two_steps").record
        with app.node() as node:
            disk.counts.clear()
            disk.fault = DiskFault(operation=operation, nth=1, errno=errno.EIO)
            running = Running(node)
            running.join()

    assert isinstance(running.failure, StoreBroken)
    assert "what was acknowledged is on it" in str(running.failure)
    assert_recovered(tmp_path, {b"one": record.id})


def test_a_batch_command_does_not_wait_for_a_full_disk(tmp_path: Path) -> None:
    disk = Disk()
    with faulty_sqlite(disk), an_app(tmp_path) as app:
        record = app.submit(b"one", machine="two_steps").record
        disk.counts.clear()
        disk.fault = DiskFault(operation="write", nth=1, errno=errno.ENOSPC, is_lasting=True)
        with pytest.raises(StoreFull, match="free some space"):
            app.run_until_idle()

    assert_recovered(tmp_path, {b"one": record.id})


def test_who_is_asked_to_stop_does_not_wait_for_a_full_disk(tmp_path: Path) -> None:
    disk = Disk()
    with faulty_sqlite(disk), an_app(tmp_path) as app, heard():
        app.submit(b"one", machine="two_steps")
        with app.node() as node:
            disk.counts.clear()
            disk.fault = DiskFault(operation="write", nth=1, errno=errno.ENOSPC, is_lasting=True)
            running = Running(node)
            wait_until(lambda: disk.failures > 1)
            running.stop()

    assert isinstance(running.failure, StoreFull)
