"""CSV and TSV of any bank: the delimiter, the quotes and the lines; what the cells mean is for `table`.

The file is streamed: nothing but the row at hand is kept. A quote that is never closed would swallow the rows after it,
so a record over several lines that does not fit is taken apart again, line by line, and said to be broken.
"""

import csv
import io
from collections.abc import Iterator
from itertools import islice

from stateward.core.errors import FatalFailure
from stateward.pipelines.statements import dates, headings, money
from stateward.pipelines.statements.model import Place, Problem, Reading
from stateward.pipelines.statements.source import Source
from stateward.pipelines.statements.table import Line, Table

DELIMITERS = (";", "\t", ",", "|", "^", "~")
SNIFF_LINES = 200
FIELD_CHARS_MAX = 1 << 20
LINES_PER_RECORD_MAX = 30
csv.field_size_limit(FIELD_CHARS_MAX)


def read(source: Source) -> Reading:
    """The one section of a delimited text, with its rows as a stream."""
    dialect = _Dialect(source)
    reading = Reading(format="csv", sections=(), problems=[], decisions=[], late={})
    lines = _Lines(source, dialect, reading.problems)
    reading.sections = [Table(lines.start, source, reading).section()]
    reading.decisions = [*source.decisions, dialect.why, *reading.decisions]
    return reading


class _Dialect:
    """How cells are told apart."""

    def __init__(self, source: Source) -> None:
        with _opened(source) as file:
            sample = [line for line in islice(file, SNIFF_LINES) if line.strip()]
        self.first = 0
        if (
            sample
            and sample[0].strip().casefold().startswith("sep=")
            and len(sample[0].strip()) == 5
        ):
            self.delimiter, self.first = sample[0].strip()[4], 1
            self.why = f"cells are told apart by {self.delimiter!r}: the first line says so"
        else:
            self.delimiter = max(DELIMITERS, key=lambda each: _score(sample, each))
            self.why = f"cells are told apart by {self.delimiter!r}"
        if not any(self.delimiter in line for line in sample):
            raise FatalFailure(
                "the file is text, but not a table: no comma, semicolon, tab or bar tells cells apart; "
                "export the statement as CSV",
                code="UNKNOWN_FORMAT",
            )
        self.is_blank_first = any(f'{self.delimiter} "' in line for line in sample)


def _score(sample: list[str], delimiter: str) -> tuple[int, int, int]:
    """How well a delimiter explains the lines: rows with dates and amounts, headings known, width."""
    try:
        rows = list(csv.reader(sample, delimiter=delimiter))
    except csv.Error:
        return (0, 0, 0)
    good = sum(
        len(row) > 1
        and any(dates.is_date(cell) for cell in row)
        and any(money.is_amount(cell) and not dates.is_date(cell) for cell in row)
        for row in rows
    )
    named = max(
        (sum(headings.role_of(cell) != "" for cell in row) for row in rows if len(row) > 1),
        default=0,
    )
    widths = [len(row) for row in rows if len(row) > 1]
    same = max((widths.count(width) for width in set(widths)), default=0)
    return (good, named, same)


def _opened(source: Source) -> io.TextIOWrapper:
    """The text with its line ends as they are: CR alone ends a line too."""
    return source.path.open("r", encoding=source.encoding, errors="replace", newline="")


class _Lines:
    """The records of the file, each with the line it begins on."""

    def __init__(self, source: Source, dialect: _Dialect, problems: list[Problem]) -> None:
        self._source = source
        self._dialect = dialect
        self._problems = problems
        self._is_second = False

    def start(self) -> Iterator[Line]:
        """From the top; a second time without repeating the problems of the first."""
        problems: list[Problem] = [] if self._is_second else self._problems
        self._is_second = True
        return self._records(problems)

    def _records(self, problems: list[Problem]) -> Iterator[Line]:
        with _opened(self._source) as file:
            for _ in range(self._dialect.first):
                file.readline()
            taken: list[str] = []
            reader = csv.reader(
                _kept(file, taken),
                delimiter=self._dialect.delimiter,
                skipinitialspace=self._dialect.is_blank_first,
            )
            line, width = self._dialect.first, 0
            while True:  # ends with the file
                try:
                    cells = next(reader)
                except StopIteration:
                    return
                except csv.Error as error:
                    problems.append(
                        _broken(line + 1, f"the text cannot be cut into cells: {error}")
                    )
                    yield from self._apart(taken, line)
                    line += len(taken)
                    taken.clear()
                    continue
                lines = len(taken)
                if lines > 1 and _is_broken(cells, taken, width):
                    problems.append(_broken(line + 1, f"a quote is not closed over {lines} lines"))
                    yield from self._apart(taken, line)
                else:
                    width = len(cells)
                    yield line + 1, cells
                line += lines
                taken.clear()

    def _apart(self, lines: list[str], before: int) -> Iterator[Line]:
        """Lines that were taken for one record, each by itself and without quotes."""
        for number, text in enumerate(lines, start=before + 1):
            cells = text.rstrip("\r\n").split(self._dialect.delimiter)
            yield number, [cell.strip().strip('"') for cell in cells]


def _kept(file: io.TextIOWrapper, taken: list[str]) -> Iterator[str]:
    for text in file:
        taken.append(text)
        yield text


def _is_broken(cells: list[str], taken: list[str], width: int) -> bool:
    """Whether a record over several lines is a quote that was never closed.

    A real one has the width of the rows before it, and its lines have no dates and amounts of their own.
    """
    if len(taken) > LINES_PER_RECORD_MAX or (width > 1 and len(cells) != width):
        return True
    swallowed = max(cells, key=len).split("\n")[1:]
    return any(
        any(dates.is_date(part.strip('" ')) for part in text.replace(";", ",").split(","))
        and any(money.is_amount(part.strip('" ')) for part in text.replace(";", ",").split(",")[1:])
        for text in swallowed
    )


def _broken(line: int, message: str) -> Problem:
    return Problem(code="BROKEN_QUOTES", message=message, place=Place(line=line))
