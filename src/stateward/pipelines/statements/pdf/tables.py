"""Tables of a file: their headings, the lines below each, and those lines in their columns."""

from collections.abc import Iterator, Sequence

import msgspec

from stateward.pipelines.kit.pdf.lines import PdfCell
from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.aligned_names import aligned_names
from stateward.pipelines.statements.pdf.centred import (
    join_centred,
    join_texts_above,
    may_texts_be_below,
)
from stateward.pipelines.statements.pdf.columns import (
    TableHeading,
    heading_at,
    heading_worth,
    labelled_day,
    measure_columns,
    parts_of,
    possible_names,
)
from stateward.pipelines.statements.pdf.dates_below import move_dates_up
from stateward.pipelines.statements.pdf.days_in_pieces import join_pieces
from stateward.pipelines.statements.pdf.fields import ParsedLine, parse_line
from stateward.pipelines.statements.pdf.inferred_heading import (
    infer_heading,
    unnamed_amounts,
    unnamed_dates,
    unnamed_marks,
)
from stateward.pipelines.statements.pdf.row_layout import is_amount_last
from stateward.pipelines.statements.pdf.tokens import StatementLine, date_at, has_decimals

ROWS_ABOVE_MIN = 2  # rows without a heading that make a table of their own
UNREAD_MIN = 2  # rows that begin with a number
OPEN_SHARE = 0.6  # of the rows begin with a number where no name says what it is
SAME_PLACE = 4.0  # points: how much the headings of one table may differ from page to page


class PdfTable(msgspec.Struct):
    """A heading and the lines below it, up to the next heading."""

    heading: TableHeading
    lines: list[StatementLine]
    above: list[StatementLine]
    parts: list[tuple[TableHeading, list[ParsedLine]]] = []  # several, if they are side by side
    is_amount_last: bool = False  # of its rows, each of several lines
    has_open_texts: bool = False  # they may stand above their rows, or below them
    has_open_days: bool = False  # a date may be of the amount above it, or of the one below


def tables_of(pages: list[list[StatementLine]]) -> list[PdfTable]:
    """Every table of a file with its lines in columns; inferred from rows if no heading is known."""
    tables = _tables(pages) or _table_without_heading([line for page in pages for line in page])
    if tables and (first := _table_above(tables[0].above)):
        tables[0].above = []
        tables.insert(0, first)
    _measure_alike(tables)
    for page in pages:
        page[:] = [line for line in page if line.words]
    return tables


def has_heading(pages: list[list[StatementLine]]) -> bool:
    """Whether any line is a heading that is known."""
    return bool(_tables(pages))


def _tables(pages: list[list[StatementLine]]) -> list[PdfTable]:
    tables: list[PdfTable] = []
    above: list[StatementLine] = []
    for lines in pages:
        at = 0
        names = [
            aligned_names(possible_names(line), lines, number) for number, line in enumerate(lines)
        ]
        while at < len(lines):
            heading = _heading(lines, names, at)
            if heading is None:
                (tables[-1].lines if tables else above).append(lines[at])
                at += 1
                continue
            tables.append(PdfTable(heading, [], above if not tables else []))
            above = []
            at = heading.end
    return tables


def _table_without_heading(lines: list[StatementLine]) -> list[PdfTable]:
    """The one table of a file without a known heading, from its first row on."""
    heading = infer_heading(lines)
    if heading is None:
        return []
    start = (heading.page, heading.start)
    at = next(number for number, line in enumerate(lines) if (line.page, line.number) > start)
    return [PdfTable(heading, lines[at:], lines[:at])]


def _table_above(lines: list[StatementLine]) -> PdfTable | None:
    """Rows without a heading above the first table that has one: some banks name only the columns of checks."""
    if sum(map(_is_bare_row, lines)) < ROWS_ABOVE_MIN:
        return None
    first = next(at for at, line in enumerate(lines) if _is_bare_row(line))
    heading = infer_heading(lines[first:])
    # The lines right above the first row may be its title.
    return PdfTable(heading, lines[first:], lines[:first]) if heading is not None else None


def _is_bare_row(line: StatementLine) -> bool:
    """Whether a line begins with a date, ends with an amount, and is no balance."""
    token = line.date_at(0)
    amounts = [found for found in line.money if has_decimals(found.text)]
    if token is None or not amounts or amounts[-1].end != len(line.words):
        return False
    text = vocab.simplify(" ".join(word.text for word in line.words[token.end :]))
    return amounts[-1].start > token.end and not any(
        labels.find(text) for labels in vocab.BALANCE_LABELS.values()
    )


