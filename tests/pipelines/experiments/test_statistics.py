"""Statistics agree with the certified values of NIST StRD to seven digits and more."""

from decimal import Decimal
from fractions import Fraction

import pytest

from stateward.core.errors import FatalFailure
from stateward.pipelines.experiments.plots import histogram, histogram_svg
from stateward.pipelines.experiments.statistics import (
    correlation,
    ratio_text,
    regression,
    summary,
    whole_numbers,
)

# Longley's data: the deflator, GNP, unemployed, armed forces, population, year; and what they shall explain.
LONGLEY = """60323 83.0 234289 2356 1590 107608 1947
61122 88.5 259426 2325 1456 108632 1948
60171 88.2 258054 3682 1616 109773 1949
61187 89.5 284599 3351 1650 110929 1950
63221 96.2 328975 2099 3099 112075 1951
63639 98.1 346999 1932 3594 113270 1952
64989 99.0 365385 1870 3547 115094 1953
63761 100.0 363112 3578 3350 116219 1954
66019 101.2 397469 2904 3048 117388 1955
67857 104.6 419180 2822 2857 118734 1956
68169 108.4 442769 2936 2798 120445 1957
66513 110.8 444546 4681 2637 121950 1958
68655 112.6 482704 3813 2552 123366 1959
69564 114.2 502601 3931 2514 125368 1960
69331 115.7 518173 4806 2572 127852 1961
70551 116.9 554894 4007 2827 130081 1962"""


def alternating(middle: str, low: str, high: str) -> list[str]:
    return [middle, *([low, high] * 500)]


# Name: values, and the certified mean, standard deviation and lag-1 autocorrelation.
CERTIFIED = {
    "NumAcc1": (["10000001", "10000003", "10000002"], "10000002", "1", "-0.5"),
    "NumAcc2": (alternating("1.2", "1.1", "1.3"), "1.2", "0.1", "-0.999"),
    "NumAcc3": (alternating("1000000.2", "1000000.1", "1000000.3"), "1000000.2", "0.1", "-0.999"),
    "NumAcc4": (
        alternating("10000000.2", "10000000.1", "10000000.3"), "10000000.2", "0.1", "-0.999",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CERTIFIED)
def test_univariate_statistics_are_those_that_are_certified(name: str) -> None:
    values, mean, deviation, autocorrelation = CERTIFIED[name]

    found = summary([Decimal(each) for each in values])

    assert found.mean == mean
    assert found.standard_deviation == deviation
    assert found.autocorrelation == autocorrelation


def test_the_regression_of_longley_is_the_certified_one() -> None:
    rows = [[Decimal(cell) for cell in line.split()] for line in LONGLEY.splitlines()]
    columns = list(zip(*rows, strict=True))
    certified = (
        "-3482258.63459582", "15.0618722713733", "-0.0358191792925910", "-2.02022980381683",
        "-1.03322686717359", "-0.0511041056535807", "1829.15146461355",
    )  # fmt: skip

    found = regression(("y", columns[0]), [(f"x{at}", columns[at]) for at in range(1, 7)])

    for value, true in zip(found.coefficients, certified, strict=True):
        assert abs(Decimal(value) / Decimal(true) - 1) < Decimal("1e-12")
    assert found.residual_standard_deviation == "304.854073561965"
    assert found.r_squared == "0.995479004577296"
    assert found.standard_errors[0].startswith("890420.38360737")


def test_columns_that_depend_on_each_other_have_no_regression() -> None:
    x = [Decimal(each) for each in range(6)]
    twice = [2 * each for each in x]

    with pytest.raises(FatalFailure) as failure:
        regression(("y", x), [("a", x), ("b", twice)])

    assert failure.value.code == "REGRESSION_IMPOSSIBLE"


def test_order_statistics_are_interpolated() -> None:
    found = summary([Decimal(each) for each in ("4", "1", "3", "2")])

    assert (found.lower_quartile, found.median, found.upper_quartile) == ("1.75", "2.5", "3.25")
    assert (found.minimum, found.maximum, found.sum) == ("1", "4", "10")


def test_one_value_has_a_mean_and_no_deviation() -> None:
    found = summary([Decimal("7.50")])

    assert (found.mean, found.standard_deviation, found.autocorrelation) == ("7.5", None, None)
    assert summary([]).count == 0


def test_correlation_is_exact_at_its_ends() -> None:
    x = [Decimal(f"1000000000.{each}") for each in range(1, 9)]

    whole, _ = whole_numbers(x)
    assert correlation(whole, whole) == "1"
    assert correlation(whole, [-each for each in whole]) == "-1"
    assert correlation(whole, [3] * 8) is None


def test_a_long_column_takes_one_look_at_each_value() -> None:
    """With a sum for each value this would take a minute: a table of 54,000 rows ran into its timeout."""
    values = list(range(100_000))

    assert correlation(values, values[::-1]) == "-1"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(1, 3), "0.333333333333333"), (Fraction(0), "0"), (Fraction(-5, 2), "-2.5"),
        (Fraction(10**25), "1e+25"), (Fraction(1, 10**9), "1e-9"), (Fraction(120), "120"),
    ],
)  # fmt: skip
def test_numbers_are_written_with_fifteen_digits(value: Fraction, text: str) -> None:
    assert ratio_text(value) == text


def test_every_value_is_in_one_bar_of_a_histogram() -> None:
    found = histogram([Decimal(each) / 10 for each in range(101)], bins_max=10)

    assert sum(found.counts) == 101
    assert len(found.edges) == len(found.counts) + 1
    assert (found.edges[0], found.edges[-1]) == ("0", "10")
    assert histogram([Decimal(2)] * 5, bins_max=10).counts == (5,)


def test_a_title_cannot_break_out_of_a_picture() -> None:
    found = histogram([Decimal(1), Decimal(2)], bins_max=3)

    data = histogram_svg(found, title='<script>"x"</script>', axis="&")

    assert b"<script>" not in data
    assert b"&lt;script&gt;" in data
