"""A PDF of page images with the text behind them, so that it can be searched and copied in any viewer.

Words are written invisibly where they are seen. Their font is a Type 3 font whose glyphs are all empty: it needs no
outlines, and a table from codes to characters (ToUnicode) is all that a reader takes from it. A font has 256 codes, so
a document with more characters has several. The same pages give the same bytes.
"""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO

from stateward.pipelines.documents.layout import ReadPage
from stateward.pipelines.kit.pdf.pages import PdfWord

if TYPE_CHECKING:
    from PIL.Image import Image

JPEG_QUALITY = 70
CODES = 256
GLYPH_WIDTH = 500  # thousandths of the font size
ASCENT = 0.8  # of the height of a word's box: its baseline stands that far below the top
CATALOG, PAGES = 1, 2


class SearchablePdf:
    """Writes pages one by one, so that only one is in memory; `close` writes the fonts and the table of contents."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._offsets: dict[int, int] = {}
        self._next = 3
        self._pages: list[int] = []
        self._codes: dict[str, int] = {}
        self._fonts_at = (
            self._number()
        )  # the dictionary of fonts, which is complete only at the end
        self._write(b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n")

    def add(self, page: ReadPage, picture: "Image") -> None:
        """A page: its picture, upright, and its words."""
        image = self._image(picture)
        content = self._stream(b"", self._content(page), deflate=True)
        number = self._number()
        self._object(
            number,
            f"<</Type/Page/Parent {PAGES} 0 R/MediaBox[0 0 {page.width:.2f} {page.height:.2f}]"
            f"/Resources<</XObject<</I {image} 0 R>>/Font {self._fonts_at} 0 R>>/Contents {content} 0 R>>".encode(),
        )
        self._pages.append(number)

    def close(self) -> None:
        """Write what all pages share. The file stays open."""
        empty = self._stream(b"", f"{GLYPH_WIDTH} 0 d0".encode())
        fonts = b"".join(
            f"/F{number} {font} 0 R".encode() for number, font in enumerate(self._fonts(empty))
        )
        self._object(self._fonts_at, b"<<" + fonts + b">>")
        kids = " ".join(f"{number} 0 R" for number in self._pages)
        self._object(PAGES, f"<</Type/Pages/Count {len(self._pages)}/Kids[{kids}]>>".encode())
        self._object(CATALOG, f"<</Type/Catalog/Pages {PAGES} 0 R>>".encode())
        start = self._file.tell()
        lines = [b"xref\n", f"0 {self._next}\n0000000000 65535 f \n".encode()]
        lines += [
            f"{self._offsets[each]:010d} 00000 n \n".encode() for each in range(1, self._next)
        ]
        trailer = f"trailer\n<</Size {self._next}/Root {CATALOG} 0 R>>\nstartxref\n{start}\n%%EOF\n"
        self._write(b"".join(lines) + trailer.encode())

    def _content(self, page: ReadPage) -> bytes:
        parts = [f"q {page.width:.2f} 0 0 {page.height:.2f} 0 0 cm /I Do Q BT 3 Tr"]
        for row in page.rows():
            for word in row:
                parts += self._word(word, page.height)
        return " ".join([*parts, "ET"]).encode()

    def _word(self, word: PdfWord, page_height: float) -> Iterator[str]:
        """A word as wide as its box, whatever its letters, and a blank: readers would join words that stand close."""
        height, width = max(word.bottom - word.top, 1.0), max(word.x1 - word.x0, 1.0)
        stretch = 100 * width / (len(word.text) * height * GLYPH_WIDTH / 1000)
        base = page_height - word.top - ASCENT * height
        yield f"{stretch:.2f} Tz 1 0 0 1 {word.x0:.2f} {base:.2f} Tm"
        for font, codes in _runs(self._code(letter) for letter in f"{word.text} "):
            yield f"/F{font} {height:.2f} Tf <{bytes(codes).hex()}> Tj"

    def _code(self, letter: str) -> int:
        """The number of a character, in the order in which they come: its font and its code there."""
        return self._codes.setdefault(letter, len(self._codes))

    def _fonts(self, empty_glyph: int) -> Iterator[int]:
        letters = list(self._codes) or [" "]
        names = " ".join(["/g"] * CODES)
        widths = " ".join([str(GLYPH_WIDTH)] * CODES)
        for start in range(0, len(letters), CODES):
            table = self._stream(b"", _to_unicode(letters[start : start + CODES]), deflate=True)
            number = self._number()
            self._object(
                number,
                f"<</Type/Font/Subtype/Type3/FontBBox[0 -200 {GLYPH_WIDTH} 800]/FontMatrix[.001 0 0 .001 0 0]"
                f"/FirstChar 0/LastChar {CODES - 1}/Widths[{widths}]/CharProcs<</g {empty_glyph} 0 R>>"
                f"/Encoding<</Type/Encoding/Differences[0 {names}]>>/Resources<<>>/ToUnicode {table} 0 R>>".encode(),
            )
            yield number

    def _image(self, picture: "Image") -> int:
        picture = picture if picture.mode == "L" else picture.convert("RGB")
        data = BytesIO()
        picture.save(data, "JPEG", quality=JPEG_QUALITY)
        space = "/DeviceGray" if picture.mode == "L" else "/DeviceRGB"
        head = (
            f"/Type/XObject/Subtype/Image/Width {picture.width}/Height {picture.height}"
            f"/ColorSpace{space}/BitsPerComponent 8/Filter/DCTDecode"
        )
        return self._stream(head.encode(), data.getvalue())

    def _stream(self, head: bytes, data: bytes, *, deflate: bool = False) -> int:
        if deflate:
            head, data = head + b"/Filter/FlateDecode", zlib.compress(data)
        number = self._number()
        length = f"/Length {len(data)}>>stream\n".encode()
        self._object(number, b"<<" + head + length + data + b"\nendstream")
        return number

    def _object(self, number: int, body: bytes) -> None:
        self._offsets[number] = self._file.tell()
        self._write(f"{number} 0 obj\n".encode() + body + b"\nendobj\n")

    def _number(self) -> int:
        self._next += 1
        return self._next - 1

    def _write(self, data: bytes) -> None:
        self._file.write(data)


def _runs(numbers: Iterable[int]) -> Iterator[tuple[int, list[int]]]:
    """Characters that follow each other in one font: (font, codes)."""
    run: list[int] = []
    font = 0
    for number in numbers:
        own, code = divmod(number, CODES)
        if run and own != font:
            yield font, run
            run = []
        font = own
        run.append(code)
    if run:
        yield font, run


def _to_unicode(letters: Sequence[str]) -> bytes:
    """The characters of codes 0 and up, as PDF 32000-1, 9.10.3, wants them."""
    lines = [
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap",
        "/CMapName /T def /CMapType 2 def",
        "1 begincodespacerange <00> <FF> endcodespacerange",
    ]
    for start in range(0, len(letters), 100):  # the most that one block may have
        part = letters[start : start + 100]
        lines.append(f"{len(part)} beginbfchar")
        lines += [
            f"<{code:02X}> <{letter.encode('utf-16-be').hex().upper()}>"
            for code, letter in enumerate(part, start=start)
        ]
        lines.append("endbfchar")
    lines.append("endcmap CMapName currentdict /CMap defineresource pop end end")
    return "\n".join(lines).encode()
