"""The first texts of a spreadsheet, by which it is recognised before anything is parsed."""

import re
from html import unescape
from pathlib import Path

from stateward.pipelines.kit.archives import entry_start

TEXTS_MAX = 60  # headings stand at the top
SHEETS_MAX = 3
BYTES_MAX = 64 * 1024
_TEXT = re.compile(r"<(?:\w+:)?t(?:\s[^<>]*)?>([^<]{1,200})</")


def first_texts(path: Path) -> list[str]:
    """The first texts of an XLSX: those of its table of strings, or those within its first sheets.

    Templates of marketplaces have a sheet of instructions before that of the products.
    """
    if shared := _texts_of(path, "xl/sharedStrings.xml"):
        return shared
    sheets = (f"xl/worksheets/sheet{number}.xml" for number in range(1, SHEETS_MAX + 1))
    return [text for sheet in sheets for text in _texts_of(path, sheet)]


def _texts_of(path: Path, entry: str) -> list[str]:
    start = entry_start(path, entry, bytes_max=BYTES_MAX)
    return [unescape(text) for text in _TEXT.findall(start.decode("utf-8", "replace"))][:TEXTS_MAX]
