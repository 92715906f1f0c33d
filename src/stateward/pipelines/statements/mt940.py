"""MT940 and MT942: SWIFT messages of tagged lines, as banks write them.

A file is first split into statements at each `:20:`, because balances belong to one of them. A `:61:` is one
transaction, the `:86:` after it its details. What fits no rule becomes a problem with its line; nothing is skipped
silently.
"""

import re
from calendar import monthrange
from collections.abc import Iterator
from typing import NamedTuple

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit import money
from stateward.pipelines.statements.model import (
    ReadingTerms,
    RowPlace,
    StatementProblem,
    StatementReading,
    StatementRow,
    StatementSection,
)
from stateward.pipelines.statements.source import Source
from stateward.pipelines.statements.successive import broken_successions

_TAG = re.compile(r"^\s{0,2}:([0-9]{2}[A-Z]?|NS):(.*)$")
_END = re.compile(r"^-\}?\s*(?:\{.*)?$|^-(?:XXX)?\s*$")
_LINE = re.compile(
    r"(?P<value>[0-9]{6})(?P<entry>[0-9]{4}|\s{1,4})?(?P<mark>R[CD]|E[CD]|[CD])(?P<funds>[A-Z])?\s?"
    r"(?P<amount>[0-9][0-9.,]*)\s?(?P<type>[A-Z][A-Z0-9]{3})?(?P<rest>.*)",
    re.DOTALL,
)
_BALANCE = re.compile(
    r"\s*(?P<mark>[CD])R?\s?(?P<date>[0-9]{6})(?P<currency>[A-Z]{3})(?P<amount>[0-9][0-9.,]*)\s*"
)
_TOTAL = re.compile(r"\s*(?P<count>[0-9]+)(?P<currency>[A-Z]{3})(?P<amount>[0-9][0-9.,]*)\s*")
_SUBFIELD = re.compile(r"[?>]([0-9]{2})")
_SEPA = re.compile(r"(EREF|KREF|MREF|CRED|DEBT|COAM|OAMT|SVWZ|ABWA|ABWE|IBAN|BIC)\+")
_SLASHED = re.compile(
    r"/(BENM|ORDP|NAME|REMI|EREF|IBAN|BIC|TRTP|RTRN|MARF|CSID|PREF|ISDT|ADDR|PURP|ULTD|ULTB|SVCL)/"
)
_CURRENCY_TAIL = re.compile(r"^(.*?)\s*([A-Z]{3})$")
OPENING, CLOSING = ("60F", "60M"), ("62F", "62M")
_FINTS = "@@:20:"
KNOWN = frozenset({"20", "21", "25", "25P", "28", "28C", "60F", "60M", "61", "62F", "62M", "64", "65", "86", "34F",
                   "13", "13D", "90C", "90D", "NS"})  # fmt: skip


class SwiftField(NamedTuple):
    """A tag with its text, which may have several lines, and its first line."""

    tag: str
    text: str
    line: int


def read(source: Source) -> StatementReading:
    """One section for each `:20:`."""
    problems: list[StatementProblem] = []
    decisions = list(source.decisions)
    sections = [
        _section(fields, source, problems, decisions) for fields in _statements(source.text())
    ]
    if not sections:
        raise FatalFailure("the file has SWIFT tags, but contains no statement", code="NO_ROWS")
    problems += broken_successions(sections)
    decisions.append(f"MT940 with {len(sections)} statements, split at each :20:")
    return StatementReading(
        format="mt940", sections=sections, problems=problems, decisions=decisions
    )


def _statements(text: str) -> Iterator[list[SwiftField]]:
    statement: list[SwiftField] = []
    for field in _fields(text):
        if field.tag == "20" and any(each.tag != "20" for each in statement):
            yield statement
            statement = []
        statement.append(field)
    if statement:
        yield statement


def _fields(text: str) -> Iterator[SwiftField]:
    tag, lines, begun = "", list[str](), 0
    for number, line in enumerate(_lines(text), start=1):
        found = _TAG.match(line)
        if found or _END.match(line) or line.startswith("{"):
            if tag:
                yield SwiftField(tag, "\n".join(lines).rstrip("\n"), begun)
            tag = ""
            inner = re.search(r"\{4:\s*:([0-9]{2}[A-Z]?):(.*)$", line)
            found = found or inner
            if found:
                tag, lines, begun = found[1], [found[2]], number
        elif tag:
            lines.append(line)
    if tag:
        yield SwiftField(tag, "\n".join(lines).rstrip("\n"), begun)


def _lines(text: str) -> list[str]:
    if _FINTS in text:  # as FinTS sends them: each line ends with two signs
        text = text.replace("@@", "\n")
    return text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _section(
    fields: list[SwiftField], source: Source, problems: list[StatementProblem], decisions: list[str]
) -> StatementSection:
    first = {field.tag: field.text.strip() for field in reversed(fields)}
    account, currency = _account(first.get("25") or first.get("25P", ""))
    opening = _balance(fields, OPENING, problems)
    closing = _balance(fields[::-1], CLOSING, problems)
    rows = list(_rows(fields, problems))
    totals = _totals(first)
    if opening and not closing:
        message = (
            "the statement has an opening balance but no closing one: the file may be incomplete"
        )
        problems.append(
            StatementProblem(code="FILE_CUT", message=message, place=RowPlace(line=fields[-1].line))
        )
    decisions += [
        f"the tag :{field.tag}: at line {field.line} is not read"
        for field in fields
        if field.tag not in KNOWN
    ]
    return StatementSection(
        account=account or source.hints.account,
        currency=(opening or closing or {}).get("currency", "")
        or currency
        or _floor_currency(first.get("34F", ""))
        or source.hints.currency,
        opening=_printed_amount(opening),
        opening_date=(opening or {}).get("date", ""),
        closing=_printed_amount(closing),
        closing_date=(closing or {}).get("date", ""),
        totals=totals,
        terms=TERMS,
        rows=rows,
    )


TERMS = ReadingTerms(
    date_order="ymd",
    decimal=",",
    sign="marks",
    why={
        "date_order": "SWIFT dates start with the year",
        "decimal": "SWIFT amounts use a comma",
        "sign": "C and D before the amount are credit and debit; R before them reverses",
    },
)


def _account(text: str) -> tuple[str, str]:
    """The account, and the currency that some banks append to it."""
    text = text.split("\n")[0].strip()
    found = _CURRENCY_TAIL.match(text)
    has_currency = found is not None and found[1][-1:].isdigit()
    return (found[1], found[2]) if found and has_currency else (text, "")


def _floor_currency(text: str) -> str:
    """The currency of the limit above which an interim report tells each entry: it has no balances."""
    code = text[:3]
    return code if code in money.CURRENCY_CODES else ""


def _balance(
    fields: list[SwiftField], tags: tuple[str, ...], problems: list[StatementProblem]
) -> dict[str, str] | None:
    for field in fields:
        if field.tag in tags:
            found = _BALANCE.match(field.text)
            if found:
                return found.groupdict()
            message = f"the balance :{field.tag}: cannot be read"
            place = RowPlace(line=field.line)
            problems.append(
                StatementProblem(
                    code="BALANCE_UNREADABLE", message=message, place=place, raw=field.text
                )
            )
    return None


def _printed_amount(balance: dict[str, str] | None) -> str:
    return f"{balance['mark']} {_with_comma(balance['amount'])}" if balance else ""


def _totals(first: dict[str, str]) -> dict[str, str]:
    totals = {}
    for tag, kind in (("90D", "debit"), ("90C", "credit")):
        if found := _TOTAL.match(first.get(tag, "")):
            totals[f"{kind}s"] = _with_comma(found["amount"])
            totals[f"{kind}_count"] = found["count"]
    return totals


def _rows(fields: list[SwiftField], problems: list[StatementProblem]) -> Iterator[StatementRow]:
    """Each 61 with the 86 that follow it, up to whatever else comes."""
    line: SwiftField | None = None
    details: list[str] = []
    for field in [*fields, SwiftField("end", "", 0)]:
        if line is not None and field.tag == "86":
            details.append(field.text)
            continue
        if line is not None:
            row = _row(line, details, problems)
            if row is not None:
                yield row
        line, details = (field, []) if field.tag == "61" else (None, [])


