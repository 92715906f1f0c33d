"""BAI2: the cash management format of American banks. Records of comma-separated fields, each ended by a slash.

A `03` begins an account, each `16` is a transaction of it, and `88` continues the record above. A transaction has no
date of its own but that of its group (`02`). Amounts have no decimal point: the currency says how many decimals they
have. The trailer of an account (`49`) counts its records and adds its amounts up; what does not agree is reported.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from stateward.core.errors import FatalFailure
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

FILE_HEADER, GROUP, ACCOUNT, TRANSACTION = "01", "02", "03", "16"
CONTINUATION, ACCOUNT_END, GROUP_END, FILE_END = "88", "49", "98", "99"
OPENING, CLOSING, CREDITS, DEBITS = "010", "015", "100", "400"
NO_MONEY = "890"  # a text about the account
# Codes of transactions, from and to; 900 to 919 say something about the account.
CREDIT_CODES = ((100, 399), (920, 959))
DEBIT_CODES = ((400, 699), (960, 999))
USUAL_CURRENCY = "USD"  # where neither account nor group names one
DECIMALS = dict.fromkeys(
    "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF".split(), 0
) | dict.fromkeys("BHD IQD JOD KWD LYD OMR TND".split(), 3)  # ISO 4217; all others have two
_NEXT_RECORD = re.compile(r"(?<=/)\s+(?=(?:01|02|03|16|49|88|98|99),)")
_AMOUNT = re.compile(r"[+-]?[0-9]{1,18}")
TERMS = ReadingTerms(
    date_order="ymd",
    decimal=".",
    sign="marks",
    why={
        "date_order": "BAI2 dates start with the year",
        "decimal": "BAI2 amounts have as many decimals as their currency",
        "sign": "the type code says credit or debit",
    },
)


class BaiRecord(NamedTuple):
    """A record with its continuations: the fields, and its first line."""

    code: str
    fields: list[str]
    line: int
    lines: int


def read(source: Source) -> StatementReading:
    """One section for each account of each group."""
    reading = StatementReading(format="bai2", sections=(), problems=[], decisions=[], late={})
    file = _BaiFile(reading.problems, reading.decisions)
    for record in _records(source.text()):
        file.add(record)
    sections = file.finish()
    if not sections:
        raise FatalFailure("the file is BAI2, but holds no account (03)", code="NO_ROWS")
    reading.sections = sections
    reading.decisions = [
        *source.decisions,
        *reading.decisions,
        f"BAI2 with {len(sections)} accounts",
    ]
    return reading


def _records(text: str) -> Iterator[BaiRecord]:
    """The records of the file. The slash ends a record; in the text of a transaction it may be a letter."""
    code, parts, begun, count = "", list[str](), 0, 0
    lines = enumerate(text.lstrip("\ufeff").splitlines(), start=1)
    for number, line in ((number, part) for number, raw in lines for part in _split_line(raw)):
        if line.startswith(f"{CONTINUATION},") and code:
            parts.append(line.partition(",")[2])
            count += 1
            continue
        if code:
            yield BaiRecord(code, _fields(parts), begun, count)
        code, _, rest = line.partition(",")
        parts, begun, count = [rest], number, 1
    if code:
        yield BaiRecord(code, _fields(parts), begun, count)


def _split_line(line: str) -> list[str]:
    """The records of a line: mostly one, but where blanks stand for the ends of lines there are several."""
    return [part for each in _NEXT_RECORD.split(line) if (part := each.strip())]


def _fields(parts: list[str]) -> list[str]:
    # A continuation goes on with the next field, or with the text, which is the last one.
    return ",".join(part.removesuffix("/") for part in parts).split(",")


class _Account:
    """An account while its records come."""

    def __init__(self, record: BaiRecord, currency: str, day: str) -> None:
        self.number = record.fields[0]
        self.currency = (_at(record.fields, 1) or currency or USUAL_CURRENCY).upper()
        self.day = day
        self.line = record.line
        self.records = record.lines
        self.total = Decimal(0)
        self.rows: list[StatementRow] = []
        self.balances: dict[str, str] = {}
        self.counts: dict[str, str] = {}

    def amount(self, text: str) -> str:
        """An amount with its decimals; what is added to the control total is the number as it is printed."""
        self.total += Decimal(text)
        value = Decimal(text).scaleb(-DECIMALS.get(self.currency, 2))
        return f"{value:f}"


class _BaiFile:
    """The accounts of one file."""

    def __init__(self, problems: list[StatementProblem], decisions: list[str]) -> None:
        self._problems = problems
        self._decisions = decisions
        self._day = self._currency = ""
        self._account: _Account | None = None
        self._sections: list[StatementSection] = []
        self._last = ""
        self._line = 0

    def add(self, record: BaiRecord) -> None:
        self._last, self._line = record.code, record.line
        match record.code:
            case "02":
                self._end_account()
                self._day, self._currency = _at(record.fields, 3), _at(record.fields, 5)
            case "03":
                self._end_account()
                self._begin_account(record)
            case "16" if self._account is not None:
                self._transaction(self._account, record)
            case "49" if self._account is not None:
                self._check(self._account, record)
                self._end_account(is_whole=True)
            case "01" | "98" | "99":
                self._end_account()
            case _:
                self._problem("ROW_UNREADABLE", "a record that belongs to no account", record)

    def finish(self) -> list[StatementSection]:
        """All sections; a file that ends early is reported."""
        self._end_account()
        self._problems += broken_successions(self._sections)
        if self._last != FILE_END:
            place = RowPlace(line=self._line)
            message = "the last record is no 99: the file may be incomplete"
            self._problems.append(StatementProblem(code="FILE_CUT", message=message, place=place))
        return self._sections

    def _begin_account(self, record: BaiRecord) -> None:
        account = self._account = _Account(record, self._currency, self._day)
        fields = record.fields[2:]
        while fields:
            code, amount, count, funds, *fields = [*fields, "", "", ""]
            fields = _without_funds(funds, fields)
            while fields and not any(fields):
                fields = []
            if not amount:
                continue
            if not _AMOUNT.fullmatch(amount):
                self._problem("BALANCE_UNREADABLE", f"the amount of {code} is none", record)
                return
            account.balances[code] = account.amount(amount)
            account.counts[code] = count

    def _transaction(self, account: _Account, record: BaiRecord) -> None:
        account.records += record.lines
        code, amount, funds, *rest = [*record.fields, "", "", ""]
        if code == NO_MONEY and not amount.strip("0"):
            self._decisions.append(
                f"line {record.line} is a text about the account, no transaction"
            )
            return
        mark = _mark(code)
        if not mark or not _AMOUNT.fullmatch(amount) or not account.day:
            missing = "a date" if not account.day else "an amount and a code of credit or debit"
            self._problem("ROW_UNREADABLE", f"a transaction needs {missing}", record)
            if _AMOUNT.fullmatch(amount):
                account.total += Decimal(amount)
            return
        value_date = rest[0] if funds == "V" else ""
        bank, customer, *texts = [*_without_funds(funds, rest), "", ""]
        account.rows.append(
            StatementRow(
                place=RowPlace(line=record.line),
                date=account.day,
                value_date=value_date,
                description=",".join(texts).strip(", ") or customer or bank,
                amount=account.amount(amount),
                mark=mark,
                reference=bank.strip(),
                more={
                    name: text.strip()
                    for name, text in (("type", code), ("customer_reference", customer))
                    if text.strip()
                },
            )
        )

    def _check(self, account: _Account, record: BaiRecord) -> None:
        """The trailer of an account: the sum of all amounts as they are printed, and how many records there were."""
        account.records += record.lines
        total, count = _at(record.fields, 0), _at(record.fields, 1)
        if _AMOUNT.fullmatch(total) and Decimal(total) != account.total:
            message = (
                f"the amounts of the account add up to {account.total}, its trailer says {total}"
            )
            self._problem("CONTROL_DIFFERS", message, record)
        if count.isdecimal() and int(count) != account.records:
            message = f"the account has {account.records} records, its trailer says {count}"
            self._problem("CONTROL_DIFFERS", message, record)

    def _end_account(self, *, is_whole: bool = False) -> None:
        account, self._account = self._account, None
        if account is None:
            return
        if not is_whole:
            place = RowPlace(line=account.line)
            message = "the account has no trailer (49): the file may be incomplete"
            self._problems.append(StatementProblem(code="FILE_CUT", message=message, place=place))
        names = {CREDITS: ("credits", "credit_count"), DEBITS: ("debits", "debit_count")}
        totals = {
            name: value
            for code, pair in names.items()
            for name, value in zip(
                pair, (account.balances.get(code, ""), account.counts.get(code, "")), strict=True
            )
            if value
        }
        self._sections.append(
            StatementSection(
                account=account.number,
                currency=account.currency,
                opening=account.balances.get(OPENING, ""),
                closing=account.balances.get(CLOSING, ""),
                closing_date=account.day,
                totals=totals,
                terms=TERMS,
                rows=account.rows,
            )
        )

    def _problem(self, code: str, message: str, record: BaiRecord) -> None:
        raw = ",".join([record.code, *record.fields])
        place = RowPlace(line=record.line)
        self._problems.append(StatementProblem(code=code, message=message, place=place, raw=raw))


def _mark(code: str) -> str:
    """C or D, by the code of a transaction; "" if it is neither."""
    if not code.isdecimal():
        return ""
    number = int(code)
    for mark, ranges in (("C", CREDIT_CODES), ("D", DEBIT_CODES)):
        if any(first <= number <= last for first, last in ranges):
            return mark
    return ""


def _without_funds(funds: str, fields: list[str]) -> list[str]:
    """The fields behind those of a funds type: V has a day and a time, S three amounts, D pairs of days and amounts."""
    if funds == "V":
        return fields[2:]
    if funds == "S":
        return fields[3:]
    if funds == "D":
        count = int(fields[0]) if fields and fields[0].isdecimal() else 0
        return fields[1 + 2 * min(count, len(fields)) :]
    return fields


def _at(fields: list[str], place: int) -> str:
    return fields[place].strip() if place < len(fields) else ""
