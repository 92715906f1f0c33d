"""Columns of a report that no heading tells: tables side by side, of several samples, organisms and days."""

from pathlib import Path

import pytest

from stateward.pipelines.labs.pdf.cells import split_unit_and_range
from stateward.pipelines.labs.pdf.headings import DATE
from stateward.pipelines.labs.ranges import read_range
from stateward.pipelines.labs.table import iso_date
from tests.pipelines.labs.printing import Line, read_plain


def columns(places: tuple[float, ...], *rows: tuple[str, ...]) -> list[Line]:
    return [tuple((x, text) for x, text in zip(places, row, strict=False) if text) for row in rows]


BESIDE = (50, 150, 190, 240, 320, 420, 460, 510)
SIDE_BY_SIDE = [
    ("Sodium", "140", "mmol/L", "136-145", "ALT", "23", "U/L", "10-50"),
    ("Potassium", "", "mmol/L", "3.5-5.1", "AST", "31", "U/L", "10-40"),
    ("Chloride", "99", "mmol/L", "98-107", "GGT", "12", "U/L", "5-60"),
    ("Calcium", "", "", "", "Albumin", "41", "g/L", "35-50"),
    ("Urea", "5.0", "mmol/L", "2.5-7.8", "Ferritin", "77", "ug/L", "30-400"),
]


@pytest.mark.parametrize("heading", [[], [("Test", "Result", "Unit", "Range") * 2]])
def test_a_name_without_a_value_beside_another_table_is_told(
    tmp_path: Path, heading: list[tuple[str, ...]]
) -> None:
    found = read_plain(tmp_path, *columns(BESIDE, *heading, *SIDE_BY_SIDE))

    unread = [str(each["test"]) for each in found if "ROW_UNREAD" in each.get("problems", [])]
    assert [name.split()[0] for name in sorted(unread)] == ["Calcium", "Potassium"]
    assert len(found) == 10
    assert not any(each.get("section") for each in found)


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("[150-400] 304", None),  # a range, and the result of another day
        ("4.20 - 5.40 M/uL", ("4.20", "5.40")),  # of no men
        ("<5.7 % of total Hgb", (None, "5.7")),
        ("10 or more", ("10", None)),
        ("5.0 mmol/L or less", (None, "5.0")),
    ],
)
def test_what_stands_behind_a_range_is_its_unit_or_no_part_of_it(
    text: str, limits: tuple[str | None, str | None] | None
) -> None:
    told = read_range(text)

    found = tuple(None if each is None else str(each) for each in (told.low, told.high))
    assert (found if told.kind == "interval" else None) == limits


@pytest.mark.parametrize(
    ("unit", "range_", "told"),
    [
        ("mmol/l", "3,5 - 5,1 +", ("mmol/l", "3,5 - 5,1", "+")),
        ("U/L", "10 - 50 -", ("U/L", "10 - 50", "-")),
        ("% foo", "1 - 2", ("% foo", "1 - 2", "")),  # half a unit would be another one
    ],
)
def test_a_flag_behind_a_range_is_a_flag_and_a_unit_stays_whole(
    unit: str, range_: str, told: tuple[str, str, str]
) -> None:
    assert split_unit_and_range(unit, range_) == told


def test_a_date_without_a_gap_to_the_heading_before_it_is_a_column(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Test"), (200, "Unit"), (270, "Reference10/11/2025"), (390, "13/12/2025")),
        ((50, "Sodium"), (200, "mmol/L"), (270, "[136-145]"), (340, "142"), (400, "139")),
        ((50, "Platelets"), (200, "G/L"), (270, "[150-400]"), (340, "304"), (400, "-")),
        ((50, "Potassium"), (200, "mmol/L"), (270, "[3.5-5.1]"), (340, "4.2"), (400, "4.4")),
    )

    assert [(each["test"], each["value"], each["high"], each["collected"]) for each in found] == [
        ("Sodium", "142", "145", "2025-11-10"),
        ("Sodium", "139", "145", "2025-12-13"),
        ("Platelets", "304", "400", "2025-11-10"),
        ("Potassium", "4.2", "5.1", "2025-11-10"),
        ("Potassium", "4.4", "5.1", "2025-12-13"),
    ]


