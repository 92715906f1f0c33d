"""Bytes kept once, under their SHA-256. Names on disk are made here, never by a user.

A file appears under its hash only when it is whole and on the disk: it is written elsewhere first, hashed on
the way, synced, and linked into place. So two uploads of the same bytes at once make one artifact, and a
crash leaves at most a nameless file that the next sweep removes.
"""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import msgspec

from stateward.core.errors import ArtifactError, InvalidRequest, StoreFull

PIECE_BYTES = 1 << 20
HEX_CHARS = 64


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
        try:
            self._incoming.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=self._incoming)
        except OSError as error:
            raise _unwritable(self._root, error) from error
        incoming = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                digest, size = _copy(pieces, file.write, bytes_max)
                file.flush()
                os.fsync(file.fileno())
            return Artifact(sha256=digest, size=size, is_new=self._adopt(incoming, digest))
        except OSError as error:
            raise _unwritable(self._root, error) from error
        finally:
            incoming.unlink(missing_ok=True)

    def _adopt(self, incoming: Path, digest: str) -> bool:
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


def pieces_of(path: Path) -> Iterator[bytes]:
    """A file, a piece at a time."""
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece


def _copy(
    pieces: Iterable[bytes], write: Callable[[bytes], object], bytes_max: int
) -> tuple[str, int]:
    digest, size = sha256(), 0
    for piece in pieces:
        size += len(piece)
        if size > bytes_max:
            raise InvalidRequest(
                f"more than {bytes_max} bytes: the limit is limits.upload_bytes_max in the settings"
            )
        digest.update(piece)
        write(piece)
    return digest.hexdigest(), size


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
