"""Artifacts in a folder, and what every store of artifacts can do. File names are made here, never by a user.

    <root>/incoming/<random>             being written
    <root>/<first 2 hex>/<sha256>        complete; never changed
    <root>/announced/<sha256>-<record>   whose bytes are about to come, said by a process without the database; empty

A file appears under its hash only when it is complete and durable: it is written to `incoming` first, hashed on the
way, synced, and linked to its name. So two uploads of the same bytes at the same time make one artifact, and a
crash leaves at most a file in `incoming` that the next sweep removes.
"""

import os
from abc import ABC, abstractmethod
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Protocol, Self, TypeVar

import msgspec

from stateward.core.errors import ArtifactChanged, ArtifactError, InvalidRequest, StoreFull
from stateward.regular_files import open_regular

PIECE_BYTES = 1 << 20  # read at once: files of any size cost this much memory
HEX = frozenset("0123456789abcdef")
HEX_CHARS = 64  # of a SHA-256
NAME_BYTES = 16  # of chance in the name of a file that is being received: no two are alike
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

CLOSED = -1  # in place of a descriptor

ANNOUNCED = "announced"

T = TypeVar("T")
Announcement = tuple[str, str]
"""(record, SHA-256): bytes that are stored for a record, and that no row of the database may name."""


class TooLarge(InvalidRequest):
    """More bytes than the limit allows."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        super().__init__(
            f"more than {bytes_max} bytes: the limit is limits.upload_bytes_max in the settings"
        )


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    """Stored bytes: their hash, their size, and whether they were not stored before."""

    sha256: str
    size: int
    is_new: bool


class ArtifactStore(Protocol):
    """Where artifacts are. Every method that names a digest refuses what is none with `InvalidRequest`."""

    @property
    def location(self) -> str:
        """Where they are, for people: a path or a URL without credentials."""

    def put(self, pieces: Iterable[bytes], *, bytes_max: int) -> Artifact:
        """Store these bytes durably under their SHA-256; `TooLarge` beyond the limit, and then nothing is stored."""

    def put_as(self, digest: str, pieces: Iterable[bytes], *, bytes_max: int) -> Artifact | None:
        """Store these bytes if that is their hash; None if they have another, and then nothing is stored."""

    def put_copy(self, digest: str, data: bytes) -> bool:
        """Make the bytes of an artifact that others stored readable here, without the network; False: not its hash."""

    def receive(self, *, bytes_max: int) -> "Incoming":
        """Start to receive bytes that come piece by piece, for a caller that serves others in between."""

    def path(self, digest: str) -> Path:
        """A file of this machine with an artifact's bytes, to be read soon; `ArtifactError` if there is none."""

    def checked_path(self, digest: str) -> Path:
        """The same, with bytes that were hashed for this call: `ArtifactChanged` if they are not those stored."""

    @property
    def is_local(self) -> bool:
        """Whether every artifact is a file of this machine already."""

    def has_copy(self, digest: str) -> bool:
        """Whether an artifact can be read without the network."""

    def pieces(self, digest: str) -> Iterator[bytes]:
        """An artifact's bytes from where they are stored, a piece at a time."""

    def holds(self, digest: str) -> bool:
        """Whether an artifact is stored."""

    def remove(self, digest: str) -> bool:
        """Delete an artifact that nothing names any more; whether it was there. `ArtifactError`: it cannot be."""

    def settle_removed(self, digests: Iterable[str]) -> None:
        """Those that were deleted stay so, whatever happens to the machine."""

    def digests(self) -> Iterator[str]:
        """The hashes of all artifacts."""

    def verify(self, digest: str) -> bool:
        """Whether the bytes that are stored still have the hash that is their name."""

    def sweep(self, *, older_than: float) -> int:
        """Remove what crashes left behind on this machine before that moment; how many files."""

    def link(self, digest: str) -> str | None:
        """An address that anybody can download it from for a while; None where downloads go through the service."""

    def announce(self, record_id: str, digests: Sequence[str]) -> None:
        """Say beside the bytes for whom they are about to be stored; durable on return.

        For processes that have no database to say it in (`Outputs.announce_files`): if nothing ever names these bytes,
        they are still known to be of this record, and are deleted with it.
        """

    def announced(self, *, limit: int) -> list[Announcement]:
        """What was announced and not taken over yet."""

    def forget_announced(self, found: Sequence[Announcement]) -> None:
        """The database knows of these by now."""


