"""Which files make up the ledger: `MANIFEST.json`, replaced as a whole, and `ARCHIVE.jsonl`, appended to.

    {"format": 2, "generation": 9, "machine": "…", "machine_version": 1, …,
     "snapshots": [newest first …], "deltas": [oldest first; the last one is active …],
     "rollbacks": [[seq, to seq] …], "archive_bytes": 512, "archive_crc": 77, "crc": "8c1f03aa"}

Replacing the manifest is the commit point of a rotation, a compaction, a rollback and of retention: before it the new
files belong to nothing, after it the old ones do. So new files are made durable before the manifest names them, and
old files are deleted only after it no longer does. `crc` is the CRC-32 of the text before it; it detects damage, not
forgery. `generation` counts the replacements.

The manifest stays small however old the ledger is: deltas that no kept snapshot needs are listed in `ARCHIVE.jsonl`,
one line each, appended and synced before the manifest names the new length. Of several lines with one `first_seq` the
last counts. A line with `removed_at` is a tombstone: the file was removed on purpose, and the line holds what the hash
chain and the Merkle tree need to continue without it.

Names are labels (`delta-<UTC date>[.<n>].jsonl`); the order is that of the sequence numbers inside the files, so a
clock that jumps does no harm. And because each file says where it belongs, a lost manifest can be rebuilt from the
directory (see `rebuild`).
"""

import re
import zlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace

from stateward.core.errors import InvalidRequest, LedgerDamaged, LedgerMismatch
from stateward.core.model import SECOND, to_iso
from stateward.ledger.disk import Disk, write_atomically
from stateward.proofs.merkle import MerkleSpan

FORMAT, LAYERED_FORMAT = 2, 3
"""1 was the JSON lines of older programs, without a manifest; they are read by `legacy`. 3 is written while a snapshot
has another one below it, which older versions would take for one without documents."""
MANIFEST = "MANIFEST.json"
ARCHIVE = "ARCHIVE.jsonl"
HEAD = "HEAD"
LOCK = "LOCK"
GZIP_SUFFIX = ".gz"
TREE_SUFFIX = ".tree"
"""Of the tiles beside a compressed delta (see `merkle`); derived, like its index."""
SEQ_MAX = 1 << 62
LABELS_MAX = 1_000_000
"""Files of one day: the six digits of their number, beyond which they would not sort by name."""
# Earlier versions wrote `.2` where `_000002` is written now, which sorted before the first of the day.
SNAPSHOT_NAME = re.compile(r"snapshot-\d{4}-\d\d-\d\d([._]\d+)?\.json(\.gz)?")
DELTA_NAME = re.compile(r"delta-\d{4}-\d\d-\d\d([._]\d+)?\.jsonl(\.gz)?")
MISSING = "the manifest names it, but it is not there"
_CRC_START = b',\n  "crc": "'


class SnapshotInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A snapshot that is kept. `rolled_back_to`: it holds the documents as of that earlier seq.

    `base` is the root of the snapshot that holds the documents that this one does not (see `layers`).
    """

    file: str
    last_seq: int
    chain: str
    root: str
    bytes: int
    documents: int
    created_at: str
    rolled_back_to: int | None = None
    base: str | None = None

    @property
    def plain(self) -> str:
        """The name of the file when it is not compressed."""
        return self.file.removesuffix(GZIP_SUFFIX)

    @property
    def bottom(self) -> str:
        """The root of the snapshot at the bottom: this one, or the one below it."""
        return self.base or self.root


def layers_of(info: SnapshotInfo, snapshots: Iterable[SnapshotInfo]) -> list[SnapshotInfo] | None:
    if info.base is None:
        return [info]
    below = next((each for each in snapshots if each.root == info.base), None)
    return None if below is None else [info, below]


def sidecar(file: str, suffix: str) -> str:
    """The name of a derived file beside a delta or a snapshot, which may be compressed."""
    return file.removesuffix(GZIP_SUFFIX) + suffix


class DeltaInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A segment of the log: lines `first_seq` to `last_seq`, which is None for the active delta.

    `chain` is the head of the chain before its first line, `head` the one after its last. `bytes` and `sha256` are of
    the uncompressed text, `span` is its part of the Merkle tree over all lines (see `merkle`).
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
    def plain(self) -> str:
        """The name of the file when it is not compressed."""
        return self.file.removesuffix(GZIP_SUFFIX)

    @property
    def is_removed(self) -> bool:
        """Whether this is a tombstone."""
        return self.removed_at is not None

    @property
    def merkle_span(self) -> MerkleSpan | None:
        """Its part of the Merkle tree, if the manifest has it: sealed deltas get theirs when they are compressed."""
        if self.span is None or self.last_seq is None:
            return None
        return MerkleSpan.unpacked(self.span, start=self.first_seq - 1, end=self.last_seq)

    @property
    def end_seq(self) -> int:
        """The last line that the manifest knows of; for the active delta the one before its first."""
        return self.first_seq - 1 if self.last_seq is None else self.last_seq


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The list of files. `rollbacks` are (seq of the rollback, seq it went back to), oldest first.

    `salt` goes into the hashes of document ids in the delta indexes.
    """

    format: int = FORMAT
    generation: int = 1
    machine: str
    machine_version: int
    created_at: str
    salt: str
    snapshots: tuple[SnapshotInfo, ...] = ()
    deltas: tuple[DeltaInfo, ...]
    rollbacks: tuple[tuple[int, int], ...] = ()
    archive_bytes: int = 0
    archive_crc: int = 0

    @property
    def active(self) -> DeltaInfo:
        """The delta that is appended to."""
        return self.deltas[-1]


