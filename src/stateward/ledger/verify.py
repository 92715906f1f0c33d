"""Looking for damage, and saying exactly where it is. Reads only.

`verify` reads every byte: each line against the chain, each file against the manifest, each snapshot against its
root and its place in the chain, and if wanted a checkpoint that was kept elsewhere against the tree. It needs no
lock and no ledger that opens. `validate` replays the log: every move against the machine, and the documents as
they are kept against the documents as the log tells them.
"""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from stateward.core.machine import Machine
from stateward.ledger import chain, merkle
from stateward.ledger.delta import classify, plain_chunks
from stateward.ledger.disk import Disk
from stateward.ledger.errors import Finding, LedgerDamaged, LedgerError
from stateward.ledger.manifest import (
    GZ,
    HEAD,
    MANIFEST,
    DeltaPart,
    Manifest,
    SnapshotPart,
    read_archive,
    read_manifest,
)
from stateward.ledger.merkle import Span, leaf_hash
from stateward.ledger.rebuild import is_ledger, rebuilt
from stateward.ledger.record import IMPORT_CLOSED, IMPORT_OPENED, decode_line
from stateward.ledger.snapshot import Snapshot
from stateward.ledger.states import Graph
from stateward.ledger.view import View, read_head, unpack

FINDINGS_MAX = 1000
PROGRESS_LINES = 65_536
ATTEMPTS_MAX = 5
Progress = Callable[[str, int], None]


