"""The proofs of `tests/ledger/proof`, at a size that a test run can afford; `python -m tests.ledger.proof` for all."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ledger.proof import crash, damage, faults, kill


@pytest.fixture
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(
        dir="/dev/shm" if Path("/dev/shm").is_dir() else None
    ) as folder:
        yield Path(folder)


def test_no_power_cut_loses_or_invents_anything(scratch: Path) -> None:
    report = crash.explore(scratch, days=3, every=7)

    assert report.failures == []
    assert report.states > 300
    assert report.torn > 0


@pytest.mark.parametrize("barrier", ["fdatasync", "fsync", "sync_dir"])
def test_the_proof_fails_when_a_barrier_is_missing(scratch: Path, barrier: str) -> None:
    report = crash.explore(scratch, days=2, every=7, without=barrier, failures_max=1)

    assert report.failures != []


def test_no_damage_to_any_byte_is_silent(scratch: Path) -> None:
    report = damage.explore(scratch, bits=(0,), step=41)

    assert report.wrong == []
    assert report.damages > 500
    assert report.refused > 50


def test_the_writer_is_not_fooled_by_damage_either(scratch: Path) -> None:
    report = damage.explore(scratch, bits=(3,), step=197, is_written=True)

    assert report.wrong == []


def test_a_full_or_failing_disk_is_noticed_and_survived(scratch: Path) -> None:
    report = faults.explore(scratch, nth_max=60, step=4)

    assert report.failures == []
    assert report.noticed > 30


@pytest.mark.chaos
def test_a_killed_writer_has_lost_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    report = kill.explore(tmp_path, kills=4, run_s=0.3)

    assert report.failures == []
    assert report.seen > 0
