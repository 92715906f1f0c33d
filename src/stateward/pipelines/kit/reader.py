"""A file becomes a document: PDF, DOCX, ODT, RTF, a mail or plain text, recognised by content and never by name.

Scans and photos are read by OCR where a caller asks for it and its extra is installed.

What cannot be read is refused with one of the codes of `failures` and a message that says what to do.
"""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from stateward.core.errors import FatalFailure, MissingExtra
from stateward.pipelines.kit.archives import office_file
from stateward.pipelines.kit.documents import (
    TextDocument,
    TextPage,
    UnseenText,
    split_lines,
)
from stateward.pipelines.kit.docx import PAGE_BREAK, is_docx, read_docx, unseen_docx
from stateward.pipelines.kit.encoding import find_encoding
from stateward.pipelines.kit.failures import (
    CORRUPT_FILE,
    EMPTY_DOCUMENT,
    ENCRYPTED,
    NO_TEXT,
    TEXT_TOO_LARGE,
    TOO_MANY_PAGES,
    UNSUPPORTED_FORMAT,
)
from stateward.pipelines.kit.files import (
    OLE,
    ZIP,
    foreign_file,
    is_binary,
    is_empty,
    is_pdf,
    is_picture,
)
from stateward.pipelines.kit.mail import is_mail, read_mail
from stateward.pipelines.kit.odt import is_odt, read_odt
from stateward.pipelines.kit.pdf.text import ADVICE, read_pdf, scanned_text_page
from stateward.pipelines.kit.rtf import is_rtf, read_rtf

PAGES_MAX = 1000
CHARS_MAX = 4_000_000
TEXT_BYTES_MAX = 16 * 1024 * 1024
MAIL_BYTES_MAX = 64 * 1024 * 1024
CHARS_MIN = 20  # a text with fewer characters is no document
HEAD_BYTES = 4096
ENCRYPTED_OFFICE = "EncryptedPackage".encode(
    "utf-16-le"
)  # the stream of an encrypted DOCX in its OLE container
_MARKUP = re.compile(r"\s*(?:<!doctype html|<html\b|<\?xml)", re.IGNORECASE)
_CONTROLS = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f]")


def read_document(
    path: Path,
    *,
    password: str | None = None,
    pages_max: int = PAGES_MAX,
    chars_max: int = CHARS_MAX,
    is_numbered: bool = False,
    is_ocr: bool = False,
    is_lenient: bool = False,
) -> TextDocument:
    """The text of a file, or a refusal; `is_numbered` has the numbers of automatic lists of a DOCX.

    `is_ocr` reads scans, photos, and pictures among the pages of a PDF; without it a photo is refused as no document.
    `is_lenient` reads a damaged PDF as far as that goes, and says in `damage` what may be missing.
    """
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if is_empty(head):
        raise _empty()
    if is_pdf(head):
        read = partial(
            read_pdf, password=password, pages_max=pages_max, chars_max=chars_max, is_ocr=is_ocr
        )
        return _lenient_pdf(path, read) if is_lenient else TextDocument("pdf", read(path))
    if is_ocr and is_picture(head):
        return _photo(path)
    if is_mail(head):
        _check_size(path, MAIL_BYTES_MAX)
        return read_mail(
            path,
            read=partial(
                read_document,
                pages_max=pages_max,
                chars_max=chars_max,
                is_numbered=is_numbered,
                is_ocr=is_ocr,
                is_lenient=is_lenient,
            ),
            pages_max=pages_max,
        )
    if head.startswith(ZIP):
        kind, text, unseen = _office_text(path, is_numbered=is_numbered)
    elif is_rtf(head):
        _check_size(path, TEXT_BYTES_MAX)
        kind, text, unseen = "rtf", *read_rtf(path.read_bytes())
    else:
        kind, text, unseen = "text", _text(path, head), None
    if len(text) > chars_max:
        raise FatalFailure(
            f"the file has {len(text)} characters and the limit is {chars_max}; split it",
            code=TEXT_TOO_LARGE,
        )
    if len("".join(text.split())) < CHARS_MIN:
        raise _empty()
    document = text_document(text, kind=kind, pages_max=pages_max)
    if unseen is None:
        return document
    hidden, struck, aside = unseen
    first = replace(document.pages[0], unseen=hidden, struck=struck, aside=aside)
    return replace(document, pages=[first, *document.pages[1:]])


