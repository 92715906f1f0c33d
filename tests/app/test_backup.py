"""A backup set brings everything back, and says what it cannot bring."""

import os
import shutil
import subprocess
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from lab.postgres import find_programs
from stateward.app import App
from stateward.app.backup import Backup, file_digest
from stateward.app.backup_places import FolderPlace
from stateward.app.key_file import key_path
from stateward.app.restore import check_set, restore
from stateward.cli.exit_codes import Exit
from stateward.core.errors import InvalidRequest, StoreFull, StoreMismatch
from stateward.core.model import SECOND
from stateward.settings import Settings
from stateward.storage.sealing import SETTINGS, SecretKeys
from tests.app.backups import PAGE_BYTES, backed_up, rewritten, settings_at, submitted
from tests.apps import Maker
from tests.cli.shell import Shell


# The smallest piece that makes sense: a new store is smaller than one of the usual size.
def test_a_set_brings_records_documents_ledger_and_proof_back(
    own: Settings, tmp_path: Path
) -> None:
    with App(own) as app:
        ids = [submitted(app, number) for number in range(3)]
        app.run_until_idle()
        made = backed_up(app, tmp_path / "sets-of-us")
        before = [app.record(each) for each in ids]
        rows = [list(app.items(each)) for each in ids]
    assert (made.records, made.documents, made.missing) == (3, 3, ())

    elsewhere = settings_at(tmp_path / "new", f"ledger: {{mirror: {tmp_path}/new/ledger}}\n")
    found = restore(tmp_path / "sets-of-us/sets" / made.name, elsewhere)

    assert (found.documents, found.missing, found.ledger_ahead) == (3, (), 0)
    with App(elsewhere) as app:
        assert [app.record(each) for each in ids] == before
        assert [list(app.items(each)) for each in ids] == rows
        assert app.admin.verify().is_sound
        assert app.artifacts.verify(str(before[0].artifact))
        submitted(app, 9)
        app.run_until_idle()  # and it goes on from there, ledger included
        assert app.admin.compare(tmp_path / "new/ledger").is_same


@pytest.fixture
def own(tmp_path: Path) -> Settings:
    return settings_at(tmp_path / "own", f"ledger: {{mirror: {tmp_path}/own/ledger}}\n")


def test_a_second_set_copies_new_documents_only_and_old_sets_can_go(
    own: Settings, tmp_path: Path
) -> None:
    folder = tmp_path / "kept"
    with App(own) as app:
        submitted(app, 1)
        first = backed_up(app, folder)
        submitted(app, 2)
        second = backed_up(app, folder)

    assert (first.new_documents, second.new_documents) == (1, 1)
    assert [each.name for each in FolderPlace(folder).sets()] == [first.name, second.name]
    assert FolderPlace(folder).remove_old(keep=1) == [first.name]
    assert [each.name for each in FolderPlace(folder).sets()] == [second.name]
    assert len(list(folder.glob("documents/??/*"))) == 2


def test_a_set_that_holds_more_than_the_newest_one_is_not_removed(
    own: Settings, tmp_path: Path
) -> None:
    folder = tmp_path / "kept"
    with App(own) as app:
        submitted(app, 1)
        first, _ = backed_up(app, folder), submitted(app, 2)
        second, _ = backed_up(app, folder), submitted(app, 3)
        most = backed_up(app, folder)
    earlier = settings_at(tmp_path / "earlier")
    restore(folder / "sets" / second.name, earlier)
    with App(earlier) as app:
        newest = backed_up(app, folder)

    assert FolderPlace(folder).remove_old(keep=1) == [first.name, second.name]

    assert [each.name for each in FolderPlace(folder).sets()] == [most.name, newest.name]
    assert check_set(folder / "sets" / most.name, own) == []


