"""Columns, halves and flags of a page that only their places tell."""

from pathlib import Path

import pytest

from stateward.pipelines.kit.pdf.page_numbers import uncounted_pages
from stateward.pipelines.kit.pdf.pages import PdfPage, PdfWord
from stateward.pipelines.labs.pdf.letter_heights import with_font_heights
from stateward.workers.sdk import Completed
from tests.pipelines.labs.printing import plain_pdf, read, read_plain
from tests.pipelines.labs.reading import parsed


def printed(row: dict[str, object], *names: str) -> tuple[str, ...]:
    told = row.get("printed")
    assert isinstance(told, dict)
    return tuple(str(told.get(name, "")) for name in names)


def test_days_printed_in_the_middle_of_wide_columns_name_the_values_at_their_left(
    tmp_path: Path,
) -> None:
    heading = ((60, "Analyse"), (220, "Referenzbereich"), (340, "Einheit"))
    days = ((450, "24.09.2025"), (540, "22.09.2025"))
    rows = [
        ("Leukozyten", "4,0 - 10,0", "G/l", "12,4 +", "9,8"),
        ("Natrium", "135 - 145", "mmol/l", "133 -", "134 -"),
        ("Kalium", "3,5 - 5,1", "mmol/l", "4,9", "4,7"),
        ("Kreatinin", "0,70 - 1,20", "mg/dl", "1,62 +", "1,71 +"),
        ("CRP", "< 5,0", "mg/l", "48,3 +", "71,2 +"),
    ]
    places = (38, 230, 340, 405, 515)

    found = read_plain(
        tmp_path, (*heading, *days), *(tuple(zip(places, row, strict=True)) for row in rows)
    )

    newest = [each for each in found if each["collected"] == "2025-09-24"]
    assert [printed(each, "value", "flag") for each in newest] == [
        ("12,4", "+"), ("133", "-"), ("4,9", ""), ("1,62", "+"), ("48,3", "+"),
    ]  # fmt: skip
    assert len(found) == 10


def test_tables_side_by_side_need_not_share_their_lines(tmp_path: Path) -> None:
    heading = ("Test", "Result", "Range") * 2
    left = [("Glucose", "112", "72 - 175 mg/dL"), ("Calcium", "10.1", "8.2 - 11.2 mg/dL")]
    left += [("Sodium", "153", "147 - 157 mmol/L"), ("ALT", "141", "27 - 158 U/L")]
    right = [("Color", "PALE YELLOW", ""), ("Specific Gravity", "1.014", "")]
    right += [("Ketones", "NEGATIVE", ""), ("Bacteria", "NONE SEEN", "")]
    lines = [tuple(zip((40, 130, 190, 310, 420, 500), heading, strict=True))]
    for one, other in zip(left, right, strict=True):
        lines += [
            tuple(zip((40, 130, 190), one, strict=True)),
            tuple((x, text) for x, text in zip((310, 420, 500), other, strict=True) if text),
        ]

    found = read_plain(tmp_path, *lines)

    assert [(each["test"], *printed(each, "value")) for each in found] == [
        (row[0], row[1]) for row in (*left, *right)
    ]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("139 L ↓", ("139", "L ↓")),
        ("dodatni H ↑", ("dodatni", "H ↑")),
        ("Detected *", ("Detected", "*")),
        ("4.3 #A", ("4.3", "#A")),  # a mark that the laboratory explains
    ],
)
def test_a_flag_of_a_sign_and_a_letter_is_no_part_of_the_value(
    tmp_path: Path, value: str, told: tuple[str, str]
) -> None:
    (found,) = read(tmp_path, ("Potassium", value, "mmol/L", "3.5 - 5.1"))

    assert printed(found, "value", "flag") == told


@pytest.mark.parametrize(
    ("range_", "told"),
    [
        ("150 - 400 *[ ]", ("150 - 400", "")),  # a drawn bar, its mark beside it
        ("0.8 - 4.7 µg/dL H", ("0.8 - 4.7", "H")),
    ],
)
def test_what_stands_behind_a_range_is_no_part_of_it(
    tmp_path: Path, range_: str, told: tuple[str, str]
) -> None:
    (found,) = read(tmp_path, ("Thyroxine", "4.9", "", range_))

    assert printed(found, "range", "flag") == told


def test_a_sign_is_explained_by_its_own_sentence(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Test"), (250, "Result"), (340, "Units"), (430, "Reference Range")),
        ((50, "Sodium"), (250, "150"), (300, "*"), (340, "mmol/L"), (430, "135 - 145")),
        ((50, "Potassium"), (250, "2.9"), (300, "*"), (340, "mmol/L"), (430, "3.5 - 5.1")),
        ((50, "* = utanför referensintervall. Ackrediterat laboratorium ISO 15189."),),
    )

    assert [printed(each, "flag") for each in found] == [("*",), ("*",)]


def test_a_unit_keeps_that_its_value_is_calculated(tmp_path: Path) -> None:
    (found,) = read(tmp_path, ("LDL Cholesterol", "154", "", "<130 mg/dL (calc)"))

    assert printed(found, "unit", "range") == ("mg/dL (calc)", "<130")
    assert (found["unit"], found["high"]) == ("mg/dL", "130")


