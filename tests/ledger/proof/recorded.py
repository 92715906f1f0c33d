"""A disk that remembers every call, and every state that a power cut could leave behind.

What a cut may do, harsher than any journalling file system: bytes that were not synced may be lost, cut at any
byte, or there in some 512-byte sectors and zero in others; names that were not synced may be lost in any prefix
or combination. `without` names a barrier that is left out, to see that the proof can fail.
"""

import os
import random
from collections.abc import Iterator
from pathlib import Path

from stateward.ledger.disk import Disk

SECTOR = 512
Op = tuple[str, str, int, bytes, int]
"""(what, name or "", file number, bytes, number)"""


class RecordingDisk(Disk):
    """The real calls, written down; files are known by numbers, as inodes are."""

    def __init__(self, without: str = "") -> None:
        self.trace: list[Op] = []
        self.without = without
        self._by_fd: dict[int, int] = {}
        self._by_name: dict[str, int] = {}
        self._next = 1

    def _log(
        self, what: str, name: str = "", file: int = 0, data: bytes = b"", number: int = 0
    ) -> None:
        self.trace.append((what, name, file, data, number))

    def mark(self, what: str, number: int) -> None:
        self._log(what, number=number)

    def _new(self, path: Path, fd: int) -> None:
        self._by_name[path.name] = self._by_fd[fd] = self._next
        self._log("create", path.name, self._next)
        self._next += 1

    def create(self, path: Path) -> int:
        fd = super().create(path)
        self._new(path, fd)
        return fd

    def open_append(self, path: Path) -> int:
        fd = super().open_append(path)
        self._by_fd[fd] = self._by_name[path.name]
        return fd

    def open_log(self, path: Path) -> int:
        fd = super().open_log(path)
        self._by_fd[fd] = self._by_name[path.name]
        return fd

    def open_slots(self, path: Path) -> int:
        fd = super().open_slots(path)
        if path.name in self._by_name:
            self._by_fd[fd] = self._by_name[path.name]
        else:
            self._new(path, fd)
        return fd

    def write(self, fd: int, data: bytes | bytearray | memoryview) -> None:
        super().write(fd, data)
        self._log("write", file=self._by_fd[fd], data=bytes(data))

    def write_at(self, fd: int, data: bytes, offset: int) -> None:
        super().write_at(fd, data, offset)
        self._log("pwrite", file=self._by_fd[fd], data=data, number=offset)

    def pwrite(self, fd: int, data: bytes, offset: int) -> None:
        super().pwrite(fd, data, offset)
        self._log("pwrite", file=self._by_fd[fd], data=data, number=offset)

    def truncate(self, fd: int, size: int) -> None:
        super().truncate(fd, size)
        self._log("truncate", file=self._by_fd[fd], number=size)

    def fdatasync(self, fd: int) -> None:
        if self.without != "fdatasync":
            self._log("sync", file=self._by_fd[fd])

    def fsync(self, fd: int) -> None:
        if self.without != "fsync":
            self._log("sync", file=self._by_fd[fd])

    def sync_dir(self, path: Path) -> None:
        if self.without != "sync_dir":
            self._log("sync_dir")

    def rename(self, source: Path, target: Path) -> None:
        super().rename(source, target)
        self._by_name[target.name] = self._by_name.pop(source.name)
        self._log("rename", f"{source.name}\n{target.name}", self._by_name[target.name])

    def unlink(self, path: Path) -> None:
        super().unlink(path)
        self._log("unlink", path.name, self._by_name.pop(path.name))

    def close(self, fd: int) -> None:
        os.close(fd)


class Platter:
    """What is on the disk after a number of calls: for certain, and perhaps."""

    def __init__(self) -> None:
        self.sure: dict[int, bytes] = {}
        self.seen: dict[int, bytes] = {}
        self.names: dict[str, int] = {}
        self.perhaps: list[Op] = []

    def apply(self, op: Op) -> None:
        what, _, file, data, number = op
        match what:
            case "create":
                self.sure[file] = self.seen[file] = b""
                self.perhaps.append(op)
            case "write":
                self.seen[file] += data
            case "pwrite":
                old = self.seen[file].ljust(number, b"\0")
                self.seen[file] = old[:number] + data + old[number + len(data) :]
            case "truncate":
                self.seen[file] = self.seen[file][:number]
            case "sync":
                self.sure[file] = self.seen[file]
            case "rename" | "unlink":
                self.perhaps.append(op)
            case "sync_dir":
                for each in self.perhaps:
                    _rename(self.names, each)
                self.perhaps = []

    def after_cut(self, rng: random.Random) -> Iterator[dict[str, bytes]]:
        """Directories that a cut at this moment could leave: every one of the names, some of the bytes."""
        count = len(self.perhaps)
        choices = {tuple(range(upto)) for upto in range(count + 1)}
        for _ in range(2 if count else 0):
            choices.add(tuple(sorted(rng.sample(range(count), rng.randrange(count + 1)))))
        for chosen in sorted(choices):
            names = dict(self.names)
            for place in chosen:
                _rename(names, self.perhaps[place])
            forms = {name: self._forms(file, rng) for name, file in names.items()}
            for turn in range(max((len(each) for each in forms.values()), default=1)):
                yield {name: each[turn % len(each)] for name, each in forms.items()}

    def _forms(self, file: int, rng: random.Random) -> list[bytes]:
        sure, seen = self.sure[file], self.seen[file]
        if sure == seen:
            return [seen]
        forms = [seen, sure]
        more = len(seen) - len(sure)
        if more > 0:
            cuts = {1, more - 1, more // 2, rng.randrange(more), rng.randrange(more)}
            forms += [seen[: len(sure) + cut] for cut in sorted(cuts) if 0 < cut < more]
        if more >= 0:
            old = sure + b"\0" * more
            forms.append(old)
            forms += _overwritten(old, seen, rng)
        return forms


def _overwritten(old: bytes, seen: bytes, rng: random.Random) -> list[bytes]:
    """What was written in place is there up to some byte, or in some sectors only."""
    changed = [at for at in range(len(seen)) if old[at] != seen[at]]
    first, last = changed[0], changed[-1]
    cuts = {first + 1, last, (first + last) // 2, rng.randint(first, last)}
    forms = [seen[:cut] + old[cut:] for cut in sorted(cuts)]
    for _ in range(2):
        mixed = bytearray(old)
        for low in range(first - first % SECTOR, last + 1, SECTOR):
            if rng.random() < 0.5:
                mixed[low : low + SECTOR] = seen[low : low + SECTOR]
        forms.append(bytes(mixed))
    return forms


def _rename(names: dict[str, int], op: Op) -> None:
    what, name, file, _, _ = op
    if what == "create":
        names[name] = file
    elif what == "unlink":
        names.pop(name, None)
    else:
        source, target = name.split("\n")
        names.pop(source, None)
        names[target] = file
