"""Sections of a lab report are the titles of its parts, and no other line between the rows."""

from pathlib import Path

import pytest

from stateward.pipelines.labs.pdf.line_kinds import is_no_section
from tests.pipelines.labs.printing import Line, read_plain


@pytest.mark.parametrize(
    "text",
    [
        "DELHI 110085", "New Delhi - 110 085", "Sector 18, Rohini", "75013 Paris", "80331 München", "Musterstraße 5",
        "00-950 Warszawa", "1012 AB Amsterdam", "London SW1A 1AA", "Springfield IL 62704-1234", "12 rue des Exemples",
        "(VCS Technology)", "VCS Technology", "(Electrical Impedance)", "(Photometry)",
    ],
)  # fmt: skip
def test_an_address_or_a_method_is_no_section(text: str) -> None:
    assert is_no_section(text)


@pytest.mark.parametrize(
    "text",
    [
        "HAEMATOLOGY", "Lipid Panel 303756", "005009 CBC With Differential", "(Serum)", "Microscopy",
        "PCR Respiratory Panel", "Hepatitis B", "Urine Examination, Microscopy", "Vitamin D 25-OH",
        "Großes Blutbild", "Bilan lipidique", "Allergy Group 3", "(Hemoglobin)", "Tumor markers CA 19-9",
    ],
)  # fmt: skip
def test_a_title_with_a_number_or_in_brackets_stays_a_section(text: str) -> None:
    assert not is_no_section(text)


@pytest.mark.parametrize("at", [0, 1], ids=["below the title", "between rows"])
@pytest.mark.parametrize("between", ["DELHI 110085", "(VCS Technology)"])
def test_rows_below_an_address_or_a_method_are_of_the_section_above(
    tmp_path: Path, between: str, at: int
) -> None:
    rows: list[Line] = [
        ((50, "Haemoglobin"), (250, "14.1"), (330, "g/dL"), (420, "13.0 - 17.0")),
        ((50, "Platelet Count"), (250, "240"), (330, "10^9/L"), (420, "150 - 410")),
        ((50, "MCV"), (250, "88"), (330, "fL"), (420, "83 - 101")),
    ]
    rows.insert(at, ((50, between),))
    heading: Line = ((50, "Test"), (250, "Result"), (330, "Units"), (420, "Reference Range"))

    found = read_plain(tmp_path, heading, ((50, "Haematology"),), *rows)

    assert [(each["test"], each["section"]) for each in found] == [
        ("Haemoglobin", "Haematology"),
        ("Platelet Count", "Haematology"),
        ("MCV", "Haematology"),
    ]


@pytest.mark.parametrize("beside", ["Material: Serum", "Probenmaterial: EDTA-Blut", "(Serum)"])
def test_a_title_with_its_specimen_beside_it_is_no_row(tmp_path: Path, beside: str) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Untersuchung"), (250, "Ergebnis"), (330, "Einheit"), (420, "Referenzbereich")),
        ((50, "Kalium"), (250, "4,1"), (330, "mmol/l"), (420, "3,5 - 5,1")),
        ((50, "Infektionen"), (330, beside)),
        ((50, "CRP"), (250, "38,4"), (330, "mg/l"), (420, "< 5,0")),
    )

    assert [(each["test"], each.get("section", "").partition(" ")[0]) for each in found] == [
        ("Kalium", ""), ("CRP", "Infektionen"),
    ]  # fmt: skip
