"""The format of a catalogue by its content, and the reader for it. Names and media types may be wrong."""

import re
from pathlib import Path

from stateward.core.errors import FatalFailure
from stateward.pipelines.catalogs.model import Bounds, CatalogReading
from stateward.pipelines.kit.archives import (
    check_inflated,
    check_sizes,
    check_unencrypted,
    open_archive,
)
from stateward.pipelines.kit.encoding import HEAD_BYTES, find_encoding
from stateward.pipelines.kit.failures import EMPTY_DOCUMENT, TEXT_TOO_LARGE, UNSUPPORTED_FORMAT
from stateward.pipelines.kit.files import OLE, ZIP, foreign_file, is_binary, is_empty, is_pdf

INFLATED_SETTING = "catalogs.inflated_bytes_max"
# The entries by which the directory of an XLSX, XLSB or ODS is recognised.
WORKBOOKS = ({"xl/workbook.xml"}, {"xl/workbook.bin"}, {"content.xml", "mimetype"})
PAGE_CHARS_MAX = 4096
# The name of the first element of a page. Programs also save a bare table, or what stands in a head.
_FIRST = re.compile(
    r"(?:\s*<(?:\?[^>]*\?|!--.*?--|!doctype[^>]*)>)*\s*"
    r"<(?:html|head|body|table|meta|title|div|style|script|main|section|article|center)[\s>/]",
    re.IGNORECASE | re.DOTALL,
)


def read_catalog(path: Path, bounds: Bounds, *, is_lenient: bool = False) -> CatalogReading:
    """The products of a file as a stream, or a refusal. Parsers are imported by those who need them.

    `is_lenient` reads damaged JSON and XML as far as that goes, and notes it.
    """
    kind = sniff(path, bounds)
    if kind == "sheet":
        from stateward.pipelines.catalogs.sheets import read_sheet

        return read_sheet(path)
    if kind == "csv":
        from stateward.pipelines.catalogs.delimited import read_delimited

        return read_delimited(path)
    size = path.stat().st_size
    if size > bounds.tree_bytes_max:
        raise FatalFailure(
            f"the file has {size} bytes and the limit for {kind.upper()} is {bounds.tree_bytes_max} "
            "(setting catalogs.tree_bytes_max); split it or export it as CSV",
            code=TEXT_TOO_LARGE,
        )
    if kind == "json":
        from stateward.pipelines.catalogs.objects import read_json

        return read_json(path, is_lenient=is_lenient)
    if kind == "html":
        from stateward.pipelines.catalogs.pages import read_page

        return read_page(path)
    from stateward.pipelines.catalogs.feeds import read_xml

    return read_xml(path, is_lenient=is_lenient)


def sniff(path: Path, bounds: Bounds) -> str:
    """The format: "sheet", "json", "xml", "html" or "csv"; a refusal if it is none of them."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if is_empty(head):
        raise FatalFailure("the file is empty; export the catalogue again", code=EMPTY_DOCUMENT)
    if head.startswith(ZIP):
        return _zip_format(path, bounds)
    if head.startswith(OLE):
        return "sheet"
    if is_pdf(head):
        raise _unsupported_error("a PDF; export the catalogue as CSV, XLSX, JSON or XML")
    if what := foreign_file(head):
        raise _unsupported_error(what)
    text = head.decode(find_encoding(path).name, "ignore").lstrip("\ufeff")
    if is_binary(text):
        raise _unsupported_error("neither text nor a spreadsheet")
    start = text.lstrip()
    if start.startswith("<"):
        return "html" if is_page(start) else "xml"
    return "json" if start.startswith(("{", "[")) else "csv"


def is_page(start: str) -> bool:
    """Whether a text that begins so is HTML."""
    return _FIRST.match(start[:PAGE_CHARS_MAX].lstrip("\ufeff")) is not None


def _zip_format(path: Path, bounds: Bounds) -> str:
    """A spreadsheet, if the directory of the zip says so and all that it holds stays within the limit."""
    with open_archive(path) as archive:
        entries = archive.infolist()
        check_sizes(entries, bytes_max=bounds.inflated_bytes_max, setting=INFLATED_SETTING)
        names = {entry.filename for entry in entries}
        if any(wanted <= names for wanted in WORKBOOKS):
            check_unencrypted(entries)
            check_inflated(
                path, entries, bytes_max=bounds.inflated_bytes_max, setting=INFLATED_SETTING
            )
            return "sheet"
    raise _unsupported_error("a zip archive; extract it and submit what is inside")


def _unsupported_error(what: str) -> FatalFailure:
    return FatalFailure(f"the file is {what}", code=UNSUPPORTED_FORMAT)
