"""Derived files from the stage that saves them to all who read them, on each kind of database."""

import os
import signal
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from stateward.app import App
from stateward.core.errors import DeclarationError
from stateward.settings import Settings
from tests.apps import Maker, on_postgres_if_long

PIPELINE = f"pipelines: ['{Path(__file__).with_name('pictures.py')}']\n"
SMALL = b"\x89PNG\r\n\x1a\nthe document"
FRAMED = b"framed " + SMALL


def names(app: App, record_id: str) -> list[str]:
    return [each.path for each in app.records.files(app.record(record_id))]


@on_postgres_if_long
def test_files_go_from_stage_to_stage_in_children_and_inline(make_app: Maker) -> None:
    app = make_app(PIPELINE)
    record = app.submit(b"the document", machine="pictures").record
    app.run_until_idle()

    assert app.record(record.id).status == "done"
    assert names(app, record.id) == ["shrink/small.png", "shrink/page.html", "frame/framed.bin"]
    checked = list(app.items(record.id, "check"))
    assert checked == [{"sha256": [sha256(each).hexdigest() for each in (SMALL, FRAMED)]}]


@on_postgres_if_long
def test_a_record_says_which_files_it_has_and_exposes_a_reference(make_app: Maker) -> None:
    app = make_app(PIPELINE)
    record = app.submit(b"the document", machine="pictures").record
    app.run_until_idle()

    view = app.records.view(app.record(record.id))

    small = view.files[0]
    assert view.exposed == {"thumbnail_ref": f"sha256:{sha256(SMALL).hexdigest()}"}
    assert small.reference == view.exposed["thumbnail_ref"]
    assert (small.stage, small.name, small.media_type) == ("shrink", "small.png", "image/png")
    assert (small.size, small.attempt) == (len(SMALL), 1)
    assert small.url == f"/records/{record.id}/files/shrink/small.png"
    assert app.artifacts.path(small.sha256).read_bytes() == SMALL


def test_files_of_a_failed_attempt_do_not_count(make_app: Maker) -> None:
    app = make_app(PIPELINE)
    record = app.submit(b"fails first", machine="pictures").record
    app.run_until_idle()
    assert app.record(record.id).error_code == "NOT_YET"
    assert names(app, record.id) == []

    app.actions.act("retry", record.id, actor="person:ann", reason="again")
    app.run_until_idle()

    assert names(app, record.id) == ["shrink/small.png", "shrink/page.html", "frame/framed.bin"]


def test_a_list_looks_the_files_of_all_its_records_up_together(make_app: Maker) -> None:
    app = make_app(PIPELINE)
    ids = [app.submit(text, machine="pictures").record.id for text in (b"one", b"two")]
    app.run_until_idle()
    ids.append(app.submit(b"three", machine="pictures").record.id)

    views = app.records.views([app.record(each) for each in ids])

    assert [len(each.files) for each in views] == [3, 3, 0]


@pytest.mark.parametrize("limit", ["files_max: 1", "files_bytes_max: 20"])
def test_an_attempt_that_saves_too_much_fails_and_names_the_setting(
    tmp_path: Path, limit: str
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(f"data: {tmp_path}/data\nworker: {{{limit}}}\n{PIPELINE}")
    with App(Settings.load(config, environ={})) as app:
        record = app.submit(b"the document", machine="pictures").record
        app.run_until_idle()

        failed = app.record(record.id)
        assert failed.error_code in ("TOO_MANY_FILES", "FILES_TOO_LARGE")
        assert f"worker.{limit.partition(':')[0]}" in str(failed.error_message)
        assert names(app, record.id) == []


def test_a_limit_below_zero_is_refused(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("worker: {files_max: -1}\n")

    with pytest.raises(DeclarationError, match="files_max"):
        Settings.load(config, environ={})


# A kill between the bytes and the result leaves bytes that no record names, and the next attempt stores them again.
@pytest.mark.parametrize("cut", ["file_stored", "work_finished"])
def test_a_kill_between_bytes_and_result_leaves_no_result_without_bytes(
    tmp_path: Path, cut: str
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(f"data: {tmp_path}/data\n{PIPELINE}")
    with App(Settings.load(config, environ={})) as app:
        record = app.submit(b"the document", machine="pictures").record

        assert _work(config, STATEWARD_CRASH_AT=cut) == -signal.SIGKILL
        assert app.artifacts.holds(sha256(SMALL).hexdigest())
        assert names(app, record.id) == []
        assert app.outputs.attempts(record.id) == []

        app.run_until_idle()
        assert app.record(record.id).status == "done"
        for each in app.records.files(app.record(record.id)):
            assert app.artifacts.verify(each.file.sha256)


def _work(config: Path, **environ: str) -> int:
    code = (
        "import sys; from pathlib import Path; from stateward.app import App; from stateward.settings import Settings;"
        "app = App(Settings.load(Path(sys.argv[1]))); app.run_until_idle(); app.close()"
    )
    command = [sys.executable, "-c", code, str(config)]
    return subprocess.run(command, env={**os.environ, **environ}, check=False).returncode
