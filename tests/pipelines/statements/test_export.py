"""Transactions for other programs, in which no text of a stranger can do anything."""

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from stateward.core.model import Fields
from stateward.definition.display import csv_lines, harmless
from stateward.pipelines.statements import PLUGIN
from stateward.pipelines.statements.export import (
    actual_lines,
    beancount_lines,
    firefly_lines,
    ledger_lines,
    ofx_lines,
    qif_lines,
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
    assert harmless(text) == cell
    assert next(csv_lines([{text: "x"}])) == next(csv_lines([{cell: "x"}])), "nor a heading"


def test_ofx_is_read_back_as_it_was(tmp_path: Path) -> None:
    rows = [a_row(description="Tom & <Jerry>"), a_row(id="tx_2", amount="3.00"), a_row(date=None)]

    read = read_bytes(tmp_path, "".join(ofx_lines(rows)))

    assert read.amounts == ["-1.50", "3.00"]
    assert [row["reference"] for row in read.canonicals] == ["tx_1", "tx_2"]
    assert read.canonicals[0]["description"] == "Shop Tom & <Jerry>"


def test_ofx_is_ascii_whatever_its_letters_are(tmp_path: Path) -> None:
    text = "".join(ofx_lines([a_row(description="Töötasu 給料", merchant="Ülikool")]))

    assert text.isascii()
    assert read_bytes(tmp_path, text).canonicals[0]["description"] == "Ülikool Töötasu 給料"


def test_beancount_texts_stay_inside_their_quotes() -> None:
    hostile = a_row(description='x" "y\n2026-01-01 open Assets:Evil', account="a b/../c")

    text = "".join(beancount_lines([hostile, a_row(date=None)]))

    assert '"x\\" \\"y 2026-01-01 open Assets:Evil"' in text
    assert "  Assets:Bank:AA-B-C  -1.50 EUR\n  Expenses:Unknown\n" in text
    assert "; without a date" in text
    assert "\n2026-01-01" not in text


def test_beancount_opens_accounts_on_their_first_day_and_is_sorted() -> None:
    rows = [
        a_row(date="2026-02-01", id="b", category="Food:Groceries & more"),
        a_row(date="2026-01-05", id="a", amount="9.00"),
        a_row(date="2026-01-07", id="c", currency=""),
        a_row(date="2026-01-08", id="d", is_pending=True),
        a_row(date="2026-01-09", id="e", currency="USD", flags=["NOT_RECONCILED"]),
    ]

    text = "".join(beancount_lines(rows))

    assert "2026-01-05 open Assets:Bank:ADE1  EUR,USD\n" in text
    assert "2026-02-01 open Expenses:Food:Groceries-more\n" in text
    assert "; without a currency (stateward reparse ID --currency EUR says it): 2026-01-07" in text
    assert "; not booked: 2026-01-08" in text
    assert "2026-01-09 ! " in text
    days = [line[:10] for line in text.splitlines() if line[:2] == "20" and " open " not in line]
    assert days == sorted(days)
    assert "XXX" not in text


def test_a_journal_of_ledger_has_no_text_that_is_more_than_text() -> None:
    hostile = a_row(merchant="*! x ; y\n2026-01-01 z", description="a\n    Assets:Evil  1 EUR")

    text = "".join(ledger_lines([hostile]))

    assert text.startswith("2026-01-05 * x , y 2026-01-01 z\n")
    assert "    Assets:Bank:ADE1  -1.50 EUR\n    Expenses:Unknown\n" in text
    assert sum(line.startswith("    Assets") for line in text.splitlines()) == 1


def test_qif_is_read_back_as_it_was(tmp_path: Path) -> None:
    rows = [a_row(category="Food"), a_row(id="tx_2", amount="3.00", date="2026-01-13")]

    read = read_bytes(tmp_path, "".join(qif_lines(rows)))

    assert (read.amounts, read.dates) == (["-1.50", "3.00"], ["2026-01-05", "2026-01-13"])
    assert read.canonicals[0]["category"] == "Food"


@pytest.mark.parametrize("lines", [actual_lines, firefly_lines])
def test_csv_for_budget_programs_is_sorted_booked_and_harmless(
    lines: Callable[[Iterable[Fields]], Iterator[str]],
) -> None:
    rows = [
        a_row(date="2026-02-01", id="b", merchant="=cmd()", flags=["SIGN_UNPROVEN"]),
        a_row(id="a"),
        a_row(id="c", is_pending=True),
        a_row(id="d", date=None),
    ]

    found = list(csv.DictReader(io.StringIO("".join(lines(rows)))))

    assert [row.get("Date") or row.get("date") for row in found] == ["2026-01-05", "2026-02-01"]
    last = list(found[1].values())
    assert "'=cmd()" in last
    assert any("SIGN_UNPROVEN" in cell for cell in last)


def test_the_category_of_a_file_goes_before_that_of_a_rule(tmp_path: Path) -> None:
    text = (
        "Date,Description,Category,Amount\n2026-01-05,Shop,Own,-1.00\n2026-01-06,Shop two,,-2.00\n"
    )
    rules: Fields = {"version": 1, "categories": [{"name": "Food", "match": "^shop"}]}

    read = read_bytes(tmp_path, text, options={"rules": rules})

    assert [row.get("category") for row in read.canonicals] == ["Own", "Food"]


@pytest.mark.parametrize(
    ("form", "is_left_out"),
    [("ofx", True), ("qif", True), ("actual", True), ("firefly", True), ("beancount", False), ("ledger", False)],
)  # fmt: skip
def test_what_a_format_has_no_place_for_is_counted(form: str, is_left_out: bool) -> None:
    export = next(each for each in PLUGIN.exports if each.name == form)
    rows: list[Fields] = [
        {"id": "tx_1", "date": "2026-01-02", "amount": "-1.00", "currency": "EUR"},
        {"id": "tx_2", "date": None, "amount": "-2.00", "currency": "EUR"},
        {
            "id": "tx_3",
            "date": "2026-01-03",
            "amount": "-3.00",
            "currency": "EUR",
            "is_pending": True,
        },
    ]
    left_out: Counter[str] = Counter()

    fitting = list(export.fitting(rows, left_out))

    assert len(fitting) == (1 if is_left_out else 3)
    assert left_out.total() == (2 if is_left_out else 0)


@pytest.mark.parametrize("is_newest_first", [True, False])
def test_ofx_has_what_its_standard_wants(is_newest_first: bool) -> None:
    rows = [
        a_row(id="tx_1", date="2026-01-05", amount="-1.50", balance="8.50"),
        a_row(id="tx_2", date="2026-01-06", amount="2.00", balance="10.50"),
        a_row(id="tx_3", date="2026-01-06", amount="-0.50", balance="10.00", description="x" * 400),
    ]

    text = "".join(ofx_lines(rows[::-1] if is_newest_first else rows))

    tree = ET.fromstring(text.partition("?>\n<?OFX")[2].partition("?>")[2])  # noqa: S314 - our own
    assert [part.tag for part in tree] == ["SIGNONMSGSRSV1", "BANKMSGSRSV1"]
    assert tree.findtext(".//DTSERVER") == "20260106"
    assert [part.tag for part in tree.iter("STMTRS").__next__()] == [
        "CURDEF", "BANKACCTFROM", "BANKTRANLIST", "LEDGERBAL",
    ]  # fmt: skip
    assert tree.findtext(".//LEDGERBAL/BALAMT") == "10.00"
    assert max(len(memo.text or "") for memo in tree.iter("MEMO")) == 255


def test_ofx_makes_up_no_balance() -> None:
    assert "LEDGERBAL" not in "".join(ofx_lines([a_row(), a_row(id="tx_2", amount="2.00")]))