def no_progress(_what: str, _count: int) -> None:
    """Nobody looks."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a verification saw: `findings` are damage, `notes` are not."""

    lines: int
    snapshots: int
    head: str
    root: str
    findings: tuple[Finding, ...]
    notes: tuple[Finding, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings


def verify(
    folder: Path, *, checkpoint: str | None = None, progress: Progress = no_progress
) -> Verdict:
    """Read every byte of a ledger and say what is wrong with it, and where. Work may go on meanwhile."""
    check = _checked(folder, checkpoint, progress)
    for _ in range(ATTEMPTS_MAX):
        if not check.findings or read_manifest(folder) in (None, check.listed):
            break
        # The files were others than those on the list that was read: a writer went on. Look again.
        check = _checked(folder, checkpoint, progress)
    return check.verdict()


def _checked(folder: Path, checkpoint: str | None, progress: Progress) -> "Check":
    check = Check(folder, progress)
    manifest = check.manifest()
    if manifest is not None:
        check.log(manifest)
        check.snapshots(manifest)
        if checkpoint is not None:
            check.anchor(checkpoint)
    return check


class Check:
    """One walk over all files of a ledger."""

    def __init__(self, folder: Path, progress: Progress) -> None:
        self._folder = folder
        self._progress = progress
        self._head_seq = read_head(folder) if folder.is_dir() else 0
        """What was durable before we began: a writer may go on meanwhile."""
        self.findings: list[Finding] = []
        self.notes: list[Finding] = []
        self.listed: Manifest | None = None
        self._lines = self._snapshots = 0
        self._span = Span()
        self._roots: dict[int, bytes] = {}
        self._heads: dict[int, str] = {0: chain.GENESIS.decode()}
        self.bad_at: tuple[DeltaPart, int, int] | None = None
        """The first damaged delta, the byte and the seq of its first bad line."""

    def say(
        self, file: str, sentence: str, *, byte: int | None = None, seq: int | None = None
    ) -> None:
        if len(self.findings) < FINDINGS_MAX:
            self.findings.append(Finding(file=file, byte=byte, seq=seq, sentence=sentence))

    def manifest(self) -> Manifest | None:
        if not self._folder.is_dir() or not is_ledger(self._folder):
            self.say(str(self._folder), "it is not a ledger")
            return None
        self.listed = read_manifest(self._folder)
        if self.listed is not None:
            return self.listed
        self.say(MANIFEST, "it is missing or damaged; it can be made anew from the files")
        try:
            return rebuilt(self._folder)
        except LedgerDamaged as error:
            self.findings += error.findings
            return None

    def log(self, manifest: Manifest) -> None:
        try:
            archive = read_archive(self._folder, manifest)
        except (LedgerDamaged, OSError) as error:
            self.say("ARCHIVE.jsonl", f"the list of archived files cannot be used: {error}")
            archive = []
        parts = archive + list(manifest.deltas)
        if parts and parts[0].first_seq > 1:
            self._span = Span(parts[0].first_seq - 1)
            self.say(parts[0].file, f"the lines before seq {parts[0].first_seq} are missing", seq=1)
        expected, head = parts[0].first_seq, parts[0].chain
        for part in parts:
            if (part.first_seq, part.chain) != (expected, head):
                self.say(
                    part.file,
                    f"it does not continue the log, which goes on at seq {expected}",
                    seq=expected,
                )
            head, expected = self._part(part)
        if self._head_seq >= expected:
            self.say(HEAD, f"seq {self._head_seq} was acknowledged, the log ends at {expected - 1}")

    def _part(self, part: DeltaPart) -> tuple[str, int]:
        """The head and the next seq after this stretch, as its list entry or else its lines say."""
        if part.is_removed:
            if (
                part.span is not None
                and part.last_seq is not None
                and self._span.end == part.first_seq - 1
            ):
                self._span.extend(
                    Span.unpacked(part.span, start=part.first_seq - 1, end=part.last_seq)
                )
            self._heads[part.last_seq or 0] = part.head or ""
            return part.head or "", (part.last_seq or 0) + 1
        path = self._folder / part.file
        if not path.exists():
            self.say(part.file, "the manifest names it, but it is not there", seq=part.first_seq)
            return part.head or "", (part.last_seq or part.first_seq - 1) + 1
        head, seq, size, tail = self._walk(part, path)
        if part.last_seq is None:
            self._tail(part, seq, size, tail)
        elif (seq, head, size) != (part.last_seq, part.head, part.bytes) or tail:
            self.say(
                part.file,
                f"it should end after seq {part.last_seq}, but is good up to {seq}",
                byte=size,
                seq=seq + 1,
            )
            self._bad(part, size, seq + 1)
            head, seq = part.head or "", part.last_seq
        self._heads[seq] = head
        return head, seq + 1

    def _walk(self, part: DeltaPart, path: Path) -> tuple[str, int, int, bytes]:
        """The head, seq and byte after the last good line, and the bytes that follow."""
        head, seq, size, rest = part.chain.encode(), part.first_seq - 1, 0, b""
        try:
            chunks = plain_chunks(path)
            for data in chunks:
                lines = (rest + data).split(b"\n")
                rest = lines.pop()
                for place, text in enumerate(lines):
                    line = text + b"\n"
                    after = chain.check(line, head)
                    if after is None or (chain.place_of(line) or (-1,))[0] != seq + 1:
                        behind = b"\n".join([*lines[place:], rest]) + b"".join(chunks)
                        return head.decode(), seq, size, behind
                    if self._span.end == seq:
                        self._span.add(leaf_hash(text))
                    head, seq, size = after, seq + 1, size + len(line)
                    self._lines += 1
                self._progress(part.file, self._lines)
        except LedgerDamaged as error:
            self.findings += error.findings
            self._bad(part, size, seq + 1)
        return head.decode(), seq, size, rest

    def _bad(self, part: DeltaPart, byte: int, seq: int) -> None:
        if self.bad_at is None:
            self.bad_at = (part, byte, seq)

    def _tail(self, part: DeltaPart, seq: int, size: int, tail: bytes) -> None:
        why = classify(tail, first_bad=seq + 1, durable_seq=self._head_seq)
        if why is not None:
            self.say(part.file, why, byte=size, seq=seq + 1)
            self._bad(part, size, seq + 1)
        elif tail:
            sentence = f"{len(tail)} bytes of a line that was never acknowledged; they are cut off at the next opening"
            self.notes.append(Finding(file=part.file, byte=size, seq=seq + 1, sentence=sentence))

    def snapshots(self, manifest: Manifest) -> None:
        for part in manifest.snapshots:
            self._snapshots += 1
            self._progress(part.file, self._snapshots)
            with tempfile.TemporaryDirectory(prefix="stateward-ledger-") as scratch:
                self._snapshot(part, Path(scratch))

    def _snapshot(self, part: SnapshotPart, scratch: Path) -> None:
        path = self._folder / part.file
        try:
            if path.suffix == GZ:
                path = unpack(Disk(), path, scratch / part.file.removesuffix(GZ))
            snapshot = Snapshot(path, root=part.root)
            snapshot.verify()
        except (LedgerDamaged, OSError) as error:
            told = error.findings if isinstance(error, LedgerDamaged) else ()
            self.findings += told or [
                Finding(file=part.file, sentence=f"it cannot be read: {error}")
            ]
            return
        known = self._heads.get(part.last_seq)
        if known not in (None, part.chain) or snapshot.header.chain != part.chain:
            self.say(
                part.file, "the chain at its place in the log is another one", seq=part.last_seq
            )

    def anchor(self, checkpoint: str) -> None:
        _, size, root = merkle.parse_checkpoint(checkpoint)
        try:
            with_size = _root_at(self._folder, size)
        except LedgerError as error:
            self.say(
                "checkpoint", f"it covers {size} lines, which cannot all be read: {error}", seq=size
            )
            return
        if with_size != root:
            self.say(
                "checkpoint", f"the first {size} lines are not those that it was made of", seq=size
            )

    def verdict(self) -> Verdict:
        head = self._heads[max(self._heads)]
        root = self._span.root().hex() if self._span.start == 0 else ""
        return Verdict(
            lines=self._lines,
            snapshots=self._snapshots,
            head=head,
            root=root,
            findings=tuple(self.findings),
            notes=tuple(self.notes),
        )


def _root_at(folder: Path, size: int) -> bytes | None:
    """The root over the first lines; None if there are fewer."""
    view = View(folder)
    span = Span()
    for part in view.parts():
        if span.end >= size:
            break
        if part.is_removed and part.span is not None and part.last_seq is not None:
            span.extend(Span.unpacked(part.span, start=part.first_seq - 1, end=part.last_seq))
            continue
        for text in view.part_texts(part):
            if span.end >= size:
                break
            span.add(leaf_hash(text))
    return span.root() if span.end == size else None


def validate(
    view: View, machine: Machine | None, *, progress: Progress = no_progress
) -> Iterator[Finding]:
    """Replay the log: each move against the machine, and the result against the documents as they are kept."""
    graph = Graph(machine) if machine is not None else None
    states: dict[str, str] = {}
    saved: dict[int, dict[str, str]] = {}
    targets = {to for _, to in view.manifest.rollbacks}
    is_importing = False
    is_whole = True
    expected = 1
    for text in view.texts():
        line = decode_line(text)
        if line.seq % PROGRESS_LINES == 0:
            progress("validate", line.seq)
        is_whole = is_whole and line.seq == expected
        expected = line.seq + 1
        if not line.doc_id:
            is_importing = line.new_state == IMPORT_OPENED or (
                is_importing and line.new_state != IMPORT_CLOSED
            )
            to = dict(view.manifest.rollbacks).get(line.seq)
            if to is not None:
                states = dict(saved.get(to, {}))
        else:
            yield from _moved(line.doc_id, line.old_state, line.new_state, line.seq, states, graph,
                              is_checked=not is_importing and line.source is None and is_whole)  # fmt: skip
            states[line.doc_id] = line.new_state
        if line.seq in targets:
            saved[line.seq] = dict(states)
    if is_whole:
        yield from _compared(view, states)


def _moved(
    doc_id: str,
    old: str | None,
    new: str,
    seq: int,
    states: dict[str, str],
    graph: Graph | None,
    *,
    is_checked: bool,
) -> Iterator[Finding]:
    if is_checked and states.get(doc_id) != old:
        sentence = f"{doc_id} was in {states.get(doc_id)}, but the line says it left {old}"
        yield Finding(file="log", seq=seq, sentence=sentence)
    if graph is None:
        return
    if new not in graph.machine.state:
        yield Finding(file="log", seq=seq, sentence=f"{doc_id}: {graph.name} has no state {new!r}")
    elif is_checked and old is None and new != graph.machine.initial:
        yield Finding(file="log", seq=seq, sentence=f"{doc_id} began in {new}")
    elif is_checked and old is not None and (old, new) not in graph.pairs:
        yield Finding(
            file="log", seq=seq, sentence=f"{doc_id}: {old} → {new} is no move of {graph.name}"
        )


def _compared(view: View, states: dict[str, str]) -> Iterator[Finding]:
    left = dict(states)
    for line in view.lines():
        told = left.pop(line.doc_id, None)
        if told != line.new_state:
            sentence = f"{line.doc_id} is kept as {line.new_state}, but the log says {told}"
            yield Finding(file="snapshot", seq=line.seq, sentence=sentence)
    for doc_id, told in left.items():
        yield Finding(
            file="snapshot", sentence=f"{doc_id} is in {told} by the log, but is not kept"
        )
    counts: dict[str, int] = {}
    for told in states.values():
        counts[told] = counts.get(told, 0) + 1
    kept = {name: count for name, count in view.summary().counts.items() if count}
    if kept != counts:
        yield Finding(
            file="summary", sentence=f"the counts are kept as {kept}, but the log says {counts}"
        )
