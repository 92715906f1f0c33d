"""Read declarations and settings: YAML text or Python values become Structs, or a list of every fault with its line.

`read_yaml` makes plain values that remember their lines, `read_python` does the same for values given in Python, and
`convert` makes Structs of either. This module must never open a file, guess what was meant, stop at the first fault
if it can go on, or repeat a password in a message.

Only a subset of YAML is read, chosen to hold no surprises. Only `true` and `false` are booleans; `null`, `~` and an
empty value are null; numbers are decimal, with digits on both sides of a point and a sign in an exponent. Everything
else is text: `yes`, `012`, `1:30`, `1e3`, `0x1F`, `2024-01-31`, `1 2`. (No number here is text to PyYAML, so whatever
PyYAML writes reads back equal.)
"""

import math
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, NoReturn, TypeAlias, TypeGuard, TypeVar

import msgspec
import yaml
from msgspec import inspect as kinds

from stateward.core.errors import DeclarationError, Fault

TEXT_CHARS_MAX = 1_000_000
NODES_MAX = 50_000
DEPTH_MAX = 50
FAULTS_MAX = 200
INT_MIN, INT_MAX = -(2**63), 2**63 - 1
SHOWN_CHARS_MAX = 60
KEYS_SHOWN_MAX = 40
FORMS_CACHED_MAX = 64
# The limits above bound the time and memory that a hostile or mistaken file can cost; real ones are far below them.

Path: TypeAlias = tuple[str | int, ...]
T = TypeVar("T")


class Document(msgspec.Struct, frozen=True):
    """A plain value (null, booleans, numbers, text, lists, mappings) and where its parts stand."""

    source: str
    value: object
    lines: dict[Path, int]

    def line(self, *path: str | int) -> int:
        """The line of a part, or of the nearest part around it that has one."""
        for end in range(len(path), -1, -1):
            if path[:end] in self.lines:
                return self.lines[path[:end]]
        return 0

    def has(self, *path: str | int) -> bool:
        """Whether the document says anything at that place."""
        return _value_at(self.value, path) is not msgspec.NODEFAULT

    def fault(self, path: Path, sentence: str) -> Fault:
        """A fault of the part at `path`."""
        line = self.line(*path)
        return Fault(source=self.source, line=line, path=format_path(path), sentence=sentence)


def read_yaml(text: str, *, source: str) -> Document:
    """One YAML document as a plain value; raises `DeclarationError` with every fault that can be found."""
    # libyaml is ten times as fast, but its words for what is wrong are others: the parser in Python has the last one.
    composer = _Composer(text, source=source, loader=_QUICK_LOADER)
    value = composer.compose()
    if composer.faults:
        composer = _Composer(text, source=source, loader=yaml.SafeLoader)
        value = composer.compose()
    if composer.faults:
        raise DeclarationError(composer.faults)
    return Document(source=source, value=value, lines=composer.lines)


def read_python(value: object, *, source: str) -> Document:
    """The same for a value given in Python: a plain copy of it, all of it on line 0."""
    copier = _Copier(source)
    copy = copier.copy(value)
    if copier.faults:
        raise DeclarationError(copier.faults)
    return Document(source=source, value=copy, lines={})


def convert(document: Document, type_: type[T], *, at: Path = ()) -> tuple[T | None, list[Fault]]:
    """The part of a document at `at` as a value of `type_`, or None and every fault, in file order.

    A Struct refuses keys that it has no field for. A field of type `dict[str, ...]` that carries
    `Meta(extra={"keys": "<state>_timeout_seconds"})` gathers all keys of that form, under the names
    that stand in place of the angle brackets. `Meta(title=...)` is what a sentence calls the type.
    """
    if not document.has(*at):
        return None, [document.fault(at, f"{_describe_path(at)} is missing")]
    walk = _Walk(document)
    shaped = walk.shape(type_info(type_), _value_at(document.value, at), at)  # type: ignore[arg-type]
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


