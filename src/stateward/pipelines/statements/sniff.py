"""What a file is, by its content: magic bytes, the directory of a zip, the first lines of a text.

A name and a hint may be wrong; content is not. What is refused here is refused for good, with a code, before any
parser sees it: empty files, archives that would inflate beyond the bounds, pictures, pages of the web.
"""

import re
import zipfile
import zlib
from typing import BinaryIO

from stateward.core.errors import FatalFailure
from stateward.pipelines.statements.source import Source

ENTRIES_MAX = 10_000
RATIO_MAX = 200
RATIO_FROM_BYTES = 10 * 1024 * 1024
PIECE_BYTES = 1 << 20

PDF_WITHIN = 1024
ZIP, OLE = b"PK", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# Magic bytes of what is often sent by mistake, and what to do about it.
STRANGERS = {
    b"\x89PNG": "a picture; statements are read from text, so download the PDF or CSV instead",
    b"\xff\xd8\xff": "a photograph; statements are read from text, so download the PDF or CSV instead",
    b"GIF8": "a picture; download the statement as PDF or CSV instead",
    b"II*\x00": "a scanned picture; download the statement as PDF or CSV instead",
    b"MM\x00*": "a scanned picture; download the statement as PDF or CSV instead",
    b"\x1f\x8b": "packed with gzip; unpack it and submit what is inside",
    b"Rar!": "a RAR archive; unpack it and submit what is inside",
    b"7z\xbc\xaf": "a 7-zip archive; unpack it and submit what is inside",
    b"{\\rtf": "a text document (RTF); download the statement as PDF or CSV instead",
    b"SQLite format": "a database; export the statement as CSV",
    b"\x7fELF": "a program",
    b"MZ": "a program",
}  # fmt: skip

_MT940 = re.compile(r"(?m)^\s{0,2}:(?:20|21|25P?|28C?|6[0-5][FM]?|86|34F|13D?|90[CD]):")
_MT940_BLOCK = re.compile(r"\{1:F\d\d|\{4:\s*:")
_QIF = re.compile(r"(?im)^\s*!(?:type:|account|option:|clear:)")
_OFX = re.compile(r"OFXHEADER|<\?OFX\b|<OFX\s*>", re.IGNORECASE)
_CAMT = re.compile(
    r"camt\.05[234]|<(?:\w+:)?(?:BkToCstmr(?:Stmt|AcctRpt|DbtCdtNtfctn)|Stmt|Rpt|Ntfctn)\b"
)
_HTML = re.compile(r"<!doctype html|<html\b|<table\b|<body\b", re.IGNORECASE)


def sniff(source: Source) -> str:
    """The format: "pdf", "sheet", "ofx", "camt", "mt940", "qif" or "csv"; a refusal if it is none."""
    head = source.head
    if not head.strip(b"\x00 \t\r\n\xef\xbb\xbf\xff\xfe"):
        raise FatalFailure(
            "the file is empty; download the statement again and submit that", code="EMPTY_FILE"
        )
    if b"%PDF-" in head[:PDF_WITHIN]:
        return "pdf"
    if head.startswith(ZIP):
        return _zipped(source)
    if head.startswith(OLE):
        return "sheet"
    for magic, what in STRANGERS.items():
        if head.startswith(magic):
            raise _unknown(f"the file is {what}")
    return _text_format(source)


def _text_format(source: Source) -> str:
    encoding = source.encoding
    text = source.head.decode(encoding, "ignore").lstrip("\ufeff")
    if "\x00" in text or _is_binary(text):
        raise _unknown("the file is neither text nor a format that is known here")
    start = text.lstrip()
    if _OFX.search(text):
        return "ofx"
    if start.startswith("<"):
        if _CAMT.search(text) or "<Document" in text:
            return "camt"
        if _HTML.search(text):
            raise _unknown("the file is a page of the web; download the statement as PDF or CSV")
        raise _unknown("the file is XML, but neither OFX nor CAMT.052, 053 or 054")
    if _QIF.search(text[:4096]):
        return "qif"
    if _MT940.search(text) or _MT940_BLOCK.match(start):
        return "mt940"
    if start.startswith(("{", "[")):
        raise _unknown("the file is JSON, not a statement")
    return "csv"


