"""What a ledger can be asked: the states of documents, how they got there, and proofs.

`LedgerQueries` is what a handle can do without being the writer; it never changes a file. Each query of a read-only
handle first reads what the writer has added since the last one.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from stateward.core.errors import Damage, InvalidRequest
from stateward.core.machine import Machine
from stateward.core.model import SECOND, from_iso
from stateward.ledger.head import read_head
from stateward.ledger.manifest import DeltaInfo, SnapshotInfo
from stateward.ledger.record import (
    LedgerAuditRecord,
    LedgerDocument,
    LedgerLine,
    audit_record,
    check_doc_id,
)
from stateward.ledger.replay import replay
from stateward.ledger.states import TransitionTable
from stateward.ledger.summary import Durations, Summary
from stateward.ledger.verification import LedgerVerification, verify
from stateward.ledger.view import LedgerView, Progress, no_progress
from stateward.ledger.writer import LedgerWriter
from stateward.proofs import merkle
from stateward.proofs.merkle import InclusionProof, span_over

POLL_S = 0.005
"""How often `follow` looks for new lines: a look is one stat and one fstat."""


class LedgerQueries:
    """An open ledger, as far as it can be read; threads may share it."""

    def __init__(
        self,
        view: LedgerView,
        writer: LedgerWriter | None,
        table: TransitionTable | None,
        clock: Callable[[], float],
        tables: Mapping[str, TransitionTable],
    ) -> None:
        self._view = view
        self._writer = writer
        self._table = table
        self._tables = tables
        """Of a ledger that mirrors another log: its machines by name, which is the adapter of their lines."""
        self._clock = clock
        self._lock = writer.state_lock if writer is not None else threading.RLock()

    @property
    def path(self) -> Path:
        """The directory."""
        return self._view.folder

    @property
    def notes(self) -> tuple[str, ...]:
        """What was repaired at opening, or used in place of something damaged; empty when all was well."""
        return tuple(self._view.notes)

    @property
    def is_partial(self) -> bool:
        """Whether answers come from deltas without their base snapshot."""
        return self._view.is_partial

    @property
    def last_seq(self) -> int:
        """The seq of the newest line."""
        with self._current_view() as view:
            return view.active.seq

    @property
    def head(self) -> str:
        """The head of the chain after the newest line."""
        with self._current_view() as view:
            return view.active.chain.decode()

    @property
    def machine(self) -> Machine | None:
        """The state machine that moves are checked against; None where another log is mirrored."""
        return self._table.machine if self._table is not None else None

    @contextmanager
    def _current_view(self) -> Iterator[LedgerView]:
        """The view, up to date and locked."""
        with self._lock:
            if self._writer is None:
                self._view.refresh()
            else:
                self._writer.check_usable()
            yield self._view

    # Documents

    def state(self, doc_id: str) -> str | None:
        """The document's state (a `LedgerState` for the default machine), or None if it is unknown."""
        line = self._latest_line(doc_id)
        return None if line is None else self._state_value(line.new_state)

    def document(self, doc_id: str) -> LedgerDocument | None:
        """The document's present state and its details."""
        line = self._latest_line(doc_id)
        return None if line is None else self._document(line)

    def next_states(self, doc_id: str) -> tuple[str, ...]:
        """The states that this document may enter now; none if its machine is not known here."""
        line = self._latest_line(doc_id)
        table = self._table_of(line.adapter if line else "")
        if table is None:
            return ()
        names = table.next(line) if line else (table.machine.initial,)
        return tuple(map(self._state_value, names))

    def _table_of(self, adapter: str) -> TransitionTable | None:
        """The transitions of a document: those of the ledger's machine, or in a mirror of the machine it names."""
        return self._table if self._table is not None else self._tables.get(adapter)

    def _latest_line(self, doc_id: str) -> LedgerLine | None:
        check_doc_id(doc_id)
        with self._current_view() as view:
            return view.latest_line(doc_id)

    def _state_value(self, state: str) -> str:
        return self._table.typed(state) if self._table is not None else state

    def _document(self, line: LedgerLine) -> LedgerDocument:
        return LedgerDocument(
            doc_id=line.doc_id, state=self._state_value(line.new_state), updated_at=line.timestamp,
            adapter=line.adapter, seq=line.seq, metadata=line.metadata, retry_count=line.retry_count,
            max_retries=line.max_retries, resume=line.resume, error_type=line.error_type,
            error_message=line.error_message, is_partial=self._view.is_partial,
        )  # fmt: skip

    def history(self, doc_id: str) -> list[LedgerAuditRecord]:
        """Every change of the document, oldest first; also those that were rolled back or archived."""
        check_doc_id(doc_id)
        with self._current_view() as view:
            return [audit_record(text) for text in view.history(doc_id)]

    def documents(self, *, state: str | None = None) -> Iterator[LedgerDocument]:
        """Every document, or those in one state, sorted by the bytes of their quoted id."""
        with self._current_view() as view:
            lines = view.latest_lines(None if state is None else str(state))
        return map(self._document, lines)

    def stuck(
        self, *, older_than: timedelta, states: Iterable[str] | None = None
    ) -> Iterator[LedgerDocument]:
        """Documents that have been in one of `states` for longer than that; by default in any that is not terminal.

        In a mirror, whether a state is terminal is known of the machines that the ledger was opened with.
        """
        before = self._clock() - older_than.total_seconds()
        wanted = None if states is None else {str(state) for state in states}
        for each in self.documents():
            if wanted is not None:
                is_wanted = each.state in wanted
            else:
                table = self._table_of(each.adapter)
                is_wanted = table is None or each.state not in table.terminal
            if is_wanted and each.updated_at < before:
                yield each

    def summary(self) -> Summary:
        """Counts, durations, adapters, error types and sources; costs the same for any number of documents."""
        with self._current_view() as view:
            return view.summary()

    def counts(self) -> dict[str, int]:
        """How many documents are in each state that has any."""
        return {
            self._state_value(name): count for name, count in self.summary().counts.items() if count
        }

    def durations(self) -> dict[str, Durations]:
        """How long documents stayed in each state before they left it."""
        return {self._state_value(name): found for name, found in self.summary().durations.items()}

    # The log

    def records(self, *, after: int = 0) -> Iterator[LedgerAuditRecord]:
        """Every line of the log with a greater seq, in order, checked; control lines too.

        Segments that were removed on purpose are left out: the numbers show it.
        """
        return map(audit_record, self.lines(after=after))

    def lines(self, *, after: int = 0) -> Iterator[bytes]:
        """The same as the bytes in the files."""
        with self._current_view() as view:
            found = view.log_lines(after=after)
        return (text for text, _ in found)

    def follow(
        self,
        *,
        after: int | None = None,
        poll_s: float = POLL_S,
        until: Callable[[], bool] = lambda: False,
    ) -> Iterator[LedgerAuditRecord]:
        """Every record after `after` (or from now on) as it is written, until `until()` is true."""
        seq = self.last_seq if after is None else after
        while True:
            is_over = until()  # before the last look, so that nothing written until then is missed
            for each in self.records(after=seq) if self.last_seq > seq else ():
                yield each
                seq = each.seq
            if is_over:
                return
            time.sleep(poll_s)

    # Files

    def files(self) -> list[tuple[Path, int | None]]:
        """The files of the log, oldest first; for the active one also how many of its bytes are complete lines."""
        with self._current_view() as view:
            active = view.active
            sealed = [
                info
                for info in view.segments()
                if not info.is_removed and info.last_seq is not None
            ]
            return [
                *((view.folder / info.file, None) for info in sealed),
                (active.path, active.end),
            ]

    @property
    def compacted_at(self) -> float:
        """When the newest snapshot was made, or else the ledger; 0 if that is unknown."""
        with self._current_view() as view:
            manifest = view.manifest
        made = manifest.snapshots[0].created_at if manifest.snapshots else manifest.created_at
        return from_iso(made) / SECOND if made else 0.0

    def snapshots(self) -> list[SnapshotInfo]:
        """The snapshots that can be rolled back to, newest first."""
        with self._current_view() as view:
            return list(view.manifest.snapshots)

    def archive(self) -> list[DeltaInfo]:
        """The segments of the log that no kept snapshot needs, and the tombstones of removed ones."""
        with self._current_view() as view:
            live = {info.first_seq for info in view.manifest.deltas}
            return [info for info in view.segments() if info.first_seq not in live]

    # Proofs

    @property
    def durable_seq(self) -> int:
        """The newest line that is certain to survive a power cut: a reader may see lines that are not synced yet."""
        with self._current_view() as view:
            last = view.active.last
            seq = view.active.seq
        if self._writer is not None or last is None:
            return seq
        return min(seq, max(read_head(self.path).seq, last.seq - last.n))

    def tree(
        self, *, size: int | None = None, progress: Progress = no_progress
    ) -> tuple[int, bytes]:
        """The number of lines, and the RFC 6962 root over them (or over the first `size` of them)."""
        with self._current_view() as view:
            size = view.active.seq if size is None else size
            pieces = view.tree_pieces(size=size, trusts_spans=True, progress=progress)
        span = span_over(pieces, size=size)
        if span.end != size:
            raise InvalidRequest(f"the tree over {size} lines cannot be worked out any more")
        return size, span.root()

    def prove(
        self, seq: int, *, size: int | None = None, progress: Progress = no_progress
    ) -> InclusionProof:
        """That the line with this seq is in the tree of a checkpoint over `size` lines (or of all)."""
        with self._current_view() as view:
            last = view.active.seq
            size = last if size is None else size
            if not 1 <= seq <= size <= last:
                raise InvalidRequest(f"there is no line {seq} in the first {size} of {last}")
            # A proof is checked against a root that is kept elsewhere: a wrong span could only spoil it.
            pieces = view.tree_pieces(
                size=size, trusts_spans=True, progress=progress, with_line=seq
            )
        return merkle.prove(pieces, seq=seq, size=size)

    def verify(
        self, *, checkpoint: str | None = None, progress: Progress = no_progress
    ) -> LedgerVerification:
        """Read every byte and say what is wrong, and where (`verify.verify` needs no open ledger)."""
        return verify(self.path, checkpoint=checkpoint, progress=progress)

    def replay(self, *, progress: Progress = no_progress) -> Iterator[Damage]:
        """Replay the log: every transition against the state machine, and the outcome against what is stored."""
        with self._current_view() as view:
            return replay(view, self._table, self._tables, progress=progress)
