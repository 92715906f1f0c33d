"""Dates are found in running text, each once."""

import re

import pytest

from stateward.pipelines.kit.date_finder import DateFinder
from stateward.pipelines.kit.dates import month_names

MONTHS = month_names("en", "de")
NAMES = "|".join(sorted(MONTHS, key=len, reverse=True))
FINDER = DateFinder(
    (
        re.compile(rf"(?P<d>\d{{1,2}})\. (?P<m>{NAMES}) (?P<y>\d{{4}})", re.IGNORECASE),
        re.compile(r"(?P<a>\d{1,2})/(?P<b>\d{1,2})/(?P<y>\d{4}|\d\d)"),
        re.compile(r"(?P<w>first|second) of (?P<m>May) (?P<y>\d{4})"),
    ),
    months=MONTHS,
    day_words={"first": 1, "second": 2},
    years=(1950, 2099),
)


def found(text: str, order: str = "dmy") -> list[tuple[str, bool]]:
    return [(each.value, each.is_ambiguous) for each in FINDER.find(text, order=order)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("am 5. März 2024", "2024-03-05"),
        ("am 5. Mrz 2024", "2024-03-05"),
        ("am 5. JÄNNER 2024", "2024-01-05"),
        ("on 25/12/2024", "2024-12-25"),
        ("on 12/25/2024", "2024-12-25"),
        ("on 31/12/69", "2069-12-31"),
        ("on 31/12/70", "1970-12-31"),
        ("the second of May 2024", "2024-05-02"),
    ],
)
def test_a_date_is_found(text: str, value: str) -> None:
    assert found(text) == [(value, False)]


def test_a_date_that_can_be_read_both_ways_is_ambiguous() -> None:
    assert found("5/6/2024") == [("2024-06-05", True)]
    assert found("5/6/2024", "mdy") == [("2024-05-06", True)]
    assert found("6/6/2024") == [("2024-06-06", False)]


@pytest.mark.parametrize("text", ["31. Februar 2024", "5/6/1949", "13/13/2024"])
def test_what_is_no_date_is_not_found(text: str) -> None:
    assert found(text) == []


def test_a_hundred_thousand_dates_are_found_in_linear_time() -> None:
    assert len(found("1. Mai 2024 1/1/2024 " * 50_000)) == 100_000
