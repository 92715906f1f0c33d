"""Letters in a table of a rich text are read where what lies behind them lets a person see them."""

from pathlib import Path

import pytest

from stateward.pipelines.kit.reader import read_document
from tests.pipelines.kit.test_rtf_and_mail import SENTENCE, rtf, written

CELLS = r"\trowd{0}\cellx2000{1}\cellx4000\pard\intbl "
LIGHT = r"{\cf2 The fee is 99 EUR.}"


@pytest.mark.parametrize(
    ("body", "is_read"),
    [
        (CELLS.format("", "") + rf"Fee\cell {LIGHT}\cell\row", False),
        (CELLS.format(r"\clcbpat1", "") + rf"Fee\cell {LIGHT}\cell\row", False),
        (CELLS.format("", r"\clcbpat1") + rf"Fee\cell {LIGHT}\cell\row", True),
        (CELLS.format("", r"\clcbpat2") + rf"Fee\cell {LIGHT}\cell\row", False),
        (CELLS.format("", r"\clshdng10000\clcfpat1\clcbpat2") + rf"Fee\cell {LIGHT}\cell\row", True),
        (CELLS.format("", r"\clshdng500\clcfpat1\clcbpat2") + rf"Fee\cell {LIGHT}\cell\row", False),
        (CELLS.format(r"\trcbpat1", "") + rf"Fee\cell {LIGHT}\cell\row", True),
        (CELLS.format(r"\trcbpat1", r"\clcbpat2") + rf"Fee\cell {LIGHT}\cell\row", False),
        # The next row is defined anew, and a row that is not has the cells of the one before it.
        (
            CELLS.format("", r"\clcbpat1") + r"Fee\cell x\cell\row"
            + CELLS.format("", "") + rf"Fee\cell {LIGHT}\cell\row",
            False,
        ),
        (CELLS.format("", r"\clcbpat1") + rf"Fee\cell x\cell\row\pard\intbl Fee\cell {LIGHT}\cell\row", True),
        # Behind the table there is paper again, and so there is behind a paragraph with a ground of its own.
        (CELLS.format(r"\clcbpat1", r"\clcbpat1") + rf"Fee\cell x\cell\row\pard {LIGHT}\par", False),
        (rf"\pard\cbpat1 Fee\par\pard {LIGHT}\par", False),
        (rf"\pard\cbpat1 {LIGHT}\par", True),
        (CELLS.format("", r"\clcbpat1") + rf"Fee\cell \cbpat2 {LIGHT}\cell\row", False),
    ],
)  # fmt: skip
def test_light_letters_of_a_rich_text_are_read_where_their_ground_is_dark(
    tmp_path: Path, body: str, *, is_read: bool
) -> None:
    (page,) = read_document(written(tmp_path, rtf(rf"{SENTENCE}\par {body}\pard Yours\par"))).pages

    assert ("The fee is 99 EUR." in page.text) is is_read
    assert page.unseen == ("" if is_read else "The fee is 99 EUR.")


def test_dark_letters_in_a_cell_as_dark_are_not_read(tmp_path: Path) -> None:
    body = CELLS.format("", r"\clcbpat1") + r"{\cf1 Fee}\cell {\cf1 The fee is 99 EUR.}\cell\row"

    (page,) = read_document(written(tmp_path, rtf(rf"{SENTENCE}\par {body}"))).pages

    assert (page.text.split("\n")[1], page.unseen) == ("Fee", "The fee is 99 EUR.")