def test_a_set_is_the_newest_one_also_by_a_clock_that_was_set_back(
    own: Settings, tmp_path: Path
) -> None:
    place = FolderPlace(tmp_path / "kept")
    with App(own) as app:
        submitted(app, 1)
        first = backed_up(app, tmp_path / "kept")
        hour_ago = app.clock() - 3600 * SECOND
        made = Backup(own, place, database=app.database, config=None, clock=lambda: hour_ago).make()

    assert place.remove_old(keep=1) == [first.name]
    assert [each.name for each in place.sets()] == [made.name]
    assert made.taken_at < first.taken_at


@pytest.mark.parametrize("name", ["documents.txt", "database.txt"])
def test_nothing_is_removed_while_a_list_of_a_set_that_stays_is_damaged(
    own: Settings, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "kept"
    with App(own) as app:
        submitted(app, 1)
        sets = [backed_up(app, folder).name for _ in range(2)]
    listing = folder / "sets" / sets[1] / name
    listing.write_bytes(b"p" + listing.read_bytes()[1:])
    before = sorted(folder.rglob("*"))

    with pytest.raises(StoreMismatch, match=f"{name} of .* is damaged: nothing is removed"):
        FolderPlace(folder).remove_old(keep=1)

    assert sorted(folder.rglob("*")) == before


def test_a_name_in_the_file_of_a_set_leads_to_no_other_folder(
    own: Settings, tmp_path: Path
) -> None:
    folder, other = tmp_path / "kept", tmp_path / "other"
    other.mkdir()
    with App(own) as app:
        first, second = (backed_up(app, folder) for _ in range(2))
    rewritten(folder / "sets" / first.name, name="../../other")

    assert FolderPlace(folder).remove_old(keep=1) == [first.name]

    assert [each.name for each in (folder / "sets").iterdir()] == [second.name]
    assert other.is_dir()


def test_a_second_set_shares_the_pieces_of_the_database_that_did_not_change(
    own: Settings, tmp_path: Path
) -> None:
    folder = tmp_path / "kept"
    with App(own) as app:
        submitted(app, 1)
        first = backed_up(app, folder, piece_bytes=PAGE_BYTES)
        same = backed_up(app, folder, piece_bytes=PAGE_BYTES)
        submitted(app, 2)
        third = backed_up(app, folder, piece_bytes=PAGE_BYTES)

    assert ((first.database_new_bytes or 0) > 0, same.database_new_bytes) == (True, 0)
    assert 0 < (third.database_new_bytes or 0) < third.database_bytes / 2
    FolderPlace(folder).remove_old(keep=1)
    names = (folder / "sets" / third.name / "database.txt").read_text().split()
    assert {each.name for each in folder.glob("database/??/*")} == set(names)
    # Without this program: the pieces one after the other are the database.
    whole = b"".join((folder / "database" / each[:2] / each).read_bytes() for each in names)
    new = settings_at(tmp_path / "new")
    assert restore(folder / "sets" / third.name, new).set == third
    assert (new.data_path / "stateward.db").read_bytes()[100:] == whole[100:]  # opened since
    with App(new) as app:
        assert (app.admin.verify().records, app.admin.verify().is_sound) == (2, True)


def test_a_piece_of_the_database_that_is_damaged_or_missing_is_named_and_nothing_is_restored(
    own: Settings, tmp_path: Path
) -> None:
    folder = tmp_path / "kept"
    with App(own) as app:
        submitted(app, 1)
        made = backed_up(app, folder, piece_bytes=PAGE_BYTES)
    place, new = folder / "sets" / made.name, settings_at(tmp_path / "new")
    shell = Shell(tmp_path / "own/data")
    assert shell("backup", str(folder), "--check").exit_code == Exit.OK
    piece = (place / "database.txt").read_text().split()[-1]
    file = folder / "database" / piece[:2] / piece
    file.chmod(0o600)
    file.write_bytes(file.read_bytes()[:-1] + b"x")

    told = shell("backup", str(folder), "--check")
    assert told.exit_code == Exit.FOUND_PROBLEMS
    assert told.stdout == f"damaged: database/{piece[:2]}/{piece}\n"
    with pytest.raises(StoreMismatch, match=f"{piece} in .* is not what was backed up"):
        restore(place, new)
    file.unlink()
    with pytest.raises(StoreMismatch, match=f"{piece} in .* is missing; try another set"):
        restore(place, new)

    assert [each for each in new.data_path.rglob("*") if each.is_file()] == []
    with App(own) as app:  # the next set has it again
        restore(folder / "sets" / backed_up(app, folder, piece_bytes=PAGE_BYTES).name, new)


@pytest.mark.parametrize("listing", ["database.txt", "documents.txt"])
def test_a_list_that_is_damaged_or_missing_is_named_by_the_check_and_refused_by_a_restore(
    own: Settings, tmp_path: Path, listing: str
) -> None:
    folder = tmp_path / "kept"
    with App(own) as app:
        submitted(app, 1)
        made = backed_up(app, folder)
    file = folder / "sets" / made.name / listing
    sound = file.read_bytes()
    flipped, wrong = bytes([sound[0] ^ 0x80]) + sound[1:], b"g" + sound[1:]
    for content in (flipped, wrong, None):
        file.unlink() if content is None else file.write_bytes(content)

        assert check_set(file.parent, own) == [f"sets/{made.name}/{listing}"]

        with pytest.raises(StoreMismatch, match=f"{listing} is not the file that was backed up"):
            restore(file.parent, settings_at(tmp_path / "new"))
    file.mkdir()  # reading it is an error of the file system
    assert check_set(file.parent, own) == [f"sets/{made.name}/{listing}"]


def test_the_check_names_an_empty_document_that_is_missing(own: Settings, tmp_path: Path) -> None:
    with App(own) as app:
        made = backed_up(app, tmp_path / "kept")
    place, empty = tmp_path / "kept/sets" / made.name, sha256().hexdigest()
    (place / "documents.txt").write_text(f"{empty}\n")
    digest = file_digest(place / "documents.txt")
    rewritten(place, documents_sha256=digest)

    assert check_set(place, own) == [f"documents/{empty[:2]}/{empty}"]


def test_what_a_backup_that_was_cut_off_left_in_the_place_is_removed_by_the_next(
    own: Settings, tmp_path: Path
) -> None:
    folder = tmp_path / "kept"
    left = [folder / pool / "incoming" / "5f" for pool in ("documents", "database")]
    for each in left:
        each.parent.mkdir(parents=True)
        each.write_bytes(b"half of a document")

    with App(own) as app:
        backed_up(app, folder)

    assert [each for each in left if each.exists()] == []


def test_a_set_of_the_former_format_whose_database_is_one_file_is_restored(
    own: Settings, tmp_path: Path
) -> None:
    with App(own) as app:
        submitted(app, 1)
        made = backed_up(app, tmp_path / "kept")
    place = tmp_path / "kept/sets" / made.name
    names = (place / "database.txt").read_text().split()
    pieces = [(tmp_path / "kept/database" / each[:2] / each).read_bytes() for each in names]
    (place / "stateward.db").write_bytes(b"".join(pieces))
    digest = file_digest(place / "stateward.db")
    said = msgspec.json.decode((place / "backup.json").read_bytes())
    del said["database_new_bytes"]
    del said["seal"]
    (place / "backup.json").write_bytes(
        msgspec.json.encode({**said, "format": 1, "database_sha256": digest})
    )
    (place / "database.txt").unlink()
    shutil.rmtree(tmp_path / "kept/database")

    restore(place, settings_at(tmp_path / "new"))

    with App(settings_at(tmp_path / "new")) as app:
        assert app.admin.verify().records == 1
    (place / "stateward.db").write_bytes(b"".join(pieces) + b"x")
    with pytest.raises(StoreMismatch, match="its hash is another"):
        restore(place, settings_at(tmp_path / "2"))


def test_a_set_is_private_and_nothing_unfinished_counts(own: Settings, tmp_path: Path) -> None:
    folder = tmp_path / "private"
    with App(own) as app:
        submitted(app, 1)
        (folder / "sets/.unfinished-20200101T000000Z").mkdir(parents=True)
        (folder / "sets/20200101T000000Z").mkdir()  # a set without its list
        made = backed_up(app, folder, tmp_path / "own/settings.yaml")

    place = folder / "sets" / made.name
    assert [each.name for each in FolderPlace(folder).sets()] == [made.name]
    assert not list((folder / "sets").glob(".unfinished*"))
    assert (place / "settings.yaml").read_text() == (tmp_path / "own/settings.yaml").read_text()
    modes = {each.stat().st_mode & 0o077 for each in (place, *place.iterdir())}
    assert modes - {0o040, 0o055} == {0}  # the copied ledger has its own


def test_a_new_place_of_backups_and_its_documents_are_for_their_owner_alone(
    own: Settings, tmp_path: Path
) -> None:
    folder = tmp_path / "backups"
    with App(own) as app:
        submitted(app, 1)
        backed_up(app, folder, tmp_path / "own/settings.yaml")

    found = [folder, *(folder / "documents").rglob("*"), *(folder / "database").rglob("*")]
    assert len(found) >= 5  # a folder by the first digits of the hash, and the document in it
    assert [each for each in found if each.stat().st_mode & 0o077] == []


def test_a_document_that_is_gone_or_changed_is_named_and_never_copied(
    own: Settings, tmp_path: Path
) -> None:
    with App(own) as app:
        gone, changed = (app.record(submitted(app, number)).artifact for number in (1, 2))
        app.artifacts.path(str(gone)).unlink()
        path = app.artifacts.path(str(changed))
        path.chmod(0o600)
        path.write_bytes(b"something else")
        made = backed_up(app, tmp_path / "with-gaps")

    assert sorted(made.missing) == sorted([str(gone), str(changed)])
    found = restore(tmp_path / "with-gaps/sets" / made.name, settings_at(tmp_path / "new"))
    assert sorted(found.missing) == sorted(made.missing)


def test_a_store_is_never_overwritten_and_a_changed_set_is_refused(
    own: Settings, tmp_path: Path
) -> None:
    with App(own) as app:
        submitted(app, 1)
        made = backed_up(app, tmp_path / "sound")
    place = tmp_path / "sound/sets" / made.name

    with pytest.raises(InvalidRequest, match="there is a store at"):
        restore(place, own)
    with (place / "database.txt").open("ab") as file:
        file.write(b"x")
    with pytest.raises(StoreMismatch, match="its hash is another"):
        restore(place, settings_at(tmp_path / "new"))
    assert not (tmp_path / "new/data").exists()
    with pytest.raises(InvalidRequest, match=f"name one as {place}"):
        restore(tmp_path / "sound", settings_at(tmp_path / "new"))
    with pytest.raises(InvalidRequest, match="is no complete backup set"):
        restore(tmp_path / "sound/sets/other", settings_at(tmp_path / "new"))


def test_a_set_is_named_from_within_its_place(
    own: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with App(own) as app:
        submitted(app, 1)
        made = backed_up(app, tmp_path / "sound")
    monkeypatch.chdir(tmp_path / "sound")

    found = restore(Path("sets") / made.name, settings_at(tmp_path / "new"))

    assert found.documents == 1


def test_a_backup_that_fails_leaves_its_space_free(
    own: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise StoreFull("the disk is full")

    monkeypatch.setattr(FolderPlace, "put", refuse)
    with App(own) as app:
        submitted(app, 1)
        with pytest.raises(StoreFull):
            backed_up(app, tmp_path / "place")

    assert list((tmp_path / "place/sets").iterdir()) == []


def test_a_first_set_needs_no_more_space_than_the_database(
    own: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, place = FolderPlace.put, tmp_path / "place"
    used: list[int] = []

    def measure(own: FolderPlace, listing: str, digest: str, pieces: Iterable[bytes]) -> int | None:
        used.append(sum(each.stat().st_size for each in place.rglob("*") if each.is_file()))
        return put(own, listing, digest, pieces)

    monkeypatch.setattr(FolderPlace, "put", measure)
    with App(own) as app:
        submitted(app, 1)
        made = backed_up(app, place, piece_bytes=PAGE_BYTES)

    listings = 2 * 65 * (made.database_bytes // PAGE_BYTES)
    assert max(used) < made.database_bytes + listings + 2 * PAGE_BYTES


def test_a_folder_inside_the_data_folder_is_refused(own: Settings, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(own.data_path)
    with App(own) as app:
        for folder in (own.data_path, tmp_path / "link", own.data_path / ".." / own.data_path.name):
            with pytest.raises(InvalidRequest, match="inside the data folder"):
                backed_up(app, folder / "backup")


def test_a_restore_that_was_cut_short_can_be_given_again(
    own: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with App(own) as app:
        for number in range(3):
            submitted(app, number)
        made = backed_up(app, tmp_path / "sound")
    place = tmp_path / "sound/sets" / made.name
    new = settings_at(tmp_path / "new")

    def cut(*_: object) -> None:
        raise OSError("the power went")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", cut)
        with pytest.raises(Exception, match="the power went"):
            restore(place, new)
    assert restore(place, new).missing == ()
    with App(new) as app:
        assert app.admin.verify().records == 3


def use_programs_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """`pg_dump` must not be older than the server, which the tests take from the same place."""
    own = find_programs(Path(), None)
    monkeypatch.setenv("PATH", f"{own}:{os.environ['PATH']}")


@pytest.mark.parametrize("store_url", ["postgres"], indirect=True)
def test_programs_of_postgresql_are_given_the_password_that_was_sealed(
    make_app: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app()
    use_programs_of_the_server(monkeypatch)
    plain = app.settings.store.url
    sealed = SecretKeys(key_path(app.settings)).seal("s3cret", purpose=SETTINGS)
    login, rest = plain.removeprefix("postgresql://").split("@", 1)
    store = replace(app.settings.store, url=f"postgresql://{login}:{sealed}@{rest}")
    given: list[str | None] = []

    def run(command: list[str], **how: Any) -> subprocess.CompletedProcess[str]:  # noqa: ANN401 - its own words
        given.append(how["env"].get("PGPASSWORD"))
        return ran(command, **how)

    ran = subprocess.run
    monkeypatch.setattr(subprocess, "run", run)
    with App(replace(app.settings, store=store)) as own:
        made = backed_up(own, tmp_path / "dumps")
    app.database.run("DROP SCHEMA stateward CASCADE")
    app.close()
    restore(tmp_path / "dumps/sets" / made.name, replace(app.settings, store=store))

    assert given == ["s3cret", "s3cret"]


@pytest.mark.parametrize("store_url", ["postgres"], indirect=True)
def test_postgresql_is_dumped_and_refuses_to_be_overwritten(
    make_app: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app()
    use_programs_of_the_server(monkeypatch)
    submitted(app, 1)
    app.run_until_idle()

    made = backed_up(app, tmp_path / "dumps")

    place = tmp_path / "dumps/sets" / made.name
    assert (made.engine, made.records, made.documents) == ("postgresql", 1, 1)
    assert (place / "stateward.pgdump").stat().st_size > 1000
    documents = replace(app.settings, data=str(tmp_path / "refused"))
    with pytest.raises(InvalidRequest, match="the database holds a store"):
        restore(place, documents)
    assert not (tmp_path / "refused").exists()
    app.database.run("DROP SCHEMA stateward CASCADE")
    app.close()

    found = restore(place, app.settings)

    assert (found.documents, found.missing) == (1, ())
    back = make_app()
    assert back.admin.verify().is_sound
    submitted(back, 2)
    back.run_until_idle()
    assert back.admin.verify().records == 2


@pytest.mark.parametrize("word", ["list", "check"])
def test_the_name_of_an_option_is_no_new_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    monkeypatch.chdir(tmp_path)
    shell = Shell(tmp_path / "data")

    refused = shell("backup", word)

    assert refused.exit_code == Exit.USAGE
    assert f"stateward backup DIR --{word}" in refused.stderr
    assert not (tmp_path / word).exists()
    assert shell("backup", f"./{word}").exit_code == 0
