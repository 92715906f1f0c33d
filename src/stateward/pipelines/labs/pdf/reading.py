"""The results of all pages of a report: the best reading of each page, and what is left over of it."""

from collections.abc import Iterable, Sequence
from copy import copy

from msgspec.structs import replace

from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.labs.model import Observation
from stateward.pipelines.labs.pdf.antibiogram import antibiogram_rows
from stateward.pipelines.labs.pdf.below import (
    settle_second_units,
)
from stateward.pipelines.labs.pdf.blocks import block_rows, without_blocks
from stateward.pipelines.labs.pdf.columns import content_headings, lines_of_table
from stateward.pipelines.labs.pdf.evidence import is_clearly_better, score
from stateward.pipelines.labs.pdf.flowsheet import flowsheet_rows
from stateward.pipelines.labs.pdf.halves import has_two_headings, parts_of
from stateward.pipelines.labs.pdf.headed import Block, table_blocks
from stateward.pipelines.labs.pdf.headings import (
    CollectedAt,
    Heading,
)
from stateward.pipelines.labs.pdf.layout import layouts_of
from stateward.pipelines.labs.pdf.leftovers import lost_rows, mark_unread_cells, unvalued_rows
from stateward.pipelines.labs.pdf.legends import legend_of
from stateward.pipelines.labs.pdf.loose import confirm_by_place, loose_rows
from stateward.pipelines.labs.pdf.own_flags import drop_dashes, learn_flags
from stateward.pipelines.labs.pdf.paired import paired_tables
from stateward.pipelines.labs.pdf.results import row_observations
from stateward.pipelines.labs.pdf.row import (
    Row,
    is_of_paper,
    strip_footnotes,
)
from stateward.pipelines.labs.pdf.rows import TableReader
from stateward.pipelines.labs.pdf.sentences import statement_rows, without_earlier
from stateward.pipelines.labs.pdf.stacks import stacked_rows
from stateward.pipelines.labs.values import vote_decimal
from stateward.pipelines.labs.words import (
    fold,
)

Lines = Sequence[PdfLine]


def observations_of(
    pages: Sequence[Lines],
    *,
    date_order: str,
    collected: str,
    later: Sequence[CollectedAt],
    patient: str,
) -> list[Observation]:
    """The results of all pages in reading order. `later` are dates of collection, each for the rows below it."""
    rows: list[Row] = []
    reader = _PageReader()
    whole, pages = [without_earlier(page) for page in pages], []
    for page in whole:
        found, reader, parts = _best_reading(page, reader)
        if reader.has_headings:
            rows = [row for row in rows if not row.is_loose or not row.is_unread]
        rows += found
        pages += parts
    rows = _without_summaries(rows)
    if all(row.is_unread for row in rows if row.is_loose):
        rows = [row for row in rows if not row.is_loose]  # a letterhead, and no report
    confirm_by_place(rows)
    strip_footnotes(rows)
    rows += list(block_rows(pages, rows))
    paper = [row for row in rows if is_of_paper(row)]
    rows = [row for row in rows if not is_of_paper(row)]
    settle_second_units(rows)
    drop_dashes(rows)
    learn_flags(rows)
    mark_unread_cells(rows, pages)
    if any(not row.is_unread for row in rows):
        told = _keys_of(rows)
        lost = [row for row in lost_rows(pages, [*rows, *paper]) if not is_of_paper(row)]
        rows += [row for row in lost if not row.values or _key(row) not in told]
        rows += list(unvalued_rows(whole, [*rows, *paper]))
        rows.sort(key=lambda row: row.page)
    decimal = vote_decimal(
        text
        for row in rows
        for text in (*(value for value, _ in row.values), row.texts.get("range", ""))
    )
    legend = legend_of(line.text for page in pages for line in page)
    first = min(((row.page, row.start) for row in rows), default=(0, 0.0))
    tables = {table: at for at, table in enumerate(dict.fromkeys(row.table for row in rows))}
    return [
        replace(
            each,
            decimal=decimal,
            patient_key=patient,
            side=legend.get(each.flag.casefold(), ""),
            table=tables[row.table],
        )
        for row in rows
        for each in row_observations(row, date_order, _date_of_sample(row, first, collected, later))
    ]


