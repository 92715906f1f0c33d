"""A set knows the hash of each of its files: the ledger, the settings and what was erased among them."""

import os
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from stateward.app import App
from stateward.app.backup_places import FolderPlace, is_as_written
from stateward.app.known_elsewhere import compare_elsewhere, way_on
from stateward.app.restore import check_set, restore
from stateward.cli.exit_codes import Exit
from stateward.core.errors import InvalidRequest, StoreMismatch
from stateward.settings import Settings
from tests.app.backups import backed_up, settings_at, submitted
from tests.cli.shell import Shell


@pytest.fixture
def own(tmp_path: Path) -> Settings:
    return settings_at(tmp_path / "own", f"ledger: {{mirror: {tmp_path}/own/ledger}}\n")


@pytest.fixture
def place(own: Settings, tmp_path: Path) -> Path:
    """A set of an installation with a ledger and a settings file, in which something was erased."""
    with App(own) as app:
        record = submitted(app, 1)
        app.run_until_idle()
        app.eraser.erase([record], actor="person:ann", reason="request 17")
        app.run_until_idle()
        made = backed_up(app, tmp_path / "kept", tmp_path / "own/settings.yaml")
    return tmp_path / "kept/sets" / made.name


def _ledger_file(place: Path) -> str:
    return next(
        each.relative_to(place).as_posix()
        for each in sorted((place / "ledger").rglob("*"))
        if each.is_file()
    )


@pytest.mark.parametrize("name", ["settings.yaml", "erased.txt", "ledger"])
def test_a_file_of_a_set_that_was_changed_or_is_missing_is_named(
    own: Settings, place: Path, tmp_path: Path, name: str
) -> None:
    assert check_set(place, own) == []
    file = place / (_ledger_file(place) if name == "ledger" else name)
    below = file.relative_to(place).as_posix()
    file.chmod(0o600)
    for content in (file.read_bytes() + b"x", None):
        file.unlink() if content is None else file.write_bytes(content)
        new = settings_at(
            tmp_path / f"new-{content is None}",
            f"ledger: {{mirror: {tmp_path}/new-{content is None}/ledger}}\n",
        )

        found = restore(place, new)

        assert check_set(place, own) == [f"sets/{place.name}/{below}"]
        assert (found.is_behind, below in "".join(found.unread)) == (True, True)
        with App(new) as app:  # what counts came back all the same
            assert app.admin.verify().is_sound
            app.run_until_idle()
            assert app.admin.compare(new.data_path.parent / "ledger").is_same


def test_a_file_that_was_put_into_a_set_is_named(own: Settings, place: Path) -> None:
    (place / "ledger" / "more.jsonl").write_text("{}\n")

    assert check_set(place, own) == [f"sets/{place.name}/ledger/more.jsonl"]


def test_what_was_erased_is_not_believed_of_a_list_that_was_changed(
    own: Settings, place: Path
) -> None:
    (place / "erased.txt").write_text("")

    found = compare_elsewhere(own, place=FolderPlace(place.parents[1]))

    assert [each for each in found.unread if "what was erased since is not known" in each]
    assert any("compare again" in each for each in way_on(found, own, place=None))


def test_a_list_of_what_was_erased_that_is_no_text_is_named(own: Settings, place: Path) -> None:
    (place / "erased.txt").write_bytes(b"\xff\n")

    found = compare_elsewhere(own, place=FolderPlace(place.parents[1]))

    assert [each for each in found.unread if "what was erased since is not known" in each]


@pytest.mark.parametrize("name", ["documents.txt", "database.txt", "erased.txt", "settings.yaml"])
def test_a_pipe_in_the_place_of_a_file_of_a_set_is_named_and_holds_no_one_up(
    own: Settings, place: Path, tmp_path: Path, name: str
) -> None:
    (place / name).unlink()
    os.mkfifo(place / name)

    assert f"sets/{place.name}/{name}" in check_set(place, own)
    if name in {"documents.txt", "database.txt"}:
        with pytest.raises(StoreMismatch, match=f"{name} is not the file that was backed up"):
            restore(place, settings_at(tmp_path / "new"))
    else:
        assert name in "".join(restore(place, settings_at(tmp_path / "new")).unread)


