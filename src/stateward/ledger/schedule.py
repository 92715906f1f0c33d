"""When maintenance is due: daily at local midnight unless set otherwise, and later and later while it fails. Pure.

A rotation or compaction may come late, early or twice without harm: file names are labels and the order is in the
sequence numbers. So a clock that is set, or a night that has no midnight, needs no special care beyond this module.
"""

import re
from datetime import UTC, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from stateward.core.errors import InvalidRequest

BACKOFF_FIRST_S = 60.0
BACKOFF_MAX_S = 3600.0
DOUBLINGS_MAX = 16
"""Keeps 2.0 ** n finite for any number of failures."""
AHEAD_S_MAX = 26 * 3600.0
"""The next daily time is never further away: a day has at most 25 hours."""
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


def next_occurrence(now: datetime, *, zone: tzinfo | None, at: time = MIDNIGHT) -> datetime:
    """The next time that the clocks of a zone show `at`, strictly after `now`; None is this machine's zone.

    Where clocks are set forward over `at`, it is as much later as they are set (a skipped midnight is the instant of
    the change); where they show it twice, the first time counts.
    """
    if now.tzinfo is None:
        raise ValueError("the time has no zone; give one that knows its zone")
    today = now.astimezone(zone).date()
    for days in range(3):
        shown = datetime.combine(today + timedelta(days=days), at, tzinfo=zone)
        # There and back, because a time that the clocks skip becomes a real one on the way.
        due = datetime.fromtimestamp(shown.timestamp(), UTC).astimezone(zone)
        # As instants: datetimes of one zone compare by what the clocks show, which goes wrong where that comes twice.
        if due.timestamp() > now.timestamp():
            return due
    raise AssertionError("the day after tomorrow is always later than now")


def last_occurrence(now: datetime, *, zone: tzinfo | None, at: time = MIDNIGHT) -> datetime:
    """The last time that the clocks of a zone showed `at`, at or before `now`."""
    found = next_occurrence(now.astimezone(UTC) - timedelta(days=2), zone=zone, at=at)
    while (later := next_occurrence(found, zone=zone, at=at)).timestamp() <= now.timestamp():
        found = later
    return found


def backoff_s(failures: int) -> float:
    """How long to wait after so many failures in a row: a minute, doubling, at most an hour."""
    if failures <= 0:
        return 0.0
    return min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2.0 ** min(failures - 1, DOUBLINGS_MAX))


class MaintenanceSchedule:
    """Says whether maintenance is due; a thread or a loop asks it from time to time.

    `last_at` is when it was last done. Missed while nothing was running, it is due at once.
    """

    def __init__(
        self,
        now: datetime,
        *,
        zone: tzinfo | None,
        at: time = MIDNIGHT,
        last_at: float | None = None,
    ) -> None:
        self._zone, self._at = zone, at
        self._failures = 0
        self.due_at = next_occurrence(now, zone=zone, at=at)
        if last_at is not None and last_at < last_occurrence(now, zone=zone, at=at).timestamp():
            self.due_at = now

    def is_due(self, now: datetime) -> bool:
        """Whether it is time. A clock that was set back by days does not postpone it by days."""
        if self.due_at.timestamp() - now.timestamp() > AHEAD_S_MAX:
            self.due_at = next_occurrence(now, zone=self._zone, at=self._at)
        return now.timestamp() >= self.due_at.timestamp()

    def is_backing_off(self, now: datetime) -> bool:
        """Whether it failed and the pause after that is not over."""
        return self._failures > 0 and not self.is_due(now)

    def succeeded(self, now: datetime) -> None:
        """It is due again at the next daily time."""
        self._failures = 0
        self.due_at = next_occurrence(now, zone=self._zone, at=self._at)

    def failed(self, now: datetime) -> None:
        """It is due again after a pause that grows."""
        self._failures += 1
        self.due_at = now + timedelta(seconds=backoff_s(self._failures))