def _heading(
    lines: list[StatementLine], names: Sequence[list[PdfCell]], at: int
) -> TableHeading | None:
    """The heading at a line, with the lines that repeat it in another language."""
    heading = heading_at(lines, names, at)
    if heading is None:
        return None
    if heading.end > at + 1:
        later = heading_at(lines, names, at + 1)
        if later is not None and _is_as_good(later, heading):
            return None  # the first line does not belong to it
    while (again := heading_at(lines, names, heading.end)) is not None and _repeats(again, heading):
        heading.end = again.end
        for column, below in zip(heading.columns, again.columns, strict=True):
            if (
                again.roles != heading.roles
            ):  # centred names of several lengths span the column together
                column.x0, column.x1 = min(column.x0, below.x0), max(column.x1, below.x1)
    return heading


def _repeats(again: TableHeading, heading: TableHeading) -> bool:
    """Whether a heading has the columns of the one above it, in another language of which a name may be unknown."""
    if again.roles == heading.roles:
        return True
    return len(again.columns) == len(heading.columns) and all(
        below.role in ("", above.role) and below.x0 < above.x1 and above.x0 < below.x1
        for below, above in zip(again.columns, heading.columns, strict=True)
    )


def _is_as_good(later: TableHeading, heading: TableHeading) -> bool:
    """Whether a heading says as much without its first line, or that is of titles above tables side by side."""
    if len(parts_of(later)) > len(parts_of(heading)):
        return True
    if heading_worth(later.columns) < heading_worth(heading.columns):
        return False
    if heading.has({vocab.DATE}) and not later.has({vocab.DATE}):
        return False  # the day of the booking stands above that of the value
    names = {column.text for column in later.columns}
    return not any(
        vocab.is_exact_heading(column.text) and column.text not in names
        for column in heading.columns
        if any(column.text.endswith(" " + name) for name in names)
    )


def _measure_alike(tables: Sequence[PdfTable]) -> None:
    """Measure the columns of similar tables together: one page may have a single row."""
    groups: list[list[PdfTable]] = []
    for table in tables:
        for group in groups:
            if _is_alike(group[0].heading, table.heading):
                group.append(table)
                break
        else:
            groups.append([table])
    for group in groups:
        heading = group[0].heading
        lines = [line for table in group for line in table.lines]
        join_pieces(heading, lines)
        for table in group:  # lines whose one word is now a part of a date on another line
            table.lines = [line for line in table.lines if line.words]
        lines = [line for line in lines if line.words]
        measure_columns(heading, lines)
        _take_day_lines(heading, lines)
        if heading.has(vocab.DATE_ROLES) and (days := unnamed_dates(heading, lines)):
            named = [column for column in heading.columns if column.role in vocab.DATE_ROLES]
            heading.has_open_dates = any(
                # Value dates stand behind those of bookings, as a rule; a mere "Date" or a longer name may be of both.
                day.x0 < column.x0 or not vocab.is_booking_date(column.text)
                if column.role == vocab.DATE
                else day.x0 > column.x0 and not vocab.is_exact_heading(column.text)
                for day in days
                for column in named
            )
            heading.columns = sorted([*heading.columns, *days], key=lambda column: column.x0)
        heading.has_open_dates |= _are_days_alike(heading)
        heading.has_unread_dates |= _has_unread_dates(heading, lines)
        if not heading.has(vocab.AMOUNT_ROLES) and heading.has({vocab.DATE}):
            found = unnamed_amounts(heading, lines)
            heading.columns = sorted([*heading.columns, *found], key=lambda column: column.x0)
            heading.is_inferred |= len(found) > 1
        marks = unnamed_marks(heading, lines)
        heading.columns = sorted([*heading.columns, *marks], key=lambda column: column.x0)
        for table in group:
            table.heading.columns = heading.columns
            table.heading.is_inferred = heading.is_inferred
            table.heading.has_day_lines = heading.has_day_lines
            table.heading.has_open_dates = heading.has_open_dates
            table.heading.has_unread_dates = heading.has_unread_dates
            table.heading.has_cents = heading.has_cents
            table.heading.has_cents_in_money = heading.has_cents_in_money
            table.heading.has_day_months = heading.has_day_months
            table.parts = [
                (part, [parse_line(part, line) for line in lines])
                for part, lines in _side_by_side(table)
            ]
        _join_centred(group)
        put_dates_up(group)
        everything = [one for table in group for _, parsed in table.parts for one in parsed]
        is_last = is_amount_last(everything)
        for table in group:
            table.is_amount_last = is_last


