"""Canonical transactions for other programs: CSV, OFX 2 and beancount, as a stream of lines.

Texts in statements come from strangers. In CSV a cell that a spreadsheet would run as a formula gets an apostrophe; in
OFX everything is escaped; in beancount a text cannot end its quotes, nor an account its name.
"""

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from xml.sax.saxutils import escape

from stateward.core.model import Fields, Json

COLUMNS = (
    "id", "date", "amount", "currency", "description", "merchant", "account", "value_date", "balance", "reference",
    "counterparty", "is_pending", "duplicate_of", "note", "section",
)  # fmt: skip
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
_ACCOUNT = re.compile(r"[^A-Za-z0-9]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
NAME_CHARS_MAX = 32  # of the element NAME in OFX


def csv_lines(rows: Iterable[Fields]) -> Iterator[str]:
    """A table with a heading: the columns of canonicals in their order, or those of the first row."""
    columns: list[str] = []
    for row in rows:
        if not columns:
            columns = [*COLUMNS, "page", "line"] if "amount" in row and "id" in row else sorted(row)
            yield _csv_line(columns)
        yield _csv_line([_cell(row, column) for column in columns])


def _cell(row: Mapping[str, Json], column: str) -> str:
    place = row.get("place")
    value = place.get(column) if column in ("page", "line") and isinstance(place, dict) else None
    if value is None:
        value = row.get(column)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return escape_formula(
            "; ".join(map(str, value.values() if isinstance(value, dict) else value))
        )
    return "" if value is None else escape_formula(str(value))


def escape_formula(text: str) -> str:
    """A cell that no spreadsheet runs as a formula; numbers stay numbers."""
    if text.startswith(FORMULA_STARTS) and not _NUMBER.fullmatch(text):
        return f"'{text}"
    return text


def _csv_line(cells: Iterable[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(cells)
    return text.getvalue()


def ofx_lines(rows: Iterable[Fields]) -> Iterator[str]:
    """OFX 2.2, one statement for each account and currency; rows without a date or not booked are left out."""
    accounts: dict[tuple[str, str], list[Fields]] = defaultdict(list)
    for row in rows:
        if row.get("date") and not row.get("is_pending"):
            accounts[_text(row, "account"), _text(row, "currency")].append(row)
    yield '<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n'
    yield '<?OFX OFXHEADER="200" VERSION="220" SECURITY="NONE" OLDFILEUID="NONE" NEWFILEUID="NONE"?>\n'
    yield "<OFX><BANKMSGSRSV1>\n"
    for (account, currency), found in sorted(accounts.items()):
        yield from _ofx_statement(account, currency, found)
    yield "</BANKMSGSRSV1></OFX>\n"


def _ofx_statement(account: str, currency: str, rows: list[Fields]) -> Iterator[str]:
    days = sorted(_day(row) for row in rows)
    yield (
        "<STMTTRNRS><TRNUID>0</TRNUID><STATUS><CODE>0</CODE><SEVERITY>INFO</SEVERITY></STATUS><STMTRS>"
        f"<CURDEF>{escape(currency or 'XXX')}</CURDEF><BANKACCTFROM><BANKID>0</BANKID>"
        f"<ACCTID>{escape(account or 'unknown')}</ACCTID><ACCTTYPE>CHECKING</ACCTTYPE></BANKACCTFROM>"
        f"<BANKTRANLIST><DTSTART>{days[0]}</DTSTART><DTEND>{days[-1]}</DTEND>\n"
    )
    for row in rows:
        amount = _text(row, "amount")
        kind = "DEBIT" if amount.startswith("-") else "CREDIT"
        name = _text(row, "merchant") or _text(row, "description")
        yield (
            f"<STMTTRN><TRNTYPE>{kind}</TRNTYPE><DTPOSTED>{_day(row)}</DTPOSTED><TRNAMT>{amount}</TRNAMT>"
            f"<FITID>{escape(_text(row, 'id'))}</FITID><NAME>{escape(name[:NAME_CHARS_MAX])}</NAME>"
            f"<MEMO>{escape(_text(row, 'description'))}</MEMO></STMTTRN>\n"
        )
    yield "</BANKTRANLIST></STMTRS></STMTTRNRS>\n"


def _day(row: Mapping[str, Json]) -> str:
    return _text(row, "date").replace("-", "")


def beancount_lines(rows: Iterable[Fields]) -> Iterator[str]:
    """Beancount directives: credits are income and debits expenses, until a person categorises them."""
    for row in rows:
        day, amount = _text(row, "date"), _text(row, "amount")
        if not day:
            yield f"; without a date: {_quoted(_text(row, 'description'))} {amount}\n"
            continue
        if row.get("is_pending"):  # it moves no balance, and may never do so
            yield f"; {day} not booked: {_quoted(_text(row, 'description'))} {amount}\n"
            continue
        currency = _text(row, "currency") or "XXX"
        account = _ACCOUNT.sub("-", _text(row, "account")).strip("-").upper() or "UNKNOWN"
        other = "Expenses:Unknown" if amount.startswith("-") else "Income:Unknown"
        flag = "!" if row.get("duplicate_of") else "*"
        yield (
            f"{day} {flag} {_quoted(_text(row, 'merchant'))} {_quoted(_text(row, 'description'))}\n"
            f"  id: {_quoted(_text(row, 'id'))}\n"
            f"  Assets:Bank:A{account}  {amount} {currency}\n"
            f"  {other}\n\n"
        )


def _quoted(text: str) -> str:
    plain = _CONTROL.sub(" ", text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain}"'


def _text(row: Mapping[str, Json], name: str) -> str:
    value = row.get(name)
    return "" if value is None else _CONTROL.sub(" ", str(value))