class _Keeper(Protocol):
    """Who takes a complete file over from an `Incoming`."""

    def writing(self) -> AbstractContextManager[None]:
        """Raise errors of the disk as `StoreFull`, which callers handle."""

    def adopt(self, incoming: str, digest: str) -> bool:
        """Store a complete, synced file under its hash; whether these bytes are new."""


class Receiving(ABC):
    """Storing bytes that a caller has at hand, for every store that can receive them piece by piece."""

    @abstractmethod
    def receive(self, *, bytes_max: int) -> "Incoming":
        """Start to receive bytes that come piece by piece."""

    def put(self, pieces: Iterable[bytes], *, bytes_max: int) -> Artifact:
        """Store these bytes. The limit is checked while they stream: a size that a client declares is no proof."""
        with self.receive(bytes_max=bytes_max) as incoming:
            for piece in pieces:
                incoming.write(piece)
            return incoming.keep()

    def put_as(self, digest: str, pieces: Iterable[bytes], *, bytes_max: int) -> Artifact | None:
        """Store these bytes if that is their hash; None if they have another, and then nothing is stored."""
        with self.receive(bytes_max=bytes_max) as incoming:
            for piece in pieces:
                incoming.write(piece)
            return incoming.keep() if incoming.digest == digest else None


class Folder(Receiving):
    """Artifacts in a folder of this machine."""

    def __init__(self, root: Path) -> None:
        self._root = root
        # Below the root: a hard link cannot leave its file system.
        self._incoming = root / "incoming"
        # Folders whose entry in the root is durable: synced once, not per file.
        self._settled: set[str] = set()

    is_local = True

    def put_copy(self, digest: str, data: bytes) -> bool:
        """Store the bytes: what this folder has, it has for itself."""
        return self.put_as(digest, [data], bytes_max=len(data)) is not None

    @property
    def location(self) -> str:
        return str(self._root)

    def receive(self, *, bytes_max: int, keeper: _Keeper | None = None) -> "Incoming":
        """Start to receive bytes that come piece by piece; with a `keeper`, it takes them over instead."""
        # Text, not Path, from here to `adopt`: to make one takes as long as to link a file.
        path = f"{self._incoming}/{os.urandom(NAME_BYTES).hex()}"
        try:
            # From the beginning only who receives it can write to it: an artifact never changes, and is its owner's.
            descriptor = _in_folder(path, lambda: os.open(path, NEW_FILE, 0o400))
        except OSError as error:
            raise _unwritable(self._root, error) from error
        return Incoming(keeper or self, descriptor, path, bytes_max=bytes_max)

    def adopt(self, incoming: str, digest: str) -> bool:
        """Link a complete, synced file to its name; whether these bytes are new.

        A link fails where the name exists, which tells new bytes from known ones in one step; a rename would
        replace the file and report nothing.
        """
        place = self._place(digest)
        folder = f"{self._root}/{digest[:2]}"
        is_settled = folder in self._settled
        if not is_settled:
            _make_folder(Path(folder))
        is_new = True
        try:
            _in_folder(place, lambda: os.link(incoming, place))
        except FileExistsError:
            is_new = False
        # Also if the name existed: the process that made it may have crashed before the entry was durable.
        _sync_folder(folder)
        if not is_settled:
            _sync_folder(self._root)
            self._settled.add(folder)
        return is_new

    @contextmanager
    def writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise _unwritable(self._root, error) from error

    def path(self, digest: str) -> Path:
        """The file of an artifact; raises ArtifactError if there is none."""
        place = self.place(digest)
        if not place.is_file():
            raise _missing(digest)
        return place

    def checked_path(self, digest: str) -> Path:
        """The file of an artifact, hashed now; raises ArtifactChanged if it has another hash than its name."""
        place = self.place(digest)
        try:
            is_same = _has_hash(place, digest)
        except (FileNotFoundError, IsADirectoryError) as error:
            raise _missing(digest) from error
        if not is_same:
            raise ArtifactChanged(digest)
        return place

    def has_copy(self, digest: str) -> bool:
        """Whether it is stored: here that is the same."""
        return self.holds(digest)

    def pieces(self, digest: str) -> Iterator[bytes]:
        return pieces_of(self.path(digest))

    def link(self, digest: str) -> None:
        """There is none: a folder has no address."""

    def holds(self, digest: str) -> bool:
        """Whether an artifact is stored. Its existence is enough: only complete files have such a name."""
        return self.place(digest).is_file()

    def remove(self, digest: str) -> bool:
        place = self.place(digest)
        try:
            place.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise ArtifactError(f"{place} cannot be deleted: {error.strerror or error}") from error
        return True

    def settle_removed(self, digests: Iterable[str]) -> None:
        """Sync their folders: once for many files, since the first sync writes what the others would."""
        for folder in sorted({self.place(each).parent for each in digests}):
            _sync_folder(folder)

    def digests(self) -> Iterator[str]:
        return (file.name for file in self._root.glob("??/*") if len(file.name) == HEX_CHARS)

    def verify(self, digest: str) -> bool:
        return _has_hash(self.path(digest), digest)

    def sweep(self, *, older_than: float) -> int:
        """Remove files that a crash left in `incoming`; how many.

        By age, because another process may be writing there at this moment.
        """
        gone = 0
        for file in self._incoming.glob("*") if self._incoming.is_dir() else ():
            with suppress(FileNotFoundError):
                if file.stat().st_mtime < older_than:
                    file.unlink()
                    gone += 1
        return gone

    def announce(self, record_id: str, digests: Sequence[str]) -> None:
        """Write an empty file for each, and make their names durable."""
        folder = self._root / ANNOUNCED
        with self.writing():
            for digest in digests:
                path = folder / announcement_name(record_id, digest)
                _in_folder(path, path.touch)
            _sync_folder(folder)

    def announced(self, *, limit: int) -> list[Announcement]:
        """By the names of these files."""
        folder = self._root / ANNOUNCED
        names = (each.name for each in folder.iterdir()) if folder.is_dir() else ()
        return list(islice(announcements(names), limit))

    def forget_announced(self, found: Sequence[Announcement]) -> None:
        """Remove the files."""
        for each in found:
            (self._root / ANNOUNCED / announcement_name(*each)).unlink(missing_ok=True)

    def place(self, digest: str) -> Path:
        """The file of an artifact, or where it would be."""
        return Path(self._place(digest))

    def _place(self, digest: str) -> str:
        """The name of an artifact. The check keeps paths such as `../` out: a digest may come from a request.

        Two characters of it make 256 folders, so that none of them holds all files.
        """
        if len(digest) != HEX_CHARS or not HEX.issuperset(digest):
            raise InvalidRequest(f"{digest!r} is not a SHA-256 in hex")
        return f"{self._root}/{digest[:2]}/{digest}"


