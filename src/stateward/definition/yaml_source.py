"""Make Structs of declarations and settings, or a list of every fault with its line.

`convert` compares plain values (`plain_values`), which YAML text (`yaml_text`) and Python values become, with a type.
This module must never open a file, guess what was meant, stop at the first fault if it can go on, or repeat a password
in a message.
"""

import re
from collections.abc import Hashable, Iterable
from functools import cached_property, lru_cache
from typing import TypeAlias, TypeGuard, TypeVar

import msgspec
from msgspec import inspect as kinds
from msgspec.structs import FieldInfo, fields

from stateward.core.errors import Fault
from stateward.core.model import plural
from stateward.definition.plain_values import (
    FAULTS_MAX,
    Document,
    Path,
    TooManyFaults,
    quote_value,
    quote_word,
    resolve_scalar,
    value_at,
)

FORMS_CACHED_MAX = 64
KEYS_SHOWN_MAX = 40

T = TypeVar("T")


def convert(document: Document, type_: type[T], *, at: Path = ()) -> tuple[T | None, list[Fault]]:
    """The part of a document at `at` as a value of `type_`, or None and every fault, in file order.

    A Struct refuses keys that it has no field for. A field of type `dict[str, ...]` that carries
    `Meta(extra={"keys": "<state>_timeout_seconds"})` gathers all keys of that form, under the names
    that stand in place of the angle brackets. `Meta(title=...)` is what a sentence calls the type.
    """
    if not document.has(*at):
        return None, [document.fault(at, f"{_describe_path(at)} is missing")]
    walk = _Walk(document)
    shaped = walk.shape(_outermost(type_), value_at(document.value, at), at)  # type: ignore[arg-type]
    if walk.faults:
        return None, sorted(walk.faults, key=lambda fault: fault.line)
    try:
        return msgspec.convert(shaped, type_), []
    except msgspec.ValidationError as error:
        return None, [document.fault(*_locate(error, at))]


@lru_cache(maxsize=1024)
def type_info(type_: Hashable) -> kinds.Type:
    """What msgspec knows of a type; taking a section apart takes a millisecond, and every field asks for it."""
    return kinds.type_info(type_)


def _outermost(type_: Hashable) -> kinds.Type:
    """What is known of a type; of a Struct not its fields, which `_fields` gives one by one."""
    if not (isinstance(type_, type) and issubclass(type_, msgspec.Struct)):
        return type_info(type_)
    config = type_.__struct_config__
    return kinds.StructType(type_, (), tag_field=config.tag_field, tag=config.tag)


class _Field:
    """A field of a Struct. Its type is taken apart when a document speaks of it, which is of few settings."""

    def __init__(self, field: FieldInfo) -> None:
        self.name = field.encode_name
        self.is_required = field.required
        metadata = getattr(field.type, "__metadata__", ())
        extras = (each.extra or {} for each in metadata if isinstance(each, msgspec.Meta))
        self.keys: str | None = next((each["keys"] for each in extras if "keys" in each), None)
        self._type = field.type

    @cached_property
    def kind(self) -> kinds.Type:
        """What msgspec knows of its type."""
        return kinds.type_info(self._type)


@lru_cache(maxsize=1024)
def _fields(cls: type[msgspec.Struct]) -> tuple[_Field, ...]:
    """The fields of a Struct, in the order of their declaration."""
    return tuple(map(_Field, fields(cls)))


def gathered_keys(cls: type[msgspec.Struct], name: str) -> str | None:
    """The form of the keys that a field gathers, such as `<machine>_record`."""
    return next((field.keys for field in _fields(cls) if field.name == name), None)


