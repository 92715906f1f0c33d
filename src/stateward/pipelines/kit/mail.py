"""A mail as a document: its attachments, in order, and then its own text.

Contracts often arrive as they were mailed. Each attachment that can be read becomes pages, a scan or a photo by OCR if
that is asked for; one that cannot (an archive) becomes a page without text, so that a person is told that something was
not read. Places have no boxes: what is shown beside them is the mail, not the attachment.
"""

import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.documents import TextDocument, TextPage, split_lines
from stateward.pipelines.kit.failures import CORRUPT_FILE, EMPTY_DOCUMENT, TOO_MANY_PAGES

if TYPE_CHECKING:
    from email.message import EmailMessage

ATTACHMENTS_MAX = 50
HEADERS_SHOWN = ("From", "To", "Cc", "Date", "Subject")
# A memo begins with From and Subject as well; these lines are written by programs that send mail.
_HEADER = re.compile(rb"(?im)^(?:MIME-Version|Message-ID|Received|Return-Path|X-[\w-]+)[ \t]*:")
_FIRST = re.compile(rb"[A-Za-z][A-Za-z0-9-]{1,60}[ \t]*:")
_TAG = re.compile(r"(?s)<(?:script|style)\b.*?</(?:script|style)>|<[^<>]{0,2000}>")
_BREAK = re.compile(r"(?i)<(?:br|/p|/div|/tr|/li|/h\d)\b[^<>]{0,200}>")

ReadDocument = Callable[[Path], TextDocument]


class MailPage(NamedTuple):
    """A page of an attachment, or the mail's own text."""

    text: str
    is_scan: bool = False


def is_mail(head: bytes) -> bool:
    """Whether a file begins with the headers of a mail."""
    headers = re.split(rb"\r?\n\r?\n", head, maxsplit=1)[0]
    return bool(_FIRST.match(headers)) and bool(_HEADER.search(headers))


def read_message(path: Path) -> tuple[str, int]:
    """What a mail says below who wrote it to whom, when and about what; and how many attachments it has."""
    message = _parse(path)
    try:
        headers = [f"{name}: {message[name]}" for name in HEADERS_SHOWN if message[name]]
    except (ValueError, LookupError, IndexError, AttributeError):  # the parser reads them only now
        headers = []
    attachments = sum(1 for _ in message.iter_attachments()) if message.is_multipart() else 0
    return "\n".join([*headers, "", *_body(message)]), attachments


def _parse(path: Path) -> "EmailMessage":
    # Here: most documents are no mails, and the parser takes a while to import.
    from email import policy
    from email.parser import BytesParser

    try:
        return BytesParser(policy=policy.default).parsebytes(path.read_bytes())
    except (ValueError, LookupError, RecursionError) as error:
        raise FatalFailure(
            f"the mail is damaged ({error}); save it again", code=CORRUPT_FILE
        ) from error


def read_mail(path: Path, *, read: ReadDocument, pages_max: int) -> TextDocument:
    """The pages of a mail; `read` reads an attachment."""
    message = _parse(path)
    damage: list[str] = []
    parts = [
        *_attachment_pages(message, read, damage),
        *(MailPage(text) for text in _body(message)),
    ]
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
        TextPage(
            number,
            0.0,
            0.0,
            part.text,
            split_lines(part.text),
            is_picture=not part.text.strip(),
            is_scan=part.is_scan,
        )
        for number, part in enumerate(parts, start=1)
    ]
    return TextDocument("eml", pages, damage="; ".join(damage))


def _attachment_pages(
    message: "EmailMessage", read: ReadDocument, damage: list[str]
) -> Iterator[MailPage]:
    """Each page of each attachment, without text for one that cannot be read; what is damaged is added to `damage`."""
    attachments = list(message.iter_attachments()) if message.is_multipart() else []
    if len(attachments) > ATTACHMENTS_MAX:
        raise FatalFailure(
            f"the mail has more than {ATTACHMENTS_MAX} attachments; submit the contract alone",
            code=TOO_MANY_PAGES,
        )
    with tempfile.TemporaryDirectory(prefix="stateward-mail-") as folder:
        for number, part in enumerate(attachments):
            if part.get_content_type() == "message/rfc822":
                yield MailPage("")  # a mail within a mail: a person looks
                continue
            data = part.get_payload(decode=True)
            copy = Path(folder) / str(number)
            copy.write_bytes(data if isinstance(data, bytes) else b"")
            try:
                document = read(copy)
            except FatalFailure:
                yield MailPage("")
            else:
                damage += [document.damage] if document.damage else []
                yield from (MailPage(page.text, is_scan=page.is_scan) for page in document.pages)


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
