"""Starting the process of a child, with pipes, folders and an environment of its own, and releasing it afterwards."""

import atexit
import contextlib
import errno
import fcntl
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from stateward.storage.pipe_wakeups import is_readable
from stateward.workers import child_main as inside
from stateward.workers import child_protocol as protocol
from stateward.workers import confinement, fork_server
from stateward.workers.confinement import Grants
from stateward.workers.job_files import empty_folder
from stateward.workers.results import (
    Limits,
)
from stateward.workers.wire import READ_BYTES, READS_MAX

MAIN = "__main__"
TYPED_MAIN = (
    "stages typed at a prompt or in a notebook cannot be imported by a child process; "
    'save them as a .py file and import it, or declare them with isolation="inline"'
)
# A fork takes milliseconds, and the start of the fork server before the first one a tenth of a second. The loop waits
# for it; a machine that needs longer than this is given up on for a while.
FORK_S_MAX = 30.0
# As much as those reads take, so that after a job's last message one drain finds all that it printed. 1 MiB is also
# the most that Linux grants a pipe of an unprivileged process by default.
PIPE_BYTES = READS_MAX * READ_BYTES


class Forked:
    """A supervisor that the fork server forked. It is a child of that one, so this process cannot wait for it.

    Its process id is its own until `has_ended` was true once: only then the fork server waits for it.
    """

    def __init__(self, pid: int, server: "ForkServer") -> None:
        self.pid = pid
        self._server = server
        self._fd: int | None = os.pidfd_open(pid)
        # Any thread reaps what any worker of the process has closed (`DYING`). A descriptor that two of them close may
        # be another one's the second time.
        self._lock = threading.Lock()

    @property
    def has_ended(self) -> bool:
        """Whether it is gone."""
        return self.wait(0.0)

    def wait(self, seconds: float) -> bool:
        """Wait for its end, not longer than this; whether it has ended. False while another thread waits."""
        if not self._lock.acquire(timeout=seconds):
            return False
        try:
            if self._fd is None:
                return True
            if not is_readable(self._fd, timeout_s=seconds):
                return False
            os.close(self._fd)
            self._fd = None
        finally:
            self._lock.release()
        self._server.release(self.pid)
        return True


