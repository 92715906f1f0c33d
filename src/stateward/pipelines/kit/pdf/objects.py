"""The objects that a page of a PDF paints, in their order: text, paths, images, and what forms within it paint.

They are walked once for all who ask. The helpers of pypdfium2 make an object of Python for each of them, which took
more time than all that was asked of it.
"""

import ctypes
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, Protocol

import pypdfium2 as pdfium
import pypdfium2.raw as raw

DEPTH_MAX = 3  # of forms within forms
OBJECTS_MAX = 50_000

Matrix = tuple[float, float, float, float, float, float]
Box = tuple[float, float, float, float]  # left, bottom, right, top
PLAIN: Matrix = (1, 0, 0, 1, 0, 0)


class PageObject(Protocol):
    """An object of a page, as pdfium points to it."""

    contents: ctypes.Structure


class Painted(NamedTuple):
    """An object: when it is painted, its kind, and the matrix of the form that it is in."""

    order: int
    kind: int
    thing: PageObject
    matrix: Matrix


class PageObjects:
    """All objects of a page, those within forms instead of the forms."""

    def __init__(self, page: pdfium.PdfPage) -> None:
        self._page = page.raw
        self._numbers = [ctypes.c_float() for _ in range(4)]
        self._number_refs = [ctypes.byref(each) for each in self._numbers]

    @cached_property
    def all(self) -> Sequence[Painted]:
        """All of them, in the order in which they are painted."""
        return list(self._walk())

    def of(self, *kinds: int) -> Iterator[Painted]:
        """Those of some kinds."""
        return (each for each in self.all if each.kind in kinds)

    def has_image(self) -> bool:
        """Whether the page shows an image."""
        return next(self.of(raw.FPDF_PAGEOBJ_IMAGE), None) is not None

    def bounds(self, thing: PageObject, matrix: Matrix) -> Box | None:
        """The box around an object in the coordinates of the file; None if it has none."""
        if not raw.FPDFPageObj_GetBounds(thing, *self._number_refs):
            return None
        left, bottom, right, top = (each.value for each in self._numbers)
        box = left, bottom, right, top
        return box if matrix is PLAIN else transform_box(box, matrix)

    def _walk(self) -> Iterator[Painted]:
        page, kind_of, object_of = self._page, raw.FPDFPageObj_GetType, raw.FPDFPage_GetObject
        order = 0
        for at in range(min(raw.FPDFPage_CountObjects(page), OBJECTS_MAX)):
            order += 1
            thing = object_of(page, at)
            kind = kind_of(thing)
            if kind != raw.FPDF_PAGEOBJ_FORM:
                yield Painted(order, kind, thing, PLAIN)
                continue
            for kind_within, within, matrix in _within(thing, PLAIN, DEPTH_MAX):
                order += 1
                yield Painted(order, kind_within, within, matrix)


def _within(
    form: PageObject, outer: Matrix, depth: int
) -> Iterator[tuple[int, PageObject, Matrix]]:
    """What a form paints, and the forms within it."""
    matrix = _combine(_matrix_of(form), outer)
    for at in range(min(raw.FPDFFormObj_CountObjects(form), OBJECTS_MAX)):
        thing = raw.FPDFFormObj_GetObject(form, at)
        kind = raw.FPDFPageObj_GetType(thing)
        if kind != raw.FPDF_PAGEOBJ_FORM:
            yield kind, thing, matrix
        elif depth > 1:
            yield from _within(thing, matrix, depth - 1)


def _matrix_of(form: PageObject) -> Matrix:
    found = raw.FS_MATRIX()
    if not raw.FPDFPageObj_GetMatrix(form, ctypes.byref(found)):
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
