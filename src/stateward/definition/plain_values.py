"""Plain values of declarations and settings: null, booleans, numbers, text, lists, mappings; and where they stand.

`Document` is one such value with the lines of its parts, `read_python` makes one of values given in Python,
`resolve_scalar` says what YAML text without quotes means. This module must never repeat a password in a message.
"""

import math
import re
from collections.abc import Iterable, Mapping
from typing import NoReturn, TypeAlias

import msgspec

from stateward.core.errors import DeclarationError, Fault
from stateward.core.model import plural

TEXT_CHARS_MAX = 1_000_000
NODES_MAX = 50_000
DEPTH_MAX = 50
FAULTS_MAX = 200
INT_MIN, INT_MAX = -(2**63), 2**63 - 1
SHOWN_CHARS_MAX = 60
# The limits above bound the time and memory that a hostile or mistaken file can cost; real ones are far below them.

Path: TypeAlias = tuple[str | int, ...]


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
        return value_at(self.value, path) is not msgspec.NODEFAULT

    def fault(self, path: Path, sentence: str) -> Fault:
        line = self.line(*path)
        return Fault(source=self.source, line=line, path=format_path(path), sentence=sentence)

    def without(self, faults: Iterable[Fault]) -> "Document":
        """All but the parts at fault; of a list nothing is left, or others would stand at another place."""
        paths = [fault.path for fault in faults if fault.source == self.source]

        def is_sound(value: object, path: Path) -> bool:
            text = format_path(path)
            return not any(
                each == text or (isinstance(value, list) and each.startswith(text))
                for each in paths
            )

        def left(value: object, path: Path) -> object:
            if not isinstance(value, dict):
                return value
            parts = {key: (each, (*path, key)) for key, each in value.items()}
            return {key: left(*part) for key, part in parts.items() if is_sound(*part)}

        return Document(source=self.source, value=left(self.value, ()), lines=self.lines)


def read_python(value: object, *, source: str) -> Document:
    """The same for a value given in Python: a plain copy of it, all of it on line 0."""
    copier = Copier(source)
    copy = copier.copy(value)
    if copier.faults:
        raise DeclarationError(copier.faults)
    return Document(source=source, value=copy, lines={})


def format_path(path: Path) -> str:
    """A path as people read it: `webhooks.endpoints[0].url`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + quote_word(part)
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
            return f"a list of {plural(len(value), 'item')}"
        case Mapping():
            return "a mapping"
        case _:
            return f"a Python {type(value).__name__}"


_CONSTANT_WORDS: dict[object, str] = {None: "null", True: "true", False: "false"}


def quote_word(text: str) -> str:
    return _shorten(text) if text.isprintable() else quote_value(text)


def _shorten(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS_MAX else f"{text[: SHOWN_CHARS_MAX - 1]}…"


def value_at(value: object, at: Path) -> object:
    for key in at:
        parts = dict(enumerate(value)) if isinstance(value, list) else value
        if not isinstance(parts, dict) or key not in parts:
            return msgspec.NODEFAULT
        value = parts[key]
    return value


# Plain values. Numbers are limited to what JSON and every database can hold.


class TooManyFaults(Exception):
    """Stop looking: FAULTS_MAX is reached, or the value is too large to go on."""


class Copier:
    """Makes a plain copy of a value with a limit on its size, and keeps every fault it meets."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.line = 0
        self.nodes = 0
        self.faults: list[Fault] = []

    def copy(self, value: object) -> object:
        try:
            return self.value(value, ())
        except TooManyFaults:
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
            raise TooManyFaults

    def give_up(self, path: Path, sentence: str) -> NoReturn:
        self.refuse(path, sentence)
        raise TooManyFaults


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


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


def resolve_scalar(text: str) -> object:
    """What text without quotes means."""
    if text in _CONSTANT_SCALARS:
        return _CONSTANT_SCALARS[text]
    if _INTEGER.fullmatch(text):
        # Python refuses to read thousands of digits; more than 20 are too many in any case.
        return int(text) if len(text) <= _INT_CHARS_MAX else INT_MAX + 1
    if _FRACTION.fullmatch(text):
        return float(text)
    return math.inf if _NOT_FINITE.fullmatch(text) else text
