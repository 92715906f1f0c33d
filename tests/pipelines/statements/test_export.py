"""Transactions for other programs, in which no text of a stranger can do anything."""

import csv
import io
from pathlib import Path

import pytest

from stateward.core.model import Fields
from stateward.pipelines.statements.export import (
    beancount_lines,
    csv_lines,
    escape_formula,
    ofx_lines,
)
from tests.pipelines.statements.reading import read_bytes


def a_row(**how: object) -> Fields:
    row: Fields = {
        "id": "tx_1", "date": "2026-01-05", "amount": "-1.50", "currency": "EUR", "description": "Shop",
        "merchant": "Shop", "account": "DE1", "place": {"line": 3},
    }  # fmt: skip
    return {**row, **how}  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd|'/c calc'!A0", "'+cmd|'/c calc'!A0"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\tx", "'\tx"),
        ("-12.50", "-12.50"),
        ("+3", "+3"),
        ("Shop", "Shop"),
        ("", ""),
    ],
)
def test_no_cell_is_a_formula_and_numbers_stay_numbers(text: str, cell: str) -> None:
    assert escape_formula(text) == cell


def test_csv_has_a_heading_and_a_line_for_each_row() -> None:
    text = "".join(csv_lines([a_row(description='=HYPERLINK("x")'), a_row(id="tx_2")]))

    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["id"] for row in rows] == ["tx_1", "tx_2"]
    assert rows[0]["description"] == '\'=HYPERLINK("x")'
    assert (rows[0]["amount"], rows[0]["line"]) == ("-1.50", "3")


def test_csv_of_other_items_has_their_own_columns() -> None:
    text = "".join(csv_lines([{"b": 1, "a": ["x", "y"], "c": None, "d": True}]))

    assert text == "a,b,c,d\r\nx; y,1,,true\r\n"


def test_ofx_is_read_back_as_it_was(tmp_path: Path) -> None:
    rows = [a_row(description="Tom & <Jerry>"), a_row(id="tx_2", amount="3.00"), a_row(date=None)]

    read = read_bytes(tmp_path, "".join(ofx_lines(rows)))

    assert read.amounts == ["-1.50", "3.00"]
    assert [row["reference"] for row in read.canonicals] == ["tx_1", "tx_2"]
    assert read.canonicals[0]["description"] == "Shop Tom & <Jerry>"


def test_beancount_texts_stay_inside_their_quotes() -> None:
    hostile = a_row(description='x" "y\n2026-01-01 open Assets:Evil', account="a b/../c")

    text = "".join(beancount_lines([hostile, a_row(date=None)]))

    assert '"x\\" \\"y 2026-01-01 open Assets:Evil"' in text
    assert "  Assets:Bank:AA-B-C  -1.50 EUR\n  Expenses:Unknown\n" in text
    assert "; without a date" in text
    assert "\n2026-01-01" not in text