def describe_type(kind: kinds.Type) -> str:
    """A type in plain English: "a whole number of at least 0"."""
    match kind:
        case kinds.Metadata():
            title = (kind.extra_json_schema or {}).get("title")
            return title if isinstance(title, str) else describe_type(kind.type)
        case kinds.IntType():
            return f"a whole number{_describe_bounds(kind)}"
        case kinds.FloatType():
            return f"a number{_describe_bounds(kind)}"
        case kinds.StrType():
            form = f" of the form {kind.pattern}" if kind.pattern else ""
            return f"text{_describe_length(kind, 'character')}{form}"
        case kinds.UnionType():
            return join_choices(describe_type(each) for each in kind.types)
        case kinds.LiteralType():
            return join_choices(str(each) for each in kind.values)
        case kinds.EnumType():
            return join_choices(str(each.value) for each in kind.cls)
        case kinds.ListType() | kinds.VarTupleType() | kinds.SetType() | kinds.FrozenSetType():
            return f"a list{_describe_length(kind, 'item')}{_describe_items(kind.item_type)}"
        case kinds.TupleType():
            return f"a list of exactly {plural(len(kind.item_types), 'item')}"
        case _:
            return _TYPE_WORDS.get(type(kind), "a value")


def join_choices(words: Iterable[str]) -> str:
    """Words as a choice: "a, b or c"."""
    *first, last = dict.fromkeys(words)
    return f"{', '.join(first)} or {last}" if first else last


_TYPE_WORDS: dict[type[kinds.Type], str] = {
    kinds.BoolType: "true or false",
    kinds.NoneType: "null",
    kinds.StructType: "a mapping",
    kinds.DictType: "a mapping",
    kinds.DateTimeType: "a date and time such as 2024-01-31T08:30:00Z",
    kinds.DateType: "a date such as 2024-01-31",
}


def _describe_bounds(kind: kinds.IntType | kinds.FloatType) -> str:
    if kind.ge is not None and kind.le is not None:
        return f" from {kind.ge} to {kind.le}"
    words = (
        ("of at least", kind.ge),
        ("above", kind.gt),
        ("of at most", kind.le),
        ("below", kind.lt),
        ("in steps of", kind.multiple_of),
    )
    limits = " and ".join(f"{word} {limit}" for word, limit in words if limit is not None)
    return f" {limits}" if limits else ""


_Many: TypeAlias = kinds.ListType | kinds.VarTupleType | kinds.SetType | kinds.FrozenSetType


def _describe_length(kind: kinds.StrType | _Many, noun: str) -> str:
    shortest, longest = kind.min_length, kind.max_length
    if shortest is not None and longest is not None:
        return f" of {shortest} to {plural(longest, noun)}"
    if shortest is not None:
        return f" of at least {plural(shortest, noun)}"
    return "" if longest is None else f" of at most {plural(longest, noun)}"


def _describe_items(kind: kinds.Type) -> str:
    return "" if isinstance(kind, kinds.AnyType) else f", each item {describe_type(kind)}"


# Structs. The walk finds every fault and explains it in words; msgspec, which stops at the first, has the last word.


