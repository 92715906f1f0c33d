"""The limits of a child process, which it sets for itself before and after it has imported foreign code."""

import contextlib
import faulthandler
import os
import resource
import signal
import sys
from pathlib import Path

from stateward.workers.confinement import PR_SET_NO_NEW_PRIVS, prctl
from stateward.workers.processes import tasks_of_user
from stateward.workers.results import Limits

STATM_BYTES = 256  # seven numbers
PAGE_BYTES = resource.getpagesize()
# RLIMIT_NPROC counts every task of the user, also those of other programs, so it is only a backstop
# with a wide margin. The worker counts what a job really started.
PROCESSES_SLACK = 16


def limit_process(limits: Limits) -> None:
    """What can be limited before foreign code is imported.

    Files that grow too large fail with EFBIG, since Python ignores SIGXFSZ: the runner can say so itself.
    """
    # The kernel demands it of unprivileged users of Landlock and seccomp; programs with set-user-id gain nothing.
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    tasks = sum(tasks_of_user(os.getuid())) + PROCESSES_SLACK * limits.processes_max
    for kind, most in (
        (resource.RLIMIT_CORE, 0),  # a core file would leave the document on the disk
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_NPROC, tasks),
    ):
        _limit(kind, most)
    # 1000 is the most: when the machine runs out of memory, this process is killed before the worker.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def limit_memory(memory_bytes: int, space: "AddressSpace") -> None:
    """Bound what jobs may add to the address space, whatever the imports already take of it.

    The address space, because Linux does not enforce RLIMIT_RSS; an allocation too many is a
    MemoryError that the runner's log can explain, not a kill.
    """
    _limit(resource.RLIMIT_AS, space.bytes() + memory_bytes)


class AddressSpace:
    """How much address space this process has taken.

    It is asked after every job, so its file stays open: to open it takes as long as a quick job. A runner that closes
    descriptors which are not its own changes only when this process is replaced.
    """

    def __init__(self) -> None:
        self._fd = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)

    def bytes(self) -> int:
        try:
            data = os.pread(self._fd, STATM_BYTES, 0)
        except OSError:
            self._fd = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
            data = os.pread(self._fd, STATM_BYTES, 0)
        pages, _, _ = data.partition(b" ")
        return int(pages) * PAGE_BYTES if pages.isdigit() else 0


def watch_process() -> None:
    """Have a crash, an endless loop and a hang leave their stack in the log; output is flushed by the line.

    Handlers of faulthandler are written in C: they work while the interpreter itself is stuck.
    """
    faulthandler.enable()
    # Chained to the default action, which kills: the worker reads SIGXCPU from the wait status.
    faulthandler.register(signal.SIGXCPU, all_threads=False, chain=True)
    # Not chained: the default action of the alarm would kill a job that still has time left.
    faulthandler.register(signal.SIGALRM, all_threads=True, chain=False)
    # A lone surrogate in what a runner prints must not fail its job.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace", line_buffering=True)  # type: ignore[union-attr]


def _limit(kind: int, most: int) -> None:
    """Soft and hard, so that it cannot be raised again; never above what already holds."""
    hard = resource.getrlimit(kind)[1]
    bound = cap_limit(most, hard)
    resource.setrlimit(kind, (bound, bound))


def cap_limit(most: int, hard: int) -> int:
    """A limit that is not above the hard one."""
    return most if hard == resource.RLIM_INFINITY else min(most, hard)
