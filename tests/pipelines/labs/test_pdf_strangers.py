"""What reports of laboratories that nothing here was made for taught, each cause in two layouts."""

from pathlib import Path

import pytest

from lab.documents.statements.paper import Paper
from stateward.pipelines.labs.detection import _is_report
from stateward.pipelines.labs.model import Observation, Place
from stateward.pipelines.labs.normalize import normalize_one
from tests.pipelines.labs.printing import read_plain
from tests.pipelines.labs.reading import results
from tests.pipelines.two_stages import JsonRow as Row

Line = tuple[tuple[float, str], ...]
HEADING: Line = ((50, "Component"), (250, "Value"), (330, "Ref Range & Units"))


def told(rows: list[Row]) -> list[tuple[str, ...]]:
    """Name, value, unit, flag and range of each row, as printed."""
    names = ("value", "unit", "flag", "range")
    return [
        (str(each["test"]), *(str(each["printed"].get(name, "")) for name in names))
        for each in rows
    ]


@pytest.mark.parametrize("lines", [(HEADING,), ()], ids=["headings", "no headings"])
@pytest.mark.parametrize(("flag", "means"), [("(HH)", "HH"), ("[LL]", "LL"), ("(High)", "H")])
def test_a_flag_in_brackets_behind_a_value_is_its_flag(
    tmp_path: Path, lines: tuple[Line, ...], flag: str, means: str
) -> None:
    row = ((50, "Lactic Acid"), (250, f"2.4 {flag}"), (330, "0.5 - 2.0 mmol/L"))

    (found,) = read_plain(tmp_path, *lines, row)

    assert (found["value"], found["unit"], found["printed_flag"]) == ("2.4", "mmol/L", means)


@pytest.mark.parametrize("value", ["2.4 (see note below)", "6.0 approximately"])
def test_a_number_with_words_is_no_text_without_a_mark(tmp_path: Path, value: str) -> None:
    (found,) = read_plain(
        tmp_path, HEADING, ((50, "Lactic Acid"), (250, value), (330, "0.5 - 2.0 mmol/L"))
    )

    assert "VALUE_UNREAD" in found["problems"]


@pytest.mark.parametrize("heading", [True, False], ids=["headings", "no headings"])
def test_the_value_in_another_unit_is_no_test_of_its_own(tmp_path: Path, heading: bool) -> None:
    lines: tuple[Line, ...] = (
        ((50, "Glycémie à jeun"), (212, "0,79 g/L"), (300, "(0,70 à 1,05)")),
        ((175, "soit"), (214, "4,38 mmol/L"), (300, "(3,88 à 5,83)")),
        ((50, "Urée"), (212, "0,32 g/L"), (300, "(0,15 à 0,45)")),
        ((175, "soit"), (214, "9,9 mmol/L"), (300, "(2,5 à 7,5)")),
    )
    above: tuple[Line, ...] = (((50, "Examen"), (212, "Résultat"), (300, "Référence")),)

    found = read_plain(tmp_path, *(above if heading else ()), *lines)

    assert [each["test"] for each in found] == ["Glycémie à jeun", "Urée"]
    assert "4,38 mmol/L" in found[0]["comment"]
    # The second one is not the same value: one of the two is wrong.
    assert [each.get("problems", []) for each in found] == [[], ["CELL_UNREAD"]]


def test_the_value_in_another_unit_behind_a_method_in_brackets_is_no_test_of_its_own(
    tmp_path: Path,
) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Examen"), (212, "Résultat"), (300, "Référence")),
        ((50, "Glycémie à jeun"), (212, "1,02 g/L"), (300, "(0,74 à 1,06)")),
        ((55, "(Hexokinase)"), (212, "5,66 mmol/L"), (300, "(4,11 à 5,88)")),
        ((50, "Urée"), (212, "0,32 g/L"), (300, "(0,15 à 0,45)")),
        ((55, "(Cystatine)"), (212, "9,9 mg/L"), (300, "(2,5 à 7,5)")),
    )

    # The last one is not the same value, so that it stays a row.
    assert [each["test"] for each in found] == ["Glycémie à jeun", "Urée", "(Cystatine)"]
    assert "5,66 mmol/L" in found[0]["comment"]


