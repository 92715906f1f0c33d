"""Spreadsheets of laboratory results, as programs of laboratories and people write them."""

import zipfile
from io import BytesIO
from pathlib import Path

import pytest
import xlsxwriter

from stateward.definition.plugin import Content
from stateward.pipelines.labs.detection import detect
from tests.pipelines.labs.reading import failure, normalized, parsed
from tests.pipelines.two_stages import rows_of

Row = tuple[str | float | None, ...]
LETTERHEAD: list[Row] = [
    ("Example Hospital Laboratory",),
    ("Patient: EXAMPLE, Alex", None, "DOB: 1960-01-01"),
    (),
]
LIMITS: list[Row] = [
    ("Test", "Value", "Units", "Low", "High", "Flag"),
    ("Sodium", 133, "mmol/L", 135, 145, "L"),
    ("Magnesium", 0.84, "mmol/L", 0.7, 1, None),
]
GERMAN: list[Row] = [
    ("Labor Beispiel", None, "Befund vom 18.02.2026"),
    ("Parameter", "Ergebnis", "Einheit", "Normbereich", "Abw."),
    ("Harnsäure", "7,4", "mg/dl", "3,4 - 7,0", "↑"),
    ("Eisen", "88", "µg/dl", "59 - 158", None),
]
SEVERAL_DAYS: list[Row] = [
    ("Laboratoire Exemple - Tableau cumulatif",),
    ("Analyse", "Unité", "Valeurs de référence", "14/11/2025", "20/02/2026"),
    ("Potassium", "mmol/L", "3,5 - 5,1", "4,4", "5,6"),
    ("Microalbuminurie", "mg/L", "< 20 *", "12", "24"),
]
CURRENT_DAY: list[Row] = [
    ("Test", "Current 2026-05-06 06:10", "Flag", "Previous 2026-05-04 05:55", "Units", "Reference Interval"),
    ("CHEMISTRY",),
    ("Sodium", 133, "L", 131, "mmol/L", "135 - 145"),
    ("Potassium", 3.9, None, 3.6, "mmol/L", "3.5 - 5.0"),
]  # fmt: skip
RESULTS_OF_DAYS: list[Row] = [
    ("Test", "Result (06/05/2026)", "Result (25/04/2026)", "Units", "Reference Interval"),
    ("Sodium", 133, 141, "mmol/L", "135 - 145"),
]
MONEY: list[Row] = [
    ("Description", "Result", "Units", "Range", "Price"),
    ("Bolt", "M8", "pcs", "1-5", 2.5),
    ("Nut", "M8", "pcs", "1-5", 1.5),
]


def book(*sheets: list[Row]) -> bytes:
    file = BytesIO()
    with xlsxwriter.Workbook(file) as written:
        for rows in sheets:
            sheet = written.add_worksheet()
            for number, cells in enumerate(rows):
                sheet.write_row(number, 0, cells)
    return file.getvalue()


def results(folder: Path, data: bytes) -> list[tuple[str, str, str, str]]:
    return [
        (str(each["test"]), str(each["value"]), str(each["unit"]), str(each["flag"]))
        for each in rows_of(normalized(parsed(folder, data)))
    ]


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        (
            LETTERHEAD + LIMITS,
            [("Sodium", "133", "mmol/L", "L"), ("Magnesium", "2.042", "mg/dL", "N")],
        ),
        (GERMAN, [("Harnsäure", "7.4", "mg/dL", "H"), ("Eisen", "88", "ug/dL", "N")]),
        (
            SEVERAL_DAYS,
            [
                ("Potassium", "4.4", "mmol/L", "N"),
                ("Potassium", "5.6", "mmol/L", "H"),
                ("Microalbuminurie", "12", "mg/L", "N"),
                ("Microalbuminurie", "24", "mg/L", "H"),
            ],
        ),
        (
            LETTERHEAD + CURRENT_DAY,
            [("Sodium", "133", "mmol/L", "L"), ("Potassium", "3.9", "mmol/L", "N")],
        ),
        (RESULTS_OF_DAYS, [("Sodium", "133", "mmol/L", "L"), ("Sodium", "141", "mmol/L", "N")]),
    ],
)
def test_a_spreadsheet_is_recognised_and_read(
    tmp_path: Path, rows: list[Row], found: list[tuple[str, str, str, str]]
) -> None:
    data = book(rows)
    path = tmp_path / "export.xlsx"
    path.write_bytes(data)

    detected = detect(Content(path=path, head=data[:4096], name=path.name))

    assert detected is not None
    assert detected.source_type == "lab_report"
    assert results(tmp_path, data) == found


def test_the_day_in_the_heading_of_a_result_is_that_of_its_collection(tmp_path: Path) -> None:
    current = rows_of(normalized(parsed(tmp_path, book(CURRENT_DAY))))
    of_days = rows_of(normalized(parsed(tmp_path, book(RESULTS_OF_DAYS))))

    assert {each["collected"] for each in current} == {"2026-05-06T06:10:00"}
    assert [each["collected"] for each in of_days] == ["2026-05-06", "2026-04-25"]


def test_sheets_that_are_no_report_are_left_out(tmp_path: Path) -> None:
    found = results(tmp_path, book([("Notes",), ("Called the ward",)], LIMITS))

    assert [test for test, *_ in found] == ["Sodium", "Magnesium"]


def test_a_sheet_without_flags_contradicts_nothing_beside_one_that_has_them(tmp_path: Path) -> None:
    bare: list[Row] = [
        ("Test", "Value", "Units", "Low", "High"),
        ("Ferritin", 640, "ng/mL", 30, 400),
    ]

    found = rows_of(normalized(parsed(tmp_path, book(LIMITS, bare))))

    assert [(each["test"], each["flag"], each.get("problems", [])) for each in found] == [
        ("Sodium", "L", []), ("Magnesium", "N", []), ("Ferritin", "H", []),
    ]  # fmt: skip


def test_a_spreadsheet_with_prices_is_no_lab_report(tmp_path: Path) -> None:
    path = tmp_path / "parts.xlsx"
    path.write_bytes(book(MONEY))

    assert detect(Content(path=path, head=path.read_bytes()[:4096], name=path.name)) is None


def test_a_spreadsheet_without_results_says_what_is_missing(tmp_path: Path) -> None:
    failed = failure(parsed(tmp_path, book([("a", "b"), ("c", "d")])))

    assert (failed.code, "Test, Result" in failed.message) == ("NO_TABLE", True)


def test_another_archive_is_refused(tmp_path: Path) -> None:
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("word/document.xml", "<w/>")

    assert failure(parsed(tmp_path, file.getvalue())).code == "UNKNOWN_FORMAT"
