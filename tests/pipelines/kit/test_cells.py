"""Which words of a printed line are one cell."""

import pytest

from stateward.pipelines.kit.pdf.lines import PdfLine, cells_of
from stateward.pipelines.kit.pdf.pages import PdfWord

HEIGHT = 8.0


def _line(*words: tuple[str, float, float]) -> PdfLine:
    placed = [PdfWord(text, x0, 0.0, x1, HEIGHT, HEIGHT, 0) for text, x0, x1 in words]
    return PdfLine(1, 1, 0.0, HEIGHT, placed)


def _set(text: str, *, letter: float, blank: float) -> PdfLine:
    words, x = [], 0.0
    for word in text.split():
        words.append((word, x, x + letter * len(word)))
        x += letter * len(word) + blank
    return _line(*words)


@pytest.mark.parametrize(("letter", "cells"), [(4.8, 1), (5.3, 1), (6.4, 1)])
def test_a_blank_as_wide_as_each_letter_parts_no_cells(letter: float, cells: int) -> None:
    line = _set("alter Kontostand vom 29.05.2026", letter=letter, blank=letter)

    assert len(cells_of(line)) == cells


def test_two_blanks_of_type_of_one_width_part_cells() -> None:
    line = _set("15.04. 12,00", letter=5.3, blank=10.6)

    assert [cell.text for cell in cells_of(line)] == ["15.04.", "12,00"]


def test_a_wide_gap_between_letters_of_several_widths_parts_cells() -> None:
    line = _line(("Miete", 0.0, 22.0), ("Haus", 27.3, 48.5))

    assert [cell.text for cell in cells_of(line)] == ["Miete", "Haus"]
