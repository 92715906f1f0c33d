"""A store that a released version wrote is taken over: nothing is lost, and what waited goes on.

The files in `released` were written by the code of that version. A new version adds one before it is released.
"""

import sqlite3
from hashlib import sha256
from pathlib import Path

import pytest

from stateward import __version__
from stateward.app import App
from stateward.core.lanes import FORMER
from stateward.ledger.history_checkpoint import read_checkpoint
from stateward.settings import Settings

RELEASED = Path(__file__).parent / "released"
VERSIONS = sorted(each.stem for each in RELEASED.glob("*.sql"))
DOCUMENTS = (
    b"date;amount;text\n2026-01-02;12,50;a\n2026-01-03;-3,10;b\n",
    b"date;amount;text\n2026-02-02;8,10;c\n",
    b"nothing at all",
    b"date;amount;text\n2026-03-02;1,10;d\n",
)


@pytest.fixture(params=VERSIONS)
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """A data folder as a released version left it."""
    data = tmp_path / "data"
    data.mkdir()
    with sqlite3.connect(data / "stateward.db") as database:
        database.executescript((RELEASED / f"{request.param}.sql").read_text("utf-8"))
    database.close()
    for each in DOCUMENTS:
        digest = sha256(each).hexdigest()
        place = data / "artifacts" / digest[:2] / digest
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(each)
    config = tmp_path / "settings.yaml"
    config.write_text(f"data: {data}\n")
    return Settings.load(config, environ={})


def test_a_store_of_a_released_version_is_taken_over_whole(settings: Settings) -> None:
    with App(settings) as app:
        before = app.admin.verify()
        kept = read_checkpoint(before.checkpoint)
        statuses = sorted(each.status for each in app.store.walk())
        app.run_until_idle()
        after = app.admin.verify(kept=kept)
        (last,) = [each for each in app.store.walk() if each.artifact == _digest(DOCUMENTS[3])]
        items = list(app.items(last.id))

    assert (before.findings, before.records, before.transitions) == ((), 4, 14)
    assert statuses == ["error", "normalized", "normalized", "queued_for_parse"]
    assert [each.lane for each in kept.lanes] == [FORMER, 0]
    assert (before.former, before.since is not None) == (14, True)
    assert (after.findings, last.status, len(items)) == ((), "normalized", 1)
    assert after.transitions > before.transitions


def test_a_backup_is_made_before_the_schema_changes(settings: Settings) -> None:
    App(settings).close()

    copies = [each for each in settings.data_path.iterdir() if "before" in each.name]
    assert copies, sorted(each.name for each in settings.data_path.iterdir())


def test_every_released_version_has_a_store() -> None:
    log = (Path(__file__).parents[2] / "CHANGELOG.md").read_text("utf-8")
    released = [line.split()[1] for line in log.splitlines() if line.startswith("## ")]

    assert sorted(each for each in released if each[0].isdigit()) == VERSIONS
    assert __version__ in VERSIONS


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()
