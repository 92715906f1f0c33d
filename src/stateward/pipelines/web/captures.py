"""The pages in a file: HTML, MHTML (as browsers save it) and WARC (as archives keep it), packed by gzip or not.

Everything here comes from strangers. Sizes are bounded while bytes are unpacked, and what is broken is refused with a
code, or left out with a note if other pages of the file are whole.
"""

import codecs
import email.parser
import email.policy
import re
import zlib
from collections.abc import Callable, Iterator

import msgspec

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.failures import (
    CORRUPT_FILE,
    DAMAGED_FILE,
    EMPTY_DOCUMENT,
    HOSTILE_FILE,
)
from stateward.pipelines.kit.files import is_empty

GZIP = b"\x1f\x8b"
WARC = b"WARC/1."
INVALID_HTML = "INVALID_HTML"
HEADER_BYTES_MAX = 64 * 1024
ARCHIVE_FACTOR = 16  # an archive of pages may be so many times as large as one page
HEAD_BYTES = 4096
PIECE_BYTES = 1 << 20
_MIME_HEAD = re.compile(rb"\A(?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*)+?", re.ASCII)
_MULTIPART = re.compile(rb"^content-type:\s*multipart/related", re.IGNORECASE | re.MULTILINE)
_META_CHARSET = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{2,40})", re.IGNORECASE
)
_XML_ENCODING = re.compile(
    rb"<\?xml[^>]{0,100}encoding\s*=\s*[\"']([A-Za-z0-9_.-]{2,40})", re.IGNORECASE
)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9_:.-]{2,40})", re.IGNORECASE)
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class CapturedPage(msgspec.Struct, frozen=True, kw_only=True):
    """One page as it was received."""

    html: bytes
    url: str = ""
    content_type: str = ""


class CaptureProblem(msgspec.Struct, frozen=True):
    """A part of a file that holds no page that can be read."""

    code: str
    message: str


def captured_pages(
    data: bytes, *, page_bytes_max: int, pages_max: int, is_lenient: bool = False
) -> Iterator[CapturedPage | CaptureProblem]:
    """The pages of a file, or a refusal. `is_lenient` takes what a torn packed file holds, with a problem."""
    if data.startswith(GZIP):
        damage: list[str] = []
        on_damaged = damage.append if is_lenient else None
        data = decompress(data, bytes_max=page_bytes_max * ARCHIVE_FACTOR, on_damaged=on_damaged)
        for each in damage:
            yield CaptureProblem(DAMAGED_FILE, f"pages or parts of them may be missing: {each}")
    if is_empty(data[:HEAD_BYTES]):
        raise FatalFailure("the file is empty; save the page again", code=EMPTY_DOCUMENT)
    if data.startswith(WARC):
        yield from _warc_pages(data, page_bytes_max, pages_max)
    elif is_mhtml(data[:HEADER_BYTES_MAX]):
        yield _mhtml_page(data)
    else:
        _check_size(len(data), page_bytes_max)
        yield CapturedPage(html=data)


def is_mhtml(head: bytes) -> bool:
    """Whether a file begins like the mail that browsers save pages as."""
    return _MULTIPART.search(head) is not None and _MIME_HEAD.match(head) is not None


def decompress(
    data: bytes,
    *,
    bytes_max: int,
    window: int = zlib.MAX_WBITS | 32,
    on_damaged: Callable[[str], object] | None = None,
) -> bytes:
    """What gzip or zlib packed, member after member, unless it is larger than the limit.

    With `on_damaged`, which is told what is wrong, what could be unpacked before the damage is taken.
    """
    found, total = [], 0
    while data:
        inflater = zlib.decompressobj(window)
        try:
            while data and not inflater.eof:
                piece = inflater.decompress(data, PIECE_BYTES)
                total += len(piece)
                if total > bytes_max:
                    raise FatalFailure(
                        f"the file is not opened: it unpacks to more than {bytes_max} bytes "
                        "(setting web.page_bytes_max)",
                        code=HOSTILE_FILE,
                    )
                found.append(piece)
                data = inflater.unconsumed_tail
                if not piece and not data:
                    break
        except zlib.error as error:
            damage = f"the packed file is damaged ({error})"
        else:
            damage = "" if inflater.eof else "the packed file is cut off"
        if damage and (on_damaged is None or not total):
            raise FatalFailure(f"{damage}; save it again", code=CORRUPT_FILE)
        if damage and on_damaged is not None:
            on_damaged(damage)
            break
        data = inflater.unused_data.lstrip(b"\x00")
    return b"".join(found)


def decode_page(page: CapturedPage) -> str:
    """The text of a page, by its byte order mark, its header, its own word, or what its bytes can be."""
    html = page.html
    for mark, name in _BOMS:
        if html.startswith(mark):
            return html[len(mark) :].decode(name, "replace")
    said = _CHARSET.search(page.content_type)
    found = _META_CHARSET.search(html, 0, HEAD_BYTES) or _XML_ENCODING.search(html, 0, HEAD_BYTES)
    for name in (said[1] if said else "", found[1].decode("ascii") if found else ""):
        if name and (text := _decoded_as(html, name)) is not None:
            return text
    return _decoded_as(html, "utf-8") or html.decode("cp1252", "replace")