def test_a_pipe_in_the_place_of_what_a_set_says_of_itself_is_refused(place: Path) -> None:
    (place / "backup.json").unlink()
    os.mkfifo(place / "backup.json")

    with pytest.raises(InvalidRequest, match=r"backup\.json cannot be read .*not a regular file"):
        FolderPlace(place.parents[1]).sets()


def test_any_change_of_what_a_set_says_of_itself_is_found(
    own: Settings, place: Path, tmp_path: Path
) -> None:
    manifest = place / "backup.json"
    sound = manifest.read_bytes()
    for at in range(
        len(sound)
    ):  # one bit each, such as 3 → 2 in the format and 15 → 14 in a number
        with suppress(InvalidRequest):  # it cannot be read at all
            assert not is_as_written(sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :]), at
    manifest.write_bytes(sound.replace(b'"records":1,', b'"records":7,'))

    found = restore(place, settings_at(tmp_path / "new"))

    assert check_set(place, own) == [f"sets/{place.name}/backup.json"]
    told = Shell(own.data_path)("backup", str(place.parents[1]), "--check")
    assert (told.exit_code, "make another one" in told.stderr) == (Exit.FOUND_PROBLEMS, True)
    assert [each for each in found.unread if each.startswith(f"{manifest} is not the file")]
    with App(settings_at(tmp_path / "new")) as app:  # what counts came back all the same
        assert app.admin.verify().is_sound


def test_no_set_is_removed_beside_one_that_says_something_else_of_itself_than_it_did(
    own: Settings, place: Path
) -> None:
    with App(own) as app:
        submitted(app, 2)
        backed_up(app, place.parents[1])
    manifest = place / "backup.json"
    manifest.write_bytes(manifest.read_bytes().replace(b'"records":1,', b'"records":0,'))

    with pytest.raises(
        StoreMismatch, match=rf"backup\.json of {place.name} is damaged: nothing is"
    ):
        FolderPlace(place.parents[1]).remove_old(keep=1)

    assert len(FolderPlace(place.parents[1]).sets()) == 2


def test_pipes_in_the_data_folder_hold_no_one_up(own: Settings, place: Path) -> None:
    for name in ("last-backup.json", "clock.json"):
        (own.data_path / name).unlink(missing_ok=True)
        os.mkfifo(own.data_path / name)
    shell = Shell(own.data_path)

    assert "no backup yet" in shell("doctor").stdout
    (own.data_path / "stateward.db").unlink()
    os.mkfifo(own.data_path / "stateward.db")
    for command in (("verify",), ("verify", "--read-only"), ("list",), ("doctor",)):
        found = shell(*command)
        assert (found.exit_code, "stateward.db is not a regular file" in found.stderr) == (
            Exit.STORE,
            True,
        ), command


def test_a_set_of_a_former_version_has_no_hashes_of_these_files(own: Settings, place: Path) -> None:
    manifest = place / "backup.json"
    said = msgspec.json.decode(manifest.read_bytes())
    del said["files"], said["seal"]
    said["format"] = 2
    manifest.write_bytes(msgspec.json.encode(said))
    (place / "settings.yaml").write_text("data: elsewhere\n")

    assert check_set(place, own) == []


def test_a_set_that_was_rewritten_as_a_whole_does_not_fit_the_checkpoint_that_is_elsewhere(
    own: Settings, place: Path, tmp_path: Path
) -> None:
    """A set of another installation, with as many transitions, stands for one whose hashes were all made anew."""
    with App(own) as app:
        (tmp_path / "kept.txt").write_text(app.admin.verify().checkpoint, "utf-8")
    other = settings_at(tmp_path / "other")
    with App(other) as app:
        record = submitted(app, 2)
        app.run_until_idle()
        app.eraser.erase([record], actor="person:eve", reason="request 17")
        forged = backed_up(app, tmp_path / "forged")

    def restored(source: Path, to: str) -> int:
        named = ("--checkpoint", str(tmp_path / "kept.txt"))
        return int(Shell(tmp_path / to)("restore", str(source), *named).exit_code)

    assert restored(place, "good") == Exit.OK
    assert restored(tmp_path / "forged/sets" / forged.name, "bad") == Exit.FOUND_PROBLEMS
