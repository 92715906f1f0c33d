"""The simulation as a command, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def run(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, which is not traced for coverage: that would cost more than it does."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    command = [sys.executable, "-m", "lab.simulation", *arguments]
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        command,
        env={**own, "PYTHONPATH": path, **environ},
        capture_output=True,
        text=True,
        check=False,
    )
