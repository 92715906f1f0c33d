"""Marks of debit and credit beside amounts that stand in columns of debits and credits."""

from pathlib import Path

import pytest

from tests.pipelines.statements.reading import read_bytes


def test_a_lone_column_of_credits_with_both_marks_has_both_directions(tmp_path: Path) -> None:
    text = (
        "Date,Value Date,Description,Currency,CREDIT,DEBIT,Currency,Balance\n"
        "31 Jan 2026,01 Feb 2026,Tax,USD,0.80Dr,USD,513.09,\n"
        "31 Jan 2026,01 Feb 2026,Fee,USD,5.00Dr,USD,508.09,\n"
        "02 Feb 2026,02 Feb 2026,Transfer,USD,15.00Cr,USD,523.09,\n"
    )

    assert read_bytes(tmp_path, text).amounts == ["-0.80", "-5.00", "15.00"]


def test_a_mark_that_says_the_opposite_of_its_column_is_told(tmp_path: Path) -> None:
    text = (
        "Date,Description,Debit,Credit\n2026-01-05,Tax,0.80 Dr,\n2026-01-06,Fee,,5.00 Dr\n"
        "2026-01-07,Transfer,,15.00 Cr\n"
    )

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["-0.80", "15.00"]
    assert "ROW_REJECTED" in read.flags


def test_marks_that_repeat_what_their_columns_say_change_no_sign(tmp_path: Path) -> None:
    text = "Date,Description,Debit,Credit\n2026-01-05,Tax,0.80 Dr,\n2026-01-07,Transfer,,15.00 Cr\n"

    assert read_bytes(tmp_path, text).amounts == ["-0.80", "15.00"]


@pytest.mark.parametrize(("out", "in_"), [("S", "H"), ("DR", "CR")])
def test_a_lone_column_with_both_marks_may_have_decimal_commas(
    tmp_path: Path, out: str, in_: str
) -> None:
    text = f"Datum;Text;Soll\n13.02.2026;Shop;1.005,00 {out}\n14.02.2026;Pay;7,00 {in_}\n15.02.2026;Shop;5,00 {out}\n"

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["-1005.00", "7.00", "-5.00"]
    assert read.flags == []
