"""Truth files are found beside their documents or in a list, read once, and faults name the file."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from stateward.core.errors import InvalidRequest
from stateward.pipelines.kit import ground_truth
from stateward.pipelines.kit.ground_truth import Told, TruthFiles, documents_in


def a_document(folder: Path, name: str = "a.pdf") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"a document")
    return path


@pytest.mark.parametrize("name", ["a.truth.json", "a.pdf.truth.json"])
def test_a_truth_stands_beside_its_document(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('{"total": 1}')

    assert TruthFiles(tmp_path).of(a_document(tmp_path)) == Told({"total": 1}, name)


@pytest.mark.parametrize("key", ["a.pdf", "a"])
def test_a_list_names_documents_with_or_without_their_ending(tmp_path: Path, key: str) -> None:
    (tmp_path / "truth.json").write_text(json.dumps({key: {"total": 1}}))

    assert TruthFiles(tmp_path).of(a_document(tmp_path)) == Told({"total": 1}, "truth.json")


def test_a_list_above_names_documents_by_their_path(tmp_path: Path) -> None:
    (tmp_path / "truth.jsonl").write_text('{"file": "in/a.pdf", "total": 1}\n\n')
    found = TruthFiles(tmp_path).of(a_document(tmp_path, "in/a.pdf"))

    assert found == Told({"file": "in/a.pdf", "total": 1}, "truth.jsonl")


def test_a_list_above_the_folder_is_not_looked_for(tmp_path: Path) -> None:
    (tmp_path / "truth.json").write_text('{"in/a.pdf": {}}')

    assert TruthFiles(tmp_path / "in").of(a_document(tmp_path, "in/a.pdf")) is None


def test_fractions_are_exact_where_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.truth.json").write_text("[0.1]")
    found = TruthFiles(tmp_path, exact=True).of(a_document(tmp_path))

    assert found is not None
    assert found.value == [Decimal("0.1")]


def test_truth_files_are_no_documents(tmp_path: Path) -> None:
    for name in ("b.json", "a.json", "a.truth.json", "truth.json", "c.pdf"):
        a_document(tmp_path, name)

    assert [path.name for path in documents_in(tmp_path, {".json"})] == ["a.json", "b.json"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{", "a.truth.json is no JSON"),
        (b"[" * 100_000, "a.truth.json is no JSON"),
        (b"\xff", "a.truth.json is not UTF-8"),
    ],
)
def test_a_truth_that_cannot_be_read_is_named(
    tmp_path: Path, content: bytes, sentence: str
) -> None:
    (tmp_path / "a.truth.json").write_bytes(content)

    with pytest.raises(InvalidRequest, match=sentence):
        TruthFiles(tmp_path).of(a_document(tmp_path))


def test_a_huge_truth_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ground_truth, "BYTES_MAX", 1)
    (tmp_path / "a.truth.json").write_text("{}")

    with pytest.raises(InvalidRequest, match="larger than 1 bytes"):
        TruthFiles(tmp_path).of(a_document(tmp_path))


def test_more_documents_than_can_be_judged_are_refused_and_not_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ground_truth, "FILES_MAX", 1)
    a_document(tmp_path, "a.pdf")
    a_document(tmp_path, "b.pdf")

    with pytest.raises(InvalidRequest, match="more than 1 documents"):
        list(documents_in(tmp_path, {".pdf"}))
