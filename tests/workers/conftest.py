"""A slot for a child process, which leaves nothing behind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stateward.workers import processes
from tests.waiting import wait_until
from tests.workers.children import ChildSlot, is_alive


@pytest.fixture
def slot(tmp_path: Path) -> Iterator[ChildSlot]:
    """A slot; when the test is over, no process and no scratch folder of its children is left."""
    slot = ChildSlot(tmp_path / "scratch")
    yield slot
    slot.close()
    left = [pid for child in slot.spawned for pid in processes.members_of(child.pid)]
    wait_until(lambda: not any(map(is_alive, left)))  # killed, but not yet gone on a busy machine
    assert list(slot.scratch_root.glob("*")) == []
