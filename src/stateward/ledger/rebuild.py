"""The list of files made anew from the files: what is done when `MANIFEST.json` is lost or damaged.

Each snapshot says in its header where it ends and what the chain is there, each delta begins with a line that
says where it begins, and a rollback is always the last line of its delta. That is enough. What does not fit is
not guessed at: a gap that no tombstone explains is an error that names the missing lines, and a snapshot that
does not belong to this chain is left out. Reads only; the writer keeps the result.
"""

from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from stateward.core.model import SECOND, to_iso
from stateward.ledger import chain
from stateward.ledger.delta import decoded, ends_of, plain_chunks
from stateward.ledger.errors import Finding, LedgerDamaged
from stateward.ledger.index import SUFFIX, Index
from stateward.ledger.manifest import (
    DELTA_NAME,
    GZ,
    MANIFEST,
    SNAPSHOT_NAME,
    DeltaPart,
    Manifest,
    SnapshotPart,
    tombstones,
)
from stateward.ledger.record import ROLLED_BACK, Line
from stateward.ledger.snapshot import (
    FOOTER_BYTES_MAX,
    FOOTER_START,
    HEADER_BYTES_MAX,
    STATES_START,
    Checksum,
    Header,
)

SALT_UNKNOWN = "stateward"
EMPTY_DELTA = "delta-1970-01-01.jsonl"


class _Found(msgspec.Struct):
    """A delta as the directory shows it."""

    part: DeltaPart
    last: Line | None
    head: str
    size: int
    digest: str


def is_ledger(folder: Path) -> bool:
    """Whether there is anything of a ledger in the folder."""
    return (folder / MANIFEST).exists() or any(
        SNAPSHOT_NAME.fullmatch(path.name) or DELTA_NAME.fullmatch(path.name)
        for path in folder.iterdir()
    )


def rebuilt(folder: Path) -> Manifest:
    """The manifest that these files need. Raises `LedgerDamaged`."""
    snapshots = _snapshots(folder)
    deltas, empty = _deltas(folder)
    gone = tombstones(folder)
    parts, rollbacks = _chained(deltas, gone, snapshots)
    ends = {part.last_seq: part.head for part in parts}
    first = parts[0].first_seq if parts else 1
    kept = [
        part for part in snapshots
        if ends.get(part.last_seq, part.chain if part.last_seq < first else None) == part.chain
    ]  # fmt: skip
    parts = _with_active(parts, kept, rollbacks, empty)
    header = snapshots[0] if snapshots else None
    machine, version = _machine_of(folder, header)
    return Manifest(
        machine=machine,
        machine_version=version,
        created_at=deltas[0].part.removed_at or "" if deltas else "",
        salt=_salt(folder),
        snapshots=tuple(kept),
        deltas=tuple(parts),
        rollbacks=tuple(rollbacks),
    )


def _names(folder: Path, pattern: object) -> list[Path]:
    matches = getattr(pattern, "fullmatch")  # noqa: B009
    found = {path.name for path in folder.iterdir() if matches(path.name)}
    # Beside its plain form a compressed file is what a crash left of packing or unpacking.
    return sorted(
        folder / name
        for name in found
        if name.removesuffix(GZ) == name or name.removesuffix(GZ) not in found
    )


def _snapshots(folder: Path) -> list[SnapshotPart]:
    found = [_snapshot(path) for path in _names(folder, SNAPSHOT_NAME)]
    return sorted((part for part in found if part), key=lambda part: -part.last_seq)


def _snapshot(path: Path) -> SnapshotPart | None:
    head = tail = b""
    size = 0
    try:
        for data in plain_chunks(path):
            if len(head) < HEADER_BYTES_MAX:
                head += data
            tail = (tail + data)[-FOOTER_BYTES_MAX:]
            size += len(data)
        header = msgspec.json.decode(head[: head.index(STATES_START)] + b"}", type=Header)
        start = tail.rindex(FOOTER_START) + len(FOOTER_START)
        checksum = msgspec.json.decode(tail[start:].rstrip(b"\n")[:-1], type=Checksum)
    except (ValueError, msgspec.DecodeError, LedgerDamaged):
        return None
    return SnapshotPart(
        file=path.name,
        last_seq=header.last_seq,
        chain=header.chain,
        root=checksum.root,
        bytes=size,
        documents=header.document_count,
        created_at=header.created_at,
        rolled_back_to=header.rolled_back_to,
    )


def unlisted_snapshot(
    folder: Path, manifest: Manifest, *, last_seq: int, chain: str
) -> SnapshotPart | None:
    """A snapshot of just this place in the log that a crash kept from being listed."""
    listed = {part.file for part in manifest.snapshots}
    for part in _snapshots(folder):
        if (part.last_seq, part.chain) == (last_seq, chain) and part.file not in listed:
            return part
    return None


