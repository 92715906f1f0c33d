"""Runners that do everything a runner must not do. Children of the tests load this file."""

import ctypes
import itertools
import json
import mmap
import os
import resource
import signal
import stat
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from stateward.core.errors import FatalFailure
from stateward.workers.sdk import Job, Outcome, runner

FOR_EVER_S = 3600
LAST_FD = 4096


@runner("good.echo")
def echo(job: Job) -> Iterator[dict[str, Any]]:
    """What a runner should be like."""
    job.log("reading", bytes=len(job.bytes()) if job.path else 0)
    yield {
        "record_id": job.record_id, "stage": job.stage, "attempt": job.attempt,
        "retry_count": job.retry_count, "labels": dict(job.labels),
        "text": job.text() if job.path else None, "pid": os.getpid(),
        "seconds": round(job.remaining_s or 0),
    }  # fmt: skip


@runner("good.keeps")
def keeps(job: Job) -> dict[str, Any]:
    """Loads something large and keeps it, as libraries do with their models."""
    _KEPT.append(bytearray(160 * 1024 * 1024))
    return {"pid": os.getpid()}


_KEPT: list[bytearray] = []


@runner("good.modules")
def modules(job: Job) -> Iterator[dict[str, Any]]:
    """Which of the modules that its labels name are loaded in this process."""
    yield {name: name in sys.modules for name in job.labels}


@runner("good.nothing")
def nothing(job: Job) -> None:
    pass


@runner("good.copy")
def copy(job: Job) -> Iterator[dict[str, Any]]:
    yield from job.items()


@runner("good.scratch")
def scratch(job: Job) -> dict[str, Any]:
    (job.scratch / "deep" / "er").mkdir(parents=True)
    (job.scratch / "deep" / "er" / "file").write_text("x")
    Path("here").write_text("the working folder is the scratch folder")
    done = subprocess.run(["/bin/echo", "from a program"], check=True, stdout=subprocess.DEVNULL)
    return {"found": _names(job.scratch), "code": done.returncode}


@runner("good.pay_once")
def pay_once(job: Job) -> dict[str, Any]:
    """Ask for something dear, save the answer, and die the first time."""
    answer = job.load("answer")
    if answer is None:
        job.save("answer", b"paid by " + str(job.attempt).encode() + b"\x00\xff")
        job.save("answer", b"what was kept first stays")
        os.kill(os.getpid(), signal.SIGKILL)
    return {"answer": (answer or b"").hex(), "other": job.load("other")}


@runner("bad.save_too_much")
def save_too_much(job: Job) -> None:
    channel, message = _channel(), {"type": "save", "number": 0, "name": "x" * 500, "data": ""}
    payload = json.dumps(message).encode()
    os.write(channel, len(payload).to_bytes(4, "big") + payload)
    time.sleep(FOR_EVER_S)


@runner("good.look")
def look(job: Job) -> dict[str, Any]:
    """What a job can see of the world around it."""
    limits = {name: resource.getrlimit(getattr(resource, name)) for name in (
        "RLIMIT_CORE", "RLIMIT_FSIZE", "RLIMIT_NOFILE",
    )}  # fmt: skip
    status = dict(
        line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines()
    )
    return {
        "environment": sorted(os.environ), "folder": str(Path.cwd()), "scratch": str(job.scratch),
        "found": _names(job.scratch), "limits": limits, "status": status,
        "umask": os.umask(0o077), "session": os.getsid(0), "stdin": sys.stdin.read(),
        "fds": _names(Path("/proc/self/fd")),
    }  # fmt: skip


@runner("bad.garbage")
def garbage(job: Job) -> dict[str, Any]:
    os.write(1, bytes(range(256)) * 10 + b"\n\x00\x1b[2J\xff\xfe no end of line")
    os.write(2, b"\nto the other one\n")
    print("\ud800 printed")  # noqa: T201
    return {"ok": True}


@runner("bad.flood")
def flood(job: Job) -> dict[str, Any]:
    block = os.urandom(1_000_000)
    for _ in range(100):
        view = memoryview(block)
        while view:
            view = view[os.write(1, view) :]
    job.log("said after the flood")
    return {"ok": True}


@runner("bad.log")
def endless_log(job: Job) -> dict[str, Any]:
    for number in range(20_000):
        job.log("x" * 200, number=number, odd={1, 2}, at="mine", bad="\ud800\x00", level="info")
    return {"ok": True}


