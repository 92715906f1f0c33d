"""Both stages with recorded pages instead of models: items, notes, the derived PDF, and attempts that go on."""

from io import BytesIO
from pathlib import Path

import msgspec
import pytest
from PIL import Image

from stateward.core.model import Fields
from stateward.pipelines.documents import runners, stages
from stateward.pipelines.documents.settings import DocumentSettings
from stateward.pipelines.kit.ocr import OcrPage
from stateward.workers.sdk import (
    Completed,
    Failed,
    Job,
    Limits,
    UnsavedValues,
    registered_runners,
    run_runner,
)
from tests.pipelines.documents.recorded import recorded_page

RECEIPT = (
    "LINDENHOF GMBH",
    "14.03.2026",
    "Kuchen      4,20",
    "Summe EUR      4,20",
    "Karte      4,20",
)


class Recorded:
    """Gives pages in order, and counts how often it was asked."""

    def __init__(self, *pages: OcrPage) -> None:
        self.pages = list(pages)
        self.asked = 0

    def __call__(self, languages: object) -> "Recorded":
        return self

    def read(self, picture: Image.Image) -> OcrPage:
        self.asked += 1
        return self.pages[self.asked - 1]


@pytest.fixture
def tiff(tmp_path: Path) -> Path:
    """Two empty pages."""
    path = tmp_path / "two.tif"
    page = Image.new("L", (800, 400), 255)
    page.save(path, save_all=True, append_images=[page])
    return path


def attempt(
    path: Path,
    *,
    options: Fields | None = None,
    saved: UnsavedValues | None = None,
    items: dict[str, list[str]] | None = None,
    labels: Fields | None = None,
    stage: str = "ocr",
) -> Completed | Failed:
    assert runners is not None
    job = Job(
        record_id="DOC_1",
        stage=stage,
        path=path,
        options=options,
        saved_values=saved,
        items=items,
        labels=labels,
    )
    return run_runner(
        registered_runners()[f"documents.{stage}"],
        job,
        limits=Limits(transient_attempts=1),
        sleep=lambda _: None,
        now=lambda: 0,
    )


def completed(result: Completed | Failed) -> Completed:
    assert isinstance(result, Completed), result
    return result


def items(result: Completed) -> list[Fields]:
    chunks = [msgspec.json.decode(chunk.data) for chunk in result.chunks]
    return [item for chunk in chunks if isinstance(chunk, list) for item in chunk]


def indexed(
    path: Path, read: Completed, *, options: Fields | None = None, labels: Fields | None = None
) -> Completed:
    given = {"ocr": [chunk.data for chunk in read.chunks]}
    return completed(attempt(path, items=given, stage="index", options=options, labels=labels))


