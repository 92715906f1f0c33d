"""What differs between a picture and its template once it lies over it: regions, each with box, area, kind, contrast.

Light is evened out first: what is bright in the template and what is dark in it shall be as bright and dark in the
picture. A pixel differs if it is brighter than every pixel of the template within the tolerance, or darker than every
one; so edges may be a little off, and a gap may not be closed. What is thinner than a defect may be is wiped away.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from stateward.core.errors import FatalFailure

if TYPE_CHECKING:
    from stateward.pipelines.inspection.settings import Thresholds

Gray: TypeAlias = NDArray[np.uint8]
Mask: TypeAlias = NDArray[np.bool_]

LEVELS = 256
JOINED_PX = 2  # regions that are at most twice this far apart are one
STRIPES_MAX = 200_000  # rows of differing pixels; more of them are no defects but another picture
SAMPLE_PX = 2_000_000  # pixels that are looked at to tell how sharp a picture is
STEEP = 0.5  # of the steepest edge of the template
SLOPE_PX = 3  # how wide an edge is looked at
NEAR_PX = 2  # how far from its place an edge is looked for

EXTRA, MISSING = "extra", "missing"
NOT_COMPARABLE = "NOT_COMPARABLE"


class Light(msgspec.Struct, frozen=True, kw_only=True):
    """How bright what is bright in the template is in a picture, and how dark what is dark."""

    bright: int
    dark: int

    @property
    def contrast(self) -> int:
        """How far apart they are."""
        return self.bright - self.dark


class Region(msgspec.Struct, frozen=True, kw_only=True):
    """Pixels that differ and belong together; `box` is left, top, right, bottom, `contrast` their mean difference."""

    kind: str
    box: tuple[int, int, int, int]
    area: int
    contrast: float


def light_of(template: Gray, picture: Gray) -> Light:
    """The light of a picture that lies over its template."""
    is_bright = template >= _otsu(template)
    if is_bright.all() or not is_bright.any():  # a template with nothing on it
        return Light(bright=int(np.median(picture)), dark=int(np.median(picture)))
    return Light(
        bright=int(np.median(picture[is_bright])), dark=int(np.median(picture[~is_bright]))
    )


def with_light_of(template: Gray, picture: Gray) -> Gray:
    """The picture in the light of the template."""
    true, found = light_of(template, template), light_of(template, picture)
    gain = true.contrast / max(1, found.contrast)
    levels = (np.arange(LEVELS) - found.dark) * gain + true.dark
    table = np.clip(np.rint(levels), 0, LEVELS - 1).astype(np.uint8)
    evened: Gray = table[picture]
    return evened


def sharpness(template: Gray, picture: Gray) -> float:
    """How steep the edges of the template are in the picture, as a share; noise has hardly a part in it."""
    step = max(1, template.size // SAMPLE_PX)
    pairs = ((template[::step], picture[::step]), (template.T[::step], picture.T[::step]))
    slopes = [_slopes(*pair) for pair in pairs]
    true, found = (sum(each) for each in zip(*slopes, strict=True))
    return found / true if true else 0.0


def _slopes(template: Gray, picture: Gray) -> tuple[float, float]:
    """How steep the upright edges of a template are, all together, and how steep they are in a picture."""
    true, found = (
        each[:, SLOPE_PX:].astype(np.int16) - each[:, :-SLOPE_PX] for each in (template, picture)
    )
    is_edge = np.abs(true) >= max(1.0, STEEP * float(np.abs(true).max(initial=0)))
    is_edge[:, :NEAR_PX] = is_edge[:, -NEAR_PX:] = False
    rows, columns = np.nonzero(is_edge)
    rising = np.sign(true[rows, columns])
    near = [found[rows, columns + step] * rising for step in range(-NEAR_PX, NEAR_PX + 1)]
    return float(np.abs(true[rows, columns]).sum()), float(np.max(near, axis=0).sum())


def differences(
    template: Gray, picture: Gray, *, thresholds: "Thresholds", is_seen: Mask
) -> Iterator[Region]:
    """The regions in which a picture, in its place and in the template's light, differs from the template."""
    compared = is_seen & _compare(template.shape, thresholds)
    r = thresholds.tolerance_px
    brighter = picture.astype(np.int16) - _spread(template, r, np.maximum)
    darker = _spread(template, r, np.minimum).astype(np.int16) - picture
    kinds = (EXTRA, MISSING) if thresholds.material == "bright" else (MISSING, EXTRA)
    for kind, difference in zip(kinds, (brighter, darker), strict=True):
        mask = (difference >= thresholds.difference_min) & compared
        mask = _opening(mask, thresholds.thickness_min_px)
        yield from _regions(kind, mask, difference)


def _compare(shape: tuple[int, ...], thresholds: "Thresholds") -> Mask:
    mask = np.zeros(shape, dtype=bool)
    margin = thresholds.margin_px
    mask[margin : shape[0] - margin, margin : shape[1] - margin] = True
    for left, top, right, bottom in thresholds.ignore:
        mask[top:bottom, left:right] = False
    return mask


