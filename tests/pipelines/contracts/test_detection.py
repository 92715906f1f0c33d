"""A contract is detected by the words at its start, with evidence; nothing is inflated whole."""

import io
import zipfile
import zlib
from base64 import a85encode
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from quopri import encodestring
from typing import TypeAlias

import pytest

from lab.documents.contracts.blocks import Block, Heading, Lines, Table, docx, pdf, plain
from stateward.definition.plugin import Content, Detected
from stateward.pipelines.contracts.detection import detect
from stateward.pipelines.kit.pdf import peek
from stateward.pipelines.kit.pdf.peek import peeked_texts

Write: TypeAlias = Callable[[Iterable[Block]], bytes]
ENERGY: list[Block] = [
    Heading("Vertragsbestätigung"),
    Lines(["Lieferbeginn: 01.05.2025", "Vertragsende: 30.04.2027"]),
    Table([["Arbeitspreis", "30,10 ct/kWh"], ["Kündigungsfrist", "1 Monat"]], has_head=False),
]
NDA: list[Block] = [
    Heading("NON-DISCLOSURE AGREEMENT"),
    Lines(
        [
            "This Agreement is made by and between Acme Inc. and Beta LLC.",
            "It is governed by the laws of Ohio.",
        ]
    ),
]
STATEMENT: list[Block] = [
    Heading("Kontoauszug"),
    Lines(
        [
            "Alter Saldo 100,00",
            "Lastschrift Arbeitspreis Vertragsende Kündigungsfrist Versicherungsschein",
        ]
    ),
]
PAPER: list[Block] = [
    Heading("On contracts"),
    Lines(["Abstract", "We study this agreement and its effective date."]),
]


def an_rtf(blocks: Iterable[Block]) -> bytes:
    text = "".join(
        letter if letter.isascii() else f"\\'{letter.encode('cp1252').hex()}"
        for letter in plain(blocks).decode()
    )
    return (
        b"{\\rtf1\\ansi{\\fonttbl{\\f0 Arial;}}\\f0 "
        + text.replace("\n", "\\par\n").encode()
        + b"}"
    )


def an_odt(blocks: Iterable[Block]) -> bytes:
    made = io.BytesIO()
    lines = escape(plain(blocks).decode()).split("\n")
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("content.xml", "".join(f"<text:p>{line}</text:p>" for line in lines))
    return made.getvalue()


def a_mail(blocks: Iterable[Block]) -> bytes:
    return b"MIME-Version: 1.0\nContent-Transfer-Encoding: quoted-printable\n\n" + encodestring(
        plain(blocks)
    )


def seen(path: Path, data: bytes) -> Detected | None:
    path.write_bytes(data)
    return detect(Content.of(path, name=path.name))


@pytest.mark.parametrize("blocks", [ENERGY, NDA], ids=["energy", "nda"])
@pytest.mark.parametrize(("write", "form"), [(pdf, "pdf"), (docx, "docx"), (plain, "text")])
def test_a_contract_is_detected_with_the_words_that_speak_for_it(
    tmp_path: Path, blocks: list[Block], write: Write, form: str
) -> None:
    found = seen(tmp_path / "a", write(blocks))

    assert found is not None
    assert (found.source_type, found.format) == ("contract", form)
    assert found.confidence > 70, "surer than what is said of any DOCX"
    assert len(found.evidence) >= 3
    name = "Vertragsbestätigung" if blocks is ENERGY else "NON-DISCLOSURE AGREEMENT"
    assert f"its name: {name}" in found.evidence


@pytest.mark.parametrize("blocks", [STATEMENT, PAPER, []], ids=["statement", "paper", "empty"])
@pytest.mark.parametrize("write", [pdf, docx, plain])
def test_what_names_contracts_in_passing_is_none(
    tmp_path: Path, blocks: list[Block], write: Write
) -> None:
    assert seen(tmp_path / "a", write(blocks)) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"%PDF-1.4",
        b"%PDF-1.4 stream\nnot zlib",
        b"PK\x03\x04 torn",
        b"\x00\x01",
        b"{}",
        b"<html>",
    ],
)
def test_what_cannot_be_read_is_none(tmp_path: Path, data: bytes) -> None:
    assert seen(tmp_path / "a", data) is None


