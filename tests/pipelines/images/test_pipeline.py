"""The pipeline as a whole: its states, a picture through an application, what it detects, and its evaluation."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from lab.documents.images.samples import samples
from stateward.app import App
from stateward.app.plugins import Plugins
from stateward.cli import cli
from stateward.definition.discovery import machine_file
from stateward.definition.plugin import Content
from stateward.pipelines.images.detection import detect
from stateward.settings import Settings
from tests.pipelines.images.pictures import corners, noise, saved, turned


def test_the_states_and_exposed_fields_are_those_that_were_asked_for() -> None:
    machine = machine_file("stateward.pipelines.images", "machine.yaml")

    assert [state.name for state in machine.states] == [
        "queued", "resizing", "resized", "thumbnailing", "complete", "error",
    ]  # fmt: skip
    assert list(machine.expose) == ["resize_log_ref", "thumbnail_ref"]


def test_a_picture_goes_from_queued_to_complete(tmp_path: Path) -> None:
    with App.embedded(tmp_path) as app:
        record = app.submit(samples()["phone-photo.jpg"], machine="images", name="photo.jpg").record
        app.run_until_idle()
        view = app.records.view(app.record(record.id))
        story = [each.target for each in app.records.history(record.id)]

    assert story == ["queued", "resizing", "resized", "thumbnailing", "complete"]
    assert str(view.exposed["thumbnail_ref"]).startswith("sha256:")
    assert view.exposed["resize_log_ref"]
    assert view.notes is None


def test_a_damaged_picture_can_be_retried_and_then_says_what_it_is(tmp_path: Path) -> None:
    whole = saved(noise(200, 200), "JPEG")
    with App.embedded(tmp_path) as app:
        record = app.submit(whole[: len(whole) // 2], machine="images").record
        app.run_until_idle()
        failed = app.record(record.id)
        app.actions.act("retry", record.id, actor="person:ann", reason="what is left of it will do")
        app.run_until_idle()
        view = app.records.view(app.record(record.id))

    assert (failed.status, failed.error_code) == ("error", "IMAGE_TRUNCATED")
    assert view.status == "complete"
    assert isinstance(view.notes, list)
    assert str(view.notes[0]).startswith("IMAGE_TRUNCATED")
    assert view.flags == ["IMAGE_TRUNCATED"]


@pytest.mark.parametrize(
    ("format_", "kind"),
    [
        ("JPEG", "jpeg"), ("PNG", "png"), ("GIF", "gif"), ("WEBP", "webp"), ("TIFF", "tiff"), ("BMP", "bmp"),
        ("AVIF", "avif"), ("JPEG2000", "jpeg2000"), ("PPM", "ppm"),
    ],
)  # fmt: skip
def test_a_picture_is_known_by_its_first_bytes(format_: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(saved(corners(), format_))

    found = detect(Content.of(path))

    assert found is not None
    assert (found.source_type, found.format) == ("picture", kind)


@pytest.mark.parametrize(
    "text",
    ["Date,Amount\n2026-01-01,1.00\n", "%PDF-1.7", "BM is the name of a bank", "P1;P2\n1;2\n"],
)
def test_what_is_no_picture_is_left_to_others(text: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(text)

    assert detect(Content.of(path)) is None


def test_a_bank_statement_is_still_a_bank_statement(tmp_path: Path) -> None:
    path = tmp_path / "statement.csv"
    path.write_text("Date,Description,Amount\n2026-01-05,Shop,-1.50\n")
    plugins = Plugins(Settings.load(environ={}), clock=lambda: 0)

    found = plugins.detect("upload", path)

    assert found is not None
    assert found.source_type == "bank_csv"


def test_the_evaluation_counts_what_is_right_and_names_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "turned.jpg").write_bytes(turned(6))
    (tmp_path / "plain.png").write_bytes(saved(corners(), "PNG"))
    (tmp_path / "broken.png").write_bytes(b"no picture")
    truth = {
        "turned.jpg": {"size": [80, 120], "display_size": [120, 80]},
        "plain.png": {"size": [120, 81], "color": [0, 0, 0]},
        "broken.png": {"expect": "error IMAGE_UNSUPPORTED"},
    }
    (tmp_path / "truth.json").write_text(json.dumps(truth))

    done = CliRunner().invoke(cli, ["eval", "images", str(tmp_path), "--json"])

    report = json.loads(done.stdout)
    faults = {each["file"]: each["faults"] for each in report["pictures"]}
    assert done.exit_code == 1
    assert (report["total"]["documents"], report["total"]["exact"]) == (3, 2)
    assert faults["turned.jpg"] == faults["broken.png"] == []
    assert faults["plain.png"][0] == "its size is [120, 80], not [120, 81]"
    assert "mean colour" in faults["plain.png"][2]
