"""Every log line of the service: its shape, and where it goes. Words go to stderr, never to stdout.

A line is JSON or text, as the settings say. What a document says is never logged; control characters are
escaped by the renderers, so that a file name cannot forge a line.
"""

import logging
import sys
from typing import Literal, TextIO, cast

import structlog

Log = structlog.typing.FilteringBoundLogger

_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}


def set_up(
    *,
    format: Literal["text", "json"] = "text",  # noqa: A002 - the word of the settings
    level: str = "info",
    stream: TextIO | None = None,
) -> None:
    """Make all log lines of this process look the same."""
    renderer = (
        structlog.processors.JSONRenderer(sort_keys=True)
        if format == "json"
        else structlog.processors.KeyValueRenderer(
            key_order=["at", "level", "event"], repr_native_str=True
        )
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS.get(level, logging.INFO)),
        logger_factory=structlog.WriteLoggerFactory(stream or sys.stderr),
        cache_logger_on_first_use=False,
    )


def set_up_if_not_yet() -> None:
    """For programs that use Stateward as a library: warnings on stderr, unless they chose otherwise."""
    if not structlog.is_configured():
        set_up(level="warning")


def log(role: str) -> Log:
    """The log of one part of the service."""
    return cast("Log", structlog.get_logger(role=role))


def is_heard(level: str, *, at: str) -> bool:
    """Whether a line of `level` is written when the settings say `at`."""
    return _LEVELS[level] >= _LEVELS.get(at, logging.INFO)
