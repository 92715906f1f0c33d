"""Runners that want documents, keys and programs that are not theirs. Children of the tests load this file."""

import contextlib
import ctypes
import mmap
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stateward.workers.sdk import Job, runner


@runner("pry.read")
def read(job: Job) -> dict[str, Any]:
    """Every way to the bytes of a file that is not ours; the ones that worked."""
    worker = str(job.labels["worker"])
    worked = []
    for text in list(job.labels["files"]):  # type: ignore[arg-type]
        path = Path(str(text))
        worked += [f"{name} {path.name}" for name in _worked(_ways_to_read(path, job, worker))]
    return {"worked": worked, "own": job.path.read_text() if job.path else ""}


def _ways_to_read(path: Path, job: Job, worker: str) -> dict[str, Callable[[], object]]:
    return {
        "open": path.read_bytes,
        "list": lambda: list(path.parent.iterdir()),
        "by a link": lambda: _by_link(job.scratch / "link", path),
        "by a hard link": lambda: _by_hard_link(job.scratch / "hard", path),
        "by the root": lambda: Path(f"/proc/self/root{path}").read_bytes(),
        "by the worker": lambda: Path(f"/proc/{worker}/root{path}").read_bytes(),
        "by the parent": lambda: Path(f"/proc/{os.getppid()}/cwd/{path}").read_bytes(),
        "by a handle": lambda: _by_handle(path),
        "by a copy": lambda: shutil.copy(path, job.scratch / "copy"),
    }


@runner("pry.other")
def read_other(job: Job) -> None:
    """One file that is not ours, by somebody who did not know."""
    Path(str(job.labels["file"])).read_bytes()


@runner("pry.change")
def change(job: Job) -> dict[str, Any]:
    """Every way to change a file that is not ours, and our own document. The test looks at the files."""
    assert job.path is not None
    for target in (Path(str(job.labels["file"])), job.path):
        _worked(_ways_to_change(target))
    return {"user": os.getuid()}


def _ways_to_change(target: Path) -> dict[str, Callable[[], object]]:
    return {
        "mode": lambda: target.chmod(0o777),
        "mode by descriptor": lambda: _by_descriptor(target),
        "owner": lambda: os.chown(target, 12345, 12345),
        "times": lambda: os.utime(target, (1, 1)),
        "attribute": lambda: os.setxattr(target, "user.x", b"x"),
        "write": lambda: target.write_bytes(b"changed"),
        "cut": lambda: os.truncate(target, 0),
        "remove": target.unlink,
    }


@runner("pry.execute")
def execute(job: Job) -> dict[str, Any]:
    """Every way to start a program; the ones that worked."""
    program = str(job.labels["program"])
    ways: dict[str, Callable[[], object]] = {
        "run": lambda: subprocess.run([program], check=True, capture_output=True),
        "shell": lambda: subprocess.run(["/bin/sh", "-c", "true"], check=True, capture_output=True),
        "own copy": lambda: _own_copy(job.scratch, program),
        "from memory": lambda: _from_memory(program),
    }
    return {"worked": _worked(ways)}


@runner("pry.copy")
def copy(job: Job) -> dict[str, Any]:
    """What honest runners do with their document."""
    assert job.path is not None
    copied = shutil.copy2(job.path, job.scratch / "copy.txt")
    return {"text": Path(copied).read_text()}


@runner("pry.fill")
def fill(job: Job) -> None:
    """Fill the disk: with named files, with small ones, with one that has no name, with one that is only mapped."""
    way = job.labels["way"]
    piece = bytes(1024 * 1024)
    for number in range(10_000):
        with (job.scratch / f"{number}").open("w+b") as file:
            if way == "small":
                continue
            file.write(piece)
            if way == "unnamed":
                (job.scratch / f"{number}").unlink()
                file.flush()
                _KEPT.append(os.dup(file.fileno()))
            if way == "mapped":
                (job.scratch / f"{number}").unlink()
                file.flush()
                _KEPT.append(mmap.mmap(file.fileno(), len(piece), mmap.MAP_SHARED))
        if number == 40 and way != "small":
            break
    time.sleep(60)


_KEPT: list[object] = []


def _by_link(link: Path, path: Path) -> bytes:
    link.unlink(missing_ok=True)
    link.symlink_to(path)
    return link.read_bytes()


def _by_hard_link(link: Path, path: Path) -> bytes:
    link.unlink(missing_ok=True)
    link.hardlink_to(path)
    return link.read_bytes()


def _by_handle(path: Path) -> bytes:
    """open_by_handle_at, with which a process that may read every file gets around the folders above it."""
    libc = ctypes.CDLL(None, use_errno=True)
    handle = ctypes.create_string_buffer(8 + 128)
    ctypes.cast(handle, ctypes.POINTER(ctypes.c_uint))[0] = 128
    mount = ctypes.c_int()
    if libc.name_to_handle_at(-100, bytes(path), handle, ctypes.byref(mount), 0) != 0:
        raise OSError(ctypes.get_errno(), "name_to_handle_at")
    fd = libc.open_by_handle_at(os.open(Path.cwd(), os.O_RDONLY), handle, os.O_RDONLY)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "open_by_handle_at")
    return os.read(fd, 10)


def _by_descriptor(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    os.fchmod(fd, 0o777)


def _own_copy(scratch: Path, program: str) -> None:
    copied = scratch / "program"
    fd = os.open(copied, os.O_CREAT | os.O_WRONLY, 0o700)
    with open(program, "rb") as source, os.fdopen(fd, "wb") as target:  # noqa: PTH123
        shutil.copyfileobj(source, target)
    subprocess.run([str(copied)], check=True, capture_output=True)


def _from_memory(program: str) -> None:
    fd = os.memfd_create("program")
    os.write(fd, Path(program).read_bytes())
    subprocess.run([f"/proc/self/fd/{fd}"], pass_fds=[fd], check=True, capture_output=True)


def _worked(ways: dict[str, Callable[[], object]]) -> list[str]:
    worked = []
    for name, way in ways.items():
        with contextlib.suppress(OSError, ValueError, subprocess.CalledProcessError):
            way()
            worked.append(name)
    return worked
