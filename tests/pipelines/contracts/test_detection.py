"""A contract is detected by the words at its start, with evidence; nothing is inflated whole."""

import io
import zipfile
import zlib
from base64 import a85encode
from collections.abc import Callable, Iterable
from pathlib import Path
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


def test_only_the_start_of_an_entry_is_inflated(tmp_path: Path) -> None:
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b" " * 20_000_000 + b"<w:p>this agreement</w:p>")
    stream = zlib.compress(b" " * 20_000_000)

    assert seen(tmp_path / "a.docx", bomb.getvalue()) is None
    assert seen(tmp_path / "a.pdf", b"%PDF-1.4\nstream\n" + stream + b"\nendstream") is None
    assert all(len(each) <= peek.STREAM_BYTES_MAX for each in peek._streams(b"stream\n" + stream))


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


def test_a_stream_that_is_written_in_letters_is_read(tmp_path: Path) -> None:
    """As reportlab and some scanners' software write it: packed, then ASCII85, over several lines."""
    stored = a85encode(zlib.compress(b"BT (CONFIDENTIALITY AGREEMENT) Tj ET"), wrapcol=20) + b"~>"
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.4\nstream\n" + stored + b"\nendstream\n")

    assert peeked_texts(path) == ["CONFIDENTIALITY AGREEMENT"]
