"""The present state according to the files: the newest intact snapshot and the deltas after it. Reads only, no lock.

Opening goes in this order: `HEAD` (first, so that the log can only be longer than it says), the manifest or, if that
is lost, what the directory implies; the newest snapshot whose checksum and place in the log match, else the one
before it, else none; then every delta after it. If no snapshot is intact the whole log must be there from its first
line; deltas without their base are used only with `is_partial_allowed`, and then every answer is marked partial.
Whatever was used in place of something damaged is listed in `notes`.

A rollback at R to S removes the lines after S up to R from the state (`manifest.effective_ranges`). It always seals its
delta, and snapshots end where deltas end, so the present state is always one snapshot and whole deltas.

A reader follows a live writer by looking again: at the size of the last delta, and at the manifest when its inode,
time or size has changed. A file that vanished between two looks means that the manifest that was read is outdated.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from operator import itemgetter
from pathlib import Path

from msgspec.structs import replace

from stateward.core.errors import LedgerDamaged, LedgerError, LedgerMismatch
from stateward.ledger.delta import Delta, read_chunks, sealed_lines
from stateward.ledger.delta_index import INDEX_SUFFIX, DeltaIndex, IndexDamaged, key_hash
from stateward.ledger.disk import Disk, create_empty, write_atomically
from stateward.ledger.head import read_head
from stateward.ledger.layers import Layers
from stateward.ledger.manifest import (
    GZIP_SUFFIX,
    HEAD,
    MANIFEST,
    MISSING,
    SEQ_MAX,
    TREE_SUFFIX,
    DeltaInfo,
    Manifest,
    SnapshotInfo,
    effective_ranges,
    is_ledger,
    layers_of,
    read_archive,
    read_manifest,
    sidecar,
)
from stateward.ledger.rebuild import rebuild_manifest
from stateward.ledger.record import (
    LedgerLine,
    decode_json,
    decode_line,
    line_from_snapshot,
    quoted_id,
    quoted_id_of,
    rollback_of,
)
from stateward.ledger.snapshot import Snapshot
from stateward.ledger.summary import Summary, merge_summaries
from stateward.proofs.merkle import MerkleSpan, leaf_hash, tiles_in

ATTEMPTS_MAX = 20
"""A writer replaces the manifest a few times a day; a reader that loses this race so often has another problem."""
STALE = "it is older than the other files, as after restoring it alone; it can be rebuilt from them"
NO_HEAD = "HEAD is missing or damaged, so nothing says whether it had been acknowledged"
HEAD_LOST = (
    "it is missing, damaged or older than the manifest, so nothing says whether lines after seq {seq} were lost; "
    "compare with a checkpoint or a backup"
)
OFFSET_BITS = 48
"""The position of a line in one of several deltas is one int: number of the delta, then offset of up to 256 TiB."""
Progress = Callable[[str, int], None]
"""Called now and then with what is being read, and how many lines or files were."""


def no_progress(_what: str, _count: int) -> None:
    """Report nothing."""


class LedgerView:
    """The state of a ledger directory at one moment, and how to move on to the next."""

    def __init__(
        self, folder: Path, *, disk: Disk | None = None, is_partial_allowed: bool = False
    ) -> None:
        """Open it. With a `disk`, which only the writer has, files that must be decompressed are put back in place.

        Raises `LedgerDamaged`.
        """
        self.folder = folder
        self._manifest_path = folder / MANIFEST
        self.notes: list[str] = []
        self.bad: set[str] = set()
        """Snapshots that turned out to be damaged, or stand on one that did."""
        self._disk = disk
        self._is_partial_allowed = is_partial_allowed
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self.base: Layers | None = None
        self.base_info: SnapshotInfo | None = None
        self.deltas: list[Delta] = []
        """The deltas that the present state is made of; usually the active one is the last of them."""
        self.is_partial = False
        self.was_rebuilt = False
        self._stamp: tuple[int, int, int] | None = None
        try:
            self.load()
        except BaseException:
            self._drop_scratch()
            raise

    # Opening

    def load(self) -> None:
        """Read everything again."""
        for attempt in range(ATTEMPTS_MAX):
            try:
                self._load_once()
            except FileNotFoundError:
                if attempt == ATTEMPTS_MAX - 1:
                    raise
            except LedgerDamaged:
                # The writer may have moved on between our looks at the manifest and at the files.
                if attempt == ATTEMPTS_MAX - 1 or self._stamp == self._manifest_stamp():
                    raise
            else:
                return
        raise LedgerError(f"{self.folder} changed too often while it was being opened")

    def _load_once(self) -> None:
        """HEAD, the manifest, the active delta, a base, the deltas after it; HEAD first, because it only ever grows."""
        head = read_head(self.folder)
        self._stamp = self._manifest_stamp()
        listed = read_manifest(self.folder)
        if listed is not None and listed.generation < head.generation:
            raise LedgerDamaged.at(MANIFEST, STALE)
        if listed is not None:
            head = head.beside(listed, self.folder)
        else:
            if not is_ledger(self.folder):
                raise LedgerMismatch(f"{self.folder} is not a ledger")
            listed = rebuild_manifest(self.folder)
            self.was_rebuilt = True
            self.note("the manifest was missing or damaged and was rebuilt from the files")
        # The active delta first: its tail may hold a rollback that the manifest does not know yet.
        active = self._open_delta(listed.active, listed, head.seq)
        if head.is_unknown and active.has_more:
            self.note(f"{active.path.name}: its last line is torn and not used; {NO_HEAD}")
        elif not head.is_whole and active.seq:
            self.note(f"{HEAD}: {HEAD_LOST.format(seq=active.seq)}")
        last = active.last
        manifest = _with_rollback(listed, last) if last and last.is_rollback else listed
        ranges = effective_ranges(manifest.rollbacks)
        self.base, self.base_info = self._choose_base(manifest, ranges)
        self.deltas = [
            active
            if info.first_seq == active.info.first_seq
            else self._open_delta(info, manifest, 0)
            for info in self._needed_deltas(manifest, ranges)
        ]
        self.active = active
        self.manifest = listed
        self._salt = listed.salt.encode()
        self._base_summary = self.base.header.summary if self.base else Summary()

    def _manifest_stamp(self) -> tuple[int, int, int] | None:
        """What changes when the manifest is replaced; a rename gives it another inode even within one clock tick."""
        try:
            seen = self._manifest_path.stat()
        except FileNotFoundError:
            return None
        return seen.st_ino, seen.st_mtime_ns, seen.st_size

    def manifest_published(self, manifest: Manifest) -> None:
        """The writer itself replaced the manifest, so there is nothing in it to be read."""
        self.manifest = manifest
        self._stamp = self._manifest_stamp()

    def _open_delta(self, info: DeltaInfo, manifest: Manifest, head_seq: int) -> Delta:
        """A delta, unpacked where necessary; `head_seq` is how far the active one must reach at least."""
        path = self.plain_path(info.file)
        if self.was_rebuilt and info == manifest.active and not path.exists():
            # The files show no delta to append to. A reader makes its own, in its scratch folder.
            path = path if self._disk else self._scratch_path() / path.name
            create_empty(self._disk or Disk(), path)
        info = replace(info, file=path.name)
        return Delta(path.parent, info, salt=manifest.salt, head_seq=head_seq)

    def _choose_base(
        self, manifest: Manifest, ranges: list[tuple[int, int]]
    ) -> tuple[Layers | None, SnapshotInfo | None]:
        """The newest sound snapshot that no rollback has undone. A damaged one costs time, not answers."""
        for info in manifest.snapshots:
            if info.file in self.bad or not any(low <= info.last_seq <= up for low, up in ranges):
                continue
            layers = self._open_layers(info, manifest)
            if layers is None:
                continue
            if self.bad:
                self.note(f"snapshot {info.file} and the deltas after it were used instead")
            return layers, info
        if manifest.snapshots:
            self.note("no snapshot is sound; the whole log was used instead")
        return None, None

    def _open_layers(self, info: SnapshotInfo, manifest: Manifest) -> Layers | None:
        """A snapshot with what is below it; None if one of them is damaged."""
        try:
            return self.open_layers(info, manifest)
        except FileNotFoundError as error:
            if self._stamp != self._manifest_stamp():
                raise
            self._drop_layers(info, manifest, Path(error.filename).name, error)
        except LedgerDamaged as error:
            self._drop_layers(info, manifest, error.findings[0].file, error)
        return None

    def open_layers(self, info: SnapshotInfo, manifest: Manifest) -> Layers:
        """A listed snapshot with what is below it. Raises `LedgerDamaged`."""
        infos = layers_of(info, manifest.snapshots)
        if infos is None:
            raise LedgerDamaged.at(info.file, "the snapshot below it is not listed")
        return Layers(*map(self._open_snapshot, infos))

    def _open_snapshot(self, info: SnapshotInfo) -> Snapshot:
        """A snapshot that is what the manifest says; a file of an older backup in its place is not."""
        snapshot = Snapshot(self.plain_path(info.file), root=info.root)
        header = snapshot.header
        if (header.last_seq, header.chain) != (info.last_seq, info.chain):
            raise LedgerDamaged.at(info.file, "it was made at another place in the log")
        if info.base != (header.base.root if header.base else None):
            raise LedgerDamaged.at(
                info.file, "it stands on another snapshot than the manifest says"
            )
        return snapshot

    def _drop_layers(
        self, top: SnapshotInfo, manifest: Manifest, found: str, error: Exception
    ) -> None:
        """Use neither the file that was found to be bad, which is this snapshot or below it, nor what stands on it."""
        infos = layers_of(top, manifest.snapshots) or [top]
        found = found.removesuffix(GZIP_SUFFIX)
        bad = next((info for info in infos if info.file.removesuffix(GZIP_SUFFIX) == found), top)
        above = (info.file for info in manifest.snapshots if info.base == bad.root)
        self.bad.update((bad.file, *above))
        self.note(f"snapshot {bad.file} was not used: {error}")

    def _needed_deltas(self, manifest: Manifest, ranges: list[tuple[int, int]]) -> list[DeltaInfo]:
        """The deltas after the base that make up the state, oldest first. Every gap is reported."""
        base_seq = self.base_info.last_seq if self.base_info else 0
        every = list(manifest.deltas)
        if self.base_info is None or every[0].first_seq > base_seq + 1:
            every = read_archive(self.folder, manifest) + every
        needed: list[DeltaInfo] = []
        for low, up in ranges:
            start = max(low, base_seq)
            found = [
                info for info in every
                if info.first_seq > start and info.end_seq <= up
                and (info.last_seq is not None or up == SEQ_MAX)
                and not info.is_removed and self._existing(info.file).exists()
            ]  # fmt: skip
            expected = start + 1
            for info in found:
                if info.first_seq != expected:
                    self._report_gap(expected, info.first_seq - 1)
                expected = info.end_seq + 1
            if up != SEQ_MAX and expected <= up:
                self._report_gap(expected, up)
            needed = found + needed
            if low <= base_seq <= up:
                break
        return needed

    def _report_gap(self, first: int, last: int) -> None:
        """Lines that nothing replaces: refused, unless the caller asked for what there is, and is told so."""
        sentence = (
            f"the lines with seq {first} to {last} are missing, and no sound snapshot has them"
        )
        if not self._is_partial_allowed:
            raise LedgerDamaged.at(MANIFEST, sentence, seq=first)
        self.is_partial = True
        self.note(f"{sentence}; every answer is partial")

    def note(self, sentence: str) -> None:
        """Say what was used in place of something damaged, or could not be done about it."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def plain_path(self, file: str) -> Path:
        """The path of a file, decompressed if necessary: into the ledger by its writer, into a scratch folder else."""
        path = self.folder / file
        if path.suffix != GZIP_SUFFIX:
            return path
        plain = path.with_suffix("")
        if not plain.exists() and self._disk is None:
            plain = self._scratch_path() / plain.name
        if not plain.exists():
            write_atomically(self._disk or Disk(), plain, read_chunks(path))
        return plain

    def _scratch_path(self) -> Path:
        if self._scratch is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="stateward-ledger-")
        return Path(self._scratch.name)

    # Following a writer

    def refresh(self) -> bool:
        """Read what a writer added; whether the list of files had changed."""
        if self._manifest_stamp() != self._stamp:
            self.load()
            return True
        active = self.active
        if not active.has_more:
            return False
        has_rollback = any(line.is_rollback for line in active.refresh())
        if not has_rollback and active.has_more:
            head_seq = read_head(
                self.folder
            ).seq  # before the next look: then it is about this delta
            active.torn_bytes(head_seq if self._manifest_stamp() == self._stamp else 0)
            last = active.last
            has_rollback = last is not None and last.is_rollback
        if has_rollback:
            self.load()
        return has_rollback

    # Look-ups

    def latest_line(self, doc_id: str) -> LedgerLine | None:
        """The last line of a document that is in effect, or None."""
        key = quoted_id(doc_id)
        hashed = -1
        for delta in reversed(self.deltas):
            if delta.summary.adapters:  # lines about documents, not about the ledger alone
                hashed = hashed if hashed >= 0 else key_hash(key, self._salt)
                line = delta.latest(doc_id, key, hashed)
                if line is not None:
                    return line
        if self.base is None:
            return None
        try:
            kept = self.base.get(key)
        except LedgerDamaged as error:
            self.drop_base(error)
            return self.latest_line(doc_id)
        return None if kept is None else line_from_snapshot(doc_id, kept)

    def drop_base(self, error: LedgerDamaged) -> None:
        """The snapshot in use turned out to be damaged: continue with the one before it, or the whole log."""
        if self.base_info is None:
            raise error
        self._drop_layers(self.base_info, self.manifest, error.findings[0].file, error)
        self.load()

    def rebase(self, info: SnapshotInfo, merged: int) -> None:
        """A new snapshot replaces the base and the oldest `merged` deltas."""
        open_now = {} if self.base is None else {self.base.bottom.checksum.root: self.base.bottom}
        below = open_now[info.base] if info.base else None
        self.base = Layers(Snapshot(self.folder / info.file, root=info.root), below)
        self.base_info = info
        self._base_summary = self.base.header.summary
        self.deltas = self.deltas[merged:]

    def summary(self) -> Summary:
        """Totals over everything that is in effect."""
        return merge_summaries([self._base_summary, *(delta.summary for delta in self.deltas)])

    def latest_lines(self, state: str | None = None) -> Iterator[LedgerLine]:
        """The last line of every document, sorted by quoted id; only of those in `state`, if given."""
        deltas, base = list(self.deltas), self.base
        positions = latest_positions(deltas)

        def changed() -> Iterator[tuple[bytes, LedgerLine]]:
            for key in sorted(positions):
                line = decode_line(line_at(deltas, positions[key]))
                if state is None or line.new_state == state:
                    yield key, line

        def unchanged() -> Iterator[tuple[bytes, LedgerLine]]:
            if base is not None:
                for key, kept in base.lines() if state is None else base.in_state(state):
                    if key not in positions:
                        yield key, line_from_snapshot(decode_json(key), kept)

        for _, line in merge(changed(), unchanged(), key=itemgetter(0)):
            yield line

    def history(self, doc_id: str) -> list[bytes]:
        """Every line of a document, oldest first, also those that were rolled back or archived."""
        key = quoted_id(doc_id)
        hashed = key_hash(key, self._salt)
        found: list[bytes] = []
        for info in self.segments():
            delta = self._delta_of(info)
            if delta is not None:
                found += delta.history(doc_id, key, hashed)
            elif not info.is_removed and self._may_hold(info, hashed):
                stored = sealed_lines(self._stored_chunks(info), info)
                found += [text for text, line in stored if line.doc_id == doc_id]
        return found

    def _may_hold(self, info: DeltaInfo, hashed: int) -> bool:
        """False if the index of an archived delta says that the document has no line in it."""
        path = self.folder / sidecar(info.file, INDEX_SUFFIX)
        loaded = DeltaIndex.load(path, salt=self.manifest.salt)
        if loaded is None or loaded[1].seq != info.last_seq:
            return True
        try:
            return any(True for _ in loaded[0].find(hashed))
        except IndexDamaged:
            return True

    # The whole log

    def segments(self) -> list[DeltaInfo]:
        """Every segment of the log, oldest first, also archived ones and tombstones."""
        return read_archive(self.folder, self.manifest) + list(self.manifest.deltas)

    def log_lines(self, *, after: int = 0) -> Iterator[tuple[bytes, LedgerLine]]:
        """Every line of the log with a greater seq, in order, checked, as text and read; without removed segments."""
        listed = self.manifest.deltas
        for info in listed if after + 1 >= listed[0].first_seq else self.segments():
            if not info.is_removed and (info.last_seq is None or info.last_seq > after):
                yield from self.segment_lines(info, after=after)

    def segment_lines(
        self, info: DeltaInfo, *, after: int = 0
    ) -> Iterator[tuple[bytes, LedgerLine]]:
        """The lines of one segment with a greater seq, checked."""
        delta = self._delta_of(info)
        if delta is not None:
            yield from delta.lines(after=after)
            return
        for text, line in sealed_lines(self._stored_chunks(info), info):
            if line.seq > after:
                yield text, line

    def tree_pieces(
        self, *, size: int, trusts_spans: bool, progress: Progress, with_line: int = 0
    ) -> Iterator[MerkleSpan | bytes]:
        """What the Merkle tree over the first `size` lines is made of: lines, or spans where they were removed.

        With `trusts_spans` the spans that the manifest holds, and tiles that fit them, are used for other deltas too,
        which is fast but proves nothing about the files; the block with the line `with_line` is read all the same.
        """
        for info in self.segments():
            if info.first_seq > size:
                return
            span = info.merkle_span
            is_skipped = trusts_spans and not info.first_seq <= with_line <= info.end_seq
            if span is not None and (info.is_removed or (is_skipped and info.end_seq <= size)):
                yield span
                continue
            progress(info.file, info.first_seq)
            tiles = list[MerkleSpan]()
            path = self.folder / sidecar(info.file, TREE_SUFFIX)
            if trusts_spans and span is not None and path.exists():
                tiles = tiles_in(path.read_bytes(), span)  # none if they are not its own
            for tile in tiles:
                if tile.end > size or tile.start < with_line <= tile.end:
                    yield from self._block_lines(info, tile)
                else:
                    yield tile
            if not tiles:
                yield from (text for text, _ in self.segment_lines(info))

    def _block_lines(self, info: DeltaInfo, block: MerkleSpan) -> list[bytes]:
        """The lines of one tile, checked against it. Raises `LedgerDamaged`."""
        first = block.start - (info.first_seq - 1)
        chunks = self._stored_chunks(info)
        lines = _lines_between(chunks, first, first + block.end - block.start)
        found = MerkleSpan(block.start)
        found.add_leaves([leaf_hash(text) for text in lines])
        if list(found.subtrees()) != list(block.subtrees()):
            sentence = "the lines here are not those that it was compressed from"
            raise LedgerDamaged.at(info.file, sentence, seq=block.start + 1)
        return lines

    def _delta_of(self, info: DeltaInfo) -> Delta | None:
        for delta in (*self.deltas, self.active):
            if delta.info.first_seq == info.first_seq:
                return delta
        return None

    def _stored_chunks(self, info: DeltaInfo) -> Iterator[bytes]:
        """The text of a segment that is not open. Raises `LedgerDamaged` where it is lost."""
        path = self._existing(info.file)
        if not path.exists():
            raise LedgerDamaged.at(info.file, MISSING, seq=info.first_seq)
        return read_chunks(path)

    def _existing(self, file: str) -> Path:
        """The file, or its other form if it was compressed or decompressed since the manifest was read."""
        path = self.folder / file
        other = (
            path.with_suffix("")
            if path.suffix == GZIP_SUFFIX
            else path.with_name(file + GZIP_SUFFIX)
        )
        return path if path.exists() or not other.exists() else other

    def close(self) -> None:
        for delta in (*self.deltas, self.active):
            delta.close()
        self.base, self.deltas = None, []
        self._drop_scratch()

    def _drop_scratch(self) -> None:
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None


