"""Whether a file is a scan or a text of no other kind, by its bytes. It never inflates or parses anything."""

import re
import zipfile
from itertools import groupby
from pathlib import Path

from stateward.definition.plugin import Content, Detected
from stateward.pipelines.documents import TEXT_SUFFIXES
from stateward.pipelines.kit.delimited import DELIMITERS, first_rows
from stateward.pipelines.kit.files import ZIP, foreign_file, is_binary, is_pdf
from stateward.pipelines.kit.mail import is_mail
from stateward.pipelines.kit.rtf import is_rtf

LETTER = "letter"
# A TIFF is nearly always a scan. Of other pictures it cannot be told by their bytes whether they show a document.
PICTURES = {
    b"II*\x00": ("tiff", 60),
    b"MM\x00*": ("tiff", 60),
    b"\x89PNG\r\n\x1a\n": ("png", 30),
    b"\xff\xd8\xff": ("jpeg", 30),
    b"BM": ("bmp", 15),
}
# A scan: more than what other pipelines say of a PDF that they know nothing of, because they could not read it. Any
# other PDF: less than that, and more than what they say of one that shows nothing of theirs. So whatever no other
# pipeline takes for its own is kept as a text that can be searched.
SCANNED_PDF, ANY_PDF = 25, 20
# A letter or a note, in the same way: more than what is said of any text, and less than what is known of one.
ANY_DOCX, PROSE = 25, 24
LINES_SEEN = 40
LETTERS_MIN = 0.6  # of the characters that are not blank
WORDS_MIN = 4
EVEN = 0.8  # of the lines of a table that have as many cells as the first
NEIGHBOURS_MIN, DELIMITERS_MIN = 3, 2  # lines one after the other with as many of a delimiter each
BOOKINGS_MIN = 3  # lines with a day and an amount: a statement, as a text
_QUOTED = re.compile(r'"[^"]*"')
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d{1,3}(?!\d|[./-]\d))")
_WORD = re.compile(r"[^\W\d_]{2,}")
_LEADERS = re.compile(r"([.·_…])\1{2,}")  # dots that lead from a name to its price
_BOOKING = re.compile(
    r"(?m)^\W{0,3}(?:\d{1,4}[./-]\d{1,2}(?:[./-]\d{1,4})?|\d{1,2}\.? [^\W\d_]{3,9}|[^\W\d_]{3,9}\.? \d{1,2})\b"
    r".{1,200}\d[.,]\d\d\D{0,6}$"
)
PDF_BYTES_MAX = 64 * 1024 * 1024
IMAGES = (b"/DCTDecode", b"/CCITTFaxDecode", b"/JBIG2Decode", b"/JPXDecode", b"/Image")
# Fonts; and compressed objects, in which there may be fonts.
TEXT = (b"/Font", b"/ObjStm")


def detect(content: Content) -> Detected | None:
    """A scan, or None."""
    head = content.head
    if is_pdf(head):
        confidence = SCANNED_PDF if _is_scanned_pdf(content.path) else ANY_PDF
        return Detected(source_type="scan", format="pdf", confidence=confidence)
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return Detected(source_type="scan", format="webp", confidence=30)
    for magic, (name, confidence) in PICTURES.items():
        if head.startswith(magic):
            return Detected(source_type="scan", format=name, confidence=confidence)
    if is_rtf(head):
        return Detected(source_type=LETTER, format="rtf", confidence=ANY_DOCX)
    if head.startswith(ZIP):
        is_letter = _is_word_document(content.path)
        return (
            Detected(source_type=LETTER, format="docx", confidence=ANY_DOCX) if is_letter else None
        )
    if is_mail(head):
        return Detected(source_type=LETTER, format="eml", confidence=ANY_DOCX)
    # What calls itself a table or data and is none is damaged: to keep it as a text would hide that.
    is_called_text = Path(content.name).suffix.lower() in ("", *TEXT_SUFFIXES)
    if is_called_text and _is_prose(head):
        return Detected(source_type=LETTER, format="text", confidence=PROSE)
    return None


def _is_word_document(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.startswith("word/") for name in archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return False


def _is_prose(head: bytes) -> bool:
    """Whether a text is made of words in lines: no table, no markup, no list of bookings."""
    codec = "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
    text = head.decode(codec, "ignore").lstrip("\ufeff \t\r\n")
    if text[:1] in ("<", "{", "[", "@", "!", ":", "%") or is_binary(text) or foreign_file(head):
        return False
    lines = [line for line in text.splitlines() if line.strip()][:LINES_SEEN]
    plain = _LEADERS.sub("", text)
    letters, signs = sum(map(str.isalpha, plain)), len("".join(plain.split()))
    if letters < LETTERS_MIN * signs or len(_WORD.findall(text)) < WORDS_MIN:
        return False
    return not _is_table(lines) and len(_BOOKING.findall(text)) < BOOKINGS_MIN


def _is_table(lines: list[str]) -> bool:
    rows = first_rows(lines)
    even = sum(len(row) == len(rows[0]) for row in rows) if rows and len(rows[0]) > 1 else 0
    if len(rows) > 1 and even >= EVEN * len(rows):
        return True
    # Below lines of notes, which are no rows of the table.
    return any(_is_divided_by(delimiter, lines) for delimiter in DELIMITERS)


def _is_divided_by(delimiter: str, lines: list[str]) -> bool:
    """Whether neighbouring lines have as many of a delimiter, without those of sentences and amounts."""
    counts = [_delimiters(delimiter, line.strip()) for line in lines]
    return any(
        number >= DELIMITERS_MIN and len(list(same)) >= NEIGHBOURS_MIN
        for number, same in groupby(counts)
    )


def _delimiters(delimiter: str, line: str) -> int:
    # A table within a note in Markdown begins each line with a bar.
    if delimiter == "|":
        return 0 if line.startswith("|") else line.count("|")
    plain = _QUOTED.sub("", line)
    if delimiter == ",":
        plain = _DECIMAL_COMMA.sub("", plain)
    return plain.count(delimiter) - plain.count(f"{delimiter} ")


def _is_scanned_pdf(path: Path) -> bool:
    """Whether a PDF holds images and certainly no font: nothing in it can be text."""
    if path.stat().st_size > PDF_BYTES_MAX:
        return False
    data = path.read_bytes()
    return any(name in data for name in IMAGES) and not any(name in data for name in TEXT)
