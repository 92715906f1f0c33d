"""What the system's PostgreSQL can do: its own amcheck finds a damaged index, and a replica can be verified."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from lab import postgres
from lab.postgres import Cluster, MissingPostgres
from stateward.app import App
from stateward.proofs.history_checkpoint import read_checkpoint
from stateward.settings import Settings

PAGE, HEADER, POINTER = 8192, 24, 4


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setattr(postgres, "_from_wheel", lambda: iter(()))  # it comes without extensions
    try:
        cluster = Cluster.create()
    except MissingPostgres as error:
        pytest.skip(str(error))
    yield cluster
    cluster.remove()


def test_verify_names_an_index_that_is_out_of_order(server: Cluster, tmp_path: Path) -> None:
    dsn = server.dsn(server.create_database())
    with psycopg.connect(dsn, autocommit=True) as connection:
        try:
            connection.execute("CREATE EXTENSION amcheck")
        except psycopg.Error as error:
            pytest.skip(str(error))
    settings = Settings.load(environ={"STATEWARD_DATA": str(tmp_path), "STATEWARD_STORE_URL": dsn})
    with App(settings) as app:
        for number in range(60):
            app.submit(f"a;b\n{number};2\n".encode(), machine="upload", name="a.csv")
        assert app.admin.verify().is_sound

    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CHECKPOINT")
        found = connection.execute("SELECT pg_relation_filepath('stateward.records_status')")
        ((path,),) = found.fetchall()
    server.stop()
    _swap_entries(server.folder / "data" / str(path))
    server.start()

    with App(settings) as app:
        findings = [str(each) for each in app.admin.verify().findings]
    assert any("index records_status: item order invariant violated" in each for each in findings)


def test_a_replica_can_be_verified(server: Cluster, tmp_path: Path) -> None:
    dsn = server.dsn(server.create_database())
    settings = Settings.load(environ={"STATEWARD_DATA": str(tmp_path), "STATEWARD_STORE_URL": dsn})
    with App(settings) as app:
        app.submit(b"a;b\n1;2\n", machine="upload", name="a.csv")
        kept = read_checkpoint(app.admin.verify().checkpoint)
    server.stop()

    server.follow()

    with psycopg.connect(dsn) as connection:
        assert connection.execute("SELECT pg_is_in_recovery()").fetchall() == [(True,)]
    with App(settings, is_read_only=True) as app:
        found = app.admin.verify(kept=kept)
        assert (found.findings, found.records) == ((), 1)
        assert app.admin.verify_documents() == []


def _swap_entries(index: Path) -> None:
    """Exchange two pointers of the first page after that of the index itself."""
    data = bytearray(index.read_bytes())
    first, other = PAGE + HEADER, PAGE + HEADER + 4 * POINTER
    left, right = data[first : first + POINTER], data[other : other + POINTER]
    data[first : first + POINTER], data[other : other + POINTER] = right, left
    index.write_bytes(bytes(data))
