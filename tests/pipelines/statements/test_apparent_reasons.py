"""Rows that are booked, left out or given to an account by something that only looks like a reason."""

from pathlib import Path

import pytest

from stateward.pipelines.statements.booking import booking_status
from tests.pipelines.statements.reading import read_bytes

SHOPS = ["Abcd", "Efgh", "Ijkl", "Mnop", "Qrst", "Uvwx", "Yzab", "Cdef", "Ghij"]
OWN_IBAN = "XX89370400440532013000"

STATUS = (
    "2026-03-01,Purchase Bread,-2.00,{0}\n2026-03-02,Purchase Milk,-3.00,{1}\n"
    "2026-03-03,Salary,50.00,{0}\n2026-03-04,Purchase Fuel,-7.00,{0}\n"
)


def test_what_the_holder_has_not_reconciled_is_not_left_out_in_silence(tmp_path: Path) -> None:
    rows = STATUS.format("Reconciled", "Not reconciled")

    read = read_bytes(tmp_path, f"Date,Description,Amount,Status\n{rows}")

    assert not any(row.get("is_pending") for row in read.canonicals)
    assert read.flags == ["STATUS_UNKNOWN"]


@pytest.mark.parametrize(
    "words", [("Posted", "Not posted"), ("Gebucht", "Nicht gebucht"), ("Posted", "Not yet posted")]
)
def test_a_column_of_any_name_may_deny_that_rows_are_booked(
    tmp_path: Path, words: tuple[str, str]
) -> None:
    read = read_bytes(tmp_path, "Date,Description,Amount,Abcd\n" + STATUS.format(*words))

    assert read.flags == ["STATUS_UNKNOWN"]


@pytest.mark.parametrize("heading", ["Available Balance", "Verfügbarer Saldo", "Solde disponible"])
def test_what_is_available_counts_pending_rows_that_are_not_booked(
    tmp_path: Path, heading: str
) -> None:
    rows = (
        "2026-03-01,Bread,-2.00,98.00,Posted\n2026-03-02,Milk,-3.00,95.00,Pending\n"
        "2026-03-03,Salary,50.00,145.00,Posted\n2026-03-04,Fuel,-7.00,138.00,Posted\n"
    )

    read = read_bytes(tmp_path, f"Date,Description,Amount,{heading},Status\n{rows}")

    assert [bool(row.get("is_pending")) for row in read.canonicals] == [False, True, False, False]
    assert "NOT_RECONCILED" in read.flags


@pytest.mark.parametrize("last", ["5 items,,", f"{OWN_IBAN},,"])
def test_a_number_beside_the_sum_of_all_rows_makes_it_no_booking(tmp_path: Path, last: str) -> None:
    rows = "".join(
        f"2026-03-1{n},{OWN_IBAN[:-1]}{n},{name},Text {n},-{n}.50\n"
        for n, name in enumerate(SHOPS[:5], start=1)
    )

    read = read_bytes(
        tmp_path, f"Date,Reference,Payee,Text,Amount\n{rows}2026-03-31,{last},-17.50\n"
    )

    assert "TOTAL_SUSPECTED" in read.flags


def test_a_lone_price_may_be_what_was_paid_for_an_amount_of_coins(tmp_path: Path) -> None:
    rows = (
        "2026-03-01,Abcd,-0.50,120.10\n2026-03-02,Efgh,-1.25,300.20\n2026-03-03,Ijkl,-2.00,480.00\n"
    )

    read = read_bytes(tmp_path, f"Date,Description,Amount,Price\n{rows}")

    assert "AMOUNT_UNPROVEN" in read.flags


def test_one_own_number_on_every_row_is_the_account_and_others_are_those_of_payees(
    tmp_path: Path,
) -> None:
    others = ["22345678", "87654321", "55555555"]
    rows = "".join(
        f"2026-03-{n + 10},12345678,{name},{others[n % 3]},-{n + 1}.50\n"
        for n, name in enumerate(SHOPS[:9])
    )

    read = read_bytes(tmp_path, f"Date,Konto,Text,Kontonummer,Amount\n{rows}")

    assert {row["account"] for row in read.canonicals} == {"12345678"}


