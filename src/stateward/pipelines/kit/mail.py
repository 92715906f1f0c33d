"""A mail as a document: its attachments, in order, and then its own text.

Contracts often arrive as they were mailed. Each attachment that can be read becomes pages, a scan or a photo by OCR if
that is asked for; one that cannot (an archive) becomes a page without text, so that a person is told that something was
not read. A mail that is attached to it, as programs forward them, is read in the same way. What a page of an attachment
holds besides its text (watermarks, struck and hidden words) goes with it. Places have no boxes: what is shown beside
them is the mail, not the attachment.

A mail with several forms is read in the last one, as a rule that of HTML, which programs show; what only another one
says is text that a person does not see. Attachments are looked for in every part: some programs put them into the form
of HTML.
"""

import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from stateward.core.errors import FatalFailure
from stateward.core.text_search import words
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
PLAIN, HTML = "text/plain", "text/html"
PARTS_DEPTH_MAX = 50  # of parts within parts
PICTURE_BYTES_MIN = 100_000  # of a picture in the text: smaller ones are signs of the sender
OTHERS_MIN = 3  # words of a line that the form of HTML does not have
SIGNATURES = frozenset(
    {"application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"}
)
_ADDRESS = re.compile(
    r"<?\b(?:https?|mailto|cid|tel):[^\s>]+>?|\[(?:cid|image):[^\]]{0,500}\]", re.IGNORECASE
)

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
    content = _content_of(message)
    texts = [page.text for page in content.bodies]
    return "\n".join([*headers, "", *texts]), len(content.attachments)


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
    content = _content_of(message)
    if len(content.attachments) > ATTACHMENTS_MAX:
        raise FatalFailure(
            f"the mail has more than {ATTACHMENTS_MAX} attachments; submit the contract alone",
            code=TOO_MANY_PAGES,
        )
    for part in content.attachments:
        data = _content(part)
        try:
            if part.get_content_type() == HTML:
                yield _html_page(_text_of(part))
            elif part.get_content_type() != MAIL and not is_mail(data[:HEAD_BYTES]):
                document = _read_copy(data, read)
                damage += [document.damage] if document.damage else []
                yield from (_text_page(page.text, page) for page in document.pages)
            elif depth < DEPTH_MAX:
                yield from _pages(_parse(data), read, damage, depth=depth + 1)
            else:
                yield _text_page("")
        except FatalFailure:
            yield _text_page("")
    yield from content.bodies


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


class _Content(NamedTuple):
    """What a mail says itself, a page for each text, and what is attached to it."""

    bodies: list[TextPage]
    attachments: list["EmailMessage"]


def _content_of(message: "EmailMessage") -> _Content:
    content = _Content([], [])
    _gather(message, content, depth=0)
    return content


def _gather(part: "EmailMessage", content: _Content, *, depth: int) -> None:
    from email.message import EmailMessage

    kind = part.get_content_type()
    payload = part.get_payload() if part.get_content_maintype() == "multipart" else None
    if isinstance(payload, list) and kind != "multipart/encrypted" and depth < PARTS_DEPTH_MAX:
        own = [each for each in payload if isinstance(each, EmailMessage)]
        if kind == "multipart/alternative":
            _gather_forms(own, content, depth=depth)
        elif kind == "multipart/related":
            _gather(own[0], content, depth=depth + 1) if own else None
            content.attachments.extend(each for each in own[1:] if _is_document(each))
        else:
            for each in own:
                _gather(each, content, depth=depth + 1)
        return
    is_file = part.get_content_disposition() == "attachment" or part.get_filename()
    if kind in (PLAIN, HTML) and not is_file:
        page = _html_page(_text_of(part)) if kind == HTML else _text_page(_tidy(_text_of(part)))
        content.bodies.extend([page] if page.text.strip() else [])
    elif kind not in SIGNATURES and not (isinstance(payload, str) and not payload.strip()):
        content.attachments.append(part)


def _gather_forms(forms: list["EmailMessage"], content: _Content, *, depth: int) -> None:
    """The last form that has a text is the one that is shown; attachments are taken of each."""
    found: list[_Content] = []
    for each in forms:
        of_form = _Content([], [])
        is_text = each.get_content_maintype() in ("multipart", "message") or (
            each.get_content_type() in (PLAIN, HTML)
        )
        if is_text:  # what else is offered says the same to programs: a calendar, markup for phones
            _gather(each, of_form, depth=depth + 1)
        found.append(of_form)
        content.attachments.extend(of_form.attachments)
    shown = next((own for own in reversed(found) if own.bodies), None)
    if shown is None:
        return
    # Some programs take HTML wherever it stands, some the last form: what any other one says besides is told.
    others = [page for own in found if own is not shown for page in own.bodies]
    text = "\n".join(page.text for page in shown.bodies)
    unseen = [line for page in others for line in _other_lines(page.text, text)]
    first, *rest = shown.bodies
    all_unseen = "\n".join(each for each in (first.unseen, *unseen) if each)
    content.bodies.extend([replace(first, unseen=all_unseen), *rest])


def _other_lines(text: str, shown: str) -> Iterator[str]:
    """The lines of another form with figures, or a sentence, that the one that is shown does not have.

    One that shares hardly a word with it only says that programs without HTML show nothing.
    """
    known = set(words(shown))
    lines = [(line, words(_ADDRESS.sub(" ", line))) for line in text.split("\n")]
    said = {word for _, own in lines for word in own}
    is_stub = len(said & known) * 2 < len(said)
    for line, own in lines:
        others = [word for word in own if word not in known]
        has_figures = any(char.isdigit() for word in others for char in word)
        is_sentence = len(others) >= OTHERS_MIN and len(others) * 2 > len(own)
        if has_figures or (is_sentence and not is_stub):
            yield line.strip()


def _is_document(part: "EmailMessage") -> bool:
    """Whether what belongs to a text of HTML may be a document: of pictures only a large one, such as a scan."""
    if part.get_content_maintype() != "image":
        return part.get_content_type() not in (*SIGNATURES, "text/css")
    return len(_content(part)) >= PICTURE_BYTES_MIN


def _text_of(part: "EmailMessage") -> str:
    try:
        return str(part.get_content())
    except (LookupError, ValueError):  # an unknown charset
        data = part.get_payload(decode=True)
        return data.decode("utf-8", "replace") if isinstance(data, bytes) else ""


def _tidy(text: str) -> str:
    return text.replace("\r\n", "\n").strip("\n")


def _html_page(markup: str) -> TextPage:
    from stateward.pipelines.kit.html_text import seen_text  # most mails are plain

    text, unseen, struck = seen_text(markup)
    return replace(_text_page(text), unseen=unseen, struck=struck)
