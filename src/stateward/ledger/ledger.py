"""The ledger: where every document is, how it got there, and proof that nobody changed the story.

    with Ledger.open("ledger/") as ledger:
        ledger.record("doc:123", LedgerState.PENDING, adapter="pubmed")   # checked; durable when it returns
        ledger.state("doc:123")

One process writes, many read. A handle that was opened with `read_only=True` takes no lock and follows the
writer: each question looks first whether there is something new. A handle may be shared between threads.

The directory (each file's format stands at the top of its module):

    MANIFEST.json                   which files count                                          manifest
    HEAD                            2 x 32 bytes: the last seq that was durable; may lag         view
    LOCK                            held by the writer; says who, for people                    writer
    snapshot-2025-10-04.json        every document's state at one place of the log   (+ .idx)   snapshot
    snapshot-2025-10-03.json.gz     older ones, packed
    delta-2025-10-04.jsonl          the log, one line per change                     (+ .idx)   chain, delta, index
    delta-2025-10-03.jsonl.gz       what a snapshot covers, packed
    ARCHIVE.jsonl                   older stretches of the log, and tombstones of removed ones  manifest
    checkpoint-2025-10-04.txt       the root over all lines, signed or not                      merkle

All but the `.idx` files and HEAD are plain JSON or text (or that, gzipped); those two are derived or a hint.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec.structs import replace

from stateward.core.errors import InvalidRequest
from stateward.core.machine import Machine
from stateward.core.model import Fields
from stateward.ledger import merkle, upkeep
from stateward.ledger.disk import Disk, put, wall_clock
from stateward.ledger.errors import Finding, LedgerDamaged, LedgerError, LedgerMismatch
from stateward.ledger.manifest import HEAD, DeltaPart, SnapshotPart, date_label
from stateward.ledger.merkle import Proof, Span, leaf_hash
from stateward.ledger.rebuild import is_ledger
from stateward.ledger.record import (
    IMPORT_CLOSED,
    IMPORT_OPENED,
    METADATA_BYTES_MAX,
    ROLLED_BACK,
    Document,
    Entry,
    LedgerAuditRecord,
    Line,
    audit_record,
    check_doc_id,
    check_text,
    document,
)
from stateward.ledger.repair import Verdict, validate, verify
from stateward.ledger.schedule import Housekeeping
from stateward.ledger.states import LITERATURE, Graph
from stateward.ledger.summary import Durations, Summary
from stateward.ledger.upkeep import DELTA_BYTES_MAX, SNAPSHOTS_KEPT, Progress, no_progress
from stateward.ledger.view import View, read_head
from stateward.ledger.writer import ANY_MACHINE, Change, Durability, Writer, create

POLL_S = 0.005
LEGACY_NAMES = ("ledger.jsonl",)
REASON_CHARS_MAX = 1024


class Ledger:
    """A ledger directory, open. Make one with `Ledger.open`."""

    def __init__(
        self, view: View, writer: Writer | None, graph: Graph | None, clock: Callable[[], float]
    ) -> None:
        self._view = view
        self._writer = writer
        self._graph = graph
        self._clock = clock
        self._mutex = writer.mutex if writer is not None else threading.RLock()
        self._snapshots_kept = SNAPSHOTS_KEPT
        self._delta_bytes_max = DELTA_BYTES_MAX

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        read_only: bool = False,
        machine: Machine | None = LITERATURE,
        clock: Callable[[], float] = wall_clock,
        durability: Durability = "group",
        snapshots_kept: int = SNAPSHOTS_KEPT,
        delta_bytes_max: int = DELTA_BYTES_MAX,
        metadata_bytes_max: int = METADATA_BYTES_MAX,
        partial: bool = False,
        disk: Disk | None = None,
    ) -> "Ledger":
        """Open a ledger, or make one where there is none.

        `machine` is the graph that moves are checked against; None is a ledger that only mirrors another
        log. `durability="os"` leaves it to the kernel when bytes reach the disk: a power cut may then cost
        the last ones. `partial` answers from deltas alone when their base is lost, and marks every answer.
        """
        folder = Path(path)
        graph = Graph(machine) if machine is not None else None
        try:
            if read_only:
                if not folder.is_dir() or not is_ledger(folder):
                    raise LedgerMismatch(f"{folder} is not a ledger")
                ledger = cls(View(folder, is_partial_allowed=partial), None, graph, clock)
            else:
                seam = disk or Disk()
                _make_if_new(folder, seam, clock, graph)
                writer = Writer(
                    folder,
                    disk=seam,
                    clock=clock,
                    graph=graph,
                    durability=durability,
                    metadata_bytes_max=metadata_bytes_max,
                    is_partial_allowed=partial,
                )
                ledger = cls(writer.view, writer, graph, clock)
        except OSError as error:
            raise LedgerError(f"{folder} cannot be opened: {error.strerror or error}") from error
        ledger._snapshots_kept = snapshots_kept
        ledger._delta_bytes_max = delta_bytes_max
        try:
            ledger._check_machine()
            if not read_only:
                ledger._complete()
        except BaseException:
            ledger.close()
            raise
        return ledger

    def _check_machine(self) -> None:
        name, version = self._view.manifest.machine, self._view.manifest.machine_version
        mine = self._graph.name if self._graph else ANY_MACHINE
        known = self._graph.version if self._graph else 0
        if name and name != mine:
            raise LedgerMismatch(
                f"{self._view.folder} holds documents of the machine {name!r}, but was opened for {mine!r}"
            )
        if version > known:
            raise LedgerMismatch(
                f"{self._view.folder} was written with version {version} of {name!r}; this is version {known}"
            )

    def _complete(self) -> None:
        """Finish what a crash left half done, and write down a machine that is newer now."""
        writer = self._the_writer()
        last = self._view.active.last
        if last is not None and not last.doc_id and last.new_state == ROLLED_BACK:
            with writer.failing():
                upkeep.complete_rollback(writer, last, None)
        manifest = self._view.manifest
        name = self._graph.name if self._graph else ANY_MACHINE
        version = self._graph.version if self._graph else 0
        if (manifest.machine, manifest.machine_version) != (name, version):
            with writer.failing():
                writer.publish(replace(manifest, machine=name, machine_version=version))
        if self._view.base is not None and not self._view.base.has_index:
            self._view.base.write_index(writer.disk)

    def _the_writer(self) -> Writer:
        if self._writer is None:
            raise InvalidRequest(f"{self._view.folder} was opened with read_only=True")
        return self._writer

    @property
    def path(self) -> Path:
        """The directory."""
        return self._view.folder

    @property
    def notes(self) -> tuple[str, ...]:
        """What had to be done or used instead of what, in sentences; empty when all was well."""
        return tuple(self._view.notes)

    @property
    def is_partial(self) -> bool:
        """Whether answers come from deltas without their base."""
        return self._view.is_partial

    @property
    def last_seq(self) -> int:
        """The seq of the newest line."""
        with self._looking():
            return self._view.active.seq

    @property
    def head(self) -> str:
        """The head of the chain after the newest line."""
        with self._looking():
            return self._view.active.chain.decode()

    @property
    def machine(self) -> Machine | None:
        """The machine that moves are checked against; None where another log is mirrored."""
        return self._graph.machine if self._graph is not None else None

    def files(self) -> list[tuple[Path, int | None]]:
        """The files of the log, oldest first; of the one that is written to, also how many of its bytes count."""
        with self._looking() as view:
            active = view.active
            parts = [part for part in view.parts() if not part.is_removed]
            paths = [view.folder / part.file for part in parts if part.last_seq is not None]
            return [*((path, None) for path in paths), (active.path, active.end)]

    # Writing

    def record(
        self,
        doc_id: str,
        state: str,
        *,
        adapter: str = "",
        error_type: str | None = None,
        error_message: str | None = None,
        traceback: str | None = None,
        retry_count: int | None = None,
        max_retries: int | None = None,
        duration_seconds: float | None = None,
        metadata: Fields | None = None,
        actor: str | None = None,
    ) -> LedgerAuditRecord:
        """Move a document. Checked, and durable when it returns.

        Raises `InvalidTransition` for a move that the machine does not have, `InvalidRequest` for a value that
        cannot be right; then nothing was written. The retry count, the duration of the stay in the state before
        and the state that a retry resumes at are worked out unless they are given.
        """
        entry = Entry(
            doc_id=doc_id,
            state=state,
            adapter=adapter,
            error_type=error_type,
            error_message=error_message,
            traceback=traceback,
            retry_count=retry_count,
            max_retries=max_retries,
            duration_seconds=duration_seconds,
            metadata={} if metadata is None else metadata,
            actor=actor,
        )
        return audit_record(self._append([entry])[0][1])

    def record_many(self, changes: Iterable[Entry | Change]) -> int:
        """Move many documents in one durable group, in order; the number. All are checked before any is written.

        A change is (document, state[, adapter[, metadata]]) or an `Entry`.
        """
        group = list(changes)
        return len(self._append(group)) if group else 0

    def _append(self, entries: Sequence[Entry | Change]) -> list[tuple[Line, bytes, bytes]]:
        if self._graph is None:
            raise InvalidRequest(f"{self.path} only mirrors another log; use mirror()")
        writer = self._the_writer()
        lines = writer.append(entries)
        self._rotate_if_large(writer)
        return lines

    def _rotate_if_large(self, writer: Writer) -> None:
        if self._view.active.end >= self._delta_bytes_max:
            upkeep.rotate(writer)

    def mirror(self, entries: Iterable[Entry], *, source: str) -> int:
        """Append what another log says, exactly once: entries up to `source_seq(source)` are left out.

        Every entry carries the `source_seq` of its own log, strictly rising. The last one is durable in the same
        group as the lines, so a mirror that died anywhere goes on after `source_seq(source)`. Moves are not checked
        against a graph, for the other log is the truth; but `old_state`, when given, must be where this ledger has
        the document. The number of lines appended.
        """
        check_text(source, what="source", chars_max=256)
        writer = self._the_writer()
        with writer.commits:  # two mirrors of one source take turns
            last = self.source_seq(source)
            fresh: list[Entry] = []
            for entry in entries:
                if entry.source_seq is None or isinstance(entry.source_seq, bool):
                    raise InvalidRequest(f"{entry.doc_id}: a mirrored entry carries its source_seq")
                if entry.source_seq > last:
                    fresh.append(entry)
                    last = entry.source_seq
                elif fresh:
                    raise InvalidRequest(f"source_seq {entry.source_seq} comes after {last}")
            if fresh:
                writer.append(fresh, is_checked=False, source=source)
                self._rotate_if_large(writer)
            return len(fresh)

    def source_seq(self, source: str) -> int:
        """The last seq of the other log that was mirrored here; 0 if none."""
        return self.summary().sources.get(source, 0)

    @contextmanager
    def importing(self, *, reason: str, actor: str | None = None) -> "Iterator[ImportDoor]":
        """The import door: moves that the graph does not have, for migration alone.

        The log itself says when it was opened, why and by whom, and how much came through.
        """
        check_text(reason, what="reason", chars_max=REASON_CHARS_MAX)
        if not reason.strip():
            raise InvalidRequest(
                "say why the import door is opened: reason='migration of ledger.jsonl'"
            )
        writer = self._the_writer()
        words: dict[str, object] = {"reason": reason}
        if actor:
            words["actor"] = actor
        opened = writer.control(IMPORT_OPENED, words)
        writer.commit(opened.seq)
        door = ImportDoor(self, writer)
        try:
            yield door
        finally:
            if door.is_usable:
                closed = writer.control(
                    IMPORT_CLOSED, {"opened": opened.seq, "records": door.records}
                )
                writer.commit(closed.seq)

    # Asking

    @contextmanager
    def _looking(self) -> Iterator[View]:
        """The view, up to date, with nobody changing it meanwhile."""
        with self._mutex:
            if self._writer is None:
                self._view.refresh()
            else:
                self._writer.check_usable()
            yield self._view

    def _shown(self, name: str) -> str:
        return self._graph.state(name) if self._graph is not None else name

    def state(self, doc_id: str) -> str | None:
        """The document's state (a `LedgerState` for the literature machine), or None if nobody knows it."""
        check_doc_id(doc_id)
        with self._looking() as view:
            line = view.line(doc_id)
        return None if line is None else self._shown(line.new_state)

    def document(self, doc_id: str) -> Document | None:
        """All that is known about where the document is now."""
        check_doc_id(doc_id)
        with self._looking() as view:
            line = view.line(doc_id)
        return None if line is None else self._document(line)

    def _document(self, line: Line) -> Document:
        found = document(line, is_partial=self._view.is_partial)
        return replace(found, state=self._shown(found.state))

    def next_states(self, doc_id: str) -> tuple[str, ...]:
        """Where this very document may go now."""
        if self._graph is None:
            return ()
        with self._looking() as view:
            line = view.line(doc_id)
        names = self._graph.next(line) if line else (self._graph.machine.initial,)
        return tuple(map(self._shown, names))

    def history(self, doc_id: str) -> list[LedgerAuditRecord]:
        """Every change of the document, oldest first; also those that were rolled back or archived."""
        check_doc_id(doc_id)
        with self._looking() as view:
            return [audit_record(text) for text in view.history(doc_id)]

    def documents(self, *, state: str | None = None) -> Iterator[Document]:
        """Every document, or those in one state, sorted by the bytes of their quoted id."""
        with self._looking() as view:
            lines = view.lines(None if state is None else str(state))
        for line in lines:
            yield self._document(line)

    def stuck(
        self, *, older_than: timedelta, states: Iterable[str] | None = None
    ) -> Iterator[Document]:
        """Documents that have been in one state for longer than that, terminal states left out."""
        before = self._clock() - older_than.total_seconds()
        wanted = None if states is None else {str(state) for state in states}
        terminal = self._graph.terminal if self._graph is not None else frozenset()
        for each in self.documents():
            is_wanted = each.state in wanted if wanted is not None else each.state not in terminal
            if is_wanted and each.updated_at < before:
                yield each

    def summary(self) -> Summary:
        """Counts, durations, adapters, error types and sources; costs the same however many documents there are."""
        with self._looking() as view:
            return view.summary()

    def counts(self) -> dict[str, int]:
        """How many documents are in each state that has any."""
        return {self._shown(name): count for name, count in self.summary().counts.items() if count}

    def durations(self) -> dict[str, Durations]:
        """How long documents stayed in each state before they left it."""
        return {self._shown(name): stays for name, stays in self.summary().durations.items()}

    def records(self, *, after: int = 0) -> Iterator[LedgerAuditRecord]:
        """Every line of the log with a greater seq, in order, each checked; the ledger's own lines too.

        Stretches that were removed on purpose are left out: the numbers show it.
        """
        return map(audit_record, self.lines(after=after))

    def lines(self, *, after: int = 0) -> Iterator[bytes]:
        """The same as the bytes that stand in the files."""
        with self._looking() as view:
            return view.texts(after=after)

    def follow(
        self,
        *,
        after: int | None = None,
        poll_s: float = POLL_S,
        until: Callable[[], bool] = lambda: False,
    ) -> Iterator[LedgerAuditRecord]:
        """Every record after `after` (or from now on) as it is written, until `until()` says so."""
        seq = self.last_seq if after is None else after
        while True:
            is_over = until()
            for each in self.records(after=seq) if self.last_seq > seq else ():
                yield each
                seq = each.seq
            if is_over:
                return
            time.sleep(poll_s)

    # Upkeep

    def rotate(self) -> bool:
        """Seal the delta that is written to and go on in a new one; False if it was empty."""
        return upkeep.rotate(self._the_writer())

    def compact(
        self, *, progress: Progress = no_progress, pack: bool = True
    ) -> SnapshotPart | None:
        """Make a new snapshot, pack what is not live, let go of old snapshots. Appends go on meanwhile."""
        writer = self._the_writer()
        return upkeep.compact(
            writer, snapshots_kept=self._snapshots_kept, is_packed=pack, progress=progress
        )

    def is_compaction_due(self) -> bool:
        """Whether the log since the last snapshot has grown so much that a compaction pays."""
        return upkeep.is_due(self._the_writer())

    def tend(self, keeping: Housekeeping, now: datetime) -> SnapshotPart | None:
        """Compact if it is time, or if the log has grown enough; after a failure not before its pause is over.

        For a thread or a loop that asks now and then. Raises what the compaction raised.
        """
        is_wanted = self.is_compaction_due() and not keeping.is_pausing(now)
        if not (keeping.is_due(now) or is_wanted):
            return None
        try:
            made = self.compact()
        except LedgerError:
            keeping.failed(now)
            raise
        keeping.succeeded(now)
        return made

    def snapshots(self) -> list[SnapshotPart]:
        """What can be rolled back to, newest first."""
        with self._looking() as view:
            return list(view.manifest.snapshots)

    def rollback(
        self, to: str | int, *, reason: str = "", actor: str | None = None
    ) -> SnapshotPart:
        """Make the documents of a snapshot (its date, name or seq) count again; the log keeps everything."""
        return upkeep.rollback(self._the_writer(), to, reason=reason, actor=actor)

    def archive(self) -> list[DeltaPart]:
        """The stretches of the log that no kept snapshot needs, and the tombstones of removed ones."""
        with self._looking() as view:
            live = {part.first_seq for part in view.manifest.deltas}
            return [part for part in view.parts() if part.first_seq not in live]

    def remove_archived(self, *, up_to: int, reason: str, execute: bool = False) -> list[DeltaPart]:
        """What removing the archive up to that seq would take away; with `execute`, it does, leaving tombstones."""
        check_text(reason, what="reason", chars_max=REASON_CHARS_MAX)
        return upkeep.remove(self._the_writer(), up_to=up_to, reason=reason, is_executed=execute)

    # Proof

    def checkpoint(
        self,
        *,
        origin: str = "stateward.local/ledger",
        sign_as: str | None = None,
        private_key: bytes | None = None,
        write: bool = True,
    ) -> str:
        """The root over all lines so far, as text to be kept elsewhere; also put beside the ledger by the writer."""
        size, root = self.tree()
        text = merkle.checkpoint_text(origin, size=size, root=root)
        if private_key is not None:
            text = merkle.signed(text, name=sign_as or origin, private_key=private_key)
        if write and self._writer is not None:
            path = self.path / f"checkpoint-{date_label(self._clock())}.txt"
            put(self._writer.disk, path, text.encode())
        return text

    def tree(self, *, size: int | None = None) -> tuple[int, bytes]:
        """The number of lines, and the RFC 6962 root over them (or over the first `size` of them)."""
        span = Span()
        with self._looking() as view:
            pieces = self._pieces(view, whole_spans_up_to=size)
        for piece in pieces:
            if size is not None and span.end >= size:
                break
            if isinstance(piece, Span):
                span.extend(piece)
            else:
                span.add(leaf_hash(piece))
        if size is not None and span.end != size:
            raise InvalidRequest(f"the tree over {size} lines cannot be worked out any more")
        return span.end, span.root()

    def _pieces(self, view: View, *, whole_spans_up_to: int | None) -> Iterator[Span | bytes]:
        """The log as spans where they are known and wanted, and as lines elsewhere."""
        limit = view.active.seq if whole_spans_up_to is None else whole_spans_up_to
        for part in view.parts():
            last = part.last_seq
            if part.span is not None and last is not None and (last <= limit or part.is_removed):
                yield Span.unpacked(part.span, start=part.first_seq - 1, end=last)
            else:
                yield from view.part_texts(part)

    def prove(self, seq: int, *, size: int | None = None) -> Proof:
        """That the line with this seq is in the tree of a checkpoint over `size` lines (or of all)."""
        with self._looking() as view:
            whole = view.active.seq if size is None else size
            if not 1 <= seq <= whole <= view.active.seq:
                raise InvalidRequest(
                    f"there is no line {seq} in the first {whole} of {view.active.seq}"
                )
            parts = view.parts()
        pieces = (piece for part in parts for piece in self._proving(part, seq, whole))
        return merkle.prove(pieces, seq=seq, size=whole)

    def _proving(self, part: DeltaPart, seq: int, size: int) -> Iterator[Span | bytes]:
        if part.is_removed and part.span is not None and part.last_seq is not None:
            yield Span.unpacked(part.span, start=part.first_seq - 1, end=part.last_seq)
        elif part.first_seq <= size:
            yield from self._view.part_texts(part)

    def verify(self, *, checkpoint: str | None = None) -> Verdict:
        """Read every byte and say what is wrong, and where (see `repair.verify`, which needs no open ledger)."""
        return verify(self.path, checkpoint=checkpoint)

    def validate(self) -> Iterator[Finding]:
        """Replay the log: every move against the machine, and the result against what is kept."""
        with self._looking() as view:
            machine = self._graph.machine if self._graph is not None else None
        return validate(view, machine)

    # The end

    def close(self) -> None:
        """Let go of the lock and the files."""
        if self._writer is not None:
            self._writer.close()
        else:
            self._view.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class ImportDoor:
    """What `Ledger.importing` opens: words for states, any move, times of long ago."""

    def __init__(self, ledger: Ledger, writer: Writer) -> None:
        self._ledger = ledger
        self._writer = writer
        self.records = 0

    @property
    def is_usable(self) -> bool:
        """Whether the writer behind the door still writes."""
        return self._writer.is_usable

    def record_many(self, entries: Sequence[Entry], *, source: str | None = None) -> int:
        """One durable group, not checked against the graph; states must be the machine's, of whatever kind.

        With a `source` each line names it and its `source_seq`, and `Ledger.source_seq` says how far it came.
        """
        lines = self._writer.append(entries, is_checked=False, source=source) if entries else []
        self.records += len(lines)
        self._ledger._rotate_if_large(self._writer)
        return len(lines)


def _make_if_new(folder: Path, disk: Disk, clock: Callable[[], float], graph: Graph | None) -> None:
    if not folder.exists():
        create(folder, disk=disk, clock=clock, graph=graph)
    elif not folder.is_dir():
        raise LedgerMismatch(f"{folder} is a file, not a ledger directory")
    elif not is_ledger(folder):
        strange = sorted(path.name for path in folder.iterdir() if not _is_ours(path.name))
        if strange:
            raise LedgerMismatch(
                f"{folder} is not a ledger and not empty (it has {strange[0]!r}); name a new or empty directory"
            )
        if read_head(folder):
            sentence = f"seq {read_head(folder)} was acknowledged, but there is no file of the log"
            raise LedgerDamaged([Finding(file=HEAD, sentence=sentence)])
        create(folder, disk=disk, clock=clock, graph=graph)


def _is_ours(name: str) -> bool:
    return (
        name in LEGACY_NAMES
        or name.startswith(("ledger.jsonl", ".", "LOCK", "HEAD"))
        or name.endswith(".tmp")
    )