def _decoded_as(html: bytes, name: str) -> str | None:
    """The text in an encoding; None if the bytes are not that, so that a wrong header does no harm."""
    try:
        codec = codecs.lookup(name.strip().rstrip(".,;"))
        # Browsers read Latin-1 and ASCII as the code page of Windows, which has quotes where those have controls.
        known = "cp1252" if codec.name in ("iso8859-1", "ascii") else codec.name
        if known.startswith(
            ("utf-16", "utf-32")
        ):  # what could be read so far was no UTF-16: the word is wrong
            known = "utf-8"
        text = html.decode(known)
    except (LookupError, UnicodeDecodeError, UnicodeError):
        return None
    return text


def _check_size(size: int, bytes_max: int) -> None:
    if size > bytes_max:
        raise FatalFailure(
            f"the page has {size} bytes and the limit is {bytes_max} (setting web.page_bytes_max)",
            code="PAGE_TOO_LARGE",
        )


def _mhtml_page(data: bytes) -> CapturedPage:
    """The first part of a saved page that is HTML."""
    try:
        message = email.parser.BytesParser(policy=email.policy.default).parsebytes(data)
        for part in message.walk():
            if part.get_content_type() in ("text/html", "application/xhtml+xml"):
                body = part.get_payload(decode=True)
                url = part.get("Content-Location") or message.get("Snapshot-Content-Location") or ""
                return CapturedPage(
                    html=body if isinstance(body, bytes) else b"",
                    url=str(url).strip(),
                    content_type=str(part.get("Content-Type") or ""),
                )
    except (
        ValueError,
        LookupError,
        RecursionError,
        AttributeError,
        TypeError,
        IndexError,
    ) as error:
        raise FatalFailure(
            f"the saved page is damaged ({type(error).__name__}); save it again", code=INVALID_HTML
        ) from error
    raise FatalFailure("the saved page holds no HTML; save it again", code=INVALID_HTML)


def _warc_pages(
    data: bytes, page_bytes_max: int, pages_max: int
) -> Iterator[CapturedPage | CaptureProblem]:
    """The HTML responses of an archive; a record that is cut off ends it with a note."""
    at = pages = 0
    while at < len(data):
        end = data.find(b"\r\n\r\n", at, at + HEADER_BYTES_MAX)
        if end < 0 or not data.startswith(WARC, at):
            yield CaptureProblem(
                "BROKEN_RECORD", f"the archive is damaged at byte {at}; the rest is not read"
            )
            return
        headers = _headers(data[at:end])
        length = headers.get("content-length", "")
        if not (length.isascii() and length.isdigit() and len(length) < 12):
            yield CaptureProblem(
                "BROKEN_RECORD", f"the record at byte {at} tells no length; the rest is not read"
            )
            return
        start, stop = end + 4, end + 4 + int(length)
        if stop > len(data):
            yield CaptureProblem(
                "BROKEN_RECORD", f"the record at byte {at} is cut off; it is not read"
            )
            return
        found = _warc_page(headers, data[start:stop], page_bytes_max)
        if found is not None:
            pages += isinstance(found, CapturedPage)
            if pages > pages_max:
                yield CaptureProblem(
                    "TOO_MANY_PAGES",
                    f"the archive has more than {pages_max} pages (setting web.pages_max)",
                )
                return
            yield found
        at = stop
        while data.startswith(b"\r\n", at):
            at += 2


def _warc_page(
    headers: dict[str, str], body: bytes, page_bytes_max: int
) -> CapturedPage | CaptureProblem | None:
    kind, url = headers.get("warc-type", ""), headers.get("warc-target-uri", "").strip("<>")
    content_type = headers.get("content-type", "")
    if kind == "resource" and "html" in content_type:
        return _size(CapturedPage(html=body, url=url, content_type=content_type), page_bytes_max)
    if kind != "response" or "http" not in content_type:
        return None
    head, gap, payload = body.partition(b"\r\n\r\n")
    answer = _headers(head)
    status = head[:20].split(b" ")[1:2]
    if not gap or "html" not in answer.get("content-type", "") or status != [b"200"]:
        return None
    try:
        if "chunked" in answer.get("transfer-encoding", ""):
            payload = _join_chunks(payload)
        if answer.get("content-encoding", "") in ("gzip", "deflate", "x-gzip"):
            payload = decompress(payload, bytes_max=page_bytes_max)
    except (FatalFailure, ValueError) as error:
        return CaptureProblem("BROKEN_RECORD", f"the page {url} cannot be unpacked: {error}")
    return _size(
        CapturedPage(html=payload, url=url, content_type=answer.get("content-type", "")),
        page_bytes_max,
    )


def _size(page: CapturedPage, bytes_max: int) -> CapturedPage | CaptureProblem:
    if len(page.html) <= bytes_max:
        return page
    return CaptureProblem("PAGE_TOO_LARGE", f"the page {page.url} has {len(page.html)} bytes")


def _headers(head: bytes) -> dict[str, str]:
    lines = (line.partition(b":") for line in head.splitlines()[1:])
    return {
        name.decode("latin-1").strip().lower(): value.decode("latin-1").strip()
        for name, colon, value in lines
        if colon
    }


def _join_chunks(data: bytes) -> bytes:
    """The body of a response that was sent in chunks."""
    found: list[bytes] = []
    at = 0
    while True:  # ends with the last chunk, or with the ValueError of a line that is no size
        end = data.index(b"\r\n", at)
        size = int(data[at:end].partition(b";")[0].strip() or b"0", 16)
        if size <= 0:
            return b"".join(found)
        found.append(data[end + 2 : end + 2 + size])
        at = end + 2 + size + 2
