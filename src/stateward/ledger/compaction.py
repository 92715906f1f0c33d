"""What keeps opening fast and the directory small: rotation, compaction, compression, retention; and rollback.

    rotate            seal the active delta and continue in a new one
    compact           newest snapshot + sealed deltas → the next snapshot, of all documents or of those that changed
                      (see `layers`); unchanged stretches are copied unparsed
    compress          gzip what is not live any more; its hash and its part of the Merkle tree go into the manifest
    apply_retention   keep the last 7 snapshots and what they stand on; deltas that none needs go to the archive list
    remove_archived   delete archived deltas on request, leaving tombstones
    rollback          the documents of an earlier snapshot are in effect again; the log keeps everything

All of this goes on while others append and read. Each step makes its new files durable, then replaces the manifest,
then deletes. So a crash at any moment leaves the old list with its files, or the new list with its files, and at most
some files that no list names. `commit_lock` and `state_lock` are held for the short steps alone; reading, merging and
compressing happen outside of them, on files that never change.

A compaction that fails (a full disk) leaves the ledger as it was and does not poison the writer: nothing was appended.
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from itertools import takewhile
from pathlib import Path

from msgspec.structs import replace

from stateward.core.errors import InvalidRequest, LedgerDamaged, LedgerError, UnknownName
from stateward.ledger.delta import Delta, read_chunks, sealed_lines
from stateward.ledger.disk import unlink_if_exists, write_atomically
from stateward.ledger.layers import Layers, SnapshotLines, merge_lines, overlaid
from stateward.ledger.manifest import (
    GZIP_SUFFIX,
    TREE_SUFFIX,
    DeltaInfo,
    SnapshotInfo,
    append_to_archive,
    iso,
    read_archive,
    sidecar,
    unused_name,
)
from stateward.ledger.rebuild import unlisted_snapshot
from stateward.ledger.record import (
    COMPACTED,
    ROLLED_BACK,
    LedgerLine,
    decode_line,
    quoted_id_of,
    rollback_of,
    snapshot_document,
)
from stateward.ledger.snapshot import (
    INDEX_SUFFIX,
    VERSION,
    Header,
    Snapshot,
    SnapshotWriter,
    snapshot_info,
)
from stateward.ledger.summary import Summary, merge_summaries
from stateward.ledger.view import latest_positions, line_at
from stateward.ledger.writer import LedgerWriter
from stateward.proofs.merkle import TileBuilder, leaf_hash

SNAPSHOTS_KEPT = 7
"""A week of nights to go back to."""
DELTA_BYTES_MAX = 64 << 20
"""The active delta is rotated at this size, and a compaction is due when the deltas together exceed it."""
COMPACT_LINES_MAX = 1_000_000
"""One step of a compaction holds the ids of so many lines in memory, about 200 MB, not more."""
TEXTS_BYTES_MAX = 64 << 20
"""Up to this size the lines themselves are held as well, which saves reading them twice."""
PROGRESS_DOCUMENTS = 4096
GZIP_LEVEL = 6
GZIP_WINDOW = 16 + zlib.MAX_WBITS
"""zlib's way of asking for a gzip header. That one has no time in it, so the same text gives the same bytes."""

CompactionProgress = Callable[[str, int, int], None]
"""Called with what is being done, how much is done, and how much there is."""


READS = "read"
"""What a compaction says while it reads lines: then `done` and `all` are those of the whole, not of one step."""


def no_progress(_what: str, _done: int, _all: int) -> None:
    """Report nothing."""


def rotate(writer: LedgerWriter) -> bool:
    """Seal the active delta and continue in a new one; False if there was nothing in it."""
    with writer.commit_lock, writer.state_lock:
        writer.check_usable()
        writer.commit_all()
        if not writer.view.active.end:
            return False
        with writer.poison_on_error():
            writer.seal_and_switch(writer.view.manifest)
        return True


