"""What comments and further rows of headings say about a table."""

from pathlib import Path

import pytest

from stateward.pipelines.experiments.schema import CellFault, canonical, infer
from stateward.pipelines.experiments.settings import ExperimentSettings
from tests.pipelines.experiments.test_stages import columns, faults, run


def test_a_row_of_units_says_more_than_the_letter_of_a_heading(tmp_path: Path) -> None:
    found = columns(
        run("day,chl_a,ph_m\nd,µg/L,-\n1,0.5,8.1\n2,0.7,8.2\n3,0.9,8.0\n4,0.8,8.0\n", tmp_path)
    )

    assert [found[name]["unit"] for name in ("chl_a", "ph_m")] == ["µg/L", ""]


def test_cells_that_hold_their_units_are_told_apart_from_codes(tmp_path: Path) -> None:
    rows = "".join(
        f"{at}B,{told},1{at}.03.2026\n" for at, told in enumerate(("12.1 mm", "1.25cm", "11.9 mm"))
    )

    (note,) = run(f"id,length,day\n{rows}", tmp_path).notes

    assert note.startswith("NUMBERS_AS_TEXT: table, length: the cells hold their units (mm, cm)")


def test_a_number_that_a_comment_calls_missing_is_no_value(tmp_path: Path) -> None:
    found = run("# Buoy 3; missing = -999\nid,temp\n1,12.5\n2,-999\n3,13.5\n", tmp_path)

    assert (columns(found)["temp"]["count"], columns(found)["temp"]["mean"]) == (2, "13")
    assert "MISSING_TOLD: -999 in table is no value" in str(
        found.completed["validate"].facts["notes"]
    )


@pytest.mark.parametrize(
    "comment", ["# 3 missing, 2 lost", "# missing = see the notes", "# not missing -999"]
)
def test_a_comment_that_only_speaks_of_missing_values_changes_none(
    tmp_path: Path, comment: str
) -> None:
    assert columns(run(f"{comment}\nid,n\n1,5\n2,-999\n3,7\n", tmp_path))["n"]["count"] == 3


def test_headings_that_a_program_wrote_again_are_no_rows(tmp_path: Path) -> None:
    found = run("id,mass [g]\n1,2.5\nid,mass [g]\n2,3.5\n", tmp_path)

    assert (columns(found)["mass [g]"]["count"], faults(found)) == (2, [])
    assert "HEADER_REPEATED: 1 rows" in str(found.completed["validate"].facts["notes"])


@pytest.mark.parametrize("error", ["#VALUE!", "#DIV/0!", "#REF!"])
def test_an_error_of_a_formula_says_nothing_of_the_other_cells(error: str) -> None:
    cells = ["18.2", "21.4", error, "Undetermined", "25.9", "30.1"]
    (field,) = infer(["Ct"], [cells], ExperimentSettings().missing_values).fields

    assert field.type == "number"
    with pytest.raises(CellFault):
        canonical(field, error)
