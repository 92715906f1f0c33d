"""Laying a picture over its template: how it is shifted and turned, found by correlation; no library but numpy.

The whole pictures say roughly how far one is shifted; then many blocks each say how far they are from their place, and
a map that fits most of them (shift, rotation, a little scale) takes the picture there. Blocks with a defect, or with
nothing in them, are outliers and do not count. Many parts repeat themselves, so that a picture fits in several places:
the nearest one is meant, and no shift beyond what is allowed is ever looked at.
"""

from collections.abc import Iterator
from math import atan2, degrees, hypot, sqrt
from typing import NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from stateward.pipelines.inspection.comparison import Gray

Matrix: TypeAlias = NDArray[np.float64]

COARSE_SIDE_PX = 1024  # pictures are shifted roughly at this size
CORRELATED_SIDE_PX = 2048
BLOCK_PX = 128
BLOCKS_MAX = 8  # in each direction
BLOCK_REACHES_PX = (32, 8, 4)  # how far a block may be from its place, round by round
SETTLED_PX = 0.05  # a round that moves no corner by more is the last
FLAT = 8.0  # a block whose brightness varies less has no place
FIT_ROUNDS = 4
INLIERS_MIN = 4
CLOSE_PX = 0.5  # blocks that are this close to where the map takes them always count
WHITENING = 0.7  # between correlation (0), which prefers large areas, and phase correlation (1), which hears noise


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """Where a picture lies: the map from places of the template to places of the picture, and what it amounts to."""

    matrix: tuple[float, float, float, float, float, float]
    shift_px: float
    rotation_deg: float
    scale: float


def register(template: Gray, picture: Gray, *, shift_max_px: float) -> Registration:
    """How a picture must be moved to lie over its template. Both have the same size."""
    starts = [_try_out(template, picture, np.eye(3))]
    starts.append(_try_out(template, picture, _rough(template, picture, shift_max_px)))
    best = latest = min(starts, key=_difference)
    for reach in BLOCK_REACHES_PX:
        step = _refinement(template, latest.moved, reach)
        if step is None:
            break
        latest = _try_out(template, picture, latest.matrix @ step)
        best = min(best, latest, key=_difference)
        if _largest_move(step, template.shape) < SETTLED_PX:
            break
    return _describe(best.matrix, template.shape)


class _Try(NamedTuple):
    """A map, the picture under it, and how much that differs from the template."""

    matrix: Matrix
    moved: Gray
    difference: float


def _try_out(template: Gray, picture: Gray, matrix: Matrix) -> _Try:
    moved = warp(picture, matrix)
    difference = float(np.abs(template.astype(np.int16) - moved).mean())
    return _Try(matrix, moved, difference)


def _difference(one: _Try) -> float:
    return one.difference


def warp(picture: Gray, matrix: Matrix) -> Gray:
    """The picture as it looks from the template's place; what lies outside of it is repeated from its border."""
    from PIL import Image
    from PIL.Image import Resampling, Transform

    reach = _reach(matrix, picture.shape)
    padded = np.pad(picture, reach, mode="edge")
    offset = np.array([[1, 0, reach], [0, 1, reach], [0, 0, 1]])
    height, width = picture.shape
    image = Image.fromarray(padded).transform(
        (width, height), Transform.AFFINE, _data(offset @ matrix), Resampling.BICUBIC
    )
    return np.asarray(image)