def _join_centred(tables: Sequence[PdfTable]) -> None:
    """Make one line of each row whose cells are centred on its amount, or whose text stands above it."""
    parts = [each for table in tables for each in table.parts]
    joined = join_centred(parts)
    has_open_texts = False
    if joined is None:
        joined = join_texts_above(parts)
        has_open_texts = joined is not None and may_texts_be_below(parts)
    if joined is None:
        return
    found = iter(joined)
    for table in tables:
        table.has_open_texts = has_open_texts
        table.parts = [(part, next(found)) for part, _ in table.parts]


def put_dates_up(tables: Sequence[PdfTable]) -> None:
    """Give the amounts of rows whose date is on their last line that date."""
    moved, is_open = move_dates_up([each for table in tables for each in table.parts])
    found = iter(moved or ())
    for table in tables:
        table.has_open_days = is_open
        if moved is not None:
            table.parts = [(part, next(found)) for part, _ in table.parts]


def _take_day_lines(heading: TableHeading, lines: Sequence[StatementLine]) -> None:
    """Whether days stand on lines of their own. If those are called days of booking, other days are none."""
    days = [column for column in heading.columns if column.role == vocab.DATE]
    if any(vocab.is_booking_date(column.text) for column in days):
        return
    heading.has_day_lines = any(
        labelled_day(line) and (not days or vocab.is_booking_date(_label_before_day(line)))
        for line in lines
    )
    if heading.has_day_lines:
        for column in days:
            column.role = vocab.VALUE_DATE


def _label_before_day(line: StatementLine) -> str:
    return " ".join(word.text for word in line.words[: line.dates[0].start])


def _are_days_alike(heading: TableHeading) -> bool:
    """Whether columns are called days and none that of the booking, but the first of a purchase, or two alike."""
    days = [column.text for column in heading.columns if column.role == vocab.DATE]
    if len(days) < 2 or any(map(vocab.is_booking_date, days)):
        return False
    is_open = vocab.is_purchase_date(days[0]) or len(set(days)) < len(days)
    return len(parts_of(heading)) == 1 and is_open


def _has_unread_dates(heading: TableHeading, lines: Sequence[StatementLine]) -> bool:
    """Whether only value dates have a name, and most rows begin with a number left of them that is no date here."""
    values = [column.x0 for column in heading.columns if column.role == vocab.VALUE_DATE]
    if not values or heading.has({vocab.DATE}) or heading.has_day_lines:
        return False
    rows = [line for line in lines if any(has_decimals(token.text) for token in line.money)]
    first = [line.words[0] for line in rows if line.words[0].x0 < min(values) - SAME_PLACE]
    count = sum(word.text[0].isdigit() and not has_decimals(word.text) for word in first)
    return count >= max(UNREAD_MIN, OPEN_SHARE * len(rows))


def _is_alike(one: TableHeading, other: TableHeading) -> bool:
    return one.roles == other.roles and all(
        abs(a.x0 - b.x0) < SAME_PLACE and abs(a.x1 - b.x1) < SAME_PLACE
        for a, b in zip(one.columns, other.columns, strict=True)
    )


def _side_by_side(table: PdfTable) -> Iterator[tuple[TableHeading, list[StatementLine]]]:
    """The table itself, or each of the tables that are side by side below one heading."""
    parts = parts_of(table.heading)
    if len(parts) == 1:
        yield table.heading, table.lines
        return
    starts = [part.columns[0].x0 - 6 for part in parts] + [float("inf")]
    for number, part in enumerate(parts):
        left = starts[number] if number else float("-inf")
        yield part, list(_clip(table.lines, left, starts[number + 1]))


def _clip(lines: Sequence[StatementLine], left: float, right: float) -> Iterator[StatementLine]:
    for line in lines:
        words = [word for word in line.words if left <= word.x0 < right]
        text = " ".join(word.text for word in words)
        is_sum = vocab.SUMS.prefix(vocab.simplify(line.text))
        if words and not (is_sum and date_at(words, 0) is None):
            yield StatementLine(line.page, line.number, line.base, line.height, words, text)
