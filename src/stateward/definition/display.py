"""How the records and items of a state machine are shown, declared as data and rendered the same by every interface.

A plug-in declares columns, formats, alignment and the places in the document that items come from; the console, the
command line, CSV files and the API read the same declaration. What is not declared is shown as it is. Pure: text and
values in, text out.
"""

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from stateward.core.model import Fields, Json

Format: TypeAlias = Literal[
    "text", "code", "number", "money", "percent", "date", "time", "flag", "list", "picture"
]
Align: TypeAlias = Literal["left", "right", "center"]

# What a spreadsheet takes for the beginning of a formula.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")
FLAGS = "flags"  # the key under which an item carries the flags of its record
COLUMNS_MAX = 24
# Rows that are looked at to find the columns of items that declare none.
ROWS_LOOKED_AT = 200
NUMBER_CHARS_READ = 12
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
_FRACTION = re.compile(r"[+-]?[0-9]+\.[0-9]+(?:e[+-]?[0-9]+)?")
_RIGHT: frozenset[Format] = frozenset({"number", "money", "percent"})


class Column(msgspec.Struct, frozen=True):
    """One column of items. `path` leads to the value inside the item, where that is not the key `name` itself."""

    name: str
    title: str = ""
    format: Format = "text"
    align: Align | None = None
    path: tuple[str, ...] = ()

    @property
    def heading(self) -> str:
        """What stands above the column."""
        return self.title or self.name.replace("_", " ")

    @property
    def alignment(self) -> Align:
        """Numbers stand right, everything else left, unless the column says otherwise."""
        return self.align or ("right" if self.format in _RIGHT else "left")

    def text(self, item: Mapping[str, Json]) -> str:
        """The value for people, in the format of the column."""
        value = self.value(item)
        match self.format, value:
            case _, None:
                return ""
            case "percent", _:
                return f"{value} %"
            case "flag", bool():
                return "yes" if value else "no"
            case "list", list():
                return ", ".join(map(str, value))
            case _, dict() | list():
                return msgspec.json.encode(value).decode()
            case _, float():
                return short_number(str(value))
            case "number", str():
                return short_number(value)
        return str(value)

    def hint(self, item: Mapping[str, Json]) -> str:
        """What is told of a value on demand: all of a code, which may be cut, and all digits of a number."""
        value, text = self.value(item), self.text(item)
        is_cut = isinstance(value, float | str) and len(text) < len(str(value))
        return str(value) if text and (is_cut or self.format == "code") else ""

    def value(self, item: Mapping[str, Json]) -> Json:
        """The value of an item in this column; None where it has none."""
        found: Json = dict(item)
        for key in self.path or (self.name,):
            found = found.get(key) if isinstance(found, dict) else None
        return found


