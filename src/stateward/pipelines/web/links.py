"""The address in a small file: an Internet shortcut (.url), a location file of macOS (.webloc), or a line of text."""

import plistlib
import re
from xml.parsers.expat import ExpatError

LINK_BYTES_MAX = 8 * 1024
_SHORTCUT = re.compile(r"^\s*\[InternetShortcut[^\]]*\]", re.IGNORECASE)
_SHORTCUT_URL = re.compile(r"^\s*URL\s*=\s*(\S+)\s*$", re.IGNORECASE | re.MULTILINE)
_URL = re.compile(r"https?://[^\s<>\"']+", re.IGNORECASE)
_PLIST = re.compile(rb"\A\s*(?:bplist|<\?xml[^>]*\?>\s*(?:<!DOCTYPE plist[^>\[]*>\s*)?<plist)")


def link_in(data: bytes) -> str:
    """The address that a file consists of; "" if it is no such file."""
    if len(data) > LINK_BYTES_MAX:
        return ""
    if _PLIST.match(data):
        return _plist_link(data)
    text = data.decode(
        "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig", "replace"
    )
    if _SHORTCUT.match(text):
        found = _SHORTCUT_URL.search(text)
        return found[1] if found and _URL.fullmatch(found[1]) else ""
    lines = [
        line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")
    ]
    return lines[0] if len(lines) == 1 and _URL.fullmatch(lines[0]) else ""


def _plist_link(data: bytes) -> str:
    try:
        found = plistlib.loads(data)
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, ExpatError, RecursionError):
        return ""
    url = found.get("URL") if isinstance(found, dict) else None
    return url if isinstance(url, str) and _URL.fullmatch(url) else ""
