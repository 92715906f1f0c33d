"""What a reader gives: raw strings with their places, and how those strings are to be read.

A reader turns bytes into a `StatementReading`. It decides (`ReadingTerms`, each decision with its reason) but converts
nothing: strings stay as printed, and normalization reads them by the terms. A file that cannot be read at all is a
`FatalFailure` with a stable code; a row that cannot be read is a `StatementProblem`, never a silent loss.
"""

from collections.abc import Iterable

import msgspec


class RowPlace(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Where a row is in its file."""

    page: int = 0  # from 1; 0: the format has no pages
    line: int = 0  # line of a text or row of a sheet, from 1
    box: tuple[float, float, float, float] | None = None  # x0, top, x1, bottom in points


NO_PLACE = RowPlace()


class StatementRow(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """One transaction, exactly as printed."""

    place: RowPlace
    section: int = 0  # which section of the file, from 0; the parser numbers them
    date: str = ""  # booking date
    value_date: str = ""
    description: str = ""  # lines joined by "\n"
    amount: str = ""  # one signed or unsigned column
    debit: str = ""  # or two columns
    credit: str = ""
    mark: str = ""  # CR, DR, C, D, RC, RD, S, H, +, -: as printed
    balance: str = ""  # running balance
    currency: str = ""
    reference: str = ""  # the bank's own id (FITID, end-to-end id, …)
    counterparty: str = ""
    account: str = ""  # where one table holds several
    category: str = ""  # as the file says it; it stands in `more`, too, under its heading
    more: dict[str, str] = {}  # other columns by their printed heading
    note: str = ""  # a remark of the reader (fewer columns than the heading, …)


class ReadingTerms(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How the strings of a section are read; decided over the whole section.

    `sign` is "printed"; "flipped" (a card that prints charges as positive); "columns" (a debit and a credit
    column); "columns_signed" (two columns with signed amounts); "columns_absolute" (two columns whose headings
    decide, whatever sign is printed in them); "columns_swapped" (no headings, and by the balances the first of the
    two columns is credits); "marks" (a row without a mark keeps its printed sign); "marks_else_debit" or
    "marks_else_credit" (a row without a mark is one); "plus_else_debit" (an amount without a plus sign is a debit).
    `balances` is "printed", or "owed" where a positive balance is a debt, as cards print it; a mark beside a
    balance takes precedence.
    """

    date_order: str = ""  # "ymd", "dmy", "mdy", or "" = undecided (AMBIGUOUS_DATES)
    decimal: str = "."  # "." or ","
    sign: str = "printed"
    balances: str = "printed"
    era: int = 0  # years to subtract (543: Buddhist)
    why: dict[str, str] = {}  # name of the decision -> sentence


class StatementSection(msgspec.Struct, frozen=True, kw_only=True):
    """One statement of one account; a file may hold several. Texts are as printed."""

    account: str = ""
    account_name: str = ""
    bank: str = ""
    currency: str = ""
    opening: str = ""
    closing: str = ""
    opening_date: str = ""
    closing_date: str = ""
    period_from: str = ""
    period_to: str = ""
    totals: dict[str, str] = {}  # "debits", "credits", "count", "debit_count", "credit_count"
    # PDF: every amount on its pages is one of a row, a balance or a total.
    is_accounted: bool = False
    terms: ReadingTerms
    rows: Iterable[StatementRow]  # a stream where files may be long


class StatementProblem(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A row or a part of a file that could not be read, or not with certainty."""

    code: str
    message: str
    place: RowPlace = NO_PLACE
    raw: str = ""


class StatementReading(msgspec.Struct, kw_only=True):
    """A whole file. `problems` grows while rows are streamed."""

    format: str  # a key of `readers.READERS`, but "xlsx" for a sheet and "scan" for a picture
    sections: Iterable[StatementSection]
    problems: list[StatementProblem]
    decisions: list[str]  # sentences for the parse log
    late: dict[str, str] = {}  # facts printed below the rows of the only section: "closing", …
