"""Canonical transactions: stable ids, rules as data, duplicates across files, and what is said of the whole."""

from pathlib import Path

import pytest

from stateward.pipelines.statements.rules import CleaningRules, default_rules, rules_of
from tests.pipelines.statements.reading import read_bytes, run
from tests.pipelines.two_stages import rows_of

HEAD = "Date,Description,Amount,Currency,Balance,Account\n"
JANUARY = (
    "2026-01-30,COFFEE TO GO,-3.20,EUR,96.80,A1\n"
    "2026-01-31,COFFEE TO GO,-3.20,EUR,93.60,A1\n2026-01-31,COFFEE TO GO,-3.20,EUR,90.40,A1\n"
)
OVERLAP = (
    "2026-01-31,COFFEE TO GO,-3.20,EUR,93.60,A1\n2026-01-31,COFFEE TO GO,-3.20,EUR,90.40,A1\n"
    "2026-02-01,BOOKS,-10.00,EUR,80.40,A1\n"
)


def test_twins_of_one_day_keep_apart_and_an_overlap_adds_nothing(tmp_path: Path) -> None:
    first = [row["id"] for row in read_bytes(tmp_path, HEAD + JANUARY).canonicals]
    second = [row["id"] for row in read_bytes(tmp_path, HEAD + OVERLAP).canonicals]

    assert len(set(first)) == 3
    assert set(first) & set(second) == {first[1], first[2]}


def test_the_order_of_rows_does_not_change_the_ids(tmp_path: Path) -> None:
    lines = OVERLAP.splitlines(keepends=True)
    forward = read_bytes(tmp_path, HEAD + "".join(lines)).canonicals
    backward = read_bytes(tmp_path, HEAD + "".join(lines[::-1])).canonicals

    assert {row["id"] for row in forward} == {row["id"] for row in backward}


def test_the_same_amount_on_another_account_is_another_transaction(tmp_path: Path) -> None:
    mine = read_bytes(tmp_path, HEAD + JANUARY).canonicals
    yours = read_bytes(tmp_path, HEAD + JANUARY.replace("A1", "B2")).canonicals

    assert not {row["id"] for row in mine} & {row["id"] for row in yours}


def test_new_rules_change_names_and_never_ids(tmp_path: Path) -> None:
    own = {"version": "mine-2", "merchants": [{"match": "coffee", "name": "My Café"}]}

    before = read_bytes(tmp_path, HEAD + JANUARY)
    after = read_bytes(tmp_path, HEAD + JANUARY, options={"rules": own})

    assert [row["merchant"] for row in after.canonicals] == ["My Café"] * 3
    assert [row["id"] for row in after.canonicals] == [row["id"] for row in before.canonicals]
    assert "by rules mine-2+1" in after.log


def test_an_order_of_dates_that_is_given_later_is_used_when_rows_are_made_anew(
    tmp_path: Path,
) -> None:
    path = tmp_path / "statement"
    path.write_text("Date,Description,Amount\n01/02/2026,a,-1.00\n")
    parsed = run("upload.parse", path)

    open_ = run("upload.normalize", path, parsed=parsed)
    told = run("upload.normalize", path, None, {"date_order": "dmy"}, parsed=parsed)

    assert [row["date"] for row in rows_of(open_)] == [None]
    assert [row["date"] for row in rows_of(told)] == ["2026-02-01"]
    assert "AMBIGUOUS_DATES" in str(open_.facts)
    assert "AMBIGUOUS_DATES" not in str(told.facts)


@pytest.mark.parametrize(
    ("text", "merchant"),
    [
        ("POS PURCHASE STARBUCKS STORE 07604 01/21", "Starbucks"),
        ("CARD PAYMENT TO TESCO STORES 3342", "Tesco"),
        ("AMZN MKTP US*2K4", "Amazon"),
        ("SEPA-LASTSCHRIFT Stadtwerke München", "Stadtwerke München"),
        ("PAIEMENT CARTE BOULANGERIE PAUL", "Boulangerie Paul"),
        ("SQ *BLUE BOTTLE", "Blue Bottle"),
        ("RENT JANUARY", "Rent January"),
        ("", ""),
    ],
)
def test_a_merchant_is_found_behind_the_noise(text: str, merchant: str) -> None:
    assert rules_of({}).merchant(text) == merchant


def test_a_description_is_closed_up_and_otherwise_kept() -> None:
    assert rules_of({}).description("  GROCER\n0042\tMAIN \x00 ST ") == "GROCER 0042 MAIN ST"


def test_own_rules_come_before_the_shipped_ones() -> None:
    rules = rules_of({"version": 3, "merchants": [{"match": "amazon", "name": "Bookshop"}]})

    assert rules.merchant("AMAZON.DE") == "Bookshop"
    assert rules.merchant("NETFLIX.COM") == "Netflix"


def test_the_shipped_rules_are_whole() -> None:
    assert CleaningRules([default_rules()]).version == str(default_rules().version)


def test_notes_are_short_and_one_for_each_code(tmp_path: Path) -> None:
    rows = "".join(f"2026-01-0{n},x,bad{n}\n" for n in range(1, 9))

    read = read_bytes(
        tmp_path,
        f"Date,Description,Amount\n2026-01-09,ok,-1.00\n2026-01-09,ok,-2.00\n2026-01-09,ok,-2.50\n2026-01-09,ok,-7.50\n{rows}",
    )

    assert read.notes.count("ROW_REJECTED") == 1
    assert "(and 7 more)" in str(read.normalized.facts["notes"])  # type: ignore[union-attr]


def test_a_rejected_row_keeps_what_was_printed(tmp_path: Path) -> None:
    text = "Date,Description,Amount\n2026-01-09,ok,-1.00\n2026-01-10,odd,1..2\n"

    read = read_bytes(tmp_path, text)

    assert "1..2" in read.log
    assert "odd" in read.log


def test_a_capital_with_a_dot_becomes_one_small_letter(tmp_path: Path) -> None:
    text = "Date,Description,Amount\n2026-03-13,MİGROS KADİKÖY,-5.00\n2026-03-14,Shop,-6.00\n"

    assert read_bytes(tmp_path, text).canonicals[0]["merchant"] == "Migros Kadiköy"
