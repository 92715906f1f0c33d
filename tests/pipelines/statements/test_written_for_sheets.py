"""What programs write so that a sheet, or Quicken, shows it as it is."""

from pathlib import Path

import pytest
import xlsxwriter

from tests.pipelines.statements.reading import read_bytes, read_file

ROWS = [("20260302", "Purchase Bread", "-3.20", "00012"), ("20260303", "Salary", "500.00", "00013")]


def test_texts_that_are_formulas_are_read_as_texts(tmp_path: Path) -> None:
    bare = "".join(f'="{day}",="{text}",{amount},="{ref}"\n' for day, text, amount, ref in ROWS)
    quoted = "".join(
        f'"=""{day}""","=""{text}""",{amount},"=""{ref}"""\n' for day, text, amount, ref in ROWS
    )

    for rows in (bare, quoted):
        read = read_bytes(tmp_path, f'="Date",="Description",="Amount",="Reference"\n{rows}')

        assert read.dates == ["2026-03-02", "2026-03-03"]
        assert read.amounts == ["-3.20", "500.00"]
        assert [row["reference"] for row in read.canonicals] == ["00012", "00013"]
        assert read.canonicals[0]["description"] == "Purchase Bread"


def test_an_equals_sign_within_a_text_stays(tmp_path: Path) -> None:
    text = (
        'Date,Description,Amount\n2026-03-02,"Purchase a=""b"" c",-1.00\n2026-03-20,Salary,5.00\n'
    )

    assert read_bytes(tmp_path, text).canonicals[0]["description"] == 'Purchase a="b" c'


def test_number_signs_part_cells(tmp_path: Path) -> None:
    read = read_bytes(
        tmp_path,
        "ST_RACUNA#VALUTA#DATUM_VAL#ZNESEK_V_BREME#ZNESEK_V_DOBRO#OPIS#DATUM_KNJ\n"
        "170-45#RSD#02.03.2026#1.000,00##Kirija#26.03.2026\n"
        "170-45#RSD#26.03.2026##2.750,19#Uplata#26.03.2026\n",
    )

    assert read.amounts == ["-1000.00", "2750.19"]
    assert read.dates == ["2026-03-26", "2026-03-26"]
    assert read.flags == []


def test_days_and_years_of_quicken_may_begin_with_a_blank(tmp_path: Path) -> None:
    read = read_bytes(
        tmp_path, "!Type:Bank\nD3/29' 0\nT-1.00\nPBread\n^\nD4/ 9' 1\nT-2.00\nPMilk\n^\n"
    )

    assert read.dates == ["2000-03-29", "2001-04-09"]


@pytest.mark.parametrize(
    ("typed", "amount"),
    [
        ("\u22126\u00a0120,00", "-6120.00"),
        ("-6.120,00", "-6120.00"),
        ("-12,50", "-12.50"),
        ("-6,120", "-6120.00"),  # three figures: thousands, as the column has points
    ],
)
def test_an_amount_that_was_typed_among_numbers_of_a_sheet_counts(
    tmp_path: Path, typed: str, amount: str
) -> None:
    path = tmp_path / "a.xlsx"
    rows = [
        ("2026-02-27", "Rent", typed),
        ("2026-02-26", "Swish", 208.78),
        ("2026-02-25", "Bar", -16.5),
    ]
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        for number, cells in enumerate([("Datum", "Text", "Belopp"), *rows]):
            sheet.write_row(number, 0, cells)

    read = read_file(path)

    assert read.amounts == [amount, "208.78", "-16.50"]
    assert "ROW_REJECTED" not in read.flags
