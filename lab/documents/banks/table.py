"""An export before it is written: a table with what stands above and below it, and how its bytes are made."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from io import BytesIO, StringIO
from random import Random
from typing import Any

import xlsxwriter


@dataclass
class Export:
    """One file. `vital` are the columns without which a person could not read it either."""

    headings: list[str]
    rows: list[list[Any]]
    vital: set[int]
    delimiter: str = ","
    encoding: str = "utf-8"
    above: Sequence[str] = ()
    below: Sequence[str] = ()
    has_headings: bool = True
    is_quoted: bool = False
    line_end: str = "\n"
    changes: list[str] = field(default_factory=list)
    suffix: str = ".csv"

    def bytes(self) -> bytes:
        """The file."""
        text = StringIO()
        writer = csv.writer(
            text,
            delimiter=self.delimiter,
            quoting=csv.QUOTE_ALL if self.is_quoted else csv.QUOTE_MINIMAL,
            lineterminator=self.line_end,
        )
        for line in self.above:
            text.write(line + self.line_end)
        if self.has_headings:
            writer.writerow(self.headings)
        writer.writerows(self.rows)
        for line in self.below:
            text.write(line + self.line_end)
        return text.getvalue().encode(self.encoding, errors="replace")

    @property
    def spare(self) -> list[int]:
        """The columns that may go."""
        return [at for at in range(len(self.headings)) if at not in self.vital]


class Workbook(Export):
    """A table in XLSX. Cells may be days and numbers; `above` and `below` are rows whose cells are parted by tabs."""

    def bytes(self) -> bytes:
        """The file."""
        file = BytesIO()
        book = xlsxwriter.Workbook(file, {"in_memory": True, "default_date_format": "dd/mm/yyyy"})
        book.set_properties({"created": datetime(2026, 1, 1)})  # noqa: DTZ001 - the same bytes again
        sheet = book.add_worksheet()
        lines: list[Sequence[object]] = [line.split("\t") for line in self.above]
        lines += [self.headings, *self.rows] if self.has_headings else self.rows
        lines += [line.split("\t") for line in self.below]
        for at, line in enumerate(lines):
            for place, cell in enumerate(line):
                if isinstance(cell, date):
                    sheet.write_datetime(at, place, cell)
                elif isinstance(cell, Decimal):
                    sheet.write_number(at, place, float(cell))
                elif cell != "":
                    sheet.write_string(at, place, str(cell))
        book.close()
        return file.getvalue()


class Message(Export):
    """A file in a format of its own; nothing of it is a table."""

    def __init__(self, text: str, suffix: str, encoding: str = "utf-8") -> None:
        super().__init__([], [], set(), has_headings=False, encoding=encoding, suffix=suffix)
        self.text = text

    def bytes(self) -> bytes:
        """The file."""
        return self.text.encode(self.encoding, errors="replace")


def mutate(export: Export, random: Random) -> None:
    """Change a layout into one that never existed and that a person would still read in the same way."""
    for change in random.sample(MUTATIONS, k=random.randint(1, 3)):
        change(export, random)


def drop_column(export: Export, random: Random) -> None:
    """Without a column that says nothing about money or time."""
    if not export.spare or len(export.headings) < 4:
        return
    at = random.choice(export.spare)
    for row in (export.headings, *export.rows):
        del row[at]
    export.vital = {each - (each > at) for each in export.vital}
    export.changes.append("drop")


def swap_columns(export: Export, random: Random) -> None:
    """With two columns in each other's place."""
    if not export.has_headings:
        return  # a table without headings is known by its order
    first, second = random.sample(range(len(export.headings)), k=2)
    for row in (export.headings, *export.rows):
        row[first], row[second] = row[second], row[first]
    places = {first: second, second: first}
    export.vital = {places.get(each, each) for each in export.vital}
    export.changes.append("swap")


def rename_heading(export: Export, random: Random) -> None:
    """With another word over a column that is not vital, or other capitals over one that is."""
    if not export.has_headings:
        return
    at = random.randrange(len(export.headings))
    name = export.headings[at]
    export.headings[at] = name.upper() if at in export.vital else f"{name} (info)"
    export.changes.append("rename")


def blank_cells(export: Export, random: Random) -> None:
    """With empty cells where nothing vital stands."""
    for row in export.rows:
        for at in export.spare:
            if at < len(row) and random.random() < 0.3:
                row[at] = ""
    export.changes.append("blank")


def turn_rows(export: Export, _: Random) -> None:
    """With the rows in the other direction."""
    export.rows.reverse()
    export.changes.append("turn")


def other_delimiter(export: Export, random: Random) -> None:
    """With another separator, and quotes where they are then needed."""
    if not export.above and not export.below:
        export.delimiter = random.choice((";", "\t", ","))
        export.changes.append("delimiter")


def other_line_end(export: Export, _: Random) -> None:
    """As Windows writes it."""
    export.line_end = "\r\n"
    export.changes.append("crlf")


MUTATIONS = (
    drop_column, swap_columns, rename_heading, blank_cells, turn_rows, other_delimiter, other_line_end,
)  # fmt: skip