def _otsu(gray: Gray) -> int:
    """The brightness that parts a picture best into bright and dark."""
    counts = np.bincount(gray.ravel(), minlength=LEVELS).astype(float)
    below = np.cumsum(counts)
    weighted = np.cumsum(counts * np.arange(LEVELS))
    above = below[-1] - below
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = weighted / below - (weighted[-1] - weighted) / above
        spread = np.nan_to_num(below * above * apart**2)
    # In the middle of the best ones: between two brightnesses that no pixel has, all are as good.
    best = np.flatnonzero(spread >= spread.max() * (1 - 1e-12))
    return int(best.mean()) + 1


def _spread(gray: Gray, reach: int, pick: np.ufunc) -> Gray:
    """For each pixel the largest or smallest one within reach, in a square."""
    for axis in (0, 1):
        pad = [(reach, reach) if each == axis else (0, 0) for each in (0, 1)]
        padded, length = np.pad(gray, pad, mode="edge"), gray.shape[axis]
        for step in range(2 * reach + 1):
            moved = padded[step : step + length] if axis == 0 else padded[:, step : step + length]
            gray = moved.copy() if step == 0 else pick(gray, moved)
    return gray


def _opening(mask: Mask, side: int) -> Mask:
    """The mask without what a square of that side does not fit into."""
    kept = _join_moved(
        _join_moved(mask, range(side), np.logical_and, 0), range(side), np.logical_and, 1
    )
    back = range(0, -side, -1)
    return _join_moved(_join_moved(kept, back, np.logical_or, 0), back, np.logical_or, 1)


def _join_moved(mask: Mask, steps: Iterable[int], join: np.ufunc, axis: int) -> Mask:
    """The mask joined with itself, moved by each step; nothing comes in from outside."""
    result = mask.copy()
    for step in steps:
        if step == 0:
            continue
        moved = np.zeros_like(mask)
        ours = slice(None, -step) if step > 0 else slice(-step, None)
        theirs = slice(step, None) if step > 0 else slice(None, step)
        if axis == 0:
            moved[ours] = mask[theirs]
        else:
            moved[:, ours] = mask[:, theirs]
        result = join(result, moved)
    return result


def _regions(kind: str, mask: Mask, difference: NDArray[np.int16]) -> Iterator[Region]:
    """The pixels of a mask, joined where they are close; in reading order."""
    if not mask.any():
        return
    reach = JOINED_PX
    near = np.pad(mask, reach)
    for axis in (0, 1):
        near = _join_moved(near, range(-reach, reach + 1), np.logical_or, axis)
    areas = _row_sums(np.pad(mask, reach).astype(np.int32))
    contrasts = _row_sums(np.pad(np.where(mask, difference, 0), reach).astype(np.int32))
    found: dict[int, _Growing] = {}
    for owner, (row, start, end) in _owned_stripes(near):
        region = found.setdefault(owner, _Growing())
        region.add(row, start, end)
        region.area += int(areas[row, end] - areas[row, start])
        region.contrast += int(contrasts[row, end] - contrasts[row, start])
    for region in sorted(found.values(), key=lambda each: (each.top, each.left)):
        # The joined mask is larger by `reach` on each side, and so is the padding.
        yield Region(
            kind=kind,
            box=(
                region.left, region.top, region.right - 2 * reach, region.bottom - 2 * reach,
            ),
            area=region.area,
            contrast=round(region.contrast / region.area, 1),
        )  # fmt: skip


class _Growing:
    """A region while its stripes are gathered."""

    def __init__(self) -> None:
        self.left = self.top = 1 << 30
        self.right = self.bottom = self.area = self.contrast = 0

    def add(self, row: int, start: int, end: int) -> None:
        self.left, self.right = min(self.left, start), max(self.right, end)
        self.top, self.bottom = min(self.top, row), max(self.bottom, row + 1)


def _row_sums(values: NDArray[np.int32]) -> NDArray[np.int32]:
    """For each row the sums of its first 0, 1, 2, … values."""
    return np.pad(np.cumsum(values, axis=1, dtype=np.int32), ((0, 0), (1, 0)))


def _owned_stripes(mask: Mask) -> list[tuple[int, tuple[int, int, int]]]:
    """Every stripe (row, start, end) of set pixels, with the number of the region that it belongs to."""
    edges = np.diff(np.pad(mask, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    rows, starts = np.nonzero(edges == 1)
    ends = np.nonzero(edges == -1)[1]
    if len(rows) > STRIPES_MAX:
        raise FatalFailure(
            "the picture differs from its template nearly everywhere; see whether the part number is right",
            code=NOT_COMPARABLE,
        )
    stripes = list(zip(rows.tolist(), starts.tolist(), ends.tolist(), strict=True))
    owners = list(range(len(stripes)))
    above = 0  # the first stripe that may touch the one at hand from the row above
    for here, (row, start, end) in enumerate(stripes):
        while stripes[above][0] < row - 1 or (
            stripes[above][0] == row - 1 and stripes[above][2] < start
        ):
            above += 1
        other = above
        while stripes[other][0] == row - 1 and stripes[other][1] <= end:
            _join(owners, here, other)
            other += 1
    return [(_owner(owners, number), stripe) for number, stripe in enumerate(stripes)]


def _owner(owners: list[int], number: int) -> int:
    while owners[number] != number:
        owners[number] = owners[owners[number]]
        number = owners[number]
    return number


def _join(owners: list[int], one: int, other: int) -> None:
    first, second = sorted((_owner(owners, one), _owner(owners, other)))
    owners[second] = first
