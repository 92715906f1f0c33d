"""Bytes kept once, under their SHA-256. Names on disk are made here, never by a user.

A file appears under its hash only when it is whole and on the disk: it is written elsewhere first, hashed on
the way, synced, and linked into place. So two uploads of the same bytes at once make one artifact, and a
crash leaves at most a nameless file that the next sweep removes.
"""

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Self

import msgspec

from stateward.core.errors import ArtifactError, InvalidRequest, StoreFull

PIECE_BYTES = 1 << 20
HEX_CHARS = 64


class TooLarge(InvalidRequest):
    """More bytes than the limit allows."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        super().__init__(
            f"more than {bytes_max} bytes: the limit is limits.upload_bytes_max in the settings"
        )


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes that are here: their hash, their number, and whether they came just now."""

    sha256: str
    size: int
    is_new: bool


class Folder:
    """Artifacts in a folder of this machine."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._incoming = root / "incoming"
        self._settled: set[str] = set()  # folders that are known to be on the disk

    def put(self, pieces: Iterable[bytes], *, bytes_max: int) -> Artifact:
        """Keep these bytes; the limit holds while they stream, whatever was promised before."""
        with self.receive(bytes_max=bytes_max) as incoming:
            for piece in pieces:
                incoming.write(piece)
            return incoming.keep()

    def receive(self, *, bytes_max: int) -> "Incoming":
        """The doorway, for bytes that come piece by piece from somebody who waits for others meanwhile."""
        try:
            self._incoming.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=self._incoming)
        except OSError as error:
            raise _unwritable(self._root, error) from error
        return Incoming(self, descriptor, Path(name), bytes_max=bytes_max)

    def adopt(self, incoming: Path, digest: str) -> bool:
        """Give a whole file its name; whether it is the first of it."""
        place = self._place(digest)
        place.parent.mkdir(parents=True, exist_ok=True)
        incoming.chmod(0o440)
        is_new = True
        try:
            os.link(incoming, place)
        except FileExistsError:
            is_new = False
        # Also where the name was there: whoever made it may have been cut before it was on the disk.
        _sync_folder(place.parent)
        if place.parent.name not in self._settled:
            _sync_folder(self._root)
            self._settled.add(place.parent.name)
        return is_new

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Errors of the disk as ours."""
        try:
            yield
        except OSError as error:
            raise _unwritable(self._root, error) from error

    def path(self, digest: str) -> Path:
        """Where an artifact lies; an unknown one is refused."""
        place = self._place(digest)
        if not place.is_file():
            raise ArtifactError(f"no artifact {digest}: it was never kept here, or was removed")
        return place

    def holds(self, digest: str) -> bool:
        """Whether these bytes are here."""
        return self._place(digest).is_file()

    def verify(self, digest: str) -> bool:
        """Whether the bytes still are what their name says."""
        actual = sha256()
        for piece in pieces_of(self.path(digest)):
            actual.update(piece)
        return actual.hexdigest() == digest

    def sweep(self, *, older_than: float) -> int:
        """Remove what a crash left in the doorway; how many files went."""
        gone = 0
        for file in self._incoming.glob("*") if self._incoming.is_dir() else ():
            with suppress(FileNotFoundError):
                if file.stat().st_mtime < older_than:
                    file.unlink()
                    gone += 1
        return gone

    def _place(self, digest: str) -> Path:
        if len(digest) != HEX_CHARS or not all(c in "0123456789abcdef" for c in digest):
            raise InvalidRequest(f"{digest!r} is not a SHA-256 in hex")
        return self._root / digest[:2] / digest


class Incoming:
    """Bytes on their way in, hashed as they come. They are gone when it is left, unless they were kept."""

    def __init__(self, folder: Folder, descriptor: int, path: Path, *, bytes_max: int) -> None:
        self.path = path
        self.size = 0
        self._folder = folder
        self._file = os.fdopen(descriptor, "wb")
        self._digest = sha256()
        self._bytes_max = bytes_max

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.drop()

    def write(self, piece: bytes) -> None:
        """Take the next piece, as long as the limit allows."""
        self.size += len(piece)
        if self.size > self._bytes_max:
            raise TooLarge(self._bytes_max)
        self._digest.update(piece)
        with self._folder.writing():
            self._file.write(piece)

    def flush(self) -> None:
        """See that all of it can be read at `path`; it is not on the disk yet."""
        with self._folder.writing():
            self._file.flush()

    def keep(self) -> Artifact:
        """Put them under their hash, on the disk. It waits for the disk."""
        digest = self._digest.hexdigest()
        with self._folder.writing():
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            is_new = self._folder.adopt(self.path, digest)
        return Artifact(sha256=digest, size=self.size, is_new=is_new)

    def drop(self) -> None:
        """Leave nothing in the doorway."""
        with suppress(OSError):
            self._file.close()
        self.path.unlink(missing_ok=True)


def pieces_of(path: Path) -> Iterator[bytes]:
    """A file, a piece at a time."""
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unwritable(root: Path, error: OSError) -> StoreFull:
    return StoreFull(
        f"cannot write to {root} ({error.strerror or error}); nothing was kept: "
        "free some space or mend the permissions, and submit again"
    )
