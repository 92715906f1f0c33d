"""Backup sets in object storage: the same as in a folder, and none that only claims to be whole."""

import os
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from lab.s3 import ENVIRONMENT, S3Server
from stateward.app import App
from stateward.app.anchors import hand_over
from stateward.app.backup import Backup
from stateward.app.backup_places import BackupSet, decode_set, encode_set, place_at
from stateward.app.backup_schedule import due_in_s, make_scheduled
from stateward.app.known_elsewhere import compare_elsewhere
from stateward.app.restore import restore
from stateward.blobs.objects import ObjectStorage
from stateward.core.errors import ArtifactsUnreachable, InvalidRequest, StoreMismatch
from stateward.settings import Settings
from tests.blobs.test_moto import endpoint as endpoint
from tests.blobs.test_moto import made_bucket

URL = "s3://safe/of/us"
BUCKET = "safe"
STEPS_MAX = 10


@pytest.fixture
def s3() -> Iterator[S3Server]:
    with S3Server(BUCKET) as server, patch.dict(os.environ, ENVIRONMENT):
        yield server


def settings_at(folder: Path, endpoint: str, text: str = "") -> Settings:
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "settings.yaml"
    config.write_text(f"data: {folder}/data\nartifacts: {{endpoint: '{endpoint}'}}\n{text}")
    return Settings.load(config, environ={})


def backed_up(app: App, url: str = URL) -> BackupSet:
    place = place_at(url, app.settings)
    config = app.settings.data_path.parent / "settings.yaml"
    return Backup(app.settings, place, database=app.database, config=config, clock=app.clock).make()


def submitted(app: App, number: int) -> str:
    return app.submit(f"Date;Amount\n2026-01-06;{number},00\n".encode()).record.id


def test_a_bucket_that_does_not_exist_is_said_to_be_missing(s3: S3Server, tmp_path: Path) -> None:
    own = settings_at(tmp_path / "own", s3.endpoint)

    with App(own) as app, pytest.raises(ArtifactsUnreachable) as refused:
        backed_up(app, "s3://none-such/of/us")

    assert "s3://none-such/of/us cannot be used: there is no such bucket" in str(refused.value)


