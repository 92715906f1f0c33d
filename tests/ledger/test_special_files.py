"""What does not belong among the files of a ledger has a name: a pipe, a socket, a device, a snapshot of no one."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from stateward.core.errors import LedgerDamaged
from stateward.ledger import Ledger, LedgerState, copy_ledger, repair, verify
from stateward.ledger.export_file import verify_file
from tests.ledger.builders import Clock, QuickDisk, a_ledger

DELTA = "delta-2025-10-04.jsonl"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record("doc:0", LedgerState.PENDING)
    return tmp_path / "l"


def _open(folder: Path) -> None:
    Ledger.open(folder, read_only=True).close()


def _write(folder: Path) -> None:
    Ledger.open(folder, clock=Clock(), disk=QuickDisk()).close()


def _copy(folder: Path) -> None:
    copy_ledger(folder, folder.with_name("copy"))


@pytest.mark.parametrize("name", ["HEAD", "MANIFEST.json", "LOCK", DELTA, f"{DELTA}.idx"])
def test_a_pipe_in_the_place_of_any_file_is_found(folder: Path, name: str) -> None:
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)

    found = [str(each) for each in verify(folder).findings]

    assert found == [f"{name}: it is not a regular file"]
    assert name == DELTA or verify_file(folder / DELTA).findings[0].file == name


@pytest.mark.parametrize("use", [_open, _write, _copy, repair])
def test_a_ledger_with_a_pipe_is_refused_and_not_waited_for(
    folder: Path, use: Callable[[Path], None]
) -> None:
    (folder / "HEAD").unlink()
    os.mkfifo(folder / "HEAD")

    with pytest.raises(LedgerDamaged, match=r"HEAD: it is not a regular file.*move it away"):
        use(folder)


def test_a_device_and_a_socket_are_found(folder: Path) -> None:
    (folder / "HEAD").unlink()
    (folder / "HEAD").symlink_to("/dev/zero")
    here = Path.cwd()
    os.chdir(folder)  # the name of a socket may not be long
    try:
        with socket.socket(socket.AF_UNIX) as own:
            own.bind("s")
    finally:
        os.chdir(here)

    assert [each.file for each in verify(folder).findings] == ["HEAD", "s"]


def test_a_folder_and_a_link_beside_the_files_are_none_of_that(folder: Path) -> None:
    (folder / "notes").mkdir()
    (folder / "gone").symlink_to("nowhere")
    (folder / "HEAD").rename(folder.with_name("HEAD"))
    (folder / "HEAD").symlink_to("../HEAD")

    assert verify(folder).is_sound


def test_a_snapshot_that_the_manifest_does_not_name_is_told(tmp_path: Path) -> None:
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record("doc:0", LedgerState.PENDING)
        ledger.compact()
    (own,) = (tmp_path / "l").glob("snapshot-*.json")
    assert verify(tmp_path / "l").notes == ()
    (tmp_path / "l/snapshot-2025-10-05.json").write_bytes(own.read_bytes())

    found = verify(tmp_path / "l")

    assert found.is_sound  # as after a crash between the two
    assert [each.file for each in found.notes] == ["snapshot-2025-10-05.json"]
