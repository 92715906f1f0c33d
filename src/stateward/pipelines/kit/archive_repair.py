"""Office files whose zip archive has lost its directory: put together again from the entries themselves.

An archive is read from its end, where the directory is, so that a download that was cut off cannot be opened although
its parts may be there. Each part has a header and a checksum of its own. Only an archive of which every part that it
names is whole is put together again: what is lost is never left out in silence.
"""

import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from stateward.pipelines.kit.archives import ENTRIES_MAX, INFLATED_BYTES_MAX
from stateward.workers.sdk import Job

HEADER = b"PK\x03\x04"
HEADER_BYTES = 30
DESCRIPTOR = b"PK\x07\x08"
HAS_DESCRIPTOR = 1 << 3
ENCRYPTED = 1
UTF8 = 1 << 11
# Where an archive names its parts: Office Open XML and OpenDocument.
LISTS = {
    "[Content_Types].xml": re.compile(rb'PartName="/([^"]+)"'),
    "META-INF/manifest.xml": re.compile(rb'full-path="([^"/][^"]*[^"/])"'),
}
REPAIRED = "the directory of the archive is damaged; it was made anew, and all parts that it names are whole"


def repaired_archive(path: Path, folder: Path) -> Path | None:
    """The archive in a file below `folder`, if it cannot be opened as it is and no part of it is lost; else None."""
    if _is_sound(path):
        return None
    parts = dict(_parts(path.read_bytes()))
    if not _is_complete(parts):
        return None
    target = folder / "repaired.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return target


def _is_sound(path: Path) -> bool:
    """Whether it is no archive at all, or one whose directory can be read."""
    with path.open("rb") as file:
        if file.read(len(HEADER)) != HEADER:
            return True
    try:
        with zipfile.ZipFile(path) as archive:
            return bool(archive.namelist())
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError):
        return False


def _parts(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The parts whose checksums are right, by their names; nothing inflates beyond the limit of all together."""
    left, at = INFLATED_BYTES_MAX, 0
    for _ in range(ENTRIES_MAX):
        at = data.find(HEADER, at)
        if at < 0 or left <= 0:
            return
        found = _part(data, at, left)
        at += len(HEADER)
        if found is not None:
            name, content, end = found
            left -= len(content)
            at = end
            yield name, content


def _part(data: bytes, at: int, bytes_max: int) -> tuple[str, bytes, int] | None:
    """The part whose header is here, and where it ends; None if it is cut off, damaged or encrypted."""
    header = data[at : at + HEADER_BYTES]
    if len(header) < HEADER_BYTES:
        return None
    flags, method = (int.from_bytes(header[place : place + 2], "little") for place in (6, 8))
    crc, packed = (int.from_bytes(header[place : place + 4], "little") for place in (14, 18))
    name_size, extra_size = (int.from_bytes(header[place : place + 2], "little") for place in (26, 28))  # fmt: skip
    start = at + HEADER_BYTES + name_size + extra_size
    name = data[at + HEADER_BYTES : at + HEADER_BYTES + name_size]
    if flags & ENCRYPTED or method not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return None
    if method == zipfile.ZIP_STORED:
        content, end = data[start : start + packed], start + packed
    else:
        inflater = zlib.decompressobj(-15)
        try:
            content = inflater.decompress(data[start:], bytes_max)
        except zlib.error:
            return None
        if not inflater.eof:
            return None
        end = len(data) - len(inflater.unused_data)
    if flags & HAS_DESCRIPTOR:
        end += len(DESCRIPTOR) if data.startswith(DESCRIPTOR, end) else 0
        crc = int.from_bytes(data[end : end + 4], "little")
    if zlib.crc32(content) != crc:
        return None
    return name.decode("utf-8" if flags & UTF8 else "cp437"), content, end


def _is_complete(parts: dict[str, bytes]) -> bool:
    """Whether a list of parts is there, and every part that it names."""
    lists = [(parts[name], named) for name, named in LISTS.items() if name in parts]
    return bool(lists) and all(
        name.decode("utf-8", "replace") in parts
        for text, named in lists
        for name in named.findall(text)
    )


def readable_path(job: Job, path: Path) -> Path:
    """The document of a job; on a retry, an archive that has lost its directory as it was before that."""
    repaired = repaired_archive(path, job.scratch) if job.retry_count > 0 else None
    if repaired is None:
        return path
    job.log(REPAIRED, level="warning")
    return repaired
