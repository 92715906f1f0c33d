"""Cells that are readable one by one, and wrong: the cells beside them, or the days around them, show it."""

from pathlib import Path

import pytest

from tests.pipelines.statements.reading import read_bytes

TURNED = {
    "by day": ("{},Shop,-10.00\n", "Date,Description,Amount\n"),
    "with balances": ("{},Shop,-10.00,{}\n", "Date,Description,Amount,Balance\n"),
    "by semicolons": ("Shop;{};-10,00\n", "Buchungstext;Datum;Betrag\n"),
}
DAYS = ["1/3/2025", "1/9/2025", "1/12/2025", "13/01/2025", "20/01/2025", "2/2/2025"]


@pytest.mark.parametrize(("row", "heading"), TURNED.values(), ids=TURNED)
@pytest.mark.parametrize("is_newest_first", [True, False])
def test_days_that_are_in_order_only_in_two_orders_are_flagged(
    tmp_path: Path, *, row: str, heading: str, is_newest_first: bool
) -> None:
    days = DAYS[:: -1 if is_newest_first else 1]
    balances = [f"{90 - 10 * at}.00" for at in range(len(days))]
    lines = [row.format(*pair) for pair in zip(days, balances, strict=True)]

    assert "DATE_UNPROVEN" in read_bytes(tmp_path, heading + "".join(lines)).flags


@pytest.mark.parametrize("days", [[*DAYS[3:5], "2/3/2025", "1/4/2025"], [*DAYS[3:5], *DAYS[:3]]])
def test_days_that_are_in_no_order_or_in_one_are_not_flagged(
    tmp_path: Path, days: list[str]
) -> None:
    text = "".join(f"{day},Shop {at},-1{at}.00\n" for at, day in enumerate(days))

    assert read_bytes(tmp_path, f"Date,Description,Amount\n{text}").flags == []


@pytest.mark.parametrize(
    "text",
    [
        "Date,Description,Amount\n2025-03-01,Grocer,-10,00\n2025-03-02,Smith,-5,50\n2025-03-03,Pay,100,00\n",
        "Date,Amount,,Description\n2025-03-01,-10,00,Grocer\n2025-03-02,-5,50,Smith\n2025-03-03,100,00,Pay\n",
        "Date,Payee,Amount,Balance\n2025-03-01,Grocer,-10,00,90,00\n2025-03-02,Smith,-5,50,84,50\n",
    ],
)
def test_amounts_that_their_delimiter_cuts_are_flagged(tmp_path: Path, text: str) -> None:
    assert read_bytes(tmp_path, text).flags


SECOND_HEADINGS = {
    "sides change places": (
        "Date,Description,Debit,Credit\n2025-03-01,Grocer,10.00,\n2025-03-02,Pay,,50.00\n",
        "Date,Description,Credit,Debit\n2025-03-01,Interest,1.00,\n2025-03-03,Rent,,50.00\n",
    ),
    "an amount becomes a balance": (
        "Date,Description,Amount,Fee\n2025-03-01,Grocer,-10.00,0.00\n2025-03-02,Pay,50.00,0.00\n",
        "Date,Description,Balance,Amount\n2025-03-01,Interest,51.00,1.00\n2025-03-03,Rent,1.00,-50.00\n",
    ),
}


@pytest.mark.parametrize(("first", "second"), SECOND_HEADINGS.values(), ids=SECOND_HEADINGS)
@pytest.mark.parametrize("between", ["", "\nAccount,33334444\n"])
def test_a_second_heading_with_other_columns_is_flagged(
    tmp_path: Path, *, first: str, second: str, between: str
) -> None:
    assert "AMOUNT_UNPROVEN" in read_bytes(tmp_path, first + between + second).flags


def test_a_second_heading_that_repeats_the_first_one_is_not_flagged(tmp_path: Path) -> None:
    first, _ = SECOND_HEADINGS["sides change places"]

    assert read_bytes(tmp_path, first + first.replace("Grocer", "Baker")).flags == []
