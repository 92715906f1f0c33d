"""Statements in text PDFs, read by the positions of their words; there are no templates of banks.

The kit gives lines of words, and `assembly` makes sections of them. This module opens files, and says what of them
could not be read.
"""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from stateward.core.errors import FatalFailure, MissingExtra
from stateward.pipelines.kit import money
from stateward.pipelines.kit.failures import (
    CORRUPT_FILE,
    EMPTY_DOCUMENT,
    ENCRYPTED,
    TEXT_TOO_LARGE,
    TOO_MANY_PAGES,
    recode,
)
from stateward.pipelines.kit.pdf.corridors import cell_starts
from stateward.pipelines.kit.pdf.damage import count_damaged_streams
from stateward.pipelines.kit.pdf.lines import lines_of
from stateward.pipelines.kit.pdf.pages import (
    CHARS_PER_PAGE_MIN,
    PAGES_MAX,
    PdfPage,
    read_pages,
    require_text,
)
from stateward.pipelines.statements.model import (
    StatementProblem,
    StatementReading,
)
from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.assembly import Assembler
from stateward.pipelines.statements.pdf.broken_words import mend_words
from stateward.pipelines.statements.pdf.hypotheses import best_reading
from stateward.pipelines.statements.pdf.tables import has_heading
from stateward.pipelines.statements.pdf.tokens import (
    StatementLine,
)
from stateward.pipelines.statements.source import NO_HINTS, Hints, Source

__all__ = ["read", "read_pdf"]

PAGES_NAMED_MAX = 10
SHORT_PAGES = 3  # a long statement may end with pages that are nearly empty
CODES = {
    CORRUPT_FILE: "PDF_CORRUPT",
    EMPTY_DOCUMENT: "EMPTY_FILE",
    ENCRYPTED: "PDF_ENCRYPTED",
    TEXT_TOO_LARGE: "TOO_LARGE",
    TOO_MANY_PAGES: "TOO_LARGE",
}
ADVICE = "ask the bank for the original PDF or export the statement as CSV"


def read(source: Source) -> StatementReading:
    """A PDF with the first of the known passwords that opens it; on a retry, mended first if need be."""
    try:
        return _read(source, source.path)
    except FatalFailure as error:
        if error.code != "PDF_CORRUPT" or not source.is_lenient:
            raise
        return _read_mended(source, error)


def _read_mended(source: Source, failure: FatalFailure) -> StatementReading:
    """What can be read of a mended copy, and that it is one; the failure again if that cannot be made."""
    from stateward.pipelines.kit.pdf.repair import repaired_pdf

    try:
        mended = next(
            (
                found
                for password in (None, *source.hints.passwords)
                if (found := repaired_pdf(source.path, password=password)) is not None
            ),
            None,
        )
    except (MissingExtra, ImportError):
        raise FatalFailure(
            f"{failure.message}; with the extra stateward[repair] a retry mends what it can",
            code=failure.code,
        ) from None
    if mended is None:
        raise failure
    with TemporaryDirectory() as folder:
        path = Path(folder) / "mended.pdf"
        path.write_bytes(mended)
        try:
            reading = _read(source, path)
        except FatalFailure:  # what was saved of it is no statement: the damage is the reason
            raise failure from None
    message = f"the file is damaged and was mended ({failure.message}), so rows may be missing"
    reading.problems.append(StatementProblem(code="PDF_DAMAGED", message=message))
    return reading


def _read(source: Source, path: Path) -> StatementReading:
    hints = source.hints
    for password in (None, *hints.passwords):
        try:
            reading = read_pdf(
                path,
                password=password,
                pages_max=source.bounds.pages_max,
                hints=hints,
                is_lenient=source.is_lenient,
            )
        except FatalFailure as error:
            if error.code != "PDF_ENCRYPTED":
                raise
        else:
            reading.decisions[:0] = source.decisions
            return reading
    tried = len(hints.passwords)
    which = f"none of the {tried} known ones is right" if tried else "none is configured"
    raise FatalFailure(
        f"the PDF is encrypted with a password, and {which}; give it by stateward reparse ID --ask-password, or add it "
        "to the file that the setting statements.passwords names and retry",
        code="PDF_ENCRYPTED",
    )


