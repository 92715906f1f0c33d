"""Pages of a PDF as words with boxes, in points from the top left corner of the visible page.

A word is a run of glyphs without a blank. Glyphs outside the crop box and glyphs that do not show (`visibility`) are
dropped: they belong to no line that a person reads. Those that are rotated against the page (watermarks, text along the
margin) belong to no line either, but a person sees them: they are kept apart (`PdfPage.turned`). Values of form fields
are words too, where they stand. Boxes are pdfium's loose
boxes, which have the full height and advance width of the font; tight boxes would split "87,09" into "87 , 09".
"""

import ctypes
import io
import math
import re
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import cache, partial
from itertools import groupby
from pathlib import Path

import msgspec
import pypdfium2 as pdfium
import pypdfium2.raw as raw
from msgspec.structs import replace

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.failures import (
    CORRUPT_FILE,
    EMPTY_DOCUMENT,
    ENCRYPTED,
    NO_TEXT,
    TEXT_TOO_LARGE,
    TOO_MANY_PAGES,
)
from stateward.pipelines.kit.pdf.calls import address_of, glyph_box, glyph_object
from stateward.pipelines.kit.pdf.covers import PageCovers
from stateward.pipelines.kit.pdf.layers import may_have_layers
from stateward.pipelines.kit.pdf.objects import PageObjects
from stateward.pipelines.kit.pdf.visibility import (
    HEIGHT_MIN,
    PageInk,
    form_values,
    remarks,
    stamps,
    struck_words,
)
from stateward.pipelines.kit.pdf.word_gaps import tokens

PAGES_MAX = 2000
CHARS_PER_PAGE_MAX = 300_000
CHARS_PER_PAGE_MIN = 40  # a page with fewer is a scan or damaged: a page of text has hundreds
# Share of glyphs with a character; fonts without a character map show only shapes.
READABLE_MIN = 0.6
ANGLE_MAX = 0.06  # radians (3.4 degrees); scans are skewed less, watermarks rotated more
GAP_MAX = 0.14  # of the glyph height; a wider gap separates two words
WIDTH_MAX = 0.95  # of the height, per glyph: no font is that wide, so such a word hides a gap
FIELD_LINES_MAX = 50
TURNED_GAP_MAX = 2.0  # of the size of a glyph, between the words of a run
TURNED_WORDS_MAX = 200  # of a page: a page that has more is turned as a whole
LINE_HEIGHT = 10.0  # points: of a value in a field, which may be much taller
GLYPH_WIDTH = 0.5  # of the height: about that of the usual fonts
MAGIC = b"%PDF-"
MAGIC_WITHIN = 1024  # the format allows other bytes before the header

SURROGATES = range(0xD800, 0xE000)
HIGH_HALVES, LOW_HALVES = range(0xD800, 0xDC00), range(0xDC00, 0xE000)
SECOND_HALF = "\ufdd0"  # no character, and in no text
_NO_CHARACTER = re.compile("[\x00\ufffd\uffff\ue000-\uf8ff]")
FONT_BYTES_MAX = 256
FORCE_BOLD = 1 << 18  # of the flags of a font
# As fonts are named: Times-Bold, NotoSans-SemiBold, NimbusRomNo9L-Medi, CMBX10, SFBX1200, AdvTimes-b.
_BOLD = re.compile(rb"(?i:bold|black|heavy|demi)|-Medi(?!um)|(?:CM|SF|EC)BX[0-9]|-[bB]$")
RAISED_MAX = (
    0.9  # of the height of a word: glyphs that touch it and are smaller are signs beside it
)

_RECT = struct.Struct("4f").unpack_from  # of pdfium: left, top, right, bottom
_Box = tuple[float, float, float, float]  # left, bottom, right, top: y grows upwards in a PDF


class PdfWord(msgspec.Struct, gc=False):
    """A word with its box. `base` is its baseline; words with the same `run` follow each other in the file.

    `is_bold` is known where `read_pages` was asked for fonts; `begins_cell` is for readers of tables, which know of
    columns that stand close together.
    """

    text: str
    x0: float
    top: float
    x1: float
    bottom: float
    base: float
    run: int
    is_bold: bool = False
    begins_cell: bool = False


