"""CSV and TSV of any bank; `table` finds out what the cells mean."""

import re
from collections.abc import Iterator, Sequence

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit import dates, money
from stateward.pipelines.kit.delimited import (
    DELIMITERS,
    Dialect,
    Record,
    Rows,
    find_dialect,
    read_records,
)
from stateward.pipelines.statements import headings
from stateward.pipelines.statements.blocks import BLOCKS_WHY, block_records
from stateward.pipelines.statements.model import RowPlace, StatementProblem, StatementReading
from stateward.pipelines.statements.source import Source
from stateward.pipelines.statements.table import StatementTable
from stateward.pipelines.statements.table_cells import is_booking

_CUT = re.compile("[;,]")
# Cells between single quotes, which only some banks write: an apostrophe may also stand before a number or a name.
_SINGLE_QUOTED = re.compile(r"(?m)(?:^|[;,\t])'[^'\n]*'(?=[;,\t]|\r?$)")
SINGLE_QUOTED_MIN = 4


def read(source: Source) -> StatementReading:
    """A delimited text, or one whose columns are aligned by blanks, if it is not delimited."""
    try:
        return _read_table(source)
    except FatalFailure as error:
        if error.code != "UNKNOWN_FORMAT":
            raise
        # Here, because what it needs of the reader of PDFs takes longer to import than a small export to read.
        from stateward.pipelines.statements.printed_text import read_printed

        printed = read_printed(source)
        if printed is None:
            raise
        return printed


def _read_table(source: Source) -> StatementReading:
    """The one section of a delimited text, or of blocks of labelled lines, with its rows as a stream."""
    reading = StatementReading(format="csv", sections=(), problems=[], decisions=[], late={})
    if start := block_records(source):
        reading.sections = [StatementTable(start, source, reading).section()]
        reading.decisions = [*source.decisions, BLOCKS_WHY, *reading.decisions]
        return reading
    dialect = _dialect(source)
    if dialect is None:
        raise FatalFailure(
            "the file is text, but not a table: no comma, semicolon, tab or bar separates cells; "
            "export the statement as CSV",
            code="UNKNOWN_FORMAT",
        )
    records = _Records(source, dialect, reading.problems)
    reading.sections = [StatementTable(records.start, source, reading).section()]
    reading.decisions = [*source.decisions, dialect.why, *reading.decisions]
    return reading


def table_rows(source: Source) -> Iterator[Record]:
    """The records of a delimited text as they are printed; none where there is no delimiter."""
    dialect = _dialect(source)
    return iter(()) if dialect is None else _Records(source, dialect, []).start()


def _dialect(source: Source) -> Dialect | None:
    return find_dialect(
        source.content, encoding=source.encoding, score=_score, is_unbeatable=_is_unbeatable
    )


class _Records:
    """The records of the file, from the top each time; problems are reported the first time only."""

    def __init__(self, source: Source, dialect: Dialect, problems: list[StatementProblem]) -> None:
        self._source = source
        self._dialect = dialect
        self._problems: list[StatementProblem] | None = problems
        head = source.head.decode(source.encoding, "ignore")
        self._has_single_quotes = len(_SINGLE_QUOTED.findall(head)) >= SINGLE_QUOTED_MIN

    def start(self) -> Iterator[Record]:
        problems, self._problems = self._problems, None

        def report(line: int, message: str) -> None:
            if problems is not None:
                place = RowPlace(line=line)
                problems.append(
                    StatementProblem(code="BROKEN_QUOTES", message=message, place=place)
                )

        records = read_records(
            self._source.content,
            self._dialect,
            encoding=self._source.encoding,
            looks_like_record=_looks_like_record,
            report=report,
        )
        return _without_single_quotes(records) if self._has_single_quotes else records


def _without_single_quotes(records: Iterator[Record]) -> Iterator[Record]:
    """The records with what stands between single quotes; the parts of a text that holds the delimiter are joined."""
    for line, cells in records:
        whole: list[str] = []
        for cell in cells:
            if whole and whole[-1].startswith("'") and not _is_closed(whole[-1]):
                whole[-1] = f"{whole[-1]},{cell}"
            else:
                whole.append(cell)
        if any(cell.startswith("'") and not _is_closed(cell) for cell in whole):
            whole = cells  # an apostrophe, not a quote
        yield line, [cell[1:-1] if cell[:1] == "'" and _is_closed(cell) else cell for cell in whole]


def _is_closed(cell: str) -> bool:
    return len(cell) > 1 and cell.rstrip().endswith("'")


def _score(rows: Rows) -> tuple[int, int]:
    """How many rows have a date and an amount, and how many headings of one row are known."""
    good = named = 0
    for row in rows:
        if is_booking(row):  # no heading: its texts need not be compared with all that we know
            good += 1
        else:
            named = max(named, sum(headings.role_of(cell) != "" for cell in row))
    return good, named


def _is_unbeatable(lines: Sequence[str], delimiter: str, score: tuple[int, ...]) -> bool:
    """Whether all lines but the first are bookings, and the first has known headings and could be nothing else.

    Without a figure it is no booking by any delimiter, and it has no other delimiter that would split it. So another
    one finds no more bookings, and where it finds as many, no heading.
    """
    if len(score) < 2 or score[0] != len(lines) - 1 or not score[0] or not score[1]:
        return False
    others = (each for each in DELIMITERS if each != delimiter)
    return not any(map(str.isnumeric, lines[0])) and not any(each in lines[0] for each in others)


def _looks_like_record(line: str) -> bool:
    """Whether a line has a date, and an amount behind its first cell."""
    cells = [cell.strip('" ') for cell in _CUT.split(line)]
    return any(map(dates.is_date, cells)) and any(map(money.is_amount, cells[1:]))
