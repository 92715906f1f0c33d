"""What tells the parts of a table apart in any laboratory's print: headings by their roles, marks by their legend."""

from pathlib import Path

import pytest

from stateward.core.model import Json
from stateward.pipelines.labs.flags import flags_of
from stateward.pipelines.labs.model import LabResult
from tests.pipelines.labs.printing import Line, read_plain
from tests.pipelines.labs.reading import hl7, one

UNKNOWN_HEADINGS = {
    "water": ((50, "Analys"), (200, "Resultat"), (260, "Enhet"), (330, "Kvant."), (390, "Krav A"), (470, "Utförare")),
    "people": ((50, "Test"), (200, "Result"), (260, "Unit"), (330, "Bench"), (390, "Lot X"), (470, "Rack Y")),
}  # fmt: skip


@pytest.mark.parametrize("name", [*UNKNOWN_HEADINGS])
def test_a_test_a_result_and_a_unit_are_headings_whatever_the_other_columns_are_called(
    tmp_path: Path, name: str
) -> None:
    """Units that are not known are units by the column they stand in."""
    found = read_plain(
        tmp_path,
        UNKNOWN_HEADINGS[name],
        ((50, "Alkalinity"), (205, "148"), (260, "mg HCO3/l"), (470, "SB")),
        ((50, "Colour (410 nm)"), (205, "22"), (260, "mg Pt/l"), (470, "SB")),
        ((50, "Conductivity"), (205, "34.6"), (260, "mS/m"), (470, "SB")),
    )

    printed = [(each["test"], each["printed"]["value"], each["printed"]["unit"]) for each in found]
    assert printed == [
        ("Alkalinity", "148", "mg HCO3/l"),
        ("Colour (410 nm)", "22", "mg Pt/l"),
        ("Conductivity", "34.6", "mS/m"),
    ]
    assert not any("ROW_UNREAD" in each.get("problems", []) for each in found)


@pytest.mark.parametrize("heading", ["Measurement Uncertainty", "Mätosäkerhet", "Incertitude"])
def test_an_uncertainty_is_no_part_of_the_result_that_is_missing(
    tmp_path: Path, heading: str
) -> None:
    above = (
        (50, "Parameter"),
        (200, "Result"),
        (260, "Unit"),
        (310, heading),
        (450, "Limit value"),
    )
    found = read_plain(
        tmp_path,
        above,
        *(
            ((50, name), (205, "0.38"), (260, "mg/l"), (320, "20%"), (455, "< 0.50"))
            for name in ("Iron", "Fluoride", "Ammonium")
        ),
    )

    assert [each["printed"]["value"] for each in found] == ["0.38"] * 3
    assert not any("CELL_UNREAD" in each.get("problems", []) for each in found)


@pytest.mark.parametrize(
    ("heading", "column"),
    [("Ergebnis Einheit", "Referenzbereich"), ("Result Unit", "Reference Range")],
)
def test_a_column_of_results_with_their_units_has_both_in_its_heading(
    tmp_path: Path, heading: str, column: str
) -> None:
    """The flag stands in front of it, and earlier results have a heading of two lines beside it."""
    found = read_plain(
        tmp_path,
        ((50, "Untersuchung"), (210, heading), (360, column), (470, "Vorwert")),
        ((50, "Natrium"), (243, "141 mmol/l"), (360, "136 - 145"), (470, "140")),
        ((50, "Kalium"), (162, "+"), (244, "5,4 mmol/l"), (360, "3,4 - 4,5"), (470, "4,3")),
        ((50, "Calcium"), (162, "(+)"), (239, "2,71 mmol/l"), (360, "2,15 - 2,50"), (470, "2,38")),
    )

    told = [(each["printed"]["value"], each["printed"].get("flag", "")) for each in found]
    assert told == [("141", ""), ("5,4", "+"), ("2,71", "(+)")]
    assert [each["printed"]["range"] for each in found] == ["136 - 145", "3,4 - 4,5", "2,15 - 2,50"]


LEGENDS = (
    "* Out of the reference range. # Accredited test.",
    "# ISO 15189 accredited   * Fuera de los valores de referencia",
)


