"""Lines in reading order, and places on the page as it was submitted."""

import pytest

from stateward.pipelines.documents.layout import line_items, scanned_page
from stateward.pipelines.kit.ocr import OcrPage
from tests.pipelines.documents.recorded import recorded_page


def texts(page: OcrPage) -> list[object]:
    read = scanned_page(1, page, 1.0, is_given=False)
    return [item["text"] for item in line_items(read, lambda _: {}, first=1)]


def test_a_label_and_its_amount_are_one_line_however_far_apart() -> None:
    assert texts(recorded_page("Tea      2.50", "Total      2.50")) == ["Tea 2.50", "Total 2.50"]


def test_two_columns_of_prose_are_read_one_after_the_other() -> None:
    left = [
        f"left text {word} goes on here" for word in ["one", "two", "three", "four", "five", "six"]
    ]
    right = [
        f"right text {word} goes on too" for word in ["one", "two", "three", "four", "five", "six"]
    ]
    page = recorded_page(*(f"{one}  {two}" for one, two in zip(left, right, strict=True)))

    lines = texts(page)

    assert str(lines[0]).startswith("left")
    assert [str(line).split()[0] for line in lines] == ["left"] * 6 + ["right"] * 6


@pytest.mark.parametrize(
    ("turn", "size", "box"),
    [
        (0, (100, 50), (10.0, 20.0, 30.0, 25.0)),
        (90, (100, 50), (20.0, 70.0, 25.0, 90.0)),
        (180, (100, 50), (70.0, 25.0, 90.0, 30.0)),
        (270, (100, 50), (25.0, 10.0, 30.0, 30.0)),
    ],
)
def test_a_box_of_a_turned_page_leads_back_to_the_page_as_it_was(
    turn: int, size: tuple[int, int], box: tuple[float, float, float, float]
) -> None:
    page = OcrPage(*size, turn, [])

    assert page.given_box((10.0, 20.0, 30.0, 25.0)) == box
