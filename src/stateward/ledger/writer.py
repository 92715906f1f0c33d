"""The one writer of a ledger: the lock, the group that is being gathered, and what makes it durable.

A line is made under a short lock: checked against the document's last line, numbered, chained. Then somebody
commits: one `write` for all lines gathered so far, one `fdatasync`, then they count, then `HEAD` is told. While
a sync is under way others gather the next group, so many threads share few syncs and nobody waits on a timer.
Lines that are not durable are known to the check of the next ones, and to nobody else.

After any failed write or sync nothing is known about the disk, and asking again may get the answer of a cache
that has already dropped the pages. So the writer is poisoned: it refuses everything, and opening the ledger anew
finds out from the disk what is there.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from stateward.core.errors import InvalidRequest
from stateward.core.model import Fields, Json, clean_text
from stateward.ledger import chain
from stateward.ledger.delta import FOLD_LINES, Delta
from stateward.ledger.disk import TEMPORARY, Disk, holder_text, try_lock
from stateward.ledger.errors import LedgerLocked, LedgerPoisoned
from stateward.ledger.manifest import (
    HEAD,
    LOCK,
    DeltaPart,
    Manifest,
    free_name,
    write_manifest,
)
from stateward.ledger.rebuild import iso
from stateward.ledger.record import (
    ADAPTER_CHARS_MAX,
    CONTROL,
    DOC_ID_BYTES_MAX,
    ERROR_MESSAGE_CHARS_MAX,
    ERROR_TYPE_CHARS_MAX,
    KNOWN,
    MAX_RETRIES_DEFAULT,
    METADATA_BYTES_MAX,
    TRACEBACK_CHARS_MAX,
    Entry,
    Line,
    check_doc_id,
    check_metadata,
    check_text,
    encode_json,
    plain_number,
)
from stateward.ledger.states import Graph
from stateward.ledger.view import View, head_slot, read_head

GROUP_LINES_MAX = 100_000
RECENT_MAX = 65_536
ADAPTERS_KNOWN_MAX = 1024
IDS_SHORT_MAX = DOC_ID_BYTES_MAX // 4
SLOT_BYTES = 32
ANY_MACHINE = "*"
"""The machine of a ledger that only mirrors another log."""

Change = tuple[str, str] | tuple[str, str, str] | tuple[str, str, str, Mapping[str, Json]]
"""(document, state[, adapter[, metadata]])"""
Durability = Literal["group", "os"]


class Writer:
    """Appends to a ledger; there is one per directory, held by the lock."""

    def __init__(
        self,
        folder: Path,
        *,
        disk: Disk,
        clock: Callable[[], float],
        graph: Graph | None,
        durability: Durability,
        metadata_bytes_max: int,
        is_partial_allowed: bool = False,
    ) -> None:
        self.folder = folder
        self.disk = disk
        self.clock = clock
        self.graph = graph
        self.mutex = threading.RLock()
        self.commits = threading.RLock()
        self.upkeep = threading.RLock()
        self._is_synced = durability == "group"
        self._metadata_bytes_max = metadata_bytes_max
        self._max_retries = graph.machine.retry.max_retries if graph else MAX_RETRIES_DEFAULT
        self._poison: OSError | None = None
        self._fd = self._head_fd = -1
        self._head_slot = 0
        self._lock_fd = lock(folder, disk, clock)
        try:
            self.view = View(folder, disk=disk, is_partial_allowed=is_partial_allowed)
            self._recover()
        except BaseException:
            self._let_go()
            raise

    # Opening and closing

    def _recover(self) -> None:
        """Cut off a torn tail, keeping its bytes; complete what a crash left half done."""
        view, head_seq = self.view, read_head(self.folder)
        active = view.active
        torn = active.torn_bytes(head_seq)
        self._head_fd = self.disk.open_slots(self.folder / HEAD)
        self._fd = self.disk.open_append(active.path)
        if torn:
            self._save_torn(active, torn)
            self.disk.truncate(self._fd, active.end)
            view.notes.append(
                f"{active.path.name}: {len(torn)} bytes of a line that was never acknowledged were cut off at "
                f"byte {active.end}"
            )
        if torn or active.seq > head_seq:
            self.disk.fdatasync(self._fd)  # only then may the next group build on these lines
        self.begin(active)
        if view.was_rebuilt:
            self.publish(view.manifest)
        if view.bad:
            self.quarantine()
        self._sweep()
        self._write_head()

    def _save_torn(self, active: Delta, torn: bytes) -> None:
        path = active.path.with_name(f"{active.path.name}.torn-{active.end}")
        if not path.exists():
            fd = self.disk.create(path)
            self.disk.write(fd, torn)
            self.disk.fsync(fd)
            self.disk.close(fd)

    def begin(self, active: Delta) -> None:
        """Go on after what `active` holds, with nothing gathered and nothing remembered."""
        self._pending: list[tuple[Line, bytes, bytes]] = []
        self._ahead: dict[str, Line] = {}
        self._recent: dict[str, Line] = {}
        self._adapters: set[str] = set()
        self._seq = self._durable = active.seq
        self._chain = active.chain

    def _sweep(self) -> None:
        """Remove what crashed upkeep left: files that no list names and that hold nothing."""
        listed = {part.file for part in self.view.manifest.deltas}
        for path in self.folder.iterdir():
            is_unused_delta = (
                path.name.startswith("delta-")
                and path.name.endswith(".jsonl")
                and path.name not in listed
                and path.stat().st_size == 0
            )
            if path.name.endswith(TEMPORARY) or is_unused_delta:
                self.disk.unlink(path)

    def quarantine(self) -> None:
        """Put snapshots that turned out damaged aside, keeping the newest of them, and forget them."""
        bad = self.view.bad
        manifest = self.view.manifest
        kept = tuple(part for part in manifest.snapshots if part.file not in bad)
        self.publish(replace(manifest, snapshots=kept))
        for path in self.folder.glob("*.corrupt"):
            self.disk.unlink(path)
        for name in sorted(bad):
            for file in (name, name.removesuffix(".gz")):
                if (self.folder / file).exists():
                    self.disk.rename(self.folder / file, self.folder / f"{file}.corrupt")
        self.disk.sync_dir(self.folder)
        bad.clear()

    def close(self) -> None:
        """Let go of the lock. What `record` has acknowledged is durable already."""
        with self.commits, self.mutex:
            if self._lock_fd < 0:
                return
            if self._poison is None and self._pending:
                self.commit(self._seq)
            self._let_go()
            self.view.close()

    def _let_go(self) -> None:
        held = (self._fd, self._head_fd, self._lock_fd)
        self._fd = self._head_fd = self._lock_fd = -1
        for fd in held:
            if fd >= 0:
                os.close(fd)

    # Making lines

    def append(
        self,
        entries: Sequence[Entry | Change],
        *,
        is_checked: bool = True,
        source: str | None = None,
    ) -> list[tuple[Line, bytes, bytes]]:
        """Make the lines of `entries` durable, all in one group; a wrong one leaves nothing behind."""
        if len(entries) > GROUP_LINES_MAX:
            raise InvalidRequest(
                f"one group has at most {GROUP_LINES_MAX} records, not {len(entries)}; hand them over in parts"
            )
        with self.mutex:
            self.check_usable()
            made = self._made(entries, is_checked=is_checked, source=source)
            self._pending += made
            last = self._seq
        self.commit(last)
        return made

    def control(self, what: str, metadata: dict[str, object]) -> Line:
        """A line of the ledger itself; not yet durable."""
        with self.mutex:
            line = Line(
                doc_id=CONTROL, old_state=None, new_state=what, timestamp=self._now(), adapter="ledger",
                metadata=metadata, seq=self._seq + 1, n=len(self._pending) + 1,  # type: ignore[arg-type]
            )  # fmt: skip
            text, head = chain.seal(encode_json(line)[:-1], self._chain)
            self._pending.append((line, text, head))
            self._seq, self._chain = line.seq, head
            return line

    def take_back(self, line: Line) -> None:
        """Undo `control` while its line is the newest and nobody has committed it."""
        with self.mutex:
            self._pending.pop()
            self._seq = line.seq - 1
            self._chain = self._pending[-1][2] if self._pending else self.view.active.chain

    def _now(self) -> float:
        return round(self.clock(), 6)

    def _made(
        self, entries: Iterable[Entry | Change], *, is_checked: bool, source: str | None
    ) -> list[tuple[Line, bytes, bytes]]:
        """The lines that these entries become: each with its text and the head of the chain after it."""
        ahead, seq, head, n = dict(self._ahead), self._seq, self._chain, len(self._pending)
        now = self._now()
        made: list[tuple[Line, bytes, bytes]] = []
        for entry in entries:
            if isinstance(entry, Entry):
                check_doc_id(entry.doc_id)
                before = ahead.get(entry.doc_id) or self.before(entry.doc_id)
                line = self._line(entry, before, now, is_checked=is_checked, source=source)
                extra = entry.extra
            else:
                line, extra = self._plain_line(ahead, now, *entry), None
            seq += 1
            n += 1
            line.seq, line.n = seq, n
            text, head = chain.seal(
                encode_json(line)[:-1] if not extra else _with_extra(line, extra), head
            )
            made.append((line, text, head))
            ahead[line.doc_id] = line
        self._ahead, self._seq, self._chain = ahead, seq, head
        return made

    def _plain_line(
        self,
        ahead: dict[str, Line],
        now: float,
        doc_id: str,
        state: str,
        adapter: str = "",
        metadata: Mapping[str, Json] | None = None,
    ) -> Line:
        """The same as `_line` for a change that is nothing but a move on the way: most are, so it is quick."""
        if type(doc_id) is not str or not doc_id.isascii() or not 0 < len(doc_id) < IDS_SHORT_MAX:
            check_doc_id(doc_id)
        before = ahead.get(doc_id) or self.before(doc_id)
        graph = self.graph
        new = graph.named(state) if graph is not None else state
        if (
            before is None
            or graph is None
            or (before.new_state, new) not in graph.plain
            or adapter not in self._adapters
            or metadata
            or now < before.timestamp
        ):
            entry = Entry(
                doc_id=doc_id, state=state, adapter=adapter, metadata=dict(metadata or {})
            )
            return self._line(entry, before, now, is_checked=True, source=None)
        return Line(
            doc_id=doc_id,
            old_state=before.new_state,
            new_state=new,
            timestamp=now,
            adapter=adapter,
            retry_count=before.retry_count,
            max_retries=before.max_retries,
            duration_seconds=round(now - before.timestamp, 6),
            seq=0,
            n=0,
        )

    def before(self, doc_id: str) -> Line | None:
        """The document's last line, also one that is not durable yet."""
        line = (
            self._ahead.get(doc_id) or self.view.active.tail.get(doc_id) or self._recent.get(doc_id)
        )
        if line is None:
            line = self.view.line(doc_id)
            if line is not None:
                self._recent[doc_id] = line
        return line

    def _line(
        self, entry: Entry, before: Line | None, now: float, *, is_checked: bool, source: str | None
    ) -> Line:
        graph, new = self.graph, entry.state
        if graph is not None:
            new = graph.named(new) if is_checked else graph.worded(new)
            if is_checked:
                graph.check(entry.doc_id, before, new, entry.actor)
        self._check_values(entry)
        line = Line(
            doc_id=entry.doc_id,
            old_state=None,
            new_state=new,
            timestamp=now if entry.timestamp is None else entry.timestamp,
            adapter=entry.adapter,
            max_retries=self._max_retries,
            metadata=entry.metadata,
            seq=0,
            n=0,
        )
        if before is not None:
            self._follow(line, before, is_clocked=entry.timestamp is None)
        elif graph is not None and new in graph.waits:
            line.retry_count = 1
        if entry.old_state is not None and entry.old_state != line.old_state:
            raise InvalidRequest(
                f"{entry.doc_id} is in {line.old_state or 'no state'}, not in {entry.old_state}, "
                "from where it should move"
            )
        _tell(line, entry)
        if source is not None:
            line.source, line.source_seq = source, entry.source_seq
        return line

    def _follow(self, line: Line, before: Line, *, is_clocked: bool) -> None:
        """What a line takes over from, or works out of, the document's line before it."""
        line.old_state = before.new_state
        if line.timestamp < before.timestamp and is_clocked:
            line.timestamp = before.timestamp  # the clock went back; time does not, in a document
        if line.timestamp >= before.timestamp:
            line.duration_seconds = round(line.timestamp - before.timestamp, 6)
        line.retry_count, line.max_retries = before.retry_count, before.max_retries
        if self.graph is not None:
            line.resume = self.graph.resume(before, line.new_state)
            if line.new_state in self.graph.waits:
                line.retry_count += 1

    def _check_values(self, entry: Entry) -> None:
        if entry.adapter not in self._adapters:
            check_text(entry.adapter, what="adapter", chars_max=ADAPTER_CHARS_MAX)
            if len(self._adapters) < ADAPTERS_KNOWN_MAX:
                self._adapters.add(entry.adapter)
        if entry.metadata or type(entry.metadata) is not dict:
            check_metadata(entry.metadata, bytes_max=self._metadata_bytes_max)
        if entry.error_type is not None:
            check_text(entry.error_type, what="error_type", chars_max=ERROR_TYPE_CHARS_MAX)
        if entry.actor is not None:
            check_text(entry.actor, what="actor", chars_max=ADAPTER_CHARS_MAX)
        if entry.duration_seconds is not None:
            plain_number(entry.duration_seconds, what="duration_seconds")
        if entry.timestamp is not None:
            plain_number(entry.timestamp, what="timestamp")

    # Making them durable

    def commit(self, seq: int) -> None:
        """Everything up to `seq` is durable when this returns."""
        if self._durable >= seq:
            return
        with self.commits:
            with self.mutex:
                self.check_usable()
                group, self._pending = self._pending, []
            if not group:
                return
            with self.failing():
                self.disk.write(self._fd, b"".join([text for _, text, _ in group]))
                if self._is_synced:
                    self.disk.fdatasync(self._fd)
            with self.mutex:
                self._count(group)
            with self.failing():
                self._write_head()
                if len(self.view.active.pending) >= FOLD_LINES:
                    self.fold()

    def _count(self, group: list[tuple[Line, bytes, bytes]]) -> None:
        active = self.view.active
        if group[0][0].seq <= active.seq:  # a reload read some of it from the file meanwhile
            group = [each for each in group if each[0].seq > active.seq]
        if group:
            active.take(group)
            self._durable = group[-1][0].seq
        else:
            self._durable = active.seq
        if not self._pending:
            self._ahead = {}

    def commit_all(self) -> None:
        """Everything that was gathered is durable when this returns."""
        with self.mutex:
            last = self._seq
        self.commit(last)

    @property
    def head(self) -> bytes:
        """The head of the chain after the newest line, durable or not."""
        return self._chain

    def fold(self) -> None:
        """Give the tail of the active delta an index, so that the next opening need not read it."""
        with self.mutex:
            active = self.view.active
            self._remember(active.tail)
            active.fold(self.disk)

    def _remember(self, lines: dict[str, Line]) -> None:
        if len(self._recent) + len(lines) > RECENT_MAX:
            newest = list(self._recent.items())[-RECENT_MAX // 2 :]
            self._recent = dict(newest)
        self._recent.update(lines)

    def _write_head(self) -> None:
        active = self.view.active
        slot = head_slot(seq=active.seq, size=active.end, generation=self.view.manifest.generation)
        self.disk.pwrite(self._head_fd, slot, self._head_slot * SLOT_BYTES)
        self._head_slot ^= 1

    # The list of files

    def publish(self, manifest: Manifest) -> Manifest:
        """Make `manifest` the list of files; the caller then reloads what it needs."""
        newer = replace(manifest, generation=manifest.generation + 1)
        write_manifest(self.disk, self.folder, newer)
        self.view.manifest = newer
        self.view.saw()
        return newer

    def sealed(self) -> DeltaPart:
        """The active delta as the list names it once it is complete."""
        active = self.view.active
        return replace(
            self.view.manifest.active,
            last_seq=active.seq,
            head=active.chain.decode(),
            bytes=active.end,
        )

    def new_delta(self) -> DeltaPart:
        """A new, empty, durable file that nobody names yet, to go on in."""
        active = self.view.active
        taken = {part.file for part in self.view.manifest.deltas}
        name = free_name(self.folder, "delta", ".jsonl", self.clock(), taken=taken)
        fd = self.disk.create(self.folder / name)
        self.disk.fsync(fd)
        self.disk.close(fd)
        self.disk.sync_dir(self.folder)
        return DeltaPart(file=name, first_seq=active.seq + 1, chain=active.chain.decode())

    def go_on_in(self, part: DeltaPart) -> None:
        """Write to the delta that the list names last."""
        with self.mutex:
            delta = Delta(self.folder, part, salt=self.view.manifest.salt)
            # Open before closing: if this fails, the old descriptor must still be ours to close, once.
            old, self._fd = self._fd, self.disk.open_append(delta.path)
            self.disk.close(old)
            self.view.active = delta
            self.view.deltas = [*self.view.deltas, delta]

    @contextmanager
    def failing(self) -> Iterator[None]:
        """An error of the disk in here poisons the writer."""
        try:
            yield
        except OSError as error:
            self._poison = error
            raise LedgerPoisoned(
                f"{self.folder}: {error.strerror or error}; nothing more is written. What was acknowledged is "
                "durable; make room or mend the disk, then close the ledger and open it again"
            ) from error

    @property
    def is_usable(self) -> bool:
        """Whether the writer is open and sound."""
        return self._poison is None and self._lock_fd >= 0

    def check_usable(self) -> None:
        """Raises unless the writer is open and sound."""
        if self._poison is not None:
            raise LedgerPoisoned(
                f"{self.folder} cannot be used any more after: {self._poison}; close it and open it again"
            )
        if self._lock_fd < 0:
            raise InvalidRequest(f"{self.folder} is closed")


def lock(folder: Path, disk: Disk, clock: Callable[[], float]) -> int:
    """The descriptor that holds the lock. Raises `LedgerLocked`."""
    fd = disk.open_slots(folder / LOCK)
    if not try_lock(fd):
        text = os.pread(fd, 4096, 0)
        os.close(fd)
        try:
            holder = msgspec.json.decode(text, type=dict[str, object])
        except msgspec.DecodeError:
            holder = {}
        pid = holder.get("pid")
        host = str(holder.get("host", ""))
        raise LedgerLocked(str(folder), pid=pid if isinstance(pid, int) else None, host=host)
    try:
        disk.truncate(fd, 0)
        disk.pwrite(fd, encode_json(holder_text(started=clock())) + b"\n", 0)
    except BaseException:
        os.close(fd)
        raise
    return fd


def create(folder: Path, *, disk: Disk, clock: Callable[[], float], graph: Graph | None) -> None:
    """Make an empty ledger."""
    disk.make_dir(folder)
    now = clock()
    name = free_name(folder, "delta", ".jsonl", now, taken=set())
    fd = disk.create(folder / name)
    disk.fsync(fd)
    disk.close(fd)
    disk.sync_dir(folder)
    seed = f"{folder.resolve()} {now!r} {os.getpid()}".encode()
    manifest = Manifest(
        machine=graph.name if graph else ANY_MACHINE,
        machine_version=graph.version if graph else 0,
        created_at=iso(now),
        salt=sha256(seed).hexdigest()[:32],
        deltas=(DeltaPart(file=name, first_seq=1, chain=chain.GENESIS.decode()),),
    )
    write_manifest(disk, folder, manifest)


def _tell(line: Line, entry: Entry) -> None:
    """What the caller said beyond document, state, adapter and metadata."""
    if entry.error_type is not None or entry.error_message is not None:
        line.error_type = entry.error_type
        line.error_message = _short(entry.error_message, ERROR_MESSAGE_CHARS_MAX)
    if entry.traceback is not None:
        line.traceback = _short(entry.traceback, TRACEBACK_CHARS_MAX)
    if entry.retry_count is not None:
        line.retry_count = entry.retry_count
    if entry.max_retries is not None:
        line.max_retries = entry.max_retries
    if entry.duration_seconds is not None:
        line.duration_seconds = entry.duration_seconds
    if entry.actor is not None:
        line.actor = entry.actor


def _short(text: str | None, chars_max: int) -> str | None:
    return None if text is None else clean_text(text, chars_max=chars_max)


def _with_extra(line: Line, extra: Fields) -> bytes:
    """The line with the fields of a newer version, which stand before `seq`."""
    clash = extra.keys() & KNOWN
    if clash:
        raise InvalidRequest(f"{', '.join(sorted(clash))} cannot be an extra field")
    check_metadata(extra, bytes_max=METADATA_BYTES_MAX)
    fields: dict[str, object] = msgspec.json.decode(encode_json(line))
    seq, n = fields.pop("seq"), fields.pop("n")
    return encode_json({**fields, **extra, "seq": seq, "n": n})[:-1]