@pytest.mark.parametrize(
    "cells",
    [
        ((212, "7,7 % soit - 0,55 Giga/L 1,00 à 4,50"),),
        ((212, "7,7 % soit - 0,55 Giga/L"), (430, "1,00 à 4,50")),
    ],
    ids=["one cell", "a cell for the range"],
)
def test_a_share_and_a_count_in_one_cell_are_two_results(tmp_path: Path, cells: Line) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Examen"), (212, "Résultat"), (430, "Référence")),
        ((50, "Lymphocytes"), *cells),
    )

    assert told(found) == [
        ("Lymphocytes", "7,7", "%", "", ""),
        ("Lymphocytes", "0,55", "Giga/L", "-", "1,00 à 4,50"),
    ]
    assert [each["code"] for each in found] == ["736-9", "731-0"]


@pytest.mark.parametrize("number", ["No", "#"])
def test_numbered_rows_side_by_side_keep_their_names_and_values(
    tmp_path: Path, number: str
) -> None:
    left = [
        ("White blood cells", "2.74", "10^9/L", "3.50-9.50"),
        ("Mean cell volume", "84.1", "fL", "82.0-100.0"),
        ("Platelets", "319", "10^9/L", "125-350"),
        ("Hemoglobin", "130", "g/L", "115-150"),
    ]
    right = [
        ("Total bilirubin", "17.1", "umol/L", "3.0-21.0"),
        ("Uric acid", "172", "umol/L", "155-357"),
        ("LDL cholesterol", "1.82", "mmol/L", "<3.40"),
        ("Glucose", "5.52", "mmol/L", "3.90-6.10"),
    ]
    heading = (number, "Test item", "Result", "Unit", "Range")
    places = (30, 50, 160, 200, 245, 310, 330, 440, 480, 525)

    found = read_plain(
        tmp_path,
        tuple(zip(places, (*heading, *heading), strict=True)),
        *(
            tuple(zip(places, (str(at), *one, str(at + 4), *other), strict=True))
            for at, (one, other) in enumerate(zip(left, right, strict=True), start=1)
        ),
    )

    assert sorted(told(found)) == sorted(
        (name, value, unit, "", range_) for name, value, unit, range_ in (*left, *right)
    )
    assert not any(each.get("problems") for each in found)


@pytest.mark.parametrize("wanted", ["(Ref: {})", "[Reference range: {}]"])
def test_a_range_in_brackets_with_its_label_stands_below_the_row(
    tmp_path: Path, wanted: str
) -> None:
    found = read_plain(
        tmp_path,
        ((50, "* White Cell Count"), (220, "2.2 x10^9/L")),
        ((220, wanted.format("4.0-11.0")),),
        ((60, "Sodium"), (220, "142 mmol/L")),
        ((220, wanted.format("135-145")),),
        ((50, "* INR"), (220, "1.3")),
        ((220, wanted.format("0.9-1.2")),),
    )

    assert told(found) == [
        ("White Cell Count", "2.2", "x10^9/L", "*", "4.0-11.0"),
        ("Sodium", "142", "mmol/L", "", "135-145"),
        ("INR", "1.3", "", "*", "0.9-1.2"),
    ]


@pytest.mark.parametrize("name", ["Mr John SAMPLE", "Ms Ann Specimen"])
def test_a_name_before_a_date_of_birth_is_no_label_of_the_sample(tmp_path: Path, name: str) -> None:
    (found,) = read_plain(
        tmp_path,
        ((50, name), (170, "Date of Birth: 12-Jun-1955")),
        ((50, "Report Date 14-Mar-2025"), (240, "Specimen Collected 13-Mar-2025")),
        ((50, "Sodium"), (280, "139 mmol/L"), (370, "[133 - 146]")),
    )

    assert found["collected"] == "2025-03-13"


@pytest.mark.parametrize("dates", [("2025/03/10", "2025/06/16"), ("2025.03.10", "2025.06.16")])
def test_columns_of_dates_with_the_year_first_keep_their_own_dates(
    tmp_path: Path, dates: tuple[str, str]
) -> None:
    found = read_plain(
        tmp_path,
        ((40, "Item"), (140, "Standard value"), (230, "Unit"), (290, dates[0]), (390, dates[1])),
        ((40, "ALB"), (140, "4.1~5.1"), (230, "g/dL"), (286, "H"), (310, "5.6"), (410, "4.9")),
        ((40, "CRP"), (140, "≤0.14"), (230, "mg/dL"), (310, "0.09"), (386, "H"), (410, "0.15")),
    )

    assert [(row[0], *row[1:4]) for row in told(found)] == [
        ("ALB", "5.6", "g/dL", "H"),
        ("ALB", "4.9", "g/dL", ""),
        ("CRP", "0.09", "mg/dL", ""),
        ("CRP", "0.15", "mg/dL", "H"),
    ]
    assert [each["collected"] for each in found] == ["2025-03-10", "2025-06-16"] * 2


