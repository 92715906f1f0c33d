"""Tables as they were submitted: a CSV file, a spreadsheet, or a ZIP with CSV files and what describes them.

A ZIP may hold a `datapackage.json` (Frictionless Data Package), or CSV files with a Table Schema beside each:
`NAME.schema.json`, or `schema.json` for the only table. Nothing of an archive is written under its own name.
"""

import json
import posixpath
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from stateward.core.errors import FatalFailure
from stateward.core.model import Fields
from stateward.pipelines.experiments.blanks import find_blanks, records_by_blanks
from stateward.pipelines.experiments.labels import count_labels, units_in_labels
from stateward.pipelines.experiments.schema import (
    BAD_SCHEMA,
    CellFault,
    Field,
    TableSchema,
    canonical,
    read_schema,
)
from stateward.pipelines.experiments.settings import ExperimentSettings
from stateward.pipelines.experiments.units import is_unit
from stateward.pipelines.kit.archives import (
    check_inflated,
    check_sizes,
    check_unencrypted,
    open_archive,
    read_entry,
)
from stateward.pipelines.kit.delimited import Dialect, Record, Rows, find_dialect, read_records
from stateward.pipelines.kit.encoding import find_encoding
from stateward.pipelines.kit.failures import EMPTY_DOCUMENT, UNSUPPORTED_FORMAT
from stateward.pipelines.kit.files import ZIP, foreign_file, is_binary, is_empty, is_pdf

HEAD_BYTES = 4096
TABLES_MAX = 50
JSON_BYTES_MAX = 4 * 1024 * 1024
PACKAGE = "datapackage.json"
WORKBOOK = "xl/workbook.xml"
OTHER_SHEETS = frozenset({"xl/workbook.bin", "content.xml"})
TABLE_ENDS = (".csv", ".tsv", ".tab")

TOO_MANY_ROWS = "TOO_MANY_ROWS"
BAD_HEADER = "BAD_HEADER"
NO_TABLE = "NO_TABLE"
BAD_PACKAGE = "BAD_PACKAGE"
PREAMBLE_MAX = 100  # lines above a table
PAIR = 2
BLOCK_MIN = 3  # lines of a table below names and values
SAMPLE_ROWS = 200
UNITS_ROWS_MIN = 3  # with fewer rows below it, a word is rather a value
UNIT_CHARS_MAX = 20

NO_HEADER = "NO_HEADER"
PREAMBLE_SKIPPED = "PREAMBLE_SKIPPED"
UNITS_ROW = "UNITS_ROW"
LABELS_ROW = "LABELS_ROW"
_FORMULA = re.compile(r"(?=.*[0-9])(?:[A-Z][a-z]?[0-9]{0,2}){2,6}")
MISSING_TOLD = "MISSING_TOLD"
PARTED_BY_BLANKS = "PARTED_BY_BLANKS"
HIDDEN_ROWS = "HIDDEN_ROWS"
HEADER_REPEATED = "HEADER_REPEATED"
HEADING_NUMBERED = "HEADING_NUMBERED"
REPEATS_SHARE = 3  # one heading of so many may come again
SHEET_LEFT_OUT = "SHEET_LEFT_OUT"
COMMA_TYPED = "COMMA_TYPED"
TYPED_OTHERS_MIN = 0.8  # of the cells of a column are numbers as a spreadsheet keeps them
_TYPED = re.compile(r"[+-]?[0-9]+,(?:[0-9]{1,2}|[0-9]{4,})")
# `missing = -999`, `No data: -9999.0`, `Fehlwert: -99`: a number, which alone could be a value.
_MISSING_TOLD = re.compile(
    r"\b(?:missing|no[ _-]?data|fill|fehl(?:end\w*|wert\w*)|manquant\w*|mancant\w*|faltante\w*|ontbrekend\w*)"
    r"(?:[ _-](?:values?|data|werte?|valeurs?|code))?\s*(?:[=:]|(?:is|are|as|coded as|marked as|sind)\s)\s*"
    r"[\"']?(-?\d{1,9}(?:\.\d{1,6})?)(?![\w.]*\w)",
    re.IGNORECASE,
)
ENCODING_GUESSED = "ENCODING_GUESSED"


