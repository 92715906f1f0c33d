"""A store that a released version wrote is taken over: nothing is lost, and what waited goes on.

The files in `released` were written by the code of that version. A new version adds one before it is released.
"""

import os
import sqlite3
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import psycopg
import pytest

from lab.postgres import Server, find_programs
from stateward import __version__
from stateward.app import App
from stateward.core.errors import StoreMismatch
from stateward.core.lanes import FORMER
from stateward.proofs.history_checkpoint import read_checkpoint
from stateward.settings import Settings
from tests.storage.postgres_databases import applied, empty_database

RELEASED = Path(__file__).parent / "released"
VERSIONS = sorted(each.stem for each in (RELEASED / "sqlite").glob("*.sql"))
DOCUMENTS = (
    b"date;amount;text\n2026-01-02;12,50;a\n2026-01-03;-3,10;b\n",
    b"date;amount;text\n2026-02-02;8,10;c\n",
    b"nothing at all",
    b"date;amount;text\n2026-03-02;1,10;d\n",
)


def written_by(version: str, folder: Path, *, url: str = "sqlite:") -> Settings:
    """A data folder as a released version left it; its database is filled by who calls."""
    data = folder / "data"
    data.mkdir()
    for each in DOCUMENTS:
        place = data / "artifacts" / _digest(each)[:2] / _digest(each)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(each)
    config = folder / "settings.yaml"
    config.write_text(f"data: {data}\nstore:\n  url: '{url}'\n")
    settings = Settings.load(config, environ={})
    if settings.store_path is not None:
        with sqlite3.connect(settings.store_path) as database:
            database.executescript((RELEASED / "sqlite" / f"{version}.sql").read_text("utf-8"))
        database.close()
    return settings


@pytest.fixture(params=[(engine, each) for engine in ("sqlite", "postgres") for each in VERSIONS])
def settings(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Settings]:
    engine, version = request.param
    if engine == "sqlite":
        yield written_by(version, tmp_path)
        return
    # `pg_dump` must not be older than the server, which the tests take from the same place.
    monkeypatch.setenv("PATH", f"{find_programs(Path(), None)}:{os.environ['PATH']}")
    with empty_database(request.getfixturevalue("postgres_server")) as dsn:
        with psycopg.connect(dsn) as connection:
            connection.execute((RELEASED / engine / f"{version}.sql").read_bytes())
        yield written_by(version, tmp_path, url=dsn)


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
    assert [each.lane for each in kept.lanes][:2] == [FORMER, 0]
    assert (before.former, before.since is not None) == (14, True)
    assert (after.findings, last.status, len(items)) == ((), "normalized", 1)
    assert after.transitions > before.transitions
    (copy,) = [each for each in settings.data_path.iterdir() if "before-schema" in each.name]
    assert copy.stat().st_size > 10_000


def test_a_postgresql_schema_is_not_changed_where_no_copy_can_be_made(
    postgres_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with empty_database(postgres_server) as dsn:
        with psycopg.connect(dsn) as connection:
            connection.execute((RELEASED / "postgres" / f"{VERSIONS[-1]}.sql").read_bytes())
        settings = written_by(VERSIONS[-1], tmp_path, url=dsn)
        before = applied(dsn)

        with pytest.raises(StoreMismatch, match="pg_dump is needed and not installed"):
            App(settings)

        assert applied(dsn) == before


def test_every_released_version_has_a_store() -> None:
    log = (Path(__file__).parents[2] / "CHANGELOG.md").read_text("utf-8")
    released = [line.split()[1] for line in log.splitlines() if line.startswith("## ")]

    assert sorted(each for each in released if each[0].isdigit()) == VERSIONS
    assert sorted(each.stem for each in (RELEASED / "postgres").glob("*.sql")) == VERSIONS


def test_the_version_moves_when_one_was_released() -> None:
    """A build that is no release says so: its store may have another schema than that of the release before it."""
    release, is_under_way, _ = __version__.partition(".dev")
    number = tuple(map(int, release.split(".")))
    newest = max(tuple(map(int, each.split("."))) for each in VERSIONS)

    assert number > newest if is_under_way else number == newest


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()
