"""Files that are broken, hostile or none of ours: a typed failure or a flag, never a crash and never a silent loss."""

import csv
import io
import zipfile
from pathlib import Path

import pytest

from stateward.workers.sdk import Completed
from tests.pipelines.catalogs.reading import read

HEAD = "SKU,Name,Category,Price,Currency\n"


def lines(*numbers: int) -> str:
    return "".join(f"A-{n},Lamp {n},Garden,{n}.50,EUR\n" for n in numbers)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "EMPTY_DOCUMENT"),
        (b"\xef\xbb\xbf \r\n", "EMPTY_DOCUMENT"),
        (b"%PDF-1.7 ...", "UNSUPPORTED_FORMAT"),
        (b"\x89PNG\r\n\x1a\n", "UNSUPPORTED_FORMAT"),
        (b"just some words\nand more of them\n", "NO_CATALOG"),
        (b"Date,Description,Amount\n2026-01-01,Shop,-1.50\n", "NO_CATALOG"),
        (b"SKU,Name,Price\n", "EMPTY_CATALOG"),
        (b"SKU,Name,Price\n,,\n", "EMPTY_CATALOG"),
        (b"SKU,Name,Price\nA,,\n", "NO_VALID_ROW"),
        (b'{"sku": "A", ', "CORRUPT_FILE"),
        (b'{"a": 1}', "NO_CATALOG"),
        (b"[" * 100_000, "HOSTILE_FILE"),
        (b"<shop><product><sku>A</sku>", "CORRUPT_FILE"),
        (b'<!DOCTYPE a [<!ENTITY x "y">]><shop>&x;</shop>', "HOSTILE_FILE"),
        (
            b'<!DOCTYPE BMECAT SYSTEM "x.dtd" [<!ENTITY x SYSTEM "file:///etc/passwd">]><BMECAT>&x;</BMECAT>',
            "HOSTILE_FILE",
        ),
        (b"<BMECAT></BMECAT>", "NO_CATALOG"),
        (b"<html><body>hello</body></html>", "NO_CATALOG"),
    ],
)
def test_what_is_no_catalogue_is_refused_with_a_code(
    tmp_path: Path, data: bytes, code: str
) -> None:
    assert read(tmp_path, data).error.code == code


def test_a_zip_that_is_no_spreadsheet_is_refused(tmp_path: Path) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("products.csv", HEAD)

    assert read(tmp_path, data.getvalue()).error.code == "UNSUPPORTED_FORMAT"


def test_a_spreadsheet_that_inflates_too_far_is_refused(tmp_path: Path) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b"0" * 4_000_000)

    failed = read(tmp_path, data.getvalue(), options={"inflated_bytes_max": 1_000_000}).error

    assert failed.code == "HOSTILE_FILE"
    assert "catalogs.inflated_bytes_max" in failed.message


def test_a_tree_that_is_too_large_is_refused(tmp_path: Path) -> None:
    failed = read(tmp_path, "[" + " " * 200 + "]", options={"tree_bytes_max": 100}).error

    assert failed.code == "TEXT_TOO_LARGE"


def test_a_quote_that_is_never_closed_swallows_no_product(tmp_path: Path) -> None:
    document = HEAD + lines(1, 2) + 'B-1,"Lamp 5,Garden,5.50,EUR\n' + lines(*range(3, 40))

    found = read(tmp_path, document)

    assert len(found.products) == 39
    assert found.rejected == {} or list(found.rejected.values()) == ["MISSING_PRICE"]
    assert any("BROKEN_QUOTES" in note for note in found.facts["notes"])


def test_two_quotes_that_close_each_other_swallow_no_product(tmp_path: Path) -> None:
    document = (
        HEAD
        + lines(1)
        + 'B-1,"Lamp,Garden,5.50,EUR\n'
        + lines(2, 3)
        + 'B-2,5" Lamp,Garden,5.50,EUR\n'
        + lines(4)
    )

    found = read(tmp_path, document)

    skus = {each["sku"] for each in found.products}
    assert {"A-1", "A-2", "A-3", "A-4", "B-2"} <= skus


def test_a_description_of_many_lines_is_one_cell(tmp_path: Path) -> None:
    text = "\n".join(f"line {n}, with a comma" for n in range(100))
    rows = io.StringIO()
    csv.writer(rows).writerows(
        [
            ["SKU", "Name", "Description", "Price", "Currency"],
            ["A", "Lamp", text, "5", "EUR"],
            ["B", "Bulb", "", "6", "EUR"],
        ]
    )

    found = read(tmp_path, rows.getvalue())

    assert [each["sku"] for each in found.products] == ["A", "B"]
    assert found.products[0]["description"] == text
    assert found.products[1]["where"]["line"] > 100


