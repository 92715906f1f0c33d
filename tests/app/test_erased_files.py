"""Files of erased records go after the transaction, also if something comes between, and one that stays stops none."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stateward.app import App
from stateward.app.doctor import checks
from stateward.cli.up import chores
from stateward.core.errors import ArtifactError, ArtifactsUnreachable
from stateward.engine import erasure
from stateward.engine.erasure import Eraser, Removed
from stateward.settings import Settings
from tests.app.erasing import ANNA, submitted
from tests.apps import Maker
from tests.waiting import wait_until


@pytest.fixture
def own(tmp_path: Path) -> Iterator[App]:
    """An app on files of its own."""
    config = tmp_path / "settings.yaml"
    config.write_text(f"data: {tmp_path}/data\n")
    with App(Settings.load(config, environ={})) as app:
        yield app


def doctor_says(app: App, name: str) -> str:
    return "; ".join(each.sentence for each in checks(app) if each.name == name)


@pytest.mark.parametrize("store_url", ["postgres"], indirect=True)
def test_no_one_waits_for_an_erasure_while_it_waits_for_a_bucket(
    make_app: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, other = make_app(""), make_app("")
    record = submitted(app)
    removed: list[str] = []

    def remove(digest: str) -> bool:
        for table in ("followers", "audit_head", "lanes", "records"):
            assert other.database.rows(f"SELECT 1 FROM {table} FOR UPDATE NOWAIT")  # noqa: S608
        removed.append(digest)
        return True

    monkeypatch.setattr(app.artifacts, "remove", remove)

    app.eraser.erase([record.id], actor=ANNA, reason="request 17")

    assert record.artifact in removed


def test_a_file_that_could_not_be_deleted_is_deleted_later(
    own: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = submitted(own)

    def refuse(digest: str) -> bool:
        raise ArtifactError("it must not be deleted")

    with monkeypatch.context() as patched:
        patched.setattr(own.artifacts, "remove", refuse)
        done = own.eraser.erase([record.id], actor=ANNA, reason="request 17")
    assert (done.erased, done.documents) == ((record.id,), 0)
    assert done.left == {record.id: "it must not be deleted"}
    assert own.record(record.id).rest == "erased"
    assert own.artifacts.holds(str(record.artifact))
    assert "1 file of erased records could not" in doctor_says(own, "erasure")

    assert own.eraser.remove_erased().files == 0  # not every minute
    assert own.eraser.sweep().files == 1

    assert not own.artifacts.holds(str(record.artifact))
    assert own.database.rows("SELECT * FROM announced_files") == []


def test_a_file_that_can_never_be_deleted_keeps_no_other_one(
    own: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = sorted(
        (submitted(own, each) for each in (1, 2)), key=lambda it: str(it.artifact)
    )
    kept, remove = first.artifact, own.artifacts.remove

    def refuse(digest: str) -> bool:
        if digest == kept:
            raise ArtifactError("it must not be deleted")
        return remove(digest)

    monkeypatch.setattr(own.artifacts, "remove", refuse)
    assert own.eraser.erase([first.id], actor=ANNA, reason="request 17").left

    done = own.eraser.erase([second.id], actor=ANNA, reason="request 18")

    assert done.documents == 1
    assert not own.artifacts.holds(str(second.artifact))
    assert own.database.rows("SELECT sha256, record_id FROM announced_files") == [(kept, first.id)]


def test_a_file_that_an_attempt_of_another_record_announced_stays(own: App) -> None:
    first, second = (submitted(own, each) for each in (1, 2))
    shared = str(first.artifact)
    own.outputs.announce_files(second.id, [shared], at=own.clock())

    done = own.eraser.erase([first.id], actor=ANNA, reason="request 17")

    assert done.documents == 0
    assert own.artifacts.holds(shared)


def test_what_a_crash_left_of_an_erasure_is_deleted_by_the_service_that_starts(
    own: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = submitted(own)

    def die(digest: str) -> bool:
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr(own.artifacts, "remove", die)
        with pytest.raises(SystemExit):
            own.eraser.erase([record.id], actor=ANNA, reason="request 17")
    assert own.artifacts.holds(str(record.artifact))

    with chores(own.settings, ["coordinator"], is_remote=False):
        wait_until(lambda: not own.artifacts.holds(str(record.artifact)))

    assert own.database.rows("SELECT * FROM announced_files") == []


def test_a_bucket_that_does_not_answer_keeps_no_writer_waiting(
    own: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = submitted(own)
    asked: list[str] = []

    def time_out(digest: str) -> bool:
        with App(own.settings) as other, other.store.transaction():
            other.database.run("UPDATE followers SET seq = seq")
        asked.append(digest)
        raise ArtifactsUnreachable("no answer")

    for name in ("holds", "remove"):
        monkeypatch.setattr(own.artifacts, name, time_out)

    done = own.eraser.erase([record.id], actor=ANNA, reason="request 17")

    assert done.left == {record.id: "no answer"}
    assert asked == [record.artifact]


def test_records_are_erased_while_a_bucket_does_not_answer_and_their_files_when_it_does(
    own: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [submitted(own, each) for each in (1, 2)]
    asked: list[str] = []

    def time_out(digest: str) -> bool:
        asked.append(digest)
        raise ArtifactsUnreachable("no answer")

    monkeypatch.setattr(erasure, "BATCH_MAX", 1)
    with monkeypatch.context() as patched:
        patched.setattr(own.artifacts, "remove", time_out)
        ids = [each.id for each in records]
        done = own.eraser.erase(ids, actor=ANNA, reason="request 17")

    assert (done.erased, done.documents, len(asked)) == (tuple(ids), 0, 1)
    assert done.left == dict.fromkeys(ids, "no answer")
    assert own.eraser.remove_erased().files == 2


def test_documents_that_the_service_deletes_at_the_same_moment_are_counted(
    own: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = submitted(own)
    remove_erased = Eraser.remove_erased

    def late(eraser: Eraser) -> Removed:
        remove_erased(eraser)
        return remove_erased(eraser)

    monkeypatch.setattr(Eraser, "remove_erased", late)

    done = own.eraser.erase([record.id], actor=ANNA, reason="request 17")

    assert (done.documents, done.left) == (1, {})
