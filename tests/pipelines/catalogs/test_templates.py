"""Templates of marketplaces, and exports that were put together: headings that stand in a file more than once."""

from io import BytesIO
from pathlib import Path

import pytest
import xlsxwriter

from stateward.definition.plugin import Content
from stateward.pipelines.catalogs.detection import detect
from stateward.workers.sdk import Completed
from tests.pipelines.catalogs.reading import read

FLAT_FILE = (
    ("TemplateType=kitchen", "Version=2026", "Do not change the top 3 rows."),
    ("Seller SKU", "Product ID", "Product ID Type", "Product Name", "Standard Price", "Currency", "MPN"),
    ("item_sku", "external_product_id", "external_product_id_type", "item_name", "standard_price", "currency", "mpn"),
    ("B-1", "4006381333931", "EAN", "Bowl", "3.50", "GBP", "P1"),
    ("B-2", "4006381333932", "EAN", "Mill", "4.50", "GBP", "P2"),
    ("", "9780306406157", "ISBN", "Book on mills", "9.00", "GBP", "P3"),
)  # fmt: skip


def as_csv(rows: tuple[tuple[str, ...], ...], *, delimiter: str = "\t") -> str:
    return "\n".join(delimiter.join(cells) for cells in rows) + "\n"


def template() -> bytes:
    """A sheet of instructions before that of the products, each sheet with its own texts."""
    file = BytesIO()
    with xlsxwriter.Workbook(file, {"constant_memory": True}) as book:
        for rows in ((("How to fill in this template",),), FLAT_FILE):
            sheet = book.add_worksheet()
            for number, cells in enumerate(rows):
                sheet.write_row(number, 0, cells)
    return file.getvalue()


def test_a_row_that_names_the_columns_for_a_program_is_no_product(tmp_path: Path) -> None:
    done = read(tmp_path, as_csv(FLAT_FILE))

    assert [(each["sku"], each["title"]) for each in done.products] == [("B-1", "Bowl")]
    assert sorted(done.rejected.values()) == ["BAD_GTIN_CHECKSUM", "MISSING_SKU"]


def test_a_number_whose_type_is_ean_or_isbn_in_each_row_is_a_gtin(tmp_path: Path) -> None:
    done = read(tmp_path, as_csv(FLAT_FILE))

    assert done.product["gtin"] == "4006381333931"


def test_a_number_of_the_marketplace_itself_is_no_gtin(tmp_path: Path) -> None:
    rows = as_csv(FLAT_FILE[:5]).replace("4006381333932\tEAN", "B0ABCDEFGH\tASIN")

    done = read(tmp_path, rows)

    assert [each["sku"] for each in done.products] == ["B-1", "B-2"]


def test_a_product_in_words_alone_below_the_headings_stays_a_product(tmp_path: Path) -> None:
    done = read(
        tmp_path, "SKU,Title,Brand,Price\nTitle,Brand,Price list,on request\nA2,Cup,Ora,2\n"
    )

    assert [each["sku"] for each in done.products] == ["A2"]
    assert done.rejected == {2: "UNPARSEABLE_PRICE"}


@pytest.mark.parametrize("times", [1, 3])
def test_headings_that_come_again_among_the_products_are_left_out_and_counted(
    tmp_path: Path, times: int
) -> None:
    part = "SKU,Title,Price,Currency\nA{0},Bowl,3.50,EUR\n"

    done = read(tmp_path, "".join(part.format(each) for each in range(times + 1)))

    assert len(done.products) == times + 1
    assert done.rejected == {}
    assert isinstance(done.parsed, Completed)
    assert f'"repeated_headings":{times}' in done.parsed.log.replace(": ", ":")


def test_a_template_with_a_sheet_of_instructions_is_detected_and_read(tmp_path: Path) -> None:
    path = tmp_path / "upload.xlsx"
    path.write_bytes(template())

    found = detect(Content.of(path, name="upload.xlsx"))

    assert found is not None
    assert (found.source_type, found.format) == ("catalog", "xlsx")
    assert [each["sku"] for each in read(tmp_path, template()).products] == ["B-1"]