class CopyFolder(Folder):
    """Copies of what others store, sent to a worker; they go a while after their last use.

    What has no copy is read from `beside`, where others may store on this machine. Nothing is changed there.
    """

    def __init__(self, root: Path, *, beside: Folder) -> None:
        super().__init__(root)
        self._beside = beside

    def path(self, digest: str) -> Path:
        """The copy of an artifact, or the file that it would be one of; raises ArtifactError if there is none."""
        return super().path(digest) if super().holds(digest) else self._beside.path(digest)

    def checked_path(self, digest: str) -> Path:
        """The same, hashed now."""
        is_copy = super().holds(digest)
        return super().checked_path(digest) if is_copy else self._beside.checked_path(digest)

    def holds(self, digest: str) -> bool:
        """Whether it can be read here."""
        return super().holds(digest) or self._beside.holds(digest)

    def put_copy(self, digest: str, data: bytes) -> bool:
        """Store the bytes; those that are there are used once more."""
        place = self.place(digest)
        with suppress(FileNotFoundError):
            os.utime(place)  # first: a sweep beside this one then leaves it
        is_same = super().put_copy(digest, data)
        if is_same and not place.exists():  # it was being removed
            return super().put_copy(digest, data)
        return is_same

    def sweep(self, *, older_than: float) -> int:
        """Remove copies that were last used before that moment, too: what they are of may be erased."""
        gone = remove_unused(self._root, older_than=older_than)
        return gone + super().sweep(older_than=older_than)


