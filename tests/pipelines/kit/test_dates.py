"""Dates as banks print them; undecided where nothing decides."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as some

from stateward.pipelines.kit import dates

SURE = [
    ("2024-05-06", date(2024, 5, 6)),
    ("2024/5/6", date(2024, 5, 6)),
    ("2024.05.06", date(2024, 5, 6)),
    ("20240506", date(2024, 5, 6)),
    ("20240506120000", date(2024, 5, 6)),
    ("20240506120000.000[-5:EST]", date(2024, 5, 6)),
    ("2024-05-06T10:00:00Z", date(2024, 5, 6)),
    ("2024-05-06 10:00:00+02:00", date(2024, 5, 6)),
    ("5 Jan 2024", date(2024, 1, 5)),
    ("Jan 5, 2024", date(2024, 1, 5)),
    ("05-JAN-24", date(2024, 1, 5)),
    ("Mon 5 Jan 2024", date(2024, 1, 5)),
    ("5th January 2024", date(2024, 1, 5)),
    ("5. März 2024", date(2024, 3, 5)),
    ("12. Dez. 2023", date(2023, 12, 12)),
    ("5 janv. 2024", date(2024, 1, 5)),
    ("15 août 2024", date(2024, 8, 15)),
    ("5 de enero de 2024", date(2024, 1, 5)),
    ("3 dic 2024", date(2024, 12, 3)),
    ("7 gennaio 2024", date(2024, 1, 7)),
    ("9 mrt 2024", date(2024, 3, 9)),
    ("1 fevereiro 2024", date(2024, 2, 1)),
    ("1 września 2024", date(2024, 9, 1)),
    ("2 maj 2024", date(2024, 5, 2)),
    ("mar 5 mars 2024", date(2024, 3, 5)),
    ("5 ม.ค. 2567", date(2024, 1, 5)),
    ("2567-03-01", date(2024, 3, 1)),
]


@pytest.mark.parametrize(("text", "day"), SURE)
@pytest.mark.parametrize("order", ["dmy", "mdy", "ymd"])
def test_a_date_that_says_its_order_is_the_same_in_every_order(
    text: str, day: date, order: str
) -> None:
    assert dates.read_date(text, order) == day


@pytest.mark.parametrize(
    ("text", "order", "day"),
    [
        ("05/06/2024", "dmy", date(2024, 6, 5)),
        ("05/06/2024", "mdy", date(2024, 5, 6)),
        ("05.06.24", "dmy", date(2024, 6, 5)),
        ("5-6-2024", "mdy", date(2024, 5, 6)),
        ("1/ 5'24", "mdy", date(2024, 1, 5)),
        ("240506", "ymd", date(2024, 5, 6)),
        ("06052024", "dmy", date(2024, 5, 6)),
        ("31/12/99", "dmy", date(1999, 12, 31)),
        ("15/03/2567", "dmy", date(2024, 3, 15)),
        ("06/05/2024 14:33", "dmy", date(2024, 5, 6)),
    ],
)
def test_a_date_is_read_in_the_order_of_its_column(text: str, order: str, day: date) -> None:
    assert dates.read_date(text, order) == day


@pytest.mark.parametrize(
    "text",
    ["", "hello", "12.05", "12:30", "30/02/2024", "13-13-2024", "1/2/3", "2024-13-01", "2024-02-30", "99999999",
     "5 apples 2024", "Jan Feb 2024", "2024", "1.234,56", "x" * 100],
)  # fmt: skip
def test_what_is_no_date_is_none(text: str) -> None:
    assert not dates.is_date(text)
    assert dates.read_date(text, "dmy", 0, 2024) is None


@pytest.mark.parametrize(
    ("texts", "order"),
    [
        (["01/02/2024", "13/02/2024"], "dmy"),
        (["01/02/2024", "02/13/2024"], "mdy"),
        (["01/02/2024", "03/04/2024"], ""),
        (["05/05/2024", "06/06/2024"], "dmy"),
        (["01.02.2024", "03.04.2024"], "dmy"),
        (["2024-01-02", "2024-03-04"], "ymd"),
        (["01/13/2024", "13/01/2024"], ""),
        (["5 Jan 2024", "01/02/2024"], ""),
        (["25/12/24", "01/02/24"], "dmy"),
        ([], "ymd"),
    ],
)
def test_a_column_votes_for_its_order_or_stays_undecided(texts: list[str], order: str) -> None:
    assert dates.vote_order(texts).order == order


def test_what_is_usual_decides_only_where_no_date_does() -> None:
    open_ = dates.vote_order(["01/02/2024"], usual="mdy", why_usual="by the settings")
    told = dates.vote_order(["13/02/2024"], usual="mdy", why_usual="by the settings")

    assert (open_.order, open_.why) == ("mdy", "by the settings")
    assert told.order == "dmy"


def test_a_buddhist_year_is_noticed() -> None:
    assert dates.vote_order(["15/03/2567"]).era == 543


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("31/12", date(2023, 12, 31)),
        ("05/01", date(2024, 1, 5)),
        ("31 Dec", date(2023, 12, 31)),
        ("5 janv.", date(2024, 1, 5)),
        ("29.02.", date(2024, 2, 29)),
    ],
)
def test_a_year_that_is_not_printed_comes_from_the_period(text: str, day: date) -> None:
    start, end = date(2023, 12, 15), date(2024, 1, 14)

    assert dates.nearest_date(text, "dmy", start=start, end=end) == day


STYLES = ["%Y-%m-%d", "%d/%m/%Y", "%d.%m.%Y", "%d-%b-%Y", "%d %B %Y", "%Y%m%d", "%d/%m/%y"]


@given(day=some.dates(date(1970, 1, 1), date(2069, 12, 31)), style=some.sampled_from(STYLES))
def test_whatever_day_is_printed_is_read_back(day: date, style: str) -> None:
    assert dates.read_date(day.strftime(style), "dmy") == day


@given(some.text(max_size=70))
def test_no_text_breaks_the_reader(text: str) -> None:
    dates.possible_orders(text)
    dates.vote_order([text])
