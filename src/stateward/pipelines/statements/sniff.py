"""The format of a statement by its content: magic bytes, the directory of a zip, the first lines of a text.

What is refused here is refused for good, with a code, before any parser sees it: empty files, archives that would
inflate beyond the limit, images, web pages.
"""

import re

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.archives import (
    ENTRIES_MAX,
    check_inflated,
    check_sizes,
    check_unencrypted,
    named_type,
    open_archive,
)
from stateward.pipelines.kit.failures import CORRUPT_FILE, ENCRYPTED, HOSTILE_FILE, recode
from stateward.pipelines.kit.files import (
    OLE,
    SAMPLE_CHARS,
    ZIP,
    foreign_file,
    is_binary,
    is_empty,
    is_pdf,
    is_picture,
)
from stateward.pipelines.statements.source import Source

FIXED_CHARS = 8192  # that show a format of fixed width
INFLATED_SETTING = "statements.inflated_bytes_max"
# The entries by which the directory of an XLSX, XLSB or ODS is recognised.
WORKBOOKS = ({"xl/workbook.xml"}, {"xl/workbook.bin"}, {"content.xml", "mimetype"})
TEXT_DOCUMENT = "application/vnd.oasis.opendocument.text"
SHEET_CODES = {
    CORRUPT_FILE: "SHEET_CORRUPT",
    ENCRYPTED: "SHEET_ENCRYPTED",
    HOSTILE_FILE: "TOO_LARGE",
}

_MT940 = re.compile(r"(?m)^\s{0,2}:(?:20|21|25P?|28C?|6[0-5][FM]?|86|34F|13D?|90[CD]):")
_MT940_BLOCK = re.compile(r"\{1:F\d\d|\{4:\s*:|@@:20:")
_QIF = re.compile(r"(?im)^\s*!(?:type:|account|option:|clear:)")
_OFX = re.compile(r"OFXHEADER|<\?OFX\b|<OFX\s*>", re.IGNORECASE)
_CAMT = re.compile(
    r"camt\.05[234]|<(?:\w+:)?(?:BkToCstmr(?:Stmt|AcctRpt|DbtCdtNtfctn)|Stmt|Rpt|Ntfctn)\b"
)
_BAI2 = re.compile(r"01,[^,\n]*,[^,\n]*,[0-9]{6},[0-9]{0,4},[^,\n]*,[^,\n]*,[^,\n]*,2\s*/")
_STARTS = (("bai2", _BAI2), ("one_c", re.compile("1CClientBankExchange")))
# Records of fixed width: the first begins the file, and the next says of what.
_CODA = re.compile(r"0{5}[0-9]{6}[0-9 ]{3}05[^\n]{100,112}\n1[0-3][0-9]{3}")
_NORMA43 = re.compile(r"(?:00[^\n]{2,78}\n)?11[0-9]{30}[0-9][0-9]{17}[^\n]{0,33}\n(?:22|23|33)")
_CNAB240 = re.compile(r"[0-9]{3}0{5}[^\n]{180,240}\n(?:[0-9]{7}[135][^\n]{9,240}\n)*?[0-9]{7}1E")
_TABLE = re.compile(r"<table\b", re.IGNORECASE)
_HTML = re.compile(r"<!doctype html|<html\b|<table\b|<body\b", re.IGNORECASE)


def sniff(source: Source, *, is_inflating: bool = True) -> str:
    """The format, one of the keys of `readers.READERS`; a refusal if it is none.

    `is_inflating` False leaves the content of a zip unread, for callers that must answer at once.
    """
    head = source.head
    if is_empty(head):
        raise FatalFailure(
            "the file is empty; download the statement again and submit that", code="EMPTY_FILE"
        )
    if is_pdf(head):
        return "pdf"
    if head.startswith(ZIP):
        return _zip_format(source, is_inflating=is_inflating)
    if head.startswith(OLE):
        return "sheet"
    if is_picture(head):
        return "picture"
    if what := foreign_file(head):
        raise _unknown(f"the file is {what}")
    return _text_format(source)


def _text_format(source: Source) -> str:
    text = source.head.decode(source.encoding, "ignore").lstrip("\ufeff")
    if "\x00" in text or is_binary(text):
        raise _unknown("the file is neither text nor a format that is supported here")
    start = text.lstrip()
    if _OFX.search(text):
        return "ofx"
    if start.startswith("<"):
        if _CAMT.search(text) or "<Document" in text:
            return "camt"
        if _HTML.search(text):
            if _TABLE.search(text):
                return "html"
            raise _unknown("the file is a web page; download the statement as PDF or CSV")
        raise _unknown("the file is XML, but neither OFX nor CAMT.052, 053 or 054")
    if named := next((name for name, own in _STARTS if own.match(start)), ""):
        return named
    if fixed := _fixed_width(text):
        return fixed
    if _QIF.search(text[:SAMPLE_CHARS]):
        return "qif"
    if _MT940.search(text) or _MT940_BLOCK.match(start):
        return "mt940"
    if start.startswith(("{", "[")):
        raise _unknown(
            "the file is JSON of no kind that is recognised here; name its source type, or export it as CSV"
        )
    return "csv"


def _fixed_width(text: str) -> str:
    """The format of a file whose records have fixed columns; "" if it is none."""
    lines = text[:FIXED_CHARS].replace("\r\n", "\n").lstrip("\n")
    formats = (("coda", _CODA), ("norma43", _NORMA43), ("cnab240", _CNAB240))
    return next((name for name, pattern in formats if pattern.match(lines)), "")


def _zip_format(source: Source, *, is_inflating: bool) -> str:
    """A spreadsheet, if the directory of the zip says so and all that it holds stays within the limit."""
    bytes_max = source.bounds.inflated_bytes_max
    with recode(SHEET_CODES), open_archive(source.path) as archive:
        entries = archive.infolist()
        if is_inflating:
            check_sizes(entries, bytes_max=bytes_max, setting=INFLATED_SETTING)
        names = {entry.filename for entry in entries}
        if "mimetype" in names and named_type(source.path).startswith(TEXT_DOCUMENT):
            raise _unknown("the file is a text document (ODT); save it as PDF and submit that")
        if len(entries) <= ENTRIES_MAX and any(wanted <= names for wanted in WORKBOOKS):
            if is_inflating:
                check_unencrypted(entries)
                check_inflated(source.path, entries, bytes_max=bytes_max, setting=INFLATED_SETTING)
            return "sheet"
        if any(name.startswith("Index/") and name.endswith(".iwa") for name in names) or (
            "Index.zip" in names
        ):
            raise _unknown(
                "the file is of Apple Numbers, whose format is not public; in Numbers choose File, Export To, CSV or "
                "Excel, and submit that"
            )
    raise _unknown("the file is a zip archive; extract it and submit what is inside")


def _unknown(message: str) -> FatalFailure:
    return FatalFailure(message, code="UNKNOWN_FORMAT")
