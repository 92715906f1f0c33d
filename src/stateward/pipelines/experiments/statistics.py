"""Statistics that are exact: decimal values become whole numbers of one scale, and whole numbers do not round.

Sums, means, variances, autocorrelation and regression are ratios of whole numbers; only at the very end is one written
with `DIGITS` significant digits. So nothing is lost on data that defeat floating point, such as those of NIST StRD.
"""

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from itertools import pairwise
from operator import mul

import msgspec

from stateward.core.errors import FatalFailure

DIGITS = 15
_EXACT = Context(prec=60, rounding=ROUND_HALF_EVEN)
_SHOWN = Context(prec=DIGITS, rounding=ROUND_HALF_EVEN)
PREDICTORS_MAX = 12


class Summary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The statistics of a column, as decimal text; None where there are too few values."""

    count: int
    minimum: str | None = None
    maximum: str | None = None
    sum: str | None = None
    mean: str | None = None
    variance: str | None = None
    standard_deviation: str | None = None
    lower_quartile: str | None = None
    median: str | None = None
    upper_quartile: str | None = None
    autocorrelation: str | None = None


class Regression(msgspec.Struct, frozen=True, kw_only=True):
    """A linear regression by least squares; the first coefficient is the constant."""

    response: str
    predictors: tuple[str, ...]
    coefficients: tuple[str, ...]
    standard_errors: tuple[str, ...]
    residual_standard_deviation: str | None
    r_squared: str | None
    count: int


def summary(values: Sequence[Decimal]) -> Summary:
    """Everything about one column."""
    if not values:
        return Summary(count=0)
    whole, scale = whole_numbers(values)
    n, total = len(whole), sum(whole)
    # n times each deviation from the mean is a whole number too.
    deviations = [n * value - total for value in whole]
    squares = sum(each * each for each in deviations)
    variance = Fraction(squares, n * n * (n - 1) * scale * scale) if n > 1 else None
    ordered = sorted(whole)
    products = sum(a * b for a, b in pairwise(deviations))
    return Summary(
        count=n,
        minimum=ratio_text(Fraction(ordered[0], scale)),
        maximum=ratio_text(Fraction(ordered[-1], scale)),
        sum=ratio_text(Fraction(total, scale)),
        mean=ratio_text(Fraction(total, n * scale)),
        variance=None if variance is None else ratio_text(variance),
        standard_deviation=None if variance is None else shown_root(variance),
        lower_quartile=ratio_text(_quantile(ordered, Fraction(1, 4)) / scale),
        median=ratio_text(_quantile(ordered, Fraction(1, 2)) / scale),
        upper_quartile=ratio_text(_quantile(ordered, Fraction(3, 4)) / scale),
        autocorrelation=ratio_text(Fraction(products, squares)) if squares and n > 1 else None,
    )


def correlation(a: Sequence[int], b: Sequence[int]) -> str | None:
    """Pearson's coefficient of two columns of one length, in `whole_numbers`; None if one of them never changes."""
    n = len(a)
    first, second = sum(a), sum(b)
    # All three are n times what the definition has, which cancels out.
    norm = (n * _dot(a, a) - first * first) * (n * _dot(b, b) - second * second)
    if not norm:
        return None
    product = n * _dot(a, b) - first * second
    root = _decimal(Fraction(product * product, norm)).sqrt(_EXACT)
    return _text(-root if product < 0 else root)


