"""A ledger is compacted each night and its checkpoints are handed over, with or without a service."""

import os
import time
import zoneinfo
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from datetime import time as time_of
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from stateward.core.errors import InvalidRequest
from stateward.ledger import (
    Ledger,
    LedgerState,
    MaintenanceOptions,
    MaintenanceThread,
    last_occurrence,
    next_occurrence,
    verify,
)
from stateward.ledger.schedule import time_of_day, zone_named
from tests.ledger.builders import DAY_S, Clock, QuickDisk
from tests.ledger.receiver import receiving
from tests.waiting import wait_until

ZONES = ("Europe/Berlin", "America/Havana", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC")
YEAR_2025 = 1_735_689_600
PENDING = LedgerState.PENDING


@pytest.fixture
def local_zone() -> Iterator[None]:
    """Whatever a test makes this machine's zone, it is put back."""
    before = os.environ.get("TZ")
    yield
    os.environ.pop("TZ", None)
    if before is not None:
        os.environ["TZ"] = before
    time.tzset()


def open_ledger(folder: Path, clock: Clock, keeping: MaintenanceOptions | None = None) -> Ledger:
    return Ledger.open(folder, clock=clock, disk=QuickDisk(), maintenance=keeping)


# When


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    second=st.integers(YEAR_2025, YEAR_2025 + 366 * 86_400),
    name=st.sampled_from(ZONES),
    minute=st.integers(0, 24 * 60 - 1),
)
@example(second=1_741_410_000, name="America/Havana", minute=0)  # the night without a midnight
@example(second=1_761_440_400, name="Europe/Berlin", minute=150)  # 02:30 comes twice
@pytest.mark.usefixtures("local_zone")
def test_the_next_time_is_that_of_the_clocks_whichever_way_the_zone_is_known(
    second: int, name: str, minute: int
) -> None:
    os.environ["TZ"] = name
    time.tzset()
    zone, at = zoneinfo.ZoneInfo(name), time_of(minute // 60, minute % 60)
    now = datetime.fromtimestamp(second, UTC)

    due = next_occurrence(now, zone=zone, at=at)

    assert due.timestamp() == next_occurrence(now, zone=None, at=at).timestamp()
    assert timedelta(0) < due.astimezone(UTC) - now <= timedelta(hours=25)
    assert last_occurrence(now, zone=zone, at=at).timestamp() <= second
    assert (
        next_occurrence(last_occurrence(now, zone=zone, at=at), zone=zone, at=at).timestamp()
        == due.timestamp()
    )
    shown = due.astimezone(zone)
    is_skipped = (shown.hour, shown.minute) != (at.hour, at.minute)
    assert not is_skipped or shown.utcoffset() != (shown - timedelta(hours=2)).utcoffset()


def test_a_year_of_nights_has_as_many_as_it_has_days() -> None:
    zone = zoneinfo.ZoneInfo("Europe/Berlin")
    now = datetime(2025, 1, 1, 12, tzinfo=zone)
    nights = []
    for _ in range(365):
        now = next_occurrence(now, zone=zone, at=time_of(2, 30))
        nights.append(now)

    assert len({night.date() for night in nights}) == 365
    assert nights[-1].date().isoformat() == "2026-01-01"


def test_within_the_hour_that_comes_twice_the_next_time_is_never_in_the_past() -> None:
    zone = zoneinfo.ZoneInfo("Europe/Berlin")
    now = datetime(2025, 10, 26, 2, 10, fold=1, tzinfo=zone)

    due = next_occurrence(now, zone=zone, at=time_of(2, 30))

    assert due.timestamp() > now.timestamp()
    assert due.date().isoformat() == "2025-10-27"
    assert (
        last_occurrence(now, zone=zone, at=time_of(2, 30)).timestamp() == now.timestamp() - 40 * 60
    )


@pytest.mark.parametrize(
    "text", ["24:00", "7:30", "07:60", "\uff10\uff17:30", "", "noon", "07:30:00"]
)
def test_what_is_no_time_of_day_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="no time of day"):
        time_of_day(text)


@pytest.mark.parametrize("name", ["Mars/Base", "", "../etc/passwd", "x\0"])
def test_what_is_no_zone_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest, match="no time zone"):
        zone_named(name)

    assert time_of_day("23:59") == time_of(23, 59)
    assert zone_named("UTC") == zoneinfo.ZoneInfo("UTC")


# What happens then


def test_each_night_a_snapshot_is_made_and_a_checkpoint_leaves(tmp_path: Path) -> None:
    clock = Clock()
    with receiving() as receiver, open_ledger(tmp_path / "l", clock) as ledger:
        keeping = MaintenanceOptions(
            zone=UTC, checkpoint_destinations=(receiver.url,), origin="example.org/l"
        )
        keeper = MaintenanceThread(ledger, keeping, clock=clock, disk=QuickDisk())
        for night in range(3):
            ledger.record(f"doc:{night}", PENDING)
            keeper.run_due()
            assert len(receiver.posts) == night
            clock.tick(DAY_S)
            keeper.run_due()
        snapshots = ledger.snapshots()

    assert [each.last_seq for each in snapshots] == [5, 3, 1]
    assert [body.splitlines()[:2] for body in receiver.bodies] == [
        ["example.org/l", str(2 * night + 2)] for night in range(3)
    ]
    for body in receiver.bodies:
        assert verify(tmp_path / "l", checkpoint=body).is_sound


