"""CSV and TSV in batches of rows, fast where the file is regular and careful where it is not.

A batch is a list of lines that ends outside of quotes, which the number of its quotes shows. The C reader splits it in
one call. Only a batch in which something does not fit (a row of another width, a quote where none may be) is read again
record by record: a quote that is never closed must not swallow the products after it.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from stateward.pipelines.catalogs.headings import roles_in
from stateward.pipelines.catalogs.model import CatalogReading, ProductPlace
from stateward.pipelines.catalogs.tables import RowBatch, no_catalog, table_observations
from stateward.pipelines.kit.delimited import Dialect, Rows, find_dialect
from stateward.pipelines.kit.encoding import find_encoding

if TYPE_CHECKING:
    from _csv import Reader as CsvReader

# As JSON, with its keys, a batch must stay below the size of a chunk (256 KiB), else its items are encoded one by one.
BATCH_CHARS = 48_000
# A description may have many lines. A record with more of them is a quote that was never closed.
RECORD_LINES_MAX = 5_000
BROKEN_NOTED_MAX = 1000
QUOTE = '"'


def read_delimited(path: Path) -> CatalogReading:
    """The catalogue in a delimited text."""
    encoding = find_encoding(path)
    dialect = find_dialect(path, encoding=encoding.name, score=_score)
    if dialect is None:
        raise no_catalog("no comma, semicolon, tab or bar separates cells")
    reading = CatalogReading("csv")
    reading.decisions = [f"the text is {encoding.name}: {encoding.why}", dialect.why]
    batches = _Splitter(dialect, reading).batches(path, encoding.name)
    reading.batches = table_observations(batches, reading)
    return reading


def _score(rows: Rows) -> tuple[int]:
    """How many roles the headings name under a delimiter."""
    return (max((len(roles_in(row)) for row in rows[:40]), default=0),)


class _Splitter:
    """Splits the lines of one file into rows."""

    def __init__(self, dialect: Dialect, reading: CatalogReading) -> None:
        self._dialect = dialect
        self._reading = reading
        self._width = 0  # of the rows, once it is known
        sign = re.escape(dialect.delimiter)
        cell = rf'[ ]*"(?:[^"]|"")*"[ ]*|[^"{sign}]*'
        self._record = re.compile(rf"(?:{cell})(?:{sign}(?:{cell}))*")

    def batches(self, path: Path, encoding: str) -> Iterator[RowBatch]:
        """All rows, with their numbers as a spreadsheet shows them and the lines on which they begin."""
        with path.open("r", encoding=encoding, errors="replace", newline="") as file:
            line = row = self._dialect.skipped_lines
            for _ in range(line):
                file.readline()
            while lines := _whole_records(file):
                rows, starts = self._split(lines, line)
                self._width = self._width or max(map(len, rows), default=0)
                yield RowBatch(rows, row + 1, [line + 1 + start for start in starts])
                row += len(rows)
                line += len(lines)

    def _split(self, lines: list[str], before: int) -> tuple[list[list[str]], list[int]]:
        """The rows in some lines, and the number of lines before each of them."""
        try:
            rows, starts = self._split_regular(lines)
        except csv.Error:
            return self._split_carefully(lines, before)
        is_regular = {self._width, 0}.issuperset(map(len, rows)) if self._width else True
        if is_regular and len(rows) == len(lines):
            return rows, starts
        # Titles above the first headings may have any width, but a record of products in another one has that of all.
        self._width = self._width or max(map(len, rows), default=0)
        if not is_regular or self._has_swallowed(lines, starts):
            return self._split_carefully(lines, before)
        return rows, starts

    def _split_regular(self, lines: list[str]) -> tuple[list[list[str]], list[int]]:
        """The rows of lines in which every quote is where it may be; `csv.Error` if one is not.

        A record that is one line is split at its quotes and delimiters, in a quarter to three quarters of the time that
        the C reader takes. All others are left to that: between two records it has no state, so that both can read from
        the same lines.
        """
        rows: list[list[str]] = []
        starts: list[int] = []
        at, end, delimiter = 0, len(lines), self._dialect.delimiter
        chars_max = 0 if self._dialect.skips_blanks else csv.field_size_limit()

        def rest() -> Iterator[str]:
            nonlocal at
            while at < end:
                at += 1
                yield lines[at - 1]

        reader = self._reader(rest(), is_strict=True)
        while at < end:
            starts.append(at)
            line = lines[at]
            cells = _cells_of_line(line, delimiter) if len(line) <= chars_max else None
            if cells is None:
                rows.append(next(reader))
            else:
                at += 1
                rows.append(cells)
        return rows, starts

    def _reader(self, lines: Iterable[str], *, is_strict: bool = False) -> "CsvReader":
        return csv.reader(
            lines,
            delimiter=self._dialect.delimiter,
            skipinitialspace=self._dialect.skips_blanks,
            strict=is_strict,
        )

    def _has_swallowed(self, lines: list[str], starts: list[int]) -> bool:
        """Whether a record over several lines holds one that looks like a record of its own."""
        first = set(starts)
        return any(self._is_record(text) for at, text in enumerate(lines) if at not in first)

    def _is_record(self, line: str) -> bool:
        wanted = self._width - 1
        if wanted < 1 or line.count(self._dialect.delimiter) < wanted:
            return False
        # The last line of a text in HTML may have as many commas by chance, and quotes where no record has one.
        if not self._record.fullmatch(line.rstrip("\r\n")):
            return False
        cells = next(self._reader([line]), [])
        return len(cells) == self._width and any(_is_figure(cell) for cell in cells)

    def _split_carefully(self, lines: list[str], before: int) -> tuple[list[list[str]], list[int]]:
        rows: list[list[str]] = []
        starts: list[int] = []
        source, at = iter(lines), 0
        while at < len(lines):  # a round for each record that is larger than a cell may be
            reader, base = self._reader(source), at
            try:
                for cells in reader:
                    end = base + reader.line_num
                    self._take(lines[at:end], cells, at, before, rows, starts)
                    at = end
            except csv.Error:
                end = max(base + reader.line_num, at + 1)
                self._take(lines[at:end], [], at, before, rows, starts)
                at = end
        return rows, starts

    def _take(
        self,
        lines: list[str],
        cells: list[str],
        at: int,
        before: int,
        rows: list[list[str]],
        starts: list[int],
    ) -> None:
        """Add a record; each of its lines by itself if a quote that is not closed made one record of them."""
        is_one = len(lines) == 1 and bool(cells or not lines[0].strip())
        if is_one or (len(cells) == self._width and not any(map(self._is_record, lines[1:]))):
            rows.append(cells)
            starts.append(at)
            return
        if len(self._reading.problems) < BROKEN_NOTED_MAX:
            place = ProductPlace(before + at + 1)
            message = f"a quote is not closed over {len(lines)} lines; each is read by itself"
            self._reading.note("BROKEN_QUOTES", message, place)
        for number, text in enumerate(lines):
            rows.append(self._single(text))
            starts.append(at + number)

    def _single(self, text: str) -> list[str]:
        try:
            return next(self._reader([text]), [])
        except csv.Error:  # a cell larger than any product needs
            return [text[:BATCH_CHARS]]


def _cells_of_line(line: str, delimiter: str) -> list[str] | None:
    """The cells of a line whose quotes stand around whole cells; None if it has other quotes, or its record goes on."""
    text = line.rstrip("\r\n")
    if QUOTE not in text:
        return text.split(delimiter) if text else []
    first, *parts = text.split(QUOTE)
    if len(parts) % 2 or first[-1:] not in ("", delimiter):
        return None
    cells = first[:-1].split(delimiter) if first else []
    last = len(parts) - 1
    for at in range(1, last, 2):  # what stands between a closing quote and the next one
        between = parts[at]
        if between[:1] != delimiter or between[-1] != delimiter:
            return None
        cells.append(parts[at - 1])
        if len(between) > 1:
            cells += between[1:-1].split(delimiter)
    cells.append(parts[last - 1])
    end = parts[last]
    if end:
        if end[0] != delimiter:
            return None
        cells += end[1:].split(delimiter)
    return cells


def _whole_records(file: io.TextIOWrapper) -> list[str]:
    """The next lines of a file, ending outside of quotes as far as the number of quotes can show it."""
    lines = file.readlines(BATCH_CHARS)
    if "".join(lines).count(QUOTE) % 2:
        for _ in range(RECORD_LINES_MAX):
            line = file.readline()
            lines += [line] if line else []
            if not line or line.count(QUOTE) % 2:
                break
    return lines


def _is_figure(cell: str) -> bool:
    return cell.strip().replace(".", "", 1).replace(",", "", 1).isdecimal()
