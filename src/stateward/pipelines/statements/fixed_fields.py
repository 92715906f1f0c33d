"""What statements of fixed width have in common: fields by columns, amounts without a point, a section at a time.

A reader of such a format knows its columns; nothing is guessed here. A field that should be an amount and is none is
reported with its line, and a file that ends without its trailer is said to be cut off.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import ClassVar, NamedTuple

from msgspec.structs import replace

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit import money
from stateward.pipelines.statements.interpret import signed_amount
from stateward.pipelines.statements.model import (
    ReadingTerms,
    RowPlace,
    StatementProblem,
    StatementReading,
    StatementRow,
    StatementSection,
)
from stateward.pipelines.statements.source import Source

_CURRENCY = re.compile(r"[A-Z]{3}")


class FixedLine(NamedTuple):
    """One record of the file, filled up with blanks to its width."""

    number: int
    text: str

    def at(self, first: int, last: int) -> str:
        """The columns from first to last, counted from 1, without blanks around them."""
        return self.text[first - 1 : last].strip()


def fixed_lines(source: Source, width: int) -> Iterator[FixedLine]:
    """The records of a file that are not empty."""
    for number, line in enumerate(source.text().lstrip("\ufeff").splitlines(), start=1):
        text = line.rstrip("\r\x1a")
        if text.strip():
            yield FixedLine(number, text.ljust(width))


def decimal_text(digits: str, decimals: int) -> str:
    """An amount of digits alone as a number with its point; "" if it is none."""
    if not digits.isdecimal() or not digits.isascii():
        return ""
    return f"{Decimal(digits).scaleb(-decimals):f}"


class BalanceField(NamedTuple):
    """A balance: where its sign and its digits stand, and what the signs mean."""

    sign: int
    first: int
    last: int
    decimals: int
    signs: Mapping[str, str]

    def read(self, line: FixedLine) -> "ReadBalance":
        """The balance of a record; one that is left empty is none, and nothing needs no sign."""
        mark, digits = line.at(self.sign, self.sign), line.at(self.first, self.last)
        value = decimal_text(digits, self.decimals)
        is_nothing = bool(value) and not Decimal(value)
        if not digits or is_nothing:
            return ReadBalance(value)
        doubt = f"the balance {mark}{digits} has no amount, or no known sign"
        if not value or mark not in self.signs:
            return ReadBalance(value, doubt, line)
        return ReadBalance(f"{self.signs[mark]}{value}")


class ReadBalance(NamedTuple):
    """A balance as text; without its sign, or empty, where there is a doubt."""

    value: str
    doubt: str = ""
    line: FixedLine = FixedLine(0, "")


class OpenSection:
    """One account while its records come."""

    def __init__(self, line: FixedLine, opening: ReadBalance, **facts: str) -> None:
        self.line = line
        self.opening = opening
        self.closing = ReadBalance("")
        self.facts = facts
        self.totals: dict[str, str] = {}
        self.rows: list[StatementRow] = []
        self.records = 0
        self.is_ended = False
        self._is_lost = False

    def begin(self, row: StatementRow) -> None:
        """Take a movement; the records that follow continue it."""
        self.rows.append(row)
        self._is_lost = False

    def lose(self) -> None:
        """A movement could not be read: the records that follow continue no other."""
        self._is_lost = True

    def add_text(self, text: str, sign: str = "\n") -> None:
        """Continue the description of the last row."""
        if text and self.rows and not self._is_lost:
            row = self.rows[-1]
            said = f"{row.description}{sign}{text}" if row.description else text
            self.rows[-1] = replace(row, description=said)

    def set(self, **fields: str) -> None:
        """Set fields of the last row that are still empty."""
        if self.rows and not self._is_lost:
            row = self.rows[-1]
            given = {name: text for name, text in fields.items() if text and not getattr(row, name)}
            self.rows[-1] = replace(row, **given)

    def finish(self, terms: ReadingTerms) -> tuple[StatementSection, list[ReadBalance]]:
        """The section, and the balances that could not be read: those have a sign that only the movements tell."""
        total = sum((signed_amount(row, terms) for row in self.rows), Decimal(0))
        opening, closing = self.opening, self.closing
        if closing.doubt and not opening.doubt:
            closing = _with_sign(closing, opening.value and Decimal(opening.value) + total)
        elif opening.doubt and not closing.doubt:
            opening = _with_sign(opening, closing.value and Decimal(closing.value) - total)
        doubted = [each for each in (opening, closing) if each.doubt]
        section = StatementSection(
            totals=self.totals,
            terms=terms,
            rows=self.rows,
            opening="" if opening.doubt else opening.value,
            closing="" if closing.doubt else closing.value,
            **self.facts,  # type: ignore[arg-type]
        )
        return section, doubted


def _with_sign(balance: ReadBalance, expected: Decimal | str) -> ReadBalance:
    """A balance of no known sign with that of what the movements lead to, if it is that."""
    is_proven = bool(balance.value and expected) and abs(Decimal(expected)) == Decimal(
        balance.value
    )
    return ReadBalance(f"{Decimal(expected):f}") if is_proven else balance


def add_problem(reading: StatementReading, code: str, message: str, line: FixedLine) -> None:
    """Report a record."""
    place = RowPlace(line=line.number)
    raw = line.text.rstrip()
    reading.problems.append(StatementProblem(code=code, message=message, place=place, raw=raw))


class FixedFile(ABC):
    """One file while its records come. A format says in `add` where its accounts begin and end."""

    format: ClassVar[str]
    width: ClassVar[int]
    name: ClassVar[str]
    """As people call the format."""
    sections_are: ClassVar[str] = "accounts"
    begins_with: ClassVar[str]
    """What an account begins with."""
    kind_at: ClassVar[slice]
    """The columns that tell the kind of a record."""
    trailer: ClassVar[str]
    unended: ClassVar[str]
    """What an account that does not end is without."""
    terms: ClassVar[ReadingTerms]

    def __init__(self, reading: StatementReading) -> None:
        self.reading = reading
        self.open: OpenSection | None = None
        self.records = 0
        self.sections: list[StatementSection] = []
        self._last: FixedLine | None = None

    @classmethod
    def read(cls, source: Source) -> StatementReading:
        """One section for each account of a file."""
        reading = StatementReading(
            format=cls.format, sections=(), problems=[], decisions=[], late={}
        )
        file = cls(reading)
        for line in fixed_lines(source, cls.width):
            file._last = line
            file.add(line, line.text[cls.kind_at])
        file.finish()
        if not file.sections:
            message = f"the file is {cls.name}, but holds no {cls.begins_with}"
            raise FatalFailure(message, code="NO_ROWS")
        reading.sections = file.sections
        said = f"{cls.name} with {len(file.sections)} {cls.sections_are}"
        reading.decisions = [*source.decisions, said, *reading.decisions]
        return reading

    @abstractmethod
    def add(self, line: FixedLine, kind: str) -> None:
        """Take a record."""

    def end_section(self) -> None:
        """The open account has no further records."""
        section, self.open = self.open, None
        if section is None:
            return
        if not section.is_ended:
            message = f"{self.unended}: the file may be cut off"
            add_problem(self.reading, "FILE_CUT", message, section.line)
        currency = section.facts.get("currency", "")
        if currency and not _CURRENCY.fullmatch(money.currency_code(currency)):
            section.facts["currency"] = ""
            message = f"the currency {currency!r} is unknown"
            add_problem(self.reading, "CURRENCY_UNKNOWN", message, section.line)
        finished, doubted = section.finish(self.terms)
        for balance in doubted:
            add_problem(self.reading, "BALANCE_UNREADABLE", balance.doubt, balance.line)
        self.sections.append(finished)

    def finish(self) -> None:
        """There are no further records."""
        self.end_section()
        if self._last is not None and self._last.text[self.kind_at] != self.trailer:
            message = f"the last record is no trailer ({self.trailer}): the file may be cut off"
            add_problem(self.reading, "FILE_CUT", message, self._last)

    def compare_count(self, line: FixedLine, told: str, *counts: int, of: str = "file") -> None:
        """Compare the number of records that a trailer tells with those that were read."""
        if told.isdecimal() and int(told) not in counts:
            message = f"the {of} has {counts[0]} records, its trailer says {int(told)}"
            add_problem(self.reading, "CONTROL_DIFFERS", message, line)