class PdfPage(msgspec.Struct):
    """The visible text of one page."""

    number: int
    width: float
    height: float
    words: list[PdfWord]
    chars: int = 0
    readable: int = 0
    is_picture: bool = False  # it shows an image and hardly any text
    # Words that are rotated against the page, and stamps: each run on a line of its own.
    turned: str = ""
    unseen: str = ""  # words that are in the file and not on the page
    struck: str = ""  # words with a line through them


def read_pages(
    path: Path,
    *,
    password: str | None = None,
    pages_max: int = PAGES_MAX,
    on_damaged: Callable[[int], object] | None = None,
    with_fonts: bool = False,
    with_covers: bool = False,
) -> Iterator[PdfPage]:
    """Every page in rotation; a file that cannot be opened fails before the first page is given.

    Only `with_fonts` tells which words are bold, and parts a word from the small raised signs that touch it. Only
    `with_covers` knows words that something else covers or cuts away, or that are on a layer which is off; it takes a
    third of the time again.

    A page that cannot be read fails the file, unless `on_damaged` is there to be told its number; then it is left out.
    """
    with closing(_open(path, password)) as document:
        if document.get_formtype() != raw.FORMTYPE_NONE:
            document.init_forms()
        has_layers = cache(partial(may_have_layers, path)) if with_covers else None
        count = len(document)
        if count > pages_max:
            raise FatalFailure(
                f"the file has {count} pages and the limit is {pages_max}; split it",
                code=TOO_MANY_PAGES,
            )
        if not count:
            raise FatalFailure("the PDF has no pages; save or download it again", code=CORRUPT_FILE)
        for number in range(1, count + 1):
            try:
                page = _page(
                    document,
                    number,
                    with_fonts=with_fonts,
                    has_layers=has_layers,
                )
            except FatalFailure as error:
                if on_damaged is None or error.code != CORRUPT_FILE:
                    raise
                on_damaged(number)
            else:
                yield page


def require_text(pages: Sequence[PdfPage], *, chars_min: int, advice: str) -> None:
    """Refuse a file without enough readable text; `advice` tells the user what to submit instead."""
    chars = sum(page.chars for page in pages)
    if chars < chars_min or not any(page.words for page in pages):
        kind = "a scan" if any(page.is_picture for page in pages) else "a scan, empty or damaged"
        raise FatalFailure(
            f"the file has {len(pages)} pages but only {chars} characters of text: it is {kind}; {advice}",
            code=NO_TEXT,
        )
    if sum(page.readable for page in pages) < READABLE_MIN * chars:
        raise FatalFailure(
            f"the fonts of this file do not map their glyphs to characters, so its text cannot be read; {advice}",
            code=NO_TEXT,
        )


def unlocked_pdf(path: Path, password: str) -> bytes:
    """A PDF as it is without its password."""
    saved = io.BytesIO()
    with closing(_open(path, password)) as document:
        document.save(saved, flags=raw.FPDF_REMOVE_SECURITY)
    return saved.getvalue()


def _open(path: Path, password: str | None) -> pdfium.PdfDocument:
    with path.open("rb") as file:
        head = file.read(MAGIC_WITHIN)
    if not head:
        raise FatalFailure("the file is empty; upload it again", code=EMPTY_DOCUMENT)
    if MAGIC not in head:
        raise FatalFailure("the file is not a PDF, whatever its name says", code=CORRUPT_FILE)
    # pdfium keeps the last error of the process, and not every failure sets one. Loading one byte that is no PDF
    # first replaces an old "wrong password" by "format error".
    raw.FPDF_LoadMemDocument64(b"%", 1, None)
    try:
        return pdfium.PdfDocument(path, password=password)
    except pdfium.PdfiumError as error:
        raise _open_failure(error, password) from error


