"""Space in the write-ahead log of SQLite ahead of what is written to it.

A commit that makes the log longer has the file system write its journal too, and wait for it: the new length must be
as durable as the data. In a log that is long enough already a commit is one write of its own pages, which takes half
the time on an idle disk, and a fifth or less beside other writers. SQLite itself comes to that when it begins to
overwrite its log, after `wal_autocheckpoint`; this is for the time before, which is all that most processes see.

What is reserved is zeros behind the end. SQLite reads a log up to the first frame whose checksum is wrong, because
older frames lie behind the last one whenever it has begun to overwrite. Only what holds the write lock may call this:
nothing else writes behind the end then.

A reserve never ends where a frame does, so that it can be told from what SQLite wrote: every connection and process
keeps one of the same log, and none is to lengthen what another has just reserved.
"""

import os
from contextlib import suppress

HEADER_BYTES = 32
FRAME_BYTES = 4096 + 24  # a page and its header
FIRST_BYTES = 128 * 1024
STEP_BYTES = 1024 * 1024  # the next commit makes it durable, so that little waits for a lot
ZEROS = memoryview(bytes(STEP_BYTES))
# A command that writes once or twice ends sooner without.
TRANSACTIONS_MIN = 8


class WalReserve:
    """The log at a path."""

    def __init__(self, path: str, *, pages_max: int) -> None:
        self._path = path
        self._bytes_max = pages_max * FRAME_BYTES
        self._transactions = 0
        self._fd = -1

    def keep(self) -> None:
        """Make the log longer if its reserve is used up; call it with the write lock held."""
        self._transactions += 1
        if self._transactions < TRANSACTIONS_MIN:
            return
        # A disk that is full or fails is no fault of a reserve: what must be written says so itself.
        with suppress(OSError):
            if self._fd < 0:
                self._fd = os.open(self._path, os.O_WRONLY | os.O_CLOEXEC)
            size = os.fstat(self._fd).st_size
            if size % FRAME_BYTES == HEADER_BYTES:
                # Write zeros behind the end; none of these lengths is one of whole frames.
                more = min(max(size, FIRST_BYTES), STEP_BYTES, self._bytes_max - size)
                if more > 0:
                    os.pwrite(self._fd, ZEROS[:more], size)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
