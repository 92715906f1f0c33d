"""Starting the process of a child, with pipes, folders and an environment of its own, and releasing it afterwards."""

import contextlib
import fcntl
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from stateward.workers import child_main as inside
from stateward.workers import confinement
from stateward.workers.confinement import Grants
from stateward.workers.job_files import empty_folder
from stateward.workers.results import (
    Limits,
)
from stateward.workers.wire import READ_BYTES, READS_MAX

MAIN = "__main__"
# As much as those reads take, so that after a job's last message one drain finds all that it printed. 1 MiB is also
# the most that Linux grants a pipe of an unprivileged process by default.
PIPE_BYTES = READS_MAX * READ_BYTES


def reap_children() -> None:
    """Release closed children whose supervisor has exited, so that no zombies pile up. `spawn` calls this."""
    for each in list(DYING):
        process, scratch = each
        if process.poll() is None:
            continue
        DYING.remove(each)
        for folder in (inside.inputs_of(scratch), scratch):
            if folder.exists():  # the supervisor was killed before it could remove it
                with contextlib.suppress(OSError):
                    empty_folder(folder)
                    folder.rmdir()


# Children that were closed and not waited for yet. In the module, because a `Child` may be dropped before its
# supervisor has exited.
DYING: list[tuple[subprocess.Popen[bytes], Path]] = []


class Spawned(NamedTuple):
    """A process that was just started, and the worker's ends of what connects the two."""

    process: subprocess.Popen[bytes]
    channel: socket.socket
    permits: tuple[int, int]
    output_fd: int
    status_fd: int
    scratch: Path


def start_process(scratch_root: Path, grants: Grants) -> Spawned:
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
        output_fd, output_end = _pipe(ours, theirs)
        status_fd, status_end = _pipe(ours, theirs)
        channel.setblocking(False)
        # Refused when the user's pipes together exceed fs.pipe-user-pages-soft. A smaller pipe works too:
        # then a runner that prints much waits for the worker to read.
        with contextlib.suppress(OSError):
            fcntl.fcntl(output_fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        fds = (channel_end.fileno(), permits[0], status_end)
        process = _popen(fds, output_end, scratch, grants=grants)
        ours.pop_all()  # started: from here on `Child.close` closes the worker's ends
    return Spawned(process, channel, permits, output_fd, status_fd, scratch)


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


def _popen(
    fds: tuple[int, ...], output_fd: int, scratch: Path, *, grants: Grants
) -> subprocess.Popen[bytes]:
    """Start the supervisor with an environment of its own: the worker's may hold secrets.

    An interpreter is executed, not forked: a fork would carry the worker's memory, its database
    connection and its locks along. `-I` keeps out PYTHON* variables and the user's site-packages;
    `-X utf8` makes text UTF-8 although there is no LANG to say so. A session of its own keeps
    Ctrl-C at the terminal for the worker alone, and lets `members_of` find what is left of it.
    """
    # "" means the current directory, which is the scratch folder in the child.
    path = json.dumps([entry or os.getcwd() for entry in sys.path])  # noqa: PTH109 - "" is the folder
    numbers = map(str, (*fds, os.getpid()))
    # A path to look for programs on only where a stage may execute some.
    programs = {"PATH": confinement.PROGRAM_FOLDERS} if grants.programs else {}
    return subprocess.Popen(
        [sys.executable, "-I", "-X", "utf8", "-c", inside.BOOT, path, *numbers],
        stdin=subprocess.DEVNULL,
        stdout=output_fd,
        stderr=output_fd,
        cwd=scratch,
        # glibc gives each thread an arena with 64 MiB of reserved address space unless their number is
        # bounded; RLIMIT_AS would count them as memory of the job.
        env={"HOME": str(scratch), "TMPDIR": str(scratch), "MALLOC_ARENA_MAX": "2", **programs},
        pass_fds=fds,
        start_new_session=True,
    )


def hello(
    imports: Sequence[str], *, limits: Limits, is_confined: bool, grants: Grants
) -> inside.Hello:
    # The script that runs the worker is `__main__` here but not in a child: it travels by name or path.
    module, path = _main() if MAIN in imports else (None, None)
    return inside.Hello(
        imports=tuple(_absolute(name) for name in imports if name != MAIN),
        limits=limits,
        is_confined=is_confined,
        grants=grants,
        main_module=module,
        main_path=path,
    )


def _main() -> tuple[str | None, str | None]:
    """How a child can import the script that this process runs: by module name (`python -m`) or by path."""
    main = sys.modules[MAIN]
    spec, file = main.__spec__, getattr(main, "__file__", None)
    if spec is not None:
        return spec.name, None
    return None, None if file is None else str(Path(file).absolute())


def _absolute(name: str) -> str:
    """Independent of the working directory, which in a child is its scratch folder."""
    return str(Path(name).absolute()) if name.endswith(".py") else name
