"""Compacts the mirrored ledger each night and exports a checkpoint of it, in a thread beside the mirror.

A compaction may come late, early or twice without harm: the order of a ledger is in its numbers, not in its file names.
So a night that passed while nothing ran is made up for at the start, and a clock that was set, or a night that
has no such time, needs no special care. What fails is said and tried again; the mirror goes on meanwhile.

The ledger's own modules are imported when they are used, as in `mirror`.
"""

from collections.abc import Callable
from datetime import datetime, time, timedelta, tzinfo
from threading import Event, Thread
from typing import TYPE_CHECKING

from msgspec import Struct

from stateward.core.errors import StatewardError

if TYPE_CHECKING:
    from stateward.ledger import CheckpointSigner, Ledger

LOOK_S = 20.0
"""How often it is looked whether something is due: the wall clock may be set while one waits."""
RETRY_S = 900.0


class UpkeepOptions(Struct, frozen=True, kw_only=True):
    """What is done each night: `at` which local time, whether the ledger is compacted, and who gets a checkpoint.

    `destinations` are folders and addresses; `webhook_secret` signs what is posted, `signer` the checkpoints.
    """

    warn: Callable[[str], None]
    at: time = time()
    is_compacted: bool = True
    destinations: tuple[str, ...] = ()
    origin: str | None = None
    signer: "CheckpointSigner | None" = None
    webhook_secret: str | None = None


def last_time(now: float, at: time, *, zone: tzinfo | None = None) -> float:
    """The last moment up to `now` at which the clocks of a zone, or of this machine, showed `at`."""
    today = datetime.fromtimestamp(now, zone).date()
    days = (today - timedelta(days=ago) for ago in range(3))
    moments = (datetime.combine(day, at, tzinfo=zone).timestamp() for day in days)
    return next(moment for moment in moments if moment <= now)


class MirrorUpkeep:
    """Looks after one open ledger from `start` to `stop`."""

    def __init__(
        self, ledger: "Ledger", options: UpkeepOptions, *, clock: Callable[[], float]
    ) -> None:
        """Raises `InvalidRequest` for a destination or a secret that cannot be one."""
        from stateward.core.webhook_signing import key_of
        from stateward.ledger.checkpoint_export import check_destination

        for destination in options.destinations:
            check_destination(destination, ledger.path)
        if options.webhook_secret is not None:
            key_of(options.webhook_secret.strip())
        self._ledger, self._options, self._clock = ledger, options, clock
        self._done_at = ledger.compacted_at
        self._again_at = 0.0
        self._lacking: set[str] = set()
        """The destinations that have not got the checkpoint of this night."""
        self._stopping = Event()
        self._thread = Thread(target=self._run, name="ledger-upkeep", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread; what is under way is finished first."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(LOOK_S):
            self.run_due()

    def run_due(self) -> None:
        """Do what is due. Failures are reported, never raised: the thread must live on."""
        now, own = self._clock(), self._options
        if now < self._again_at <= now + RETRY_S:
            return
        self._done_at = min(self._done_at, now)  # a clock that is set back puts nothing off
        is_night = self._done_at < last_time(now, own.at)
        try:
            if own.is_compacted and (is_night or self._ledger.is_compaction_due()):
                self._ledger.compact()
            if is_night:
                self._done_at = now
                self._lacking = set(own.destinations)
            if self._lacking:
                self._export()
        except (StatewardError, OSError) as error:
            self._again_at = now + RETRY_S
            own.warn(f"the upkeep of {self._ledger.path} failed: {error}")

    def _export(self) -> None:
        from stateward.ledger.checkpoint_export import export_checkpoint

        own = self._options
        text = self._ledger.checkpoint(origin=own.origin, signer=own.signer)
        for destination in sorted(self._lacking):
            why = export_checkpoint(text, destination, secret=own.webhook_secret, clock=self._clock)
            if why:
                self._again_at = self._clock() + RETRY_S
                own.warn(
                    f"{destination} has no checkpoint of {self._ledger.path}: {why}; it is tried again"
                )
            else:
                self._lacking.discard(destination)