def format_path(path: Path) -> str:
    """A path as people read it: `webhooks.endpoints[0].url`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + _quote_word(part)
    return text


def quote_value(value: object) -> str:
    """A value as a sentence quotes it: short, on one line, without the credentials of a URL."""
    match value:
        case None | bool():
            return _CONSTANT_WORDS[value]
        case str():
            return repr(_shorten(re.sub(r":.*@", ":***@", value, flags=re.DOTALL)))
        case int() | float():
            return str(value)
        case list() | tuple():
            return f"a list of {_count_of(len(value), 'item')}"
        case Mapping():
            return "a mapping"
        case _:
            return f"a Python {type(value).__name__}"


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
            return f"a list of exactly {_count_of(len(kind.item_types), 'item')}"
        case _:
            return _TYPE_WORDS.get(type(kind), "a value")


def join_choices(words: Iterable[str]) -> str:
    """Words as a choice: "a, b or c"."""
    *first, last = dict.fromkeys(words)
    return f"{', '.join(first)} or {last}" if first else last


_CONSTANT_WORDS: dict[object, str] = {None: "null", True: "true", False: "false"}
_TYPE_WORDS: dict[type[kinds.Type], str] = {
    kinds.BoolType: "true or false",
    kinds.NoneType: "null",
    kinds.StructType: "a mapping",
    kinds.DictType: "a mapping",
    kinds.DateTimeType: "a date and time such as 2024-01-31T08:30:00Z",
    kinds.DateType: "a date such as 2024-01-31",
}


def _quote_word(text: str) -> str:
    return _shorten(text) if text.isprintable() else quote_value(text)


def _shorten(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS_MAX else f"{text[: SHOWN_CHARS_MAX - 1]}…"


def _count_of(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


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
    said = " and ".join(f"{word} {limit}" for word, limit in words if limit is not None)
    return f" {said}" if said else ""


_Many: TypeAlias = kinds.ListType | kinds.VarTupleType | kinds.SetType | kinds.FrozenSetType


def _describe_length(kind: kinds.StrType | _Many, noun: str) -> str:
    shortest, longest = kind.min_length, kind.max_length
    if shortest is not None and longest is not None:
        return f" of {shortest} to {_count_of(longest, noun)}"
    if shortest is not None:
        return f" of at least {_count_of(shortest, noun)}"
    return "" if longest is None else f" of at most {_count_of(longest, noun)}"


def _describe_items(kind: kinds.Type) -> str:
    return "" if isinstance(kind, kinds.AnyType) else f", each item {describe_type(kind)}"


# Plain values. Numbers are limited to what JSON and every database can hold.


class _TooManyFaults(Exception):
    """Stop looking: FAULTS_MAX is reached, or the value is too large to go on."""


class _Copier:
    """Makes a plain copy of a value with a limit on its size, and keeps every fault it meets."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.line = 0
        self.nodes = 0
        self.faults: list[Fault] = []

    def copy(self, value: object) -> object:
        try:
            return self.value(value, ())
        except _TooManyFaults:
            return None

    def value(self, value: object, path: Path) -> object:
        self.count(path)
        match value:
            case None | bool():
                return value
            case str():
                return self.text(str.__str__(value), path)
            case int():
                return self.whole(int(value), path)
            case float():
                return self.number(float(value), path)
            case list() | tuple():
                return [self.value(each, (*path, place)) for place, each in enumerate(value)]
            case Mapping():
                keys = ((self.key(key, path), each) for key, each in value.items())
                return {key: self.value(each, (*path, key)) for key, each in keys}
        self.refuse(path, f"{quote_value(value)} is not a plain value")
        return None

    def text(self, text: str, path: Path) -> str:
        if not _is_unicode(text):
            self.refuse(path, f"{quote_value(text)} contains a lone surrogate")
        return text

    def whole(self, number: int, path: Path) -> int:
        if not INT_MIN <= number <= INT_MAX:
            self.refuse(path, "the number is too large: it needs more than 64 bits")
        return number

    def number(self, number: float, path: Path) -> float:
        if not math.isfinite(number):
            self.refuse(path, "the number must be finite")
        return number

    def key(self, key: object, path: Path) -> str:
        """Text that names a part of a mapping."""
        if isinstance(key, str):
            return self.text(str.__str__(key), path)
        cure = "" if isinstance(key, list | tuple | Mapping) else "; put it in quotes"
        self.refuse(path, f"a key must be text, not {quote_value(key)}{cure}")
        return "?"

    def count(self, path: Path) -> None:
        self.nodes += 1
        if self.nodes > NODES_MAX:
            self.give_up(path, f"it contains more than {NODES_MAX} values")
        if len(path) > DEPTH_MAX:
            self.give_up((), f"it is nested more than {DEPTH_MAX} levels deep")

    def refuse(self, path: Path, sentence: str) -> None:
        fault = Fault(source=self.source, line=self.line, path=format_path(path), sentence=sentence)
        self.faults.append(fault)
        if len(self.faults) >= FAULTS_MAX:
            raise _TooManyFaults

    def give_up(self, path: Path, sentence: str) -> NoReturn:
        self.refuse(path, sentence)
        raise _TooManyFaults


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# YAML. PyYAML's parser gives events without recursing, so deep nesting cannot exhaust the stack; what the events mean
# is decided here, because PyYAML's own constructor would turn `no` into False and forget the lines.

