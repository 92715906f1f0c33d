"""Text of a PDF that was painted and of which nothing is seen.

It is covered by what was painted after it, cut away by a clip, in the colour of the area under it, or on a layer
that is switched off.

Areas, clips and layers only make a word doubtful: an area may be transparent, a clip larger than its corners say, a
layer switched on. What is doubtful is looked for on the rendered page, and hidden if there is no ink in its place, or
only that of a later word.
"""

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import cached_property

import msgspec
import pypdfium2 as pdfium
import pypdfium2.raw as raw

from stateward.pipelines.kit.pdf.calls import (
    Handle,
    clip_of,
    clip_paths,
    handle_of,
    render_mode,
)
from stateward.pipelines.kit.pdf.objects import (
    PLAIN,
    Matrix,
    PageObjects,
    Painted,
    transform_box,
)
from stateward.pipelines.kit.pdf.visibility import PageInk, PlacedWord

_Box = tuple[float, float, float, float]  # left, bottom, right, top
_Colour = tuple[int, int, int]

SIDE_MIN = 3.0  # points: what is thinner is a rule, and covers no word
FAINT_MAX = 12  # of 255: an area with less ink covers nothing
SAME_COLOUR_MAX = 12  # of 255, each colour
CONTRAST_MIN = 24  # of 255, between ink and paper in the place of a word
SCALE = 2.0  # pixels for a point: in print of 5 points a stroke still darkens a pixel by half
PIXELS_MAX = 20_000_000
BAND = 16.0  # points: areas are looked up by the height at which they lie
ON_TOP = 1 << 60  # annotations are painted after the page
COVERING_NOTES = (
    raw.FPDF_ANNOT_SQUARE,
    raw.FPDF_ANNOT_CIRCLE,
    raw.FPDF_ANNOT_POLYGON,
    raw.FPDF_ANNOT_STAMP,
    raw.FPDF_ANNOT_FREETEXT,
    raw.FPDF_ANNOT_REDACT,
)
NOTES_MAX = 2000
LAYER_MARK = "OC\0"  # with the zero that ends it
NOWHERE: _Box = (0, 0, -1, -1)


class _Area(msgspec.Struct, gc=False):
    """A painted area: when it is painted, where, and its colour if it has one."""

    order: int
    box: _Box
    colour: _Colour | None = None