def _open_failure(error: pdfium.PdfiumError, password: str | None) -> FatalFailure:
    code = getattr(error, "err_code", 0)
    if code == raw.FPDF_ERR_PASSWORD:
        said = (
            "the password is wrong; supply the right one"
            if password
            else "the PDF is encrypted with a password; save a copy without one and submit that"
        )
        return FatalFailure(said, code=ENCRYPTED)
    if code == raw.FPDF_ERR_SECURITY:
        return FatalFailure(
            "the PDF is encrypted with an unknown method; save it without a password",
            code=ENCRYPTED,
        )
    return FatalFailure(
        "the PDF is damaged and cannot be opened; download it again", code=CORRUPT_FILE
    )


def _page(
    document: pdfium.PdfDocument,
    number: int,
    *,
    with_fonts: bool,
    has_layers: Callable[[], bool] | None,  # only for one who asks for covers
) -> PdfPage:
    try:
        with closing(document[number - 1]) as page, closing(page.get_textpage()) as text:
            return _read(
                document,
                page,
                text,
                number,
                with_fonts=with_fonts,
                has_layers=has_layers,
            )
    except pdfium.PdfiumError as error:
        raise FatalFailure(
            f"page {number} of {len(document)} is damaged and cannot be read; download the file again",
            code=CORRUPT_FILE,
        ) from error


def _read(
    document: pdfium.PdfDocument,
    page: pdfium.PdfPage,
    text: pdfium.PdfTextPage,
    number: int,
    *,
    with_fonts: bool,
    has_layers: Callable[[], bool] | None,  # only for one who asks for covers
) -> PdfPage:
    count = raw.FPDFText_CountChars(text.raw)
    if count > CHARS_PER_PAGE_MAX:
        raise FatalFailure(
            f"page {number} holds {count} characters and the limit is {CHARS_PER_PAGE_MAX}; split the file",
            code=TEXT_TOO_LARGE,
        )
    letters = _letters(text, count)
    view = _PageView(page)
    glyphs = _Glyphs(text, is_rotated=bool(view.rotation), has_fonts=with_fonts)
    turned = _TurnedRuns(glyphs)
    objects = PageObjects(page)
    ink = PageInk(text, objects)
    covers = None
    if has_layers is not None:
        covers = PageCovers(
            page, view.point, height=view.height, objects=objects, ink=ink, has_layers=has_layers
        )
    unseen: list[str] = []
    words = list(_words(letters, glyphs, view, ink, covers, turned, unseen)) if count > 0 else []
    if SECOND_HALF in letters:
        words = [replace(word, text=word.text.replace(SECOND_HALF, "")) for word in words]
        unseen = [each.replace(SECOND_HALF, "") for each in unseen]
        turned.runs = [each.replace(SECOND_HALF, "") for each in turned.runs]
    struck = struck_words(page, objects, words, view.point) if words else []
    filled = [
        word for value, box in form_values(document, page) for word in _form_words(value, box, view)
    ]
    words += [replace(word, run=len(words) + at) for at, word in enumerate(filled, start=1)]
    chars = sum(map(len, letters.split())) + sum(len(word.text) for word in filled)
    is_plain = letters.isascii() and "\x00" not in letters
    bad = 0 if is_plain else len(_NO_CHARACTER.findall(letters))
    is_picture = chars < CHARS_PER_PAGE_MIN and objects.has_image()
    across = "\n".join([*turned.runs, *stamps(page)])
    return PdfPage(
        number, view.width, view.height, words, chars, chars - bad, is_picture, across,
        " ".join([*unseen, *remarks(page)]), " ".join(struck),
    )  # fmt: skip


def _letters(text: pdfium.PdfTextPage, count: int) -> str:
    """One character for each glyph: in one call where that is possible, since this runs for every page."""
    if count <= 0:
        return ""
    buffer = (ctypes.c_ushort * (count + 1))()
    written = raw.FPDFText_GetText(text.raw, 0, count, buffer)
    letters = bytes(buffer)[: 2 * max(written - 1, 0)].decode("utf-16-le", "replace")
    if len(letters) != count:  # characters beyond the BMP take two units, so indexes would shift
        letters = _joined_units(
            [raw.FPDFText_GetUnicode(text.raw, index) for index in range(count)]
        )
    # pdfium gives a hyphen at the end of a line as U+0002 or U+FFFE; it may be the minus sign of an amount.
    return letters.replace("\x02", "-").replace("\ufffe", "-")


