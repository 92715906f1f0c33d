"""A backup and a restore that are killed at every step: what is there counts, and the next try brings all back."""

import shutil
from functools import partial
from pathlib import Path

import pytest

from stateward.app import App
from stateward.app.backup import Backup
from stateward.app.backup_places import FolderPlace
from stateward.app.restore import check_set, restore
from stateward.settings import Settings
from tests.app.killing import is_killed


def settings_at(folder: Path) -> Settings:
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "settings.yaml"
    config.write_text(f"data: {folder}/data\nledger: {{mirror: {folder}/ledger}}\n")
    return Settings.load(config, environ={})


def make_set(settings: Settings, folder: Path) -> None:
    with App(settings) as app:
        Backup(
            settings, FolderPlace(folder), database=app.database, config=None, clock=app.clock
        ).make()


@pytest.fixture
def own(tmp_path: Path) -> Settings:
    """An installation with records, documents and a ledger."""
    settings = settings_at(tmp_path / "own")
    with App(settings) as app:
        for number in range(2):
            app.submit(f"Date;Amount\n2026-01-0{number + 1};1,00\n".encode(), machine="upload")
        app.run_until_idle()
    return settings


@pytest.mark.long
def test_a_backup_that_is_killed_at_any_step_leaves_no_set_or_a_whole_one(
    own: Settings, tmp_path: Path
) -> None:
    folder, step = tmp_path / "backup", 1
    while is_killed(lambda: make_set(own, folder), step=step):
        for made in FolderPlace(folder).sets():
            target = settings_at(tmp_path / f"restored-{step}")
            assert restore(folder / "sets" / made.name, target).missing == ()
        shutil.rmtree(folder / "sets", ignore_errors=True)
        step += 1
    assert step > 10

    (made,) = FolderPlace(folder).sets()
    target = settings_at(tmp_path / "restored")
    restore(folder / "sets" / made.name, target)
    with App(target) as app:
        assert app.admin.verify().findings == ()
        assert app.admin.verify_documents() == []


@pytest.mark.long
def test_a_restore_that_is_killed_at_any_step_can_be_given_again(
    own: Settings, tmp_path: Path
) -> None:
    make_set(own, tmp_path / "backup")
    (made,) = FolderPlace(tmp_path / "backup").sets()
    place, step = tmp_path / "backup" / "sets" / made.name, 1
    while True:
        target = settings_at(tmp_path / f"restored-{step}")
        was_killed = is_killed(lambda target=target: restore(place, target), step=step)  # type: ignore[misc]
        if was_killed and not (target.store_path or Path()).exists():
            restore(place, target)
        with App(target) as app:
            assert app.admin.verify().findings == ()
            assert app.admin.verify_documents() == []
            assert app.admin.verify().records == 2
        if not was_killed:
            break
        step += 1
    assert step > 5


def test_half_a_ledger_of_a_restore_that_was_killed_is_copied_again(
    own: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def copy_one(source: Path, to: str, **_: object) -> None:
        shutil.copy2(source / "HEAD", to)
        raise KeyboardInterrupt

    make_set(own, tmp_path / "backup")
    (made,) = FolderPlace(tmp_path / "backup").sets()
    place, target = tmp_path / "backup" / "sets" / made.name, settings_at(tmp_path / "restored")
    with monkeypatch.context() as cut:
        cut.setattr(shutil, "copytree", copy_one)
        with pytest.raises(KeyboardInterrupt):
            restore(place, target)

    restore(place, target)

    copied = {each.name for each in (tmp_path / "restored" / "ledger").iterdir()}
    assert copied == {each.name for each in (place / "ledger").iterdir()}
    with App(target) as app:
        assert app.admin.verify().findings == ()


def test_nothing_of_the_ledger_of_another_set_is_left_by_a_restore_that_was_killed(
    own: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def copy_all(source: Path, to: Path, **_: object) -> None:
        for each in source.iterdir():
            shutil.copy2(each, to)
        (to / "delta-2031-01-01.jsonl").write_bytes(b"of the newer set\n")
        raise KeyboardInterrupt

    make_set(own, tmp_path / "backup")
    (made,) = FolderPlace(tmp_path / "backup").sets()
    place, target = tmp_path / "backup" / "sets" / made.name, settings_at(tmp_path / "restored")
    with monkeypatch.context() as cut:
        cut.setattr(shutil, "copytree", copy_all)
        with pytest.raises(KeyboardInterrupt):
            restore(place, target)

    restore(place, target)

    copied = {each.name for each in (tmp_path / "restored" / "ledger").iterdir()}
    assert copied == {each.name for each in (place / "ledger").iterdir()}


@pytest.mark.long
def test_a_removal_of_old_sets_that_is_killed_at_any_step_leaves_whole_sets_alone(
    own: Settings, tmp_path: Path
) -> None:
    step = 1
    while True:
        folder = tmp_path / f"backup-{step}"
        for _ in range(3):
            make_set(own, folder)
        was_killed = is_killed(partial(FolderPlace(folder).remove_old, keep=1), step=step)
        for made in FolderPlace(folder).sets():
            assert check_set(folder / "sets" / made.name, own) == []
        make_set(own, folder)
        FolderPlace(folder).remove_old(keep=1)
        (last,) = FolderPlace(folder).sets()
        assert [each.name for each in (folder / "sets").iterdir()] == [last.name]
        assert check_set(folder / "sets" / last.name, own) == []
        if not was_killed:
            break
        step += 1
    assert step > 10