def _without_summaries(rows: Sequence[Row]) -> list[Row]:
    """The rows without lines outside of tables that repeat a row of one: `Abnormal results: Calcium 10.8 mg/dL`."""
    told = _keys_of(row for row in rows if not row.is_loose)
    return [row for row in rows if not row.is_loose or _key(row) not in told]


def _keys_of(rows: Iterable[Row]) -> set[tuple[object, ...]]:
    return {_key(row) for row in rows if not row.is_unread}


def _key(row: Row) -> tuple[object, ...]:
    """What a row says: its name and its values."""
    return (fold(row.name), *row.values)


def _best_reading(
    page: Lines, reader: "_PageReader"
) -> tuple[list[Row], "_PageReader", list[Lines]]:
    """The rows of a page, read as a whole or, where that explains clearly more, as two tables side by side."""
    halves = parts_of(page)
    before = copy(reader)
    rows = reader.read_lines(page)
    if len(halves) > 1:
        apart = [row for part in halves for row in before.read_lines(part, is_half=True)]
        is_told = has_two_headings(page) and _unread(apart) <= _unread(rows)
        if is_told or is_clearly_better(apart, rows):
            return apart, before, [*halves]
    return rows, reader, [page]


def _unread(rows: Sequence[Row]) -> int:
    """How many rows of a reading could not be read, or have a text in none of their fields."""
    return sum(row.is_unread or row.has_unread for row in rows)


class _PageReader:
    """Tables one after the other: headings and sections hold until others are printed, also over pages."""

    def __init__(self) -> None:
        self._headings: list[Heading] = []
        self._by_content: list[
            Heading
        ] = []  # of the latest table whose columns were told by what they hold
        self._section = ""
        self._is_half = False

    @property
    def has_headings(self) -> bool:
        """Whether headings were found that are known."""
        return bool(self._headings)

    def read_lines(self, lines: Lines, *, is_half: bool = False) -> list[Row]:
        """The rows of a page, or of a part of it that stands beside another."""
        self._is_half = is_half
        rows, others = flowsheet_rows(lines)
        pairs, others = paired_tables(others)
        rows += pairs
        for read in (antibiogram_rows, statement_rows, stacked_rows):
            told, others = read(others)
            rows += told
        for block in table_blocks(others):
            if block.headings:
                rows = [row for row in rows if not row.is_loose or not row.is_unread]
            rows += self._read(block)
        return rows

    def _read(self, block: Block) -> list[Row]:
        """The rows of a block: by its headings, or by what its columns hold where that explains clearly more."""
        self._headings = block.headings or self._headings
        self._section = block.title or self._section
        if self._headings:
            best, section = self._tables(block, self._headings, is_certain=bool(block.headings))
        else:
            best, section = loose_rows(block.body), self._section
        own = content_headings(block.body)
        for headings in (own, self._by_content):
            if not headings:
                continue
            bare = replace(block, body=lines_of_table(block.body))
            rows, after = self._tables(bare, headings, is_certain=headings is own)
            # Lines by themselves are read less surely than below each other.
            is_table = not self._headings and headings is own and score(rows) >= score(best)
            if is_table or is_clearly_better(rows, best):
                best, section, self._by_content = rows, after, headings
        self._section = section
        return best

    def _tables(
        self, block: Block, headings: list[Heading], *, is_certain: bool
    ) -> tuple[list[Row], str]:
        rows: list[Row] = []
        section = self._section
        body = without_blocks(block.body)
        for layout in layouts_of(headings, block.body):
            table = TableReader(
                layout,
                layout.title or section,
                is_certain=is_certain,
                is_beside=self._is_half or layout.is_one_of_several,
                unit=block.unit,
                caption=block.caption,
                told=block.told,
            )
            rows += table.read(body)
            section = table.section
        return rows, section


def _date_of_sample(
    row: Row, first: tuple[int, float], collected: str, later: Sequence[CollectedAt]
) -> str:
    """The date of the sample that a row belongs to: one that is printed between the first row and this one, if any."""
    between = [
        each.date for each in later if first < (each.page, each.base) < (row.page, row.start)
    ]
    return between[-1] if between else collected