def test_an_unknown_name_before_a_colon_with_unit_and_range_is_a_result(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Ferritin: 132 ug/L"), (300, "(30 - 400)")),
        ((50, "Foobarase: 215 nmol/L H"), (300, "(50 - 150)")),
        ((50, "ALT (GPT): 7 U/L"), (300, "[10 - 50]")),
    )

    assert [(each["test"], each["printed"]["value"]) for each in found] == [
        ("Ferritin", "132"),
        ("Foobarase", "215"),
        ("ALT (GPT)", "7"),
    ]
    assert found[1]["printed"]["flag"] == "H"


def test_a_name_that_goes_on_below_starts_behind_its_code(tmp_path: Path) -> None:
    places = (50, 110, 320, 400)
    heading = ("Code", "Assay", "Value", "Reference range")
    rows = [
        ("UREA", "Urea [mg/dL]", "22", "17-49"),
        ("CHOL", "Cholesterol, total in serum or", "126", "< 200"),
        ("", "plasma, fasting [mg/dL]"),
        ("TG", "Triglycerides [mg/dL]", "133", "< 150"),
    ]

    found = read_plain(tmp_path, *columns(places, heading, *rows))

    assert found[1]["test"] == "Cholesterol, total in serum or plasma, fasting [mg/dL]"
    assert found[1]["printed"]["unit"] == "mg/dL"


def test_the_hours_and_numbers_of_samples_are_no_results(tmp_path: Path) -> None:
    places = (50, 200, 290, 380, 450)
    rows = [
        ("Date", "04/11/2024", "18/03/2025"),
        ("Time", "08:10", "09:25"),
        ("Lab No.", "51022871", "52290017", "Units", "Reference"),
        ("Sodium", "140", "132 L", "mmol/L", "(135-145)"),
        ("Potassium", "4.6", "4.7", "mmol/L", "(3.5-5.5)"),
        ("Chloride", "101", "99", "mmol/L", "(95-110)"),
        ("Urea", "3.0", "6.4", "mmol/L", "(2.5-7.0)"),
    ]

    found = read_plain(tmp_path, *columns(places, *rows))

    assert [each["test"] for each in found] == [
        name for name, *_ in rows[3:] for _ in range(2)
    ]  # fmt: skip
    assert [each["collected"] for each in found[:2]] == ["2024-11-04", "2025-03-18"]


def test_a_unit_below_a_range_is_its_unit(tmp_path: Path) -> None:
    places = (50, 200, 290)
    rows = [
        ("Test Name", "Result", "Reference Range"),
        ("SODIUM", "140", "135-146 mmol/L"),
        ("EGFR", "77", "> OR = 60"),
        ("", "", "mL/min/1.73m2"),
        ("POTASSIUM", "4.3", "3.5-5.3 mmol/L"),
    ]

    found = read_plain(tmp_path, *columns(places, *rows))

    assert (found[1]["unit"], found[1]["low"]) == ("mL/min/{1.73_m2}", "60")
    assert "problems" not in found[1]


ANTIBIOTICS = [("Oxacilline", "R", ""), ("Gentamicine", "S", "R"), ("Ceftazidime", "", "S")]


@pytest.mark.parametrize(
    ("above", "told"),
    [
        (
            [("Germe 1 : Staphylococcus aureus",), ("ANTIBIOGRAMME", "Germe 1", "Germe 2")],
            [
                "Germe 1: Staphylococcus aureus",
                "Germe 1: Staphylococcus aureus",
                "Germe 2",
                "Germe 2",
            ],
        ),
        ([("Results of the culture",)], [None, None, None, None]),
    ],
)
def test_the_letters_of_several_organisms_are_told_apart_or_marked(
    tmp_path: Path, above: list[tuple[str, ...]], told: list[str | None]
) -> None:
    found = read_plain(tmp_path, *columns((50, 250, 350), *above, *ANTIBIOTICS))

    assert [each.get("comment") for each in found] == told
    assert [each["value"] for each in found] == ["resistant", "susceptible", "resistant", "susceptible"]  # fmt: skip
    is_marked = {"CELL_UNREAD" in each.get("problems", []) for each in found}
    assert is_marked == {told[0] is None}


