"""Tables in words that no list knows: what a column holds, and where it stands, tells what it is."""

from pathlib import Path

import pytest

from stateward.pipelines.labs.pdf.cells import split_value
from stateward.pipelines.labs.ranges import read_range
from tests.pipelines.labs.printing import read_plain
from tests.pipelines.labs.test_pdf_columns import columns
from tests.pipelines.two_stages import JsonRow

# Names, headings and the word before a single limit are of no language.
PLACES = (50, 200, 260, 330, 430, 490)
HEADINGS = ("Omvor", "Katelo", "Nizet", "Quisu", "Rakater", "Lomin")
ROWS = [
    ("Zetvorin A", "5.4", "mmol/L", "3.9 - 5.8", "", "5.1"),
    ("Perlom tisk", "212", "g/L", "120 - 160", "H", "140"),
    ("Quimin", "0.7", "", "0.3 - 1.0", "", "0.6"),
    ("Sulo 21-4", "2.2", "ng/mL", "vor 3.3", "", "2.0"),
    ("Terkavo", "71", "U/L", "70 - 150", "", ""),
    ("Nivorter", "99", "mg/dL", "100 - 200", "L", "118"),
]


def printed(found: list[JsonRow]) -> list[tuple[str, ...]]:
    fields = ("value", "unit", "range", "flag")
    return [(each["test"], *(each["printed"].get(name, "") for name in fields)) for each in found]


def told(*order: int) -> list[tuple[str, ...]]:
    return [tuple(row[at] for at in order) for row in ROWS]


@pytest.mark.parametrize("has_headings", [True, False])
@pytest.mark.parametrize(
    "order", [(0, 1, 2, 3, 4), (0, 3, 1, 2, 4), (0, 4, 1, 2, 3), (0, 2, 3, 4, 1), (0, 2, 1, 3, 4)]
)
def test_columns_in_any_order_are_told_by_what_they_hold(
    tmp_path: Path, order: tuple[int, ...], has_headings: bool
) -> None:
    rows = [tuple(HEADINGS[at] for at in order)] * has_headings + told(*order)

    found = read_plain(tmp_path, *columns(PLACES, *rows))

    assert printed(found) == told(0, 1, 2, 3, 4)
    assert not any("ROW_UNREAD" in each.get("problems", []) for each in found)


def test_limits_in_two_columns_are_told_without_headings(tmp_path: Path) -> None:
    rows = [
        ("Zetvorin A (mmol/L)", "5.4", "3.9", "5.8", ""),
        ("Perlom tisk (g/L)", "212", "120", "160", "H"),
        ("Quimin (U/L)", "12", "", "24", ""),
        ("Terkavo (ng/mL)", "71", "70", "150", ""),
        ("Nivorter (mg/dL)", "99", "100", "200", "L"),
    ]

    found = read_plain(tmp_path, *columns(PLACES, *rows))

    assert [(each["printed"].get("range"), each["printed"].get("flag", "")) for each in found] == [
        ("3.9 - 5.8", ""), ("120 - 160", "H"), ("<= 24", ""), ("70 - 150", ""), ("100 - 200", "L"),
    ]  # fmt: skip


def test_earlier_results_below_an_unknown_heading_are_no_flags(tmp_path: Path) -> None:
    rows = [(*row[:4], row[5]) for row in told(0, 1, 2, 3, 4, 5)]

    found = read_plain(tmp_path, *columns(PLACES, *rows))

    assert [each["printed"]["value"] for each in found] == [row[1] for row in ROWS]
    assert not any(each["printed"].get("flag") for each in found)


def test_a_single_flag_between_two_columns_is_a_column(tmp_path: Path) -> None:
    rows = [(row[0], row[3], "*" if at == 1 else "", row[1], row[2]) for at, row in enumerate(ROWS)]

    found = read_plain(tmp_path, *columns(PLACES, *rows))

    assert [each["printed"].get("flag", "") for each in found] == ["", "*", "", "", "", ""]


@pytest.mark.parametrize(
    ("text", "unit"), [("vor 24 U/L", "U/L"), ("vor 24", ""), ("24 U/L 30", "")]
)
def test_a_limit_behind_an_unknown_word_leaves_its_unit(text: str, unit: str) -> None:
    found = read_range(text)

    assert (found.kind, found.unit) == ("unread", unit)


def test_letters_that_say_a_side_before_a_number_are_its_flag() -> None:
    parts = split_value("HI 39,2")

    assert (parts.value, parts.flag) == ("39,2", "HI")


def test_a_range_in_brackets_before_its_unit_keeps_its_own_bracket(tmp_path: Path) -> None:
    rows = [(row[0], row[1], f"[{row[3]}] {row[2]}".strip()) for row in told(0, 1, 2, 3)]

    found = read_plain(tmp_path, *columns(PLACES, *rows))

    assert [each["printed"]["range"] for each in found] == [f"[{row[3]}]" for row in ROWS]
