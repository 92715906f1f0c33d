"""Commands in this process, each on a data folder of its own."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from tests.cli.calling import Shell


@pytest.fixture(autouse=True)
def nothing_is_set_outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No variable of the person who runs the tests counts; no log of a command stays behind."""
    for name in ("CONFIG", "PROFILE", "DATA", "STORE_URL"):
        monkeypatch.delenv(f"STATEWARD_{name}", raising=False)
    yield
    structlog.reset_defaults()


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """The command line on an empty data folder."""
    return Shell(tmp_path / "data")


@pytest.fixture(scope="session")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data that `stateward demo` leaves behind; nobody writes to it."""
    folder = tmp_path_factory.mktemp("demo") / "data"
    assert Shell(folder)("demo").exit_code == 0
    return folder


@pytest.fixture
def demo(demo_folder: Path, tmp_path: Path) -> Shell:
    """The command line on a copy of the demo: two documents normalized, one in error."""
    shutil.copytree(demo_folder, tmp_path / "demo", ignore=shutil.ignore_patterns("*-wake"))
    return Shell(tmp_path / "demo")
