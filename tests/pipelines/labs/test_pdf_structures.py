"""Reports whose structure is told by what stands where: no heading that is known, or none at all."""

from pathlib import Path

import pytest

from stateward.pipelines.labs.pdf.cells import split_value
from stateward.pipelines.labs.ranges import read_range
from stateward.pipelines.labs.words import column_of, flag_of_words
from tests.pipelines.labs.printing import Line, read_plain
from tests.pipelines.two_stages import JsonRow as Row


def printed(rows: list[Row]) -> list[tuple[str, dict[str, str]]]:
    return [(str(each["test"]), dict(each["printed"])) for each in rows]


def test_columns_are_told_by_what_they_hold_where_no_heading_is_known(tmp_path: Path) -> None:
    rows = [
        ("Sodium", "136-145", "151", "mmol/L", "H"),
        ("Potassium", "3.5-5.1", "4.2", "mmol/L", ""),
        ("Chloride", "98-107", "99", "mmol/L", ""),
        ("Calcium", "2.20-2.60", "2.11", "mmol/L", "L"),
        ("Urea", "2.5-7.8", "5.0", "mmol/L", ""),
    ]
    heading: Line = ((50, "Preiskava"), (200, "Meje"), (290, "Izvid"), (350, "Enota"))

    found = read_plain(
        tmp_path, heading, *(tuple(zip((50, 200, 290, 350, 430), row, strict=True)) for row in rows)
    )

    assert printed(found)[0] == (
        "Sodium",
        {"value": "151", "unit": "mmol/L", "flag": "H", "range": "136-145"},
    )
    assert [each["printed"]["value"] for each in found] == ["151", "4.2", "99", "2.11", "5.0"]


def test_two_tables_side_by_side_are_read_one_after_the_other(tmp_path: Path) -> None:
    left = [
        ("Sodium", "(136-145)", "140"),
        ("Potassium", "(3.5-5.1)", "4.2"),
        ("Urea", "(2.5-7.8)", "5.0"),
    ]
    left += [("Chloride", "(98-107)", "99"), ("Calcium", "(2.2-2.6)", "2.3")]
    right = [("ALT", "(10-50)", "23"), ("AST", "(10-40)", "31"), ("GGT", "(5-60)", "12")]
    right += [("Albumin", "(35-50)", "41"), ("Ferritin", "(30-400)", "77")]

    found = read_plain(
        tmp_path,
        *(
            tuple(zip((50, 150, 230, 320, 420, 500), (*one, *other), strict=True))
            for one, other in zip(left, right, strict=True)
        ),
    )

    assert [(each["test"], each["printed"]["value"]) for each in found] == [
        (name, value) for name, _, value in (*left, *right)
    ]


def test_a_flow_sheet_has_a_result_for_each_test_and_date(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Date"), (150, "Sodium"), (230, "Potassium")),
        ((150, "mmol/L"), (230, "mmol/L")),
        ((150, "136-145"), (230, "3.5-5.1")),
        ((50, "2026-08-14 05:30"), (150, "151 H"), (230, "4.6")),
        ((50, "2026-08-13 05:30"), (150, "139"), (230, "5.5 H")),
    )

    assert [(each["test"], str(each["collected"])[:10], each["printed"]) for each in found] == [
        ("Sodium", "2026-08-14", {"value": "151", "unit": "mmol/L", "flag": "H", "range": "136-145"}),
        ("Potassium", "2026-08-14", {"value": "4.6", "unit": "mmol/L", "range": "3.5-5.1"}),
        ("Sodium", "2026-08-13", {"value": "139", "unit": "mmol/L", "range": "136-145"}),
        ("Potassium", "2026-08-13", {"value": "5.5", "unit": "mmol/L", "flag": "H", "range": "3.5-5.1"}),
    ]  # fmt: skip


def test_a_flag_in_words_below_a_row_is_that_of_the_row(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Sodium"), (250, "155 mmol/L"), (350, "[135 - 145]")),
        ((250, "Above the upper reference limit"),),
        ((50, "Potassium"), (250, "4.2 mmol/L"), (350, "[3.5 - 5.1]")),
    )

    assert [each.get("printed_flag", "") for each in found] == ["H", ""]


def test_a_unit_in_the_title_of_a_section_is_that_of_its_values(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Electrolytes (mmol/L)"), (220, "Result"), (300, "Reference")),
        ((50, "Sodium"), (220, "140"), (300, "135-145")),
        ((50, "Potassium"), (220, "4.2"), (300, "3.5-5.1")),
    )

    assert [each["unit"] for each in found] == ["mmol/L", "mmol/L"]


