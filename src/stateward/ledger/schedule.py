"""When upkeep is due: at local midnight, and later each time it fails. Pure functions of the time.

A rotation or compaction may come late, early or twice: names are labels and the order is in the sequence numbers,
so a clock that steps or a night without a midnight costs nothing but a moment.
"""

from datetime import UTC, datetime, time, timedelta, tzinfo

BACKOFF_FIRST_S = 60.0
BACKOFF_MAX_S = 3600.0
DOUBLINGS_MAX = 16


def next_midnight(now: datetime, zone: tzinfo) -> datetime:
    """The first instant of the next local day, strictly after `now`.

    Days of 23 and 25 hours are days; where the clock jumps over midnight, the day begins with the jump.
    """
    if now.tzinfo is None:
        raise ValueError("the time has no zone; give one that knows its zone")
    here = now.astimezone(zone)
    day = here.date() + timedelta(days=1)
    midnight = datetime.combine(day, time(), tzinfo=zone)
    # A wall-clock time that the clocks skip means nothing; the first real instant of the day is what it
    # becomes when it goes through UTC and back.
    return midnight.astimezone(UTC).astimezone(zone)


def backoff_s(failures: int) -> float:
    """How long to wait after that many failures in a row: a minute, doubling, at most an hour."""
    if failures <= 0:
        return 0.0
    return min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2.0 ** min(failures - 1, DOUBLINGS_MAX))


class Housekeeping:
    """Says whether upkeep is due now; somebody who has a thread asks it now and then."""

    def __init__(self, now: datetime, *, zone: tzinfo) -> None:
        self._zone = zone
        self._failures = 0
        self.due_at = next_midnight(now, zone)

    def is_due(self, now: datetime) -> bool:
        """Whether it is time."""
        return now >= self.due_at

    def is_pausing(self, now: datetime) -> bool:
        """Whether it failed a short while ago."""
        return self._failures > 0 and now < self.due_at

    def succeeded(self, now: datetime) -> None:
        """The next time is the next midnight."""
        self._failures = 0
        self.due_at = next_midnight(now, self._zone)

    def failed(self, now: datetime) -> None:
        """The next time is after a pause that grows."""
        self._failures += 1
        self.due_at = now + timedelta(seconds=backoff_s(self._failures))
