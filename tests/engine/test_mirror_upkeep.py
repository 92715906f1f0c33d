"""A mirrored ledger is compacted each night, and a checkpoint of it leaves the machine."""

import os
import time
import zoneinfo
from collections.abc import Iterator
from datetime import datetime
from datetime import time as time_of
from pathlib import Path
from unittest.mock import patch

import pytest

from stateward.core.errors import InvalidRequest
from stateward.engine.mirror_upkeep import RETRY_S, MirrorUpkeep, UpkeepOptions, last_time
from stateward.ledger import Ledger, LedgerState, verify
from tests.ledger.builders import DAY_S, Clock, a_ledger
from tests.ledger.receiver import receiving
from tests.waiting import wait_until

PENDING = LedgerState.PENDING
SECOND_MIDNIGHT = 1_759_622_400.0  # 2025-10-05T00:00:00Z


@pytest.fixture(autouse=True)
def utc() -> Iterator[None]:
    """This machine's clocks show UTC, and afterwards what they showed before."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "UTC"
    time.tzset()
    yield
    os.environ.pop("TZ")
    if before is not None:
        os.environ["TZ"] = before
    time.tzset()


def upkeep_of(
    ledger: Ledger,
    clock: Clock,
    *destinations: str,
    said: list[str] | None = None,
    at: str = "00:00",
) -> MirrorUpkeep:
    told: list[str] = [] if said is None else said
    options = UpkeepOptions(
        warn=told.append, at=time_of.fromisoformat(at), destinations=destinations
    )
    return MirrorUpkeep(ledger, options, clock=clock)


def test_each_night_a_snapshot_is_made_and_a_checkpoint_leaves(tmp_path: Path) -> None:
    clock = Clock()
    with receiving() as receiver, a_ledger(tmp_path / "l", clock=clock) as ledger:
        upkeep = upkeep_of(ledger, clock, receiver.url)
        for night in range(3):
            ledger.record(f"doc:{night}", PENDING)
            upkeep.run_due()
            assert len(receiver.posts) == night
            clock.tick(DAY_S)
            upkeep.run_due()
            upkeep.run_due()
        snapshots = ledger.snapshots()

    assert [each.last_seq for each in snapshots] == [5, 3, 1]
    assert len(receiver.bodies) == 3
    for body in receiver.bodies:
        assert verify(tmp_path / "l", checkpoint=body).is_sound


def test_a_night_at_which_nothing_ran_is_made_up_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stateward.engine.mirror_upkeep.LOOK_S", 0.01)
    clock = Clock()
    with a_ledger(tmp_path / "l", clock=clock) as ledger:
        ledger.record("doc:1", PENDING)
    clock.tick(DAY_S + 3600)

    with a_ledger(tmp_path / "l", clock=clock) as ledger:
        upkeep = upkeep_of(ledger, clock)
        upkeep.start()
        wait_until(lambda: len(ledger.snapshots()) == 1)
        upkeep.stop()


def test_what_fails_at_night_is_said_and_tried_again(tmp_path: Path) -> None:
    clock, said = Clock(), list[str]()
    with a_ledger(tmp_path / "l", clock=clock) as ledger:
        ledger.record("doc:1", PENDING)
        upkeep = upkeep_of(ledger, clock, str(tmp_path / "share"), said=said)
        clock.tick(DAY_S)
        full = OSError(28, "No space left")
        with patch("stateward.ledger.compaction.SnapshotWriter", side_effect=full):
            upkeep.run_due()
        for _ in range(2):
            clock.tick(RETRY_S - 1)
            upkeep.run_due()  # too soon
            clock.tick(1)
            upkeep.run_due()
            (tmp_path / "share").mkdir(exist_ok=True)

        assert len(ledger.snapshots()) == 1
    assert ["No space left" in said[0], "is it mounted?" in said[1], len(said)] == [True, True, 2]
    assert len(list((tmp_path / "share").iterdir())) == 1


def test_a_clock_that_is_set_back_by_a_year_does_not_put_the_night_off_by_a_year(
    tmp_path: Path,
) -> None:
    clock = Clock()
    with a_ledger(tmp_path / "l", clock=clock) as ledger:
        ledger.record("doc:1", PENDING)
        upkeep = upkeep_of(ledger, clock)
        clock.tick(DAY_S)
        upkeep.run_due()
        clock.tick(-365 * DAY_S)
        ledger.record("doc:2", PENDING)
        upkeep.run_due()
        clock.tick(DAY_S)
        upkeep.run_due()

        assert len(ledger.snapshots()) == 2


def test_what_cannot_be_a_destination_or_a_secret_is_refused(tmp_path: Path) -> None:
    options = UpkeepOptions(warn=print, webhook_secret="hunter2")
    with a_ledger(tmp_path / "l") as ledger:
        with pytest.raises(InvalidRequest, match="no address"):
            upkeep_of(ledger, Clock(), "http://")
        with pytest.raises(InvalidRequest, match="whsec_"):
            MirrorUpkeep(ledger, options, clock=Clock())


def test_the_last_time_is_that_of_the_clocks() -> None:
    noon = SECOND_MIDNIGHT + DAY_S / 2
    berlin, havana = zoneinfo.ZoneInfo("Europe/Berlin"), zoneinfo.ZoneInfo("America/Havana")
    jump = datetime(2025, 3, 9, 12, tzinfo=havana).timestamp()  # its midnight became one o'clock

    assert last_time(noon, time_of()) == SECOND_MIDNIGHT
    assert last_time(SECOND_MIDNIGHT, time_of()) == SECOND_MIDNIGHT
    assert last_time(SECOND_MIDNIGHT - 1, time_of()) == SECOND_MIDNIGHT - DAY_S
    assert last_time(noon, time_of(), zone=berlin) == SECOND_MIDNIGHT - 2 * 3600
    assert 0 <= jump - last_time(jump, time_of(), zone=havana) <= 12 * 3600


def test_a_program_that_stays_open_knows_when_to_compact(tmp_path: Path) -> None:
    clock = Clock()
    with a_ledger(tmp_path / "l", clock=clock) as ledger:
        ledger.record("doc:1", PENDING)
        assert not ledger.is_compaction_due()
        clock.tick(DAY_S)
        assert ledger.is_compaction_due()
        ledger.compact()
        clock.tick(2 * DAY_S)

        assert not ledger.is_compaction_due()  # nothing is new
