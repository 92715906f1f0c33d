"""The lab reports as PDFs that the reader is measured with."""

import pypdfium2
import pytest

from lab.documents.lab_pdfs.laboratories import LABORATORIES, draw
from lab.documents.lab_pdfs.mutated import MUTATED


def test_there_are_layouts_of_twelve_laboratories() -> None:
    assert len({each.name for each in LABORATORIES}) >= 12
    assert len({each.country for each in LABORATORIES}) >= 10


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.long)])
def test_every_value_of_the_truth_stands_on_the_page(step: int) -> None:
    for own in LABORATORIES[::step]:
        content, truth = draw(own, 7)
        again, _ = draw(own, 7)
        document = pypdfium2.PdfDocument(content)
        text = "".join(page.get_textpage().get_text_range() for page in document)

        assert content == again
        for row in truth["results"]:  # type: ignore[attr-defined]
            assert row["value_printed"].replace(" ", "") in text.replace(" ", ""), own.name


def test_every_seed_of_a_mutated_report_is_another_layout_and_holds_its_truth() -> None:
    (own,) = MUTATED
    pages = []
    for seed in range(12):
        content, truth = draw(own, seed)
        document = pypdfium2.PdfDocument(content)
        pages.append("".join(page.get_textpage().get_text_range() for page in document))

        assert content == draw(own, seed)[0]
        for row in truth["results"]:  # type: ignore[attr-defined]
            assert row["value_printed"] in pages[-1]
            assert row["unit_printed"] in pages[-1]
    assert len(set(pages)) == len(pages)
