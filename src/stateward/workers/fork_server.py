"""A process that has loaded what every child needs, and forks one supervisor after another from itself.

To load an interpreter and this package takes a tenth of a second of processor time, and what the first job of one of
its pipelines needs as much again or more; to fork a process that has done so takes a few milliseconds
(docs/decisions/0037). It runs no foreign code, sees no document, starts no thread, and has no descriptor but that of
its worker; pipelines of others are imported after the fork, by the runner.

    worker ── fork server ── supervisor ── runner

It ends with its worker, and its supervisors end with it.
"""

import contextlib
import gc
import importlib
import os
import signal
import socket
import struct
import sys
from collections.abc import Sequence
from typing import NoReturn

import msgspec

from stateward.workers.child_supervisor import supervise_runner
from stateward.workers.confinement import die_with

# The path is set before our first import, because `-I` starts an interpreter without the worker's. It comes as an
# argument, so that it needs no environment.
BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from stateward.workers.fork_server import main; main()"
)
REQUEST_BYTES_MAX = (
    128 * 1024
)  # a path of hundreds of entries; what is longer is refused by the socket
REPLY = struct.Struct("i")
FDS = 5  # that come with a request


class ForkRequest(msgspec.Struct, frozen=True, kw_only=True, tag="fork"):
    """A supervisor is wanted. Its descriptors come along: channel, permits, lines, status, output.

    `path` is where its runner imports from, `environment` what is added to the one of the fork server. `preload` are
    modules of this package that its runner will need.
    """

    path: tuple[str, ...]
    scratch: str
    environment: dict[str, str]
    preload: tuple[str, ...] = ()


class Release(msgspec.Struct, frozen=True, kw_only=True, tag="release"):
    """The worker has seen that a supervisor has ended, and will not use its process id again.

    Before that it is not waited for: a process id stays its own until then.
    """

    pid: int


_requests = msgspec.json.Decoder(ForkRequest | Release)


def main() -> NoReturn:
    """Serve the worker until it is gone."""
    control_fd, worker = (int(text) for text in sys.argv[2:4])
    sys.argv[:] = ["stateward-runner"]  # foreign code finds a name there, no descriptor numbers
    die_with(worker, signal.SIGKILL)
    # A process that ignores SIGCHLD, as it may inherit from its parent, cannot wait for its children.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    control = socket.socket(fileno=control_fd)
    gc.freeze()  # what is loaded stays for good; not looked through, its memory stays shared with the children
    while True:
        data, fds, _, _ = socket.recv_fds(
            control, REQUEST_BYTES_MAX, FDS, flags=socket.MSG_CMSG_CLOEXEC
        )
        if not data:
            os._exit(0)
        request = _requests.decode(data)
        if isinstance(request, Release):
            os.waitpid(request.pid, 0)
        else:
            control.send(REPLY.pack(fork(request, fds, control)))


def fork(request: ForkRequest, fds: Sequence[int], control: socket.socket) -> int:
    """Fork a supervisor: its process id, or below zero the number of the error that prevented it."""
    server = os.getpid()
    preload(request.preload)
    try:
        pid = os.fork()
    except OSError as error:
        pid = -(error.errno or 1)
    if pid == 0:
        try:
            control.close()
            become_supervisor(request, fds, server)
        finally:  # whatever went wrong: never back into the loop of the fork server
            os._exit(1)
    for fd in fds:
        os.close(fd)
    return pid


def preload(names: Sequence[str]) -> None:
    """Import what runners would import, each for itself."""
    new = [name for name in names if name not in _PRELOADED]
    for name in new:
        _PRELOADED.add(name)
        # What is missing or fails here does so again where a job needs it, which can say so.
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    if new:
        gc.freeze()


# What was tried once: modules that cannot be imported are not tried for every child.
_PRELOADED: set[str] = set()


def become_supervisor(request: ForkRequest, fds: Sequence[int], server: int) -> NoReturn:
    """Be the process that an interpreter started for this child alone would be."""
    channel_fd, permits_fd, lines_fd, status_fd, output_fd = fds
    # Of its own, so that Ctrl-C at the terminal is the worker's alone, and `members_of` finds what is left of it.
    os.setsid()
    os.dup2(output_fd, 1)
    os.dup2(output_fd, 2)
    os.close(output_fd)
    # Those of the fork server know that theirs was no pipe.
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    os.chdir(request.scratch)
    os.environ.update(request.environment)  # noqa: TID251 - that of the runner, not read here
    sys.path[:] = request.path
    importlib.invalidate_caches()  # of folders that were read before the fork
    supervise_runner(channel_fd, permits_fd, lines_fd, status_fd=status_fd, parent=server)
