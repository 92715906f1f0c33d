"""The single writer of a ledger: the lock, the group that is being gathered, and what makes it durable.

Lines are built under a short lock (see `builder`). Then some thread commits: one `write` for all lines gathered so
far, one `fdatasync`, then the lines are visible, then `HEAD` is written. One thread at a time *leads*; the others wait
until their lines are durable or no thread leads any more. While a sync is under way they gather the next group, and a
new leader lets those that are about to add a line do so first. So many threads share few syncs, and no commit waits
for a timer. Lines that are not durable yet are known to the check of the next ones, and to nothing else.

Before each write, and before the list of files is replaced, the log must end where this writer left it, and this must
be the process that opened the ledger: after a `fork` or on a file system without locks there may be a second writer,
and neither may spoil what the other acknowledged. The delta itself is locked too, because `LOCK` can be deleted and
lines are written in place (see `delta` on padding): a writer that did not look would write over those of another.

Three locks, always taken in this order:

    maintenance_lock   one compaction, rollback or removal at a time; held for minutes, appends go on meanwhile
    commit_lock        its holder may write to the log and replace the manifest; held during a sync
    state_lock         the group that is being gathered and what `view` shows; held for microseconds

`commit_lock` is what makes groups durable in the order of their numbers. It is separate from `state_lock`, because a
sync takes a thousand times as long as building a line.

After a failed write or sync nothing is known about the disk: the kernel may have dropped the unwritten pages, and a
second fdatasync would then report success (as PostgreSQL learned in 2018). So the writer is *poisoned*: it refuses
everything, and opening the ledger again finds out from the disk what is there.
"""

import os
import threading
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Literal

import msgspec
from msgspec.structs import replace

from stateward.core.errors import InvalidRequest, LedgerDamaged, LedgerLocked, LedgerPoisoned
from stateward.ledger import chain
from stateward.ledger.builder import Change, CommitGroup, LineBuilder
from stateward.ledger.delta import INDEX_EVERY_LINES, PADDING, Delta
from stateward.ledger.disk import TEMPORARY_SUFFIX, Disk, create_empty, lock_owner, try_lock
from stateward.ledger.head import HEAD_BYTES_MAX, head_of_text, head_slot, read_head
from stateward.ledger.manifest import (
    GZIP_SUFFIX,
    HEAD,
    LOCK,
    MANIFEST,
    DeltaInfo,
    Manifest,
    iso,
    unused_name,
    write_manifest,
)
from stateward.ledger.rebuild import unlisted_deltas
from stateward.ledger.record import (
    CONTROL_DOC_ID,
    LedgerEntry,
    LedgerLine,
    OldRow,
    check_timestamp,
    encode_json,
    to_microseconds,
)
from stateward.ledger.states import TransitionTable
from stateward.ledger.view import NO_HEAD, STALE, LedgerView

GATHERED_MAX = 1024
"""Lines that a leader waits for; more do not make a sync any cheaper."""
GROUP_LINES_MAX = 100_000
"""A group is in memory several times while it is built, and other threads wait for its write and its sync."""
PADDED_BYTES_MAX = len(PADDING) // 4
"""A larger group does not pad the file."""
ANY_MACHINE = "*"
"""The machine of a ledger that mirrors another log: its moves are not checked."""

Durability = Literal["group", "os"]


