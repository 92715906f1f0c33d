"""The pipeline as a whole: its states, the samples through an application, and its evaluation."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lab.documents.inspection.boards import board, jpeg, photographed, png, samples, with_defects
from stateward.app import App
from stateward.cli import cli
from stateward.definition.discovery import machine_file
from stateward.definition.plugin import Content
from stateward.pipelines.inspection.detection import detect

SAMPLES = Path(__file__).parents[3] / "src/stateward/pipelines/inspection/samples"


def test_the_states_and_exposed_fields_are_those_that_were_asked_for() -> None:
    machine = machine_file("stateward.pipelines.inspection", "machine.yaml")

    assert [state.name for state in machine.states] == [
        "pending", "scanning", "scanned", "analyzing", "passed", "failed", "error",
    ]  # fmt: skip
    assert list(machine.expose) == ["scan_log_ref", "defects_count"]
    assert machine.stage["analyze"].route("done", {}) == "failed", "a part never passes by omission"


def test_the_samples_pass_fail_and_have_no_verdict(tmp_path: Path) -> None:
    with App.embedded(tmp_path) as app:
        records = [
            app.submit(path, machine="inspection", labels={"part_number": "demo-board"}).record
            for path in sorted(SAMPLES.glob("*.jpg"))
        ]
        app.run_until_idle()
        good, broken, dark = (app.records.view(app.record(each.id)) for each in records)
        sentence = app.records.about(broken.id, "analyze")["sentence"]
        story = [each.target for each in app.records.history(good.id)]

    assert story == ["pending", "scanning", "scanned", "analyzing", "passed"]
    assert good.exposed["defects_count"] == 0
    assert broken.status == "failed"
    assert broken.exposed["defects_count"] == 2
    assert sentence == "demo-board failed: 2 defects (1 extra, 1 missing)"
    assert (dark.status, dark.error_code) == ("error", "TOO_DARK")


def test_the_samples_that_ship_are_those_of_the_script() -> None:
    names = {path.relative_to(SAMPLES).as_posix() for path in SAMPLES.rglob("*") if path.is_file()}

    assert names == set(samples())


def test_a_picture_is_detected_but_other_pipelines_are_believed_first(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(png(board()))
    (tmp_path / "b").write_text("Date,Amount\n")

    found = detect(Content.of(tmp_path / "a"))

    assert found is not None
    assert (found.source_type, found.confidence) == ("part_picture", 30)
    assert detect(Content.of(tmp_path / "b")) is None


@pytest.mark.parametrize("form", ["truth.json", "NAME.txt"])
def test_the_evaluation_counts_verdicts_and_defects(form: str, tmp_path: Path) -> None:
    box = (60, 124, 76, 140)
    pictures = {"good": board(), "bad": with_defects(board(), [(box, "missing")])}
    truth: dict[str, dict[str, Any]] = {
        "good": {"verdict": "passed", "defects": []},
        "bad": {"verdict": "failed", "defects": [[*box, "missing"], [10, 300, 20, 310, "extra"]]},
    }
    for name, picture in pictures.items():
        (tmp_path / f"{name}_temp.png").write_bytes(png(board()))
        (tmp_path / f"{name}_test.jpg").write_bytes(jpeg(photographed(picture)))
        lines = [" ".join(map(str, (*each[:4], 1))) for each in truth[name]["defects"]]
        if form == "NAME.txt":
            (tmp_path / f"{name}.txt").write_text("\n".join(lines))
    if form == "truth.json":
        (tmp_path / "truth.json").write_text(json.dumps(truth))

    done = CliRunner().invoke(cli, ["eval", "inspection", str(tmp_path), "--json"])

    total = json.loads(done.stdout)["total"]
    assert done.exit_code == 0
    assert (total["documents"], total["exact"], total["wrong_in_silence"]) == (2, 2, 0)
    assert (total["defects"], total["found"], total["false alarms"]) == (2, 1, 0)


def test_the_evaluation_ends_with_1_if_a_part_passed_wrongly(tmp_path: Path) -> None:
    (tmp_path / "a_template.png").write_bytes(png(board()))
    (tmp_path / "a_test.png").write_bytes(png(board()))
    (tmp_path / "truth.json").write_text(json.dumps({"a": {"verdict": "failed", "defects": []}}))

    done = CliRunner().invoke(cli, ["eval", "inspection", str(tmp_path)])

    assert done.exit_code == 1
    assert "a_test.png: passed, not failed" in done.stdout