def _joined_units(codes: Sequence[int]) -> str:
    """Characters by the index of their glyph, where pdfium may give two halves of one (surrogates) an index each.

    The second half becomes `SECOND_HALF`, which is taken out of the words when they are made.
    """
    found: list[str] = []
    for at, code in enumerate(codes):
        after = codes[at + 1] if at + 1 < len(codes) else 0
        if code in HIGH_HALVES and after in LOW_HALVES:
            found.append(
                chr(0x10000 + (code - HIGH_HALVES.start) * 0x400 + after - LOW_HALVES.start)
            )
        elif code in LOW_HALVES and at and codes[at - 1] in HIGH_HALVES:
            found.append(SECOND_HALF)
        else:
            found.append("\ufffd" if code in SURROGATES or code > sys.maxunicode else chr(code))
    return "".join(found)


class _PageView:
    """The visible part of a page: its crop box and its rotation."""

    def __init__(self, page: pdfium.PdfPage) -> None:
        left, bottom, right, top = page.get_bbox()  # its crop box within its media box
        self.box: _Box = (min(left, right), min(bottom, top), max(left, right), max(bottom, top))
        self.rotation = page.get_rotation() % 360
        wide, high = self.box[2] - self.box[0], self.box[3] - self.box[1]
        self.width, self.height = (high, wide) if self.rotation in (90, 270) else (wide, high)

    def shows(self, x: float, y: float) -> bool:
        left, bottom, right, top = self.box
        return bool(left - 1 <= x <= right + 1 and bottom - 1 <= y <= top + 1)

    def point(self, x: float, y: float) -> tuple[float, float]:
        """A point of the file as seen on the page, from the top left."""
        left, bottom, right, top = self.box
        if self.rotation == 90:
            return y - bottom, x - left
        if self.rotation == 180:
            return right - x, y - bottom
        if self.rotation == 270:
            return top - y, right - x
        return x - left, top - y


class _Glyphs:
    """Boxes, angles and baselines of glyphs, by index."""

    def __init__(
        self, text: pdfium.PdfTextPage, *, is_rotated: bool, has_fonts: bool = False
    ) -> None:
        self._text = text.raw
        self._address = address_of(text.raw)
        self._is_rotated = is_rotated
        self.has_fonts = has_fonts
        self._font = ctypes.create_string_buffer(FONT_BYTES_MAX)
        self._flags = ctypes.c_int()
        self._flags_at = ctypes.byref(self._flags)
        self._offs: dict[tuple[float, float], tuple[float, float]] = {}
        self._bold: dict[int, bool] = {}
        self._rect = raw.FS_RECTF()
        self._rect_address = ctypes.addressof(self._rect)
        self._x, self._y = ctypes.c_double(), ctypes.c_double()
        self._x_at, self._y_at = ctypes.byref(self._x), ctypes.byref(self._y)

    def box(self, index: int) -> _Box:
        """Left, bottom, right, top, as the file has them."""
        glyph_box(self._address, index, self._rect_address)
        left, top, right, bottom = _RECT(self._rect)
        return left, bottom, right, top

    def angle(self, index: int) -> float:
        """As a person sees it. pdfium leaves out that a negative size of a font turns its glyphs once more by half."""
        angle = float(raw.FPDFText_GetCharAngle(self._text, index))
        return angle + math.pi if raw.FPDFText_GetFontSize(self._text, index) < 0 else angle

    def object(self, index: int) -> int:
        """Which text object of the page a glyph is of: all glyphs of one have one font and size. 0 if it is of none."""
        return glyph_object(self._address, index) or 0

    def font(self, index: int) -> int:
        """Which font a glyph is of; 0 if it is of none."""
        thing = raw.FPDFText_GetTextObject(self._text, index)
        font = raw.FPDFTextObj_GetFont(thing) if thing else None
        return ctypes.addressof(font.contents) if font else 0

    def is_printed(self, index: int) -> bool:
        """Whether a character is in the file: pdfium puts in blanks where it guesses them."""
        return not raw.FPDFText_IsGenerated(self._text, index)

    def is_bold(self, index: int, thing: int) -> bool:
        """Whether the font of a text object says of itself that it is bold: by its name, or by its flag.

        Objects are often whole lines, and to ask for the name of a font is the slow part.
        """
        found = self._bold.get(thing) if thing else None
        if found is None:
            found = self._bold[thing] = self._is_font_bold(index)
        return found

    def _is_font_bold(self, index: int) -> bool:
        size = raw.FPDFText_GetFontInfo(
            self._text, index, self._font, FONT_BYTES_MAX, self._flags_at
        )
        name = self._font.raw[: max(0, size - 1)] if size <= FONT_BYTES_MAX else b""
        return bool(self._flags.value & FORCE_BOLD) or _BOLD.search(name) is not None

    def base(self, index: int, box: _Box) -> tuple[float, float]:
        """The origin of a glyph on its baseline.

        Glyphs of one height are of one font, so pdfium is called once for each height: that call is the slow part.
        """
        key = (round(box[3] - box[1], 2), round(box[2] - box[0], 2) if self._is_rotated else 0.0)
        off = self._offs.get(key)
        if off is None:
            raw.FPDFText_GetCharOrigin(self._text, index, self._x_at, self._y_at)
            off = self._offs[key] = (self._x.value - box[0], self._y.value - box[1])
        return box[0] + off[0], box[1] + off[1]


