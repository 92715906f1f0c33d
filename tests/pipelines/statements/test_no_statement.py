"""Tables that list something else, rows that nobody sees, and what a row has that no total has."""

from pathlib import Path
from typing import Any

import pytest
import xlsxwriter

from tests.pipelines.statements.reading import read_bytes, read_file

ROWS: list[list[Any]] = [
    ["Date", "Description", "Amount"],
    ["2026-03-02", "Purchase Bread", -3.2],
    ["2026-03-03", "Salary", 500],
    ["2026-03-04", "Purchase Milk", -1.1],
]


@pytest.mark.parametrize(
    "names", ["Datum,Boeksaldo,Valutair saldo", "Date,Balance,Available balance"]
)
def test_a_list_of_balances_of_days_has_no_transactions(tmp_path: Path, names: str) -> None:
    rows = "".join(f"2026-05-{day},13.{day},13.{day}\n" for day in range(10, 20))

    error = read_bytes(tmp_path, f"{names}\n{rows}").error

    assert error.code == "NO_ROWS"
    assert "balances of days" in error.message


def test_a_balance_beside_texts_may_be_what_a_bank_calls_its_amounts(tmp_path: Path) -> None:
    read = read_bytes(
        tmp_path, "Datum;Vermerk;Saldo\n01.03.2026;Miete;-5,20\n15.03.2026;Lohn;9,10\n"
    )

    assert read.amounts == ["-5.20", "9.10"]


def _sheet(path: Path, *, hidden: tuple[int, ...] = (), is_hidden: bool = False) -> Path:
    with xlsxwriter.Workbook(path) as book:
        book.add_worksheet("Notes & more").write(0, 0, "nothing")
        sheet = book.add_worksheet("Rows & cells")
        for number, cells in enumerate(ROWS):
            sheet.write_row(number, 0, cells)
            if number in hidden:
                sheet.set_row(number, None, None, {"hidden": True})
        if is_hidden:
            sheet.hide()
    return path


def test_hidden_rows_are_read_and_said(tmp_path: Path) -> None:
    read = read_file(_sheet(tmp_path / "a.xlsx", hidden=(2,)))

    assert read.amounts == ["-3.20", "500.00", "-1.10"]
    assert read.flags == ["ROWS_HIDDEN"]
    assert "1 rows of the sheet 'Rows & cells' are hidden" in read.log


def test_a_hidden_sheet_of_bookings_is_said(tmp_path: Path) -> None:
    assert read_file(_sheet(tmp_path / "a.xlsx", is_hidden=True)).flags == ["ROWS_HIDDEN"]


@pytest.mark.parametrize("hidden", [(), (0,), (9,)])
def test_hidden_rows_without_a_booking_are_not_said(
    tmp_path: Path, hidden: tuple[int, ...]
) -> None:
    assert read_file(_sheet(tmp_path / "a.xlsx", hidden=hidden)).flags == []


@pytest.mark.parametrize(("number", "is_flagged"), [("TX4", False), ("", True)])
def test_a_row_with_the_number_of_a_booking_is_no_total(
    tmp_path: Path, number: str, is_flagged: bool
) -> None:
    rows = "".join(
        f"2026-03-0{day},Shop {day},-{day}.10,TX{day},Note {day},Tag {day}\n" for day in range(1, 4)
    )

    read = read_bytes(
        tmp_path,
        f"Date,Description,Amount,Transaction ID,Hint,Label\n{rows}2026-03-04,Kino,-9.00,{number},,\n",
    )

    assert ("TOTAL_SUSPECTED" in read.flags) is is_flagged


def test_a_column_of_yes_and_no_tells_what_is_pending(tmp_path: Path) -> None:
    read = read_bytes(
        tmp_path,
        "Date,Name,Amount,Pending\n2026-03-01,Purchase Bread,-2.00,False\n"
        "2026-03-02,Salary,50.00,False\n2026-03-03,Purchase Milk,-3.00,True\n",
    )

    assert [bool(row.get("is_pending")) for row in read.canonicals] == [False, False, True]
    assert read.flags == []


def test_lots_of_shares_are_not_taken_for_amounts_in_silence(tmp_path: Path) -> None:
    read = read_bytes(
        tmp_path,
        "Symbol,Trade date,Kind,Quantity,Price\nABC,2022-06-17,buy,-1.000000,158.61\n"
        "DEF,2022-06-17,sell,9.000000,163.10\nGHI,2022-06-18,buy,-2.500000,12.75\n",
    )

    assert "AMOUNT_UNPROVEN" in read.flags
