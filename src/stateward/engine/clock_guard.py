"""Holds deadlines back while the clock of this machine is not trusted; a person can confirm it.

The clock is judged once, when a coordinator starts: from then on `SteadyClock` cannot be set. What it is judged by is
a small file in the data folder, which is written anew while the clock is trusted and left alone while it is not; so
a second process, or a second start, judges by the same.
"""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from stateward.core.clocks import ClockAnchor, ClockLimits, clock_fault
from stateward.core.model import Micros
from stateward.regular_files import read_regular
from stateward.telemetry import Log

ANCHOR = "clock.json"
# How often the anchor is moved on. It may be this old when a process ends, which is little against `gap_s`.
MOVE_EVERY_S = 300.0
# How often a doubted clock is judged again: it may have been confirmed meanwhile.
JUDGE_EVERY_S = 1.0
ADVICE = "set the clock right and start again, or confirm it: stateward clock confirm --reason TEXT"


class ClockGuard:
    """Whether the clock is trusted. `newest` is when the last transition was made, for a folder without an anchor."""

    def __init__(
        self,
        data: Path,
        *,
        present: Callable[[], ClockAnchor],
        newest: Callable[[], Micros | None],
        server_ahead_s: Callable[[], float | None],
        limits: ClockLimits,
        ticks: Callable[[], float] = time.monotonic,
        log: Log | None = None,
    ) -> None:
        self._path = data / ANCHOR
        self._present = present
        self._newest = newest
        self._server_ahead_s = server_ahead_s
        self._limits = limits
        self._ticks = ticks
        self._log = log
        self._fault: str | None = None
        self._next_at = 0.0
        self._is_judged = False

    def is_doubted(self) -> bool:
        """Whether no deadline may fire now; called by the scheduler in every turn."""
        now = self._ticks()
        if self._is_judged and now < self._next_at:
            return self._fault is not None
        if not self._is_judged or self._fault is not None:
            self._judge()
        if self._fault is None:
            with suppress(
                OSError
            ):  # a full or read-only disk: the older anchor stays, and says less
                self.believe()
        self._next_at = now + (MOVE_EVERY_S if self._fault is None else JUDGE_EVERY_S)
        return self._fault is not None

    def fault(self) -> str | None:
        """Why the clock is not trusted, judged now; None if it is. Changes nothing."""
        return clock_fault(
            self._anchor(), self._present(), self._limits, server_ahead_s=self._server_ahead_s()
        )

    def believe(self) -> None:
        """Take the clock as it is now for right, from here on."""
        new = self._path.with_name(f"{ANCHOR}.{os.getpid()}")
        with new.open("wb") as file:
            new.chmod(0o600)
            file.write(msgspec.json.encode(self._present()))
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._path)

    def _judge(self) -> None:
        before, self._fault = self._fault, self.fault()
        is_first, self._is_judged = not self._is_judged, True
        if self._log is None:
            return
        if self._fault is not None and is_first:
            self._log.warning(f"{self._fault}; no deadline fires until it is trusted: {ADVICE}")
        elif self._fault is None and before is not None:
            self._log.warning("the clock is trusted again: deadlines fire")

    def _anchor(self) -> ClockAnchor | None:
        try:
            return msgspec.json.decode(read_regular(self._path), type=ClockAnchor)
        except (OSError, msgspec.MsgspecError):
            newest = self._newest()
            return None if newest is None else ClockAnchor(wall=newest)
