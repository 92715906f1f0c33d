"""What a process meets at its start: a server that is not ready, a folder that is not durable, a cap that is silent."""

import json
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.postgres import Server as PostgresServer
from stateward.app import App, databases
from stateward.app.databases import RUNNER_ROLE, wait_for_database
from stateward.app.doctor import checks
from stateward.core.errors import StoreOutdated, StoreUnreachable
from stateward.engine import system
from stateward.engine.history import export
from stateward.settings import Settings
from stateward.storage.database import PAGE_MAX, Database
from stateward.storage.dead_letters import DeadLetter
from stateward.storage.postgres import migrate
from stateward.storage.sqlite import MEMORY, SqliteDatabase
from stateward.storage.store import Store
from tests.storage.postgres_databases import empty_database


class Server:
    """A PostgreSQL that refuses connections for a while."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)

    def open(self, _: Settings, *, role: str | None = None) -> Database:
        assert role is None
        if self.answers:
            raise StoreUnreachable(f"cannot reach it ({self.answers.pop(0)})")
        return SqliteDatabase(MEMORY)


@pytest.fixture
def settings() -> Settings:
    return Settings.load(None, environ={"STATEWARD_STORE_URL": "postgresql://db.example/name"})


def test_a_role_waits_for_a_server_that_recovers_and_says_so_once(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(
        "the database system is starting up", "is in recovery mode", "Connection refused"
    )
    monkeypatch.setattr(databases, "open_database", server.open)
    said: list[str] = []
    slept: list[float] = []

    wait_for_database(settings, say=said.append, sleep=slept.append)

    assert [line.partition(":")[0] for line in said] == [
        "waiting for the database",
        "the database takes connections",
    ]
    assert len(slept) == 3
    assert max(slept) <= databases.PAUSE_S_MAX


def test_a_port_that_stays_closed_is_not_waited_for_without_end(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(*["Connection refused"] * 1000)
    monkeypatch.setattr(databases, "open_database", server.open)
    slept: list[float] = []

    with pytest.raises(StoreUnreachable, match="Connection refused"):
        wait_for_database(settings, say=lambda _: None, sleep=slept.append)

    assert databases.REFUSED_S_MAX <= sum(slept) < databases.REFUSED_S_MAX + databases.PAUSE_S_MAX


def test_a_worker_waits_for_the_coordinator_that_brings_the_schema_up_to_date(
    settings: Settings, postgres_server: PostgresServer
) -> None:
    with empty_database(postgres_server) as dsn:
        outdated = replace(settings, store=replace(settings.store, url=dsn))
        said: list[str] = []

        wait_for_database(outdated, say=said.append, role=RUNNER_ROLE, sleep=lambda _: migrate(dsn))

    assert len(said) == 2
    assert said[0].startswith("waiting for the database: ")


def test_a_schema_that_no_one_brings_up_to_date_is_not_waited_for_without_end(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Settings, *, role: str | None = None) -> Database:
        raise StoreOutdated(f"too old for {role}")

    monkeypatch.setattr(databases, "open_database", refuse)
    slept: list[float] = []

    with pytest.raises(StoreOutdated):
        wait_for_database(settings, say=lambda _: None, role=RUNNER_ROLE, sleep=slept.append)

    assert sum(slept) >= databases.REFUSED_S_MAX


def test_what_waiting_cannot_cure_is_raised_at_once(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server("password authentication failed")
    monkeypatch.setattr(databases, "open_database", server.open)

    with pytest.raises(StoreUnreachable, match="password"):
        wait_for_database(settings, say=print)


def test_sqlite_is_not_waited_for() -> None:
    wait_for_database(Settings.load(None, environ={}), say=pytest.fail)


def test_the_entries_of_a_new_data_folder_are_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)

    system.make_private(tmp_path / "some" / "where" / "data")

    assert synced == [str(tmp_path / "some" / "where"), str(tmp_path / "some"), str(tmp_path)]


def test_an_export_has_every_dead_letter(tmp_path: Path) -> None:
    store = Store(SqliteDatabase(MEMORY))
    letters = [
        DeadLetter(kind="event", body=str(number), reason="not an event", at=number)
        for number in range(PAGE_MAX + 5)
    ]
    store.dead_letters.add(letters)

    counts = export(store, tmp_path / "export")

    assert counts["dead_letters.jsonl"] == PAGE_MAX + 5
    lines = (tmp_path / "export" / "dead_letters.jsonl").read_text().splitlines()
    assert [json.loads(line)["body"] for line in lines] == [each.body for each in letters]


def test_doctor_says_that_no_document_can_be_stored(tmp_path: Path) -> None:
    settings = Settings.load(None, environ={"STATEWARD_DATA": str(tmp_path / "data")})
    with App(settings) as app:
        assert "artifacts" not in {check.name for check in checks(app)}
        (tmp_path / "data/artifacts").mkdir(exist_ok=True)
        incoming = tmp_path / "data/artifacts/incoming"
        if incoming.exists():
            incoming.rmdir()
        incoming.write_text("no folder")

        (said,) = [check for check in checks(app) if check.name == "artifacts"]

    assert not said.is_well
    assert str(tmp_path / "data/artifacts") in said.sentence


def test_a_service_whose_disk_takes_no_document_is_not_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stateward.server.health import _checks

    settings = Settings.load(None, environ={"STATEWARD_DATA": str(tmp_path / "data")})
    with App(settings) as app:
        by_name = {check.name: check for check in _checks(app)}
        assert by_name["documents"].is_well

        def full(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(type(app.artifacts), "receive", full)
        by_name = {check.name: check for check in _checks(app)}
        assert not by_name["documents"].is_well
        assert str(tmp_path) not in by_name["documents"].sentence
