"""The system calls that change a ledger's files. Every byte a ledger writes passes through `Disk`.

Tests replace `Disk` to record every call, to cut the power between any two of them, or to make the n-th one
fail. So each method is one system call, and nothing else in this package opens a file for writing. Reads do not
pass through here: readers take no lock and change nothing, so they cannot lose anything.

Three promises of POSIX are all that the ledger builds on:

    write + fdatasync          these bytes are there after a power cut
    create + fsync(directory)  this name is there after a power cut
    rename + fsync(directory)  the name means the old file or the new one, never a mixture

A name and the bytes behind it are separate promises: a file that was synced can still be missing after a power
cut if its directory was not, and a renamed file can be empty if it was not synced before the rename. Hence the
order in `write_atomically`: bytes, rename, directory.

`flock` and fsync of a directory hold on local file systems only: no NFS, no Windows.
"""

import fcntl
import mmap
import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from stateward.core.errors import Damage, LedgerDamaged
from stateward.regular_files import NOT_REGULAR, special_files

MODE = 0o644
"""A ledger is to be read by auditors and their tools; the folder around a private one keeps others out."""
TEMPORARY_SUFFIX = ".tmp"
"""The writer deletes files with this suffix when it opens the ledger: a crash left them behind."""
WRITE_BYTES_MAX = 1 << 30
"""Linux transfers at most 2 GiB - 4 KiB in one write(2), whatever is asked for."""

CHUNK_BYTES = 1 << 20


def wall_clock() -> float:
    """Seconds since 1970: the clock of a ledger that is not given another one."""
    return time.time()  # noqa: TID251 - a ledger works without the app that would choose its clock


class Disk:
    """The system calls that change files, one method each."""

    def make_dir(self, path: Path) -> None:
        """Create a directory and its parents."""
        path.mkdir(parents=True, exist_ok=True)

    def create(self, path: Path) -> int:
        """Create a file and open it for appending; an existing file is an error.

        O_EXCL, because a file that is already there is that of a second writer, or a leftover whose
        content would silently become part of the new file.
        """
        return os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, MODE)

    def open_log(self, path: Path) -> int:
        """Open an existing delta, whose lines are written over its padding (see `delta`)."""
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)

    def open_append(self, path: Path) -> int:
        """Open an existing file for appending; the kernel moves every write to its end."""
        return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)

    def open_slots(self, path: Path) -> int:
        """Open a file that is overwritten in place (`HEAD`, `LOCK`), creating it if necessary."""
        return os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, MODE)

    def write(self, fd: int, data: bytes | bytearray | memoryview) -> None:
        """Append all of `data`; a short write is continued, not reported."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(fd, rest[:WRITE_BYTES_MAX]) :]

    def write_at(self, fd: int, data: bytes, offset: int) -> None:
        """Write all of `data` from that byte on; a short write is continued, not reported."""
        rest = memoryview(data)
        while rest:
            size = os.pwrite(fd, rest[:WRITE_BYTES_MAX], offset)
            rest, offset = rest[size:], offset + size

    def pwrite(self, fd: int, data: bytes, offset: int) -> None:
        """Overwrite in place. `data` is a slot of a few bytes: half of it would be worse than an error."""
        if os.pwrite(fd, data, offset) != len(data):
            raise OSError(f"only a part of {len(data)} bytes was written")

    def truncate(self, fd: int, size: int) -> None:
        """Cut the file to `size` bytes."""
        os.ftruncate(fd, size)

    def fdatasync(self, fd: int) -> None:
        """Wait until the content is durable; cheaper than `fsync`, as timestamps are not written."""
        os.fdatasync(fd)

    def fsync(self, fd: int) -> None:
        """Wait until the content and the size are durable."""
        os.fsync(fd)

    def sync_dir(self, path: Path) -> None:
        """Wait until the names in the directory are durable."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def rename(self, source: Path, target: Path) -> None:
        """Give `source` the name `target`, replacing what had it, in one step."""
        source.rename(target)

    def unlink(self, path: Path) -> None:
        """Remove the name."""
        path.unlink()

    def close(self, fd: int) -> None:
        """Close the descriptor."""
        os.close(fd)


def write_atomically(
    disk: Disk, path: Path, data: bytes | Iterable[bytes], *, durable: bool = True
) -> None:
    """Make `path` hold `data`, all or nothing, also when the power fails.

    Without `durable` a power cut may leave an empty or partial file under the name: only for derived files that
    carry their own checksum, such as indexes.
    """
    temporary = path.with_name(path.name + TEMPORARY_SUFFIX)
    unlink_if_exists(disk, temporary)
    fd = disk.create(temporary)
    try:
        for chunk in (data,) if isinstance(data, bytes) else data:
            disk.write(fd, chunk)
        if durable:
            disk.fsync(fd)
    finally:
        disk.close(fd)
    disk.rename(temporary, path)
    if durable:
        disk.sync_dir(path.parent)


def create_empty(disk: Disk, path: Path) -> None:
    """A new, empty file whose name survives a power cut."""
    fd = disk.create(path)
    disk.fsync(fd)
    disk.close(fd)
    disk.sync_dir(path.parent)


def unlink_if_exists(disk: Disk, path: Path) -> None:
    """Remove a file that may not be there."""
    if path.exists():
        disk.unlink(path)


def refuse_special_files(folder: Path) -> None:
    """Raise `LedgerDamaged` for what is no regular file in a ledger: a pipe would hold up who reads it for ever."""
    if found := sorted(special_files(folder)):
        raise LedgerDamaged(
            [Damage(file=each, sentence=f"it is {NOT_REGULAR}") for each in found],
            "move it away, and look at the ledger again",
        )


def file_chunks(path: Path, *, bytes_max: int = sys.maxsize) -> Iterator[bytes]:
    """The bytes of a file, or of its start, in pieces."""
    with path.open("rb") as file:
        while data := file.read(min(bytes_max, CHUNK_BYTES)):
            bytes_max -= len(data)
            yield data


def map_file(path: Path, *, bytes_min: int) -> mmap.mmap | None:
    """A derived file for reading; None if it is not there, or too short to be of use."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        size = os.fstat(fd).st_size
        return mmap.mmap(fd, size, prot=mmap.PROT_READ) if size >= bytes_min else None
    finally:
        os.close(fd)


def try_lock(fd: int) -> bool:
    """Take an exclusive lock on the open file without waiting; whether this process has it now.

    The kernel releases it when the process ends, however it ends, so no lock can be left behind by a crash.
    """
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def lock_owner(*, started: float) -> dict[str, object]:
    """What the lock file says about its owner, for the error message of a second writer.

    Nothing is decided by it: a pid may have been reused and a host renamed; only the kernel's lock counts.
    """
    boot = Path("/proc/sys/kernel/random/boot_id")
    return {
        "pid": os.getpid(),
        "host": os.uname().nodename,
        "boot_id": boot.read_text().strip() if boot.exists() else "",
        "started": started,
    }
