"""What the files say now: the newest sound snapshot and the deltas after it. Reads only, takes no lock.

Submission goes, in this order: `HEAD` (so that the log can only be longer than it says), the manifest or, if that
is lost, the directory; the newest snapshot whose checksum and place match, else the one before it, else nothing;
then every delta after it. If no snapshot is sound the whole log must be there from its first line; deltas alone,
without their base, are used only when that was asked for, and then every answer is marked partial.
What was used instead of what is kept in `notes`, and said.

A rollback at R to S takes the lines after S up to R out of the state (`manifest.effective`). It always seals its
delta, and snapshots end where deltas end, so the present state is always a snapshot and whole deltas.

A reader follows a live writer by looking again: at the size of the last delta, and at the manifest when that was
replaced. A file that vanished between two looks means that the list is old, so the list is read again.
"""

import os
import struct
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from heapq import merge
from operator import itemgetter
from pathlib import Path

import msgspec
from msgspec.structs import replace

from stateward.ledger.chain import PREVIOUS_BYTES
from stateward.ledger.delta import Delta, checked_lines, plain_chunks
from stateward.ledger.disk import TEMPORARY, Disk, discard
from stateward.ledger.errors import (
    Finding,
    LedgerDamaged,
    LedgerError,
    LedgerMismatch,
)
from stateward.ledger.index import (
    SUFFIX,
    Index,
    IndexDamaged,
    hash_of,
)
from stateward.ledger.manifest import (
    GZ,
    HEAD,
    MANIFEST,
    DeltaPart,
    Manifest,
    SnapshotPart,
    effective,
    read_archive,
    read_manifest,
)
from stateward.ledger.rebuild import is_ledger, rebuilt
from stateward.ledger.record import (
    KEY_START,
    ROLLED_BACK,
    Line,
    decode_json,
    decode_line,
    from_kept,
    key_of,
    quoted,
)
from stateward.ledger.snapshot import Snapshot
from stateward.ledger.summary import Summary, total

ATTEMPTS_MAX = 20
SEQ_MAX = 1 << 62
OFFSET_BITS = 48
decode_summary = msgspec.json.Decoder(Summary).decode
_SLOT = struct.Struct("<QQQI4x")


