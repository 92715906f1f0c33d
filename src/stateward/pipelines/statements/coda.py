"""CODA: the account statements of Belgian banks, records of 128 columns (Febelfin, version 2).

`0` begins a file, `1` has the old balance, each `21` is a movement, `22` and `23` continue it, `31` to `33` inform
about it, `8` has the new balance, and `9` counts records and adds debits and credits up. A movement with a detail
number only takes apart the one above it and moves no money of its own. Amounts have three decimals.
"""

from decimal import Decimal

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

WIDTH = 128
DECIMALS = 3
DEBIT = "1"
WHOLE = "0000"  # the detail number of a movement
NO_DATE = "000000"
BELGIAN, BELGIAN_IBAN = "0", "2"
STRUCTURED = "1"
SIGNS = {"0": "", DEBIT: "-"}
OPENING = BalanceField(43, 44, 58, DECIMALS, SIGNS)
CLOSING = BalanceField(42, 43, 57, DECIMALS, SIGNS)
TERMS = ReadingTerms(
    date_order="dmy",
    decimal=".",
    sign="marks",
    why={
        "date_order": "CODA dates start with the day",
        "decimal": "CODA amounts have three decimals",
        "sign": "a movement says debit or credit",
    },
)


def read(source: Source) -> StatementReading:
    """One section for each statement of the file."""
    reading = StatementReading(format="coda", sections=(), problems=[], decisions=[], late={})
    file = _CodaFile(reading)
    for line in fixed_lines(source, WIDTH):
        file.add(line)
    reading.sections = file.finish()
    if not file.sections:
        raise FatalFailure("the file is CODA, but holds no account (record 1)", code="NO_ROWS")
    said = f"CODA with {len(file.sections)} statements"
    reading.decisions = [*source.decisions, said, *reading.decisions]
    return reading


class _CodaFile:
    def __init__(self, reading: StatementReading) -> None:
        self._reading = reading
        self._open: OpenSection | None = None
        self._last: FixedLine | None = None
        self._records = 0
        self._details = 0
        self._is_detail = False
        self._moved = {"1": Decimal(0), "0": Decimal(0)}  # by their sign, in the file at hand
        self.sections: list[StatementSection] = []

    def add(self, line: FixedLine) -> None:
        self._last = line
        kind = line.text[:1]
        if kind not in ("0", "9"):
            self._records += 1
        match kind:
            case "0":
                self._end()
                self._records, self._moved = 0, {"1": Decimal(0), "0": Decimal(0)}
            case "1":
                self._end()
                self._open = _open_account(self._reading, line)
            case "2" | "3" if self._open is not None:
                self._movement(self._open, line)
            case "4":
                self._reading.decisions.append(f"line {line.number} is a message of the bank")
            case "8" if self._open is not None:
                self._open.facts["closing"] = CLOSING.read(self._reading, line)
                self._open.facts["closing_date"] = line.at(58, 63)
                self._open.is_ended = True
            case "9":
                self._end()
                self._compare(line)
            case _:
                add_problem(self._reading, "ROW_UNREADABLE", "a record of no account", line)

    def _movement(self, account: OpenSection, line: FixedLine) -> None:
        kind = line.text[:2]
        if kind == "21":
            self._is_detail = line.at(7, 10) != WHOLE
            if self._is_detail:
                self._details += 1
            else:
                self._begin(account, line)
        elif self._is_detail:
            return
        elif kind == "22":
            account.add_text(line.at(11, 63), " ")
            account.set(reference=line.at(64, 98))
        elif kind == "23":
            account.set(counterparty=line.at(48, 82))
            account.add_text(line.at(83, 125), " ")
        elif kind in ("31", "32", "33"):
            # Information of a known structure begins with the number of that structure.
            first = 44 if line.at(40, 40) == STRUCTURED else 41
            account.add_text(line.at(first, 113) if kind == "31" else line.at(11, 115))

    def _begin(self, account: OpenSection, line: FixedLine) -> None:
        sign, amount = line.at(32, 32), decimal_text(line.at(33, 47), DECIMALS)
        if not amount or sign not in ("0", "1"):
            add_problem(self._reading, "ROW_UNREADABLE", "a movement without an amount", line)
            account.lose()
            return
        self._moved[sign] += Decimal(amount)
        value_date = line.at(48, 53)
        account.begin(
            StatementRow(
                place=RowPlace(line=line.number),
                date=line.at(116, 121),
                value_date="" if value_date == NO_DATE else value_date,
                description=line.at(63, 115),
                amount=amount,
                mark="D" if sign == DEBIT else "C",
                reference="",
                more={"bank_reference": line.at(11, 31), "code": line.at(54, 61)},
            )
        )

    def _compare(self, line: FixedLine) -> None:
        """Compare the trailer with what was read since the header."""
        told = line.at(17, 22)
        if told.isdecimal() and int(told) != self._records:
            message = f"the file has {self._records} records, its trailer says {int(told)}"
            add_problem(self._reading, "CONTROL_DIFFERS", message, line)
        for name, sign, text in (
            ("debits", "1", line.at(23, 37)),
            ("credits", "0", line.at(38, 52)),
        ):
            value = decimal_text(text, DECIMALS)
            if value and Decimal(value) != self._moved[sign]:
                message = f"the {name} add up to {self._moved[sign]}, the trailer says {value}"
                add_problem(self._reading, "CONTROL_DIFFERS", message, line)

    def _end(self) -> None:
        section, self._open = self._open, None
        if section is None:
            return
        if not section.is_ended:
            message = "the account has no new balance (record 8): the file may be cut off"
            add_problem(self._reading, "FILE_CUT", message, section.line)
        self.sections.append(section.finish(TERMS))

    def finish(self) -> list[StatementSection]:
        self._end()
        if self._last is not None and self._last.text[:1] != "9":
            message = "the last record is no trailer (9): the file may be cut off"
            add_problem(self._reading, "FILE_CUT", message, self._last)
        if self._details:
            said = f"{self._details} movements take others apart, and are not counted"
            self._reading.decisions.append(said)
        return self.sections


def _open_account(reading: StatementReading, line: FixedLine) -> OpenSection:
    structure = line.at(2, 2)
    places = {BELGIAN: ((6, 17), (19, 21)), BELGIAN_IBAN: ((6, 21), (40, 42))}
    number, currency = places.get(structure, ((6, 39), (40, 42)))
    return OpenSection(
        line,
        account=line.at(*number),
        currency=line.at(*currency),
        account_name=line.at(65, 90),
        opening=OPENING.read(reading, line),
        opening_date=line.at(59, 64),
    )
