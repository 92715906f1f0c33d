"""Runners that meddle with other processes, or hide what they took. Children of the tests load this file."""

import contextlib
import ctypes
import os
import resource
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stateward.workers.sdk import Job, runner

MIB = 1024 * 1024
CLONE_NEWUSER, SIGCHLD = 0x10000000, 17
CLONE, CLONE3 = {"x86_64": 56, "aarch64": 220}, 435
IPC_PRIVATE, IPC_CREAT = 0, 0o1000
IN_ALL_EVENTS = 0xFFF
_libc = ctypes.CDLL(None, use_errno=True)
_HELD: list[object] = []


@runner("meddle.processes")
def processes(job: Job) -> dict[str, Any]:
    """Every way to change how another process of the same user runs; the ones that the kernel refused are left out."""
    victim = int(str(job.labels["victim"]))
    ways: dict[str, Callable[[], object]] = {
        "limit": lambda: resource.prlimit(victim, resource.RLIMIT_CORE, (0, 0)),
        "look at a limit": lambda: resource.prlimit(victim, resource.RLIMIT_CPU),
        "namespace": _new_user,
    }
    pretended: dict[str, Callable[[], object]] = {  # the test looks at the victim
        "priority": lambda: os.setpriority(os.PRIO_PROCESS, victim, 19),
        "processors": lambda: os.sched_setaffinity(victim, {min(os.sched_getaffinity(0))}),
        "manner": lambda: os.sched_setscheduler(victim, os.SCHED_BATCH, os.sched_param(0)),
    }
    _worked(pretended)
    _libc.syscall(CLONE3, None, 0)
    new_call = ctypes.get_errno()
    resource.prlimit(0, resource.RLIMIT_CORE, (0, 0))
    return {"worked": _worked(ways), "new call": new_call}


@runner("meddle.kernel")
def kernel(job: Job) -> dict[str, Any]:
    """Every way to leave something in the kernel that outlives this process, or to hear what others do there."""
    watched = os.fsencode(str(job.labels["folder"]))
    ways: dict[str, Callable[[], object]] = {
        "shared memory": lambda: _check(_libc.shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0o600)),
        "semaphores": lambda: _check(_libc.semget(IPC_PRIVATE, 1, IPC_CREAT | 0o600)),
        "messages": lambda: _check(_libc.msgget(IPC_PRIVATE, IPC_CREAT | 0o600)),
        "named messages": lambda: _check(
            _libc.mq_open(b"/left", os.O_CREAT | os.O_RDWR, 0o600, None)
        ),
        "names of files": lambda: _check(
            _libc.inotify_add_watch(_check(_libc.inotify_init()), watched, IN_ALL_EVENTS)
        ),
        "log of the kernel": lambda: _check(_libc.klogctl(3, ctypes.create_string_buffer(64), 64)),
    }
    return {"worked": _worked(ways)}


@runner("meddle.fill")
def fill(job: Job) -> None:
    """Take memory or disk where no folder and no open file shows it."""
    piece = bytes(MIB)
    ours, theirs = socket.socketpair()
    _HELD.extend((ours, theirs))
    for number in range(40):
        if job.labels["way"] == "memory":
            held = os.memfd_create("held")
            os.write(held, piece)
        else:
            path = job.scratch / f"{number}"
            with path.open("w+b") as file:
                file.write(piece)
                file.flush()
                socket.send_fds(ours, [b"x"], [file.fileno()])
            path.unlink()
    time.sleep(60)


@runner("meddle.own")
def own(job: Job) -> dict[str, Any]:
    """Every way to write to our own document around the folder that it is read from, and what is inherited."""
    assert job.path is not None
    document, scratch = job.path, job.scratch
    reading = os.open(document, os.O_RDONLY)
    ways: dict[str, Callable[[], object]] = {
        "by its descriptor": lambda: os.open(f"/proc/self/fd/{reading}", os.O_WRONLY),
        "by a hard link": lambda: _write_by_link(document, scratch / "hard"),
        "by a descriptor's hard link": lambda: _write_by_link(
            Path(f"/proc/self/fd/{reading}"), scratch / "hard-2", follow=True
        ),
        "by moving it": lambda: document.rename(scratch / "moved"),
        "by a move in its place": lambda: _move_in(scratch / "other", document),
        "beside it": lambda: (document.parent / "new").write_bytes(b"changed"),
    }
    worked = _worked(ways)
    return {"worked": worked, "open": _open_files(reading), "environment": sorted(os.environ)}


@runner("meddle.pool")
def pool(job: Job) -> None:
    """What somebody writes who wants all cores."""
    import multiprocessing

    with multiprocessing.Pool(2) as workers:
        workers.map(abs, [1, 2])


@runner("meddle.tool")
def tool(job: Job) -> None:
    """What somebody writes who wants a program."""
    import subprocess

    subprocess.run(["/bin/true"], check=True)


def _open_files(own_fd: int) -> list[str]:
    """What this process has open, but for pipes and sockets, which have no name."""
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            target = str(entry.readlink())
            if target.startswith("/") and int(entry.name) != own_fd:
                found.append(target)
    return sorted(found)


def _write_by_link(document: Path, link: Path, *, follow: bool = False) -> None:
    os.link(document, link, follow_symlinks=follow)
    link.write_bytes(b"changed")


def _move_in(other: Path, document: Path) -> None:
    other.write_bytes(b"changed")
    other.rename(document)


def _new_user() -> None:
    number = CLONE[os.uname().machine]
    pid = _check(_libc.syscall(number, CLONE_NEWUSER | SIGCHLD, None, None, None, None))
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _check(answer: int) -> int:
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer


def _worked(ways: dict[str, Callable[[], object]]) -> list[str]:
    worked = []
    for name, way in ways.items():
        with contextlib.suppress(OSError, ValueError):
            way()
            worked.append(name)
    return worked
