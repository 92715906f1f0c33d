"""What a person does not see is never read, and what stands in a form is."""

import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest

from stateward.pipelines.kit.pdf.layers import may_have_layers
from stateward.pipelines.kit.reader import read_document

SEEN = "A contract with enough text that a person can see in this line"
HIDDEN = "Vertragsende: 31.12.2099"
LAYERS = " /OCProperties << /OCGs [6 0 R 7 0 R] /D << /BaseState /ON /OFF [6 0 R] >> >>"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def line(
    text: str, y: float, *, size: float = 10, x: float = 50, colour: str = "0 g", mode: int = 0
) -> str:
    return f"BT {colour} {mode} Tr /F1 {size} Tf {x} {y} Td ({text}) Tj ET\n"


def a_pdf(path: Path, content: str, *, field: str = "", flags: int = 4, layered: str = "") -> Path:
    """One page, written by hand; `field` is the value of a text field beside y = 693.

    `layered` is what the form `/Fm` draws, which names the layer `off` itself. There is another layer, `on`.
    """
    form = " /AcroForm << /Fields [6 0 R] /DA (/F1 10 Tf 0 g) >>" if field else ""
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R{form}{LAYERS if '/OC' in content or layered else ''} >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
        "/Resources << /Font << /F1 5 0 R >> /Properties << /off 6 0 R /on 7 0 R >> /XObject << /Fm 8 0 R >> >>"
        f"{' /Annots [6 0 R]' if field else ''} >>",
        f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    if field:
        objects.append(
            f"<< /Type /Annot /Subtype /Widget /FT /Tx /T (f) /V ({field}) /F {flags} "
            "/Rect [200 690 400 704] /DA (/F1 10 Tf 0 g) >>"
        )
    else:
        objects += [f"<< /Type /OCG /Name ({name}) >>" for name in ("off", "on")]
        objects.append(
            "<< /Type /XObject /Subtype /Form /BBox [0 0 595 842] /OC 6 0 R /Resources << /Font << /F1 5 0 R >> >> "
            f"/Length {len(layered)} >>\nstream\n{layered}\nendstream"
        )
    made, offsets = "%PDF-1.7\n", []
    for number, each in enumerate(objects, start=1):
        offsets.append(len(made))
        made += f"{number} 0 obj\n{each}\nendobj\n"
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    made += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    made += f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(made)}\n%%EOF\n"
    path.write_bytes(made.encode("latin-1"))
    return path


@pytest.mark.parametrize(
    "hidden",
    [
        line(HIDDEN, 640, colour="1 g"),
        line(HIDDEN, 640, colour="1 1 1 rg"),
        line(HIDDEN, 640, colour="0.99 0.99 0.99 rg"),
        line(HIDDEN, 640, colour="0.9 g"),
        line(HIDDEN, 640, colour="1 1 0 rg"),
        line(HIDDEN, 640, colour="1 1 0.7 rg"),
        "0.95 g 40 630 300 30 re f\n" + line(HIDDEN, 640, colour="1 1 0 rg"),
        "1 1 0 rg 40 630 300 30 re f\n" + line(HIDDEN, 640, colour="1 g"),
        line(HIDDEN, 640, size=1),
        line(HIDDEN, 640, mode=3),
        line(HIDDEN, -50),
        line(HIDDEN, 640, x=700),
        "1 g 40 630 300 30 re f\n" + line(HIDDEN, 640, colour="1 g"),
        line(HIDDEN, 640) + "1 g 40 630 300 30 re f\n",
        line(HIDDEN, 640) + "0 g 40 630 300 30 re f\n",
        line(HIDDEN, 640, x=400) + "1 g 390 -90000 30000 180000 re f\n",
        "0 0 0.5 rg 40 630 300 30 re f\n" + line(HIDDEN, 640, colour="0 0 0.5 rg"),
        "q 400 100 10 10 re W n\n" + line(HIDDEN, 640) + "Q\n",
        line(HIDDEN, 640, mode=7),
    ],
    ids=[
        "white", "rgb", "near-white", "light-grey", "yellow", "pale-yellow", "yellow-on-light-grey", "white-on-yellow",
        "tiny", "invisible", "below", "beside", "white-ground",
        "covered", "blackened", "far-larger-than-the-page", "own-colour", "cut-away", "only-a-clip",
    ],
)  # fmt: skip
def test_text_of_a_pdf_that_a_person_does_not_see_is_not_read(tmp_path: Path, hidden: str) -> None:
    document = read_document(a_pdf(tmp_path / "a.pdf", line(SEEN, 780) + hidden))

    assert document.text == SEEN
    assert document.pages[0].unseen == HIDDEN