# As they are written, of every kind and in both languages; none has the words of the templates above.
CONTRACTS = {
    "employment": "Dienstvertrag\n"
    "Zwischen\n"
    "Nordlicht gGmbH, Kiel (Auftraggeberin)\n"
    "und\n"
    "Jonas Wiegand, Kiel (Auftragnehmer)\n"
    "§ 3 Vertragsdauer\n"
    "Der Vertrag beginnt am 01.01.2025 und wird für die Dauer von 24 Monaten geschlossen.",
    "lease": "Mietvertrag über Gewerberäume\n"
    "Vermieter: Hanse Grund GmbH\n"
    "Mieter: Alsterwerk GmbH\n"
    "Es gilt deutsches Recht.",
    "policy": "Frau Annika Lorenz\n"
    "Hausratversicherung\n"
    "Beginn 01.05.2025 Ablauf 30.04.2026\n"
    "Summe 70.000 EUR Selbstbehalt 300 EUR\n"
    "Beitrag/Monat 9,84 EUR",
    "mobile": "Vertragsübersicht\n"
    "Tarif Flat M\n"
    "Laufzeit 01.02.2025 - 31.01.2027 (24 Monate)\n"
    "Inklusivvolumen 10 GB/Monat\n"
    "Preis 26,99 EUR/Monat\n"
    "Kündigungsfrist 1 Monat",
    "deed": "Confidentiality Deed\n"
    "Date: 6 February 2023\n"
    "Parties\n"
    "Wattle Pty Ltd (Discloser)\n"
    "This deed is governed by the laws of Western Australia.\n"
    "SIGNED for and on behalf of Wattle Pty Ltd",
    "letter": "Thank you for choosing British Gas. "
    "Your electricity will be supplied on the Fix tariff from 1 October 2025 until 30 September 2026. "
    "Your monthly payment by Direct Debit is 113.00. "
    "To end the contract please give us 28 days' notice.",
    "order": "Verizon Wireless - Customer Agreement Summary\n"
    "Plan name: Welcome\n"
    "Monthly charge: $20.99\n"
    "Agreement start: January 1, 2026\n"
    "Agreement end: December 31, 2027\n"
    "Cancellation notice: 30 days",
    "services": "Services Agreement\n"
    "between Harrow Bay Ltd (the Provider) and Bexley Ltd (the Customer)\n"
    "1. The Customer shall pay within 30 days of the invoice date.\n"
    "2. This Agreement begins on 1 April 2026 and has an initial term of 12 months.\n"
    "3. This Agreement is governed by the laws of England.",
    "commas": "This Tenancy Agreement, dated 3 March 2026, is of Ann Lee, the landlord, and Bob Ray, the tenant.\n"
    "The tenant rents the flat at 4 Mill Lane, Bath, for 12 months, beginning on 1 April 2026, at 900 pounds a month.\n"
    "Either party may end it, after six months, with two months' notice, in writing, to the other party.",
    "motor": "Motor Insurance Certificate and Schedule\n"
    "Policy type: Car insurance\n"
    "Expiry date: 31 July 2026\n"
    "Total excess: 350\n"
    "Monthly instalment: 43.99",
}
OTHERS = {
    "pay slip": "Pay slip\n"
    "Employer: Acme\n"
    "Employee: Jo\n"
    "Start date 01.01.2025 End date 31.01.2025\n"
    "Policy number 1, contract term",
    "bookings": "Buchungstag;Text;Betrag\n"
    "01.02.2025;Hausratversicherung Beitrag 9,84 Vertragsnummer 12 Laufzeit 12 Monate;-9,84",
    "laboratory": "Insurance policy number 4, contract term, written notice\n"
    "Haemoglobin 14 g/dl, reference interval 12-16",
    "bill": "Stromrechnung\n"
    "Rechnungsnummer: VB-2026-0031\n"
    "Ihr Stromvertrag: Tarif Grün, Vertragskonto 4711, Grundpreis 9,90 EUR/Monat, Arbeitspreis 31 ct/kWh\n"
    "Mindestvertragslaufzeit 12 Monate, Kündigungsfrist 1 Monat, Vertragsbeginn 01.01.2025",
    "advice": "Before you sign a contract, read it. A tenancy agreement should be short.",
}


