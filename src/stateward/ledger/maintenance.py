"""A ledger kept by itself: compacted each night, its checkpoints handed over, in a thread beside the writer.

`Ledger.open(…, keeping=Keeping(…))` starts one. It looks now and then: at the time that was named (local midnight
unless told otherwise), or as soon as the log has grown enough, it compacts; after each night it makes a checkpoint
and puts it into the outbox; and it hands over what waits there. Whoever was not running at that time makes up for it
at the next opening. What fails is said and tried again later; the writer goes on meanwhile.
"""

import logging
from collections.abc import Callable
from datetime import UTC, datetime, time, tzinfo
from pathlib import Path
from threading import Event, Thread
from typing import Protocol

from msgspec import Struct

from stateward.core.errors import InvalidRequest, LedgerError
from stateward.ledger.checkpoint_export import Outbox
from stateward.ledger.disk import Disk
from stateward.ledger.keys import Signer
from stateward.ledger.schedule import MIDNIGHT, Housekeeping, last_time

ORIGIN = "stateward.local/ledger"
LOOK_S_MAX = 20.0
LOOK_S_MIN = 0.02

Warn = Callable[[str], None]


class Keeping(Struct, frozen=True, kw_only=True):
    """How a ledger is kept: when, in whose time (None: this machine's), and who gets its checkpoints.

    `hand_over` names folders and addresses (see `handover`); `secret` signs what is posted, `signer` the
    checkpoints themselves. `is_compacted=False` only hands over.
    """

    at: time = MIDNIGHT
    zone: tzinfo | None = None
    is_compacted: bool = True
    hand_over: tuple[str, ...] = ()
    origin: str = ORIGIN
    signer: Signer | None = None
    secret: str | None = None
    warn: Warn = logging.getLogger("stateward.ledger").warning


class Kept(Protocol):
    """What a keeper needs of a ledger."""

    @property
    def path(self) -> Path:
        """The directory."""

    @property
    def kept_at(self) -> float:
        """When the newest snapshot was made, or else the ledger."""

    def tend(self, keeping: Housekeeping, now: datetime) -> object:
        """Compact if it is time."""

    def checkpoint(self, *, origin: str, sign_as: str | None, private_key: bytes | None) -> str:
        """The root over all lines so far."""


class Keeper:
    """Keeps one open ledger, in a thread of its own from `start` to `stop`."""

    def __init__(
        self,
        ledger: Kept,
        keeping: Keeping,
        *,
        clock: Callable[[], float],
        disk: Disk | None = None,
    ) -> None:
        self._ledger, self._keeping, self._clock = ledger, keeping, clock
        now = self._now()
        self._due = Housekeeping(now, zone=keeping.zone, at=keeping.at)
        if ledger.kept_at < last_time(now, zone=keeping.zone, at=keeping.at).timestamp():
            self._due.due_at = now  # nobody was there at the time
        self._outbox = (
            Outbox(ledger.path, keeping.hand_over, clock=clock, disk=disk, secret=keeping.secret)
            if keeping.hand_over
            else None
        )
        self._owes_checkpoint = False
        self._pause_until = 0.0
        self._stopping = Event()
        self._thread = Thread(target=self._run, name="ledger-keeper", daemon=True)

    def start(self) -> None:
        """Look now and then, from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more; what is under way is finished first."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(self._patience_s()):
            self.look()

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)

    def _patience_s(self) -> float:
        """Until something is due, but never long: a wall clock may be set."""
        waits = [LOOK_S_MAX, self._due.due_at.timestamp() - self._clock()]
        if self._outbox is not None and (wakes_at := self._outbox.wakes_at) is not None:
            waits.append(max(wakes_at, self._pause_until) - self._clock())
        return max(LOOK_S_MIN, min(waits))

    def look(self) -> None:
        """Do what is due. What goes wrong is said, never raised."""
        now = self._now()
        is_night = self._due.is_due(now)
        self._owes_checkpoint |= is_night
        try:
            if self._keeping.is_compacted:
                self._ledger.tend(self._due, now)
            elif is_night:
                self._due.succeeded(now)
        except (LedgerError, OSError) as error:
            self._keeping.warn(f"the upkeep of {self._ledger.path} failed: {error}")
        if self._outbox is not None and self._clock() >= self._pause_until:
            try:
                self._hand_over(self._outbox)
            except (LedgerError, InvalidRequest, OSError) as error:
                self._pause_until = self._clock() + LOOK_S_MAX
                self._keeping.warn(f"no checkpoint of {self._ledger.path} was handed over: {error}")

    def _hand_over(self, outbox: Outbox) -> None:
        if self._owes_checkpoint:
            outbox.add(self._checkpoint())
            self._owes_checkpoint = False
        wakes_at = outbox.wakes_at
        if wakes_at is None or wakes_at > self._clock():
            return
        for each in outbox.deliver():
            if each.error:
                self._keeping.warn(
                    f"{each.place} has not got {each.waiting} checkpoints of {self._ledger.path} yet: {each.error}; "
                    "they wait and are tried again"
                )

    def _checkpoint(self) -> str:
        signer = self._keeping.signer
        return self._ledger.checkpoint(
            origin=self._keeping.origin,
            sign_as=signer.name if signer else None,
            private_key=signer.seed if signer else None,
        )