_Event: TypeAlias = Any
_Loader: TypeAlias = Any
_QUICK_LOADER: _Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CORE = "tag:yaml.org,2002:"
_TAG_TYPES: dict[str, type] = {
    f"{_CORE}str": str,
    f"{_CORE}int": int,
    f"{_CORE}float": float,
    f"{_CORE}bool": bool,
    f"{_CORE}null": type(None),
}
_CONSTANT_SCALARS: dict[str, object] = {
    "": None,
    "~": None,
    "null": None,
    "true": True,
    "false": False,
}
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)", re.ASCII)
_FRACTION = re.compile(r"[-+]?(0|[1-9][0-9]*)\.[0-9]+([eE][-+][0-9]+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_INT_CHARS_MAX = 20
_HINTS = {
    "'\\t'": "indent with spaces, not with tabs",
    "mapping values are not allowed here": "text that holds a colon and a space needs quotes",
}


class _Composer(_Copier):
    """Builds plain values from the events of one YAML text; `lines` says where each began."""

    def __init__(self, text: str, *, source: str, loader: _Loader) -> None:
        super().__init__(source)
        self._loader = loader
        self.lines: dict[Path, int] = {}
        self._text = text
        self._anchors: dict[str, object] = {}
        self._events: Iterator[_Event] = iter(())

    def compose(self) -> object:
        """The value of the only document; what is wrong is in `faults`."""
        try:
            if len(self._text) > TEXT_CHARS_MAX:
                self.give_up((), f"it is longer than {TEXT_CHARS_MAX} characters")
            self._events = yaml.parse(self._text, Loader=self._loader)
            return self._root()
        except _TooManyFaults:
            pass
        except yaml.MarkedYAMLError as error:
            self._add_syntax_fault(error)
        except yaml.reader.ReaderError as error:
            self.line = self._text.count("\n", 0, error.position) + 1
            self._add_fault(f"the character U+{int(error.character):04X} may not be in YAML")
        except (ValueError, OverflowError):  # PyYAML lets chr() and int() fail by themselves
            self._add_fault("it contains an invalid escape or version number")
        return None

    def _root(self) -> object:
        value = None
        documents = 0
        for event in self._events:
            self.line = event.start_mark.line + 1
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self.give_up((), "it contains several documents; keep one per file")
            elif isinstance(event, yaml.NodeEvent):
                value = self._node(event, ())
        return value

    def _next(self) -> _Event:
        event = next(self._events)
        self.line = event.start_mark.line + 1
        return event

    def _node(self, event: _Event, path: Path) -> object:
        self.lines.setdefault(path, self.line)
        if isinstance(event, yaml.AliasEvent):
            return self._resolve_alias(str(event.anchor), path)
        value = self._compose_value(event, path)
        # An anchor is known only once its value is complete, so that no value can contain itself.
        if event.anchor is not None:
            self._anchors[event.anchor] = value
        return value

    def _resolve_alias(self, anchor: str, path: Path) -> object:
        if anchor in self._anchors:
            return self.value(self._anchors[anchor], path)
        self.refuse(path, f"the alias *{_quote_word(anchor)} is not defined before it is used")
        return None

    def _compose_value(self, event: _Event, path: Path) -> object:
        if isinstance(event, yaml.ScalarEvent):
            return self.value(self._scalar(event, path), path)
        self.count(path)
        if isinstance(event, yaml.SequenceStartEvent):
            self._check_tag(event.tag, "seq", path)
            return self._sequence(path)
        self._check_tag(event.tag, "map", path)
        return self._mapping(path)

    def _check_tag(self, tag: str | None, word: str, path: Path) -> None:
        if tag not in (None, "!", _CORE + word):
            self._refuse_tag(tag, path)

    def _refuse_tag(self, tag: str, path: Path) -> None:
        word = tag.replace(_CORE, "!!")
        self.refuse(path, f"the tag {_quote_word(word)} is not supported; write the plain value")

    def _sequence(self, path: Path) -> list[object]:
        items: list[object] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            items.append(self._node(event, (*path, len(items))))
        return items

    def _mapping(self, path: Path) -> dict[str, object]:
        mapping: dict[str, object] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key = self._key(event, path)
            place = (*path, key)
            if key in mapping:
                first = self.lines[place]
                self.refuse(place, f"the key {quote_value(key)} is already used on line {first}")
            self.lines.setdefault(place, self.line)
            mapping[key] = self._node(self._next(), place)
        return mapping

    def _key(self, event: _Event, path: Path) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            return self.key(self._node(event, (*path, "?")), path)
        self.count(path)
        if event.value == "<<" and not event.style:
            self.refuse(path, "the merge key << is not supported; write the keys out")
        return self.key(self._scalar(event, path), path)

    def _scalar(self, event: yaml.ScalarEvent, path: Path) -> object:
        text: str = event.value
        if event.tag is None:
            return _resolve_scalar(text) if not event.style else text
        if event.tag == "!":
            return text
        return self._resolve_tag(event.tag, text, path)

    def _resolve_tag(self, tag: str, text: str, path: Path) -> object:
        type_ = _TAG_TYPES.get(tag)
        if type_ is None:
            self._refuse_tag(tag, path)
        if type_ is None or type_ is str:
            return text
        value = _resolve_scalar(text)
        if type_ is float and type(value) is int:
            return float(value)
        if type(value) is not type_:
            self.refuse(path, f"{quote_value(text)} does not match its tag")
        return value

    def _add_syntax_fault(self, error: yaml.MarkedYAMLError) -> None:
        self.line = error.problem_mark.line + 1 if error.problem_mark else self.line
        problem = " ".join(part for part in (error.context, error.problem) if part)
        cures = [cure for sign, cure in _HINTS.items() if sign in problem]
        self._add_fault(": ".join(["this is not valid YAML", problem, *cures]))

    def _add_fault(self, sentence: str) -> None:
        self.faults.append(Fault(source=self.source, line=self.line, path="", sentence=sentence))


def _resolve_scalar(text: str) -> object:
    """What text without quotes means."""
    if text in _CONSTANT_SCALARS:
        return _CONSTANT_SCALARS[text]
    if _INTEGER.fullmatch(text):
        # Python refuses to read thousands of digits; more than 20 are too many in any case.
        return int(text) if len(text) <= _INT_CHARS_MAX else INT_MAX + 1
    if _FRACTION.fullmatch(text):
        return float(text)
    return math.inf if _NOT_FINITE.fullmatch(text) else text


# Structs. The walk finds every fault and explains it in words; msgspec, which stops at the first, has the last word.


def _value_at(value: object, at: Path) -> object:
    for key in at:
        parts = dict(enumerate(value)) if isinstance(value, list) else value
        if not isinstance(parts, dict) or key not in parts:
            return msgspec.NODEFAULT
        value = parts[key]
    return value


class _Walk:
    """Compares a plain value with a type and reshapes it for `msgspec.convert`; faults are collected."""

    def __init__(self, document: Document) -> None:
        self.faults: list[Fault] = []
        self._document = document

    def shape(self, kind: kinds.Type, value: object, path: Path) -> object:
        try:
            return self.value(kind, value, path)
        except _TooManyFaults:
            return None

    def refuse(self, path: Path, sentence: str) -> None:
        self.faults.append(self._document.fault(path, sentence))
        if len(self.faults) >= FAULTS_MAX:
            raise _TooManyFaults

    def value(self, kind: kinds.Type, value: object, path: Path) -> object:
        match (_without_metadata(kind), value):
            case (kinds.UnionType() as union, _):
                return self._union(kind, union, value, path)
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
        is_number_as_text = isinstance(value, str) and not isinstance(_resolve_scalar(value), str)
        found = f"the text {quote_value(value)}" if is_number_as_text else quote_value(value)
        self.refuse(path, f"{_describe_path(path)} must be {describe_type(kind)}, not {found}")

    def _union(self, kind: kinds.Type, union: kinds.UnionType, value: object, path: Path) -> object:
        options = [each for each in union.types if _may_match(_without_metadata(each), value)]
        if isinstance(value, dict) and len(options) > 1:
            return self._tagged_union(options, value, path)
        if options:
            return self.value(options[0], value, path)
        self._mismatch(kind, value, path)
        return None

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
                said = f"the key {quote_value(key)} must be {describe_type(kind.key_type)}"
                self.refuse((*path, key), said)
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
        for field in sorted(kind.fields, key=lambda field: key_form(field.type) is not None):
            shaped.update(self._field(field, left, path))
        for key in left:
            self.refuse((*path, key), _unknown_key(key, kind))
        if len(self.faults) == faults_before:
            self._validate(kind.cls, shaped, path)
        return shaped

    def _field(self, field: kinds.Field, left: dict[str, object], path: Path) -> dict[str, object]:
        """Takes what belongs to the field out of what is left."""
        name = field.encode_name
        if (keys := key_form(field.type)) is not None:
            return {name: self._gather(keys, field.type, left, path)}
        if name in left:
            return {name: self.value(field.type, left.pop(name), (*path, name))}
        if field.required:
            self.refuse((*path, name), f"{name} is missing; it must be {describe_type(field.type)}")
        return {}

    def _gather(
        self, keys: str, kind: kinds.Type, left: dict[str, object], path: Path
    ) -> dict[str, object]:
        naked = _without_metadata(kind)
        type_ = naked.value_type if isinstance(naked, kinds.DictType) else kinds.AnyType()
        found = {key: _form_pattern(keys).fullmatch(key) for key in left}
        return {
            match[1]: self.value(type_, left.pop(key), (*path, key))
            for key, match in found.items()
            if match
        }

    def _validate(self, cls: type, shaped: dict[str, object], path: Path) -> None:
        try:
            msgspec.convert(shaped, cls)
        except msgspec.ValidationError as error:
            self.refuse(*_locate(error, path))


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
        else _quote_word(last)
    )


def _unknown_key(key: str, kind: kinds.StructType) -> str:
    known = [key_form(field.type) or field.encode_name for field in kind.fields]
    near = get_close_matches(key, known, n=1, cutoff=0.7)
    if near:
        return f"{_quote_word(key)} is not a known key; did you mean {near[0]}?"
    return f"{_quote_word(key)} is not a known key; known are {', '.join(known[:KEYS_SHOWN_MAX])}"


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
