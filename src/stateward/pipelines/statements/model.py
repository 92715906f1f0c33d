"""What a reader hands over: raw strings with their places, and how those strings are to be read.

A reader turns bytes into a `Reading`. It decides (`Terms`, each decision with its reason) but converts nothing:
what was printed stays as printed, and normalization reads it by the terms. A file that cannot be read at all
is a `FatalFailure` with a stable code; a row that cannot be read is a `Problem`, never a silent loss.
"""

from collections.abc import Iterable

import msgspec


class Place(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Where a row stands in its source."""

    page: int = 0  # from 1; 0: has none
    line: int = 0  # line of text or row of a sheet, from 1
    box: tuple[float, float, float, float] | None = None  # x0, top, x1, bottom in points


NOWHERE = Place()


class Row(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """One transaction, exactly as printed."""

    place: Place
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
    more: dict[str, str] = {}  # other columns by their printed heading
    note: str = ""  # a reader's remark about this row (fewer columns than the heading, …)


class Terms(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How the strings of a section are read; decided over the whole section.

    `sign` is "printed"; "flipped" (a card that prints charges as positive); "columns" (debit out, credit in);
    "columns_signed" (two columns that carry their own sign); "columns_swapped" (no headings, and the balances say
    that the first of the two is money in); "marks", where a row without a mark keeps its
    printed sign; or "marks_else_debit" and "marks_else_credit", where it does not. `balances` is "printed", or
    "owed" where a positive balance is a debt, as cards print it; a mark beside a balance still says its own.
    """

    date_order: str = ""  # "ymd", "dmy", "mdy", or "" = undecided (AMBIGUOUS_DATES)
    decimal: str = "."  # "." or ","
    sign: str = "printed"
    balances: str = "printed"
    era: int = 0  # years to subtract (543: Buddhist)
    why: dict[str, str] = {}  # name of the decision -> sentence


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """One account's one statement; a file may hold several. Texts are raw, as printed."""

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
    terms: Terms
    rows: Iterable[Row]  # a stream for long files


class Problem(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A row or a part that could not be read, or not surely; never silent."""

    code: str
    message: str
    place: Place = NOWHERE
    raw: str = ""


class Reading(msgspec.Struct, kw_only=True):
    """A whole file, read. `problems` grows while rows are streamed."""

    format: str  # "pdf", "csv", "xlsx", "ofx", "qif", "mt940", "camt"
    sections: Iterable[Section]
    problems: list[Problem]
    decisions: list[str]  # sentences for the parse log
    late: dict[str, str] = {}  # facts of the only section that stand below its rows: "closing", …