def _machine_of(folder: Path, part: SnapshotPart | None) -> tuple[str, int]:
    if part is None:
        return "", 0
    head = b""
    for data in plain_chunks(folder / part.file):
        head += data
        if len(head) >= HEADER_BYTES_MAX or STATES_START in head:
            break
    header = msgspec.json.decode(head[: head.index(STATES_START)] + b"}", type=Header)
    return header.machine, header.machine_version


def _deltas(folder: Path) -> tuple[list[_Found], str | None]:
    """Those with lines, by their first seq; and the name of one without."""
    found: list[_Found] = []
    empty: str | None = None
    for path in _names(folder, DELTA_NAME):
        if path.suffix == GZ and not path.stat().st_size:  # an empty delta is never packed
            raise LedgerDamaged([Finding(file=path.name, byte=0, sentence="it is empty")])
        ends = ends_of(path)
        first = decoded(ends[0]) if ends else None
        if ends is None or first is None:
            if empty is not None and path.stat().st_size and (folder / empty).stat().st_size:
                raise LedgerDamaged(
                    [Finding(file=path.name, byte=0, sentence="its first line is damaged")]
                )
            if empty is None or path.stat().st_size:
                empty = path.name
            continue
        last = decoded(ends[1])
        part = DeltaPart(file=path.name, first_seq=first.seq, chain="")
        head = ends[1][-chain.PREVIOUS_BYTES : -3].decode("ascii", "replace")
        found.append(_Found(part=part, last=last, head=head, size=ends[2], digest=ends[3]))
    return sorted(found, key=lambda each: each.part.first_seq), empty


def _chained(
    deltas: list[_Found], gone: list[DeltaPart], snapshots: list[SnapshotPart]
) -> tuple[list[DeltaPart], list[tuple[int, int]]]:
    """Each with the head of the chain before it; the last one is open."""
    heads = {0: chain.GENESIS.decode()}
    heads.update({part.last_seq: part.chain for part in snapshots})
    heads.update({part.last_seq: part.head or "" for part in gone if part.last_seq})
    parts = list(gone)
    rollbacks: list[tuple[int, int]] = []
    for place, each in enumerate(deltas):
        before = each.part.first_seq - 1
        if before not in heads:
            raise _gap(
                each.part.file, before, max((seq for seq in heads if seq < before), default=0)
            )
        part = replace(each.part, chain=heads[before])
        if each.last is not None:
            if place < len(deltas) - 1:
                part = replace(part, last_seq=each.last.seq, head=each.head, bytes=each.size)
                heads[each.last.seq] = each.head
            if not each.last.doc_id and each.last.new_state == ROLLED_BACK:
                rollbacks.append((each.last.seq, int(each.last.metadata["to_seq"])))  # type: ignore[arg-type]
                part = replace(part, last_seq=each.last.seq, head=each.head, bytes=each.size)
            elif place == len(deltas) - 1 and _is_sealed(each, snapshots):
                part = replace(part, last_seq=each.last.seq, head=each.head, bytes=each.size)
        elif place < len(deltas) - 1:
            raise LedgerDamaged([Finding(file=part.file, sentence="its last line is damaged")])
        parts.append(part)
    return sorted(parts, key=lambda part: part.first_seq), rollbacks


def _is_sealed(each: _Found, snapshots: list[SnapshotPart]) -> bool:
    """Whether a snapshot ends where this delta ends: then nothing may be added to it."""
    return each.last is not None and any(
        part.last_seq == each.last.seq and part.chain == each.head for part in snapshots
    )


def _gap(file: str, before: int, known: int) -> LedgerDamaged:
    sentence = f"the lines with seq {known + 1} to {before} before it are missing"
    return LedgerDamaged([Finding(file=file, byte=0, seq=known + 1, sentence=sentence)])


def _with_active(
    parts: list[DeltaPart],
    snapshots: Iterable[SnapshotPart],
    rollbacks: list[tuple[int, int]],
    empty: str | None,
) -> list[DeltaPart]:
    """The list with one delta at its end that can be written to."""
    if (
        parts
        and parts[-1].last_seq is None
        and not parts[-1].is_removed
        and not parts[-1].file.endswith(GZ)
    ):
        return parts
    del rollbacks
    if parts:
        last = parts[-1]
        seq, head = last.last_seq or 0, last.head or ""
    else:
        newest = max(snapshots, key=lambda part: part.last_seq, default=None)
        seq, head = (newest.last_seq, newest.chain) if newest else (0, chain.GENESIS.decode())
    return [*parts, DeltaPart(file=empty or EMPTY_DELTA, first_seq=seq + 1, chain=head)]


def _salt(folder: Path) -> str:
    """The salt that the indexes were made with, so that they stay of use."""
    for path in sorted(folder.glob(f"delta-*{SUFFIX}")):
        loaded = Index.load(path, salt=None)
        if loaded is not None:
            return loaded[1].salt
    return SALT_UNKNOWN


def iso(at: float) -> str:
    """An instant as the files write it."""
    return to_iso(round(at * SECOND))