class LedgerWriter:
    """Appends to a ledger; there is one per directory, which holds the lock."""

    def __init__(
        self,
        folder: Path,
        *,
        disk: Disk,
        clock: Callable[[], float],
        table: TransitionTable | None,
        durability: Durability,
        metadata_bytes_max: int,
        is_partial_allowed: bool = False,
    ) -> None:
        self.folder = folder
        self.disk = disk
        self.clock = clock
        self.table = table
        # Reentrant: maintenance commits and publishes while it holds them.
        self.state_lock = threading.RLock()
        self.commit_lock = threading.RLock()
        self.maintenance_lock = threading.RLock()
        self._is_synced = durability == "group"
        self._metadata_bytes_max = metadata_bytes_max
        self._poison: BaseException | None = None
        self._pid = os.getpid()
        self._lead = threading.Lock()
        """Held by the thread that commits for all."""
        self._turn = threading.Condition()
        """Told when `_lead` is free again, if any thread waits for that."""
        self._was_shared = False
        """Whether the last group held lines of several threads, or others were waiting: then more will come."""
        self._waiting = 0
        """Threads that wait for another one to make their lines durable."""
        self._fd = self._head_fd = -1
        self._size = 0
        """The size of the active delta with its padding, as this writer left it."""
        self._next_slot = 0
        self._head_text = bytearray()
        """What `HEAD` holds, as this writer left it."""
        self._poisoning = _Poisoning(self)
        self._lock_fd = acquire_lock(folder, disk, clock)
        try:
            self.view = LedgerView(folder, disk=disk, is_partial_allowed=is_partial_allowed)
            self._recover()
        except BaseException:
            self._close_files()
            raise

    # Opening and closing

    def _recover(self) -> None:
        """Cut off a torn tail, keeping its bytes in a file; finish what a crash interrupted."""
        if not self.view.was_rebuilt and unlisted_deltas(self.folder, self.view.manifest):
            raise LedgerDamaged.at(MANIFEST, STALE)
        view = self.view
        head = read_head(self.folder).beside(view.manifest, self.folder)
        active = view.active
        torn = active.torn_bytes(head.seq)
        lines = len(torn.splitlines())
        if lines > 1 and head.is_unknown:
            # One line may be given up with a note. How many more were acknowledged is for a person to decide.
            sentence = f"the last {lines} lines are torn; {NO_HEAD}; repair says what can be done"
            raise LedgerDamaged.at(active.path.name, sentence, byte=active.end, seq=active.seq + 1)
        self._head_fd = self.disk.open_slots(self.folder / HEAD)
        self._fd, self._size = self._open_log(active.path)
        if torn:
            path = active.path.with_name(f"{active.path.name}.torn-{active.end}")
            if not path.exists():
                fd = self.disk.create(path)
                self.disk.write(fd, torn)
                self.disk.fsync(fd)
                self.disk.close(fd)
            self._cut_at(active.end)
            view.notes.append(
                f"{active.path.name}: the {len(torn)} bytes of a torn line were cut off at byte {active.end}, and are "
                f"kept as {path.name}"
            )
        if torn or active.seq > head.seq:
            # The lines after HEAD were read, but perhaps never synced. The next group says that everything before it
            # is durable (its `n`), so that has to be true first.
            self.disk.fdatasync(self._fd)
        self.restart_after(active)
        if view.was_rebuilt:
            self.publish(view.manifest)
        if view.bad:
            self.quarantine_snapshots()
        self._sweep()
        self._write_head()
        if not head.is_whole:
            # Both slots, durable: from here on a power cut leaves an older HEAD behind at worst, never none.
            self._write_head()
            self.disk.fsync(self._head_fd)
            self.disk.sync_dir(self.folder)

    def _open_log(self, path: Path) -> tuple[int, int]:
        """The descriptor of a delta, which is locked, and its size. Raises `LedgerLocked`."""
        fd = self.disk.open_log(path)
        if not try_lock(fd):
            os.close(fd)
            raise LedgerLocked(str(self.folder), pid=None, host="")
        return fd, os.fstat(fd).st_size

    def _cut_at(self, end: int) -> None:
        self.disk.truncate(self._fd, end)
        self._size = end

    def restart_after(self, active: Delta) -> None:
        """Continue after the last line of `active`, with nothing gathered and nothing remembered."""
        self._durable = active.seq
        self._pending = self._written = CommitGroup(active.seq, active.chain)
        self.builder = LineBuilder(
            self.table, self.view.latest_line, metadata_bytes_max=self._metadata_bytes_max
        )

    def _sweep(self) -> None:
        """Delete what interrupted maintenance left: temporary files, and empty deltas that no manifest names."""
        listed = {info.file for info in self.view.manifest.deltas}
        for path in self.folder.iterdir():
            is_delta = path.name.startswith("delta-") and path.suffix == ".jsonl"
            is_unused = is_delta and path.name not in listed and path.stat().st_size == 0
            if is_unused or path.name.endswith(TEMPORARY_SUFFIX):
                self.disk.unlink(path)

    def quarantine_snapshots(self) -> None:
        """Take damaged snapshots off the list and rename them `.corrupt`; those of earlier times are deleted."""
        bad = self.view.bad
        manifest = self.view.manifest
        kept = tuple(info for info in manifest.snapshots if info.file not in bad)
        self.publish(replace(manifest, snapshots=kept))
        for path in self.folder.glob("*.corrupt"):
            self.disk.unlink(path)
        for name in sorted(bad):
            for file in (name, name.removesuffix(GZIP_SUFFIX)):
                if (self.folder / file).exists():
                    self.disk.rename(self.folder / file, self.folder / f"{file}.corrupt")
        self.disk.sync_dir(self.folder)
        bad.clear()

    def close(self) -> None:
        """Release the lock. Everything that was acknowledged is durable already."""
        with self.commit_lock, self.state_lock:
            if self._lock_fd < 0:
                return
            try:
                if self._poison is None:
                    self.commit(self._pending.seq)
                    self._cut_padding()
            finally:
                self._close_files()
                self.view.close()

    def _cut_padding(self) -> None:
        """Leave a file of nothing but lines. What cannot be cut may stay: it does no harm."""
        try:
            if self._size > self.view.active.end:
                self._check_alone()
                self._cut_at(self.view.active.end)
        except (LedgerPoisoned, OSError):
            pass

    def _close_files(self) -> None:
        held = (self._fd, self._head_fd, self._lock_fd)
        self._fd = self._head_fd = self._lock_fd = -1
        for fd in held:
            if fd >= 0:
                os.close(fd)

    # Gathering lines

    def append(
        self,
        entries: Sequence[LedgerEntry | OldRow | Change],
        *,
        is_checked: bool = True,
        is_vetted: bool = False,
        source: str | None = None,
    ) -> tuple[LedgerLine, str]:
        """Write the lines of `entries`, all in one group, durable when this returns; a wrong one leaves nothing behind.

        Returns the last line and the head of the chain after it.
        `is_vetted`: the values were checked by the reader of old ledgers; only their states are new here.
        """
        if len(entries) > GROUP_LINES_MAX:
            raise InvalidRequest(
                f"one group has at most {GROUP_LINES_MAX} records, not {len(entries)}; hand them over in parts"
            )
        with self.state_lock:
            self.check_usable()
            group = self._pending
            size, seq, before = len(group.ids), group.seq, group.chain
            now = self._now()
            try:
                self.builder.add(
                    group, entries, now=now, is_checked=is_checked, is_vetted=is_vetted, source=source
                )  # fmt: skip
            except BaseException:
                self.builder.forget(group.cut(size, seq, before), self._written, group)
                raise
            group.appends += 1
            line, head, seq = group.lines[-1], group.chain.decode(), group.seq
        self.commit(seq)
        return line, head

    def _now(self) -> float:
        """The time of a new line. What a clock says is checked like what a caller says: NaN could never be read."""
        now = self.clock()
        check_timestamp(now)
        return to_microseconds(now)

    def add_control_line(self, what: str, metadata: dict[str, object]) -> LedgerLine:
        """Gather a line about the ledger itself; the caller commits it."""
        with self.state_lock:
            group = self._pending
            line = LedgerLine(
                doc_id=CONTROL_DOC_ID, old_state=None, new_state=what, timestamp=self._now(),
                adapter="ledger", metadata=metadata, seq=group.seq + 1, n=len(group.ids) + 1,  # type: ignore[arg-type]
            )  # fmt: skip
            group.add(line, encode_json(line)[:-1])
            return line

    def retract(self, line: LedgerLine) -> None:
        """Undo `add_control_line` while its line is the newest and not committed."""
        with self.state_lock:
            group, size = self._pending, line.n - 1
            before = chain.head_of(group.texts[size - 1]) if size else self.view.active.chain
            group.cut(size, line.seq - 1, before)

    # Making them durable

    def commit(self, seq: int) -> None:
        """Everything up to `seq` is durable when this returns, written by this thread or by another."""
        if self._durable >= seq:
            return
        if self.commit_lock._is_owned():  # type: ignore[attr-defined] # maintenance, or a mirror: it has the turn anyway
            self._commit_gathered()
            return
        if not self._lead.acquire(blocking=False) and not self._wait_for_lead(seq):
            return
        try:
            if self._was_shared:
                self._let_others_add()
            self._commit_gathered()
        finally:
            self._lead.release()
            if self._waiting:
                with self._turn:
                    self._turn.notify_all()

    def _wait_for_lead(self, seq: int) -> bool:
        """Wait until `seq` is durable or no thread leads; whether this one leads then.

        None is left waiting: a thread counts itself before it finds the lead taken, and gives up `_turn` only when it
        waits; and who gives up the lead looks at the count afterwards.
        """
        with self._turn:
            self._waiting += 1
            try:
                while self._durable < seq:
                    if self._lead.acquire(blocking=False):
                        return True
                    self._turn.wait()
                return False
            finally:
                self._waiting -= 1

    def _let_others_add(self) -> None:
        """Give way to threads that run, as long as they add lines: one sync then serves them all.

        A thread that was just told that its line is durable adds its next one within microseconds. Without this the
        leader would be the first to come back, and would sync its own line alone.
        """
        gathered = -1
        while gathered < len(self._pending.ids) < GATHERED_MAX:
            gathered = len(self._pending.ids)
            time.sleep(0)

    def _commit_gathered(self) -> None:
        """Write and sync everything that was gathered so far."""
        with self.commit_lock:
            with self.state_lock:
                self.check_usable()
                # From here on other threads gather the next group. This one stays known as `_written`: until the sync
                # is done its lines are in memory alone.
                group = self._pending
                if not group.ids:
                    return  # the thread that held the lock before us has committed our lines too
                self._written, self._pending = group, CommitGroup(group.seq, group.chain)
            self._was_shared = self._waiting > 0 or group.appends > 1
            with self._poisoning:
                self._check_alone()
                self._write(b"".join(group.texts))
                if self._is_synced:
                    self.disk.fdatasync(self._fd)
                with self.state_lock:
                    self._show(group)
                self._write_head()
                if len(self.view.active.pending) >= INDEX_EVERY_LINES:
                    self.index_tail()

    def _write(self, data: bytes) -> None:
        """Write lines over the padding. Where it does not suffice the file grows, and a small group pads it anew.

        Padding is for syncs: without them, or for a group that is as large itself, it would only be written twice.
        """
        at = self.view.active.end
        if at + len(data) > self._size and self._is_synced and len(data) <= PADDED_BYTES_MAX:
            data += PADDING
        self.disk.write_at(self._fd, data, at)
        self._size = max(self._size, at + len(data))

    def _check_alone(self) -> None:
        """Raises `LedgerPoisoned` if another process has written to the log since this writer did."""
        active = self.view.active
        last = active.chain + chain.SEAL_END if active.end else b""
        what = ""
        if os.getpid() != self._pid:
            what = f"process {self._pid} opened it, and this one was forked from that; open it anew after a fork"
        # One read for both: the last line must be ours, and nothing but padding may follow it.
        elif os.pread(self._fd, len(last) + 1, active.end - len(last)) not in (last, last + b"\n"):
            what = f"{active.path.name} does not end with the line that this writer wrote last"
        elif (text := os.pread(self._head_fd, HEAD_BYTES_MAX, 0)) != self._head_text:
            head = head_of_text(text)
            if head.seq > active.seq or head.generation > self.view.manifest.generation:
                what = f"{HEAD} is ahead of this writer"
            self._head_text = bytearray(text)
        if what:
            raise LedgerPoisoned(
                f"{self.folder} has another writer: {what}. Nothing was written; what was acknowledged before is "
                "durable. Let one process write, and open the ledger again"
            )

    def _show(self, group: CommitGroup) -> None:
        """Let look-ups see the lines of a durable group."""
        active = self.view.active
        if group.seq - len(group.ids) < active.seq:
            group = group.after(active.seq)  # a reload read some of it from the file meanwhile
        if group.ids:
            sizes = list(map(len, group.texts))
            active.add_lines(group.ids, sizes, group.lines, seq=group.seq, head=group.chain)
        self._durable = active.seq
        if not self._pending.ids:
            self.builder.trim()

    def commit_all(self) -> None:
        """Everything that was gathered is durable when this returns."""
        with self.state_lock:
            last = self._pending.seq
        self.commit(last)

    @property
    def head(self) -> bytes:
        """The head of the chain after the newest line, durable or not."""
        return self._pending.chain

    def index_tail(self) -> None:
        """Extend the index of the active delta over its tail, so that the next opening need not read that."""
        with self.state_lock:
            self.view.active.index_tail(self.disk)

    def _write_head(self) -> None:
        active = self.view.active
        slot = head_slot(seq=active.seq, size=active.end, generation=self.view.manifest.generation)
        at = self._next_slot * len(slot)
        self.disk.pwrite(self._head_fd, slot, at)
        text = self._head_text
        if len(text) < at:
            text.extend(bytes(at - len(text)))
        text[at : at + len(slot)] = slot
        self._next_slot ^= 1  # in turn: a torn write of one slot leaves the other whole

    # Changing the files

    def publish(self, manifest: Manifest) -> None:
        """Make `manifest` the list of files; the caller then reloads what it needs.

        `HEAD` says so at once: another writer, which there may be without locks, finds there that its list is old. And
        what it said so far is durable before, so that one which is older still can be told (see `head`).
        """
        self._check_alone()
        if not self._is_synced:
            self.disk.fdatasync(self._fd)  # before `HEAD` says so for good
        self._write_head()
        self.disk.fsync(self._head_fd)
        newer = replace(manifest, generation=manifest.generation + 1)
        write_manifest(self.disk, self.folder, newer)
        self.view.manifest_published(newer)
        self._write_head()

    def seal_and_switch(self, manifest: Manifest) -> None:
        """Seal the active delta and continue in a new one, together with the other changes in `manifest`.

        The new file is durable before the manifest names it, and gets its first line only afterwards: a crash in
        between leaves an empty file that `_sweep` deletes.
        """
        old, folder = self.view.active, self.folder
        self._check_alone()
        if self._size > old.end:
            self._cut_at(old.end)
        # Also what was cut when the ledger was closed last: padding that a power cut brings back would be damage now.
        self.disk.fdatasync(self._fd)
        sealed = replace(manifest.active, last_seq=old.seq, head=old.chain.decode(), bytes=old.end)
        taken = {info.file for info in manifest.deltas}
        name = unused_name(folder, "delta", ".jsonl", self.clock(), taken=taken)
        create_empty(self.disk, folder / name)
        new = DeltaInfo(file=name, first_seq=old.seq + 1, chain=old.chain.decode())
        self.publish(replace(manifest, deltas=(*manifest.deltas[:-1], sealed, new)))
        self.index_tail()
        old.info = sealed
        with self.state_lock:
            delta = Delta(folder, new, salt=manifest.salt)
            # Open before closing: if this fails, the old descriptor must still be ours to close, once.
            old_fd = self._fd
            self._fd, self._size = self._open_log(delta.path)
            self.disk.close(old_fd)
            self.view.active = delta
            self.view.deltas = [*self.view.deltas, delta]

    def poison_on_error(self) -> "_Poisoning":
        """Whatever is raised in here poisons the writer: also Ctrl-C in the middle of a write leaves half a line."""
        return self._poisoning

    def poison(self, error: BaseException) -> None:
        """Refuse everything from now on."""
        self._poison = error

    @property
    def is_usable(self) -> bool:
        """Whether the writer is open and not poisoned."""
        return self._poison is None and self._lock_fd >= 0

    def check_usable(self) -> None:
        """Raises unless the writer is open and not poisoned."""
        if self._poison is not None:
            raise LedgerPoisoned(
                f"{self.folder} cannot be used any more after: {self._poison}; close it and open it again"
            )
        if self._lock_fd < 0:
            raise InvalidRequest(f"{self.folder} is closed")


