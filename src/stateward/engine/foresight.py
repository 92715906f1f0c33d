"""What a turn will find of the one record that it ends an attempt of, so that it need not wait to be told.

A turn locks the record, writes the result, waits for both, decides, and commits: two round trips to a server, which
waits while we decide. What it answers is nearly always known: it is what the last commit left, or what was read while
the work ran. So the turn is decided on that, and all of it is sent at once, with the condition that it is still so.
Where it is not, the server refuses all of it, and the turn is decided anew on what is there.
"""

from collections.abc import Callable, Iterable, Sequence

from stateward.core.model import Change, Record, Work
from stateward.engine.batch import Locked
from stateward.storage.database import Asked, Database, Known
from stateward.storage.record_rows import RECORD_COLUMNS, records_of

# Work under way whose records are remembered; and up to which those that are not known are read: where more is under
# way a commit serves several, so that a round trip costs each of them little.
KNOWN_MAX = 64
LOOK_MAX = 4
PAUSE_S = 1.0  # after something was otherwise than foreseen, such as a stage that is paused

# The record is locked before the epoch is held, as everywhere. Its head is compared because what is known may be of a
# turn that was rolled back, and another one may have come to the same version.
_IS_AS_KNOWN = (
    "CASE WHEN (SELECT count(*) FROM (SELECT 1 FROM records WHERE id = :id AND version = :version"
    " AND rank = :rank AND worker = :worker AND head = :head{for_update}) AS held) = 1"
    " THEN (SELECT epoch FROM current_epoch) = :epoch ELSE FALSE END"
)
# A query of its own, after the locks are held: it sees what was committed when it began, and the one before may have
# waited for the record while a person paused a stage.
_NOTHING_IS_PAUSED = "NOT EXISTS (SELECT 1 FROM pauses)"


class Foresight:
    """The records whose work is under way, as they were last seen; none where there is no round trip to save."""

    def __init__(self, database: Database, *, ticks: Callable[[], float]) -> None:
        self._database = database
        self._ticks = ticks
        self.is_worth_it = database.has_round_trips
        """Whether there is a round trip to save."""
        self._is_as_known = _IS_AS_KNOWN.format(for_update=database.for_update)
        self._known: dict[str, Record] = {}
        self._epoch: int | None = None
        self._is_used = False
        self._from = 0.0

    def note(self, written: Iterable[Change | None], sent: Iterable[Work]) -> None:
        """A turn leaves records so, and their work goes out."""
        left = {each.record.id: each for each in written if each is not None}
        for work in sent:
            change = left.get(work.record_id)
            if change is not None and change.transition is not None and self.is_worth_it:
                self._epoch = change.transition.epoch
                self._keep(change.record)

    def look(self, record_ids: Sequence[str]) -> None:
        """Read those of these records that are not known. While their work runs, nothing waits for that."""
        unknown = [each for each in record_ids if each not in self._known]
        if not (unknown and self.is_worth_it) or self._ticks() < self._from:
            return
        # One that has risen since is found where it is required: it does so when a coordinator starts.
        is_new = self._epoch is None
        epoch = self._database.ask_ahead("SELECT epoch FROM current_epoch") if is_new else None
        among, given = self._database.among("id", unknown)
        found = self._database.rows(f"SELECT {RECORD_COLUMNS} FROM records WHERE {among}", **given)
        for record in records_of(found).values():
            self._keep(record)
        if epoch is not None:
            self._epoch = int(epoch.rows()[0][0] or 0)

    def hold(self, record_ids: Sequence[str]) -> Locked | None:
        """Lock one record and go on as if it were as known; None if that is not known, or there are several."""
        record = self._known.pop(record_ids[0], None) if len(record_ids) == 1 else None
        if record is None or record.worker is None or self._epoch is None:
            return None
        if self._ticks() < self._from:  # what was otherwise than foreseen, such as a pause, lasts
            return None
        self._is_used = True
        self._database.require(
            self._is_as_known,
            id=record.id,
            version=record.version,
            rank=record.rank,
            worker=record.worker,
            head=record.head,
            epoch=self._epoch,
        )
        self._database.require(_NOTHING_IS_PAUSED)
        return Locked(known=record, epoch=Known([(self._epoch,)]), paused=Known([]))

    def hold_epoch(self) -> Asked | None:
        """Hold the epoch and go on as if it were as known; None if that is not known. All records are locked before."""
        if self._epoch is None or not self.is_worth_it or self._ticks() < self._from:
            return None
        self._is_used = True
        self._database.require("(SELECT epoch FROM current_epoch) = :epoch", epoch=self._epoch)
        return Known([(self._epoch,)])

    def begin(self) -> None:
        """A turn begins."""
        self._is_used = False

    def is_wrong(self) -> bool:
        """A turn was refused: whether it may be because of what was foreseen in it; if so, all of that is forgotten."""
        if not self._is_used:
            return False
        self._known.clear()
        self._epoch = None
        self._from = self._ticks() + PAUSE_S
        return True

    def _keep(self, record: Record) -> None:
        if len(self._known) >= KNOWN_MAX:
            self._known.clear()
        self._known[record.id] = record
