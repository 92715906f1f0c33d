"""The log of one attempt: JSON lines within a limit, in which the reason of a failure always finds space."""

from collections.abc import Callable, Iterator, Mapping
from typing import (
    Protocol,
)

import msgspec

from stateward.core.model import (
    Fields,
    Micros,
    clean_text,
    to_iso,
)
from stateward.workers.json_values import DEPTH_MAX, NUL_ESCAPED, clean_value, kind_of
from stateward.workers.results import KIB

LINE_CHARS_MAX = 8 * KIB
# The facts of a log line as JSON; far below what a frame from a child may have.
LINE_BYTES_MAX = 64 * KIB
CLOSING_BYTES_MAX = 160  # reserved in every log for the line that says how much was cut off
# JSON allows these inside a string, but many readers of JSON lines take them for the end of a line.
LINE_ENDS = {
    "\x85".encode(): b"\\u0085",
    "\u2028".encode(): b"\\u2028",
    "\u2029".encode(): b"\\u2029",
}
# How full a log may be for a line of that level to be added. What a runner prints leaves space for
# what it logs, and both leave space for the reason of its failure, which comes last.
SHARES = {"output": 0.5, "info": 0.9, "error": 1.0}
# Keys that each log line has of its own; a fact of the same name gets an underscore.
RESERVED = frozenset({"at", "level", "message"})


class Log(Protocol):
    """Where the lines of one attempt go."""

    def write(self, level: str, message: str, facts: Mapping[str, object]) -> None: ...

    def text(self) -> str: ...


class AttemptLog:
    """The lines of one attempt as JSON, one object per line, within a number of bytes.

    A level whose share is used up is closed for good: the rest of a flood is counted without being
    cleaned and encoded first.
    """

    def __init__(self, *, bytes_max: int, now: Callable[[], Micros]) -> None:
        self._bytes_max = bytes_max
        self._bytes_left = bytes_max - CLOSING_BYTES_MAX
        self._now = now
        self._lines: list[bytes] = []
        self._size = 0
        self._cut = 0
        self._closed: set[str] = set()

    def has_space(self, level: str) -> bool:
        """Whether another line of that level may still be added."""
        return _budget(level) not in self._closed

    def skip(self, size: int) -> None:
        """Count bytes that the caller left out without making a line of them."""
        self._cut += size

    def write(
        self, level: str, message: str, facts: Mapping[str, object], *, age: Micros = 0
    ) -> None:
        """Add a line that was written so long ago, or count it as cut off; never raises because of its content."""
        if not self.has_space(level):
            self._cut += len(message)
            return
        level, message, fields = tame_line(level, message, facts)
        line = self._line({"level": level, "message": message, **fields}, age=age)
        size = len(line) + 1
        if self._size + size > self._bytes_left * SHARES[_budget(level)]:
            self._closed.add(_budget(level))
            self._cut += size
            return
        self._lines.append(line)
        self._size += size

    def text(self) -> str:
        """All lines; the last one says how much was cut off, if anything was."""
        lines = [*self._lines, *self._closing()]
        return b"".join(line + b"\n" for line in lines).decode()

    def _line(self, facts: Fields, *, age: Micros = 0) -> bytes:
        line = msgspec.json.encode({"at": to_iso(self._now() - age), **facts})
        for end, escaped in LINE_ENDS.items():
            line = line.replace(end, escaped)
        return line

    def _closing(self) -> Iterator[bytes]:
        if not self._cut:
            return
        sentence = f"the log is full: {self._cut} bytes were cut off"
        line = self._line({"level": "warning", "message": sentence})
        if self._size + len(line) < self._bytes_max:  # a limit may be smaller than what is reserved
            yield line


def _budget(level: str) -> str:
    """The level whose share of the log counts for a line of this level: warnings and unknown ones are "info"."""
    return level if level in SHARES else "info"


# Of a job outside of `run_runner`: it stores no line.
NO_LOG = AttemptLog(bytes_max=0, now=lambda: 0)


def tame_line(level: str, message: str, facts: Mapping[str, object]) -> tuple[str, str, Fields]:
    """A log line that can be stored: texts cleaned and bounded, facts that JSON does not have as text.

    Applied in the child, to bound what it sends, and again in the worker, which does not trust the child.
    """
    level = clean_text(f"{level}", chars_max=20)
    message = clean_text(f"{message}"[:LINE_CHARS_MAX], chars_max=LINE_CHARS_MAX)
    if not facts:
        return level, message, {}
    named = {f"{name}_" if name in RESERVED else name: value for name, value in facts.items()}
    try:
        data = _encode_facts(named)
        if len(data) > LINE_BYTES_MAX:
            return level, message, {"cut": f"facts of {len(data)} bytes"}
        fields: Fields = msgspec.json.decode(data)
    except Exception as error:  # noqa: BLE001 - a log line must never fail a job
        return level, message, {"cut": f"facts that cannot be written: {type(error).__name__}"}
    return level, message, fields


def _encode_facts(facts: Mapping[str, object]) -> bytes:
    """Facts as JSON, with their texts cleaned. The copy that cleaning makes is spared where nothing can need it."""
    try:
        data = msgspec.json.encode(facts, enc_hook=_printable)
    except (UnicodeEncodeError, RecursionError):
        return msgspec.json.encode(clean_value(facts), enc_hook=_printable)
    is_plain = NUL_ESCAPED not in data and data.count(b"{") + data.count(b"[") <= DEPTH_MAX
    return data if is_plain else msgspec.json.encode(clean_value(facts), enc_hook=_printable)


def _printable(value: object) -> str:
    try:
        text = f"{value}"
    except Exception:  # noqa: BLE001 - a foreign __str__
        text = f"({kind_of(value)})"
    return clean_text(text[:LINE_CHARS_MAX], chars_max=LINE_CHARS_MAX)
