"""The evaluation of a folder of scans, with recorded pages instead of models."""

import json
from pathlib import Path

import pytest
from PIL import Image

from stateward.definition.plugin import ConfiguredPlugin, EvaluationReport, EvaluationRequest, Host
from stateward.pipelines.documents import stages
from stateward.pipelines.documents.report import evaluation, true_text, words_of
from stateward.pipelines.documents.settings import DocumentSettings
from tests.pipelines.documents.recorded import recorded_page
from tests.pipelines.documents.test_stages import RECEIPT, Recorded


def evaluated(folder: Path) -> EvaluationReport:
    host = Host(clock=lambda: 0, warn=lambda _: None)
    return evaluation(
        EvaluationRequest(
            path=folder,
            parameters={},
            clock=lambda: 0,
            cpu_s=lambda: 0.0,
            progress=lambda _: None,
            configured=lambda: ConfiguredPlugin(DocumentSettings(), host),
            artifact_path=Path,
        )
    )


def a_folder(path: Path, total: str) -> Path:
    Image.new("L", (800, 300), 255).save(path / "one.png")
    boxes = "1,1,2,1,2,2,1,2,LINDENHOF GMBH\n1,3,2,3,2,4,1,4,Kuchen, frisch 4,20\n"
    (path / "one.boxes.csv").write_text(boxes)
    truth = {"company": "Lindenhof GmbH", "date": "14/03/2026", "total": total}
    (path / "one.truth.json").write_text(json.dumps(truth))
    Image.new("L", (80, 30), 255).save(path / "without-truth.png")
    return path


def test_words_and_fields_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "Recognizer", Recorded(recorded_page(*RECEIPT)))

    report = evaluated(a_folder(tmp_path, "EUR 4.20"))

    total = report.document["total"]
    assert (total["words"], total["found"]) == (6, 5)  # type: ignore[index]
    assert total["right"] == {"merchant": 1, "date": 1, "total": 1}  # type: ignore[index]
    assert report.is_well
    assert "one.png: not found: frisch" in report.sentences
    assert "1 files have no truth to compare with" in report.sentences


def test_a_wrong_total_that_no_flag_tells_of_is_wrong_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "Recognizer", Recorded(recorded_page(*RECEIPT)))

    report = evaluated(a_folder(tmp_path, "5.20"))

    assert not report.is_well
    assert any("total is 4.20, not 5.20" in sentence for sentence in report.sentences)


def test_a_gold_text_goes_before_boxes(tmp_path: Path) -> None:
    (tmp_path / "a.gold.txt").write_text("Gold")
    (tmp_path / "a.boxes.csv").write_text("1,1,2,1,2,2,1,2,Boxes")

    assert true_text(tmp_path / "a.png") == "Gold"
    assert words_of("K3-113, JL. 5") == words_of("k3-113,jl 5")