def test_heights_of_letters_become_that_of_their_font() -> None:
    def row(base: float) -> list[PdfWord]:
        told = [("Harn", 5.0), ("g/l", 6.5), ("0.46", 5.0), ("-", 3.3)]
        return [
            PdfWord(text, 50 * at, base - height, 50 * at + 20, base, base, 0)
            for at, (text, height) in enumerate(told)
        ]

    words = [word for base in range(100, 200, 10) for word in row(base)]
    page = PdfPage(1, 595, 842, words, len(words), len(words))

    heights = {round(word.bottom - word.top, 1) for word in with_font_heights(page).words}

    assert len(heights) == 1


def test_a_report_that_replaces_another_is_noted(tmp_path: Path) -> None:
    title = ((50, "AMENDED REPORT - Version 2"),)
    heading = tuple(zip((50, 250, 340, 430), ("Test", "Result", "Units", "Range"), strict=True))
    row = tuple(zip((50, 250, 340, 430), ("Sodium", "141", "mmol/L", "133 - 146"), strict=True))

    result = parsed(tmp_path, plain_pdf(title, heading, row))

    assert isinstance(result, Completed)
    assert "AMENDED" in str(result.facts["notes"])


def test_a_missing_page_is_told_where_numbers_stand_behind_an_abbreviation() -> None:
    assert uncounted_pages(["Blz. 1/4", "Blz. 2/4", "Blz. 4/4"]) == [3]


def test_a_page_without_a_number_is_the_one_that_is_missed_in_its_place() -> None:
    assert uncounted_pages(["Page 1 of 2", "End of report"]) == []
    assert uncounted_pages(["Dear colleague", "Page 1 of 3", "Page 3 of 3"]) == [2]
    assert uncounted_pages(["Page 1 of 3", "End of report"]) == [3]


def test_a_unit_that_its_range_denies_is_told_of_names_in_romanian(tmp_path: Path) -> None:
    (found,) = read(tmp_path, ("Potasiu seric", "4,4", "mg/dL", "3,5 - 5,1"))

    assert "UNIT_CONTRADICTED" in str(found["problems"])


def test_small_first_letters_of_names_do_not_join_them_to_the_title_above(tmp_path: Path) -> None:
    lines = [
        ((50, "Electrolyte Values"),),
        *(
            tuple(zip((50, 150, 220), row, strict=True))
            for row in (
                ("cK+", "4.9 mmol/L", "[3.5 - 5.0]"),
                ("cNa+", "131 mmol/L", "[136 - 146]"),
                ("cCl-", "99 mmol/L", "[98 - 106]"),
                ("Lactate", "3.1 mmol/L", "[0.5 - 1.6]"),
                ("Glucose", "14.2 mmol/L", "[3.9 - 5.8]"),
                ("Hemoglobin", "103 g/L", "[120 - 170]"),
            )
        ),
    ]

    found = read_plain(tmp_path, *lines)

    assert [each["test"] for each in found][:3] == ["cK+", "cNa+", "cCl-"]


def test_limits_below_one_heading_are_those_of_the_nearest_column(tmp_path: Path) -> None:
    heading = ((60, "Paramètres"), (200, "Résultats"), (280, "Unités"), (400, "Limites de qualité"))
    limits = ((400, "Mini"), (450, "Maxi"))
    rows = [
        ("Nitrates", "38,6", "mg/L", "", "50,0"),
        ("Sulfates", "28", "mg/L", "", "250"),
        ("Ammonium", "<0,05", "mg/L", "", "0,10"),
        ("Chlorures", "31", "mg/L", "", "250"),
        ("Conductivité", "612", "µS/cm", "200", "1100"),
    ]
    places = (40, 190, 280, 392, 438)

    found = read_plain(
        tmp_path, heading, limits,
        *(tuple((x, t) for x, t in zip(places, row, strict=True) if t) for row in rows),
    )  # fmt: skip

    assert [printed(each, "range")[0] for each in found] == [
        "<= 50,0", "<= 250", "<= 0,10", "<= 250", "200 - 1100",
    ]  # fmt: skip


def test_a_star_behind_a_range_is_a_note_where_the_value_lies_in_it(tmp_path: Path) -> None:
    (inside,) = read(tmp_path, ("Sodium", "140", "mmol/L", "135 - 145 *"))
    (outside,) = read(tmp_path, ("Sodium", "150", "mmol/L", "135 - 145 *"))

    assert printed(inside, "range", "flag") == ("135 - 145", "")
    assert printed(outside, "range", "flag") == ("135 - 145", "*")


def test_columns_of_numbered_subsamples_need_no_other_heading(tmp_path: Path) -> None:
    places = (40, 200, 280, 360)
    rows = [
        ("", "Submuestra 1", "Submuestra 2", "Submuestra 3"),
        ("Salmonella", "Negative", "Negative", "Negative"),
        ("Listeria", "< 10", "< 10", "20"),
    ]

    found = read_plain(
        tmp_path,
        *(tuple((x, t) for x, t in zip(places, row, strict=True) if t) for row in rows),
    )  # fmt: skip

    assert [printed(each, "value")[0] for each in found] == [*rows[1][1:], *rows[2][1:]]
