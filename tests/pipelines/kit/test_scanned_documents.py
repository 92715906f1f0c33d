"""Scans, photos and pictures among the pages of a PDF, read by OCR where a caller asks for it."""

import io
from email.message import EmailMessage
from pathlib import Path

import pytest

from lab.documents.scans import page_picture
from lab.documents.statements import Paper, broken
from lab.documents.statements.paper import assemble
from stateward.core.errors import FatalFailure
from stateward.pipelines.contracts.caps import FLAGS
from stateward.pipelines.contracts.evaluate import by_rules
from stateward.pipelines.contracts.rules import default_rules
from stateward.pipelines.contracts.validation import validate_extraction
from stateward.pipelines.kit.ocr import OcrLine, OcrPage, OcrWord
from stateward.pipelines.kit.pdf import scans
from stateward.pipelines.kit.reader import read_document

CONTRACT = [
    "E.ON Energie Deutschland GmbH, Arnulfstraße 203, 80634 München",
    "Vertragsbestätigung",
    "Tarif: E.ON Strom 24",
    "Lieferbeginn: 01.05.2025",
    "Vertragsende: 30.04.2027",
    "Arbeitspreis: 30,10 ct/kWh (brutto)",
    "Monatlicher Abschlag: 95,00 EUR",
    "Kündigungsfrist: 1 Monat",
]


class FakeRecognizer:
    """Reads the same lines on every picture."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines

    def read(self, picture: object) -> OcrPage:
        lines = [self._line(text, 60.0 + 60 * at) for at, text in enumerate(self._lines)]
        return OcrPage(1600, 2200, 0, lines)

    @staticmethod
    def _line(text: str, top: float) -> OcrLine:
        words, left = [], 100.0
        for word in text.split():
            right = left + 14.0 * len(word)
            words.append(OcrWord(word, (left, top, right, top + 30), 99))
            left = right + 12.0
        return OcrLine(text, (100.0, top, left, top + 30), 99, words, top + 28)


@pytest.fixture
def recognized(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines that OCR finds on any picture."""
    lines = list(CONTRACT)
    monkeypatch.setattr(scans, "_recognizer", lambda: FakeRecognizer(lines))
    return lines


def written(folder: Path, data: bytes) -> Path:
    path = folder / "contract"
    path.write_bytes(data)
    return path


def a_photo(format_: str = "png", **options: object) -> bytes:
    made = io.BytesIO()
    page_picture(["."], width=80).convert("RGB").save(made, format_, **options)
    return made.getvalue()


def text_and_picture() -> bytes:
    """A page with the contract, and a second one that is a picture."""
    paper = Paper()
    paper.page()
    for at, line in enumerate(CONTRACT):
        paper.text(50, 60 + 20 * at, line)
    objects = paper.objects()
    objects[1] = objects[1].replace(b"/Count 1 /Kids [6 0 R]", b"/Count 2 /Kids [6 0 R 10 0 R]")
    picture = broken.picture(1)
    assert b"/I 4 0 R" in picture
    return assemble(
        [
            *objects,
            b"<< /Length 31 >>\nstream\nq 595 0 0 842 0 0 cm /I Do Q   \nendstream",
            broken.image(),
            b"<< /Type /Page /Parent 2 0 R /Contents 8 0 R /Resources << /XObject << /I 9 0 R >> >> >>",
        ]
    )


@pytest.mark.usefixtures("recognized")
@pytest.mark.parametrize(("data", "format_"), [(broken.picture(1), "pdf"), (a_photo(), "image")])
def test_a_scan_and_a_photo_are_read_and_wait_for_a_person(
    tmp_path: Path, data: bytes, format_: str
) -> None:
    rules = default_rules()

    document = read_document(written(tmp_path, data), is_ocr=True)
    found = by_rules(document, rules.vertical("energy"), rules)

    assert (document.format, [page.is_scan for page in document.pages]) == (format_, [True])
    values = {each.field: each for each in found.found}
    assert values["monthly_rate"].value == "95.00"
    assert "read by OCR" in values["monthly_rate"].why
    assert not validate_extraction(found, rules).accepted


