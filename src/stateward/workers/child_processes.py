"""The processes of one child, as the worker sees them: counted, ended, and what the end of the runner means."""

import contextlib
import os
import signal
from collections.abc import Iterable

from stateward.workers import child_protocol as protocol
from stateward.workers import processes
from stateward.workers.child_attempt import BROKE_PROTOCOL
from stateward.workers.results import Limits
from stateward.workers.spawning import Forked

RUNNER_DIED = "RUNNER_DIED"


class ChildProcesses:
    """The supervisor of a child, its runner, and what that starts."""

    def __init__(self, supervisor: Forked) -> None:
        self._supervisor = supervisor
        self._lone = processes.LoneRunner(supervisor.pid)
        self._tasks_before = 0  # processes and threads before the job; libraries keep some
        self._is_ended = False

    def below(self) -> list[int]:
        """All but the supervisor."""
        return processes.descendants(self._supervisor.pid)

    def count_between_jobs(self) -> int:
        """How many there are below the supervisor; notes their threads, which the next job does not count."""
        threads = self._lone.thread_count()
        if threads is not None:
            self._tasks_before = threads
            return 1
        tree = self.below()
        self._tasks_before = _tasks(tree)
        return len(tree)

    def tasks_of_job(self) -> int:
        """How many processes and threads the job has started."""
        return _tasks(self.below()) - self._tasks_before

    def end(self, *, is_orphaned: bool) -> None:
        """Kill the tree below the supervisor; the supervisor kills what escaped and then exits.

        The supervisor gets SIGTERM rather than SIGKILL: orphans are moved to it, so it must outlive them to find them
        all. Only once: after the supervisor was waited for, its pid may be that of an unrelated process. `is_orphaned`:
        it died without a report.
        """
        if self._is_ended:
            return
        self._is_ended = True
        pid = self._supervisor.pid
        processes.kill_descendants(pid)
        if is_orphaned:
            # It was killed: its orphans went to init, but those of its session are found.
            for each in processes.members_of(pid):
                _signal(each, signal.SIGKILL)
        elif not self._supervisor.has_ended:
            _signal(pid, signal.SIGTERM)
            # A runner may have stopped it; stopped, it takes no SIGTERM.
            _signal(pid, signal.SIGCONT)

    def close(self) -> None:
        """Look at them no more."""
        self._lone.close()


def cause_of_death(status: int, limits: Limits, *, is_loading: bool) -> tuple[str, str]:
    """The code and message of a runner that ended in the middle of its job, by its wait status.

    While it loads, every death is a fault of the pipelines: no document has been opened by then.
    """
    sign = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
    ended = f"exited with code {code}" if sign is None else f"was killed by {_signal_name(sign)}"
    if is_loading:
        return protocol.NOT_LOADED, f"the process {ended} while it loaded the pipelines"
    if sign == signal.SIGXCPU:
        limit = "" if limits.cpu_s is None else f" of {limits.cpu_s:g} s"
        return "CPU_LIMIT", f"the runner used up its processor time{limit} (worker.cpu_seconds)"
    if code == protocol.EXIT_MEMORY:
        limit = f"the limit is {limits.memory_bytes} bytes (worker.memory_bytes)"
        return "MEMORY_LIMIT", f"ran out of memory; {limit}"
    if code == protocol.EXIT_CHANNEL:
        return BROKE_PROTOCOL, "the runner broke the channel to its worker"
    if sign is None:
        return "RUNNER_EXITED", f"the runner's process {ended}; a runner returns or raises"
    hint = "; is the machine out of memory?" if sign == signal.SIGKILL else ""
    return RUNNER_DIED, f"the runner's process {ended}{hint}"


def _tasks(pids: Iterable[int]) -> int:
    """How many processes and threads these are together; a bomb of threads does the same harm."""
    return sum(map(processes.thread_count, pids))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _signal(pid: int, sign: signal.Signals) -> None:
    """Send a signal to a process that may be gone, or may have become another user's."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, sign)