class Where(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A place in the document: a page and a box on it, a row or line, or a range of characters.

    `page`, `line` and `row` count from 1. `box` is (left, top, right, bottom) from the top left corner: in points on a
    page, in pixels on a picture. `start` and `end` are character offsets into the text of the page, or of the whole
    document without one. `file` ("stage/name") says that the place is in that derived file instead of the document.
    """

    page: int | None = None
    box: tuple[float, float, float, float] | None = None
    line: int | None = None
    row: int | None = None
    sheet: str | None = None
    start: int | None = None
    end: int | None = None
    file: str | None = None

    @classmethod
    def read(cls, value: Json) -> "Where | None":
        """The place that a value of an item describes; None for what is no place."""
        if not isinstance(value, dict):
            return None
        known = {key: each for key, each in value.items() if key in cls.__struct_fields__}
        try:
            found = msgspec.convert(
                {key: each for key, each in known.items() if each is not None}, cls
            )
        except msgspec.ValidationError:
            return None
        return None if found == cls() else found

    @property
    def spot(self) -> str:
        """The place within its file for people, like `page 3, line 12`."""
        named = (("sheet", self.sheet), ("page", self.page), ("line", self.line), ("row", self.row))
        parts = [f"{name} {value}" for name, value in named if value is not None]
        if not parts and self.start is not None:
            parts = [f"character {self.start}"]
        return ", ".join(parts)

    @property
    def text(self) -> str:
        """The place for people with its file, where it is not in the document: `ocr/searchable.pdf, page 3`."""
        return ", ".join(each for each in (self.file, self.spot) if each)


class AboutTable(msgspec.Struct, frozen=True, kw_only=True):
    """A list in what a stage says of its items as a whole, shown as a table: its calls of a model, say.

    `paths` lead to it, the first that ends at a list counts; `columns` are those of its entries.
    """

    title: str
    paths: tuple[tuple[str, ...], ...]
    columns: tuple[Column, ...]

    def rows(self, about: Mapping[str, Json]) -> list[Fields]:
        """The entries of the list; none where it is not there."""
        for path in self.paths:
            found = Column("", path=path).value(about)
            if isinstance(found, list):
                return [each for each in found[:ROWS_LOOKED_AT] if isinstance(each, dict)]
        return []


class ItemView(msgspec.Struct, frozen=True, kw_only=True):
    """How the items of a stage are shown.

    `where` is the key of an item that holds its place in the document (see `Where`). With `source_types` the view
    holds for records of those alone, so that plug-ins that share a state machine can each show their own items.
    `tables` are lists in what the stage says of its items as a whole, which the console shows below them.
    """

    machine: str
    stage: str
    columns: tuple[Column, ...] = ()
    title: str = ""
    where: str = "where"
    source_types: tuple[str, ...] = ()
    tables: tuple[AboutTable, ...] = ()

    def place(self, item: Mapping[str, Json]) -> Where | None:
        """Where in the document an item comes from."""
        return Where.read(item.get(self.where))


class RecordView(msgspec.Struct, frozen=True, kw_only=True):
    """How the records of a state machine are introduced and summed up.

    `title` and `accepts` stand on the field that takes documents: "Invoices", "PDF or CSV". `facts` are the exposed
    fields that tell a reviewer what a record is about, `confidence` the one that says how sure its values are (0 to
    100). `pages` is the stage whose items are the pages of the document's text (`number`, `text`); `result` is the
    stage and the key of what it says of its items as a whole that sums a finished record up. `evidence` are lists in
    what the stage under review says of its items as a whole, which a reviewer sees below the values.
    """

    machine: str
    title: str = ""
    accepts: str = ""
    facts: tuple[str, ...] = ()
    confidence: str = ""
    pages: str = ""
    result: tuple[str, str] | None = None
    evidence: tuple[AboutTable, ...] = ()


class SearchableText(msgspec.Struct, frozen=True, kw_only=True):
    """Which text of a stage's items people search for: `fields` of each item, found at its place `where`.

    `type` is the key with the type of an item, by which a search is limited (`type:liability`); `types` are all types.
    """

    machine: str
    stage: str
    fields: tuple[str, ...]
    title: str = ""
    where: str = "where"
    source_types: tuple[str, ...] = ()
    type: str = ""
    types: tuple[str, ...] = ()


def columns_of(view: ItemView | None, rows: Sequence[Mapping[str, Json]]) -> tuple[Column, ...]:
    """The columns that these items fill: the declared ones, or every key in the order in which they come."""
    if view is not None and view.columns:
        return tuple(each for each in view.columns if any(_has(each, row) for row in rows))
    place = "" if view is None else view.where
    names = dict.fromkeys(name for row in rows for name in row if name != place)
    found = (Column(name, format=_format(name, rows)) for name in names)
    return tuple(
        islice((each for each in found if any(_has(each, row) for row in rows)), COLUMNS_MAX)
    )


def _has(column: Column, row: Mapping[str, Json]) -> bool:
    return column.value(row) not in (None, "", [], {})


def _format(name: str, rows: Sequence[Mapping[str, Json]]) -> Format:
    values = [row[name] for row in rows if row.get(name) is not None]
    if values and all(isinstance(each, bool) for each in values):
        return "flag"
    is_number = all(isinstance(each, int | float) and not isinstance(each, bool) for each in values)
    return "number" if values and is_number else "text"


def short_number(written: str) -> str:
    """A number to read: a mean of thirds fills a column with digits that say nothing. Short ones keep all of theirs."""
    if len(written) <= NUMBER_CHARS_READ or not _FRACTION.fullmatch(written):
        return written
    value = float(written)
    return str(float(f"{value:.6g}")) if abs(value) < 10_000 else str(round(value, 2))


def cell_text(value: Json) -> str:
    """A value for people and for cells."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "; ".join(map(str, value.values()))
    if isinstance(value, list):
        return "; ".join(map(str, value))
    return str(value)


def csv_lines(rows: Iterable[Fields], view: ItemView | None = None) -> Iterator[str]:
    """Items as CSV with a heading, line by line; no cell can be taken for a formula.

    The heading is the declared columns, all of them, so that every file of a kind has the same shape; without a
    declaration it is the keys of the first rows.
    """
    waiting = iter(rows)
    first = list(islice(waiting, ROWS_LOOKED_AT))
    if not first:
        return
    columns = (view.columns if view is not None else ()) or tuple(
        Column(name) for name in sorted({name for row in first for name in row})
    )
    yield _csv_line(harmless(column.name) for column in columns)
    for row in chain(first, waiting):
        yield _csv_line(harmless(cell_text(column.value(row))) for column in columns)


def with_flags(view: ItemView | None) -> ItemView | None:
    """A view with a column for the flags of the record that an item comes from."""
    if view is None or not view.columns:
        return view
    return replace(view, columns=(*view.columns, Column(FLAGS, format="list")))


def flagged_rows(rows: Iterable[Fields], flags: Sequence[str]) -> Iterator[Fields]:
    """Rows of a result that is flagged as wrong or incomplete, each with its codes: a file outlives what was said."""
    codes: list[Json] = list(flags)
    return ({**row, FLAGS: codes} for row in rows) if codes else iter(rows)


def doubt_of(record_id: str, flags: Sequence[str], decision: str = "") -> str:
    """A sentence about a flagged result, for who uses its rows; "" if there is nothing to say."""
    if not flags:
        return ""
    codes = ", ".join(flags)
    if not decision:
        return f"{record_id} is flagged as wrong or incomplete: {codes}"
    return f"{record_id} was flagged ({codes}); a person decided: {decision}"


def harmless(text: str) -> str:
    """A cell that no spreadsheet takes for a formula; numbers stay numbers."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) and not _NUMBER.fullmatch(text) else text


def _csv_line(cells: Iterable[str]) -> str:
    import csv  # with a dozen regular expressions, for lists that are read by programs

    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(cells)
    return text.getvalue()
