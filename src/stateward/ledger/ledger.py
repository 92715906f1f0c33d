"""The ledger: the state of every document, how it got there, and evidence that this history was not changed.

    with Ledger.open("ledger/") as ledger:
        ledger.record("doc:123", LedgerState.PENDING, adapter="pubmed")   # checked; durable when it returns
        ledger.state("doc:123")

One process writes, many read. A handle that was opened with `read_only=True` takes no lock and follows the writer. A
handle may be shared between threads.

The directory; each format is described at the top of the module that is named on the right:

    MANIFEST.json                   which files count                                          manifest
    HEAD                            2 x 32 bytes: the last seq known to be durable; may lag      head
    LOCK                            held by the writer; says who, for people                    writer
    snapshot-2025-10-04.json        every document's state at one place of the log   (+ .idx)   snapshot
    snapshot-2025-10-03.json.gz     older ones, compressed
    delta-2025-10-04.jsonl          the log, one line per change                     (+ .idx)   delta, delta_index
    delta-2025-10-03.jsonl.gz       what a snapshot covers, compressed               (+ .tree)  proofs.merkle
    ARCHIVE.jsonl                   older segments of the log, and tombstones of removed ones   manifest
    checkpoint-2025-10-04.txt       the root over all lines, signed or not              proofs.checkpoints

All but the `.idx` files and HEAD are plain JSON or text, some of it gzipped, so that jq, DuckDB and an editor can read
the ledger without this code. Those two are derived or a hint.

A `record` goes: `Ledger.record` → `LedgerWriter.append` (checks and builds the line: `LineBuilder`) → `commit` (write,
fdatasync, HEAD) → `Delta.add_lines`. A query goes: `LedgerQueries` → `LedgerView` → the deltas, newest first, then the
snapshot. Everything that changes the set of files is in `compaction`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec.structs import replace

from stateward.core.errors import InvalidRequest, LedgerDamaged, LedgerError, LedgerMismatch
from stateward.core.machine import Machine
from stateward.core.model import Fields
from stateward.ledger import compaction
from stateward.ledger.builder import Change
from stateward.ledger.compaction import (
    DELTA_BYTES_MAX,
    SNAPSHOTS_KEPT,
    CompactionProgress,
    no_progress,
)
from stateward.ledger.disk import (
    TEMPORARY_SUFFIX,
    Disk,
    refuse_special_files,
    wall_clock,
    write_atomically,
)
from stateward.ledger.head import read_head
from stateward.ledger.manifest import HEAD, DeltaInfo, SnapshotInfo, date_label, is_ledger
from stateward.ledger.queries import LedgerQueries
from stateward.ledger.record import (
    ADAPTER_CHARS_MAX,
    IMPORT_CLOSED,
    IMPORT_OPENED,
    INT_MAX,
    METADATA_BYTES_MAX,
    LedgerAuditRecord,
    LedgerEntry,
    LedgerLine,
    OldRow,
    audit_record_of,
    check_count,
    check_text,
)
from stateward.ledger.states import DOCUMENT_MACHINE, TransitionTable
from stateward.ledger.view import LedgerView, Progress
from stateward.ledger.view import no_progress as no_line_progress
from stateward.ledger.writer import ANY_MACHINE, Durability, LedgerWriter, create_ledger
from stateward.proofs.checkpoints import ORIGIN, CheckpointSigner, checkpoint_text

HARMLESS_NAMES = ("ledger.jsonl", ".", "LOCK", "HEAD")
"""Files that begin so may be in a folder that becomes a ledger: an old ledger, its backups, traces of a crash."""
REASON_CHARS_MAX = 1024
"""Enough for a sentence and two digests, which is what a migration writes there."""
DAY_S = 86_400.0


class Ledger(LedgerQueries):
    """An open ledger directory. Make one with `Ledger.open`."""

    _snapshots_kept = SNAPSHOTS_KEPT
    _delta_bytes_max = DELTA_BYTES_MAX

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        read_only: bool = False,
        machine: Machine | None = DOCUMENT_MACHINE,
        machines: Iterable[Machine] = (),
        clock: Callable[[], float] = wall_clock,
        durability: Durability = "group",
        snapshots_kept: int = SNAPSHOTS_KEPT,
        delta_bytes_max: int = DELTA_BYTES_MAX,
        metadata_bytes_max: int = METADATA_BYTES_MAX,
        partial: bool = False,
        disk: Disk | None = None,
    ) -> "Ledger":
        """Open a ledger, or make one where there is none.

        `machine` is the state machine that moves are checked against; None is a ledger that mirrors another log, whose
        `machines` say which of its states are terminal and which moves are valid.
        `durability="os"` leaves it to the kernel when bytes reach the disk, and in which order: a power cut may then
        cost the last ones, and `repair` may have to say so before the ledger opens.
        `partial` answers from deltas alone when their base is lost, and marks every answer.
        """
        folder = Path(path)
        table = TransitionTable(machine) if machine is not None else None
        tables = {each.name: TransitionTable(each) for each in machines}
        try:
            refuse_special_files(folder)
            if read_only:
                if not is_ledger(folder):
                    raise LedgerMismatch(f"{folder} is not a ledger")
                view = LedgerView(folder, is_partial_allowed=partial)
                ledger = cls(view, None, table, clock, tables)
            else:
                seam = disk or Disk()
                if not is_ledger(folder):
                    _check_new(folder)
                    create_ledger(folder, disk=seam, clock=clock, table=table)
                writer = LedgerWriter(
                    folder,
                    disk=seam,
                    clock=clock,
                    table=table,
                    durability=durability,
                    metadata_bytes_max=metadata_bytes_max,
                    is_partial_allowed=partial,
                )
                ledger = cls(writer.view, writer, table, clock, tables)
        except OSError as error:
            raise LedgerError(f"{folder} cannot be opened: {error.strerror or error}") from error
        ledger._snapshots_kept = snapshots_kept
        ledger._delta_bytes_max = delta_bytes_max
        try:
            ledger._check_machine()
            if not read_only:
                ledger._finish_recovery()
        except BaseException:
            ledger.close()
            raise
        return ledger

    def _machine_name(self) -> tuple[str, int]:
        return (self._table.name, self._table.version) if self._table else (ANY_MACHINE, 0)

    def _check_machine(self) -> None:
        folder, manifest = self.path, self._view.manifest
        name, version = manifest.machine, manifest.machine_version
        mine, known = self._machine_name()
        if name and name != mine:
            raise LedgerMismatch(
                f"{folder} holds documents of the machine {name!r}, but was opened for {mine!r}"
            )
        if version > known:
            raise LedgerMismatch(
                f"{folder} was written with version {version} of {name!r}; this is version {known}"
            )

    def _finish_recovery(self) -> None:
        """Complete a rollback that a crash interrupted, record a newer machine, and write a missing index."""
        writer, view = self._require_writer(), self._view
        last = view.active.last
        if last is not None and last.is_rollback:
            with writer.poison_on_error():
                compaction.complete_rollback(writer, last, None)
        name, version = self._machine_name()
        if (view.manifest.machine, view.manifest.machine_version) != (name, version):
            with writer.poison_on_error():
                writer.publish(replace(view.manifest, machine=name, machine_version=version))
        if view.base is not None:
            view.base.write_missing_indexes(writer.disk)

    def _require_writer(self) -> LedgerWriter:
        if self._writer is None:
            raise InvalidRequest(f"{self.path} was opened with read_only=True")
        return self._writer

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
        """Change the state of a document. Checked, and durable when it returns.

        Raises `InvalidTransition` for a move that the machine does not have, `InvalidRequest` for a value that cannot
        be right; then nothing was written. The retry count, the time spent in the state before and the state that a
        retry resumes at are derived unless they are given.
        """
        if (
            metadata is None and error_type is None and error_message is None and traceback is None
            and retry_count is None and max_retries is None and duration_seconds is None and actor is None
        ):  # fmt: skip
            return audit_record_of(*self._append(((doc_id, state, adapter),)))
        entry = LedgerEntry(
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
        return audit_record_of(*self._append((entry,)))

    def record_many(self, changes: Iterable[LedgerEntry | Change]) -> int:
        """Change many documents in one durable group, in order; the number. All are checked before any is written.

        A change is (document, state[, adapter[, metadata]]) or a `LedgerEntry`.
        """
        group = list(changes)
        if group:
            self._append(group)
        return len(group)

    def _append(self, entries: Sequence[LedgerEntry | Change]) -> tuple[LedgerLine, str]:
        if self._table is None:
            raise InvalidRequest(
                f"{self.path} only mirrors another log; nothing else can be recorded in it"
            )
        writer = self._require_writer()
        last = writer.append(entries)
        self._rotate_if_large(writer)
        return last

    def _rotate_if_large(self, writer: LedgerWriter) -> None:
        if self._view.active.end >= self._delta_bytes_max:
            compaction.rotate(writer)

    def mirror(self, entries: Iterable[LedgerEntry], *, source: str) -> int:
        """Append what another log says, exactly once: entries up to `source_seq(source)` are left out.

        Every entry carries the `source_seq` of its own log, strictly rising. The last one is durable in the same
        group as the lines, so a mirror that died anywhere continues after `source_seq(source)`. Moves are not checked
        against the machine, as the other log has already decided; but `old_state`, when given, must be where this
        ledger has the document. Returns the number of lines appended.
        """
        check_text(source, what="source", chars_max=256)
        writer = self._require_writer()
        # Two mirrors of one source take turns: between reading the last seq and appending nothing may be appended.
        with writer.commit_lock:
            last = self.source_seq(source)
            fresh: list[LedgerEntry] = []
            for entry in entries:
                if entry.source_seq is None:
                    raise InvalidRequest(f"{entry.doc_id}: a mirrored entry carries its source_seq")
                check_count(entry.source_seq, what="source_seq", most=INT_MAX)
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
    def importing(self, *, reason: str, actor: str | None = None) -> "Iterator[ImportWriter]":
        """Import mode: moves that the machine does not have are accepted. For migration alone.

        The log itself says when it was entered, why and by whom, and how many records were imported.
        """
        _check_why(reason, actor)
        if not reason.strip():
            raise InvalidRequest("say why records are imported")
        writer = self._require_writer()
        details: dict[str, object] = {"reason": reason, **({"actor": actor} if actor else {})}
        opened = writer.add_control_line(IMPORT_OPENED, details)
        writer.commit(opened.seq)
        importer = ImportWriter(self, writer)
        try:
            yield importer
        finally:
            if writer.is_usable:
                details = {"opened": opened.seq, "records": importer.records}
                writer.commit(writer.add_control_line(IMPORT_CLOSED, details).seq)

    # Maintenance

    def rotate(self) -> bool:
        """Seal the active delta and continue in a new one; False if it was empty."""
        return compaction.rotate(self._require_writer())

    def compact(
        self, *, progress: CompactionProgress = no_progress, compress: bool = True
    ) -> SnapshotInfo | None:
        """Make a new snapshot, compress what is not live, delete the oldest snapshots. Appends go on meanwhile."""
        return compaction.compact(
            self._require_writer(),
            snapshots_kept=self._snapshots_kept,
            is_compressed=compress,
            progress=progress,
        )

    def is_compaction_due(self) -> bool:
        """Whether a compaction pays: the log has grown much since the last one, or a day ago something was new.

        For a program that keeps the ledger open: cron cannot compact it meanwhile.
        """
        writer = self._require_writer()
        is_old = self._clock() - self.compacted_at >= DAY_S
        return compaction.is_due(writer) or (is_old and not compaction.is_idle(writer))

    def rollback(
        self, to: str | int, *, reason: str = "", actor: str | None = None
    ) -> SnapshotInfo:
        """Put the documents of a snapshot (its date, name or seq) into effect again; the log keeps everything."""
        _check_why(reason, actor)
        return compaction.rollback(self._require_writer(), to, reason=reason, actor=actor)

    def remove_archived(self, *, up_to: int, reason: str, execute: bool = False) -> list[DeltaInfo]:
        """What removing the archive up to that seq would delete; with `execute` it does, leaving tombstones."""
        _check_why(reason)
        writer = self._require_writer()
        return compaction.remove_archived(writer, up_to=up_to, reason=reason, is_executed=execute)

    # Checkpoints

    def checkpoint(
        self,
        *,
        origin: str | None = None,
        signer: CheckpointSigner | None = None,
        write: bool = True,
        progress: Progress = no_line_progress,
    ) -> str:
        """The root over all durable lines, as text to be kept elsewhere; the writer also stores it in the ledger.

        `origin` names the log; without one it is the name of the signer.
        """
        size, root = self.tree(size=self.durable_seq, progress=progress)
        name = origin or (signer.name if signer else ORIGIN)
        text = checkpoint_text(name, size=size, root=root)
        if signer is not None:
            text = signer.sign(text)
        if write and self._writer is not None:
            path = self.path / f"checkpoint-{date_label(self._clock())}.txt"
            write_atomically(self._writer.disk, path, text.encode())
        return text

    # Closing

    def close(self) -> None:
        """Release the lock and the files."""
        if self._writer is not None:
            self._writer.close()
        else:
            self._view.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:  # fmt: skip
        self.close()


class ImportWriter:
    """What `Ledger.importing` gives: states as text, any move, times of long ago."""

    def __init__(self, ledger: Ledger, writer: LedgerWriter) -> None:
        self._ledger = ledger
        self._writer = writer
        self.records = 0

    def record_many(
        self,
        entries: Sequence[LedgerEntry | OldRow],
        *,
        source: str | None = None,
        is_vetted: bool = False,
    ) -> int:
        """One durable group, not checked against the machine's transitions; the states must be its states.

        With a `source` each line names it and its `source_seq`, and `Ledger.source_seq` says how far it came.
        `is_vetted` says that they come from `legacy.LegacyReader`, which has checked their values.
        """
        if source is not None:
            check_text(source, what="source", chars_max=256)
        if entries:
            self._writer.append(entries, is_checked=False, is_vetted=is_vetted, source=source)
            self.records += len(entries)
            self._ledger._rotate_if_large(self._writer)
        return len(entries)


def _check_why(reason: str, actor: str | None = None) -> None:
    """What the log itself keeps of an act on the ledger is checked like what it keeps of a document."""
    check_text(reason, what="reason", chars_max=REASON_CHARS_MAX)
    if actor is not None:
        check_text(actor, what="actor", chars_max=ADAPTER_CHARS_MAX)


def _check_new(folder: Path) -> None:
    """Refuse to make a ledger where something else is, or where one was."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise LedgerMismatch(f"{folder} is a file, not a ledger directory")
    strange = sorted(
        path.name
        for path in folder.iterdir()
        if not path.name.startswith(HARMLESS_NAMES) and path.suffix != TEMPORARY_SUFFIX
    )
    if strange:
        raise LedgerMismatch(
            f"{folder} is not a ledger and not empty (it has {strange[0]!r}); name a new or empty directory"
        )
    if seq := read_head(folder).seq:
        raise LedgerDamaged.at(HEAD, f"seq {seq} was acknowledged, but there is no file of the log")