@runner("bad.fork_both_return")
def fork_both_return(job: Job) -> dict[str, Any]:
    os.fork()
    return {"ok": True}


@runner("bad.fork")
def fork(job: Job) -> dict[str, Any]:
    pid = os.fork()
    if pid == 0:
        time.sleep(FOR_EVER_S)
    return {"pid": pid}


@runner("bad.daemon")
def daemon(job: Job) -> dict[str, Any]:
    return {"pid": _daemon()}


@runner("bad.daemon_and_exit")
def daemon_and_exit(job: Job) -> None:
    os.write(1, f"pid {_daemon()}\n".encode())
    os._exit(0)


@runner("bad.daemon_and_sleep")
def daemon_and_sleep(job: Job) -> None:
    os.write(1, f"pid {_daemon()}\n".encode())
    time.sleep(FOR_EVER_S)


@runner("bad.zombies")
def zombies(job: Job) -> dict[str, Any]:
    for _ in range(5):
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # dead, and not reaped
    return {"ok": True}


@runner("bad.fork_bomb")
def fork_bomb(job: Job) -> None:
    for _ in range(8):
        os.fork()
    time.sleep(FOR_EVER_S)


@runner("bad.rabbit")
def rabbit(job: Job) -> dict[str, Any]:
    """A process that is never the same for long: each one makes the next and leaves."""
    if os.fork() == 0:
        os.setsid()
        while os.fork() == 0:
            pass
        os._exit(0)
    time.sleep(0.1)
    return {"ok": True}


@runner("bad.threads")
def threads(job: Job) -> None:
    for _ in range(40):
        threading.Thread(target=time.sleep, args=(FOR_EVER_S,), daemon=True).start()
    time.sleep(FOR_EVER_S)


@runner("bad.exit")
def leave(job: Job) -> None:
    sys.exit("goodbye")


@runner("bad.os_exit")
def leave_at_once(job: Job) -> None:
    os._exit(3)


@runner("bad.kill_self")
def kill_self(job: Job) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@runner("bad.kill_parents")
def kill_parents(job: Job) -> None:
    libc = ctypes.CDLL(None)
    libc.prctl(1, 0, 0, 0, 0)  # do not die with the supervisor
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(FOR_EVER_S)


@runner("bad.segfault")
def segfault(job: Job) -> None:
    ctypes.string_at(0)


@runner("bad.memory")
def memory(job: Job) -> None:
    blocks = [bytearray(10_000_000) for _ in itertools.count()]
    raise AssertionError(len(blocks))


@runner("bad.memory_crumbs")
def memory_crumbs(job: Job) -> None:
    crumbs = [[number, {number: str(number)}] for number in itertools.count()]
    raise AssertionError(len(crumbs))


@runner("bad.memory_map")
def memory_map(job: Job) -> None:
    mmap.mmap(-1, 2**40)


@runner("bad.spin")
def spin(job: Job) -> None:
    while True:
        pass


@runner("bad.spin_deaf")
def spin_deaf(job: Job) -> None:
    for sign in (signal.SIGXCPU, signal.SIGTERM, signal.SIGALRM, signal.SIGINT):
        signal.signal(sign, signal.SIG_IGN)
    while True:
        pass


@runner("bad.sleep")
def sleep_for_ever(job: Job) -> None:
    job.log("about to sleep")
    time.sleep(FOR_EVER_S)


@runner("bad.stop")
def stop(job: Job) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


@runner("bad.million")
def million(job: Job) -> Iterator[dict[str, Any]]:
    for number in range(1_000_000):
        yield {"number": number}


@runner("bad.endless")
def endless(job: Job) -> Iterator[dict[str, Any]]:
    for number in itertools.count():
        yield {"number": number, "text": "x" * 100_000}


@runner("bad.large")
def large(job: Job) -> dict[str, Any]:
    return {"text": "x" * 10_000_000}


@runner("bad.item")
def bad_item(job: Job) -> Iterator[object]:
    yield {"fine": 1}
    match job.labels["kind"]:
        case "object":
            yield {"rows": [{"amount": Decimal("1.5")}]}
        case "nan":
            yield {"amount": float("nan")}
        case "infinity":
            yield {"amounts": [1.0, float("-inf")]}
        case "key":
            yield {"by_line": {1: "one"}}
        case "list":
            yield [{"fine": 1}]
        case "text":
            yield "fine"
        case "deep":
            value: list[object] = []
            for _ in range(5000):
                value = [value]
            yield {"value": value}
        case "cycle":
            cycle: dict[str, object] = {}
            cycle["cycle"] = cycle
            yield cycle


