"""Several accounts in one file are told apart, by the column that names them."""

from pathlib import Path

import pytest

from tests.pipelines.statements.reading import Read, read_bytes


def _accounts(read: Read) -> list[str]:
    return [row.get("account", "") for row in read.canonicals]


def test_a_number_tells_accounts_apart_rather_than_their_name(tmp_path: Path) -> None:
    names = [
        "Savings",
        "Pension",
        "Savings",
        "Broker",
        "Broker",
        "Savings",
        "Broker",
        "Savings",
        "Broker",
        "529",
    ]
    numbers = {"Savings": "111", "Pension": "222", "Broker": "333", "529": "444"}
    lines = [
        f"03/{day:02},{name},{numbers[name]},Text {day},-{day}.50"
        for day, name in enumerate([*names, "Broker", "Savings", "Broker"], start=13)
    ]
    text = "\n".join(line.replace(",", "/2026,", 1) for line in lines)

    read = read_bytes(tmp_path, f"Run Date,Account,Account Number,Description,Amount\n{text}\n")

    assert _accounts(read)[:4] == ["111", "222", "111", "333"]
    assert read.dates[0] == "2026-03-13"


@pytest.mark.parametrize(
    "heading", ["Számlaszám", "Source Account", "Client account", "Номер счета"]
)
def test_accounts_are_known_by_their_heading_in_other_languages(
    tmp_path: Path, heading: str
) -> None:
    rows = "".join(
        f"2026-03-{day:02};{'A-1' if day % 3 else 'B-2'};Text {day};-{day}.50\n"
        for day in range(1, 10)
    )

    read = read_bytes(tmp_path, f"Date;{heading};Description;Amount\n{rows}")

    assert _accounts(read)[:3] == ["A-1", "A-1", "B-2"]


def test_a_few_rows_show_a_few_accounts_if_each_has_several(tmp_path: Path) -> None:
    names = ["Checking", "Card", "Cash", "Card", "Checking", "Cash", "Card", "Checking", "Cash"]
    rows = "".join(
        f"2026-03-{n:02},Text {n},-{n}.25,{name}\n" for n, name in enumerate(names, start=1)
    )

    assert _accounts(read_bytes(tmp_path, f"Date,Name,Amount,Account\n{rows}")) == names


def test_accounts_of_counterparties_are_not_taken_for_own_ones(tmp_path: Path) -> None:
    rows = "".join(f"2026-03-{n:02},Text {n},-{n}.25,XX{n}\n" for n in range(1, 10))

    assert set(_accounts(read_bytes(tmp_path, f"Date,Name,Amount,Account\n{rows}"))) == {""}


@pytest.mark.parametrize("heading", ["Cash Balance", "NET CASH BALANCE", "本次余额"])
def test_cash_that_is_left_is_a_balance_and_no_rival_of_the_amount(
    tmp_path: Path, heading: str
) -> None:
    read = read_bytes(
        tmp_path,
        f"Date,Transaction,Amount,{heading}\n2026-01-16,Shares,-300.00,500.00\n"
        "2026-01-31,Interest,0.01,500.01\n2026-02-12,Shares sold,336.73,836.74\n",
    )

    assert [row["balance"] for row in read.canonicals] == ["500.00", "500.01", "836.74"]
    assert [check["status"] for check in read.checks] == ["reconciled"]
    assert "AMOUNT_UNPROVEN" not in read.flags


def test_accounts_over_which_balances_run_on_are_those_of_other_sides(tmp_path: Path) -> None:
    names = ["Food", "Rent", "Food", "Fuel", "Rent", "Fuel", "Food", "Fuel", "Rent"]
    rows = "".join(
        f"2026-03-{n:02},Text {n},{name},-1.00,{100 - n}.00\n"
        for n, name in enumerate(names, start=1)
    )

    read = read_bytes(tmp_path, f"Date,Description,Account,Amount,Balance\n{rows}")

    assert set(_accounts(read)) == {""}
    assert read.flags == []
