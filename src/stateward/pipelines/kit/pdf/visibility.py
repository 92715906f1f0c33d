"""What a person sees on a page of a PDF: ink that shows, and the values of form fields.

Text may be in a file and yet not on the page: white on white, too small to read, drawn in the invisible mode. It is
never a source: what is read is what a person could have read. Two kinds look hidden and are not: white letters on a
dark ground, and the invisible letters that OCR lays over the image of a scanned page.
"""

import ctypes
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import cached_property
from itertools import islice
from typing import Protocol

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from stateward.pipelines.kit.contrast import WHITE, Color, is_lost
from stateward.pipelines.kit.pdf.calls import (
    address_of,
    glyph_colour,
    glyph_object,
    handle_of,
    render_mode,
)
from stateward.pipelines.kit.pdf.objects import PageObjects, Painted

INK_MAX = 200  # of 255: with so little green in it, or less, any colour shows on white
OPAQUE, OPAQUE_MIN = 255, 13  # thirteen is five per cent of ink
WHITE_MIN = 245  # of 255, each colour
LARGE_MIN = 24.0  # points: a faint word across a page is seen, unless it is white
HEIGHT_MIN = 2.6  # points: the smallest print is 4
FIELDS_MAX = 2000
VALUE_BYTES_MAX = 20_000
FORM_TYPES = (raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX)
STAMP_TYPES = (raw.FPDF_ANNOT_STAMP, raw.FPDF_ANNOT_FREETEXT, raw.FPDF_ANNOT_WATERMARK)
STAMP_KEYS = (
    b"Contents",
    b"Name",
    b"Subj",
)  # a stamp of the standard has only a name: `Draft`, `Void`
STRIKE_HEIGHT_MAX = 2.0  # points: a line through words is thin
STRIKE_WIDTH_MIN = 4.0
STRIKE_COVER_MIN = 0.6  # of a word
STRIKE_LOW, STRIKE_HIGH = (
    0.12,
    0.5,
)  # above the baseline, in heights of the line: where the middle of letters is
STROKE_USED_MIN = 0.5  # of a line through words
PATHS_MAX = 3000
REMARK_TYPES = (raw.FPDF_ANNOT_TEXT, raw.FPDF_ANNOT_POPUP)
HIDDEN_FLAGS = raw.FPDF_ANNOT_FLAG_HIDDEN | raw.FPDF_ANNOT_FLAG_NOVIEW

_Box = tuple[float, float, float, float]  # left, bottom, right, top


