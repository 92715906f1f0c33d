"""Commands in this process, each on a data folder of its own."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from tests.cli.shell import Shell


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


ROWS = "".join(f"2026-01-{day:02},Shop {day},-{day}.00\n" for day in range(2, 9))
GIRO = (
    "Datum;Buchungstext;Betrag\n02.01.2026;Müller Bäckerei;-6,40\n"
    "11.01.2026;  Bahn   Fahrkarte ;-49,00\n23.01.2026;Verein;120,00\n"
)
DOCUMENTS = {
    "checking-2026-01.csv": b"Date,Description,Amount\n" + ROWS.encode(),
    "girokonto-2026-01.csv": GIRO.encode("cp1252"),
    "renamed-picture.csv": b"\x89PNG\r\n\x1a\n" + bytes(64),
}


@pytest.fixture(scope="session")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three documents that were worked off; no test writes to them."""
    place = tmp_path_factory.mktemp("demo")
    shell = Shell(place / "data")
    for name, data in DOCUMENTS.items():
        (place / name).write_bytes(data)
        assert shell("submit", str(place / name), "--label", "source_type=sample").exit_code == 0
    assert shell("up", "--until-idle").exit_code == 0
    return place / "data"


@pytest.fixture
def demo(demo_folder: Path, tmp_path: Path) -> Shell:
    """The command line on a copy of the demo: two documents normalized, one in error."""
    shutil.copytree(demo_folder, tmp_path / "demo", ignore=shutil.ignore_patterns("*-wake"))
    return Shell(tmp_path / "demo")