def test_columns_of_several_samples_are_results_that_say_of_which_they_are(tmp_path: Path) -> None:
    rows = [
        ("Paramètre", "Unité", "Seuil", "S1 (0-0,5 m)", "S2 (1 m)"),
        ("Arsenic", "mg/kg", "25,0", "9,5", "26,1"),
        ("Cadmium", "mg/kg", "0,45", "<0,10", "0,34"),
    ]

    found = read_plain(tmp_path, *columns((50, 180, 250, 320, 430), *rows))

    assert [(each["test"], each["value"], each["high"], each["comment"]) for each in found] == [
        ("Arsenic", "9.5", "25.0", "S1 (0-0,5 m)"),
        ("Arsenic", "26.1", "25.0", "S2 (1 m)"),
        ("Cadmium", "0.10", "0.45", "S1 (0-0,5 m)"),
        ("Cadmium", "0.34", "0.45", "S2 (1 m)"),
    ]
    assert not any("AMBIGUOUS_DATE" in each.get("problems", []) for each in found)


def test_columns_whose_names_are_not_alike_are_not_all_results(tmp_path: Path) -> None:
    rows = [
        ("Analyte", "Units", "Yours", "Average"),
        ("Sodium", "mmol/L", "140", "139"),
        ("Potassium", "mmol/L", "4.2", "4.4"),
        ("Chloride", "mmol/L", "101", "103"),
        ("Urea", "mmol/L", "6.1", "5.2"),
        ("Calcium", "mmol/L", "2.3", "2.4"),
    ]

    found = read_plain(tmp_path, *columns((50, 180, 260, 340), *rows))

    assert [each["value"] for each in found[:3]] == ["140", "4.2", "101"]
    assert len(found) == 5
    assert all("CELL_UNREAD" in each["problems"] for each in found)


def test_a_row_with_words_of_headings_is_no_line_of_headings(tmp_path: Path) -> None:
    rows = [
        ("Test Name", "Result", "Unit", "Reference Interval"),
        ("Triglycerides", "134", "mg/dL", "Normal : < 150"),
        ("HDL Cholesterol", "55", "mg/dL", "40 - 60"),
    ]

    found = read_plain(tmp_path, *columns((50, 250, 330, 420), *rows))

    assert [(each["test"], each["value"]) for each in found] == [
        ("Triglycerides", "134"),
        ("HDL Cholesterol", "55"),
    ]


def test_classes_below_the_label_of_a_range_are_the_range(tmp_path: Path) -> None:
    rows = [
        ("TEST NAME", "TECHNOLOGY", "VALUE", "UNITS"),
        ("HbA1c", "HPLC", "3.3", "%"),
        ("Bio. Ref. Interval. :-",),
        ("Below 5.7% : Normal",),
        (">=6.5% : Diabetic",),
    ]

    found = read_plain(tmp_path, *columns((50, 250, 330, 420), *rows))

    assert found[0]["printed"]["range"] == "Below 5.7% : Normal; >=6.5% : Diabetic"
    assert found[0]["problems"] == ["RANGE_CONDITIONAL"]


def test_a_report_of_water_has_no_codes_of_tests_of_blood(tmp_path: Path) -> None:
    rows = [
        ("Trinkwasseruntersuchung nach TrinkwV",),
        ("Parameter", "Messwert", "Einheit", "Grenzwert"),
        ("Natrium", "131", "mg/l", "200"),
        ("Chlorid", "79", "mg/l", "250"),
    ]

    found = read_plain(tmp_path, *columns((50, 250, 330, 420), *rows))

    assert [(each["value"], each["unit"], each["high"]) for each in found] == [
        ("131", "mg/L", "200"),
        ("79", "mg/L", "250"),
    ]
    assert not any(each.get("code") for each in found)


def test_a_laboratory_that_tests_water_too_has_results_of_patients(tmp_path: Path) -> None:
    rows = [
        ("Laboratory for blood and drinking water",),
        ("Patient: Jane Doe",),
        ("Test", "Result", "Units", "Range"),
        ("Sodium", "140", "mmol/L", "135-145"),
        ("Chloride", "101", "mmol/L", "98-107"),
    ]

    found = read_plain(tmp_path, *columns((50, 250, 330, 420), *rows))

    assert [each["code"] for each in found] == ["2951-2", "2075-0"]


