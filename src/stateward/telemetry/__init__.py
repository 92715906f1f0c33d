"""Every log line of the service: its shape, and where it goes. Words go to stderr, never to stdout.

A line is JSON or text, as the settings say. What a document says is never logged; control characters are
escaped by the renderers, so that a file name cannot forge a line. The logging library is loaded with the first
line that is written: a command that logs nothing does not pay for it.
"""

import sys
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TextIO

import msgspec

if TYPE_CHECKING:
    from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}

Format = Literal["text", "json"]


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """How lines look, which are written, and where; without a stream, to stderr."""

    format: Format = "text"
    level: str = "warning"
    stream: TextIO | None = None
    is_structured: bool = True


# A program that uses Stateward as a library hears warnings, unless it chose otherwise.
_choices: list[Choice] = [Choice()]


def set_up(
    *,
    format: Format = "text",  # noqa: A002 - the word of the settings
    level: str = "info",
    stream: TextIO | None = None,
    is_structured: bool = True,
) -> None:
    """Make all log lines of this process look the same from now on; text that is not structured is a sentence."""
    _choices[:] = [Choice(format=format, level=level, stream=stream, is_structured=is_structured)]


def log(role: str) -> "Log":
    """The log of one part of the service."""
    return Log(role)


def is_heard(level: str, *, at: str) -> bool:
    """Whether a line of `level` is written, where a machine's settings say `at` and the process agrees."""
    return LEVELS[level] >= max(LEVELS[at], LEVELS[_choices[0].level])


class Log:
    """A log that costs nothing until a line is written."""

    def __init__(self, role: str) -> None:
        self._role = role
        self._choice: Choice | None = None

    def debug(self, event: str, **facts: object) -> None:
        """For those who look for a fault."""
        self._write("debug", event, facts)

    def info(self, event: str, **facts: object) -> None:
        """The ordinary course of things."""
        self._write("info", event, facts)

    def warning(self, event: str, **facts: object) -> None:
        """Something that somebody may want to look at."""
        self._write("warning", event, facts)

    def error(self, event: str, **facts: object) -> None:
        """Something that somebody must look at."""
        self._write("error", event, facts)

    def _write(self, level: str, event: str, facts: dict[str, object]) -> None:
        choice = _choices[0]
        if LEVELS[level] < LEVELS[choice.level]:
            return
        if choice is not self._choice:
            self._choice = choice
            self.__dict__.pop("_logger", None)
        getattr(self._logger, level)(event, **facts)

    @cached_property
    def _logger(self) -> "FilteringBoundLogger":
        import structlog

        choice = self._choice or Choice()
        renderer: Processor
        if choice.format == "json":
            renderer = structlog.processors.JSONRenderer(sort_keys=True)
        elif choice.is_structured:
            renderer = structlog.processors.KeyValueRenderer(
                key_order=["at", "level", "event"], repr_native_str=True
            )
        else:
            renderer = _sentence
        bound: FilteringBoundLogger = structlog.wrap_logger(
            structlog.WriteLogger(choice.stream or sys.stderr),
            processors=[
                structlog.contextvars.merge_contextvars,
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
                structlog.processors.format_exc_info,
                renderer,
            ],
            wrapper_class=structlog.make_filtering_bound_logger(0),
            role=self._role,
        )
        return bound


def _sentence(_: "WrappedLogger", __: str, line: "EventDict") -> str:
    """A line for people: when, how important, who, and what; the facts behind it stay away."""
    said = f"{line['at']} {line['level']} {line['role']}: {line['event']}"
    trouble = line.get("exception")
    return "".join(_visible(each) for each in (said if trouble is None else f"{said} | {trouble}"))


def _visible(char: str) -> str:
    return char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