def _is_binary(text: str) -> bool:
    sample = text[:4096]
    odd = sum(c < " " and c not in "\t\r\n\f\x1a\x1c\x1d\x1e\x01\x02\x03\x04" for c in sample)
    return odd > len(sample) // 50


def _zipped(source: Source) -> str:
    """A sheet, if the directory of the zip says so and all that it holds stays within the bounds."""
    try:
        with source.path.open("rb") as file, zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            names = {entry.filename for entry in entries}
            _check_declared(entries, source.bounds.inflated_bytes_max)
            if "xl/workbook.xml" in names or "xl/workbook.bin" in names:
                _check_inflated(file, entries, source.bounds.inflated_bytes_max)
                return "sheet"
            if "content.xml" in names and "mimetype" in names:
                _check_inflated(file, entries, source.bounds.inflated_bytes_max)
                return "sheet"
    except (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        NotImplementedError,
        OSError,
        ValueError,
    ) as error:
        raise FatalFailure(
            f"the file is a damaged zip or spreadsheet ({error}); download it again",
            code="SHEET_CORRUPT",
        ) from error
    raise _unknown("the file is a zip archive; unpack it and submit what is inside")


def _check_declared(entries: list[zipfile.ZipInfo], bytes_max: int) -> None:
    if len(entries) > ENTRIES_MAX:
        raise _too_large(f"it holds {len(entries)} files, more than {ENTRIES_MAX}")
    total = sum(entry.file_size for entry in entries)
    packed = sum(entry.compress_size for entry in entries)
    if total > bytes_max:
        raise _too_large(f"it would inflate to {total} bytes, more than {bytes_max}")
    if total > RATIO_FROM_BYTES and total > packed * RATIO_MAX:
        raise _too_large(f"it would inflate {total // max(packed, 1)} times, as only a bomb does")


def _check_inflated(file: BinaryIO, entries: list[zipfile.ZipInfo], bytes_max: int) -> None:
    """Inflate everything once, keeping nothing: a directory may lie about sizes."""
    total = 0
    for entry in entries:
        if entry.flag_bits & 1:
            raise FatalFailure(
                "the spreadsheet is locked with a password; save it without one and submit that",
                code="SHEET_ENCRYPTED",
            )
        total += _inflated_bytes(file, entry, bytes_max - total)
        if total > bytes_max:
            raise _too_large(f"{entry.filename!r} in it inflates beyond {bytes_max} bytes")


def _inflated_bytes(file: BinaryIO, entry: zipfile.ZipInfo, bytes_max: int) -> int:
    file.seek(entry.header_offset)
    header = file.read(30)
    skip = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    file.seek(entry.header_offset + 30 + skip)
    left = entry.compress_size
    if entry.compress_type != zipfile.ZIP_DEFLATED:
        return left
    inflater, total = zlib.decompressobj(-15), 0
    while left > 0 and total <= bytes_max:
        piece = file.read(min(PIECE_BYTES, left))
        if not piece:
            break
        left -= len(piece)
        while piece and total <= bytes_max:
            try:
                total += len(inflater.decompress(piece, PIECE_BYTES))
            except zlib.error as error:
                raise zipfile.BadZipFile(str(error)) from error
            piece = inflater.unconsumed_tail
    return total


def _unknown(sentence: str) -> FatalFailure:
    return FatalFailure(sentence, code="UNKNOWN_FORMAT")


def _too_large(why: str) -> FatalFailure:
    return FatalFailure(
        f"the archive is not opened: {why} (statements.inflated_bytes_max)", code="TOO_LARGE"
    )
