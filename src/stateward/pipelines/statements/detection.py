"""Which format a file has, by its content, before it is accepted. It never inflates or parses anything."""

import re
from collections.abc import Sequence
from itertools import zip_longest

from stateward.definition.plugin import Content, Detected
from stateward.pipelines.kit.dates import MONTHS, fold
from stateward.pipelines.kit.delimited import first_rows
from stateward.pipelines.statements.headings import simplify, words
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
# A table with headings that lacks dates or amounts: below what research data says of any table.
UNLIKELY = 5
LINES_SEEN = 40
HEADINGS_WITHIN = 10  # lines: a title or the account may stand over them
DATE_ROLES = frozenset({"date", "date_plain", "value_date"})
MONEY_ROLES = frozenset({"amount", "debit", "credit", "balance"})
# With two signs between its numbers, or a slash; a decimal number has neither.
_DATE = re.compile(
    r"\d{1,4}\s?[./:\-年년]\s?\d{1,2}\s?[./:\-月월]|(?<![\d/])\d{1,2}/\d{1,2}(?!\d)|(?<!\d)(?:19|20)\d{6}(?!\d)"
)
_CENTS = re.compile(r"[^\w]*(?:[A-Za-z]{1,3}\s?)?[-+]?[\d.,' ]*\d[.,]\d\d\D{0,5}")
# What is longer is no amount, and would keep the pattern above busy while an upload waits.
AMOUNT_CHARS_MAX = 40
_WORD = re.compile(r"[^\W\d_]+")


def detect(content: Content) -> Detected:
    """A statement of some format; a refusal with its sentence if it is none that is read."""
    source = Source(content.path, Hints(), Bounds(), head=content.head)
    found = sniff(source, is_inflating=False)
    confidence = CONFIDENCES.get(found, OWN_FORMAT)
    if found == "html" and content.name.lower().endswith((".xls", ".xlsx")):
        confidence = SAVED_AS_SHEET
    if found == "csv" and _is_unlikely(source):
        confidence = UNLIKELY
    return Detected(
        source_type=SOURCE_TYPES.get(found, "auto"),
        format=found,
        confidence=confidence,
    )


def _is_unlikely(source: Source) -> bool:
    """Whether a table begins with headings, and its first lines show no date, or no amounts."""
    text = source.head.decode(source.encoding, "ignore").lstrip("\ufeff")
    lines = [line for line in text.splitlines() if line.strip()][:LINES_SEEN]
    rows = first_rows(lines)
    if not rows or len(rows[0]) < 2 or any(cell[:1].isdigit() for cell in rows[0]):
        return False
    is_dated = any(map(_DATE.search, lines)) or _has_month(lines[1:])
    if is_dated and _has_cents(rows[1:]):
        return False
    # Whole headings: to look for similar ones takes too long while an upload waits.
    named = words().columns
    roles = {
        named.get(simplify(text))
        for row in rows[:HEADINGS_WITHIN]
        for cell in row
        for text in (cell, cell.partition("(")[0])
    }
    return not ((is_dated or roles & DATE_ROLES) and roles & MONEY_ROLES)


def _has_month(lines: Sequence[str]) -> bool:
    return any(fold(word) in MONTHS for line in lines for word in _WORD.findall(line))


def _has_cents(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a column has two decimals wherever it has anything."""
    columns = zip_longest(*rows, fillvalue="")
    filled = ([cell for cell in column if cell.strip()] for column in columns)
    return any(cells and all(map(_is_of_cents, cells)) for cells in filled)


def _is_of_cents(cell: str) -> bool:
    return len(cell) <= AMOUNT_CHARS_MAX and _CENTS.fullmatch(cell) is not None
