"""The built wheel, and a fresh environment that holds it with nothing but its required dependencies."""

import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PIP = next((ROOT / "tools" / "bootstrap").glob("pip-*.whl")) / "pip"


class Environment:
    """A Python environment of its own, in which packages are installed as a user does it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
        self.python = folder / "bin" / "python"

    def install(self, *what: str) -> None:
        """`pip install`, in the versions of the lock, so that a new release elsewhere fails no test."""
        versions = self.folder / "constraints.txt"
        locked = (ROOT / "requirements" / "dev.txt").read_text()
        versions.write_text("\n".join(re.findall(r"^[a-z0-9.-]+==[^\\]+", locked, re.MULTILINE)))
        options = [
            "--quiet",
            "--no-input",
            "--disable-pip-version-check",
            "--no-compile",  # whatever is imported is compiled then; the rest of 170,000 lines need not be
            f"--constraint={versions}",
        ]
        self.run("-I", str(PIP), "install", *options, *what)

    def run(self, *arguments: str, folder: Path | None = None) -> str:
        """What this Python prints; a failure shows all of it."""
        done = self.try_run(*arguments, folder=folder)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def try_run(
        self, *arguments: str, folder: Path | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Run this Python, whatever comes of it, with no trace of the environment that tests run in."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return subprocess.run(
            [str(self.python), *arguments],
            cwd=folder or self.folder,
            env=clean,
            capture_output=True,
            text=True,
            check=False,
        )

    def command(
        self, *arguments: str, folder: Path | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Run the `stateward` command of this environment."""
        return self.try_run("-m", "stateward", *arguments, folder=folder)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stateward as it is published, built from a copy of the sources."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.glob("stateward-*.whl"))


@pytest.fixture(scope="session")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """What `pip install stateward` gives, with no extra."""
    environment = Environment(tmp_path_factory.mktemp("bare") / "env")
    environment.install(str(wheel))
    return environment
