"""A file becomes a document: PDF, DOCX or plain text, known by content and never by name.

Whatever cannot be read is refused with a code of its own and a sentence that says what to do: EMPTY_DOCUMENT,
ENCRYPTED, NO_TEXT (a scan), CORRUPT_FILE, HOSTILE_FILE, TOO_MANY_PAGES, TEXT_TOO_LARGE, UNSUPPORTED_FORMAT.
"""

import re
from pathlib import Path

from stateward.core.errors import FatalFailure
from stateward.pipelines.contracts.document import Document, Line, Page
from stateward.pipelines.contracts.docx import PAGE_BREAK, is_docx, read_docx
from stateward.pipelines.contracts.pdf_text import read_pdf
from stateward.pipelines.statements.source import Bounds, Hints, Source

PAGES_MAX = 1000
CHARS_MAX = 4_000_000
TEXT_BYTES_MAX = 16 * 1024 * 1024
CHARS_MIN = 20  # fewer is no contract, whatever they say
HEAD_BYTES = 4096
PDF_WITHIN = 1024
WIDE_MIN = 0.8  # share of zeros on one side of the letters
CONTROL_SHARE_MAX = 0.02
ZIP, OLE = b"PK", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
LOCKED = "EncryptedPackage".encode("utf-16-le")  # how a locked DOCX names what it holds
# Magic bytes of what is often sent by mistake, and what to do about it.
STRANGERS = {
    b"\x89PNG": "a picture; send the contract as a PDF with its text",
    b"\xff\xd8\xff": "a photograph; send the contract as a PDF with its text",
    b"GIF8": "a picture; send the contract as a PDF with its text",
    b"II*\x00": "a scanned picture; send the contract as a PDF with its text",
    b"MM\x00*": "a scanned picture; send the contract as a PDF with its text",
    b"\x1f\x8b": "packed with gzip; unpack it and send what is inside",
    b"Rar!": "a RAR archive; unpack it and send what is inside",
    b"7z\xbc\xaf": "a 7-zip archive; unpack it and send what is inside",
    b"{\\rtf": "a text in RTF; save it as DOCX or PDF",
    b"SQLite format": "a database",
    b"\x7fELF": "a program",
    b"MZ": "a program",
}
_HTML = re.compile(r"\s*(?:<!doctype html|<html\b|<\?xml)", re.IGNORECASE)
_CONTROLS = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f]")


def read_document(
    path: Path,
    *,
    password: str | None = None,
    pages_max: int = PAGES_MAX,
    chars_max: int = CHARS_MAX,
) -> Document:
    """The text of a contract, or a refusal."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if not head.strip(b"\x00 \t\r\n\xef\xbb\xbf\xff\xfe"):
        raise _empty()
    if b"%PDF-" in head[:PDF_WITHIN]:
        pages = read_pdf(path, password=password, pages_max=pages_max, chars_max=chars_max)
        return Document("pdf", pages)
    kind, text = _unboxed(path, head)
    if len(text) > chars_max:
        raise FatalFailure(
            f"the file holds {len(text)} characters and the limit is {chars_max}; split it",
            code="TEXT_TOO_LARGE",
        )
    if len("".join(text.split())) < CHARS_MIN:
        raise _empty()
    return document_of(text, kind=kind, pages_max=pages_max)


def document_of(text: str, *, kind: str = "text", pages_max: int = PAGES_MAX) -> Document:
    """A text as a document; form feeds part its pages."""
    text = _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    parts = [part for part in text.split(PAGE_BREAK) if part.strip()] or [""]
    if len(parts) > pages_max:
        raise FatalFailure(
            f"the file has {len(parts)} pages and the limit is {pages_max}; split it",
            code="TOO_MANY_PAGES",
        )
    return Document(kind, [_page(number, part) for number, part in enumerate(parts, start=1)])


def _page(number: int, text: str) -> Page:
    text = "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))
    lines: list[Line] = []
    at = 0
    for line in text.split("\n"):
        lines.append(Line(at, at + len(line)))
        at += len(line) + 1
    return Page(number, 0.0, 0.0, text, lines)


def _unboxed(path: Path, head: bytes) -> tuple[str, str]:
    """The format and the text of a file that is no PDF."""
    if head.startswith(ZIP):
        if not is_docx(path):
            raise _unsupported("a zip archive; unpack it and send what is inside")
        return "docx", read_docx(path)
    if head.startswith(OLE):
        raise _ole(path)
    for magic, what in STRANGERS.items():
        if head.startswith(magic):
            raise _unsupported(what)
    return "text", _plain(path)


def _ole(path: Path) -> FatalFailure:
    with path.open("rb") as file:
        is_locked = LOCKED in file.read(TEXT_BYTES_MAX)
    if is_locked:
        return FatalFailure(
            "the document is locked with a password; save it without one", code="ENCRYPTED"
        )
    return _unsupported("a document of an old Word or Excel; save it as DOCX or PDF")


def _plain(path: Path) -> str:
    if path.stat().st_size > TEXT_BYTES_MAX:
        raise FatalFailure(
            f"the text is larger than {TEXT_BYTES_MAX} bytes; no contract is, so send only the contract",
            code="TEXT_TOO_LARGE",
        )
    text = Source(path, Hints(encoding=_wide(path)), Bounds()).text().lstrip("\ufeff")
    sample = text[:HEAD_BYTES]
    if len(_CONTROLS.findall(sample)) > CONTROL_SHARE_MAX * len(sample):
        raise _unsupported("neither a PDF nor a DOCX nor a text")
    if _HTML.match(text):
        raise _unsupported("a page of the web or other markup; save it as PDF")
    return text


def _wide(path: Path) -> str:
    """UTF-16 without its mark, known by the zero beside nearly every letter; "" if it is none."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    half = max(1, len(head) // 2)
    first, second = head[0::2].count(0) / half, head[1::2].count(0) / half
    if second > WIDE_MIN and first < 1 - WIDE_MIN:
        return "utf-16-le"
    return "utf-16-be" if first > WIDE_MIN and second < 1 - WIDE_MIN else ""


def _unsupported(what: str) -> FatalFailure:
    return FatalFailure(f"the file is {what}", code="UNSUPPORTED_FORMAT")


def _empty() -> FatalFailure:
    return FatalFailure("the file holds no text; send it again", code="EMPTY_DOCUMENT")
