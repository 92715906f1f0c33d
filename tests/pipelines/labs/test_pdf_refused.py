"""What is no report, is damaged or has only pictures: refused with its code, or read with a note."""

import json
from pathlib import Path

import pytest

from lab.documents.labs import draw_report
from lab.documents.statements import broken
from lab.documents.statements.paper import Paper
from stateward.pipelines.kit.ocr import OcrLine, OcrPage, OcrWord
from stateward.workers.sdk import Completed
from tests.pipelines.labs.reading import failure, normalized, parsed
from tests.pipelines.two_stages import rows_of


def test_a_letter_without_results_is_refused(tmp_path: Path) -> None:
    paper = Paper()
    paper.page()
    for at in range(12):
        paper.text(
            50,
            100 + 14 * at,
            "Dear colleague, we thank you for the referral of your patient to our clinic.",
        )

    assert failure(parsed(tmp_path, paper.pdf())).code == "NO_TABLE"


def test_a_damaged_pdf_is_retried_and_then_read_with_a_note(tmp_path: Path) -> None:
    pdf = bytearray(draw_report("german_befund").pdf)
    at = pdf.rindex(b"endstream") - 4  # in the checksum of the page
    pdf[at] ^= 0xFF

    first = failure(parsed(tmp_path, bytes(pdf)))
    assert (first.code, first.is_retryable) == ("CORRUPT_FILE", True)

    second = parsed(tmp_path, bytes(pdf), retry_count=1)
    assert isinstance(second, Completed)
    assert second.facts["flags"] == ["DAMAGED"]
    assert second.count == 17


@pytest.mark.parametrize(
    ("pdf", "code"),
    [
        (b"%PDF-1.7\n", "CORRUPT_FILE"),
        (broken.missing_pages(1_000_000), "TOO_MANY_PAGES"),
    ],
    ids=["only a head", "too many pages"],
)
def test_what_cannot_be_read_is_refused_with_its_code(
    tmp_path: Path, pdf: bytes, code: str
) -> None:
    assert failure(parsed(tmp_path, pdf)).code == code


def test_the_same_bytes_give_the_same_results(tmp_path: Path) -> None:
    pdf = draw_report("cumulative").pdf

    assert rows_of(normalized(parsed(tmp_path, pdf))) == rows_of(normalized(parsed(tmp_path, pdf)))


class FakeRecognizer:
    """OCR that finds words at places, in pixels of a page at 200 dpi."""

    words: tuple[tuple[str, float, float], ...] = ()

    def read(self, picture: object) -> OcrPage:
        lines = [
            OcrLine(
                text,
                (x, y - 20, x + 20 * len(text), y),
                90,
                [OcrWord(text, (x, y - 20, x + 14 * len(text), y), 90)],
                y,
            )
            for text, x, y in self.words
        ]
        return OcrPage(1654, 2339, 0, lines)


def test_a_scan_is_read_by_ocr_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = (("Test", "Result", "Units"), ("GOT", "58", "U/I"), ("Sodium", "140", "mmol/L"))
    found = tuple(
        (text, float(x), 300.0 + 40 * at)
        for at, row in enumerate(rows)
        for text, x in zip(row, (100, 600, 900), strict=True)
    )
    monkeypatch.setattr(FakeRecognizer, "words", found)
    monkeypatch.setattr("stateward.pipelines.kit.ocr.Recognizer", FakeRecognizer)

    result = parsed(tmp_path, broken.picture(1))

    assert [(each["code"], each["unit"]) for each in rows_of(normalized(result))] == [
        ("1920-8", "U/L"),
        ("2951-2", "mmol/L"),
    ]
    assert "SCANNED" in json.dumps(getattr(result, "facts", {}))


def test_a_picture_without_text_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stateward.pipelines.kit.ocr.Recognizer", FakeRecognizer)

    assert failure(parsed(tmp_path, broken.picture(1))).code == "NO_TEXT"


def two_pages(*heads: str, feet: tuple[str, ...]) -> bytes:
    paper = Paper()
    for head, foot in zip(heads, feet, strict=True):
        paper.page()
        paper.text(50, 60, "Example Laboratory, a report of results for a test document")
        paper.text(50, 80, head)
        for at, row in enumerate([("Sodium", "140"), ("Potassium", "4.1"), ("Chloride", "101")]):
            for x, text in zip((50, 250, 340), (*row, "mmol/L"), strict=True):
                paper.text(x, 120 + 14 * at, text)
        paper.text(50, 700, foot)
    return paper.pdf()


@pytest.mark.parametrize(
    ("heads", "feet", "codes"),
    [
        (("Patient: BECKER, Hanne", "Patient: YILMAZ, Cem"), ("Seite 1 von 1",) * 2, ["SEVERAL_PATIENTS"]),
        (("Patient: BECKER, Hanne", "Patient: Hanne Becker"), ("Seite 1 von 2", "Seite 2 von 2"), []),
        (("Patient name: Ann Lee", "Continued"), ("Page 1 of 3", "Page 3 of 3"), ["PAGE_MISSING"]),
        (("Patient name: Ann Lee",), ("Page 1 of 2",), ["PAGE_MISSING"]),
        (("Patient name: Ann Lee",), ("Page 1 of 1",), []),
        (("Name: WALSH, Brendan Sex: M", "Name: KELLY, Aoife Sex: F"), ("-", "-"), ["SEVERAL_PATIENTS"]),
        (("Patient: Ann Lee DOB: 1959-06-04", "Patient: Ann Lee DOB: 1988-11-30"), ("-", "-"), ["SEVERAL_PATIENTS"]),
        (("Patient: Ann Lee DOB: 1959-06-04", "Lee, Ann, born 04.06.1959"), ("-", "-"), []),
        (("Hospital No: H100233", "Hospital No: H100238"), ("-", "-"), ["SEVERAL_PATIENTS"]),
        (("Hospital No: H100233 MRN: 77", "MRN: 077 Hospital No: H100233"), ("-", "-"), []),
        (("Patient: Ann Lee",), ("Patient: Tom Baker",), ["SEVERAL_PATIENTS"]),  # on one page
        (("Patient: Ann Lee DOB: 1959-06-04",), ("Mother: Eva Lee, born 1931-01-02",), []),
        (("Name: Lipid Panel", "Name: Blood Count"), ("Patient: Fasting since 8", "Name: Dr. Eva Roth"), []),
    ],
)  # fmt: skip
def test_pages_of_another_patient_and_missing_ones_are_told(
    tmp_path: Path, heads: tuple[str, ...], feet: tuple[str, ...], codes: list[str]
) -> None:
    done = parsed(tmp_path, two_pages(*heads, feet=feet))

    assert isinstance(done, Completed), done
    notes = str(done.facts.get("notes", ""))
    assert [code for code in ("SEVERAL_PATIENTS", "PAGE_MISSING") if f"{code}: " in notes] == codes
