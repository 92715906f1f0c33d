"""Tables whose cells are parted by blanks, as instruments and programs of statistics print them.

Prose has blanks, too: they part cells only where the same number of them stands in nearly every line, and numbers do.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from stateward.pipelines.kit.delimited import Dialect, Record

SAMPLE_LINES = 200
LINES_MIN = 3
LINE_CHARS_MAX = 100_000
EVEN = 0.9  # of the lines must have as many cells
NUMBERS_SHARE = 0.5  # of the columns must be numbers
_WIDE = re.compile(r"\s{2,}")
_NUMBER = re.compile(r"[+\-\u2212]?(?:[0-9]+[.,]?[0-9]*|[.,][0-9]+)(?:[eEdD][+-]?[0-9]{1,4})?")
_DAY = re.compile(
    r"[0-9]{1,4}([-./])[0-9]{1,2}\1[0-9]{1,4}|[0-9]{1,2}(?::[0-9]{2}){1,2}(?:[.,][0-9]+)?"
)
_DECIMAL_COMMA = re.compile(r"(?<=[0-9]),(?=[0-9])")


def find_blanks(path: Path, encoding: str, dialect: Dialect | None) -> int:
    """How many blanks at least part the cells of a text; 0 if they do not.

    Where commas seem to part them, each must be the decimal sign of a number.
    """
    sign = "" if dialect is None else dialect.delimiter
    if sign in (";", "\t", "|"):
        return 0
    with path.open("r", encoding=encoding, errors="replace") as file:
        lines = [
            text.strip()
            for text in islice(file, SAMPLE_LINES)
            if text.strip() and text.lstrip()[0] not in "#%"
        ]
    if any(len(line) > LINE_CHARS_MAX for line in lines):
        return 0
    is_parted = any(sign in _DECIMAL_COMMA.sub("", line) for line in lines[1:]) if sign else False
    if len(lines) < LINES_MIN or is_parted:
        return 0
    return next((least for least in (2, 1) if _are_cells([*_rows(lines, least)])), 0)


def rows_by_blanks(lines: Sequence[str]) -> list[list[str]]:
    """The first lines of a text as rows; none if blanks do not part their cells."""
    told = [line.strip() for line in lines if line.strip()]
    if len(told) < LINES_MIN or any(len(line) > LINE_CHARS_MAX for line in told):
        return []
    tables = ([*_rows(told, least)] for least in (2, 1))
    return next(filter(_are_cells, tables), [])


def records_by_blanks(path: Path, encoding: str, least: int) -> Iterator[Record]:
    """The lines that hold anything, as cells."""
    with path.open("r", encoding=encoding, errors="replace") as file:
        for number, text in enumerate(file, start=1):
            if line := text.strip():
                yield number, next(_rows([line], least))


def _rows(lines: Sequence[str], least: int) -> Iterator[list[str]]:
    if least > 1:
        return (_WIDE.split(line) for line in lines)
    plain = (" ".join(line.split()) if '"' not in line else line for line in lines)
    return csv.reader(plain, delimiter=" ", skipinitialspace=True)


def _are_cells(rows: Sequence[Sequence[str]]) -> bool:
    width, count = Counter(map(len, rows)).most_common(1)[0]
    if width < 2 or count < EVEN * (len(rows) - 1):
        return False
    below = [cells for cells in rows[1:] if len(cells) == width]
    columns = list(zip(*below, strict=True))
    measured = sum(sum(map(_is_figure, cells)) >= EVEN * len(cells) for cells in columns)
    return len(below) >= LINES_MIN - 1 and measured >= max(1, NUMBERS_SHARE * width)


def _is_figure(cell: str) -> bool:
    return _NUMBER.fullmatch(cell) is not None or _DAY.fullmatch(cell) is not None
