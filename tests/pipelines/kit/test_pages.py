"""The words of PDF pages: each letter stands where its glyph does, whatever the letters before it are."""

from pathlib import Path

import pytest

from lab.documents.statements import Paper
from lab.documents.statements.paper import A4
from stateward.pipelines.kit.pdf.pages import _joined_units, read_pages


@pytest.mark.parametrize(
    "signs",
    ["\U0001f784", "\U0001f4b6\U0001f4b6", "\U0001d400\U0001d401\U0001d402"],
    ids=["a sign", "two pictures", "letters of mathematics"],
)
def test_characters_of_two_units_move_no_letter_behind_them(tmp_path: Path, signs: str) -> None:
    paper = Paper(A4)
    paper.page()
    paper.text(60, 60, f"North {signs} Bank")
    paper.text(60, 90, "185,34 EUR")
    path = tmp_path / "a.pdf"
    path.write_bytes(paper.pdf())

    (page,) = read_pages(path)

    assert [word.text for word in page.words] == ["North", signs, "Bank", "185,34", "EUR"]
    assert [round(word.x0) for word in page.words if word.text in ("North", "185,34")] == [60, 60]


def test_a_page_with_a_character_of_two_units_can_be_stored(tmp_path: Path) -> None:
    paper = Paper(A4)
    paper.page()
    paper.text(60, 60, "\U0001f784 North")
    path = tmp_path / "a.pdf"
    path.write_bytes(paper.pdf())

    (page,) = read_pages(path)

    assert "".join(word.text for word in page.words).encode() == "\U0001f784North".encode()


def test_half_a_character_is_one_that_cannot_be_read() -> None:
    assert _joined_units([0x41, 0xD83D, 0x42, 0xDE00]) == "A\ufffdB\ufffd"
