"""CODA: the account statements of Belgian banks, records of 128 columns (Febelfin, version 2).

`0` begins a file, `1` has the old balance, each `21` is a movement, `22` and `23` continue it, `31` to `33` inform
about it, `8` has the new balance, and `9` counts records and adds debits and credits up. A movement with a detail
number only takes apart the one above it and moves no money of its own. Amounts have three decimals.
"""

from decimal import Decimal

from stateward.pipelines.statements.fixed_fields import (
    BalanceField,
    FixedFile,
    FixedLine,
    OpenSection,
    add_problem,
    decimal_text,
)
from stateward.pipelines.statements.model import (
    ReadingTerms,
    RowPlace,
    StatementReading,
    StatementRow,
)

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


class CodaFile(FixedFile):
    """A CODA file; the statements in it are accounts."""

    format = "coda"
    width = 128
    name = "CODA"
    sections_are = "statements"
    begins_with = "account (record 1)"
    kind_at = slice(0, 1)
    trailer = "9"
    unended = "the account has no new balance (record 8)"
    terms = TERMS

    def __init__(self, reading: StatementReading) -> None:
        super().__init__(reading)
        self._details = 0
        self._is_detail = False
        self._moved = {"1": Decimal(0), "0": Decimal(0)}  # by their sign, in the file at hand

    def add(self, line: FixedLine, kind: str) -> None:
        """Take a record."""
        if kind not in ("0", "9"):
            self.records += 1
        match kind:
            case "0":
                self.end_section()
                self.records, self._moved = 0, {"1": Decimal(0), "0": Decimal(0)}
            case "1":
                self.end_section()
                self.open = _open_account(line)
            case "2" | "3" if self.open is not None:
                self._movement(self.open, line)
            case "4":
                self.reading.decisions.append(f"line {line.number} is a message of the bank")
            case "8" if self.open is not None:
                self.open.closing = CLOSING.read(line)
                self.open.facts["closing_date"] = line.at(58, 63)
                self.open.is_ended = True
            case "9":
                self.end_section()
                self._compare(line)
            case _:
                add_problem(self.reading, "ROW_UNREADABLE", "a record of no account", line)

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
            add_problem(self.reading, "ROW_UNREADABLE", "a movement without an amount", line)
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
        self.compare_count(line, line.at(17, 22), self.records)
        for name, sign, text in (
            ("debits", "1", line.at(23, 37)),
            ("credits", "0", line.at(38, 52)),
        ):
            value = decimal_text(text, DECIMALS)
            if value and Decimal(value) != self._moved[sign]:
                message = f"the {name} add up to {self._moved[sign]}, the trailer says {value}"
                add_problem(self.reading, "CONTROL_DIFFERS", message, line)

    def finish(self) -> None:
        """There are no further records."""
        super().finish()
        if self._details:
            said = f"{self._details} movements take others apart, and are not counted"
            self.reading.decisions.append(said)


def _open_account(line: FixedLine) -> OpenSection:
    structure = line.at(2, 2)
    places = {BELGIAN: ((6, 17), (19, 21)), BELGIAN_IBAN: ((6, 21), (40, 42))}
    number, currency = places.get(structure, ((6, 39), (40, 42)))
    return OpenSection(
        line,
        account=line.at(*number),
        currency=line.at(*currency),
        account_name=line.at(65, 90),
        opening=OPENING.read(line),
        opening_date=line.at(59, 64),
    )


read = CodaFile.read
