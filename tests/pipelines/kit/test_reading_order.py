"""The order in which the words of a page are read: columns, labels beside two lines, and justified print."""

import pytest

from stateward.pipelines.kit.pdf.pages import PdfPage, PdfWord
from stateward.pipelines.kit.pdf.text import scanned_text_page

WIDTH, LEFT, RIGHT = 595.0, 70.0, 308.0
GLYPH, BLANK, HEIGHT = 8.0, 3.0, 9.0


def words(x: float, base: float, text: str, *, to: float = 0.0) -> list[PdfWord]:
    """The words of a line from a place on; stretched to another if that is given."""
    parts = text.split()
    wide = sum(len(part) * GLYPH for part in parts)
    blank = (to - x - wide) / (len(parts) - 1) if to else BLANK
    placed = []
    for part in parts:
        end = x + len(part) * GLYPH
        placed.append(PdfWord(part, x, base - HEIGHT, end, base, base, 0))
        x = end + blank
    return placed


def lines_of(*rows: list[PdfWord]) -> list[str]:
    listed = [word for row in rows for word in row]
    return scanned_text_page(PdfPage(1, WIDTH, 842.0, listed)).text.split("\n")


def two_columns(gutter: float, lines: int, *, shift: float = 0.0) -> list[list[PdfWord]]:
    return [
        row
        for at in range(lines)
        for row in (
            words(LEFT, 100 + 12 * at, f"the left column has line {at} of it", to=RIGHT - gutter),
            words(
                RIGHT + shift * (at % 3), 100 + 12 * at, f"and the right one line {at} too", to=530
            ),
        )
    ]


@pytest.mark.parametrize("gutter", [6.0, 7.6, 12.0])
def test_two_columns_of_prose_are_read_one_after_the_other(gutter: float) -> None:
    read = lines_of(*two_columns(gutter, 14))

    assert read[:2] == ["the left column has line 0 of it", "the left column has line 1 of it"]
    assert read[14] == "and the right one line 0 too"


@pytest.mark.parametrize(
    ("lines", "shift"), [(5, 0.0), (14, 2.0)], ids=["few lines", "no common edge"]
)
def test_blanks_that_happen_to_be_one_below_the_other_part_no_columns(
    lines: int, shift: float
) -> None:
    read = lines_of(*two_columns(7.0, lines, shift=shift))

    assert len(read) == lines
    assert read[0].startswith("the left column has line 0 of it and the right one")


def test_a_line_across_both_columns_leaves_the_narrow_gap_a_blank() -> None:
    across = words(
        LEFT, 160, "one line that goes over the gap between both of the columns there is"
    )

    read = lines_of(*two_columns(7.0, 14), across)

    assert read[0].startswith("the left column has line 0 of it and the right one")


def test_rows_of_a_table_stay_rows_where_their_cells_are_short() -> None:
    rows = [
        row
        for at in range(14)
        for row in (
            words(LEFT, 100 + 12 * at, f"Position {at}"),
            words(RIGHT, 100 + 12 * at, "1,00 EUR"),
        )
    ]

    assert lines_of(*rows)[3] == "Position 3\t1,00 EUR"


def test_a_label_in_the_middle_of_two_lines_is_read_with_the_first() -> None:
    read = lines_of(
        words(LEFT, 93, "Notice period"),
        words(RIGHT, 86.5, "one month to the end of the term,"),
        words(RIGHT, 99.5, "then at any time"),
        words(LEFT, 120, "Start"),
        words(RIGHT, 120, "1 May 2026"),
    )

    assert read == [
        "Notice period\tone month to the end of the term,",
        "then at any time",
        "Start\t1 May 2026",
    ]


@pytest.mark.parametrize(
    ("above", "below"),
    [
        ((RIGHT, 80.0), (RIGHT, 106.0)),
        ((RIGHT, 86.5), (LEFT + 160, 99.5)),
        ((LEFT, 86.5), (LEFT, 99.5)),
    ],
    ids=["lines of their own", "not one below the other", "under each other"],
)
def test_a_label_elsewhere_is_a_line_of_its_own(
    above: tuple[float, float], below: tuple[float, float]
) -> None:
    read = lines_of(
        words(LEFT, 93, "Notice"),
        words(*above, "of the term"),
        words(*below, "and then"),
    )

    assert read == ["of the term", "Notice", "and then"]


def test_blanks_of_a_justified_line_part_no_cells() -> None:
    (read,) = lines_of(words(LEFT, 100, "what the Insurer is to pay in each case", to=404))

    assert read == "what the Insurer is to pay in each case"


@pytest.mark.parametrize(
    ("text", "to"),
    [
        ("Jan Feb Mar Apr May Jun", 274),
        ("10,00 20,00 30,00 40,00 50,00 60,00", 370),
        ("one of two", 158),
        ("a very wide row of it all", 500),
    ],
    ids=["months", "amounts", "few words", "far apart"],
)
def test_cells_that_stand_evenly_stay_cells(text: str, to: float) -> None:
    (read,) = lines_of(words(LEFT, 100, text, to=to))

    assert "\t" in read
