"""Tables in words that no list knows: what a column holds, and where it stands, tells what it is."""

from pathlib import Path

import pytest

from stateward.pipelines.labs.pdf.cells import split_value
from stateward.pipelines.labs.ranges import read_range
from tests.pipelines.labs.printing import Line, read_plain
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


STATED = [
    ("Zetvorin A", "5,4", "mmol/L", "3,9 - 5,8", ""),
    ("Perlom tisk", "212", "g/L", "120 - 160", "H"),
    ("Sulo 21-4", "2,2", "ng/mL", "vor 3,3", ""),
    ("Quimin", "0,7", "", "", ""),
    ("Terkavo", "omlo", "", "omlo", ""),
]


@pytest.mark.parametrize(
    ("sign", "behind"), [(": ", "[Norkat: {}]"), (" = ", "- Norkat: {}"), (": ", "({})")]
)
@pytest.mark.parametrize("in_line", [1, 2])
def test_statements_of_one_form_are_results_in_any_language(
    tmp_path: Path, sign: str, behind: str, in_line: int
) -> None:
    texts = [
        " ".join([f"{name}{sign}{value}", unit, flag, behind.format(range_) if range_ else ""])
        for name, value, unit, range_, flag in STATED
    ]
    lines = ["; ".join(texts[at : at + in_line]) for at in range(0, len(texts), in_line)]

    found = read_plain(tmp_path, *[((50, " ".join(line.split())),) for line in lines])

    assert [
        (test, value, unit, range_.strip("()"), flag)
        for test, value, unit, range_, flag in printed(found)
    ] == STATED


def test_a_remark_of_one_statement_beside_a_table_is_no_result(tmp_path: Path) -> None:
    rows = [*told(0, 1, 2, 3), ("Kalivor: 5 - 10 mmol/L",)]

    found = read_plain(tmp_path, *columns(PLACES, *rows))

    assert [each["test"] for each in found] == [row[0] for row in ROWS]


@pytest.mark.parametrize("indent", [0, 10])
def test_values_below_their_names_are_results_where_that_repeats(
    tmp_path: Path, indent: int
) -> None:
    lines: list[Line] = []
    for name, value, unit, range_, flag in STATED[: 5 if indent else 3]:
        lines.append(((50.0, name),))
        lines.append(((50.0 + indent, f"{value} {unit}".strip()), (200.0, flag))[: 1 + bool(flag)])
        lines += [((50.0 + indent, f"Norkat: {range_}"),)] if range_ else []

    found = read_plain(tmp_path, *lines)

    assert printed(found) == STATED[: 5 if indent else 3]


@pytest.mark.parametrize("heading", [HEADINGS[:4], ("Test", "Result", "Unit", "Range")])
def test_tables_side_by_side_are_told_without_known_names(
    tmp_path: Path, heading: tuple[str, ...]
) -> None:
    rows = told(0, 1, 2, 3)
    beside = [(*rows[at], *rows[at + 3]) for at in range(3)]

    found = read_plain(
        tmp_path, *columns((50, 140, 180, 230, 320, 410, 450, 500), heading * 2, *beside)
    )

    assert sorted(printed(found)) == sorted((*row, "") for row in rows)


def test_results_in_words_above_the_first_number_are_rows_of_the_table(tmp_path: Path) -> None:
    words = ("Kimlo", "omlo", "", "omlo")

    found = read_plain(tmp_path, *columns(PLACES, words, *told(0, 1, 2, 3), words))

    assert [each["test"] for each in found] == ["Kimlo", *[row[0] for row in ROWS], "Kimlo"]


def test_a_heading_of_earlier_results_in_two_words_is_one_column(tmp_path: Path) -> None:
    heading = ("Analiza", "Rezultat", "UM", "Interval de referință", "", "Rezultat anterior")

    found = read_plain(tmp_path, *columns(PLACES, heading, *told(0, 1, 2, 3, 4, 5)))

    assert printed(found) == told(0, 1, 2, 3, 4)
    assert found[0]["comment"] == "previous: 5.1"


