"""Scanned reports: pages are drawn and read by OCR, and their words go the way of those of a text PDF.

Letters may be mistaken for others, so that the record of a scan says that it is one.
"""

from collections.abc import Iterator
from contextlib import closing

from stateward.core.errors import FatalFailure, MissingExtra
from stateward.extras import missing_extra
from stateward.pipelines.kit.failures import NO_TEXT
from stateward.pipelines.kit.pdf.pages import PdfPage, PdfWord
from stateward.pipelines.labs.source import ReportSource

DPI, POINTS_PER_INCH = 200, 72
PIXELS_MAX = 40_000_000  # of one page
PAGES_MAX = 20  # a page takes about ten seconds


def scanned_pages(source: ReportSource, failure: FatalFailure) -> list[PdfPage]:
    """The pages of a scan as OCR reads them; `failure` again if the extra is not installed or there is no text."""
    try:
        pages = list(_recognized(source))
    except (MissingExtra, ImportError):
        raise FatalFailure(
            f"{failure.message}; with the extra stateward[ocr] scans are read", code=NO_TEXT
        ) from None
    if not any(page.words for page in pages):
        raise failure
    return pages


def _recognized(source: ReportSource) -> Iterator[PdfPage]:
    try:
        import pypdfium2 as pdfium

        from stateward.pipelines.kit.ocr import Recognizer
    except ImportError as error:
        raise missing_extra(error) or error from error
    recognizer = Recognizer()
    with closing(pdfium.PdfDocument(source.path)) as document:
        if len(document) > PAGES_MAX:
            raise FatalFailure(
                f"the scan has {len(document)} pages and the limit is {PAGES_MAX}; split it",
                code="TOO_MANY_PAGES",
            )
        for number in range(1, len(document) + 1):
            with closing(document[number - 1]) as page:
                width, height = page.get_size()
                scale = min(DPI / POINTS_PER_INCH, (PIXELS_MAX / max(width * height, 1)) ** 0.5)
                read = recognizer.read(page.render(scale=scale).to_pil())
            words = [
                PdfWord(word.text, box[0], box[1], box[2], box[3], line.base / scale, run)
                for run, line in enumerate(read.lines)
                for word in line.words
                for box in [tuple(side / scale for side in word.box)]
            ]
            chars = sum(len(word.text) for word in words)
            yield PdfPage(number, read.width / scale, read.height / scale, words, chars, chars)
