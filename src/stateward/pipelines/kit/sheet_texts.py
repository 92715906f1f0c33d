"""The first texts of a spreadsheet, by which it is recognised before anything is parsed."""

import re
from html import unescape
from pathlib import Path

from stateward.pipelines.kit.archives import entry_start

TEXTS_MAX = 60  # headings stand at the top
BYTES_MAX = 64 * 1024
_TEXT = re.compile(r"<(?:\w+:)?t(?:\s[^<>]*)?>([^<]{1,200})</")


def first_texts(path: Path) -> list[str]:
    """The first texts of an XLSX, those of its table of strings or within its first sheet."""
    for name in ("xl/sharedStrings.xml", "xl/worksheets/sheet1.xml"):
        start = entry_start(path, name, bytes_max=BYTES_MAX)
        found = [unescape(text) for text in _TEXT.findall(start.decode("utf-8", "replace"))]
        if found:
            return found[:TEXTS_MAX]
    return []
