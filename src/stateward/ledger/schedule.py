"""When upkeep is due: each night at local midnight unless told otherwise, and later each time it fails. Pure.

A rotation or compaction may come late, early or twice: names are labels and the order is in the sequence numbers,
so a clock that steps or a night without a midnight costs nothing but a moment.
"""

import re
from datetime import UTC, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from stateward.core.errors import InvalidRequest

BACKOFF_FIRST_S = 60.0
BACKOFF_MAX_S = 3600.0
DOUBLINGS_MAX = 16
AHEAD_S_MAX = 26 * 3600.0
"""No night is longer away than that."""
MIDNIGHT = time()


def time_of_day(text: str) -> time:
    """The time that `00:00` or `03:30` means."""
    if not re.fullmatch("([01][0-9]|2[0-3]):[0-5][0-9]", text):
        raise InvalidRequest(f"{text!r:.40} is no time of day; write 00:00 or 03:30")
    return time(int(text[:2]), int(text[3:]))


def zone_named(name: str) -> tzinfo:
    """The time zone of that name."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidRequest(
            f"there is no time zone {name!r:.40}; write UTC or Europe/Berlin"
        ) from error


def next_midnight(now: datetime, zone: tzinfo | None) -> datetime:
    """The first instant of the next local day, strictly after `now`."""
    return next_time(now, zone=zone, at=MIDNIGHT)


def next_time(now: datetime, *, zone: tzinfo | None, at: time = MIDNIGHT) -> datetime:
    """The next time that the clocks of a zone show `at`, strictly after `now`; None is this machine's own zone.

    Days of 23 and 25 hours are days. Where the clocks jump over `at` it is as much later as they jump (a skipped
    midnight is the instant of the jump); where they show it twice, the first time counts.
    """
    if now.tzinfo is None:
        raise ValueError("the time has no zone; give one that knows its zone")
    today = now.astimezone(zone).date()
    for day in (today, today + timedelta(days=1)):
        due = _instant(datetime.combine(day, at, tzinfo=zone), zone)
        # Two times of one zone are compared as the clocks show them, which goes wrong when they show one twice.
        if due.timestamp() > now.timestamp():
            return due
    return _instant(datetime.combine(today + timedelta(days=2), at, tzinfo=zone), zone)


def last_time(now: datetime, *, zone: tzinfo | None, at: time = MIDNIGHT) -> datetime:
    """The last time that the clocks of a zone showed `at`, at or before `now`."""
    found = next_time(now.astimezone(UTC) - timedelta(days=2), zone=zone, at=at)
    while (later := next_time(found, zone=zone, at=at)).timestamp() <= now.timestamp():
        found = later
    return found


def _instant(shown: datetime, zone: tzinfo | None) -> datetime:
    """What the clocks show as an instant: a time that they skip becomes a real one on its way there and back."""
    return datetime.fromtimestamp(shown.timestamp(), UTC).astimezone(zone)


def backoff_s(failures: int) -> float:
    """How long to wait after that many failures in a row: a minute, doubling, at most an hour."""
    if failures <= 0:
        return 0.0
    return min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2.0 ** min(failures - 1, DOUBLINGS_MAX))


class Housekeeping:
    """Says whether upkeep is due now; somebody who has a thread asks it now and then."""

    def __init__(self, now: datetime, *, zone: tzinfo | None, at: time = MIDNIGHT) -> None:
        self._zone, self._at = zone, at
        self._failures = 0
        self.due_at = next_time(now, zone=zone, at=at)

    def is_due(self, now: datetime) -> bool:
        """Whether it is time. A clock that was set back by days does not put it off by days."""
        if self.due_at.timestamp() - now.timestamp() > AHEAD_S_MAX:
            self.due_at = next_time(now, zone=self._zone, at=self._at)
        return now.timestamp() >= self.due_at.timestamp()

    def is_pausing(self, now: datetime) -> bool:
        """Whether it failed a short while ago."""
        return self._failures > 0 and not self.is_due(now)

    def succeeded(self, now: datetime) -> None:
        """The next time is the next night."""
        self._failures = 0
        self.due_at = next_time(now, zone=self._zone, at=self._at)

    def failed(self, now: datetime) -> None:
        """The next time is after a pause that grows."""
        self._failures += 1
        self.due_at = now + timedelta(seconds=backoff_s(self._failures))