class PageCovers:
    """Which words of a page nothing is left of. The page is looked through once, and only rendered for a doubt.

    Boxes are from the top left of the page as it is seen, into which `point` turns those of the file.
    """

    def __init__(
        self,
        page: pdfium.PdfPage,
        point: Callable[[float, float], tuple[float, float]],
        *,
        height: float,
        objects: PageObjects,
        ink: PageInk,
        has_layers: Callable[[], bool],
    ) -> None:
        self._page = page
        self._height = height
        self._ink = ink
        self._objects = objects
        self._scan = _Scan(page, point, objects, has_layers)
        self._bands: dict[int, list[_Area]] | None = None
        self._orders: dict[int, int] = {}

    def hides(self, index: int, thing: int, word: PlacedWord) -> bool:
        """Whether a person sees nothing of a word, whose first glyph has this index and is of this text object."""
        if self._bands is None:
            self._bands, self._orders = (
                self._scan.bands(self._height),
                self._objects.painted.text_orders,
            )
        x, y = (word.x0 + word.x1) / 2, (word.top + word.bottom) / 2
        over = self._bands.get(int(y // BAND))
        at = [each for each in over if _contains(each.box, x, y)] if over else []
        order = self._orders.get(thing)
        if order is None:
            return False
        clip = self._scan.clip(thing)
        is_doubtful = (
            (bool(at) and at[-1].order > order)
            or (clip is not None and not _contains(clip, x, y))
            or self._scan.may_be_layered(thing)
            or (bool(at) and self._is_own_colour(index, thing, order, at))
        )
        return is_doubtful and (not self._has_ink(word) or self._is_overwritten(order, x, y))

    def _is_own_colour(self, index: int, thing: int, order: int, at: Sequence[_Area]) -> bool:
        """Whether what lies right under a glyph has its colour."""
        below = at[-1] if at[-1].order < order else _last_below(at, order)
        ground = None if below is None else below.colour
        colour = None if ground is None else self._ink.colour(index, thing)
        if ground is None or colour is None:
            return False
        return (
            abs(colour[0] - ground[0]) <= SAME_COLOUR_MAX
            and abs(colour[1] - ground[1]) <= SAME_COLOUR_MAX
            and abs(colour[2] - ground[2]) <= SAME_COLOUR_MAX
        )

    def _is_overwritten(self, order: int, x: float, y: float) -> bool:
        """Whether text that is painted later stands in the same place: the ink there is its own."""
        return any(each.order > order and _contains(each.box, x, y) for each in self._texts)

    @cached_property
    def _texts(self) -> list[_Area]:
        """The text objects of a page: looked for where ink was found under what should cover it."""
        return list(self._scan.texts())

    def _has_ink(self, word: PlacedWord) -> bool:
        """Whether the place of a word is of more than one brightness."""
        scale, width, stride, pixels = self._rendered
        left, right = max(0, int(word.x0 * scale)), min(width, int(word.x1 * scale) + 1)
        rows = range(max(0, int(word.top * scale)), int(word.bottom * scale) + 1)
        found = b"".join(pixels[at * stride + left : at * stride + right] for at in rows)
        return bool(found) and max(found) - min(found) >= CONTRAST_MIN

    @cached_property
    def _rendered(self) -> tuple[float, int, int, bytes]:
        """Pixels for a point, pixels in a line, bytes in a line, and the brightness of all pixels."""
        wide, high = self._page.get_size()
        scale = min(SCALE, (PIXELS_MAX / max(1.0, wide * high)) ** 0.5)
        width, height = max(1, round(wide * scale)), max(1, round(high * scale))
        with closing(pdfium.PdfBitmap.new_native(width, height, raw.FPDFBitmap_Gray)) as bitmap:
            bitmap.fill_rect((255, 255, 255, 255), 0, 0, width, height)
            flags = raw.FPDF_ANNOT | raw.FPDF_GRAYSCALE
            raw.FPDF_RenderPageBitmap(bitmap.raw, self._page.raw, 0, 0, width, height, 0, flags)
            return scale, width, bitmap.stride, bytes(bitmap.buffer)


class _Scan:
    """What the objects of a page hide, in the order in which they are painted."""

    def __init__(
        self,
        page: pdfium.PdfPage,
        point: Callable[[float, float], tuple[float, float]],
        objects: PageObjects,
        has_layers: Callable[[], bool],
    ) -> None:
        self._page = page.raw
        self._point = point
        self._objects = objects
        self._has_layers = has_layers
        self._clips: dict[int, _Box | None] = {}
        self._layered: dict[int, bool] = {}
        self._numbers = [ctypes.c_float() for _ in range(2)]
        self._number_refs = [ctypes.byref(each) for each in self._numbers]
        self._parts = [ctypes.c_uint() for _ in range(4)]
        self._part_refs = [ctypes.byref(each) for each in self._parts]
        self._fill, self._stroke = ctypes.c_int(), ctypes.c_int()

    def bands(self, height: float) -> dict[int, list[_Area]]:
        """The areas that may hide words, in the order in which they are painted, by the bands that they reach.

        An area may be far larger than its page, so only the bands of the page count.
        """
        lowest = int(height // BAND) + 1
        areas = [area for each in self._objects.painted.others if (area := self._area(each))]
        areas.extend(_Area(ON_TOP, box) for box in self._notes())
        bands: dict[int, list[_Area]] = {}
        for area in areas:
            first, last = int(area.box[1] // BAND), int(area.box[3] // BAND)
            for band in range(max(-1, first), min(lowest, last) + 1):
                bands.setdefault(band, []).append(area)
        return bands

    def texts(self) -> Iterator[_Area]:
        """The boxes of all texts."""
        for thing, order in self._objects.painted.text_orders.items():
            if (box := self._bounds(thing, self._matrix(thing))) is not None:
                yield _Area(order, box)

    def clip(self, thing: int) -> _Box | None:
        """What a text object is cut to, if it reaches beyond that: asked only for those that a word begins with."""
        if thing not in self._clips:
            self._clips[thing] = self._find_clip(thing)
        return self._clips[thing]

    def _find_clip(self, thing: int) -> _Box | None:
        clip = clip_of(thing)
        count = clip_paths(clip) if clip else 0
        nowhere = NOWHERE if render_mode(thing) == raw.FPDF_TEXTRENDERMODE_CLIP else None
        if clip is None or count <= 0:
            return nowhere
        box = self._bounds(thing, self._matrix(thing))
        cut = None if box is None else self._clip_box(clip, count, self._matrix(thing))
        return nowhere if box is None or cut is None or _is_within(box, cut) else cut

    def may_be_layered(self, thing: int) -> bool:
        """Whether a text object may be on a layer.

        A form may name its layer itself, which pdfium does not tell; what it paints bears no mark.
        """
        if not self._has_layers():
            return False
        if thing not in self._layered:
            is_in_form = thing in self._objects.painted.text_matrices
            self._layered[thing] = is_in_form or _is_layered(handle_of(thing))
        return self._layered[thing]

    def _matrix(self, thing: int) -> Matrix:
        return self._objects.painted.text_matrices.get(thing, PLAIN)

    def _area(self, painted: Painted) -> _Area | None:
        """The area that an object paints, if it is one that may cover words."""
        box = self._bounds(painted.address, painted.matrix)
        if box is None or min(box[2] - box[0], box[3] - box[1]) < SIDE_MIN:
            return None
        colour: _Colour | None = None
        if painted.kind == raw.FPDF_PAGEOBJ_PATH:
            handle = handle_of(painted.address)
            raw.FPDFPath_GetDrawMode(handle, ctypes.byref(self._fill), ctypes.byref(self._stroke))
            if self._fill.value == raw.FPDF_FILLMODE_NONE:
                return None
            if raw.FPDFPageObj_GetFillColor(handle, *self._part_refs):
                red, green, blue, alpha = (each.value for each in self._parts)
                if alpha <= FAINT_MAX:
                    return None
                colour = red, green, blue
        return _Area(painted.order, box, colour)

    def _bounds(self, address: int, matrix: Matrix) -> _Box | None:
        box = self._objects.bounds(address, matrix)
        return None if box is None else self._place(box)

    def _place(self, box: _Box) -> _Box:
        """A box of the file as it lies on the page that is seen."""
        left, bottom, right, top = box
        (x0, y0), (x1, y1) = self._point(left, bottom), self._point(right, top)
        return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)

    def _clip_box(self, clip: int, count: int, matrix: Matrix) -> _Box | None:
        """What all paths of a clip have in common, by their corners."""
        common: _Box | None = None
        x, y = self._numbers
        handle = ctypes.cast(clip, raw.FPDF_CLIPPATH)
        for path in range(count):
            points = []
            for at in range(raw.FPDFClipPath_CountPathSegments(handle, path)):
                segment = raw.FPDFClipPath_GetPathSegment(handle, path, at)
                if raw.FPDFPathSegment_GetPoint(segment, *self._number_refs):
                    points.append((x.value, y.value))
            if points:
                box = _around(points)
                common = box if common is None else _common(common, box)
        if common is None:
            return None
        return self._place(common if matrix is PLAIN else transform_box(common, matrix))

    def _notes(self) -> Iterator[_Box]:
        """The places of annotations that may cover what is under them."""
        rect = raw.FS_RECTF()
        for at in range(min(raw.FPDFPage_GetAnnotCount(self._page), NOTES_MAX)):
            note = raw.FPDFPage_GetAnnot(self._page, at)
            if raw.FPDFAnnot_GetSubtype(note) in COVERING_NOTES:
                raw.FPDFAnnot_GetRect(note, ctypes.byref(rect))
                yield self._place((rect.left, rect.bottom, rect.right, rect.top))
            raw.FPDFPage_CloseAnnot(note)


def _is_layered(thing: Handle) -> bool:
    """Whether an object was drawn as a part of a layer: `/OC /MC0 BDC … EMC`."""
    name, size = (ctypes.c_ushort * len(LAYER_MARK))(), ctypes.c_ulong()
    for at in range(raw.FPDFPageObj_CountMarks(thing)):
        mark = raw.FPDFPageObj_GetMark(thing, at)
        raw.FPDFPageObjMark_GetName(mark, name, ctypes.sizeof(name), ctypes.byref(size))
        if size.value == ctypes.sizeof(name) and bytes(name).decode("utf-16-le") == LAYER_MARK:
            return True
    return False


def _last_below(at: Sequence[_Area], order: int) -> _Area | None:
    return next((area for area in reversed(at) if area.order < order), None)


def _contains(box: _Box, x: float, y: float) -> bool:
    return box[1] <= y <= box[3] and box[0] <= x <= box[2]


def _is_within(box: _Box, outer: _Box) -> bool:
    return _contains(outer, box[0], box[1]) and _contains(outer, box[2], box[3])


def _common(one: _Box, other: _Box) -> _Box:
    return (
        max(one[0], other[0]),
        max(one[1], other[1]),
        min(one[2], other[2]),
        min(one[3], other[3]),
    )


def _around(points: Sequence[tuple[float, float]]) -> _Box:
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return min(xs), min(ys), max(xs), max(ys)