def is_due(writer: LedgerWriter) -> bool:
    """Whether the deltas have grown so much beside the snapshot that a compaction pays.

    A compaction copies the newest snapshot, so it waits for changes worth a quarter of it.
    """
    view = writer.view
    base = view.base_info.bytes if view.base_info else 0
    return sum(delta.end for delta in view.deltas) > max(DELTA_BYTES_MAX, base // 4)


# Compaction


def compact(
    writer: LedgerWriter,
    *,
    snapshots_kept: int = SNAPSHOTS_KEPT,
    is_compressed: bool = True,
    progress: CompactionProgress = no_progress,
) -> SnapshotInfo | None:
    """A new snapshot of everything so far, then compression and retention; None if there was nothing new."""
    with writer.maintenance_lock:
        if not is_idle(writer):
            rotate(writer)
        made: SnapshotInfo | None = None
        while deltas := _next_deltas(writer):
            made = _merge(writer, deltas, replaces=made, progress=progress)
            if made is None:
                return None
        if is_compressed:
            compress(writer, progress=progress)
        apply_retention(writer, snapshots_kept=snapshots_kept)
        return made


def is_idle(writer: LedgerWriter) -> bool:
    """Whether no document has changed since the snapshot: the line that names it must not call for another one."""
    with writer.commit_lock, writer.state_lock:
        writer.check_usable()
        writer.commit_all()
        view = writer.view
        return (
            view.base is not None
            and view.deltas == [view.active]
            and not view.active.summary.adapters
        )


def _next_deltas(writer: LedgerWriter) -> list[Delta]:
    """The oldest sealed deltas after the base, as many as one step may hold."""
    with writer.state_lock:
        sealed = [delta for delta in writer.view.deltas if delta.info.last_seq is not None]
    chosen: list[Delta] = []
    lines = 0
    for delta in sealed:
        lines += delta.seq - delta.info.first_seq + 1
        if chosen and lines > COMPACT_LINES_MAX:
            break
        chosen.append(delta)
    return chosen


def _merge(
    writer: LedgerWriter, deltas: list[Delta], *, replaces: SnapshotInfo | None, progress: CompactionProgress
) -> SnapshotInfo | None:  # fmt: skip
    """One step: base + deltas → a new base. `replaces` is the base that the step before made, not needed any more."""
    with writer.state_lock:
        base, base_info = writer.view.base, writer.view.base_info
    before = base.header.summary if base else Summary()
    summary = merge_summaries([before, *(delta.summary for delta in deltas)])
    last = deltas[-1]
    try:
        header = _header(writer, summary, last_seq=last.seq, chain=last.chain.decode())
        new = _write_next(writer, header, base, deltas, progress=progress)
    except (LedgerDamaged, OSError) as error:
        names = {path.name for path in base.paths} if base else set()
        if isinstance(error, LedgerDamaged) and error.findings[0].file in names:
            with writer.commit_lock, writer.state_lock:
                writer.view.drop_base(error)
                writer.quarantine_snapshots()
            return None
        raise LedgerError(f"the compaction of {writer.folder} failed: {error}") from error
    with writer.commit_lock, writer.state_lock:
        view = writer.view
        if view.base_info != base_info or view.deltas[: len(deltas)] != deltas:
            # A look-up found the base damaged meanwhile: this snapshot was made of other files than are in use now.
            _delete_snapshot(writer, new.file)
            return None
        if replaces is not None and new.base == replaces.root:
            replaces = None
        older = tuple(info for info in view.manifest.snapshots if info != replaces)
        with writer.poison_on_error():
            # Before the manifest: a snapshot that is in use is always named in the log.
            _name_in_log(writer, new)
            writer.publish(replace(view.manifest, snapshots=(new, *older)))
            view.rebase(new, len(deltas))
            if replaces is not None:
                _delete_snapshot(writer, replaces.file)
    return new


def _name_in_log(writer: LedgerWriter, info: SnapshotInfo) -> None:
    """Chain the root of a snapshot into the log, durable when this returns."""
    details: dict[str, object] = {"snapshot": info.file}
    details |= {"last_seq": info.last_seq, "root": info.root}
    writer.commit(writer.add_control_line(COMPACTED, details).seq)


def _header(
    writer: LedgerWriter, summary: Summary, *, last_seq: int, chain: str, rolled_back_to: int | None = None
) -> Header:  # fmt: skip
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
        summary=summary,
        rolled_back_to=rolled_back_to,
    )


