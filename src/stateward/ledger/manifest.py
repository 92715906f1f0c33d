"""Which files make up the ledger: `MANIFEST.json`, replaced as a whole, and how to do without it.

    {"format": 2, "generation": 9, "machine": "literature", "machine_version": 1, …,
     "snapshots": [newest first …], "deltas": [oldest first; the last one is written to …],
     "rollbacks": [[seq, to seq] …], "archive_bytes": 512, "archive_crc": 77, "crc": "8c1f03aa"}

Replacing the manifest is the moment at which a rotation, a compaction or a retention has happened; before it
the new files are nobody's, after it the old ones are. `crc` is the CRC-32 of the text before it. The manifest
stays small however old the ledger is: deltas that no kept snapshot needs are listed in `ARCHIVE.jsonl`, one
line each, appended and synced before the manifest names its new length; the later line for a `first_seq`
counts. A line with `removed_at` is a tombstone: the file is gone on purpose, and what stands in the line is
what the chain and the tree need to go on without it.

Names are labels (`delta-<UTC date>[.<n>].jsonl`); the order is that of the sequence numbers inside, so clocks
may do what they like. Because each file says where it belongs, a lost manifest is made anew from the directory.
"""

import re
import zlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace

from stateward.ledger.disk import Disk, put
from stateward.ledger.errors import Finding, LedgerDamaged, LedgerMismatch

FORMAT = 2
MANIFEST = "MANIFEST.json"
ARCHIVE = "ARCHIVE.jsonl"
HEAD = "HEAD"
LOCK = "LOCK"
GZ = ".gz"
LABELS_MAX = 1_000_000
SNAPSHOT_NAME = re.compile(r"snapshot-\d{4}-\d\d-\d\d(\.\d+)?\.json(\.gz)?")
DELTA_NAME = re.compile(r"delta-\d{4}-\d\d-\d\d(\.\d+)?\.jsonl(\.gz)?")
_CRC_START = b',\n  "crc": "'


class SnapshotPart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One kept snapshot. `rolled_back_to`: the snapshot's documents are those of that earlier place."""

    file: str
    last_seq: int
    chain: str
    root: str
    bytes: int
    documents: int
    created_at: str
    rolled_back_to: int | None = None


class DeltaPart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One stretch of the log: lines `first_seq` to `last_seq`; None is the one that is written to.

    `chain` is the head before its first line, `head` the one after its last. `bytes` and `sha256` are of
    the plain text, `span` is its part of the tree over all lines (see `merkle`).
    """

    file: str
    first_seq: int
    chain: str
    last_seq: int | None = None
    head: str | None = None
    bytes: int | None = None
    sha256: str | None = None
    span: str | None = None
    removed_at: str | None = None
    reason: str | None = None

    @property
    def is_removed(self) -> bool:
        """Whether this is a tombstone."""
        return self.removed_at is not None


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The list of files. `rollbacks` are (seq of the rollback, seq it went back to), oldest first."""

    format: int = FORMAT
    generation: int = 1
    machine: str
    machine_version: int
    created_at: str
    salt: str
    snapshots: tuple[SnapshotPart, ...] = ()
    deltas: tuple[DeltaPart, ...]
    rollbacks: tuple[tuple[int, int], ...] = ()
    archive_bytes: int = 0
    archive_crc: int = 0

    @property
    def active(self) -> DeltaPart:
        """The delta that is written to."""
        return self.deltas[-1]


_decode = msgspec.json.Decoder(Manifest).decode
_decode_part = msgspec.json.Decoder(DeltaPart).decode
_encode = msgspec.json.Encoder().encode