def _form_words(value: str, box: _Box, view: _PageView) -> Iterator[PdfWord]:
    """The words of a value of a form field, side by side in its box; lines of it one below the other."""
    left, bottom, right, top = box
    lines = value.splitlines()[:FIELD_LINES_MAX]
    height = (top - bottom) / max(1, len(lines))
    for at, line in enumerate(lines):
        base, x = top - (at + 1) * height, left
        step = min(GLYPH_WIDTH * min(height, LINE_HEIGHT), (right - left) / max(1, len(line)))
        for part in line.split():
            x = left + step * line.index(part)
            glyph = (x, base, x + step * len(part), base + min(height, LINE_HEIGHT))
            word = _visible_word(part, glyph, glyph, (x, base + 0.2 * LINE_HEIGHT), view)
            if word is not None:
                yield word


def _words(
    letters: str,
    glyphs: _Glyphs,
    view: _PageView,
    ink: PageInk,
    covers: PageCovers | None,
    turned: "_TurnedRuns",
    unseen: list[str],
) -> Iterator[PdfWord]:
    """The words of a page in the order of the file; a run lasts as long as words follow each other on a line.

    Words that are rotated against the page are put into `turned` instead, and those that no one sees into `unseen`.
    """
    straight = -math.radians(view.rotation)  # pdfium counts angles clockwise
    run, last, is_hidden = 0, None, False
    read = tokens(letters, box=glyphs.box, font=glyphs.font, is_printed=glyphs.is_printed)
    for text, start, goes_on in read:
        level = _level_word(text, start, glyphs, view) if not view.rotation else None
        if level is None and _is_turned(text, start, glyphs, view, straight):
            is_seen = view.shows(*_centre(glyphs.box(start))) and not ink.hides_run(start)
            box = partial(glyphs.box, start)
            if is_seen and not ink.hides_colour(start, glyphs.object(start), box):
                turned.add(text, start)
            continue
        parts = [level] if level else list(_any_word(text, start, glyphs, view, straight))
        if not parts:  # outside of the page
            unseen.append(text)
        if glyphs.has_fonts:
            parts = _read_fonts(parts, start, glyphs, view, is_level=level is not None)
        thing = glyphs.object(start)
        for word in parts:
            is_tiny = word.bottom - word.top < HEIGHT_MIN
            if (
                is_tiny
                or ink.hides_colour(start, thing, partial(glyphs.box, start))
                or (covers is not None and covers.hides(start, thing, word))
            ):
                unseen.append(word.text)
                continue
            if goes_on and last is not None and not is_hidden:
                last.text, last.x1 = last.text + word.text, max(last.x1, word.x1)
                continue
            if last is None or not _follows(last, word):
                run += 1
                is_hidden = ink.hides_run(start)
            word.run = run
            last = word
            if is_hidden:
                unseen.append(word.text)
            else:
                yield word


