"""The history once more, as a ledger: committed transitions, in commit order, exactly once.

The database is the truth; the ledger is its copy in plain files that can be read, verified and kept without it. How
far the copy came stands in the ledger itself, durable in the same group as the lines, so a mirror that died anywhere
goes on where it was. A ledger that holds another history is refused.

`maintenance` compacts the ledger daily and exports its checkpoints, in a background thread.
The mirror is never in the way: if it fails, it says so once, waits, and tries again; the service goes on meanwhile.
`compare` walks through both and names the first entry in which they differ.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec

from stateward.core.errors import StatewardError, StoreError
from stateward.core.model import (
    SECOND,
    Fields,
    Json,
    Micros,
    Transition,
)
from stateward.engine.history import CHUNK, Progress
from stateward.ledger import (
    Ledger,
    LedgerAuditRecord,
    LedgerEntry,
    LedgerLocked,
    LedgerMismatch,
    MaintenanceOptions,
)
from stateward.ledger.disk import Disk
from stateward.ledger.record import ROLLED_BACK
from stateward.ledger.schedule import backoff_s
from stateward.storage.store import Store

SOURCE = "stateward"
BATCH_MAX = 1000
LOCKED_S = 5.0
METADATA_BYTES_MAX = 64 << 20
"""What the database took, the ledger takes too."""
LOOK_BACK = 16
"""Among so many last lines of a mirror there is one of a transition; the others are the ledger's own."""


def entry_of(t: Transition) -> LedgerEntry:
    """A transition as the ledger keeps it: nothing of it is left out."""
    metadata: Fields = {
        "machine_version": t.machine_version,
        "version": t.version,
        "event_id": t.event_id,
        "trigger": t.trigger,
        "attempt": t.attempt,
        "authority": t.authority,
        "epoch": t.epoch,
        "facts": t.metadata,
        "record_hash": t.record_hash,
        "prev_hash": t.prev_hash,
        "hash": t.hash,
    }
    return LedgerEntry(
        doc_id=t.record_id,
        state=t.target,
        adapter=t.machine,
        error_type=_text(t.metadata.get("error_code")),
        error_message=_text(t.metadata.get("error_message")),
        retry_count=_count(t.metadata.get("retry_count")),
        metadata=metadata,
        actor=t.actor,
        timestamp=t.at / SECOND,
        old_state=t.source,
        source_seq=t.seq,
    )


def transition_of(record: LedgerAuditRecord) -> dict[str, Json]:
    """What a mirrored line says of its transition, by the names of a transition's fields."""
    found: dict[str, Json] = {
        "record_id": record.doc_id,
        "machine": record.adapter,
        "source": record.old_state,
        "target": record.new_state,
        "at": round(record.timestamp * SECOND),
        "actor": record.actor,
        "seq": record.source_seq,
        **record.metadata,
    }
    found["metadata"] = found.pop("facts", None)
    return found


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


class Mirror:
    """Brings what is new in a store to a ledger, a batch at a time; one thread uses it."""

    def __init__(
        self,
        store: Store,
        folder: Path,
        *,
        clock: Callable[[], Micros],
        ticks: Callable[[], float],
        warn: Callable[[str], None],
        batch_max: int = BATCH_MAX,
        maintenance: MaintenanceOptions | None = None,
        disk: Disk | None = None,
    ) -> None:
        self._store, self._folder = store, folder
        self._clock, self._ticks, self._warn = clock, ticks, warn
        self.batch_max = batch_max
        self._maintenance = maintenance
        self._disk = disk
        self._ledger: Ledger | None = None
        self._seq = 0
        self._failures = 0
        self._again_at = 0.0

    @property
    def wakes_in(self) -> float | None:
        """Seconds until a mirror that failed tries again; None if it did not fail."""
        return max(0.0, self._again_at - self._ticks()) if self._failures else None

    def step(self) -> int:
        """Mirror one batch; the number of transitions. What goes wrong with the ledger is said, never raised."""
        if self._ticks() < self._again_at:
            return 0
        try:
            count = self._step()
        except StoreError:
            raise  # that is the service's own affair
        except LedgerLocked:
            self._again_at = self._ticks() + LOCKED_S  # another coordinator mirrors
            return 0
        except (StatewardError, OSError) as error:
            self._failed(error)
            return 0
        if self._failures:
            self._warn(f"the mirror in {self._folder} goes on")
            self._failures, self._again_at = 0, 0.0
        return count

    def _step(self) -> int:
        ledger = self._opened()
        fresh = self._store.log(after=self._seq, limit=self.batch_max)
        if not fresh:
            return 0
        ledger.mirror([entry_of(each) for each in fresh], source=SOURCE)
        self._seq = fresh[-1].seq
        return len(fresh)

    def _opened(self) -> Ledger:
        if self._ledger is None:
            opened = Ledger.open(
                self._folder,
                machine=None,
                clock=lambda: self._clock() / SECOND,
                metadata_bytes_max=METADATA_BYTES_MAX,
                maintenance=self._maintenance,
                disk=self._disk,
            )
            try:
                self._seq = _check_same(opened, self._store)
            except BaseException:
                opened.close()
                raise
            self._ledger = opened
        return self._ledger

    def _failed(self, error: Exception) -> None:
        self._failures += 1
        wait_s = backoff_s(self._failures)
        self._again_at = self._ticks() + wait_s
        self._warn(
            f"the history is not mirrored to {self._folder}: {error}. Work goes on; the next try is in {wait_s:.0f} s"
        )
        self._let_go()

    def _let_go(self) -> None:
        if self._ledger is not None:
            opened, self._ledger = self._ledger, None
            opened.close()

    def close(self) -> None:
        """Let another process write to the ledger."""
        try:
            self._let_go()
        except (StatewardError, OSError) as error:
            self._warn(f"the mirror in {self._folder} was not closed well: {error}")


