"""Real processes to hurt: `python -m stateward coordinator | worker | up`, each with its own settings file and log.

A member of a fleet can be killed, stopped, woken, started again, given a host name of its own (as if it ran on
another machine) and a clock that can be set while it runs. A fleet ends only the processes that it started.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

READY_S_MAX = 30.0
END_S_MAX = 20.0
POLL_S = 0.02
READY = "stateward: "
BAD_WORDS = ("Traceback (most recent call last)", "a bug in Stateward")
LOG_TAIL_CHARS = 400
NOTHING: Mapping[str, object] = {}
FAKETIME = "faketime/libfaketime.so.1"
OWN_HOST = 'echo "$0" > /proc/sys/kernel/hostname && exec "$@"'


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """What all processes of a fleet share."""

    folder: Path
    lease_s: float
    heartbeat_s: float
    is_apart: bool = False
    """Whether each process has a data folder of its own, as on machines that share nothing but the store."""

    @property
    def data(self) -> Path:
        """The data folder that they share, which has the store if that is SQLite."""
        return self.folder / "data"

    def settings(self, name: str, url: str, more: Mapping[str, object] = NOTHING) -> Path:
        """A settings file for one process: the same store by its own way, and whatever else it reaches its own way."""
        path = self.folder / f"{name}.yaml"
        text = {
            "data": str(self.folder / name if self.is_apart else self.data),
            "store": {"url": url},
            "pipelines": ["lab.chaos.load"],
            "api": {"port": 0},  # of those that have one; several may run side by side
            "worker": {
                "heartbeat_seconds": self.heartbeat_s,
                "lease_seconds": self.lease_s,
                "deliveries_max": 50,
                "processes": 2,
            },
            **more,
        }
        path.write_bytes(msgspec.json.encode(text))  # JSON is YAML
        return path


class Member:
    """One process in one role, through all of its lives."""

    def __init__(
        self,
        place: Place,
        role: str,
        name: str,
        *,
        url: str,
        host: str = "",
        is_jumpy: bool = False,
        more: Mapping[str, object] = NOTHING,
    ) -> None:
        self.role = role
        self.name = name
        self.exits: list[int] = []
        self._config = place.settings(name, url, more)
        self._log = place.folder / f"{name}.log"
        self._host = host
        self._clock_file = place.folder / f"{name}.clock" if is_jumpy else None
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    # Life

    def start(self) -> None:
        """A new process; `wait_until_ready` says when it works."""
        self._log.touch()
        self._log_start = self._log.stat().st_size
        if self._clock_file is not None:
            self._clock_file.write_text("+0")
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **self._environment()},
                start_new_session=True,  # Ctrl-C is for the driver, which ends them in its own time
            )

    def _command(self) -> list[str]:
        module = "stateward" if self._clock_file is None else "lab.chaos.jumping"
        command = [sys.executable, "-m", module, "--config", str(self._config), self.role]
        wrap = ["unshare", "--uts", "/bin/sh", "-c", OWN_HOST, self._host] if self._host else []
        return [*wrap, *command]

    def _environment(self) -> dict[str, str]:
        return {} if self._clock_file is None else clock_environment(self._clock_file)

    def wait_until_ready(self) -> None:
        """Sleep until it has said that it works."""
        until(
            lambda: READY in self.words(),
            s_max=READY_S_MAX,
            what=f"{self.name} to be ready",
            of=self,
        )

    @property
    def pid(self) -> int:
        """The process id of its present life."""
        assert self._process is not None
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it lives (stopped counts)."""
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """Kill -9."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """SIGSTOP; returns when the kernel has stopped it."""
        os.kill(self.pid, signal.SIGSTOP)
        until(lambda: _state(self.pid) in "Tt", s_max=END_S_MAX, what=f"{self.name} to stop")

    def wake(self) -> None:
        """SIGCONT."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGCONT)

    def end(self) -> int | None:
        """SIGTERM, and its exit code; None if it had to be killed."""
        if self._process is None:
            return 0
        self.wake()
        self._process.terminate()
        try:
            return self._process.wait(END_S_MAX)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    # What it says, and what it is told

    def words(self) -> str:
        """Its log of this life."""
        with self._log.open("rb") as log:
            log.seek(self._log_start)
            return log.read().decode(errors="replace")

    def bad_words(self) -> Iterator[str]:
        """What no log may hold, from all of its lives."""
        for line in self._log.read_text(errors="replace").splitlines():
            if any(words in line for words in BAD_WORDS):
                yield f"{self.name} says: {line}"

    def set_clock(self, offset: str) -> None:
        """Set its wall clock: `+25h`, `-1h`, `+0`."""
        assert self._clock_file is not None
        self._clock_file.write_text(offset)


class Fleet:
    """The processes of one round."""

    def __init__(self, members: Iterable[Member]) -> None:
        self.members = list(members)

    def of(self, role: str) -> list[Member]:
        """Those that have a role."""
        return [member for member in self.members if member.role == role]

    @contextmanager
    def running(self) -> Iterator[None]:
        """All of them started and ready; at the end whatever still lives is killed."""
        try:
            for member in self.members:
                member.start()
            for member in self.members:
                member.wait_until_ready()
            yield
        finally:
            for member in self.members:
                if member.is_running:
                    member.kill()

    def dead(self) -> Iterator[str]:
        """Who does not run any more, with its last words."""
        for member in self.members:
            if not member.is_running:
                yield f"{member.name} has ended: {member.words()[-LOG_TAIL_CHARS:].strip()}"

    def end(self) -> Iterator[str]:
        """Ask all to end; what is wrong with how they did."""
        for member in self.members:
            if member.is_running:
                member.wait_until_ready()  # one that was just started would not hear it yet
            code = member.end()
            if code != 0:
                yield f"{member.name} ended with {code}: {member.words()[-LOG_TAIL_CHARS:].strip()}"

    def bad_words(self) -> Iterator[str]:
        """What no log may hold."""
        for member in self.members:
            yield from member.bad_words()


def until(is_so: Callable[[], bool], *, s_max: float, what: str, of: Member | None = None) -> float:
    """Sleep until something is so; how long it took. If it never is, or its process ends, TimeoutError."""
    start = time.monotonic()
    while not is_so():
        passed = time.monotonic() - start
        if passed > s_max or (of is not None and not of.is_running):
            words = "" if of is None else f": {of.words()[-LOG_TAIL_CHARS:].strip()}"
            raise TimeoutError(f"waited {passed:.1f} s for {what}{words}")
        time.sleep(POLL_S)
    return time.monotonic() - start


def clock_environment(file: Path) -> dict[str, str]:
    """Variables that make a process read its wall clock through a file; `jumping` does the rest."""
    library = faketime_library()
    if library is None:
        return {"CHAOS_CLOCK_FILE": str(file)}
    return {
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


def faketime_library() -> Path | None:
    """libfaketime, where the package `faketime` puts it."""
    return next(iter(sorted(Path("/usr/lib").glob(f"*/{FAKETIME}"))), None)


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
