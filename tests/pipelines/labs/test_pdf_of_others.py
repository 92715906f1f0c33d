"""Shapes that other people's documents have: bars, methods below names, cells of several lines, signatures."""

from pathlib import Path

import pytest

from lab.documents.statements.paper import Paper
from stateward.pipelines.labs.pdf.cells import split_unit_and_range
from stateward.pipelines.labs.words import flag_of_words
from tests.pipelines.labs.printing import read_plain
from tests.pipelines.labs.reading import results
from tests.pipelines.two_stages import JsonRow as Row

Place = tuple[float, float, str]  # from the left, from the top, the text
HEADING = ("Test", "Result", "Unit", "Reference Range")
COLUMNS = (50, 190, 240, 330)
SIGNED = (
    "Dr. A. Example, MD (Pathology)        Dr. B. Sample, PhD",
    "Reg. No: 44719                        Reg. No: 33120",
    "Checked by                            Lab Technician",
)


def told(rows: list[Row]) -> list[tuple[str, ...]]:
    names = ("value", "unit", "range")
    return [
        (str(each["test"]), *(str(each.get("printed", {}).get(name) or "") for name in names))
        for each in rows
    ]


def printed(*places: Place, size: float = 9) -> bytes:
    paper = Paper()
    paper.page()
    paper.text(50, 40, "Example Laboratory, a report of results for a test document, Mr. Example")
    for x, y, text in places:
        paper.text(x, y, text, size=size)
    return paper.pdf()


def line(y: float, *texts: str) -> list[Place]:
    return [(x, y, text) for x, text in zip(COLUMNS, texts, strict=False) if text]


GLUCOSE, SODIUM, TSH = (
    ("Glucose", "92", "mg/dL", "70 - 99"),
    ("Sodium", "141", "mmol/L", "136 - 145"),
    ("TSH", "6.20", "mIU/L", "0.40 - 4.50"),
)


@pytest.mark.parametrize("bar", ["{} | {} | {} | {}", "| {} | {} | {} | {} |", "|{}|{}|{}|{}|"])
def test_bars_part_the_columns_of_a_table(tmp_path: Path, bar: str) -> None:
    rule = bar.format("---", "---", "---", "---")
    texts = [bar.format(*HEADING), rule, *(bar.format(*row) for row in (GLUCOSE, SODIUM, TSH))]

    found = read_plain(tmp_path, *(((50, text),) for text in texts))

    assert told(found) == [GLUCOSE, SODIUM, TSH]


def test_bars_of_a_letterhead_part_nothing(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Harbour Lane 14 | Westbrook | accredited"),),
        tuple(zip(COLUMNS, HEADING, strict=True)),
        tuple(zip(COLUMNS, GLUCOSE, strict=True)),
    )

    assert told(found) == [GLUCOSE]


@pytest.mark.parametrize("below", ["(Hexokinase)", "(ISE, indirect)", "(Calculated)"])
def test_a_method_in_brackets_below_a_name_is_no_part_of_it(tmp_path: Path, below: str) -> None:
    wide = ("Alkaline Phosphatase (ALP)", "80", "U/L", "40 - 130")
    lines = (
        *line(80, *HEADING), *line(100, *GLUCOSE), (50, 110, below), *line(126, *SODIUM),
        *line(139, *wide),
    )  # fmt: skip

    found = results(tmp_path, printed(*lines))

    assert told(found) == [GLUCOSE, SODIUM, wide]
    assert found[0]["comment"] == below


def test_brackets_of_a_name_that_its_column_was_too_narrow_for_are_its_rest(tmp_path: Path) -> None:
    lines = (
        *line(80, *HEADING), *line(100, "Alanine Aminotransferase", "31", "U/L", "< 45"),
        (50, 110, "(ALT / SGPT)"), *line(130, *SODIUM), *line(150, *TSH),
    )  # fmt: skip

    found = results(tmp_path, printed(*lines))

    assert told(found)[0][0] == "Alanine Aminotransferase (ALT / SGPT)"


