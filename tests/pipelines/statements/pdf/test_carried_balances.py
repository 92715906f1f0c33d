"""Balances that are carried to the next page, from which the rows there lead to the next one, or do not."""

from pathlib import Path

import pytest

from tests.pipelines.statements.pdf.test_titles_and_sides import HEADING, Line, read

AMOUNTS: Line = [(60, "Date"), (130, "Description"), (-480, "Amount"), (-560, "Balance")]
FIRST = [("03 Mar 2025", "Rent", "171.00"), ("04 Mar 2025", "Shop", "91.00")]
SECOND = [("09 Mar 2025", "Cinema", "20.00"), ("12 Mar 2025", "Grocer", "30.00")]


@pytest.mark.parametrize(("end", "flags"), [("190.00", ["NOT_RECONCILED"]), ("188.00", [])])
@pytest.mark.parametrize(
    "label", ["Balance on 31 March", "Balance on 31 March 2025", "Closing balance"]
)
@pytest.mark.parametrize("is_signed", [False, True])
def test_rows_that_do_not_lead_on_from_a_carried_balance_are_flagged(
    tmp_path: Path, *, is_signed: bool, label: str, end: str, flags: list[str]
) -> None:
    heading, at, sign = (AMOUNTS, -480.0, "-") if is_signed else (HEADING, -400.0, "")
    first, second = (
        [[(60.0, day), (130.0, text), (at, sign + value)] for day, text, value in rows]
        for rows in (FIRST, SECOND)
    )
    found = read(
        tmp_path,
        [
            [(60, "Statement 1 March to 31 March 2025")],
            heading,
            *first,
            [(60, "Carried forward"), (-560, "238.00")],
        ],
        [heading, *second, [(60, label), (-560, end)]],
    )

    assert found.amounts == ["-171.00", "-91.00", "-20.00", "-30.00"]
    assert found.flags == flags


def test_a_carried_sum_of_rows_is_no_balance_from_which_others_lead(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            [(60, "Statement 1 March to 31 March 2025")],
            HEADING,
            *([(60.0, day), (130.0, text), (-400.0, value)] for day, text, value in FIRST),
            [(60, "Carried forward"), (-560, "262.00")],
        ],
        [
            HEADING,
            *([(60.0, day), (130.0, text), (-400.0, value)] for day, text, value in SECOND),
            [(60, "Closing balance"), (-560, "188.00")],
        ],
    )

    assert found.flags == []


@pytest.mark.parametrize(
    ("again", "flags"),
    [("238.00", []), ("237.00", ["PAGE_MISSING", "NOT_RECONCILED"])],
    ids=["same", "other"],
)
def test_a_balance_that_a_page_hands_to_the_next_one_is_no_closing_balance(
    tmp_path: Path, again: str, flags: list[str]
) -> None:
    found = read(
        tmp_path,
        [
            [(60, "Date of Statement 14 Mar 2025")],
            HEADING,
            [(60, "02 Mar 2025"), (130, "BALANCE FORWARD"), (-560, "500.00")],
            [(60, "03 Mar 2025"), (130, "Rent"), (-400, "171.00"), (-560, "329.00")],
            [(60, "04 Mar 2025"), (130, "Shop"), (-400, "91.00"), (-560, "238.00")],
            [(130, "BALANCE CARRIED FORWARD"), (-560, "238.00")],
        ],
        [
            HEADING,
            [(130, "BALANCE FORWARD"), (-560, again)],
            [(60, "09 Mar 2025"), (130, "Cinema"), (-400, "20.00"), (-560, "218.00")],
            [(60, "12 Mar 2025"), (130, "Grocer"), (-400, "30.00"), (-560, "188.00")],
        ],
    )

    assert found.amounts == ["-171.00", "-91.00", "-20.00", "-30.00"]
    assert found.flags == flags


@pytest.mark.parametrize(
    ("paid", "amounts", "flags"),
    [
        ("91.00", ["-171.00", "-91.00", "40.00"], []),
        ("90.00", ["-171.00", "-91.00", "40.00", "-90.00"], ["NOT_RECONCILED"]),
    ],
    ids=["booked above", "booked nowhere"],
)
def test_a_list_of_booked_amounts_that_no_total_counts_books_nothing_again(
    tmp_path: Path, paid: str, amounts: list[str], flags: list[str]
) -> None:
    found = read(
        tmp_path,
        [
            [(60, "Statement 1 March to 31 March 2025")],
            [(60, "Date"), (130, "Description"), (-400, "Debit"), (-480, "Credit")],
            [(60, "03 Mar 2025"), (130, "Rent"), (-400, "171.00")],
            [(60, "04 Mar 2025"), (130, "Sofa in parts"), (-400, "91.00")],
            [(60, "09 Mar 2025"), (130, "Refund"), (-480, "40.00")],
            [(60, "Total debits"), (-400, "262.00")],
            [(60, "Total credits"), (-480, "40.00")],
            [(60, "Purchases in parts")],
            [(60, "Date"), (130, "Description"), (-400, "Debit")],
            [(60, "12 Mar 2025"), (130, "Sofa, 3 of 6"), (-400, paid)],
        ],
    )

    assert found.amounts == amounts
    assert found.flags == flags


@pytest.mark.parametrize(
    ("sent", "flags"), [("262.00", []), ("261.00", ["ROW_REJECTED"])], ids=["sums", "no sums"]
)
def test_a_dated_row_with_the_sums_of_both_columns_is_no_booking(
    tmp_path: Path, sent: str, flags: list[str]
) -> None:
    found = read(
        tmp_path,
        [
            [(60, "Statement 1 March to 31 March 2025")],
            HEADING,
            [(60, "02 Mar 2025"), (130, "Opening balance"), (-560, "500.00")],
            [(60, "03 Mar 2025"), (130, "Rent"), (-400, "171.00"), (-560, "329.00")],
            [(60, "04 Mar 2025"), (130, "Shop"), (-400, "91.00"), (-560, "238.00")],
            [(60, "09 Mar 2025"), (130, "Refund"), (-480, "20.00"), (-560, "258.00")],
            [(60, "12 Mar 2025"), (130, "Refund"), (-480, "30.00"), (-560, "288.00")],
            [
                (60, "31 Mar 2025"),
                (130, "CLOSING ACCOUNT BALANCE"),
                (-400, sent),
                (-480, "50.00"),
                (-560, "288.00"),
            ],
        ],
    )

    assert found.amounts == ["-171.00", "-91.00", "20.00", "30.00"]
    assert found.flags == flags