@pytest.mark.parametrize("text", CONTRACTS.values(), ids=CONTRACTS)
@pytest.mark.parametrize(
    "write", [pdf, docx, plain, an_rtf, an_odt, a_mail], ids=lambda each: each.__name__
)
def test_a_contract_in_words_of_its_own_is_detected_in_every_format(
    tmp_path: Path, text: str, write: Write
) -> None:
    found = seen(tmp_path / "a", write([Lines(text.split("\n"))]))

    assert found is not None
    assert found.confidence > 70


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("write", [pdf, plain, an_rtf], ids=lambda each: each.__name__)
def test_another_document_with_words_of_contracts_is_none(
    tmp_path: Path, text: str, write: Write
) -> None:
    assert seen(tmp_path / "a", write([Lines(text.split("\n"))])) is None


def test_only_the_start_of_an_entry_is_inflated(tmp_path: Path) -> None:
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b" " * 20_000_000 + b"<w:p>this agreement</w:p>")
    stream = zlib.compress(b" " * 20_000_000)

    assert seen(tmp_path / "a.docx", bomb.getvalue()) is None
    assert seen(tmp_path / "a.pdf", b"%PDF-1.4\nstream\n" + stream + b"\nendstream") is None
    found = peek._streams(b"stream\n" + stream)
    assert all(len(each or b"") <= peek.STREAM_BYTES_MAX for _, _, each in found)


def test_glyphs_are_read_through_the_map_of_their_font(tmp_path: Path) -> None:
    cmap = (
        b"2 beginbfchar <0001> <0041> <0002> <0062> endbfchar 1 beginbfrange <0010> <0011> <0063> endbfrange "
        b"1 beginbfrange <0020> <0021> [<0065> <0066>] endbfrange"
    )
    shown = b"BT [<00010002> -300 <00100011>] TJ <00200021> Tj ET"
    data = b"%PDF-1.4\n" + b"".join(
        b"stream\n" + zlib.compress(each) + b"\nendstream\n" for each in (shown, cmap)
    )
    path = tmp_path / "a.pdf"
    path.write_bytes(data)

    assert [text.split() for text in peeked_texts(path)] == [["Ab", "cd", "ef"]]


FONTS = (
    b"1 0 obj <</Type/Page/Resources<</Font<</F1 2 0 R/F2 3 0 R>>>>/Contents 6 0 R>> endobj",
    b"2 0 obj <</Type/Font/Subtype/Type0/ToUnicode 4 0 R>> endobj",
    b"3 0 obj <</Type/Font/Subtype/Type0/ToUnicode 5 0 R>> endobj",
)
MAPS = (
    b"1 beginbfrange <0001> <000D> <0041> endbfrange",
    b"1 beginbfrange <0001> <000D> <0061> endbfrange",
)


def a_stream(number: int, data: bytes, about: bytes = b"") -> bytes:
    head = b"%d 0 obj <</Length %d%s>>\nstream\n" % (number, len(data), about)
    return head + data + b"\nendstream endobj"


def a_packed_object_stream(objects: Iterable[bytes]) -> bytes:
    heads = [each.split(b" ", 1)[0] for each in objects]
    bodies = [each.split(b"obj", 1)[1].removesuffix(b" endobj") for each in objects]
    places = [sum(map(len, bodies[:at])) for at in range(len(bodies))]
    head = b" ".join(b"%s %d" % pair for pair in zip(heads, places, strict=True)) + b" "
    about = b"/Type/ObjStm/N %d/First %d/Filter/FlateDecode" % (len(heads), len(head))
    return a_stream(9, zlib.compress(head + b"".join(bodies)), about)


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize(
    "shown",
    [
        b"BT /F1 12 Tf <000100020001> Tj /F2 9.5 Tf [<0003> -20 <00040003>] TJ ET",
        b"BT /F1 12 Tf (\\000\\001\\000\\002\\000\\001) Tj /F2 -9 Tf (\\000\\003\\000\\004\\000\\003) Tj ET",
    ],
)
def test_each_font_of_a_page_has_its_own_map(tmp_path: Path, shown: bytes, is_packed: bool) -> None:
    """The same glyph is another letter in another subset, and objects may be packed."""
    objects = [a_packed_object_stream(FONTS)] if is_packed else [*FONTS]
    streams = [a_stream(at, each) for at, each in enumerate((*MAPS, shown), start=4)]
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.5\n" + b"\n".join([*objects, *streams]) + b"\n%%EOF")

    assert peeked_texts(path) == ["ABA\ncdc"]


