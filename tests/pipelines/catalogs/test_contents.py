"""What the columns of a price list are where its headings do not say it, and prices that contradict each other."""

from io import BytesIO
from pathlib import Path

import pytest
import xlsxwriter

from stateward.core.model import Json
from tests.pipelines.catalogs.reading import Read, read
from tests.pipelines.labs.test_sheets import Row, book

NET_AND_GROSS = """Symbol;Nazwa;EAN;Cena netto;Cena brutto;Waluta
KLJ-100;Klej montażowy;;34,15;42,00;PLN
KLJ-101;Klej do drewna;;22,44;27,60;PLN
KLJ-102;Klej szybki;;11,54;14,20;PLN
KLJ-104;Taśma malarska;;6,10;4,96;PLN
FRB-001;Farba biała;;91,22;112,20;PLN
"""


def notes(read: Read) -> list[str]:
    return [each.partition(":")[0] for each in read.about["notes"]]


def flags(read: Read) -> Json:
    return read.parsed.facts.get("flags", [])


def test_a_row_whose_prices_are_the_other_way_round_than_in_the_others_is_flagged(
    tmp_path: Path,
) -> None:
    done = read(tmp_path, NET_AND_GROSS)

    assert {each["sku"]: each.get("flags") for each in done.products} == {
        "KLJ-100": None,
        "KLJ-101": None,
        "KLJ-102": None,
        "KLJ-104": ["PRICE_ORDER"],
        "FRB-001": None,
    }
    assert "PRICE_ORDER" in notes(done)


def test_prices_that_stand_in_no_order_flag_no_row(tmp_path: Path) -> None:
    """Some are dearer in one shop, some in the other."""
    rows = ("A1,Hose,3.50,2.50", "A2,Pipe,2.00,4.00", "A3,Tap,7.00,6.00", "A4,Nut,0.10,0.20")
    done = read(tmp_path, "SKU,Title,Price,List price\n" + "\n".join(rows))

    assert [each for each in done.products if "PRICE_ORDER" in each.get("flags", ())] == []
    assert len(done.products) == 4


@pytest.mark.parametrize("heading", ["PREZZO BT €", "Price A", "Preis je Karton", "Prijs winkel"])
def test_a_word_for_prices_beside_unknown_ones_names_the_price_if_the_cells_are_amounts(
    tmp_path: Path, heading: str
) -> None:
    done = read(
        tmp_path, f"COD.;DESCRIZIONE;{heading}\nP1;Barbera;7,40\nP2;Barolo;24,50\nP3;Soave;5,20\n"
    )

    assert [each["price"] for each in done.products] == ["7.40", "24.50", "5.20"]
    assert "PRICE_UNSURE" in notes(done)
    assert flags(done) == []


def test_of_two_such_columns_the_first_is_taken_and_the_other_named(tmp_path: Path) -> None:
    text = "COD.;DESCRIZIONE;PREZZO BT;PREZZO CT\nP1;Barbera;7,40;44,40\nP2;Barolo;24,50;147,00\n"
    done = read(tmp_path, text)

    assert [each["price"] for each in done.products] == ["7.40", "24.50"]
    assert "PRICE_UNSURE: PREZZO CT may be the price as well; PREZZO BT was taken" in str(
        done.about["notes"]
    )


@pytest.mark.parametrize("heading", ["Price group", "Preisgruppe", "Price date", "Shipping cost"])
def test_what_is_said_about_a_price_is_none(tmp_path: Path, heading: str) -> None:
    done = read(tmp_path, f"SKU,Title,{heading}\nA1,Hose,1.50\nA2,Pipe,2.50\nA3,Tap,1.50\n")

    assert [each.get("price") for each in done.products] == [None] * 3


def test_columns_under_headings_that_no_one_knows_are_told_by_what_they_hold_and_flagged(
    tmp_path: Path,
) -> None:
    text = (
        "Pozzi S.p.A.;;;;\n"
        "Kzz;Wfq;Mnb;Vvt;Oo\n"
        "P001;Barbera d'Asti;2022;7,40;8032793000013\n"
        "P002;Barolo Riserva;2019;24,50;8032793000020\n"
        "V010;Soave Classico;2023;5,20;8032793000044\n"
        "V012;Amarone Grande;2018;;8032793000068\n"
    )
    done = read(tmp_path, text)

    assert [
        (each["sku"], each["title"], each["price"], each["gtin"]) for each in done.products
    ] == [
        ("P001", "Barbera d'Asti", "7.40", "8032793000013"),
        ("P002", "Barolo Riserva", "24.50", "8032793000020"),
        ("V010", "Soave Classico", "5.20", "8032793000044"),
    ]
    assert flags(done) == ["COLUMNS_UNSURE"]
    (note,) = (each for each in done.about["notes"] if each.startswith("COLUMNS_UNSURE"))
    assert "'Kzz' for the sku" in note
    assert "'Vvt' for the price" in note


