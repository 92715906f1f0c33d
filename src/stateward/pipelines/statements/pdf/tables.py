"""Tables of a file: their headings, the lines below each, and those lines in their columns."""

from collections.abc import Iterator, Sequence

import msgspec

from stateward.pipelines.statements.pdf import vocabulary as say
from stateward.pipelines.statements.pdf.columns import (
    Heading,
    heading_at,
    measure,
    parts_of,
    worth,
)
from stateward.pipelines.statements.pdf.fields import Parsed, parse_line
from stateward.pipelines.statements.pdf.guess import guess_heading
from stateward.pipelines.statements.pdf.manner import Manner, manner_of
from stateward.pipelines.statements.pdf.tokens import StatementLine

SAME_PLACE = 4.0  # points: headings of one table on two pages stand so close


class Table(msgspec.Struct):
    """A heading and the lines below it, up to the next heading."""

    heading: Heading
    lines: list[StatementLine]
    above: list[StatementLine]
    parts: list[tuple[Heading, list[Parsed]]] = []  # side by side, if there are several
    manner: Manner = Manner(False, 0.0)


def tables_of(pages: list[list[StatementLine]]) -> list[Table]:
    """Every table of a file, measured and in its columns; guessed from its rows if no heading is known."""
    tables = _tables(pages) or _guessed([line for page in pages for line in page])
    _share_measures(tables)
    return tables


def _tables(pages: list[list[StatementLine]]) -> list[Table]:
    tables: list[Table] = []
    above: list[StatementLine] = []
    for lines in pages:
        at = 0
        while at < len(lines):
            heading = _heading(lines, at)
            if heading is None:
                (tables[-1].lines if tables else above).append(lines[at])
                at += 1
                continue
            tables.append(Table(heading, [], above if not tables else []))
            above = []
            at = heading.end
    return tables


def _guessed(lines: list[StatementLine]) -> list[Table]:
    """The one table of a file without any heading that is known, from its first row on."""
    heading = guess_heading(lines)
    if heading is None:
        return []
    start = (heading.page, heading.start)
    at = next(number for number, line in enumerate(lines) if (line.page, line.number) > start)
    return [Table(heading, lines[at:], lines[:at])]


def _heading(lines: list[StatementLine], at: int) -> Heading | None:
    """The heading at a line, with the lines that repeat it in another language."""
    heading = heading_at(lines, at)
    if heading is None:
        return None
    if heading.end > at + 1:
        later = heading_at(lines, at + 1)
        if later is not None and _is_as_good(later, heading):
            return None  # the first line was only above it
    while (again := heading_at(lines, heading.end)) is not None and again.roles == heading.roles:
        heading.end = again.end
    return heading


def _is_as_good(later: Heading, heading: Heading) -> bool:
    """Whether a heading says as much without its first line."""
    if worth(later.columns) < worth(heading.columns):
        return False
    names = {column.text for column in later.columns}
    return not any(
        say.is_exact_heading(column.text) and column.text not in names
        for column in heading.columns
        if any(column.text.endswith(" " + name) for name in names)
    )


def _share_measures(tables: Sequence[Table]) -> None:
    """Measure the columns of tables that are set alike together: one page may have a single row."""
    groups: list[list[Table]] = []
    for table in tables:
        for group in groups:
            if _is_alike(group[0].heading, table.heading):
                group.append(table)
                break
        else:
            groups.append([table])
    for group in groups:
        heading = group[0].heading
        measure(heading, [line for table in group for line in table.lines])
        for table in group:
            table.heading.columns = heading.columns
            table.heading.is_guessed = heading.is_guessed
            table.heading.has_cents = heading.has_cents
            table.heading.has_day_months = heading.has_day_months
            table.parts = [
                (part, [parse_line(part, line) for line in lines])
                for part, lines in _side_by_side(table)
            ]
        everything = [one for table in group for _, parsed in table.parts for one in parsed]
        manner = manner_of(everything)
        for table in group:
            table.manner = manner


def _is_alike(one: Heading, other: Heading) -> bool:
    return one.roles == other.roles and all(
        abs(a.x0 - b.x0) < SAME_PLACE and abs(a.x1 - b.x1) < SAME_PLACE
        for a, b in zip(one.columns, other.columns, strict=True)
    )


def _side_by_side(table: Table) -> Iterator[tuple[Heading, list[StatementLine]]]:
    """A table as it is, or each of the tables that stand side by side under one heading."""
    parts = parts_of(table.heading)
    if len(parts) == 1:
        yield table.heading, table.lines
        return
    starts = [part.columns[0].x0 - 6 for part in parts] + [float("inf")]
    for number, part in enumerate(parts):
        left = starts[number] if number else float("-inf")
        yield part, list(_clipped(table.lines, left, starts[number + 1]))


def _clipped(lines: Sequence[StatementLine], left: float, right: float) -> Iterator[StatementLine]:
    for line in lines:
        words = [word for word in line.words if left <= word.x0 < right]
        if words and not say.SUM_BOOK.begins(say.plain(line.text)):
            text = " ".join(word.text for word in words)
            yield StatementLine(line.page, line.number, line.base, line.height, words, text)
