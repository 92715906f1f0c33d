"""Columns of limits in CSV tables: by two words of their headings, or by what they hold."""

from pathlib import Path

import pytest

from tests.pipelines.labs.reading import csv, one, results


@pytest.mark.parametrize(
    ("low", "high"),
    [("Normbereich unten", "Normbereich oben"), ("Lower reference limit", "Upper reference limit"),
     ("Ref. inferior", "Ref. superior"), ("dolna granica", "górna granica"), ("Referanse nedre", "Referanse øvre")],
)  # fmt: skip
def test_a_word_for_a_side_beside_one_for_a_range_names_a_limit(
    tmp_path: Path, low: str, high: str
) -> None:
    found = one(
        tmp_path, csv("Kalium;4,1;mmol/l;3,5;5,1", heading=f"Test;Result;Units;{low};{high}")
    )

    assert (found["low"], found["high"], found.get("problems", [])) == ("3.5", "5.1", [])


UNTOLD = [
    ("Kalium", "4,1", "mmol/l", "3,5", "5,1"), ("Natrium", "139", "mmol/l", "135", "145"),
    ("Calcium", "2,30", "mmol/l", "2,15", "2,55"), ("Chlorid", "101", "mmol/l", "98", "107"),
]  # fmt: skip


def test_limits_below_headings_that_are_not_known_are_used_and_said_to_be_unsure(
    tmp_path: Path,
) -> None:
    rows = [";".join(row) for row in UNTOLD]

    found = results(tmp_path, csv(*rows, heading="Test;Result;Units;Foo;Bar"))

    assert [(each["low"], each["high"]) for each in found[:2]] == [("3.5", "5.1"), ("135", "145")]
    assert {tuple(each["problems"]) for each in found} == {("RANGE_UNSURE",)}


def test_two_numbers_between_which_values_do_not_lie_are_no_limits(tmp_path: Path) -> None:
    rows = [
        f"{name};{value};{unit};{at};{at + 7}"
        for at, (name, value, unit, *_) in enumerate(UNTOLD, 900)
    ]

    found = results(tmp_path, csv(*rows, heading="Test;Result;Units;Foo;Bar"))

    assert not any(each["printed"].get("range") for each in found)


def test_ranges_below_a_heading_that_is_not_known_are_told_from_the_numbers_of_orders(
    tmp_path: Path,
) -> None:
    rows = [
        f"26-118-0417;{name};{value};{unit};{low} - {high}"
        for name, value, unit, low, high in UNTOLD
    ]

    found = results(tmp_path, csv(*rows, heading="Foo;Test;Result;Units;Bar"))

    assert [each["printed"]["range"] for each in found[:2]] == ["3,5 - 5,1", "135 - 145"]
