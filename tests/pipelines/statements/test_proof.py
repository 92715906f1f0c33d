"""What is proven is quiet, and what a person would miss is flagged: dates, pages, amounts, lines around a table."""

from pathlib import Path

import pytest

from tests.pipelines.statements.pdf.judging import sheet
from tests.pipelines.statements.reading import read_bytes
from tests.pipelines.statements.test_laws import loud, rows

HEADED = (
    "Date,Description,Amount\n2026-01-05,Card purchase,-1.00\n{}2026-01-07,Card purchase,-4.00\n"
)
UNDATED = {
    "where others repeat theirs": "2026-01-05,Shop,-2.00\n,Bar,-3.00\n",
    "and is the only one": ",Bar,-3.00\n",
}


@pytest.mark.parametrize("lines", UNDATED.values(), ids=UNDATED)
def test_a_row_that_lacks_its_date_is_flagged(tmp_path: Path, lines: str) -> None:
    assert "DATE_MISSING" in loud(read_bytes(tmp_path, HEADED.format(lines)))


def test_a_date_that_is_printed_once_a_day_is_that_of_the_rows_below(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, HEADED.format(",Bar,-3.00\n,Shop,-2.00\n2026-01-06,Shop,-9.00\n"))

    assert read.dates[:4] == ["2026-01-05"] * 3 + ["2026-01-06"]
    assert loud(read) == []


def test_a_first_row_without_headings_and_date_is_flagged(tmp_path: Path) -> None:
    text = ",-85.74,SPOTIFY\n20/02/2021,-120.98,IKEA LTD\n19/02/2021,-72.87,UBER TRIP\n"

    assert "ROW_UNREADABLE" in loud(read_bytes(tmp_path, text))


def test_a_dash_is_an_empty_cell(tmp_path: Path) -> None:
    text = "Fecha,Descripción,Depósitos,Retiros,Saldo\n" + "".join(
        f"{day:02}-AGO-23,COMPRA,-,10.00,{500 - day * 10}.00\n" for day in range(1, 20)
    )

    read = read_bytes(tmp_path, text + "20-AGO-23,ABONO,25.00,-,335.00\n")

    assert read.amounts[-2:] == ["-10.00", "25.00"]
    assert loud(read) == []


AROUND = {
    "a count beside a total": "Date,Text,Debit,Credit,Balance\n2026-01-02,Bar,5.00,,95.00\n"
    "2026-01-03,Pay,,9.00,104.00\nTotal debit,=,5.00,1,\nTotal credit,=,9.00,1,\n",
    "what can be spent": "Account Balance:,95.00\nAvailable Balance:,595.00\n\nDate,Text,Paid out,Paid in,Balance\n"
    "2026-01-03,Bar,5.00,,95.00\n2026-01-02,Pay,,9.00,100.00\n",
    "the balances of the period in a first line": "XXX469,2026/01/01,2026/01/31,100.00,104.00\n"
    "2026/01/02,5.00,BAR,POS,,DEBIT\n2026/01/03,9.00,PAY,ACH,,CREDIT\n",
    "a status of another language": "Datum;Omschrijving;Bedrag;Saldo;Status\n02/01/2026;Bar;-5,00;95,00;Geaccepteerd\n"
    "13/01/2026;Bol;-1,00;;Geweigerd\n",
}


@pytest.mark.parametrize("text", AROUND.values(), ids=AROUND)
def test_what_stands_around_a_table_is_no_contradiction(tmp_path: Path, text: str) -> None:
    assert loud(read_bytes(tmp_path, text)) == []


def test_years_of_the_republic_of_china_are_read(tmp_path: Path) -> None:
    text = '交易日期,摘要,支出,存入,餘額\n113/08/01,提款,"1,500",,"94,865"\n113/08/02,薪資,,"4,000","98,865"\n'

    read = read_bytes(tmp_path, text)

    assert rows(read) == [("2024-08-01", "-1500.00"), ("2024-08-02", "4000.00")]


Cells = list[tuple[float, str]]
HEADING: Cells = [
    (40.0, "Date"), (110.0, "Details"), (-350.0, "Money out"), (-430.0, "Money in"), (-520.0, "Balance"),
]  # fmt: skip


def _row(day: str, text: str, out: str, after: str) -> Cells:
    return [(40.0, day), (110.0, text), (-350.0, out), (-520.0, after)]


def test_a_balance_brought_forward_from_nowhere_is_a_missing_page(tmp_path: Path) -> None:
    page = sheet(
        [(40.0, "Statement 01 Nov 2023 to 31 Dec 2023")],
        HEADING,
        [(110.0, "Brought forward"), (-520.0, "100.00")],
        _row("02 Nov 2023", "IKEA", "10.00", "90.00"),
        _row("03 Nov 2023", "LIDL", "10.00", "80.00"),
        [(40.0, "Page 1 of 3")],
        HEADING,
        [(110.0, "Brought forward"), (-520.0, "70.50")],
        _row("24 Nov 2023", "TESCO", "20.00", "50.50"),
        _row("25 Nov 2023", "SHELL", "10.00", "40.50"),
        [(110.0, "Closing balance"), (-520.0, "40.50")],
    )

    assert "PAGE_MISSING" in loud(read_bytes(tmp_path, page.pdf()))


def test_figures_that_cannot_be_read_are_flagged(tmp_path: Path) -> None:
    page = sheet(
        [(40.0, "Statement 01 Nov 2023 to 31 Dec 2023")],
        HEADING,
        _row("02 Nov 2023", "IKEA", "10.00", "90.00"),
        _row("03 Nov 2023", "LIDL", "10.00", "80.00"),
        _row("04 Nov 2023", "ALDI", "30.00", "50.00"),
        [(40.0, "05 Nov 2023"), (110.0, "CINEWORLD"), (-350.0, "#,##.##")],
    )

    assert "ROW_UNREAD" in loud(read_bytes(tmp_path, page.pdf()))


def test_the_balance_that_closes_an_account_is_not_that_of_the_next(tmp_path: Path) -> None:
    page = sheet(
        [(40.0, "Statement 01 Nov 2023 to 30 Nov 2023")],
        HEADING,
        [(110.0, "Beginning Balance"), (-520.0, "100.00")],
        _row("02 Nov 2023", "IKEA", "10.00", "90.00"),
        [(110.0, "Ending Balance"), (-520.0, "90.00")],
        [(40.0, "SHARE SAVINGS")],
        HEADING,
        [(110.0, "Beginning Balance"), (-520.0, "70.50")],
        _row("24 Nov 2023", "TESCO", "20.00", "50.50"),
        [(110.0, "Ending Balance"), (-520.0, "50.50")],
        [(110.0, "1 Debits"), (-350.0, "20.00")],
    )

    read = read_bytes(tmp_path, page.pdf())

    assert [check["closing"] for check in read.checks] == ["90.00", "50.50"]
    assert loud(read) == []
