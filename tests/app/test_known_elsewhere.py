"""After a restore: what is known elsewhere and missing here is named, with the way on."""

import shutil
from pathlib import Path

import pytest

from lab.s3 import ENVIRONMENT, S3Server
from stateward.app import App
from stateward.app.anchors import hand_over
from stateward.app.known_elsewhere import Elsewhere, compare_elsewhere, way_on
from stateward.app.restore import restore
from stateward.cli.exit_codes import Exit
from stateward.core.errors import InvalidRequest
from stateward.ledger import parse_verifier
from stateward.notifications.email import EmailAddresses, compose_plain
from stateward.settings import Settings
from tests.app.backups import backed_up, settings_at, submitted
from tests.cli.shell import Shell


@pytest.fixture
def own(tmp_path: Path) -> Settings:
    return settings_at(tmp_path / "own", f"ledger: {{mirror: {tmp_path}/own/ledger}}\n")


def test_what_came_after_the_set_is_named(tmp_path: Path) -> None:
    text = f"ledger: {{mirror: {tmp_path}/own/ledger}}\nanchors: {{destinations: [elsewhere]}}\n"
    own = settings_at(tmp_path / "own", text)
    (tmp_path / "own/elsewhere").mkdir()
    (tmp_path / "own/elsewhere/notes.txt").write_text("no checkpoint")
    with App(own) as app:
        submitted(app, 1)
        app.run_until_idle()
        made = backed_up(app, tmp_path / "older")
        late = app.record(submitted(app, 2))
        app.run_until_idle()
        assert hand_over(app) == {}
        moved = len(app.store.history(late.id))
    database = own.store_path
    assert database is not None
    for file in database.parent.glob("stateward.db*"):
        shutil.rmtree(file) if file.is_dir() else file.unlink()

    found = restore(tmp_path / "older/sets" / made.name, own)

    assert found.unknown_documents == (late.artifact,)
    assert found.ledger_ahead > 0
    assert found.ledger_records == (late.id,)
    assert (found.checkpoint or "").startswith(str(tmp_path / "own/elsewhere/checkpoint-"))
    assert found.checkpoint_ahead == moved
    steps = way_on(found, own, place="PLACE")
    assert [step.partition(":")[0] for step in steps] == [
        "look at what only the ledger knows",
        "submit the documents again that no record names, if they were not refused",
        "name a new folder in ledger.mirror",
        "tell those who have later checkpoints that the history was brought back to an earlier moment",
        "back up from here",
    ]
    path = Path(steps[1].rpartition(" ")[2])
    with App(own) as app:  # the way that is named leads on
        assert app.submit(path).record.artifact == late.artifact


def test_a_checkpoint_that_covers_only_more_acts_is_no_forgery_of_an_older_set(
    tmp_path: Path,
) -> None:
    text = f"profile: business\nbackup: {{folder: {tmp_path}/safe}}\n"
    own = settings_at(tmp_path / "own", text)
    with App(own) as app:
        record_id = submitted(app, 1)
        made = backed_up(app, tmp_path / "safe")
        app.eraser.hold(record_id, actor="person:ann", reason="case 12")  # moves no record
        assert hand_over(app) == {}
    new = settings_at(tmp_path / "new", text)

    found = restore(tmp_path / "safe" / "sets" / made.name, new)

    assert (found.checkpoint_ahead, found.acts_ahead > 0, found.is_behind) == (0, True, True)
    assert found.checkpoint_here is None


