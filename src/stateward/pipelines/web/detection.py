"""Whether a file is a web page or an address, by its first bytes. It never unpacks or parses anything."""

import re

from stateward.definition.plugin import Content, Detected
from stateward.pipelines.web.captures import WARC, is_mhtml
from stateward.pipelines.web.links import LINK_BYTES_MAX, link_in

SURE, LIKELY = 90, 60
HEAD_BYTES = 4096
_HTML = re.compile(rb"<!doctype html|<html[\s>]|<head[\s>]|<body[\s>]", re.IGNORECASE)


def detect(content: Content) -> Detected | None:
    """A web page, the address of one, or None."""
    head = content.head
    if head.startswith(WARC) or (head.startswith(b"\x1f\x8b") and ".warc" in content.name.lower()):
        return _detection("web_page", "warc", SURE)
    if head.startswith(b"\x1f\x8b") and content.name.lower().endswith((".html.gz", ".htm.gz")):
        return _detection("web_page", "html", LIKELY)
    if is_mhtml(head):
        return _detection("web_page", "mhtml", SURE)
    start = head[:HEAD_BYTES].replace(b"\x00", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n")
    # A table under the name of a spreadsheet is a download of a bank or a shop, whatever it is written in.
    is_sheet = content.name.lower().endswith((".xls", ".xlsx"))
    if start.startswith(b"<") and _HTML.search(start) and not is_sheet:
        return _detection("web_page", "html", SURE)
    if len(head) <= LINK_BYTES_MAX and link_in(head):
        return _detection("web_url", "url", SURE)
    return None


def _detection(source_type: str, format_: str, confidence: int) -> Detected:
    return Detected(source_type=source_type, format=format_, confidence=confidence)
