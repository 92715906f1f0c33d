"""Rebuilds a lost or damaged `MANIFEST.json` from the other files.

Each snapshot says in its header where in the log it was made and what the head of the chain is there; each delta
starts with a line that carries its number; a rollback is always the last line of its delta. That is enough. What does
not fit is not guessed at: a gap that no tombstone explains is an error that names the missing lines, and a snapshot
that does not belong to this chain is left out. Reads only; the writer publishes the result.
"""

import re
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from stateward.core.errors import LedgerDamaged
from stateward.ledger import chain
from stateward.ledger.delta import read_chunks
from stateward.ledger.delta_index import INDEX_SUFFIX, DeltaIndex
from stateward.ledger.head import read_head
from stateward.ledger.manifest import (
    DELTA_NAME,
    GZIP_SUFFIX,
    SNAPSHOT_NAME,
    DeltaInfo,
    Manifest,
    SnapshotInfo,
    read_archive,
    read_tombstones,
)
from stateward.ledger.record import LedgerLine, decode_line, rollback_of
from stateward.ledger.snapshot import (
    FOOTER_BYTES_MAX,
    FOOTER_START,
    HEADER_BYTES_MAX,
    STATES_START,
    Checksum,
    Header,
    snapshot_info,
)

SALT_UNKNOWN = "stateward"
"""Where no index tells it: indexes are then made anew, with this one."""
EMPTY_DELTA = "delta-1970-01-01.jsonl"
"""The name of the active delta where the directory shows none."""


class _DeltaOnDisk(NamedTuple):
    """A delta as the directory shows it; `last` is None if its last complete line is damaged."""

    file: str
    first_seq: int
    last: LedgerLine | None
    head: str
    size: int


def rebuild_manifest(folder: Path) -> Manifest:
    """The manifest that these files imply, numbered after each one that `HEAD` has seen. Raises `LedgerDamaged`."""
    found = _snapshots(folder)
    snapshots = [info for info, _ in found]
    on_disk, empty = _deltas(folder)
    deltas, rollbacks = _chain(on_disk, read_tombstones(folder), snapshots)
    heads = {info.last_seq: info.head for info in deltas}
    first_seq = deltas[0].first_seq if deltas else 1
    kept = [
        info for info in snapshots
        if heads.get(info.last_seq, info.chain if info.last_seq < first_seq else None) == info.chain
    ]  # fmt: skip
    # A layer without the one below it holds a few documents, not all of them.
    roots = {info.root for info in kept}
    kept = [info for info in kept if info.base is None or info.base in roots]
    last = deltas[-1] if deltas else None
    if last is None or last.last_seq is not None or last.file.endswith(GZIP_SUFFIX):
        # Every delta is complete, or there is none: the log continues in a new one.
        if last is not None:
            seq, head = last.last_seq or 0, last.head or ""
        else:
            seq, head = (kept[0].last_seq, kept[0].chain) if kept else (0, chain.GENESIS.decode())
        deltas.append(DeltaInfo(file=empty or EMPTY_DELTA, first_seq=seq + 1, chain=head))
    return Manifest(
        generation=read_head(folder).generation + 1,
        machine=found[0][1].machine if found else "",
        machine_version=found[0][1].machine_version if found else 0,
        created_at="",
        salt=_salt(folder),
        snapshots=tuple(kept),
        deltas=tuple(deltas),
        rollbacks=tuple(rollbacks),
    )


def _paths(folder: Path, pattern: re.Pattern[str]) -> list[Path]:
    names = {path.name for path in folder.iterdir() if pattern.fullmatch(path.name)}
    # A compressed file beside its plain form is what a crash left of compressing or decompressing it.
    return sorted(
        folder / name
        for name in names
        if not name.endswith(GZIP_SUFFIX) or name.removesuffix(GZIP_SUFFIX) not in names
    )


def _snapshots(folder: Path) -> list[tuple[SnapshotInfo, Header]]:
    """The readable snapshots, newest first; their content is not checked here."""
    found = []
    for path in _paths(folder, SNAPSHOT_NAME):
        # Only the two ends are decoded: the documents between them may be gigabytes, and are checked by `verify`.
        head = tail = b""
        size = 0
        try:
            for data in read_chunks(path):
                if len(head) < HEADER_BYTES_MAX:
                    head += data
                tail = (tail + data)[-FOOTER_BYTES_MAX:]
                size += len(data)
            header = msgspec.json.decode(head[: head.index(STATES_START)] + b"}", type=Header)
            start = tail.rindex(FOOTER_START) + len(FOOTER_START)
            checksum = msgspec.json.decode(tail[start:].rstrip(b"\n")[:-1], type=Checksum)
        except (ValueError, msgspec.DecodeError, LedgerDamaged):
            continue  # the log has all that it held; another snapshot or the whole log is used
        found.append((snapshot_info(path.name, header, root=checksum.root, size=size), header))
    return sorted(found, key=lambda each: -each[0].last_seq)


def unlisted_snapshot(
    folder: Path, manifest: Manifest, *, last_seq: int, chain: str
) -> SnapshotInfo | None:
    """A snapshot of just this place in the log that a crash kept from being listed."""
    listed = {info.file for info in manifest.snapshots}
    for info, _ in _snapshots(folder):
        if (info.last_seq, info.chain) == (last_seq, chain) and info.file not in listed:
            return info
    return None