class View:
    """The state of a ledger directory at one moment, and how to move on to the next."""

    def __init__(
        self, folder: Path, *, disk: Disk | None = None, is_partial_allowed: bool = False
    ) -> None:
        """Open it; with a `disk`, what must be unpacked is put back in place. Raises `LedgerDamaged`."""
        self.folder = folder
        self._manifest_path = folder / MANIFEST
        self.notes: list[str] = []
        self.bad: set[str] = set()
        self._disk = disk
        self._is_partial_allowed = is_partial_allowed
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self.base: Snapshot | None = None
        self.base_part: SnapshotPart | None = None
        self.deltas: list[Delta] = []
        self.is_partial = False
        self.was_rebuilt = False
        self._stamp: tuple[int, int, int] | None = None
        try:
            self.manifest = self.load()
        except BaseException:
            self._drop_scratch()
            raise

    # Submission

    def load(self) -> Manifest:
        """Read everything again."""
        for attempt in range(ATTEMPTS_MAX):
            try:
                return self._load_once()
            except FileNotFoundError:
                if attempt == ATTEMPTS_MAX - 1:
                    raise
            except LedgerDamaged:
                # The writer may have moved on between our looks at the list and at the files.
                if attempt == ATTEMPTS_MAX - 1 or self._stamp == self._look():
                    raise
        raise LedgerError(f"{self.folder} changed too often while it was being opened")

    def _load_once(self) -> Manifest:
        head_seq = read_head(self.folder)
        self._stamp = self._look()
        found = read_manifest(self.folder)
        if found is None:
            if not is_ledger(self.folder):
                raise LedgerMismatch(f"{self.folder} is not a ledger")
            found = rebuilt(self.folder)
            self.was_rebuilt = True
            self._note("the manifest was missing or damaged and was made anew from the files")
        deltas = self._open_deltas(found, head_seq)
        return self._adopt(found, deltas)

    def _look(self) -> tuple[int, int, int] | None:
        try:
            seen = self._manifest_path.stat()
        except FileNotFoundError:
            return None
        return seen.st_ino, seen.st_mtime_ns, seen.st_size

    def saw(self) -> None:
        """The writer itself replaced the manifest: there is nothing new in it."""
        self._stamp = self._look()

    def _open_deltas(self, manifest: Manifest, head_seq: int) -> list[Delta]:
        """The last delta first: its tail may hold a rollback that the manifest does not know yet."""
        active = self._delta(manifest.active, manifest, head_seq)
        last = active.last
        if last is not None and not last.doc_id and last.new_state == ROLLED_BACK:
            manifest = with_rollback(manifest, last)
        ranges, _ = effective(manifest, last_seq=SEQ_MAX)
        base, part = self._choose_base(manifest, ranges)
        opened = [
            active if each.first_seq == active.part.first_seq else self._delta(each, manifest, 0)
            for each in self._needed(manifest, ranges, part)
        ]
        self.base, self.base_part = base, part
        self.active = active
        return opened

    def _adopt(self, manifest: Manifest, deltas: list[Delta]) -> Manifest:
        self.deltas = deltas
        self._base_summary = Summary()
        if self.base is not None:
            self._base_summary = decode_summary(self.base.header.summary)
        self.manifest = manifest
        self._salt = manifest.salt.encode()
        return manifest

    def _delta(self, part: DeltaPart, manifest: Manifest, head_seq: int) -> Delta:
        path = self.plain(part.file)
        if self.was_rebuilt and part == manifest.active and not path.exists():
            path = self._empty(path)
        return Delta(
            path.parent, replace(part, file=path.name), salt=manifest.salt, head_seq=head_seq
        )

    def _empty(self, path: Path) -> Path:
        """A delta to write to, where the files show none; only for a list that was made anew."""
        disk = self._disk or Disk()
        target = path if self._disk else self._scratch_path() / path.name
        disk.close(disk.create(target))
        disk.sync_dir(target.parent)
        return target

    def _choose_base(
        self, manifest: Manifest, ranges: list[tuple[int, int]]
    ) -> tuple[Snapshot | None, SnapshotPart | None]:
        for part in manifest.snapshots:
            if part.file in self.bad or not any(low <= part.last_seq <= up for low, up in ranges):
                continue
            try:
                snapshot = Snapshot(self.plain(part.file), root=part.root)
                header = snapshot.header
                if (header.last_seq, header.chain) != (part.last_seq, part.chain):
                    raise LedgerDamaged(
                        [Finding(file=part.file, sentence="it is of another place in the log")]
                    )
            except (LedgerDamaged, FileNotFoundError) as error:
                if isinstance(error, FileNotFoundError) and self._stamp != self._look():
                    raise
                self.bad.add(part.file)
                self._note(f"snapshot {part.file} was not used: {error}")
                continue
            if self.bad:
                self._note(f"snapshot {part.file} and the deltas after it were used instead")
            return snapshot, part
        if manifest.snapshots:
            self._note("no snapshot is sound; the whole log was used instead")
        return None, None

    def _needed(
        self, manifest: Manifest, ranges: list[tuple[int, int]], base: SnapshotPart | None
    ) -> list[DeltaPart]:
        """The deltas that the state is made of, oldest first; complains about every gap."""
        floor = base.last_seq if base else 0
        every = list(manifest.deltas)
        if base is None or every[0].first_seq > floor + 1:
            every = read_archive(self.folder, manifest) + every
        needed: list[DeltaPart] = []
        for low, up in ranges:
            start = max(low, floor)
            inside = [
                part for part in every
                if part.first_seq > start and (part.last_seq or part.first_seq - 1) <= up
                and not (part.last_seq is None and up != SEQ_MAX)
            ]  # fmt: skip
            there = [
                part for part in inside if not part.is_removed and self._found(part.file).exists()
            ]
            self._check_gaps(there, start, up)
            needed = there + needed
            if low <= floor <= up:
                break
        return needed

    def _check_gaps(self, parts: list[DeltaPart], start: int, up: int) -> None:
        expected = start + 1
        for part in parts:
            if part.first_seq != expected:
                self._gap(expected, part.first_seq - 1)
            expected = (part.last_seq or part.first_seq - 1) + 1
        if up != SEQ_MAX and expected <= up:
            self._gap(expected, up)

    def _gap(self, first: int, last: int) -> None:
        sentence = (
            f"the lines with seq {first} to {last} are missing, and no sound snapshot has them"
        )
        if not self._is_partial_allowed:
            raise LedgerDamaged([Finding(file=MANIFEST, seq=first, sentence=sentence)])
        self.is_partial = True
        self._note(f"{sentence}; every answer is partial")

    def _note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)

    def plain(self, file: str) -> Path:
        """The path of a file that may have to be unpacked first."""
        path = self.folder / file
        if path.suffix != GZ:
            return path
        name = file.removesuffix(GZ)
        if (self.folder / name).exists():
            return self.folder / name
        if self._disk is not None:
            return unpack(self._disk, path, self.folder / name)
        target = self._scratch_path() / name
        return target if target.exists() else unpack(Disk(), path, target)

    def _scratch_path(self) -> Path:
        if self._scratch is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="stateward-ledger-")
        return Path(self._scratch.name)

    # Following

    def refresh(self) -> bool:
        """Take in what a writer added; whether the list of files had changed."""
        if self._look() != self._stamp:
            self.load()
            return True
        active = self.active
        if os.fstat(active.fd).st_size > active.end:
            if any(line.new_state == ROLLED_BACK for line in active.refresh()):
                self.load()
                return True
            if os.fstat(active.fd).st_size > active.end:
                head_seq = read_head(self.folder)  # before the look: then it is of this delta
                active.torn_bytes(head_seq if self._look() == self._stamp else 0)
                last = active.last
                if last is not None and not last.doc_id and last.new_state == ROLLED_BACK:
                    self.load()
                    return True
        return False

    # Questions

    def line(self, doc_id: str) -> Line | None:
        """The last line of a document that counts, or None."""
        key = quoted(doc_id)
        hashed = -1
        for delta in reversed(self.deltas):
            if delta.end:
                hashed = hashed if hashed >= 0 else hash_of(key, self._salt)
                line = delta.latest(doc_id, key, hashed)
                if line is not None:
                    return line
        if self.base is None:
            return None
        try:
            kept = self.base.get(key)
        except LedgerDamaged as error:
            self.drop_base(error)
            return self.line(doc_id)
        return None if kept is None else from_kept(doc_id, kept)

    def drop_base(self, error: LedgerDamaged) -> None:
        """The snapshot in use turned out to be damaged: go on with what comes before it."""
        if self.base_part is None:
            raise error
        self.bad.add(self.base_part.file)
        self._note(f"snapshot {self.base_part.file} was not used any more: {error}")
        self.load()

    def rebase(self, part: SnapshotPart, merged: int) -> None:
        """A new snapshot holds the oldest `merged` deltas now."""
        self.base = Snapshot(self.folder / part.file, root=part.root)
        self.base_part = part
        self._base_summary = decode_summary(self.base.header.summary)
        self.deltas = self.deltas[merged:]

    def summary(self) -> Summary:
        """Sums over everything that counts."""
        return total([self._base_summary, *(delta.summary for delta in self.deltas)])

    def lines(self, state: str | None = None) -> Iterator[Line]:
        """The last line of every document, sorted by quoted id; of one state alone when asked."""
        deltas, base = list(self.deltas), self.base
        places = overrides(deltas)

        def changed() -> Iterator[tuple[bytes, Line]]:
            for key in sorted(places):
                line = decode_line(text_at(deltas, places[key]))
                if state is None or line.new_state == state:
                    yield key, line

        def unchanged() -> Iterator[tuple[bytes, Line]]:
            if base is not None:
                for key, kept in base.lines() if state is None else base.in_state(state):
                    if key not in places:
                        yield key, from_kept(decode_json(key), kept)

        for _, line in merge(changed(), unchanged(), key=itemgetter(0)):
            yield line

    def history(self, doc_id: str) -> list[bytes]:
        """Every line of a document, oldest first, also those that were rolled back or archived."""
        key = quoted(doc_id)
        hashed = hash_of(key, self._salt)
        found: list[bytes] = []
        for part in self.parts():
            delta = self._live(part)
            if delta is not None:
                found += delta.history(doc_id, key, hashed)
            elif not part.is_removed and self._may_hold(part, hashed):
                start = KEY_START + key + b","
                found += [text for text in self._stored(part) if text.startswith(start)]
        return found

    def _may_hold(self, part: DeltaPart, hashed: int) -> bool:
        """Whether the archived delta's index has the hash; without a complete one it may."""
        path = self.folder / (part.file.removesuffix(GZ) + SUFFIX)
        loaded = Index.load(path, salt=self.manifest.salt)
        if loaded is None or loaded[1].seq != part.last_seq:
            return True
        try:
            return any(True for _ in loaded[0].find(hashed))
        except IndexDamaged:
            return True

    def parts(self) -> list[DeltaPart]:
        """Every stretch of the log, oldest first, with the tombstones."""
        return read_archive(self.folder, self.manifest) + list(self.manifest.deltas)

    def texts(self, *, after: int = 0) -> Iterator[bytes]:
        """Every line of the log with a greater seq, in order, checked; removed stretches are left out."""
        listed = self.manifest.deltas
        for part in listed if after + 1 >= listed[0].first_seq else self.parts():
            if not part.is_removed and (part.last_seq is None or part.last_seq > after):
                yield from self.part_texts(part, after=after)

    def part_texts(self, part: DeltaPart, *, after: int = 0) -> Iterator[bytes]:
        """The lines of one stretch of the log with a greater seq, checked."""
        delta = self._live(part)
        if delta is not None:
            yield from delta.lines(after=after)
            return
        for seq, text in enumerate(self._stored(part), part.first_seq):
            if seq > after:
                yield text

    def _live(self, part: DeltaPart) -> Delta | None:
        for delta in (*self.deltas, self.active):
            if delta.part.first_seq == part.first_seq:
                return delta
        return None

    def _stored(self, part: DeltaPart) -> Iterator[bytes]:
        text = b""
        for text in checked_lines(
            plain_chunks(self._found(part.file)),
            previous=part.chain.encode(),
            name=part.file,
            seq=part.first_seq,
        ):
            yield text
        if text[-PREVIOUS_BYTES:-3].decode() != part.head:
            sentence = f"it should end after seq {part.last_seq}, but ends before"
            raise LedgerDamaged([Finding(file=part.file, seq=part.last_seq, sentence=sentence)])

    def _found(self, file: str) -> Path:
        """The file, or its other form if it was packed or unpacked since the list was read."""
        path = self.folder / file
        other = path.with_name(file.removesuffix(GZ) if path.suffix == GZ else file + GZ)
        return path if path.exists() or not other.exists() else other

    def close(self) -> None:
        """Give everything back."""
        for delta in (*self.deltas, self.active):
            delta.close()
        self.base, self.deltas = None, []
        self._drop_scratch()

    def _drop_scratch(self) -> None:
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None


