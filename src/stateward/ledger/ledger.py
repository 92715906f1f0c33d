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
    handover/                       checkpoints on their way to places elsewhere                handover

All but the `.idx` files and HEAD are plain JSON or text (or that, gzipped); those two are derived or a hint.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec.structs import replace

from stateward.core.errors import InvalidRequest
from stateward.core.machine import Machine
from stateward.core.model import Fields
from stateward.ledger import merkle, upkeep
from stateward.ledger.builder import Change
from stateward.ledger.disk import Disk, put, wall_clock
from stateward.ledger.errors import (
    Finding,
    LedgerDamaged,
    LedgerError,
    LedgerMismatch,
)
from stateward.ledger.group import Group
from stateward.ledger.maintenance import ORIGIN, Keeper, Keeping
from stateward.ledger.manifest import (
    HEAD,
    DeltaPart,
    SnapshotPart,
    date_label,
)
from stateward.ledger.queries import Questions
from stateward.ledger.rebuild import is_ledger
from stateward.ledger.record import (
    IMPORT_CLOSED,
    IMPORT_OPENED,
    METADATA_BYTES_MAX,
    ROLLED_BACK,
    Entry,
    LedgerAuditRecord,
    audit_record,
    check_text,
)
from stateward.ledger.schedule import Housekeeping
from stateward.ledger.states import LITERATURE, Graph
from stateward.ledger.upkeep import (
    DELTA_BYTES_MAX,
    SNAPSHOTS_KEPT,
    Progress,
    no_progress,
)
from stateward.ledger.view import View, read_head
from stateward.ledger.writer import (
    ANY_MACHINE,
    Durability,
    Writer,
    create,
)

LEGACY_NAMES = ("ledger.jsonl",)
REASON_CHARS_MAX = 1024


class Ledger(Questions):
    """A ledger directory, open. Make one with `Ledger.open`."""

    def __init__(
        self, view: View, writer: Writer | None, graph: Graph | None, clock: Callable[[], float]
    ) -> None:
        super().__init__(view, writer, graph, clock)
        self._keeper: Keeper | None = None
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
        keeping: Keeping | None = None,
        disk: Disk | None = None,
    ) -> "Ledger":
        """Open a ledger, or make one where there is none.

        `machine` is the graph that moves are checked against; None is a ledger that only mirrors another
        log. `durability="os"` leaves it to the kernel when bytes reach the disk: a power cut may then cost
        the last ones. `partial` answers from deltas alone when their base is lost, and marks every answer.
        `keeping` compacts it each night and hands its checkpoints over, in a thread of its own (see `keeper`).
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
            if keeping is not None:
                ledger._keep(keeping)
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

    def _keep(self, keeping: Keeping) -> None:
        writer = self._the_writer()
        self._keeper = Keeper(self, keeping, clock=self._clock, disk=writer.disk)
        self._keeper.start()

    def _the_writer(self) -> Writer:
        if self._writer is None:
            raise InvalidRequest(f"{self._view.folder} was opened with read_only=True")
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
        return audit_record(self._append([entry]).texts[0])

    def record_many(self, changes: Iterable[Entry | Change]) -> int:
        """Move many documents in one durable group, in order; the number. All are checked before any is written.

        A change is (document, state[, adapter[, metadata]]) or an `Entry`.
        """
        group = list(changes)
        return len(self._append(group).ids) if group else 0

    def _append(self, entries: Sequence[Entry | Change]) -> Group:
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
    def importing(self, *, reason: str, actor: str | None = None) -> "Iterator[ImportWriter]":
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
        door = ImportWriter(self, writer)
        try:
            yield door
        finally:
            if door.is_usable:
                closed = writer.control(
                    IMPORT_CLOSED, {"opened": opened.seq, "records": door.records}
                )
                writer.commit(closed.seq)

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

    def rollback(
        self, to: str | int, *, reason: str = "", actor: str | None = None
    ) -> SnapshotPart:
        """Make the documents of a snapshot (its date, name or seq) count again; the log keeps everything."""
        return upkeep.rollback(self._the_writer(), to, reason=reason, actor=actor)

    def remove_archived(self, *, up_to: int, reason: str, execute: bool = False) -> list[DeltaPart]:
        """What removing the archive up to that seq would take away; with `execute`, it does, leaving tombstones."""
        check_text(reason, what="reason", chars_max=REASON_CHARS_MAX)
        return upkeep.remove(self._the_writer(), up_to=up_to, reason=reason, is_executed=execute)

    # Proof

    def checkpoint(
        self,
        *,
        origin: str = ORIGIN,
        sign_as: str | None = None,
        private_key: bytes | None = None,
        write: bool = True,
        progress: Callable[[str, int], None] = lambda *_: None,
    ) -> str:
        """The root over all lines so far, as text to be kept elsewhere; also put beside the ledger by the writer."""
        size, root = self.tree(size=self.durable_seq, progress=progress)
        text = merkle.checkpoint_text(origin, size=size, root=root)
        if private_key is not None:
            text = merkle.signed(text, name=sign_as or origin, private_key=private_key)
        if write and self._writer is not None:
            path = self.path / f"checkpoint-{date_label(self._clock())}.txt"
            put(self._writer.disk, path, text.encode())
        return text

    # The end

    def close(self) -> None:
        """Let go of the lock and the files; upkeep that is under way is finished first."""
        if self._keeper is not None:
            self._keeper.stop()
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


class ImportWriter:
    """What `Ledger.importing` opens: words for states, any move, times of long ago."""

    def __init__(self, ledger: Ledger, writer: Writer) -> None:
        self._ledger = ledger
        self._writer = writer
        self.records = 0

    @property
    def is_usable(self) -> bool:
        """Whether the writer behind the door still writes."""
        return self._writer.is_usable

    def record_many(
        self, entries: Sequence[Entry], *, source: str | None = None, is_vetted: bool = False
    ) -> int:
        """One durable group, not checked against the graph; states must be the machine's, of whatever kind.

        With a `source` each line names it and its `source_seq`, and `Ledger.source_seq` says how far it came.
        `is_vetted` says that `legacy.Reader` made the entries: it has checked their values.
        """
        if entries:
            self._writer.append(entries, is_checked=False, is_vetted=is_vetted, source=source)
            self.records += len(entries)
            self._ledger._rotate_if_large(self._writer)
        return len(entries)


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
