"""What stands beside amounts: prices and lots, a unit in the heading, and the day on which a row was settled."""

from pathlib import Path

import pytest

from tests.pipelines.statements.reading import read_bytes


def test_prices_and_lots_are_no_rivals_of_the_amount(tmp_path: Path) -> None:
    read = read_bytes(
        tmp_path,
        "Date,Action,Symbol,Price ($),Quantity,Amount ($)\n2026-01-16,Bought,ABC,50.25,2.50,-125.63\n"
        "2026-01-19,Dividend of shares,ABC,1.10,2.50,2.75\n2026-01-20,Sold,ABC,52.00,2.50,130.00\n",
    )

    assert read.amounts == ["-125.63", "2.75", "130.00"]
    assert "AMOUNT_UNPROVEN" not in read.flags


@pytest.mark.parametrize(
    "heading",
    ["Amount (in thousands)", "Betrag in Tsd EUR", "Amount ($000)", "Amount (000s)", "Amount (k€)"],
)
def test_amounts_in_thousands_are_not_read_in_silence(tmp_path: Path, heading: str) -> None:
    text = f"Date,Description,{heading}\n2026-03-01,Rent,-12.5\n2026-03-02,Sale,30.75\n"

    assert "UNIT_UNPROVEN" in read_bytes(tmp_path, text).flags


def test_an_amount_in_a_currency_has_no_such_unit(tmp_path: Path) -> None:
    text = "Date,Description,Amount (USD)\n2026-03-01,Rent paid,-12.50\n2026-03-02,Salary,30.75\n"

    assert read_bytes(tmp_path, text).flags == []


ROWS = (f"2026-03-{day},2026-03-{day + 1},Shop {day},-{day}.00\n" for day in range(10, 16))
SETTLED = "Date,Settled Date,Description,Amount\n" + "".join(ROWS)


def test_a_newest_row_that_is_not_settled_as_others_are_is_doubted(tmp_path: Path) -> None:
    assert "BOOKING_UNPROVEN" not in read_bytes(tmp_path, SETTLED).flags

    read = read_bytes(tmp_path, SETTLED + "2026-03-16,,Shop 16,-16.00\n")

    assert "BOOKING_UNPROVEN" in read.flags


@pytest.mark.parametrize("words", [("OK", "NOK"), ("OK", "KO"), ("OK", "Not OK")])
def test_a_result_tells_which_rows_may_have_failed(tmp_path: Path, words: tuple[str, str]) -> None:
    read = read_bytes(
        tmp_path,
        f"Date,Description,Amount,Result\n2026-03-01,Purchase Bread,-2.00,{words[0]}\n"
        f"2026-03-02,Purchase Milk,-3.00,{words[1]}\n2026-03-03,Salary,50.00,{words[0]}\n",
    )

    is_left_out = read.canonicals[1].get("is_pending", False)
    assert "STATUS_UNKNOWN" in read.flags or is_left_out


def test_a_column_of_norwegian_crowns_is_no_result(tmp_path: Path) -> None:
    read = read_bytes(
        tmp_path,
        "Dato,Beskrivelse,Beløp,X\n01.03.2026,Brød,-2.00,NOK\n15.03.2026,Lønn,50.00,NOK\n",
    )

    assert "STATUS_UNKNOWN" not in read.flags
    assert read.amounts == ["-2.00", "50.00"]
