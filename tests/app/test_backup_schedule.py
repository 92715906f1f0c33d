"""The service makes sets by itself, and says when there is none that counts."""

from pathlib import Path

import pytest

from stateward.app import App
from stateward.app.backup_places import FolderPlace
from stateward.app.backup_schedule import due_in_s, make_scheduled
from stateward.app.doctor import Check, checks
from stateward.core.model import SECOND, to_iso
from stateward.settings import Settings
from tests.app.backups import backed_up, settings_at, submitted


@pytest.fixture
def own(tmp_path: Path) -> Settings:
    return settings_at(tmp_path / "own")


def test_the_schedule_makes_sets_and_doctor_and_the_clock_know(
    tmp_path: Path, own: Settings
) -> None:
    planned = settings_at(
        tmp_path / "own",
        f"profile: business\nbackup: {{folder: {tmp_path}/planned, every_hours: 6, keep: 1}}\n",
    )
    with App(planned) as app:
        submitted(app, 1)
        assert not _backup_line(app).is_well
        assert due_in_s(planned, now=app.clock()) <= 0
        for _ in range(2):
            make_scheduled(planned, None, clock=app.clock)
        now = app.clock()
        assert _backup_line(app).is_well
        assert 5 * 3600 < due_in_s(planned, now=now) <= 6 * 3600
        assert due_in_s(planned, now=now + 7 * 3600 * SECOND) < 0
        assert "stateward_backup_last_success_timestamp_seconds 1" in app.monitor.text()
    assert len(FolderPlace(tmp_path / "planned").sets()) == 1


def test_a_set_of_a_clock_that_was_ahead_puts_no_other_one_off(tmp_path: Path) -> None:
    planned = settings_at(
        tmp_path / "own",
        f"profile: business\nbackup: {{folder: {tmp_path}/planned, every_hours: 6, keep: 1}}\n",
    )
    with App(planned) as app:
        ahead = app.clock() + 25 * 3600 * SECOND
        make_scheduled(planned, None, clock=lambda: ahead)

        assert due_in_s(planned, now=app.clock()) <= 0
        assert not _backup_line(app).is_well
        make_scheduled(planned, None, clock=app.clock)
        assert due_in_s(planned, now=app.clock()) > 5 * 3600
        (kept,) = FolderPlace(tmp_path / "planned").sets()
        assert kept.taken_at < to_iso(
            ahead
        )  # the last that was made, not the one of the latest time


def test_a_damaged_older_set_does_not_make_the_next_one_due_again(tmp_path: Path) -> None:
    """A set was made anew after each failed removal: 96 a day, until the disk was full."""
    planned = settings_at(
        tmp_path / "own",
        f"profile: business\nbackup: {{folder: {tmp_path}/planned, every_hours: 6, keep: 1}}\n",
    )
    with App(planned) as app:
        make_scheduled(planned, None, clock=app.clock)
        (first,) = FolderPlace(tmp_path / "planned").sets()
        (tmp_path / "planned/sets" / first.name / "backup.json").write_text("{}")

        make_scheduled(planned, None, clock=app.clock)

        assert due_in_s(planned, now=app.clock()) > 5 * 3600


def test_a_set_that_is_gone_from_its_folder_is_no_backup(tmp_path: Path, own: Settings) -> None:
    business = settings_at(tmp_path / "own", "profile: business\n")
    with App(business) as app:
        submitted(app, 1)
        backed_up(app, tmp_path / "sets-of-us")
        assert _backup_line(app).is_well

        (tmp_path / "sets-of-us").rename(tmp_path / "taken-away")

        assert not _backup_line(app).is_well
        assert "where it is not now" in _backup_line(app).sentence
    with App(own) as app:  # of one person, whose disk may not be connected
        assert _backup_line(app).is_well


def _backup_line(app: App) -> Check:
    return next(each for each in checks(app) if each.name == "backup")
