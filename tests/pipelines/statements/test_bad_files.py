"""Hostile and broken files: each ends in its code, at once and for good, or is flagged."""

import struct
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from lab.documents.statements.structured import story, xlsx, zipped
from stateward.workers.sdk import Failed
from tests.pipelines.statements.reading import read_bytes, read_file

DOCS = Path(__file__).parents[3] / "docs" / "reference" / "statement-codes.md"


def a_bomb() -> bytes:
    return zipped({"xl/workbook.xml": "<a/>", "xl/worksheets/sheet1.xml": "0" * (20 * 1024 * 1024)})


def a_lying_bomb() -> bytes:
    """A workbook whose directory says that its sheet is small."""
    data = bytearray(
        zipped({"xl/workbook.xml": "<a/>", "xl/worksheets/sheet1.xml": "0" * 5_000_000})
    )
    size = struct.pack("<I", 5_000_000)
    while (place := data.find(size)) >= 0:
        data[place : place + 4] = struct.pack("<I", 100)
    return bytes(data)


def a_slip() -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("../../outside.csv", "Date,Amount\n")
    return file.getvalue()


def damaged(data: bytes) -> bytes:
    """The same with a few bytes of its packed content gone."""
    return data[:90] + bytes(60) + data[150:]


def with_entity(declared: str) -> bytes:
    """A workbook whose sheets declare an entity and use it in their first cell."""
    archive = zipfile.ZipFile(BytesIO(xlsx(story(1))))
    parts = {name: archive.read(name).decode() for name in archive.namelist()}
    for name in parts:
        if "worksheets/" in name:
            used = parts[name].replace("<t>", "<t>&x;", 1)
            parts[name] = f"<!DOCTYPE worksheet [{declared}]>{used}"
    return zipped(parts)


REFUSED = {
    "nothing": (b"", "EMPTY_FILE"),
    "blanks": (b"  \r\n\t\n ", "EMPTY_FILE"),
    "only a mark": (b"\xef\xbb\xbf", "EMPTY_FILE"),
    "zeros": (b"\x00" * 5000, "EMPTY_FILE"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + b"x" * 100, "UNKNOWN_FORMAT"),
    "a photograph": (b"\xff\xd8\xff\xe0" + b"x" * 100, "UNKNOWN_FORMAT"),
    "gzip": (b"\x1f\x8b\x08" + b"x" * 100, "UNKNOWN_FORMAT"),
    "a program": (b"\x7fELF" + b"\x00" * 100, "UNKNOWN_FORMAT"),
    "noise": (bytes(range(1, 256)) * 20, "UNKNOWN_FORMAT"),
    "json": (b'{"date": "2026-01-01", "amount": 1}', "UNKNOWN_FORMAT"),
    "a page": (b"<!DOCTYPE html><html><table><tr><td>1</td></tr></table></html>", "UNKNOWN_FORMAT"),
    "an archive": (a_slip(), "UNKNOWN_FORMAT"),
    "a torn zip": (xlsx(story(1))[:800], "SHEET_CORRUPT"),
    "laughs in a sheet": (
        with_entity('<!ENTITY a "ha"><!ENTITY x "&a;&a;">'),
        "XML_ENTITY",
    ),
    "an outside file in a sheet": (
        with_entity(f'<!ENTITY x SYSTEM "{Path(__file__).as_uri()}">'),
        "XML_ENTITY",
    ),
    "a flipped sheet": (damaged(xlsx(story(1))), "SHEET_CORRUPT"),
    "not a sheet": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504), "SHEET_CORRUPT"),
    "a text document": (
        zipped(
            {"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": "<text>hello</text>"}
        ),
        "UNKNOWN_FORMAT",
    ),
    "a sheet of words": (zipped({"xl/workbook.xml": "<nonsense/>"}), "SHEET_CORRUPT"),
    "a torn pdf": (b"%PDF-1.4\n1 0 obj\n<<", "PDF_CORRUPT"),
    "laughs": (
        b'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><Document>&b;</Document>',
        "XML_ENTITY",
    ),
    "laughs in ofx": (b'<!DOCTYPE OFX [<!ENTITY a "x">]><OFX><STMTRS>&a;</STMTRS></OFX>', "XML_ENTITY"),
    "no rows": (b"<OFX></OFX>", "NO_ROWS"),
    "only bad rows": (b"Date,Description,Amount\n2026-01-01,a,x1\n2026-01-02,b,y2\n", "UNKNOWN_FORMAT"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_file_ends_in_its_code(name: str, tmp_path: Path) -> None:
    data, code = REFUSED[name]

    error = read_bytes(tmp_path, data).error

    assert error.code == code
    # Only damage is worth a retry: another download, or a more lenient look, may mend it.
    assert error.is_retryable == code.endswith("_CORRUPT")
    assert len(error.message) > 20


@pytest.mark.long
@pytest.mark.parametrize("make", [a_bomb, a_lying_bomb], ids=["bomb", "lying bomb"])
def test_a_sheet_that_would_inflate_too_far_is_not_opened(make: type, tmp_path: Path) -> None:
    read = read_bytes(tmp_path, make(), options={"inflated_bytes_max": 1_000_000})

    assert read.error.code == "TOO_LARGE"


def test_a_bomb_is_refused_by_its_ratio_alone(tmp_path: Path) -> None:
    assert (
        read_bytes(tmp_path, a_bomb(), options={"inflated_bytes_max": 2**40}).error.code
        == "TOO_LARGE"
    )


def test_an_archive_writes_nothing_outside(tmp_path: Path) -> None:
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)

    read_bytes(inside, a_slip())

    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["statement"]


