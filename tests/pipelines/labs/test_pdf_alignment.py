"""Columns by alignment: what stands close together, what has no heading, and what reaches over a border."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from lab.documents.statements.paper import width
from stateward.pipelines.kit.pdf.corridors import with_cell_starts
from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.labs.pdf.cells import cells
from tests.pipelines.labs.printing import Line, read_plain
from tests.pipelines.two_stages import JsonRow as Row

SIZE = 9.0
HEADING: Line = ((50, "Test"), (230, "Result"), (300, "Unit"), (400, "Reference range"))


def told(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    names = ("value", "unit", "range", "flag")
    return [
        (str(each["test"]), *(str(each["printed"].get(name, "")) for name in names))
        for each in rows
    ]


def flush(x: float, text: str) -> tuple[float, str]:
    """A text that ends at a place."""
    return x - width(text, SIZE), text


def words_of(lines: Sequence[Line]) -> list[PdfWord]:
    """The words of lines, each text of which is one word."""
    return [
        PdfWord(text, x, 12.0 * at, x + width(text, SIZE), 12.0 * at + SIZE, 12.0 * at + 7, 0)
        for at, line in enumerate(lines)
        for x, text in line
    ]


@pytest.mark.parametrize("gap", [4.0, 5.0])
@pytest.mark.parametrize("count", [2, 4])
def test_words_below_each_other_behind_more_than_a_blank_begin_a_column(
    gap: float, count: int
) -> None:
    blank = width(" ", SIZE)
    lines = [
        ((50, "Serum"), (50 + width("Serum", SIZE) + blank, name), flush(280, value), (280 + gap, "mmol/L"))
        for name, value in (("sodium", "139"), ("potassium", "4.1"), ("calcium", "2.35"), ("lipids", "5.80"))
    ]  # fmt: skip

    words = with_cell_starts(words_of(lines[:count]))

    first = [" ".join(w.text for w in cell) for cell in cells([w for w in words if w.base < 12])]
    parted = ["Serum sodium", "139", "mmol/L"]
    # Two lines may agree by chance.
    assert first == (parted if count > 2 else ["Serum sodium", "139 mmol/L"])


def test_words_that_stand_below_each_other_behind_one_blank_are_no_column(tmp_path: Path) -> None:
    blank = width(" ", SIZE)
    names = ["Protein total", "Protein ratio", "Protein index", "Protein other"]
    second = 50 + width("Protein", SIZE) + blank
    values: Line = ((230, "7.1"), (300, "g/dL"), (400, "6.0 - 8.0"))
    lines: list[Line] = [((50, "Protein"), (second, name.split()[1]), *values) for name in names]

    found = read_plain(tmp_path, HEADING, *lines)

    assert [each["test"] for each in found] == names


@pytest.mark.parametrize("x", [180, 205])
def test_flags_below_each_other_are_a_column_that_no_heading_stands_above(
    tmp_path: Path, x: float
) -> None:
    found = read_plain(
        tmp_path,
        HEADING,
        ((50, "Sodium"), (x, "L"), (230, "131"), (300, "mmol/L"), (400, "136 - 145")),
        ((50, "Potassium"), (230, "4.4"), (300, "mmol/L"), (400, "3.5 - 5.1")),
        ((50, "Protein"), (x, "A"), (230, "trace"), (400, "negative")),
    )

    assert told(found) == [
        ("Sodium", "131", "mmol/L", "136 - 145", "L"),
        ("Potassium", "4.4", "mmol/L", "3.5 - 5.1", ""),
        ("Protein", "trace", "", "negative", "A"),
    ]


def test_flags_between_the_values_of_two_days_are_each_of_its_own_value(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Test"), (200, "01/12/2025"), (300, "03/02/2026"), (400, "Units"), (470, "Reference")),
        ((50, "Sodium"), (200, "139"), (300, "131"), (330, "L"), (400, "mmol/L"), (470, "136 - 145")),
        ((50, "Potassium"), (200, "4.1"), (300, "5.9"), (330, "H"), (400, "mmol/L"), (470, "3.5 - 5.1")),
    )  # fmt: skip

    assert [(row[0], row[1], row[4]) for row in told(found)] == [
        ("Sodium", "139", ""), ("Sodium", "131", "L"), ("Potassium", "4.1", ""), ("Potassium", "5.9", "H"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["BIOCHEMISTRY ROUTINE", "Serum or plasma", "Reference range: <5.0"]
)
def test_words_alone_that_reach_over_a_border_are_of_no_row(tmp_path: Path, text: str) -> None:
    found = read_plain(
        tmp_path,
        HEADING,
        ((50, "Potassium"), (230, "4.4"), (300, "mmol/L"), (400, "3.5 - 5.1")),
        ((365, text),),
        ((50, "Calcium"), (230, "2.3"), (300, "mmol/L"), (400, "2.1 - 2.6")),
        ((50, "Magnesium"), (230, "0.8"), (300, "mmol/L"), (400, "0.7 - 1.0")),
    )

    assert told(found) == [
        ("Potassium", "4.4", "mmol/L", "3.5 - 5.1", ""),
        ("Calcium", "2.3", "mmol/L", "2.1 - 2.6", ""),
        ("Magnesium", "0.8", "mmol/L", "0.7 - 1.0", ""),
    ]
    assert not any(each.get("problems") for each in found)


def test_a_unit_of_several_words_is_not_parted_by_a_border(tmp_path: Path) -> None:
    rows = [("Sodium", "139", "mmol/L", "136 - 145"), ("Potassium", "4.4", "mmol/L", "3.5 - 5.1"),
            ("Calcium", "2.3", "mmol/L", "2.1 - 2.6"), ("Chloride", "101", "mmol/L", "98 - 107"),
            ("Creatinine", "88", "umol/L", "64 - 104"), ("Urea", "5.1", "mmol/L", "2.5 - 7.8"),
            ("Phosphate", "1.1", "mmol/L", "0.8 - 1.5"), ("Albumin", "44", "g/L", "35 - 50"),
            ("eGFR", "57", "mL/min/1,73 m²", "> 60")]  # fmt: skip
    places = (50, 250, 275, 345)

    found = read_plain(
        tmp_path,
        ((345, "Reference values"), (450, "Previous results")),
        *(tuple(zip(places, row, strict=True)) for row in rows),
    )

    assert [row[:4] for row in told(found)] == rows


@pytest.mark.parametrize(
    ("upper", "lower"),
    [
        (((50, "Test Name"), (200, "In Range"), (280, "Out Of"), (360, "Reference")), ((280, "Range"), (360, "Range"))),
        (((50, "Test"), (200, "Result in"), (280, "Result out of"), (360, "Expected")),
         ((200, "Range"), (280, "Range"), (360, "values"))),
    ],
)  # fmt: skip
def test_headings_in_two_lines_are_read_from_the_top(
    tmp_path: Path, upper: Line, lower: Line
) -> None:
    found = read_plain(
        tmp_path,
        upper,
        lower,
        ((50, "Glucose"), (280, "118 H"), (360, "65-99 mg/dL")),
        ((50, "Sodium"), (200, "139"), (360, "135-146 mmol/L")),
        ((50, "ALT"), (280, "61 H"), (360, "9-46 U/L")),
    )

    assert [(row[0], row[1], row[4]) for row in told(found)] == [
        ("Glucose", "118", "H"), ("Sodium", "139", ""), ("ALT", "61", "H"),
    ]  # fmt: skip


@pytest.mark.parametrize("word", ["Não reagente", "unbekannt klar"])
def test_a_result_in_words_right_below_the_headings_is_no_part_of_those(
    tmp_path: Path, word: str
) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Analito"), (230, "Resultado"), (400, "Valor de referência")),
        ((50, "Anti-HIV"), (230, word), (400, word)),
        ((50, "Glicose"), (230, "92 mg/dL"), (400, "70 a 99 mg/dL")),
    )

    assert told(found)[0][:4] == ("Anti-HIV", word, "", word)