LONG = ("Red Cell Distribution", "Width - Coefficient of", "Variation")
WRAPPED = (" ".join(LONG), "13.1", "%", "11.6 - 14.0")


def wrapped(value_at: int, *, gap: float) -> bytes:
    """A name of three lines whose value stands beside one of them, between rows of one line."""
    places, y = line(80, *HEADING), 100.0
    for row in (GLUCOSE, WRAPPED, SODIUM, WRAPPED, TSH):
        pieces = LONG if row is WRAPPED else (row[0],)
        for at, piece in enumerate(pieces):
            is_value = row is not WRAPPED or at == value_at
            places += line(y + 11 * at, piece, *(row[1:] if is_value else ()))
        y += 11 * len(pieces) + gap
    return printed(*places)


@pytest.mark.parametrize("value_at", [0, 1, 2])
def test_the_lines_of_a_name_are_one_wherever_its_value_stands(
    tmp_path: Path, value_at: int
) -> None:
    found = results(tmp_path, wrapped(value_at, gap=7))

    assert told(found) == [GLUCOSE, WRAPPED, SODIUM, WRAPPED, TSH]


def test_a_value_in_the_middle_of_its_name_needs_no_space_between_rows(tmp_path: Path) -> None:
    found = results(tmp_path, wrapped(1, gap=0))

    assert told(found) == [GLUCOSE, WRAPPED, SODIUM, WRAPPED, TSH]


def test_a_title_close_above_a_row_is_no_part_of_its_name(tmp_path: Path) -> None:
    lines = (
        *line(80, *HEADING), (50, 100, "Substrates of today"), *line(111, *GLUCOSE),
        *line(127, *SODIUM), *line(143, "Alkaline Phosphatase (ALP)", "80", "U/L", "40 - 130"),
        (50, 160, "More of them"), *line(171, *TSH),
    )  # fmt: skip

    found = results(tmp_path, printed(*lines))

    assert [row[0] for row in told(found)] == [
        "Glucose", "Sodium", "Alkaline Phosphatase (ALP)", "TSH",
    ]  # fmt: skip


def test_a_range_of_several_lines_around_a_value_is_that_of_the_value(tmp_path: Path) -> None:
    places, y = line(80, *HEADING), 100.0
    for name in ("Hemoglobin", "Hematocrit", "Ferritin"):
        places += [(330, y, "Male: 13.0 - 17.0"), (330, y + 11, "Female: 12.0 - 15.0")]
        places += line(y + 5.5, name, "14.1", "g/dL")
        y += 28

    found = results(tmp_path, printed(*places))

    assert {row[3] for row in told(found)} == {"Male: 13.0 - 17.0 Female: 12.0 - 15.0"}


def test_a_statement_may_name_its_range_and_its_flag(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Glucose: 120 mg/dL"), (170, "(Reference: 70 - 99 mg/dL)"), (320, "[HIGH]")),
        ((50, "Sodium: 141 mmol/L"), (170, "(Reference: 136 - 145 mmol/L)"), (320, "[NORMAL]")),
        ((50, "Vitamin D (25-Hydroxy): 15 ng/mL"), (200, "(Reference: 30 - 100 ng/mL) [LOW]")),
    )

    assert [(each["test"], each["low"], each["printed_flag"]) for each in found] == [
        ("Glucose", "70", "H"), ("Sodium", "136", "N"), ("Vitamin D (25-Hydroxy)", "30", "L"),
    ]  # fmt: skip


def test_who_signs_a_report_is_no_result(tmp_path: Path) -> None:
    signed = tuple(
        tuple((x, part) for x, part in zip((50, 230), text.split(" " * 8), strict=False))
        for text in SIGNED
    )
    table = tuple(tuple(zip(COLUMNS, row, strict=True)) for row in (HEADING, GLUCOSE, SODIUM))

    found = read_plain(tmp_path, *table, *signed)

    assert told(found) == [GLUCOSE, SODIUM]


