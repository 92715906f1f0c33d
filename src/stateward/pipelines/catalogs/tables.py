"""Rows of cells become observations: the headings are found and understood once, then whole columns are moved."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, repeat
from typing import NamedTuple

from stateward.core.errors import FatalFailure
from stateward.pipelines.catalogs.headings import (
    PRICE_UNSURE,
    ColumnPlan,
    currency_above,
    heading_row,
    heading_row_by_content,
    names_columns_again,
    number_by_content,
    plan_of,
)
from stateward.pipelines.catalogs.model import ROLES, CatalogReading, Observation, ProductPlace

BATCH_ROWS = 500  # as many as the SDK stores in one chunk
LONG_ROW, SHORT_ROW, PRICE_ORDER = "LONG_ROW", "SHORT_ROW", "PRICE_ORDER"
COLUMNS_UNSURE = "COLUMNS_UNSURE"
SURPLUS = "(more cells)"
KNOWN_MAX = 2_000


class RowBatch(NamedTuple):
    """Rows that follow each other: the number of the first, and the line on which each begins."""

    rows: Sequence[list[str]]
    first: int
    lines: Sequence[int]
    sheet: str | None = None


def no_catalog(why: str) -> FatalFailure:
    """The refusal of a file in which no products are found."""
    return FatalFailure(
        f"the file is no catalogue that can be read: {why}; export it with a row of headings such as "
        "SKU, Title, Price, Currency",
        code="NO_CATALOG",
    )


def table_observations(
    batches: Iterable[RowBatch], reading: CatalogReading
) -> Iterator[list[Observation]]:
    """The products of a table; its headings are looked for before this returns."""
    source = iter(batches)
    first = next(source, None)
    found = None if first is None else _headings_of(first.rows)
    if first is None or found is None:
        raise no_catalog("no row names a SKU, GTIN or handle beside a title or a price")
    at, by_content = found
    below = at + 1
    # Flat files of marketplaces name each column twice: for people, and below it for the program that takes the file.
    if names_columns_again(first.rows[below : below + 1]):
        below += 1
        reading.decisions.append(
            f"row {first.first + at + 1} names the columns again and is no product"
        )
    plan = plan_of(first.rows[at], reading.format, first.rows[below:], by_content=by_content)
    maker = RowMaker(plan, first.rows[at], reading)
    where = f"row {first.first + at}"
    if by_content:
        taken = ", ".join(
            f"{plan.headings[place] or place + 1!r} for the {role}"
            for role, place in sorted(by_content.items(), key=lambda each: each[1])
        )
        reading.note(
            COLUMNS_UNSURE,
            f"the headings in {where} are not understood; by what the columns hold, {taken} is taken",
        )
    reading.decisions.append(f"the headings are in {where}")
    if not reading.currency and (named := currency_above(first.rows[:at])):
        reading.currency = named
        reading.currency_why = f"a line above the headings names {named}"
    rest = RowBatch(first.rows[below:], first.first + below, first.lines[below:], first.sheet)
    return maker.all_observations(rest, source)


def _headings_of(rows: Sequence[list[str]]) -> tuple[int, dict[str, int]] | None:
    """The row of headings, and the columns that only their cells tell."""
    at = heading_row(rows)
    return heading_row_by_content(rows) if at is None else (at, number_by_content(rows, at))


class RowMaker:
    """Makes observations of rows by the plan of their columns."""

    def __init__(self, plan: ColumnPlan, headings: list[str], reading: CatalogReading) -> None:
        self._width = plan.width
        self._headings = headings
        self._others = plan.others
        self._places = [plan.places.get(role) for role in ROLES]
        self._orders = plan.orders
        self._reading = reading
        # Cells without a role are mostly the same few words in all rows: each combination is made once.
        self._known: dict[tuple[str, ...], dict[tuple[str, ...], dict[str, str]]] = {}
        reading.format = plan.format
        reading.columns |= plan.columns()
        for doubt in plan.doubts:
            reading.note(PRICE_UNSURE, doubt)
        if plan.currency:
            reading.currency = plan.currency
            reading.currency_why = f"the heading of the price names {plan.currency}"

    def all_observations(
        self, first: RowBatch, rest: Iterable[RowBatch]
    ) -> Iterator[list[Observation]]:
        """The products of all batches."""
        yield from self.observations(first)
        for batch in rest:
            yield from self.observations(batch)

    def observations(self, batch: RowBatch) -> Iterator[list[Observation]]:
        """The products of one batch, in lists that fit into a chunk."""
        for at in range(0, len(batch.rows), BATCH_ROWS):
            end = at + BATCH_ROWS
            part = RowBatch(batch.rows[at:end], batch.first + at, batch.lines[at:end], batch.sheet)
            made = self._columns(part)
            if made:
                yield made

    def _columns(self, batch: RowBatch) -> list[Observation]:
        """Whole columns at once: a row costs one call of the Struct and no Python code of its own."""
        rows, places = self._non_blank(batch)
        if not rows:
            return []
        faults: Iterable[str] = repeat("")
        surplus: list[str] = []
        if {*map(len, rows)} != {self._width}:
            faults = [self._fault(cells) for cells in rows]
            surplus = [" | ".join(cells[self._width :]).strip(" |") for cells in rows]
            rows = [self._fit(cells) for cells in rows]
        if self._orders:
            faults = [
                fault or self._fault_of_prices(cells)
                for fault, cells in zip(faults, rows, strict=False)
            ]
        columns = list(zip(*rows, strict=True))
        others = self._other_cells(columns, len(rows))
        for at, text in enumerate(surplus):
            if text:
                others[at] = {**others[at], SURPLUS: text}
        roles = (repeat("") if at is None else columns[at] for at in self._places)
        return list(map(Observation, places, faults, *roles, others))

    def _non_blank(self, batch: RowBatch) -> tuple[Sequence[list[str]], list[ProductPlace]]:
        """The rows that are not blank, and their places."""
        numbers = range(batch.first, batch.first + len(batch.rows))
        if batch.sheet is None and batch.lines == [*numbers]:
            places = [*map(ProductPlace, numbers)]
        else:
            known = (
                None if line == number else line
                for line, number in zip(batch.lines, numbers, strict=True)
            )
            places = [*map(ProductPlace, numbers, known, repeat(batch.sheet))]
        full = [any(cells) for cells in batch.rows]
        # Exports of several pages that were put together have the same headings above each part.
        repeated = batch.rows.count(self._headings)
        if all(full) and not repeated:
            return batch.rows, places
        self._reading.blank_rows += full.count(False)
        if repeated:
            self._reading.repeated_headings += repeated
            full = [
                is_full and cells != self._headings
                for is_full, cells in zip(full, batch.rows, strict=True)
            ]
        return [*compress(batch.rows, full)], [*compress(places, full)]

    def _fault(self, cells: list[str]) -> str:
        if len(cells) < self._width:
            return SHORT_ROW
        return LONG_ROW if any(cells[self._width :]) else ""

    def _fault_of_prices(self, cells: Sequence[str]) -> str:
        return PRICE_ORDER if any(order.is_broken_in(cells) for order in self._orders) else ""

    def _fit(self, cells: list[str]) -> list[str]:
        return [*cells[: self._width], *repeat("", self._width - len(cells))]

    def _other_cells(self, columns: Sequence[Sequence[str]], count: int) -> list[dict[str, str]]:
        """What the columns without a role hold; most of them hold nothing, and cost nothing."""
        used = [(name, columns[at]) for at, name in self._others if any(columns[at])]
        if not used:
            return [{}] * count
        names = tuple(name for name, _ in used)
        known = self._known.setdefault(names, {})
        made: list[dict[str, str]] = []
        for row in zip(*(column for _, column in used), strict=True):
            cells = known.get(row)
            if cells is None:
                cells = {name: cell for name, cell in zip(names, row, strict=True) if cell}
                if len(known) < KNOWN_MAX:
                    known[row] = cells
            made.append(cells)
        return made
