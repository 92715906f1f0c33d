"""CSV and TSV: the delimiter, the quotes and the records. What the cells mean is for the pipeline.

The file is streamed: only the record at hand is in memory. A quote that is never closed would swallow the records after
it, so a record over several lines that does not fit is split again, line by line, and reported.
"""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

DELIMITERS = (";", "\t", ",", "|", "^", "~")
SAMPLE_LINES = 200
FIELD_CHARS_MAX = 1 << 20
LINES_PER_RECORD_MAX = 30
csv.field_size_limit(FIELD_CHARS_MAX)

Rows = Sequence[Sequence[str]]
Record = tuple[int, list[str]]  # the line on which it begins, from 1, and its cells
Report = Callable[[int, str], object]  # a line and what is wrong there


class Dialect(NamedTuple):
    """How a file separates its cells."""

    delimiter: str
    why: str
    skipped_lines: int = 0  # `sep=;` in the first line is for Excel
    skips_blanks: bool = False  # a blank stands between a delimiter and a quote


def find_dialect(
    path: Path, *, encoding: str, score: Callable[[Rows], tuple[int, ...]]
) -> Dialect | None:
    """The delimiter under which the first lines score best; None if the text has no delimiter at all."""
    with _open(path, encoding) as file:
        sample = [line for line in islice(file, SAMPLE_LINES) if line.strip()]
    first = sample[0].strip() if sample else ""
    if first.casefold().startswith("sep=") and len(first) == 5:
        delimiter, skipped, why = first[4], 1, ": the first line says so"
    else:
        delimiter = max(DELIMITERS, key=lambda each: _score(sample, each, score))
        skipped, why = 0, ""
    if not any(delimiter in line for line in sample):
        return None
    return Dialect(
        delimiter,
        f"the delimiter is {delimiter!r}{why}",
        skipped,
        skips_blanks=any(f'{delimiter} "' in line for line in sample),
    )


def read_records(
    path: Path,
    dialect: Dialect,
    *,
    encoding: str,
    looks_like_record: Callable[[str], bool],
    report: Report,
) -> Iterator[Record]:
    """The records of a file. `looks_like_record` recognises a line that a quote may have swallowed."""
    with _open(path, encoding) as file:
        for _ in range(dialect.skipped_lines):
            file.readline()
        taken: list[str] = []  # the lines of the record at hand
        reader = csv.reader(
            _copy(file, taken),
            delimiter=dialect.delimiter,
            skipinitialspace=dialect.skips_blanks,
        )
        line, width = dialect.skipped_lines, 0
        while True:  # ends with the file
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                report(line + 1, f"the text cannot be split into cells: {error}")
                yield from _unquote(taken, line, dialect.delimiter)
            else:
                if len(taken) > 1 and _is_unclosed(cells, taken, width, looks_like_record):
                    report(line + 1, f"a quote is not closed over {len(taken)} lines")
                    yield from _unquote(taken, line, dialect.delimiter)
                else:
                    width = len(cells)
                    yield line + 1, cells
            line += len(taken)
            taken.clear()


def _open(path: Path, encoding: str) -> io.TextIOWrapper:
    """The text with its line ends as they are: CR alone ends a line too."""
    return path.open("r", encoding=encoding, errors="replace", newline="")


def _score(
    sample: list[str], delimiter: str, score: Callable[[Rows], tuple[int, ...]]
) -> tuple[int, ...]:
    """The caller's score, then how many rows have the same number of cells."""
    if not any(delimiter in line for line in sample):
        return (*score([]), 0)
    try:
        rows = [row for row in csv.reader(sample, delimiter=delimiter) if len(row) > 1]
    except csv.Error:
        return ()
    widths = [len(row) for row in rows]
    return (*score(rows), max((widths.count(width) for width in set(widths)), default=0))


def _copy(file: io.TextIOWrapper, taken: list[str]) -> Iterator[str]:
    for text in file:
        taken.append(text)
        yield text


def _is_unclosed(
    cells: list[str], taken: list[str], width: int, looks_like_record: Callable[[str], bool]
) -> bool:
    """Whether a record over several lines is a quote that was never closed.

    A real one has the width of the records before it, and no line of it looks like a record of its own.
    """
    if len(taken) > LINES_PER_RECORD_MAX or (width > 1 and len(cells) != width):
        return True
    return any(map(looks_like_record, max(cells, key=len).split("\n")[1:]))


def _unquote(lines: list[str], before: int, delimiter: str) -> Iterator[Record]:
    """Lines that were taken for one record, each by itself and without quotes."""
    for number, text in enumerate(lines, start=before + 1):
        cells = text.rstrip("\r\n").split(delimiter)
        yield number, [cell.strip().strip('"') for cell in cells]