@pytest.mark.parametrize("heading", ["Test Flag", "Analyte Flag"])
def test_a_heading_for_names_and_flags_is_that_of_the_names(tmp_path: Path, heading: str) -> None:
    found = read_plain(
        tmp_path,
        (
            (50, heading),
            (230, "Results"),
            (320, "Unit"),
            (395, "Ref. Value"),
            (500, "Perform Site*"),
        ),
        ((50, "Total Protein"), (230, "7.0"), (320, "g/dL"), (395, "6.3-7.9"), (510, "SDL1")),
        ((50, "Albumin"), (195, "H"), (230, "5.2"), (320, "g/dL"), (395, "3.4-4.7"), (510, "SDL1")),
    )

    assert told(found) == [
        ("Total Protein", "7.0", "g/dL", "", "6.3-7.9"),
        ("Albumin", "5.2", "g/dL", "H", "3.4-4.7"),
    ]


@pytest.mark.parametrize(
    ("name", "unit", "code"),
    [
        ("T4 (Thyroxine), Free, S", "ng/dL", "3024-7"),
        ("Thyroxine (T4), Free", "ng/dL", "3024-7"),
        ("Limfocyty", "tys/µl", "731-0"),
        ("Limfocyty", "%", "736-9"),
    ],
)
def test_a_name_has_the_code_of_the_test_that_its_unit_and_its_other_words_say(
    name: str, unit: str, code: str
) -> None:
    found = normalize_one(Observation(test=name, value="5.1", unit=unit, where=Place(page=1)))

    assert (found.code, found.problems) == (code, ())


@pytest.mark.parametrize("name", ["Leucócitos", "Leukozyten"])
def test_a_share_of_blood_cells_is_not_coded_as_a_test_strip_of_urine(name: str) -> None:
    found = normalize_one(Observation(test=name, value="100", unit="%", where=Place(page=1)))

    assert found.code != "5799-2"
    assert "CODE_UNSURE" in found.problems


@pytest.mark.parametrize("rest", ["Substrate, S", "Enzyme, S"])
def test_the_rest_of_a_name_close_below_it_is_no_section(tmp_path: Path, rest: str) -> None:
    paper = Paper()
    paper.page()
    paper.text(50, 60, "Example Laboratory, a report of results for a test document, Mr. Example")
    rows = [("Test", "Result", "Reference"), ("Antinuclear Ab, HEp-2", "1:160", "<1:80")]
    rows += [("Sodium", "140", "135-145"), ("Potassium", "4.2", "3.5-5.1")]
    for base, row in zip((120, 134, 159, 173), rows, strict=True):
        for x, text in zip((50, 230, 320), row, strict=True):
            paper.text(x, base, text)
    paper.text(56, 145, rest)

    found = results(tmp_path, paper.pdf())

    assert found[0]["test"] == f"Antinuclear Ab, HEp-2 {rest}"


REPORTS = {
    "monospaced": "Sodium     149 H    141    mmol/L   (135-145)\nPotassium  4.5      6.2    mmol/L\n"
    "Ferritin   162             ug/L     (20-250)",
    "French": "Hémoglobine .....    13,8 g/dL    13,0 à 17,0\nHématocrite .....    36,9 %\n"
    "Plaquettes ....   376 G/L   150 à 400\nFerritine .....   113 µg/L    30 à 400",
    "Russian": "Гемоглобин\n15.1\nг/дл\nКреатинин\n111*\nмкмоль/л\nГлюкоза\n5.8\nммоль/л",  # noqa: RUF001 - as printed
    "work": "Parameter\nErgebnis\nEinheit\nBGW\nBlei\n79,1\nµg/l\n150,0\n"
    "Cadmium\n1,23\nµg/l\n2,00\nNickel\n<0,20\nµg/l\n3,00",
    "drugs": "SUBSTANCE\nRESULT\nSCREEN CUTOFF\nOPIATES\nNEGATIVE\n2000 ng/mL\n"
    "COCAINE\nNEGATIVE\n150 ng/mL\nMDMA\nPOSITIVE\n500 ng/mL",
    "ranges": "Valeurs de référence\nTaux de prothrombine\n96\n70 à 120\nINR\n1,34\n0,80 à 1,20\n"
    "Fibrinogène\n4,37\n2,00 à 4,00\n"
    "D-Dimères\n196",
    "serology": "Normal range\nRheumatoid factor\n<10\nIU/mL\nComplement C3\n0.88\ng/L\nComplement C4\n0.09\ng/L",
}


