"""What keeps opening cheap: rotation, compaction, packing, retention; and rollback. All while appends go on.

    rotate     seal the active delta and go on in a new one
    compact    newest snapshot + sealed deltas → the next snapshot; unchanged stretches are copied unread
    pack       what is not live any more is compressed; its hash and its part of the tree are kept
    prune      the last 7 snapshots stay; deltas that none of them needs move to the archive list
    remove     archived deltas go on request, and a tombstone stays
    rollback   the documents of an earlier snapshot count again; the log keeps everything

Each step makes its new files durable first, then replaces the manifest, then deletes. So a crash at any moment
leaves the old list with its files, or the new list with its files, and at most some files that nobody names.
The locks are held for the short steps only; reading, merging and compressing go on beside appends.
A compaction that fails (a full disk) leaves the ledger as it was and does not hurt the writer.
"""

import zlib
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec.structs import replace

from stateward.core.errors import InvalidRequest, UnknownName
from stateward.ledger.delta import Delta, plain_chunks
from stateward.ledger.disk import TEMPORARY, discard
from stateward.ledger.errors import LedgerDamaged, LedgerError
from stateward.ledger.index import SUFFIX
from stateward.ledger.manifest import (
    GZ,
    DeltaPart,
    Manifest,
    SnapshotPart,
    archived,
    free_name,
    read_archive,
)
from stateward.ledger.merkle import Span, leaf_hash
from stateward.ledger.rebuild import iso, unlisted_snapshot
from stateward.ledger.record import (
    ROLLED_BACK,
    Line,
    decode_line,
    encode_json,
    kept,
)
from stateward.ledger.snapshot import (
    BLOCK,
    INDEX,
    VERSION,
    Header,
    Snapshot,
    SnapshotWriter,
)
from stateward.ledger.summary import Summary, total
from stateward.ledger.view import (
    decode_summary,
    latest,
    overrides,
    text_at,
)
from stateward.ledger.writer import Writer

SNAPSHOTS_KEPT = 7
DELTA_BYTES_MAX = 64 << 20
COMPACT_LINES_MAX = 1_000_000
"""One step of a compaction holds the ids of that many lines in memory, not more."""
TEXTS_BYTES_MAX = 64 << 20
"""Up to there the lines themselves are held as well, which saves reading them twice."""
COPY_BYTES = 256 * BLOCK
GZIP_LEVEL = 6

Progress = Callable[[str, int, int], None]


def no_progress(_what: str, _done: int, _all: int) -> None:
    """Nobody looks."""


def rotate(writer: Writer) -> bool:
    """Seal the active delta and go on in a new one; False if there was nothing in it."""
    with writer.commits, writer.mutex:
        writer.check_usable()
        writer.commit_all()
        old = writer.view.active
        if not old.end:
            return False
        with writer.failing():
            _seal(writer, old, writer.view.manifest)
        return True


def _seal(writer: Writer, old: Delta, manifest: Manifest) -> None:
    sealed, new = writer.sealed(), writer.new_delta()
    writer.publish(replace(manifest, deltas=(*manifest.deltas[:-1], sealed, new)))
    writer.fold()
    old.part = sealed
    writer.go_on_in(new)


