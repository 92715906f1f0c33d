"""Dates of collection, earlier results and flags beside names, as reports of further countries print them."""

from pathlib import Path

import pytest

from lab.documents.statements.paper import Paper
from stateward.pipelines.labs.pdf.cells import split_mark
from tests.pipelines.labs.reading import results

HEADING = ("Test", "Result", "Units", "Reference Range")


def a_table(
    *rows: tuple[str, ...],
    heading: tuple[str, ...] = HEADING,
    about: str = "Collected: 2026-03-09",
) -> bytes:
    paper = Paper()
    paper.page()
    paper.text(50, 60, "Example Laboratory, a report of results for a test document")
    paper.text(50, 80, about)
    for at, row in enumerate((heading, *rows)):
        for x, text in zip((50, 250, 340, 430), row, strict=False):
            paper.text(x, 120 + 14 * at, text)
    return paper.pdf()


def test_each_sample_of_a_report_has_its_own_date_of_collection(tmp_path: Path) -> None:
    found = results(
        tmp_path,
        a_table(
            ("Sodium", "140", "mmol/L", "136-145"),
            ("Sample X2 Collected: 2026-03-11 07:05",),
            HEADING,
            ("Sodium", "141", "mmol/L", "136-145"),
            ("Received: 2026-03-12",),
            HEADING,
            ("Potassium", "4.1", "mmol/L", "3.5-5.1"),
        ),
    )

    assert [(each["test"], each["collected"]) for each in found] == [
        ("Sodium", "2026-03-09"),
        ("Sodium", "2026-03-11T07:05:00"),
        ("Potassium", "2026-03-11T07:05:00"),
    ]


def test_an_earlier_result_in_a_nordic_column_is_not_part_of_the_value(tmp_path: Path) -> None:
    heading = ("Analyse", "Svar", "Benevning", "Forrige svar")
    pdf = a_table(("Natrium", "137", "mmol/L", "150 (04.12.2025)"), heading=heading)

    (found,) = results(tmp_path, pdf)

    assert (found["value"], found["comment"]) == ("137", "previous: 150 (04.12.2025)")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Leukocyten ▼", ("Leukocyten", "▼")),
        ("Gamma GT ........ *", ("Gamma GT ........", "*")),
        ("Vitamin D *", ("Vitamin D *", "")),
    ],
)
def test_an_arrow_behind_a_name_is_the_flag(text: str, expected: tuple[str, str]) -> None:
    assert split_mark(text) == expected


@pytest.mark.parametrize(
    ("printed", "iso"),
    [
        ("16/Oct/2026 07:15AM", "2026-10-16T07:15:00"),
        ("20.02.2026 kl. 07.42", "2026-02-20T07:42:00"),
    ],
)
def test_dates_of_collection_in_further_forms(tmp_path: Path, printed: str, iso: str) -> None:
    pdf = a_table(("Sodium", "140", "mmol/L"), about=f"Collected: {printed}")

    (found,) = results(tmp_path, pdf)

    assert found["collected"] == iso


@pytest.mark.parametrize(
    "remark", ["Previous sample collected: 2025-01-02", "Vorbefund, Entnahme: 02.01.2025"]
)
def test_the_date_of_an_earlier_sample_is_not_that_of_the_rows_below(
    tmp_path: Path, remark: str
) -> None:
    sodium = ("Sodium", "140", "mmol/L", "136 - 145")
    found = results(tmp_path, a_table(sodium, (remark,), ("Glucose", "90", "mg/dL", "70 - 99")))

    assert {each["collected"] for each in found} == {"2026-03-09"}