@runner("bad.surrogates")
def surrogates(job: Job) -> Iterator[dict[str, Any]]:
    yield {"text": "a\ud800b", "key\udfff": [{"nul": "a\x00b"}]}
    yield {"text": "fine", "path": "C:\\u0000"}


@runner("bad.junk")
def junk(job: Job) -> None:
    for fd in range(LAST_FD):
        try:
            os.write(fd, bytes.fromhex(str(job.labels["bytes"])) * 10)
        except OSError:
            continue
    time.sleep(FOR_EVER_S)


@runner("bad.junk_in_the_log")
def junk_in_the_log(job: Job) -> None:
    """Write what is no line to every pipe but stdout and stderr: one of them takes log lines."""
    job.log("a line")
    for fd in range(3, LAST_FD):
        try:
            if stat.S_ISFIFO(os.fstat(fd).st_mode):
                os.write(fd, b"not a line")
        except OSError:
            continue


@runner("bad.forge")
def forge(job: Job) -> None:
    """Speak the protocol, but lie."""
    for text in job.labels["messages"]:  # type: ignore[union-attr]
        data = str(text).encode()
        os.write(_channel(), struct.pack(">I", len(data)) + data)
    time.sleep(FOR_EVER_S)


@runner("bad.half_a_message")
def half_a_message(job: Job) -> None:
    os.write(1, b"x" * 20_000 + b"\n")
    os.write(_channel(), b'\x00\x00\x00\x99{"type":"done"')
    os._exit(1)


@runner("bad.speak_later")
def speak_later(job: Job) -> dict[str, Any]:
    """Speak once the answer of this job was sent, which is when the main thread waits for the next one."""

    def speak() -> None:
        while not _waits_for_a_job():
            time.sleep(0.001)
        os.write(_channel(), b"\x00\x00\x00\x02{}")

    threading.Thread(target=speak, daemon=True).start()
    return {"ok": True}


def _waits_for_a_job() -> bool:
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None:
        if frame.f_code.co_qualname == "Permits.next":
            return True
        frame = frame.f_back
    return False


@runner("bad.close_channel")
def close_channel(job: Job) -> dict[str, Any]:
    os.close(_channel())
    return {"ok": True}


@runner("bad.close_all")
def close_all(job: Job) -> None:
    os.closerange(0, LAST_FD)
    time.sleep(FOR_EVER_S)


@runner("bad.close_output")
def close_output(job: Job) -> dict[str, Any]:
    sys.stdout.close()
    os.close(2)
    return {"ok": True}


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __repr__(self) -> str:
        raise RuntimeError("no text either")


@runner("bad.mute")
def mute(job: Job) -> None:
    raise Mute


@runner("bad.recursion")
def recursion(job: Job) -> None:
    recursion(job)


@runner("bad.chatty")
def chatty(job: Job) -> None:
    raise ValueError("\ud800\x00" + "x" * 1_000_000)


@runner("bad.fatal")
def fatal(job: Job) -> None:
    raise FatalFailure("page 3 is encrypted", code="ENCRYPTED")


@runner("bad.file")
def file(job: Job) -> None:
    with (job.scratch / "file").open("wb") as out:
        for _ in range(1000):
            out.write(bytes(1_000_000))


@runner("bad.many_files")
def many_files(job: Job) -> None:
    held = [(job.scratch / f"{number}").open("w") for number in range(100_000)]
    raise AssertionError(len(held))


@runner("bad.deep_folders")
def deep_folders(job: Job) -> dict[str, Any]:
    os.chdir(job.scratch)
    for _ in range(1200):
        Path("deep").mkdir()
        os.chdir("deep")
    os.chdir(job.scratch)
    (job.scratch / "locked").mkdir()
    (job.scratch / "locked" / "link").symlink_to(str(job.labels["folder"]))
    (job.scratch / "locked").chmod(0)
    return {"ok": True}


@runner("bad.outcome")
def outcome(job: Job) -> Outcome:
    return Outcome("done", facts={"confidence": float("nan")})


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _daemon() -> int:
    """A process that left its parent and its session, as daemons do; its pid."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(writer, str(os.getpid()).encode())
            time.sleep(FOR_EVER_S)
        os._exit(0)
    return int(os.read(reader, 20))


def _channel() -> int:
    """The descriptor of the socket to the worker."""
    for fd in range(3, LAST_FD):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                return fd
        except OSError:
            continue
    raise AssertionError("no channel")
