"""What looks like a proof and is none: each of these files would be read wrongly without a word."""

from pathlib import Path

import pytest

from tests.pipelines.statements.reading import read_bytes

SHOPS = ["Abcd", "Efgh", "Ijkl", "Mnop", "Qrst", "Uvwx", "Yzab", "Cdef", "Ghij", "Klmn"]
OWN_IBAN = "XX89370400440532013000"


def _rows(line: str, *, is_even: bool) -> str:
    """Ten rows of which every second, or only one, is below nothing."""
    out = [n % 2 == 0 if is_even else n == 4 for n in range(10)]
    return "".join(
        line.format(day=n + 10, text=text, amount=f"{'-' * out[n]}{n + 3}.50")
        for n, text in enumerate(SHOPS)
    )


@pytest.mark.parametrize("heading", ["Linked account", "Settlement IBAN", "Verrechnungskonto"])
def test_the_account_that_a_card_is_charged_to_is_no_other_side(
    tmp_path: Path, heading: str
) -> None:
    rows = _rows(f"2026-03-{{day}},{OWN_IBAN},{{text}},{{amount}}\n", is_even=False)

    read = read_bytes(tmp_path, f"Date,{heading},Description,Amount\n{rows}")

    assert "SIGN_UNPROVEN" in read.flags


def test_an_iban_is_no_proof_where_each_row_names_a_card(tmp_path: Path) -> None:
    rows = _rows(f"2026-03-{{day}},*1234,{OWN_IBAN},{{text}},{{amount}}\n", is_even=False)

    read = read_bytes(tmp_path, f"Date,Karte,IBAN,Description,Amount\n{rows}")

    assert "SIGN_UNPROVEN" in read.flags


@pytest.mark.parametrize(("kind", "text"), [("Payroll", "Salary"), ("Refund", "Order"), ("", "Gehalt")])  # fmt: skip
def test_salaries_and_refunds_without_a_sign_may_be_paid_as_well_as_received(
    tmp_path: Path, kind: str, text: str
) -> None:
    rows = "".join(f"2026-03-30,{kind},{text} {name},2{n}00.00\n" for n, name in enumerate(SHOPS))

    assert "SIGN_UNPROVEN" in read_bytes(tmp_path, f"Date,Type,Description,Amount\n{rows}").flags


def test_an_iban_on_each_row_of_a_file_without_headings_is_that_of_its_account(
    tmp_path: Path,
) -> None:
    rows = _rows(f"{OWN_IBAN};{{text}};{{day}}.03.2026;{{amount}};EUR\n", is_even=False)

    assert "SIGN_UNPROVEN" not in read_bytes(tmp_path, rows.replace(".50", ",50")).flags


def test_salaries_with_a_plus_came_in(tmp_path: Path) -> None:
    rows = "2026-03-30,Salary Abcd,+2500.00\n2026-04-30,Salary Abcd,+2500.00\n"

    assert read_bytes(tmp_path, f"Date,Description,Amount\n{rows}").flags == []
