"""The objects that a page of a PDF paints, in their order: text, paths, images, and what forms within it paint.

They are walked once for all who ask, and most are texts: of those only the order and the matrix are kept. Objects are
known by their addresses, which are good as long as the page is open (`calls`).
"""

import ctypes
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from stateward.pipelines.kit.pdf.calls import address_of, bounds_of, handle_of, kind_of, page_object

DEPTH_MAX = 3  # of forms within forms
OBJECTS_MAX = 50_000

Matrix = tuple[float, float, float, float, float, float]
Box = tuple[float, float, float, float]  # left, bottom, right, top
PLAIN: Matrix = (1, 0, 0, 1, 0, 0)


class Painted(NamedTuple):
    """An object that is no text: when it is painted, its kind, and the matrix of the form that it is in."""

    order: int
    kind: int
    address: int
    matrix: Matrix


class PaintedObjects(NamedTuple):
    """What a page paints."""

    text_orders: dict[int, int]  # when each text is painted, by address
    text_matrices: dict[int, Matrix]  # of the texts within forms
    others: list[Painted]


class PageObjects:
    """All objects of a page, those within forms instead of the forms."""

    def __init__(self, page: pdfium.PdfPage) -> None:
        self._page = page.raw
        self._sides = (ctypes.c_float * 4)()
        at, size = ctypes.addressof(self._sides), ctypes.sizeof(ctypes.c_float)
        self._side_addresses = (at, at + size, at + 2 * size, at + 3 * size)

    @cached_property
    def painted(self) -> PaintedObjects:
        """All of them."""
        page, order = address_of(self._page), 0
        texts: dict[int, int] = {}
        matrices: dict[int, Matrix] = {}
        others: list[Painted] = []
        is_text, is_form = raw.FPDF_PAGEOBJ_TEXT, raw.FPDF_PAGEOBJ_FORM
        for at in range(min(raw.FPDFPage_CountObjects(self._page), OBJECTS_MAX)):
            order += 1
            thing = page_object(page, at) or 0
            kind = kind_of(thing)
            if kind == is_text:
                texts[thing] = order
            elif kind != is_form:
                others.append(Painted(order, kind, thing, PLAIN))
            else:
                for kind_within, within, matrix in _within(thing, PLAIN, DEPTH_MAX):
                    order += 1
                    if kind_within == is_text:
                        texts[within], matrices[within] = order, matrix
                    else:
                        others.append(Painted(order, kind_within, within, matrix))
        return PaintedObjects(texts, matrices, others)

    def of(self, *kinds: int) -> Iterator[Painted]:
        """Those of some kinds, which are no text."""
        return (each for each in self.painted.others if each.kind in kinds)

    def has_image(self) -> bool:
        """Whether the page shows an image."""
        return next(self.of(raw.FPDF_PAGEOBJ_IMAGE), None) is not None

    def bounds(self, address: int, matrix: Matrix) -> Box | None:
        """The box around an object in the coordinates of the file; None if it has none."""
        if not bounds_of(address, *self._side_addresses):
            return None
        left, bottom, right, top = self._sides
        box = left, bottom, right, top
        return box if matrix is PLAIN else transform_box(box, matrix)


def _within(form: int, outer: Matrix, depth: int) -> Iterator[tuple[int, int, Matrix]]:
    """What a form paints, and the forms within it."""
    handle = handle_of(form)
    matrix = _combine(_matrix_of(form), outer)
    for at in range(min(raw.FPDFFormObj_CountObjects(handle), OBJECTS_MAX)):
        thing = address_of(raw.FPDFFormObj_GetObject(handle, at))
        kind = kind_of(thing)
        if kind != raw.FPDF_PAGEOBJ_FORM:
            yield kind, thing, matrix
        elif depth > 1:
            yield from _within(thing, matrix, depth - 1)


def _matrix_of(form: int) -> Matrix:
    found = raw.FS_MATRIX()
    if not raw.FPDFPageObj_GetMatrix(handle_of(form), ctypes.byref(found)):
        return PLAIN
    return found.a, found.b, found.c, found.d, found.e, found.f


def _combine(inner: Matrix, outer: Matrix) -> Matrix:
    a, b, c, d, e, f = inner
    oa, ob, oc, od, oe, of = outer
    return (
        a * oa + b * oc, a * ob + b * od, c * oa + d * oc, c * ob + d * od,
        e * oa + f * oc + oe, e * ob + f * od + of,
    )  # fmt: skip


def transform_box(box: Box, matrix: Matrix) -> Box:
    """The box around a box that was moved, turned or stretched."""
    a, b, c, d, e, f = matrix
    corners = [(a * x + c * y + e, b * x + d * y + f) for x in box[::2] for y in box[1::2]]
    xs, ys = [x for x, _ in corners], [y for _, y in corners]
    return min(xs), min(ys), max(xs), max(ys)