def test_the_content_decides_whatever_the_hint_says(tmp_path: Path) -> None:
    text = "Date,Description,Amount\n2026-01-05,Shop,-1.50\n"

    read = read_bytes(tmp_path, text, labels={"source_type": "bank_pdf"})

    assert read.amounts == ["-1.50"]
    assert "by its content the file is csv" in read.log


def test_an_unknown_source_type_says_nothing_and_is_noted(tmp_path: Path) -> None:
    read = read_bytes(
        tmp_path, "Date,Description,Amount\n2026-01-05,Shop,-1.50\n", labels={"source_type": "mine"}
    )

    assert read.amounts == ["-1.50"]
    assert "the source type 'mine' is unknown" in read.log


@pytest.mark.parametrize(
    "options",
    [
        {"source_types": {"mine": {"encoding": "utf-99"}}},
        {"source_types": {"mine": {"is_card": "maybe"}}},
    ],
)
def test_a_source_type_that_cannot_be_used_is_refused(
    tmp_path: Path, options: dict[str, object]
) -> None:
    read = read_bytes(tmp_path, "Date,Amount\n", labels={"source_type": "mine"}, options=options)

    assert read.error.code == "BAD_HINT"


@pytest.mark.parametrize(
    "rules",
    [
        {"version": 1, "merchants": [{"match": "(", "name": "x"}]},
        {"merchants": []},
        {"version": 1, "who": 2},
    ],
)
def test_rules_that_cannot_be_used_are_refused(tmp_path: Path, rules: dict[str, object]) -> None:
    read = read_bytes(
        tmp_path, "Date,Description,Amount\n2026-01-05,Shop,-1.50\n", options={"rules": rules}
    )

    assert read.error.code == "BAD_RULES"


def test_a_file_whose_rows_can_all_not_be_read_fails(tmp_path: Path) -> None:
    space = 'xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"'
    entry = "<Ntry><Amt>1..2</Amt><CdtDbtInd>DBIT</CdtDbtInd><BookgDt><Dt>2026-01-05</Dt></BookgDt></Ntry>"

    read = read_bytes(
        tmp_path,
        f"<Document {space}><BkToCstmrStmt><Stmt>{entry}</Stmt></BkToCstmrStmt></Document>",
    )

    assert read.error.code == "NO_ROW_READABLE"


def test_a_statement_without_transactions_has_none(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, "Date,Description,Amount\n")

    assert read.observations == []
    assert read.notes == []


def test_every_code_is_documented() -> None:
    text = DOCS.read_text("utf-8")
    here = Path(__file__).parents[3] / "src" / "stateward" / "pipelines" / "statements"
    found = {
        part.split('"')[0]
        for file in here.rglob("*.py")
        for part in file.read_text("utf-8").split('code="')[1:]
    }

    assert found
    assert {code for code in found if f"`{code}`" not in text} == set()


def test_no_damage_to_a_file_breaks_the_readers(tmp_path: Path) -> None:
    samples = Path(__file__).parents[3] / "src/stateward/pipelines/statements/samples"
    for sample in sorted(samples.iterdir()):
        if sample.suffix == ".pdf":
            continue
        data = sample.read_bytes()
        for step in range(1, 12):
            place = len(data) * step // 12
            hurt = data[:place] + b"\xff\x00<" + data[place + 3 :]
            read = read_bytes(tmp_path, hurt)
            failed = [each for each in (read.parsed, read.normalized) if isinstance(each, Failed)]
            assert all(each.code != "EXCEPTION" for each in failed), (sample.name, step, failed)


def test_a_locked_pdf_tries_the_passwords_of_the_settings(tmp_path: Path) -> None:
    locked = tmp_path / "locked.pdf"
    locked.write_bytes(b"%PDF-1.4\nnot a pdf at all")

    assert read_file(locked, options={"passwords": ["secret"]}).error.code == "PDF_CORRUPT"
