"""What ended is made anew by today's code: what a newer reader reads otherwise, and what follows the reading."""

from pathlib import Path

import pytest

from stateward.app import App
from stateward.core.errors import InvalidRequest
from stateward.core.machine import Machine
from stateward.core.model import Fields
from stateward.definition.declare import declare
from stateward.schemas import RereadRequest
from stateward.workers.sdk import Job, Outcome, runner
from tests.app.erasing import ANNA
from tests.apps import Maker
from tests.cli.shell import Shell

MACHINE: Machine = declare(
    machine="papers",
    version=1,
    prefix="PA",
    initial="received",
    states={
        "received": "ready", "reading": "running", "read": "ready", "shaping": "running", "shaped": "terminal",
        "error": "failed",
    },
    stages={
        "read": {
            "from": "received", "running": "reading", "outcomes": {"done": "read"}, "on_error": "error",
            "isolation": "inline", "runner": "rebuilding.read",
        },
        "shape": {
            "from": "read", "running": "shaping", "outcomes": {"done": "shaped"}, "on_error": "error",
            "isolation": "inline", "runner": "rebuilding.shape",
        },
    },
)  # fmt: skip

code = {"reader": 1, "shape": 1}
runs: list[str] = []


@runner("rebuilding.read")
def read(job: Job) -> Outcome:
    runs.append("read")
    text = f"read {code['reader']}"
    return Outcome(facts={"reader": code["reader"]}, items=[{"text": text}], about={"said": text})


@runner("rebuilding.shape")
def shape(job: Job) -> list[Fields]:
    runs.append("shape")
    return [{"text": f"{each['text']}, shaped {code['shape']}"} for each in job.items("read")]


@pytest.fixture
def app(make_app: Maker, monkeypatch: pytest.MonkeyPatch) -> App:
    for name in code:
        monkeypatch.setitem(code, name, 1)
    app = make_app(machines=[MACHINE])
    monkeypatch.setitem(app.editions._readers, "rebuilding.read", 1)
    return app


def a_paper(app: App) -> str:
    record_id = app.submit(b"a paper", machine="papers").record.id
    app.run_until_idle()
    runs.clear()
    return record_id


def texts(app: App, record_id: str) -> list[object]:
    return [each["text"] for each in app.items(record_id, "shape")]


def test_a_newer_reader_reaches_what_the_later_stages_made(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    record_id = a_paper(app)
    monkeypatch.setitem(code, "reader", 2)
    monkeypatch.setitem(app.editions._readers, "rebuilding.read", 2)

    made = app.editions.rebuild_outdated(record_id, actor=ANNA)
    again = app.editions.rebuild_outdated(record_id, actor=ANNA)

    assert [each.stage for each in made] == ["read", "shape"]
    assert texts(app, record_id) == ["read 2, shaped 1"]
    assert app.records.about(record_id, "read") == {"said": "read 2"}
    assert again == []
    assert not app.editions.is_outdated(app.record(record_id))


def test_without_a_newer_reader_only_what_follows_the_reading_is_done_again(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    record_id = a_paper(app)
    monkeypatch.setitem(code, "shape", 2)

    made = app.editions.rebuild_outdated(record_id, actor=ANNA)

    assert runs == ["shape"]
    assert [each.stage for each in made] == ["shape"]
    assert texts(app, record_id) == ["read 1, shaped 2"]
    assert app.record(record_id).status == "shaped"


def test_what_has_not_been_read_cannot_be_made_anew(app: App) -> None:
    record_id = app.submit(b"a paper", machine="papers").record.id

    with pytest.raises(InvalidRequest, match="nothing to rebuild yet"):
        app.editions.rebuild_outdated(record_id, actor=ANNA)


def test_the_command_needs_no_stage_and_keeps_what_a_person_corrected(tmp_path: Path) -> None:
    shell, config = Shell(tmp_path), tmp_path / "own.yaml"
    with App.embedded(tmp_path) as app:
        record_id = app.submit(
            b"Date,Description,Amount\n01/02/2026,Shop purchase,-1.00\n03/04/2026,Salary,2.00\n"
        ).record.id
        app.run_until_idle()
        hints = RereadRequest(hints={"date_order": "dmy"})
        app.editions.reread(record_id, hints, actor=ANNA)
    (tmp_path / "rules.yaml").write_text(
        "version: 1\nmerchants:\n  - {match: shop, name: The Shop}\n"
    )
    config.write_text("statements: {rules: rules.yaml}\n")

    before = shell("rebuild", record_id)
    done = shell("--config", str(config), "rebuild", record_id)

    assert before.stderr == f"unchanged {record_id}\n"
    assert done.stderr == f"rebuilt {record_id}: normalize 2 rows\n"
    with App.embedded(tmp_path) as app:
        assert app.editions.hints_of(app.record(record_id)) == {"date_order": "dmy"}
        dates = [row["date"] for row in app.items(record_id)]
    assert dates == ["2026-02-01", "2026-04-03"]
