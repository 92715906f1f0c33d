"""CNAB 240: account statements that Brazilian banks send to companies, records of 240 columns (FEBRABAN, segment E).

A batch is one account: its header (`1`) has the opening balance, each detail (`3`) of segment E is a movement, its
trailer (`5`) the closing balance, the number of records and both sums. `0` and `9` enclose the file. Batches of other
services, such as collections, are no statements.
"""

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

DECIMALS = 2
STATEMENT = "E"
MARKS = frozenset({"C", "D"})
# Money that the holder can use; the other kinds are blocked or invested.
FREE = frozenset({"", "DPV"})
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


class CnabFile(FixedFile):
    """A file of CNAB 240; each batch that is a statement is an account."""

    format = "cnab240"
    width = 240
    name = "CNAB 240"
    begins_with = "statement (segment E)"
    kind_at = slice(7, 8)
    trailer = "9"
    unended = "the batch has no trailer (5)"
    terms = TERMS

    def __init__(self, reading: StatementReading) -> None:
        super().__init__(reading)
        self._is_other = False  # a batch that is no statement

    def add(self, line: FixedLine, kind: str) -> None:
        """Take a record."""
        self.records += 1
        account = self.open
        if account is not None:
            account.records += 1
        match kind:
            case "1":
                self.end_section()
                self._is_other = line.at(9, 9) != STATEMENT
                if not self._is_other:
                    self.open = _open_account(line)
                else:
                    said = f"line {line.number} begins a batch that is no statement"
                    self.reading.decisions.append(said)
            case "3" if account is not None:
                self._movement(account, line)
            case "5":
                if account is not None:
                    self._close(account, line)
                self.end_section()
                self._is_other = False
            case "3" if line.at(14, 14) == STATEMENT and not self._is_other:
                add_problem(self.reading, "ROW_UNREADABLE", "a movement of no account", line)
            case "0" | "3":
                pass
            case "9":
                self.end_section()
                self.compare_count(line, line.at(24, 29), self.records)
            case _:
                add_problem(self.reading, "ROW_UNREADABLE", "a record of no known kind", line)

    def _movement(self, account: OpenSection, line: FixedLine) -> None:
        if line.at(14, 14) != STATEMENT:
            account.add_text(line.at(18, 240))
            return
        amount, mark = decimal_text(line.at(151, 168), DECIMALS), line.at(169, 169)
        if not amount or mark not in MARKS:
            add_problem(self.reading, "ROW_UNREADABLE", "a movement without an amount", line)
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
            add_problem(self.reading, "STATUS_UNKNOWN", message, line)

    def _close(self, account: OpenSection, line: FixedLine) -> None:
        account.closing = BALANCE.read(line)
        account.facts["closing_date"] = _day(line.at(143, 150))
        totals = {
            "debits": decimal_text(line.at(177, 194), DECIMALS),
            "credits": decimal_text(line.at(195, 212), DECIMALS),
        }
        account.totals = {name: text for name, text in totals.items() if text}
        account.is_ended = True
        self.compare_count(line, line.at(171, 176), account.records + 1, of="batch")


def _open_account(line: FixedLine) -> OpenSection:
    return OpenSection(
        line,
        account=f"{line.at(59, 70)}{line.at(71, 71)}",
        account_name=line.at(73, 102),
        bank=line.at(1, 3),
        currency=line.at(171, 173),
        opening=BALANCE.read(line),
        opening_date=_day(line.at(143, 150)),
    )


def _day(text: str) -> str:
    """A date with its signs; "" if the field is empty or zero."""
    return f"{text[:2]}/{text[2:4]}/{text[4:]}" if len(text) == 8 and text.strip("0") else ""


read = CnabFile.read
