"""Which pages of a PDF are read by their text layer, and which from their image."""

from pathlib import Path

import pypdfium2 as pdfium
import pytest
from PIL import Image

from lab.documents.scans import page_picture
from lab.documents.statements import Paper
from stateward.core.errors import FatalFailure
from stateward.pipelines.documents.pdf_pages import PdfPageSource, pdf_pages, text_fault
from stateward.pipelines.kit.pdf.pages import PdfPage, PdfWord

PROSE = (
    "The two boxes of paper that we ordered were received on the third of March and paid at once."
)


def sources(
    path: Path, *, uses_text: bool = True, page_pixels_max: int = 4_000_000
) -> list[PdfPageSource]:
    return list(
        pdf_pages(path, dpi=100, pages_max=9, page_pixels_max=page_pixels_max, uses_text=uses_text)
    )


def a_text_pdf(path: Path, *lines: str) -> Path:
    paper = Paper()
    paper.page()
    for at, line in enumerate(lines):
        paper.text(60, 80 + 18 * at, line, size=11)
    path.write_bytes(paper.pdf())
    return path


def a_scanned_pdf(path: Path) -> Path:
    page_picture(["Received with thanks"]).convert("RGB").save(path, resolution=100)
    return path


def joined(target: Path, *parts: Path) -> Path:
    whole = pdfium.PdfDocument.new()
    for part in parts:
        whole.import_pages(pdfium.PdfDocument(part))
    whole.save(target)
    return target


def a_page(*words: str, chars: int | None = None, readable: int | None = None) -> PdfPage:
    found = [PdfWord(text, 0, 0, 10, 10, 10, 1) for text in words]
    count = sum(map(len, words)) if chars is None else chars
    return PdfPage(1, 600, 800, found, count, count if readable is None else readable)


def test_a_page_with_a_good_text_layer_is_not_rendered(tmp_path: Path) -> None:
    (page,) = sources(a_text_pdf(tmp_path / "text.pdf", PROSE, PROSE))

    assert page.image is None
    assert [word.text for word in page.words][:3] == ["The", "two", "boxes"]


def test_a_scan_is_rendered_with_as_many_pixels_as_the_settings_say(tmp_path: Path) -> None:
    (page,) = sources(a_scanned_pdf(tmp_path / "scan.pdf"))

    assert page.why == "it has no text"
    assert page.image is not None
    assert page.image.picture.width * page.image.points == pytest.approx(page.width)


def test_in_a_mixed_document_every_page_has_its_image_for_the_searchable_pdf(
    tmp_path: Path,
) -> None:
    path = joined(
        tmp_path / "mixed.pdf",
        a_text_pdf(tmp_path / "a.pdf", PROSE, PROSE),
        a_scanned_pdf(tmp_path / "b.pdf"),
    )

    first, second = sources(path)

    assert (bool(first.words), bool(second.words)) == (True, False)
    assert first.image is not None
    assert second.image is not None


def test_the_settings_can_have_every_page_read_from_its_image(tmp_path: Path) -> None:
    (page,) = sources(a_text_pdf(tmp_path / "text.pdf", PROSE), uses_text=False)

    assert page.image is not None
    assert page.words == []


def test_a_page_of_any_size_has_at_most_so_many_pixels(tmp_path: Path) -> None:
    path = tmp_path / "wall.pdf"
    Image.new("L", (400, 400), 255).convert("RGB").save(path, resolution=2)

    (page,) = sources(path, page_pixels_max=500_000)

    assert page.width == pytest.approx(14_400)
    assert page.image is not None
    assert page.image.picture.width * page.image.picture.height <= 505_000
    assert page.image.is_reduced


@pytest.mark.parametrize(
    ("page", "covered", "fault"),
    [
        (a_page(*PROSE.split()), 0.0, ""),
        (a_page("Rechnung", "12,50", "EUR"), 0.0, ""),
        (a_page(), 0.0, "no text"),
        (a_page("Scanned", "by", "OfficeScan", "Pro", "2026"), 0.95, "an image with"),
        (a_page(*PROSE.split() * 5), 0.95, ""),  # a scan that was read before, and well
        (a_page(*PROSE.split(), readable=20), 0.0, "fonts do not map"),
        (a_page(*("~#q]x", "x3z9k", "};w{", "qqwrtzpl", "§$%&a/", "1l|I!") * 4), 0.0, "no words"),
    ],
    ids=["prose", "short", "none", "stamp", "read", "unmapped", "garbage"],
)
def test_a_text_layer_is_judged_by_density_and_by_its_words(
    page: PdfPage, covered: float, fault: str
) -> None:
    found = text_fault(page, covered)

    assert fault in found
    assert bool(found) == bool(fault)


def test_a_damaged_pdf_is_refused_with_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "bad.pdf"
    path.write_bytes(b"%PDF-1.4 and then nothing that a reader knows")

    with pytest.raises(FatalFailure) as refused:
        sources(path)
    assert refused.value.code == "CORRUPT_FILE"
