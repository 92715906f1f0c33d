"""PDF written by hand: text at places, and nothing else. Enough for statements, and for files that are meant to break.

Latin text is set in Helvetica, Times or Courier, whose widths are known to every reader. Other scripts use a font that
is named but not embedded, with a map from its glyphs to letters: it could not be printed well, but its text and its
places are exact. "mapped" sets Latin text in that font too, as most banks do that embed theirs.
"""

import math
import unicodedata
import zlib
from collections.abc import Iterable

# Widths of Helvetica for the letters from blank to tilde, in thousandths of the size.
_HELVETICA = (
    "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 "
    "556 278 278 584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 "
    "722 667 611 722 667 944 667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 "
    "500 222 833 556 556 556 556 333 500 278 556 500 722 500 500 500 334 260 334 584"
)
_HELVETICA_BOLD = (
    "278 333 474 556 556 889 722 238 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 "
    "556 333 333 584 584 584 611 975 722 722 722 722 667 611 778 722 278 556 722 611 833 722 778 667 778 "
    "722 667 611 722 667 944 667 667 611 333 278 333 584 556 333 556 611 556 611 556 333 611 611 278 278 "
    "556 278 889 611 611 611 611 389 556 333 611 556 778 556 556 500 389 280 389 584"
)
_TIMES = (
    "250 333 408 500 500 833 778 180 333 333 500 564 250 333 250 278 500 500 500 500 500 500 500 500 500 "
    "500 278 278 564 564 564 444 921 722 667 667 722 611 556 722 722 333 389 722 611 889 722 722 556 722 "
    "667 556 611 722 722 944 722 722 611 333 278 333 469 500 333 444 500 444 500 444 333 500 500 278 278 "
    "500 278 778 500 500 500 500 333 389 278 500 500 722 500 500 444 480 200 480 541"
)
_FONTS = {"bold": "Helvetica-Bold", "times": "Times-Roman", "courier": "Courier"}


def _table(widths: str) -> dict[str, int]:
    return {chr(32 + at): int(width) for at, width in enumerate(widths.split())}


_WIDTHS = _table(_HELVETICA)
_WIDTHS_OF = {
    "bold": _table(_HELVETICA_BOLD),
    "times": _table(_TIMES),
    "courier": dict.fromkeys(_WIDTHS, 600),
}
_OTHER = 556
_WIDE = 1000
A4 = (595.28, 841.89)
LETTER = (612.0, 792.0)


def width(text: str, size: float, font: str = "") -> float:
    """How wide a text is set."""
    if font in _WIDTHS_OF and _is_latin(text):
        known, other = _WIDTHS_OF[font], 600 if font == "courier" else _OTHER
        return sum(known.get(letter, other) for letter in text) * size / 1000
    return sum(_width(letter) for letter in text) * size / 1000


def _is_latin(text: str) -> bool:
    try:
        text.encode("cp1252")
    except UnicodeEncodeError:
        return False
    return True


def _width(letter: str) -> int:
    if letter in _WIDTHS:
        return _WIDTHS[letter]
    if letter == "\u00a0" or letter == "\u202f":
        return 278
    if "\u0e31" <= letter <= "\u0e3a" or "\u0e47" <= letter <= "\u0e4e":
        return 0  # Thai vowels and tones stand over the letter before
    return _WIDE if letter > "\u2e80" else _OTHER


