"""Photos and scans of one page, read by OCR: what cannot be proven by a balance waits for a person."""

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.failures import NO_TEXT, recode
from stateward.pipelines.kit.pdf.scans import photographed_page
from stateward.pipelines.statements.model import StatementReading
from stateward.pipelines.statements.pdf import ADVICE, reading_of_scan
from stateward.pipelines.statements.source import Source

CODES = {"IMAGE_CORRUPT": "UNKNOWN_FORMAT"}  # it begins like a picture, and is none


def read(source: Source) -> StatementReading:
    """The statement on a picture."""
    failure = FatalFailure(f"no text was found on the picture; {ADVICE}", code=NO_TEXT)
    with recode(CODES):
        pages = photographed_page(source.path, failure)
    reading = reading_of_scan(pages, source.hints)
    reading.decisions[:0] = source.decisions
    return reading