def test_a_table_of_what_values_mean_below_a_heading_of_remarks_is_no_result(
    tmp_path: Path,
) -> None:
    rows = (HEADING, GLUCOSE, SODIUM)
    found = read_plain(
        tmp_path,
        *(tuple(zip(COLUMNS, row, strict=True)) for row in rows),
        ((50, "Interpretation"),),
        ((50, "Ankylosing spondylitis"), (160, "++++")),
        ((50, "Very high <50"), (160, "<80")),
        tuple(zip(COLUMNS, TSH, strict=True)),
    )

    assert told(found) == [GLUCOSE, SODIUM, TSH]


def test_a_raised_figure_behind_a_ten_is_its_exponent(tmp_path: Path) -> None:
    paper = Paper()
    paper.page()
    paper.text(50, 40, "Example Laboratory, a report of results for a test document, Mr. Example")
    for x, text in zip(COLUMNS, HEADING, strict=True):
        paper.text(x, 80, text)
    for y, name in ((100, "Platelets"), (114, "Leucocytes"), (128, "Neutrophils")):
        for x, text in zip(COLUMNS, (name, "6.2", "10", "4.0 - 11.0"), strict=True):
            paper.text(x, y, text)
        paper.text(250.1, y - 3.5, "9", size=5.5)
        paper.text(253.2, y, "/L")

    found = results(tmp_path, paper.pdf())

    assert {each["printed"]["unit"] for each in found} == {"10^9/L"}


@pytest.mark.parametrize(("dash", "means"), [("-", None), ("L", "L")])
def test_a_dash_beside_values_within_their_range_is_no_flag(
    tmp_path: Path, dash: str, means: str | None
) -> None:
    columns = (*COLUMNS, 420)
    rows = (
        (*HEADING, "Flag"), (*GLUCOSE, "-"), (*SODIUM, "-"), (*TSH, "H"),
        ("Potassium", "3.0", "mmol/L", "3.5 - 5.1", dash),
    )  # fmt: skip

    found = read_plain(tmp_path, *(tuple(zip(columns, row, strict=True)) for row in rows))

    assert [each.get("printed_flag") for each in found] == [None, None, "H", means]


@pytest.mark.parametrize(("flag", "means"), [("✓ Within range", "N"), ("● High", "H")])
def test_a_sign_before_a_word_that_is_a_flag_belongs_to_it(flag: str, means: str) -> None:
    assert flag_of_words(flag) == means


def test_a_name_wider_than_its_heading_is_no_value(tmp_path: Path) -> None:
    """The heading of the values stands left of where names end, and the value between two lines of its name."""
    long = ("Total Iron Binding Capacity", "(TIBC) of today")
    places, y = [*line(80, "Test", "", "Unit", "Reference Range"), (150.0, 80.0, "Result")], 100.0
    for row in (GLUCOSE, long, SODIUM, TSH):
        if row is long:
            places += [(50, y, long[0]), (50, y + 11, long[1])]
            places += line(y + 5.5, "", "403", "ug/dL", "250 - 450")
        else:
            places += line(y, *row)
        y += 11 * (1 + (row is long)) + 7

    found = results(tmp_path, printed(*places))

    assert told(found) == [GLUCOSE, (" ".join(long), "403", "ug/dL", "250 - 450"), SODIUM, TSH]


def test_a_unit_broken_in_two_lines_is_whole(tmp_path: Path) -> None:
    places = [
        *line(80, *HEADING), *line(100, *GLUCOSE), (240, 118, "mL/min/1."), *line(123.5, "eGFR", "61"),
        (330, 123.5, "> 60"), (240, 129, "73m2"), *line(147, *SODIUM),
    ]  # fmt: skip

    found = results(tmp_path, printed(*places))

    assert told(found)[1] == ("eGFR", "61", "mL/min/1.73m2", "> 60")


