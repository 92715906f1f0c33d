"""A slot for a child process, which leaves nothing behind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stateward.workers import fork_server, processes, spawning
from tests.waiting import wait_until
from tests.workers.children import ChildSlot, is_alive

BOOT = fork_server.BOOT


@pytest.fixture(scope="session")
def own_fork_servers() -> spawning._Servers:
    """The fork servers of these tests."""
    return spawning._Servers()


@pytest.fixture(autouse=True)
def children_load_what_they_run(
    monkeypatch: pytest.MonkeyPatch, own_fork_servers: spawning._Servers
) -> None:
    """The fork servers of these tests are as where no test runs; those of other tests have loaded a reader."""
    monkeypatch.setattr(fork_server, "BOOT", BOOT)
    monkeypatch.setattr(spawning, "_SERVERS", own_fork_servers)


@pytest.fixture
def slot(tmp_path: Path) -> Iterator[ChildSlot]:
    """A slot; when the test is over, no process and no scratch folder of its children is left."""
    slot = ChildSlot(tmp_path / "scratch")
    yield slot
    slot.close()
    left = [pid for child in slot.spawned for pid in processes.members_of(child.pid)]
    wait_until(lambda: not any(map(is_alive, left)))  # killed, but not yet gone on a busy machine
    assert list(slot.scratch_root.glob("*")) == []
