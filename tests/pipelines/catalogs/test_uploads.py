"""A catalogue from its upload to its products, through a real app; and no file of a bank becomes one."""

import zipfile
from pathlib import Path

import pytest

from stateward.app import App
from stateward.definition.plugin import Content
from stateward.pipelines.catalogs.detection import detect

STATEMENTS = Path("src/stateward/pipelines/statements/samples")
CATALOGS = Path("src/stateward/pipelines/catalogs/samples")
BAD = {
    0: "{sku},Lamp,Garden,5.00,EUR,4006381333932",
    1: ",Lamp,Garden,5.00,EUR,",
    2: "{sku},Lamp,???,5.00,EUR,",
    3: "{sku},Lamp,Garden,call us,EUR,",
    4: "{sku},,Garden,5.00,EUR,",
}


def a_catalog(*, rows: int, bad: int) -> bytes:
    """A catalogue in which every so many rows one is bad."""
    every = rows // bad
    lines = ["SKU,Name,Category,Price,Currency,GTIN"]
    for number in range(rows):
        sku = f"S-{number}"
        good = f"{sku},Lamp {number},Garden,{number % 90}.50,EUR,"
        is_bad = number % every == every - 1
        lines.append(BAD[number // every % len(BAD)].format(sku=sku) if is_bad else good)
    return "\n".join(lines).encode()


def test_1500_rows_with_20_bad_ones_end_normalized_with_1480(tmp_path: Path) -> None:
    with App.embedded(tmp_path) as app:
        record = app.submit(a_catalog(rows=1500, bad=20), name="supplier.csv").record
        app.run_until_idle()
        view = app.records.view(app.record(record.id))
        about = app.records.about(record.id, "normalize")
        log = app.records.attempts(record.id)[-1].log
        first = next(iter(app.items(record.id)))

    assert view.status == "normalized"
    assert view.labels["source_type"] == "catalog"
    assert (view.exposed["observations_count"], view.exposed["canonicals_count"]) == (1500, 1480)
    assert about["rejected_count"] == 20
    assert sum(map(int, about["reasons"].values())) == 20  # type: ignore[union-attr, arg-type]
    assert log.count('"code":"BAD_GTIN_CHECKSUM"') == 4
    assert '"row":76' in log
    assert isinstance(view.notes, list)
    assert str(view.notes[0]).startswith("BAD_GTIN_CHECKSUM: row 76")
    assert first["where"] == {"row": 2}


@pytest.mark.parametrize("path", sorted(STATEMENTS.iterdir()), ids=lambda path: path.name)
def test_a_statement_of_a_bank_is_no_catalogue(path: Path) -> None:
    assert detect(Content.of(path, name=path.name)) is None


ORDERS = {
    "orders.csv": "Order ID,Order Date,SKU,Product,Quantity,Unit Price\n1001,2026-01-02,MUG-1,Blue mug,2,9.99\n",
    "order.html": "<html><body><h1>Order confirmation</h1><table>"
    "<tr><th>Item</th><th>SKU</th><th>Qty</th><th>Price</th></tr>"
    "<tr><td>Blue mug</td><td>MUG-1</td><td>2</td><td>9.99</td></tr></table></body></html>",
}


@pytest.mark.parametrize("name", ORDERS)
def test_an_order_is_no_catalogue(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(ORDERS[name])

    assert detect(Content.of(tmp_path / name, name=name)) is None


@pytest.mark.parametrize("path", sorted(CATALOGS.iterdir()), ids=lambda path: path.name)
def test_a_sample_is_detected(path: Path) -> None:
    found = detect(Content.of(path, name=path.name))

    assert found is not None
    assert found.source_type == "catalog"
    assert found.confidence > 20


@pytest.mark.parametrize(
    "text",
    [
        "Date,Description,Amount,Balance\n2026-01-05,Shop,-1.50,8.50\n",
        "Buchungstag;Verwendungszweck;Betrag;Referenz;Artikel\n01.01.2026;Shop;-1,50;A;B\n",
        "Test,Value,Unit,Reference range\nGlucose,5.1,mmol/L,3.9-5.5\n",
        '{"resourceType": "Bundle", "entry": [{"id": "1", "name": "x"}]}',
        "<Document xmlns='urn:iso:std:iso:20022:tech:xsd:camt.053.001.02'><BkToCstmrStmt/></Document>",
        "<html><body>product price sku</body></html>",
        "a plain letter about products and prices",
    ],
)
def test_documents_of_other_domains_are_no_catalogue(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file"
    path.write_text(text)

    assert detect(Content.of(path)) is None


def a_spreadsheet(path: Path, *texts: str, entry: str = "xl/sharedStrings.xml") -> Path:
    """An XLSX of which only the table of texts is there."""
    cells = "".join(f"<si><t xml:space='preserve'>{text}</t></si>" for text in texts)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(entry, f"<?xml version='1.0'?><sst>{cells}</sst>" + " " * 5_000_000)
    return path


@pytest.mark.parametrize("entry", ["xl/sharedStrings.xml", "xl/worksheets/sheet1.xml"])
def test_a_spreadsheet_is_a_catalogue_by_its_headings_whatever_its_name(
    tmp_path: Path, entry: str
) -> None:
    headings = (
        "Frühjahr 2026",
        "SKU",
        "Name",
        "Price",
        "GTIN",
        "Category",
        "A-1",
        "Cup &amp; saucer",
    )
    path = a_spreadsheet(tmp_path / "file", *headings, entry=entry)

    found = detect(Content.of(path, name="export.xlsx"))

    assert found is not None
    assert (found.source_type, found.format, found.confidence) == ("catalog", "xlsx", 60)


@pytest.mark.parametrize(
    "headings",
    [
        ("Buchungstag", "Verwendungszweck", "Betrag", "Saldo"),
        ("Date", "SKU", "Price", "Name", "GTIN", "Amount"),
        ("Name", "Address", "Telephone"),
    ],
)
def test_a_spreadsheet_with_other_headings_is_no_catalogue(
    tmp_path: Path, headings: tuple[str, ...]
) -> None:
    path = a_spreadsheet(tmp_path / "file", *headings)

    assert detect(Content.of(path, name="umsaetze.xlsx")) is None


def test_a_spreadsheet_without_texts_is_taken_for_a_catalogue_only_by_its_name(
    tmp_path: Path,
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"PK\x03\x04....xl/workbook.xml")

    assert detect(Content.of(path, name="umsaetze.xlsx")) is None
    assert detect(Content.of(path, name="Preisliste 2026.xlsx")) is not None