@pytest.mark.parametrize(
    "status", ["Não concluído", "Niet voltooid", "Ej slutförd", "Ei suoritettu", "Nem teljesült"]
)
def test_what_is_denied_in_any_language_is_not_booked(status: str) -> None:
    assert booking_status(status) == "failed"


@pytest.mark.parametrize(
    "status", ["To be completed", "Wird abgeschlossen", "Partially paid", "Sent for approval", "Pas encore effectué"]
)  # fmt: skip
def test_what_is_done_only_in_part_or_in_time_is_not_taken_for_booked(
    tmp_path: Path, status: str
) -> None:
    rows = STATUS.format("Completed", status)

    assert "STATUS_UNKNOWN" in read_bytes(tmp_path, f"Date,Description,Amount,Status\n{rows}").flags


def test_a_number_without_any_text_does_not_make_a_last_row_a_booking(tmp_path: Path) -> None:
    rows = "".join(
        f"2026-03-1{n},R{n},{name},Text {n},-{n}.50\n" for n, name in enumerate(SHOPS[:5], start=1)
    )
    head = "Date,Reference,Payee,Text,Amount\n"

    bare = read_bytes(tmp_path, f"{head}{rows}2026-03-31,ACC 12345678,,,482.50\n")
    told = read_bytes(tmp_path, f"{head}{rows}2026-03-31,R9,,Text 9,-9.50\n")

    assert "TOTAL_SUSPECTED" in bare.flags
    assert "TOTAL_SUSPECTED" not in told.flags


@pytest.mark.parametrize("status", ["Approved", "Payment accepted", "Geaccepteerd"])
def test_what_is_agreed_to_may_not_be_booked_beside_rows_that_are(
    tmp_path: Path, status: str
) -> None:
    head = "Date,Description,Amount,Status\n"

    beside = read_bytes(tmp_path, head + STATUS.format("Completed", status))
    alone = read_bytes(tmp_path, head + STATUS.format(status, status))
    declined = read_bytes(tmp_path, head + STATUS.format(status, "Declined"))

    assert "STATUS_UNKNOWN" in beside.flags
    assert "STATUS_UNKNOWN" not in alone.flags + declined.flags


@pytest.mark.parametrize("empty", ["Payee", "Payee,City"])
def test_the_number_of_an_account_beside_a_text_makes_a_last_row_no_booking(
    tmp_path: Path, empty: str
) -> None:
    bare = "," * empty.count(",")
    rows = "".join(
        f"2026-03-1{n},4711{n},Text {n},-{n}.50,{name}{bare and ',Rome'}\n"
        for n, name in enumerate(SHOPS[:5], start=1)
    )
    head = f"Date,Reference,Text,Amount,{empty}\n"

    of_account = read_bytes(tmp_path, f"{head}{rows}2026-03-31,40300123,Position,482.50,{bare}\n")
    of_booking = read_bytes(tmp_path, f"{head}{rows}2026-03-31,47119,Position,482.50,{bare}\n")

    assert "TOTAL_SUSPECTED" in of_account.flags
    assert "TOTAL_SUSPECTED" not in of_booking.flags


@pytest.mark.parametrize(
    "label", ["Balance as of 31/03/2026", "Saldo al 31.03.2026", "Saldo per 31-03-2026"]
)
def test_the_name_of_a_balance_with_its_day_is_that_of_a_row_that_is_one(
    tmp_path: Path, label: str
) -> None:
    rows = "".join(f"2026-03-1{n},Text {n},-{n}.50\n" for n in range(1, 6))

    read = read_bytes(tmp_path, f"Date,Text,Amount\n{rows}2026-03-31,{label},482.50\n")

    assert len(read.canonicals) == 5