@pytest.mark.parametrize("legend", LEGENDS)
def test_each_sign_of_a_legend_is_explained_by_its_own_words(tmp_path: Path, legend: str) -> None:
    heading = ((60, "Test"), (218, "Result"), (290, "Unit"), (360, "Reference Range"))
    rows: tuple[Line, ...] = tuple(
        ((45, "#"), (60, name), *(((235, "*"),) if is_out else ()), (250, value), (290, "mg/dL"), (360, "74 - 106"))
        for name, value, is_out in (("Glucose", "131", True), ("Urea", "152", True), ("Albumin", "80", False))
    )  # fmt: skip

    found = read_plain(tmp_path, heading, *rows, ((45, legend),))

    assert [each["printed"].get("flag", "") for each in found] == ["*", "*", ""]


def test_a_limit_below_a_row_is_taken_where_the_column_of_ranges_holds_only_the_unit(
    tmp_path: Path,
) -> None:
    (found,) = read_plain(
        tmp_path,
        ((50, "Test"), (250, "Result"), (340, "Reference Range")),
        ((50, "LDL Cholesterol"), (250, "136"), (340, "mg/dL")),
        ((60, "Reference range: <100"),),
    )

    assert (found["unit"], found["high"], found["flag"]) == ("mg/dL", "100", "H")


@pytest.mark.parametrize(
    "line",
    [
        ((60, "Martin SS et al. JAMA. 2013;310(19): 2061-2068"),),
        ((60, "Vitamin D Status"), (250, "25-OH Vitamin D:")),
        ((60, "Microbiological verdict: fit"), (320, "Chemical verdict: fit with remark")),
    ],
    ids=["citation", "heading of classes", "verdicts"],
)
def test_what_stands_between_rows_without_a_value_of_its_own_is_no_result(
    tmp_path: Path, line: Line
) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Test"), (250, "Result"), (340, "Reference Range")),
        ((50, "Cholesterol"), (250, "218"), (340, "<200 mg/dL")),
        ((50, "Glucose"), (250, "92"), (340, "65-99 mg/dL")),
        line,
    )

    assert [each["test"] for each in found] == ["Cholesterol", "Glucose"]


def a_result(value: str, **printed: str) -> LabResult:
    return LabResult(
        test="CRP", kind="none", printed={"value": value, **printed}, problems=("VALUE_UNREAD",)
    )


@pytest.mark.parametrize("value", ["12,", "7l", "<4."])
def test_a_number_that_was_cut_off_flags_the_report(value: str) -> None:
    assert flags_of([], [a_result(value, unit="mg/L")]) == ["VALUE_UNREAD"]
    assert flags_of([], [a_result(value)]) == []


@pytest.mark.parametrize(
    ("obx", "collected"),
    [
        ("20250904155800", "2025-09-04T08:45:00"),  # that of the report
        ("20250904160100", "2025-09-04T08:45:00"),  # after the specimen had arrived
        ("20250904091500", "2025-09-04T09:15:00"),  # of a later sample
    ],
)
def test_the_time_of_a_result_is_not_that_of_its_specimen(
    tmp_path: Path, obx: str, collected: str
) -> None:
    order = (
        "OBR|1|1|2|BIOP^Profile^L|||20250904084500|||||||20250904132100||||||||20250904155800||BC|F"
    )

    found = one(tmp_path, hl7(order, f"OBX|1|NM|K^Potassium^L||4.9|mmol/L|3.5-5.3|N|||F|||{obx}"))

    assert found["collected"] == collected


@pytest.mark.parametrize(("code", "is_told"), [("not-performed", True), ("unknown", False)])
def test_a_result_that_fhir_says_was_not_made_is_no_value_that_is_missing(
    tmp_path: Path, code: str, is_told: bool
) -> None:
    import json

    resource: dict[str, Json] = {
        "resourceType": "Observation",
        "status": "final",
        "category": [{"coding": [{"code": "laboratory"}]}],
        "code": {"text": "C-Reactive Protein"},
        "dataAbsentReason": {"coding": [{"code": code}]},
        "referenceRange": [{"text": "<5.0 mg/L"}],
    }

    found = one(tmp_path, json.dumps(resource))

    assert found["problems"][0] == ("PENDING" if is_told else "NO_VALUE")