class ForkServer:
    """The worker's side of its fork server, which dies with the thread that starts it.

    An interpreter is executed for it, not forked: a fork would carry the worker's memory, its database connection and
    its locks along. `-I` keeps out PYTHON* variables and the user's site-packages; `-X utf8` makes text UTF-8 although
    there is no LANG to say so. The environment is its own: the worker's may hold secrets.
    """

    def __init__(self) -> None:
        self._worker = os.getpid()
        with contextlib.ExitStack() as ours:
            self._control, control_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            ours.callback(self._control.close)
            with control_end:
                self._process = self._start(control_end.fileno())
            ours.pop_all()
        self._control.settimeout(FORK_S_MAX)
        _LIVING.add(self)

    def _start(self, control_fd: int) -> subprocess.Popen[bytes]:
        numbers = (str(control_fd), str(self._worker))
        path = json.dumps(_path())
        return subprocess.Popen(
            [sys.executable, "-I", "-X", "utf8", "-c", fork_server.BOOT, path, *numbers],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd="/",
            # glibc gives each thread an arena with 64 MiB of reserved address space unless their number is
            # bounded; RLIMIT_AS would count them as memory of the job. Several children share the cores: those of
            # NumPy would spend most of their time waiting for each other.
            env={"MALLOC_ARENA_MAX": "2", "OPENBLAS_NUM_THREADS": "1"},
            pass_fds=[control_fd],
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it can still fork."""
        return self._process.poll() is None

    def fork(self, request: fork_server.ForkRequest, fds: Sequence[int]) -> Forked:
        """A new supervisor, which has copies of these descriptors; `OSError` if there can be none."""
        socket.send_fds(self._control, [msgspec.json.encode(request)], fds)
        try:
            reply = self._control.recv(fork_server.REPLY.size)
        except TimeoutError:
            self.close()  # or its late answer would be taken for that to another request
            raise
        if not reply:
            raise OSError(errno.ECHILD, "the process that forks children has ended")
        (pid,) = fork_server.REPLY.unpack(reply)
        if pid <= 0:
            raise OSError(-pid, os.strerror(-pid))
        return Forked(pid, self)

    def release(self, pid: int) -> None:
        """A supervisor has ended, and its process id is not used any more."""
        with contextlib.suppress(
            OSError
        ):  # it has ended itself, and another process waited for them
            self._control.send(msgspec.json.encode(fork_server.Release(pid=pid)))

    def close(self) -> None:
        """End it, and so whatever it forked and is still there. A fork of the worker leaves it to the worker."""
        self._control.close()
        if os.getpid() == self._worker:
            self._process.kill()
            self._process.wait()

    def __del__(self) -> None:
        if hasattr(self, "_process"):  # it was started
            self.close()


_LIVING: "weakref.WeakSet[ForkServer]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for server in list(_LIVING):
        server.close()


class _Servers(threading.local):
    """The fork server of each thread: children die with the thread that they were spawned by."""

    server: ForkServer | None = None


_SERVERS = _Servers()


def the_fork_server() -> ForkServer:
    """The fork server of this thread; a new one if there is none, or if it was killed."""
    server = _SERVERS.server
    if server is None or not server.is_alive:
        if server is not None:
            server.close()
        server = _SERVERS.server = ForkServer()
    return server


def reap_children() -> None:
    """Release closed children whose supervisor has exited, so that no zombies pile up. `spawn` calls this."""
    for each in list(DYING):
        process, scratch = each
        if not process.has_ended:
            continue
        try:
            DYING.remove(each)
        except ValueError:  # another thread was faster
            continue
        for folder in (inside.inputs_of(scratch), scratch):
            if folder.exists():  # the supervisor was killed before it could remove it
                with contextlib.suppress(OSError):
                    empty_folder(folder)
                    folder.rmdir()


# Children that were closed and not waited for yet. In the module, because a `Child` may be dropped before its
# supervisor has exited.
DYING: list[tuple[Forked, Path]] = []


class Spawned(NamedTuple):
    """A process that was just started, and the worker's ends of what connects the two."""

    process: Forked
    channel: socket.socket
    permits: tuple[int, int]
    lines_fd: int
    output_fd: int
    status_fd: int
    scratch: Path


def start_process(scratch_root: Path, grants: Grants, preload: Sequence[str] = ()) -> Spawned:
    """Start a process with a scratch folder of its own; if that fails, nothing is left open.

    The child's ends are closed here in either case: a copy that stayed open in the worker would keep
    a pipe from ever ending when the child dies.
    """
    scratch_root.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
        prefix = inside.SCRATCH_PREFIX
        scratch = Path(tempfile.mkdtemp(prefix=prefix, dir=scratch_root.absolute()))
        ours.callback(scratch.rmdir)
        inputs = inside.inputs_of(scratch)
        inputs.mkdir(mode=0o700)
        ours.callback(inputs.rmdir)
        channel, channel_end = socket.socketpair()
        ours.callback(channel.close)
        theirs.callback(channel_end.close)
        permits = _permits(ours)
        lines_fd, lines_end = _pipe(ours, theirs)
        os.set_blocking(lines_end, False)  # a runner whose lines find no space sends them
        output_fd, output_end = _pipe(ours, theirs)
        status_fd, status_end = _pipe(ours, theirs)
        channel.setblocking(False)
        # Refused when the user's pipes together exceed fs.pipe-user-pages-soft. A smaller pipe works too:
        # then a runner that prints much waits for the worker to read.
        with contextlib.suppress(OSError):
            fcntl.fcntl(output_fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        fds = (channel_end.fileno(), permits[0], lines_end, status_end, output_end)
        process = the_fork_server().fork(_request(scratch, grants, preload), fds)
        ours.pop_all()  # started: from here on `Child.close` closes the worker's ends
    return Spawned(process, channel, permits, lines_fd, output_fd, status_fd, scratch)


def _permits(ours: contextlib.ExitStack) -> tuple[int, int]:
    """The pipe of permits. The worker keeps both ends: it takes back what the child has not read."""
    reader, writer = os.pipe()
    ours.callback(os.close, reader)
    ours.callback(os.close, writer)
    os.set_blocking(reader, False)  # for both processes: they share what the descriptor stands for
    return reader, writer


def _pipe(ours: contextlib.ExitStack, theirs: contextlib.ExitStack) -> tuple[int, int]:
    """A pipe whose reading end stays in the worker and never blocks."""
    reader, writer = os.pipe()
    ours.callback(os.close, reader)
    theirs.callback(os.close, writer)
    os.set_blocking(reader, False)
    return reader, writer


def _request(scratch: Path, grants: Grants, preload: Sequence[str]) -> fork_server.ForkRequest:
    # A path to look for programs on only where a stage may execute some.
    programs = {"PATH": confinement.PROGRAM_FOLDERS} if grants.programs else {}
    environment = {"HOME": str(scratch), "TMPDIR": str(scratch), **programs}
    return fork_server.ForkRequest(
        path=_path(), scratch=str(scratch), environment=environment, preload=tuple(preload)
    )


def _path() -> tuple[str, ...]:
    # "" means the current directory, which is the scratch folder in the child.
    return tuple(entry or os.getcwd() for entry in sys.path)  # noqa: PTH109 - "" is the folder


def hello(
    imports: Sequence[str], *, limits: Limits, is_confined: bool, grants: Grants
) -> protocol.Hello:
    # The script that runs the worker is `__main__` here but not in a child: it travels by name or path.
    module, path = _main() if MAIN in imports else (None, None)
    return protocol.Hello(
        imports=tuple(_absolute(name) for name in imports if name != MAIN),
        limits=limits,
        is_confined=is_confined,
        grants=grants,
        main_module=module,
        main_path=path,
        main_fault=TYPED_MAIN if MAIN in imports and not (module or path) else None,
    )


def _main() -> tuple[str | None, str | None]:
    """How a child can import the script that this process runs: by module name (`python -m`) or by path."""
    main = sys.modules[MAIN]
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    if spec is not None:
        return spec.name, None
    is_file = (
        file is not None and Path(file).is_file()
    )  # a script read from standard input says <stdin>
    return None, str(Path(file).absolute()) if file and is_file else None


def _absolute(name: str) -> str:
    """Independent of the working directory, which in a child is its scratch folder."""
    return str(Path(name).absolute()) if name.endswith(".py") else name
