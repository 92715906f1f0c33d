"""What stands below the rows of an export: other tables, and last rows that say little."""

from pathlib import Path

import pytest

from tests.pipelines.statements.reading import read_bytes

ROWS = (
    "Fecha,Referencia,Descripcion,Debito,Credito,Balance\n"
    "03/02/2026,80012300,PAGO ALMUERZO,4500.00,0.00,179730.75\n"
    "13/02/2026,80012351,SALARIO,0.00,612480.50,792211.25\n"
    "16/02/2026,80012368,ALQUILER,275000.00,0.00,517211.25\n"
)


def test_another_table_that_repeats_the_sums_is_neither_a_row_nor_a_doubt(tmp_path: Path) -> None:
    text = f"{ROWS}\nFecha,Debitos - Monto,Creditos - Monto,Balance\n28/02/2026,279500.00,612480.50,517211.25\n"

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["-4500.00", "612480.50", "-275000.00"]
    assert read.flags == []


def test_another_table_with_other_sums_is_said(tmp_path: Path) -> None:
    text = f"{ROWS}\nFecha,Debitos - Monto,Creditos - Monto,Balance\n28/02/2026,279500.00,1.00,517211.25\n"

    assert read_bytes(tmp_path, text).flags != []


def test_a_balance_below_headings_of_its_own_is_no_row(tmp_path: Path) -> None:
    text = (
        f"{ROWS}\nSaldos de inversion\nFecha,Descripcion,Importe\n28/02/2026,SALDO FINAL,1530.22\n"
    )

    read = read_bytes(tmp_path, text)

    assert len(read.amounts) == 3
    assert read.flags == []


@pytest.mark.parametrize("said", ["COMPRA TIENDA", "Balance transfer to savings", "SALDO MOVIL"])
def test_a_booking_below_headings_of_its_own_is_said(tmp_path: Path, said: str) -> None:
    text = f"{ROWS}\nOtra cuenta\nFecha,Descripcion,Importe\n28/02/2026,{said},1530.22\n"

    assert "ROW_RAGGED" in read_bytes(tmp_path, text).flags


def test_interest_that_only_a_code_names_is_no_total(tmp_path: Path) -> None:
    days = [
        "28 Mar 2025,SAL,,6150.00,SALARY,Kestrel Marine",
        "27 Mar 2025,POS,48.20,,NETS QR PAYMENT,Kopitiam",
        "24 Mar 2025,ICT,320.00,,PayNow Transfer,Nurul",
        "19 Mar 2025,IBG,,88.40,INLAND REVENUE,GST voucher",
        "03 Mar 2025,INT,,2.17,,",
    ]
    text = "Date,Reference,Debit Amount,Credit Amount,Description,Payee\n" + "\n".join(days) + "\n"

    assert read_bytes(tmp_path, text).flags == []


def test_balances_beside_nearly_as_many_debits_as_credits_leave_no_doubt_about_signs(
    tmp_path: Path,
) -> None:
    amounts = [40, -30, 55, -20, 80, -35, 25]
    lines, balance = ["Date,Description,Amount,Balance"], 1000
    for at, amount in enumerate(amounts):
        balance += amount
        lines.append(f"2026-03-{at + 13},Entry {at},{amount}.00,{balance}.00")

    assert read_bytes(tmp_path, "\n".join(lines) + "\n").flags == []


def test_the_name_of_the_other_side_is_read_in_hungarian(tmp_path: Path) -> None:
    text = (
        "könyvelés dátuma\ttípus\tpartner elnevezése\tösszeg\tösszeg devizaneme\tközlemény\n"
        "2026.02.03\tCsoportos beszedés\tMVM NEXT ENERGIA\t-18340\tHUF\tCsoportos beszedés\n"
        "2026.02.05\tÁtutalás\tHORVÁTH ZSÓFIA\t-85000\tHUF\tLakbér\n"
        "2026.02.25\tÁtutalás\tPÉCSI EGYETEM\t412650\tHUF\tFizetés\n"
    )

    rows = read_bytes(tmp_path, text).canonicals

    assert [row["counterparty"] for row in rows] == [
        "MVM NEXT ENERGIA",
        "HORVÁTH ZSÓFIA",
        "PÉCSI EGYETEM",
    ]
    assert {row["currency"] for row in rows} == {"HUF"}


def test_a_day_and_a_month_of_the_same_number_are_a_date(tmp_path: Path) -> None:
    text = "Buchungstag;Buchungstext;Betrag\n10.10.2017;Lastschrift;-98,76\n"

    assert read_bytes(tmp_path, text).dates == ["2017-10-10"]
