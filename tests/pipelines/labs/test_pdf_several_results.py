"""Lines that hold more than one result: letters of organisms, antibiotics side by side, results in several units."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.pipelines.labs.printing import Line, read_plain
from tests.pipelines.two_stages import JsonRow as Row


def told(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    names = ("value", "unit", "range", "flag")
    return [
        (str(each["test"]), *(str(each["printed"].get(name, "")) for name in names))
        for each in rows
    ]


ABOVE: tuple[Line, ...] = (
    ((50, "Esame"), (230, "Risultato"), (320, "U.M."), (400, "Valori di riferimento")),
    ((50, "Nitriti"), (200, "*"), (230, "Presenti"), (400, "[Assenti]")),
    ((50, "Proteine"), (200, "*"), (230, "30"), (320, "mg/dL"), (400, "[< 15]")),
)


@pytest.mark.parametrize("heading", ["ANTIBIOGRAMMA (E. coli)", "Antibiotico"])
def test_antibiotics_side_by_side_are_each_a_result(tmp_path: Path, heading: str) -> None:
    found = read_plain(
        tmp_path,
        *ABOVE,
        ((50, heading), (200, "Interpr."), (260, "Antibiotico"), (430, "Interpr.")),
        ((50, "Amikacina"), (205, "S"), (260, "Fosfomicina"), (435, "S")),
        ((50, "Amoxicillina/Ac. clavulanico"), (205, "R"), (260, "Gentamicina"), (435, "S")),
        ((50, "Cefotaxime"), (205, "I"), (260, "Levofloxacina"), (435, "R")),
        ((50, "Ertapenem"), (205, "S")),
    )

    letters = {each["test"]: each["printed"]["value"] for each in found[:7]}
    assert letters == {
        "Amikacina": "S", "Fosfomicina": "S", "Amoxicillina/Ac. clavulanico": "R", "Gentamicina": "S",
        "Cefotaxime": "I", "Levofloxacina": "R", "Ertapenem": "S",
    }  # fmt: skip
    assert told(found[7:]) == [
        ("Nitriti", "Presenti", "", "[Assenti]", "*"), ("Proteine", "30", "mg/dL", "[< 15]", "*"),
    ]  # fmt: skip
    assert {each.get("comment", "") for each in found[:7]} == {"E. coli" if "(" in heading else ""}


def test_letters_of_several_organisms_are_told_apart_below_other_headings(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Bepaling"), (230, "Uitslag"), (320, "Eenheid"), (400, "Referentiewaarden")),
        ((50, "pH"), (230, "6,0"), (400, "5,0 - 8,0")),
        ((50, "Isolaat A: Escherichia coli"),),
        ((50, "Isolaat B: Enterococcus faecalis"),),
        ((50, "Antibioticum"), (260, "A"), (290, "B")),
        ((50, "Amoxicilline"), (260, "R"), (290, "S")),
        ((50, "Cefuroxim"), (260, "S"), (290, "R")),
        ((50, "Trimethoprim"), (260, "R"), (290, "-")),
    )

    assert [(each["test"], each["printed"]["value"], each["comment"]) for each in found[:5]] == [
        ("Amoxicilline", "R", "A: Escherichia coli"), ("Amoxicilline", "S", "B: Enterococcus faecalis"),
        ("Cefuroxim", "S", "A: Escherichia coli"), ("Cefuroxim", "R", "B: Enterococcus faecalis"),
        ("Trimethoprim", "R", "A: Escherichia coli"),
    ]  # fmt: skip
    assert [each["test"] for each in found[5:]] == ["pH"]
    assert not any("CELL_UNREAD" in each.get("problems", []) for each in found)


@pytest.mark.parametrize("title", ["SÉRIE BRANCA", "Leucograma"])
def test_a_line_of_units_gives_a_result_in_each_and_its_range(tmp_path: Path, title: str) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Hemoglobina"), (240, "14,9"), (280, "g/dL"), (400, "13,5 a 17,5")),
        ((50, title), (250, "%"), (340, "/mm3"), (400, "/mm3")),
        ((50, "Leucócitos"), (340, "6.210"), (400, "3.500 a 10.500")),
        ((50, "Neutrófilos"), (245, "55,4"), (340, "3.440"), (400, "1.700 a 7.000")),
        ((50, "Plaquetas"), (230, "231.000"), (280, "/mm3"), (400, "150.000 a 450.000")),
    )

    assert sorted(told(found)) == [
        ("Hemoglobina", "14,9", "g/dL", "13,5 a 17,5", ""),
        ("Leucócitos", "6.210", "/mm3", "3.500 a 10.500", ""),
        ("Neutrófilos", "3.440", "/mm3", "1.700 a 7.000", ""),
        ("Neutrófilos", "55,4", "%", "", ""),
        ("Plaquetas", "231.000", "/mm3", "150.000 a 450.000", ""),
    ]


def test_the_range_behind_two_values_is_of_the_one_in_its_unit(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((180, "Relativo"), (250, "Absoluto"), (330, "Valores de referência")),
        ((50, "Linfócitos"), (180, "31 %"), (250, "2.124 /mm³"), (330, "1.000 a 4.000 /mm³")),
        ((50, "Monócitos"), (180, "8 %"), (250, "548 /mm³"), (330, "200 a 1.000 /mm³")),
    )

    assert [row[:4] for row in told(found)] == [
        ("Linfócitos", "31", "%", ""), ("Linfócitos", "2.124", "/mm³", "1.000 a 4.000"),
        ("Monócitos", "8", "%", ""), ("Monócitos", "548", "/mm³", "200 a 1.000"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "labels",
    [("MÉTODO: ENZIMÁTICO", "MATERIAL: SORO"), ("Amostra: soro",), ()],
    ids=["two labels", "one", "none"],
)
def test_a_test_is_named_above_what_labels_say_of_it_and_its_headings(
    tmp_path: Path, labels: Sequence[str]
) -> None:
    def block(name: str, value: str, range_: str) -> tuple[Line, ...]:
        between: tuple[Line, ...] = tuple(((50, label),) for label in labels)
        return (
            ((50, name),),
            *between,
            ((55, "RESULTADO"), (380, "VALOR DE REFERÊNCIA")),
            ((55, value), (380, range_)),
        )

    one = read_plain(tmp_path, *block("URÉIA", "34 mg/dL", "10 a 50 mg/dL"))
    two = read_plain(
        tmp_path,
        *block("URÉIA", "34 mg/dL", "10 a 50 mg/dL"),
        *block("ANTI-HIV", "Não reagente", "Não reagente"),
    )

    assert told(one) == [("URÉIA", "34", "mg/dL", "10 a 50", "")]
    assert told(two) == [*told(one), ("ANTI-HIV", "Não reagente", "", "Não reagente", "")]


def test_units_and_ranges_below_names_may_have_a_label_before_them(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((45, "Date/Time"), (150, "Sodium"), (230, "Potassium"), (310, "ALT")),
        ((45, "Units:"), (150, "mmol/L"), (230, "mmol/L"), (310, "U/L")),
        ((45, "Ref:"), (150, "135-146"), (230, "3.5-5.3"), (310, "9-46")),
        ((45, "01/15/2026 06:00"), (150, "144"), (230, "4.8"), (310, "7")),
    )

    assert [row[:4] for row in told(found)] == [
        ("Sodium", "144", "mmol/L", "135-146"), ("Potassium", "4.8", "mmol/L", "3.5-5.3"), ("ALT", "7", "U/L", "9-46"),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["Cloudy", "Straw coloured"])
def test_a_text_in_line_with_results_that_have_no_headings_is_one(
    tmp_path: Path, text: str
) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Urine M/C/S"),),
        ((50, "Appearance"), (170, text)),
        ((50, "Leucocytes"), (170, "> 500 x10^6/L (< 10)")),
        ((50, "Erythrocytes"), (170, "40 x10^6/L (< 10)")),
        ((50, "Epithelial cells"), (170, "< 10 x10^6/L")),
        (),
        ((50, "Doctor"), (170, "Example")),
    )

    assert [row[:2] for row in told(found)] == [
        ("Appearance", text), ("Leucocytes", "> 500"), ("Erythrocytes", "40"), ("Epithelial cells", "< 10"),
    ]  # fmt: skip
    assert {each["section"] for each in found} == {"Urine M/C/S"}


def test_a_sign_that_touches_the_unit_before_it_is_of_the_range(tmp_path: Path) -> None:
    (found,) = read_plain(
        tmp_path,
        ((50, "Test"), (200, "Result"), (260, "Unit"), (340, "Reference")),
        ((50, "eGFR"), (200, "88"), (260, "mL/min/1,73m2>"), (340, "90")),
    )

    assert (found["printed"]["unit"], found["printed"]["range"]) == ("mL/min/1,73m2", "> 90")


def test_an_antibiotic_that_no_table_holds_is_said_to_be_unread(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Sodium"), (200, "139"), (260, "mmol/L"), (340, "135 - 145")),
        ((50, "Potassium"), (200, "4.1"), (260, "mmol/L"), (340, "3.5 - 5.1")),
        ((50, "see the report of the reference laboratory"),),
        ((50, "tested: 2"), (200, "Amikacin"), (340, "S")),
    )

    assert [each["test"] for each in found if "ROW_UNREAD" in each.get("problems", [])] == [
        "tested: 2 Amikacin S"
    ]


@pytest.mark.parametrize("second", ["Differential Count", "Blood cells"])
def test_a_second_table_beside_the_first_has_its_own_names_whatever_their_heading(
    tmp_path: Path, second: str
) -> None:
    places = (50, 130, 180, 300, 400, 450)
    rows = [
        ("Test", "Result", "Normal Value", second, "Result", "Normal Value"),
        ("Hemoglobin", "118 L", "120-160 g/L", "Neutrophils", "0.71", "0.50-0.75"),
        ("Hematocrit", "0.38", "0.37-0.47", "Lymphocytes", "0.21", "0.20-0.40"),
        ("Platelets", "298", "150-450", "Monocytes", "0.06", "0.02-0.09"),
        ("MCV", "88", "80-100 fL"),
    ]

    found = read_plain(tmp_path, *(tuple(zip(places, row, strict=False)) for row in rows))

    assert {row[0]: row[1] for row in told(found)} == {
        "Hemoglobin": "118", "Hematocrit": "0.38", "Platelets": "298", "MCV": "88",
        "Neutrophils": "0.71", "Lymphocytes": "0.21", "Monocytes": "0.06",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("printed", "name"), [("NT-proBNP 1)", "NT-proBNP"), ("IgG (serum 1)", "IgG (serum 1)")]
)
def test_the_number_of_a_footnote_is_no_part_of_a_name(
    tmp_path: Path, printed: str, name: str
) -> None:
    (found,) = read_plain(
        tmp_path,
        ((50, "Test"), (200, "Result"), (260, "Unit"), (340, "Reference")),
        ((50, printed), (200, "412 +"), (260, "pg/ml"), (340, "< 125")),
    )

    assert found["test"] == name