def test_an_antibiogram_without_known_headings_has_a_row_for_each_organism(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((50, "White cells"), (250, "40"), (300, "10*6/L"), (360, "(0 - 40)")),
        ((50, "1) Escherichia coli"), (250, ">10^5 cfu/mL")),
        ((50, "2) Proteus mirabilis"), (250, "10^4 cfu/mL")),
        ((50, "Amoxicillin"), (250, "S"), (300, "R")),
        ((50, "Unheardomycin"), (250, "R"), (300, "I")),
    )

    drugs = [
        each for each in found if "mycin" in str(each["test"]) or "cillin" in str(each["test"])
    ]
    assert [(each["test"], each["value"]) for each in drugs] == [
        ("Amoxicillin", "susceptible"),
        ("Amoxicillin", "resistant"),
        ("Unheardomycin", "resistant"),
        ("Unheardomycin", "intermediate"),
    ]


def test_a_letter_beside_a_value_with_its_unit_is_a_flag_and_no_litre(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Test"), (150, "Range"), (250, "Result"), (330, "Remarkable")),
        ((50, "Sodium"), (150, "136-145"), (250, "130 mmol/L"), (330, "L")),
        ((50, "Potassium"), (150, "3.5-5.1"), (250, "5.9 mmol/L"), (330, "H")),
    )

    assert [each.get("printed_flag") for each in found] == ["L", "H"]


def test_a_power_of_ten_behind_a_range_is_no_part_of_its_second_number() -> None:
    told = read_range("150-400 109/L")

    assert (told.kind, str(told.high), told.unit) == ("interval", "400", "109/L")


def test_cells_that_touch_are_taken_apart() -> None:
    parts = split_value("55 + 10-50 U/l")

    assert (parts.value, parts.flag, parts.range) == ("55", "+", "10-50 U/l")


def test_headings_are_known_by_their_words() -> None:
    texts = (
        "Resultado obtido",
        "Valores normales de referencia",
        "Unidad de medida",
        "Interval Method",
    )

    assert [column_of(text) for text in texts] == ["value", "range", "unit", ""]


def test_a_phrase_is_a_flag_only_if_it_says_one_side_and_nothing_else() -> None:
    texts = (
        "Oberhalb des Referenzbereichs",
        "below low reference limit",
        "above or below",
        "high protein",
    )

    assert [flag_of_words(text) for text in texts] == ["H", "L", "", ""]


PLACES = (50, 200, 290, 350, 430)
SERUM = [
    ("Sodium", "140", "mmol/L", "136-145"),
    ("Potassium", "4.2", "mmol/L", "3.5-5.1"),
    ("Chloride", "99", "mmol/L", "98-107"),
    ("Calcium", "2.31", "mmol/L", "2.20-2.60"),
    ("Urea", "5.0", "mmol/L", "2.5-7.8"),
]
FEET: list[Line] = [
    ((50, "by Dr A. Hart, Consultant"), (200, "020 7946 0102")),
    ((50, "Hart A., MD"), (200, "+44 20 7946 0102")),
    ((50, "Example Laboratory"), (200, "(555) 010-2233")),
    ((50, "Westbrook House"), (200, "12"), (350, "14-16 High Street")),
    ((50, "Sheet"), (200, "1 of 2")),
    ((50, "A. Hart MD"), (200, "2026-03-12")),
    ((50, "Opening hours"), (200, "8-17")),
]


@pytest.mark.parametrize("foot", FEET, ids=lambda foot: foot[0][1])
@pytest.mark.parametrize("is_headed", [True, False])
def test_the_foot_of_a_page_is_no_result(tmp_path: Path, foot: Line, *, is_headed: bool) -> None:
    heading = ("Test", "Result", "Units", "Reference Range") if is_headed else ()
    lines = [tuple(zip(PLACES, row, strict=False)) for row in (heading, *SERUM)]

    found = read_plain(tmp_path, *lines, foot)

    assert [each["test"] for each in found] == [name for name, *_ in SERUM]


def test_an_unknown_test_with_a_telephone_number_in_its_remark_is_kept(tmp_path: Path) -> None:
    heading = ("Test", "Result", "Units", "Reference Range", "Comment")
    row = ("Zorbin antigen", "12", "", "0-5", "phoned 020 7946 0102")
    lines = [tuple(zip(PLACES, each, strict=False)) for each in (heading, *SERUM, row)]

    found = read_plain(tmp_path, *lines)

    assert found[-1]["test"] == "Zorbin antigen"
    assert found[-1]["printed"]["value"] == "12"


def test_a_dash_in_its_own_column_of_a_flow_sheet_is_no_flag_of_the_value_before_it(
    tmp_path: Path,
) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Date"), (200, "Sodium"), (280, "Potassium"), (360, "Chloride")),
        ((200, "mmol/L"), (280, "mmol/L"), (360, "mmol/L")),
        ((50, "01/02/2026"), (200, "140"), (280, "4.2"), (360, "99")),
        ((50, "02/02/2026"), (200, "151"), (222, "H"), (280, "4.4"), (360, "--")),
    )

    told = {(each["test"], each["collected"]): dict(each["printed"]) for each in found}
    assert told["Potassium", "2026-02-02"] == {"value": "4.4", "unit": "mmol/L"}
    assert told["Sodium", "2026-02-02"] == {"value": "151", "unit": "mmol/L", "flag": "H"}