def regression(
    response: tuple[str, Sequence[Decimal]], predictors: Sequence[tuple[str, Sequence[Decimal]]]
) -> Regression:
    """Least squares by the normal equations, which are exact here and so as good as any other way."""
    name, observed = response
    if len(predictors) > PREDICTORS_MAX:
        raise FatalFailure(
            f"a regression on {len(predictors)} columns is not made; name at most {PREDICTORS_MAX} in the label "
            "predictors",
            code="REGRESSION_IMPOSSIBLE",
        )
    # In whole numbers, each column in its own scale: sums of fractions would look for common divisors at every row.
    y, y_scale = whole_numbers(observed)
    scaled = [whole_numbers(values) for _, values in predictors]
    columns = [[1] * len(y), *(column for column, _ in scaled)]
    scales = [1, *(scale for _, scale in scaled)]
    size = len(columns)
    inverse = _inverse([[Fraction(_dot(one, other)) for other in columns] for one in columns])
    if inverse is None or len(y) <= size:
        raise FatalFailure(
            f"{name} cannot be explained by these columns: they depend on each other, or there are too few rows",
            code="REGRESSION_IMPOSSIBLE",
        )
    right = [_dot(column, y) for column in columns]
    solved = [sum(a * b for a, b in zip(line, right, strict=True)) for line in inverse]
    coefficients = [
        Fraction(each) * scale / y_scale for each, scale in zip(solved, scales, strict=True)
    ]
    explained = sum(a * b for a, b in zip(solved, right, strict=True))
    residual = Fraction(_dot(y, y) - explained) / (y_scale * y_scale)
    total = Fraction(len(y) * _dot(y, y) - sum(y) ** 2, len(y) * y_scale * y_scale)
    variance = residual / (len(y) - size)
    return Regression(
        response=name,
        predictors=tuple(each for each, _ in predictors),
        coefficients=tuple(map(ratio_text, coefficients)),
        standard_errors=tuple(
            shown_root(variance * inverse[i][i] * scale * scale) for i, scale in enumerate(scales)
        ),
        residual_standard_deviation=shown_root(variance),
        r_squared=ratio_text(1 - residual / total) if total else None,
        count=len(y),
    )


def ratio_text(value: Fraction) -> str:
    """A ratio as decimal text with `DIGITS` significant digits; exact where it is shorter."""
    return _text(_decimal(value))


def shown_root(value: Fraction) -> str:
    """The square root of a ratio as decimal text."""
    return _text(_decimal(value).sqrt(_EXACT))


def _decimal(value: Fraction) -> Decimal:
    return _EXACT.divide(Decimal(value.numerator), Decimal(value.denominator))


def _text(value: Decimal) -> str:
    rounded = _SHOWN.plus(value).normalize(_SHOWN)
    exponent = rounded.adjusted()
    return f"{rounded:f}" if -7 <= exponent < 21 else f"{rounded:e}"


def whole_numbers(values: Sequence[Decimal]) -> tuple[list[int], int]:
    """Whole numbers in the proportion of these values, and by how much they are larger."""
    distinct = set(values)  # most columns of long tables repeat theirs
    places = max(0, 0, *(-int(value.as_tuple().exponent) for value in distinct))
    scale = 10**places
    wide = Context(prec=2000)
    whole = {value: int(value.scaleb(places, wide)) for value in distinct}
    return [whole[value] for value in values], scale


def _dot(one: Sequence[int], other: Sequence[int]) -> int:
    return sum(map(mul, one, other))


def _quantile(ordered: Sequence[int], share: Fraction) -> Fraction:
    """By linear interpolation between the two nearest, as most programs do."""
    place = share * (len(ordered) - 1)
    below = place.numerator // place.denominator
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def _inverse(matrix: list[list[Fraction]]) -> list[list[Fraction]] | None:
    """The inverse of a square matrix; None if it has none."""
    size = len(matrix)
    rows = [
        [*map(Fraction, row), *(Fraction(i == j) for j in range(size))]
        for i, row in enumerate(matrix)
    ]
    for at in range(size):
        pivot = next((i for i in range(at, size) if rows[i][at]), None)
        if pivot is None:
            return None
        rows[at], rows[pivot] = rows[pivot], rows[at]
        factor = rows[at][at]
        rows[at] = [value / factor for value in rows[at]]
        for i in range(size):
            if i != at and rows[i][at]:
                times = rows[i][at]
                rows[i] = [a - times * b for a, b in zip(rows[i], rows[at], strict=True)]
    return [row[size:] for row in rows]
