"""How the tests call the command line: in this process, in a child, or on a terminal of its own."""

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from stateward.cli import cli
from tests.waiting import WAIT_S_MAX

DEADLINE_S = WAIT_S_MAX


class Shell:
    """The command line on one data folder."""

    def __init__(self, data: Path) -> None:
        self.data = data

    def __call__(self, *args: str, stdin: bytes | None = None) -> Result:
        return CliRunner().invoke(cli, ["--data", str(self.data), *args], input=stdin)

    def json(self, *args: str) -> Any:  # noqa: ANN401 - whatever the document holds
        """The one document that a command answers with."""
        done = self(*args, "--json")
        assert done.exit_code == 0, done.stderr
        return json.loads(done.stdout)

    def ids(self, query: str = "") -> list[str]:
        return [view["id"] for view in self.json("list", query)]


def arguments(*args: str) -> list[str]:
    return [sys.executable, "-m", "stateward", *args]


def run(*args: str, **how: Any) -> subprocess.CompletedProcess[str]:  # noqa: ANN401 - subprocess's own words
    """A command in a process of its own."""
    how = {"capture_output": True, "text": True, "timeout": DEADLINE_S, **how}
    return subprocess.run(arguments(*args), check=False, **how)


def on_a_terminal(
    args: Sequence[str], *, answer: str | None = None, columns: int = 300
) -> tuple[int, str]:
    """A command whose three streams are one terminal: its exit code, and all that a person would see."""
    pid, terminal = pty.fork()
    if pid == 0:  # pragma: no cover - the child is the command
        os.environ.update(TERM="xterm", COLUMNS=str(columns))
        os.execv(sys.executable, arguments(*args))  # noqa: S606 - no shell is wanted
    if answer is not None:
        os.write(terminal, f"{answer}\n".encode())
    seen = _read_all(terminal)
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), seen.decode()


def _read_all(terminal: int) -> bytes:
    seen = b""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        ready, _, _ = select.select([terminal], [], [], 0.2)
        if not ready:
            continue
        try:
            piece = os.read(terminal, 65_536)
        except OSError:  # Linux says so when the last process has let go of it
            return seen
        if not piece:
            return seen
        seen += piece
    raise TimeoutError(f"the command did not end; it said {seen!r}")