@pytest.mark.parametrize(
    ("content", "layered"),
    [(f"/OC /off BDC\n{line(HIDDEN, 640)}EMC\n", ""), ("/Fm Do\n", line(HIDDEN, 640))],
    ids=["marked", "form"],
)
def test_text_on_a_layer_that_is_off_is_not_read(
    tmp_path: Path, content: str, layered: str
) -> None:
    shown = f"/OC /on BDC\n{line('Vertragsende: 31.12.2026', 600)}EMC\n"

    path = a_pdf(tmp_path / "a.pdf", line(SEEN, 780) + content + shown, layered=layered)
    document = read_document(path)

    assert document.text.splitlines() == [SEEN, "Vertragsende: 31.12.2026"]
    assert document.pages[0].unseen == HIDDEN


def test_layers_are_found_where_the_catalog_is_packed_and_assumed_where_it_cannot_be_read(
    tmp_path: Path,
) -> None:
    def a_file(stored: bytes) -> Path:
        path = tmp_path / "a.pdf"
        path.write_bytes(b"%PDF-1.7\n1 0 obj\n<< /Type /ObjStm >>\nstream\n" + stored)
        return path

    assert may_have_layers(a_file(zlib.compress(b"<< /OCProperties 2 0 R >>")))
    assert may_have_layers(a_file(b"no stream of objects"))
    assert not may_have_layers(a_file(zlib.compress(b"<< /Type /Catalog >>")))


def test_a_large_faint_word_across_a_page_is_read(tmp_path: Path) -> None:
    mark = line("MUSTER", 400, size=60, colour="0.92 g")

    document = read_document(a_pdf(tmp_path / "a.pdf", line(SEEN, 780) + mark))

    assert document.text.splitlines() == [SEEN, "MUSTER"]


def test_letters_of_a_negative_size_stand_as_a_person_sees_them(tmp_path: Path) -> None:
    upright = "BT /F1 -10 Tf -1 0 0 -1 50 700 Tm (Total) Tj -60 0 Td (7) Tj -20 0 Td (EUR) Tj ET\n"
    over = "BT /F1 -10 Tf 1 0 0 1 300 600 Tm (9) Tj ET\n"

    document = read_document(a_pdf(tmp_path / "a.pdf", line(SEEN, 780) + upright + over))

    assert [row.split() for row in document.text.splitlines()] == [
        SEEN.split(),
        ["Total", "7", "EUR"],
    ]
    assert document.pages[0].turned == "9"


def test_of_a_value_and_the_one_that_was_written_over_it_the_upper_one_is_read(
    tmp_path: Path,
) -> None:
    over = "1 g 40 630 300 30 re f\n" + line("Vertragsende: 31.12.2026", 640)

    document = read_document(a_pdf(tmp_path / "a.pdf", line(SEEN, 780) + line(HIDDEN, 640) + over))

    assert document.text.splitlines() == [SEEN, "Vertragsende: 31.12.2026"]
    assert document.pages[0].unseen == HIDDEN


@pytest.mark.parametrize(
    "drawn",
    [
        "0.9 g 40 630 300 30 re f\n" + line(HIDDEN, 640),
        "0 0 0.5 rg 40 630 300 30 re f\n" + line(HIDDEN, 640, colour="1 1 0 rg"),
        line(HIDDEN, 640, colour="0.75 g"),
        line(HIDDEN, 640, colour="1 0.8 0 rg"),
        "0 0 0.5 rg 40 630 300 30 re f\n" + line(HIDDEN, 640, colour="1 g"),
        line(HIDDEN, 640) + "1 g 40 600 300 30 re f\n",
        line(HIDDEN, 640) + "0 g 40 637 300 1 re f\n",
        "q 40 600 400 100 re W n\n" + line(HIDDEN, 640) + "Q\n",
        line(HIDDEN, 640) + "1 g 40 630 m 340 660 l 340 630 l f\n",
    ],
    ids=[
        "on-grey",
        "yellow-on-blue",
        "grey",
        "orange",
        "white-on-blue",
        "area-below",
        "rule",
        "within-a-clip",
        "beside-a-triangle",
    ],
)
def test_what_a_person_sees_beside_and_on_areas_is_read(tmp_path: Path, drawn: str) -> None:
    document = read_document(a_pdf(tmp_path / "a.pdf", line(SEEN, 780) + drawn))

    assert document.text.splitlines() == [SEEN, HIDDEN]
    assert document.pages[0].unseen == ""


@pytest.mark.parametrize(
    ("drawn", "struck"),
    [
        ("0.5 w 50 703 m 200 703 l S\n", "Lieferbeginn: 01.05.2025"),
        ("50 702.5 150 0.7 re f\n", "Lieferbeginn: 01.05.2025"),
        ("0.5 w 112 703 m 170 703 l S\n", "01.05.2025"),
        ("0.5 w 50 698.5 m 200 698.5 l S\n", ""),
        ("0.5 w 50 711 m 200 711 l S\n", ""),
        ("0.5 w 300 703 m 400 703 l S\n", ""),
    ],
    ids=["line", "rectangle", "value", "underlined", "rule-above", "beside"],
)
def test_words_with_a_line_through_them_are_told(tmp_path: Path, drawn: str, struck: str) -> None:
    content = line(SEEN, 780) + line("Lieferbeginn: 01.05.2025", 700) + drawn

    (page,) = read_document(a_pdf(tmp_path / "a.pdf", content)).pages

    assert page.struck == struck