class _Walk:
    """Compares a plain value with a type and reshapes it for `msgspec.convert`; faults are collected."""

    def __init__(self, document: Document) -> None:
        self.faults: list[Fault] = []
        self._document = document

    def shape(self, kind: kinds.Type, value: object, path: Path) -> object:
        try:
            return self.value(kind, value, path)
        except TooManyFaults:
            return None

    def refuse(self, path: Path, sentence: str) -> None:
        self.faults.append(self._document.fault(path, sentence))
        if len(self.faults) >= FAULTS_MAX:
            raise TooManyFaults

    def value(self, kind: kinds.Type, value: object, path: Path) -> object:
        match (_without_metadata(kind), value):
            case (kinds.UnionType() as union, _):
                options = [
                    each for each in union.types if _may_match(_without_metadata(each), value)
                ]
                if isinstance(value, dict) and len(options) > 1:
                    return self._tagged_union(options, value, path)
                if options:
                    return self.value(options[0], value, path)
                self._mismatch(kind, value, path)
                return None
            case (kinds.StructType() as struct, dict()):
                return self._struct(struct, value, path)
            case (kinds.DictType() as mapping, dict()):
                return self._mapping(mapping, value, path)
            case (naked, list()) if _fits(naked, value):
                return self._list(naked, value, path)
            case (naked, _) if not _fits(naked, value):
                self._mismatch(kind, value, path)
        return value

    def _mismatch(self, kind: kinds.Type, value: object, path: Path) -> None:
        is_number_as_text = isinstance(value, str) and not isinstance(resolve_scalar(value), str)
        found = f"the text {quote_value(value)}" if is_number_as_text else quote_value(value)
        self.refuse(path, f"{_describe_path(path)} must be {describe_type(kind)}, not {found}")

    def _tagged_union(
        self, options: list[kinds.Type], value: dict[str, object], path: Path
    ) -> object:
        structs = [
            each for each in map(_without_metadata, options) if isinstance(each, kinds.StructType)
        ]
        key = str(structs[0].tag_field)
        for struct in structs:
            if struct.tag == value.get(key):
                return self._struct(struct, value, path)
        tags = join_choices(str(struct.tag) for struct in structs)
        found = f"not {quote_value(value[key])}" if key in value else "and is missing"
        self.refuse((*path, key), f"{key} must be {tags}, {found}")
        return None

    def _mapping(
        self, kind: kinds.DictType, value: dict[str, object], path: Path
    ) -> dict[str, object]:
        for key in value:
            if not _fits(_without_metadata(kind.key_type), key):
                message = f"the key {quote_value(key)} must be {describe_type(kind.key_type)}"
                self.refuse((*path, key), message)
        return {key: self.value(kind.value_type, each, (*path, key)) for key, each in value.items()}

    def _list(self, kind: kinds.Type, value: list[object], path: Path) -> list[object]:
        if isinstance(kind, kinds.TupleType):
            types = kind.item_types
        elif isinstance(kind, _Many):
            types = (kind.item_type,) * len(value)
        else:
            return value
        pairs = enumerate(zip(types, value, strict=True))
        return [self.value(type_, each, (*path, place)) for place, (type_, each) in pairs]

    def _struct(
        self, kind: kinds.StructType, value: dict[str, object], path: Path
    ) -> dict[str, object]:
        faults_before = len(self.faults)
        left = dict(value)
        shaped: dict[str, object] = {}
        if kind.tag_field in left:
            shaped[kind.tag_field] = left.pop(kind.tag_field)
        # Those that gather keys come last, for what the others leave.
        for field in sorted(_fields(kind.cls), key=lambda field: field.keys is not None):
            shaped.update(self._field(field, left, path))
        for key in left:
            self.refuse((*path, key), _unknown_key(key, kind.cls))
        if len(self.faults) == faults_before:
            try:
                msgspec.convert(shaped, kind.cls)
            except msgspec.ValidationError as error:
                self.refuse(*_locate(error, path))
        return shaped

    def _field(self, field: _Field, left: dict[str, object], path: Path) -> dict[str, object]:
        """Takes what belongs to the field out of what is left."""
        name = field.name
        if field.keys is not None:
            return {name: self._gather(field.keys, field, left, path)}
        if name in left:
            return {name: self.value(field.kind, left.pop(name), (*path, name))}
        if field.is_required:
            self.refuse((*path, name), f"{name} is missing; it must be {describe_type(field.kind)}")
        return {}

    def _gather(
        self, keys: str, field: _Field, left: dict[str, object], path: Path
    ) -> dict[str, object]:
        found = {key: _form_pattern(keys).fullmatch(key) for key in left}
        if not any(found.values()):
            return {}
        naked = _without_metadata(field.kind)
        type_ = naked.value_type if isinstance(naked, kinds.DictType) else kinds.AnyType()
        return {
            match[1]: self.value(type_, left.pop(key), (*path, key))
            for key, match in found.items()
            if match
        }


def key_form(kind: kinds.Type) -> str | None:
    """The form of the keys that a field gathers, such as `<machine>_record`."""
    extra = kind.extra if isinstance(kind, kinds.Metadata) else None
    return (extra or {}).get("keys")


