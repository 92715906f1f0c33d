"""A balance that is printed at one end: running balances lead to it, or a row before it is missing."""

from pathlib import Path

import pytest

from tests.pipelines.statements.pdf.test_titles_and_sides import HEADING, Line
from tests.pipelines.statements.pdf.test_titles_and_sides import read as read_lines
from tests.pipelines.statements.reading import read_bytes

PERIOD: Line = [(60, "Statement 1 March to 31 March 2025")]
ROWS = [
    ("2025-03-03", "Rent", "171.00", "329.00"),
    ("2025-03-04", "Cinema", "20.00", "309.00"),
    ("2025-03-09", "Grocer", "30.00", "279.00"),
]


def _pdf(*, opening: str = "", closing: str = "", is_newest_first: bool = False) -> list[Line]:
    table = [
        [(60.0, day), (130.0, text), (-400.0, value), (-560.0, balance)]
        for day, text, value, balance in ROWS[:: -1 if is_newest_first else 1]
    ]
    above: list[Line] = [[(60, "Opening balance"), (-560, opening)]] if opening else []
    below: list[Line] = [[(60, "Closing balance"), (-560, closing)]] if closing else []
    return [PERIOD, *above, HEADING, *table, *below]


@pytest.mark.parametrize(("closing", "flags"), [("279.00", []), ("250.00", ["NOT_RECONCILED"])])
def test_a_closing_balance_to_which_running_ones_do_not_lead_is_told(
    tmp_path: Path, closing: str, flags: list[str]
) -> None:
    assert read_lines(tmp_path, _pdf(closing=closing)).flags == flags


@pytest.mark.parametrize(("opening", "flags"), [("500.00", []), ("510.00", ["NOT_RECONCILED"])])
def test_an_opening_balance_below_which_the_newest_row_stands_is_where_the_oldest_begins(
    tmp_path: Path, opening: str, flags: list[str]
) -> None:
    assert read_lines(tmp_path, _pdf(opening=opening, is_newest_first=True)).flags == flags


@pytest.mark.parametrize(("closing", "flags"), [("279.00", []), ("250.00", ["NOT_RECONCILED"])])
@pytest.mark.parametrize("is_above", [True, False])
def test_an_export_that_does_not_end_with_its_closing_balance_is_told(
    tmp_path: Path, *, is_above: bool, closing: str, flags: list[str]
) -> None:
    table = "".join(f"{day},{text},-{value},{balance}\n" for day, text, value, balance in ROWS)
    table = f"Date,Description,Amount,Balance\n{table}"
    text = f"Closing balance,{closing}\n{table}" if is_above else table
    text += "" if is_above else f",Closing balance,,{closing}\n"

    assert read_bytes(tmp_path, text).flags == flags
