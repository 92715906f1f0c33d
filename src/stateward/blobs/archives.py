"""Zip archives as they are downloaded: each file in one is a document of its own.

Nothing is written to disk under a name of the archive, and nothing is inflated beyond the limits below: sizes are
checked as declared before anything is read, and as inflated while it is. Archives in an archive are not opened.
"""

import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from stateward.core.errors import InvalidRequest

MAGIC = b"PK\x03\x04"
LABEL = "archive"  # which a document has that came in one: the name of the archive
# Files by which a document that is a zip inside is recognised: of Office, OpenDocument, EPUB, Java, iWork.
OF_DOCUMENTS = ("[Content_Types].xml", "mimetype", "META-INF/", "Index.zip", "Index/")
MEMBERS_MAX = 1000
INFLATED_BYTES_MAX = 1 << 30
RATIO_MAX = 200  # documents inflate 5 to 50 times, a bomb a thousand times
RATIO_FROM_BYTES = 10 << 20  # a small file may well be that regular
PIECE_BYTES = 1 << 20
ENCRYPTED_FLAG = 1


class Member(NamedTuple):
    """A file in an archive: its name without folders, and its bytes."""

    name: str
    pieces: Iterator[bytes]


def is_archive(path: Path) -> bool:
    """Whether a file is an archive, and not a document that is one inside; a damaged one is not opened here."""
    try:
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                return False
        with zipfile.ZipFile(path) as archive:
            return not any(name.startswith(OF_DOCUMENTS) for name in archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return False


def members(path: Path) -> Iterator[Member]:
    """The files of an archive one by one; an `InvalidRequest` before the first if it is hostile, damaged or locked."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if _is_document(entry)]
            _check(entries)
            _try_out(archive, entries)
            for entry in entries:
                pieces = _Inflated(archive, entry, INFLATED_BYTES_MAX).pieces()
                yield Member(PurePosixPath(entry.filename).name, pieces)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, EOFError) as error:
        raise InvalidRequest(f"the archive is damaged: {error}") from error


def _is_document(entry: zipfile.ZipInfo) -> bool:
    """No folder, and nothing that a system adds: resource forks of macOS, hidden files."""
    parts = PurePosixPath(entry.filename).parts
    is_hidden = any(part.startswith(".") and part not in (".", "..") for part in parts)
    return bool(parts) and not entry.is_dir() and "__MACOSX" not in parts and not is_hidden


def _check(entries: list[zipfile.ZipInfo]) -> None:
    total = sum(entry.file_size for entry in entries)
    packed = sum(entry.compress_size for entry in entries)
    if not entries:
        raise InvalidRequest("the archive holds no document")
    if len(entries) > MEMBERS_MAX:
        raise InvalidRequest(
            f"the archive holds {len(entries)} files, more than {MEMBERS_MAX}; split it"
        )
    if total > INFLATED_BYTES_MAX:
        raise InvalidRequest(
            f"the archive would inflate to {total} bytes, more than {INFLATED_BYTES_MAX}; split it"
        )
    if total > RATIO_FROM_BYTES and total > packed * RATIO_MAX:
        raise InvalidRequest(
            f"the archive would inflate {total // max(packed, 1)} times, as only a zip bomb does"
        )
    if any(entry.flag_bits & ENCRYPTED_FLAG for entry in entries):
        raise InvalidRequest("the archive is encrypted; extract it and submit what is inside")


def _try_out(archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo]) -> None:
    """Inflate all of it once, to nowhere: of an archive that lies or is damaged in its middle, nothing is taken."""
    left = INFLATED_BYTES_MAX
    for entry in entries:
        inflated = _Inflated(archive, entry, left)
        for _ in inflated.pieces():
            pass
        left -= inflated.size


class _Inflated:
    """A file of an archive while it is inflated; its declared size may lie."""

    def __init__(self, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, bytes_max: int) -> None:
        self._archive = archive
        self._entry = entry
        self._bytes_max = bytes_max
        self.size = 0

    def pieces(self) -> Iterator[bytes]:
        try:
            with self._archive.open(self._entry) as file:
                while piece := file.read(PIECE_BYTES):
                    self.size += len(piece)
                    if self.size > self._bytes_max:
                        raise InvalidRequest(
                            f"the archive inflates beyond {INFLATED_BYTES_MAX} bytes; split it"
                        )
                    yield piece
        except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, ValueError) as error:
            name = PurePosixPath(self._entry.filename).name
            raise InvalidRequest(f"{name} in the archive is damaged: {error}") from error