@lru_cache(maxsize=FORMS_CACHED_MAX)
def _form_pattern(keys: str) -> re.Pattern[str]:
    before, _, rest = keys.partition("<")
    after = rest.partition(">")[2]
    return re.compile(f"{re.escape(before)}([a-z][a-z0-9_]*){re.escape(after)}")


def _without_metadata(kind: kinds.Type) -> kinds.Type:
    while isinstance(kind, kinds.Metadata):
        kind = kind.type
    return kind


def _describe_path(path: Path) -> str:
    """What a sentence calls the part at a path."""
    if not path:
        return "the whole document"
    *before, last = path
    return (
        f"item {last + 1} of {_describe_path(tuple(before))}"
        if isinstance(last, int)
        else quote_word(last)
    )


def _unknown_key(key: str, cls: type[msgspec.Struct]) -> str:
    from difflib import get_close_matches

    known = [field.keys or field.name for field in _fields(cls)]
    near = get_close_matches(key, known, n=1, cutoff=0.7)
    if near:
        return f"{quote_word(key)} is not a known key; did you mean {near[0]}?"
    return f"{quote_word(key)} is not a known key; known are {', '.join(known[:KEYS_SHOWN_MAX])}"


def _may_match(kind: kinds.Type, value: object) -> bool:
    """Whether a value of this shape is worth comparing with the type in detail."""
    if isinstance(value, dict):
        return isinstance(kind, kinds.StructType | kinds.DictType | kinds.AnyType)
    if isinstance(value, list):
        return isinstance(kind, _Many | kinds.TupleType | kinds.AnyType)
    return _fits(kind, value)


def _fits(kind: kinds.Type, value: object) -> bool:
    """Whether a value by itself, without its parts, is of the type."""
    match kind:
        case kinds.BoolType():
            return isinstance(value, bool)
        case kinds.NoneType():
            return value is None
        case kinds.IntType():
            return _is_number(value, int) and _is_within(kind, value)
        case kinds.FloatType():
            return _is_number(value, int, float) and _is_within(kind, value)
        case kinds.StrType():
            return isinstance(value, str) and _matches_text(kind, value)
        case kinds.LiteralType():
            return any(type(each) is type(value) and each == value for each in kind.values)
        case kinds.EnumType():
            values = [each.value for each in kind.cls]
            return any(type(each) is type(value) and each == value for each in values)
        case kinds.ListType() | kinds.VarTupleType() | kinds.SetType() | kinds.FrozenSetType():
            return isinstance(value, list) and _has_length(kind, len(value))
        case kinds.TupleType():
            return isinstance(value, list) and len(value) == len(kind.item_types)
        case kinds.StructType() | kinds.DictType():
            return isinstance(value, dict)
    return True


def _is_number(value: object, *types: type) -> TypeGuard[float]:
    return type(value) in types  # a boolean is an int to Python, and is not one here


def _is_within(kind: kinds.IntType | kinds.FloatType, number: float) -> bool:
    return (
        (kind.ge is None or number >= kind.ge)
        and (kind.gt is None or number > kind.gt)
        and (kind.le is None or number <= kind.le)
        and (kind.lt is None or number < kind.lt)
        and (kind.multiple_of is None or number % kind.multiple_of == 0)
    )


def _matches_text(kind: kinds.StrType, text: str) -> bool:
    has_form = kind.pattern is None or re.search(kind.pattern, text) is not None
    return has_form and _has_length(kind, len(text))


def _has_length(kind: kinds.StrType | _Many, length: int) -> bool:
    shortest, longest = kind.min_length, kind.max_length
    return (shortest is None or length >= shortest) and (longest is None or length <= longest)


def _locate(error: msgspec.ValidationError, path: Path) -> tuple[Path, str]:
    """Where msgspec found a fault, and its sentence without that."""
    sentence, _, place = str(error).partition(" - at `$")
    parts = re.findall(r"\.([^.\[\]`]+)|\[(\d+)\]", place.partition("[...]")[0])
    return (*path, *(name or int(index) for name, index in parts)), sentence