def visible_area(matrix: Matrix, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """The places of the template that the picture shows at all."""
    height, width = shape
    ys, xs = np.mgrid[0:height, 0:width].astype(np.float32) + np.float32(0.5)  # the middles
    across = matrix[0, 0] * xs + matrix[0, 1] * ys + matrix[0, 2]
    down = matrix[1, 0] * xs + matrix[1, 1] * ys + matrix[1, 2]
    inside: NDArray[np.bool_] = (
        (across >= 0.5) & (across <= width - 0.5) & (down >= 0.5) & (down <= height - 0.5)
    )
    return inside


def matrix_of(registration: Registration) -> Matrix:
    """The map as a matrix."""
    return np.array([*registration.matrix, 0, 0, 1], dtype=float).reshape(3, 3)


def correlation(one: Gray, other: Gray) -> float:
    """How alike two pictures are: 1 is the same, 0 has nothing in common."""
    step = max(1, max(one.shape) // CORRELATED_SIDE_PX)
    a, b = (each[::step, ::step].astype(np.float32) for each in (one, other))
    a, b = a - a.mean(), b - b.mean()
    norm = sqrt(float((a * a).sum()) * float((b * b).sum()))
    return float((a * b).sum()) / norm if norm else 0.0


def _rough(template: Gray, picture: Gray, shift_max_px: float) -> Matrix:
    """The shift of the whole picture, found at a size at which that is quick."""
    from PIL import Image
    from PIL.Image import Resampling

    factor = max(1.0, max(template.shape) / COARSE_SIDE_PX)
    small = [
        np.asarray(
            Image.fromarray(each).resize(
                (round(each.shape[1] / factor), round(each.shape[0] / factor)), Resampling.BOX
            )
        )
        for each in (template, picture)
    ]
    down, across = _displacement(small[0], small[1], shift_max_px / factor)
    return np.array([[1, 0, -across * factor], [0, 1, -down * factor], [0, 0, 1]])


def _refinement(template: Gray, picture: Gray, reach: float) -> Matrix | None:
    """The map by which most blocks of the picture come to lie where the template has them."""
    found = list(_block_displacements(template, picture, reach))
    if len(found) < INLIERS_MIN:
        return None
    height, width = template.shape
    center = np.array([width / 2, height / 2])
    places = np.array([place for place, _ in found]) - center
    moves = np.array([move for _, move in found])
    design = np.column_stack([places, np.ones(len(places))])
    counted = np.ones(len(places), dtype=bool)
    fitted = np.zeros((3, 2))
    for _ in range(FIT_ROUNDS):
        fitted = np.linalg.lstsq(design[counted], moves[counted], rcond=None)[0]
        errors = np.hypot(*(design @ fitted - moves).T)
        counted = errors <= max(CLOSE_PX, 2 * float(np.median(errors[counted])))
        if counted.sum() < INLIERS_MIN:
            return None
    linear = np.eye(2) + fitted[:2].T
    step = np.eye(3)
    step[:2, :2] = linear
    step[:2, 2] = fitted[2] + center - linear @ center
    return step


def _block_displacements(
    template: Gray, picture: Gray, reach: float
) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    """The middle of each block, and where its content lies beside its place."""
    side = min(BLOCK_PX, *template.shape)
    for top in _starts(template.shape[0], side):
        for left in _starts(template.shape[1], side):
            one = template[top : top + side, left : left + side]
            other = picture[top : top + side, left : left + side]
            if min(one.std(), other.std()) < FLAT:
                continue
            down, across = _displacement(one, other, min(reach, side / 4))
            yield (left + side / 2, top + side / 2), (-across, -down)


def _starts(length: int, side: int) -> list[int]:
    count = min(BLOCKS_MAX, max(1, 2 * length // side - 1))
    return [round(each) for each in np.linspace(0, length - side, count)]


def _displacement(one: Gray, other: Gray, reach: float) -> tuple[float, float]:
    """How far (down, across) `other` must be moved to lie over `one`, within reach and with fractions of a pixel."""
    window = np.outer(np.hanning(one.shape[0]), np.hanning(one.shape[1])).astype(np.float32)
    first, second = (
        np.fft.rfft2((each - each.mean(dtype=np.float32)) * window) for each in (one, other)
    )
    cross = first * np.conj(second)
    strength = np.abs(cross)
    cross /= strength**WHITENING + 1e-6 * strength.max() + 1e-9
    surface = np.fft.irfft2(cross, s=one.shape)
    near = np.logical_and.outer(*(_is_near(length, reach) for length in surface.shape))
    peak = np.unravel_index(int(np.argmax(np.where(near, surface, -np.inf))), surface.shape)
    down, across = (
        (at if at <= length // 2 else at - length) + _fraction(surface, peak, axis)
        for axis, (at, length) in enumerate(zip(map(int, peak), one.shape, strict=True))
    )
    return down, across


def _is_near(length: int, reach: float) -> NDArray[np.bool_]:
    """Which places of a surface, which goes round, are within reach of its first one."""
    places = np.arange(length)
    near: NDArray[np.bool_] = np.minimum(places, length - places) <= max(1.0, reach)
    return near


def _fraction(surface: NDArray[np.floating], peak: tuple[np.intp, ...], axis: int) -> float:
    """The top of a parabola through the peak and its neighbours, as a distance from the peak."""
    length = surface.shape[axis]
    before, at, after = (
        float(surface[tuple((p + step) % length if i == axis else p for i, p in enumerate(peak))])
        for step in (-1, 0, 1)
    )
    bend = before - 2 * at + after
    return 0.0 if bend == 0 else max(-0.5, min(0.5, (before - after) / (2 * bend)))


def _describe(matrix: Matrix, shape: tuple[int, ...]) -> Registration:
    height, width = shape
    middle = np.array([width / 2, height / 2, 1])
    moved = matrix @ middle - middle
    scale = sqrt(abs(float(np.linalg.det(matrix[:2, :2]))))
    turned = atan2(matrix[1, 0] - matrix[0, 1], matrix[0, 0] + matrix[1, 1])
    return Registration(
        matrix=_data(matrix),
        shift_px=round(hypot(float(moved[0]), float(moved[1])), 3),
        rotation_deg=round(degrees(turned), 4),
        scale=round(scale, 5),
    )


def _data(matrix: Matrix) -> tuple[float, float, float, float, float, float]:
    a, b, c, d, e, f = (round(float(each), 9) for each in matrix[:2].ravel())
    return a, b, c, d, e, f


def _reach(matrix: Matrix, shape: tuple[int, ...]) -> int:
    """How far outside of the picture the map may look."""
    return min(int(_largest_move(matrix, shape)) + 2, max(shape))


def _largest_move(matrix: Matrix, shape: tuple[int, ...]) -> float:
    """How far a map moves the corner that it moves farthest."""
    height, width = shape
    corners = np.array([[0, width, 0, width], [0, 0, height, height], [1, 1, 1, 1]])
    return float(np.abs(matrix @ corners - corners).max())
