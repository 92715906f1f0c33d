"""Looks for damage and says exactly where it is. Reads only.

`verify` reads every byte: each line against the chain, each file against the manifest, each snapshot against its root
and its place in the chain, and if given a checkpoint that was kept elsewhere against the Merkle tree. It needs no
lock, and no ledger that can be opened. Whether the moves in the log are allowed ones `replay` says.
"""

import tempfile
from contextlib import closing
from itertools import islice
from pathlib import Path

import msgspec

from stateward.core.errors import Damage, LedgerDamaged, LedgerError
from stateward.ledger import chain
from stateward.ledger.delta import (
    CheckedText,
    durability_proof,
    proof_of_another_writer,
    read_chunks,
    without_padding,
)
from stateward.ledger.delta_index import INDEX_SUFFIX, IndexCheck
from stateward.ledger.disk import Disk, refuse_special_files, write_atomically
from stateward.ledger.head import read_head
from stateward.ledger.manifest import (
    ARCHIVE,
    GZIP_SUFFIX,
    HEAD,
    MANIFEST,
    MISSING,
    DeltaInfo,
    Manifest,
    SnapshotInfo,
    is_ledger,
    read_archive,
    read_manifest,
    sidecar,
)
from stateward.ledger.rebuild import rebuild_manifest, unlisted_deltas, unlisted_snapshots
from stateward.ledger.record import (
    COMPACTED,
    LedgerLine,
    rollback_of,
)
from stateward.ledger.replay import replay_base, states_after, wrong_documents
from stateward.ledger.snapshot import Snapshot
from stateward.ledger.view import (
    HEAD_LOST,
    NO_HEAD,
    STALE,
    LedgerView,
    Progress,
    no_progress,
)
from stateward.proofs.checkpoints import parse_checkpoint
from stateward.proofs.merkle import MerkleSpan, leaf_hash, span_over

FINDINGS_MAX = 1000
"""One bad block can make every line after it bad; no person reads further than this."""
ATTEMPTS_MAX = 5
"""A writer replaces its manifest once a day or so; more often than this during one pass is something else."""


