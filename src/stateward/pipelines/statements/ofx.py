"""OFX and QFX: SGML (1.x) and XML (2.x), as banks write them, not as the standard says.

One scanner for both: tags in order, values up to the next tag. End tags may be missing, values may contain an unescaped
`&` or `<`, headers may name the wrong encoding, elements may be in any order. Only predefined and numeric entities are
resolved, never declared ones.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from html import escape, unescape
from typing import NamedTuple

from stateward.core.errors import FatalFailure
from stateward.pipelines.statements.direction import STRONG, evidence_of
from stateward.pipelines.statements.model import (
    ReadingTerms,
    RowPlace,
    StatementProblem,
    StatementReading,
    StatementRow,
    StatementSection,
)
from stateward.pipelines.statements.source import Source

TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9.]*)\s*(/?)>")
_ENTITY = re.compile(r"<!ENTITY|<!DOCTYPE[^>]*\[", re.IGNORECASE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_CHARSET = re.compile(rb"CHARSET:\s*([\w-]+)", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"<\?xml[^>]*encoding=[\"']([\w-]+)[\"']", re.IGNORECASE)

STATEMENTS = frozenset({"STMTRS", "CCSTMTRS", "INVSTMTRS"})
# Aggregates that are tracked, so that elements of the same name in different aggregates are distinguished.
AGGREGATES = frozenset({
    "STMTTRN", "BANKACCTFROM", "CCACCTFROM", "INVACCTFROM", "BANKACCTTO", "CCACCTTO", "LEDGERBAL", "AVAILBAL",
    "BANKTRANLIST", "INVTRANLIST", "CURRENCY", "ORIGCURRENCY", "PAYEE", "STATUS", "FI", "SONRS", "STMTTRNRS",
    "CCSTMTTRNRS", "INVSTMTTRNRS", "OFX", "INVBANKTRAN", "INVBAL", "BALLIST", "BAL",
}) | STATEMENTS  # fmt: skip
INVESTMENTS = frozenset({
    "BUYDEBT", "BUYMF", "BUYOPT", "BUYOTHER", "BUYSTOCK", "CLOSUREOPT", "INCOME", "INVEXPENSE", "JRNLFUND",
    "JRNLSEC", "MARGININTEREST", "REINVEST", "RETOFCAP", "SELLDEBT", "SELLMF", "SELLOPT", "SELLOTHER", "SELLSTOCK",
    "SPLIT", "TRANSFER",
})  # fmt: skip
AGGREGATES |= INVESTMENTS
KNOWN = frozenset({"DTPOSTED", "TRNAMT", "FITID", "NAME", "MEMO", "VALUEDATE", "CURRENCY"})
# Types that have one sign. Of interest, points of sale and machines the standard says that the sign tells which it is;
# a fee, a check or a direct debit may come back.
SIGNED_TYPES = {"DEBIT": -1, "CASH": -1, "CREDIT": 1, "DEP": 1}
TAIL_CHARS = 4096  # of a file, in which its end tag stands; some banks write blanks behind it
CHARSETS = {
    "1252": "cp1252",
    "8859-1": "cp1252",
    "ISO-8859-1": "cp1252",
    "NONE": "",
    "UTF-8": "utf-8",
}


class OfxTag(NamedTuple):
    """A tag, the value behind it, and its line."""

    name: str
    is_end: bool
    value: str
    line: int


def read(source: Source) -> StatementReading:
    """Every statement of every account: bank, card or investment cash."""
    text = _decode(source)
    if _ENTITY.search(text[:65536]):
        raise FatalFailure(
            "the file declares XML entities, which statements never do; it is not read",
            code="XML_ENTITY",
        )
    text = _replace(_CDATA, "]]>", lambda found: escape(found[1]), text)
    # What is commented out is no content; its lines are counted all the same.
    text = _replace(_COMMENT, "-->", lambda found: "\n" * found[0].count("\n"), text)
    problems: list[StatementProblem] = []
    if "</OFX>" not in text[-TAIL_CHARS:].upper():
        message = "the file has no end (</OFX>): it may be incomplete; download it again"
        problems.append(StatementProblem(code="FILE_CUT", message=message))
    sections = _sections(_tokens(text), problems)
    if not sections:
        raise FatalFailure(
            "the file is OFX, but contains no account statement (only a sign-on or a list of accounts); "
            "download the transactions",
            code="NO_ROWS",
        )
    decisions = [*source.decisions, f"OFX with {len(sections)} statements"]
    return StatementReading(format="ofx", sections=sections, problems=problems, decisions=decisions)


def _replace(
    pattern: re.Pattern[str], end: str, make: Callable[[re.Match[str]], str], text: str
) -> str:
    """Replace up to the last end: each of many beginnings behind it would be looked for to the end of the file."""
    last = text.rfind(end) + len(end) if end in text else 0
    return pattern.sub(make, text[:last]) + text[last:]


def _decode(source: Source) -> str:
    """The text in the declared encoding if that decodes all of it, else by its bytes: many headers are wrong."""
    raw = source.raw()
    if source.encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be"):
        return raw.decode(source.encoding, "replace")
    found = _XML_ENCODING.search(raw[:4096]) or _CHARSET.search(raw[:4096])
    declared = found[1].decode("ascii").upper() if found else ""
    name = CHARSETS.get(declared, declared)
    try:
        return raw.decode(name or source.encoding)
    except (LookupError, UnicodeDecodeError):
        return raw.decode(source.encoding, "replace")


def _tokens(text: str) -> Iterator[OfxTag]:
    start = text.upper().find("<OFX>")
    position = max(start, 0)
    line = text.count("\n", 0, position) + 1
    tags = list(TAG.finditer(text, position))
    for index, tag in enumerate(tags):
        end = tags[index + 1].start() if index + 1 < len(tags) else len(text)
        line += text.count("\n", position, tag.start())
        position = tag.start()
        value = "" if tag[1] or tag[3] else _value(text[tag.end() : end])
        yield OfxTag(tag[2].upper(), bool(tag[1]), value, line)


def _value(raw: str) -> str:
    """A value with its entities resolved, twice where a bank has escaped twice."""
    text = unescape(raw) if "&" in raw else raw
    if "&" in text and ";" in text:
        text = unescape(text)
    return text.strip()


class _OfxStatement:
    """One statement while it is scanned."""

    def __init__(self) -> None:
        self.facts: dict[str, str] = {}
        self.rows: list[StatementRow] = []
        self.investments = 0


class _OfxScanner:
    """One pass over the tags."""

    def __init__(self, problems: list[StatementProblem]) -> None:
        self.found: list[_OfxStatement] = []
        self.bank = ""
        self._problems = problems
        self._inside: list[str] = []
        self._fields: dict[str, str] | None = None
        self._line = 0

    def add(self, token: OfxTag) -> None:
        if token.is_end:
            self._end(token.name)
        elif token.name in AGGREGATES:
            self._begin(token)
        elif self._fields is not None:
            _row_field(self._fields, self._inside, token)
        elif self.found:
            _fact(self.found[-1].facts, self._inside, token)
        elif token.name == "ORG":
            self.bank = token.value

    def _begin(self, token: OfxTag) -> None:
        if token.name == "STMTTRN":
            self._finish()  # the end tag of the one before may be missing
            self._fields, self._line = {}, token.line
        elif token.name in STATEMENTS:
            self._finish()
            self.found.append(_OfxStatement())
        elif token.name in INVESTMENTS and self.found:
            self.found[-1].investments += 1
        self._inside.append(token.name)

    def _end(self, name: str) -> None:
        if name == "STMTTRN":
            self._finish()
        _leave(self._inside, name)
        if "STMTTRN" not in self._inside:  # the end of an outer aggregate ends it too
            self._finish()

    def close(self) -> None:
        if self._fields is not None:
            message = "the file ends inside a transaction; download it again"
            self._problems.append(
                StatementProblem(code="FILE_CUT", message=message, place=RowPlace(line=self._line))
            )
            self._finish()

    def _finish(self) -> None:
        if self._fields is not None and self.found:
            _add_row(self.found[-1], self._fields, self._line, self._problems)
            _leave(self._inside, "STMTTRN")
        self._fields = None


def _sections(tokens: Iterator[OfxTag], problems: list[StatementProblem]) -> list[StatementSection]:
    scanner = _OfxScanner(problems)
    for token in tokens:
        scanner.add(token)
    scanner.close()
    for each in scanner.found:
        if each.investments:
            message = f"{each.investments} transactions of securities are not read: only cash is"
            problems.append(StatementProblem(code="INVESTMENTS_NOT_READ", message=message))
        problems += _contradicted_types(each.rows)
    return [_section(each, scanner.bank) for each in scanner.found]


def _contradicted_types(rows: Sequence[StatementRow]) -> Iterator[StatementProblem]:
    """Report the first row whose type says the opposite of its sign, unless its words (a refund) confirm the sign.

    OFX has no opening balance that would prove either. One type on rows of both signs says nothing of any.
    """
    against = [row for row in rows if _is_contradicted(row)]
    is_told_apart = len({row.more.get("TRNTYPE") for row in rows}) > 1
    if against and (is_told_apart or len(against) == len(rows)):
        kind, amount = against[0].more["TRNTYPE"], against[0].amount
        message = f"a transaction of the type {kind} has the amount {amount}; such rows: {len(against)} of {len(rows)}"
        yield StatementProblem(code="SIGN_CONTRADICTED", message=message, place=against[0].place)


def _is_contradicted(row: StatementRow) -> bool:
    expected = SIGNED_TYPES.get(row.more.get("TRNTYPE", "").upper(), 0)
    printed = -1 if row.amount.startswith("-") else 1
    if not expected or printed == expected or not row.amount.strip("+-0.,"):
        return False
    words = evidence_of([row.description])
    return not (words.direction == printed and words.strength >= STRONG)


def _leave(inside: list[str], name: str) -> None:
    """Close an aggregate, and those inside it that were never closed."""
    if name in inside:
        del inside[len(inside) - 1 - inside[::-1].index(name) :]


def _row_field(fields: dict[str, str], inside: list[str], token: OfxTag) -> None:
    holder = inside[-1]
    if holder == "STMTTRN":
        fields.setdefault(token.name, token.value)
    elif holder in ("CURRENCY", "ORIGCURRENCY") and token.name == "CURSYM":
        fields.setdefault(holder, token.value)
    elif holder == "CURRENCY" and token.name == "CURRATE":
        fields.setdefault("CURRATE", token.value)
    elif holder == "PAYEE" and token.name == "NAME":
        fields.setdefault("NAME", token.value)
    elif token.name == "ACCTID":
        fields.setdefault("ACCTTO", token.value)


def _fact(facts: dict[str, str], inside: list[str], token: OfxTag) -> None:
    holder = inside[-1] if inside else ""
    if holder in STATEMENTS or holder in ("BANKTRANLIST", "INVTRANLIST"):
        facts.setdefault(token.name, token.value)
    elif holder in ("BANKACCTFROM", "CCACCTFROM", "INVACCTFROM", "LEDGERBAL"):
        facts.setdefault(
            f"{holder[-9:]}.{token.name}" if holder == "LEDGERBAL" else token.name, token.value
        )


def _add_row(
    statement: _OfxStatement, fields: dict[str, str], line: int, problems: list[StatementProblem]
) -> None:
    place = RowPlace(line=line)
    missing = [name for name in ("DTPOSTED", "TRNAMT") if not fields.get(name)]
    if missing:
        problems.append(
            StatementProblem(
                code="ROW_UNREADABLE",
                message=f"a transaction has no {' and no '.join(missing)}",
                place=place,
                raw=" ".join(f"<{name}>{value}" for name, value in fields.items()),
            )
        )
        return
    name, memo = fields.get("NAME", ""), fields.get("MEMO", "")
    statement.rows.append(
        StatementRow(
            place=place,
            date=fields["DTPOSTED"],
            value_date=fields.get("VALUEDATE", ""),
            description=_description(name, memo),
            amount=fields["TRNAMT"],
            currency=fields.get("CURRENCY", ""),
            reference=fields.get("FITID", ""),
            counterparty=name,
            more={key: value for key, value in fields.items() if key not in KNOWN and value},
        )
    )


def _description(name: str, memo: str) -> str:
    """Name and memo; the name alone is not repeated if the memo starts with it (names are cut at 32 characters)."""
    if not name or not memo:
        return name or memo
    if memo.startswith(name):
        return memo
    return name if name.startswith(memo) else f"{name}\n{memo}"


def _section(statement: _OfxStatement, bank: str) -> StatementSection:
    facts, rows = statement.facts, statement.rows
    texts = [row.amount for row in rows]
    has_comma = any("," in text for text in texts)
    has_point = any("." in text for text in texts)
    decimal = "," if has_comma and not has_point else "."
    why = {
        "date_order": "OFX dates begin with the year",
        "decimal": "amounts are written with a comma"
        if decimal == ","
        else "OFX amounts use a point",
        "sign": "OFX amounts carry their sign",
    }
    return StatementSection(
        account=facts.get("ACCTID", ""),
        bank=bank or facts.get("BROKERID", ""),
        currency=facts.get("CURDEF", ""),
        closing=facts.get("LEDGERBAL.BALAMT", ""),
        closing_date=facts.get("LEDGERBAL.DTASOF", ""),
        period_from=facts.get("DTSTART", ""),
        period_to=facts.get("DTEND", ""),
        terms=ReadingTerms(date_order="ymd", decimal=decimal, why=why),
        rows=rows,
    )
