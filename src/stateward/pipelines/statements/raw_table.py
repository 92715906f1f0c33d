"""The first rows of a table as they are printed, for a person who says which column is what."""

from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from stateward.core.errors import StageFailure
from stateward.pipelines.statements.source import Bounds, Hints, Source

ROWS_MAX = 40
CELL_CHARS_MAX = 200
SHEET_BYTES_MAX = 8 << 20  # a larger one takes seconds to open, and a page waits for this


def raw_table(path: Path, hints: Mapping[str, str]) -> list[list[str]] | None:
    """The rows of a delimited text, or of the first sheet that has any; None for what is no table."""
    from stateward.pipelines.statements.sniff import sniff

    source = Source(path, Hints(encoding=hints.get("encoding", "")), Bounds())
    try:
        format_ = sniff(source)
        rows = _delimited_rows(source) if format_ == "csv" else _sheet(source, format_)
    except StageFailure:  # what is wrong with the file, its record says
        return None
    return rows and [[cell[:CELL_CHARS_MAX] for cell in cells] for cells in rows]


def _delimited_rows(source: Source) -> list[list[str]] | None:
    from stateward.pipelines.statements.delimited import table_rows

    return [cells for _, cells in islice(table_rows(source), ROWS_MAX)]


def _sheet(source: Source, format_: str) -> list[list[str]] | None:
    from stateward.pipelines.kit.spreadsheets import read_sheets

    if format_ != "sheet" or source.path.stat().st_size > SHEET_BYTES_MAX:
        return None
    for _, rows in read_sheets(source.path):
        # As the reader counts: rows without any cell are none.
        if filled := [cells for cells in rows if any(cells)]:
            return filled[:ROWS_MAX]
    return None