def _lenient_pdf(path: Path, read: Callable[..., list[TextPage]]) -> TextDocument:
    """A PDF with its damage left out; if it does not open, a mended copy of it (extra `repair`)."""
    damage: list[str] = []
    try:
        pages = read(path, on_damaged=damage.append)
    except FatalFailure as failure:
        if failure.code == NO_TEXT and damage:
            said = f"{'; '.join(damage)}, and no text is left; get the file again from its source"
            raise FatalFailure(said, code=CORRUPT_FILE) from None
        if failure.code != CORRUPT_FILE:
            raise
        damage.append(failure.message)
        pages = _read_mended(path, read, failure, damage)
    return TextDocument("pdf", pages, "; ".join(dict.fromkeys(damage)))


def _read_mended(
    path: Path, read: Callable[..., list[TextPage]], failure: FatalFailure, damage: list[str]
) -> list[TextPage]:
    from stateward.pipelines.kit.pdf.repair import repaired_pdf

    try:
        mended = repaired_pdf(path)
    except (MissingExtra, ImportError):
        said = f"{failure.message}; with the extra stateward[repair] a retry mends what it can"
        raise FatalFailure(said, code=failure.code) from None
    if mended is None:
        raise failure
    with TemporaryDirectory(prefix="stateward-mended-") as folder:
        copy = Path(folder) / "mended.pdf"
        copy.write_bytes(mended)
        try:
            return read(copy, on_damaged=damage.append)
        except FatalFailure:  # nothing of it could be saved: the damage is the reason
            raise failure from None


def _photo(path: Path) -> TextDocument:
    from stateward.pipelines.kit.pdf.scans import photographed_page

    failure = FatalFailure(f"no text was found on the picture; {ADVICE}", code=NO_TEXT)
    pages = photographed_page(path, failure)
    return TextDocument("image", [scanned_text_page(page) for page in pages])


def text_document(text: str, *, kind: str = "text", pages_max: int = PAGES_MAX) -> TextDocument:
    """A text as a document; form feeds separate its pages."""
    text = _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    parts = [part for part in text.split(PAGE_BREAK) if part.strip()] or [""]
    if len(parts) > pages_max:
        raise FatalFailure(
            f"the file has {len(parts)} pages and the limit is {pages_max}; split it",
            code=TOO_MANY_PAGES,
        )
    return TextDocument(kind, [_page(number, part) for number, part in enumerate(parts, start=1)])


def _page(number: int, text: str) -> TextPage:
    text = "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))
    return TextPage(number, 0.0, 0.0, text, split_lines(text))


def _office_text(path: Path, *, is_numbered: bool) -> tuple[str, str, UnseenText]:
    """The format and the text of a zip that is a document, and what it holds beside its text."""
    if is_docx(path):
        return "docx", read_docx(path, is_numbered=is_numbered), unseen_docx(path)
    if is_odt(path):
        return "odt", *read_odt(path)
    if what := office_file(path):
        raise _unsupported_error(f"{what}; save it as PDF and submit that")
    raise _unsupported_error("a zip archive; extract it and submit what is inside")


def _text(path: Path, head: bytes) -> str:
    """The text of a file that is neither PDF nor zip."""
    if head.startswith(OLE):
        with path.open("rb") as file:
            is_encrypted = ENCRYPTED_OFFICE in file.read(TEXT_BYTES_MAX)
        if is_encrypted:
            raise FatalFailure(
                "the document is encrypted with a password; save it without one", code=ENCRYPTED
            )
        raise _unsupported_error("an old Word or Excel document; save it as DOCX or PDF")
    if what := foreign_file(head):
        raise _unsupported_error(what)
    _check_size(path, TEXT_BYTES_MAX)
    text = path.read_bytes().decode(find_encoding(path).name, "replace").lstrip("\ufeff")
    if is_binary(text):
        raise _unsupported_error("neither a PDF nor a DOCX nor a text")
    if _MARKUP.match(text):
        raise _unsupported_error("a web page or other markup; save it as PDF")
    return text


def _check_size(path: Path, bytes_max: int) -> None:
    if path.stat().st_size > bytes_max:
        raise FatalFailure(
            f"the text is larger than {bytes_max} bytes; submit one document at a time",
            code=TEXT_TOO_LARGE,
        )


def _unsupported_error(what: str) -> FatalFailure:
    return FatalFailure(f"the file is {what}", code=UNSUPPORTED_FORMAT)


def _empty() -> FatalFailure:
    return FatalFailure("the file contains no text; submit it again", code=EMPTY_DOCUMENT)
