"""Other whole readings of a file whose usual reading proves nothing, and which of them is proven.

The usual reading trusts names: of columns, of balances, of titles. Where what it gives does not add up, the same lines
are read again by what does not depend on names. Such a reading counts only if its balances prove it, and if no other
one that they prove says something else.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import pairwise
from operator import gt, lt

from msgspec.structs import replace

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit import dates
from stateward.pipelines.kit.pdf.lines import cells_of
from stateward.pipelines.kit.pdf.pages import PdfPage
from stateward.pipelines.statements import interpret
from stateward.pipelines.statements.model import StatementReading, StatementRow
from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.aligned_columns import (
    FigureColumn,
    figure_columns,
    figures_of,
    role_choices,
)
from stateward.pipelines.statements.pdf.assembly import Assembler
from stateward.pipelines.statements.pdf.columns import TableColumn, TableHeading
from stateward.pipelines.statements.pdf.fields import parse_line
from stateward.pipelines.statements.pdf.inferred_heading import unnamed_dates
from stateward.pipelines.statements.pdf.row_layout import is_amount_last
from stateward.pipelines.statements.pdf.tables import PdfTable, put_dates_up
from stateward.pipelines.statements.pdf.tokens import StatementLine, has_decimals
from stateward.pipelines.statements.source import Hints

# What the usual reading may be flagged with although another one is right; what else it says stands.
CURABLE = frozenset(
    {
        "AMBIGUOUS_AMOUNTS", "DATE_MISSING", "NO_TABLE", "ROW_UNREAD", "SIGN_UNPROVEN", "TABLE_UNREAD", "TEXT_MISSING",
        "TOTAL_SUSPECTED",
    }
)  # fmt: skip
# What is said of a statement whose rows do not add up: if those of each account do, none is missing.
CURED_BY_DIVISION = frozenset({"ACCOUNT_UNPROVEN", "PAGE_MISSING"})
ENDS_ABOVE_MAX = 2  # balances above a heading that are of the account before
LINES_MAX = 1500  # of a file that is read in other ways: a longer one would take long
DATE_NEAR = 3.0  # points between the starts of the dates of one column
DAY_CHARS_MAX = 14  # of a day that is not written like one: `Wednesday 3rd`
NUMBERED_MIN = 0.5  # of the rows
DECISION = "the names of columns gave no sum: by the balances that follow from them, the figures were told apart"
DIVIDED = (
    "the rows lead from balance to balance for each of several accounts, and not as those of one"
)
OTHER_SIDE = {vocab.DEBIT: vocab.CREDIT, vocab.CREDIT: vocab.DEBIT}
KIN = {  # what figures may be below an exact name
    vocab.DEBIT: frozenset({vocab.DEBIT, vocab.AMOUNT}),
    vocab.CREDIT: frozenset({vocab.CREDIT, vocab.AMOUNT}),
    vocab.AMOUNT: frozenset(vocab.AMOUNT_ROLES),
    vocab.BALANCE: frozenset({vocab.BALANCE}),
}
TableFrame = tuple[PdfTable, Sequence[TableColumn]]  # a table, and its columns of dates and texts


def best_reading(
    pages: Sequence[PdfPage],
    lines: list[list[StatementLine]],
    margin: list[StatementLine],
    hints: Hints,
) -> StatementReading:
    """The usual reading, or the only other one that balances prove where they do not prove that."""
    usual = Assembler(pages, lines, margin, hints)
    try:
        reading = usual.reading()
    except FatalFailure as failure:
        if (
            failure.code not in CURABLE
            or (other := _proven(usual, None, pages, margin, hints)) is None
        ):
            raise
        return other
    codes = {problem.code for problem in reading.problems}
    if usual.is_sound or (usual.is_accounted and not usual.is_contradicted and not codes & CURABLE):
        return reading
    return (
        _reading_by_account(usual, reading, pages, margin, hints)
        or _proven(usual, reading, pages, margin, hints)
        or reading
    )


def _reading_by_account(
    usual: Assembler,
    reading: StatementReading,
    pages: Sequence[PdfPage],
    margin: list[StatementLine],
    hints: Hints,
) -> StatementReading | None:
    """The rows of several accounts that were read as one, by the balances between which those of each lead.

    None if no division is proven by every account, or if two are.
    """
    if not usual.is_contradicted or len(usual.tables) < 2:
        return None
    proven: list[StatementReading] = []
    for ends_above in range(ENDS_ABOVE_MAX + 1):
        other = Assembler(pages, usual.lines, margin, hints, usual.tables, ends_above=ends_above)
        try:
            found = other.reading()
        except FatalFailure:
            continue
        if not other.is_proven or other.is_card:
            continue
        told, kept = ({problem.code for problem in each.problems} for each in (reading, found))
        if told - CURABLE - CURED_BY_DIVISION <= kept and not kept & CURABLE:
            proven.append(found)
    if not proven or any(_differ(each, proven[0]) for each in proven[1:]):
        return None
    proven[0].decisions.append(DIVIDED)
    return proven[0]


def _proven(
    usual: Assembler,
    reading: StatementReading | None,
    pages: Sequence[PdfPage],
    margin: list[StatementLine],
    hints: Hints,
) -> StatementReading | None:
    """The other reading that balances prove; None if there is none, or if two say different things."""
    proven: list[StatementReading] = []
    for has_named_days, tables in aligned_tables(usual.lines, usual.tables):
        other = Assembler(pages, usual.lines, margin, hints, tables)
        try:
            found = other.reading()
        except FatalFailure:
            continue
        if (
            _is_proof(other, found)
            and (reading is None or _keeps(reading, found))
            and (has_named_days or _is_ordered(found))
        ):
            proven.append(found)
    if not proven or any(_differ(each, proven[0]) for each in proven[1:]):
        return None
    proven[0].decisions.append(DECISION)
    return proven[0]


def _is_proof(assembler: Assembler, reading: StatementReading) -> bool:
    """Whether balances prove a reading, and it leaves no dated figure out. A debt may be read with all signs turned."""
    if not assembler.is_sound or not assembler.has_balances or assembler.is_card:
        return False
    if any(problem.code in CURABLE for problem in reading.problems):
        return False
    return not assembler.leaves_out_dated_figures()


def _keeps(usual: StatementReading, other: StatementReading) -> bool:
    """Whether a reading keeps the days of the rows of the usual one, and what that says of the file as a whole."""
    days = {(row.place.page, row.place.line): row.date for row in _rows_of(usual)}
    told, kept = ({problem.code for problem in each.problems} for each in (usual, other))
    return told - CURABLE <= kept and all(
        days.get((row.place.page, row.place.line), row.date) == row.date for row in _rows_of(other)
    )


def _rows_of(reading: StatementReading) -> Iterator[StatementRow]:
    for section in reading.sections:
        yield from section.rows


def _differ(one: StatementReading, other: StatementReading) -> bool:
    """Whether two readings say that something else was booked, or print other balances after it."""
    if _bookings(one) != _bookings(other):
        return True
    pairs = zip(_balances(one), _balances(other), strict=True)
    return any(None not in pair and pair[0] != pair[1] for pair in pairs)


def _bookings(reading: StatementReading) -> list[tuple[str, Decimal]]:
    """What a reading says was booked: days, and amounts with their signs."""
    return [
        (row.date, interpret.signed_amount(row, section.terms))
        for section in reading.sections
        for row in section.rows
    ]


def _balances(reading: StatementReading) -> list[Decimal | None]:
    return [
        interpret.balance(row.balance, section.terms)
        for section in reading.sections
        for row in section.rows
    ]


def _is_ordered(reading: StatementReading) -> bool:
    """Whether the days of each section only go on, or only back, as those of bookings do; a new year starts once."""
    for section in reading.sections:
        terms = section.terms
        found = [
            dates.read_date(row.date, terms.date_order or "dmy", terms.era, dates.LEAP_YEAR)
            for row in section.rows
        ]
        days = [day for day in found if day is not None]
        has_years = all(dates.has_year(row.date) for row in section.rows)
        turns = 0 if has_years else 1
        backward, forward = (
            sum(test(before, after) for before, after in pairwise(days)) for test in (gt, lt)
        )
        if len(days) < len(found) or min(backward, forward) > turns:
            return False
    return True


def aligned_tables(
    pages: Sequence[Sequence[StatementLine]], named: Sequence[PdfTable]
) -> Iterator[tuple[bool, list[PdfTable]]]:
    """Tables with columns by arithmetic, below known headings and without any; and whether their days have a name."""
    lines = [line for page in pages for line in page]
    if len(lines) > LINES_MAX:
        return
    is_inferred = not any(each.role in OTHER_SIDE for each in _named_money(named))
    for frames in (_named_frames(named), _unnamed_frames(lines)):
        has_named_days = all(
            any(each.text and each.role in vocab.DATE_ROLES for each in others)
            for _, others in frames
        )
        below = [line for table, _ in frames for line in table.lines]
        columns = figure_columns(_rows(below))
        for roles in role_choices(columns, below):
            if _fits_names(named, columns, roles):
                tables = [
                    _with_columns(table, others, columns, roles, is_inferred=is_inferred)
                    for table, others in frames
                ]
                put_dates_up(tables)
                yield has_named_days, tables


def _named_frames(tables: Sequence[PdfTable]) -> list[TableFrame]:
    """The tables below known headings, of which dates and texts are taken from the names."""
    return [(table, table.heading.columns) for table in tables]


def _unnamed_frames(lines: Sequence[StatementLine]) -> list[TableFrame]:
    """One table of all lines from the first row on, with the columns of dates and texts that its rows show."""
    rows = _rows(lines)
    if not rows:
        return []
    first = rows[0]
    heading = TableHeading(first.page, first.number - 1, first.number - 1, [])
    days = unnamed_dates(heading, rows)
    texts = [
        cell.x0
        for line in rows
        for cell in cells_of(line)
        if any(map(str.isalpha, cell.text))
        and not any(abs(cell.x0 - day.x0) < DATE_NEAR for day in days)
    ]
    if not days or not texts or _stand_behind_numbers(rows, min(day.x0 for day in days)):
        return []
    heading.has_open_dates = len(days) > 1
    at = next(number for number, line in enumerate(lines) if line is first)
    text = TableColumn(vocab.TEXT, min(texts), min(texts) + 1, "")
    return [(PdfTable(heading, list(lines[at:]), list(lines[:at])), [*days, text])]


def _stand_behind_numbers(rows: Sequence[StatementLine], x0: float) -> bool:
    """Whether many rows begin with a short number before their date: `0303` or `Mo 03.` may be the day of booking."""
    first = [cells_of(line)[0] for line in rows]
    short = [
        cell
        for cell in first
        if cell.x1 < x0
        and len(cell.text) <= DAY_CHARS_MAX
        and any(map(str.isdigit, cell.text))
        and not has_decimals(cell.text)
    ]
    return len(short) >= NUMBERED_MIN * len(rows)


def _rows(lines: Sequence[StatementLine]) -> list[StatementLine]:
    """The lines with a date and a figure."""
    return [line for line in lines if line.dates and figures_of(line)]


def _fits_names(
    tables: Sequence[PdfTable], columns: Sequence[FigureColumn], roles: Sequence[str]
) -> bool:
    """Whether the figures below each exact name are what it says: no sum makes amounts of what stands beside them."""
    for name in _named_money(tables):
        below = [
            role
            for figures, role in zip(columns, roles, strict=True)
            if name.x0 < figures.x1 and figures.x0 < name.x1
        ]
        is_turned = OTHER_SIDE.get(name.role) in below
        if is_turned or (below and KIN[name.role].isdisjoint(below)):
            return False
    return True


def _named_money(tables: Sequence[PdfTable]) -> list[TableColumn]:
    """The columns whose whole name says that they are amounts, of which side, or balances."""
    return [
        column
        for table in tables
        for column in table.heading.columns
        if column.role in KIN and vocab.is_exact_heading(column.text)
    ]


def _with_columns(
    table: PdfTable,
    others: Sequence[TableColumn],
    columns: Sequence[FigureColumn],
    roles: Sequence[str],
    *,
    is_inferred: bool,
) -> PdfTable:
    figures = [each.called(role) for each, role in zip(columns, roles, strict=True)]
    kept = [replace(each) for each in others if each.role not in vocab.MONEY_ROLES]
    heading = replace(
        table.heading,
        columns=sorted([*kept, *figures], key=lambda column: column.x0),
        is_inferred=is_inferred,
    )
    parsed = [parse_line(heading, line) for line in table.lines]
    return PdfTable(heading, table.lines, table.above, [(heading, parsed)], is_amount_last(parsed))
