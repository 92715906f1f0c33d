"""What a file is by its first bytes. Names and media types may be wrong; content is not."""

import re

PDF_WITHIN = 1024  # a PDF may have other bytes before its header
ZIP, OLE = b"PK", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
SAMPLE_CHARS = 4096
CONTROL_SHARE_MAX = 0.02  # of a sample: text with more control characters is binary data
# All but line and page ends, the end-of-file mark of CP/M, and the separators that SWIFT messages are framed with.
_CONTROLS = re.compile(r"[\x00\x05-\x08\x0b\x0e-\x19\x1b\x1f]")

_IMAGE = "an image; submit the document as a file that contains text"
_ARCHIVE = "{} archive; extract it and submit what is inside"
_PROGRAM = "a program"
# Files that are often submitted by mistake, by their magic bytes.
FOREIGN_FILES = {
    b"\x89PNG": _IMAGE,
    b"\xff\xd8\xff": _IMAGE,
    b"GIF8": _IMAGE,
    b"II*\x00": _IMAGE,
    b"MM\x00*": _IMAGE,
    b"\x1f\x8b": _ARCHIVE.format("a gzip"),
    b"Rar!": _ARCHIVE.format("a RAR"),
    b"7z\xbc\xaf": _ARCHIVE.format("a 7-zip"),
    b"{\\rtf": "a text document in RTF; save it as PDF and submit that",
    b"SQLite format": "a SQLite database; export what it holds",
    b"\x7fELF": _PROGRAM,
    b"MZ": _PROGRAM,
}


def is_empty(head: bytes) -> bool:
    """Whether a file that begins so holds nothing but blanks, zeros and byte order marks."""
    return not head.strip(b"\x00 \t\r\n\xef\xbb\xbf\xff\xfe")


def is_pdf(head: bytes) -> bool:
    """Whether a file begins like a PDF; an archive that holds one uncompressed does not."""
    return b"%PDF-" in head[:PDF_WITHIN] and not head.startswith(ZIP)


def is_picture(head: bytes) -> bool:
    """Whether a file begins like a picture of a page: a photo or a scan."""
    return head.startswith((b"\x89PNG", b"\xff\xd8\xff", b"II*\x00", b"MM\x00*"))


def foreign_file(head: bytes) -> str:
    """What a file of a foreign format is, and what to do about it; "" if it is none that is known."""
    return next((what for magic, what in FOREIGN_FILES.items() if head.startswith(magic)), "")


def is_binary(text: str) -> bool:
    """Whether a decoded text is no text: too many control characters in its first part."""
    sample = text[:SAMPLE_CHARS]
    return len(_CONTROLS.findall(sample)) > CONTROL_SHARE_MAX * len(sample)
