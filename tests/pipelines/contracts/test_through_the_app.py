"""Contracts through the whole application: children, search, kills after a model has answered."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from lab.documents.contracts.samples import samples
from stateward.app import App
from stateward.pipelines.contracts import (
    MODEL_CALLS,
    runners,  # noqa: F401 - registers them
)
from stateward.settings import Settings
from tests.cli.shell import Shell
from tests.pipelines.contracts.endpoint import Endpoint, gives, serving
from tests.pipelines.contracts.example import LEASE, SAID, STROM


def settings_at(folder: Path, endpoint: Endpoint | None = None) -> Path:
    config = folder / "stateward.yaml"
    model = f"model: {{base_url: '{endpoint.url}', name: stub, key: sk-x}}" if endpoint else ""
    config.write_text(
        f"data: {folder}/data\ncontracts: {{extractor: {'both' if endpoint else 'offline'}, {model}}}\n"
        "worker: {heartbeat_seconds: 0.5, lease_seconds: 2, deliveries_max: 50}\n"
    )
    return config


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with App(Settings.load(settings_at(tmp_path), environ={})) as app:
        yield app


def test_a_contract_goes_its_way_by_itself(app: App) -> None:
    record = app.submit(STROM.encode(), machine="contract", name="strom.txt").record

    app.run_until_idle()

    record = app.record(record.id)
    assert (record.status, record.error_code) == ("completed", None)
    exposed = app.records.view(record).exposed
    assert (exposed["vertical"], exposed["provider"]) == ("energy", "Vattenfall")
    assert app.records.about(record.id, "compare")["answer"] == "better"
    assert app.admin.verify().is_sound


def test_sample_offers_are_called_that_wherever_a_result_is_shown(app: App, tmp_path: Path) -> None:
    path = tmp_path / "strom.txt"
    path.write_text(STROM.replace("Vertragsende: 31.12.2026\n", ""), "utf-8")
    shell = Shell(app.settings.data_path)
    shell("submit", str(path), "--machine", "contract", "--wait")
    (waiting,) = shell.json("review", "list")
    found = waiting["record_id"]

    shell("review", "correct", found, "--none", "contract_end", "--reason", "it has none")
    again = shell("submit", str(path), "--machine", "contract", "--wait")

    notes = shell.json("status", found)["notes"]
    assert [each.partition(":")[0] for each in notes] == ["MISSING", "SAMPLE_OFFERS"]
    assert "SAMPLE_OFFERS" in again.stdout
    assert "sample offers" in shell("status", found).stdout
    assert "is_sample" in shell("items", found, "--format", "csv").stdout
    assert "is_sample" in shell("export", "items", found, "--stage", "compare").stdout


def test_the_clauses_of_all_contracts_can_be_searched_and_are_no_problems(app: App) -> None:
    labels = {"vertical": "general"}
    record = app.submit(LEASE.encode(), machine="contract", name="lease.txt", labels=labels).record
    app.run_until_idle()

    hits = app.search.find("publicly known").hits
    problems = app.reviews.problems(app.record(record.id))

    assert (record.id, "validate") in {(hit.record_id, hit.stage) for hit in hits}
    assert app.record(record.id).status == "review_required"
    assert problems
    assert all("sentence" in each for each in problems)


def test_the_model_is_reached_from_the_confined_child(tmp_path: Path) -> None:
    with serving(gives(**SAID)) as endpoint:
        config = settings_at(tmp_path, endpoint)
        with App(Settings.load(config, environ={})) as app:
            record = app.submit(STROM.encode(), machine="contract").record
            app.run_until_idle()
            again = app.editions.rebuild(record.id, stage="extract", actor="person:ann")

            assert app.record(record.id).status == "completed"
            assert app.records.about(record.id, "extract")["details"]["model"]["answers"] == 1  # type: ignore[index,call-overload]
            logs = "".join(attempt.log for attempt in app.records.attempts(record.id))
            assert "sk-x" not in logs
            assert again is None, "the kept answer gives the same rows"
            assert endpoint.count == 1


def test_a_contract_that_is_processed_again_pays_no_second_time_unless_a_person_asks_for_it(
    tmp_path: Path,
) -> None:
    with serving(gives(**SAID)) as endpoint:
        config = settings_at(tmp_path, endpoint)
        with App(Settings.load(config, environ={})) as app:

            def traced(record_id: str) -> list[tuple[object, object]]:
                app.run_until_idle()
                made = app.records.about(record_id, "extract")
                return [
                    (call.get("answer_of"), call["input_tokens"]) for call in MODEL_CALLS.rows(made)
                ]

            def again(record_id: str, **hints: str) -> str:
                return app.editions.reprocess(record_id, hints, actor="person:ann").record.id

            first = app.submit(STROM.encode(), machine="contract").record.id
            paid = traced(first)
            second = again(first)
            assert traced(second) == [(first, 0)]
            assert traced(again(second)) == [(first, 0)]
            assert endpoint.count == 1

            fresh = again(second, fresh_answer="yes")
            assert traced(fresh) == paid
            assert endpoint.count == 2
            assert traced(again(fresh)) == [(fresh, 0)]
            assert endpoint.count == 2
            assert traced(again(fresh, fresh_answer="yes")) == paid
            assert endpoint.count == 3
            assert (paid[0][0], app.record(second).status) == (None, "completed")
            assert app.admin.verify().is_sound


CUTS = ["work_done:2", "results_written:2"]


@pytest.mark.long
@pytest.mark.timeout(120)
@pytest.mark.parametrize("cut", CUTS)
def test_a_kill_after_the_answer_was_kept_pays_no_second_time(tmp_path: Path, cut: str) -> None:
    with serving(gives(**SAID)) as endpoint:
        config = settings_at(tmp_path, endpoint)
        with App(Settings.load(config, environ={})) as app:
            record = app.submit(STROM.encode(), machine="contract").record

            died = up(config, STATEWARD_CRASH_AT=cut)
            lived = up(config)

            assert died == -signal.SIGKILL
            assert lived == 0
            assert app.record(record.id).status == "completed"
            assert [
                each.stage for each in app.records.attempts(record.id) if each.error_code is None
            ] == [
                "parse",
                "extract",
                "validate",
                "compare",
            ]
            assert endpoint.count == 1


def up(config: Path, **environ: str) -> int:
    """Work until nothing is left, in a process of its own."""
    code = (
        "import sys; from pathlib import Path; from stateward.app import App; from stateward.settings import Settings;"
        "app = App(Settings.load(Path(sys.argv[1]))); app.run_until_idle(); app.close()"
    )
    command = [sys.executable, "-c", code, str(config)]
    return subprocess.run(command, env={**os.environ, **environ}, check=False).returncode


# The samples


def test_the_samples_are_what_their_maker_draws() -> None:
    folder = files("stateward.pipelines.contracts") / "samples"

    for name, data in samples().items():
        assert (folder / name).read_bytes() == data
