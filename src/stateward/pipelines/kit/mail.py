"""A mail as a document: its attachments, in order, and then its own text.

Contracts often arrive as they were mailed. Each attachment that can be read becomes pages, a scan or a photo by OCR if
that is asked for; one that cannot (an archive) becomes a page without text, so that a person is told that something was
not read. A mail that is attached to it, as programs forward them, is read in the same way. What a page of an attachment
holds besides its text (watermarks, struck and hidden words) goes with it. Places have no boxes: what is shown beside
them is the mail, not the attachment.
"""

import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.documents import TextDocument, TextPage, split_lines
from stateward.pipelines.kit.failures import CORRUPT_FILE, EMPTY_DOCUMENT, TOO_MANY_PAGES

if TYPE_CHECKING:
    from email.message import EmailMessage

ATTACHMENTS_MAX = 50
DEPTH_MAX = 4  # mails within mails
HEAD_BYTES = 4096
MAIL = "message/rfc822"
HEADERS_SHOWN = ("From", "To", "Cc", "Date", "Subject")
# A memo begins with From and Subject as well; these lines are written by programs that send mail.
_HEADER = re.compile(rb"(?im)^(?:MIME-Version|Message-ID|Received|Return-Path|X-[\w-]+)[ \t]*:")
_FIRST = re.compile(rb"[A-Za-z][A-Za-z0-9-]{1,60}[ \t]*:")
_TAG = re.compile(r"(?s)<(?:script|style)\b.*?</(?:script|style)>|<[^<>]{0,2000}>")
_BREAK = re.compile(r"(?i)<(?:br|/p|/div|/tr|/li|/h\d)\b[^<>]{0,200}>")

ReadDocument = Callable[[Path], TextDocument]


def is_mail(head: bytes) -> bool:
    """Whether a file begins with the headers of a mail."""
    headers = re.split(rb"\r?\n\r?\n", head, maxsplit=1)[0]
    return bool(_FIRST.match(headers)) and bool(_HEADER.search(headers))


def read_message(path: Path) -> tuple[str, int]:
    """What a mail says below who wrote it to whom, when and about what; and how many attachments it has."""
    message = _parse(path.read_bytes())
    try:
        headers = [f"{name}: {message[name]}" for name in HEADERS_SHOWN if message[name]]
    except (ValueError, LookupError, IndexError, AttributeError):  # the parser reads them only now
        headers = []
    attachments = sum(1 for _ in message.iter_attachments()) if message.is_multipart() else 0
    return "\n".join([*headers, "", *_body(message)]), attachments


def _parse(data: bytes) -> "EmailMessage":
    # Here: most documents are no mails, and the parser takes a while to import.
    from email import policy
    from email.parser import BytesParser

    try:
        return BytesParser(policy=policy.default).parsebytes(data)
    except (ValueError, LookupError, RecursionError) as error:
        raise FatalFailure(
            f"the mail is damaged ({error}); save it again", code=CORRUPT_FILE
        ) from error


def read_mail(path: Path, *, read: ReadDocument, pages_max: int) -> TextDocument:
    """The pages of a mail; `read` reads an attachment."""
    damage: list[str] = []
    parts = list(_pages(_parse(path.read_bytes()), read, damage, depth=0))
    if len(parts) > pages_max:
        raise FatalFailure(
            f"the mail has {len(parts)} pages with its attachments, and the limit is {pages_max}; submit the contract",
            code=TOO_MANY_PAGES,
        )
    if not any(part.text.strip() for part in parts):
        raise FatalFailure(
            "the mail contains no text, and no attachment that can be read; submit the contract itself",
            code=EMPTY_DOCUMENT,
        )
    pages = [
        replace(part, number=number, is_picture=part.is_picture or not part.text.strip())
        for number, part in enumerate(parts, start=1)
    ]
    return TextDocument("eml", pages, damage="; ".join(damage))


def _pages(
    message: "EmailMessage", read: ReadDocument, damage: list[str], *, depth: int
) -> Iterator[TextPage]:
    """Each page of each attachment, without text for one that cannot be read; what is damaged is added to `damage`."""
    attachments = list(message.iter_attachments()) if message.is_multipart() else []
    if len(attachments) > ATTACHMENTS_MAX:
        raise FatalFailure(
            f"the mail has more than {ATTACHMENTS_MAX} attachments; submit the contract alone",
            code=TOO_MANY_PAGES,
        )
    for part in attachments:
        data = _content(part)
        try:
            if part.get_content_type() != MAIL and not is_mail(data[:HEAD_BYTES]):
                document = _read_copy(data, read)
                damage += [document.damage] if document.damage else []
                yield from (_text_page(page.text, page) for page in document.pages)
            elif depth < DEPTH_MAX:
                yield from _pages(_parse(data), read, damage, depth=depth + 1)
            else:
                yield _text_page("")
        except FatalFailure:
            yield _text_page("")
    yield from (_text_page(text) for text in _body(message))


def _content(part: "EmailMessage") -> bytes:
    if part.get_content_type() != MAIL:
        data = part.get_payload(decode=True)
        return data if isinstance(data, bytes) else b""
    try:
        return bytes(part.get_content())
    except (ValueError, LookupError, TypeError, AttributeError):  # damaged: nothing of it is read
        return b""


def _read_copy(data: bytes, read: ReadDocument) -> TextDocument:
    with tempfile.TemporaryDirectory(prefix="stateward-mail-") as folder:
        copy = Path(folder) / "attachment"
        copy.write_bytes(data)
        return read(copy)


def _text_page(text: str, of: TextPage | None = None) -> TextPage:
    """A page of an attachment with what it holds besides its text, or a text of the mail itself."""
    page = of or TextPage(0, 0.0, 0.0, text)
    return replace(page, width=0.0, height=0.0, lines=split_lines(text))


def _body(message: "EmailMessage") -> Iterator[str]:
    part = message.get_body(preferencelist=("plain", "html"))
    if part is None:
        return
    try:
        text = str(part.get_content())
    except (LookupError, ValueError):  # an unknown charset
        data = part.get_payload(decode=True)
        text = data.decode("utf-8", "replace") if isinstance(data, bytes) else ""
    if part.get_content_type() == "text/html":
        text = _plain(text)
    text = text.replace("\r\n", "\n").strip("\n")
    if text.strip():
        yield text


def _plain(markup: str) -> str:
    """The words of a mail that has no plain form."""
    from html import unescape

    lines = unescape(_TAG.sub("", _BREAK.sub("\n", markup))).split("\n")
    return "\n".join(" ".join(line.split()) for line in lines if line.strip())
