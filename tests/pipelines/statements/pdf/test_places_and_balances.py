"""What a figure or a day is by where it stands, and by the balances that are known already."""

from pathlib import Path

import pytest

from tests.pipelines.statements.pdf.judging import sheet
from tests.pipelines.statements.reading import Read, read_bytes

Line = list[tuple[float, str]]


def read(folder: Path, *lines: Line) -> Read:
    return read_bytes(folder, sheet(*lines, step=12).pdf())


def test_a_day_where_texts_begin_is_none_of_the_row_and_what_begins_elsewhere_is_no_row(
    tmp_path: Path,
) -> None:
    found = read(
        tmp_path,
        [(40, "Rekeningafschrift van 1 januari 2023 tot en met 31 januari 2023")],
        [(40, "Beginsaldo"), (-346, "€ 700,00")],
        [(40, "Eindsaldo"), (-346, "€ 533,59")],
        [(40, "3 januari 2023")],
        [(54.8, "Ziggo incasso"), (-556, "+ € 122,00")],
        [(40, "9 januari 2023")],
        [(54.8, "Huur woning"), (-556, "- € 302,16")],
        [(54.8, "01.01.2023 14:33 K3 Invoice 13")],
        [(54.8, "Albert Heijn"), (-556, "- € 73,26")],
        [(40, "12 januari 2023")],
        [(54.8, "Salaris"), (-556, "+ € 87,01")],
        [(40, "Spaarpotjes")],
        [(40, "Vakantie"), (-346, "€ 410,00")],
    )

    assert found.dates == ["2023-01-03", "2023-01-09", "2023-01-09", "2023-01-12"]
    assert found.amounts == ["122.00", "-302.16", "-73.26", "87.01"]
    assert found.flags == []


TURNOVER: list[Line] = [
    [(44, "Vljavte EUR 01.09.2025 - 30.09.2025")],
    [(44, "Kpv"), (120, "Selg"), (-480, "Smm"), (-560, "Jk")],
    [(120, "Alglm"), (-560, "536.75")],
    [(44, "02.09.2025"), (120, "Selver"), (-480, "-8.27"), (-560, "528.48")],
    [(44, "12.09.2025"), (120, "Rimi"), (-480, "-263.11"), (-560, "265.37")],
    [(44, "13.09.2025"), (120, "Palk"), (-480, "283.03"), (-560, "548.40")],
    [(44, "25.09.2025"), (120, "Teenus"), (-480, "-88.65"), (-560, "459.75")],
    [(44, "26.09.2025"), (120, "Kohvik"), (-480, "-2.50"), (-560, "457.25")],
]


def test_a_sum_of_rows_above_a_balance_that_is_printed_again_is_no_row(tmp_path: Path) -> None:
    found = read(
        tmp_path, *TURNOVER, [(120, "Krvkm"), (-480, "-79.50")], [(120, "Lpslm"), (-560, "457.25")]
    )

    assert found.amounts == ["-8.27", "-263.11", "283.03", "-88.65", "-2.50"]
    assert found.flags == []


def test_a_row_without_a_day_behind_which_the_balance_moves_is_told(tmp_path: Path) -> None:
    found = read(
        tmp_path, *TURNOVER, [(120, "Krvkm"), (-480, "-79.50")], [(120, "Lpslm"), (-560, "377.75")]
    )

    assert found.amounts[-1] == "-79.50" or found.flags


def test_both_balances_in_one_line_below_the_rows_are_two(tmp_path: Path) -> None:
    rows = [
        ("03-JUL-2024", "Tesco", "4,630.80 (Dr)", "109,242.60 (Cr)"),
        ("07-JUL-2024", "Zalando", "5,973.80 (Cr)", "115,216.40 (Cr)"),
        ("17-JUL-2024", "Deposit", "1,667.60 (Cr)", "116,884.00 (Cr)"),
        ("30-JUL-2024", "Fuel", "3,987.20 (Dr)", "112,896.80 (Cr)"),
    ]
    found = read(
        tmp_path,
        [(44, "Statement of account for 01-07-2024 to 31-07-2024 INR")],
        [(44, "S.No"), (80, "Txn Date"), (180, "Particulars"), (-480, "Amount"), (-560, "Balance")],
        *(
            [(44, str(at)), (80, day), (180, text), (-480, amount), (-560.0, balance)]
            for at, (day, text, amount, balance) in enumerate(rows, start=1)
        ),
        *[[]] * 2,
        [(44, "Opening Balance : 113,873.40 (Cr) Closing Balance : 112,896.80 (Cr)")],
    )

    assert found.amounts == ["-4630.80", "5973.80", "1667.60", "-3987.20"]
    assert found.flags == []


SUMMARY: list[Line] = [
    [(44, "Statement ending 03/31/2024 USD")],
    [(44, "Date"), (120, "Description"), (-350, "Amount")],
    [(44, "03/01/2024"), (120, "Beginning Balance"), (-350, "$2,575.76")],
    [(120, "1 Credit(s) This Period"), (-350, "$277.07")],
    [(120, "1 Debit(s) This Period"), (-350, "$214.09")],
    [(44, "03/31/2024"), (120, "Ending Balance"), (-350, "$2,638.74")],
    [(44, "Account Activity")],
    [
        (44, "Post Date"),
        (120, "Description"),
        (-400, "Debits"),
        (-480, "Credits"),
        (-560, "Balance"),
    ],
]


@pytest.mark.parametrize("opening", ["$2,575.76", "$1,000.00"])
def test_a_table_with_the_balances_of_another_one_sums_it_up(tmp_path: Path, opening: str) -> None:
    found = read(
        tmp_path,
        *SUMMARY,
        [(44, "03/01"), (120, "Beginning Balance"), (-560, opening)],
        [(44, "03/07"), (120, "Grocer"), (-400, "$214.09"), (-560, "$2,361.67")],
        [(44, "03/25"), (120, "Refund"), (-480, "$277.07"), (-560, "$2,638.74")],
        [(44, "03/31"), (120, "Ending Balance"), (-560, "$2,638.74")],
    )

    is_same = opening == "$2,575.76"
    assert (found.flags == []) is is_same
    if is_same:
        assert found.amounts == ["-214.09", "277.07"]