def is_due(writer: Writer) -> bool:
    """Whether the deltas have grown so much beside the snapshot that a compaction pays."""
    view = writer.view
    base = view.base_part.bytes if view.base_part else 0
    return sum(delta.end for delta in view.deltas) > max(DELTA_BYTES_MAX, base // 4)


# Compaction


def compact(
    writer: Writer, *, snapshots_kept: int = SNAPSHOTS_KEPT, is_packed: bool = True,
    progress: Progress = no_progress,
) -> SnapshotPart | None:  # fmt: skip
    """A new snapshot of everything so far, then pack and prune; None if there was nothing new."""
    with writer.upkeep:
        rotate(writer)
        made: SnapshotPart | None = None
        while (step := _step(writer)) is not None:
            made = _merge(writer, *step, replaces=made, progress=progress)
            if made is None:
                return None
        if is_packed:
            pack(writer, progress=progress)
        prune(writer, snapshots_kept=snapshots_kept)
        return made


def _step(writer: Writer) -> tuple[Snapshot | None, SnapshotPart | None, list[Delta]] | None:
    """The base, and the oldest sealed deltas after it, as many as one step may hold."""
    with writer.mutex:
        view = writer.view
        sealed = [delta for delta in view.deltas if delta.part.last_seq is not None]
        chosen: list[Delta] = []
        lines = 0
        for delta in sealed:
            lines += delta.seq - delta.part.first_seq + 1
            if chosen and lines > COMPACT_LINES_MAX:
                break
            chosen.append(delta)
        return (view.base, view.base_part, chosen) if chosen else None


def _merge(
    writer: Writer, base: Snapshot | None, base_part: SnapshotPart | None, deltas: list[Delta], *,
    replaces: SnapshotPart | None, progress: Progress,
) -> SnapshotPart | None:  # fmt: skip
    summary = total(
        [
            decode_summary(base.header.summary) if base else Summary(),
            *(delta.summary for delta in deltas),
        ]
    )
    last = deltas[-1]
    try:
        header = _header(writer, summary, last_seq=last.seq, chain=last.chain.decode())
        new = _write(writer, header, base, deltas, progress=progress)
    except (LedgerDamaged, OSError) as error:
        if isinstance(error, LedgerDamaged) and base is not None and _is_about(error, base):
            with writer.commits, writer.mutex:
                writer.view.drop_base(error)
                writer.quarantine()
            return None
        raise LedgerError(f"the compaction of {writer.folder} failed: {error}") from error
    with writer.commits, writer.mutex:
        view = writer.view
        if view.base_part != base_part or view.deltas[: len(deltas)] != deltas:
            _forget(
                writer, new.file
            )  # the base turned out damaged meanwhile: this was made of other files
            return None
        manifest = view.manifest
        older = tuple(part for part in manifest.snapshots if part != replaces)
        with writer.failing():
            writer.publish(replace(manifest, snapshots=(new, *older)))
            view.rebase(new, len(deltas))
            if replaces is not None:
                _forget(writer, replaces.file)
    return new


def _is_about(error: LedgerDamaged, base: Snapshot) -> bool:
    return error.findings[0].file == base.path.name


def _header(
    writer: Writer,
    summary: Summary,
    *,
    last_seq: int,
    chain: str,
    rolled_back_to: int | None = None,
) -> Header:
    manifest = writer.view.manifest
    return Header(
        version=VERSION,
        created_at=iso(writer.clock()),
        document_count=summary.documents,
        last_seq=last_seq,
        chain=chain,
        machine=manifest.machine,
        machine_version=manifest.machine_version,
        state_counts={name: count for name, count in sorted(summary.counts.items()) if count},
        summary=msgspec.Raw(encode_json(summary)),
        rolled_back_to=rolled_back_to,
    )


def _write(
    writer: Writer, header: Header, base: Snapshot | None, deltas: Sequence[Delta], *, progress: Progress
) -> SnapshotPart:  # fmt: skip
    name = free_name(
        writer.folder, "snapshot", ".json", writer.clock(),
        taken={part.file for part in writer.view.manifest.snapshots},
    )  # fmt: skip
    keys, text_of = _changed(deltas)
    out = SnapshotWriter(writer.disk, writer.folder / name, header)
    try:
        count = 0
        for start, end, key in base.runs(keys) if base else ((0, 0, key) for key in (*keys, None)):
            if base is not None and end > start:
                _copy(out, base, start, end)
            if key is not None:
                out.add(key, kept(decode_line(text_of(key))))
                count += 1
                if count % 4096 == 0:
                    progress("compact", count, len(keys))
        root = out.finish()
    except BaseException:
        out.abandon()
        raise
    return SnapshotPart(
        file=name,
        last_seq=header.last_seq,
        chain=header.chain,
        root=root,
        bytes=(writer.folder / name).stat().st_size,
        documents=header.document_count,
        created_at=header.created_at,
        rolled_back_to=header.rolled_back_to,
    )


def _changed(deltas: Sequence[Delta]) -> tuple[list[bytes], Callable[[bytes], bytes]]:
    """The sorted ids of the documents that have lines in these deltas, and how to get the last line of each."""
    if sum(delta.end for delta in deltas) <= TEXTS_BYTES_MAX:
        texts = latest(deltas)
        return sorted(texts), texts.__getitem__
    places = overrides(deltas)
    return sorted(places), lambda key: text_at(deltas, places[key])


def _copy(out: SnapshotWriter, base: Snapshot, start: int, end: int) -> None:
    """Whole lines of the old snapshot, in pieces; the separator after the last one is not theirs."""
    end -= 1 if end > base.last_line_end else 2
    at = min(start + COPY_BYTES, end)
    out.copy(base.text(start, at))
    while at < end:
        upto = min(at + COPY_BYTES, end)
        out.more(base.text(at, upto))
        at = upto


def _forget(writer: Writer, file: str) -> None:
    for name in (file, file.removesuffix(GZ) + INDEX, file.removesuffix(GZ)):
        discard(writer.disk, writer.folder / name)


# Packing, pruning, removing


def pack(writer: Writer, *, progress: Progress = no_progress) -> int:
    """Compress what is not live: sealed deltas that the newest snapshot covers, and older snapshots."""
    with writer.mutex:
        manifest = writer.view.manifest
        base = writer.view.base_part
    if base is None:
        return 0
    deltas = [
        part for part in manifest.deltas
        if part.last_seq is not None and part.last_seq <= base.last_seq and _is_unpacked(part)
    ]  # fmt: skip
    snapshots = [part for part in manifest.snapshots if part != base and not part.file.endswith(GZ)]
    done: dict[str, DeltaPart] = {}
    for delta in deltas:
        done[delta.file] = _packed_delta(writer, delta)
        progress("pack", len(done), len(deltas) + len(snapshots))
    for snapshot in snapshots:
        _gzip(writer, writer.folder / snapshot.file)
        progress("pack", len(done), len(deltas) + len(snapshots))
    if deltas or snapshots:
        _list_packed(writer, done, {part.file for part in snapshots})
    return len(deltas) + len(snapshots)


def _list_packed(writer: Writer, deltas: dict[str, DeltaPart], snapshots: set[str]) -> None:
    """Name the packed forms instead of the plain ones, then let go of those."""
    with writer.commits, writer.mutex:
        now = writer.view.manifest
        with writer.failing():
            writer.publish(
                replace(
                    now,
                    deltas=tuple(deltas.get(part.file, part) for part in now.deltas),
                    snapshots=tuple(
                        replace(part, file=part.file + GZ) if part.file in snapshots else part
                        for part in now.snapshots
                    ),
                )
            )
            for name in (*(name for name, part in deltas.items() if part.file != name), *snapshots):
                discard(writer.disk, writer.folder / name)
            for name in snapshots:
                discard(writer.disk, writer.folder / (name + INDEX))


def _is_unpacked(part: DeltaPart) -> bool:
    return not part.is_removed and (not part.file.endswith(GZ) or part.span is None)


def _packed_delta(writer: Writer, part: DeltaPart) -> DeltaPart:
    path = writer.folder / part.file
    digest, span, size = fingerprint(path, part)
    if not part.file.endswith(GZ):
        _gzip(writer, path)
        part = replace(part, file=part.file + GZ)
    return replace(part, sha256=digest, span=span.packed(), bytes=size)


def fingerprint(path: Path, part: DeltaPart) -> tuple[str, Span, int]:
    """SHA-256, part of the tree, and bytes of a sealed delta's text, in one walk."""
    digest, span, size, rest = sha256(), Span(part.first_seq - 1), 0, b""
    for data in plain_chunks(path):
        digest.update(data)
        size += len(data)
        lines = (rest + data).split(b"\n")
        rest = lines.pop()
        for text in lines:
            span.add(leaf_hash(text))
    return digest.hexdigest(), span, size


def _gzip(writer: Writer, path: Path) -> None:
    """The compressed form beside the plain one, durable; the same bytes whenever it is made."""
    disk = writer.disk
    target = path.with_name(path.name + GZ)
    temporary = target.with_name(target.name + TEMPORARY)
    discard(disk, temporary)
    packer = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    fd = disk.create(temporary)
    try:
        for data in plain_chunks(path):
            disk.write(fd, packer.compress(data))
        disk.write(fd, packer.flush())
        disk.fsync(fd)
    finally:
        disk.close(fd)
    disk.rename(temporary, target)
    disk.sync_dir(target.parent)


def prune(writer: Writer, *, snapshots_kept: int = SNAPSHOTS_KEPT) -> list[str]:
    """Let go of old snapshots, and move deltas that no kept one needs to the archive list."""
    if snapshots_kept < 1:
        raise InvalidRequest("at least one snapshot is kept")
    with writer.commits, writer.mutex:
        manifest = writer.view.manifest
        keep, drop = manifest.snapshots[:snapshots_kept], manifest.snapshots[snapshots_kept:]
        oldest = min((part.last_seq for part in keep), default=0)
        move = [
            part for part in manifest.deltas
            if part.last_seq is not None and part.last_seq <= oldest and not _is_unpacked(part)
        ]  # fmt: skip
        if drop or move:
            with writer.failing():
                newer = archived(writer.disk, writer.folder, manifest, move) if move else manifest
                deltas = tuple(part for part in manifest.deltas if part not in move)
                writer.publish(replace(newer, snapshots=keep, deltas=deltas))
                for part in drop:
                    _forget(writer, part.file)
        _remove_twins(writer)
        return [part.file for part in drop]


def _remove_twins(writer: Writer) -> None:
    """Plain forms of packed files, left by a crash or unpacked for a fallback that is over."""
    view = writer.view
    live = {delta.path.name for delta in (*view.deltas, view.active)}
    if view.base is not None:
        live.add(view.base.path.name)
    manifest = view.manifest
    for file in (
        *(part.file for part in manifest.deltas),
        *(part.file for part in manifest.snapshots),
    ):
        plain = file.removesuffix(GZ)
        if plain != file and plain not in live:
            discard(writer.disk, writer.folder / plain)


def remove(writer: Writer, *, up_to: int, reason: str, is_executed: bool) -> list[DeltaPart]:
    """Archived deltas that end at or before seq `up_to`; with `is_executed` they go and tombstones stay."""
    with writer.upkeep, writer.commits, writer.mutex:
        manifest = writer.view.manifest
        parts = [
            replace(part, removed_at=iso(writer.clock()), reason=reason)
            for part in read_archive(writer.folder, manifest)
            if not part.is_removed and part.last_seq is not None and part.last_seq <= up_to
        ]
        if parts and is_executed:
            with writer.failing():
                writer.publish(archived(writer.disk, writer.folder, manifest, parts))
                for part in parts:
                    discard(writer.disk, writer.folder / part.file)
                    discard(writer.disk, writer.folder / (part.file.removesuffix(GZ) + SUFFIX))
        return parts


# Rollback


def find_snapshot(parts: Sequence[SnapshotPart], to: str | int) -> SnapshotPart:
    """The newest snapshot of that date, that name, or that seq."""
    for part in parts:
        names = (part.file, part.file.removesuffix(GZ), part.created_at)
        if to == part.last_seq or (
            isinstance(to, str) and to and (to in names or part.created_at.startswith(to))
        ):
            return part
    raise UnknownName("snapshot", str(to), [part.file for part in parts])


def rollback(
    writer: Writer, to: str | int, *, reason: str = "", actor: str | None = None
) -> SnapshotPart:
    """Make the documents of an earlier snapshot count again. The log keeps all, and says what happened."""
    with writer.upkeep, writer.commits, writer.mutex:
        writer.check_usable()
        writer.commit_all()
        view = writer.view
        target = find_snapshot(view.manifest.snapshots, to)
        source = Snapshot(view.plain(target.file), root=target.root)
        source.verify()
        back = decode_summary(source.header.summary)
        now = view.summary()
        summary = replace(now, counts=back.counts, sources=back.sources)
        summary.records += 1
        words: dict[str, object] = {"to_seq": target.last_seq, "snapshot": target.file}
        words |= {"reason": reason, "actor": actor or ""}
        line = writer.control(ROLLED_BACK, words)
        try:
            new = _copied(writer, source, summary, line, target)
        except OSError as error:
            writer.take_back(line)
            raise LedgerError(f"the rollback of {writer.folder} failed: {error}") from error
        writer.commit(line.seq)
        with writer.failing():
            complete_rollback(writer, line, new)
        return new


def _copied(
    writer: Writer, source: Snapshot, summary: Summary, line: Line, target: SnapshotPart
) -> SnapshotPart:
    header = _header(
        writer,
        summary,
        last_seq=line.seq,
        chain=writer.head.decode(),
        rolled_back_to=target.last_seq,
    )
    return _write(writer, header, source, [], progress=no_progress)


def complete_rollback(writer: Writer, line: Line, new: SnapshotPart | None) -> None:
    """The rollback's line is durable: seal its delta and go on with the documents of then."""
    view = writer.view
    manifest = view.manifest
    if new is None:
        new = unlisted_snapshot(
            writer.folder, manifest, last_seq=line.seq, chain=view.active.chain.decode()
        )
    known = (line.seq, int(line.metadata["to_seq"]))  # type: ignore[arg-type]
    listed = replace(
        manifest,
        rollbacks=(*manifest.rollbacks, known),
        snapshots=((new,) if new else ()) + manifest.snapshots,
    )
    old = view.active
    sealed, next_part = writer.sealed(), writer.new_delta()
    writer.publish(replace(listed, deltas=(*listed.deltas[:-1], sealed, next_part)))
    writer.fold()
    old.part = sealed
    writer.go_on_in(next_part)
    view.load()
    writer.begin(view.active)
