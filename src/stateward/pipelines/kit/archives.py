"""Zip archives from strangers (XLSX, ODS and DOCX are some): nothing is inflated beyond a limit.

A declared size may lie, so sizes are checked twice: as declared before anything is read, and as inflated while it is.
"""

import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import BinaryIO

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.failures import CORRUPT_FILE, ENCRYPTED, HOSTILE_FILE

MIB = 1024 * 1024
INFLATED_BYTES_MAX = 256 * MIB
ENTRIES_MAX = 10_000
RATIO_MAX = 200  # office files inflate 5 to 50 times, a zip bomb a thousand times
RATIO_FROM_BYTES = 10 * MIB  # a small file may well be that regular
CHUNK_BYTES = 1 << 20
LOCAL_HEADER_BYTES = 30  # before the name and the extra field of an entry; see APPNOTE.TXT 4.3.7
ENCRYPTED_FLAG = 1
MIMETYPE_BYTES_MAX = 200

Entries = Sequence[zipfile.ZipInfo]


@contextmanager
def open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """The archive; whatever is wrong with it inside this block is `CORRUPT_FILE`."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        NotImplementedError,  # an unknown compression method
        EOFError,
        OSError,
        ValueError,
    ) as error:
        raise FatalFailure(
            f"the file is damaged ({error}); save or download it again", code=CORRUPT_FILE
        ) from error


def check_sizes(entries: Entries, *, bytes_max: int, setting: str = "") -> None:
    """Refuse an archive by its declared sizes; `setting` names the limit for the user."""
    if len(entries) > ENTRIES_MAX:
        raise too_large(f"it holds {len(entries)} files, more than {ENTRIES_MAX}")
    total = sum(entry.file_size for entry in entries)
    packed = sum(entry.compress_size for entry in entries)
    if total > bytes_max:
        raise too_large(f"it would inflate to {total} bytes, more than {bytes_max}", setting)
    if total > RATIO_FROM_BYTES and total > packed * RATIO_MAX:
        raise too_large(
            f"it would inflate {total // max(packed, 1)} times, as only a zip bomb does"
        )


def check_unencrypted(entries: Entries) -> None:
    """Refuse an archive that needs a password."""
    if any(entry.flag_bits & ENCRYPTED_FLAG for entry in entries):
        raise FatalFailure(
            "the file is encrypted with a password; save it without one", code=ENCRYPTED
        )


def check_inflated(path: Path, entries: Entries, *, bytes_max: int, setting: str = "") -> None:
    """Inflate everything once, keeping nothing: for parsers that would inflate it without a limit."""
    total = 0
    with path.open("rb") as file:
        for entry in entries:
            total += _inflated_size(file, entry, bytes_max - total)
            if total > bytes_max:
                raise too_large(
                    f"{entry.filename!r} in it inflates beyond {bytes_max} bytes", setting
                )


def read_entry(archive: zipfile.ZipFile, name: str, *, bytes_max: int) -> bytes:
    """One file of an archive, unless it is larger than the limit."""
    with closing(archive.open(name)) as entry:
        data = entry.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise too_large(f"{name!r} in it inflates beyond {bytes_max} bytes")
    return data


def too_large(why: str, setting: str = "") -> FatalFailure:
    """The refusal of an archive that would take too much memory or disk."""
    limit = f" (setting {setting})" if setting else ""
    return FatalFailure(f"the file is not opened: {why}{limit}", code=HOSTILE_FILE)


def _inflated_size(file: BinaryIO, entry: zipfile.ZipInfo, bytes_max: int) -> int:
    file.seek(entry.header_offset)
    header = file.read(LOCAL_HEADER_BYTES)
    skip = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    file.seek(entry.header_offset + LOCAL_HEADER_BYTES + skip)
    left = entry.compress_size
    if entry.compress_type != zipfile.ZIP_DEFLATED:
        return left
    inflater, total = zlib.decompressobj(-15), 0
    while left > 0 and total <= bytes_max:
        piece = file.read(min(CHUNK_BYTES, left))
        if not piece:
            break
        left -= len(piece)
        while piece and total <= bytes_max:
            try:
                total += len(inflater.decompress(piece, CHUNK_BYTES))
            except zlib.error as error:
                raise zipfile.BadZipFile(str(error)) from error
            piece = inflater.unconsumed_tail
    return total


def entry_start(path: Path, name: str, *, bytes_max: int) -> bytes:
    """The first bytes of an entry, inflated no further than asked for; nothing if there is none, or it is damaged.

    For looking at what an archive may be before it is taken in, where nothing must be raised and no limit holds yet.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entry = archive.getinfo(name)
            if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                return b""  # others inflate whole blocks
            with archive.open(entry) as file:
                return file.read(bytes_max)
    except (KeyError, OSError, ValueError, RuntimeError, EOFError, zlib.error, zipfile.BadZipFile):
        return b""


# Archives that a person knows as one file, by the type that they name or by where they keep their parts.
OFFICE_FILES = {
    "application/vnd.oasis.opendocument.spreadsheet": "a spreadsheet (ODS)",
    "application/vnd.oasis.opendocument.presentation": "a presentation (ODP)",
    "application/vnd.oasis.opendocument.graphics": "a drawing (ODG)",
    "application/epub+zip": "a book (EPUB)",
    "xl/": "a spreadsheet (XLSX)",
    "ppt/": "a presentation (PPTX)",
}


def named_type(path: Path) -> str:
    """The media type that an archive names in itself, as OpenDocument and EPUB do; empty where it names none."""
    with open_archive(path) as archive:
        if "mimetype" not in archive.namelist():
            return ""
        found = read_entry(archive, "mimetype", bytes_max=MIMETYPE_BYTES_MAX)
    return found.decode("ascii", "replace").strip()


def office_file(path: Path) -> str:
    """What an archive is that is no collection of files; empty if it is one, or a text document."""
    with open_archive(path) as archive:
        parts = [f"{name.partition('/')[0]}/" for name in archive.namelist()]
    marks = (named_type(path).removesuffix("-template"), *parts)
    return next((OFFICE_FILES[mark] for mark in marks if mark in OFFICE_FILES), "")