@pytest.mark.parametrize(
    ("text", "value", "unit", "flag"),
    [("5,30 HI ng/mL", "5,30", "ng/mL", "HI"), ("H positive", "positive", "", "H")],
)
def test_a_flag_inside_a_cell_is_told_apart(text: str, value: str, unit: str, flag: str) -> None:
    parts = split_value(text)

    assert (parts.value, parts.unit, parts.flag) == (value, unit, flag)


def test_a_side_in_words_below_a_row_says_more_than_the_sign_in_its_column(tmp_path: Path) -> None:
    rows = [(*row[:4], "!" if row[4] else "") for row in ROWS]

    found = read_plain(
        tmp_path, *columns(PLACES, *rows[:2], ("Above high reference limit",), *rows[2:])
    )

    assert [each["printed"].get("flag", "") for each in found] == [
        "", "Above high reference limit", "", "", "", "!",
    ]  # fmt: skip


def test_a_name_and_its_measured_value_in_one_cell_are_a_result_without_a_colon(
    tmp_path: Path,
) -> None:
    rows = [STATED[0], ("Kelo", "6,8", "", "5,0 - 7,5", ""), *STATED[1:3], STATED[4]]
    lines = [
        ((50.0, " ".join(f"{name} {value} {unit} {flag}".split())), (300.0, f"(norkat {range_})"))
        for name, value, unit, range_, flag in rows
    ]

    found = read_plain(tmp_path, *lines)

    assert printed(found) == rows
    assert not any(each.get("comment") for each in found)


def test_values_below_repeated_headings_are_of_the_test_above_those(tmp_path: Path) -> None:
    lines: list[Line] = []
    for name, value, unit, range_, _flag in STATED[:3]:
        lines += [((50.0, name),), ((50.0, "Resultat"), (200.0, "Enhet"), (300.0, "Referensintervall"))]  # fmt: skip
        lines += [((50.0, value), (200.0, unit), (300.0, range_)), ()]

    found = read_plain(tmp_path, *lines)

    assert printed(found) == [(*row[:4], "") for row in STATED[:3]]


def test_a_heading_between_rows_changes_the_unit_of_those_below(tmp_path: Path) -> None:
    rows = [
        ("Test", "Observed Value (mg/dL)", "Range"),
        ("Glucose", "87", "70 - 99"),
        ("Urea", "33", "17 - 49"),
        ("", "Observed Value (mmol/L)", ""),
        ("Sodium", "144", "136 - 145"),
        ("Potassium", "4.7", "3.5 - 5.1"),
    ]

    found = read_plain(tmp_path, *columns((50, 200, 400), *rows))

    assert [each["printed"]["unit"] for each in found] == ["mg/dL", "mg/dL", "mmol/L", "mmol/L"]
    assert not any(each.get("problems") for each in found)


def test_a_number_of_pages_in_brackets_is_no_result(tmp_path: Path) -> None:
    lines = [((50.0, "Kainu terveys"), (520.0, "1 (1)"))]
    lines += [((50.0, f"{row[0]} {row[1]} {row[2]}"), (300.0, f"({row[3]})")) for row in STATED[:3]]

    found = read_plain(tmp_path, *lines)

    assert [each["test"] for each in found] == [row[0] for row in STATED[:3]]


@pytest.mark.parametrize("place", ["behind the number", "beside earlier results"])
def test_words_of_a_laboratory_for_high_and_low_are_learned_wherever_they_stand(
    tmp_path: Path, place: str
) -> None:
    words = {"H": "tinggi", "L": "rendah", "": ""}
    rows: list[tuple[str, ...]]
    if place == "behind the number":
        rows = [(row[0], f"{row[1]} {words[row[4]]} {row[2]}", row[3]) for row in ROWS]
    else:
        rows = [(*row[:4], words[row[4]], row[5]) for row in told(0, 1, 2, 3, 4, 5)]

    found = read_plain(
        tmp_path,
        *columns(
            (50, 150, 260, 330, 430, 490), *[tuple(" ".join(t.split()) for t in r) for r in rows]
        ),
    )

    assert printed(found) == [(*row[:4], words[row[4]]) for row in told(0, 1, 2, 3, 4)]
