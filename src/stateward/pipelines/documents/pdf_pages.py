"""Pages of a PDF: by their text layer where it is good, else as images to be read.

A text layer is good if the page has enough of it for what it shows, if its glyphs map to characters, and if those make
words. A page that shows a picture over most of its area and has a line or two of text (a stamp, a footer) is a scan.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from stateward.pipelines.documents.pictures import POINTS_PER_INCH, PageImage, page_scale
from stateward.pipelines.kit.pdf.pages import PdfPage, PdfWord, read_pages

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument
    from pypdfium2 import PdfPage as OpenPage

READABLE_MIN = 0.9  # share of glyphs that have a character
WORDS_MIN = 0.6  # share of words that look like words, numbers or both
SHORT_CHARS = 40  # a page with fewer, and with an image, is a scan with a stamp
SCAN_CHARS = 300  # the same of a page that an image covers
COVERED = 0.6  # of the page: an image that large is the page itself
IMAGES_MAX = 200
_WORD = re.compile(
    r"(?=.*[aeiouyAEIOUYÀ-ÿ])[^\W\d_]{2,25}|[^\W\d_]{1,4}|\d[\d.,:/%'-]*|\W+|\W?\w[\w.'/&@-]{0,40}"
)
_SCRAMBLED = re.compile(
    r"[A-Za-z]\d[A-Za-z]\d|[^\w\s]{2,}\w[^\w\s]|[bcdfghjklmnpqrstvwxz]{6}", re.IGNORECASE
)


class PdfPageSource(msgspec.Struct):
    """One page: its words where its text layer is used, else `why` not; and its image if any page needs one."""

    number: int
    width: float
    height: float
    words: list[PdfWord]
    image: PageImage | None
    why: str


def pdf_pages(
    path: Path, *, dpi: int, pages_max: int, page_pixels_max: int, uses_text: bool
) -> Iterator[PdfPageSource]:
    """Every page of a PDF."""
    import pypdfium2 as pdfium

    pages = list(read_pages(path, pages_max=pages_max))  # refuses what cannot be opened
    with closing(pdfium.PdfDocument(path)) as document:
        faults = [_fault(page, document, uses_text) for page in pages]
        for page, fault in zip(pages, faults, strict=True):
            image = _image(page, document, dpi, page_pixels_max) if any(faults) else None
            words = [] if fault else page.words
            yield PdfPageSource(page.number, page.width, page.height, words, image, fault)


def text_fault(page: PdfPage, covered: float) -> str:
    """Why the text layer of a page cannot be used; "" if it is good."""
    if not page.words:
        return "it has no text"
    if page.readable < READABLE_MIN * page.chars:
        return "its fonts do not map glyphs to characters"
    if page.is_picture or (covered >= COVERED and page.chars < SCAN_CHARS):
        return f"it is an image with {page.chars} characters of text"
    texts = [word.text for word in page.words]
    if page.chars >= SHORT_CHARS and _share_of_words(texts) < WORDS_MIN:
        return "its text makes no words"
    return ""


def _share_of_words(texts: Sequence[str]) -> float:
    good = sum(bool(_WORD.fullmatch(text)) and not _SCRAMBLED.search(text) for text in texts)
    return good / len(texts)


def _fault(page: PdfPage, document: "PdfDocument", uses_text: bool) -> str:
    if not uses_text:
        return "the settings say so"
    with closing(document[page.number - 1]) as opened:
        return text_fault(page, _coverage(opened))


def _coverage(page: "OpenPage") -> float:
    """The share of the page that its largest image covers."""
    import pypdfium2.raw as raw

    width, height = page.get_size()
    largest = 0.0
    for number, image in enumerate(page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=2)):
        if number >= IMAGES_MAX:
            break
        left, bottom, right, top = image.get_bounds()
        largest = max(largest, abs(right - left) * abs(top - bottom))
    return float(largest / max(width * height, 1.0))


def _image(page: PdfPage, document: "PdfDocument", dpi: int, page_pixels_max: int) -> PageImage:
    scale = dpi / POINTS_PER_INCH
    reduced = page_scale(page.width * scale, page.height * scale, page_pixels_max)
    scale *= reduced
    with closing(document[page.number - 1]) as opened:
        picture = opened.render(scale=scale).to_pil()
    # Rendered sizes are whole pixels, so that the exact scale is that of the picture.
    points = page.width / max(picture.width, 1)
    return PageImage(picture, points, round(scale * POINTS_PER_INCH), reduced < 1)
