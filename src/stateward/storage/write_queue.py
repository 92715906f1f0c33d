"""Who may wait next for the write lock of an SQLite file, among all that have it open.

SQLite knows no queue: who finds the lock taken sleeps for up to a tenth of a second, and tries again. A coordinator
under load takes it again within microseconds, so that another one could wait for half a minute, and fail. So who waits
holds a lock of its own, and who comes later waits for that one first, also who had the write lock just now.

It is a courtesy. A process that is stopped while it waits holds each of the others up for a moment now and then, not at
every write, and where there is no such lock to be had everything goes on without.
"""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

PATIENCE_S = 1.0  # for the one that waits already
# After such a wait in vain, no other one for this long, unless the queue is seen free before. Who waits for the write
# lock has 30 s, and one that writes all the time and heeds no queue could keep it away for all of them.
HEEDLESS_S = 10.0
LOOK_S = 0.001


class Patience:
    """How often who waits looks: often, for one does at a time, where SQLite alone would sleep for long."""

    def __init__(self, busy_s: float) -> None:
        self._busy_s = busy_s
        self._until = 0.0

    def wait(self, times: int) -> bool:
        """Sleep for a moment; False once it has been too long. `times` is how often it was called in this wait."""
        now = time.monotonic()
        if not times:
            self._until = now + self._busy_s
        time.sleep(LOOK_S)
        return now < self._until


class WriteQueue:
    """The queue of one file. Its lock is on the folder of wake-ups, which all who take turns have made."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._fd = -1
        self._heedless_until = 0.0

    def enter(self) -> bool:
        """Be the one that waits for the write lock; False where another one is for too long, or there is no queue."""
        until: float | None = None
        try:
            if self._fd < 0:
                self._fd = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            while not self._is_first():
                now = time.monotonic()
                if now < self._heedless_until:
                    return False
                until = now + PATIENCE_S if until is None else until
                if now >= until:
                    self._heedless_until = now + HEEDLESS_S
                    return False
                time.sleep(LOOK_S)
        except OSError:  # no process listens, or a file system without such locks
            return False
        self._heedless_until = 0.0
        return True

    def _is_first(self) -> bool:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def leave(self) -> None:
        """After the wait: the next one may. It never fails, since who waited has the write lock by now."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_UN)
        except OSError:
            self.close()  # which gives it back as well

    def close(self) -> None:
        descriptor, self._fd = self._fd, -1
        if descriptor >= 0:
            with suppress(OSError):
                os.close(descriptor)