def test_sets_in_a_bucket_come_back_go_and_are_never_half_there(
    s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = settings_at(tmp_path / "own", s3.endpoint)
    objects = s3.objects[BUCKET]
    with App(own) as app:
        ids = [submitted(app, 1)]
        first = backed_up(app)
        ids.append(submitted(app, 2))
        second = _made_after_cuts(app, monkeypatch)
        place = place_at(URL, own)
        assert [each.name for each in place.sets()] == [first.name, second.name]
        assert (first.new_documents, second.documents, second.missing) == (1, 2, ())
        assert not list(own.data_path.glob(".backup-set-*"))

        assert place.remove_old(keep=1) == [first.name]
        with pytest.raises(InvalidRequest, match="no complete backup set"):
            restore(f"{URL}/sets/{first.name}", settings_at(tmp_path / "2", s3.endpoint))
        before = [app.record(each) for each in ids]

    new = settings_at(tmp_path / "new", s3.endpoint)
    assert restore(f"{URL}/sets/{second.name}", new).missing == ()
    with App(new) as app:
        assert [app.record(each) for each in ids] == before
        assert app.admin.verify().is_sound
        assert app.admin.verify_documents() == []
    (name,) = (key for key in objects if key.startswith("of/us/database/"))
    objects[name] += b"!"
    with pytest.raises(StoreMismatch, match="its hash is another"):
        restore(f"{URL}/sets/{second.name}", settings_at(tmp_path / "3", s3.endpoint))


def test_a_name_in_the_object_of_a_set_leads_to_no_other_set(s3: S3Server, tmp_path: Path) -> None:
    own = settings_at(tmp_path / "own", s3.endpoint)
    with App(own) as app:
        first, second = (backed_up(app) for _ in range(2))
    name, objects = f"of/us/sets/{first.name}/backup.json", s3.objects[BUCKET]
    objects[name] = encode_set(replace(decode_set(objects[name], ""), name=second.name))

    assert place_at(URL, own).remove_old(keep=1) == [first.name]

    assert [each.name for each in place_at(URL, own).sets()] == [second.name]


def test_a_damaged_list_in_a_bucket_removes_nothing_and_a_name_of_it_leads_out_of_no_folder(
    s3: S3Server, tmp_path: Path
) -> None:
    own, objects = settings_at(tmp_path / "own", s3.endpoint), s3.objects[BUCKET]
    with App(own) as app:
        gone = submitted(app, 1)
        backed_up(app)
        app.run_until_idle()
        app.eraser.erase([gone], actor="person:ann", reason="request 17")
        submitted(app, 2)
        second = backed_up(app)
    assert gone.encode() in place_at(URL, own).erased(second.name)  # what an older set brings back
    for listing in ("documents.txt", "database.txt"):
        name = f"of/us/sets/{second.name}/{listing}"
        whole, before = objects[name], set(objects)
        objects[name] = b""
        with pytest.raises(StoreMismatch, match=f"{listing} of .* is damaged: nothing is removed"):
            place_at(URL, own).remove_old(keep=1)
        assert set(objects) == before
        objects[name] = whole

    for name in ("../../../out", f"/{tmp_path}/out"):
        objects[f"of/us/sets/{second.name}/{name}"] = b"out"
        with pytest.raises(ArtifactsUnreachable, match="invalid path"):
            restore(f"{URL}/sets/{second.name}", settings_at(tmp_path / "new", s3.endpoint))
        del objects[f"of/us/sets/{second.name}/{name}"]

    assert not list(tmp_path.rglob("out"))


def test_checkpoints_in_a_bucket_say_what_is_missing(s3: S3Server, tmp_path: Path) -> None:
    text = f"profile: business\nbackup: {{folder: '{URL}'}}\n"
    own = settings_at(tmp_path / "own", s3.endpoint, text)
    with App(own) as app:
        submitted(app, 1)
        made = backed_up(app)
        for number in (2, 3):
            submitted(app, number)
            assert hand_over(app) == {}
    s3.objects[BUCKET]["of/us/checkpoints/notes-99-00000000.txt"] = b"no checkpoint"

    found = restore(f"{URL}/sets/{made.name}", settings_at(tmp_path / "new", s3.endpoint))

    assert found.checkpoint_ahead == 2
    assert (found.checkpoint or "").startswith(f"{URL}/checkpoints/checkpoint-stateward.local-")
    del s3.objects[BUCKET]
    away = compare_elsewhere(own)
    assert (away.is_behind, len(away.unread)) == (True, 1)


def _made_after_cuts(app: App, monkeypatch: pytest.MonkeyPatch) -> BackupSet:
    """A set, after tries that were cut off one request later each: as a kill would, what was sent stays there."""
    place = place_at(URL, app.settings)
    before, send = place.sets(), ObjectStorage._send
    for steps in range(STEPS_MAX):
        left = [steps]

        def cut(
            own: ObjectStorage, path: Path, key: str, *, size: int, left: list[int] = left
        ) -> bool:
            left[0] -= 1
            if left[0] < 0:
                raise ArtifactsUnreachable("cut off")
            return send(own, path, key, size=size)

        monkeypatch.setattr(ObjectStorage, "_send", cut)
        try:
            made = backed_up(app)
        except ArtifactsUnreachable:
            assert place.sets() == before
            continue
        assert steps > 3  # list, document, database and settings came before the last file
        return made
    raise AssertionError("it never came to an end")


def test_the_schedule_knows_a_bucket(s3: S3Server, tmp_path: Path) -> None:
    own = settings_at(tmp_path / "own", s3.endpoint, f"backup: {{folder: '{URL}', keep: 1}}\n")
    with App(own) as app:
        submitted(app, 1)
        for _ in range(2):
            make_scheduled(own, None, clock=app.clock)
        assert due_in_s(own, now=app.clock()) > 0

    assert len(place_at(URL, own).sets()) == 1
    with pytest.raises(InvalidRequest, match="is no place for backups"):
        place_at("ftp://host/x", own)
    with pytest.raises(InvalidRequest, match="is no backup set"):
        restore(URL, settings_at(tmp_path / "new", s3.endpoint))


@pytest.mark.long
def test_the_same_in_a_server_that_others_wrote(endpoint: str, tmp_path: Path) -> None:
    url = f"s3://{made_bucket(endpoint)}/of/us"
    own = settings_at(tmp_path / "own", endpoint)
    with App(own) as app:
        ids = [submitted(app, 1)]
        first = backed_up(app, url)
        ids.append(submitted(app, 2))
        second = backed_up(app, url)
    assert (first.new_documents, second.new_documents) == (1, 1)
    place = place_at(url, own)
    assert place.remove_old(keep=1) == [first.name]

    new = settings_at(tmp_path / "new", endpoint)
    assert restore(f"{url}/sets/{second.name}", new).missing == ()
    with App(new) as app:
        assert {app.record(each).id for each in ids} == set(ids)
        assert app.admin.verify_documents() == []