def test_every_line_of_a_range_below_its_row_belongs_to_it(tmp_path: Path) -> None:
    ages = ("Non pregnant: 2.8 - 29.2", "Pregnant: 9.7 - 208.5", "Postmenopausal: 1.8 - 20.3")
    places = [*line(80, *HEADING), *line(100, "Prolactin", "11.0", "ng/mL")]
    places += [(330, 112 + 13 * at, text) for at, text in enumerate(ages)]

    found = results(tmp_path, printed(*places, *line(160, *TSH)))

    assert told(found) == [("Prolactin", "11.0", "ng/mL", "; ".join(ages)), TSH]


def test_a_method_in_small_print_behind_a_name_is_no_part_of_it(tmp_path: Path) -> None:
    paper = Paper()
    paper.page()
    paper.text(50, 40, "Example Laboratory, a report of results for a test document, Mr. Example")
    for at, row in enumerate((HEADING, GLUCOSE, SODIUM)):
        for x, text in zip(COLUMNS, row, strict=True):
            paper.text(x, 80 + 14 * at, text)
    paper.text(90, 94, "(Hexokinase)", size=6.5)

    assert told(results(tmp_path, paper.pdf())) == [GLUCOSE, SODIUM]


def test_a_line_lists_results_with_commas_in_their_names(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Calcium, Total 8.9 mg/dL (8.7 - 10.4); Urea 30.0 mg/dL (13.0 - 43.0)"),),
        ((50, "Sodium 141 mmol/L (136 - 145); TSH 6.20 mIU/L (0.40 - 4.50)"),),
    )

    assert [row[:3] for row in told(found)] == [
        ("Calcium, Total", "8.9", "mg/dL"), ("Urea", "30.0", "mg/dL"),
        ("Sodium", "141", "mmol/L"), ("TSH", "6.20", "mIU/L"),
    ]  # fmt: skip


def test_criteria_of_a_disease_below_their_heading_are_no_results(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        tuple(zip(COLUMNS, HEADING, strict=True)),
        tuple(zip(COLUMNS, GLUCOSE, strict=True)),
        ((50, "ADA criteria for diabetes"),),
        ((50, "Fasting plasma glucose"), (190, ">= 126 mg/dL")),
        ((50, "HbA1c"), (190, ">= 6.5 %")),
    )

    assert told(found) == [GLUCOSE]


def test_a_range_below_a_row_that_could_not_be_read_is_no_fault(tmp_path: Path) -> None:
    names = ("Dr. A. Example", "Consultant Pathologist", "Reg. No: 44719")
    table = tuple(tuple(zip(COLUMNS, row, strict=True)) for row in (HEADING, GLUCOSE, SODIUM))

    found = read_plain(
        tmp_path, *table, *(((50, name), (330, name)) for name in names), ((50, "Page 1 - 2"),)
    )

    assert told(found) == [GLUCOSE, SODIUM]


def test_cells_that_blanks_have_moved_are_read_in_their_order(tmp_path: Path) -> None:
    headings = (
        (36, "Test"),
        (106, "Result"),
        (158, "Unit"),
        (205, "Reference Range"),
        (301, "Flag"),
    )
    rows = (
        ((36, "Blood Urea Nitrogen (BUN)"), (183, "16"), (216, "mg/dL"), (293, "7 - 20"), (346, "Normal")),
        ((36, "GGT"), (93, "75"), (132, "U/L"), (198, "9 - 48"), (251, "HIGH")),
        ((36, "MCV"), (90, "88.2"), (139, "fL"), (194, "80 - 100"), (257, "Normal")),
        ((36, "Cholesterol/HDL Ratio"), (182, "6.18"), (253, "< 5.0"), (306, "HIGH")),
    )  # fmt: skip

    found = read_plain(tmp_path, headings, *rows)

    assert told(found) == [
        ("Blood Urea Nitrogen (BUN)", "16", "mg/dL", "7 - 20"), ("GGT", "75", "U/L", "9 - 48"),
        ("MCV", "88.2", "fL", "80 - 100"), ("Cholesterol/HDL Ratio", "6.18", "", "< 5.0"),
    ]  # fmt: skip
    assert [each["printed_flag"] for each in found] == ["N", "H", "N", "H"]


