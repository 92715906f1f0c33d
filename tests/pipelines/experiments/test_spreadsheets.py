"""Research data in spreadsheets: what each sheet gives, and which of them are taken for research data."""

from pathlib import Path

import pytest

from stateward.definition.plugin import Content
from stateward.pipelines.experiments.detection import detect
from stateward.pipelines.experiments.settings import ExperimentSettings
from stateward.pipelines.experiments.source import read_dataset
from stateward.pipelines.labs.detection import detect as detect_report
from tests.pipelines.experiments.test_stages import code, columns, faults, points, run
from tests.pipelines.labs.test_sheets import LIMITS, MONEY, Row, book

PLOTS: list[Row] = [
    ("plot", "height [cm]", "mass (g)"), ("A1", 12.5, 3), ("A2", 13.25, None), ("A3", 14.75, 5),
]  # fmt: skip
DEPTHS: list[Row] = [("depth_m", "temp_C"), (1, 8.5), (2, 8), (3, 7.5)]
NOTES: list[Row] = [("Measured in May",), ("by the same person",)]
BOOKINGS: list[Row] = [
    ("Date", "Text", "Amount (EUR)", "Balance"),
    ("2026-01-05", "Temp (C) pump (kg)", -4.2, 9),
]


def test_a_sheet_gives_what_the_same_table_gives_as_csv(tmp_path: Path) -> None:
    text = "\n".join(",".join("" if cell is None else str(cell) for cell in row) for row in PLOTS)

    sheet, table = run(book(PLOTS), tmp_path), run(text, tmp_path)

    assert columns(sheet)["height [cm]"]["mean"] == "13.5"
    assert (columns(sheet)["mass (g)"]["unit"], columns(sheet)["mass (g)"]["missing"]) == ("g", 1)
    assert columns(sheet) == columns(table)
    assert points(sheet) == points(table)


def test_lines_above_a_table_are_left_out_and_a_row_keeps_its_number(tmp_path: Path) -> None:
    found = run(book([("Site 4", None), (), *PLOTS, ("end of the series",)]), tmp_path)

    assert points(found)[0]["where"] == {"row": 1, "line": 4}
    assert columns(found)["height [cm]"]["count"] == 3
    assert [fault[2] for fault in faults(found)] == ["ROW_LENGTH"]
    assert "PREAMBLE_SKIPPED" in str(found.notes)


FORCES: list[Row] = [("rod", "force (kN)"), *((f"R{at:02}", 20.25 + at) for at in range(8))]


def test_a_number_that_was_typed_with_a_comma_counts_and_is_noted(tmp_path: Path) -> None:
    found = run(book([*FORCES, ("R08", "23,46"), ("R09", "n.b.")]), tmp_path)

    force = columns(found)["force (kN)"]
    assert (force["count"], force["missing"], force["maximum"]) == (9, 1, "27.25")
    assert force["sum"] == "213.46"
    assert faults(found) == []
    assert "COMMA_TYPED: 1 cells of force (kN)" in str(found.notes)


@pytest.mark.parametrize("typed", ["23,4,6", "about 23,46"])
def test_what_is_no_number_with_a_comma_stays_a_fault(tmp_path: Path, typed: str) -> None:
    found = run(book([*FORCES, ("S1", 20.5), ("S2", 20.75), ("R08", typed)]), tmp_path)

    assert [fault[2] for fault in faults(found)] == ["BAD_VALUE"]
    assert "COMMA_TYPED" not in str(found.notes)


def test_each_sheet_is_a_table_and_a_page_of_words_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    path.write_bytes(book(NOTES, PLOTS, DEPTHS))

    found = read_dataset(path, name="book.xlsx", scratch=tmp_path, settings=ExperimentSettings())

    assert [(table.name, len(table.rows)) for table in found.tables] == [
        ("Sheet2", 3),
        ("Sheet3", 3),
    ]
    assert found.tables[0].notes == (
        "SHEET_LEFT_OUT: the sheet 'Sheet1' holds words in one column and no table",
    )


@pytest.mark.parametrize(
    ("sheets", "why"),
    [
        ([NOTES], "NO_TABLE"),
        ([[]], "NO_TABLE"),
        ([PLOTS, [("x", "x"), (1, 2), (3, 4)]], "BAD_HEADER"),
        ([[("x", None, "y"), (1, 2, 3), (4, 5, 6)]], "BAD_HEADER"),
    ],
)
def test_a_sheet_that_is_no_table_is_refused(
    tmp_path: Path, sheets: list[list[Row]], why: str
) -> None:
    assert code(book(*sheets), tmp_path) == why


def test_a_spreadsheet_that_inflates_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    assert code(book(PLOTS), tmp_path, inflated_bytes_max=1000) == "HOSTILE_FILE"


@pytest.mark.parametrize(
    ("rows", "confidence"),
    [(PLOTS, 30), (DEPTHS, 30), (BOOKINGS, 10), (MONEY, 10), (NOTES, 10)],
)
def test_only_units_and_measurements_make_a_spreadsheet_research_data(
    tmp_path: Path, rows: list[Row], confidence: int
) -> None:
    path = tmp_path / "book.xlsx"
    path.write_bytes(book(rows))

    found = detect(Content.of(path, name="book.xlsx"))

    assert found is not None
    assert (found.source_type, found.confidence) == ("dataset", confidence)


def test_a_lab_report_in_a_spreadsheet_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    path.write_bytes(book(LIMITS))
    content = Content.of(path, name="book.xlsx")

    report, data = detect_report(content), detect(content)

    assert report is not None
    assert data is not None
    assert report.confidence > data.confidence
