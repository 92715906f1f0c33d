"""A new store where the disk is full, or becomes so while it is made."""

import os
from pathlib import Path

import pytest

from lab.chaos.faults import no_mounts, small_disk
from stateward.core.errors import StoreBroken, StoreError, StoreFull
from stateward.storage.sqlite import SqliteDatabase


@pytest.mark.skipif(bool(no_mounts()), reason=no_mounts())
@pytest.mark.usefixtures("no_copies")
def test_a_store_that_a_full_disk_keeps_from_being_made_says_so(tmp_path: Path) -> None:
    disk, refused = tmp_path / "disk", []
    with small_disk(disk):
        for free in range(0, 128 * 1024, 8192):
            (disk / "fill").unlink(missing_ok=True)
            state = os.statvfs(disk)
            (disk / "fill").write_bytes(b"\0" * max(0, state.f_bavail * state.f_frsize - free))
            try:
                SqliteDatabase(disk / f"{free}.db").close()
            except StoreError as error:
                refused.append(error)
            for each in disk.glob(f"{free}.db*"):
                each.unlink()

    assert len(refused) > 3
    assert all(isinstance(each, StoreFull | StoreBroken) for each in refused)
