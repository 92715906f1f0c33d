"""State machines and profiles of packages, compiled: what their YAML means, kept beside it as Python keeps its own.

Reading the YAML of all installed pipelines takes as long as everything else that a short command does. So the result is
written into `__pycache__` beside the file, and read from there while the text of the file and the code that reads it
are the same. As with Python's own files it can be deleted at any time, is not written where Python may not write
(`PYTHONDONTWRITEBYTECODE`, a folder that cannot be written to), and never decides what a declaration means.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import cache_from_source
from pathlib import Path
from typing import TypeVar

import msgspec

from stateward.core.machine import Machine
from stateward.definition.plain_values import Document

T = TypeVar("T")

SUFFIX = ".json"
# The packages whose code decides what a declaration becomes.
_READERS = ("stateward.core", "stateward.definition")


class _Compiled(msgspec.Struct, frozen=True, kw_only=True):
    """The content of such a file: the code that made it, the whole text of which, and what that means."""

    code: str
    text: str
    value: msgspec.Raw


class _Lines(msgspec.Struct, frozen=True, kw_only=True):
    """A `Document` without its source; JSON has no keys that are paths."""

    value: object
    lines: tuple[tuple[tuple[str | int, ...], int], ...]


def machine_file(package: str, file: str, *, source: str) -> Machine:
    """The state machine that a YAML file of a package declares."""

    def declared(text: str) -> Machine:
        from stateward.definition.declare import from_yaml

        return from_yaml(text, source=source)

    return _load(package, file, Machine, declared)


def document_file(package: str, file: str, *, source: str) -> Document | None:
    """A YAML file of a package as a plain value; None if there is no such file."""

    def read(text: str) -> _Lines:
        from stateward.definition.yaml_text import read_yaml

        found = read_yaml(text, source=source)
        return _Lines(value=found.value, lines=tuple(found.lines.items()))

    try:
        found = _load(package, file, _Lines, read)
    except FileNotFoundError:
        return None
    return Document(source=source, value=found.value, lines=dict(found.lines))


def _load(package: str, file: str, type_: type[T], make: Callable[[str], T]) -> T:
    path, text = _read(package, file)
    place = Path(cache_from_source(str(path))).with_suffix(SUFFIX)
    with suppress(OSError, msgspec.MsgspecError):
        compiled = msgspec.json.decode(place.read_bytes(), type=_Compiled)
        if compiled.text == text and compiled.code == _code():
            return msgspec.json.decode(compiled.value, type=type_)
    made = make(text)
    value = msgspec.Raw(msgspec.json.encode(made))
    _save(place, _Compiled(code=_code(), text=text, value=value))
    return made


def _read(package: str, file: str) -> tuple[Path, str]:
    path = _folder(package) / file
    if path.is_file():
        return path, path.read_text("utf-8")
    from importlib.resources import files  # slow to import, and needed for archives alone

    return path, (files(package) / file).read_text("utf-8")


def _save(place: Path, compiled: _Compiled) -> None:
    """Write it in one step, so that another process sees all of it or nothing; where that fails it is made again."""
    if sys.dont_write_bytecode:
        return
    unfinished = place.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            unfinished.write_bytes(msgspec.json.encode(compiled))
            unfinished.replace(place)
        finally:
            unfinished.unlink(missing_ok=True)


@cache
def _code() -> str:
    """The code that reads declarations: a hash of its files' names, sizes and times of change."""
    from hashlib import sha256  # which help texts do without

    found: list[tuple[str, int, int]] = []
    for package in _READERS:
        with suppress(OSError), os.scandir(_folder(package)) as entries:
            own = [(each.path, each.stat()) for each in entries if each.name.endswith(".py")]
            found += [(path, stat.st_size, stat.st_mtime_ns) for path, stat in own]
    return sha256(repr(sorted(found)).encode()).hexdigest()


def _folder(package: str) -> Path:
    return Path(import_module(package).__file__ or "").parent
