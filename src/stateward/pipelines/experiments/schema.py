"""Table Schema (Frictionless): the fields of a table, what a cell must be, and a schema inferred from the cells.

A cell is either missing, or it fits its field and has a canonical form, or it is a fault with a code and a sentence.
Numbers stay decimal text: nothing here turns one into a float. What a schema asks for and is not checked is said.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from types import MappingProxyType
from typing import Any

import msgspec

from stateward.core.errors import FatalFailure
from stateward.core.model import Fields
from stateward.pipelines.experiments.number_signs import BLANKS, PERCENT, Signs

DIGITS_MAX = 400  # of a number written out: sums stay exact, and a hostile exponent stays small
INFERRED_SHARE = 0.9  # of the cells of a column must be of a type for the others to be faults
INFERRED_MIN = 3
PATTERN_CHARS_MAX = 500
BAD_SCHEMA = "BAD_SCHEMA"

BAD_VALUE = "BAD_VALUE"
CONSTRAINT = "CONSTRAINT"
NUMERIC = ("integer", "number")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+(?:[eE][+-]?[0-9]{1,4})?")
_DAY_OF_DIGITS = re.compile(r"(?:19|20)[0-9]{6}")
_SPECIAL = {"NaN", "INF", "-INF"}
TRUE, FALSE = ("true", "True", "TRUE", "1"), ("false", "False", "FALSE", "0")
# A unit in brackets, in parentheses, after a slash, or after the last underscore if it is a usual one, perhaps per
# another (`dose_mg_per_kg`). A single letter is one only as it is written: `chl_a` is no current, `trial_n` no force.
_USUAL = (
    r"(?i:nm|um|mm|cm|dm|km|ug|mg|kg|ng|ms|min|ml|dl|ul|mol|mmol|degc|degf|pa|hpa|kpa|bar|hz|khz|mhz|mv|ma|kw|kj|pct"
    r"|percent|ppm|ppb|[mgshl])|[KVAWJNL]"
)
_PER = r"(?i:m2|m3|ha|d|day|year|yr)"
_UNITS = (
    re.compile(r"(?P<name>.+?)\s*\[(?P<unit>[^\[\]]{1,30})\]"),
    re.compile(r"(?P<name>.+?)\s*\((?:(?:in|unit:?|en|à|w)\s)?(?P<unit>[^\s()]{1,12})\)"),
    re.compile(r"(?P<name>.+?)\s+/\s*(?P<unit>[^\s/]{1,12})"),
    re.compile(rf"(?P<name>.+?)_(?P<unit>(?:{_USUAL})(?:_per_(?:{_USUAL}|{_PER}))+)"),
    re.compile(rf"(?P<name>.+)_(?P<unit>{_USUAL}|t)"),
    # `weight/g`, as ISO 80000 writes it. What is counted or paid is told by the unit and not in it: counts/s, price/kg.
    re.compile(
        rf"(?P<name>(?!(?:.*[^\W\d_][ _])?(?:{_USUAL})/)(?!.*(?:[^s]s|price|preis|cost|rate)/)[^\W\d][^/]*)"
        rf"/(?P<unit>{_USUAL})"
    ),
)


class Constraints(msgspec.Struct, frozen=True, kw_only=True):
    """What a schema demands of the cells of a field."""

    required: bool = False
    unique: bool = False
    minimum: Any = None
    maximum: Any = None
    pattern: str | None = None
    enum: list[Any] | None = None
    min_length: int | None = msgspec.field(default=None, name="minLength")
    max_length: int | None = msgspec.field(default=None, name="maxLength")


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One column: its name, type, unit, and how its cells are written."""

    name: str
    type: str = "string"
    title: str = ""
    description: str = ""
    format: str = "default"
    unit: str = ""
    decimal_char: str = msgspec.field(default=".", name="decimalChar")
    group_char: str = msgspec.field(default="", name="groupChar")
    bare_number: bool = msgspec.field(default=True, name="bareNumber")
    true_values: tuple[str, ...] = msgspec.field(default=TRUE, name="trueValues")
    false_values: tuple[str, ...] = msgspec.field(default=FALSE, name="falseValues")
    constraints: Constraints = Constraints()

    @property
    def is_numeric(self) -> bool:
        """Whether there are statistics of it."""
        return self.type in NUMERIC


