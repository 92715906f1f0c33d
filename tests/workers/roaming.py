"""Runners that try rare ways: system calls that few programs make, other families of sockets, folders that are shut.

Children of the tests load this file. The numbers of calls are those of x86-64.
"""

import contextlib
import ctypes
import fcntl
import os
import signal
import socket
import struct
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stateward.workers.sdk import Job, runner

_libc = ctypes.CDLL(None, use_errno=True)
_SPACE = ctypes.create_string_buffer(4096)
_KEEP_SESSION = -3
_CALLS: dict[str, tuple[object, ...]] = {
    "io_uring": (425, 4, _SPACE),
    "userfaultfd": (323, 0),
    "bpf": (321, 0, _SPACE, 64),
    "perf": (298, _SPACE, 0, -1, -1, 0),
    "key": (248, b"user", b"left", b"x", 1, _KEEP_SESSION),
    "request key": (249, b"user", b"left", None, _KEEP_SESSION),
    "fanotify": (300, 0, 0),
    "handle": (304, -100, _SPACE, 0),
    "unshare": (272, 0x10000000),
    "pivot": (155, b".", b"."),
    "swap": (167, b"/swap", 0),
    "module": (313, 0, b"", 0),
    "kexec": (246, 0, 0, None, 0),
    "clock": (227, 0, _SPACE),
    "quota": (179, 0, None, 0, None),
    "lock memory": (151, 1),
}
_FAMILIES = {
    "unix": (socket.AF_UNIX, socket.SOCK_STREAM),
    "internet": (socket.AF_INET, socket.SOCK_DGRAM),
    "internet 6": (socket.AF_INET6, socket.SOCK_STREAM),
    "netlink": (16, socket.SOCK_RAW),
    "packet": (17, socket.SOCK_RAW),
    "tipc": (30, socket.SOCK_STREAM),
    "algorithms": (38, socket.SOCK_SEQPACKET),
    "virtual machines": (40, socket.SOCK_STREAM),
}


@runner("roam.kernel")
def kernel(job: Job) -> dict[str, Any]:
    """Rare calls, also about the worker, and sockets of every family; the ways that worked."""
    worker = int(str(job.labels["worker"]))
    ways: dict[str, Callable[[], object]] = {
        "read memory": lambda: _call(310, worker, _SPACE, 1, _SPACE, 1, 0),
        "compare": lambda: _call(312, worker, os.getpid(), 0, 0, 0),
        "take a descriptor": lambda: _call(438, os.pidfd_open(os.getppid()), 0, 0),
        "signal": lambda: signal.pidfd_send_signal(os.pidfd_open(worker), 0),
        "move pages": lambda: _call(279, worker, 1, _SPACE, None, _SPACE, 0),
        "type on the terminal": lambda: fcntl.ioctl(0, termios.TIOCSTI, b"x"),
        "root": lambda: os.chroot(job.scratch),
        "host name": lambda: socket.sethostname("left"),
    }
    ways |= {name: lambda given=given: _call(*given) for name, given in _CALLS.items()}  # type: ignore[misc]
    ways |= {name: lambda given=given: socket.socket(*given) for name, given in _FAMILIES.items()}  # type: ignore[misc]
    return {"worked": _worked(ways)}


@runner("roam.files")
def files(job: Job) -> dict[str, Any]:
    """Ways to the bytes of another document, to what the kernel tells of the worker, and out of the scratch folder."""
    worker, victim = Path(f"/proc/{job.labels['worker']}"), str(job.labels["file"])
    ways: dict[str, Callable[[], object]] = {
        "by its path alone": lambda: _reopen(os.open(victim, os.O_PATH)),
        "as a library": lambda: ctypes.CDLL(victim),
        "lock": lambda: fcntl.flock(os.open(victim, os.O_RDONLY), fcntl.LOCK_EX),
        "descriptors": lambda: list((worker / "fd").iterdir()),
        "arguments": (worker / "cmdline").read_bytes,
        "map": (worker / "maps").read_bytes,
        "other processes": lambda: list(Path("/proc").iterdir()),
        "first to be ended": lambda: (worker / "oom_score_adj").write_text("1000"),
        "temporary files": lambda: list(Path("/dev/shm").iterdir()),
        "terminal": lambda: os.open("/dev/tty", os.O_RDWR),
        "messages of the kernel": lambda: os.open("/dev/kmsg", os.O_RDONLY),
        "passwords": Path("/etc/shadow").read_bytes,
        "device": lambda: os.mknod(job.scratch / "null", 0o020666, os.makedev(1, 3)),
        "rename": lambda: job.scratch.rename(f"{job.scratch}-moved"),
        "loader": lambda: os.execv("/lib64/ld-linux-x86-64.so.2", ["ld", "/bin/true"]),  # noqa: S606
        "itself": lambda: os.execv("/proc/self/exe", ["python", "-c", "pass"]),  # noqa: S606
    }
    return {"worked": _worked(ways)}


@runner("roam.folders")
def folders(job: Job) -> dict[str, Any]:
    """Leave folders that only root could enter."""
    inside = job.scratch / "in"
    inside.mkdir()
    (inside / "kept").write_bytes(b"x" * 1000)
    os.umask(0o777)
    (inside / "shut").mkdir()
    (job.scratch / "shut").mkdir()
    inside.chmod(0)
    return {}


@runner("roam.attributes")
def attributes(job: Job) -> dict[str, Any]:
    """What can be set of a file that is neither its contents nor its mode, of another's and of our own document."""
    other, document = os.fsencode(str(job.labels["file"])), job.path
    assert document is not None
    reading = os.open(document, os.O_RDONLY)
    no_dump = struct.pack("=QIIII", 0x80, 0, 0, 0, 0)
    fsx_no_dump = struct.pack("=IIIII8x", 0x80, 0, 0, 0, 0)
    ways: dict[str, Callable[[], object]] = {
        "of another by path": lambda: _call(469, -100, other, no_dump, len(no_dump), 0),
        "by path": lambda: _call(469, -100, bytes(document), no_dump, len(no_dump), 0),
        "flags": lambda: fcntl.ioctl(reading, 0x40086602, struct.pack("=Q", 0x40)),
        "more flags": lambda: fcntl.ioctl(reading, 0x401C5820, fsx_no_dump),
        "version": lambda: fcntl.ioctl(reading, 0x40087602, struct.pack("=Q", 7)),
        "link without a name": lambda: _empty_link(other, job.scratch / "linked"),
    }
    fcntl.ioctl(os.pipe()[0], termios.FIONREAD, bytes(4))  # what reads and asks goes on
    return {"worked": _worked(ways)}


def _empty_link(other: bytes, link: Path) -> bytes:
    _call(265, os.open(other, os.O_PATH), b"", -100, bytes(link), 0x1000)
    return link.read_bytes()


def _reopen(descriptor: int) -> bytes:
    return Path(f"/proc/self/fd/{descriptor}").read_bytes()


def _call(number: object, *given: object) -> None:
    if _libc.syscall(number, *given) < 0:
        raise OSError(ctypes.get_errno(), "refused")


def _worked(ways: dict[str, Callable[[], object]]) -> list[str]:
    worked = []
    for name, way in ways.items():
        with contextlib.suppress(Exception):
            way()
            worked.append(name)
    return worked