def test_a_date_with_signs_for_year_month_and_day_is_that_of_the_sample(tmp_path: Path) -> None:
    day, is_sure = iso_date("2026年5月8日", "dmy")

    assert (day, is_sure) == ("2026-05-08", True)
    assert DATE.fullmatch("2026年5月8日")


DAYS = ((50, "Prueba"), (180, "13/10/2026"), (260, "10/09/2026"), (330, "Unidad"))


def test_a_number_that_a_long_name_touches_is_a_value(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        DAYS,
        ((50, "Glucosa"), (195, "92"), (270, "93"), (330, "mg/dL")),
        ((50, "Urea"), (195, "22"), (270, "23"), (330, "mg/dL")),
        ((50, "Creatinina"), (195, "94"), (270, "95"), (330, "umol/L")),
        ((50, "Hemoglobina glicosilada (HbA1c)"), (195, "62 +"), (270, "30"), (330, "mmol/mol")),
    )

    assert [each["printed"]["value"] for each in found[-2:]] == ["62", "30"]
    assert found[-1]["test"] == "Hemoglobina glicosilada (HbA1c)"


def test_dates_beside_their_columns_are_those_of_the_columns_in_their_order(
    tmp_path: Path,
) -> None:
    rows = [
        (name, "mmol/L", "(1 - 200)", value, other)
        for name, value, other in (
            ("Sodium", "140", "141"), ("Potassium", "4.2", "4.3"), ("Chloride", "99", "98"),
            ("Urea", "5.0", "5.1"), ("Calcium", "2.3", "2.4"),
        )
    ]  # fmt: skip
    heading = ((50, "PREISKAVA"), (150, "ENOTA"), (220, "MEJE 28/02/2026"), (390, "06/04/2026"))

    found = read_plain(tmp_path, heading, *columns((50, 150, 220, 312, 400), *rows))

    assert [(each["value"], each["collected"]) for each in found[:2]] == [
        ("140", "2026-02-28"),
        ("141", "2026-04-06"),
    ]
    assert len(found) == 10


def test_a_range_below_another_heading_is_a_range(tmp_path: Path) -> None:
    rows = [
        ("Measurement", "Sample typeHealthy range", "", "Your result", "Unit"),
        ("Sodium", "Serum", "[135-145]", "164", "mmol/L"),
        ("Albumin", "Serum", "[35-50]", "41", "g/L"),
    ]

    found = read_plain(tmp_path, *columns((50, 200, 262, 350, 430), *rows))

    assert [each["printed"]["range"] for each in found] == ["[135-145]", "[35-50]"]


def test_a_name_without_headings_goes_on_until_its_brackets_close(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Alkaline phosphatase (serum,"), (300, "122"), (370, "40-130")),
        ((50, "plasma, standard) [U/L]"),),
        ((50, "Sodium [mmol/L]"), (300, "140"), (370, "136-145")),
    )

    assert [(each["test"], each.get("unit")) for each in found] == [
        ("Alkaline phosphatase (serum, plasma, standard) [U/L]", "U/L"),
        ("Sodium [mmol/L]", "mmol/L"),
    ]


def test_two_numbers_in_a_column_of_values_are_never_one(tmp_path: Path) -> None:
    rows = [
        ("Test", "Result", "", "Unit", "Reference range"),
        ("Sodium", "143", "138", "mmol/L", "135-145"),
        ("Chloride", "99", "", "mmol/L", "98-107"),
    ]

    found = read_plain(tmp_path, *columns((50, 200, 232, 300, 400), *rows))

    assert "CELL_UNREAD" in found[0]["problems"]
    assert "CELL_UNREAD" not in found[1].get("problems", [])


@pytest.mark.parametrize("code", ["Kuerz", "Code"])
def test_of_several_unknown_headings_before_the_values_the_widest_column_is_that_of_the_names(
    tmp_path: Path, code: str
) -> None:
    rows = [
        (code, "Bestimmtes", "Result", "Unit", "Reference range"),
        ("RBC", "Erythrocytes of the blood", "3.74", "T/L", "4.30-5.75"),
        ("HGB", "Hemoglobin of the blood", "112", "g/L", "132-171"),
    ]

    found = read_plain(tmp_path, *columns((50, 100, 300, 360, 430), *rows))

    assert [each["test"] for each in found] == [rows[1][1], rows[2][1]]
