"""Histograms and scatter plots as SVG, drawn here: no fonts, no library, and the same bytes every time."""

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from html import escape
from math import ceil, log2

import msgspec

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 360, 60, 20, 36, 50
POINTS_MAX = 2000
STYLE = "font-family:sans-serif;font-size:12px;fill:#334155"


class Histogram(msgspec.Struct, frozen=True, kw_only=True):
    """Bars of equal width from the least to the largest value; the last one includes its upper end."""

    edges: tuple[str, ...]
    counts: tuple[int, ...]


def histogram(values: Sequence[Decimal], *, bins_max: int) -> Histogram:
    """The counts of values in bins, as many as Sturges proposes; counted exactly."""
    least, most = Fraction(min(values)), Fraction(max(values))
    if least == most:
        return Histogram(edges=(_plain(least), _plain(most)), counts=(len(values),))
    bins = min(bins_max, max(1, ceil(log2(len(values))) + 1))
    width = (most - least) / bins
    counts = [0] * bins
    for value, count in Counter(values).items():
        counts[min(bins - 1, (Fraction(value) - least) // width)] += count
    edges = tuple(_plain(least + at * width) for at in range(bins + 1))
    return Histogram(edges=edges, counts=tuple(counts))


def histogram_svg(found: Histogram, *, title: str, axis: str) -> bytes:
    """A histogram as a picture."""
    highest = max(found.counts)
    inner, tall = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    step = inner / len(found.counts)
    bars = [
        f'<rect x="{LEFT + at * step:.2f}" y="{TOP + tall - tall * count / highest:.2f}" '
        f'width="{max(step - 1, 0.5):.2f}" height="{tall * count / highest:.2f}" fill="#2563eb"/>'
        for at, count in enumerate(found.counts)
    ]
    return _svg(
        bars,
        title=title,
        axis=axis,
        x_ends=(found.edges[0], found.edges[-1]),
        y_ends=("0", str(highest)),
    )


def scatter_svg(
    across: Sequence[Decimal], up: Sequence[Decimal], *, title: str, axis: str
) -> bytes:
    """Points, at most `POINTS_MAX` of them, evenly chosen."""
    step = max(1, ceil(len(across) / POINTS_MAX))
    x, y = [float(each) for each in across[::step]], [float(each) for each in up[::step]]
    dots = [
        f'<circle cx="{LEFT + a * (WIDTH - LEFT - RIGHT):.2f}" '
        f'cy="{HEIGHT - BOTTOM - b * (HEIGHT - TOP - BOTTOM):.2f}" '
        'r="2.5" fill="#2563eb" fill-opacity="0.6"/>'
        for a, b in zip(_shares(x), _shares(y), strict=True)
    ]
    return _svg(
        dots,
        title=title,
        axis=axis,
        x_ends=(f"{min(x):g}", f"{max(x):g}"),
        y_ends=(f"{min(y):g}", f"{max(y):g}"),
    )


def _shares(values: Sequence[float]) -> list[float]:
    """Where values lie between the least and the largest of them, from 0 to 1."""
    least, most = min(values), max(values)
    return [0.5 if least == most else (value - least) / (most - least) for value in values]


def _svg(
    shapes: Sequence[str],
    *,
    title: str,
    axis: str,
    x_ends: tuple[str, str],
    y_ends: tuple[str, str],
) -> bytes:
    floor, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-label="{escape(title)}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        *shapes,
        f'<path d="M{LEFT} {TOP}V{floor}H{right}" fill="none" stroke="#334155"/>',
        _label(WIDTH / 2, 22, title, "middle"),
        _label(WIDTH / 2, HEIGHT - 10, axis, "middle"),
        _label(LEFT, floor + 18, x_ends[0], "start"),
        _label(right, floor + 18, x_ends[1], "end"),
        _label(LEFT - 6, floor, y_ends[0], "end"),
        _label(LEFT - 6, TOP + 10, y_ends[1], "end"),
        "</svg>\n",
    ]
    return "\n".join(parts).encode()


def _label(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" style="{STYLE}">{escape(text)}</text>'


def _plain(value: Fraction) -> str:
    from stateward.pipelines.experiments.statistics import ratio_text

    return ratio_text(value)