def test_backups_are_an_anchor_and_say_what_an_older_set_lacks(tmp_path: Path) -> None:
    text = f"profile: business\nbackup: {{folder: {tmp_path}/safe}}\n"
    own = settings_at(tmp_path / "own", text)
    with App(own) as app:
        submitted(app, 1)
        older = backed_up(app, tmp_path / "safe")
        submitted(app, 2)
        newer = backed_up(app, tmp_path / "safe")
        submitted(app, 3)
        assert hand_over(app) == {}
        last = app.admin.checkpoint()
        submitted(app, 4)
        mail = compose_plain(
            EmailAddresses(sender="a@example.org", recipient="b@example.org"),
            subject="checkpoint",
            text=app.admin.checkpoint(),
            now=app.clock(),
        )
    (tmp_path / "mail.eml").write_bytes(bytes(mail))
    (handed,) = (tmp_path / "safe/checkpoints").iterdir()
    assert parse_verifier((own.data_path / "signing.key.pub").read_text().strip()).has_signed(last)

    new = settings_at(tmp_path / "new")
    place = tmp_path / "safe/sets" / older.name
    with pytest.raises(InvalidRequest):
        restore(place, new, checkpoints=[tmp_path / "own/settings.yaml"])
    assert new.store_path is not None
    assert not new.store_path.exists()
    found = restore(place, new)
    assert (found.newer_sets, found.checkpoint) == ((newer.name,), str(handed))
    assert found.checkpoint_ahead == 2
    assert way_on(found, new, place="P")[0].endswith(f"restore P/sets/{newer.name}")

    mailed = compare_elsewhere(new, checkpoints=[tmp_path / "mail.eml"])
    assert (mailed.checkpoint, mailed.checkpoint_ahead) == (str(tmp_path / "mail.eml"), 3)
    shell = Shell(tmp_path / "new/data")
    assert shell("restore", "--compare").exit_code == Exit.OK
    told = shell("restore", "--compare", "--checkpoint", str(tmp_path / "mail.eml"))
    assert (told.exit_code, "covers 3 transitions" in told.stdout) == (Exit.FOUND_PROBLEMS, True)
    assert "  1. tell those who have later checkpoints" in told.stderr
    assert shell("restore").exit_code == Exit.USAGE
    assert Shell(tmp_path / "none")("restore", "--compare").exit_code == Exit.REFUSED
    assert not (tmp_path / "none").exists()


def test_what_was_erased_since_does_not_come_back_in_silence(own: Settings, tmp_path: Path) -> None:
    with App(own) as app:
        ids = [submitted(app, number) for number in range(2)]
        older = backed_up(app, tmp_path / "safe")
        for each in ids:
            app.actions.act("cancel", each, actor="person:ann", reason=None)
        app.eraser.erase(ids, actor="person:ann", reason="request 17")
        backed_up(app, tmp_path / "safe")

    new = settings_at(tmp_path / "new")
    found = restore(tmp_path / "safe/sets" / older.name, new)

    assert found.erased_since == tuple(
        f"{each} contents,documents,items,logs" for each in sorted(ids)
    )
    steps = [each for each in way_on(found, new, place="P") if each.startswith("erase again")]
    assert f"stateward erase {' '.join(sorted(ids))} " in steps[0]


def test_a_document_without_a_record_is_named_and_no_proof_that_something_is_missing(
    tmp_path: Path,
) -> None:
    """It may be the only trace of what came after the set, or of a submission that was refused."""
    own = settings_at(tmp_path / "own")
    with App(own) as app:
        submitted(app, 1)
        late = app.artifacts.put([b"came later"], bytes_max=100)

    found = compare_elsewhere(own)
    done = Shell(own.data_path)("restore", "--compare")

    assert found == Elsewhere(unknown_documents=(late.sha256,))
    assert done.exit_code == Exit.OK
    assert "1 document without a record here, which came later or were refused" in done.stdout
    assert late.sha256 in done.stdout
    assert "nothing is known elsewhere" not in done.stdout + done.stderr


def test_the_way_on_names_an_object_as_one_that_is_fetched_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    with S3Server("documents") as server:
        place = f"{{url: 's3://documents/ours', endpoint: '{server.endpoint}'}}"
        own = settings_at(tmp_path / "own", f"artifacts: {place}\n")
        with App(own) as app:
            app.artifacts.put([b"came later"], bytes_max=100)
        (key,) = server.objects["documents"]

        first, _ = way_on(compare_elsewhere(own), own, place="PLACE")

    assert f"fetch s3://documents/{key} into a file" in first
    assert first.endswith("stateward submit FILE")
