"""The one seam between the ledger and the disk: every byte that changes a ledger passes through `Disk`.

A test puts its own `Disk` here, records every call, cuts the power between any two of them, or makes the
n-th one fail. So the methods are as small as the system calls under them, and nothing in this room opens
a file for writing by any other way. Reading needs no seam: readers take no lock and change nothing.

What POSIX promises, and all that the ledger builds on:

    write + fdatasync          these bytes are there after a power cut
    create + fsync(directory)  this name is there after a power cut
    rename + fsync(directory)  the name means the old file or the new one, never something between

`flock` and the sync of a directory are promises of local file systems: no NFS, no Windows.
"""

import fcntl
import os
import time
from pathlib import Path

MODE = 0o644
TEMPORARY = ".tmp"
WRITE_BYTES_MAX = 1 << 30
"""Linux writes at most 2 GiB in one call."""


def wall_clock() -> float:
    """Seconds since 1970: the clock that a ledger has unless `open` is given another one."""
    return time.time()  # noqa: TID251 - a ledger stands alone: no app.py chooses its clock


class Disk:
    """The system calls that change files, one method each."""

    def make_dir(self, path: Path) -> None:
        """A directory, and those above it."""
        path.mkdir(parents=True, exist_ok=True)

    def create(self, path: Path) -> int:
        """A new file, open for appending; it is an error if one is there."""
        return os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, MODE)

    def open_append(self, path: Path) -> int:
        """A file that is there, open for appending."""
        return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)

    def open_slots(self, path: Path) -> int:
        """A file that is written in place (`HEAD`, `LOCK`), made if need be."""
        return os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, MODE)

    def write(self, fd: int, data: bytes | bytearray | memoryview) -> None:
        """All of `data`, at the end of the file."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(fd, rest[:WRITE_BYTES_MAX]) :]

    def pwrite(self, fd: int, data: bytes, offset: int) -> None:
        """`data` in place; it is short enough to be written in one go."""
        if os.pwrite(fd, data, offset) != len(data):
            raise OSError(f"only a part of {len(data)} bytes was written")

    def truncate(self, fd: int, size: int) -> None:
        """Cut the file to `size` bytes."""
        os.ftruncate(fd, size)

    def fdatasync(self, fd: int) -> None:
        """The bytes of the file are durable when this returns."""
        os.fdatasync(fd)

    def fsync(self, fd: int) -> None:
        """The bytes and the size of the file are durable when this returns."""
        os.fsync(fd)

    def sync_dir(self, path: Path) -> None:
        """The names in the directory are durable when this returns."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def rename(self, source: Path, target: Path) -> None:
        """`target` becomes `source`, in one step."""
        source.rename(target)

    def unlink(self, path: Path) -> None:
        """Remove the name."""
        path.unlink()

    def close(self, fd: int) -> None:
        """Give the descriptor back."""
        os.close(fd)


def put(disk: Disk, path: Path, data: bytes, *, durable: bool = True) -> None:
    """Make `path` hold `data`, all or nothing.

    Without `durable` a power cut may leave rubbish: for files that are derived and carry their own checksum.
    """
    temporary = path.with_name(path.name + TEMPORARY)
    discard(disk, temporary)
    fd = disk.create(temporary)
    try:
        disk.write(fd, data)
        if durable:
            disk.fsync(fd)
    finally:
        disk.close(fd)
    disk.rename(temporary, path)
    if durable:
        disk.sync_dir(path.parent)


def discard(disk: Disk, path: Path) -> None:
    """Remove a file that may not be there."""
    if path.exists():
        disk.unlink(path)


def try_lock(fd: int) -> bool:
    """Whether this process now holds the lock; the kernel lets go of it when the process ends."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def holder_text(*, started: float) -> dict[str, object]:
    """What the lock file says about its holder, for people; only the lock itself counts."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    return {
        "pid": os.getpid(),
        "host": os.uname().nodename,
        "boot_id": boot.read_text().strip() if boot.exists() else "",
        "started": started,
    }
