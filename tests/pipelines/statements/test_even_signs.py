"""Where nothing but the amounts themselves shows what their signs mean."""

from pathlib import Path

import pytest

from tests.pipelines.statements.reading import read_bytes

# Texts without any word of money in or out.
TEXTS = ["Abcd", "Efgh", "Ijkl", "Mnop", "Qrst", "Uvwx", "Yzab", "Cdef", "Ghij", "Klmn"]


def _lines(amounts: list[str], account: str) -> str:
    rows = zip(TEXTS, amounts, strict=False)
    return "".join(
        f"2026-03-{n:02};{account};{text};{amount}\n"
        for n, (text, amount) in enumerate(rows, start=1)
    )


EVEN = ["-4.50", "10.00", "-3.20", "8.00", "-7.10", "5.00", "-1.30", "4.00", "2.00", "6.00"]


@pytest.mark.parametrize("count", [6, 10])
def test_as_many_amounts_of_either_sign_prove_nothing(tmp_path: Path, count: int) -> None:
    read = read_bytes(tmp_path, "Date;Ref;Description;Amount\n" + _lines(EVEN[:count], "x"))

    assert read.amounts == EVEN[:count]
    assert "SIGN_UNPROVEN" in read.flags


def test_an_account_with_an_iban_is_no_debt(tmp_path: Path) -> None:
    balances = ["500.00", "480.00", "490.00", "515.00"]
    amounts = ["400.00", "-20.00", "10.00", "25.00"]
    rows = "".join(
        f"2026-03-0{n};XX11111111111111;{text};{amount};{after}\n"
        for n, (text, amount, after) in enumerate(
            zip(TEXTS, amounts, balances, strict=False), start=1
        )
    )

    with_iban = read_bytes(tmp_path, "Date;Account;Description;Amount;Balance\n" + rows)
    without = read_bytes(
        tmp_path,
        "Date;Account;Description;Amount;Balance\n" + rows.replace("XX11111111111111", "7"),
    )

    assert with_iban.amounts == amounts
    assert with_iban.flags == []
    assert "SIGN_UNPROVEN" in without.flags


def test_words_of_every_row_stand_for_a_sign_that_none_has(tmp_path: Path) -> None:
    head = "Data transakcji;Typ transakcji;Opis;Kwota;Waluta\n"
    row = "2026-03-1{};Przelew przychodzący;{};6000,00;PLN\n"
    text = head + row.format(4, "Abcd") + row.format(5, "Efgh")

    assert read_bytes(tmp_path, text).flags == []
    assert "SIGN_UNPROVEN" in read_bytes(tmp_path, text + "2026-03-16;Inne;Ijkl;100,00;PLN\n").flags


@pytest.mark.parametrize("text", ["Transfer from my account to", "Deposit", "Payment from Efgh to"])
def test_a_text_may_tell_of_money_from_the_other_side(tmp_path: Path, text: str) -> None:
    rows = f"2026-03-14;{text} Abcd;60,00\n2026-03-15;{text} Ijkl;50,00\n"

    assert "SIGN_UNPROVEN" in read_bytes(tmp_path, "Date;Description;Amount\n" + rows).flags


@pytest.mark.parametrize("last", ["", "2026-03-05;Abcd;-100.00\n"])
def test_balances_at_both_ends_of_a_debt_add_up_like_those_of_a_deposit(
    tmp_path: Path, last: str
) -> None:
    rows = "".join(f"2026-03-0{n};{text};5{n}.00\n" for n, text in enumerate(TEXTS[:4], start=1))
    ends = f"Opening balance;350.00\nClosing balance;{'460' if last else '560'}.00\n\n"

    read = read_bytes(tmp_path, f"{ends}Date;Description;Amount\n{rows}{last}")

    assert "SIGN_UNPROVEN" in read.flags


def test_the_name_of_an_account_is_no_word_for_money_in(tmp_path: Path) -> None:
    rows = "2026-03-14;Abcd;Salary account;60,00\n2026-03-15;Efgh;Salary account;50,00\n"

    read = read_bytes(tmp_path, "Date;Description;Held at;Amount\n" + rows)

    assert "SIGN_UNPROVEN" in read.flags


def test_the_accounts_of_who_pays_a_card_make_it_no_current_account(tmp_path: Path) -> None:
    rows = "".join(f"2026-03-0{n};Abcd {n};;1{n}.00\n" for n in range(1, 5))
    paid = "".join(f"2026-03-{n};Efgh;XX{n}21203000010337387;-40.00\n" for n in (10, 16))

    read = read_bytes(tmp_path, "Date;Name;IBAN;Amount\n" + rows + paid)

    assert "SIGN_UNPROVEN" in read.flags
