"""Norma 43: the account statements of Spanish banks, records of 80 columns (AEB/CECA, Cuaderno 43).

`11` begins an account and has its opening balance and period, each `22` is a movement, `23` continues its text, `24`
tells the same amount in another currency, `33` has counts, sums and the closing balance, and `88` counts all records.
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

WIDTH = 80
DECIMALS = 2
MARKS = {"1": "D", "2": "C"}
# ISO 4217 by number, for the currencies that accounts at Spanish banks have.
CURRENCIES = {
    "978": "EUR", "840": "USD", "826": "GBP", "756": "CHF", "392": "JPY", "752": "SEK", "578": "NOK", "208": "DKK",
    "985": "PLN", "484": "MXN", "124": "CAD", "036": "AUD", "724": "ESP", "504": "MAD", "986": "BRL", "156": "CNY",
}  # fmt: skip
SIGNS = {"1": "-", "2": ""}
OPENING = BalanceField(33, 34, 47, DECIMALS, SIGNS)
CLOSING = BalanceField(59, 60, 73, DECIMALS, SIGNS)
TERMS = ReadingTerms(
    date_order="ymd",
    decimal=".",
    sign="marks",
    why={
        "date_order": "dates of Norma 43 start with the year",
        "decimal": "amounts of Norma 43 have two decimals",
        "sign": "a movement says debe or haber",
    },
)


def read(source: Source) -> StatementReading:
    """One section for each account of the file."""
    reading = StatementReading(format="norma43", sections=(), problems=[], decisions=[], late={})
    file = _Norma43File(reading)
    for line in fixed_lines(source, WIDTH):
        file.add(line)
    reading.sections = file.finish()
    if not file.sections:
        raise FatalFailure("the file is Norma 43, but holds no account (11)", code="NO_ROWS")
    said = f"Norma 43 with {len(file.sections)} accounts"
    reading.decisions = [*source.decisions, said, *reading.decisions]
    return reading


class _Norma43File:
    def __init__(self, reading: StatementReading) -> None:
        self._reading = reading
        self._open: OpenSection | None = None
        self._last: FixedLine | None = None
        self._records = self._equivalents = 0
        self.sections: list[StatementSection] = []

    def add(self, line: FixedLine) -> None:
        self._last = line
        kind, account = line.text[:2], self._open
        if kind != "88":
            self._records += 1
        match kind:
            case "11":
                self._end()
                self._open = _open_account(self._reading, line)
            case "22" if account is not None:
                self._movement(account, line)
            case "23" if account is not None:
                for text in (line.at(5, 42), line.at(43, 80)):
                    account.add_text(text)
            case "24":
                self._equivalents += 1
            case "33" if account is not None:
                account.facts["closing"] = CLOSING.read(self._reading, line)
                account.totals = _totals(line)
                account.is_ended = True
                self._compare_account(account, line)
            case "88":
                self._end()
                self._compare(line)
            case _:
                add_problem(self._reading, "ROW_UNREADABLE", "a record of no account", line)

    def _movement(self, account: OpenSection, line: FixedLine) -> None:
        amount, mark = decimal_text(line.at(29, 42), DECIMALS), MARKS.get(line.at(28, 28), "")
        if not amount or not mark:
            message = "a movement without an amount, or without debe and haber"
            add_problem(self._reading, "ROW_UNREADABLE", message, line)
            account.lose()
            return
        reference = next((t for t in (line.at(53, 64), line.at(65, 80)) if t.strip("0")), "")
        account.begin(
            StatementRow(
                place=RowPlace(line=line.number),
                date=line.at(11, 16),
                value_date=line.at(17, 22),
                amount=amount,
                mark=mark,
                reference=reference,
                more={"concept": line.at(23, 24), "document": line.at(43, 52)},
            )
        )

    def _compare_account(self, account: OpenSection, line: FixedLine) -> None:
        """Compare the account and the currency of a closing balance with those of its opening."""
        begun = account.line
        for name, told, own in (
            ("account", line.at(3, 20), begun.at(3, 20)),
            ("currency", line.at(74, 76), begun.at(48, 50)),
        ):
            if told and told != own:
                message = f"the closing balance is of the {name} {told}, the movements of {own}"
                add_problem(self._reading, "CONTROL_DIFFERS", message, line)

    def _compare(self, line: FixedLine) -> None:
        """Compare the trailer with the records; some banks do not count those of another currency."""
        told = line.at(21, 26)
        if told.isdecimal() and int(told) not in (self._records, self._records - self._equivalents):
            message = f"the file has {self._records} records, its trailer says {int(told)}"
            add_problem(self._reading, "CONTROL_DIFFERS", message, line)

    def _end(self) -> None:
        section, self._open = self._open, None
        if section is None:
            return
        if not section.is_ended:
            message = "the account has no closing balance (33): the file may be cut off"
            add_problem(self._reading, "FILE_CUT", message, section.line)
        self.sections.append(section.finish(TERMS))

    def finish(self) -> list[StatementSection]:
        self._end()
        if self._last is not None and self._last.text[:2] != "88":
            message = "the last record is no trailer (88): the file may be cut off"
            add_problem(self._reading, "FILE_CUT", message, self._last)
        return self.sections


def _open_account(reading: StatementReading, line: FixedLine) -> OpenSection:
    return OpenSection(
        line,
        account=line.at(3, 20),
        account_name=line.at(52, 77),
        currency=CURRENCIES.get(line.at(48, 50), ""),
        opening=OPENING.read(reading, line),
        period_from=line.at(21, 26),
        period_to=line.at(27, 32),
    )


def _totals(line: FixedLine) -> dict[str, str]:
    found = {
        "debit_count": line.at(21, 25),
        "debits": decimal_text(line.at(26, 39), DECIMALS),
        "credit_count": line.at(40, 44),
        "credits": decimal_text(line.at(45, 58), DECIMALS),
    }
    return {name: text for name, text in found.items() if text}
