"""Signs, titles and signatures around the results of a PDF, which are no part of a name, a value or a range."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.pipelines.labs.printing import Line, read_plain
from tests.pipelines.two_stages import JsonRow as Row

HEADING: Line = ((50, "Component"), (250, "Value"), (330, "Ref Range & Units"))


def told(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    names = ("value", "unit", "flag", "range")
    return [
        (str(each["test"]), *(str(each["printed"].get(name, "")) for name in names))
        for each in rows
    ]


@pytest.mark.parametrize(
    "name", ["Hématies .....................*", "Hématies ..................... *"]
)
def test_a_sign_behind_dots_that_lead_to_a_value_is_its_flag(tmp_path: Path, name: str) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Examen"), (212, "Résultat"), (270, "Unité"), (330, "Valeurs de référence")),
        ((50, name), (212, "4,02"), (270, "T/L"), (330, "(4,28 à 5,79)")),
        ((50, "VGM ....................."), (212, "92,3"), (270, "fL"), (330, "(78,0 à 97,0)")),
    )

    assert told(found) == [
        ("Hématies", "4,02", "T/L", "*", "(4,28 à 5,79)"), ("VGM", "92,3", "fL", "", "(78,0 à 97,0)"),
    ]  # fmt: skip


@pytest.mark.parametrize("heading", [True, False], ids=["headings", "no headings"])
def test_how_a_ratio_was_found_is_no_part_of_its_range(tmp_path: Path, heading: bool) -> None:
    (found,) = read_plain(
        tmp_path,
        *([HEADING] if heading else []),
        ((50, "CHOL/HDLC RATIO"), (250, "4.1"), (330, "<5.0 (calc)")),
    )

    assert (found["printed"]["range"], found["comment"]) == ("<5.0", "(calc)")


@pytest.mark.parametrize("pitch", [1, 2], ids=["as far as lines", "farther"])
def test_titles_above_and_below_a_row_are_no_part_of_its_name(tmp_path: Path, pitch: int) -> None:
    lines: list[Line] = []
    for title, name, value, unit in (
        ("Hämatologie", "Erythrozyten", "4,74", "/pl"), ("Klinische Chemie", "Kreatinin", "1,20", "mg/dl"),
        ("Lipidstatus", "Cholesterin", "165", "mg/dl"), ("Schilddrüse", "fT4", "1,0", "ng/dl"),
    ):  # fmt: skip
        lines += [((45, title),), ((50, name), (220, value), (290, unit)), *([()] * (pitch - 1))]

    found = read_plain(
        tmp_path, ((45, "Untersuchung"), (220, "Ergebnis"), (290, "Einheit")), *lines
    )

    assert [each["test"] for each in found] == ["Erythrozyten", "Kreatinin", "Cholesterin", "fT4"]


def test_who_signed_with_a_number_is_no_result(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Exame"), (240, "Resultado"), (330, "Valores de referência")),
        ((50, "Glicose"), (240, "83 mg/dL"), (330, "65 a 99 mg/dL")),
        ((50, "Liberado por: Dra. Exemplo"), (240, "0000")),
    )

    assert [each["test"] for each in found] == ["Glicose"]