class _TurnedRuns:
    """The words that are rotated against the page, as runs: of one angle, and each close behind the last."""

    def __init__(self, glyphs: _Glyphs) -> None:
        self.runs: list[str] = []
        self._glyphs = glyphs
        self._words = 0
        self._last = 0  # the index of the last glyph

    def add(self, text: str, start: int) -> None:
        """Add a word, to the last run if it follows it."""
        self._words += 1
        if self._words > TURNED_WORDS_MAX:
            return
        if self.runs and self._follows(start):
            self.runs[-1] += f" {text}"
        else:
            self.runs.append(text)
        self._last = start + len(text) - 1

    def _follows(self, start: int) -> bool:
        angle = self._glyphs.angle(self._last)
        if not _is_straight(self._glyphs.angle(start), angle):
            return False
        last, first = self._glyphs.box(self._last), self._glyphs.box(start)
        size = max(last[2] - last[0], last[3] - last[1], first[2] - first[0], first[3] - first[1])
        (x0, y0), (x1, y1) = _centre(last), _centre(first)
        ahead = (x1 - x0) * math.cos(angle) - (y1 - y0) * math.sin(angle)  # angles count clockwise
        aside = (x1 - x0) * math.sin(angle) + (y1 - y0) * math.cos(angle)
        return 0 < ahead <= TURNED_GAP_MAX * size and abs(aside) < 0.5 * size


def _level_word(text: str, start: int, glyphs: _Glyphs, view: _PageView) -> PdfWord | None:
    """A word in the usual case, quickly: several straight glyphs, close together, inside the page; else None."""
    count = len(text)
    if count == 1:
        return None
    left, bottom, first_right, top = glyphs.box(start)
    last_left, last_bottom, right, last_top = glyphs.box(start + count - 1)
    # Glyphs whose boxes are level are straight; asking pdfium for each angle would take longer than all the rest.
    if bottom != last_bottom or top != last_top or last_left <= left:
        return None
    if right - left > WIDTH_MAX * count * (top - bottom):
        return None
    x0, y0, x1, y1 = view.box
    if not (x0 <= left and right <= x1 and y0 <= bottom and top <= y1):
        return None
    base = glyphs.base(start, (left, bottom, first_right, top))[1]
    return PdfWord(text, left - x0, y1 - top, right - x0, y1 - bottom, y1 - base, 0)


def _is_turned(text: str, start: int, glyphs: _Glyphs, view: _PageView, straight: float) -> bool:
    """Whether a token is rotated against the page; level glyphs from left to right are not, and are not asked."""
    count = len(text)
    first = glyphs.box(start)
    last = first if count == 1 else glyphs.box(start + count - 1)
    is_plain = _is_level(first, last, count, view) and last[0] > first[0]
    return not is_plain and not _is_straight(glyphs.angle(start), straight)


def _is_level(first: _Box, last: _Box, count: int, view: _PageView) -> bool:
    return count > 1 and not view.rotation and first[1] == last[1] and first[3] == last[3]


def _centre(box: _Box) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def _follows(last: PdfWord, word: PdfWord) -> bool:
    height = last.bottom - last.top
    return abs(last.base - word.base) < 0.5 and -0.2 * height <= word.x0 - last.x1 <= height


def _any_word(
    text: str, start: int, glyphs: _Glyphs, view: _PageView, straight: float
) -> Iterator[PdfWord]:
    """The glyphs of a token as one word, or as several where there are gaps between the boxes."""
    count = len(text)
    first = glyphs.box(start)
    last = first if count == 1 else glyphs.box(start + count - 1)
    is_level = _is_level(first, last, count, view)
    word = _visible_word(text, first, last, glyphs.base(start, first), view)
    if word is None:
        return
    height = word.bottom - word.top
    is_whole = word.x1 > word.x0 and (
        is_level
        or (
            abs(first[1] - last[1]) + abs(first[3] - last[3]) < max(height, 1)
            and (count < 3 or _is_straight(glyphs.angle(start + count - 1), straight))
        )
    )
    if is_whole and not _hides_gap(word, count):
        yield word
        return
    yield from _split_word(text, start, glyphs, view, straight)


