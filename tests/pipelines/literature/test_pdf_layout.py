"""What the layout of a PDF tells: references by numbers, the text by its share of a page, a title by its lines."""

from pathlib import Path

import pytest

from lab.documents.literature.papers import SECTIONS, two_columns
from stateward.pipelines.kit.pdf.pages import PdfPage, PdfWord
from stateward.pipelines.literature.paper import Place
from stateward.pipelines.literature.pdf import _body_height, _imprint, _title_first, level_heights
from stateward.pipelines.literature.pdf_columns import Line
from stateward.pipelines.literature.sections import entry_label, heading_level
from stateward.pipelines.literature.text import Piece, paper_of
from tests.pipelines.literature.articles import read, texts


def pieces(*lines: tuple[str, bool]) -> list[Piece]:
    return [Piece(text, Place(page=2), size=10.0, is_large=is_large) for text, is_large in lines]


def printed(folder: Path, abstract: str, references: list[str]) -> tuple[list[str], set[str]]:
    data = two_columns(
        "Ferries",
        authors="A. B.",
        doi="10.5555/f",
        abstract=abstract,
        sections=SECTIONS,
        references=references,
    )
    paper = read(folder, data, "printed.pdf")
    return texts(paper.blocks, "reference"), {note.code for note in paper.notes}


def test_numbered_entries_below_the_references_are_no_headings(tmp_path: Path) -> None:
    cited = ["World Health Organization", "Ovretveit J and Serouri A", "Harbour Commission"]

    found, notes = printed(
        tmp_path, "Short.", [f"{at}. {each}" for at, each in enumerate(cited, 1)]
    )

    assert found == cited
    assert not notes


@pytest.mark.parametrize(
    "line", ["1. World Health Organization", "D. Naylor on the planning of sleep"]
)
def test_a_number_or_an_initial_makes_no_heading_below_the_references(line: str) -> None:
    assert heading_level(line) == 1
    assert heading_level(line, is_cited=True) == 0
    assert heading_level("7. Acknowledgements", is_cited=True) == 1


def test_what_is_large_and_begins_with_a_small_letter_is_no_heading() -> None:
    paper = paper_of(
        pieces(("Soup", True), ("We cook.", False), ("estimates.23", True), ("Salt", True)),
        format_="pdf",
    )

    assert texts(paper.blocks, "heading") == ["Salt"]


def test_a_text_without_references_and_an_abstract_without_end_are_doubted(tmp_path: Path) -> None:
    assert printed(tmp_path, "Ferries sail at night. " * 200, []) == (
        [],
        {"NO_REFERENCES", "DOUBTFUL_ABSTRACT"},
    )


def test_many_small_references_do_not_make_headings_of_the_text() -> None:
    page = PdfPage(number=1, width=600.0, height=800.0, words=[], chars=0)

    def line(chars: int, height: float) -> Line:
        return Line(page, [PdfWord("x" * chars, 50.0, 10.0, 300.0, 10.0 + height, 18.0, 0)])

    assert _body_height([line(600, 8.0), line(350, 10.0), line(50, 14.0)]) == 10.0
    assert _body_height([line(800, 10.0), line(100, 8.0), line(100, 14.0)]) == 10.0


def test_lines_of_a_scan_are_as_high_as_its_text_whatever_they_hold() -> None:
    page = PdfPage(number=1, width=600.0, height=800.0, words=[], chars=0)

    def line(height: float) -> Line:
        return Line(page, [PdfWord("x" * 50, 50.0, 10.0, 300.0, 10.0 + height, 18.0, 0)])

    lines = [line(each) for each in (10.7, 12.1, 11.4, 12.1, 10.7, 10.7, 12.1, 20.0, 8.0)]
    level_heights(lines)

    assert {round(each.height, 1) for each in lines[:7]} == {11.4}
    assert [round(each.height, 1) for each in lines[7:]] == [20.0, 8.0]


@pytest.mark.parametrize(
    ("line", "label"),
    [("12. Cook A.", "12"), ("[7] Cook A.", "7"), ("1872. Earlier work", ""), ("2005) was", "")],
)
def test_a_line_that_begins_with_a_year_begins_no_entry(line: str, label: str) -> None:
    assert entry_label(line) == label


def test_the_line_of_the_doi_above_the_text_is_part_of_the_imprint_in_any_size() -> None:
    page = PdfPage(number=1, width=600.0, height=800.0, words=[], chars=0)
    own = "J Lake Transp 12 (2019) 33-41. https://doi.org/10.5555/ferry.33"
    texts_down = ("Anna Roeder", own, "Abstract", "As Brown had it in 3 (1999), 10.5555/bunks.")

    def line(text: str, top: float) -> Line:
        return Line(page, [PdfWord(text, 50.0, top, 300.0, top + 10.0, top + 8.0, 0)])

    lines = [line(each, 200.0 + 20 * at) for at, each in enumerate(texts_down)]

    assert _imprint(page, lines, lines[0].height) == own


def test_a_title_goes_on_in_a_further_line_that_is_as_large_and_close_below() -> None:
    def piece(text: str, top: float, size: float) -> Piece:
        place = Place(page=1, box=(50.0, top, 300.0, top + size))
        return Piece(text, place, size=size, is_large=True)

    found = _title_first(
        [
            piece("Ferries in", 60.0, 14.0),
            piece("harbour towns", 92.0, 14.0),
            piece("Results", 300.0, 14.0),
        ],
        800.0,
    )

    assert [each.text for each in found] == ["Ferries in harbour towns", "Results"]
