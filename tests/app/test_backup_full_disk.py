"""Backups where a disk is full: that of the place, or that of the store."""

import errno
import os
from hashlib import sha256
from pathlib import Path

import apsw
import pytest

from lab.chaos.faults import DISK_BYTES, no_mounts, small_disk
from stateward.app import App, backup
from stateward.app.backup_places import FolderPlace
from stateward.app.restore import check_set, restore
from stateward.cli.exit_codes import Exit
from stateward.core.errors import StoreBroken, StoreFull
from stateward.settings import Settings
from stateward.storage.sqlite_file import snapshot
from tests.app.backups import backed_up, settings_at, submitted
from tests.cli.shell import Shell

FREE_STEP = 64 * 1024


@pytest.fixture
def own(tmp_path: Path) -> Settings:
    return settings_at(tmp_path / "own")


def hashes(place: Path) -> dict[str, str]:
    files = [each for each in place.rglob("*") if each.is_file()]
    return {str(each): sha256(each.read_bytes()).hexdigest() for each in files}


@pytest.mark.skipif(bool(no_mounts()), reason=no_mounts())
def test_a_full_disk_leaves_the_sets_that_are_there_and_nothing_of_the_new_one(
    own: Settings, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    with App(own) as app, small_disk(disk):
        submitted(app, 1)
        first = backed_up(app, disk / "place")
        submitted(app, 2)
        before = hashes(disk / "place")
        fill = disk / "fill"
        refused = []
        for free in range(FREE_STEP, DISK_BYTES, FREE_STEP):
            leave_free(disk, fill, free)
            try:
                backed_up(app, disk / "place")
                break
            except StoreFull as error:
                refused.append(str(error))
                assert hashes(disk / "place") == before

        assert len(refused) > 3
        assert all(f"no set was made, and those in {disk}/place are as" in each for each in refused)
        old, new = FolderPlace(disk / "place").sets()
        assert (old, new.records) == (first, 2)
        assert check_set(f"{disk}/place/sets/{new.name}", own) == []


def leave_free(disk: Path, fill: Path, free: int) -> None:
    fill.unlink(missing_ok=True)
    state = os.statvfs(disk)
    with fill.open("wb") as file:
        file.write(b"\0" * max(0, state.f_bavail * state.f_frsize - free))


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_list_for_which_there_is_no_space_says_the_same(
    own: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(path: Path, _: object) -> None:
        raise OSError(code, "no space", str(path))

    with App(own) as app:
        submitted(app, 1)
        monkeypatch.setattr(backup, "write_listing", refuse)
        with pytest.raises(StoreFull, match="no set was made"):
            backed_up(app, tmp_path / "place")

    assert list((tmp_path / "place/sets").iterdir()) == []


@pytest.mark.skipif(bool(no_mounts()), reason=no_mounts())
def test_a_store_whose_disk_has_no_byte_left_is_backed_up(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk):
        with App(settings_at(disk)) as app:
            submitted(app, 1)
        leave_free(disk, disk / "fill", 0)
        shell = Shell(disk / "data")

        done = shell("backup", str(tmp_path / "place"))

        assert done.exit_code == Exit.OK, done.stderr
        assert "it is only read" in done.stderr
        assert "could not be noted in the data folder" in done.stderr
    (made,) = (tmp_path / "place/sets").iterdir()
    assert restore(made, settings_at(tmp_path / "new")).set.records == 1


def test_a_database_that_is_copied_without_a_lock_and_written_to_meanwhile_is_no_copy(
    own: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with App(own):
        pass
    source = own.store_path
    assert source is not None

    connect = apsw.Connection

    def write(_: int) -> None:
        with connect(str(source)) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS ours (id)")
        connection.close()

    def refuse_locks(name: str, *, flags: int = 6) -> apsw.Connection:
        if name == str(source) and flags == apsw.SQLITE_OPEN_READONLY:
            raise apsw.CantOpenError("no space for it")
        return connect(name, flags=flags)

    monkeypatch.setattr(apsw, "Connection", refuse_locks)
    with pytest.raises(StoreFull, match="was written to while it was copied"):
        snapshot(source, tmp_path / "copy.db", progress=write)

    assert not (tmp_path / "copy.db").exists()
    snapshot(source, tmp_path / "copy.db")


def test_half_a_copy_of_a_database_is_removed(own: Settings, tmp_path: Path) -> None:
    (tmp_path / "none.db").write_bytes(b"no database" * 1000)

    with pytest.raises(StoreBroken, match="could not be copied"):
        snapshot(tmp_path / "none.db", tmp_path / "copy.db")

    assert not (tmp_path / "copy.db").exists()
