"""A disk that fails when it is told to: at the n-th write or sync, once or from then on, full or broken.

`FaultySqlite` is a file system for SQLite (a VFS), `FaultyFiles` stands before the calls that the artifacts make. Both
count every operation, so that a run without a fault says how many places there are, and a sweep can visit them all.
They are for one process and one thread of tests; nothing of the product may know them.
"""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG
from typing import Any, Literal, TypeAlias

import apsw
import msgspec

Operation: TypeAlias = Literal["write", "sync", "truncate", "link"]
WORDS = {errno.ENOSPC: "No space left on device", errno.EIO: "Input/output error"}
BROKEN = {
    "write": apsw.SQLITE_IOERR_WRITE,
    "sync": apsw.SQLITE_IOERR_FSYNC,
    "truncate": apsw.SQLITE_IOERR_TRUNCATE,
}


class DiskFault(msgspec.Struct, frozen=True, kw_only=True):
    """Which operation fails, the how manieth of them, with which error, and whether all after it do too."""

    operation: Operation
    nth: int
    errno: int
    is_lasting: bool = False

    def __str__(self) -> str:
        """As a test is named."""
        how = "and-all-after" if self.is_lasting else "once"
        return f"{errno.errorcode[self.errno]}-at-{self.operation}-{self.nth}-{how}"


class Disk:
    """Counts operations, and says which of them fails."""

    def __init__(self, fault: DiskFault | None = None) -> None:
        self.fault = fault
        self.counts: dict[str, int] = {}
        self.failures = 0

    def heal(self) -> None:
        """From now on nothing fails."""
        self.fault = None

    def error(self, operation: Operation) -> int:
        """Count one more of these; the error number that it ends with, 0 if it ends well."""
        nth = self.counts[operation] = self.counts.get(operation, 0) + 1
        fault = self.fault
        if fault is None or fault.operation != operation:
            return 0
        if nth != fault.nth and not (fault.is_lasting and nth > fault.nth):
            return 0
        self.failures += 1
        return fault.errno


class FaultySqlite(apsw.VFS):
    """SQLite's own file system, with a disk of ours under it; the default for as long as the context lasts."""

    def __init__(self, disk: Disk, *, name: str = "faulty") -> None:
        self._disk = disk
        super().__init__(name, "unix", makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: ANN401, N802 - SQLite's own words
        """A file that asks the disk first."""
        return _SqliteFile(self._disk, name, flags)


class _SqliteFile(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:  # noqa: ANN401 - SQLite's own words
        self._disk = disk
        super().__init__("unix", name, flags)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: ANN401, N802 - SQLite's own words
        if code := self._disk.error("write"):
            super().xWrite(bytes(data)[: len(data) // 2], offset)  # a part may well arrive
            raise _sqlite_error("write", code)
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's own words
        if code := self._disk.error("sync"):
            raise _sqlite_error("sync", code)
        super().xSync(flags)

    def xTruncate(self, size: int) -> None:  # noqa: N802 - SQLite's own words
        if code := self._disk.error("truncate"):
            raise _sqlite_error("truncate", code)
        super().xTruncate(size)


def _sqlite_error(operation: Operation, code: int) -> apsw.Error:
    """What SQLite's own file system makes of it: only a write can find the disk full."""
    if operation == "write" and code == errno.ENOSPC:
        return apsw.FullError(WORDS[code])
    error = apsw.IOError(WORDS[code])
    error.result = apsw.SQLITE_IOERR  # type: ignore[attr-defined]
    error.extendedresult = BROKEN[operation]  # type: ignore[attr-defined]
    return error


@contextmanager
def faulty_sqlite(disk: Disk) -> Iterator[None]:
    """All SQLite files that are opened meanwhile lie on this disk."""
    vfs = FaultySqlite(disk)
    try:
        yield
    finally:
        vfs.unregister()


@contextmanager
def faulty_files(disk: Disk) -> Iterator[None]:
    """What Python writes, syncs and links meanwhile goes to this disk."""
    fsync, link, write = os.fsync, os.link, os.write

    def sync(descriptor: int) -> None:
        _fail(disk, "sync")
        fsync(descriptor)

    def linked(source: Path, place: Path) -> None:
        _fail(disk, "link")
        link(source, place)

    def written(descriptor: int, data: bytes | memoryview) -> int:
        if S_ISREG(os.fstat(descriptor).st_mode):  # a pipe has no disk
            _fail(disk, "write", lambda: write(descriptor, data[: len(data) // 2]))
        return write(descriptor, data)

    os.fsync, os.link, os.write = sync, linked, written  # type: ignore[assignment]
    try:
        yield
    finally:
        os.fsync, os.link, os.write = fsync, link, write


def _fail(disk: Disk, operation: Operation, partly: Callable[[], object] = lambda: None) -> None:
    if code := disk.error(operation):
        partly()
        raise OSError(code, WORDS[code])
