"""What reports of laboratories that nothing here was made for taught, each cause in two layouts."""

from pathlib import Path

import pytest

from tests.pipelines.labs.test_pdf import read_plain
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
