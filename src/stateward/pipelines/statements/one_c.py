"""1C exchange: the text that banks of Russia, Kazakhstan and their neighbours write for the accounting program 1C.

Each line is a name and a value. A section of an account has its period and balances, a section of a document is a
payment: what the account paid if it is the payer's, what it got if it is the payee's. The last line ends the file.
"""

import re
from collections.abc import Iterator

import msgspec

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

ACCOUNT, ACCOUNT_END = "СекцияРасчСчет", "КонецРасчСчет"
DOCUMENT, DOCUMENT_END = "СекцияДокумент", "КонецДокумента"
FILE_END = "КонецФайла"
ENCODINGS = ("utf-8-sig", "cp1251", "cp866", "koi8-r", "utf-16")
# The digits of an account number that tell its currency, from the sixth.
CURRENCIES = {
    "810": "RUB",
    "643": "RUB",
    "840": "USD",
    "978": "EUR",
    "156": "CNY",
    "826": "GBP",
    "398": "KZT",
}
_ACCOUNT_NUMBER = re.compile(r"[0-9]{5}([0-9]{3})[0-9]{12}")
TERMS = ReadingTerms(
    date_order="dmy",
    decimal=".",
    sign="marks",
    why={
        "date_order": "dates of the 1C exchange start with the day",
        "decimal": "amounts of the 1C exchange have a decimal point",
        "sign": "a payment names the accounts of payer and payee",
    },
)


class ExchangeBlock(msgspec.Struct):
    """The names and values of a section, and the line on which it begins."""

    line: int
    kind: str
    values: dict[str, str]
    is_ended: bool = False

    def value(self, *names: str) -> str:
        """The first value that is filled."""
        return next((found for name in names if (found := self.values.get(name, ""))), "")


def read(source: Source) -> StatementReading:
    """A section for each account of the file."""
    text = _text(source)
    problems: list[StatementProblem] = []
    blocks = [*_blocks(text)]
    if FILE_END not in text or not all(block.is_ended for block in blocks):
        message = (
            f"the last line is not {FILE_END!r}, or a section has no end: the file may be cut off"
        )
        problems.append(StatementProblem(code="FILE_CUT", message=message))
    accounts = [block for block in blocks if block.kind == ACCOUNT and block.value("РасчСчет")]
    numbers = [*dict.fromkeys(block.value("РасчСчет") for block in accounts)]
    if not numbers:
        raise FatalFailure(
            "the 1C exchange tells of no account; ask the bank for a statement", code="NO_ROWS"
        )
    payments = [block for block in blocks if block.kind == DOCUMENT]
    for block in payments:
        if not {block.value(*PAYER), block.value(*PAYEE)} & {*numbers}:
            _add(
                problems,
                block,
                "ROW_UNREADABLE",
                "neither payer nor payee has an account of this file",
            )
    sections = [_section(number, accounts, payments, problems) for number in numbers]
    return StatementReading(
        format="one_c", sections=sections, problems=problems, decisions=[*source.decisions]
    )


PAYER, PAYEE = ("ПлательщикСчет", "ПлательщикРасчСчет"), ("ПолучательСчет", "ПолучательРасчСчет")


def _text(source: Source) -> str:
    """The text, in the encoding in which the names of its sections are written."""
    raw = source.raw()
    for encoding in (source.hints.encoding, *ENCODINGS):
        if not encoding:
            continue
        text = raw.decode(encoding, "replace")
        if ACCOUNT in text or DOCUMENT in text:
            source.decisions.append(f"the text is {encoding}: {ACCOUNT!r} is written so")
            source.encoding_doubt = ""
            return text
    raise FatalFailure("the 1C exchange has no section; download it again", code="NO_ROWS")


def _blocks(text: str) -> Iterator[ExchangeBlock]:
    block: ExchangeBlock | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        name, _, value = (part.strip() for part in line.partition("="))
        if name in (ACCOUNT, DOCUMENT):
            if block is not None:
                yield block
            block = ExchangeBlock(number, name, {"": value})
        elif block is not None and name in (ACCOUNT_END, DOCUMENT_END):
            block.is_ended = True
            yield block
            block = None
        elif block is not None and name:
            block.values.setdefault(name, value)
    if block is not None:
        yield block


def _section(
    number: str,
    accounts: list[ExchangeBlock],
    payments: list[ExchangeBlock],
    problems: list[StatementProblem],
) -> StatementSection:
    own = [block for block in accounts if block.value("РасчСчет") == number]
    rows = [row for block in payments for row in _rows(number, block, problems)]
    first, last = own[0], own[-1]
    found = _ACCOUNT_NUMBER.fullmatch(number)
    totals = {"debits": first.value("ВсегоСписано"), "credits": first.value("ВсегоПоступило")}
    return StatementSection(
        account=number,
        currency=CURRENCIES.get(found[1], "") if found else "",
        opening=first.value("НачальныйОстаток"),
        closing=last.value("КонечныйОстаток"),
        period_from=first.value("ДатаНачала"),
        period_to=last.value("ДатаКонца"),
        totals={name: text for name, text in totals.items() if text and len(own) == 1},
        terms=TERMS,
        rows=rows,
    )


def _rows(
    number: str, block: ExchangeBlock, problems: list[StatementProblem]
) -> Iterator[StatementRow]:
    """The rows that a payment makes for an account: one, or both sides of a payment to itself."""
    for mark, account, day, other in (
        ("D", PAYER, "ДатаСписано", "Получатель"),
        ("C", PAYEE, "ДатаПоступило", "Плательщик"),
    ):
        if block.value(*account) != number:
            continue
        if not block.value(day):
            _add(
                problems,
                block,
                "BOOKING_UNPROVEN",
                f"the payment has no {day!r}: it may not be booked",
            )
        lines = ("НазначениеПлатежа", *(f"НазначениеПлатежа{n}" for n in range(1, 7)))
        texts = [text for name in lines if (text := block.value(name))]
        yield StatementRow(
            place=RowPlace(line=block.line),
            date=block.value(day, "Дата"),
            description=texts[0] if len(texts) < 2 else " ".join(dict.fromkeys(texts)),
            amount=block.value("Сумма"),
            mark=mark,
            reference=block.value("Номер"),
            counterparty=block.value(other, f"{other}1"),
            more={"document": block.value("")},
        )


def _add(problems: list[StatementProblem], block: ExchangeBlock, code: str, message: str) -> None:
    problems.append(StatementProblem(code=code, message=message, place=RowPlace(line=block.line)))
