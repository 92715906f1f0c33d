"""A process that dies is not the failure of the document that it had; several that died of one document are."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stateward.app import App
from stateward.settings import Settings
from tests.apps import Maker, on_postgres_if_long
from tests.waiting import wait_until

MORTAL = Path(__file__).with_name("mortal.py")


@pytest.mark.long
def test_a_killed_child_and_a_killed_worker_cost_a_document_nothing(tmp_path: Path) -> None:
    config = _config(tmp_path, MORTAL)
    command = [sys.executable, "-m", "stateward", "--config", str(config), "coordinator"]
    worker = [*command[:-1], "worker"]
    with (
        App(Settings.load(config, environ={})) as app,
        (tmp_path / "log").open("wb") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as coordinator,
    ):
        running = [coordinator, subprocess.Popen(worker, stdout=log, stderr=log)]
        try:
            of_child = app.submit(b"its child is killed", machine="mortal").record.id
            of_worker = app.submit(b"its worker is killed", machine="mortal").record.id
            os.kill(_pid(app, of_child), signal.SIGKILL)
            wait_until(lambda: app.record(of_child).status == "done")

            _pid(app, of_worker)
            running[1].kill()
            running[1].wait()
            running.append(subprocess.Popen(worker, stdout=log, stderr=log))
            wait_until(lambda: app.record(of_worker).status == "done")
        finally:
            for process in running:
                process.kill()
                process.wait()

        for record_id in (of_child, of_worker):
            (attempt,) = app.records.attempts(record_id)
            assert attempt.error_code is None
            assert app.record(record_id).retry_count == 0
            assert [each.target for each in app.records.history(record_id)].count("working") == 1
        assert "after it had begun this document" in _log(app, of_child)
        assert "the worker was lost" in _log(app, of_worker)
        assert app.admin.verify().is_sound


@on_postgres_if_long
def test_a_document_that_kills_its_processes_is_stopped_and_says_why(make_app: Maker) -> None:
    app = make_app(f"pipelines: ['{MORTAL}']\n")
    record = app.submit(b"deadly", machine="mortal").record

    app.run_until_idle()

    ended = app.record(record.id)
    assert (ended.status, ended.error_code) == ("error", "RUNNER_DIED")
    assert "3 processes died after they had begun this document" in str(ended.error_message)
    assert "killed by SIGKILL" in app.records.explain(record.id).sentence
    (attempt,) = app.records.attempts(record.id)
    assert attempt.error_code == "RUNNER_DIED"
    assert "delivery 2 was lost" in _log(app, record.id)


def test_a_child_that_is_killed_while_it_loads_costs_a_document_nothing(tmp_path: Path) -> None:
    own = tmp_path / "loading.py"
    own.write_text(MORTAL.read_text().replace("mortal", "loading"))
    trap = own.with_suffix(".trap")
    trap.touch()
    with App(Settings.load(_config(tmp_path, own), environ={})) as app:
        record = app.submit(b"harmless", machine="loading").record
        app.outputs.save_value(record.id, "work", "pid", b"1", at=app.clock())

        app.run_until_idle()

        assert not trap.exists()
        assert app.record(record.id).status == "done"
        assert app.record(record.id).retry_count == 0
        assert "before it began this document" in _log(app, record.id)


def _config(folder: Path, pipeline: Path) -> Path:
    path = folder / "mortal.yaml"
    path.write_text(
        f"data: {folder}/data\nstore: {{url: 'sqlite://{folder}/app.db'}}\n"
        f"pipelines: ['{pipeline}']\nworker: {{heartbeat_seconds: 0.5, lease_seconds: 2}}\n"
    )
    return path


def _pid(app: App, record_id: str) -> int:
    """The process that has begun a document."""
    found = wait_until(lambda: app.outputs.load_value(record_id, "work", "pid"))
    assert found is not None
    return int(found)


def _log(app: App, record_id: str) -> str:
    return "\n".join(each.log for each in app.records.attempts(record_id))
