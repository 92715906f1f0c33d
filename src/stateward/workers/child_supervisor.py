"""The supervisor of a runner: a process that waits for its end, and leaves nothing of it behind.

    worker ── fork server ── supervisor ── runner ── whatever the runner starts
                                (forked once; the worker talks to the runner alone)

The supervisor does nothing but wait, and runs no foreign code. It is a subreaper: orphans of the
runner become its children, even those that left its session, so it can make sure that no process
outlives the runner. It kills them all, reports the runner's wait status to the worker, and removes
its folders. It ends when the runner does, on SIGTERM, or when the worker dies.
"""

import contextlib
import os
import signal
import struct
import time
from pathlib import Path
from typing import NoReturn

from stateward.workers.child_main import inputs_of, run
from stateward.workers.confinement import PR_SET_CHILD_SUBREAPER, die_with, prctl
from stateward.workers.job_files import empty_folder
from stateward.workers.processes import kill_descendants

KILL_PAUSE_S = 0.001  # a killed process needs a moment to become a zombie that can be waited for
# Blocked and taken with sigwait: no handler runs in between, and none that comes early is lost.
WATCHED = frozenset({signal.SIGCHLD, signal.SIGTERM})


def supervise_runner(
    channel_fd: int, permits_fd: int, lines_fd: int, *, status_fd: int, parent: int
) -> NoReturn:
    """Fork: this process becomes the supervisor, its child the runner.

    The order matters: the death of the parent, which dies with the worker, is watched from the first moment; signals
    are blocked before the fork, so that the death of a runner that fails at once is not missed.
    """
    die_with(parent, signal.SIGTERM)
    # What a runner writes comes from documents: other users of the machine must not read it.
    os.umask(0o077)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    supervisor = os.getpid()
    runner = os.fork()
    if runner == 0:
        # A runner must not report for its supervisor, nor keep the pipe from ending.
        os.close(status_fd)
        run(channel_fd, permits_fd, lines_fd, supervisor=supervisor)
    os.close(channel_fd)  # so that the channel ends when the runner's side of it does
    os.close(permits_fd)
    os.close(lines_fd)
    supervise(runner, status_fd)


def supervise(runner: int, status_fd: int) -> NoReturn:
    """Wait for the runner's end; kill all that it started, report its status, remove its scratch folder.

    In this order: when the worker reads the status, no process is left that could write.
    """
    scratch = Path.cwd()
    os.chdir("/")
    status: int | None = None
    while status is None:
        number = signal.sigwait(WATCHED)
        status = reap(runner)  # also of orphans, which come to this process and would stay zombies
        if number == signal.SIGTERM:
            break
    status = end_all(runner, status)
    with contextlib.suppress(OSError):  # the worker may have closed its end or be dead
        os.write(status_fd, struct.pack("i", status))
    os.close(status_fd)
    for folder in (inputs_of(scratch), scratch):
        with contextlib.suppress(OSError):
            # What stays is removed by the worker, or when one starts again.
            empty_folder(folder)
            folder.rmdir()
    os._exit(0)


def end_all(runner: int, status: int | None) -> int:
    """Kill and wait for every descendant; the wait status of the runner.

    Every orphan becomes a child of this process, so when no child is left, no descendant is.
    """
    while True:  # until the kernel says that there is no child
        kill_descendants(os.getpid())
        try:
            pid, ended = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            # As a wait status, the number of a signal means "killed by it".
            return signal.SIGKILL if status is None else status
        if pid == runner:
            status = ended
        if pid == 0:
            time.sleep(KILL_PAUSE_S)


def reap(runner: int) -> int | None:
    """Wait for all that have died; the wait status of the runner if it was among them.

    In a loop, because signals are not counted: one SIGCHLD may stand for several deaths.
    """
    found: int | None = None
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == runner:
                found = ended[1]
    return found
