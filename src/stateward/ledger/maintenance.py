"""Maintenance of an open ledger in the background: daily compaction and export of checkpoints.

`Ledger.open(…, maintenance=MaintenanceOptions(…))` starts a thread beside the writer. At the time that was set (local
midnight by default), or as soon as the log has grown enough, it compacts; once a day it makes a checkpoint and puts
it into the outbox; and it exports what waits there. What was due while the ledger was not open is done at the next
opening. Failures are reported and tried again later; the writer goes on meanwhile.
"""

import logging
from collections.abc import Callable
from datetime import UTC, datetime, time, tzinfo
from pathlib import Path
from threading import Event, Thread
from typing import Protocol

from msgspec import Struct

from stateward.core.errors import LedgerError, StatewardError
from stateward.ledger.checkpoint_export import CheckpointOutbox
from stateward.ledger.checkpoints import CheckpointSigner
from stateward.ledger.disk import Disk
from stateward.ledger.schedule import MIDNIGHT, MaintenanceSchedule

WAIT_S_MAX = 20.0
"""A wait is on the monotonic clock and the schedule on the wall clock: that may be set meanwhile."""
WAIT_S_MIN = 0.02


class MaintenanceOptions(Struct, frozen=True, kw_only=True):
    """How a ledger is maintained: when, in which time zone (None: this machine's), and who gets its checkpoints.

    `checkpoint_destinations` are folders and addresses (see `checkpoint_export`); `webhook_secret` signs what is
    posted, `signer` the checkpoints themselves. `is_compacted=False` only exports checkpoints.
    """

    at: time = MIDNIGHT
    zone: tzinfo | None = None
    is_compacted: bool = True
    checkpoint_destinations: tuple[str, ...] = ()
    origin: str | None = None
    signer: CheckpointSigner | None = None
    webhook_secret: str | None = None
    warn: Callable[[str], None] = logging.getLogger("stateward.ledger").warning


class MaintainedLedger(Protocol):
    """What maintenance needs of a ledger."""

    @property
    def path(self) -> Path:
        """The directory."""

    @property
    def compacted_at(self) -> float:
        """When the newest snapshot was made, or else the ledger."""

    def compact_if_due(self, schedule: MaintenanceSchedule, now: datetime) -> object:
        """Compact if it is time."""

    def checkpoint(self, *, origin: str | None, signer: CheckpointSigner | None) -> str:
        """The root over all lines so far."""


class MaintenanceThread:
    """Maintains one open ledger from `start` to `stop`."""

    def __init__(
        self,
        ledger: MaintainedLedger,
        options: MaintenanceOptions,
        *,
        clock: Callable[[], float],
        disk: Disk | None = None,
    ) -> None:
        self._ledger, self._options, self._clock = ledger, options, clock
        self._schedule = MaintenanceSchedule(
            self._now(), zone=options.zone, at=options.at, last_at=ledger.compacted_at
        )
        self._outbox: CheckpointOutbox | None = None
        if options.checkpoint_destinations:
            self._outbox = CheckpointOutbox(
                ledger.path,
                options.checkpoint_destinations,
                clock=clock,
                disk=disk,
                secret=options.webhook_secret,
            )
        self._needs_checkpoint = False
        self._export_paused_until = 0.0
        self._stopping = Event()
        self._thread = Thread(target=self._run, name="ledger-maintenance", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread; what is under way is finished first."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(self._wait_s()):
            self.run_due()

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)

    def _wait_s(self) -> float:
        waits = [WAIT_S_MAX, self._schedule.due_at.timestamp() - self._clock()]
        if self._outbox is not None and (at := self._outbox.next_attempt_at) is not None:
            waits.append(max(at, self._export_paused_until) - self._clock())
        return max(WAIT_S_MIN, min(waits))

    def run_due(self) -> None:
        """Do what is due. Failures are reported, never raised: the thread must live on."""
        now, options = self._now(), self._options
        is_daily_time = self._schedule.is_due(now)
        self._needs_checkpoint |= is_daily_time
        try:
            if options.is_compacted:
                self._ledger.compact_if_due(self._schedule, now)
            elif is_daily_time:
                self._schedule.succeeded(now)
        except (LedgerError, OSError) as error:
            options.warn(f"maintenance of {self._ledger.path} failed: {error}")
        if self._outbox is not None and self._clock() >= self._export_paused_until:
            try:
                self._export(self._outbox)
            except (StatewardError, OSError) as error:
                self._export_paused_until = self._clock() + WAIT_S_MAX
                options.warn(f"no checkpoint of {self._ledger.path} was exported: {error}")

    def _export(self, outbox: CheckpointOutbox) -> None:
        options = self._options
        if self._needs_checkpoint:
            outbox.add(self._ledger.checkpoint(origin=options.origin, signer=options.signer))
            self._needs_checkpoint = False
        due_at = outbox.next_attempt_at
        if due_at is None or due_at > self._clock():
            return
        for each in outbox.deliver():
            if each.error:
                options.warn(
                    f"{each.place} lacks {each.waiting} checkpoints of {self._ledger.path}: {each.error}; "
                    "they wait and are tried again"
                )
