"""The questions that a ledger answers: where documents are, how they got there, and the proof of it.

`Questions` is what a handle can do without being the writer; it never changes a file. Each question looks first
whether the writer has written more.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from msgspec.structs import replace

from stateward.core.errors import InvalidRequest
from stateward.core.machine import Machine
from stateward.core.model import SECOND, from_iso
from stateward.ledger import merkle
from stateward.ledger.errors import Finding
from stateward.ledger.manifest import DeltaPart, SnapshotPart
from stateward.ledger.merkle import Proof, Span, leaf_hash
from stateward.ledger.record import (
    Document,
    LedgerAuditRecord,
    Line,
    audit_record,
    check_doc_id,
    document,
)
from stateward.ledger.states import Graph
from stateward.ledger.summary import Durations, Summary
from stateward.ledger.verify import (
    PROGRESS_LINES,
    Progress,
    Verdict,
    no_progress,
    validate,
    verify,
)
from stateward.ledger.view import View, read_head
from stateward.ledger.writer import Writer

POLL_S = 0.005


class Questions:
    """An open ledger as it can be asked; threads may share it."""

    def __init__(
        self, view: View, writer: Writer | None, graph: Graph | None, clock: Callable[[], float]
    ) -> None:
        self._view = view
        self._writer = writer
        self._graph = graph
        self._clock = clock
        self._mutex = writer.mutex if writer is not None else threading.RLock()

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

    # Documents

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

    # Files

    @property
    def kept_at(self) -> float:
        """When the newest snapshot was made, or else the ledger; 0 if nobody knows."""
        with self._looking() as view:
            manifest = view.manifest
        made = manifest.snapshots[0].created_at if manifest.snapshots else manifest.created_at
        return from_iso(made) / SECOND if made else 0.0

    def snapshots(self) -> list[SnapshotPart]:
        """What can be rolled back to, newest first."""
        with self._looking() as view:
            return list(view.manifest.snapshots)

    def archive(self) -> list[DeltaPart]:
        """The stretches of the log that no kept snapshot needs, and the tombstones of removed ones."""
        with self._looking() as view:
            live = {part.first_seq for part in view.manifest.deltas}
            return [part for part in view.parts() if part.first_seq not in live]

    # Proof

    @property
    def durable_seq(self) -> int:
        """The newest line that is certain to survive a power cut: a reader may see lines that are not synced yet."""
        with self._looking() as view:
            last = view.active.last
            seq = view.active.seq
        if self._writer is not None or last is None:
            return seq
        return min(seq, max(read_head(self.path), last.seq - last.n))

    def tree(
        self, *, size: int | None = None, progress: Progress = no_progress
    ) -> tuple[int, bytes]:
        """The number of lines, and the RFC 6962 root over them (or over the first `size` of them)."""
        with self._looking() as view:
            whole = view.active.seq if size is None else size
            parts = view.parts()
        span = Span()
        for piece in self._pieces(parts, whole):
            if span.end >= whole:
                break
            if isinstance(piece, Span):
                span.extend(piece)
            else:
                span.add(leaf_hash(piece))
            if span.end % PROGRESS_LINES == 0:
                progress("tree", span.end)
        if span.end != whole:
            raise InvalidRequest(f"the tree over {whole} lines cannot be worked out any more")
        return whole, span.root()

    def _pieces(self, parts: list[DeltaPart], size: int) -> Iterator[Span | bytes]:
        """The first lines of the log as spans where they are known, and as lines elsewhere."""
        for part in parts:
            last = part.last_seq
            if part.span is not None and last is not None and (last <= size or part.is_removed):
                yield Span.unpacked(part.span, start=part.first_seq - 1, end=last)
            else:
                yield from self._view.part_texts(part)

    def prove(
        self, seq: int, *, size: int | None = None, progress: Progress = no_progress
    ) -> Proof:
        """That the line with this seq is in the tree of a checkpoint over `size` lines (or of all)."""
        with self._looking() as view:
            whole = view.active.seq if size is None else size
            if not 1 <= seq <= whole <= view.active.seq:
                raise InvalidRequest(
                    f"there is no line {seq} in the first {whole} of {view.active.seq}"
                )
            parts = view.parts()
        return merkle.prove(self._proving(parts, whole, progress), seq=seq, size=whole)

    def _proving(
        self, parts: list[DeltaPart], size: int, progress: Progress
    ) -> Iterator[Span | bytes]:
        """The first lines of the log as lines, and as spans where they were removed."""
        for part in parts:
            if part.is_removed and part.span is not None and part.last_seq is not None:
                yield Span.unpacked(part.span, start=part.first_seq - 1, end=part.last_seq)
            elif part.first_seq <= size:
                progress(part.file, part.first_seq)
                yield from self._view.part_texts(part)

    def verify(self, *, checkpoint: str | None = None, progress: Progress = no_progress) -> Verdict:
        """Read every byte and say what is wrong, and where (see `verify`, which needs no open ledger)."""
        return verify(self.path, checkpoint=checkpoint, progress=progress)

    def validate(self, *, progress: Progress = no_progress) -> Iterator[Finding]:
        """Replay the log: every move against the machine, and the result against what is kept."""
        with self._looking() as view:
            machine = self._graph.machine if self._graph is not None else None
        return validate(view, machine, progress=progress)