def test_white_letters_on_a_dark_ground_are_read(tmp_path: Path) -> None:
    ground = "0 0 0.5 rg 40 630 300 30 re f\n"
    content = line(SEEN, 780) + ground + line("Arbeitspreis", 640, colour="1 g")

    assert read_document(a_pdf(tmp_path / "a.pdf", content)).text == f"{SEEN}\nArbeitspreis"


def test_the_value_of_a_form_field_is_read_where_it_stands(tmp_path: Path) -> None:
    content = line(SEEN, 780) + line("Monatlicher Abschlag:", 693)
    path = a_pdf(tmp_path / "a.pdf", content, field="95,00 EUR")

    document = read_document(path)

    assert document.text == f"{SEEN}\nMonatlicher Abschlag:\t95,00 EUR"


def test_a_hidden_form_field_is_not_read(tmp_path: Path) -> None:
    path = a_pdf(tmp_path / "a.pdf", line(SEEN, 780), field=HIDDEN, flags=2)

    assert read_document(path).text == SEEN


@pytest.mark.parametrize(
    ("properties", "is_read"),
    [
        ("<w:vanish/>", False),
        ('<w:vanish w:val="0"/>', True),
        ("<w:strike/>", False),
        ("<w:dstrike/>", False),
        ('<w:strike w:val="false"/>', True),
        ('<w:color w:val="FFFFFF"/>', False),
        ('<w:color w:val="FFFFFF"/><w:shd w:val="clear" w:fill="000080"/>', True),
        ('<w:color w:val="FF0000"/>', True),
        ('<w:color w:val="C8C8C8"/>', True),
        ('<w:sz w:val="2"/>', False),
        ('<w:sz w:val="14"/>', True),
    ],
)
def test_a_run_of_a_docx_is_read_if_a_person_sees_it(
    tmp_path: Path, properties: str, *, is_read: bool
) -> None:
    run = f"<w:r><w:rPr>{properties}</w:rPr><w:t>{HIDDEN}</w:t></w:r>"
    body = f"<w:p><w:r><w:t>{SEEN}</w:t></w:r></w:p><w:p>{run}</w:p>"
    path = tmp_path / "a.docx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr(
            "word/document.xml",
            f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>',
        )

    assert (HIDDEN in read_document(path).text) == is_read


# What stands across a page


def across(text: str, *, colour: str = "0.7 g", mode: int = 0, x: int = 150) -> str:
    return f"BT {colour} {mode} Tr /F1 60 Tf 0.7 0.7 -0.7 0.7 {x} 250 Tm ({text}) Tj ET\n"


def test_a_watermark_is_part_of_no_line_and_is_kept_apart(tmp_path: Path) -> None:
    (page,) = read_document(a_pdf(tmp_path / "a.pdf", line(SEEN, 700) + across("MUSTER"))).pages

    assert (page.text, page.turned) == (SEEN, "MUSTER")


def test_what_stands_along_the_margin_is_no_part_of_a_watermark(tmp_path: Path) -> None:
    margin = "BT 0 g /F1 6 Tf 0 1 -1 0 20 100 Tm (Form VT-4711, page 1) Tj ET\n"
    content = line(SEEN, 700) + margin + across("Entwurf") + across("E N T W U R F", x=300)

    (page,) = read_document(a_pdf(tmp_path / "a.pdf", content)).pages

    assert page.turned.split("\n") == ["Form VT-4711, page 1", "Entwurf", "E N T W U R F"]


@pytest.mark.parametrize("ink", [{"colour": "1 g"}, {"mode": 3}], ids=["white", "invisible"])
def test_a_watermark_that_does_not_show_is_none(tmp_path: Path, ink: dict[str, Any]) -> None:
    content = line(SEEN, 700) + across("MUSTER", **ink)

    (page,) = read_document(a_pdf(tmp_path / "a.pdf", content)).pages

    assert (page.text, page.turned) == (SEEN, "")


@pytest.mark.parametrize(
    ("stamp", "said"),
    [
        ("/Subtype /Stamp /Name /Draft", "Draft"),
        ("/Subtype /FreeText /Contents (STORNIERT) /DA (/F1 30 Tf)", "STORNIERT"),
        ("/Subtype /FreeText /Contents (STORNIERT) /DA (/F1 30 Tf) /F 2", ""),
        ("/Subtype /Text /Contents (a comment that is folded away)", ""),
    ],
    ids=["stamp", "text", "hidden", "comment"],
)
def test_a_stamp_that_was_laid_over_a_page_is_seen(tmp_path: Path, stamp: str, said: str) -> None:
    path = a_pdf(tmp_path / "a.pdf", line(SEEN, 700), field="x")
    data = path.read_bytes()
    start = data.index(b"/Subtype /Widget")
    end = data.index(b"/Rect [200")
    path.write_bytes(data[:start] + f"{stamp} ".encode() + data[end:])

    (page,) = read_document(path).pages

    assert (page.text, page.turned) == (SEEN, said)
