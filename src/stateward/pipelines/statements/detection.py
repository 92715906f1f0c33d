"""Which format a file has, by its content, before it is accepted. It never inflates or parses anything."""

import re

from stateward.definition.plugin import Content, Detected
from stateward.pipelines.kit.dates import MONTHS, fold
from stateward.pipelines.statements.headings import role_of
from stateward.pipelines.statements.sniff import sniff
from stateward.pipelines.statements.source import Bounds, Hints, Source

# By format. A table of any kind may be a statement, so that a pipeline that knows its tables better is believed first.
SOURCE_TYPES = {
    "pdf": "bank_pdf", "csv": "bank_csv", "sheet": "bank_xlsx", "ofx": "bank_ofx", "qif": "bank_qif",
    "mt940": "bank_mt940", "camt": "bank_camt", "bai2": "bank_bai2", "html": "bank_html",
    "picture": "bank_scan",
}  # fmt: skip
CONFIDENCES = {"pdf": 20, "csv": 20, "sheet": 20, "html": 5, "picture": 5}
# A page under the name of a spreadsheet: only downloads of banks and shops are that.
SAVED_AS_SHEET = 60
OWN_FORMAT = 95  # only banks write these
# A table that begins with headings and has no date in its first lines: below what research data says of any table.
UNDATED = 5
LINES_SEEN = 40
HEADINGS_WITHIN = 10  # lines: a title or the account may stand over them
DATE_ROLES = frozenset({"date", "date_plain", "value_date"})
# With two signs between its numbers, or a slash; a decimal number has neither.
_DATE = re.compile(
    r"\d{1,4}\s?[./:\-年년]\s?\d{1,2}\s?[./:\-月월]|(?<![\d/])\d{1,2}/\d{1,2}(?!\d)|(?<!\d)(?:19|20)\d{6}(?!\d)"
)
_DELIMITERS = re.compile(r"[,;\t|]")
_WORD = re.compile(r"[^\W\d_]+")


def detect(content: Content) -> Detected:
    """A statement of some format; a refusal with its sentence if it is none that is read."""
    source = Source(content.path, Hints(), Bounds(), head=content.head)
    found = sniff(source, is_inflating=False)
    confidence = CONFIDENCES.get(found, OWN_FORMAT)
    if found == "html" and content.name.lower().endswith((".xls", ".xlsx")):
        confidence = SAVED_AS_SHEET
    if found == "csv" and _is_undated(source):
        confidence = UNDATED
    return Detected(
        source_type=SOURCE_TYPES.get(found, "auto"),
        format=found,
        confidence=confidence,
    )


def _is_undated(source: Source) -> bool:
    """Whether a text begins with headings of which none is a date's, and no date stands in its first lines."""
    text = source.head.decode(source.encoding, "ignore").lstrip("\ufeff")
    first, *lines = [line for line in text.splitlines() if line.strip()][:LINES_SEEN] or [""]
    cells = [cell.strip(' "') for cell in _DELIMITERS.split(first)]
    has_headings = len(cells) > 1 and not any(cell[:1].isdigit() for cell in cells)
    return (
        has_headings
        and not any(_DATE.search(line) for line in (first, *lines))
        and not any(fold(word) in MONTHS for line in lines for word in _WORD.findall(line))
        and not any(
            role_of(cell.strip(' "')) in DATE_ROLES
            for line in (first, *lines[:HEADINGS_WITHIN])
            for cell in _DELIMITERS.split(line)
        )
    )