def _write_next(
    writer: LedgerWriter, header: Header, base: Layers | None, deltas: Sequence[Delta], *,
    progress: CompactionProgress,
) -> SnapshotInfo:  # fmt: skip
    """The snapshot after `base` and `deltas`: of what has changed since the layer below, or of everything."""
    every = writer.view.active.seq
    keys, line_of = _changed_documents(deltas, lambda delta: progress(READS, delta.seq, every))

    def changes() -> SnapshotLines:
        for count, key in enumerate(keys, 1):
            yield key, snapshot_document(decode_line(line_of(key)))
            if count % PROGRESS_DOCUMENTS == 0:
                progress("compact", count, len(keys))

    if base is None:
        return _write_snapshot(writer, header, None, changes())
    header.base = base.layer_below_next(len(keys))
    if header.base is not None:
        return _write_snapshot(writer, header, base.top if base.below else None, changes())
    newer = overlaid(base.top.lines(), changes()) if base.below else changes()
    return _write_snapshot(writer, header, base.bottom, newer)


def _write_snapshot(
    writer: LedgerWriter, header: Header, copied: Snapshot | None, changes: SnapshotLines
) -> SnapshotInfo:
    """The lines of another snapshot with these changes."""
    # A day may have several. A name that the manifest lists is taken even if only its compressed form is there.
    taken = {info.file for info in writer.view.manifest.snapshots}
    name = unused_name(writer.folder, "snapshot", ".json", writer.clock(), taken=taken)
    out = SnapshotWriter(writer.disk, writer.folder / name, header)
    try:
        for lines in merge_lines(copied.pieces() if copied else iter(()), changes):
            out.add(lines)
        root = out.finish()
    except BaseException:
        out.abandon()
        raise
    size = (writer.folder / name).stat().st_size
    return snapshot_info(name, header, root=root, size=size)


def _changed_documents(
    deltas: Sequence[Delta], read: Callable[[Delta], None]
) -> tuple[list[bytes], Callable[[bytes], bytes]]:
    """The sorted ids of the documents that have lines in these deltas, and how to get the last line of each.

    `read` hears of each delta that was read: that takes longest where few documents have many lines.
    """
    if sum(delta.end for delta in deltas) <= TEXTS_BYTES_MAX:
        texts = {quoted_id_of(text): text for delta in deltas for text, _ in delta.lines()}
        texts.pop(b'""', None)  # control lines
        return sorted(texts), texts.__getitem__
    positions = latest_positions(deltas, read)
    return sorted(positions), lambda key: line_at(deltas, positions[key])


def _delete_snapshot(writer: LedgerWriter, file: str) -> None:
    """All forms of it: as it is listed, its index, and the plain form that was unpacked for look-ups."""
    plain = file.removesuffix(GZIP_SUFFIX)
    for name in (file, plain + INDEX_SUFFIX, plain):
        unlink_if_exists(writer.disk, writer.folder / name)


# Compression, retention, removal


def compress(writer: LedgerWriter, *, progress: CompactionProgress = no_progress) -> int:
    """Compress what is not live: sealed deltas that the newest snapshot covers, and older snapshots."""
    with writer.state_lock:
        manifest, base = writer.view.manifest, writer.view.base_info
        live = _live_files(writer)
    if base is None:
        return 0
    deltas = [
        info for info in manifest.deltas
        if info.last_seq is not None and info.last_seq <= base.last_seq and not _is_compressed(info)
    ]  # fmt: skip
    snapshots = [
        info.file
        for info in manifest.snapshots
        if info.file not in live and not info.file.endswith(GZIP_SUFFIX)
    ]
    count = len(deltas) + len(snapshots)
    done: dict[str, DeltaInfo] = {}
    for info in deltas:
        path = writer.folder / info.file
        try:
            digest, tree, size = fingerprint(path, info)
        except (LedgerDamaged, FileNotFoundError) as error:
            # Packed, the manifest would vouch for it as it is now: it stays, for `verify` to name.
            writer.view.note(f"{info.file} was not compressed: {error}")
            continue
        # Derived, so it need not be durable: tiles that do not give the span in the manifest are not used.
        tiles = writer.folder / sidecar(info.file, TREE_SUFFIX)
        write_atomically(writer.disk, tiles, b"".join(tree.tiles), durable=False)
        file = info.file
        if path.suffix != GZIP_SUFFIX:
            file += GZIP_SUFFIX
            _gzip(writer, path)
        done[info.file] = replace(
            info, file=file, sha256=digest, span=tree.span.packed(), bytes=size
        )
        progress("compress", len(done), count)
    packed = [file for file in snapshots if (writer.folder / file).exists()]
    for number, file in enumerate(packed, 1):
        _gzip(writer, writer.folder / file)
        progress("compress", len(done) + number, count)
    if done or packed:
        _publish_compressed(writer, done, set(packed))
    return len(done) + len(packed)


