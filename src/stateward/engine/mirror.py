"""Copies the history to a ledger: committed transitions, in commit order, exactly once.

The database is authoritative; the ledger is a copy in plain files that can be read, verified and archived without it.
How far the copy has come is stored in the ledger itself, durable in the same group as the lines, so a mirror that died
anywhere continues where it was. A ledger that holds another history is refused.

The ledger's own modules are imported when a ledger is used: most commands never do, and start sooner.

`upkeep` compacts the ledger daily and exports its checkpoints (see `mirror_upkeep`). A failing mirror never stops the
service: it logs the failure, waits, and tries again. `compare` reads both and returns the first difference.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from stateward.core.chain import commitment, is_erased
from stateward.core.errors import LedgerLocked, LedgerMismatch, StatewardError, StoreError
from stateward.core.model import (
    SECOND,
    Fields,
    Json,
    Micros,
    Transition,
)
from stateward.engine.history import CHUNK, Progress
from stateward.engine.mirror_upkeep import MirrorUpkeep, UpkeepOptions
from stateward.ledger.mirrored import MIRRORED, mirrored_fields
from stateward.storage.store import Store

if TYPE_CHECKING:
    from stateward.ledger import Ledger, LedgerAuditRecord, LedgerEntry
    from stateward.ledger.disk import Disk

# Transitions of one step: it runs in the main loop, which handles no event meanwhile.
BATCH_MAX = 1000
LOCKED_S = 5.0  # how soon another coordinator takes over when the one that mirrors is gone
RETRY_S, RETRY_S_MAX = 60.0, 3600.0
DOUBLINGS_MAX = 16  # keeps the power finite for any number of failures
METADATA_BYTES_MAX = 64 << 20
"""Far above the ledger's own 1 MiB: what the database has committed must not be refused by its copy."""
LOOK_BACK = 16
"""How many last lines are searched for the last transition: the ledger adds lines of its own after it, but few."""


def entry_of(t: Transition) -> "LedgerEntry":
    """A transition as a line of the ledger. Nothing is left out: its hash can be checked from the ledger alone.

    The error fields are in the facts too; they are repeated where the ledger's own queries look for them.
    """
    from stateward.ledger import LedgerEntry

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
        **({} if t.salt is None else {"salt": t.salt}),
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


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


class Mirror:
    """Appends the new transitions of a store to a ledger, a batch at a time. Not thread-safe: the main loop uses it.

    The ledger is opened by the first step, not at the start: a ledger that is locked or damaged must not keep a
    coordinator from starting.
    """

    def __init__(
        self,
        store: Store,
        folder: Path,
        *,
        clock: Callable[[], Micros],
        ticks: Callable[[], float],
        warn: Callable[[str], None],
        batch_max: int = BATCH_MAX,
        upkeep: UpkeepOptions | None = None,
        disk: "Disk | None" = None,
    ) -> None:
        self._store, self._folder = store, folder
        self._clock, self._ticks, self._warn = clock, ticks, warn
        self.batch_max = batch_max
        self._options = upkeep
        self._upkeep: MirrorUpkeep | None = None
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
        """Mirror one batch; returns the number of transitions. A failure of the ledger is logged, never raised."""
        if self._ticks() < self._again_at:
            return 0
        try:
            count = self._step()
        except StoreError:
            raise  # the database failed, not the ledger: the main loop handles it
        except LedgerLocked:
            # Another coordinator mirrors: normal where several run, so it is neither logged nor a failure.
            self._again_at = self._ticks() + LOCKED_S
            return 0
        except (StatewardError, OSError) as error:
            self._note_failure(error)
            return 0
        if self._failures:
            self._warn(f"the mirror in {self._folder} goes on")
            self._failures, self._again_at = 0, 0.0
        return count

    def _step(self) -> int:
        ledger = self._open()
        fresh = self._store.log.read(after=self._seq, limit=self.batch_max)
        if not fresh:
            return 0
        ledger.mirror([entry_of(each) for each in fresh], source=MIRRORED)
        # Only now: after a failure `_opened` reads the position from the ledger, which knows what is durable.
        self._seq = fresh[-1].seq
        return len(fresh)

    def _open(self) -> "Ledger":
        from stateward.ledger import Ledger

        if self._ledger is None:
            opened = Ledger.open(
                self._folder,
                machine=None,
                clock=lambda: self._clock() / SECOND,
                metadata_bytes_max=METADATA_BYTES_MAX,
                disk=self._disk,
            )
            try:
                self._seq = _check_same(opened, self._store)
                if self._options is not None:
                    self._upkeep = MirrorUpkeep(
                        opened, self._options, clock=lambda: self._clock() / SECOND
                    )
                    self._upkeep.start()
            except BaseException:  # it would stay locked, for this process too
                opened.close()
                raise
            self._ledger = opened
        return self._ledger

    def _note_failure(self, error: Exception) -> None:
        wait_s = min(RETRY_S * 2.0 ** min(self._failures, DOUBLINGS_MAX), RETRY_S_MAX)
        self._failures += 1
        self._again_at = self._ticks() + wait_s
        self._warn(
            f"the history is not mirrored to {self._folder}: {error}. Work goes on; the next try is in {wait_s:.0f} s"
        )
        # A ledger refuses further writes after a failed one (`LedgerPoisoned`): it has to be opened again.
        self._let_go()

    def _let_go(self) -> None:
        if self._upkeep is not None:
            self._upkeep.stop()
            self._upkeep = None
        if self._ledger is not None:
            opened, self._ledger = self._ledger, None
            opened.close()

    def close(self) -> None:
        """Release the ledger, so that another process can write to it."""
        try:
            self._let_go()
        except (StatewardError, OSError) as error:
            self._warn(f"the mirror in {self._folder} was not closed well: {error}")


