"""The text of a contract: what is read, in which order, from where on the page; and what is refused, and how."""

from pathlib import Path

import pytest

from lab.documents.statements import Paper, broken
from lab.documents.statements.paper import width
from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.documents import TextDocument, locate
from stateward.pipelines.kit.reader import read_document, text_document

SENTENCE = "The parties agree to keep every secret that they tell each other, in writing or by word of mouth."


def a_paper(*lines: str, size: float = 11) -> Paper:
    paper = Paper()
    paper.page()
    for at, line in enumerate(lines):
        paper.text(60, 80 + 18 * at, line, size=size)
    return paper


def written(folder: Path, data: bytes, name: str = "contract") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def read_paper(folder: Path, paper: Paper) -> TextDocument:
    return read_document(written(folder, paper.pdf()))


def refused(path: Path, *, pages_max: int = 9, chars_max: int = 99_999) -> FatalFailure:
    with pytest.raises(FatalFailure) as caught:
        read_document(path, pages_max=pages_max, chars_max=chars_max)
    return caught.value


def test_a_pdf_is_read_line_by_line(tmp_path: Path) -> None:
    document = read_paper(tmp_path, a_paper("Mutual Agreement", SENTENCE, "Signed in Berlin"))

    assert document.format == "pdf"
    assert document.pages[0].text == f"Mutual Agreement\n{SENTENCE}\nSigned in Berlin"
    assert [line.start for line in document.pages[0].lines] == [0, 17, 17 + len(SENTENCE) + 1]


def test_every_character_knows_where_it_stands(tmp_path: Path) -> None:
    document = read_paper(tmp_path, a_paper("The fee is 89,90 EUR a month", SENTENCE))
    start = document.pages[0].text.index("89,90")

    found = locate(document, 1, start, start + len("89,90"))

    assert found.box is not None
    left = 60 + width("The fee is ", 11)
    assert found.box[0] == pytest.approx(left, abs=1)
    assert found.box[2] == pytest.approx(left + width("89,90", 11), abs=1)
    assert found.box[1] < 80 < found.box[3] + 1


def test_a_place_over_two_lines_has_the_box_around_both(tmp_path: Path) -> None:
    document = read_paper(tmp_path, a_paper(SENTENCE, SENTENCE))
    line = document.pages[0].lines[1]

    found = locate(document, 1, line.start - 10, line.start + 10)

    assert found.box is not None
    assert found.box[0] == pytest.approx(60, abs=1)
    assert found.box[3] - found.box[1] > 18


def test_a_label_and_its_value_stay_on_one_line(tmp_path: Path) -> None:
    paper = a_paper(SENTENCE)
    for at, (label, value) in enumerate([("Provider", "Vattenfall"), ("Tariff", "Natur24")] * 5):
        paper.text(60, 140 + 20 * at, label)
        paper.text(360, 140 + 20 * at, value)

    lines = read_paper(tmp_path, paper).pages[0].text.split("\n")

    assert lines[1] == "Provider\tVattenfall"
    assert lines[-1] == "Tariff\tNatur24"


def test_two_columns_of_prose_are_read_one_after_the_other(tmp_path: Path) -> None:
    paper = a_paper(
        "GENERAL TERMS AND CONDITIONS OF THE SUPPLIER, AS OF JANUARY 2026, FOR ALL OF ITS CUSTOMERS"
    )
    for at in range(12):
        paper.text(60, 140 + 14 * at, f"left column line number {at:02} of the prose", size=10)
        paper.text(320, 140 + 14 * at, f"right column line number {at:02} of the prose", size=10)

    text = read_paper(tmp_path, paper).pages[0].text

    assert text.index("left column line number 11") < text.index("right column line number 00")


def test_a_raised_ending_belongs_to_its_line(tmp_path: Path) -> None:
    paper = a_paper(SENTENCE)
    end = paper.text(60, 200, "made this 3", size=12)
    end = paper.text(end, 195.5, "rd", size=7)
    paper.text(end, 200, " day of August, 2004", size=12)

    assert "made this 3rd day of August, 2004" in read_paper(tmp_path, paper).pages[0].text


def test_turned_text_and_text_beside_the_page_are_not_read(tmp_path: Path) -> None:
    paper = Paper()
    paper.page(extra="/CropBox [0 0 595 700]")
    paper.text(60, 300, SENTENCE)
    paper.text(60, 50, "outside of what anybody sees")
    paper.text(200, 500, "DRAFT COPY", size=40, angle=45)

    assert read_paper(tmp_path, paper).pages[0].text == SENTENCE


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_a_text_is_read_in_its_encoding(tmp_path: Path, encoding: str) -> None:
    text = "Vertrag über Wärme zwischen Müller & Söhne und Jörg Weiß.\r\nGrundpreis: 10,00 €"

    document = read_document(written(tmp_path, text.encode(encoding)))

    assert document.format == "text"
    assert document.pages[0].text == text.replace("\r\n", "\n")


