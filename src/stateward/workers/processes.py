"""The tree of processes below a supervisor: who is in it, and how all of it is ended."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

# Rounds over a tree that grows while it is killed. The supervisor starts over if they were not enough.
KILL_ROUNDS_MAX = 200
# Bounds a walk over a tree that grows as fast as it is walked.
PROCESSES_SEEN_MAX = 100_000
READ_BYTES = 4096  # more than nearly every file of /proc holds
# A folder has a link for its name, one for its `.`, and one for each folder in it: in /proc/<pid>/task, each thread.
FOLDER_LINKS = 2


def kill_descendants(root: int) -> int:
    """Kill all that a process started, and all that those started; how many there were.

    The kernel lets no process fork that has a signal pending, so what a round has killed adds nothing
    to the next; the last round is the one that finds no new process.
    """
    killed: set[int] = set()
    for _ in range(KILL_ROUNDS_MAX):
        fresh = [pid for pid in descendants(root) if pid not in killed]
        if not fresh:
            break
        for pid in fresh:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        killed.update(fresh)
    return len(killed)


def descendants(root: int) -> list[int]:
    """The processes below one, zombies among them."""
    children = children_of if _HAS_CHILDREN_FILES else _parents().__getitem__
    found: list[int] = []
    queue = [root]
    while queue and len(found) < PROCESSES_SEEN_MAX:
        below = children(queue.pop())
        found += below
        queue += below
    return found


def children_of(pid: int) -> list[int]:
    """The children of every thread of a process; none if there is no such process.

    The kernel promises a complete list only for processes that stand still, so `kill_descendants` asks again.
    """
    found: list[int] = []
    with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/task") as threads:
        for thread in threads:
            found += map(int, _content(f"{thread.path}/children").split())
    return found


class LoneRunner:
    """Tells whether a runner is still the only process below its supervisor, by files of /proc that stay open.

    It is asked after every job that ran alone: three system calls, where to walk over the tree takes fifteen. The
    files belong to these two processes, whatever gets their numbers later. A supervisor has one thread and runs no
    foreign code, so that its one list of children is complete.
    """

    def __init__(self, supervisor: int) -> None:
        self._supervisor = supervisor
        self._runner = b""
        self._fds: list[int] = []

    def thread_count(self) -> int | None:
        """How many threads the runner has; None if it may not be alone, and the whole tree must be looked at."""
        if not self._fds and not self._open():
            return None
        supervised, own, threads = self._fds
        try:
            is_alone = os.pread(supervised, READ_BYTES, 0).strip() == self._runner
            count = os.fstat(threads).st_nlink - FOLDER_LINKS
            # Each thread has children of its own: only those of the first one are listed here.
            is_alone = is_alone and count == 1 and not os.pread(own, READ_BYTES, 0)
        except OSError:  # one of them is gone
            return None
        return count if is_alone else None

    def _open(self) -> bool:
        found = children_of(self._supervisor) if _HAS_CHILDREN_FILES else []
        if len(found) != 1:
            return False
        (runner,) = found
        self._runner = b"%d" % runner
        paths = (_children_file(self._supervisor), _children_file(runner), f"/proc/{runner}/task")
        try:
            for path in paths:
                self._fds.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        except OSError:
            self.close()
            return False
        return True

    def close(self) -> None:
        while self._fds:
            os.close(self._fds.pop())


def thread_count(pid: int) -> int:
    """How many threads a process has; 0 if there is no such process."""
    # See proc(5): here 0 is the state, 1 the parent, 3 the session, 17 the threads.
    fields = _stat(pid)
    return int(fields[17]) if fields else 0


def members_of(session: int) -> list[int]:
    """The processes of a session, found among all processes: there is no index by session."""
    return [pid for pid in _all() if (fields := _stat(pid)) and int(fields[3]) == session]


def tasks_of_user(user: int) -> Iterator[int]:
    """The number of threads of each process of a user."""
    for pid in _all():
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}").stat().st_uid == user:
                yield thread_count(pid)


def _children_file(pid: int) -> str:
    """The children of the first thread of a process."""
    return f"/proc/{pid}/task/{pid}/children"


def _parents() -> "_Children":
    below = _Children()
    for pid in _all():
        if fields := _stat(pid):
            below.setdefault(int(fields[1]), []).append(pid)
    return below


class _Children(dict[int, list[int]]):
    """Children by parent. Unlike a defaultdict it stores nothing for a process that has none."""

    def __missing__(self, pid: int) -> list[int]:
        return []


def _all() -> list[int]:
    with os.scandir("/proc") as entries:
        return [int(entry.name) for entry in entries if entry.name.isdigit()]


def _stat(pid: int) -> list[bytes]:
    """The fields of /proc/<pid>/stat from the state on: the name before them may hold spaces and brackets."""
    try:
        return _content(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    except OSError:
        return []


def _content(path: str) -> bytes:
    """What a file of /proc holds. Bare calls: the tree of a child is looked at after every job that ran alone."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        pieces = [os.read(fd, READ_BYTES)]
        while len(pieces[-1]) == READ_BYTES:
            pieces.append(os.read(fd, READ_BYTES))
        return b"".join(pieces)
    finally:
        os.close(fd)


# Only in kernels built with CONFIG_PROC_CHILDREN. Without it every process must be read to find the children of one.
_HAS_CHILDREN_FILES = Path(f"/proc/self/task/{os.getpid()}/children").exists()
