"""A receipt and a scanned PDF through a real app with default settings, in sandboxed children."""

from pathlib import Path

import pypdfium2 as pdfium
import pytest

from stateward.app import App
from stateward.definition.plugin import Content
from stateward.pipelines.documents.detection import detect
from stateward.pipelines.statements.detection import detect as detect_statement

SAMPLES = Path(__file__).parents[3] / "src/stateward/pipelines/documents/samples"


@pytest.mark.long
def test_a_receipt_ends_indexed_with_text_fields_and_a_searchable_pdf(tmp_path: Path) -> None:
    with App.embedded(tmp_path) as app:
        receipt = app.submit(
            (SAMPLES / "receipt-lindenhof.png").read_bytes(), name="r.png", machine="documents"
        ).record
        app.run_until_idle()
        record = app.record(receipt.id)
        view = app.records.view(record)

        assert record.status == "indexed", app.records.attempts(receipt.id)[-1].log
        assert set(view.exposed) == {"ocr_log_ref", "page_count"}
        assert view.exposed["page_count"] == 1
        fields = {
            str(item["field"]): item["value"]
            for item in app.items(receipt.id)
            if item["kind"] == "field"
        }
        assert fields == {
            "merchant": "CAFE LINDENHOF GMBH",
            "date": "2026-03-14",
            "total": "12.00",
        }
        story = [each.target for each in app.records.history(receipt.id)]
        assert story == ["queued", "ocr_pending", "ocr_complete", "indexing", "indexed"]
        # Only what the stage says: no warning of a library about what a child may not look at.
        logs = "\n".join(each.log for each in app.records.attempts(receipt.id))
        assert '"level":"output"' not in logs
        pdf = next(path for path in (tmp_path / "artifacts").rglob("*") if _is_pdf(path))
        text = pdfium.PdfDocument(pdf)[0].get_textpage().get_text_range()
        assert "CAFE LINDENHOF GMBH" in text
        assert "12,00" in text


def _is_pdf(path: Path) -> bool:
    return path.is_file() and path.read_bytes().startswith(b"%PDF")


def test_scans_are_known_by_their_bytes_and_statements_stay_statements() -> None:
    statements = SAMPLES.parents[1] / "statements/samples"
    for path in sorted(statements.glob("*.pdf")):
        content = Content.of(path)
        own = detect(content)
        assert own is None or own.confidence < detect_statement(content).confidence
    scan = detect(Content.of(SAMPLES / "delivery-note.pdf"))
    assert scan is not None
    assert scan.confidence > 20
    assert detect(Content.of(statements / "konto-2026-01.sta")) is None
    picture = detect(Content.of(SAMPLES / "receipt-lindenhof.png"))
    assert picture is not None
    assert picture.source_type == "scan"