class TableSchema(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a table, and which cells hold no value. `is_inferred`: it was made from the cells."""

    fields: tuple[Field, ...]
    missing_values: tuple[str, ...] | None = msgspec.field(default=None, name="missingValues")
    primary_key: str | list[str] = msgspec.field(default="", name="primaryKey")
    foreign_keys: list[Any] = msgspec.field(default_factory=list, name="foreignKeys")
    is_inferred: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the fields that make a row unique."""
        key = self.primary_key
        return (() if not key else (key,)) if isinstance(key, str) else tuple(key)


class CellFault(Exception):
    """A cell that does not fit its field."""

    def __init__(self, code: str, sentence: str) -> None:
        self.code = code
        self.sentence = sentence
        super().__init__(sentence)


def read_schema(value: object, source: str) -> TableSchema:
    """A schema as it was submitted; what is wrong with it is said with its place."""
    try:
        schema = msgspec.convert(value, TableSchema)
    except msgspec.ValidationError as error:
        raise FatalFailure(f"{source} is no Table Schema: {error}", code=BAD_SCHEMA) from error
    names = [field.name for field in schema.fields]
    if not names or len(set(names)) < len(names):
        raise FatalFailure(f"{source} names no field, or one twice", code=BAD_SCHEMA)
    for field in schema.fields:
        _check_field(field, source)
    if unknown := set(schema.keys) - set(names):
        raise FatalFailure(
            f"{source}: the primary key names {min(unknown)!r}, which is no field",
            code=BAD_SCHEMA,
        )
    fields = tuple(
        field if field.unit else msgspec.structs.replace(field, unit=heading_unit(field.name)[1])
        for field in schema.fields
    )
    return msgspec.structs.replace(schema, fields=fields, is_inferred=False)


def unchecked_rules(schema: TableSchema) -> Iterator[str]:
    """What a schema asks for and is not checked."""
    if schema.foreign_keys:
        yield "foreign keys"
    for field in schema.fields:
        if field.type not in CASTS:
            yield f"the type {field.type!r} of {field.name!r}"


def _check_field(field: Field, source: str) -> None:
    place = f"{source}, field {field.name!r}"
    pattern = field.constraints.pattern
    try:
        if pattern is not None:
            if len(pattern) > PATTERN_CHARS_MAX or re.search(r"[+*}]\)?[+*{]", pattern):
                raise ValueError("the pattern may take for ever")
            re.compile(pattern)
        for bound in (field.constraints.minimum, field.constraints.maximum):
            if bound is not None:
                comparable(field, str(bound))
    except (ValueError, re.error, CellFault) as error:
        raise FatalFailure(f"{place}: {error}", code=BAD_SCHEMA) from error


# Cells


def canonical(field: Field, cell: str) -> str:
    """A cell in the canonical form of its field; a `CellFault` if it does not fit."""
    cast = CASTS.get(field.type)
    text = cell if cast is None else cast(field, cell.strip())
    _check(field, text)
    return text


def comparable(field: Field, text: str) -> Any:  # noqa: ANN401 - whatever the type of the field compares
    """The value of a canonical text, for comparisons."""
    if field.is_numeric:
        try:
            return Decimal(text)
        except InvalidOperation as error:
            raise CellFault(BAD_VALUE, f"{text!r} is no number") from error
    cast = CASTS.get(field.type)
    value = text if cast is None else cast(field, text)
    return Decimal(value) if field.type == "year" else value


def _check(field: Field, text: str) -> None:
    limits = field.constraints
    if limits.minimum is not None and comparable(field, text) < comparable(
        field, str(limits.minimum)
    ):
        raise CellFault(CONSTRAINT, f"{text} is less than {limits.minimum}")
    if limits.maximum is not None and comparable(field, text) > comparable(
        field, str(limits.maximum)
    ):
        raise CellFault(CONSTRAINT, f"{text} is more than {limits.maximum}")
    if limits.pattern is not None and not re.fullmatch(limits.pattern, text):
        raise CellFault(CONSTRAINT, f"it does not match {limits.pattern}")
    if limits.enum is not None and text not in {_plain(each) for each in limits.enum}:
        raise CellFault(CONSTRAINT, "it is none of the values that are allowed")
    if limits.min_length is not None and len(text) < limits.min_length:
        raise CellFault(CONSTRAINT, f"it is shorter than {limits.min_length}")
    if limits.max_length is not None and len(text) > limits.max_length:
        raise CellFault(CONSTRAINT, f"it is longer than {limits.max_length}")


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _integer(field: Field, text: str) -> str:
    bare = _remove_grouping(field, text)
    if not _INTEGER.fullmatch(bare) or len(bare) > DIGITS_MAX:
        raise CellFault(BAD_VALUE, "it is no whole number")
    return str(int(bare))


def _number(field: Field, text: str) -> str:
    bare = _remove_grouping(field, text)
    if field.decimal_char != ".":
        if "." in bare:
            raise CellFault(
                BAD_VALUE, f"it is no number with the decimal sign {field.decimal_char!r}"
            )
        bare = bare.replace(field.decimal_char, ".")
    if bare in _SPECIAL:
        raise CellFault(BAD_VALUE, "it is not a finite number")
    if not _NUMBER.fullmatch(bare):
        raise CellFault(BAD_VALUE, "it is no number")
    try:
        value = Decimal(bare)
    except InvalidOperation as error:
        raise CellFault(BAD_VALUE, "it is no number") from error
    if len(value.as_tuple().digits) + abs(int(value.as_tuple().exponent)) > DIGITS_MAX:
        raise CellFault(BAD_VALUE, f"written out it has more than {DIGITS_MAX} digits")
    return f"{value:f}"


def _with_plain_sign(text: str) -> str:
    """A number whose minus is that of typesetters, or a dash, with that of keyboards."""
    return f"-{text[1:].lstrip()}" if text[:1] in "\u2212\u2013" and text else text


def _remove_grouping(field: Field, text: str) -> str:
    """The bare number: without thousands parted, and without the unit that the column has anyway."""
    if field.bare_number and not field.group_char and text[:1].isdigit() and text[-1:].isdigit():
        return text  # as most are
    text = _with_plain_sign(text)
    if field.unit and len(text) > len(field.unit) and text.endswith(field.unit):
        text = text[: -len(field.unit)].rstrip()
    if field.group_char:
        group = field.group_char
        text = text.translate(BLANKS) if group == " " else text
        whole, _, part = text.partition(field.decimal_char)
        first, *others = whole.lstrip("+-").split(group)
        is_even = not others or (
            first.isdigit() and len(others[-1]) == 3 and all(2 <= len(each) <= 3 for each in others)
        )
        if not is_even or group in part:
            raise CellFault(BAD_VALUE, f"its digits are not parted in groups by {group!r}")
        text = text.replace(group, "")
    if not field.bare_number:
        found = re.search(r"[+-]?[0-9.,]*[0-9](?:[eE][+-]?[0-9]+)?", text)
        text = found[0] if found else text
    return text


def _boolean(field: Field, text: str) -> str:
    if text in field.true_values:
        return "true"
    if text in field.false_values:
        return "false"
    raise CellFault(BAD_VALUE, "it is neither true nor false")


def _moment(parse: Callable[[str], date | time], what: str) -> Callable[[Field, str], str]:
    def cast(field: Field, text: str) -> str:
        try:
            if field.format not in ("default", "any", ""):
                found = datetime.strptime(text, field.format)  # noqa: DTZ007 - as it is written
                return _as(what, found)
            return parse(text).isoformat()
        except ValueError as error:
            raise CellFault(BAD_VALUE, f"it is no {what}") from error

    return cast


def _as(what: str, found: datetime) -> str:
    if what == "date":
        return found.date().isoformat()
    return found.time().isoformat() if what == "time" else found.isoformat()


def _year(_: Field, text: str) -> str:
    if not re.fullmatch(r"-?[0-9]{4}", text):
        raise CellFault(BAD_VALUE, "it is no year")
    return text


def _year_month(_: Field, text: str) -> str:
    if not re.fullmatch(r"[0-9]{4}-(0[1-9]|1[0-2])", text):
        raise CellFault(BAD_VALUE, "it is no month of a year, like 2026-01")
    return text


# What a spreadsheet shows for a formula without a result.
ERRORS = frozenset(
    {"#VALUE!", "#REF!", "#DIV/0!", "#NAME?", "#NUM!", "#NULL!", "#WERT!", "#BEZUG!", "#VALEUR!"}
)

CASTS: dict[str, Callable[[Field, str], str]] = {
    "string": lambda _, text: text,
    "any": lambda _, text: text,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _moment(date.fromisoformat, "date"),
    "datetime": _moment(datetime.fromisoformat, "datetime"),
    "time": _moment(time.fromisoformat, "time"),
    "year": _year,
    "yearmonth": _year_month,
}


# Inference


def heading_unit(heading: str) -> tuple[str, str]:
    """The name and the unit of a heading such as `mass [kg]`; an empty unit where it has none."""
    for pattern in _UNITS:
        if found := pattern.fullmatch(heading.strip()):
            return found["name"].strip(), found["unit"].strip().replace("_per_", "/")
    return heading.strip(), ""


def infer(
    headings: Sequence[str],
    columns: Sequence[Sequence[str]],
    missing: Sequence[str],
    signs: Mapping[str, Signs] = MappingProxyType({}),
) -> TableSchema:
    """A schema that nearly all cells fit; the few that do not are faults.

    `signs` says how the numbers of columns are written.
    """
    none = (
        frozenset(missing) | ERRORS
    )  # an error of a formula is a fault of its cell, and says nothing of the others
    fields = tuple(
        _infer(
            heading,
            [cell.strip() for cell in cells if cell.strip() not in none],
            signs.get(heading),
        )
        for heading, cells in zip(headings, columns, strict=True)
    )
    return TableSchema(fields=fields, missing_values=tuple(missing), is_inferred=True)


def _infer(heading: str, cells: Sequence[str], signs: Signs | None) -> Field:
    unit = heading_unit(heading)[1]
    if signs is not None and signs.is_percent:
        unit = PERCENT
    candidates = [
        *_numeric_candidates(heading, unit, signs),
        Field(name=heading, type="date", unit=unit),
        Field(name=heading, type="datetime", unit=unit),
        Field(name=heading, type="boolean", true_values=TRUE[:3], false_values=FALSE[:3]),
    ]
    if not cells:
        return Field(name=heading, unit=unit)
    if all(map(_DAY_OF_DIGITS.fullmatch, cells)) and not unit:
        day = Field(name=heading, type="date", format="%Y%m%d")
        if all(_fits(day, text) for text in {*cells}):
            return day
    texts = Counter(cells)  # most columns of long tables repeat theirs
    fitting: list[int] = []
    for field in candidates:
        fitting.append(sum(count for text, count in texts.items() if _fits(field, text)))
        if fitting[-1] == len(cells):
            break
    # A whole number is a number too: the first type that fits as many as any other is the narrowest.
    best = max(range(len(fitting)), key=lambda at: (fitting[at], -at))
    if fitting[best] < max(INFERRED_SHARE * len(cells), min(INFERRED_MIN, len(cells))):
        return Field(name=heading)
    return candidates[best]


def _numeric_candidates(heading: str, unit: str, signs: Signs | None) -> Iterator[Field]:
    if signs is None or signs.is_undecided:
        yield Field(name=heading, type="integer", unit=unit)
        yield Field(name=heading, type="number", unit=unit)
        if signs is None:
            yield Field(name=heading, type="number", unit=unit, decimal_char=",")
        return
    group, decimal = signs.group, signs.decimal
    yield Field(name=heading, type="integer", unit=unit, group_char=group)
    yield Field(name=heading, type="number", unit=unit, group_char=group, decimal_char=decimal)


def _fits(field: Field, cell: str) -> bool:
    is_comma = field.decimal_char == "," and not field.group_char and not cell.endswith(PERCENT)
    if is_comma and not (
        _DECIMAL_COMMA.fullmatch(_with_plain_sign(cell))
        or _INTEGER.fullmatch(_with_plain_sign(cell))
    ):
        return False
    try:
        canonical(field, cell)
    except CellFault:
        return False
    return True


def describe_schema(schema: TableSchema) -> Fields:
    """A schema as a document in which everything that was decided is written down."""
    fields: list[Fields] = []
    for field in schema.fields:
        document: Fields = msgspec.to_builtins(field)
        usual: Fields = msgspec.to_builtins(Field(name=""))
        kept = {
            key: value for key, value in document.items() if value != usual[key] or key == "type"
        }
        limits = kept.get("constraints")
        if isinstance(limits, dict):
            kept["constraints"] = {key: each for key, each in limits.items() if each}
        fields.append(kept)
    answer: Fields = {"fields": list(fields), "missingValues": list(schema.missing_values or ("",))}
    return answer | ({"primaryKey": list(schema.keys)} if schema.keys else {})
