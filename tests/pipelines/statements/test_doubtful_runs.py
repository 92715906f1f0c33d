"""Rows that are sums of those above them, or that are in the file a second time."""

from pathlib import Path

import pytest

from tests.pipelines.statements.reading import read_bytes

SUBTOTALS = [
    ("01", "Grocer", -10), ("02", "Baker", -5), ("02", "Week 9", -15),
    ("08", "Fuel", -20), ("09", "Pay", 100), ("09", "Week 10", 80),
]  # fmt: skip


@pytest.mark.parametrize("count", [3, 6])
def test_rows_that_each_sum_up_those_since_the_one_before_are_flagged(
    tmp_path: Path, count: int
) -> None:
    rows = [*SUBTOTALS[:count], ("11", "Cinema", -7)]
    text = "".join(f"2025-03-{day},{name},{amount}.00\n" for day, name, amount in rows)

    flags = read_bytes(tmp_path, f"Date,Description,Amount\n{text}").flags

    assert ("TOTAL_SUSPECTED" in flags) == (count == 6)


@pytest.mark.parametrize("repeated", [(1, 3), (0, 2)])
@pytest.mark.parametrize("is_newest_first", [True, False])
def test_two_rows_of_two_days_that_come_again_after_later_ones_are_flagged(
    tmp_path: Path, *, is_newest_first: bool, repeated: tuple[int, int]
) -> None:
    rows = [f"2025-03-0{day},Shop {day},-1{day}.50\n" for day in (1, 2, 3)]
    text = [*rows, *rows[slice(*repeated)], "2025-03-05,Pay,100.00\n"]

    read = read_bytes(
        tmp_path, "Date,Description,Amount\n" + "".join(text[:: -1 if is_newest_first else 1])
    )

    assert read.flags == ["DUPLICATE_ROWS"]


def test_equal_rows_of_days_that_follow_one_another_are_not_flagged(tmp_path: Path) -> None:
    rows = [f"2025-03-0{day},Bus,-2.50\n" * 2 for day in (1, 2, 3, 4)]

    assert read_bytes(tmp_path, "Date,Description,Amount\n" + "".join(rows)).flags == []


@pytest.mark.parametrize(
    ("parts", "is_flagged"),
    [(("Grocer", "Grocer"), True), (("Grocer", "Baker"), False), (("Baker", "Baker"), False)],
)
def test_a_row_and_the_parts_that_it_was_split_into_are_not_both_booked_in_silence(
    tmp_path: Path, parts: tuple[str, str], is_flagged: bool
) -> None:
    text = (
        "Date,Payee,Category,Amount\n2026-03-01,Grocer,Split,-100.00\n"
        f"2026-03-01,{parts[0]},Food,-60.00\n2026-03-01,{parts[1]},Home,-40.00\n2026-03-15,Pay,Income,2000.00\n"
    )

    assert ("TOTAL_SUSPECTED" in read_bytes(tmp_path, text).flags) is is_flagged


def test_what_was_paid_on_one_day_at_one_shop_and_does_not_add_up_is_not_flagged(
    tmp_path: Path,
) -> None:
    rows = "".join(f"2026-03-01,Bus,-{amount}\n" for amount in ("5.00", "2.50", "2.40", "2.50"))

    assert read_bytes(tmp_path, f"Date,Payee,Amount\n{rows}2026-03-09,Pay,90.00\n").flags == []
