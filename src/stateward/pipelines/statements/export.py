"""Canonical transactions for other programs: OFX, QIF, beancount, ledger, and CSV as Actual and Firefly III import it.

Texts in statements come from strangers. In CSV a cell that a spreadsheet would run as a formula gets an apostrophe; in
OFX everything is escaped; in plain-text accounting a text cannot end its quotes or its line, nor an account its name.
Transactions that are not booked move no balance, and may never do so: they are written as comments, or left out.
"""

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from xml.sax.saxutils import escape

from stateward.core.model import Fields, Json
from stateward.definition.display import harmless

_ACCOUNT = re.compile(r"[^A-Za-z0-9]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_CURRENCY = re.compile(r"[A-Z]{3}")
NO_CURRENCY = "without a currency (stateward reparse ID --currency EUR says it)"
NAME_CHARS_MAX, MEMO_CHARS_MAX = 32, 255  # of the elements NAME and MEMO in OFX
NO_DAY = "19700101"  # of a file without rows, which must have one
NO_CATEGORY = "Unknown"


def ofx_lines(rows: Iterable[Fields]) -> Iterator[str]:
    """OFX 2.2, one statement for each account and currency; rows without a date or not booked are left out."""
    accounts: dict[tuple[str, str], list[Fields]] = defaultdict(list)
    for row in rows:
        if not why_not_booked(row):
            accounts[_text(row, "account"), _text(row, "currency")].append(row)
    yield '<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n'
    yield '<?OFX OFXHEADER="200" VERSION="220" SECURITY="NONE" OLDFILEUID="NONE" NEWFILEUID="NONE"?>\n'
    # No clock: the same rows give the same file, so the server's time is the last day.
    last = max((_day(row) for found in accounts.values() for row in found), default=NO_DAY)
    yield (
        "<OFX><SIGNONMSGSRSV1><SONRS><STATUS><CODE>0</CODE><SEVERITY>INFO</SEVERITY></STATUS>"
        f"<DTSERVER>{last}</DTSERVER><LANGUAGE>ENG</LANGUAGE></SONRS></SIGNONMSGSRSV1>\n"
    )
    yield "<BANKMSGSRSV1>\n"
    for (account, currency), found in sorted(accounts.items()):
        yield from _ofx_statement(account, currency, found)
    yield "</BANKMSGSRSV1></OFX>\n"


def _ofx_statement(account: str, currency: str, rows: list[Fields]) -> Iterator[str]:
    days = sorted(_day(row) for row in rows)
    yield (
        "<STMTTRNRS><TRNUID>0</TRNUID><STATUS><CODE>0</CODE><SEVERITY>INFO</SEVERITY></STATUS><STMTRS>"
        f"<CURDEF>{_ofx_text(currency or 'XXX')}</CURDEF><BANKACCTFROM><BANKID>0</BANKID>"
        f"<ACCTID>{_ofx_text(account or 'unknown')}</ACCTID><ACCTTYPE>CHECKING</ACCTTYPE></BANKACCTFROM>"
        f"<BANKTRANLIST><DTSTART>{days[0]}</DTSTART><DTEND>{days[-1]}</DTEND>\n"
    )
    for row in rows:
        amount = _text(row, "amount")
        kind = "DEBIT" if amount.startswith("-") else "CREDIT"
        name = _text(row, "merchant") or _text(row, "description")
        yield (
            f"<STMTTRN><TRNTYPE>{kind}</TRNTYPE><DTPOSTED>{_day(row)}</DTPOSTED><TRNAMT>{amount}</TRNAMT>"
            f"<FITID>{_ofx_text(_text(row, 'id'))}</FITID><NAME>{_ofx_text(name[:NAME_CHARS_MAX])}</NAME>"
            f"<MEMO>{_ofx_text(_with_flags(row, _text(row, 'description'))[:MEMO_CHARS_MAX])}</MEMO></STMTTRN>\n"
        )
    yield "</BANKTRANLIST>"
    if balance := _last_balance([row for row in rows if _day(row) == days[-1]]):
        yield f"<LEDGERBAL><BALAMT>{balance}</BALAMT><DTASOF>{days[-1]}</DTASOF></LEDGERBAL>"
    yield "</STMTRS></STMTTRNRS>\n"


def _ofx_text(text: str) -> str:
    """A text for OFX, its letters beyond ASCII as references: some programs take every OFX file for ASCII."""
    return escape(text).encode("ascii", "xmlcharrefreplace").decode("ascii")


def _last_balance(rows: Sequence[Fields]) -> str:
    """The balance after all rows of a day, whichever way they are sorted: the one that no other of them begins with."""
    known = [row for row in rows if _text(row, "balance")]
    begins = [Decimal(_text(row, "balance")) - Decimal(_text(row, "amount")) for row in known]
    ends = {_text(row, "balance") for row in known if Decimal(_text(row, "balance")) not in begins}
    return ends.pop() if len(ends) == 1 else ""


def _day(row: Mapping[str, Json]) -> str:
    return _text(row, "date").replace("-", "")


def qif_lines(rows: Iterable[Fields]) -> Iterator[str]:
    """QIF with an `!Account` for each account; dates start with the year, so that no program can mistake them."""
    accounts: dict[tuple[str, str], list[Fields]] = defaultdict(list)
    for row in _booked_items(rows):
        accounts[_text(row, "account"), _text(row, "currency")].append(row)
    for (account, currency), found in sorted(accounts.items()):
        yield f"!Account\nN{account or 'unknown'} {currency}".rstrip() + "\nTBank\n^\n!Type:Bank\n"
        for row in sorted(found, key=_order):
            yield f"D{_text(row, 'date')}\nT{_text(row, 'amount')}\n"
            yield f"P{_text(row, 'merchant') or _text(row, 'description')}\n"
            yield f"M{_with_flags(row, _text(row, 'description'))}\n"
            if category := _text(row, "category"):
                yield f"L{category}\n"
            yield "^\n"


def beancount_lines(rows: Iterable[Fields]) -> Iterator[str]:
    """Beancount: each account is opened on its first day, then its transactions by date.

    The other side is the category, or unknown until a person says what it is. Without a date, a currency or a booking a
    row is a comment: beancount has no place for it, and a made-up one would be wrong.
    """
    found = sorted(rows, key=_order)
    good = [row for row in found if not _why_not(row)]
    for name, (day, currencies) in sorted(_open_accounts(good).items()):
        allowed = f"  {','.join(sorted(currencies))}" if name.startswith("Assets:") else ""
        yield f"{day} open {name}{allowed}\n"
    yield "\n"
    for row in found:
        day, amount, currency = (_text(row, name) for name in ("date", "amount", "currency"))
        if why := _why_not(row):
            yield f"; {why}: {day} {_quote(_text(row, 'description'))} {amount} {currency}\n"
            continue
        flag = "!" if row.get("duplicate_of") or row.get("flags") else "*"
        yield (
            f"{day} {flag} {_quote(_text(row, 'merchant'))} {_quote(_text(row, 'description'))}\n"
            f"  id: {_quote(_text(row, 'id'))}\n"
            f"  {_asset(row)}  {amount} {currency}\n"
            f"  {_other_side(row)}\n\n"
        )


def _open_accounts(rows: Iterable[Fields]) -> dict[str, tuple[str, set[str]]]:
    """The accounts that are used, with the first day and the currencies of each."""
    opened: dict[str, tuple[str, set[str]]] = {}
    for row in rows:
        for name in (_asset(row), _other_side(row)):
            _, currencies = opened.setdefault(name, (_text(row, "date"), set()))
            currencies.add(_text(row, "currency"))
    return opened


def ledger_lines(rows: Iterable[Fields]) -> Iterator[str]:
    """A journal for ledger and hledger, by date; what cannot be booked is a comment."""
    for row in sorted(rows, key=_order):
        day, amount, currency = (_text(row, name) for name in ("date", "amount", "currency"))
        payee = _payee(_text(row, "merchant") or _text(row, "description"))
        if why := _why_not(row):
            yield f"; {why}: {day} {payee} {amount} {currency}\n"
            continue
        mark = "!" if row.get("duplicate_of") or row.get("flags") else "*"
        yield (
            f"{day} {mark} {payee}\n"
            f"    ; id: {_text(row, 'id')}\n"
            f"    ; {_payee(_text(row, 'description'))}\n"
            f"    {_asset(row)}  {amount} {currency}\n"
            f"    {_other_side(row)}\n\n"
        )


def _payee(text: str) -> str:
    """A text that neither begins a comment nor is a mark of its own."""
    return text.replace(";", ",").replace("|", "/").lstrip("*!( ") or "unknown"


def actual_lines(rows: Iterable[Fields]) -> Iterator[str]:
    """CSV with the columns that Actual Budget asks for; rows that are not booked are left out."""
    yield _csv_line(("Date", "Payee", "Notes", "Category", "Amount"))
    for row in sorted(_booked_items(rows), key=_order):
        payee = _text(row, "merchant") or _text(row, "description")
        notes = _with_flags(row, _text(row, "description"))
        cells = (_text(row, "date"), payee, notes, _text(row, "category"), _text(row, "amount"))
        yield _csv_line(cells)


FIREFLY = (
    ("date", "date"), ("amount", "amount"), ("currency_code", "currency"), ("description", "description"),
    ("account", "account"), ("opposing_name", "merchant"), ("category", "category"), ("external_id", "id"),
    ("internal_reference", "reference"),
)  # fmt: skip


def firefly_lines(rows: Iterable[Fields]) -> Iterator[str]:
    """CSV whose headings are the roles of Firefly III's data importer; rows that are not booked are left out."""
    yield _csv_line((*(heading for heading, _ in FIREFLY), "notes", "tags"))
    for row in sorted(_booked_items(rows), key=_order):
        flags = ",".join(_flags(row))
        cells = [_text(row, name) for _, name in FIREFLY]
        yield _csv_line((*cells, _text(row, "note"), flags))


def why_not_booked(row: Mapping[str, Json]) -> str:
    """Why a format without comments has no place for a row; "" if it has one."""
    if not _text(row, "date"):
        return "the order of day and month in their dates is open"
    return "they are not booked" if row.get("is_pending") else ""


def _booked_items(rows: Iterable[Fields]) -> Iterator[Fields]:
    return (row for row in rows if not why_not_booked(row))


def _why_not(row: Mapping[str, Json]) -> str:
    """Why a row cannot be booked; "" if it can."""
    if not _text(row, "date"):
        return "without a date"
    if row.get("is_pending"):
        return "not booked"
    return "" if _CURRENCY.fullmatch(_text(row, "currency")) else NO_CURRENCY


def _asset(row: Mapping[str, Json]) -> str:
    account = _ACCOUNT.sub("-", _text(row, "account")).strip("-").upper() or "UNKNOWN"
    return f"Assets:Bank:A{account}"


def _other_side(row: Mapping[str, Json]) -> str:
    kind = "Expenses" if _text(row, "amount").startswith("-") else "Income"
    words = [_ACCOUNT.sub("-", part).strip("-") for part in _text(row, "category").split(":")]
    # Every part of a name begins with a capital letter or a digit.
    parts = [word[0].upper() + word[1:] for word in words if word]
    return ":".join([kind, *(parts or [NO_CATEGORY])])


def _order(row: Mapping[str, Json]) -> tuple[str, str]:
    return _text(row, "date"), _text(row, "account")


def _flags(row: Mapping[str, Json]) -> list[str]:
    flags = row.get("flags")
    return [str(code) for code in flags] if isinstance(flags, list) else []


def _with_flags(row: Mapping[str, Json], text: str) -> str:
    codes = ", ".join(_flags(row))
    return f"{text} [flagged: {codes}]" if codes else text


def _csv_line(cells: Sequence[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow([harmless(cell) for cell in cells])
    return text.getvalue()


def _quote(text: str) -> str:
    plain = _CONTROL.sub(" ", text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain}"'


def _text(row: Mapping[str, Json], name: str) -> str:
    value = row.get(name)
    return "" if value is None else _CONTROL.sub(" ", str(value))