def test_each_line_is_an_item_with_words_boxes_and_confidence(
    tiff: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = recorded_page("Hello world", "Total      5.00"), recorded_page("Second page")
    monkeypatch.setattr(stages, "Recognizer", Recorded(*pages))

    read = completed(attempt(tiff))

    assert read.facts == {"page_count": 2}
    assert [(item["page"], item["line"], item["text"]) for item in items(read)] == [
        (1, 1, "Hello world"),
        (1, 2, "Total 5.00"),
        (2, 1, "Second page"),
    ]
    assert items(read)[0]["words"][1] == {  # type: ignore[index]
        "text": "world",
        "box": [33.1, 7.2, 54.7, 15.8],
        "confidence": 99,
    }
    assert items(read)[0]["where"] == {
        "file": "ocr/searchable.pdf",
        "page": 1,
        "box": [7.2, 7.2, 54.7, 15.8],
    }


def test_the_text_of_each_page_is_searchable_and_a_receipt_has_fields(
    tiff: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "Recognizer", Recorded(recorded_page(*RECEIPT), recorded_page()))

    read = completed(attempt(tiff))
    found = items(indexed(tiff, read))

    assert found[0]["kind"] == "page"
    assert str(found[0]["text"]).splitlines()[3] == "Summe EUR 4,20"
    assert {str(item["field"]): item["value"] for item in found[1:]} == {
        "merchant": "LINDENHOF GMBH",
        "date": "2026-03-14",
        "total": "4.20",
    }


def test_no_fields_are_looked_for_if_the_settings_say_never(
    tiff: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "Recognizer", Recorded(recorded_page(*RECEIPT), recorded_page()))

    read = completed(attempt(tiff))
    found = indexed(tiff, read, options={"receipts": "never"})

    assert [item["kind"] for item in items(found)] == ["page"]


def test_a_source_type_says_that_a_document_is_a_receipt(
    tiff: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "Recognizer", Recorded(recorded_page("Hello"), recorded_page()))

    found = indexed(tiff, completed(attempt(tiff)), labels={"source_type": "receipt"})

    assert "TOTAL_NOT_FOUND" in str(found.facts["notes"])


def test_the_notes_of_the_pages_stay_when_the_receipt_has_notes_too(
    tiff: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "Recognizer", Recorded(recorded_page("Hello"), recorded_page()))

    found = indexed(tiff, completed(attempt(tiff)), labels={"source_type": "receipt"})

    codes = [str(note).partition(":")[0] for note in found.facts["notes"]]  # type: ignore[union-attr]
    assert codes == ["BLANK_PAGES", "DATE_NOT_FOUND", "TOTAL_NOT_FOUND"]


def test_a_receipt_that_contradicts_itself_is_flagged_beside_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = BytesIO()
    Image.effect_noise((400, 400), 60).save(data, "JPEG")
    path = tmp_path / "torn.jpg"
    path.write_bytes(data.getvalue()[: len(data.getvalue()) // 2])
    text = "ACME LTD\n14/02/2026\nTotal 18.90\nVisa 13.90"
    monkeypatch.setattr(stages, "Recognizer", Recorded(recorded_page(*text.splitlines())))

    found = indexed(path, completed(attempt(path)), labels={"source_type": "receipt"})

    assert found.facts["flags"] == ["TRUNCATED", "TOTAL_DISAGREES"]


def test_blank_and_unsure_pages_are_noted_and_truncated_ones_flagged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = BytesIO()
    Image.effect_noise((400, 400), 60).save(data, "JPEG")
    path = tmp_path / "torn.jpg"
    path.write_bytes(data.getvalue()[: len(data.getvalue()) // 2])
    monkeypatch.setattr(stages, "Recognizer", Recorded(recorded_page("Hel1o w0rld", confidence=40)))

    facts = completed(attempt(path)).facts

    assert facts["flags"] == ["TRUNCATED"]
    notes = facts["notes"]
    assert [str(note).partition(":")[0] for note in notes] == ["TRUNCATED", "LOW_CONFIDENCE"]  # type: ignore[union-attr]
    monkeypatch.setattr(stages, "Recognizer", Recorded(recorded_page()))
    notes = completed(attempt(path)).facts["notes"]
    assert [str(note).partition(":")[0] for note in notes] == ["TRUNCATED", "BLANK_PAGES"]  # type: ignore[union-attr]


def test_a_later_attempt_does_not_read_pages_again(
    tiff: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = UnsavedValues()
    first = Recorded(recorded_page("Page one"))  # it has no second page: the attempt fails there
    monkeypatch.setattr(stages, "Recognizer", first)
    assert isinstance(attempt(tiff, saved=saved), Failed)

    second = Recorded(recorded_page("Page two"))
    monkeypatch.setattr(stages, "Recognizer", second)
    read = completed(attempt(tiff, saved=saved))

    assert second.asked == 1
    assert [item["text"] for item in items(read)] == ["Page one", "Page two"]


def test_the_same_document_gives_the_same_items(
    tiff: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = []
    for _ in range(2):
        pages = recorded_page(*RECEIPT), recorded_page("b")
        monkeypatch.setattr(stages, "Recognizer", Recorded(*pages))
        results.append([chunk.data for chunk in completed(attempt(tiff)).chunks])

    assert results[0] == results[1]


@pytest.mark.parametrize(
    "data", [b"", b"\x00\x00", b"%PDF-1.7\n", b"\x01\x02\x03\x04", b"\x89PNG\r\n\x1a\n\x00"]
)
def test_what_cannot_be_read_fails_for_good_with_a_code(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "bad"
    path.write_bytes(data)

    result = attempt(path)

    assert isinstance(result, Failed)
    assert result.code in ("EMPTY_DOCUMENT", "CORRUPT_FILE", "UNSUPPORTED_FORMAT")
    assert not result.is_retryable


def test_a_language_that_the_model_does_not_know_is_refused_in_the_settings() -> None:
    problems = [*DocumentSettings(languages=("en", "ru")).problems()]

    assert problems[0][0] == ("languages",)
    assert "ru cannot be read" in problems[0][1]
    assert [*DocumentSettings().problems()] == []
