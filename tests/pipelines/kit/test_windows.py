"""Windows around the matches of a cheap pattern."""

import re

from stateward.pipelines.kit.windows import windows

YEAR = re.compile(r"20\d\d")


def test_windows_that_overlap_are_one_and_stay_within_the_text() -> None:
    text = "in 2019 and 2020, and much later, after all of that, in 2021"

    found = [text[start:end] for start, end in windows(YEAR, text, before=5, behind=3)]

    assert found == ["in 2019 and 2020, a", ", in 2021"]


def test_a_text_without_an_anchor_has_no_window() -> None:
    assert not list(windows(YEAR, "no year", before=5, behind=5))