class Row(msgspec.Struct, frozen=True):
    """A row of cells; `line` is where it begins in its file, `number` counts rows of data from 1."""

    number: int
    line: int
    cells: list[str]


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A table in memory; `faults` are lines that could not be split into cells."""

    name: str
    headings: tuple[str, ...]
    rows: tuple[Row, ...]
    schema: TableSchema | None = None
    units: dict[str, str] = {}
    delimiter: str = ""  # what parts its cells; nothing in a spreadsheet
    missing: tuple[str, ...] = ()  # what its comments say that stands for no value
    faults: tuple[tuple[int, str], ...] = ()
    notes: tuple[str, ...] = ()


class Dataset(msgspec.Struct, frozen=True, kw_only=True):
    """All tables of a document, and what its package says of them as a whole."""

    tables: tuple[Table, ...]
    package: Fields = {}


class _Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A table that is to be read, before it is."""

    name: str
    path: Path
    schema: TableSchema | None = None
    dialect: Fields = {}
    encoding: str = ""
    records: list[Record] | None = None  # of a sheet, which has its cells already
    notes: tuple[str, ...] = ()


def read_dataset(path: Path, *, name: str, scratch: Path, settings: ExperimentSettings) -> Dataset:
    """The tables of a file."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    _check_kind(head)
    stem = posixpath.splitext(posixpath.basename(name.replace("\\", "/")))[0] or "data"
    if head.startswith(ZIP):
        plans, package = _archive_plans(path, stem, scratch, settings)
    else:
        plans, package = [_Plan(name=stem, path=path)], {}
    left, tables = settings.rows_max, []
    for plan in plans:
        table = _read(plan, settings, rows_max=left)
        left -= len(table.rows)
        tables.append(table)
    return Dataset(tables=tuple(tables), package=package)


def _check_kind(head: bytes) -> None:
    if is_empty(head):
        raise FatalFailure("the file is empty; submit it again", code=EMPTY_DOCUMENT)
    what = "a PDF; submit the data behind it" if is_pdf(head) else foreign_file(head)
    if not what and head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and b'"resources"' in head:
        raise FatalFailure(
            f"the file describes tables that did not come with it; submit {PACKAGE} and its tables in one ZIP",
            code=BAD_PACKAGE,
        )
    if not what and head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[", b"<")):
        what = "JSON, XML or HTML; export its tables as CSV"
    if what:
        raise FatalFailure(f"the file is {what}", code=UNSUPPORTED_FORMAT)


# Archives


def _archive_plans(
    path: Path, name: str, scratch: Path, settings: ExperimentSettings
) -> tuple[list[_Plan], Fields]:
    with open_archive(path) as archive:
        entries = [each for each in archive.infolist() if not each.is_dir()]
        setting = "experiments.inflated_bytes_max"
        check_sizes(entries, bytes_max=settings.inflated_bytes_max, setting=setting)
        check_unencrypted(entries)
        names = {each.filename: each.file_size for each in entries}
        if WORKBOOK in names:
            check_inflated(path, entries, bytes_max=settings.inflated_bytes_max, setting=setting)
            return _sheet_plans(path, name), {}
        found = [name for name in names if posixpath.basename(name) == PACKAGE]
        box = _Box(archive, names, scratch, settings)
        if found:
            return _package_plans(box, min(found, key=len))
        return _loose_plans(box), {}


class _Box:
    """An archive of which single files are taken out."""

    def __init__(
        self,
        archive: zipfile.ZipFile,
        names: Mapping[str, int],
        scratch: Path,
        settings: ExperimentSettings,
    ) -> None:
        self.names = names
        self._archive = archive
        self._scratch = scratch
        self._bytes_max = settings.inflated_bytes_max
        self._count = 0

    def document(self, name: str) -> object:
        """A JSON file."""
        data = read_entry(self._archive, name, bytes_max=JSON_BYTES_MAX)
        try:
            return json.loads(data.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            raise FatalFailure(f"{name} is no JSON: {error}", code=BAD_PACKAGE) from error

    def file(self, name: str) -> Path:
        """A file of the archive, under a name of ours."""
        data = read_entry(self._archive, name, bytes_max=self._bytes_max)
        path = self._scratch / f"table-{self._count}"
        self._count += 1
        path.write_bytes(data)
        return path


def _package_plans(box: _Box, name: str) -> tuple[list[_Plan], Fields]:
    package = box.document(name)
    resources = package.get("resources") if isinstance(package, dict) else None
    if not isinstance(package, dict) or not isinstance(resources, list) or not resources:
        raise FatalFailure(f"{name} names no resources", code=BAD_PACKAGE)
    if len(resources) > TABLES_MAX:
        raise FatalFailure(f"{name} names more than {TABLES_MAX} resources", code=BAD_PACKAGE)
    folder = posixpath.dirname(name)
    plans = [_resource_plan(box, folder, each, at) for at, each in enumerate(resources)]
    about = {key: package[key] for key in PACKAGE_KEYS if key in package}
    return plans, about


# What a package says of itself and goes into the bundle.
PACKAGE_KEYS = (
    "name", "id", "title", "description", "version", "licenses", "contributors", "sources", "keywords", "homepage",
)  # fmt: skip


def _resource_plan(box: _Box, folder: str, resource: object, at: int) -> _Plan:
    if not isinstance(resource, dict) or not isinstance(resource.get("path"), str):
        raise FatalFailure(
            f"resource {at + 1} of {PACKAGE} has no path of one file; data inside of it and several files are not read",
            code=BAD_PACKAGE,
        )
    target = posixpath.normpath(posixpath.join(folder, resource["path"]))
    if target not in box.names:
        raise FatalFailure(
            f"{PACKAGE} names {resource['path'][:200]!r}, which is not in the archive",
            code=BAD_PACKAGE,
        )
    schema = resource.get("schema")
    if isinstance(schema, str):
        beside = posixpath.normpath(posixpath.join(folder, schema))
        if beside not in box.names:
            raise FatalFailure(
                f"the schema {schema[:200]!r} is not in the archive", code=BAD_SCHEMA
            )
        schema = box.document(beside)
    name = str(resource.get("name") or posixpath.splitext(posixpath.basename(target))[0])
    dialect = resource.get("dialect")
    return _Plan(
        name=name,
        path=box.file(target),
        schema=None if schema is None else read_schema(schema, f"the schema of {name}"),
        dialect=dialect if isinstance(dialect, dict) else {},
        encoding=str(resource.get("encoding") or ""),
    )


def _loose_plans(box: _Box) -> list[_Plan]:
    tables = sorted(
        name
        for name in box.names
        if name.lower().endswith(TABLE_ENDS) and not _is_of_a_system(name)
    )
    if OTHER_SHEETS.intersection(box.names):
        raise FatalFailure(
            "it is no spreadsheet of a kind that is read; save it as XLSX, or each sheet of it as CSV",
            code=UNSUPPORTED_FORMAT,
        )
    if not tables or len(tables) > TABLES_MAX:
        raise FatalFailure(
            f"the archive holds {len(tables)} tables (CSV, TSV); 1 to {TABLES_MAX} are read",
            code=NO_TABLE,
        )
    return [_loose_plan(box, name, is_only=len(tables) == 1) for name in tables]


def _is_of_a_system(name: str) -> bool:
    """Whether a system added the file to an archive: resource forks of macOS, hidden files."""
    return any(
        part == "__MACOSX" or (part.startswith(".") and part not in (".", ".."))
        for part in name.split("/")
    )


def _loose_plan(box: _Box, name: str, *, is_only: bool) -> _Plan:
    stem = posixpath.splitext(name)[0]
    folder = posixpath.dirname(name)
    beside = [f"{stem}.schema.json", f"{name}.schema.json"]
    if is_only:
        beside += [posixpath.join(folder, each) for each in ("schema.json", "tableschema.json")]
    source = next((each for each in beside if each in box.names), None)
    schema = None if source is None else read_schema(box.document(source), source)
    return _Plan(name=posixpath.basename(stem), path=box.file(name), schema=schema)


# Spreadsheets


def _sheet_plans(path: Path, name: str) -> list[_Plan]:
    """A table for each sheet; one of words alone, in a single column, is about the others and is noted."""
    from stateward.pipelines.kit.spreadsheets import (
        FORMULA_UNSAVED,
        hidden_lines,
        read_sheets,
        unsaved_formulas,
        unsaved_message,
    )

    tables: list[tuple[str, list[Record]]] = []
    notes: list[str] = []
    for sheet, rows in read_sheets(path):
        records = _sheet_records(rows)
        if not records:
            continue
        if max(len(cells) for _, cells in records) == 1 and not any(
            _is_data(cells) for _, cells in records
        ):
            notes.append(
                f"{SHEET_LEFT_OUT}: the sheet {sheet!r} holds words in one column and no table"
            )
        else:
            tables.append((sheet, records))
    if not tables or len(tables) > TABLES_MAX:
        raise FatalFailure(
            f"the spreadsheet holds {len(tables)} sheets with a table; 1 to {TABLES_MAX} are read",
            code=NO_TABLE,
        )
    notes += _hidden_notes(hidden_lines(path), tables)
    if cells := unsaved_formulas(path):
        notes.append(f"{FORMULA_UNSAVED}: {unsaved_message(cells)}")
    return [
        _Plan(
            name=sheet if len(tables) > 1 else name,
            path=path,
            records=records,
            notes=tuple(notes) if at == 0 else (),
        )
        for at, (sheet, records) in enumerate(tables)
    ]


def _hidden_notes(
    hidden: Mapping[str, frozenset[int]], tables: Sequence[tuple[str, list[Record]]]
) -> Iterator[str]:
    for sheet, records in tables:
        if sheet not in hidden:
            continue
        count = sum(line in hidden[sheet] for line, _ in records)
        if count or not hidden[sheet]:
            what = (
                f"{count} rows of the sheet {sheet!r} are" if count else f"the sheet {sheet!r} is"
            )
            yield f"{HIDDEN_ROWS}: {what} hidden in the spreadsheet, and counted like the others"


def _sheet_records(rows: Sequence[list[str]]) -> list[Record]:
    """The rows that hold anything, as wide as the widest of them; a line of one cell is as long as it is in a text.

    But between rows of the table it is one of them, whose other cells are empty, and so is one below it that begins
    with a number, as the rows above it do.
    """
    filled = [
        (line, cells) for line, cells in enumerate(rows, start=1) if any(map(str.strip, cells))
    ]
    width = max((_width_of(cells) for _, cells in filled), default=0)
    wide = [at for at, (_, cells) in enumerate(filled) if _width_of(cells) == width > 1]
    first, last = (wide[0], wide[-1]) if wide else (0, -1)
    is_numbered = last > first and all(_is_data(filled[at][1][:1]) for at in wide[1:])

    def is_row(at: int, cells: Sequence[str]) -> bool:
        return first < at < last or (at > last and is_numbered and _is_data(cells[:1]))

    return [
        (
            line,
            cells[:1] if _width_of(cells) == 1 < width and not is_row(at, cells) else cells[:width],
        )
        for at, (line, cells) in enumerate(filled)
    ]


def _width_of(cells: Sequence[str]) -> int:
    """How many cells there are up to the last that holds anything."""
    return max((at for at, cell in enumerate(cells, start=1) if cell.strip()), default=0)


# Tables


def _read(plan: _Plan, settings: ExperimentSettings, *, rows_max: int) -> Table:
    faults: list[tuple[int, str]] = []
    notes = [*plan.notes]
    records, delimiter = plan.records, ""
    if records is None:
        records, delimiter = _text_records(plan, rows_max + PREAMBLE_MAX, faults, notes)
    records = _without_empty_end(records)
    missing: tuple[str, ...] = ()
    if plan.schema is None:
        missing = _missing_told(records)
        records = _without_preamble(records, plan.name, notes)
    if not records:
        raise FatalFailure(f"{plan.name!r} has no rows", code=NO_TABLE)
    first = records[0][1]
    has_header = plan.dialect.get("header") is not False
    if has_header and plan.schema is None and _is_data(first):
        has_header = False
        notes.append(
            f"{NO_HEADER}: the first row of {plan.name} holds numbers; columns are numbered"
        )
    names = _told_apart(first, plan, notes) if has_header else first
    headings = _headings(names, plan, settings) if has_header else _numbered_names(first, plan)
    units: dict[str, str] = {}
    below = records[1:] if has_header else records
    if plan.schema is None and has_header and _is_units_row(below, settings):
        units = {
            heading: _bare_unit(cell)
            for heading, cell in zip(headings, below[0][1], strict=True)
            if cell.strip()
        }
        below = below[1:]
        notes.append(f"{UNITS_ROW}: the row below the headings of {plan.name} is read as units")
    if (
        plan.schema is None
        and has_header
        and (count := count_labels(below, settings.missing_values))
    ):
        units |= units_in_labels(headings, [cells for _, cells in below[:count]])
        below = below[count:]
        notes.append(
            f"{LABELS_ROW}: {count} rows below the headings of {plan.name} describe its columns and were left out"
        )
    if missing:
        told = ", ".join(missing)
        notes.append(f"{MISSING_TOLD}: {told} in {plan.name} is no value, as a comment of it says")
    if plan.schema is None and has_header:
        again = sum(cells == first for _, cells in below)
        below = [each for each in below if each[1] != first] if again else below
        if again:
            notes.append(
                f"{HEADER_REPEATED}: {again} rows of {plan.name} repeat its headings and were left out"
            )
    if not below and not faults:
        raise FatalFailure(
            f"{plan.name!r} has headings and no rows; submit it with its data", code=NO_TABLE
        )
    below = _with_points(below, headings, plan, settings, notes)
    if len(below) > rows_max:
        raise FatalFailure(
            f"there are more than {settings.rows_max} rows (setting experiments.rows_max)",
            code=TOO_MANY_ROWS,
        )
    return Table(
        name=plan.name,
        headings=headings,
        rows=tuple(Row(at, line, cells) for at, (line, cells) in enumerate(below, start=1)),
        schema=plan.schema,
        units=units,
        delimiter=delimiter,
        missing=missing,
        faults=tuple(faults),
        notes=tuple(notes),
    )


def _with_points(
    records: list[Record],
    headings: Sequence[str],
    plan: _Plan,
    settings: ExperimentSettings,
    notes: list[str],
) -> list[Record]:
    """The rows of a sheet, with a decimal point where a few numbers of a column were typed as text with a comma.

    A spreadsheet keeps its numbers without a sign of its own, so that `23,46` among them can only be text. Three
    figures behind a comma may be thousands, and stay as they are.
    """
    if plan.records is None or plan.schema is not None:
        return records
    missing = frozenset(settings.missing_values)
    changed: dict[tuple[int, int], str] = {}
    for at, heading in enumerate(headings):
        cells = {
            place: cells[at].strip() for place, (_, cells) in enumerate(records) if at < len(cells)
        }
        held = {place: cell for place, cell in cells.items() if cell not in missing}
        typed = {place: cell for place, cell in held.items() if _TYPED.fullmatch(cell)}
        numbers = sum(_is_data([cell]) for cell in held.values())
        has_points = any("." in cell for cell in held.values())
        if not typed or not has_points or numbers < TYPED_OTHERS_MIN * len(held):
            continue
        changed |= {(place, at): cell.replace(",", ".") for place, cell in typed.items()}
        first = next(iter(typed.values()))
        notes.append(
            f"{COMMA_TYPED}: {len(typed)} cells of {heading} in {plan.name} hold a number as text with a comma, as"
            f" {first}, and are read as numbers"
        )
    rows = [(line, [*cells]) for line, cells in records] if changed else records
    for (place, at), cell in changed.items():
        rows[place][1][at] = cell
    return rows


def _text_records(
    plan: _Plan, records_max: int, faults: list[tuple[int, str]], notes: list[str]
) -> tuple[list[Record], str]:
    """The records of a text, in the encoding that it has, and what parts its cells."""
    encoding = find_encoding(plan.path, hint=plan.encoding)
    with plan.path.open("r", encoding=encoding.name, errors="replace") as file:
        if is_binary(file.read(HEAD_BYTES)):
            raise FatalFailure(f"{plan.name} is no text", code=UNSUPPORTED_FORMAT)
    if encoding.name not in ("utf-8", "utf-8-sig", "utf-16", "utf-32") and not plan.encoding:
        notes.append(f"{ENCODING_GUESSED}: {plan.name} is read as {encoding.name}: {encoding.why}")
    dialect = _dialect(plan, encoding.name)
    if "delimiter" not in plan.dialect and (
        blanks := find_blanks(plan.path, encoding.name, dialect)
    ):
        notes.append(
            f"{PARTED_BY_BLANKS}: blanks part the cells of {plan.name}, as nothing else does"
        )
        return list(islice(records_by_blanks(plan.path, encoding.name, blanks), records_max)), " "
    records = list(islice(_records(plan, dialect, encoding.name, faults), records_max))
    return records, "" if dialect is None else dialect.delimiter


def _missing_told(records: Sequence[Record]) -> tuple[str, ...]:
    """The numbers that comments say to stand for no value."""
    texts = [" ".join(cells) for _, cells in records if cells[0].lstrip().startswith(("#", "%"))]
    return tuple(dict.fromkeys(found for text in texts for found in _MISSING_TOLD.findall(text)))


def _without_preamble(records: list[Record], name: str, notes: list[str]) -> list[Record]:
    """The records from the heading on: comments, and what instruments write above a table, are left out and noted.

    The heading is the first record as wide as most in which no cell but the first is empty: an index has no name.
    """
    comments = [each for each in records if _is_comment(each)]
    data = [each for each in records if not _is_comment(each)]
    if not data:
        return data
    data = _with_index(data)
    usual = _usual_width(data)
    above = 0
    for _, cells in data[:PREAMBLE_MAX]:
        if len(cells) == usual and all(cell.strip() for cell in cells[1:]):
            break
        above += 1
    start = above if above < min(len(data), PREAMBLE_MAX) else 0
    if start and any(_is_data([cell]) for cell in data[start][1]):
        # A heading with a gap is no preamble; it is refused later.
        start = next((at for at, each in enumerate(data[:start]) if _has_gaps(each, usual)), start)
    if start or comments:
        notes.append(
            f"{PREAMBLE_SKIPPED}: {start + len(comments)} lines of {name} above the table or marked as comments were "
            "left out"
        )
    first_line, first = data[start]
    named = [each for each in comments if each[0] < first_line and len(each[1]) == usual]
    if named and _is_data(first):  # some programs write the heading as their last comment
        line, cells = named[-1]
        return [(line, [cells[0].lstrip(" #"), *cells[1:]]), *data[start:]]
    return data[start:]


def _with_index(records: list[Record]) -> list[Record]:
    """The records with an empty heading above the names of rows, where the headings leave it out, as those of R do."""
    (line, first), *below = records
    widths = {len(cells) for _, cells in below}
    is_short = len(below) > 1 and widths == {len(first) + 1} and len(first) > 1
    if not is_short or any(not cell.strip() or _is_data([cell]) for cell in first):
        return records
    return [(line, ["", *first]), *below]


def _has_gaps(record: Record, usual: int) -> bool:
    """Whether a record names most columns by words: what stands above a table fills one cell, or has other widths."""
    named = [cell for cell in record[1] if cell.strip()]
    is_wide = len(record[1]) == usual and len(named) > max(1, usual / 2)
    return is_wide and not any(_is_data([cell]) for cell in named)


def _without_empty_end(records: list[Record]) -> list[Record]:
    """The records without a last column that is empty from top to bottom: some programs end each line with a comma."""
    width = _usual_width(records)
    is_padded = width > 1 and not any(
        cell.strip() for _, cells in records for cell in cells[width - 1 :]
    )
    return [(line, cells[: width - 1]) for line, cells in records] if is_padded else records


def _usual_width(records: Sequence[Record]) -> int:
    """How many cells most of the first records have; of several answers the largest.

    Names and values of an instrument, two cells a line, may be more lines than its table has, but not more cells.
    """
    counts = Counter(len(cells) for _, cells in records[:SAMPLE_ROWS])
    usual = max(counts, key=lambda width: (counts[width], width), default=0)
    if usual != PAIR:
        return usual
    tables = [each for each in counts if each == PAIR or _is_block(records[:SAMPLE_ROWS], each)]
    return max(tables, key=lambda width: (counts[width] * (width - 1), width))


def _is_block(records: Sequence[Record], width: int) -> bool:
    """Whether the records of a width are a heading and rows below it: a footer or a torn row stands alone."""
    at = [place for place, (_, cells) in enumerate(records) if len(cells) == width]
    return len(at) >= BLOCK_MIN and at[-1] - at[0] == len(at) - 1


def _is_comment(record: Record) -> bool:
    return record[1][0].lstrip().startswith("#")


def _is_units_row(records: Sequence[Record], settings: ExperimentSettings) -> bool:
    """Whether a first row holds units: words above columns of numbers."""
    if len(records) <= UNITS_ROWS_MIN:
        return False
    units = records[0][1]
    missing = frozenset(settings.missing_values)
    sample = [cells for _, cells in records[1:SAMPLE_ROWS] if len(cells) == len(units)]
    named = 0
    for at, unit in enumerate(map(str.strip, units)):
        below = [cell for cells in sample if (cell := cells[at].strip()) not in missing]
        if not below or not all(_is_data([cell.replace(",", ".", 1)]) for cell in below):
            continue
        if _is_data([unit.replace(",", ".", 1)]) or len(unit) > UNIT_CHARS_MAX:
            return False
        named += unit not in missing
    return named > 0


def _bare_unit(cell: str) -> str:
    bare = cell.strip()
    if bare[:1] + bare[-1:] in ("[]", "()"):  # not one of a unit: W/(m·K)
        bare = bare[1:-1].strip()
        if _FORMULA.fullmatch(bare) and not is_unit(bare):  # pH (CaCl2): in what it was measured
            return ""
    return "" if bare == "-" else bare


def _records(
    plan: _Plan, dialect: Dialect | None, encoding: str, faults: list[tuple[int, str]]
) -> Iterator[Record]:
    """Lines of cells, without empty ones."""
    if dialect is None:
        with plan.path.open("r", encoding=encoding, errors="replace", newline=None) as file:
            for number, text in enumerate(file, start=1):
                if text.strip():
                    yield number, [text.strip().strip('"')]
        return
    commas = dialect.delimiter
    width = 0

    def looks_like_record(line: str) -> bool:
        return width > 2 and line.count(commas) == width - 1

    for line, cells in read_records(
        plan.path, dialect, encoding=encoding, looks_like_record=looks_like_record,
        report=lambda at, why: faults.append((at, why)),
    ):  # fmt: skip
        if any(cell.strip() for cell in cells):
            width = width or len(cells)
            yield line, cells


def _dialect(plan: _Plan, encoding: str) -> Dialect | None:
    given = plan.dialect.get("delimiter")
    if isinstance(given, str) and len(given) == 1:
        return Dialect(given, "the package says so")
    return find_dialect(plan.path, encoding=encoding, score=_regularity)


def _regularity(rows: Rows) -> tuple[int, ...]:
    """How many rows have the most common width, and that width."""
    widths = [len(row) for row in rows]
    best = max(set(widths), key=lambda width: (widths.count(width), width), default=0)
    return (widths.count(best), best)


def _is_data(cells: Sequence[str]) -> bool:
    """Whether a first row is no heading: all of it is numbers."""
    number = Field(name="", type="number")
    for cell in cells:
        try:
            canonical(number, cell)
        except CellFault:
            return False
    return True


def _told_apart(cells: Sequence[str], plan: _Plan, notes: list[str]) -> Sequence[str]:
    """The headings with a number for the second of a name, where few come again and no schema says which is which.

    Where many do, the row is one of two that only together name the columns.
    """
    seen: Counter[str] = Counter()
    numbered: list[str] = []
    for cell in map(str.strip, cells):
        seen[cell] += 1
        numbered.append(f"{cell} ({seen[cell]})" if cell and seen[cell] > 1 else cell)
    again = [name for name, count in seen.items() if name and count > 1]
    repeats = sum(seen[name] - 1 for name in again)
    if plan.schema is not None or not again or repeats * REPEATS_SHARE > len(numbered):
        return cells
    if len({*numbered}) < len(numbered):
        return cells
    named = ", ".join(map(repr, again))
    notes.append(
        f"{HEADING_NUMBERED}: {plan.name} has {named} more than once; later ones are numbered: name each column once"
    )
    return numbered


def _headings(cells: Sequence[str], plan: _Plan, settings: ExperimentSettings) -> tuple[str, ...]:
    headings = tuple(cell.strip() for cell in cells)
    if plan.schema is None and headings[0] == "":  # an index, as R and pandas write it
        headings = ("index", *headings[1:])
    if len(headings) > settings.columns_max:
        raise FatalFailure(
            f"{plan.name} has {len(headings)} columns, more than {settings.columns_max} (setting "
            "experiments.columns_max)",
            code=BAD_HEADER,
        )
    twice = [each for at, each in enumerate(headings) if each in headings[:at]]
    if "" in headings or twice:
        what = f"the heading {twice[0]!r} twice" if twice else "a column without a heading"
        raise FatalFailure(f"{plan.name} has {what}; name each column once", code=BAD_HEADER)
    if plan.schema is not None and headings != tuple(each.name for each in plan.schema.fields):
        _check_names(headings, plan)
    return headings


def _check_names(headings: Sequence[str], plan: _Plan) -> None:
    """Columns may stand in another order than the fields, but there must be the same ones."""
    assert plan.schema is not None  # noqa: S101 - the caller has looked
    names = {each.name for each in plan.schema.fields}
    missing, extra = sorted(names - set(headings)), sorted(set(headings) - names)
    if missing or extra:
        said = [
            *(f"no column {each!r}" for each in missing),
            *(f"no field {each!r}" for each in extra),
        ]
        raise FatalFailure(
            f"table and schema of {plan.name} differ: {'; '.join(said[:5])}", code=BAD_HEADER
        )


def _numbered_names(cells: Sequence[str], plan: _Plan) -> tuple[str, ...]:
    if plan.schema is not None:
        if len(plan.schema.fields) != len(cells):
            raise FatalFailure(
                f"{plan.name} has {len(cells)} columns and its schema {len(plan.schema.fields)} fields",
                code=BAD_HEADER,
            )
        return tuple(each.name for each in plan.schema.fields)
    return tuple(f"column_{number}" for number in range(1, len(cells) + 1))
