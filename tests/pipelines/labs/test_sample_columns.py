"""Tables with a column for each sample, whose names stand above the other headings or among them."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import pytest
import xlsxwriter

from stateward.definition.plugin import Content
from stateward.pipelines.labs.detection import detect
from tests.pipelines.labs.printing import plain_pdf
from tests.pipelines.labs.reading import csv, normalized, parsed
from tests.pipelines.labs.reading import results as results_of
from tests.pipelines.two_stages import rows_of

NAMED_ABOVE = [
    ("", "", "Sample ID:", "BH01", "BH02", "TRIP BLANK"),
    ("", "", "Date sampled:", "2025-05-20", "2025-05-21", ""),
    ("Analyte", "Units", "LOR", "", "", ""),
    ("Arsenic", "mg/L", "0.001", "0.004", "<0.001", "----"),
    ("Zinc", "mg/L", "0.005", "0.012", "<0.005", "<0.005"),
    ("Lead", "mg/L", "0.005", "0.012", "<0.005", "0.006"),
]
FOUND_ABOVE = [
    ("Arsenic", "0.004", "BH01", "2025-05-20"),
    ("Arsenic", "<0.001", "BH02", "2025-05-21"),
    ("Zinc", "0.012", "BH01", "2025-05-20"),
    ("Zinc", "<0.005", "BH02", "2025-05-21"),
    ("Zinc", "<0.005", "TRIP BLANK", ""),
]
NAMED_BESIDE = [
    ("Parameter", "Unit", "North field", "Old barn"),
    ("Lead", "mg/kg", "19", "<0.5"),
    ("Copper", "mg/kg", "28", "31"),
    ("Zinc", "mg/kg", "64", "77"),
]


def results(folder: Path, data: bytes) -> list[tuple[str, ...]]:
    return [
        (
            str(each["test"]), str(each["printed"]["value"]),
            str(each.get("comment", "")).split("\n")[0], str(each.get("collected", "")),
        )
        for each in rows_of(normalized(parsed(folder, data)))
    ]  # fmt: skip


def workbook(rows: Sequence[tuple[str, ...]]) -> bytes:
    data = BytesIO()
    with xlsxwriter.Workbook(data, {"in_memory": True}) as book:
        page = book.add_worksheet("Results")
        for at, row in enumerate(rows):
            page.write_row(at, 0, row)
    return data.getvalue()


def test_samples_named_above_the_headings_of_a_sheet(tmp_path: Path) -> None:
    data = workbook(NAMED_ABOVE)
    path = tmp_path / "results.xlsx"
    path.write_bytes(data)

    assert results(tmp_path, data)[: len(FOUND_ABOVE)] == FOUND_ABOVE
    assert detect(Content(path=path, head=data[:4096], name=path.name)) is not None


def test_samples_named_beside_the_headings_of_a_sheet(tmp_path: Path) -> None:
    found = results(tmp_path, workbook(NAMED_BESIDE))

    assert found[:2] == [("Lead", "19", "North field", ""), ("Lead", "<0.5", "Old barn", "")]
    assert len(found) == 6


def test_a_column_of_ranges_among_samples_is_told_by_what_it_holds(tmp_path: Path) -> None:
    rows = [
        ("Parameter", "Unit", "Sufficient", "Site A", "Site B"),
        ("Potassium", "mg/kg", "120 - 200", "98", "143"),
        ("Zinc", "mg/kg", "1.0 - 5.0", "0.8", "2.1"),
    ]

    found = rows_of(normalized(parsed(tmp_path, workbook(rows))))

    assert [each["printed"]["range"] for each in found] == ["120 - 200"] * 2 + ["1.0 - 5.0"] * 2


def test_samples_named_above_the_headings_of_a_page(tmp_path: Path) -> None:
    places = (50, 170, 230, 310, 390, 470)
    lines = [
        tuple((x, text) for x, text in zip(places, row, strict=True) if text)
        for row in NAMED_ABOVE
    ]  # fmt: skip

    found = [each[:3] for each in results(tmp_path, plain_pdf(*lines))]

    assert found[:2] == [("Arsenic", "0.004", "BH01"), ("Arsenic", "<0.001", "BH02")]
    assert len(found) == 8


@pytest.mark.parametrize("heading", ["Teken", "Sgn"])
def test_a_column_of_signs_is_a_part_of_the_result(tmp_path: Path, heading: str) -> None:
    printed = ("Kwik;<;0,020;µg/l", "Zink;;31;µg/l", "pH;;7,2;-")
    data = csv(*printed, heading=f"Parameter;{heading};Waarde;Eenheid")

    rows = rows_of(normalized(parsed(tmp_path, data.encode())))

    assert [each["printed"]["value"] for each in rows] == ["<0,020", "31", "7,2"]
    assert not rows[2]["printed"].get("unit")


def test_rows_of_limits_above_the_samples_are_their_range(tmp_path: Path) -> None:
    text = csv(
        "Ref. low;;135;3.5;", "Ref. high;;145;5.1;5", "P1;2026-04-01;133;4.2;48",
        heading="Sample ID;Date;Na (mmol/L);K (mmol/L);CRP (mg/L)",
    )  # fmt: skip

    found = results_of(tmp_path, text)

    told = [(each["value"], each.get("low"), each["high"], each["flag"]) for each in found]
    assert told == [
        ("133", "135", "145", "L"),
        ("4.2", "3.5", "5.1", "N"),
        ("48", None, "5", "H"),
    ]


@pytest.mark.parametrize("row", ["Low;2026-04-01;120;2.5;1", "Min;;120;2.5;1"])
def test_a_control_or_the_least_value_below_the_samples_is_no_range(
    tmp_path: Path, row: str
) -> None:
    text = csv(
        "P1;2026-04-01;133;4.2;48", row, "P2;2026-04-02;139;4.1;2",
        heading="Sample ID;Date;Na (mmol/L);K (mmol/L);CRP (mg/L)",
    )  # fmt: skip

    found = results_of(tmp_path, text)

    assert len(found) == 9
    assert not any("low" in each for each in found)
