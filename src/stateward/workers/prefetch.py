"""How many jobs a worker takes ahead of those that it runs.

Where jobs are quick, a child that needs a dispatch after each of them mostly waits for the coordinator; where they
are slow, a job that waits here could run on an idle worker, and its record already counts as running. So a worker
takes ahead what it can do in a tenth of a second, and returns what it could not start within a second.
See docs/decisions/0010.
"""

# Much longer than the few milliseconds that a dispatch takes, so that a child hardly waits for one.
AHEAD_S = 0.1
# Per process, however quick jobs are: if the worker is lost, all of them must be dispatched again. It is twice what a
# child is sent at once: while one half runs, one commit serves the results of the other half. A commit costs nearly the
# same for 50 results as for 250, so that fewer of them at a time would cost every record more.
AHEAD_MAX = 256
WAIT_S_MAX = 1.0  # ten times AHEAD_S: the estimate was wrong, not just imprecise
# The weight of the newest job in the exponential mean: one slow start (imports, cold caches) is forgotten after a
# few jobs, and a lasting change is learned as fast.
SHARE = 0.2


class Prefetch:
    """An estimate of how long jobs take on this worker, and how many to take ahead because of it.

    `at_least` is the setting `worker.prefetch`; what is measured only ever adds to it.
    """

    def __init__(self, at_least: int = 0) -> None:
        self._at_least = at_least
        self._mean_s: float | None = None

    def note(self, seconds: float) -> None:
        """Count a finished job. The first one is the mean: there is nothing to average it with."""
        mean = seconds if self._mean_s is None else self._mean_s
        self._mean_s = mean + SHARE * (seconds - mean)

    def fall_behind(self, seconds: float) -> None:
        """Count jobs that have run that long and still run.

        They replace the mean rather than enter it: a worker that waited for them to end would learn too late.
        """
        self._mean_s = max(seconds, self._mean_s or 0.0)

    @property
    def jobs(self) -> int:
        """How many jobs a process takes ahead of the one it runs."""
        if self._mean_s is None:
            return self._at_least
        # Compared by product first: a mean of zero must not be divided by.
        quick = AHEAD_MAX if self._mean_s * AHEAD_MAX <= AHEAD_S else int(AHEAD_S / self._mean_s)
        return max(self._at_least, quick)


def is_to_announce(slots: int, announced: int) -> bool:
    """Whether a number of slots differs enough from the one that coordinators know: twice as many, or half.

    The mean time of jobs changes with every job, and each announcement is a write that wakes the coordinators. What
    is assigned too much meanwhile is a tenth of a second of work; it is returned if it waits for `WAIT_S_MAX`.
    """
    return slots != announced and (slots >= 2 * announced or 2 * slots <= announced)