def a_mail(*attachments: tuple[str, bytes]) -> bytes:
    message = EmailMessage()
    message["Subject"], message["Message-ID"] = "Ihr Vertrag", "<1@example.org>"
    message.set_content("Anbei Ihr Vertrag.")
    for name, data in attachments:
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return message.as_bytes()


@pytest.mark.usefixtures("recognized")
@pytest.mark.parametrize(("name", "data"), [("a.pdf", broken.picture(1)), ("a.png", a_photo())])
def test_a_scan_that_is_attached_to_a_mail_is_read_and_waits_for_a_person(
    tmp_path: Path, name: str, data: bytes
) -> None:
    rules = default_rules()

    document = read_document(written(tmp_path, a_mail((name, data))), is_ocr=True)
    found = by_rules(document, rules.vertical("energy"), rules)

    assert (document.format, [page.is_scan for page in document.pages]) == ("eml", [True, False])
    values = {each.field: each for each in found.found}
    assert values["contract_end"].value == "2027-04-30"
    assert "read by OCR" in values["contract_end"].why
    assert not validate_extraction(found, rules).accepted


@pytest.mark.usefixtures("recognized")
def test_without_ocr_a_scan_of_a_mail_is_a_page_that_was_not_read(tmp_path: Path) -> None:
    mail = a_mail(("a.png", a_photo()), ("b.txt", "\n".join(CONTRACT).encode()))

    document = read_document(written(tmp_path, mail))

    assert [page.is_picture for page in document.pages] == [True, False, False]


def test_a_picture_among_pages_is_read_and_does_not_hold_the_others_up(
    tmp_path: Path, recognized: list[str]
) -> None:
    recognized[:] = ["Allgemeine Hinweise zur Lieferung und zum Netzbetreiber"]
    rules = default_rules()

    document = read_document(written(tmp_path, text_and_picture()), is_ocr=True)
    found = by_rules(document, rules.vertical("energy"), rules)

    assert [page.is_scan for page in document.pages] == [False, True]
    assert "Netzbetreiber" in document.pages[1].text
    assert FLAGS not in found.about
    assert validate_extraction(found, rules).accepted


def test_a_stamp_on_a_picture_among_pages_is_seen(tmp_path: Path, recognized: list[str]) -> None:
    recognized[:] = ["STORNIERT"]
    rules = default_rules()

    document = read_document(written(tmp_path, text_and_picture()), is_ocr=True)

    assert not validate_extraction(
        by_rules(document, rules.vertical("energy"), rules), rules
    ).accepted


@pytest.mark.parametrize("lines", [[], None])
def test_a_picture_that_is_not_read_stays_flagged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str] | None
) -> None:
    def recognizer() -> FakeRecognizer:
        if lines is None:
            raise ImportError("rapidocr")
        return FakeRecognizer(lines)

    monkeypatch.setattr(scans, "_recognizer", recognizer)
    rules = default_rules()

    document = read_document(written(tmp_path, text_and_picture()), is_ocr=True)
    found = by_rules(document, rules.vertical("energy"), rules)

    assert [page.is_picture for page in document.pages] == [False, True]
    assert "PAGES_WITHOUT_TEXT" in str(found.about[FLAGS])


@pytest.mark.usefixtures("recognized")
def test_a_picture_of_several_pages_is_refused(tmp_path: Path) -> None:
    second = page_picture(["."], width=80).convert("RGB")
    data = a_photo("tiff", save_all=True, append_images=[second])

    with pytest.raises(FatalFailure, match="several pages") as failed:
        read_document(written(tmp_path, data), is_ocr=True)

    assert failed.value.code == "TOO_MANY_PAGES"


@pytest.mark.long
def test_a_photographed_contract_is_read_by_the_recognizer_itself(tmp_path: Path) -> None:
    made = io.BytesIO()
    page_picture(CONTRACT, width=1400, letter=30).save(made, "png")
    rules = default_rules()

    document = read_document(written(tmp_path, made.getvalue()), is_ocr=True)
    found = by_rules(document, rules.vertical("energy"), rules)

    values = {each.field: each.value for each in found.found}
    assert (values["monthly_rate"], values["contract_end"]) == ("95.00", "2027-04-30")
