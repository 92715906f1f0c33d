"""Scans: pages are drawn and read by OCR, and their words go the way of those of a text PDF.

Letters may be mistaken for others: a caller proves what they say, or says that it is a scan.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from stateward.core.errors import FatalFailure, MissingExtra
from stateward.extras import missing_extra
from stateward.pipelines.kit.failures import CORRUPT_FILE, NO_TEXT, TOO_MANY_PAGES
from stateward.pipelines.kit.pdf.pages import PdfPage, PdfWord

if TYPE_CHECKING:
    from PIL.Image import Image

    from stateward.pipelines.kit.ocr import Recognizer

DPI, POINTS_PER_INCH = 200, 72
PIXELS_MAX = 40_000_000  # of one page
PAGES_MAX = 20  # a page takes about ten seconds


def scanned_pages(
    path: Path, failure: FatalFailure, *, password: str | None = None
) -> list[PdfPage]:
    """The pages of a scanned PDF as OCR reads them; `failure` again without the extra, or without any text."""
    return _readable(_drawn_pages(path, password), failure)


def pictured_pages(
    path: Path, numbers: Sequence[int], *, password: str | None = None
) -> list[PdfPage]:
    """Pages of a PDF that are pictures, those in which OCR finds text; none without the extra."""
    try:
        found = list(_drawn_pages(path, password, numbers[:PAGES_MAX]))
    except (MissingExtra, ImportError):
        return []
    return [page for page in found if page.words]


def photographed_page(path: Path, failure: FatalFailure) -> list[PdfPage]:
    """A picture of one page, in the same way. It is taken for 200 dpi: only proportions matter."""
    return _readable(_picture_page(path), failure)


def _readable(pages: Iterator[PdfPage], failure: FatalFailure) -> list[PdfPage]:
    try:
        found = list(pages)
    except (MissingExtra, ImportError):
        raise FatalFailure(
            f"{failure.message}; with the extra stateward[ocr] scans are read", code=NO_TEXT
        ) from None
    if not any(page.words for page in found):
        raise failure
    return found


def _recognizer() -> "Recognizer":
    try:
        from stateward.pipelines.kit.ocr import Recognizer
    except ImportError as error:
        raise missing_extra(error) or error from error
    return Recognizer()


def _drawn_pages(
    path: Path, password: str | None, numbers: Sequence[int] = ()
) -> Iterator[PdfPage]:
    """Those pages as OCR reads them; all of them without numbers."""
    import pypdfium2 as pdfium

    recognizer = _recognizer()
    with closing(pdfium.PdfDocument(path, password=password)) as document:
        if not numbers and len(document) > PAGES_MAX:
            raise FatalFailure(
                f"the scan has {len(document)} pages and the limit is {PAGES_MAX}; split it",
                code=TOO_MANY_PAGES,
            )
        for number in numbers or range(1, len(document) + 1):
            try:
                with closing(document[number - 1]) as page:
                    width, height = page.get_size()
                    scale = min(DPI / POINTS_PER_INCH, (PIXELS_MAX / max(width * height, 1)) ** 0.5)
                    picture = page.render(scale=scale).to_pil()
            except pdfium.PdfiumError as error:
                raise FatalFailure(
                    f"page {number} cannot be drawn: {error}", code=CORRUPT_FILE
                ) from error
            yield _read(recognizer, picture, number, scale)


def _picture_page(path: Path) -> Iterator[PdfPage]:
    from stateward.pipelines.kit.pictures import FIRST_FRAME_ONLY, read_picture

    with path.open("rb") as file:
        picture = read_picture(file, pixels_max=PIXELS_MAX)
    if any(note.startswith(FIRST_FRAME_ONLY) for note in picture.notes):
        # The other pages would be lost without a word.
        raise FatalFailure("the picture has several pages; save it as PDF", code=TOO_MANY_PAGES)
    yield _read(_recognizer(), picture.image, 1, DPI / POINTS_PER_INCH)


def _read(recognizer: "Recognizer", picture: "Image", number: int, scale: float) -> PdfPage:
    read = recognizer.read(picture)
    words = [
        PdfWord(word.text, box[0], box[1], box[2], box[3], line.base / scale, run)
        for run, line in enumerate(read.lines)
        for word in line.words
        for box in [tuple(side / scale for side in word.box)]
    ]
    chars = sum(len(word.text) for word in words)
    return PdfPage(number, read.width / scale, read.height / scale, words, chars, chars)
