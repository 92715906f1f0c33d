"""Items as a sheet (XLSX, extra `xlsx`) or as columns (Parquet, extra `query`). No cell of a sheet is a formula."""

import csv
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from stateward.core.errors import InvalidRequest
from stateward.definition.display import (
    FLAGS,
    ROWS_LOOKED_AT,
    Column,
    ItemView,
    cell_text,
    columns_of,
)
from stateward.extras import missing_extra

if TYPE_CHECKING:
    import duckdb

    from stateward.core.model import Fields, Json

FLAGS_COLUMN = Column(FLAGS, format="list")
SHEET_ROWS_MAX = 1_048_575  # of a sheet, below its heading
CELL_CHARS_MAX = 32_767
EXACT_DIGITS = 15  # what a double of a spreadsheet carries
DECIMALS = 10  # of amounts in Parquet; more stay text
View = Callable[[], ItemView | None]


def peek_first_row(rows: "Iterator[Fields]") -> "Iterator[Fields]":
    """The same rows, after the first of them was made: what is known of them by then is known."""
    first = list(islice(rows, 1))
    return chain(first, rows)


def write_xlsx(path: Path, rows: "Iterator[Fields]", view: View) -> None:
    """A workbook with one sheet: numbers and days as such, everything else as text, whatever it begins with."""
    try:
        import xlsxwriter
    except ImportError as error:
        raise missing_extra(error) or error from error
    columns, waiting = _columns(rows, view)
    # A row is written out before the next one comes: a million rows take no more memory than one.
    book = xlsxwriter.Workbook(
        str(path),
        {
            "constant_memory": True,
            "strings_to_formulas": False,
            "strings_to_urls": False,
            "strings_to_numbers": False,
        },
    )
    try:
        sheet = book.add_worksheet("items")
        bold, day = book.add_format({"bold": True}), book.add_format({"num_format": "yyyy-mm-dd"})
        for place, column in enumerate(columns):
            sheet.write_string(0, place, column.heading, bold)
        for number, row in enumerate(waiting, start=1):
            if number > SHEET_ROWS_MAX:
                raise InvalidRequest(f"a sheet has {SHEET_ROWS_MAX} rows; export a shorter period")
            for place, column in enumerate(columns):
                value = column.value(row)
                if (amount := _number(column, value)) is not None:
                    sheet.write_number(number, place, amount)
                elif column.format == "date" and (found := _day(value)) is not None:
                    sheet.write_datetime(number, place, found, day)
                elif text := cell_text(value):
                    sheet.write_string(number, place, text[:CELL_CHARS_MAX])
        sheet.freeze_panes(1, 0)
    finally:
        book.close()


def _number(column: Column, value: "Json") -> float | None:
    """A number that a sheet can hold exactly; None for everything else."""
    if isinstance(value, bool) or column.format not in ("money", "number", "percent"):
        return None
    text = str(value)
    if sum(c.isdigit() for c in text) > EXACT_DIGITS:
        return None
    try:
        return float(text)
    except ValueError:
        return None


def _day(value: "Json") -> date | None:
    try:
        return date.fromisoformat(str(value)[:10])
    except ValueError:
        return None


def write_parquet(path: Path, rows: "Iterator[Fields]", view: View) -> None:
    """Columns with types: days as dates, amounts as exact decimals."""
    try:
        import duckdb
    except ImportError as error:
        raise missing_extra(error) or error from error
    columns, waiting = _columns(rows, view)
    with TemporaryDirectory() as folder:
        plain = Path(folder) / "items.csv"
        with plain.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, quoting=csv.QUOTE_ALL)
            writer.writerow([column.name for column in columns])
            writer.writerows([cell_text(c.value(row)) for c in columns] for row in waiting)
        with duckdb.connect(":memory:") as database:
            names = {column.name: "VARCHAR" for column in columns}
            database.execute(
                "CREATE TABLE items AS SELECT * FROM read_csv(?, columns=?, header=true, quote='\"', escape='\"', "
                "nullstr='', auto_detect=false, delim=',', new_line='\\r\\n', max_line_size=33554432)",
                [str(plain), names],
            )
            shown = ", ".join(_typed_column(database, column) for column in columns)
            target = str(path).replace("'", "''")
            # Names are quoted, and so is the path: COPY takes no parameters.
            copy = f"COPY (SELECT {shown} FROM items) TO '{target}' (FORMAT parquet)"  # noqa: S608
            database.execute(copy)


def _typed_column(database: "duckdb.DuckDBPyConnection", column: Column) -> str:
    """A column as SQL: with the type of its format where every value has it."""
    name = '"' + column.name.replace('"', '""') + '"'
    types = {"date": "DATE", "money": f"DECIMAL(38,{DECIMALS})", "number": "DOUBLE"}
    if column.format not in types:
        return name
    type_ = types[column.format]
    # The name is quoted; types are from the table above.
    wrong = (
        f"SELECT count(*) FROM items WHERE {name} IS NOT NULL AND (TRY_CAST({name} AS {type_}) IS NULL "  # noqa: S608
        f"OR length(split_part({name}, '.', 2)) > {DECIMALS})"
    )
    counted = database.execute(wrong).fetchone()
    return name if counted is None or counted[0] else f"CAST({name} AS {type_}) AS {name}"


def _columns(rows: "Iterator[Fields]", view: View) -> "tuple[tuple[Column, ...], Iterable[Fields]]":
    """All columns that are declared, or those that the first rows fill; and all rows."""
    first = list(islice(rows, ROWS_LOOKED_AT))
    known = view()
    declared = () if known is None else known.columns
    columns = declared or columns_of(known, first)
    return (*columns, FLAGS_COLUMN), chain(first, rows)