def read_pdf(
    path: Path,
    *,
    password: str | None = None,
    pages_max: int = PAGES_MAX,
    hints: Hints = NO_HINTS,
    is_lenient: bool = False,
) -> StatementReading:
    """The statements of one PDF. `is_lenient`: pages that cannot be read are left out and reported."""
    left_out: list[int] = []
    with recode(CODES):
        pages = list(
            read_pages(
                path,
                password=password,
                pages_max=pages_max,
                on_damaged=left_out.append if is_lenient else None,
            )
        )
        for page in pages:
            for word in page.words:
                if not word.text.isascii():
                    word.text = money.western_digits(word.text)
        chars_min = CHARS_PER_PAGE_MIN * min(len(pages), SHORT_PAGES)
        try:
            require_text(pages, chars_min=chars_min, advice=ADVICE)
        except FatalFailure as failure:
            # Pictures, or letters that only show: what is drawn can be read. A page without either is empty.
            if not any(page.is_picture or page.chars >= CHARS_PER_PAGE_MIN for page in pages):
                raise
            from stateward.pipelines.kit.pdf.scans import scanned_pages

            scanned = scanned_pages(path, failure, password=password)
            if sum(page.chars for page in scanned) < chars_min:
                raise
            return reading_of_scan(scanned, hints)
    lines, margin = _lines_of(pages)
    mend_words(chain.from_iterable([*lines, margin]))
    reading = best_reading(pages, lines, margin, hints)
    if damaged := count_damaged_streams(path):
        message = (
            f"{damaged} parts of the file are damaged, so text may be missing; download it again"
        )
        reading.problems.append(StatementProblem(code="PDF_DAMAGED", message=message))
    if left_out:
        numbers = ", ".join(map(str, left_out[:PAGES_NAMED_MAX]))
        more = (
            f" and {len(left_out) - PAGES_NAMED_MAX} more"
            if len(left_out) > PAGES_NAMED_MAX
            else ""
        )
        message = (
            f"pages that cannot be read were left out ({numbers}{more}); download the file again"
        )
        reading.problems.append(StatementProblem(code="PDF_DAMAGED", message=message))
    return reading


def reading_of_scan(pages: Sequence[PdfPage], hints: Hints) -> StatementReading:
    """The statements of pages that OCR read: as those of a PDF, but what no balance proves is flagged."""
    lines, margin = _lines_of(pages)
    reading = Assembler(pages, lines, margin, hints).reading()
    reading.format = "scan"
    reading.decisions.insert(0, f"{len(pages)} pages have no text: they were read by OCR")
    return reading


def reading_of_text(pages: Sequence[PdfPage], hints: Hints) -> StatementReading | None:
    """The statements of a text whose characters have places; None where neither headings nor balances show any."""
    lines, margin = _lines_of(pages)
    is_named = has_heading(lines)
    assembler = Assembler(pages, lines, margin, hints)
    reading = assembler.reading()
    return reading if is_named or assembler.is_proven else None


def _lines_of(pages: Sequence[PdfPage]) -> tuple[list[list[StatementLine]], list[StatementLine]]:
    """The lines of pages, in which it is marked where columns begin that stand close together; see `corridors`."""
    lines, margin = lines_of(pages, StatementLine, is_content=_is_content)
    for page in lines:
        for word in cell_starts([line.words for line in page], has_ends=True):
            word.begins_cell = True
    return lines, margin


def _is_content(text: str) -> bool:
    """Whether a text in a margin is a heading or a balance, which every page may repeat."""
    is_balance = any(labels.find(vocab.simplify(text)) for labels in vocab.BALANCE_LABELS.values())
    return bool(vocab.heading_role(text)) or vocab.begins_heading(text) or is_balance
