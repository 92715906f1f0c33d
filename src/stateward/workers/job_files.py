"""The files that a job derives from its document, and folders that are emptied whatever is in them."""

import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import (
    NamedTuple,
    Protocol,
)

from stateward.workers.results import MIB

# Derived files are copied in pieces: a file of any size costs this much memory.
PIECE_BYTES = MIB
# In the scratch folder of a child: what its job saved, until the worker has taken it.
DERIVED_FOLDER = ".derived"
# Each round takes one level off a tree, so this only ends a folder that another process keeps filling.
EMPTYING_ROUNDS_MAX = 1_000_000
# Longer than a tick of the clock of any file system: two changes so far apart have different times.
TICK_S = 2.0


class StoredFile(NamedTuple):
    """Bytes of a derived file: their SHA-256, their size, and where they can be read while the job runs."""

    sha256: str
    size: int
    path: Path


class JobFiles(Protocol):
    """Where the derived files of a job go, and where those of earlier stages are."""

    def store(self, source: bytes | Path) -> StoredFile:
        """Take a copy of these bytes. They count only if the attempt succeeds."""

    def find(self, stage: str, name: str) -> Path | None:
        """The file that an earlier stage saved under a name, or None."""

    def clear(self) -> None:
        """Drop what was stored: the attempt begins again."""


class FolderFiles:
    """Derived files in a folder, numbered in the order in which they are stored."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    def store(self, source: bytes | Path) -> StoredFile:
        """Copy these bytes into the folder, hashed on the way."""
        self._folder.mkdir(exist_ok=True)
        path = self._folder / str(self._count)
        self._count += 1
        digest, size = sha256(), 0
        with path.open("xb") as file:
            for piece in pieces_of_file(source):
                digest.update(piece)
                size += file.write(piece)
        return StoredFile(digest.hexdigest(), size, path)

    def find(self, stage: str, name: str) -> Path | None:
        """Nothing: this folder has files of one job."""
        return None

    def clear(self) -> None:
        """Remove the folder with all that is in it, whatever stands there."""
        self._count = 0
        if _is_folder(self._folder):
            empty_folder(self._folder)
            self._folder.rmdir()
        else:
            self._folder.unlink(missing_ok=True)


class UnsavedFiles(FolderFiles):
    """Derived files of a job that a test makes by hand: in a folder that goes with this object."""

    def __init__(self, given: Mapping[str, bytes]) -> None:
        folder = Path(tempfile.mkdtemp(prefix="stateward-test-"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        super().__init__(folder / "stored")
        self._given = folder / "given"
        for path, data in given.items():
            file = self._given / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)

    def find(self, stage: str, name: str) -> Path | None:
        """A file that the test gave as `stage/name`."""
        path = self._given / stage / name
        return path if path.is_file() else None


def pieces_of_file(source: bytes | Path) -> Iterator[bytes]:
    """Bytes, or those of a file, a piece at a time."""
    if isinstance(source, bytes):
        yield source
        return
    with source.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece


def empty_folder(folder: Path, *, spared: str = "") -> None:
    """Remove all that is in a folder, however deep, but for one name; links are removed, never followed.

    A hostile runner may leave a tree deeper than recursion or a path may be, or without permissions.
    So folders inside folders are moved to the top first, and each is made accessible before it is read.
    """
    moves = 0
    for _ in range(EMPTYING_ROUNDS_MAX):
        found = [folder / name for name in os.listdir(folder) if name != spared]  # noqa: PTH208 - after every job
        if not found:
            return
        for path in found:
            if not _is_folder(path):
                path.unlink(missing_ok=True)
                continue
            path.chmod(0o700)
            for inner in list(path.iterdir()):
                if _is_folder(inner):
                    moves += 1
                    target = folder / f".removed-{moves}"
                    inner.chmod(0o700)
                    try:
                        inner.rename(target)
                    except OSError:
                        # The name is taken, or Landlock before ABI 2 forbids every move between folders.
                        shutil.rmtree(inner)
                else:
                    inner.unlink(missing_ok=True)
            path.rmdir()


class Sweeper:
    """Empties the same folder again and again, and looks into it only if it was changed: mostly no job has used it.

    By the time of its last change, which no program can set: one system call, where to look takes five.
    """

    def __init__(self) -> None:
        self._changed_at = self._empty_since = 0
        self._seen_at = 0.0

    def empty(self, folder: Path, *, spared: str = "") -> None:
        """As `empty_folder`."""
        changed_at = os.stat(folder).st_ctime_ns  # noqa: PTH116 - after every job
        if changed_at == self._empty_since:
            return
        if changed_at != self._changed_at:
            self._changed_at, self._seen_at = changed_at, time.monotonic()
        # Decided before it is looked into: what is made in it after that has another time.
        is_told_apart = not spared and time.monotonic() - self._seen_at > TICK_S
        empty_folder(folder, spared=spared)
        self._empty_since = changed_at if is_told_apart else 0


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
