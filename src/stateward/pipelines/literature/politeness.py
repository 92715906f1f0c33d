"""At most one request to a host at a time, and a pause between two: for all workers of this machine together.

A runner may write nowhere but into its scratch folder, so there is no file in which workers could note when they last
asked. They lock instead: a worker that asks a host holds the lock of that host while it pauses, and the pause after
`429` is held the same way, so that the others wait as well. The locked files ship with the package and are only read.

A host that asks to wait for longer than an attempt lasts is noted by a lock as well: on one byte of the file `pauses`,
whose offset says which host and until when. The kernel tells every process that asks where a lock begins. It belongs to
the opened file, which the processes of one worker inherit from the one that they are forked from: it lasts as long as
the worker, whichever of its processes ends. A worker that learns of a pause of another holds it too.
"""

import fcntl
import os
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path

from stateward.core.errors import StageFailure

FOLDER = Path(__file__).parent / "hosts"
POLL_S = 0.02
RATE_LIMITED = "RATE_LIMITED"
# An offset has 63 bits: the upper ones are the host, the lower ones seconds since 1970.
TIME_BITS, HOST_BITS = 33, 29
LOCK = "hhqqi4x"  # of C: struct flock


@contextmanager
def turn(
    host: str,
    *,
    pause_s: float,
    left_s: Callable[[], float | None],
    sleep: Callable[[float], object] = time.sleep,
) -> Iterator[None]:
    """Wait for this worker's turn to ask a host; the turn lasts as long as the block."""
    # Hosts that share a file wait for each other: that is slower than need be, and never impolite.
    name = sha256(host.lower().encode()).hexdigest()[0]
    with (FOLDER / name).open("rb") as file:
        while not _is_locked(file.fileno()):
            left = left_s()
            if left is not None and left < pause_s + 1:
                raise StageFailure(
                    f"other workers are asking {host}, and the time for this attempt is over",
                    code=RATE_LIMITED,
                )
            sleep(POLL_S)
        sleep(pause_s)
        yield  # closing the file gives the lock up, also when the process dies


def _is_locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


_held: dict[str, int] = {}
"""Until when the hosts asked to wait whose pauses this process holds: its own locks the kernel does not tell it."""


def pause(host: str, until_s: int) -> None:
    """Note for all workers of this machine that a host is not to be asked before; seconds since 1970."""
    _held[host] = until_s
    first = _offset(host)
    _lock(_HOLDING, fcntl.F_OFD_SETLK, fcntl.F_UNLCK, first, 1 << TIME_BITS)  # an earlier one
    _lock(_HOLDING, fcntl.F_OFD_SETLK, fcntl.F_RDLCK, first + until_s, 1)


def paused_until(host: str, *, now_s: int) -> int:
    """Until when a host asked any worker of this machine to wait; 0 if it may be asked."""
    if _held.get(host, 0) <= now_s:
        first = _offset(host)
        found, start = _lock(
            _asking(),
            fcntl.F_OFD_GETLK,
            fcntl.F_WRLCK,
            first + now_s + 1,
            (1 << TIME_BITS) - now_s - 1,
        )
        if found == fcntl.F_UNLCK:
            return 0
        pause(host, start - first)
    return _held[host]


def _offset(host: str) -> int:
    digest = sha256(host.lower().encode()).digest()
    return (int.from_bytes(digest[:4], "big") >> (32 - HOST_BITS)) << TIME_BITS


def _lock(descriptor: int, command: int, kind: int, start: int, size: int) -> tuple[int, int]:
    """A lock of the open file, or the one that is in its way: its kind and where it begins."""
    asked = struct.pack(LOCK, kind, os.SEEK_SET, start, size, 0)
    try:
        kind, _, start, *_ = struct.unpack(LOCK, fcntl.fcntl(descriptor, command, asked))
    except OSError:
        # A file system or kernel without such locks: each process knows what it was told itself.
        return fcntl.F_UNLCK, 0
    return kind, start


def _open_pauses() -> int:
    return os.open(FOLDER / "pauses", os.O_RDONLY | os.O_CLOEXEC)


@cache
def _asking() -> int:
    """The file of pauses, opened by this process itself: the kernel does not tell of locks of the same opened file."""
    return _open_pauses()


# Opened with this module, which the process that forks runners loads before it forks, so that all of them have it. It
# stays open, for to close it would end the pauses.
_HOLDING = _open_pauses()