def test_rows_of_another_width_are_rejected_or_flagged(tmp_path: Path) -> None:
    document = HEAD + "A,Lamp, the big one,Garden,5,EUR\nB,Lamp,Garden,5 €\nC,Lamp,Garden,5,EUR,,\n"

    found = read(tmp_path, document)

    assert found.rejected == {2: "RAGGED_ROW"}
    assert [each.get("flags") for each in found.products] == [
        ["SHORT_ROW"],
        None,
    ]
    assert found.observations[0]["other"] == {"(more cells)": "EUR"}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_the_encoding_is_found(tmp_path: Path, encoding: str) -> None:
    document = "Artikelnummer;Bezeichnung;Preis;Währung\nA;Größe für Füße;5,00;EUR\n"

    assert read(tmp_path, document.encode(encoding)).product["title"] == "Größe für Füße"


def test_zeros_and_surrogates_do_not_stop_a_catalogue(tmp_path: Path) -> None:
    document = HEAD.encode() + b"A,La\x00mp \xff,Garden,5,EUR\n" + lines(1).encode()

    assert len(read(tmp_path, document).products) == 2


def test_the_same_bytes_give_the_same_items(tmp_path: Path) -> None:
    document = HEAD + lines(*range(1200)) + "X,Lamp,???,5,EUR\n"

    one, two = read(tmp_path, document), read(tmp_path, document)

    assert one.normalized == two.normalized
    assert one.parsed == two.parsed


XML_ROWS = [
    f"<product><sku>A-{n}</sku><title>Lamp {n}</title><price>{n}.50</price></product>"
    for n in (1, 2, 3)
]
JSON_ROWS = [f'{{"sku": "A-{n}", "title": "Lamp {n}", "price": "{n}.50"}}' for n in (1, 2, 3)]


@pytest.mark.parametrize(
    ("data", "skus"),
    [
        ("<shop>" + "".join(XML_ROWS)[:-25], ["A-1", "A-2"]),
        (
            "<shop>\n" + "\n".join(XML_ROWS).replace("</title>", "</name>", 1) + "</shop>",
            ["A-1", "A-2"],
        ),
        ('{"products": [' + ", ".join(JSON_ROWS)[:-4], ["A-1", "A-2"]),
        ("[" + ",\n".join([JSON_ROWS[0], JSON_ROWS[1][:20], JSON_ROWS[2]]) + "]", ["A-1", "A-3"]),
        ("\n".join([JSON_ROWS[0], JSON_ROWS[1][:20], JSON_ROWS[2]]), ["A-1", "A-3"]),
    ],
    ids=["xml-cut", "xml-tag", "json-cut", "json-inside", "json-lines"],
)
def test_a_damaged_file_is_tried_again_and_then_read_with_what_is_whole(
    tmp_path: Path, data: str, skus: list[str]
) -> None:
    first, second = read(tmp_path, data), read(tmp_path, data, retry_count=1)

    assert (first.error.code, first.error.is_retryable) == ("CORRUPT_FILE", True)
    assert [row["sku"] for row in second.observations] == skus
    assert isinstance(second.parsed, Completed)
    assert second.parsed.facts["flags"] == ["DAMAGED_FILE"]
    assert "DAMAGED_FILE" in second.notes


@pytest.mark.parametrize("data", [b'{"sku": "A", ', b"[{"])
def test_a_damaged_file_in_which_nothing_is_whole_is_given_up(tmp_path: Path, data: bytes) -> None:
    error = read(tmp_path, data, retry_count=1).error

    assert (error.code, error.is_retryable) == ("CORRUPT_FILE", False)


def test_the_last_line_of_a_text_with_as_many_commas_as_a_record_is_none(tmp_path: Path) -> None:
    """The lines of a text in HTML hold quotes where no record has one."""
    before = "".join(f"B-{each},Pot,{'Clay ' * 20},5.00,CLP\n" for each in range(500))
    table = (
        f"SKU,Title,Description,Price,Currency\n{before}"
        'A-1,Bouquet,"<p class=""a"">Roses</p>\n'
        '<p class=""b"">Cut them, turn them, keep them cool</p>",58000,CLP\n'
        'A-2,Wreath,"Fir",19000,CLP\n'
    )

    found = read(tmp_path, table)

    assert [(each["sku"], each["title"], each["price"]) for each in found.products[500:]] == [
        ("A-1", "Bouquet", "58000"), ("A-2", "Wreath", "19000"),
    ]  # fmt: skip
    assert not found.notes


def test_two_stray_quotes_swallow_no_product_of_a_short_file(tmp_path: Path) -> None:
    table = (
        'SKU,Title,Price,Currency\nA-0,Jar,4.00,EUR\nA-1,"Kettle,5.00,EUR\nA-2,Pan,6.00,EUR\n'
        'A-3,Cup",7.00,EUR\nA-4,Pot,8.00,EUR\n'
    )

    found = read(tmp_path, table)

    assert [each["sku"] for each in found.products] == ["A-0", "A-2", "A-3", "A-4"]
    assert "BROKEN_QUOTES" in found.notes