def _check_same(ledger: Ledger, store: Store) -> int:
    """How far the ledger has come with this very history; raises `LedgerMismatch` if it holds another one."""
    seq = ledger.source_seq(SOURCE)
    if not seq:
        return 0
    kept = None
    for record in ledger.records(after=max(0, ledger.last_seq - LOOK_BACK)):
        if record.source == SOURCE and record.source_seq == seq:
            kept = record
    ours = store.log(after=seq - 1, limit=1)
    if not ours:
        raise LedgerMismatch(
            f"{ledger.path} goes on to transition {seq}, but the history ends before: the database lost some, or this "
            "is the ledger of another one"
        )
    if kept is not None and kept.metadata.get("hash") != ours[0].hash:
        raise LedgerMismatch(
            f"{ledger.path} holds another transition {seq} than the history: it is the ledger of another database"
        )
    return seq


class MirrorState(msgspec.Struct, frozen=True, kw_only=True):
    """How far a mirror is: `behind` transitions, the oldest of which waits since `since`."""

    seq: int
    behind: int
    since: Micros | None


def mirror_state(store: Store, folder: Path) -> MirrorState:
    """Look at a mirror without touching it. Raises `LedgerError` if it cannot be read."""
    count = store.anchor().count
    seq = 0
    if folder.exists():
        with Ledger.open(folder, read_only=True, machine=None) as ledger:
            seq = _check_same(ledger, store)
    waiting = store.log(after=seq, limit=1) if seq < count else []
    return MirrorState(
        seq=seq, behind=max(0, count - seq), since=waiting[0].at if waiting else None
    )


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What comparing a history with its mirror found. `difference` is the first one, as a sentence."""

    compared: int
    behind: int
    difference: str | None

    @property
    def is_same(self) -> bool:
        """Whether every mirrored entry is that of the history."""
        return self.difference is None


def compare(store: Store, folder: Path, *, progress: Progress = lambda *_: None) -> Comparison:
    """Walk through a history and its mirror, entry by entry, up to the first difference.

    A mirror that has not come to the end yet is no difference; `behind` says how much is missing.
    """
    count = store.anchor().count
    pages = _Pages(store)
    compared = last = 0
    was_rolled_back = False
    difference: str | None = None
    with Ledger.open(folder, read_only=True, machine=None) as ledger:
        for record in ledger.records():
            if record.is_control:
                was_rolled_back |= record.new_state == ROLLED_BACK
                continue
            difference = _difference(record, last, pages, is_back=was_rolled_back)
            if difference is not None:
                break
            last, was_rolled_back = record.source_seq or 0, False
            compared += 1
            if compared % CHUNK == 0:
                progress("ledger", compared)
    return Comparison(compared=compared, behind=max(0, count - last), difference=difference)


class _Pages:
    """Transitions by their place, a page at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._page: dict[int, Transition] = {}

    def get(self, seq: int) -> Transition | None:
        if seq not in self._page:
            self._page = {each.seq: each for each in self._store.log(after=seq - 1, limit=CHUNK)}
        return self._page.get(seq)


def _difference(
    record: LedgerAuditRecord, last: int, pages: _Pages, *, is_back: bool
) -> str | None:
    where = f"line {record.seq} of the ledger"
    if record.source != SOURCE or record.source_seq is None:
        return f"{where} was not mirrored from this history"
    seq = record.source_seq
    if seq != last + 1 and not (is_back and seq <= last):
        return f"{where} is entry {seq}, but entry {last + 1} was expected"
    ours = pages.get(seq)
    if ours is None:
        return f"{where} is entry {seq}, which the history does not have"
    expected: dict[str, Json] = msgspec.to_builtins(ours)
    found = transition_of(record)
    for name, value in expected.items():
        if found.get(name) != value:
            return f"entry {seq}, {name}: the history has {value!r:.120}, the ledger {found.get(name)!r:.120}"
    return None