def test_a_glyph_whose_number_is_that_of_a_line_end_is_read(tmp_path: Path) -> None:
    shown = rb"BT /F1 12 Tf (\000\t\000\n\000\r\000\b\000\f) Tj ET"
    streams = [a_stream(at, each) for at, each in enumerate((*MAPS, shown), start=4)]
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.5\n" + b"\n".join([*FONTS, *streams]) + b"\n%%EOF")

    assert peeked_texts(path) == ["IJMHL"]


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (
            b"BT /F1 9 Tf <0001> Tj 5 0 Td <0002> Tj 5 0 Td <0003> Tj ET "
            b"BT /F1 9 Tf 1 0 0 -1 80 20 Tm <0004> Tj 5 0 Td <0005> Tj 5 0 Td <0006> Tj ET",
            "ABC\nDEF",
        ),
        (
            b"BT /F1 9 Tf <0001> Tj ET BT 5 0 Td <0002> Tj ET BT 10 0 Td <0003> Tj ET",
            "ABC",
        ),
    ],
    ids=["words of a browser", "letters one by one"],
)
def test_words_that_are_set_letter_by_letter_stay_apart_where_they_are_set_apart(
    tmp_path: Path, shown: bytes, expected: str
) -> None:
    """A browser places each letter of a page that it prints; the cells of a table are text objects of their own."""
    streams = [a_stream(at, each) for at, each in enumerate((*MAPS, shown), start=4)]
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.5\n" + b"\n".join([*FONTS, *streams]) + b"\n%%EOF")

    assert peeked_texts(path) == [expected]


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (b"(Agreement with the lan) Tj 95 0 Td (dlord) Tj", ["Agreement with the landlord"]),
        (b"(Widerrufsfrist) Tj 52 0 Td (: 1) Tj 9 0 Td (4 days) Tj", ["Widerrufsfrist: 14 days"]),
        (b"(Term) Tj 80 0 Td (Price) Tj 60 0 Td (Notice) Tj", ["Term", "Price", "Notice"]),
        (b"(12.50) Tj 29 0 Td (100.00) Tj 60 0 Td (7.00) Tj", ["12.50", "100.00", "7.00"]),
        (b"(the term) Tj 30 -12 Td (of notice) Tj", ["the term", "of notice"]),
    ],
    ids=["letters that kern", "figures that kern", "cells", "cells of figures", "the next line"],
)
def test_a_word_that_is_set_in_parts_is_one(
    tmp_path: Path, shown: bytes, expected: list[str]
) -> None:
    """A browser begins anew wherever two letters stand closer together, or farther apart, than others."""
    path = tmp_path / "a.pdf"
    path.write_bytes(
        b"%PDF-1.5\n" + a_stream(6, b"BT /F1 9 Tf 1 0 0 -1 80 20 Tm " + shown + b" ET") + b"\n%%EOF"
    )

    assert peeked_texts(path) == ["\n".join(expected)]


def test_programs_of_fonts_do_not_use_up_what_is_looked_at(tmp_path: Path) -> None:
    """Some generators write them as they are, and among so many bytes some look as if they showed a text."""
    program = b"(x) Tj " * (peek.TEXT_BYTES_MAX // 7)
    fonts = [a_stream(at, program, b"/Subtype/CIDFontType0C") for at in (7, 8)]
    text = a_stream(6, b"BT (CONFIDENTIALITY AGREEMENT) Tj ET")
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.5\n" + b"\n".join([*fonts, text]) + b"\n%%EOF")

    assert peeked_texts(path) == ["CONFIDENTIALITY AGREEMENT"]


def test_letters_that_are_drawn_do_not_use_up_what_is_looked_at(tmp_path: Path) -> None:
    """A browser draws each letter of a font with many weights in a stream of its own."""
    drawn = zlib.compress(b"1680 0 67 -10 990 1460 d1 100 0 m 200 0 l f")
    letters = [a_stream(at, drawn) for at in range(7, 8 + peek.STREAMS_MAX)]
    text = a_stream(6, b"BT (CONFIDENTIALITY AGREEMENT) Tj ET")
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.5\n" + b"\n".join([*letters, text]) + b"\n%%EOF")

    assert peeked_texts(path) == ["CONFIDENTIALITY AGREEMENT"]


def test_a_stream_that_is_written_in_letters_is_read(tmp_path: Path) -> None:
    """As reportlab and some scanners' software write it: packed, then ASCII85, over several lines."""
    stored = a85encode(zlib.compress(b"BT (CONFIDENTIALITY AGREEMENT) Tj ET"), wrapcol=20) + b"~>"
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.4\nstream\n" + stored + b"\nendstream\n")

    assert peeked_texts(path) == ["CONFIDENTIALITY AGREEMENT"]
