"""Statistics that are exact: decimal values become whole numbers of one scale, and whole numbers do not round.

Sums, means, variances, autocorrelation and regression are ratios of whole numbers; only at the very end is one written
with `DIGITS` significant digits. So nothing is lost on data that defeat floating point, such as those of NIST StRD.
"""

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from itertools import pairwise

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
    whole, scale = _scale(values)
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


def correlation(one: Sequence[Decimal], other: Sequence[Decimal]) -> str | None:
    """Pearson's coefficient of two columns of the same length; None if one of them never changes."""
    n = len(one)
    a, b = (_scale(each)[0] for each in (one, other))
    first, second = ([n * value - sum(values) for value in values] for values in (a, b))
    norm = sum(x * x for x in first) * sum(y * y for y in second)
    if not norm:
        return None
    product = sum(x * y for x, y in zip(first, second, strict=True))
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
    y = [Fraction(value) for value in observed]
    rows = [
        [Fraction(1), *(Fraction(values[at]) for _, values in predictors)] for at in range(len(y))
    ]
    size = len(predictors) + 1
    normal = [
        [Fraction(sum(row[i] * row[j] for row in rows)) for j in range(size)] for i in range(size)
    ]
    inverse = _inverse(normal)
    if inverse is None or len(y) <= size:
        raise FatalFailure(
            f"{name} cannot be explained by these columns: they depend on each other, or there are too few rows",
            code="REGRESSION_IMPOSSIBLE",
        )
    right = [sum(row[i] * value for row, value in zip(rows, y, strict=True)) for i in range(size)]
    coefficients = [sum(a * b for a, b in zip(line, right, strict=True)) for line in inverse]
    fitted = [sum(a * b for a, b in zip(row, coefficients, strict=True)) for row in rows]
    residual = sum((a - b) ** 2 for a, b in zip(y, fitted, strict=True))
    mean = sum(y) / len(y)
    total = sum((value - mean) ** 2 for value in y)
    variance = Fraction(residual) / (len(y) - size)
    return Regression(
        response=name,
        predictors=tuple(each for each, _ in predictors),
        coefficients=tuple(ratio_text(Fraction(each)) for each in coefficients),
        standard_errors=tuple(shown_root(variance * inverse[i][i]) for i in range(size)),
        residual_standard_deviation=shown_root(variance),
        r_squared=ratio_text(1 - Fraction(residual) / Fraction(total)) if total else None,
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


def _scale(values: Sequence[Decimal]) -> tuple[list[int], int]:
    """Whole numbers in the proportion of these values, and by how much they are larger."""
    places = max(0, *(-int(value.as_tuple().exponent) for value in values))
    scale = 10**places
    return [int(value.scaleb(places, Context(prec=2000))) for value in values], scale


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
