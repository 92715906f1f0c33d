"""CNAB 240: account statements that Brazilian banks send to companies, records of 240 columns (FEBRABAN, segment E).

A batch is one account: its header (`1`) has the opening balance, each detail (`3`) of segment E is a movement, its
trailer (`5`) the closing balance, the number of records and both sums. `0` and `9` enclose the file. Batches of other
services, such as collections, are no statements.
"""

from stateward.core.errors import FatalFailure
from stateward.pipelines.statements.fixed_fields import (
    BalanceField,
    FixedLine,
    OpenSection,
    add_problem,
    decimal_text,
    fixed_lines,
)
from stateward.pipelines.statements.model import (
    ReadingTerms,
    RowPlace,
    StatementReading,
    StatementRow,
    StatementSection,
)
from stateward.pipelines.statements.source import Source

WIDTH = 240
DECIMALS = 2
STATEMENT = "E"
MARKS = frozenset({"C", "D"})
FREE = frozenset(
    {"", "DPV"}
)  # money that the holder can use; the other kinds are blocked or invested
BALANCE = BalanceField(169, 151, 168, DECIMALS, {"C": "", "D": "-"})
TERMS = ReadingTerms(
    date_order="dmy",
    decimal=".",
    sign="marks",
    why={
        "date_order": "CNAB dates start with the day",
        "decimal": "CNAB amounts have two decimals",
        "sign": "a movement says debit or credit",
    },
)


def read(source: Source) -> StatementReading:
    """One section for each batch that is a statement."""
    reading = StatementReading(format="cnab240", sections=(), problems=[], decisions=[], late={})
    file = _CnabFile(reading)
    for line in fixed_lines(source, WIDTH):
        file.add(line)
    reading.sections = file.finish()
    if not file.sections:
        raise FatalFailure(
            "the file is CNAB 240, but holds no statement (segment E)", code="NO_ROWS"
        )
    said = f"CNAB 240 with {len(file.sections)} accounts"
    reading.decisions = [*source.decisions, said, *reading.decisions]
    return reading


class _CnabFile:
    def __init__(self, reading: StatementReading) -> None:
        self._reading = reading
        self._open: OpenSection | None = None
        self._last: FixedLine | None = None
        self._records = 0
        self._is_other = False  # a batch that is no statement
        self.sections: list[StatementSection] = []

    def add(self, line: FixedLine) -> None:
        self._last = line
        self._records += 1
        account = self._open
        if account is not None:
            account.records += 1
        match line.text[7]:
            case "1":
                self._end()
                self._is_other = line.at(9, 9) != STATEMENT
                if not self._is_other:
                    self._open = _open_account(self._reading, line)
                else:
                    said = f"line {line.number} begins a batch that is no statement"
                    self._reading.decisions.append(said)
            case "3" if account is not None:
                self._movement(account, line)
            case "5":
                if account is not None:
                    self._close(account, line)
                self._end()
                self._is_other = False
            case "3" if line.at(14, 14) == STATEMENT and not self._is_other:
                add_problem(self._reading, "ROW_UNREADABLE", "a movement of no account", line)
            case "0" | "3":
                pass
            case "9":
                self._end()
                self._compare(line)
            case _:
                add_problem(self._reading, "ROW_UNREADABLE", "a record of no known kind", line)

    def _movement(self, account: OpenSection, line: FixedLine) -> None:
        if line.at(14, 14) != STATEMENT:
            account.add_text(line.at(18, 240))
            return
        amount, mark = decimal_text(line.at(151, 168), DECIMALS), line.at(169, 169)
        if not amount or mark not in MARKS:
            add_problem(self._reading, "ROW_UNREADABLE", "a movement without an amount", line)
            account.lose()
            return
        kind = line.at(109, 111)
        more = {"category": line.at(170, 172), "code": line.at(173, 176), "kind": kind}
        account.begin(
            StatementRow(
                place=RowPlace(line=line.number),
                date=_day(line.at(143, 150)) or _day(line.at(135, 142)),
                value_date=_day(line.at(135, 142)),
                description=line.at(177, 201),
                amount=amount,
                mark=mark,
                reference=line.at(202, 240),
                more={name: text for name, text in more.items() if text},
            )
        )
        if kind not in FREE:
            message = f"a movement of the kind {kind!r}, which may not be of the balance"
            add_problem(self._reading, "STATUS_UNKNOWN", message, line)

    def _close(self, account: OpenSection, line: FixedLine) -> None:
        account.facts["closing"] = BALANCE.read(self._reading, line)
        account.facts["closing_date"] = _day(line.at(143, 150))
        totals = {
            "debits": decimal_text(line.at(177, 194), DECIMALS),
            "credits": decimal_text(line.at(195, 212), DECIMALS),
        }
        account.totals = {name: text for name, text in totals.items() if text}
        account.is_ended = True
        told = line.at(171, 176)
        if told.isdecimal() and int(told) != account.records + 1:
            message = f"the batch has {account.records + 1} records, its trailer says {int(told)}"
            add_problem(self._reading, "CONTROL_DIFFERS", message, line)

    def _compare(self, line: FixedLine) -> None:
        told = line.at(24, 29)
        if told.isdecimal() and int(told) != self._records:
            message = f"the file has {self._records} records, its trailer says {int(told)}"
            add_problem(self._reading, "CONTROL_DIFFERS", message, line)

    def _end(self) -> None:
        section, self._open = self._open, None
        if section is None:
            return
        if not section.is_ended:
            message = "the batch has no trailer (5): the file may be cut off"
            add_problem(self._reading, "FILE_CUT", message, section.line)
        self.sections.append(section.finish(TERMS))

    def finish(self) -> list[StatementSection]:
        self._end()
        if self._last is not None and self._last.text[7] != "9":
            message = "the last record is no trailer (9): the file may be cut off"
            add_problem(self._reading, "FILE_CUT", message, self._last)
        return self.sections


def _open_account(reading: StatementReading, line: FixedLine) -> OpenSection:
    return OpenSection(
        line,
        account=f"{line.at(59, 70)}{line.at(71, 71)}",
        account_name=line.at(73, 102),
        bank=line.at(1, 3),
        currency=line.at(171, 173),
        opening=BALANCE.read(reading, line),
        opening_date=_day(line.at(143, 150)),
    )


def _day(text: str) -> str:
    """A date with its signs; "" if the field is empty or zero."""
    return f"{text[:2]}/{text[2:4]}/{text[4:]}" if len(text) == 8 and text.strip("0") else ""
