"""The two stages: `validate` keeps the rows that fit their schema, `process` makes statistics, plots and a clean copy.

A row with a fault is left out; its row, column and reason are in the log and in `faults.csv`, and a note on the record
says so. A file of which nothing fits fails. No time enters anything here: the same bytes give the same files.
"""

import csv
import hashlib
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from importlib.metadata import version

import msgspec

from stateward.core.errors import FatalFailure
from stateward.core.model import Fields, Json
from stateward.definition.display import cell_text, harmless
from stateward.pipelines.experiments.doubts import NINES, doubts_of, is_apart, units_in_cells
from stateward.pipelines.experiments.number_signs import doubts_of_signs, find_signs
from stateward.pipelines.experiments.plots import histogram, histogram_svg, scatter_svg
from stateward.pipelines.experiments.schema import (
    DIGITS_MAX,
    CellFault,
    Field,
    TableSchema,
    canonical,
    describe_schema,
    infer,
    unchecked_rules,
)
from stateward.pipelines.experiments.settings import ExperimentSettings
from stateward.pipelines.experiments.source import Dataset, Row, Table, read_dataset
from stateward.pipelines.experiments.statistics import (
    correlation,
    regression,
    summary,
    whole_numbers,
)
from stateward.workers.sdk import Job, Outcome

FAULTS_MAX = 10_000
FAULTS_LOGGED_MAX = 100
FAULTS_FILE = "faults.csv"
VALUE_CHARS_MAX = 200
CORRELATED_MAX = 12  # columns; each with each other one
RESPONSE, PREDICTORS = "response", "predictors"  # labels that ask for a regression

NO_DATA = "NO_DATA"
FAULTY_ROWS = "FAULTY_ROWS"
SCHEMA_NOT_CHECKED = "SCHEMA_NOT_CHECKED"
SENTINEL = "SENTINEL_VALUE"
NUMBERS_AS_TEXT = "NUMBERS_AS_TEXT"
TEXT_SHARE = 0.5  # of the cells of a column may be no number for the others to be told
SHOWN_WORDS = 3
_ANY_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?")
# `1.5 ± 0.1 g`, `1.5 (0.1)`, `<0.5`: a number, and what is known of it.
_AMOUNT = r"[+-]?[0-9]+(?:[.,][0-9]+)?"
_MEASUREMENT = re.compile(
    rf"(?:{_AMOUNT}\s*(?:(?:±|\+/-|\+-)\s*{_AMOUNT}|\({_AMOUNT}\))|[<>≤≥~≈]=?\s*{_AMOUNT})(?:\s*[^\d\s.,;()+-]{{1,10}})?"
)
SHOWN_CHARS = 40
ROW_LENGTH = "ROW_LENGTH"
DUPLICATE = "DUPLICATE"
BAD_QUOTES = "BAD_QUOTES"
REQUIRED = "REQUIRED_VALUE"
UNKNOWN_COLUMN = "UNKNOWN_COLUMN"


class DataPoint(msgspec.Struct, frozen=True, kw_only=True):
    """An item of `validate`: a row that fits its schema. Values are canonical text, None where they are missing."""

    table: str
    values: dict[str, str | None]
    where: Fields


class RowFault(msgspec.Struct, frozen=True, kw_only=True):
    """Why a row does not fit."""

    table: str
    row: int
    line: int
    column: str
    code: str
    reason: str
    value: str


class TableFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a table as a whole: its schema, and how many of its rows fit."""

    name: str
    rows: int
    valid: int
    faults: int
    is_inferred: bool
    schema: TableSchema


def settings_of(job: Job) -> ExperimentSettings:
    """The options of a job; the defaults where it has none."""
    return msgspec.convert(dict(job.options), ExperimentSettings)


# validate


def validate(job: Job) -> Outcome[DataPoint]:
    """The rows of all tables that fit their schema."""
    settings = settings_of(job)
    dataset = _dataset(job, settings)
    points: list[DataPoint] = []
    faults: list[RowFault] = []
    tables: list[TableFacts] = []
    notes: list[str] = []
    for table in dataset.tables:
        schema, doubts = _schema_of(table, settings)
        notes += [*table.notes, *doubts]
        checked = _Checked(table, schema)
        points += checked.points()
        faults += checked.faults
        tables.append(
            TableFacts(
                name=table.name,
                rows=len(table.rows),
                valid=checked.valid,
                faults=len({fault.row for fault in checked.faults}),
                is_inferred=schema.is_inferred,
                schema=schema,
            )
        )
    notes += _notes(tables)
    _report(job, faults, notes)
    if not points:
        raise FatalFailure(
            "no row fits the schema; see the log for row and column of each fault, and correct data or schema",
            code=NO_DATA,
        )
    about: Fields = {
        "tables": msgspec.to_builtins(tables),
        "package": dataset.package,
        "faults": len(faults),
        "notes": list(notes),
    }
    return Outcome(facts={"notes": notes} if notes else {}, items=points, about=about)


def _dataset(job: Job, settings: ExperimentSettings) -> Dataset:
    path = job.path
    if path is None:  # a document in memory
        path = job.scratch / "document"
        path.write_bytes(job.bytes())
    name = str(job.labels.get("filename", "data.csv"))
    return read_dataset(path, name=name, scratch=job.scratch, settings=settings)


def _schema_of(table: Table, settings: ExperimentSettings) -> tuple[TableSchema, list[str]]:
    """The schema of a table, and what a person should know of how it was inferred."""
    if table.schema is None:
        width = len(table.headings)
        whole = [row.cells for row in table.rows if len(row.cells) == width]
        columns = [[cells[at] for cells in whole] for at in range(width)]
        missing = (*settings.missing_values, *table.missing)
        signs = find_signs(
            table.headings, columns, missing=frozenset(missing), delimiter=table.delimiter
        )
        schema = infer(table.headings, columns, missing, signs)
        return _with_units(schema, table.units), [*doubts_of_signs(table.name, signs)]
    if table.schema.missing_values is None:  # what Table Schema says where a schema says nothing
        return msgspec.structs.replace(table.schema, missing_values=("",)), []
    return table.schema, []


def _with_units(schema: TableSchema, units: Mapping[str, str]) -> TableSchema:
    """The schema with units from a row of their own, which says more than a heading: `chl_a` has no unit a."""
    fields = tuple(
        msgspec.structs.replace(field, unit=units.get(field.name, field.unit))
        for field in schema.fields
    )
    return msgspec.structs.replace(schema, fields=fields)


class _Checked:
    """A table while its rows are compared with the schema."""

    def __init__(self, table: Table, schema: TableSchema) -> None:
        self._table = table
        self._schema = schema
        self._missing = frozenset(schema.missing_values or ("",))
        by_name = {field.name: field for field in schema.fields}
        self._fields = [by_name[heading] for heading in table.headings]
        self._seen: dict[str, set[str]] = {
            field.name: set() for field in schema.fields if field.constraints.unique
        }
        self._keys: set[tuple[str | None, ...]] = set()
        # What a cell is does not depend on its row, and most columns of long tables repeat theirs.
        self._known: dict[tuple[str, str], str | None] = {}
        self.valid = 0
        self.faults = [
            RowFault(
                table=table.name, row=0, line=line, column="", code=BAD_QUOTES, reason=why, value=""
            )
            for line, why in table.faults
        ]

    def points(self) -> Iterator[DataPoint]:
        """The rows that fit; the others become faults on the way."""
        for row in self._table.rows:
            values = self._values(row)
            if values is not None and self._is_new(row, values):
                self.valid += 1
                where: Fields = {"row": row.number, "line": row.line}
                yield DataPoint(table=self._table.name, values=values, where=where)

    def _values(self, row: Row) -> dict[str, str | None] | None:
        if len(row.cells) != len(self._fields):
            said = f"it has {len(row.cells)} cells, and the table {len(self._fields)} columns"
            self._fault(row, "", ROW_LENGTH, said)
            return None
        values: dict[str, str | None] = {}
        is_good = True
        for field, cell in zip(self._fields, row.cells, strict=True):
            try:
                values[field.name] = self._value(field, cell)
            except CellFault as fault:
                self._fault(row, field.name, fault.code, fault.sentence, cell)
                is_good = False
        return values if is_good else None

    def _value(self, field: Field, cell: str) -> str | None:
        known = field.name, cell
        if known not in self._known:
            self._known[known] = self._read(field, cell)
        return self._known[known]

    def _read(self, field: Field, cell: str) -> str | None:
        if cell in self._missing or cell.strip() in self._missing:
            if field.constraints.required or field.name in self._schema.keys:
                raise CellFault(REQUIRED, "a value is required")
            return None
        return canonical(field, cell)

    def _is_new(self, row: Row, values: Mapping[str, str | None]) -> bool:
        """Whether what must be unique is; only rows that fit otherwise count."""
        for name, seen in self._seen.items():
            value = values[name]
            if value is not None and value in seen:
                self._fault(row, name, DUPLICATE, "the value was there before", value)
                return False
        key = tuple(values[name] for name in self._schema.keys)
        if key and key in self._keys:
            self._fault(row, ", ".join(self._schema.keys), DUPLICATE, "the key was there before")
            return False
        for name, seen in self._seen.items():
            seen.add(values[name] or "")
        self._keys.add(key)
        return True

    def _fault(self, row: Row, column: str, code: str, reason: str, value: str = "") -> None:
        self.faults.append(
            RowFault(
                table=self._table.name,
                row=row.number,
                line=row.line,
                column=column,
                code=code,
                reason=reason,
                value=value[:VALUE_CHARS_MAX],
            )
        )


def _notes(tables: Iterable[TableFacts]) -> Iterator[str]:
    for table in tables:
        if table.valid < table.rows:
            yield (
                f"{FAULTY_ROWS}: {table.rows - table.valid} of {table.rows} rows of {table.name} do not fit the schema "
                f"and were left out; see validate/{FAULTS_FILE}"
            )
        elif table.faults:
            yield f"{FAULTY_ROWS}: lines of {table.name} could not be split into cells; see validate/{FAULTS_FILE}"
        if left := list(unchecked_rules(table.schema)):
            yield f"{SCHEMA_NOT_CHECKED}: {table.name}: {'; '.join(left[:5])}"


def _report(job: Job, faults: Sequence[RowFault], notes: Sequence[str]) -> None:
    for note in notes:
        job.log(note, level="warning")
    for fault in faults[:FAULTS_LOGGED_MAX]:
        job.log(
            f"{fault.table}, row {fault.row}, {fault.column or 'the row'}: {fault.reason}",
            code=fault.code,
        )
    if faults:
        names = RowFault.__struct_fields__
        # People open it in a spreadsheet, and it repeats cells of the document.
        rows = (
            [harmless(cell_text(getattr(fault, name))) for name in names]
            for fault in faults[:FAULTS_MAX]
        )
        job.save_file(FAULTS_FILE, _csv(names, rows), media_type="text/csv")


# process


def process(job: Job) -> Outcome[Fields]:
    """Statistics of every column, with plots; and the files that a bundle consists of."""
    settings = settings_of(job)
    about = job.about("validate")
    tables = msgspec.convert(about["tables"], list[TableFacts])
    points: dict[str, list[dict[str, str | None]]] = {table.name: [] for table in tables}
    for point in job.items(DataPoint, "validate"):
        points[point.table].append(point.values)
    pictures = _Pictures(job, settings)
    items = [
        item for table in tables for item in _column_items(table, points[table.name], pictures)
    ]
    further: Fields = {
        "regression": _regression(job.labels, tables, points),
        "correlations": [
            each for table in tables for each in _correlations(table, points[table.name])
        ],
    }
    pictures.scatter(tables, points)
    _save_documents(job, tables, points, about, {"columns": list(items), **further})
    count = sum(table.valid for table in tables)
    numeric = sum(item["type"] in ("integer", "number") for item in items)
    sentence = f"{count} data points, {numeric} of {len(items)} columns numeric"
    notes = [
        note
        for table in tables
        for found in (_sentinel_notes, _text_notes, _doubts)
        for note in found(table, points[table.name])
    ]
    for note in notes:
        job.log(note, level="warning", code=note.partition(":")[0])
    # A record shows the notes of the last stage that has any, so that those of the rows are told again.
    told = about.get("notes")
    return Outcome(
        facts={"notes": [*(told if isinstance(told, list) else ()), *notes]} if notes else {},
        items=items,
        about={"sentence": sentence, **further},
    )


def _sentinel_notes(table: TableFacts, rows: Sequence[Mapping[str, str | None]]) -> Iterator[str]:
    """Columns in which numbers of nines lie far outside of all others, or are the only negative ones.

    Instruments write them for a missing value.
    """
    is_inferred = table.schema.is_inferred
    place = "experiments.missing_values" if is_inferred else "missingValues of the schema"
    for field in table.schema.fields:
        if not field.is_numeric:
            continue
        texts = Counter(text for row in rows if (text := row[field.name]) is not None)
        nines = [text for text in texts if NINES.fullmatch(text)]
        others = [Decimal(text) for text in texts if text not in nines]
        for text in nines:
            if others and is_apart(Decimal(text), min(others), max(others)):
                yield (
                    f"{SENTINEL}: {table.name}, {field.name}: {text} in {texts[text]} rows often stands for a missing "
                    f"value, and is counted as one that was measured; name it in {place}"
                )


# Of columns that may say what a row belongs to. A day does not: where an instrument changed, another day began, too.
GROUP_TYPES = ("string", "any", "boolean", "integer")


def _doubts(table: TableFacts, rows: Sequence[Mapping[str, str | None]]) -> Iterator[str]:
    numeric = [(field.name, field.unit) for field in table.schema.fields if field.is_numeric]
    groups = [field.name for field in table.schema.fields if field.type in GROUP_TYPES]
    return doubts_of(table.name, numeric, rows, groups)


def _text_notes(table: TableFacts, rows: Sequence[Mapping[str, str | None]]) -> Iterator[str]:
    """Columns of numbers that are texts because of how some cells are written: they have no statistics."""
    if not table.schema.is_inferred:
        return
    for field in table.schema.fields:
        if field.type != "string":
            continue
        texts = [text for row in rows if (text := row[field.name]) is not None]
        for why in _reasons_of_text(texts):
            yield f"{NUMBERS_AS_TEXT}: {table.name}, {field.name}: {why}"


def _reasons_of_text(texts: Sequence[str]) -> Iterator[str]:
    words = [text for text in texts if not _looks_like_number(text)]
    if not words and (signs := _decimal_signs(texts)):
        yield (
            f"{signs}, so that nothing tells which sign holds, and the column has no statistics; export it again with "
            "one"
        )
    elif not words and (long := next(filter(_is_too_long, texts), "")):
        yield (
            f"{long[:SHOWN_CHARS]} is a number of more than {DIGITS_MAX} digits, so that the column has no statistics; "
            "name it in experiments.missing_values if it is none, or write the column in another unit"
        )
    if units := units_in_cells(texts):
        yield (
            f"the cells hold their units ({', '.join(units)}), so that the column has no statistics; write the unit "
            "into the heading, and numbers of one unit below it"
        )
    elif len(words) > TEXT_SHARE * len(texts) and all(map(_looks_like_measurement, texts)):
        yield (
            f"the cells hold more than a number ({words[0][:SHOWN_CHARS]!r}), so that the column has no statistics; "
            "write what is added to it, such as its uncertainty, into a column of its own"
        )
    elif words and len(words) <= TEXT_SHARE * len(texts):
        shown = ", ".join(repr(each) for each in dict.fromkeys(words[:SHOWN_WORDS]))
        yield (
            f"{len(texts) - len(words)} of {len(texts)} values are numbers, others are not ({shown}), so that it has "
            "no statistics; name what is no value in experiments.missing_values"
        )


def _is_too_long(text: str) -> bool:
    try:
        canonical(Field(name="", type="number"), text.replace(",", "."))
    except CellFault:
        return True
    return False


def _looks_like_measurement(text: str) -> bool:
    return _looks_like_number(text) or _MEASUREMENT.fullmatch(text.strip()) is not None


def _decimal_signs(texts: Sequence[str]) -> str:
    """That some numbers have a point and others a comma; "" if all have the same sign, or none."""
    point, comma = (next((text for text in texts if sign in text), "") for sign in ".,")
    return f"{point} has a point and {comma} a comma" if point and comma else ""


def _looks_like_number(text: str) -> bool:
    return _ANY_NUMBER.fullmatch(text.strip()) is not None


def _column_items(
    table: TableFacts, rows: Sequence[Mapping[str, str | None]], pictures: "_Pictures"
) -> Iterator[Fields]:
    for field in table.schema.fields:
        texts = [text for row in rows if (text := row[field.name]) is not None]
        item: Fields = {
            "table": table.name,
            "column": field.name,
            "type": field.type,
            "unit": field.unit,
            "description": field.description,
            "count": len(texts),
            "missing": len(rows) - len(texts),
            "where": {"row": 1},
        }
        if field.is_numeric and texts:
            values = [Decimal(text) for text in texts]
            item |= msgspec.to_builtins(summary(values))
            item["picture"] = pictures.histogram(table.name, field, values)
        elif texts:
            item["distinct"] = len(set(texts))
        yield item


class _Pictures:
    """The plots of a record, each under a name that a file may have."""

    def __init__(self, job: Job, settings: ExperimentSettings) -> None:
        self._job = job
        self._settings = settings
        self._names: set[str] = set()

    def histogram(self, table: str, field: Field, values: Sequence[Decimal]) -> str | None:
        """The path of the histogram of a column; None once there are enough of them."""
        if len(self._names) >= self._settings.plots_max:
            return None
        found = histogram(values, bins_max=self._settings.bins_max)
        axis = (
            f"{field.name} [{field.unit}]"
            if field.unit and field.unit not in field.name
            else field.name
        )
        title = f"{table}: {field.name}, {len(values)} values"
        return self._save(f"histogram-{field.name}", histogram_svg(found, title=title, axis=axis))

    def scatter(
        self,
        tables: Sequence[TableFacts],
        points: Mapping[str, Sequence[Mapping[str, str | None]]],
    ) -> None:
        """The response against the first predictor, or two numeric columns, of the first table that has them."""
        for table in tables:
            names = [field.name for field in table.schema.fields if field.is_numeric]
            response = self._job.labels.get(RESPONSE)
            if isinstance(response, str) and response in names:
                others = [name for name in names if name != response]
                names = [*others[:1], response]
            pairs = _complete(points[table.name], names[:2])
            if len(names) > 1 and pairs:
                across, up = zip(*pairs, strict=True)
                title = f"{table.name}: {names[1]} by {names[0]}"
                self._save("plot", scatter_svg(across, up, title=title, axis=names[0]))
                return

    def _save(self, name: str, data: bytes) -> str:
        plain = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()[:80]
        unique = plain
        while unique in self._names:
            unique = f"{plain}-{len(self._names)}"
        self._names.add(unique)
        self._job.save_file(f"{unique}.svg", data, media_type="image/svg+xml")
        return f"{self._job.stage}/{unique}.svg"


def _complete(
    rows: Iterable[Mapping[str, str | None]], names: Sequence[str]
) -> list[list[Decimal]]:
    """The values of these columns, of the rows in which none is missing."""
    found = []
    for row in rows:
        texts = [text for name in names if (text := row[name]) is not None]
        if len(texts) == len(names):
            found.append(list(map(Decimal, texts)))
    return found


def _correlations(table: TableFacts, rows: Sequence[Mapping[str, str | None]]) -> Iterator[Fields]:
    names = [field.name for field in table.schema.fields if field.is_numeric][:CORRELATED_MAX]
    columns = {name: _whole_column([row[name] for row in rows]) for name in names}
    for at, one in enumerate(names):
        for other in names[at + 1 :]:
            pairs = [
                (a, b)
                for a, b in zip(columns[one], columns[other], strict=True)
                if a is not None and b is not None
            ]
            if len(pairs) > 1:
                first, second = zip(*pairs, strict=True)
                value = correlation(first, second)
                yield {
                    "table": table.name,
                    "columns": [one, other],
                    "count": len(pairs),
                    "r": value,
                }


def _whole_column(texts: Sequence[str | None]) -> list[int | None]:
    """A column in whole numbers, in proportion; None where a value is missing."""
    distinct = {text for text in texts if text is not None}
    whole, _ = whole_numbers([Decimal(text) for text in distinct])
    numbers = dict(zip(distinct, whole, strict=True))
    return [None if text is None else numbers[text] for text in texts]


def _regression(
    labels: Mapping[str, Json],
    tables: Sequence[TableFacts],
    points: Mapping[str, Sequence[Mapping[str, str | None]]],
) -> Json:
    """The regression that the label `response` asks for; by default on all other numeric columns."""
    response = labels.get(RESPONSE)
    if not isinstance(response, str) or not response:
        return None
    for table in tables:
        names = [field.name for field in table.schema.fields if field.is_numeric]
        if response not in names:
            continue
        asked = str(labels.get(PREDICTORS) or "")
        predictors = [each.strip() for each in asked.split(",") if each.strip()] or [
            name for name in names if name != response
        ]
        if set(predictors) <= set(names):
            rows = _complete(points[table.name], [response, *predictors])
            columns = list(zip(*rows, strict=True)) or [()] * (len(predictors) + 1)
            named = list(zip(predictors, columns[1:], strict=True))
            found: Json = msgspec.to_builtins(regression((response, columns[0]), named))
            return found
    raise FatalFailure(
        f"the labels {RESPONSE} and {PREDICTORS} name no numeric columns of one table: {response}",
        code=UNKNOWN_COLUMN,
    )


# Files


def _save_documents(
    job: Job,
    tables: Sequence[TableFacts],
    points: Mapping[str, Sequence[Mapping[str, str | None]]],
    about: Fields,
    statistics: Fields,
) -> None:
    resources: list[Json] = []
    for at, table in enumerate(tables):
        names = [field.name for field in table.schema.fields]
        rows = (
            ["" if row[name] is None else row[name] for name in names] for row in points[table.name]
        )
        data = _csv(names, rows)
        file = "data.csv" if len(tables) == 1 else f"data-{at + 1}.csv"
        job.save_file(file, data, media_type="text/csv")
        # Its cells are canonical now, whatever the original used.
        clean = msgspec.structs.replace(
            table.schema,
            missing_values=("",),
            fields=tuple(map(_as_written, table.schema.fields)),
        )
        resources.append(
            {
                "name": table.name,
                "path": file,
                "format": "csv",
                "encoding": "utf-8",
                "hash": f"sha256:{hashlib.sha256(data).hexdigest()}",
                "bytes": len(data),
                "schema": describe_schema(clean),
            }
        )
    package = about.get("package")
    own = package if isinstance(package, dict) else {}
    job.save_file(
        "datapackage.json", _json({**own, "resources": resources}), media_type="application/json"
    )
    job.save_file("statistics.json", _json(statistics), media_type="application/json")
    job.save_file(
        "provenance.json", _json(_provenance(job, tables, about)), media_type="application/json"
    )


def _as_written(field: Field) -> Field:
    usual = Field(name="")
    return msgspec.structs.replace(
        field,
        format="default",
        decimal_char=".",
        group_char="",
        bare_number=True,
        true_values=usual.true_values,
        false_values=usual.false_values,
    )


def _provenance(job: Job, tables: Sequence[TableFacts], about: Fields) -> Fields:
    return {
        "record_id": job.record_id,
        "filename": job.labels.get("filename"),
        "document": f"sha256:{_sha256(job)}",
        "software": f"stateward {version('stateward')}",
        "faults": about.get("faults", 0),
        "tables": [
            {
                "name": table.name,
                "rows": table.rows,
                "valid": table.valid,
                "schema": "inferred" if table.is_inferred else "submitted",
            }
            for table in tables
        ],
    }


def _sha256(job: Job) -> str:
    with job.open() as file:
        return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


def _csv(names: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return text.getvalue().encode()


def _json(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=1) + b"\n"
