"""What a report says about itself is no result: repeated letterheads, marks of accreditation, hours of collection."""

from pathlib import Path

import pytest

from lab.documents.statements.paper import Paper
from stateward.workers.sdk import Completed
from tests.pipelines.labs.printing import plain_pdf
from tests.pipelines.labs.reading import parsed, results

HEADING = ((50, "Test"), (250, "Result"), (340, "Units"), (430, "Reference Range"))
LETTERHEAD = (
    ((50, "Example Diagnostics, final report of this patient"),),
    ((50, "Patient Information"), (250, "Specimen Information")),
    ((50, "SAMPLE, MARY A"), (250, "Specimen: WX442910K")),
    ((50, "DOB: 03/30/1979 AGE: 47"), (250, "Requisition: 0038817")),
    ((50, "Gender: F"), (250, "Collected: 03/14/2026 / 08:17 PDT")),
)


def pages_of(*pages: tuple[tuple[tuple[float, str], ...], ...]) -> bytes:
    paper = Paper()
    for lines in pages:
        paper.page()
        for at, line in enumerate(lines):
            for x, text in line:
                paper.text(x, 60 + 14 * at, text)
    return paper.pdf()


def row(name: str, value: str, unit: str, range_: str) -> tuple[tuple[float, str], ...]:
    return ((50, name), (250, value), (340, unit), (430, range_))


def test_what_a_later_page_repeats_above_its_table_is_no_result(tmp_path: Path) -> None:
    one = (*LETTERHEAD, HEADING, row("Glucose", "92", "mg/dL", "70-99"))
    two = (*LETTERHEAD, HEADING, row("Sodium", "141", "mmol/L", "136-145"))

    found = results(tmp_path, pages_of(one, two))

    assert [(each["test"], each["value"]) for each in found] == [
        ("Glucose", "92"),
        ("Sodium", "141"),
    ]
    assert not any("problems" in each for each in found)


def test_the_same_row_at_the_top_of_two_pages_is_two_results(tmp_path: Path) -> None:
    page = (HEADING, row("Glucose", "92", "mg/dL", "70-99"))

    assert len(results(tmp_path, pages_of(page, page))) == 2


@pytest.mark.parametrize("sign", ["#", "*", "§"])
@pytest.mark.parametrize(
    "legend",
    [
        "Les examens repérés par {} sont couverts par l'accréditation COFRAC",
        "{} akkreditiert nach DIN EN ISO 15189",
        "Tests marked {} are accredited by UKAS",
    ],
)
def test_a_mark_of_accreditation_is_no_flag(tmp_path: Path, sign: str, legend: str) -> None:
    lines = (
        HEADING,
        row(f"{sign} Glucose", "92", "mg/dL", "70-99"),
        row(f"{sign} Sodium", "151 H", "mmol/L", "136-145"),
        row(f"{sign} Potassium", "4.2", "mmol/L", "3.5-5.1"),
        ((50, legend.format(sign)),),
    )

    found = results(tmp_path, plain_pdf(*lines))

    assert [(each["test"], each.get("printed_flag", "")) for each in found] == [
        ("Glucose", ""),
        ("Sodium", "H"),
        ("Potassium", ""),
    ]
    assert not any("problems" in each for each in found)


def test_a_sign_that_the_legend_calls_abnormal_stays_a_flag(tmp_path: Path) -> None:
    lines = (
        HEADING,
        row("Glucose", "112 *", "mg/dL", "70-99"),
        row("Sodium", "151 *", "mmol/L", "136-145"),
        row("Potassium", "4.2", "mmol/L", "3.5-5.1"),
        ((50, "* out of range"),),
        ((50, "Accredited by UKAS"),),
    )

    assert [each["flag"] for each in results(tmp_path, plain_pdf(*lines))] == ["H", "H", "N"]


@pytest.mark.parametrize(
    ("line", "collected"),
    [
        ("Collected: 14/03/2026 / 08:17 GMT", "2026-03-14T08:17:00"),
        ("Collected: 14/03/2026 - 08:17", "2026-03-14T08:17:00"),
        ("Accettazione del 14/03/2026   Prelievo ore 07:31", "2026-03-14T07:31:00"),
        ("Eingang 14.03.2026   Entnahme um 07:31", "2026-03-14T07:31:00"),
        ("Received: 14/03/2026 09:05   Collected at 07:31", "2026-03-14T09:05:00"),
    ],
)
def test_the_hour_of_collection_may_stand_apart(tmp_path: Path, line: str, collected: str) -> None:
    lines = (((50, line),), HEADING, row("Glucose", "92", "mg/dL", "70-99"))

    assert [each["collected"] for each in results(tmp_path, plain_pdf(*lines))] == [collected]


def test_a_report_without_any_day_of_collection_says_so(tmp_path: Path) -> None:
    found = parsed(tmp_path, plain_pdf(HEADING, row("Glucose", "92", "mg/dL", "70-99")))

    assert isinstance(found, Completed)
    assert "NO_DATE: no date of collection was found" in str(found.facts["notes"])
