"""Values that fit and may still be faults are told, and a table is known by the units below its headings."""

from pathlib import Path

import pytest

from stateward.definition.plugin import Content
from stateward.pipelines.experiments.detection import MEASUREMENTS, detect
from stateward.pipelines.experiments.doubts import (
    doubts_of,
    level_shift,
    outlier,
    repeated_keys,
    repeated_rows,
)

TEMPERATURES = ["11.0", "12.2", "13.2", "13.8", "12.9", "11.4", "9.6", "8.0", "6.4"]


@pytest.mark.parametrize(
    ("texts", "unit", "found"),
    [
        ([*TEMPERATURES, "85.0"], "°C", ("85.0", "6.4", "13.8")),
        ([*TEMPERATURES, "-60"], "°C", ("-60", "6.4", "13.8")),
        ([*TEMPERATURES, "20.0"], "°C", None),
        ([*TEMPERATURES, "-3.5"], "°C", ("-3.5", "6.4", "13.8")),
        ([*TEMPERATURES, "-0.5"], "°C", None),
        ([*TEMPERATURES, "-3.5", "-4.0"], "°C", None),
        ([*TEMPERATURES, "85.0", "85.0"], "°C", None),
        (["52", "54", "56", "58", "61", "64", "67", "72", "112"], "%", ("112", "52", "72")),
        (["52", "54", "56", "58", "61", "64", "67", "72", "112"], "", None),
        (["1", "2", "900"], "", None),
        ([*["0"] * 11, "1"], "", None),
        ([*["3.30"] * 9, "3.31"], "V", None),
        (["1", "10", "100", "1000", "10000", "100000", "1000000", "10000000"], "", None),
    ],
)
def test_one_number_far_from_all_others_is_told(
    texts: list[str], unit: str, found: tuple[str, str, str] | None
) -> None:
    assert outlier(texts, unit) == found


CELSIUS = ["20.9", "22.0", "21.7", "22.4", "21.9", "20.5"]
FAHRENHEIT = ["68.9", "70.3", "71.2", "72.3", "70.7"]


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        ([*CELSIUS, *FAHRENHEIT], (7, "20.5", "22.4", "68.9", "72.3")),
        ([*FAHRENHEIT, *CELSIUS], (6, "68.9", "72.3", "20.5", "22.4")),
        (
            ["3.61", "3.60", "3.58", "3.57", "3571", "3566", "3560", "3559"],
            (5, "3.57", "3.61", "3559", "3571"),
        ),
        # Back again after a while; but not for ever to and fro, as a valve that opens and closes.
        ([*CELSIUS[:3], *FAHRENHEIT, *CELSIUS[3:]], (4, "20.5", "22.4", "68.9", "72.3")),
        ([*CELSIUS, *FAHRENHEIT] * 2, None),
        ([*CELSIUS, "68.9"], None),
        # A slow rise has values between; a switch has no range.
        ([str(at) for at in range(20)], None),
        ([*["0"] * 6, *["1"] * 6], None),
    ],
)
def test_a_column_that_goes_over_to_another_level_is_told(
    texts: list[str], found: tuple[int, str, str, str, str] | None
) -> None:
    assert level_shift("v", [{"v": text} for text in texts], []) == found


def test_a_group_that_changes_with_the_level_explains_it() -> None:
    texts = [*CELSIUS, *FAHRENHEIT]
    rows = [
        {"v": text, "room": "A" if text in CELSIUS else "B", "no": str(at)}
        for at, text in enumerate(texts)
    ]

    assert level_shift("v", rows, ["room"]) is None
    assert level_shift("v", rows, ["no"]) == (7, "20.5", "22.4", "68.9", "72.3")


def test_rows_that_repeat_are_told_where_another_column_never_does() -> None:
    rows = [{"at": "1", "v": "5"}, {"at": "2", "v": "5"}, {"at": "2", "v": "5"}]

    assert repeated_rows(rows) == (1, "at")
    assert repeated_rows([{"kind": "a"}, {"kind": "a"}, {"kind": "a"}, {"kind": "a"}]) == (
        3,
        "kind",
    )
    assert repeated_rows([{"kind": "a"}, {"kind": "a"}, {"kind": "b"}, {"kind": "a"}]) == (0, "")


def test_a_number_of_a_row_that_comes_again_is_told() -> None:
    numbers = [f"P{at:02}" for at in range(1, 10)]

    assert repeated_keys([{"plant": each} for each in [*numbers, "P09"]]) == ("plant", ["P09"])
    assert repeated_keys([{"plant": each} for each in numbers]) == ("", [])
    assert repeated_keys([{"plant": each} for each in numbers * 2]) == ("", [])
    assert repeated_keys([{"mode": each} for each in ["bus", *"abcdefghi", "bus"]]) == ("", [])


def test_units_below_the_headings_make_a_table_research_data(tmp_path: Path) -> None:
    path = tmp_path / "series.csv"
    text = "# Messreihe 7\nProbe;Dicke;Dichte;T\n-;mm;kg/m³;°C\nD1;40,2;248;10\nD2;39,8;251;20\n"
    path.write_bytes(text.encode("cp1252"))

    found = detect(Content.of(path))

    assert found is not None
    assert found.confidence == MEASUREMENTS


@pytest.mark.parametrize(
    ("others", "is_told"),
    [
        (["-35.1", "-33.0", "-31.9", "-30.2", "-29.5", "-28.8", "-27.1", "-26.0"], True),
        # The only negative number, which is told of as a missing value.
        (["35.1", "33.0", "31.9", "30.2", "29.5", "28.8", "27.1", "26.0"], False),
    ],
)
def test_an_outlier_of_two_equal_figures_is_told_once(others: list[str], is_told: bool) -> None:
    rows = [{"day": str(at), "t": text} for at, text in enumerate([*others, "-66"])]

    assert any("OUTLIER" in note for note in doubts_of("x", [("t", "")], rows)) is is_told