def _publish_compressed(
    writer: LedgerWriter, deltas: dict[str, DeltaInfo], snapshots: set[str]
) -> None:
    """Name the compressed files in place of the plain ones, then delete those."""
    with writer.commit_lock, writer.state_lock, writer.poison_on_error():
        now = writer.view.manifest
        writer.publish(
            replace(
                now,
                deltas=tuple(deltas.get(info.file, info) for info in now.deltas),
                snapshots=tuple(
                    replace(info, file=info.file + GZIP_SUFFIX) if info.file in snapshots else info
                    for info in now.snapshots
                ),
            )
        )
        for name in (*(name for name, info in deltas.items() if info.file != name), *snapshots):
            unlink_if_exists(writer.disk, writer.folder / name)
        for name in snapshots:
            unlink_if_exists(writer.disk, writer.folder / (name + INDEX_SUFFIX))


def _is_compressed(info: DeltaInfo) -> bool:
    """Whether nothing is left to do; a delta of an older version is packed, but has no span for proofs yet."""
    return info.is_removed or (info.file.endswith(GZIP_SUFFIX) and info.span is not None)


def fingerprint(path: Path, info: DeltaInfo) -> tuple[str, TileBuilder, int]:
    """SHA-256, part of the Merkle tree, and bytes of a sealed delta's text, in one pass. Raises `LedgerDamaged`."""
    digest, tree, size = sha256(), TileBuilder(info.first_seq - 1), 0

    def chunks() -> Iterator[bytes]:
        nonlocal size
        for data in read_chunks(path):
            digest.update(data)
            size += len(data)
            yield data

    for text, _ in sealed_lines(chunks(), info):
        tree.add(leaf_hash(text))
    tree.finish()
    return digest.hexdigest(), tree, size


def _gzip(writer: LedgerWriter, path: Path) -> None:
    """Write the compressed form beside the plain one, durable."""

    def compressed() -> Iterator[bytes]:
        packer = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, GZIP_WINDOW)
        for data in read_chunks(path):
            yield packer.compress(data)
        yield packer.flush()

    write_atomically(writer.disk, path.with_name(path.name + GZIP_SUFFIX), compressed())


def apply_retention(writer: LedgerWriter, *, snapshots_kept: int = SNAPSHOTS_KEPT) -> list[str]:
    """Delete the oldest snapshots, and move deltas that no kept one needs to the archive list.

    What a kept snapshot stands on is kept too. And one damaged file must not take all of them away: while they stand on
    the same one, the newest that does not is kept as well.
    """
    if snapshots_kept < 1:
        raise InvalidRequest("at least one snapshot is kept")
    with writer.commit_lock, writer.state_lock:
        manifest = writer.view.manifest
        keep = _kept_snapshots(manifest.snapshots, snapshots_kept)
        drop = [info for info in manifest.snapshots if info not in keep]
        oldest = min((info.last_seq for info in keep), default=0)

        def is_old(info: DeltaInfo) -> bool:
            return info.last_seq is not None and info.last_seq <= oldest and _is_compressed(info)

        # Up to the first that was not compressed: the archive comes before all deltas of the list.
        move = list(takewhile(is_old, manifest.deltas))
        if drop or move:
            with writer.poison_on_error():
                if move:
                    manifest = append_to_archive(writer.disk, writer.folder, manifest, move)
                deltas = tuple(info for info in manifest.deltas if info not in move)
                writer.publish(replace(manifest, snapshots=keep, deltas=deltas))
                for info in drop:
                    _delete_snapshot(writer, info.file)
        _delete_plain_twins(writer)
        return [info.file for info in drop]


def _kept_snapshots(infos: Sequence[SnapshotInfo], count: int) -> tuple[SnapshotInfo, ...]:
    """The newest, what they stand on, and one that stands on something else."""
    chosen = list(infos[:count])
    bottoms = {info.bottom for info in chosen}
    if count > 1 and len(bottoms) == 1:
        chosen += [info for info in infos if info.bottom not in bottoms][:1]
        bottoms = {info.bottom for info in chosen}
    return tuple(info for info in infos if info in chosen or info.root in bottoms)


def _live_files(writer: LedgerWriter) -> set[str]:
    """The snapshots that look-ups use, by their plain names."""
    base = writer.view.base
    return {path.name for path in base.paths} if base is not None else set()


