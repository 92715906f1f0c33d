"""The one writer of a ledger: the lock, the group that is being gathered, and what makes it durable.

Lines are made under a short lock (see `making`). Then somebody commits: one `write` for all lines gathered so far, one
`fdatasync`, then they count, then `HEAD` is told. While a sync is under way others gather the next group, so many
threads share few syncs and nobody waits on a timer.
Lines that are not durable are known to the check of the next ones, and to nobody else.

After any failed write or sync nothing is known about the disk, and asking again may get the answer of a cache
that has already dropped the pages. So the writer is poisoned: it refuses everything, and opening the ledger anew
finds out from the disk what is there.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from stateward.core.errors import InvalidRequest
from stateward.ledger import chain
from stateward.ledger.builder import Change, Maker
from stateward.ledger.delta import FOLD_LINES, Delta
from stateward.ledger.disk import (
    TEMPORARY,
    Disk,
    holder_text,
    try_lock,
)
from stateward.ledger.errors import LedgerLocked, LedgerPoisoned
from stateward.ledger.group import Group
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
    CONTROL,
    Entry,
    Line,
    encode_json,
    to_microseconds,
)
from stateward.ledger.states import Graph
from stateward.ledger.view import View, head_slot, read_head

GROUP_LINES_MAX = 100_000
SLOT_BYTES = 32
ANY_MACHINE = "*"
"""The machine of a ledger that only mirrors another log."""

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

    # Submission and closing

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
        self._seq = self._durable = active.seq
        self._chain = active.chain.decode()
        self._pending = self._written = Group(self._seq, self._chain)
        self.maker = Maker(self.graph, self.view.line, metadata_bytes_max=self._metadata_bytes_max)

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
            if self._poison is None and self._pending.ids:
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
        is_vetted: bool = False,
        source: str | None = None,
    ) -> Group:
        """Make the lines of `entries` durable, all in one group; a wrong one leaves nothing behind.

        `is_vetted`: entries whose values a reader of old ledgers has looked at already; only their states are new here.
        """
        if len(entries) > GROUP_LINES_MAX:
            raise InvalidRequest(
                f"one group has at most {GROUP_LINES_MAX} records, not {len(entries)}; hand them over in parts"
            )
        with self.mutex:
            self.check_usable()
            pending = self._pending
            made = Group(self._seq, self._chain)
            try:
                self.maker.add(
                    made, entries, n=len(pending.ids), now=self._now(), is_checked=is_checked,
                    is_vetted=is_vetted, source=source,
                )  # fmt: skip
            except BaseException:
                self.maker.forget(made, self._written, pending)
                raise
            pending.extend(made)
            self._seq, self._chain = made.seq, made.chain
        self.commit(made.seq)
        return made

    def control(self, what: str, metadata: dict[str, object]) -> Line:
        """A line of the ledger itself; not yet durable."""
        with self.mutex:
            group = self._pending
            line = Line(
                doc_id=CONTROL, old_state=None, new_state=what, timestamp=self._now(), adapter="ledger",
                metadata=metadata, seq=self._seq + 1, n=len(group.ids) + 1,  # type: ignore[arg-type]
            )  # fmt: skip
            group.add(line, encode_json(line)[:-1].decode())
            self._seq, self._chain = group.seq, group.chain
            return line

    def take_back(self, line: Line) -> None:
        """Undo `control` while its line is the newest and nobody has committed it."""
        with self.mutex:
            last = self._pending.take_back()
            self._seq = line.seq - 1
            self._chain = last or self.view.active.chain.decode()
            self._pending.seq, self._pending.chain = self._seq, self._chain

    def _now(self) -> float:
        return to_microseconds(self.clock())

    # Making them durable

    def commit(self, seq: int) -> None:
        """Everything up to `seq` is durable when this returns."""
        if self._durable >= seq:
            return
        with self.commits:
            with self.mutex:
                self.check_usable()
                group = self._written = self._pending
                self._pending = Group(group.seq, group.chain)
            if not group.ids:
                return
            try:
                self.disk.write(self._fd, "".join(group.texts).encode())
                if self._is_synced:
                    self.disk.fdatasync(self._fd)
                with self.mutex:
                    self._count(group)
                self._write_head()
                if len(self.view.active.pending) >= FOLD_LINES:
                    self.fold()
            except OSError as error:
                raise self._poisoned(error) from error

    def _count(self, group: Group) -> None:
        active = self.view.active
        if (
            group.seq - len(group.ids) < active.seq
        ):  # a reload read some of it from the file meanwhile
            group = group.after(active.seq)
        if group.ids:
            active.take(group.ids, group.sizes(), group.lines, seq=group.seq, head=group.chain)
        self._durable = active.seq
        if not self._pending.ids:
            self.maker.thin()

    def commit_all(self) -> None:
        """Everything that was gathered is durable when this returns."""
        with self.mutex:
            last = self._seq
        self.commit(last)

    @property
    def head(self) -> bytes:
        """The head of the chain after the newest line, durable or not."""
        return self._chain.encode()

    def fold(self) -> None:
        """Give the tail of the active delta an index, so that the next opening need not read it."""
        with self.mutex:
            self.view.active.fold(self.disk)

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
            raise self._poisoned(error) from error

    def _poisoned(self, error: OSError) -> LedgerPoisoned:
        self._poison = error
        return LedgerPoisoned(
            f"{self.folder}: {error.strerror or error}; nothing more is written. What was acknowledged is "
            "durable; make room or mend the disk, then close the ledger and open it again"
        )

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
        except (msgspec.DecodeError, UnicodeDecodeError):
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