def _read_fonts(
    parts: list[PdfWord], start: int, glyphs: _Glyphs, view: _PageView, *, is_level: bool
) -> list[PdfWord]:
    """The words of a token without the signs that touch them, and whether they are bold."""
    thing = glyphs.object(start)
    # The last glyph of a level word may be a comma behind a sign that is raised: `Leea,b,`.
    is_plain = is_level and parts[0].text.isalpha()
    if not is_plain and len(parts) == 1 and not view.rotation:
        last = start + len(parts[0].text) - 1
        if last > start and not (thing and glyphs.object(last) == thing):  # else of one size
            parts = list(_without_signs(parts[0], start, glyphs, view))
    if glyphs.is_bold(start, thing):
        for word in parts:
            word.is_bold = True
    return parts


def _without_signs(
    word: PdfWord, start: int, glyphs: _Glyphs, view: _PageView
) -> Iterator[PdfWord]:
    """A word and, as words of their own, the smaller signs in it: the mark of a note, the number of a source."""
    boxes = [glyphs.box(start + at) for at in range(len(word.text))]
    least = RAISED_MAX * max(top - bottom for _, bottom, _, top in boxes)
    parts: list[PdfWord] = []
    for _, group in groupby(range(len(boxes)), lambda at: boxes[at][3] - boxes[at][1] < least):
        places = list(group)
        first, last = boxes[places[0]], boxes[places[-1]]
        base = glyphs.base(start + places[0], first)
        text = word.text[places[0] : places[-1] + 1]
        if (part := _visible_word(text, first, last, base, view)) is not None:
            parts.append(part)
    yield from parts if sum(len(part.text) for part in parts) == len(boxes) else [word]


def _hides_gap(word: PdfWord, count: int) -> bool:
    """Whether a word is so wide for its letters that there must be a gap in it."""
    return count > 1 and word.x1 - word.x0 > WIDTH_MAX * count * (word.bottom - word.top)


def _split_word(
    text: str, start: int, glyphs: _Glyphs, view: _PageView, straight: float
) -> Iterator[PdfWord]:
    """Glyph by glyph: a new word wherever the next glyph is not close behind on the same line."""
    held: PdfWord | None = None
    for index, letter in enumerate(text, start=start):
        if not _is_straight(glyphs.angle(index), straight):
            continue
        box = glyphs.box(index)
        glyph = _visible_word(letter, box, box, glyphs.base(index, box), view)
        if glyph is None:
            continue
        if held is not None and _continues(held, glyph):
            held.text += glyph.text
            held.x1 = max(held.x1, glyph.x1)
            held.top, held.bottom = min(held.top, glyph.top), max(held.bottom, glyph.bottom)
            continue
        if held is not None:
            yield held
        held = glyph
    if held is not None:
        yield held


def _continues(held: PdfWord, glyph: PdfWord) -> bool:
    height = held.bottom - held.top
    return (
        abs(held.base - glyph.base) < max(1.0, 0.3 * height)
        and -0.5 * height <= glyph.x0 - held.x1 <= GAP_MAX * height + 0.3
    )


def _is_straight(angle: float, straight: float) -> bool:
    turned = (angle - straight) % (2 * math.pi)
    return min(turned, 2 * math.pi - turned) <= ANGLE_MAX


def _visible_word(
    text: str, first: _Box, last: _Box, origin: tuple[float, float], view: _PageView
) -> PdfWord | None:
    """A word in page coordinates, or None if its centre is outside the visible page."""
    left, bottom = min(first[0], last[0]), min(first[1], last[1])
    right, top = max(first[2], last[2]), max(first[3], last[3])
    if not view.shows((left + right) / 2, (bottom + top) / 2):
        return None
    if not view.rotation:
        x, y = view.box[0], view.box[3]
        return PdfWord(text, left - x, y - top, right - x, y - bottom, y - origin[1], 0)
    (xa, ya), (xb, yb) = view.point(left, bottom), view.point(right, top)
    base = view.point(*origin)[1]
    return PdfWord(text, min(xa, xb), min(ya, yb), max(xa, xb), max(ya, yb), base, 0)