def test_codes_under_an_unknown_heading_are_the_number_where_no_heading_names_one(
    tmp_path: Path,
) -> None:
    text = "Xyzzy;Barcode;Title;Price\nA-1;;Hose;1,50\nA-2;;Pipe;2,50\nA-3;;Tap;3,50\n"
    done = read(tmp_path, text)

    assert [each["sku"] for each in done.products] == ["A-1", "A-2", "A-3"]
    assert flags(done) == ["COLUMNS_UNSURE"]


@pytest.mark.parametrize(
    "rows",
    [
        "2026-01-02;Rent January;-800,00;1200,00\n2026-01-03;Groceries;-45,10;1154,90\n"
        "2026-01-05;Salary;2000,00;3154,90\n",
        "Ann;Berlin;030 1234\nBob;Hamburg;040 9876\nCleo;Munich;089 5555\n",
    ],
)
def test_tables_of_other_things_are_no_catalogue(tmp_path: Path, rows: str) -> None:
    done = read(tmp_path, f"Kzz;Wfq;Vvt;Xx\n{rows}")

    assert done.error.code == "NO_CATALOG"


def test_a_sheet_with_amounts_and_without_headings_of_products_is_flagged_as_unread(
    tmp_path: Path,
) -> None:
    products: list[Row] = [("SKU", "Title", "Price"), ("A1", "Garden hose", 3.5), ("A2", "Pipe", 2)]
    terms: list[Row] = [("Terms of sale",), ("All goods remain ours.",), ("Payment in 30 days.",)]
    names = ("Headband fleece", "Gloves leather", "Socks wool")
    others: list[Row] = [("What", "Then", "Now"), *((name, 7.5, 3.25) for name in names)]

    with_others = read(tmp_path, book(products, terms, others))
    without = read(tmp_path, book(products, terms))

    assert [each["sku"] for each in with_others.products] == ["A1", "A2"]
    assert flags(with_others) == ["SHEET_UNREAD"]
    assert any("'Sheet3'" in each for each in with_others.about["notes"])
    assert flags(without) == []


@pytest.mark.parametrize(("name", "expected"), [("Versandkosten", []), ("Mehr", ["SHEET_UNREAD"])])
def test_a_sheet_whose_name_says_that_it_lists_no_products_is_left_out_without_a_flag(
    tmp_path: Path, name: str, expected: list[str]
) -> None:
    file = BytesIO()
    with xlsxwriter.Workbook(file) as written:
        for title, rows in (
            ("Artikel", [("SKU", "Title", "Price"), ("A1", "Garden hose", 3.5), ("A2", "Pipe", 2)]),
            (name, [("Ziel", "Paket"), ("Germany", 4.9), ("Austria", 9.5), ("France", 12.9)]),
        ):
            sheet = written.add_worksheet(title)
            for number, cells in enumerate(rows):
                sheet.write_row(number, 0, cells)

    assert flags(read(tmp_path, file.getvalue())) == expected


def test_signs_of_a_currency_are_no_numbers_of_products_and_yes_or_no_is_no_price(
    tmp_path: Path,
) -> None:
    text = "Code;Title;Symbol;Price;Clearance\nA1;Pen blue;€;1,50;yes\nA2;Pen red;€;2,50;no\n"
    done = read(tmp_path, text)

    assert [(each["sku"], each["price"]) for each in done.products] == [
        ("A1", "1.50"),
        ("A2", "2.50"),
    ]
    assert "OTHER_PRICE_UNREADABLE" not in notes(done)


@pytest.mark.parametrize(
    "heading", ["Preis pro Liter", "Competitor price", "Cost of packing", "Alter Preis"]
)
def test_a_price_of_something_else_is_not_taken_before_the_one_of_the_product(
    tmp_path: Path, heading: str
) -> None:
    text = f"SKU;Title;{heading};Preis Flasche\nA1;Barbera;10,00;7,50\nA2;Soave;12,00;9,00\n"

    assert [each["price"] for each in read(tmp_path, text).products] == ["7.50", "9.00"]


@pytest.mark.parametrize(
    ("headings", "others"),
    [
        ("Item No;COD", ("yes", "no")),
        ("Code;COD", ("yes", "no")),
        ("Codice articolo;Cod.", ("VN", "VN")),
    ],
)
def test_a_heading_that_names_the_number_in_full_goes_before_an_abbreviation(
    tmp_path: Path, headings: str, others: tuple[str, str]
) -> None:
    one, two = others
    text = f"{headings};Title;Price\nA1;{one};Barbera;8,50\nA2;{two};Soave;9,40\n"

    assert [each["sku"] for each in read(tmp_path, text).products] == ["A1", "A2"]
