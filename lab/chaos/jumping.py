"""`python -m lab.chaos.jumping …`: the command line, in a process whose wall clock can be set.

With libfaketime preloaded the C library already lies; its version 0.9.10 breaks the sleep of Python, which is put
right here. Without it, Python's own wall clock is made to read the offset from the file that $CHAOS_CLOCK_FILE names.
Clocks that cannot be set (monotonic, boot time) are left alone, as they are when the time is set.
"""

import os
import re
import select
import time
from collections.abc import Callable
from pathlib import Path

OFFSET = re.compile(r"([+-]\d+)([hm]?)")
UNITS_S = {"": 1, "m": 60, "h": 3600}
NANOS = 1_000_000_000


def offset_s(text: str) -> int:
    """Seconds of `+25h`, `-1h`, `+30m`, `+0`; what cannot be read is 0."""
    found = OFFSET.fullmatch(text.strip())
    return int(found[1]) * UNITS_S[found[2]] if found else 0


def lie(file: Path, wall_ns: Callable[[], int] = time.time_ns) -> None:
    """From now on the wall clock of this process is off by what the file says."""

    def time_ns() -> int:
        return wall_ns() + offset_s(file.read_text()) * NANOS

    time.time_ns = time_ns
    time.time = lambda: time_ns() / NANOS


def sleep(seconds: float) -> None:
    """Sleep without `clock_nanosleep`."""
    select.select([], [], [], max(0.0, seconds))


def main() -> None:
    """The command line, once the clock is in place."""
    time.sleep = sleep  # type: ignore[assignment]
    if file := os.environ.get("CHAOS_CLOCK_FILE"):
        lie(Path(file))
    from stateward.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