def overrides(deltas: Sequence[Delta]) -> dict[bytes, int]:
    """Quoted id → where its last line stands, for every document that has lines in these deltas."""
    places: dict[bytes, int] = {}
    for number, delta in enumerate(deltas):
        place = number << OFFSET_BITS
        for text in delta.lines():
            places[key_of(text)] = place
            place += len(text)
    places.pop(b'""', None)
    return places


def latest(deltas: Sequence[Delta]) -> dict[bytes, bytes]:
    """Quoted id → its last line, checked; for deltas that are short enough to be held in memory."""
    texts = {key_of(text): text for delta in deltas for text in delta.lines()}
    texts.pop(b'""', None)
    return texts


def text_at(deltas: Sequence[Delta], place: int) -> bytes:
    """The line at a place that `overrides` named, checked."""
    return deltas[place >> OFFSET_BITS].line_at(place & ((1 << OFFSET_BITS) - 1))


def with_rollback(manifest: Manifest, line: Line) -> Manifest:
    """The manifest as it will be once the rollback that `line` records has been completed."""
    to = line.metadata["to_seq"]
    known = (line.seq, int(to))  # type: ignore[arg-type]
    if known in manifest.rollbacks:
        return manifest
    sealed = replace(manifest.active, last_seq=line.seq)
    return replace(
        manifest,
        rollbacks=(*manifest.rollbacks, known),
        deltas=(*manifest.deltas[:-1], sealed),
    )


