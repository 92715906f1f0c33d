"""Rows that lack their empty last cells, and rows that are not booked: both show as much as the others."""

from pathlib import Path

import pytest

from stateward.pipelines.statements.booking import booking_status
from tests.pipelines.statements.reading import read_bytes

HEAD = '"Account No","","Date","Payee","Details","Amount","Currency","D/K","Record","Code","Ref","Doc","Client",\n'
OWN = "XX357300000000000000"


def _line(kind: str, day: str, text: str, amount: str, mark: str, currency: str = "EUR") -> str:
    cells = (OWN, kind, day, "", text, amount, currency, mark, "", "", "", "")
    return ",".join(f'"{cell}"' for cell in cells) + ",\n"


BALTIC = (
    _line("10", "2026-03-01", "Opening balance", "100.00", "K")
    + _line("20", "2026-03-02", "Bread", "15.30", "D")
    + _line("20", "2026-03-03", "Salary", "200.00", "K")
    + _line("20", "2026-03-04", "Milk", "4.70", "D")
    + _line("82", "2026-03-04", "Turnover", "20.00", "D")
    + _line("82", "2026-03-04", "Turnover", "200.00", "K")
    + _line("86", "2026-03-04", "Closing balance", "280.00", "K")
)


def test_marks_of_rows_that_lack_empty_cells_are_their_signs(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, HEAD + BALTIC)

    assert read.amounts == ["-15.30", "200.00", "-4.70"]
    assert [check["status"] for check in read.checks] == ["reconciled"]
    assert read.flags == []


def test_the_balances_of_another_currency_are_not_those_of_the_rows(tmp_path: Path) -> None:
    other = _line("10", "2026-03-01", "Opening balance", "7.00", "K", "USD")
    other += _line("86", "2026-03-04", "Closing balance", "7.00", "K", "USD")

    read = read_bytes(tmp_path, HEAD + BALTIC + other)

    assert read.amounts == ["-15.30", "200.00", "-4.70"]
    assert [check["status"] for check in read.checks] == ["reconciled"]


CARD = "Card;Purchase date;Booking date;Text;State;Kind;Amount\n"


def test_a_purchase_without_a_booking_is_not_left_out_for_what_another_cell_is_called(
    tmp_path: Path,
) -> None:
    read = read_bytes(
        tmp_path,
        CARD + "*12;30/12/2025;;Grocer;authorized;total;-50.00\n"
        "*12;30/12/2025;31/12/2025;Baker;booked;total;-20.00\n"
        "*12;28/12/2025;30/12/2025;Fuel;booked;total;-30.00\n;;;;;Total;100.00\n",
    )

    assert read.amounts == ["-50.00", "-20.00", "-30.00"]
    assert [bool(row.get("is_pending")) for row in read.canonicals] == [True, False, False]
    assert read.flags == []


def test_a_total_that_is_no_sum_with_what_is_not_booked_is_still_said(tmp_path: Path) -> None:
    read = read_bytes(
        tmp_path,
        CARD + "*12;30/12/2025;;Grocer;authorized;total;-50.00\n"
        "*12;30/12/2025;31/12/2025;Baker;booked;total;-20.00\n"
        "*12;28/12/2025;30/12/2025;Fuel;booked;total;-30.00\n;;;;;Total;120.00\n",
    )

    assert "NOT_RECONCILED" in read.flags


def test_a_kind_of_transaction_says_that_a_row_is_not_booked(tmp_path: Path) -> None:
    read = read_bytes(
        tmp_path,
        "Számlaszám;Forgalom típusa;Közlemény;Tranzakció időpontja;Könyvelés dátuma;Összeg;Devizanem\n"
        "11773016-1;VÁSÁRLÁS;Bolt;2026-01-02 09:15:00;2026-01-02;-4990,00;HUF\n"
        "11773016-1;FÜGGŐ TÉTEL;Posta;2026-01-20 10:00:00;;-999,00;HUF\n"
        "11773016-1;KAMAT;Kamat;2026-01-18 00:00:00;2026-01-18;12,50;HUF\n",
    )

    assert read.dates == ["2026-01-02", "2026-01-20", "2026-01-18"]
    assert [bool(row.get("is_pending")) for row in read.canonicals] == [False, True, False]
    assert read.flags == []


@pytest.mark.parametrize("status", ["NOT APPROVED", "not completed", "nicht gebucht"])
def test_a_booked_status_that_is_denied_is_not_booked(status: str) -> None:
    assert booking_status(status) == "failed"