def test_the_night_can_be_at_another_time_of_another_place(tmp_path: Path) -> None:
    clock = Clock()  # midnight in UTC is two o'clock in Berlin
    with open_ledger(tmp_path / "l", clock) as ledger:
        keeping = MaintenanceOptions(zone=zoneinfo.ZoneInfo("Europe/Berlin"), at=time_of(3, 30))
        keeper = MaintenanceThread(ledger, keeping, clock=clock)
        ledger.record("doc:1", PENDING)
        clock.tick(89 * 60)
        keeper.run_due()
        before = ledger.snapshots()
        clock.tick(60)
        keeper.run_due()
        after = ledger.snapshots()

    assert (len(before), len(after)) == (0, 1)


def test_a_night_without_a_running_process_is_made_up_for(tmp_path: Path) -> None:
    clock = Clock()
    with open_ledger(tmp_path / "l", clock) as ledger:
        ledger.record("doc:1", PENDING)
    clock.tick(DAY_S * 1.5)

    with open_ledger(tmp_path / "l", clock, MaintenanceOptions(zone=UTC)) as ledger:
        wait_until(ledger.snapshots)
    with open_ledger(tmp_path / "l", clock) as ledger:
        ledger.record("doc:2", PENDING)
        keeper = MaintenanceThread(ledger, MaintenanceOptions(zone=UTC), clock=clock)
        keeper.run_due()

        assert len(ledger.snapshots()) == 1


def test_a_ledger_that_is_open_for_days_is_kept_beside_its_writer(tmp_path: Path) -> None:
    clock = Clock()
    with receiving(500) as receiver:
        keeping = MaintenanceOptions(
            zone=UTC, checkpoint_destinations=(receiver.url,), warn=lambda _: None
        )
        with (
            patch("stateward.ledger.maintenance.WAIT_S_MAX", 0.02),
            open_ledger(tmp_path / "l", clock, keeping) as ledger,
        ):
            for night in range(3):
                for number in range(20):
                    ledger.record(f"doc:{night}:{number}", PENDING)
                clock.tick(DAY_S)
                wait_until((tmp_path / "l" / "handover" / f"{night + 1:08d}.txt").exists)
            wait_until(lambda: len(set(receiver.bodies)) == 3)

        assert ledger.path.exists()
    assert [path.name for path in (tmp_path / "l").glob("checkpoint-*.txt")] != []
    assert verify(tmp_path / "l").is_sound


def test_what_fails_at_night_is_said_and_tried_again(tmp_path: Path) -> None:
    clock, said = Clock(), list[str]()
    with open_ledger(tmp_path / "l", clock) as ledger:
        ledger.record("doc:1", PENDING)
        places = (str(tmp_path / "share"),)
        keeping = MaintenanceOptions(zone=UTC, checkpoint_destinations=places, warn=said.append)
        keeper = MaintenanceThread(ledger, keeping, clock=clock, disk=QuickDisk())
        clock.tick(DAY_S)
        with patch(
            "stateward.ledger.compaction.SnapshotWriter", side_effect=OSError(28, "No space left")
        ):
            keeper.run_due()
        failed = list(said)
        (tmp_path / "share").mkdir()
        clock.tick(61)
        keeper.run_due()

        assert len(ledger.snapshots()) == 1
    assert ["No space left" in each for each in failed] == [True, False]
    assert "is it mounted?" in failed[1]
    assert len(said) == 2
    assert len(list((tmp_path / "share").iterdir())) == 2


def test_a_clock_that_is_set_back_by_a_year_does_not_put_the_night_off_by_a_year(
    tmp_path: Path,
) -> None:
    clock, said = Clock(), list[str]()
    with open_ledger(tmp_path / "l", clock) as ledger:
        ledger.record("doc:1", PENDING)
        keeping = MaintenanceOptions(
            zone=UTC, checkpoint_destinations=(str(tmp_path / "share"),), warn=said.append
        )
        keeper = MaintenanceThread(ledger, keeping, clock=clock, disk=QuickDisk())
        clock.tick(DAY_S)
        keeper.run_due()
        clock.tick(-365 * DAY_S)
        (tmp_path / "share").mkdir()
        ledger.record("doc:2", PENDING)
        keeper.run_due()
        clock.tick(DAY_S)
        keeper.run_due()

        assert len(ledger.snapshots()) == 2
    assert len(said) == 1
    assert len(list((tmp_path / "share").iterdir())) == 2


def test_only_the_writer_can_keep_a_ledger(tmp_path: Path) -> None:
    open_ledger(tmp_path / "l", Clock()).close()

    with pytest.raises(InvalidRequest, match="read_only"):
        Ledger.open(tmp_path / "l", read_only=True, maintenance=MaintenanceOptions())
    with pytest.raises(InvalidRequest, match="no address"):
        open_ledger(
            tmp_path / "l", Clock(), MaintenanceOptions(checkpoint_destinations=("http://",))
        )
    open_ledger(tmp_path / "l", Clock()).close()  # the lock was let go of


def test_a_reader_makes_no_checkpoint_of_lines_that_a_power_cut_could_take(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "l", Clock()) as ledger:
        ledger.record("doc:1", PENDING)
        ledger.record_many([("doc:2", PENDING), ("doc:3", PENDING)])
        early = (tmp_path / "l" / "HEAD").read_bytes()
        ledger.record_many([("doc:4", PENDING), ("doc:5", PENDING)])
        (tmp_path / "l" / "HEAD").write_bytes(
            early
        )  # as if the last group were written, but not synced

        with Ledger.open(tmp_path / "l", read_only=True) as reader:
            assert reader.last_seq == 5
            assert reader.durable_seq == 3
            assert reader.checkpoint().splitlines()[1] == "3"
        assert ledger.checkpoint(write=False).splitlines()[1] == "5"