class PageInk:
    """Whether glyphs of a page show; what is under them is only looked at where that matters.

    The colour of a glyph is that of its text object, and a text object is often a whole line: each is asked once.
    """

    def __init__(self, text: pdfium.PdfTextPage, objects: PageObjects) -> None:
        self._text = address_of(text.raw)
        self._objects = objects
        self._colours: dict[int, tuple[int, int, int, int] | None] = {}
        self._colour = (ctypes.c_uint * 4)()
        at, size = ctypes.addressof(self._colour), ctypes.sizeof(ctypes.c_uint)
        self._addresses = (at, at + size, at + 2 * size, at + 3 * size)
        self._parts = [ctypes.c_uint() for _ in range(4)]
        self._refs = [ctypes.byref(each) for each in self._parts]

    def hides_colour(self, index: int, thing: int, box: Callable[[], _Box]) -> bool:
        """Whether the glyph at an index, of a text object, has no colour that shows.

        Asked for every word, so it is quick for ink.
        """
        found = self._rgba(index, thing)
        if found is None or (found[3] == OPAQUE and found[1] <= INK_MAX):
            return False
        if found[3] < OPAQUE_MIN:
            return not self._is_unpainted(thing)
        colour = _on_white(found)
        if not is_lost(colour):
            return False
        left, bottom, right, top = box()
        if top - bottom >= LARGE_MIN and min(colour) < WHITE_MIN:
            return False
        x, y = (left + right) / 2, (bottom + top) / 2
        return not any(
            x0 <= x <= x1 and y0 <= y <= y1 and (ground is None or not is_lost(colour, ground))
            for ground, (x0, y0, x1, y1) in self._grounds
        )

    def _rgba(self, index: int, thing: int) -> tuple[int, int, int, int] | None:
        """Red, green, blue and alpha of a glyph; None if it has no colour."""
        if thing in self._colours:
            return self._colours[thing]
        found = None
        if glyph_colour(self._text, index, *self._addresses):
            red, green, blue, alpha = self._colour
            found = red, green, blue, alpha
        if thing:
            self._colours[thing] = found
        return found

    def colour(self, index: int, thing: int) -> Color | None:
        """The colour of a glyph."""
        found = self._rgba(index, thing)
        return None if found is None else found[:3]

    def hides_run(self, index: int) -> bool:
        """Whether the run of words that begins at an index is drawn without ink, and is not laid over an image."""
        thing = glyph_object(self._text, index) or 0
        return self._is_unpainted(thing) and not self._objects.has_image()

    def _is_unpainted(self, thing: int) -> bool:
        return bool(thing) and render_mode(thing) == raw.FPDF_TEXTRENDERMODE_INVISIBLE

    @cached_property
    def _grounds(self) -> list[tuple[Color | None, _Box]]:
        """The colours and boxes of filled areas; of an image no colour is known, and letters may show on it."""
        wanted = raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_PATH, raw.FPDF_PAGEOBJ_SHADING
        boxes = (
            (each, self._objects.bounds(each.address, each.matrix))
            for each in self._objects.of(*wanted)
        )
        return [(self._ground(each), box) for each, box in boxes if box is not None]

    def _ground(self, painted: Painted) -> Color | None:
        if painted.kind != raw.FPDF_PAGEOBJ_PATH:
            return None
        fill, stroke = ctypes.c_int(), ctypes.c_int()
        handle = handle_of(painted.address)
        raw.FPDFPath_GetDrawMode(handle, ctypes.byref(fill), ctypes.byref(stroke))
        if fill.value == raw.FPDF_FILLMODE_NONE:
            return WHITE
        raw.FPDFPageObj_GetFillColor(handle, *self._refs)
        red, green, blue, alpha = (part.value for part in self._parts)
        return _on_white((red, green, blue, alpha))


def _on_white(colour: tuple[int, int, int, int]) -> Color:
    """A colour as it is on white paper."""
    alpha = colour[3] / OPAQUE
    red, green, blue = (
        round(part * alpha + white * (1 - alpha))
        for part, white in zip(colour[:3], WHITE, strict=True)
    )
    return red, green, blue


def form_values(document: pdfium.PdfDocument, page: pdfium.PdfPage) -> Iterator[tuple[str, _Box]]:
    """The texts that stand in the fields of a form on a page, with their boxes."""
    form = document.formenv
    if form is None:
        return
    for field in _annotations(page):
        if field.is_shown and (value := field.value(form)):
            yield value, field.box


def stamps(page: pdfium.PdfPage) -> Iterator[str]:
    """What stamps and notes that were laid over a page say."""
    for stamp in _annotations(page):
        if stamp.is_stamp:
            yield from filter(None, map(stamp.text, STAMP_KEYS))


def remarks(page: pdfium.PdfPage) -> Iterator[str]:
    """What notes say that only open when a person points at them."""
    for note in _annotations(page):
        if note.subtype in REMARK_TYPES and (said := note.text(b"Contents")):
            yield said


class PlacedWord(Protocol):
    """A word and its box, from the top left of the page."""

    text: str
    x0: float
    top: float
    x1: float
    bottom: float
    base: float


def struck_words(
    page: pdfium.PdfPage,
    objects: PageObjects,
    words: Sequence[PlacedWord],
    point: Callable[[float, float], tuple[float, float]],
) -> list[str]:
    """The words through the middle of whose letters a thin line runs: drawn, or marked as struck out."""
    strokes = [
        (x0, x1, (y0 + y1) / 2)
        for left, bottom, right, top in _thin_boxes(page, objects)
        for (x0, y0), (x1, y1) in [sorted((point(left, bottom), point(right, top)))]
    ]
    if not strokes:
        return []
    named = [word for word in words if any(map(str.isalnum, word.text))]
    by_base = sorted(range(len(named)), key=lambda at: named[at].base)
    bases = [named[at].base for at in by_base]
    highest = max((word.bottom - word.top for word in named), default=0.0)
    struck: dict[int, str] = {}
    for stroke in strokes:
        # Of a page with many lines only the words on which one may lie are asked.
        first = bisect_left(bases, stroke[2])
        last = bisect_right(bases, stroke[2] + STRIKE_HIGH * highest + 1)
        near = sorted(by_base[first:last])
        hit = {at: named[at] for at in near if _strikes(stroke, named[at])}
        # A line for a signature that touches a name goes on far beyond it.
        if sum(word.x1 - word.x0 for word in hit.values()) >= STROKE_USED_MIN * (
            stroke[1] - stroke[0]
        ):
            struck |= {at: word.text for at, word in hit.items()}
    return [struck[at] for at in sorted(struck)]