class Paper:
    """Pages being written. Places are points from the top left; text stands on the line given."""

    def __init__(
        self, size: tuple[float, float] = A4, *, is_doubled: bool = False, is_turned: bool = False
    ) -> None:
        self.size = size
        self._is_doubled = is_doubled
        self._is_turned = is_turned
        self._pages: list[list[str]] = []
        self._boxes: list[str] = []
        self._glyphs: dict[str, int] = {}
        self._fonts: list[str] = []  # beside the first two, in the order of their first use

    @property
    def pages(self) -> int:
        """How many there are."""
        return len(self._pages)

    def page(self, *, extra: str = "") -> None:
        """Begin a page; `extra` goes into its dictionary (a crop box, a turn)."""
        self._pages.append([])
        self._boxes.append(extra)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 9,
        angle: float = 0,
        font: str = "",
        colour: str = "",
    ) -> float:
        """Set a text that begins at x; gives where it ends. The colour is an operator of PDF: `1 g` is white."""
        name, shown = self._encoded(text, font)
        ink = f"{colour} " if colour else ""
        for step in (0.0, 0.3) if self._is_doubled else (0.0,):
            matrix = self._matrix(x + step, y, math.radians(angle))
            self._pages[-1].append(f"BT {ink}/{name} {size:g} Tf {matrix} Tm {shown} Tj ET")
        return x + width(text, size, font)

    def letters(self, x: float, y: float, text: str, *, size: float = 9, font: str = "") -> float:
        """Set a text letter by letter, each at its own place, and no blanks at all."""
        for letter in text:
            if letter != " ":
                self.text(x, y, letter, size=size, font=font)
            # An accent does not make a letter wider.
            x += width(unicodedata.normalize("NFD", letter)[0], size, font)
        return x

    def _matrix(self, x: float, y: float, turn: float) -> str:
        """Where and how a text is set. A turned page is written upwards along its left edge."""
        right, up = x, self.size[1] - y
        if self._is_turned:
            turn, right, up = turn + math.pi / 2, y, x
        cos, sin = math.cos(turn), math.sin(turn)
        return f"{cos:.4f} {sin:.4f} {-sin:.4f} {cos:.4f} {right:.2f} {up:.2f}"

    def right(self, x: float, y: float, text: str, *, size: float = 9) -> None:
        """Set a text that ends at x."""
        self.text(x - width(text, size), y, text, size=size)

    def rule(self, y: float) -> None:
        """A thin line across the page."""
        self._pages[-1].append(
            f"0.5 w 40 {self.size[1] - y:.2f} m {self.size[0] - 40:.2f} {self.size[1] - y:.2f} l S"
        )

    def pdf(self, *, is_packed: bool = True) -> bytes:
        """The file."""
        return assemble(self.objects(is_packed=is_packed))

    def objects(self, *, is_packed: bool = True) -> list[bytes]:
        """What the file is made of, the catalogue first; fonts and their map are the third to the fifth."""
        count = len(self._pages)
        kids = " ".join(f"{6 + 2 * at} 0 R" for at in range(count))
        wide, high = reversed(self.size) if self._is_turned else self.size
        box = f"/MediaBox [0 0 {wide:g} {high:g}]" + (" /Rotate 90" if self._is_turned else "")
        objects = [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            f"<< /Type /Pages /Count {count} /Kids [{kids}] {box} >>".encode(),
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
            self._wide_font(),
            stream(self._unicode(), is_packed=is_packed),
        ]
        others = "".join(f" /F{3 + at} {6 + 2 * count + at} 0 R" for at in range(len(self._fonts)))
        for at in range(count):
            fonts = f"/Resources << /Font << /F1 3 0 R /F2 4 0 R{others} >> >>"
            page = f"<< /Type /Page /Parent 2 0 R {fonts} /Contents {7 + 2 * at} 0 R {self._boxes[at]} >>"
            content = "\n".join(self._pages[at]).encode("cp1252")
            objects += [page.encode(), stream(content, is_packed=is_packed)]
        for font in self._fonts:
            objects.append(
                f"<< /Type /Font /Subtype /Type1 /BaseFont /{_FONTS[font]} /Encoding /WinAnsiEncoding >>".encode()
            )
        return objects

    def _encoded(self, text: str, font: str) -> tuple[str, str]:
        if font == "mapped" or not _is_latin(text):
            for letter in text:
                self._glyphs.setdefault(letter, len(self._glyphs) + 1)
            return "F2", "<" + "".join(f"{self._glyphs[letter]:04X}" for letter in text) + ">"
        plain = text
        for letter in "\\()":
            plain = plain.replace(letter, "\\" + letter)
        if not font:
            return "F1", f"({plain})"
        if font not in self._fonts:
            self._fonts.append(font)
        return f"F{3 + self._fonts.index(font)}", f"({plain})"

    def _wide_font(self) -> bytes:
        widths = " ".join(f"{code} [{_width(letter)}]" for letter, code in self._glyphs.items())
        return (
            "<< /Type /Font /Subtype /Type0 /BaseFont /Sample /Encoding /Identity-H /ToUnicode 5 0 R /DescendantFonts"
            " [<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Sample /CIDSystemInfo << /Registry (Adobe)"
            f" /Ordering (Identity) /Supplement 0 >> /DW 556 /W [{widths}] /FontDescriptor << /Type /FontDescriptor"
            " /FontName /Sample /Flags 4 /FontBBox [0 -200 1000 900] /Ascent 900 /Descent -200 /ItalicAngle 0"
            " /CapHeight 700 /StemV 80 >> >>] >>"
        ).encode()

    def _unicode(self) -> bytes:
        pairs = [
            f"<{code:04X}> <{letter.encode('utf-16-be').hex()}>"
            for letter, code in self._glyphs.items()
        ]
        blocks = [
            f"{len(pairs[at : at + 90])} beginbfchar\n"
            + "\n".join(pairs[at : at + 90])
            + "\nendbfchar"
            for at in range(0, len(pairs), 90)
        ]
        return (
            "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /S def /CMapType 2 def\n"
            "1 begincodespacerange <0000> <FFFF> endcodespacerange\n"
            + "\n".join(blocks)
            + "\nendcmap end end"
        ).encode()


def assemble(objects: Iterable[bytes], *, trailer: str = "") -> bytes:
    """Objects, numbered from 1, as a file with its table of contents; the first is the catalogue."""
    out = bytearray(b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n")
    places: list[int] = []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    start = len(out)
    out += f"xref\n0 {len(places) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{place:010} 00000 n \n".encode() for place in places)
    out += f"trailer << /Size {len(places) + 1} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)


def stream(data: bytes, *, is_packed: bool = True) -> bytes:
    """Bytes as a stream of a file."""
    kind = ""
    if is_packed:
        data, kind = zlib.compress(data), "/Filter /FlateDecode "
    return f"<< {kind}/Length {len(data)} >>\nstream\n".encode() + data + b"\nendstream"
