"""Documents on a disk that fails at every place where it can: refused with a sentence, never half-kept."""

import errno
from pathlib import Path

import pytest

from lab.disk import (
    Disk,
    DiskFault,
    Operation,
    faulty_files,
)
from stateward.blobs import PIECE_BYTES, Folder
from stateward.core.errors import StoreFull
from tests.faults.scene import Attempt, assert_recovered

BIG = b"x" * (3 * PIECE_BYTES)
OPERATIONS: tuple[Operation, ...] = ("write", "sync", "link")


def pieces(document: bytes) -> list[bytes]:
    return [document[at : at + PIECE_BYTES] for at in range(0, len(document), PIECE_BYTES)]


def operations() -> dict[str, int]:
    """How often each is called to keep one document of three pieces."""
    return {"write": 3, "sync": 3, "link": 1}


PLACES = [
    DiskFault(operation=operation, nth=nth, errno=code, is_lasting=is_lasting)
    for operation in OPERATIONS
    for nth in range(1, operations()[operation] + 1)
    for code in (errno.ENOSPC, errno.EIO)
    for is_lasting in (False, True)
]


def test_the_places_are_all_there_are(tmp_path: Path) -> None:
    disk = Disk()

    with faulty_files(disk):
        Folder(tmp_path).put(pieces(BIG), bytes_max=len(BIG))

    assert disk.counts == operations()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("fault", PLACES, ids=str)
def test_a_document_that_cannot_be_kept_is_refused_and_can_be_submitted_again(
    tmp_path: Path, fault: DiskFault
) -> None:
    folder = Folder(tmp_path)
    words = {errno.ENOSPC: "No space left", errno.EIO: "Input/output error"}[fault.errno]

    with (
        faulty_files(Disk(fault)),
        pytest.raises(StoreFull, match=f"cannot write to .*{words}.*nothing was kept"),
    ):
        folder.put(pieces(BIG), bytes_max=len(BIG))

    assert list((tmp_path / "incoming").iterdir()) == []
    kept = folder.put(pieces(BIG), bytes_max=len(BIG))
    assert folder.verify(kept.sha256)


@pytest.mark.parametrize("nth", [2, 3])
def test_a_name_that_may_not_be_on_the_disk_is_synced_by_the_caller_that_relies_on_it(
    tmp_path: Path, nth: int
) -> None:
    with (
        faulty_files(Disk(DiskFault(operation="sync", nth=nth, errno=errno.EIO))),
        pytest.raises(StoreFull),
    ):
        Folder(tmp_path).put([b"one"], bytes_max=10)
    disk = Disk()

    with faulty_files(disk):
        again = Folder(tmp_path).put([b"one"], bytes_max=10)

    assert not again.is_new, "its name was there"
    assert disk.counts["sync"] == 3, "the file, its folder, and the folder of that"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("nth", range(1, 11))
def test_a_refused_document_opens_no_record(tmp_path: Path, nth: int, code: int) -> None:
    attempt = Attempt()

    with faulty_files(Disk(DiskFault(operation="sync", nth=nth, errno=code, is_lasting=True))):
        attempt.live(tmp_path)

    assert_recovered(tmp_path, attempt.acknowledged)