class LedgerVerification(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a verification: `findings` are damage, `notes` are not.

    `removed` are lines that are gone on purpose, or were given up: their moves cannot be checked.
    """

    lines: int
    removed: int = 0
    snapshots: int
    head: str
    root: str
    findings: tuple[Damage, ...]
    notes: tuple[Damage, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings


def verify(
    folder: Path, *, checkpoint: str | None = None, progress: Progress = no_progress
) -> LedgerVerification:
    """Read every byte of a ledger and say what is wrong with it, and where. Work may go on meanwhile."""
    try:
        refuse_special_files(folder)
    except LedgerDamaged as error:
        head = chain.GENESIS.decode()
        return LedgerVerification(lines=0, snapshots=0, head=head, root="", findings=error.findings)
    for _ in range(ATTEMPTS_MAX):
        verifier = LedgerVerifier(folder, progress)
        manifest = verifier.read_manifest()
        if manifest is not None:
            verifier.check_log(manifest)
            verifier.check_snapshots(manifest)
            if checkpoint is not None:
                verifier.check_checkpoint(checkpoint)
            verifier.check_opens()
        # Findings count only if the manifest is still the one that was read: otherwise a writer has replaced files
        # meanwhile, and what looks like damage may be the difference between the two lists.
        if not verifier.findings or read_manifest(folder) in (None, verifier.listed):
            return verifier.result()
    raise LedgerError(
        f"{folder} changed too often while it was being verified; verify it again when less is written, or a copy of it"
    )


class LedgerVerifier:
    """One pass over all files of a ledger."""

    def __init__(self, folder: Path, progress: Progress) -> None:
        self._folder = folder
        self._progress = progress
        # Read first: a writer may go on, and then the log can only be longer than this.
        self.head = read_head(folder)
        self.findings: list[Damage] = []
        self.notes: list[Damage] = []
        self.listed: Manifest | None = None
        self._lines = self._snapshots = self._removed = 0
        self._span = MerkleSpan()
        self._named: dict[int, dict[str, int]] = {}
        """The roots of snapshots that the log names: by their last seq, each with the seq of the line."""
        self._rollbacks: set[tuple[int, int]] = set()
        """Those that the log names, as the manifest lists them."""
        self._remarks: list[Damage] = []
        """What no file is to be blamed for, but limits what could be checked."""
        self._roots: set[str | None] = set()
        """Those of the snapshots that the manifest names, and None, on which most stand."""
        self._heads: dict[int, str] = {0: chain.GENESIS.decode()}
        """The head of the chain at the end of each segment, by its last seq."""
        self.bad_segments: dict[DeltaInfo, Damage] = {}
        """The deltas that are damaged or missing, in the order of the log, with the first bad line of each."""
        self.last_seq = 0
        """The last good line of the log."""
        self._salt = ""
        """What ids are hashed with in the indexes."""

    def _report(
        self, file: str, sentence: str, *, byte: int | None = None, seq: int | None = None
    ) -> Damage:
        finding = Damage(file=file, byte=byte, seq=seq, sentence=sentence)
        if len(self.findings) < FINDINGS_MAX:
            self.findings.append(finding)
        return finding

    def _report_bad_line(self, info: DeltaInfo, sentence: str, *, byte: int, seq: int) -> None:
        self.bad_segments.setdefault(info, self._report(info.file, sentence, byte=byte, seq=seq))

    def read_manifest(self) -> Manifest | None:
        """The manifest, or what the files imply where it is lost; None if that fails too."""
        if not is_ledger(self._folder):
            self._report(str(self._folder), "it is not a ledger")
            return None
        self.listed = read_manifest(self._folder)
        if self.listed is not None:
            if self.listed.generation < self.head.generation:
                self._report(MANIFEST, STALE)
            self.head = self.head.beside(self.listed, self._folder)
            return self.listed
        self._report(MANIFEST, "it is missing or damaged; it can be rebuilt from the files")
        try:
            return rebuild_manifest(self._folder)
        except LedgerDamaged as error:
            self.findings += error.findings
            return None

    def check_log(self, manifest: Manifest) -> None:
        """Every line of every segment, and that the segments follow each other."""
        self._salt = manifest.salt
        try:
            archive = read_archive(self._folder, manifest)
        except (LedgerDamaged, OSError) as error:
            self._report(ARCHIVE, f"the list of archived files cannot be used: {error}")
            archive = []
        else:
            for name in unlisted_deltas(self._folder, manifest) if self.listed else ():
                self._report(name, f"it holds lines, but {MANIFEST} does not name it")
        infos = archive + list(manifest.deltas)
        expected, head = infos[0].first_seq, infos[0].chain
        if expected > 1:
            self._span = MerkleSpan(expected - 1)
            self._report(infos[0].file, f"the lines before seq {expected} are missing", seq=1)
        for info in infos:
            if (info.first_seq, info.chain) != (expected, head):
                sentence = f"it does not continue the log, which goes on at seq {expected}"
                self._report(info.file, sentence, seq=expected)
            head, last_seq = self._check_segment(info)
            if head:
                self._heads[last_seq] = head
            expected = last_seq + 1
        self.last_seq = expected - 1
        # HEAD is written after the lines that it counts, so a log that ends before it has lost some.
        if self.head.seq >= expected:
            acknowledged = f"seq {self.head.seq} was acknowledged"
            self._report(HEAD, f"{acknowledged}, the log ends at {expected - 1}")
        removed = [info for info in infos if info.is_removed]
        if removed:
            self._note_removed(manifest, removed)
        if not self.findings:
            self._check_rollbacks(manifest, removed)

    def _note_removed(self, manifest: Manifest, removed: list[DeltaInfo]) -> None:
        """Say how many lines were removed, and which moves can be checked without them."""
        self._removed = sum(info.end_seq - info.first_seq + 1 for info in removed)
        first, last = removed[0], removed[-1]
        base = replay_base(manifest, last.end_seq)
        parts = [f"up to seq {first.first_seq - 1}"] if first.first_seq > 1 else []
        parts += [f"after seq {base.last_seq}"] if base else []
        checked = f"only moves {' and '.join(parts)}" if parts else "no moves"
        gone = f"{self._removed} lines were removed, the last of them"
        gone = "1 line was removed" if self._removed == 1 else gone
        sentence = f"{gone} here, so that {checked} are checked"
        self._remarks.append(Damage(file=last.file, seq=last.last_seq, sentence=sentence))

    def _check_rollbacks(self, manifest: Manifest, removed: list[DeltaInfo]) -> None:
        """The manifest says which lines are in effect, and the log must say the same.

        One in a segment that was removed cannot be compared. One at the end of the log is completed by the next writer.
        """
        listed = set(manifest.rollbacks)
        for at, to in sorted(listed ^ self._rollbacks):
            is_gone = any(info.first_seq <= at <= info.end_seq for info in removed)
            is_listed = (at, to) in listed
            if not is_gone and (is_listed or at != self.last_seq):
                place = "the log does" if is_listed else "this file does"
                sentence = f"{place} not have the rollback to seq {to}"
                self._report(MANIFEST, sentence, seq=at)

    def _check_segment(self, info: DeltaInfo) -> tuple[str, int]:
        """The head of the chain and the last seq of this segment: as the manifest says, else as its lines say."""
        if info.is_removed:
            span = info.merkle_span
            if span is not None and self._span.end == span.start:
                self._span.extend(span)
            return info.head or "", info.last_seq or 0
        path = self._folder / info.file
        try:
            found = self._check_lines(info, path)
        except FileNotFoundError:
            # Or a writer has packed it since the list was read: then there is another list, and all is read anew.
            self._report_bad_line(info, MISSING, byte=0, seq=info.first_seq)
            return info.head or "", info.end_seq
        head, seq, size, tail = found.head.decode(), found.seq, found.byte, found.rest
        if found.is_sealed:
            self._report_bad_line(info, found.why, byte=size, seq=seq + 1)
            return info.head or head, info.last_seq or seq
        if info.last_seq is None:
            tail = without_padding(tail)
            why = durability_proof(tail, first_bad=seq + 1, durable_seq=self.head.seq)
            if why is None and tail:
                why = proof_of_another_writer(tail, path.read_bytes()[:size], info.chain)
            if why is None and tail and self.head.is_unknown:
                why = f"{len(tail)} bytes of a torn line: {NO_HEAD}"
            if why is not None:
                self._report_bad_line(info, why, byte=size, seq=seq + 1)
            elif tail:
                sentence = f"{len(tail)} bytes of a line that was never acknowledged; the next opening cuts them off"
                self.notes.append(Damage(file=info.file, byte=size, seq=seq + 1, sentence=sentence))
        elif (seq, head, size) != (info.last_seq, info.head, info.bytes) or tail:
            sentence = f"it should end after seq {info.last_seq}, but is good up to {seq}"
            self._report_bad_line(info, sentence, byte=size, seq=seq + 1)
            # The next segment is checked against the manifest.
            return info.head or "", info.last_seq
        return head, seq

    def _check_lines(self, info: DeltaInfo, path: Path) -> CheckedText:
        """The lines of a segment, each of which can be read, and the index beside it, which must have just these."""
        found = CheckedText(read_chunks(path), head=info.chain.encode(), seq=info.first_seq - 1)
        index_file = sidecar(info.file, INDEX_SUFFIX)
        index = IndexCheck(self._folder / index_file, salt=self._salt)
        try:
            for texts, lines in found:
                if self._span.end == found.seq:  # after a gap the tree is not continued
                    self._span.add_leaves(list(map(leaf_hash, texts)))
                for line in lines:
                    if not line.doc_id:
                        self._note_control(line)
                index.add(texts, lines, byte=found.byte)
                self._lines += len(lines)
                self._progress(info.file, self._lines)
        except LedgerDamaged as error:
            self._report_bad_line(
                info, error.findings[0].sentence, byte=found.byte, seq=found.seq + 1
            )
        else:
            if b"\n" in without_padding(found.rest):
                pass  # its lines end before those that the index has
            elif index.is_other:
                self._report(index_file, "it does not have the lines of its file: delete it")
            elif index.counts_otherwise:
                self._report(index_file, "it does not count the lines as they are: delete it")
        return found

    def _note_control(self, line: LedgerLine) -> None:
        """Remember the snapshot or the rollback that a line names: the chain binds the line, and so the states."""
        try:
            if line.is_rollback:
                self._rollbacks.add(rollback_of(line))
            elif line.new_state == COMPACTED:
                place = self._named.setdefault(int(str(line.metadata["last_seq"])), {})
                place[str(line.metadata["root"])] = line.seq
        except LedgerDamaged as error:
            self.findings += error.findings
        except (KeyError, ValueError):
            pass  # what names nothing covers nothing

    def check_snapshots(self, manifest: Manifest) -> None:
        """Every snapshot against its root, and its place in the log against the chain there."""
        self._roots = {None, *(info.root for info in manifest.snapshots)}
        for info in manifest.snapshots:
            self._snapshots += 1
            self._progress(info.file, self._snapshots)
            with tempfile.TemporaryDirectory(prefix="stateward-ledger-") as scratch:
                self._check_snapshot(info, Path(scratch))
        for name in unlisted_snapshots(self._folder, manifest) if self.listed else ():
            sentence = f"{MANIFEST} does not name it: a crash may have left it; it is not checked"
            self._remarks.append(Damage(file=name, sentence=sentence))

    def _check_snapshot(self, info: SnapshotInfo, scratch: Path) -> None:
        """Its bytes against its root, and its place, what it stands on and its name in the log against the rest."""
        path = self._folder / info.file
        try:
            if path.suffix == GZIP_SUFFIX:
                # A snapshot is read by offsets. It is unpacked elsewhere: a ledger that is verified is not written to.
                path = scratch / info.file.removesuffix(GZIP_SUFFIX)
                write_atomically(Disk(), path, read_chunks(self._folder / info.file))
            snapshot = Snapshot(path, root=info.root)
            snapshot.verify()
        except LedgerDamaged as error:
            self.findings += error.findings
        except OSError as error:
            self._report(info.file, f"it cannot be read: {error}")
        else:
            known = self._heads.get(info.last_seq)
            if known not in (None, info.chain) or snapshot.header.chain != info.chain:
                sentence = "the chain at its place in the log is another one"
                self._report(info.file, sentence, seq=info.last_seq)
            base = snapshot.header.base
            if (base.root if base else None) != info.base or info.base not in self._roots:
                self._report(info.file, "the snapshot that it stands on is missing, or another one")
            self._check_named(info)

    def _check_named(self, info: SnapshotInfo) -> None:
        """The log must name the root of a snapshot; older versions did not write such lines."""
        named = self._named.get(info.last_seq)
        if named is None:
            sentence = (
                "no line of the log names its root; compact, so that checkpoints cover the states"
            )
            self._remarks.append(Damage(file=info.file, seq=info.last_seq, sentence=sentence))
        elif info.root not in named:
            sentence = (
                f"seq {max(named.values())} names another root for it: its states were changed"
            )
            self._report(info.file, sentence, seq=info.last_seq)

    def check_opens(self) -> None:
        """Sound files do not make a sound ledger: states of lines that were removed may be in none of them.

        And a log that was cut after a whole line is good in itself: without HEAD nothing tells it from a sound one.
        """
        if not self.findings:
            try:
                LedgerView(self._folder).close()
            except LedgerDamaged as error:
                self.findings += error.findings
            except (LedgerError, OSError) as error:
                self._report(MANIFEST, f"the ledger cannot be opened: {error}")
        if not self.head.is_whole and self.last_seq:
            self._report(HEAD, HEAD_LOST.format(seq=self.last_seq), seq=self.last_seq)

    def check_checkpoint(self, checkpoint: str) -> None:
        """The first lines against the root of a checkpoint. Spans in the manifest are not trusted for this."""
        _, size, root = parse_checkpoint(checkpoint)
        try:
            with closing(LedgerView(self._folder)) as view:
                pieces = view.tree_pieces(size=size, trusts_spans=False, progress=self._progress)
                span = span_over(pieces, size=size)
                self._check_states_covered(size, view)
        except (LedgerError, OSError) as error:
            sentence = f"it covers {size} lines, which cannot all be read: {error}"
            self._report("checkpoint", sentence, seq=size)
            return
        if span.end != size or span.root() != root:
            sentence = f"the first {size} lines are not those that it was made of"
            self._report("checkpoint", sentence, seq=size)

    def _check_states_covered(self, size: int, view: LedgerView) -> None:
        """The snapshot in use is as good as its root in the log, and that as good as the checkpoint over it.

        A root that was named later proves nothing: who forges a snapshot can name it in a new line. Versions that named
        none proved nothing either. Then the lines, which the checkpoint covers, must lead to the same documents: all of
        them, or those after an older snapshot that was named in time.
        """
        snapshots = self.listed.snapshots if self.listed else ()
        names = [self._named.get(info.last_seq, {}).get(info.root) for info in snapshots]
        if not snapshots or (names[0] is not None and names[0] <= size):
            return
        if names[0] is not None:
            sentence = (
                f"its root is named at seq {names[0]}, after the {size} lines of the checkpoint"
            )
            self._remarks.append(Damage(file=snapshots[0].file, seq=names[0], sentence=sentence))
        pairs = zip(snapshots, names, strict=True)
        covered = [info for info, seq in pairs if seq is not None and seq <= size]
        try:
            for base in (*covered, None):
                states = states_after(view, base, self._progress)
                if states is not None:
                    self.findings += islice(wrong_documents(view, states), FINDINGS_MAX)
                    return
        except LedgerDamaged as error:
            self.findings += error.findings
            return
        sentence = "lines that led to it were removed, so no checkpoint covers it; compare with a newer one"
        self._report(snapshots[0].file, sentence)

    def result(self) -> LedgerVerification:
        return LedgerVerification(
            lines=self._lines,
            removed=self._removed,
            snapshots=self._snapshots,
            head=self._heads[max(self._heads)],
            root=self._span.root().hex() if self._span.start == 0 else "",
            findings=tuple(self.findings),
            notes=(*self.notes, *self._remarks),
        )
