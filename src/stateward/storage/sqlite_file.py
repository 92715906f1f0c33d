"""The file of a SQLite database, as a file: what may not stand in its place, WAL, reading it alone, and copying it."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import apsw

from stateward.core.errors import StoreBroken, StoreFull, StoreMismatch
from stateward.regular_files import NOT_REGULAR

BUSY_S = 30.0  # how long to wait for another writer; a commit takes milliseconds, so this means that one hangs
WAL_RETRY_S = 0.01
SNAPSHOT_PAGES = 2000  # 8 MB between two reports of progress
FULL = "the disk that holds {path} is full; nothing was half-written: free some space and try again"


def refuse_special_files(path: str) -> None:
    """SQLite would read a named pipe until someone writes into it, and call it a failing disk at best."""
    for each in (Path(f"{path}{end}") for end in ("", "-wal", "-shm", "-journal")):
        if each.exists() and not each.is_file() and not each.is_dir():
            raise StoreMismatch(
                f"{each} is {NOT_REGULAR}: move it away, or name another data folder"
            )


def read_only_connection(path: Path) -> apsw.Connection:
    """A connection that creates and changes no file.

    Without a WAL no process has the file open and all of it is in it, so it can be read as one that cannot change. With
    one SQLite must read it too, for which it needs the shared memory beside it, or may create it. A rollback journal is
    nothing that Stateward makes: the next process that may write puts its pages into the file, so that what is read
    without it proves nothing, and SQLite refuses to read past it.
    """
    has_journal = any(map(_size_of, (f"{path}-wal", f"{path}-journal")))
    mode = "mode=ro" if has_journal else "mode=ro&immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return apsw.Connection(f"file:{quote(str(path.absolute()))}?{mode}", flags=flags)


def snapshot(source: Path, to: Path, *, progress: Callable[[int], None] = lambda _: None) -> None:
    """Copy a database file as it is at one moment, while others go on writing to it; all of it or nothing.

    The source holds a read transaction: without one, each write of another process would begin the copy anew.
    """
    os.close(os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        before = _versions(source)
        reading, is_locked = _begin_reading(source)
        writing = apsw.Connection(str(to))
        try:
            # Half a copy is of no use: a journal to undo it would only need more space.
            writing.execute("PRAGMA journal_mode = OFF").fetchall()
            with writing.backup("main", reading, "main") as copying:
                while not copying.done:
                    copying.step(SNAPSHOT_PAGES)
                    progress(copying.page_count - copying.remaining)
        finally:
            writing.close()
            reading.close()
        if not is_locked and _versions(source) != before:
            raise StoreFull(f"{source} was written to while it was copied: make the copy again")
        with to.open("rb+") as file:
            os.fsync(file.fileno())
    except BaseException as error:
        to.unlink()
        if isinstance(error, apsw.FullError):
            raise StoreFull(FULL.format(path=to)) from error
        if isinstance(error, apsw.Error):
            raise StoreBroken(f"{source} could not be copied: {error}") from error
        raise


def _begin_reading(source: Path) -> tuple[apsw.Connection, bool]:
    """A connection that sees one moment, and whether SQLite knows of it.

    It tells others so in files beside the database, which cannot be made on a full disk. There all of the database is
    in its one file if there is nothing in the WAL, and that can be read, as long as nothing is written meanwhile.
    """
    try:
        return _in_transaction(apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READONLY)), True
    except (apsw.FullError, apsw.IOError, apsw.CantOpenError, apsw.ReadOnlyError):
        if _size_of(f"{source}-wal"):
            raise
        return _in_transaction(read_only_connection(source)), False


def _in_transaction(connection: apsw.Connection) -> apsw.Connection:
    try:
        connection.set_busy_timeout(round(BUSY_S * 1000))
        connection.execute("BEGIN").fetchall()
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    except apsw.Error:
        connection.close()
        raise
    return connection


def _versions(path: Path) -> tuple[int, int, int]:
    """What changes whenever something is written to a database file."""
    state = path.stat()
    return state.st_mtime_ns, state.st_size, _size_of(f"{path}-wal")


def _size_of(path: str) -> int:
    file = Path(path)
    return file.stat().st_size if file.exists() else 0


def enter_wal(connection: apsw.Connection, busy_s: float) -> None:
    """Switch to WAL.

    The busy timeout does not cover this: of two that meet a new file, SQLite refuses one at once.
    """
    deadline = time.monotonic() + busy_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except apsw.BusyError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(WAL_RETRY_S)
        else:
            return
