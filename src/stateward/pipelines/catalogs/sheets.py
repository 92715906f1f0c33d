"""XLSX, XLS and ODS: every sheet that has the headings of a catalogue."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from stateward.core.errors import FatalFailure
from stateward.pipelines.catalogs.contents import holds_prices
from stateward.pipelines.catalogs.headings import currency_above, is_of_terms
from stateward.pipelines.catalogs.model import CatalogReading, Observation
from stateward.pipelines.catalogs.tables import RowBatch, no_catalog, table_observations
from stateward.pipelines.kit.spreadsheets import (
    FORMULA_UNSAVED,
    read_sheets,
    unsaved_formulas,
    unsaved_message,
)

COVER_ROWS_MAX = 60
SHEET_UNREAD = "SHEET_UNREAD"
BATCH_ROWS = 100  # few enough that descriptions of some kilobytes fit into a chunk


def read_sheet(path: Path) -> CatalogReading:
    """The products of all sheets; a sheet without headings of products is named in the log."""
    reading = CatalogReading("xlsx")
    parts: list[Iterator[list[Observation]]] = []
    told = ""
    unread: list[str] = []
    for name, rows in read_sheets(path):
        if not any(any(cells) for cells in rows):
            continue
        try:
            # A sheet is a whole in memory, so that the width of its first row is that of all.
            parts.append(table_observations(row_batches(name if parts else None, rows), reading))
        except FatalFailure:
            reading.decisions.append(f"the sheet {name!r} holds no catalogue")
            if holds_prices(rows) and not is_of_terms(name):
                unread.append(name)
            told = told or currency_above(rows[:COVER_ROWS_MAX])
        else:
            reading.decisions.append(f"the sheet {name!r} holds products")
    if not parts:
        raise no_catalog("no sheet has a row that names a SKU beside a title or a price")
    for name in unread:
        reading.note(
            SHEET_UNREAD,
            f"the sheet {name!r} has amounts beside texts, and no headings that name products; nothing of it was read",
        )
    if told and not reading.currency:
        reading.currency = told
        reading.currency_why = f"a sheet without products names {told} beside its prices"
    if cells := unsaved_formulas(path):
        reading.note(FORMULA_UNSAVED, unsaved_message(cells))
    reading.batches = chain.from_iterable(parts)
    return reading


def row_batches(sheet: str | None, rows: list[list[str]]) -> Iterator[RowBatch]:
    """Rows that are held as a whole, in batches."""
    for at in range(0, len(rows), BATCH_ROWS):
        part = rows[at : at + BATCH_ROWS]
        yield RowBatch(part, at + 1, list(range(at + 1, at + 1 + len(part))), sheet)