def unlisted_snapshots(folder: Path, manifest: Manifest) -> list[str]:
    """Snapshots that the manifest does not name: a crash may have left one, and a stranger may have put it there."""
    listed = {info.file.removesuffix(GZIP_SUFFIX) for info in manifest.snapshots}
    found = (path.name for path in folder.iterdir() if SNAPSHOT_NAME.fullmatch(path.name))
    return sorted(name for name in found if name.removesuffix(GZIP_SUFFIX) not in listed)


def unlisted_deltas(folder: Path, manifest: Manifest) -> list[str]:
    """Deltas with lines that neither the manifest nor the archive list names.

    None is ever left by a crash: a new delta gets its first line after the manifest names it. So the manifest is older
    than the files, and continuing after it would fork the log.
    """
    there = [path for path in folder.iterdir() if DELTA_NAME.fullmatch(path.name)]
    known = {info.plain for info in manifest.deltas}
    found = {path.name.removesuffix(GZIP_SUFFIX): path.name for path in there if _has_bytes(path)}
    if found.keys() - known:
        known |= {info.plain for info in read_archive(folder, manifest)}
    return sorted(found[name] for name in found.keys() - known)


def _has_bytes(path: Path) -> bool:
    """Whether a file holds anything; one that a writer compressed or archived after the folder was listed does not."""
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False


def _deltas(folder: Path) -> tuple[list[_DeltaOnDisk], str | None]:
    """The deltas that have lines, by their first seq; and the name of one that has none."""
    found: list[_DeltaOnDisk] = []
    empty: str | None = None
    for path in _paths(folder, DELTA_NAME):
        if path.suffix == GZIP_SUFFIX and not path.stat().st_size:
            # No empty delta is ever compressed.
            raise LedgerDamaged.at(path.name, "it is empty", byte=0)
        first_text = last_text = rest = b""
        size = 0
        for data in read_chunks(path):
            *lines, rest = (rest + data).split(b"\n")
            written = [text for text in lines if text]
            size += len(data) - (len(lines) - len(written))  # without padding
            if written:
                first_text, last_text = first_text or written[0], written[-1] + b"\n"
        first = _decode_or_none(first_text)
        if first is not None:
            head = chain.head_of(last_text).decode("ascii", "replace")
            last = _decode_or_none(last_text)
            found.append(_DeltaOnDisk(path.name, first.seq, last, head, size))
            continue
        # One file may hold nothing but the torn first line of a new delta; two cannot.
        if empty is not None and path.stat().st_size and (folder / empty).stat().st_size:
            raise LedgerDamaged.at(path.name, "its first line is damaged", byte=0)
        if empty is None or path.stat().st_size:
            empty = path.name
    return sorted(found, key=lambda each: each.first_seq), empty


def _decode_or_none(text: bytes) -> LedgerLine | None:
    """The line; None for a torn one, which at the end of the newest delta is no damage."""
    try:
        return decode_line(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _chain(
    on_disk: list[_DeltaOnDisk], tombstones: list[DeltaInfo], snapshots: list[SnapshotInfo]
) -> tuple[list[DeltaInfo], list[tuple[int, int]]]:
    """The deltas and tombstones in order, each with the head of the chain before it; and the rollbacks."""
    heads = {0: chain.GENESIS.decode()}
    heads.update({info.last_seq: info.chain for info in snapshots})
    heads.update({info.last_seq: info.head or "" for info in tombstones if info.last_seq})
    infos = list(tombstones)
    rollbacks: list[tuple[int, int]] = []
    for delta in on_disk:
        before, last, is_newest = delta.first_seq - 1, delta.last, delta is on_disk[-1]
        # Without the head before it a delta cannot be checked, so a gap is never bridged by guessing.
        if before not in heads:
            known = max((seq for seq in heads if seq < before), default=0)
            sentence = f"the lines with seq {known + 1} to {before} before it are missing"
            raise LedgerDamaged.at(delta.file, sentence, byte=0, seq=known + 1)
        info = DeltaInfo(file=delta.file, first_seq=delta.first_seq, chain=heads[before])
        if last is None:
            if not is_newest:
                raise LedgerDamaged.at(delta.file, "its last line is damaged")
        else:
            if last.is_rollback:
                rollbacks.append(rollback_of(last))
            # A snapshot that ends where a delta ends covers it: nothing may be appended to it any more.
            ends_at_snapshot = any(
                (each.last_seq, each.chain) == (last.seq, delta.head) for each in snapshots
            )
            if not is_newest or last.is_rollback or ends_at_snapshot:
                info = replace(info, last_seq=last.seq, head=delta.head, bytes=delta.size)
                heads[last.seq] = delta.head
        infos.append(info)
    return sorted(infos, key=lambda each: each.first_seq), rollbacks


def _salt(folder: Path) -> str:
    """The salt that the delta indexes were made with, so that they stay usable."""
    for path in sorted(folder.glob(f"delta-*{INDEX_SUFFIX}")):
        loaded = DeltaIndex.load(path, salt=None)
        if loaded is not None:
            return loaded[1].salt
    return SALT_UNKNOWN