def test_form_feeds_part_the_pages_of_a_text() -> None:
    document = text_document("page one\nof two\fpage two")

    assert [page.text for page in document.pages] == ["page one\nof two", "page two"]
    assert locate(document, 2, 5, 8).box is None


def test_empty_lines_of_a_text_keep_their_places() -> None:
    page = text_document("one\n\ntwo").pages[0]

    assert [page.text[line.start : line.end] for line in page.lines] == ["one", "", "two"]
    assert page.line_at(page.text.index("two")) == 2


REFUSED = {
    "nothing": (b"", "EMPTY_DOCUMENT"),
    "blanks": (b" \r\n\t ", "EMPTY_DOCUMENT"),
    "a few letters": (b"Contract", "EMPTY_DOCUMENT"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + b"x" * 100, "UNSUPPORTED_FORMAT"),
    "a page of the web": (
        b"<!DOCTYPE html><html>A contract of some length</html>",
        "UNSUPPORTED_FORMAT",
    ),
    "noise": (bytes(range(1, 256)) * 20, "UNSUPPORTED_FORMAT"),
    "an old Word file": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "UNSUPPORTED_FORMAT"),
    "a locked DOCX": (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + "EncryptedPackage".encode("utf-16-le"),
        "ENCRYPTED",
    ),
    "a torn PDF": (a_paper(SENTENCE).pdf()[:300], "CORRUPT_FILE"),
    "a PDF without pages": (broken.without_pages(), "CORRUPT_FILE"),
    "a scan": (broken.picture(2), "NO_TEXT"),
    "an empty page": (a_paper("x").pdf(), "NO_TEXT"),
    "a locked PDF": (broken.lock(a_paper(SENTENCE).objects(), user="a", owner="b"), "ENCRYPTED"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_with_its_code(tmp_path: Path, name: str) -> None:
    data, code = REFUSED[name]

    failure = refused(written(tmp_path, data))

    assert failure.code == code
    assert not failure.is_retryable


def test_a_locked_pdf_opens_with_its_password(tmp_path: Path) -> None:
    locked = broken.lock(a_paper(SENTENCE, SENTENCE).objects(), user="secret", owner="owner")

    document = read_document(written(tmp_path, locked), password="secret")

    assert SENTENCE in document.text


def test_a_pdf_with_a_damaged_part_is_refused_though_it_opens(tmp_path: Path) -> None:
    pdf = bytearray(a_paper(*[SENTENCE] * 20).pdf())
    place = pdf.rfind(b"stream\n", 0, pdf.rfind(b"endstream")) + 40
    pdf[place : place + 8] = bytes(8)

    path = written(tmp_path, bytes(pdf))
    assert refused(path).code == "CORRUPT_FILE"
    with pytest.raises(FatalFailure, match="damaged, and no text is left") as failed:
        read_document(path, is_lenient=True)
    assert failed.value.code == "CORRUPT_FILE"


@pytest.mark.parametrize("is_torn", [False, True])
def test_a_damaged_pdf_is_read_leniently_as_far_as_that_goes(
    tmp_path: Path, *, is_torn: bool
) -> None:
    paper = a_paper(*[SENTENCE] * 20)
    paper.page()
    for at in range(20):
        paper.text(50, 60 + 14 * at, SENTENCE)
    pdf = bytearray(paper.pdf())
    if is_torn:
        pytest.importorskip("pikepdf")
        del pdf[len(pdf) * 2 // 3 :]
    else:
        place = pdf.rfind(b"stream\n", 0, pdf.rfind(b"endstream")) + 40
        pdf[place : place + 8] = bytes(8)
    path = written(tmp_path, bytes(pdf))

    document = read_document(path, is_lenient=True)

    assert refused(path).code == "CORRUPT_FILE"
    assert SENTENCE in document.pages[0].text
    assert "damaged" in document.damage


def test_more_pages_than_allowed_are_refused(tmp_path: Path) -> None:
    paper = a_paper(SENTENCE)
    paper.page()
    paper.text(60, 80, SENTENCE)

    assert refused(written(tmp_path, paper.pdf()), pages_max=1).code == "TOO_MANY_PAGES"
    assert (
        refused(written(tmp_path, f"{SENTENCE}\f{SENTENCE}".encode()), pages_max=1).code
        == "TOO_MANY_PAGES"
    )


def test_more_text_than_allowed_is_refused(tmp_path: Path) -> None:
    assert (
        refused(written(tmp_path, a_paper(SENTENCE).pdf()), chars_max=50).code == "TEXT_TOO_LARGE"
    )
    assert refused(written(tmp_path, SENTENCE.encode()), chars_max=50).code == "TEXT_TOO_LARGE"
