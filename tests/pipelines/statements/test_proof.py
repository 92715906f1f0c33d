"""What is proven is quiet, and what a person would miss is flagged: dates, pages, amounts, lines around a table."""

from pathlib import Path

import pytest

from stateward.pipelines.statements.table_facts import labelled_facts
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


@pytest.mark.parametrize(
    "first", [",-85.74,SPOTIFY", "21/02/2021,,SPOTIFY", "21/02/2021,8?.74,SPOTIFY"]
)
def test_a_first_row_without_headings_and_date_or_amount_is_flagged(
    tmp_path: Path, first: str
) -> None:
    text = f"{first}\n20/02/2021,-120.98,IKEA LTD\n19/02/2021,-72.87,UBER TRIP\n"

    assert "ROW_UNREADABLE" in loud(read_bytes(tmp_path, text))


def test_a_first_row_is_flagged_where_it_alone_has_a_credit_and_no_date(tmp_path: Path) -> None:
    text = (
        "Konto X,,TRANSFER FROM A,,566.07,1860.11\nKonto X,14/02/2021,SHOP,111.33,,1294.04\n"
        "Konto X,14/02/2021,BOOTS,58.82,,1405.37\nKonto X,11/01/2021,SUBWAY,40.84,,1464.19\n"
    )

    assert "ROW_UNREADABLE" in loud(read_bytes(tmp_path, text))


POSTED = (
    "Posted Account, Posted Transactions Date, Description1, Debit Amount, Credit Amount,Balance\n"
    "93-70,{},TRANSFER,,566.07,1860.11\n93-70,14/02/2021,SHOP,111.33,,1294.04\n"
)


def test_the_day_on_which_transactions_are_posted_is_that_of_their_booking(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, POSTED.format("23/02/2021"))

    assert rows(read) == [("2021-02-23", "566.07"), ("2021-02-14", "-111.33")]
    assert loud(read) == []
    assert "ROW_UNREADABLE" in loud(read_bytes(tmp_path, POSTED.format("")))


RAGGED = {
    "of one day": "2026-01-02,2026-01-02,REWE, Berlin,-12.30,987.70\n"
    "2026-01-03,2026-01-03,LIDL,-10.00,977.70\n2026-01-04,2026-01-04,ALDI,-7.70,970.00\n",
    "of an account that began with nothing": "2026-01-04,2026-01-05,PAY, Berlin,30.00,80.00\n"
    "2026-01-03,2026-01-04,PAY,40.00,50.00\n2026-01-02,2026-01-03,PAY,10.00,10.00\n",
    "with balances that the rows do not lead to": "XXX469,2026/01/01,2026/01/31,100.00,109.00\n"
    "2026/01/02,5.00,BAR,POS,,DEBIT\n2026/01/03,9.00,PAY,ACH,,CREDIT\n",
}


@pytest.mark.parametrize("text", RAGGED.values(), ids=RAGGED)
def test_a_first_row_of_other_cells_is_not_taken_for_balances(tmp_path: Path, text: str) -> None:
    read = read_bytes(tmp_path, text)

    assert "ROW_RAGGED" in loud(read)
    assert "opening" not in read.checks[0]


SIDE_BY_SIDE = {
    "Opening balance;0;Closing balance;250.00": ("0", "250.00"),
    "Anfangssaldo;1000;Endsaldo;1250,00": ("1000", "1250,00"),
    "Opening balance;100.00;Closing balance;": ("100.00", ""),
    "0.00;Opening balance": ("0.00", None),
}


@pytest.mark.parametrize(("line", "ends"), SIDE_BY_SIDE.items())
def test_a_label_does_not_take_the_amount_of_another(
    line: str, ends: tuple[str | None, str | None]
) -> None:
    facts = labelled_facts(line.split(";"))

    assert (facts.get("opening"), facts.get("closing")) == ends


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
