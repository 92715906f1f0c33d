"""Letters and notes that are texts already, DOCX, RTF, mails and plain text: nothing of them must be recognized.

Their text is kept as a file of the record, and every line says at which characters of it it stands.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from stateward.core.errors import FatalFailure
from stateward.core.model import Fields
from stateward.pipelines.kit.docx import is_docx, read_docx
from stateward.pipelines.kit.encoding import find_encoding
from stateward.pipelines.kit.files import ZIP, foreign_file, is_binary, is_picture
from stateward.pipelines.kit.mail import is_mail, read_message
from stateward.pipelines.kit.rtf import is_rtf, read_rtf

TEXT_FILE = "text.txt"
TEXT_BYTES_MAX = 16 * 1024 * 1024
SURE = 100
PAGE_BREAK = "\f"
_CONTROL = re.compile(rb"[\x01-\x08\x0e-\x1a]")
WEBP, BITMAP = b"RIFF", b"BM"


class Letter(NamedTuple):
    """A text, and how many files came with it that were not read."""

    text: str
    attachments: int = 0


def read_letter(path: Path, head: bytes) -> Letter | None:
    """The text of a DOCX, an RTF, a mail or a plain text; None if the file is none of these."""
    if is_mail(head):
        _check_size(path)
        return Letter(*read_message(path))
    text = _read_text(path, head)
    return None if text is None else Letter(text)


def _check_size(path: Path) -> None:
    if path.stat().st_size > TEXT_BYTES_MAX:
        raise FatalFailure(
            f"the text has more than {TEXT_BYTES_MAX} bytes; split it", code="TOO_LARGE"
        )


def _read_text(path: Path, head: bytes) -> str | None:
    if head.startswith(ZIP):
        return read_docx(path) if is_docx(path) else None
    is_other = is_picture(head) or head.startswith((WEBP, BITMAP)) or foreign_file(head)
    if is_other and not is_rtf(head):
        return None
    _check_size(path)
    if is_rtf(head):
        return read_rtf(path.read_bytes())[0]
    if b"\x00" not in head and _CONTROL.search(head):  # with zeros it may be UTF-16
        return None
    encoding = find_encoding(path)
    text = path.read_bytes().decode(encoding.name, "replace").lstrip("\ufeff")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return None if is_binary(text.replace(PAGE_BREAK, "\n")) else text


def text_lines(text: str, file: str) -> Iterator[Fields]:
    """The lines of a text that are not blank, with their pages and places in it."""
    at, page, number = 0, 1, 0
    for line in text.split("\n"):
        for part in _with_breaks(line):
            if part == PAGE_BREAK:
                page, number = page + 1, 0
            elif part.strip():
                number += 1
                start = at + len(part) - len(part.lstrip())
                yield {
                    "page": page,
                    "line": number,
                    "text": " ".join(part.split()),
                    "confidence": SURE,
                    "source": "text",
                    "words": [],
                    "where": {"file": file, "start": start, "end": at + len(part.rstrip())},
                }
            at += len(part)
        at += 1


def _with_breaks(line: str) -> Iterator[str]:
    first, *others = line.split(PAGE_BREAK)
    yield first
    for other in others:
        yield PAGE_BREAK
        yield other
