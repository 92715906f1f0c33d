"""When a worker counts as silent: judged by whether its word changes, on a monotonic clock."""

import fcntl
import os
from pathlib import Path
from shutil import rmtree

import pytest
from msgspec.structs import replace

from stateward.engine.capacity import LeaseTracker
from stateward.engine.system import (
    host_name,
    is_alive,
    own_scratch,
    process_life,
    process_place,
)
from stateward.transport import WorkerInfo


class Ticks:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def a_worker(name: str = "w1", *, seen_at: int = 0) -> WorkerInfo:
    return WorkerInfo(
        id=name, host="h", pid=1, life="1", runners=(), slots=1, inline_slots=1,
        started_at=0, seen_at=seen_at,
    )  # fmt: skip


def tracker(ticks: Ticks) -> LeaseTracker:
    return LeaseTracker(lease_s=15.0, ticks=ticks)


def test_a_worker_that_says_nothing_new_for_a_lease_is_silent() -> None:
    ticks = Ticks()
    leases = tracker(ticks)

    assert leases.expired([a_worker()]) == set()
    ticks.now += 15
    assert leases.expired([a_worker()]) == set()
    ticks.now += 0.1

    assert leases.expired([a_worker()]) == {"w1"}


def test_a_worker_whose_clock_is_a_year_off_is_alive() -> None:
    ticks = Ticks()
    leases = tracker(ticks)

    for beat in range(10):
        year = 365 * 86_400 * 1_000_000
        assert leases.expired([a_worker(seen_at=-year + beat)]) == set()
        ticks.now += 10


def test_a_time_that_goes_back_is_a_sign_of_life() -> None:
    ticks = Ticks()
    leases = tracker(ticks)
    leases.expired([a_worker(seen_at=3_600_000_000)])
    ticks.now += 14

    assert leases.expired([a_worker(seen_at=5)]) == set()
    ticks.now += 14

    assert leases.expired([a_worker(seen_at=5)]) == set()


def test_a_worker_seen_for_the_first_time_has_a_whole_lease() -> None:
    ticks = Ticks()
    leases = tracker(ticks)
    leases.expired([a_worker("w1", seen_at=1)])
    ticks.now += 16

    assert leases.expired([a_worker("w1", seen_at=1), a_worker("w2", seen_at=1)]) == {"w1"}


def test_a_worker_that_comes_back_counts_as_new() -> None:
    ticks = Ticks()
    leases = tracker(ticks)
    leases.expired([a_worker()])
    ticks.now += 16
    leases.expired([])

    assert leases.expired([a_worker()]) == set()


def test_after_an_outage_no_worker_is_silent() -> None:
    ticks = Ticks()
    leases = tracker(ticks)
    leases.expired([a_worker()])
    ticks.now += 100

    leases.forget()

    assert leases.expired([a_worker()]) == set()


def test_a_process_that_is_gone_is_found_at_once_and_one_of_another_container_by_its_lease() -> (
    None
):
    """Containers of one pod share a host name, and their pids start at 1 in each."""
    gone = replace(a_worker(), host=process_place(), pid=os.getpid(), life="0")
    own = replace(gone, life=process_life(os.getpid()))
    elsewhere = replace(gone, host=f"{host_name()}/pid:[1]")

    assert [is_alive(each) for each in (gone, own, elsewhere)] == [False, True, True]


def test_scratch_of_a_process_in_another_container_stays_while_it_runs(tmp_path: Path) -> None:
    # Its pid and start mean nothing here: by them it would be gone.
    folder = tmp_path / "1-1-elsewhere"
    folder.mkdir()
    life = process_life(os.getpid())
    with (folder / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)

        own = own_scratch(tmp_path, life=life)

        assert folder.exists()
    assert own_scratch(tmp_path, life=life) == own
    assert not folder.exists()
    assert list(tmp_path.iterdir()) == [own]


def test_scratch_that_was_removed_is_locked_again(tmp_path: Path) -> None:
    life = process_life(os.getpid())
    rmtree(own_scratch(tmp_path, life=life))

    own = own_scratch(tmp_path, life=life)

    with (own / ".lock").open("rb+") as again, pytest.raises(BlockingIOError):
        fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_scratch_of_a_killed_process_of_this_machine_is_removed(tmp_path: Path) -> None:
    life = process_life(os.getpid())
    place = own_scratch(tmp_path, life=life).name.rpartition("-")[2]
    killed, older = tmp_path / f"{2**22 + 1}-7-{place}", tmp_path / f"{2**22 + 1}-7"
    killed.mkdir()
    older.mkdir()  # as former versions named it

    own_scratch(tmp_path, life=life)

    assert not killed.exists()
    assert not older.exists()