@pytest.mark.parametrize("text", REPORTS.values(), ids=REPORTS)
def test_a_report_is_recognised_in_other_print_and_languages(text: str) -> None:
    assert _is_report(text)


@pytest.mark.parametrize(
    "text",
    [
        "Patients with anaemia had haemoglobin below 12 g/dL, creatinine of 1.1 mg/dL and glucose of 99 mg/dL.",
        "Saldo    1.204,50\nMiete    -800,00\nApotheke    -12,90",
    ],
    ids=["a paper", "a statement"],
)
def test_running_text_and_statements_are_no_reports(text: str) -> None:
    assert not _is_report(text)


# Causes that the second half of a further set of strange reports showed.


def test_a_range_in_brackets_with_numbers_set_flush_is_one_range(tmp_path: Path) -> None:
    lines: list[Line] = [
        ((50, "Potassium"), (150, "3.7 mmol/L"), (250, "["), (258, "3.4 -"), (300, "4.5]")),
        ((50, "Sodium"), (150, "137 mmol/L"), (250, "["), (256, "136 -"), (298, "146]")),
        ((50, "↑ cGlu"), (150, "6.6 mmol/L"), (250, "["), (258, "3.9 -"), (300, "5.8]")),
        ((50, "Chloride"), (150, "102 mmol/L"), (250, "["), (258, "98 -"), (298, "106]")),
        ((50, "cBase(Ecf)"), (150, "-0.8 mmol/L")),
    ]

    found = read_plain(tmp_path, *lines)

    assert [(each["test"], each.get("low"), each.get("high")) for each in found] == [
        ("Potassium", "3.4", "4.5"), ("Sodium", "136", "146"), ("cGlu", "3.9", "5.8"), ("Chloride", "98", "106"),
        ("cBase(Ecf)", None, None),
    ]  # fmt: skip
    assert "ROW_UNREAD" not in str(found)
    assert found[2]["printed_flag"] == "H"


def test_a_heading_for_dates_above_names_that_are_not_known_is_a_table_of_days(
    tmp_path: Path,
) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Sample Date"), (150, "Flow"), (220, "pH"), (290, "TSS"), (360, "CBOD5")),
        ((150, "(MGD)"), (220, "(SU)"), (290, "(mg/L)"), (360, "(mg/L)")),
        ((50, "02/03/2025"), (150, "2.41"), (220, "6.6"), (290, "10.8"), (360, "<2.0")),
        ((50, "02/19/2025"), (150, "2.76"), (220, "7.9"), (290, "19.0"), (360, "14.7")),
    )

    assert [row[:3] for row in told(found)][2:5] == [
        ("TSS", "10.8", "mg/L"), ("CBOD5", "<2.0", "mg/L"), ("Flow", "2.76", "MGD"),
    ]  # fmt: skip
    assert {each["collected"] for each in found} == {"2025-02-03", "2025-02-19"}
    # The pH of what, nobody says: the code of blood is not given as sure.
    assert "CODE_UNSURE" in found[1]["problems"]


def test_headings_with_two_units_and_their_ranges_give_two_results_a_row(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Analyse"), (200, "Wert"), (260, "Einheit"), (330, "Normbereich")),
        ((50, "Leukozyten"), (200, "6,23"), (260, "G/l"), (330, "4,00 - 10,00")),
        ((50, "Differentialblutbild"), (165, "Anteil %"), (230, "Norm %"), (330, "Anzahl G/l"), (410, "Norm G/l")),
        ((50, "Neutrophile"), (178, "29,0 -"), (230, "40,0 - 75,0"), (350, "3,53"), (410, "1,80 - 7,50")),
    )  # fmt: skip

    assert sorted(told(found))[1:] == [
        ("Neutrophile", "29,0", "%", "-", "40,0 - 75,0"),
        ("Neutrophile", "3,53", "G/l", "", "1,80 - 7,50"),
    ]


def test_a_label_and_a_concentration_and_a_numbered_organism_are_results_and_a_legend_is_none(
    tmp_path: Path,
) -> None:
    found = read_plain(
        tmp_path,
        ((50, "COLONY COUNT: >100,000 CFU/mL"),),
        ((50, "ORGANISM 1: Escherichia coli"),),
        ((50, "ANTIBIOTIC"), (220, "MIC (ug/mL)"), (320, "INTERP")),
        ((50, "AMPICILLIN"), (220, ">=32"), (320, "R")),
        ((50, "CEFAZOLIN"), (220, "<=4"), (320, "S")),
        ((50, "S = SUSCEPTIBLE"), (180, "I = INTERMEDIATE"), (320, "R = RESISTANT")),
    )

    assert [row[:2] for row in told(found)] == [
        ("COLONY COUNT", ">100,000"), ("ORGANISM 1", "Escherichia coli"), ("AMPICILLIN", ">=32"), ("CEFAZOLIN", "<=4"),
    ]  # fmt: skip


