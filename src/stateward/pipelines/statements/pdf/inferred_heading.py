"""The columns of a table without a known heading, inferred from its rows alone.

Rows start with a date and end with amounts whose right edges are aligned. The roles of the amount columns are inferred
from which of them are filled together, and accepted only if the statement adds up (`TableHeading.is_inferred`).
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from stateward.pipelines.kit import dates, money
from stateward.pipelines.kit.pdf.lines import cells_of
from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.columns import (
    EDGE_NEAR,
    TableColumn,
    TableHeading,
    is_aligned,
    is_in_text,
)
from stateward.pipelines.statements.pdf.tokens import (
    StatementLine,
    WordSpan,
    has_decimals,
    is_date,
)

ROWS_MIN = 2
DATED_MIN = 0.6  # of the rows that have any date: a column of dates is filled in most of them
DATE_WIDTH = 18.0  # points: no two columns of dates begin closer
SHARE_MIN = 0.08  # of the rows: fewer share an edge by chance
COLUMNS_MAX = 4
MARK_REACH = 40.0  # points between an amount and its mark
MONTHS, DAYS = 12, 31
NUMBER = re.compile(r"[0-9]{1,6}\.?", re.ASCII)

InferredRow = tuple[StatementLine, WordSpan, list[WordSpan]]


def infer_heading(lines: Sequence[StatementLine]) -> TableHeading | None:
    """A heading for a file that has none, placed above the first line that looks like a row."""
    rows = _dated_rows(lines, 0)
    has_numbers = len(rows) < ROWS_MIN
    if has_numbers:
        rows = _dated_rows([line for line in lines if _is_numbered(line)], 1)
    if len(rows) < ROWS_MIN:
        return _below_days(lines)
    edges = _edges([figures for _, _, figures in rows])
    if not edges:
        return None
    first = rows[0][0]
    start = Counter(
        round(line.words[token.end].x0) for line, token, _ in rows if token.end < len(line.words)
    )
    text_x0 = float(start.most_common(1)[0][0]) if start else edges[0] - 100
    columns = [
        TableColumn(vocab.DATE, rows[0][1].x0, rows[0][1].x1, ""),
        TableColumn(vocab.TEXT, text_x0, text_x0 + 1, ""),
    ]
    for role, edge in zip(_roles(rows, edges), edges, strict=True):
        columns.append(TableColumn(role, edge - 20, edge, "", edge))
    heading = TableHeading(
        first.page, first.number - 1, first.number - 1, columns, is_inferred=True
    )
    heading.has_unread_dates = has_numbers and _may_be_days(
        [line.words[0].text for line, _, _ in rows]
    )
    return heading


def _may_be_days(numbers: Sequence[str]) -> bool:
    """Whether the numbers of rows do not count them, and may all be days: `3`, or `0312` for the third of December."""
    read = [*(int(number.rstrip(".")) for number in numbers)]
    is_counted = {after - before for before, after in pairwise(read)} in ({1}, {-1})
    return not is_counted and all(
        (0 < month <= MONTHS and 0 < day <= DAYS) or (0 < day <= MONTHS and 0 < month <= DAYS)
        for month, day in (divmod(each, 100) if each > DAYS else (1, each) for each in read)
    )


def _dated_rows(lines: Sequence[StatementLine], at: int) -> list[InferredRow]:
    """The lines with a date at their first word but `at`, and an amount behind it."""
    rows = [(line, token, _figures(line, token)) for line in lines if (token := line.date_at(at))]
    return [row for row in rows if row[2]]


def _is_numbered(line: StatementLine) -> bool:
    """Whether a line begins with the number of a row, in a cell of its own."""
    first = cells_of(line)[0].text
    return (
        len(line.words) > 1 and line.words[0].text == first and NUMBER.fullmatch(first) is not None
    )


def _below_days(lines: Sequence[StatementLine]) -> TableHeading | None:
    """A heading for rows below lines that print a date and nothing else."""
    days = [
        (at, token)
        for at, line in enumerate(lines)
        if (token := line.date_at(0)) is not None
        and token.end == len(line.words)
        and dates.has_year(token.text)
    ]
    if not days:
        return None
    x0 = Counter(round(token.x0) for _, token in days).most_common(1)[0][0]
    days = [(at, token) for at, token in days if abs(token.x0 - x0) <= 1]
    below = [line for line in lines[days[0][0] + 1 :] if line.words[0].text[0].isalpha()]
    rows = [(line, days[0][1], _figures(line, None)) for line in below]
    rows = [row for row in rows if row[2] and row[2][-1].end == len(row[0].words)]
    if len(rows) < ROWS_MIN:
        return None
    text_x0 = float(Counter(round(line.words[0].x0) for line, _, _ in rows).most_common(1)[0][0])
    # What begins elsewhere is of another table, such as one of savings below the rows.
    rows = [row for row in rows if abs(row[0].words[0].x0 - text_x0) <= EDGE_NEAR]
    edges = _edges([figures for _, _, figures in rows])
    if len(rows) < ROWS_MIN or not edges:
        return None
    first, token = lines[days[0][0]], days[0][1]
    columns = [
        TableColumn(vocab.DATE, token.x0, token.x1, ""),
        TableColumn(vocab.TEXT, text_x0, text_x0 + 1, ""),
    ]
    for role, edge in zip(_roles(rows, edges), edges, strict=True):
        columns.append(TableColumn(role, edge - 20, edge, "", edge))
    return TableHeading(first.page, first.number - 1, first.number - 1, columns, is_inferred=True)


def unnamed_dates(heading: TableHeading, lines: Sequence[StatementLine]) -> list[TableColumn]:
    """Columns of dates below a heading that does not name them: most rows have a date there, in a cell of its own.

    Beside a named column of booking dates they are value dates, and the other way round.
    """
    places = [column for column in heading.columns if column.role in vocab.DATE_ROLES]
    sums = [column for column in heading.columns if column.role in vocab.MONEY_ROLES]
    rows = [
        [cell for cell in cells_of(line) if is_date(cell.text)]
        for line in lines
        if any(has_decimals(token.text) for token in line.money)
    ]
    rows = [cells for cells in rows if cells]
    if len(rows) < ROWS_MIN:
        return []
    count = Counter(round(cell.x0) for cells in rows for cell in cells)
    found: list[TableColumn] = []
    for x0, times in count.most_common():
        near = times + count[x0 - 1] + count[x0 + 1]
        others = [*places, *found]
        if near < DATED_MIN * len(rows) or any(abs(x0 - each.x0) < DATE_WIDTH for each in others):
            continue
        width = max(cell.x1 for cells in rows for cell in cells if abs(cell.x0 - x0) <= 1) - x0
        if any(abs(x0 + width - each.x1) <= EDGE_NEAR for each in (*others, *sums)):
            continue  # right-aligned below a name that is there; `5.19` is an amount where amounts end
        has_date = any(each.role == vocab.DATE for each in others)
        found.append(
            TableColumn(vocab.VALUE_DATE if has_date else vocab.DATE, float(x0), x0 + width, "")
        )
    return found


def unnamed_amounts(heading: TableHeading, lines: Sequence[StatementLine]) -> list[TableColumn]:
    """Columns of amounts below a heading that names none of them, inferred from the rows."""
    rows = [(line, token, _figures(line, token)) for line in lines if (token := line.date_at(0))]
    rows = [row for row in rows if row[2]]
    known = [column.x1 for column in heading.columns if column.role == vocab.BALANCE]
    edges = [
        edge
        for edge in _edges([figures for _, _, figures in rows])
        if all(abs(edge - x1) > 2 * EDGE_NEAR for x1 in known)
    ]
    if len(rows) < ROWS_MIN or not edges:
        return []
    return [
        TableColumn(role, edge - 20, edge, "", edge)
        for role, edge in zip(_roles(rows, edges), edges, strict=True)
    ]


def unnamed_marks(heading: TableHeading, lines: Sequence[StatementLine]) -> list[TableColumn]:
    """A column of marks without a name, right of the one of amounts: `7,99   Af`, in every row at the same place."""
    sides = {vocab.DEBIT, vocab.CREDIT, vocab.MARK}
    if heading.has(sides) or heading.roles.count(vocab.AMOUNT) != 1:
        return []
    last = next(column for column in heading.columns if column.role == vocab.AMOUNT)
    ends = [
        (line.words[token.end], token)
        for line in lines
        if line.dates
        for token in line.money
        if is_aligned(last, token) and has_decimals(token.text) and token.end < len(line.words)
    ]
    marks = [word for word, token in ends if word.x0 - token.x1 <= MARK_REACH and _is_mark(word)]
    starts = [word.x0 for word in marks]
    rows = sum(
        any(is_aligned(last, token) and has_decimals(token.text) for token in line.money)
        for line in lines
        if line.dates
    )
    if not marks or len(marks) < rows or max(starts) - min(starts) > EDGE_NEAR:
        return []
    return [TableColumn(vocab.MARK, min(starts), max(word.x1 for word in marks), "")]


def _is_mark(word: PdfWord) -> bool:
    return word.text.isalpha() and len(word.text) > 1 and word.text.casefold() in money.MARKS


def _figures(line: StatementLine, token: WordSpan | None) -> list[WordSpan]:
    """Amounts with decimals behind the date of a line, outside of its text; a mark behind one is no part of it.

    Right edges are those of figures: a mark may hang over them.
    """
    return [
        _without_mark(found, line)
        for found in line.money
        if found.start >= (token.end if token else 1)
        and has_decimals(found.text)
        and not is_in_text(found, line.words)
    ]


def _without_mark(token: WordSpan, line: StatementLine) -> WordSpan:
    words = line.words[token.start : token.end]
    x1 = next((word.x1 for word in reversed(words) if any(map(str.isdigit, word.text))), token.x1)
    return token if x1 == token.x1 else msgspec.structs.replace(token, x1=x1)


def _edges(rows: Sequence[Sequence[WordSpan]]) -> list[float]:
    """Right edges that many rows share, from left to right."""
    count: Counter[int] = Counter(round(token.x1) for figures in rows for token in figures)
    edges: list[float] = []
    for edge, times in count.most_common():
        near = times + count[edge - 1] + count[edge + 1]
        is_new = all(abs(edge - other) > 2 * EDGE_NEAR for other in edges)
        if is_new and near >= max(1, SHARE_MIN * len(rows)):
            edges.append(float(edge))
    return sorted(edges[:COLUMNS_MAX])


def _roles(rows: Sequence[InferredRow], edges: Sequence[float]) -> list[str]:
    """The roles of amount columns, by which of them are filled together."""
    filled = [
        [any(abs(token.x1 - edge) <= EDGE_NEAR for token in figures) for edge in edges]
        for _, _, figures in rows
    ]
    if len(edges) == 1:
        return [vocab.AMOUNT]
    both = sum(row[-1] and row[-2] for row in filled)
    if len(edges) == 2:
        return [vocab.AMOUNT, vocab.BALANCE] if both else [vocab.DEBIT, vocab.CREDIT]
    head = [vocab.OTHER] * (len(edges) - 3)
    return [*head, vocab.DEBIT, vocab.CREDIT, vocab.BALANCE]