def _lines_between(chunks: Iterator[bytes], first: int, last: int) -> list[bytes]:
    """The lines `first` up to, not including, `last` of a text; what comes before them is only counted."""
    found: list[bytes] = []
    at, rest = 0, b""
    for data in chunks:
        count = data.count(b"\n")
        if at + count <= first:
            rest = data[data.rfind(b"\n") + 1 :] if count else rest + data
        else:
            *texts, rest = (rest + data).split(b"\n")
            found += (text + b"\n" for text in texts[max(0, first - at) : last - at])
            if at + count >= last:
                break
        at += count
    return found


def latest_positions(
    deltas: Sequence[Delta], read: Callable[[Delta], None] = lambda _: None
) -> dict[bytes, int]:
    """Quoted id → position of its last line, for every document in these deltas; `read` hears of each one read."""
    positions: dict[bytes, int] = {}
    for number, delta in enumerate(deltas):
        position = number << OFFSET_BITS
        for text, _ in delta.lines():
            positions[quoted_id_of(text)] = position
            position += len(text)
        read(delta)
    positions.pop(b'""', None)  # control lines
    return positions


def line_at(deltas: Sequence[Delta], position: int) -> bytes:
    """The line at a position that `latest_positions` gave, checked."""
    return deltas[position >> OFFSET_BITS].line_at(position & ((1 << OFFSET_BITS) - 1))


def _with_rollback(manifest: Manifest, line: LedgerLine) -> Manifest:
    """The manifest as it will be once the rollback that `line` records has been completed."""
    known = rollback_of(line)
    if known in manifest.rollbacks:
        return manifest
    sealed = replace(manifest.active, last_seq=line.seq)
    rollbacks, deltas = (*manifest.rollbacks, known), (*manifest.deltas[:-1], sealed)
    return replace(manifest, rollbacks=rollbacks, deltas=deltas)