def write_manifest(disk: Disk, folder: Path, manifest: Manifest) -> None:
    """The moment at which a change of files has happened."""
    text = msgspec.json.format(_encode(manifest), indent=2).removesuffix(b"\n}")
    put(disk, folder / MANIFEST, text + _CRC_START + b'%08x"\n}\n' % zlib.crc32(text))


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest; None if there is none or it is damaged. Raises `LedgerMismatch` for a newer format."""
    try:
        text = (folder / MANIFEST).read_bytes()
    except FileNotFoundError:
        return None
    body, start, end = text.rpartition(_CRC_START)
    if not start or end != b'%08x"\n}\n' % zlib.crc32(body):
        return None
    written: dict[str, object] = msgspec.json.decode(body + b"\n}")
    if written.get("format") != FORMAT:
        raise LedgerMismatch(
            f"{folder} was written by another version of Stateward (format {written.get('format')}, this "
            f"one knows {FORMAT}); use that version, or a newer one"
        )
    return _decode(body + b"\n}")


def read_archive(folder: Path, manifest: Manifest) -> list[DeltaPart]:
    """The archived deltas and tombstones, oldest first. Raises `LedgerDamaged`."""
    if not manifest.archive_bytes:
        return []
    with (folder / ARCHIVE).open("rb") as file:
        text = file.read(manifest.archive_bytes)
    if len(text) != manifest.archive_bytes or zlib.crc32(text) != manifest.archive_crc:
        raise LedgerDamaged([Finding(file=ARCHIVE, sentence="it is not as the manifest names it")])
    return _latest(_decode_part(line) for line in text.splitlines())


def tombstones(folder: Path) -> list[DeltaPart]:
    """The tombstones that can still be read, whatever the manifest says."""
    try:
        text = (folder / ARCHIVE).read_bytes()
    except FileNotFoundError:
        return []
    found = []
    for line in text.splitlines():
        try:
            found.append(_decode_part(line))
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
    return [part for part in _latest(found) if part.is_removed]


def _latest(parts: "Iterator[DeltaPart] | Sequence[DeltaPart]") -> list[DeltaPart]:
    by_first = {part.first_seq: part for part in parts}
    return [by_first[first] for first in sorted(by_first)]


def archived(disk: Disk, folder: Path, manifest: Manifest, parts: Sequence[DeltaPart]) -> Manifest:
    """Append `parts` to the archive list; the manifest that names them is the caller's to write."""
    path = folder / ARCHIVE
    text = b"".join(_encode(part) + b"\n" for part in parts)
    is_new = not path.exists()
    fd = disk.create(path) if is_new else disk.open_append(path)
    try:
        if not is_new:
            disk.truncate(
                fd, manifest.archive_bytes
            )  # what a crash left behind the manifest's length
        disk.write(fd, text)
        disk.fsync(fd)
    finally:
        disk.close(fd)
    disk.sync_dir(folder)
    return replace(
        manifest,
        archive_bytes=manifest.archive_bytes + len(text),
        archive_crc=zlib.crc32(text, manifest.archive_crc),
    )


def effective(manifest: Manifest, *, last_seq: int) -> tuple[list[tuple[int, int]], int]:
    """Which lines make up the present state: ranges (after, up to), newest first; and the last rollback.

    A rollback at R to S takes the lines after S and up to R out of the state, but not out of the log.
    """
    ranges = []
    cursor = last_seq
    newest = 0
    for at, to in reversed(manifest.rollbacks):
        if at > cursor:
            continue  # it was itself rolled back
        newest = max(newest, at)
        ranges.append((at, cursor))
        cursor = to
    ranges.append((0, cursor))
    return ranges, newest


def date_label(at: float) -> str:
    """The UTC date of an instant."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}"


def free_name(folder: Path, kind: str, suffix: str, at: float, *, taken: set[str]) -> str:
    """`kind-<date><suffix>`, or with a number when that is taken, on the disk or in the lists."""
    label = f"{kind}-{date_label(at)}"
    for number in range(1, LABELS_MAX):
        name = f"{label}{suffix}" if number == 1 else f"{label}.{number}{suffix}"
        is_there = (folder / name).exists() or (folder / (name + GZ)).exists()
        if name not in taken and name + GZ not in taken and not is_there:
            return name
    raise LedgerMismatch(f"there are {LABELS_MAX} files of {label} in {folder}")
