"""CSV, TSV and XLSX of laboratory results: one row a test, or one row a test and one column a date.

Columns are found by their headings, in any order and in several languages. A row that does not fit its headings is
repaired where only one way makes sense, and flagged; otherwise it is flagged and given as it is printed.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

import msgspec

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.archives import check_inflated, check_sizes, open_archive
from stateward.pipelines.kit.dates import is_date, read_date, vote_order
from stateward.pipelines.kit.delimited import Record, Rows, find_dialect, read_records
from stateward.pipelines.kit.encoding import find_encoding
from stateward.pipelines.labs.analytes import by_name, is_loinc, is_name
from stateward.pipelines.labs.model import (
    AMBIGUOUS_DATE,
    BAD_CODE,
    CODE_UNSURE,
    RANGE_UNSURE,
    ROW_REPAIRED,
    ROW_UNREAD,
    LabReading,
    Observation,
    Place,
)
from stateward.pipelines.labs.normalize import bare_name
from stateward.pipelines.labs.persons import SEVERAL, UNTOLD, Person, are_several, persons_in
from stateward.pipelines.labs.sample_columns import (
    column_of_ranges,
    columns_of_limits,
    is_measured,
    sample_columns,
)
from stateward.pipelines.labs.source import ReportSource
from stateward.pipelines.labs.units import is_known_unit
from stateward.pipelines.labs.values import is_number_like, read_value, vote_decimal
from stateward.pipelines.labs.words import (
    COLLECTED,
    ENVIRONMENT,
    FLAGS,
    PROCESS_TESTS,
    column_of,
    column_of_cell,
    day_in_heading,
    fold,
    is_of_production,
    specimen_of,
    specimen_of_test,
)

HEADING_ROWS_MAX = 60  # letterheads are shorter
TESTS_MIN = 3  # columns whose headings are known tests, of a table of one row a sample
TESTS_SHARE = (
    0.6  # of the columns that hold no date, sample or patient, or of the cells of one column
)
RESULT_ROLES = frozenset(
    {"value", "unit", "range"}
)  # whose headings together are those of a lab report
TEXT_CHARS_MAX = 4000
# Columns that reports of people have, and logs of a process do not.
OF_PEOPLE = frozenset(
    {"range", "low", "high", "flag", "specimen", "code", "previous", "in_range", "out_of_range"}
)
# A unit may begin with digits behind a blank: `6,9 10*3/uL`.
_EAST_ASIAN = re.compile(r"([0-9]{4})年([0-9]{1,2})月([0-9]{1,2})日")
_VALUE_AND_UNIT = re.compile(r"([<>≤≥]?=?\s*[0-9][0-9.,']*)(?:\s+(?=\S)|(?=[^\d\s]))(.*)")

# Of one letter only those that are flags everywhere: `t` and `b` are also units.
_VALUE_AND_FLAG = re.compile(
    r"([<>≤≥]?=?\s*[0-9][0-9.,']*)\s*([(\[]?(?:[HLAN]|[^\W\d_]{2,}|[*!↑↓▲▼]{1,3}|(?<=\s)[+-]{1,3})[)\]]?)",
    re.IGNORECASE,
)
COMPARATORS = frozenset({"<", ">", "<=", ">=", "≤", "≥", "="})
NO_UNITS = frozenset({"-", "--", "–", "—", "./."})
SIDES_OF_RANGE = frozenset({"H", "HH", "L", "LL", "A", "AA", "N"})


class Columns(msgspec.Struct, frozen=True):
    """Which column holds what, by index; `dates` and `tests` are columns of values."""

    width: int
    roles: dict[str, int]
    patient: tuple[int, ...] = ()
    dates: tuple[tuple[int, str], ...] = ()
    tests: tuple[tuple[int, str], ...] = ()  # columns of values, each of one test
    # Of a person or not cannot be told: a log of a bioreactor has glucose and lactate too.
    has_unsure_codes: bool = False
    is_of_production: bool = False  # as a heading says
    has_unsure_limits: bool = False  # which no heading names
    has_other_columns: bool = False  # beside those of tests, where each test has one
    signs_at: int | None = None  # the column of `<` and `>` before the results
    samples: dict[int, str] = {}  # what the columns of several samples are called, by index
    told: dict[str, str] = {}  # above the table, for all rows: when and what was collected

    def cell(self, cells: Sequence[str], role: str) -> str:
        """The text of a column, or what is told above the table; "" where the row or the table has none."""
        at = self.roles.get(role)
        if at is None:
            return self.told.get(role, "")
        return cells[at].strip()[:TEXT_CHARS_MAX] if at < len(cells) else ""


def read_table(source: ReportSource) -> LabReading:
    """Every row of a table."""
    source.data()  # within its limit
    encoding = find_encoding(source.path)
    dialect = find_dialect(source.path, encoding=encoding.name, score=_score)
    problems: list[int] = []
    records: list[Record] = []
    if dialect is not None:
        for record in read_records(
            source.path,
            dialect,
            encoding=encoding.name,
            looks_like_record=lambda text: text.count(dialect.delimiter) > 1,
            report=lambda line, _: problems.append(line),
        ):
            records.append(record)
            if len(records) > source.results_max:
                raise _too_many_rows(source)
    reading = LabReading(format="csv", observations=[], decisions=[], skipped={})
    reading.decisions.append(f"encoding {encoding.name}: {encoding.why}")
    if dialect is not None:
        reading.decisions.append(dialect.why)
    _read_rows(records, reading, source, set(problems))
    return reading


def read_sheet(source: ReportSource) -> LabReading:
    """Every row of a spreadsheet: of each sheet that names the columns of a lab report."""
    with open_archive(source.path) as archive:
        entries = archive.infolist()
        if "xl/workbook.xml" not in archive.namelist():
            raise FatalFailure(
                "the file is an archive or an office document, and no spreadsheet (XLSX); export the report as CSV, "
                "PDF, HL7 or FHIR",
                code="UNKNOWN_FORMAT",
            )
    check_sizes(entries, bytes_max=source.bytes_max, setting="labs.bytes_max")
    check_inflated(source.path, entries, bytes_max=source.bytes_max, setting="labs.bytes_max")
    from stateward.pipelines.kit.spreadsheets import read_sheets

    reading = LabReading(format="xlsx", observations=[], decisions=[], skipped={})
    others = 0
    for sheet, (_, rows) in enumerate(read_sheets(source.path)):
        if len(rows) > source.results_max:
            raise _too_many_rows(source)
        try:
            before = len(reading.observations)
            _read_rows([*enumerate(rows, start=1)], reading, source, set())
            reading.observations[before:] = [
                msgspec.structs.replace(each, table=sheet) for each in reading.observations[before:]
            ]
        except NoColumns:
            others += 1
    if not reading.observations and others:
        raise _no_columns()
    if others:
        reading.decisions.append(f"{others} sheets name no columns of a lab report")
    return reading


class NoColumns(FatalFailure):
    """No row names the columns of a lab report."""


def _no_columns() -> NoColumns:
    return NoColumns(
        "no row names the columns of a lab report; the first row must name at least the test and its result "
        "(such as Test, Result, Units, Reference Range, Flag)",
        code="NO_TABLE",
    )


def _too_many_rows(source: ReportSource) -> FatalFailure:
    return FatalFailure(
        f"the file has more than {source.results_max} rows; split it, or raise labs.results_max",
        code="TOO_LARGE",
    )


def _read_rows(
    records: Sequence[Record], reading: LabReading, source: ReportSource, broken: set[int]
) -> None:
    heads = [cells for _, cells in records[:HEADING_ROWS_MAX]]
    at, columns = find_columns(heads)
    if columns is None:
        at, columns = find_test_columns(heads)
    if columns is None:
        raise _no_columns()
    told = _told_above(heads[:at]) | _told_in_heading(heads[at], columns)
    body = [each for each in records[at + 1 :] if any(cell.strip() for cell in each[1])]
    columns = msgspec.structs.replace(columns, told=told, signs_at=_column_of_signs(columns, body))
    above = [cell for row in heads[:at] for cell in map(str.strip, row) if is_date(cell)]
    above += [_day_of(told["collected"])] if "collected" in told else []
    _read_body(body, columns, reading, source, broken, above)
    _tell_patients(
        reading,
        persons_in(heads[at], [cells for _, cells in body]),
        has_key=bool(source.patient_key),
    )
    if columns.has_unsure_codes and not columns.is_of_production and _are_of_people(reading):
        reading.observations = [_with_sure_code(each) for each in reading.observations]


def _column_of_signs(columns: Columns, body: Sequence[Record]) -> int | None:
    """The column right before the results that holds nothing but `<` and `>`: a part of them, whatever it is called."""
    at = columns.roles.get("value", 0) - 1
    cells = {cells[at].strip() for _, cells in body if 0 <= at < len(cells)} - {""}
    return at if cells and cells <= COMPARATORS else None


def _told_in_heading(headings: Sequence[str], columns: Columns) -> dict[str, str]:
    at = columns.roles.get("value")
    day = "" if at is None else day_in_heading(headings[at].strip())
    return {"collected": day} if day else {}


def _told_above(rows: Sequence[Sequence[str]]) -> dict[str, str]:
    """When and what was collected, by labels above the table with their values beside them; none if told twice."""
    found: dict[str, set[str]] = {}
    for row in rows:
        cells = [part for cell in row for part in _label_and_value(cell.strip()) if part]
        for label, value in pairwise(cells):
            name = fold(label)
            if name in COLLECTED and is_date(_day_of(value)):
                found.setdefault("collected", set()).add(value)
            elif column_of(label) == "specimen" and specimen_of(value):
                found.setdefault("specimen", set()).add(value)
    return {role: told.pop() for role, told in found.items() if len(told) == 1}


def _day_of(text: str) -> str:
    return re.split(r"[T ]", text)[0]


def _label_and_value(cell: str) -> tuple[str, ...]:
    """The two sides of `Collected: 03/14/2026 07:55`; any other cell as it is."""
    label, _, value = cell.partition(":")
    return (label, value.strip()) if fold(label) in COLLECTED else (cell,)


def _tell_patients(
    reading: LabReading, reports: Mapping[str, Sequence[Person]], *, has_key: bool
) -> None:
    """Say that one report is of several patients, or that those of several are in the file and not told apart."""
    if any(are_several(told) for number, told in reports.items() if number):
        reading.decisions.append(SEVERAL)
    elif not has_key and are_several(each for told in reports.values() for each in told):
        reading.decisions.append(UNTOLD)


def _are_of_people(reading: LabReading) -> bool:
    """Whether a table holds a test that is done on people only: one with cholesterol is no log of a bioreactor."""
    return any(map(is_of_people, {each.test for each in reading.observations}))


def is_of_people(text: str) -> bool:
    """Whether a text names a test of blood that no production does."""
    analyte = by_name(bare_name(text.strip())).analyte
    if analyte is None or analyte.specimen != "blood":
        return False
    return analyte.key not in PROCESS_TESTS


def _with_sure_code(seen: Observation) -> Observation:
    problems = tuple(each for each in seen.problems if each != CODE_UNSURE)
    return msgspec.structs.replace(seen, problems=problems)


def _score(rows: Rows) -> tuple[int, ...]:
    """How many headings a delimiter gives, for choosing among delimiters."""
    return (
        max(
            (len({column_of(cell) for cell in row} - {""}) for row in rows[:HEADING_ROWS_MAX]),
            default=0,
        ),
    )


def find_columns(rows: Sequence[Sequence[str]]) -> tuple[int, Columns | None]:
    """The row that names the columns: one for the test, and one for its result or several for dates."""
    for at, row in enumerate(rows):
        roles: dict[str, int] = {}
        patient: list[int] = []
        dates: list[tuple[int, str]] = []
        results: list[tuple[int, str]] = []  # whose headings name a day each
        for index, cell in enumerate(row):
            role = column_of_cell(cell)
            if role == "value" and (day := day_in_heading(cell.strip())):
                results.append((index, day))
            if role == "patient":
                patient.append(index)
            elif role:
                roles.setdefault(role, index)
            elif is_date(cell.strip()):
                dates.append((index, cell.strip()))
        if len(results) > 1:
            dates = results
            del roles["value"]
        if "test" not in roles and "code" in roles:
            roles["test"] = roles["code"]
        if "test" not in roles and roles.keys() >= RESULT_ROLES:
            named = _column_of_names(
                rows[at + 1 :], len(row), {*map(roles.get, RESULT_ROLES), *patient}
            )
            roles |= {} if named is None else {"test": named}
        samples = (
            sample_columns(rows, at, roles)
            if {"test", "unit"} <= roles.keys() and not ("value" in roles or dates)
            else ()
        )
        dates += [(each.at, each.day) for each in samples]
        roles |= column_of_ranges(rows, at, roles, samples)
        unsure = {} if samples else columns_of_limits(rows, at, roles)
        roles |= unsure
        if "test" in roles and ("value" in roles or dates):
            is_made = is_of_production(row)
            columns = Columns(
                len(row),
                roles,
                tuple(patient),
                () if "value" in roles else tuple(dates),
                has_unsure_codes=is_made or (not patient and OF_PEOPLE.isdisjoint(roles)),
                is_of_production=is_made,
                samples={each.at: each.name for each in samples},
                has_unsure_limits=bool(unsure),
            )
            return at, columns
    return 0, None


def _column_of_names(
    rows: Sequence[Sequence[str]], width: int, taken: Collection[int | None]
) -> int | None:
    """The column with the most cells that are names of tests, where its heading is not known: `Verfahren`, `Method`."""
    best, known_max = None, 0
    for index in range(width):
        cells = [row[index].strip() for row in rows if index < len(row) and row[index].strip()]
        known = sum(is_name(bare_name(cell)) for cell in cells) if index not in taken else 0
        if known > known_max and known >= TESTS_SHARE * len(cells):
            best, known_max = index, known
    return best


def find_test_columns(rows: Sequence[Sequence[str]]) -> tuple[int, Columns | None]:
    """The row that names a test in nearly every column, as tables of one row a sample have it: `WBC (10^3/uL)`."""
    for at, row in enumerate(rows):
        roles = {role: index for index, cell in enumerate(row) if (role := column_of(cell))}
        patient = [index for index, cell in enumerate(row) if column_of(cell) == "patient"]
        rest = [
            index
            for index, cell in enumerate(row)
            if cell.strip() and (not column_of(cell) or _is_short_name(rows[at:], index))
        ]
        known = [index for index in rest if is_name(bare_name(row[index].strip()))]
        if len(known) >= TESTS_MIN and len(known) >= TESTS_SHARE * len(rest):
            kept: dict[str, int] = {
                role: roles[role] for role in ("collected", "specimen", "sample") if role in roles
            }
            tests = tuple((index, row[index].strip()) for index in rest)
            is_made = is_of_production(row)
            return at, Columns(
                len(row),
                kept,
                tuple(patient),
                tests=tests,
                has_unsure_codes=is_made or not (patient or "specimen" in kept),
                is_of_production=is_made,
                has_other_columns=len(known) < len(rest),
            )
    return 0, None


def _is_short_name(rows: Sequence[Sequence[str]], index: int) -> bool:
    """Whether a heading that elsewhere is one of remarks stands above numbers alone: `BG` is glucose too."""
    _, *below = (row[index].strip() for row in rows if index < len(row))
    filled = [text for text in below if text]
    is_remark = column_of(rows[0][index]) == "comment"
    return is_remark and bool(filled) and all(map(is_number_like, filled))


def _read_body(
    body: Sequence[Record],
    columns: Columns,
    reading: LabReading,
    source: ReportSource,
    broken: set[int],
    dates_above: Sequence[str],
) -> None:
    texts = [
        columns.cell(cells, role) for _, cells in body for role in ("value", "range", "low", "high")
    ]
    valued = [at for at, _ in (*columns.tests, *columns.dates)]
    texts += [cells[at] for _, cells in body for at in valued if at < len(cells)]
    if "unit" not in columns.roles:
        texts = [_with_unit_inside(text)[0] for text in texts]
    decimal = vote_decimal(texts)
    dates = [columns.cell(cells, role) for _, cells in body for role in ("collected", "resulted")]
    headed = (date for _, date in columns.dates)
    vote = vote_order(filter(None, (*dates, *headed, *dates_above)), usual=source.date_order)
    patients: set[str] = set()
    section = ""
    described: dict[
        str, list[str]
    ] = {}  # the rows of units and ranges of a table with a column a test
    for line, cells in body:
        filled = [cell for cell in cells if cell.strip()]
        # Below the first sample, or with a day, a row named Low is a control, or the least value of all.
        is_above = not reading.observations and not columns.cell(cells, "collected")
        kinds = ("unit", "range", "low", "high") if is_above else ("unit", "range")
        if columns.tests and (role := column_of(filled[0])) in kinds:
            described[role] = cells
            continue
        if (
            len(filled) == 1
            and cells
            and cells[0].strip()
            and len(cells[0]) < 80
            and not is_number_like(cells[0])
        ):
            section = cells[0].strip()  # a line of its own between rows
            continue
        fitted, problems = _fit(cells, columns, is_broken=line in broken)
        patient = (
            source.patient(*(fitted[at] for at in columns.patient if at < len(fitted)))
            if fitted
            else ""
        )
        patients.add(patient)
        for row in _row(fitted, columns, decimal, vote.order, described):
            reading.observations.append(
                msgspec.structs.replace(
                    row,
                    section=row.section or section,
                    patient_key=patient,
                    problems=(*row.problems, *problems),
                    where=Place(line=line),
                )
            )
    reading.patients = len(patients)
    reading.decisions.append(f"table: {len(body)} rows, {len(reading.observations)} observations")


def _fit(
    cells: list[str], columns: Columns, *, is_broken: bool
) -> tuple[list[str], tuple[str, ...]]:
    """The cells of a row as its headings want them, and what is wrong with it."""
    if is_broken:
        return cells, (ROW_UNREAD,)
    extra = len(cells) - columns.width
    is_empty = not any(cell.strip() for cell in cells[columns.width :])
    has_columns = bool(columns.dates or columns.tests)
    if extra <= 0 or (is_empty and (has_columns or _is_plausible(cells, columns))):
        is_short = extra < 0 and not columns.cell(cells, "value") and not has_columns
        return cells[: columns.width], (ROW_UNREAD,) if is_short else ()
    # A delimiter inside an unquoted name, or a decimal comma between commas: the place where the row fits again.
    ways = [
        [*cells[:at], ",".join(cells[at : at + extra + 1]), *cells[at + extra + 1 :]]
        for at in range(columns.width)
    ]
    fitting = [way for way in ways if _is_plausible(way, columns)]
    named = [way for way in fitting if is_name(columns.cell(way, "test"))]
    if fitting:
        return (named or fitting)[0], (ROW_REPAIRED,)
    return (cells[: columns.width], ()) if is_empty else (cells, (ROW_UNREAD,))


def _is_plausible(cells: list[str], columns: Columns) -> bool:
    value, code = columns.cell(cells, "value"), columns.cell(cells, "code")
    name = columns.cell(cells, "test")
    return (
        read_value(value).kind in ("quantity", "titre", "interval", "ordinal")
        and (not code or is_loinc(code))
        and re.search(r"[^\W\d]{2}", name) is not None
        and not is_number_like(columns.cell(cells, "unit"))
    )


def _row(
    cells: list[str],
    columns: Columns,
    decimal: str,
    order: str,
    described: Mapping[str, Sequence[str]],
) -> Iterator[Observation]:
    """The observations of one row: one, or one for each date or test that has a value."""
    for index, name in columns.tests:
        if index < len(cells) and (value := cells[index].strip()):
            when = columns.cell(cells, "collected")
            told = _observation(cells, columns, value, when, decimal, order)
            told_above = {
                role: row[index].strip() for role, row in described.items() if index < len(row)
            }
            yield msgspec.structs.replace(
                told,
                test=name,
                unit=told.unit or told_above.get("unit", ""),
                range=told_above.get("range", "")
                or limits(told_above.get("low", ""), told_above.get("high", "")),
            )
    if columns.tests:
        return
    if not columns.dates:
        yield _observation(
            cells,
            columns,
            columns.cell(cells, "value"),
            columns.cell(cells, "collected"),
            decimal,
            order,
        )
        return
    for index, date in columns.dates:
        value = cells[index].strip() if index < len(cells) else ""
        sample = columns.samples.get(index, "")
        if value and (is_measured(value) or not sample):
            told = _observation(cells, columns, value, date, decimal, order)
            comment = "\n".join(filter(None, (sample, told.comment)))
            yield msgspec.structs.replace(told, comment=comment)


def _observation(
    cells: list[str], columns: Columns, value: str, collected: str, decimal: str, order: str
) -> Observation:
    cell = columns.cell
    code = cell(cells, "code")
    unit = cell(cells, "unit")
    unit = "" if unit in NO_UNITS else unit
    if columns.signs_at is not None and columns.signs_at < len(cells) and value:
        value = f"{cells[columns.signs_at].strip()}{value}"
    if "unit" not in columns.roles:
        value, unit = _with_unit_inside(value)
    flag = cell(cells, "flag")
    if not flag:
        value, flag = _with_flag_inside(value, decimal)
    problems: tuple[str, ...] = ()
    if code and not is_loinc(code):
        problems = (BAD_CODE,)
    if columns.has_unsure_codes:
        problems = (*problems, CODE_UNSURE)
    when, is_sure = iso_date(collected, order)
    resulted, _ = iso_date(cell(cells, "resulted"), order)
    if not is_sure:
        problems = (*problems, AMBIGUOUS_DATE)
    if columns.has_unsure_limits and (cell(cells, "low") or cell(cells, "high")):
        problems = (*problems, RANGE_UNSURE)
    return Observation(
        test=cell(cells, "test"),
        value=value,
        unit=unit,
        range=cell(cells, "range") or limits(cell(cells, "low"), cell(cells, "high")),
        flag=flag,
        code="" if BAD_CODE in problems else code,
        local_code=cell(cells, "local_code") or (code if BAD_CODE in problems else ""),
        specimen=_specimen(cells, columns) or _matrix(columns),
        collected=when,
        resulted=resulted,
        status=cell(cells, "status").lower(),
        section=cell(cells, "section"),
        comment="\n".join(filter(None, (cell(cells, "sample"), cell(cells, "comment")))),
        decimal=decimal,
        problems=problems,
    )


def _specimen(cells: list[str], columns: Columns) -> str:
    """What a column tells, or what is told above the table of rows whose tests name no other specimen."""
    told = columns.cell(cells, "specimen")
    if "specimen" in columns.roles:
        return told
    own = specimen_of_test(columns.cell(cells, "test"))
    return told if own in ("", specimen_of(told)) else ""


def _matrix(columns: Columns) -> str:
    """What was measured in, by the columns alone: a table of sites and no patients is not of blood."""
    has_samples = "sample" in columns.roles or bool(columns.samples)
    return ENVIRONMENT if has_samples and not columns.patient else ""


def _with_unit_inside(text: str) -> tuple[str, str]:
    """The value and the unit of a table without a column of units: `94,4 fL`. `5.9 H` is high, and not hours."""
    found = _VALUE_AND_UNIT.fullmatch(text)
    is_unit = found is not None and found[2] not in ("H", "L") and is_known_unit(found[2])
    return (found[1], found[2]) if found and is_unit else (text, "")


def _with_flag_inside(text: str, decimal: str) -> tuple[str, str]:
    """The value and the flag of a cell that holds both: `2.4 H`, `< 5 (L)`."""
    found = _VALUE_AND_FLAG.fullmatch(text)
    if found is None or read_value(text, decimal).kind not in ("unread", "text"):
        return text, ""
    is_flag = FLAGS.get(found[2].strip("()[] ").casefold()) in SIDES_OF_RANGE
    return (found[1].strip(), found[2]) if is_flag else (text, "")


def limits(low: str, high: str) -> str:
    """Two columns of limits as one range; a column of upper limits may hold a whole range too."""
    if high and not low and read_value(high).kind != "quantity":
        return high
    if low and high:
        return f"{low} - {high}"
    return f">= {low}" if low else f"<= {high}" if high else ""


def iso_date(text: str, order: str) -> tuple[str, bool]:
    """A printed date with its time in ISO 8601; as it is printed, and False, if its order is unknown."""
    text = _EAST_ASIAN.sub(lambda day: f"{day[1]}-{int(day[2]):02}-{int(day[3]):02}", text.strip())
    if not text:
        return "", True
    found = re.match(
        r"(?P<date>.*?)(?:(?:[T ,]+|\s+[/|–-]\s+)"
        r"(?:um |à |at |ore |alle |hora |a las |om |kl\.? ?)?"  # codespell:ignore ore,alle
        r"(?P<time>[0-2]?[0-9][:.h][0-5][0-9](?::[0-5][0-9])?)(?P<rest>.*))?$",
        text,
    )
    day = text if found is None else found["date"]
    date = read_date(day, order) if order or re.match(r"[0-9]{4}-", day) else None
    if date is None:
        return text, False
    time = (
        ""
        if found is None or not found["time"]
        else found["time"].replace(".", ":").replace("h", ":")
    )
    if not time:
        return date.isoformat(), True
    rest = (found["rest"] if found is not None else "").strip()
    hours, minutes = time.split(":")[:2]
    if rest[:2].lower() in ("am", "pm"):
        hours = str(int(hours) % 12 + (12 if rest[:2].lower() == "pm" else 0))
        rest = ""
    zone = rest if re.fullmatch(r"Z|[+-][0-9]{2}:?[0-9]{2}", rest) else ""
    seconds = time.split(":")[2] if time.count(":") == 2 else "00"
    return f"{date.isoformat()}T{int(hours):02}:{minutes}:{seconds}{zone}", True
