"""What a process can find out about the world: the time, who runs it, and which processes live beside it.

Nothing here knows a record. Whoever needs a clock is given one; `app` picks it from here.
"""

import getpass
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from shutil import rmtree

from stateward.core.model import PERSON, SECOND, Micros
from stateward.transport import WorkerInfo

SLEW = 1000


def wall_clock() -> Micros:
    """What the clock of this machine says, in whole microseconds; it may be set while we run."""
    return time.time_ns() // 1000


def time_passed() -> Micros:
    """Microseconds since the machine was started, its sleep included; nobody can set them."""
    return time.clock_gettime_ns(_PASSING) // 1000


_PASSING: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class SteadyClock:
    """The present: the wall clock as it was at the start, and the time that has passed since.

    To set the wall clock while a process runs brings no deadline nearer and puts none off. Where the two differ,
    ours goes a thousandth faster or slower until they agree, so it follows clocks that drift and never jumps. See
    docs/decisions/0011.
    """

    def __init__(
        self,
        wall: Callable[[], Micros] = wall_clock,
        passed: Callable[[], Micros] = time_passed,
    ) -> None:
        self._wall = wall
        self._passed = passed
        # One tuple, so that threads see all of it or none: when we looked, what we said, how far off that was.
        self._looked = (passed(), wall(), 0)

    def __call__(self) -> Micros:
        """Whole microseconds since 1970; never less than before."""
        passed = self._passed()
        looked_at, then, off = self._looked
        since = passed - looked_at
        slack = since // SLEW
        now = then + since + max(-slack, min(off, slack))
        if since >= SECOND:
            self._looked = (passed, now, self._wall() - now)
        return now

    @property
    def off_s(self) -> float:
        """How far the wall clock is ahead of this one, in seconds."""
        return (self._wall() - self()) / SECOND


steady_clock = SteadyClock()


def person() -> str:
    """The actor of a command: whoever runs it."""
    try:
        return PERSON + getpass.getuser()
    except (KeyError, OSError):
        return f"{PERSON}uid-{os.getuid()}"


def own_scratch(root: Path, *, life: str) -> Path:
    """A scratch folder for this process; those of processes that are gone are removed."""
    for folder in root.glob("*-*") if root.is_dir() else ():
        pid, _, its_life = folder.name.partition("-")
        if pid.isdecimal() and process_life(int(pid)) != its_life:
            rmtree(folder, ignore_errors=True)
    return root / f"{os.getpid()}-{life}"


def host_name() -> str:
    """This machine since its last boot: pids mean something only within it."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{socket.gethostname()}/{boot}"
    return socket.gethostname()


def process_life(pid: int) -> str:
    """What tells a process from a later one with the same pid: when it started. '' if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in ("Z", "X") else fields[19]


def is_alive(worker: WorkerInfo) -> bool:
    """Whether a worker of this machine still runs; of other machines only their heartbeat tells."""
    return worker.host != host_name() or process_life(worker.pid) == worker.life
