"""Values that can be written as JSON and stored by every database: checked, cleaned and encoded."""

from collections.abc import Sequence
from math import isfinite

import msgspec

from stateward.core.model import (
    clean_text,
)
from stateward.workers.results import KIB

SHOWN_CHARS_MAX = 8 * KIB  # of a value that cannot be written as JSON
# Values are checked and cleaned by recursion, which Python bounds at 1000 frames by default.
DEPTH_MAX = 100
KEY_CHARS_SHOWN_MAX = 60
# Exact types that need no check; most values are one of them.
SCALARS = frozenset({str, int, bool, type(None)})
# How JSON writes the one character that PostgreSQL cannot store in text. Searching the encoded bytes for it is much
# cheaper than looking into every string of every item.
NUL_ESCAPED = b"\\u0000"


def json_fault(value: object, depth: int = 0) -> str | None:
    """What keeps a value from being JSON, and where; None if nothing does.

    Encoders do not refuse enough: they write NaN as null and the key 1 as text, and the runner's author
    would never know. The path to the fault is built on the way back, so that valid items do not pay for it.
    """
    if type(value) in SCALARS or isinstance(value, (str, int)):
        return None
    if isinstance(value, float):
        return None if isfinite(value) else f" is {value}, which JSON cannot say; give null"
    if depth >= DEPTH_MAX:
        return f" is nested more than {DEPTH_MAX} deep"
    if isinstance(value, dict):
        return _dict_fault(value, depth)
    if isinstance(value, (list, tuple)):
        return _list_fault(value, depth)
    return f" is {kind_of(value)}, which JSON has no form for; give text or a number"


def _dict_fault(value: dict[object, object], depth: int) -> str | None:
    for key, inner in value.items():
        if not isinstance(key, str):
            return f" has a key that is {kind_of(key)}; keys are text"
        if type(inner) not in SCALARS and (fault := json_fault(inner, depth + 1)) is not None:
            return f".{key[:KEY_CHARS_SHOWN_MAX]}{fault}"
    return None


def _list_fault(value: Sequence[object], depth: int) -> str | None:
    for index, inner in enumerate(value):
        if type(inner) not in SCALARS and (fault := json_fault(inner, depth + 1)) is not None:
            return f"[{index}]{fault}"
    return None


def encode_item(value: object) -> tuple[bytes, bool]:
    """A JSON value as bytes, and whether text in it had to be cleaned of what no database stores.

    Cleaning builds a copy of the value, so it is done only when the encoder or its output asks for it.
    """
    try:
        data = msgspec.json.encode(value, enc_hook=_plain)
    except UnicodeEncodeError:
        return msgspec.json.encode(clean_value(value), enc_hook=_plain), True
    if NUL_ESCAPED not in data:
        return data, False
    safe = msgspec.json.encode(clean_value(value), enc_hook=_plain)
    return safe, safe != data  # a backslash before "u0000" looks the same


def clean_value(value: object, depth: int = 0) -> object:
    """The same value with NUL and lone surrogates replaced in every string, also in keys."""
    if isinstance(value, str):
        return clean_text(value, chars_max=len(value))
    if depth > DEPTH_MAX:
        return clean_text(repr(value), chars_max=SHOWN_CHARS_MAX)
    if isinstance(value, dict):
        return {clean_value(key): clean_value(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [clean_value(inner, depth + 1) for inner in value]
    return value


def _plain(value: object) -> object:
    """The built-in value inside a subclass of its type (strings of parsers, floats of numpy)."""
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    raise TypeError(f"it holds {kind_of(value)}")


def kind_of(value: object) -> str:
    return f"of type {type(value).__name__}"