def test_limits_goals_and_earlier_results_behind_a_label_are_no_results(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        *(((50, name), (220, "4.1"), (290, "mmol/L"), (360, "3.5-5.1")) for name in ("Sodium", "Potassium", "Glucose")),
        ((50, "Optimal: <100 mg/dL"),),
        ((50, "Borderline: 130-159 mg/dL"),),
        ((50, "Previous result on 2024-02-01: 5.9 mmol/L"),),
    )  # fmt: skip

    assert [row[0] for row in told(found)] == ["Sodium", "Potassium", "Glucose"]


@pytest.mark.parametrize(
    "cells",
    [((212, "0,95 g/L soit 5,27 mmol/L"),), ((212, "0,95 g/L"), (300, "soit 5,27 mmol/L"))],
    ids=["one cell", "two cells"],
)
def test_a_value_in_two_units_in_one_line_is_one_result(tmp_path: Path, cells: Line) -> None:
    (found,) = read_plain(
        tmp_path,
        ((50, "Examen"), (212, "Résultat"), (430, "Référence")),
        ((50, "Glycémie à jeun"), *cells, (430, "0,70 à 1,05")),
    )

    assert (found["value"], found["unit"]) == ("95", "mg/dL")
    assert not found.get("problems")
    assert "5,27 mmol/L" in found["comment"]


@pytest.mark.parametrize(
    "last", ["No abnormal results. Page 1 of 1", "Goede uitslag. Pagina 2 van 2"]
)
def test_the_number_of_a_page_behind_a_sentence_is_no_result(tmp_path: Path, last: str) -> None:
    row = ((50, "Lactic Acid"), (250, "1.4"), (330, "0.5 - 2.0 mmol/L"))

    found = read_plain(tmp_path, HEADING, row, ((50, last),))

    assert [each["test"] for each in found] == ["Lactic Acid"]


def test_the_labels_of_a_running_header_are_no_result(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        HEADING,
        ((50, "Lactic Acid"), (250, "1.4"), (330, "0.5 - 2.0 mmol/L")),
        ((50, "Patient: DOE, JANE"), (250, "Specimen ID:"), (330, "051-882-7710-0"), (450, "Physician:")),
        ((50, "Sodium"), (250, "140"), (330, "135 - 145 mmol/L")),
    )  # fmt: skip

    assert [each["test"] for each in found] == ["Lactic Acid", "Sodium"]


def test_a_titre_is_compared_with_a_range_that_says_it_is_one_and_words_have_no_unit_of_flags(
    tmp_path: Path,
) -> None:
    titre, pattern = read_plain(
        tmp_path,
        ((50, "Test"), (250, "Result"), (330, "Flag"), (400, "Range")),
        ((50, "ANA Titer"), (250, "1:320"), (330, "H"), (400, "<1:40 titer")),
        ((50, "ANA Pattern"), (250, "Nuclear, Speckled"), (330, "A")),
    )

    assert (titre["flag"], titre.get("problems")) == ("H", None)
    assert (pattern.get("unit", ""), pattern["printed_flag"]) == ("", "A")


@pytest.mark.parametrize("name", ["Casts", "Yeast cells budding", "Squamous epithelia"])
def test_what_was_counted_from_to_is_the_result_of_a_test_that_is_not_known(
    tmp_path: Path, name: str
) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Component"), (250, "Result"), (330, "Reference"), (430, "Units")),
        ((50, "Glucose"), (250, "5.1"), (330, "3.9 - 5.6"), (430, "mmol/L")),
        ((50, name), (250, "0 - 2")),
    )

    assert [(each["test"], each["value"]) for each in found][1:] == [(name, "0-2")]


def test_results_of_plus_signs_behind_a_sign_are_no_legend(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Component"), (250, "Result"), (330, "Reference")),
        ((50, "Nitrite"), (250, "negative"), (330, "negative")),
        ((50, "# Urine ketones"), (250, "++"), (330, "none seen")),
    )

    assert [each["value"] for each in found] == ["negative", "2+"]
