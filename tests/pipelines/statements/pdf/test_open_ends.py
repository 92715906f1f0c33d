"""What no balance speaks of: the last rows, and rows below a title that says that they were turned away."""

from pathlib import Path

import pytest

from tests.pipelines.statements.pdf.test_titles_and_sides import HEADING, Line, read

PERIOD: Line = [(60, "Statement 1 March to 31 March 2025")]
SIGNED: Line = [(60, "Date"), (130, "Description"), (-480, "Amount"), (-560, "Balance")]
CLOSING: Line = [(60, "Closing balance"), (-560, "279.00")]
BOOKED = [("03", "Rent", "171.00", "329.00"), ("04", "Cinema", "20.00", "309.00")]
LAST = [("09", "Grocer", "30.00", "")]


def _lines(rows: list[tuple[str, str, str, str]], *, is_signed: bool) -> list[Line]:
    at, sign = (-480.0, "-") if is_signed else (-400.0, "")
    return [
        [
            (60.0, f"{day} Mar 2025"),
            (130.0, text),
            (at, sign + value),
            *([(-560.0, balance)] if balance else []),
        ]
        for day, text, value, balance in rows
    ]


@pytest.mark.parametrize("is_signed", [True, False])
@pytest.mark.parametrize("has_opening", [True, False])
@pytest.mark.parametrize("has_closing", [True, False])
def test_last_rows_to_which_no_balance_leads_are_flagged(
    tmp_path: Path, *, has_closing: bool, has_opening: bool, is_signed: bool
) -> None:
    opening: Line = [(60, "Opening balance"), (-560, "500.00")]
    found = read(
        tmp_path,
        [
            PERIOD,
            *([opening] if has_opening else []),
            SIGNED if is_signed else HEADING,
            *_lines([*BOOKED, *LAST], is_signed=is_signed),
            *([CLOSING] if has_closing else []),
        ],
    )

    assert found.amounts == ["-171.00", "-20.00", "-30.00"]
    assert found.flags == ([] if has_closing else ["ROWS_UNPROVEN"])


@pytest.mark.parametrize(
    "title",
    [
        "Rejected direct debits",
        "Declined withdrawals",
        "Abgelehnte Lastschriften",
        "Planned payments",
    ],
)
@pytest.mark.parametrize("is_headed", [True, False])
def test_rows_below_a_title_of_what_was_turned_away_are_flagged_whatever_side_it_names(
    tmp_path: Path, *, is_headed: bool, title: str
) -> None:
    heading = SIGNED[:3]
    rows = [line[:3] for line in _lines(BOOKED, is_signed=True)]
    found = read(
        tmp_path,
        [
            PERIOD,
            heading,
            *rows,
            [(60, title)],
            *([heading] if is_headed else []),
            *_lines(LAST, is_signed=True),
        ],
    )

    assert found.flags