def _check_same(ledger: "Ledger", store: Store) -> int:
    """How far the ledger has come with this history; raises `LedgerMismatch` if it holds another one.

    The last mirrored transition is enough: its hash covers the ones before it of its record, and `compare` checks all.
    """
    seq = ledger.source_seq(MIRRORED)
    if not seq:
        return 0
    kept = None
    for record in ledger.records(after=max(0, ledger.last_seq - LOOK_BACK)):
        if record.source == MIRRORED and record.source_seq == seq:
            kept = record
    ours = store.log.between(seq - 1, seq, limit=1)
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
    """How far a mirror has come: it lacks `behind` transitions, the oldest of which was made at `since`."""

    seq: int
    behind: int
    since: Micros | None


def mirror_state(store: Store, folder: Path) -> MirrorState:
    """The state of a mirror, read without its lock, so that it works beside a running one. Raises `LedgerError`."""
    from stateward.ledger import Ledger

    end = store.log.end()
    seq = 0
    if folder.exists():
        with Ledger.open(folder, read_only=True, machine=None) as ledger:
            seq = _check_same(ledger, store)
    waiting = store.log.read(after=seq, limit=1) if seq < end else []
    return MirrorState(seq=seq, behind=max(0, end - seq), since=waiting[0].at if waiting else None)


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
    from stateward.ledger import Ledger
    from stateward.ledger.record import ROLLED_BACK, audit_record, is_ambiguous

    # Before the ledger is read: transitions that are made meanwhile must not count as missing from it.
    end = store.log.end()
    pages = _Pages(store, end)
    compared = last = 0
    was_rolled_back = False
    difference: str | None = None
    with Ledger.open(folder, read_only=True, machine=None) as ledger:
        for text in ledger.lines():
            record = audit_record(text)
            if is_ambiguous(text):
                difference = f"line {record.seq} of the ledger names a key twice"
                break
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
    return Comparison(compared=compared, behind=max(0, end - last), difference=difference)


class _Pages:
    """Transitions by the number before theirs: a ledger is read in order, so a page serves the next CHUNK look-ups."""

    def __init__(self, store: Store, end: int) -> None:
        self._store, self._end = store, end
        self._page: dict[int, Transition] = {}

    def after(self, seq: int) -> Transition | None:
        """The transition that follows this number. Numbers that were drawn in vain are left out of the history."""
        if seq not in self._page:
            found = self._store.log.between(seq, self._end, limit=CHUNK)
            self._page = dict(zip([seq, *(each.seq for each in found)], found, strict=False))
        return self._page.get(seq)


def _difference(
    record: "LedgerAuditRecord", last: int, pages: _Pages, *, is_back: bool
) -> str | None:
    where = f"line {record.seq} of the ledger"
    if record.source != MIRRORED or record.source_seq is None:
        return f"{where} was not mirrored from this history"
    seq = record.source_seq
    # A rollback of the ledger also takes its position back, so the mirror appends earlier transitions once more.
    ours = pages.after(seq - 1 if is_back and seq <= last else last)
    if ours is None:
        return f"{where} is entry {seq}, which the history does not have"
    if seq != ours.seq:
        return f"{where} is entry {seq}, but entry {ours.seq} was expected"
    expected: dict[str, Json] = msgspec.to_builtins(ours)
    found = mirrored_fields(record)
    if is_erased(ours):  # the ledger may still have what was erased here
        expected |= {"metadata": commitment(ours.metadata, ours.salt), "salt": None}
        found |= {"metadata": _commitment_of(found), "salt": None}
    for name, value in expected.items():
        if found.get(name) != value:
            return f"entry {seq}, {name}: the history has {value!r:.120}, the ledger {found.get(name)!r:.120}"
    return None


def _commitment_of(found: Mapping[str, Json]) -> str | None:
    """The commitment to the metadata of a transition that was read from a ledger."""
    metadata, salt = found.get("metadata"), found.get("salt")
    if not isinstance(metadata, dict) or not (salt is None or isinstance(salt, str)):
        return None
    return commitment(metadata, salt)