class Incoming:
    """Bytes that are being received, hashed as they come. A context: what was not kept by its end is removed."""

    def __init__(self, keeper: _Keeper, descriptor: int, path: str, *, bytes_max: int) -> None:
        self._path = path
        self.size = 0
        self._keeper = keeper
        self._descriptor = descriptor
        self._digest = sha256()
        self._bytes_max = bytes_max

    @cached_property
    def path(self) -> Path:
        """Where they can be read meanwhile."""
        return Path(self._path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.drop()

    def write(self, piece: bytes) -> None:
        """Add a piece; raises TooLarge before a byte beyond the limit is written.

        It can be read at `path` at once, to detect its type; it is not durable yet.
        """
        self.size += len(piece)
        if self.size > self._bytes_max:
            raise TooLarge(self._bytes_max)
        self._digest.update(piece)
        left = memoryview(piece)
        with self._keeper.writing():
            while left:  # a write may be cut short; a disk that takes nothing more raises
                left = left[os.write(self._descriptor, left) :]

    @property
    def digest(self) -> str:
        """The SHA-256 of what came so far."""
        return self._digest.hexdigest()

    def keep(self) -> Artifact:
        """Store them under their hash. Durable when this returns, so it waits for the disk.

        The content is synced before the link: a name must never be durable before its bytes are.
        """
        digest = self.digest
        with self._keeper.writing():
            os.fsync(self._descriptor)
            self._close()
            is_new = self._keeper.adopt(self._path, digest)
        return Artifact(sha256=digest, size=self.size, is_new=is_new)

    def drop(self) -> None:
        """Remove the file from `incoming`. After `keep` the artifact stays: it is a link of its own."""
        with suppress(OSError):
            self._close()
        with suppress(FileNotFoundError):
            os.unlink(self._path)  # noqa: PTH108 - as in `receive`

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, CLOSED
        if descriptor != CLOSED:
            os.close(descriptor)


def pieces_of(path: Path, *, size: int = PIECE_BYTES) -> Iterator[bytes]:
    """A file, a piece at a time."""
    with open_regular(path) as file:
        while piece := file.read(size):
            yield piece


def _has_hash(path: Path, digest: str) -> bool:
    """Whether the bytes of a file have a hash; without a buffer of its own, which takes longer than a small file."""
    actual = sha256()
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = min(os.fstat(descriptor).st_size + 1, PIECE_BYTES)
        while piece := os.read(descriptor, size):
            actual.update(piece)
    finally:
        os.close(descriptor)
    return actual.hexdigest() == digest


def remove_unused(root: Path, *, older_than: float) -> int:
    """Remove the copies in a folder that were last used before that moment; how many."""
    gone = 0
    for file in root.glob("??/*"):
        with suppress(FileNotFoundError):
            if file.stat().st_mtime < older_than:
                file.unlink()
                gone += 1
    return gone


def announcement_name(record_id: str, digest: str) -> str:
    """The name that says it. The id of a record may come in a message, so it is encoded: no `../` gets into a name."""
    if len(digest) != HEX_CHARS or not HEX.issuperset(digest):
        raise InvalidRequest(f"{digest!r} is not a SHA-256 in hex")
    return f"{digest}-{urlsafe_b64encode(record_id.encode()).decode()}"


def announcements(names: Iterable[str]) -> Iterator[Announcement]:
    """What such names say; other files that lie there say nothing."""
    for name in names:
        with suppress(ValueError, InvalidRequest):
            found = (urlsafe_b64decode(name[HEX_CHARS + 1 :]).decode(), name[:HEX_CHARS])
            if announcement_name(*found) == name:
                yield found


def _in_folder(path: Path | str, make: Callable[[], T]) -> T:
    """Make a file; its folder first, if there is none: nearly always there is."""
    try:
        return make()
    except FileNotFoundError:
        _make_folder(Path(path).parent)
        return make()


def _make_folder(folder: Path) -> None:
    """Make a folder of documents, and the one that holds all of them: the owner's alone, as the files are.

    They may lie outside of the data folder, which is closed, and the name of a file says whose document is here.
    """
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.mkdir(exist_ok=True, mode=0o700)


def _sync_folder(folder: Path | str) -> None:
    """Make the entries of a folder durable: fsync of a file does not cover the name that it has."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _missing(digest: str) -> ArtifactError:
    return ArtifactError(f"no artifact {digest}: it was never kept here, or was removed")


def _unwritable(root: Path, error: OSError) -> StoreFull:
    return StoreFull(
        f"cannot write to {root} ({error.strerror or error}); nothing was kept: "
        "free some space or mend the permissions, and try again"
    )
