"""SQLite on a disk that fails at every place where it can: nothing acknowledged is lost, and it recovers."""

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.disk import (
    Disk,
    DiskFault,
    Operation,
    faulty_sqlite,
)
from stateward.core.errors import StoreBroken, StoreFull
from tests.faults.scene import Attempt, an_app, assert_recovered

# An error that no Python code can catch (SQLite tidies up by itself) is told as a warning.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

IS_EVERY = os.environ.get("DISK_FAULTS") == "every"
PLACES_MAX = 12  # of each kind, spread evenly; `make disk-faults` sessions every one


@pytest.fixture(scope="module")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder whose store is made and empty."""
    made = tmp_path_factory.mktemp("empty") / "data"
    with an_app(made):
        pass
    return made


def copied(store: Path, place: Path, name: str) -> Path:
    return Path(shutil.copytree(store, place / name))


def places(count: int) -> Iterator[int]:
    """All of them, or some, but always the first and the last."""
    step = 1 if IS_EVERY else max(1, count // PLACES_MAX)
    yield from sorted({*range(1, count + 1, step), count})


@pytest.mark.timeout(1800 if IS_EVERY else 120)
@pytest.mark.parametrize("is_lasting", [False, True], ids=["once", "lasting"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO], ids=["ENOSPC", "EIO"])
@pytest.mark.parametrize("operation", ["write", "sync"])
def test_no_place_where_the_disk_can_fail_loses_what_was_acknowledged(
    empty_store: Path, tmp_path: Path, operation: Operation, code: int, is_lasting: bool
) -> None:
    count = operations(copied(empty_store, tmp_path, "counted"), operation)

    met = 0
    for nth in places(count):
        data = copied(empty_store, tmp_path, f"{nth}")
        disk = Disk(DiskFault(operation=operation, nth=nth, errno=code, is_lasting=is_lasting))
        attempt = Attempt()
        with faulty_sqlite(disk):
            attempt.live(data)

        met += bool(
            disk.failures
        )  # a life may need fewer of these calls than the one that was counted
        assert_told(attempt, is_full=(operation, code) == ("write", errno.ENOSPC))
        assert_recovered(data, attempt.acknowledged)
        shutil.rmtree(data)
    assert met > len([*places(count)]) / 2


def operations(data: Path, operation: Operation) -> int:
    """How often a life without faults writes or syncs."""
    disk = Disk()
    with faulty_sqlite(disk):
        Attempt().live(data)
    assert disk.counts[operation] > 3, "nothing would be swept"
    return disk.counts[operation]


def assert_told(attempt: Attempt, *, is_full: bool) -> None:
    """A caller that was refused got one sentence that says what is wrong and what to do."""
    for refusal in attempt.refusals:
        assert isinstance(refusal, StoreBroken) is not is_full
        assert "stateward.db" in str(refusal)
        advice = (
            "free some space and try again" if is_full else "stop, check the disk, and start again"
        )
        assert advice in str(refusal)


@pytest.mark.long
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO], ids=["ENOSPC", "EIO"])
@pytest.mark.parametrize("operation", ["write", "sync"])
def test_a_store_that_could_not_be_made_is_made_the_next_time(
    tmp_path: Path, operation: Operation, code: int
) -> None:
    count = operations(tmp_path / "counted", operation)

    for nth in places(count):
        data = tmp_path / f"{nth}"
        attempt = Attempt()
        with faulty_sqlite(
            Disk(DiskFault(operation=operation, nth=nth, errno=code, is_lasting=True))
        ):
            attempt.live(data)

        assert_recovered(data, attempt.acknowledged)
        shutil.rmtree(data)


def test_after_a_failed_sync_nothing_is_tried_again_on_the_same_handle(
    empty_store: Path, tmp_path: Path
) -> None:
    data = copied(empty_store, tmp_path, "data")
    disk = Disk(DiskFault(operation="sync", nth=1, errno=errno.EIO))

    with faulty_sqlite(disk), an_app(data) as app:
        with pytest.raises(StoreBroken, match="stop, check the disk"):
            app.submit(b"one", machine="two_steps")
        syncs = disk.counts["sync"]
        with pytest.raises(StoreBroken, match="stop, check the disk"):
            app.submit(b"two", machine="two_steps")
        assert disk.counts["sync"] == syncs, "a sync was tried again"

    assert_recovered(data, {})


def test_a_full_disk_passes_on_the_same_handle(empty_store: Path, tmp_path: Path) -> None:
    data = copied(empty_store, tmp_path, "data")
    disk = Disk(DiskFault(operation="write", nth=1, errno=errno.ENOSPC, is_lasting=True))

    with faulty_sqlite(disk), an_app(data) as app:
        with pytest.raises(StoreFull, match="free some space"):
            app.submit(b"one", machine="two_steps")
        disk.heal()
        record = app.submit(b"one", machine="two_steps").record

    assert_recovered(data, {b"one": record.id})
