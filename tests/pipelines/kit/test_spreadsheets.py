"""Spreadsheets as text: what a program that never computed them left out is told of."""

import zipfile
from pathlib import Path

import pytest

from stateward.pipelines.kit import spreadsheets
from stateward.pipelines.kit.spreadsheets import unsaved_formulas, unsaved_message


def a_book(path: Path, *cells: str) -> Path:
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("xl/worksheets/sheet1.xml", f"<row>{''.join(cells)}</row>")
    return path


def test_formulas_without_a_saved_result_are_named(tmp_path: Path) -> None:
    path = a_book(
        tmp_path / "book.xlsx",
        '<c r="A1"><v>2</v></c>',
        '<c r="B1"><f>A1*2</f><v>4</v></c>',
        '<c r="C1"><f>A1*3</f><v></v></c>',
        '<c r="D1" s="1"><f>A1*4</f><v /></c>',
        '<c r="E1"><f>A1*5</f></c>',
        '<c r="F1" t="shared"><f t="shared" si="0"/></c>',
        '<c r="G1" t="str"><f t="shared" si="0"/><v>x</v></c>',
    )

    found = unsaved_formulas(path)

    assert found == ["C1", "D1", "E1", "F1"]
    assert unsaved_message(found).startswith("the formula in C1 and 3 more has no saved result")


def test_a_formula_across_the_seam_of_two_parts_is_found_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spreadsheets, "_PART_BYTES", 7)
    path = a_book(tmp_path / "book.xlsx", '<c r="C1"><f>A1*3</f><v></v></c>')

    assert unsaved_formulas(path) == ["C1"]


def test_what_is_no_xlsx_has_no_such_formula(tmp_path: Path) -> None:
    path = tmp_path / "old.xls"
    path.write_bytes(b"\xd0\xcf\x11\xe0")

    assert unsaved_formulas(path) == []
