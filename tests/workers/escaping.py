"""Runners that try to get out of their sandbox. Children of the tests load this file."""

import ctypes
import os
import resource
import signal
import socket
from pathlib import Path
from typing import Any

from stateward.workers.sdk import Job, runner


@runner("bad.write_outside")
def write_outside(job: Job) -> dict[str, Any]:
    """Every way to change a file that is not ours; the ones that worked."""
    there = Path(str(job.labels["folder"]))
    victim = there / "victim"
    ways = {
        "create": lambda: (there / "new").write_text("x"),
        "overwrite": lambda: victim.write_text("x"),
        "append": lambda: victim.open("a").write("x"),
        "truncate": lambda: os.truncate(victim, 0),
        "unlink": victim.unlink,
        "rename": lambda: victim.rename(there / "renamed"),
        "take": lambda: victim.rename(job.scratch / "taken"),
        "folder": (there / "sub").mkdir,
        "link": lambda: (there / "link").symlink_to("/etc/passwd"),
        "through a link": lambda: _through_a_link(job.scratch, there),
    }
    return {"worked": _tried(ways)}


@runner("bad.network")
def network(job: Job) -> dict[str, Any]:
    port = int(str(job.labels["port"]))
    ways = {
        "tcp": lambda: socket.create_connection(("127.0.0.1", port), timeout=2),
        "udp": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        "local": lambda: socket.socket(socket.AF_UNIX),
        "listen": lambda: socket.create_server(("127.0.0.1", 0)),
        "name": lambda: socket.getaddrinfo("localhost.example", 80),
    }
    pair = socket.socketpair()
    return {"worked": _tried(ways), "pair": len(pair)}


@runner("bad.connect")
def connect(job: Job) -> None:
    socket.create_connection(("127.0.0.1", 9), timeout=2)


@runner("bad.spy")
def spy(job: Job) -> dict[str, Any]:
    """Look into, and signal, the processes above; the ways that worked."""
    worker = int(str(job.labels["worker"]))
    ways = {
        "environment of the worker": lambda: Path(f"/proc/{worker}/environ").read_bytes(),
        "memory of the worker": lambda: Path(f"/proc/{worker}/mem").open("rb").close(),
        "environment of the supervisor": lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes(),
        "signal to the worker": lambda: os.kill(worker, 0),
        "signal to the supervisor": lambda: os.kill(os.getppid(), signal.SIGSTOP),
        "trace": _trace,
    }
    return {"worked": _tried(ways)}


@runner("bad.become_root")
def become_root(job: Job) -> dict[str, Any]:
    ways = {
        "file of another": lambda: os.chown(job.scratch, 12345, 12345),
        "another user": lambda: os.setuid(12345),
        "raise a limit": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1)),
        "mount": _mount,
    }
    return {"worked": _tried(ways)}


def _through_a_link(scratch: Path, there: Path) -> None:
    (scratch / "api").symlink_to(there)
    (scratch / "api" / "new").write_text("x")


def _trace() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(16, os.getppid(), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def _mount() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"none", b"/mnt", b"tmpfs", 0, None) != 0:
        raise OSError(ctypes.get_errno(), "mount")


def _tried(ways: dict[str, Any]) -> list[str]:
    worked = []
    for name, way in ways.items():
        try:
            way()
        except (OSError, ValueError):
            continue
        worked.append(name)
    return worked
