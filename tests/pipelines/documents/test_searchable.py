"""The searchable PDF is read back with a reader that did not write it."""

from io import BytesIO

import pypdfium2 as pdfium
import pytest
from PIL import Image

from stateward.pipelines.documents.layout import ReadPage, scanned_page
from stateward.pipelines.documents.searchable import SearchablePdf
from tests.pipelines.documents.recorded import recorded_page


def written(*pages: ReadPage) -> bytes:
    file = BytesIO()
    pdf = SearchablePdf(file)
    for page in pages:
        pdf.add(page, Image.new("L", (80, 60), 200))
    pdf.close()
    return file.getvalue()


def page_of(*lines: str, number: int = 1) -> ReadPage:
    return scanned_page(number, recorded_page(*lines), 0.36, is_given=False)


def text_of(data: bytes, page: int = 0) -> list[str]:
    text = pdfium.PdfDocument(data)[page].get_textpage().get_text_range()
    return [line.strip() for line in text.splitlines()]


def test_the_text_comes_back_line_by_line_from_every_page() -> None:
    data = written(page_of("First page", "12,50 EUR"), page_of("Zweite Seite: Grüße", number=2))

    assert text_of(data) == ["First page", "12,50 EUR"]
    assert text_of(data, 1) == ["Zweite Seite: Grüße"]


def test_words_stand_where_they_were_seen() -> None:
    page = pdfium.PdfDocument(written(page_of("Total  12,50")))[0]
    text = page.get_textpage()
    found = text.search("12,50").get_next()
    left, bottom, right, top = text.get_charbox(found[0], loose=True)

    assert page.get_size() == pytest.approx((288.0, 36.0))
    assert left == pytest.approx(0.36 * 180, abs=1)
    assert 36 - top == pytest.approx(0.36 * 20, abs=2)
    assert (right - left, top - bottom) == pytest.approx((0.36 * 12, 0.36 * 24), abs=1)


def test_a_document_may_have_more_characters_than_one_font_has_codes() -> None:
    letters = "".join(chr(code) for code in range(0x4E00, 0x4E00 + 600))
    lines = [letters[at : at + 40] for at in range(0, len(letters), 40)]

    assert "".join(text_of(written(page_of(*lines)))) == letters


def test_a_character_beyond_the_basic_plane_comes_back() -> None:
    assert text_of(written(page_of("\N{GRINNING FACE} 1"))) == ["\N{GRINNING FACE} 1"]


def test_the_picture_is_behind_the_text_and_the_text_is_not_seen() -> None:
    data = written(page_of("Unseen"))
    shown = pdfium.PdfDocument(data)[0].render().to_pil().convert("L")
    low, high = shown.getextrema()

    assert 190 <= low <= high <= 210


def test_the_same_pages_give_the_same_bytes() -> None:
    assert written(page_of("A", "b c")) == written(page_of("A", "b c"))


def test_a_page_without_words_is_a_picture() -> None:
    assert text_of(written(page_of())) == []
