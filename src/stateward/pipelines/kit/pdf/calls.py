"""Calls of pdfium that are made for every word or object of a page, by addresses.

pypdfium2 has them too, with an object of ctypes for each pointer that a function gives: to make those took as long as
what was asked. Here a pointer is an integer, None where there is none. The lock of the interpreter is kept, since each
call takes less time than giving the lock away.
"""

import ctypes
from collections.abc import Callable
from typing import Protocol

import pypdfium2.raw as raw

Pointer = int | None

_ADDRESS, _INT = ctypes.c_void_p, ctypes.c_int


class Handle(Protocol):
    """A page, a text page or an object, as pypdfium2 points to it."""

    contents: ctypes.Structure


def address_of(handle: Handle) -> int:
    """The address of what pypdfium2 opened; it is good as long as that is open."""
    return ctypes.addressof(handle.contents)


def handle_of(address: int) -> Handle:
    """An object of a page as pypdfium2 points to it, for the functions that are not called often."""
    return ctypes.cast(address, raw.FPDF_PAGEOBJECT)  # type: ignore[no-any-return]


def _call(function: object, result: type, *arguments: type) -> Callable[..., int]:
    """A function of pdfium with types of its own."""
    at = ctypes.cast(function, ctypes.c_void_p).value  # type: ignore[arg-type]
    return ctypes.PYFUNCTYPE(result, *arguments)(at)  # type: ignore[arg-type]


def _pointer_call(function: object, *arguments: type) -> Callable[..., Pointer]:
    return _call(function, _ADDRESS, *arguments)


_FOUR = (_ADDRESS,) * 4

page_object = _pointer_call(raw.FPDFPage_GetObject, _ADDRESS, _INT)
kind_of = _call(raw.FPDFPageObj_GetType, _INT, _ADDRESS)
bounds_of = _call(raw.FPDFPageObj_GetBounds, _INT, _ADDRESS, *_FOUR)
clip_of = _pointer_call(raw.FPDFPageObj_GetClipPath, _ADDRESS)
clip_paths = _call(raw.FPDFClipPath_CountPaths, _INT, _ADDRESS)
render_mode = _call(raw.FPDFTextObj_GetTextRenderMode, _INT, _ADDRESS)
glyph_object = _pointer_call(raw.FPDFText_GetTextObject, _ADDRESS, _INT)
glyph_box = _call(raw.FPDFText_GetLooseCharBox, _INT, _ADDRESS, _INT, _ADDRESS)
glyph_colour = _call(raw.FPDFText_GetFillColor, _INT, _ADDRESS, _INT, *_FOUR)
