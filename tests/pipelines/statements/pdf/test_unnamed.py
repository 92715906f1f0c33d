"""Rows that no heading names: above the only table that has one, below lines of dates, in other calendars."""

from pathlib import Path

import pytest

import lab.documents.bank_pdfs.__main__  # noqa: F401 - registers the layouts
from lab.documents.bank_pdfs.layouts import SETS, draw
from tests.pipelines.statements.pdf.judging import sheet
from tests.pipelines.statements.reading import read_bytes
from tests.pipelines.statements.test_laws import loud

LAYOUTS = {
    "regions": "only the columns of checks are named, two side by side, and titles tell debits",
    "day-sections": "a date on a line of its own, and no headings",
    "starling": "two names of columns that touch",
    "us-bank": "checks without a sign beside debits that have one",
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts_that_were_not_read_are_exact(tmp_path: Path, name: str) -> None:
    layout = next(each for each in (*SETS["third"], *SETS["further"]) if each.name == name)
    content, truth = draw(layout, 61021, is_mutated=False)

    read = read_bytes(tmp_path, content)

    rows = truth["transactions"]
    expected = sorted((row["date"], row["amount"]) for row in rows)  # type: ignore[attr-defined]
    assert sorted((e["date"], e["amount"]) for e in read.canonicals) == expected, LAYOUTS[name]
    assert loud(read) == []


def test_a_card_whose_amounts_are_in_euro_has_no_column_of_money_in(tmp_path: Path) -> None:
    layout = next(each for each in SETS["third"] if each.name == "card-holders-ie")
    content, _ = draw(layout, 61033, is_mutated=True)

    assert loud(read_bytes(tmp_path, content)) or read_bytes(tmp_path, content).amounts[1] < "0"


def _german(first: str) -> bytes:
    """Booking days as two numbers below a name of their own, value dates below theirs."""
    rows = [("02 01", "EDEKA", "0301", "127,63-"), ("05 01", "Lohn", "0501", "500,00"),
            ("08 01", "Bahn", "0901", "20,00-")]  # fmt: skip
    lines = [
        [(40.0, "Kontoauszug 01.01.2024 - 31.01.2024"), (300.0, "EUR")],
        [(40.0, first), (90.0, "Text"), (300.0, "Valuta"), (-500.0, "Umsatz")],
        [(90.0, "Alter Kontostand"), (-500.0, "100,00")],
        *[[(40.0, a), (90.0, b), (300.0, c), (-500.0, d)] for a, b, c, d in rows],
        [(90.0, "Neuer Kontostand"), (-500.0, "452,37")],
    ]
    return sheet(*lines).pdf()


def test_days_that_are_two_numbers_are_the_days_of_booking(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, _german("BuDat"))

    assert read.dates == ["2024-01-02", "2024-01-05", "2024-01-08"]
    assert loud(read) == []


def test_numbers_before_value_dates_that_no_name_explains_are_doubted(tmp_path: Path) -> None:
    assert "DATE_UNPROVEN" in loud(read_bytes(tmp_path, _german("Bln")))


def test_years_of_an_emperor_are_read(tmp_path: Path) -> None:
    lines = [
        [(40.0, "年月日"), (120.0, "摘要"), (-300.0, "お支払金額"), (-400.0, "お預り金額"), (-500.0, "差引残高")],
        [(40.0, "R6.1.5"), (120.0, "ATM"), (-300.0, "10,000"), (-500.0, "90,000")],
        [(40.0, "R6.1.9"), (120.0, "LIFE CARD"), (-300.0, "2,500"), (-500.0, "87,500")],
        [(40.0, "R6.1.25"), (120.0, "SALARY"), (-400.0, "200,000"), (-500.0, "287,500")],
    ]  # fmt: skip

    assert read_bytes(tmp_path, sheet(*lines).pdf()).dates == [
        "2024-01-05",
        "2024-01-09",
        "2024-01-25",
    ]


def test_a_shop_named_like_a_carried_balance_keeps_the_first_line_of_its_row(
    tmp_path: Path,
) -> None:
    lines = [
        [(40.0, "Statement 1 Jul 2024 - 31 Jul 2024")],
        [(40.0, "Date"), (100.0, "Transaction"), (-350.0, "Debit"), (-430.0, "Credit"), (-520.0, "Balance")],
        [(40.0, "01 Jul"), (100.0, "OPENING BALANCE"), (-520.0, "500.00")],
        [(40.0, "03 Jul"), (100.0, "TRANSPORT FOR LONDON")],
        [(100.0, "Card xx1234"), (-350.0, "20.00"), (-520.0, "480.00")],
        [(40.0, "03 Jul"), (100.0, "REPORT MEDIA LTD")],
        [(100.0, "Card xx1234"), (-430.0, "5.00"), (-520.0, "485.00")],
        [(100.0, "Opening balance - Total debits + Total credits = Closing balance")],
        [(100.0, "500.00 20.00 5.00 485.00")],
    ]  # fmt: skip

    read = read_bytes(tmp_path, sheet(*lines).pdf())

    assert [e["description"][:9] for e in read.canonicals] == ["TRANSPORT", "REPORT ME"]
    assert loud(read) == []


def test_the_number_of_a_branch_is_no_date_of_a_statement(tmp_path: Path) -> None:
    lines = [
        [(40.0, "Avon Bank"), (300.0, "Sort code 20-11-45 Account number 30291847")],
        [(40.0, "O Hughes"), (300.0, "1 Jun to 28 Jun 2026")],
        [(40.0, "Date"), (100.0, "Description"), (-350.0, "Money out"), (-430.0, "Money in"), (-500.0, "Balance")],
        [(40.0, "1 Jun"), (100.0, "Start balance"), (-500.0, "300.00")],
        [(40.0, "2 Jun"), (100.0, "BRITISH GAS"), (-350.0, "118.00"), (-500.0, "182.00")],
        [(40.0, "8 Jun"), (100.0, "ORION LTD"), (-430.0, "50.00"), (-500.0, "232.00")],
        [(40.0, "28 Jun"), (100.0, "End balance"), (-500.0, "232.00")],
    ]  # fmt: skip

    read = read_bytes(tmp_path, sheet(*lines).pdf())

    assert (read.dates, loud(read)) == (["2026-06-02", "2026-06-08"], [])


@pytest.mark.parametrize(
    ("numbers", "is_doubted"),
    [
        (["0303", "0304", "0309"], True),
        (["3", "4", "9"], True),
        (["1", "2", "3"], False),
        (["41", "57", "99"], False),
    ],
)
def test_numbers_before_dates_are_doubted_where_they_may_be_days_and_count_no_rows(
    tmp_path: Path, numbers: list[str], *, is_doubted: bool
) -> None:
    rows = [("01 Mar 2025", -450.0, "20.00", "480.00"), ("03 Mar 2025", -380.0, "50.00", "530.00"),
            ("08 Mar 2025", -450.0, "30.00", "500.00")]  # fmt: skip
    lines = [
        [(40.0, "Statement 1 March to 31 March 2025")],
        [(90.0, "Opening balance"), (-540.0, "500.00")],
        *(
            [(40.0, number), (90.0, f"{day} Anna Berg"), (edge, amount), (-540.0, balance)]
            for number, (day, edge, amount, balance) in zip(numbers, rows, strict=True)
        ),
    ]

    read = read_bytes(tmp_path, sheet(*lines).pdf())

    assert ("DATE_UNPROVEN" in read.flags) is is_doubted
