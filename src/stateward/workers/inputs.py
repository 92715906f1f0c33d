"""The folders of a child, seen from the worker: the files that its jobs may read, and what they have written.

A child reads no other folder with documents in it, so each file that a job needs is put into its input folder, and
taken out when the job is over. That is a link, not a copy, wherever both are on one file system: the child can neither
write there nor change the mode of what it reads.
"""

import contextlib
import os
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path

from stateward.core.errors import ArtifactError

# A file takes a block and an inode even if it is empty: so many bytes are counted for each, which also bounds how
# many files a look at the folder meets.
FILE_BYTES_LEAST = 4096
MEMORY = "/memfd:"  # how /proc names a file that is in memory alone


class InputFolder:
    """The files that the jobs of a child may read now."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._count = 0

    def add(self, source: str) -> str:
        """Make a file readable for the child; where it finds it."""
        self._count += 1
        name = source.rpartition("/")[2]
        place = f"{self._folder}/{self._count}-{name}"
        try:
            os.link(source, place, follow_symlinks=True)
        except FileNotFoundError as error:
            raise ArtifactError(f"{name} is missing") from error
        except OSError:  # another file system, or one without links
            self._copy(source, Path(place))
        return place

    def remove(self, place: str) -> None:
        """Take a file away; others than those of `add` are left alone."""
        if place.rpartition("/")[0] == self._folder:
            with contextlib.suppress(OSError):
                os.unlink(place)  # noqa: PTH108 - for each job: to make a Path takes as long as this

    @staticmethod
    def _copy(source: str, place: Path) -> None:
        try:
            shutil.copyfile(source, place)
        except OSError as error:
            place.unlink(missing_ok=True)
            name = source.rpartition("/")[2]
            raise ArtifactError(f"{name} cannot be given to a runner: {error}") from error


def scratch_size(scratch: Path, pids: Iterable[int], *, bytes_max: int) -> int:
    """The bytes that a job has written under a folder; once more than `bytes_max` are found, the search ends.

    Files without a name count as well: those that a process still has open or mapped, and those in memory alone, which
    no limit of its address space counts. The same file is counted once.
    """
    seen: set[tuple[int, int]] = set()
    size = 0
    folders = [str(scratch)]
    while folders and size <= bytes_max:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                size += _counted_bytes(entry.stat(follow_symlinks=False), seen)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                if size > bytes_max:
                    break
    device = scratch.stat().st_dev if scratch.exists() else -1
    for pid in pids:
        size += _open(f"/proc/{pid}/fd", device, seen) + _mapped_bytes(pid, scratch, seen)
    return size


def _mapped_bytes(pid: int, scratch: Path, seen: set[tuple[int, int]]) -> int:
    """The bytes of deleted files that a process has in its memory alone: where, device, inode and path of each."""
    try:
        maps = Path(f"/proc/{pid}/maps").read_bytes()
    except OSError:
        return 0
    if b"(deleted)" not in maps:
        return 0
    size = 0
    for line in maps.splitlines():
        if line.endswith(b"(deleted)") and os.fsencode(scratch) in line:
            place, _, _, device, inode, *_ = line.split(maxsplit=5)
            start, _, end = place.partition(b"-")
            major, _, minor = device.partition(b":")
            key = (os.makedev(int(major, 16), int(minor, 16)), int(inode))
            size += 0 if key in seen else int(end, 16) - int(start, 16)
    return size


def _open(folder: str, device: int, seen: set[tuple[int, int]]) -> int:
    """The bytes of deleted files that a process has open; 0 where the kernel does not show them to this user."""
    size = 0
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                found = entry.stat()
                if found.st_nlink == 0 and stat.S_ISREG(found.st_mode):
                    is_ours = found.st_dev == device or str(Path(entry).readlink()).startswith(
                        MEMORY
                    )
                    size += _counted_bytes(found, seen) if is_ours else 0
    return size


def _counted_bytes(found: os.stat_result, seen: set[tuple[int, int]]) -> int:
    key = (found.st_dev, found.st_ino)
    if key in seen:
        return 0
    seen.add(key)
    return max(found.st_blocks * 512, FILE_BYTES_LEAST)