def test_a_lone_earlier_result_is_not_moved_to_the_current_one(tmp_path: Path) -> None:
    places = (50, 190, 250, 330, 430)
    rows = (
        ("Test", "Result", "Previous", "Unit", "Reference Range"),
        ("Glucose", "92", "95", "mg/dL", "70 - 99"),
        ("Sodium", "141", "139", "mmol/L", "136 - 145"),
        ("TSH", "", "2.10", "mIU/L", "0.40 - 4.50"),
    )

    found = read_plain(
        tmp_path,
        *(tuple((x, t) for x, t in zip(places, row, strict=True) if t) for row in rows),
    )

    assert ("TSH", "2.10") not in [row[:2] for row in told(found)]


def test_an_upper_limit_of_nines_contradicts_no_unit(tmp_path: Path) -> None:
    row = ("HDL Cholesterol", "38", "mg/dL", "40 - 999")

    (found,) = read_plain(tmp_path, *(tuple(zip(COLUMNS, each, strict=True)) for each in (HEADING, row)))  # fmt: skip

    assert found["flag"] == "L"
    assert "problems" not in found


def test_a_list_may_tell_the_flag_behind_a_dash(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((50, "• Glucose: 120 mg/dL — High (70-99)"),),
        ((50, "• Calcium, Total: 9.1 mg/dL — Normal (8.7-10.4)"),),
        ((50, "• HbA1c: 3.4 % — Low (4.0-5.6)"),),
    )

    assert [(each["test"], each["value"], each["high"], each["printed_flag"]) for each in found] == [
        ("Glucose", "120", "99", "H"), ("Calcium, Total", "9.1", "10.4", "N"),
        ("HbA1c", "3.4", "5.6", "L"),
    ]  # fmt: skip


def test_what_explains_a_sign_below_a_table_is_no_flag_of_its_last_row(tmp_path: Path) -> None:
    table = tuple(tuple(zip(COLUMNS, row, strict=True)) for row in (HEADING, GLUCOSE, SODIUM))

    found = read_plain(tmp_path, *table, ((50, "* Result outside of the reference range"),))

    assert [each.get("printed_flag") for each in found] == [None, None]


@pytest.mark.parametrize("arrow", ["↑", "↓", "▲"])
def test_an_arrow_behind_a_range_in_a_column_without_a_heading_is_the_flag(arrow: str) -> None:
    assert split_unit_and_range("g/dL", f"4.50 - 5.90 {arrow}") == ("g/dL", "4.50 - 5.90", arrow)


def test_a_summary_of_a_table_gives_no_results_of_its_own(tmp_path: Path) -> None:
    columns = (*COLUMNS, 430)
    rows = ((*HEADING, "Flag"), ("Glucose", "120", "mg/dL", "70 - 99", "H"), (*SODIUM, ""))
    lines = [tuple((x, t) for x, t in zip(columns, row, strict=True) if t) for row in rows]

    found = read_plain(
        tmp_path,
        ((50, "Summary of abnormal results"),),
        ((50, "Glucose  120 mg/dL  High"),),
        *lines,
    )

    assert told(found) == [("Glucose", "120", "mg/dL", "70 - 99"), SODIUM]


def test_the_age_beside_statements_is_no_result(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Age:"), (90, "45")),
        ((50, "Hemoglobin: 13.2 g/dL"),),
        ((50, "Cholesterol: 210 mg/dL"),),
        ((50, "Glucose: 145 mg/dL"),),
        ((50, "Blood"), (90, "Pressure:"), (150, "140/90"), (190, "mmHg")),
    )

    assert [each["test"] for each in found][:3] == ["Hemoglobin", "Cholesterol", "Glucose"]
