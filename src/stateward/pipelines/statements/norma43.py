"""Norma 43: the account statements of Spanish banks, records of 80 columns (AEB/CECA, Cuaderno 43).

`11` begins an account and has its opening balance and period, each `22` is a movement, `23` continues its text, `24`
tells the same amount in another currency, `33` has counts, sums and the closing balance, and `88` counts all records.
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
MARKS = {"1": "D", "2": "C"}
# ISO 4217 by number, for the currencies that accounts at Spanish banks have.
CURRENCIES = {
    "978": "EUR", "840": "USD", "826": "GBP", "756": "CHF", "392": "JPY", "752": "SEK", "578": "NOK", "208": "DKK",
    "985": "PLN", "484": "MXN", "124": "CAD", "036": "AUD", "724": "ESP", "504": "MAD", "986": "BRL", "156": "CNY",
    "203": "CZK", "348": "HUF", "946": "RON", "975": "BGN", "949": "TRY", "554": "NZD", "344": "HKD", "702": "SGD",
    "710": "ZAR", "376": "ILS", "784": "AED", "682": "SAR", "032": "ARS", "152": "CLP", "170": "COP", "604": "PEN",
    "858": "UYU", "012": "DZD", "788": "TND", "643": "RUB", "980": "UAH", "356": "INR", "410": "KRW", "764": "THB",
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


class Norma43File(FixedFile):
    """A file of Norma 43."""

    format = "norma43"
    width = 80
    name = "Norma 43"
    begins_with = "account (11)"
    kind_at = slice(0, 2)
    trailer = "88"
    unended = "the account has no closing balance (33)"
    terms = TERMS

    def __init__(self, reading: StatementReading) -> None:
        super().__init__(reading)
        self._equivalents = 0

    def add(self, line: FixedLine, kind: str) -> None:
        """Take a record."""
        account = self.open
        if kind != self.trailer:
            self.records += 1
        match kind:
            case "11":
                self.end_section()
                self.open = _open_account(line)
            case "22" if account is not None:
                self._movement(account, line)
            case "23" if account is not None:
                for text in (line.at(5, 42), line.at(43, 80)):
                    account.add_text(text)
            case "24":
                self._equivalents += 1
            case "33" if account is not None:
                account.closing = CLOSING.read(line)
                account.totals = _totals(line)
                account.is_ended = True
                self._compare_account(account, line)
            case "88":
                self.end_section()
                self._compare(line)
            case _:
                add_problem(self.reading, "ROW_UNREADABLE", "a record of no account", line)

    def _movement(self, account: OpenSection, line: FixedLine) -> None:
        amount, mark = decimal_text(line.at(29, 42), DECIMALS), MARKS.get(line.at(28, 28), "")
        if not amount or not mark:
            message = "a movement without an amount, or without debe and haber"
            add_problem(self.reading, "ROW_UNREADABLE", message, line)
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
                add_problem(self.reading, "CONTROL_DIFFERS", message, line)

    def _compare(self, line: FixedLine) -> None:
        """Compare the trailer with the records; some banks do not count those of another currency."""
        self.compare_count(line, line.at(21, 26), self.records, self.records - self._equivalents)


def _open_account(line: FixedLine) -> OpenSection:
    return OpenSection(
        line,
        account=line.at(3, 20),
        account_name=line.at(52, 77),
        currency=CURRENCIES.get(line.at(48, 50), line.at(48, 50)),
        opening=OPENING.read(line),
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


read = Norma43File.read
