"""How many jobs a worker takes ahead of those that it runs.

Where jobs are quick, a child that has to wait for the coordinator after each of them does little else than wait; where
they are slow, a job that waits here could be done by somebody else. So a worker takes ahead what it can do in a tenth
of a second, and gives back what it could not begin within a second.
"""

AHEAD_S = 0.1
AHEAD_MAX = 16
WAIT_S_MAX = 1.0
SHARE = 0.2  # of the newest job in the mean of the last few


class Prefetch:
    """What is known of the time that jobs take here."""

    def __init__(self, at_least: int = 0) -> None:
        self._at_least = at_least
        self._mean_s: float | None = None

    def note(self, seconds: float) -> None:
        """A job took that long."""
        mean = seconds if self._mean_s is None else self._mean_s
        self._mean_s = mean + SHARE * (seconds - mean)

    def fall_behind(self, seconds: float) -> None:
        """Jobs take that long by now, and are not over: what was learned before does not count."""
        self._mean_s = max(seconds, self._mean_s or 0.0)

    @property
    def jobs(self) -> int:
        """How many a process takes ahead of the one it runs."""
        if self._mean_s is None:
            return self._at_least
        quick = AHEAD_MAX if self._mean_s * AHEAD_MAX <= AHEAD_S else int(AHEAD_S / self._mean_s)
        return max(self._at_least, quick)