def _strikes(stroke: tuple[float, float, float], word: PlacedWord) -> bool:
    x0, x1, y = stroke
    height = word.bottom - word.top
    if not STRIKE_LOW * height <= word.base - y <= STRIKE_HIGH * height:
        return False
    covered = min(x1, word.x1) - max(x0, word.x0)
    return covered >= STRIKE_COVER_MIN * (word.x1 - word.x0) > 0


def _thin_boxes(page: pdfium.PdfPage, objects: PageObjects) -> Iterator[_Box]:
    for path in islice(objects.of(raw.FPDF_PAGEOBJ_PATH), PATHS_MAX):
        box = objects.bounds(path.address, path.matrix)
        if box is None:
            continue
        left, bottom, right, top = box
        if top - bottom <= STRIKE_HEIGHT_MAX and right - left >= STRIKE_WIDTH_MIN:
            yield left, bottom, right, top
    for mark in _annotations(page):
        if mark.subtype == raw.FPDF_ANNOT_STRIKEOUT:
            left, bottom, right, top = mark.box
            middle = bottom + 0.45 * (top - bottom)
            yield left, middle, right, middle


def _annotations(page: pdfium.PdfPage) -> "Iterator[_Annotation]":
    """The annotations of a page, each to be used before the next one is asked for."""
    for at in range(min(raw.FPDFPage_GetAnnotCount(page.raw), FIELDS_MAX)):
        with closing(_Annotation(page, at)) as each:
            yield each


class _Annotation:
    """An annotation of a page, which is to be closed."""

    def __init__(self, page: pdfium.PdfPage, at: int) -> None:
        self._raw = raw.FPDFPage_GetAnnot(page.raw, at)

    def close(self) -> None:
        raw.FPDFPage_CloseAnnot(self._raw)

    @property
    def subtype(self) -> int:
        return int(raw.FPDFAnnot_GetSubtype(self._raw))

    @property
    def is_shown(self) -> bool:
        is_field = raw.FPDFAnnot_GetSubtype(self._raw) == raw.FPDF_ANNOT_WIDGET
        return is_field and not raw.FPDFAnnot_GetFlags(self._raw) & HIDDEN_FLAGS

    @property
    def is_stamp(self) -> bool:
        is_stamp = raw.FPDFAnnot_GetSubtype(self._raw) in STAMP_TYPES
        return is_stamp and not raw.FPDFAnnot_GetFlags(self._raw) & HIDDEN_FLAGS

    def text(self, key: bytes) -> str:
        size = raw.FPDFAnnot_GetStringValue(self._raw, key, None, 0)
        if not 2 < size <= VALUE_BYTES_MAX:
            return ""
        buffer = (ctypes.c_ushort * (size // 2))()
        raw.FPDFAnnot_GetStringValue(self._raw, key, buffer, size)
        return _decode(buffer)

    @property
    def box(self) -> _Box:
        rect = raw.FS_RECTF()
        raw.FPDFAnnot_GetRect(self._raw, ctypes.byref(rect))
        return rect.left, rect.bottom, rect.right, rect.top

    def value(self, form: pdfium.PdfFormEnv) -> str:
        if raw.FPDFAnnot_GetFormFieldType(form.raw, self._raw) not in FORM_TYPES:
            return ""
        size = raw.FPDFAnnot_GetFormFieldValue(form.raw, self._raw, None, 0)
        if not 2 < size <= VALUE_BYTES_MAX:
            return ""
        buffer = (ctypes.c_ushort * (size // 2))()
        raw.FPDFAnnot_GetFormFieldValue(form.raw, self._raw, buffer, size)
        return _decode(buffer)


def _decode(buffer: ctypes.Array[ctypes.c_ushort]) -> str:
    return bytes(buffer).decode("utf-16-le", "replace").rstrip("\x00").strip()