def _row(
    field: SwiftField, details: list[str], problems: list[StatementProblem]
) -> StatementRow | None:
    place = RowPlace(line=field.line)
    found = _LINE.match(field.text.strip())
    if found is None:
        message = "a line :61: cannot be read"
        problems.append(
            StatementProblem(code="ROW_UNREADABLE", message=message, place=place, raw=field.text)
        )
        return None
    rest, _, extra = found["rest"].partition("\n")
    reference, _, bank_reference = rest.partition("//")
    value, note = _valid_date(found["value"])
    booked, note_2 = _valid_date(_entry_date(found["value"], found["entry"]))
    printed = "\n".join(text.strip("\n") for text in details)
    parsed = _details(printed)
    more = {
        "line": field.text.split("\n")[0],
        "type": found["type"] or "",
        "customer_reference": "" if reference.strip() == "NONREF" else reference.strip(),
        "supplement": extra.strip(),
        **{
            name: text for name, text in parsed.items() if name not in ("counterparty", "reference")
        },
    }
    return StatementRow(
        place=place,
        date=booked,
        value_date=value,
        description=printed or extra.strip(),
        amount=_with_comma(found["amount"]),
        mark=found["mark"],
        reference=parsed.get("reference", "") or _real_reference(bank_reference),
        counterparty=parsed.get("counterparty", ""),
        more={name: text for name, text in more.items() if text},
        note=note or note_2,
    )


def _real_reference(reference: str) -> str:
    text = reference.strip()
    return "" if text in ("NONREF", "NOTPROVIDED") else text


def _with_comma(text: str) -> str:
    """An amount with its decimal comma: SWIFT writes 620,3 and 6800, without grouping; some banks use a point."""
    return text.replace(".", ",") if text.count(".") == 1 and "," not in text else text


def _entry_date(value: str, entry: str | None) -> str:
    """The entry date, with the year of the value date or a neighbouring one."""
    if not entry or not entry.isdigit() or not value[2:].isdigit():
        return value
    year = int(value[:2])
    apart = int(entry[:2]) - int(value[2:4])
    if apart > 6:
        year -= 1
    elif apart < -6:
        year += 1
    return f"{year % 100:02d}{entry}"


def _valid_date(text: str) -> tuple[str, str]:
    """A date, and a note if it was corrected: banks that count 30 days a month print 30 February for its last day."""
    year, month, day = 2000 + int(text[:2]), int(text[2:4]), int(text[4:6])
    if 1 <= month <= 12 and 28 < day <= 31:
        last = monthrange(year, month)[1]
        if day > last:
            return (
                f"{text[:4]}{last:02d}",
                f"the date {text} does not exist: read as the last day of its month",
            )
    return text, ""


def _details(text: str) -> dict[str, str]:
    """The parts of a `:86:`, in the three structures that banks use; none where it is plain text."""
    if _SUBFIELD.search(text[:12]):
        return _subfields(text)
    flat = text.replace("\n", "")
    if _SLASHED.search(flat):
        return _split_at_slashes(flat)
    if _SEPA.match(flat):
        return _sepa(flat)
    return {}


def _subfields(text: str) -> dict[str, str]:
    """German banks: 171?00type?20purpose…?30bank?31account?32name."""
    pieces = _SUBFIELD.split(text.replace("\n", ""))
    fields: dict[str, list[str]] = {}
    for number, value in zip(pieces[1::2], pieces[2::2], strict=False):
        fields.setdefault(number, []).append(value)
    purpose = [fields[f"{n}"] for n in (*range(20, 30), *range(60, 64)) if f"{n}" in fields]
    joined = "".join(value for values in purpose for value in values)
    found = _sepa(joined) if _SEPA.search(joined) else {"purpose": joined}
    names = [value for n in ("32", "33") for value in fields.get(n, [])]
    found["counterparty"] = "".join(names).strip() or found.get("counterparty", "")
    found["booking_text"] = "".join(fields.get("00", [])).strip()
    # A closing entry or a transfer without a purpose says no more than what kind of booking it is.
    found["purpose"] = found.get("purpose", "").strip() or found["booking_text"]
    found["counterparty_account"] = "".join(fields.get("31", [])).strip()
    return found


def _sepa(text: str) -> dict[str, str]:
    pieces = _SEPA.split(text)
    fields = {name: value.strip() for name, value in zip(pieces[1::2], pieces[2::2], strict=False)}
    purpose = fields.get("SVWZ") or pieces[0].strip()
    found = {"purpose": purpose, "reference": _real_reference(fields.get("EREF", ""))}
    found["mandate"] = fields.get("MREF", "")
    return found


def _split_at_slashes(text: str) -> dict[str, str]:
    pieces = _SLASHED.split(text)
    fields: dict[str, str] = {}
    for name, value in zip(pieces[1::2], pieces[2::2], strict=False):
        if value.strip(" /"):
            fields.setdefault(name, value.strip(" /"))
    return {
        "purpose": fields.get("REMI", "").removeprefix("USTD//").strip("/"),
        "reference": _real_reference(fields.get("EREF", "")),
        "counterparty": fields.get("NAME", ""),
        "counterparty_account": fields.get("IBAN", ""),
    }