_decode = msgspec.json.Decoder(Manifest).decode
_decode_delta = msgspec.json.Decoder(DeltaInfo).decode
_encode = msgspec.json.Encoder().encode


def is_ledger(folder: Path) -> bool:
    """Whether the folder exists and holds any file of a ledger."""
    return (folder / MANIFEST).exists() or (
        folder.is_dir()
        and any(
            SNAPSHOT_NAME.fullmatch(path.name) or DELTA_NAME.fullmatch(path.name)
            for path in folder.iterdir()
        )
    )


def write_manifest(disk: Disk, folder: Path, manifest: Manifest) -> None:
    """The commit point of a change of files."""
    is_layered = any(info.base for info in manifest.snapshots)
    manifest = replace(manifest, format=LAYERED_FORMAT if is_layered else FORMAT)
    text = msgspec.json.format(_encode(manifest), indent=2).removesuffix(b"\n}")
    crc = b'%08x"\n}\n' % zlib.crc32(text)
    write_atomically(disk, folder / MANIFEST, text + _CRC_START + crc)


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest; None if it is missing or damaged. Raises `LedgerMismatch` for another format."""
    try:
        text = (folder / MANIFEST).read_bytes()
    except FileNotFoundError:
        return None
    body, start, end = text.rpartition(_CRC_START)
    if not start or end != b'%08x"\n}\n' % zlib.crc32(body):
        return None
    # The format is looked at before the rest is decoded: a newer one may have other fields.
    written: dict[str, object] = msgspec.json.decode(body + b"\n}")
    if written.get("format") not in (FORMAT, LAYERED_FORMAT):
        raise LedgerMismatch(
            f"{folder} was written by another version of Stateward (format {written.get('format')}, this "
            f"one knows up to {LAYERED_FORMAT}); use that version, or a newer one"
        )
    return _decode(body + b"\n}")


def read_archive(folder: Path, manifest: Manifest) -> list[DeltaInfo]:
    """The archived deltas and tombstones, oldest first. Raises `LedgerDamaged`."""
    if not manifest.archive_bytes:
        return []
    with (folder / ARCHIVE).open("rb") as file:
        text = file.read(manifest.archive_bytes)  # what is behind it no manifest has named
    if len(text) != manifest.archive_bytes or zlib.crc32(text) != manifest.archive_crc:
        raise LedgerDamaged.at(ARCHIVE, "its content is not what the manifest recorded")
    return _last_of_each(_decode_delta(line) for line in text.splitlines())


def read_tombstones(folder: Path) -> list[DeltaInfo]:
    """The tombstones that are still readable, without a manifest to check them against."""
    try:
        lines = (folder / ARCHIVE).read_bytes().splitlines()
    except FileNotFoundError:
        return []
    found = []
    for line in lines:
        try:
            info = _decode_delta(line)
            _ = info.merkle_span  # which its line may be too damaged for
        except (msgspec.DecodeError, InvalidRequest, ValueError):
            continue
        found.append(info)
    return [info for info in _last_of_each(found) if info.is_removed]


def _last_of_each(infos: Iterable[DeltaInfo]) -> list[DeltaInfo]:
    by_first = {info.first_seq: info for info in infos}
    return [by_first[first] for first in sorted(by_first)]


def append_to_archive(
    disk: Disk, folder: Path, manifest: Manifest, infos: Sequence[DeltaInfo]
) -> Manifest:
    """Append to the archive list; returns the manifest that names the new length, which the caller publishes."""
    path = folder / ARCHIVE
    text = b"".join(_encode(info) + b"\n" for info in infos)
    is_new = not path.exists()
    fd = disk.create(path) if is_new else disk.open_append(path)
    try:
        if not is_new:
            # A crash after an append and before its manifest left lines that no manifest names.
            disk.truncate(fd, manifest.archive_bytes)
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


def effective_ranges(
    rollbacks: Sequence[tuple[int, int]], *, last_seq: int = SEQ_MAX
) -> list[tuple[int, int]]:
    """Which lines make up the present state: ranges (after, up to), newest first.

    A rollback at R to S removes the lines after S and up to R from the state, but not from the log. One that lies in
    such a range was itself rolled back, and has no effect.
    """
    ranges = []
    cursor = last_seq
    for at, to in reversed(rollbacks):
        if at <= cursor:
            ranges.append((at, cursor))
            cursor = to
    return [*ranges, (0, cursor)]


def iso(at: float) -> str:
    """An instant as the files write it."""
    return to_iso(round(at * SECOND))


def date_label(at: float) -> str:
    """The UTC date of an instant."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}"


def unused_name(folder: Path, kind: str, suffix: str, at: float, *, taken: set[str]) -> str:
    """`kind-<date><suffix>`; on a day that has such files, compressed or not, with the number after their highest.

    Sorted by name, the files of a kind are in the order in which they were made: `_` comes after `.`, and a number is
    not used again when its file is removed.
    """
    label = f"{kind}-{date_label(at)}"
    pattern = re.compile(rf"{label}(?:[._](\d+))?{re.escape(suffix)}(?:{re.escape(GZIP_SUFFIX)})?")
    there = (each.name for each in folder.glob(f"{label}*"))
    found = [match for each in (*taken, *there) if (match := pattern.fullmatch(each))]
    if not found:
        return f"{label}{suffix}"
    number = max(int(each[1] or 1) for each in found) + 1
    if number >= LABELS_MAX:
        raise LedgerMismatch(f"there are {LABELS_MAX} files of {label} in {folder}")
    return f"{label}_{number:06}{suffix}"
