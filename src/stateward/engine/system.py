"""What a process reads from its operating system: the time, its user, and which other processes are alive.

Nothing here knows a record. Code that needs the time of day is given a clock, which `app` picks from here, so that
tests and the simulation can give it another.
"""

import fcntl
import hashlib
import os
import resource
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from stateward.core.model import PERSON, SECOND, Micros
from stateward.transport import WorkerInfo

# More than a service needs; where the hard limit is higher, as in a container, some programs look at every number.
OPEN_FILES_WANTED = 65_536
LOCK = ".lock"
_HELD: dict[Path, int] = {}
"""Locks of this process; the kernel gives them back when it ends."""
# What a data folder has in it.
OWN_NAMES = ("artifacts", "scratch", "stateward.db")

# One part in a thousand: over a stage of up to 80 minutes that is less than the 5 s by which the scheduler waits for
# the worker's own report of a timeout (docs/decisions/0011).
SLEW = 1000


def wall_clock() -> Micros:
    """The clock of this machine, in whole microseconds since 1970; it may be set while the process runs."""
    return time.time_ns() // 1000


def time_passed() -> Micros:
    """Microseconds since the machine was started; this clock cannot be set."""
    return time.clock_gettime_ns(_PASSING) // 1000


# BOOTTIME also counts the time that the machine is suspended, in which deadlines go on. Only Linux has it.
_PASSING: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class SteadyClock:
    """The time of day, on a clock that cannot be set: the wall clock at the start, plus the time that has passed since.

    Setting the wall clock while a process runs moves no deadline. Where the two differ, this clock runs a thousandth
    faster or slower until they agree, so it follows a clock that drifts and never jumps. See docs/decisions/0011.
    """

    def __init__(
        self,
        wall: Callable[[], Micros] = wall_clock,
        passed: Callable[[], Micros] = time_passed,
    ) -> None:
        self._wall = wall
        self._passed = passed
        # When the wall clock was last read, what this clock returned then, and how far off that was. One tuple,
        # replaced as a whole, so that threads never see half of an update: that takes the place of a lock.
        self._looked = (passed(), wall(), 0)

    def __call__(self) -> Micros:
        """Whole microseconds since 1970; never less than before."""
        passed = self._passed()
        looked_at, then, off = self._looked
        since = passed - looked_at
        slack = since // SLEW
        now = then + since + (off if -slack <= off <= slack else slack if off > 0 else -slack)
        # Not at every call: below a millisecond the slack above is rounded to 0, and the clock would never catch up.
        if since >= SECOND:
            self._looked = (passed, now, self._wall() - now)
        return now

    @property
    def off_s(self) -> float:
        """How far the wall clock is ahead of this one, in seconds."""
        return (self._wall() - self()) / SECOND


steady_clock = SteadyClock()


def person() -> str:
    """The actor of a command: the user who runs it."""
    import getpass

    try:
        return PERSON + getpass.getuser()
    except (KeyError, OSError):  # a container often runs under a uid that has no name
        return f"{PERSON}uid-{os.getuid()}"


def own_scratch(root: Path, *, life: str) -> Path:
    """The path of a scratch folder for this process; those of processes that are gone are removed.

    Its name is `<pid>-<life>-<place>`: a killed process cannot clean up, and the pid alone may have been given to
    another since, or to one of another container that has the same data folder. Of those elsewhere the pid tells
    nothing; they hold a lock.
    """
    place = _short(process_place())
    for folder in root.glob("*-*"):
        pid, its_life, *elsewhere = folder.name.split("-")
        if not pid.isdecimal():
            continue
        if not elsewhere or elsewhere == [place]:
            is_gone = process_life(int(pid)) != its_life
        else:
            is_gone = not _is_held(folder / LOCK)
        if is_gone:
            import shutil  # with four compression libraries, which few commands need

            shutil.rmtree(folder, ignore_errors=True)
    own = root / f"{os.getpid()}-{life}-{place}"
    _hold(own / LOCK)
    return own


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _hold(path: Path) -> None:
    """Lock a file until this process ends, however it ends, or its folder is removed."""
    while path not in _HELD or not _is_at(path, _HELD[path]):
        for folder in (path.parent.parent, path.parent):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if (former := _HELD.pop(path, None)) is not None:
            os.close(former)
        opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # a file system without locks: those elsewhere keep what they cannot judge
            os.close(opened)
            return
        _HELD[path] = (
            opened  # unless another process has removed it before it was locked: then again
        )


def _is_at(path: Path, opened: int) -> bool:
    try:
        return os.path.samestat(os.fstat(opened), path.stat())
    except FileNotFoundError:
        return False


def _is_held(path: Path) -> bool:
    """Whether a process somewhere holds this lock, or that cannot be told."""
    try:
        with path.open("rb+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    return False


def host_name() -> str:
    """This machine since its last boot. A pid means something only within that: a reboot gives the same pids again."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{os.uname().nodename}/{boot}"
    return os.uname().nodename


def process_place() -> str:
    """Where a pid of this process means something: this machine, and in it the namespace of its container.

    Containers of one pod, or with the network of their machine, have one host name and pids of their own.
    """
    try:
        return f"{host_name()}/{Path('/proc/self/ns/pid').readlink()}"
    except OSError:  # not Linux
        return host_name()


def process_life(pid: int) -> str:
    """What distinguishes a process from a later one with the same pid: when it started. '' if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except OSError:
        return ""
    # The second field is the program's name in parentheses and may itself contain spaces and parentheses, so fields are
    # counted from the last one: 0 is the state, 19 the start time in ticks since boot. A zombie (Z) or dead (X) process
    # still has its pid, but does no work.
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in ("Z", "X") else fields[19]


def is_alive(worker: WorkerInfo) -> bool:
    """Whether a worker still runs, as far as this process can see.

    A dead process of this machine, or container, is found at once. Of a worker elsewhere only its lease tells, so it
    counts as alive, and so does one behind a transport.
    """
    return (
        bool(worker.via)
        or worker.host != process_place()
        or process_life(worker.pid) == worker.life
    )


def raise_open_files() -> int:
    """Raise the soft limit of open files as far as the hard one allows; what holds now.

    1,024 by default, which is from a time when `select` could take no more.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = OPEN_FILES_WANTED if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES_WANTED)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        return most
    return soft


def sync_folder(path: Path) -> None:
    """Make the entries of a folder durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_private(folder: Path) -> None:
    """Create the data folder, or close one of ours that others can look into: it holds documents and secrets.

    A folder that does not look like ours is left alone: who names /tmp as data folder must not close it to others. An
    empty one is about to be ours. What
    cannot be done here, such as on a disk that is read-only, is told by the database when it is opened.
    """
    with suppress(OSError):
        # Several processes may be the first.
        new = [each for each in (folder, *folder.parents) if not each.exists()]
        if new:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for (
            each
        ) in new:  # or a power cut may take the folder away, and with it what is durable inside
            sync_folder(each.parent)
        found = folder.stat()
        is_ours = any((folder / name).exists() for name in OWN_NAMES) or not any(folder.iterdir())
        is_shared = bool(found.st_mode & stat.S_ISVTX) or folder.resolve() == Path.home()
        if is_ours and not is_shared and os.geteuid() in (0, found.st_uid):
            if found.st_mode & 0o077:
                folder.chmod(0o700)
            for path in folder.glob("*.db*"):
                if path.is_file() and path.stat().st_mode & 0o077:
                    path.chmod(0o600)
