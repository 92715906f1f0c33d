"""The log lines of the service: their format and where they go, which is stderr and never stdout.

A line is JSON or text, as the settings say. The content of documents is never logged; control characters are escaped by
the renderers, so that a file name cannot forge a line. structlog is imported with the first line that is written: a
command that logs nothing does not pay for it.
"""

import sys
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TextIO

import msgspec

if TYPE_CHECKING:
    from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}

Format = Literal["text", "json"]


class LogConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The format of lines, the lowest level that is written, and the stream; None is stderr."""

    format: Format = "text"
    level: str = "warning"
    stream: TextIO | None = None
    is_structured: bool = True


# One for the process. Warnings until `set_up` is called, for programs that use Stateward as a library.
_configs: list[LogConfig] = [LogConfig()]


def set_up(
    *,
    format: Format = "text",  # noqa: A002 - the word of the settings
    level: str = "info",
    stream: TextIO | None = None,
    is_structured: bool = True,
) -> None:
    """Configure all log lines of this process; text that is not structured is a sentence without the named values."""
    _configs[:] = [
        LogConfig(format=format, level=level, stream=stream, is_structured=is_structured)
    ]


def log(role: str) -> "Log":
    """The log of one part of the service."""
    return Log(role)


def is_written(level: str, *, at: str) -> bool:
    """Whether a line of `level` is written: both a machine's level `at` and that of the process must allow it."""
    return LEVELS[level] >= max(LEVELS[at], LEVELS[_configs[0].level])


class Log:
    """A log that costs nothing until a line is written."""

    def __init__(self, role: str) -> None:
        self._role = role
        self._config: LogConfig | None = None

    def debug(self, event: str, **facts: object) -> None:
        """Details for finding a fault."""
        self._write("debug", event, facts)

    def info(self, event: str, **facts: object) -> None:
        """Normal operation."""
        self._write("info", event, facts)

    def warning(self, event: str, **facts: object) -> None:
        """Something that a person may want to look at."""
        self._write("warning", event, facts)

    def error(self, event: str, **facts: object) -> None:
        """Something that a person must look at."""
        self._write("error", event, facts)

    def _write(self, level: str, event: str, facts: dict[str, object]) -> None:
        config = _configs[0]
        if LEVELS[level] < LEVELS[config.level]:
            return
        if config is not self._config:
            self._config = config
            self.__dict__.pop("_logger", None)
        getattr(self._logger, level)(event, **facts)

    @cached_property
    def _logger(self) -> "FilteringBoundLogger":
        import structlog

        config = self._config or LogConfig()
        renderer: Processor
        if config.format == "json":
            renderer = structlog.processors.JSONRenderer(sort_keys=True)
        elif config.is_structured:
            renderer = structlog.processors.KeyValueRenderer(
                key_order=["at", "level", "event"], repr_native_str=True
            )
        else:
            renderer = _sentence
        bound: FilteringBoundLogger = structlog.wrap_logger(
            structlog.WriteLogger(config.stream or sys.stderr),
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
    """A line for people: time, level, role and message, without the named values."""
    text = f"{line['at']} {line['level']} {line['role']}: {line['event']}"
    trouble = line.get("exception")
    if trouble is not None:
        text += f" | {trouble}"
    # KeyValueRenderer and JSONRenderer escape; here nothing else would.
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )
