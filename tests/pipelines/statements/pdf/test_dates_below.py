"""Rows that print their date on their last line, below the amount: balances hold whichever row a date is given to."""

from pathlib import Path

import pytest

from tests.pipelines.statements.pdf.test_titles_and_sides import HEADING, Line, read
from tests.pipelines.statements.reading import Read

PERIOD: Line = [(60, "Statement 1 March to 31 March 2025")]
OPENING: Line = [(60, "Opening balance"), (-560, "500.00")]
SIGNED: Line = [(60, "Date"), (130, "Description"), (-480, "Amount"), (-560, "Balance")]


def _row(day: str, text: str, value: str, balance: str, *, is_signed: bool) -> Line:
    at, sign = (-480.0, "-") if is_signed else (-400.0, "")
    figures: Line = [(at, sign + value), (-560.0, balance)]
    return [*([(60.0, day)] if day else []), (130.0, text), *figures]


def _below(day: str, text: str) -> Line:
    return [(60.0, day), *([(130.0, text)] if text else [])]


def _days(found: Read) -> list[str]:
    return [f"{row['date']} {row['amount']}" for row in found.canonicals]


@pytest.mark.parametrize("note", ["Ref 4711", ""])
@pytest.mark.parametrize("is_signed", [True, False])
@pytest.mark.parametrize("is_first_whole", [True, False])
def test_a_date_below_each_amount_is_that_of_the_amount(
    tmp_path: Path, *, is_first_whole: bool, is_signed: bool, note: str
) -> None:
    first = _row("01/03/2025", "Cheque", "10.00", "490.00", is_signed=is_signed)
    found = read(
        tmp_path,
        [
            PERIOD,
            OPENING if is_first_whole else [(60, "Opening balance"), (-560, "490.00")],
            SIGNED if is_signed else HEADING,
            *([first] if is_first_whole else []),
            _row("", "Rent", "171.00", "319.00", is_signed=is_signed),
            _below("03/03/2025", note),
            _row("", "Cinema", "20.00", "299.00", is_signed=is_signed),
            _below("07/03/2025", note),
            _row("", "Grocer", "30.00", "269.00", is_signed=is_signed),
            _below("14/03/2025", note),
            [(60, "Closing balance"), (-560, "269.00")],
        ],
    )

    whole = ["2025-03-01 -10.00"] if is_first_whole else []
    assert _days(found) == [
        *whole,
        "2025-03-03 -171.00",
        "2025-03-07 -20.00",
        "2025-03-14 -30.00",
    ]
    assert found.flags == []


def test_a_date_between_two_amounts_without_one_is_doubted_where_rows_are_of_several_kinds(
    tmp_path: Path,
) -> None:
    found = read(
        tmp_path,
        [
            PERIOD,
            OPENING,
            SIGNED,
            _row("01/03/2025", "Cheque", "10.00", "490.00", is_signed=True),
            _row("", "Rent", "171.00", "319.00", is_signed=True),
            _below("03/03/2025", "Ref 4711"),
            _row("17/03/2025", "Cinema", "20.00", "299.00", is_signed=True),
            _row("", "Grocer", "30.00", "269.00", is_signed=True),
            [(60, "Closing balance"), (-560, "269.00")],
        ],
    )

    assert found.flags == ["DATE_UNPROVEN"]


@pytest.mark.parametrize("day", ["03/03/2025", "03 Mar"])
def test_a_date_above_the_rows_of_its_day_stays_theirs(tmp_path: Path, day: str) -> None:
    found = read(
        tmp_path,
        [
            PERIOD,
            OPENING,
            SIGNED,
            _below(day, ""),
            _row("", "Rent", "171.00", "329.00", is_signed=True),
            _row("", "Cinema", "20.00", "309.00", is_signed=True),
            _below(day.replace("03", "17", 1), ""),
            _row("", "Grocer", "30.00", "279.00", is_signed=True),
            [(60, "Closing balance"), (-560, "279.00")],
        ],
    )

    assert _days(found) == ["2025-03-03 -171.00", "2025-03-03 -20.00", "2025-03-17 -30.00"]
    assert found.flags == []


@pytest.mark.parametrize("is_signed", [True, False])
@pytest.mark.parametrize("day", ["05/03/2025", "05 Mar 2025"])
def test_a_dated_line_between_two_rows_that_may_be_of_either_is_doubted(
    tmp_path: Path, *, day: str, is_signed: bool
) -> None:
    found = read(
        tmp_path,
        [
            PERIOD,
            OPENING,
            SIGNED if is_signed else HEADING,
            _row(day.replace("05", "03", 1), "Rent", "171.00", "329.00", is_signed=is_signed),
            _below(day, "Baker"),
            _row(
                day.replace("05", "04", 1), "of last week", "20.00", "309.00", is_signed=is_signed
            ),
            _row(day.replace("05", "17", 1), "Grocer", "30.00", "279.00", is_signed=is_signed),
            [(60, "Closing balance"), (-560, "279.00")],
        ],
    )

    assert found.flags == ["DATE_UNPROVEN"]


def test_a_second_date_below_each_row_is_not_doubted(tmp_path: Path) -> None:
    days = ["03", "05", "07", "17"]
    table = [
        line
        for at, day in enumerate(days)
        for line in (
            _row(f"{day}/03/2025", "Rent", "10.00", f"{490 - 10 * at}.00", is_signed=True),
            _below(f"{day}/03/2025", "Card 4711"),
        )
    ]
    closing: Line = [(60, "Closing balance"), (-560, "460.00")]

    assert read(tmp_path, [PERIOD, OPENING, SIGNED, *table, closing]).flags == []