class _Poisoning:
    """A context that poisons a writer; a class, as a generator would cost every commit two microseconds more."""

    __slots__ = ("_writer",)

    def __init__(self, writer: LedgerWriter) -> None:
        self._writer = writer

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:  # fmt: skip
        if error is None:
            return
        self._writer.poison(error)
        if isinstance(error, OSError):
            raise LedgerPoisoned(
                f"{self._writer.folder}: {error.strerror or error}; nothing more is written. What was acknowledged is "
                "durable; free space or repair the disk, then close the ledger and open it again"
            ) from error


def acquire_lock(folder: Path, disk: Disk, clock: Callable[[], float]) -> int:
    """The descriptor that holds the lock. Raises `LedgerLocked`."""
    fd = disk.open_slots(folder / LOCK)
    try:
        if not try_lock(fd):
            text = os.pread(fd, 4096, 0)
            try:
                owner = msgspec.json.decode(text, type=dict[str, object])
            except (msgspec.DecodeError, UnicodeDecodeError):
                owner = {}
            pid, host = owner.get("pid"), str(owner.get("host", ""))
            raise LedgerLocked(str(folder), pid=pid if isinstance(pid, int) else None, host=host)
        disk.truncate(fd, 0)
        disk.pwrite(fd, encode_json(lock_owner(started=clock())) + b"\n", 0)
    except BaseException:
        os.close(fd)
        raise
    return fd


def create_ledger(
    folder: Path, *, disk: Disk, clock: Callable[[], float], table: TransitionTable | None
) -> None:
    """Make an empty ledger: the first delta is durable before the manifest names it."""
    disk.make_dir(folder)
    now = clock()
    name = unused_name(folder, "delta", ".jsonl", now, taken=set())
    create_empty(disk, folder / name)
    # Different in every ledger is enough: the salt only keeps others from preparing ids that collide in the index.
    salt = sha256(f"{folder.resolve()} {now!r} {os.getpid()}".encode()).hexdigest()[:32]
    manifest = Manifest(
        machine=table.name if table else ANY_MACHINE,
        machine_version=table.version if table else 0,
        created_at=iso(now),
        salt=salt,
        deltas=(DeltaInfo(file=name, first_seq=1, chain=chain.GENESIS.decode()),),
    )
    write_manifest(disk, folder, manifest)