def _delete_plain_twins(writer: LedgerWriter) -> None:
    """Delete plain forms of compressed files that a crash left, or that were decompressed for a fallback."""
    view = writer.view
    live = {delta.path.name for delta in (*view.deltas, view.active)} | _live_files(writer)
    files = [each.file for each in view.manifest.deltas]
    for file in files + [each.file for each in view.manifest.snapshots]:
        plain = file.removesuffix(GZIP_SUFFIX)
        if plain != file and plain not in live:
            unlink_if_exists(writer.disk, writer.folder / plain)


def remove_archived(
    writer: LedgerWriter, *, up_to: int, reason: str, is_executed: bool
) -> list[DeltaInfo]:
    """Archived deltas that end at or before seq `up_to`; with `is_executed` they are deleted, leaving tombstones.

    The tombstone is durable before the file goes: a missing file without one would be damage.
    """
    with writer.maintenance_lock, writer.commit_lock, writer.state_lock:
        manifest, folder, disk = writer.view.manifest, writer.folder, writer.disk
        tombstones = [
            replace(info, removed_at=iso(writer.clock()), reason=reason)
            for info in read_archive(folder, manifest)
            if not info.is_removed and info.last_seq is not None and info.last_seq <= up_to
        ]
        if tombstones and is_executed:
            with writer.poison_on_error():
                writer.publish(append_to_archive(disk, folder, manifest, tombstones))
                for info in tombstones:
                    unlink_if_exists(disk, folder / info.file)
                    for suffix in (INDEX_SUFFIX, TREE_SUFFIX):
                        unlink_if_exists(disk, folder / sidecar(info.file, suffix))
        return tombstones


# Rollback


def find_snapshot(infos: Sequence[SnapshotInfo], to: str | int) -> SnapshotInfo:
    """The newest snapshot of that date, that name, or that seq."""
    for info in infos:
        names = (info.file, info.file.removesuffix(GZIP_SUFFIX))
        is_named = isinstance(to, str) and to and (to in names or info.created_at.startswith(to))
        if to == info.last_seq or is_named:
            return info
    raise UnknownName("snapshot", str(to), [info.file for info in infos])


def rollback(
    writer: LedgerWriter, to: str | int, *, reason: str = "", actor: str | None = None
) -> SnapshotInfo:
    """Put the documents of an earlier snapshot into effect again. The log keeps all, and says what happened.

    In this order: the new snapshot (a copy of the old one under the number of the rollback), the line in the log, the
    manifest. The line is the commit point. A crash before it leaves a snapshot that no manifest lists; after it, the
    next opening finds the line at the end of the log and completes the rest.
    """
    with writer.maintenance_lock, writer.commit_lock, writer.state_lock:
        writer.check_usable()
        writer.commit_all()
        view = writer.view
        target = find_snapshot(view.manifest.snapshots, to)
        source = view.open_layers(target, view.manifest)
        source.verify()
        back = source.header.summary
        summary = replace(view.summary(), counts=back.counts, sources=back.sources)
        summary.records += 1
        details: dict[str, object] = {"to_seq": target.last_seq, "snapshot": target.file}
        details |= {"reason": reason, "actor": actor or ""}
        line = writer.add_control_line(ROLLED_BACK, details)
        head, back_to = writer.head.decode(), target.last_seq
        header = _header(writer, summary, last_seq=line.seq, chain=head, rolled_back_to=back_to)
        header.base = source.header.base
        try:
            new = _write_snapshot(writer, header, source.top, iter(()))
        except OSError as error:
            writer.retract(line)
            raise LedgerError(f"the rollback of {writer.folder} failed: {error}") from error
        writer.commit(line.seq)
        with writer.poison_on_error():
            complete_rollback(writer, line, new)
        return new


def complete_rollback(writer: LedgerWriter, line: LedgerLine, new: SnapshotInfo | None) -> None:
    """The rollback's line is durable: seal its delta and continue with the documents of then."""
    view = writer.view
    manifest = view.manifest
    if new is None:
        head = view.active.chain.decode()
        new = unlisted_snapshot(writer.folder, manifest, last_seq=line.seq, chain=head)
    rollbacks = (*manifest.rollbacks, rollback_of(line))
    snapshots = ((new,) if new else ()) + manifest.snapshots
    writer.seal_and_switch(replace(manifest, rollbacks=rollbacks, snapshots=snapshots))
    view.load()
    writer.restart_after(view.active)
    if new is not None:
        _name_in_log(writer, new)
