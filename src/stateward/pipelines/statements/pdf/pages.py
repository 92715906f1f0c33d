"""Pages of a PDF as words with their places, in points from the top left of what a person sees.

A word is a run of glyphs with no blank between them. Glyphs that are turned against the page (watermarks, text
up the margin) and glyphs outside the crop box are dropped: they are not part of any line a person reads. Boxes
are the loose ones, which a font gives to every glyph: the tight ones tear "87 , 09" apart.

Nothing here knows what a statement is.
"""

import ctypes
import math
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pypdfium2 as pdfium
import pypdfium2.raw as raw

from stateward.core.errors import FatalFailure

CHARS_PER_PAGE_MAX = 300_000
CHARS_PER_PAGE_MIN = 40  # fewer, on average, is a scan or a ruin: a statement has hundreds
READABLE_MIN = 0.6  # share of glyphs that have a meaning; fonts without one print boxes
ANGLE_MAX = 0.06  # radians; more is turned text
GAP_MAX = 0.14  # of the height of a glyph; a wider gap parts two words
WIDTH_MAX = 0.95  # of the height, per glyph: a wider word hides a gap
MAGIC = b"%PDF-"
MAGIC_WITHIN = 1024


_MEANINGLESS = re.compile("[\x00\ufffd\uffff\ue000-\uf8ff]")
_TOKEN = re.compile(r"[^\s\x00\uffff]+")


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a file may be read at all."""

    pages_max: int = 2000


class Word(msgspec.Struct, gc=False):
    """A word and its box; `base` is the line that it stands on, `run` the stroke of text that it came in."""

    text: str
    x0: float
    top: float
    x1: float
    bottom: float
    base: float
    run: int


class Page(msgspec.Struct):
    """What a person sees of one page."""

    number: int
    width: float
    height: float
    words: list[Word]
    chars: int = 0
    readable: int = 0
    is_picture: bool = False  # it shows an image and hardly any text


def read_pages(path: Path, *, password: str | None, limits: Limits) -> Iterator[Page]:
    """Every page in turn; a file that cannot be read fails with a code before the first one is given."""
    with closing(_open(path, password)) as document:
        count = len(document)
        if count > limits.pages_max:
            raise FatalFailure(
                f"the file has {count} pages and the limit is {limits.pages_max}; split it",
                code="TOO_LARGE",
            )
        if not count:
            raise FatalFailure(
                "the file is a PDF without pages; save or download it again", code="PDF_CORRUPT"
            )
        for number in range(1, count + 1):
            yield _page(document, number)


def require_text(pages: list[Page]) -> None:
    """Refuse a file with too little text to be a statement; a picture of text is not text."""
    chars = sum(page.chars for page in pages)
    if chars < CHARS_PER_PAGE_MIN * min(len(pages), 3) or not any(page.words for page in pages):
        raise FatalFailure(
            f"the file has {len(pages)} pages but only {chars} characters of text: it is a scan, a picture or"
            " damaged; ask the bank for the original PDF or export it as CSV",
            code="NO_TEXT",
        )
    if sum(page.readable for page in pages) < READABLE_MIN * chars:
        raise FatalFailure(
            "the text of this file cannot be read: its fonts do not say which letters they show; ask the bank"
            " for the original PDF or export it as CSV",
            code="NO_TEXT",
        )


def _open(path: Path, password: str | None) -> pdfium.PdfDocument:
    with path.open("rb") as file:
        head = file.read(MAGIC_WITHIN)
    if not head:
        raise FatalFailure("the file is empty; upload it again", code="EMPTY_FILE")
    if MAGIC not in head:
        raise FatalFailure("this is not a PDF, whatever its name says", code="PDF_CORRUPT")
    # The reason of a failure is the last one of the process, and not every failure sets one: set a plain one first.
    raw.FPDF_LoadMemDocument64(b"%", 1, None)
    try:
        return pdfium.PdfDocument(path, password=password)
    except pdfium.PdfiumError as error:
        raise _refusal(error, password) from error


def _refusal(error: pdfium.PdfiumError, password: str | None) -> FatalFailure:
    code = getattr(error, "err_code", 0)
    if code == raw.FPDF_ERR_PASSWORD:
        sentence = (
            "the password does not open this file"
            if password
            else "the file is locked with a password"
        )
        return FatalFailure(f"{sentence}; give the right one", code="PDF_ENCRYPTED")
    if code == raw.FPDF_ERR_SECURITY:
        return FatalFailure(
            "the file is locked in a way that is not known; save it without a password",
            code="PDF_ENCRYPTED",
        )
    return FatalFailure(
        "the file is damaged and cannot be opened as a PDF; download it again", code="PDF_CORRUPT"
    )


def _page(document: pdfium.PdfDocument, number: int) -> Page:
    try:
        with closing(document[number - 1]) as page, closing(page.get_textpage()) as text:
            return _read(page, text, number)
    except pdfium.PdfiumError as error:
        raise FatalFailure(
            f"page {number} of {len(document)} is damaged and cannot be read; download the file again",
            code="PDF_CORRUPT",
        ) from error


def _read(page: pdfium.PdfPage, text: pdfium.PdfTextPage, number: int) -> Page:
    count = raw.FPDFText_CountChars(text.raw)
    if count > CHARS_PER_PAGE_MAX:
        raise FatalFailure(
            f"page {number} holds {count} characters and the limit is {CHARS_PER_PAGE_MAX}; split the file",
            code="TOO_LARGE",
        )
    letters = _letters(text, count)
    view = _View(page)
    words = (
        list(_words(letters, _Glyphs(text, is_turned=bool(view.turn)), view)) if count > 0 else []
    )
    seen = sum(map(len, letters.split()))
    bad = 0 if letters.isascii() and "\x00" not in letters else len(_MEANINGLESS.findall(letters))
    is_picture = seen < CHARS_PER_PAGE_MIN and _has_image(page)
    return Page(number, view.width, view.height, words, seen, seen - bad, is_picture)


def _has_image(page: pdfium.PdfPage) -> bool:
    return next(page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=2), None) is not None


def _letters(text: pdfium.PdfTextPage, count: int) -> str:
    """One letter for each glyph; in one call where that can be, since it is asked for every page."""
    if count <= 0:
        return ""
    buffer = (ctypes.c_ushort * (count + 1))()
    written = raw.FPDFText_GetText(text.raw, 0, count, buffer)
    letters = bytes(buffer).decode("utf-16-le", "replace")[: max(written - 1, 0)]
    if len(letters) != count:
        codes = (raw.FPDFText_GetUnicode(text.raw, index) for index in range(count))
        letters = "".join(chr(code) if code < 0x110000 else "\ufffd" for code in codes)
    # A hyphen that ends a line is given as a mark of its own; here it may be the minus of an amount.
    return letters.replace("\x02", "-").replace("\ufffe", "-")


class _View:
    """The page as it is seen: its crop box, and how far it was turned."""

    def __init__(self, page: pdfium.PdfPage) -> None:
        left, bottom, right, top = page.get_bbox()  # its crop box within its media box
        self.box = (min(left, right), min(bottom, top), max(left, right), max(bottom, top))
        self.turn = page.get_rotation() % 360
        wide, high = self.box[2] - self.box[0], self.box[3] - self.box[1]
        self.width, self.height = (high, wide) if self.turn in (90, 270) else (wide, high)

    def shows(self, x: float, y: float) -> bool:
        left, bottom, right, top = self.box
        return bool(left - 1 <= x <= right + 1 and bottom - 1 <= y <= top + 1)

    def point(self, x: float, y: float) -> tuple[float, float]:
        """A point of the file as it is seen, from the top left."""
        left, bottom, right, top = self.box
        if self.turn == 90:
            return y - bottom, x - left
        if self.turn == 180:
            return right - x, y - bottom
        if self.turn == 270:
            return top - y, right - x
        return x - left, top - y


class _Glyphs:
    """Boxes, angles and base lines of glyphs, by index."""

    def __init__(self, text: pdfium.PdfTextPage, *, is_turned: bool) -> None:
        self._text = text.raw
        self._is_turned = is_turned
        self._offs: dict[tuple[float, float], tuple[float, float]] = {}
        self._box = raw.FS_RECTF()
        self._box_at = ctypes.byref(self._box)
        self._x, self._y = ctypes.c_double(), ctypes.c_double()
        self._x_at, self._y_at = ctypes.byref(self._x), ctypes.byref(self._y)

    def box(self, index: int) -> tuple[float, float, float, float]:
        """Left, bottom, right, top, as the file has them."""
        raw.FPDFText_GetLooseCharBox(self._text, index, self._box_at)
        box = self._box
        return box.left, box.bottom, box.right, box.top

    def angle(self, index: int) -> float:
        return float(raw.FPDFText_GetCharAngle(self._text, index))

    def base(self, index: int, box: tuple[float, float, float, float]) -> tuple[float, float]:
        """Where a glyph stands on its line. Glyphs of one height are of one font, so it is asked once for each."""
        key = (round(box[3] - box[1], 2), round(box[2] - box[0], 2) if self._is_turned else 0.0)
        off = self._offs.get(key)
        if off is None:
            raw.FPDFText_GetCharOrigin(self._text, index, self._x_at, self._y_at)
            off = self._offs[key] = (self._x.value - box[0], self._y.value - box[1])
        return box[0] + off[0], box[1] + off[1]


def _words(letters: str, glyphs: _Glyphs, view: _View) -> Iterator[Word]:
    """The words of a page in the order of the file; a run goes on as long as words follow on one line."""
    straight = -math.radians(view.turn)  # angles are told clockwise
    run, last = 0, None
    for token in _TOKEN.finditer(letters):
        text, start = token[0], token.start()
        plain = _plain_word(text, start, glyphs, view) if not view.turn else None
        for word in (plain,) if plain else _word(text, start, glyphs, view, straight):
            if last is None or not _follows(last, word):
                run += 1
            word.run = run
            last = word
            yield word


def _plain_word(text: str, start: int, glyphs: _Glyphs, view: _View) -> Word | None:
    """A word in the one case that nearly all are: several straight glyphs, close together, within the page."""
    count = len(text)
    if count == 1:
        return None
    left, bottom, first_right, top = glyphs.box(start)
    last_left, last_bottom, right, last_top = glyphs.box(start + count - 1)
    # Glyphs whose boxes stand in a row are straight; asking each for its angle takes longer than all the rest.
    if bottom != last_bottom or top != last_top or last_left <= left:
        return None
    if right - left > WIDTH_MAX * count * (top - bottom):
        return None
    x0, y0, x1, y1 = view.box
    if not (x0 <= left and right <= x1 and y0 <= bottom and top <= y1):
        return None
    base = glyphs.base(start, (left, bottom, first_right, top))[1]
    return Word(text, left - x0, y1 - top, right - x0, y1 - bottom, y1 - base, 0)


def _follows(last: Word, word: Word) -> bool:
    height = last.bottom - last.top
    return abs(last.base - word.base) < 0.5 and -0.2 * height <= word.x0 - last.x1 <= height


def _word(text: str, start: int, glyphs: _Glyphs, view: _View, straight: float) -> Iterator[Word]:
    """The glyphs of a token as one word; as several, where the boxes say that it is torn."""
    count = len(text)
    first = glyphs.box(start)
    last = first if count == 1 else glyphs.box(start + count - 1)
    # Glyphs whose boxes stand in a row are straight; asking each for its angle takes longer than all the rest.
    is_level = count > 1 and not view.turn and first[1] == last[1] and first[3] == last[3]
    if not is_level and not _is_straight(glyphs.angle(start), straight):
        return
    if is_level and last[0] <= first[0] and not _is_straight(glyphs.angle(start), straight):
        return
    word = _seen(text, first, last, glyphs.base(start, first), view)
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
    yield from _torn(text, start, glyphs, view, straight)


def _hides_gap(word: Word, count: int) -> bool:
    """Whether a word is so wide for its letters that two may stand apart in it."""
    return count > 1 and word.x1 - word.x0 > WIDTH_MAX * count * (word.bottom - word.top)


def _torn(text: str, start: int, glyphs: _Glyphs, view: _View, straight: float) -> Iterator[Word]:
    """Glyph by glyph: a new word wherever the next one is not close behind on the same line."""
    held: Word | None = None
    for index, letter in enumerate(text, start=start):
        if not _is_straight(glyphs.angle(index), straight):
            continue
        box = glyphs.box(index)
        glyph = _seen(letter, box, box, glyphs.base(index, box), view)
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


def _continues(held: Word, glyph: Word) -> bool:
    height = held.bottom - held.top
    return (
        abs(held.base - glyph.base) < max(1.0, 0.3 * height)
        and -0.5 * height <= glyph.x0 - held.x1 <= GAP_MAX * height + 0.3
    )


def _is_straight(angle: float, straight: float) -> bool:
    turned = (angle - straight) % (2 * math.pi)
    return min(turned, 2 * math.pi - turned) <= ANGLE_MAX


def _seen(
    text: str,
    first: tuple[float, float, float, float],
    last: tuple[float, float, float, float],
    origin: tuple[float, float],
    view: _View,
) -> Word | None:
    """A word where it is seen, or None if it is outside the page."""
    left, bottom = min(first[0], last[0]), min(first[1], last[1])
    right, top = max(first[2], last[2]), max(first[3], last[3])
    if not view.shows((left + right) / 2, (bottom + top) / 2):
        return None
    if not view.turn:
        x, y = view.box[0], view.box[3]
        return Word(text, left - x, y - top, right - x, y - bottom, y - origin[1], 0)
    (xa, ya), (xb, yb) = view.point(left, bottom), view.point(right, top)
    base = view.point(*origin)[1]
    return Word(text, min(xa, xb), min(ya, yb), max(xa, xb), max(ya, yb), base, 0)