def unpack(disk: Disk, packed: Path, target: Path) -> Path:
    """Put the plain text of a compressed file beside it."""
    temporary = target.with_name(target.name + TEMPORARY)
    discard(disk, temporary)
    fd = disk.create(temporary)
    try:
        for data in plain_chunks(packed):
            disk.write(fd, data)
        disk.fsync(fd)
    finally:
        disk.close(fd)
    disk.rename(temporary, target)
    disk.sync_dir(target.parent)
    return target


def read_head(folder: Path) -> int:
    """The seq that the writer last saw durable; it may lag, it never runs ahead."""
    try:
        text = (folder / HEAD).read_bytes()
    except FileNotFoundError:
        return 0
    newest = 0
    for at in (0, _SLOT.size):
        if len(text) >= at + _SLOT.size:
            seq, size, generation, crc = _SLOT.unpack_from(text, at)
            if zlib.crc32(_SLOT.pack(seq, size, generation, 0)[:24]) == crc:
                newest = max(newest, seq)
    return newest


def head_slot(*, seq: int, size: int, generation: int) -> bytes:
    """One of the two slots of `HEAD`."""
    fields = _SLOT.pack(seq, size, generation, 0)
    return _SLOT.pack(seq, size, generation, zlib.crc32(fields[:24]))
