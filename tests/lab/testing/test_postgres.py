"""The throw-away PostgreSQL: it answers, it can be killed, and it leaves nothing behind."""

import os
import pwd
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from lab import postgres
from lab.postgres import (
    Cluster,
    MissingPostgres,
    Server,
    cluster,
    find_programs,
    guard,
)
from stateward.core.errors import StoreUnreachable
from tests.waiting import wait_until


def test_each_test_gets_a_database_of_its_own(postgres_dsn: str, postgres_server: Server) -> None:
    other = postgres_server.create_database()

    with psycopg.connect(postgres_dsn) as connection:
        connection.execute("CREATE TABLE mine (id int)")

    with psycopg.connect(postgres_server.dsn(other)) as connection:
        assert connection.execute("SELECT to_regclass('mine')").fetchone() == (None,)
    postgres_server.drop_database(other)


def test_a_copy_holds_what_its_template_held(postgres_server: Server) -> None:
    template = postgres_server.create_database()
    with psycopg.connect(postgres_server.dsn(template)) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS n")

    copy = postgres_server.create_database(template)

    with psycopg.connect(postgres_server.dsn(copy)) as connection:
        assert connection.execute("SELECT n FROM kept").fetchone() == (7,)
    postgres_server.drop_database(copy)
    postgres_server.drop_database(template)


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("host=/tmp/x user=u", "postgresql://u@/n?host=%2Ftmp%2Fx"),
        ("postgresql://u:p%40@h:5433/x", "postgresql://u:p%40@/n?host=h&port=5433"),
    ],
)
def test_an_address_keeps_all_but_the_database(given: str, made: str) -> None:
    assert Server(given).dsn("n") == made
    assert conninfo_to_dict(made) == {**conninfo_to_dict(given), "dbname": "n"}


def test_a_killed_server_comes_back_with_what_was_committed(postgres_cluster: Cluster) -> None:
    dsn = postgres_cluster.dsn(postgres_cluster.create_database())
    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS n")
    session = psycopg.connect(dsn)
    first = postgres_cluster.pid

    postgres_cluster.kill()

    with pytest.raises(psycopg.OperationalError):
        session.execute("SELECT 1")
    session.close()
    assert not postgres_cluster.is_running
    with pytest.raises(StoreUnreachable, match="is not running"):
        _ = postgres_cluster.pid
    postgres_cluster.start()
    assert postgres_cluster.pid != first
    with psycopg.connect(dsn) as connection:
        assert connection.execute("SELECT n FROM kept").fetchone() == (7,)


@pytest.mark.long
def test_a_stopped_server_can_be_started_again(postgres_cluster: Cluster) -> None:
    postgres_cluster.stop()
    postgres_cluster.start()

    with psycopg.connect(postgres_cluster.dsn("postgres")) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_it_listens_on_no_network_address(postgres_cluster: Cluster) -> None:
    with psycopg.connect(postgres_cluster.dsn("postgres")) as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)


@pytest.mark.long
def test_a_server_that_cannot_start_says_why(fresh_cluster: Cluster) -> None:
    fresh_cluster.stop()
    with (fresh_cluster.folder / "data" / "postgresql.conf").open("a") as configuration:
        configuration.write("no_such_setting = 1\n")

    with pytest.raises(StoreUnreachable, match="no_such_setting"):
        fresh_cluster.start()


@pytest.mark.long
def test_a_durable_one_syncs_and_nothing_is_left_of_it_when_it_is_removed(
    postgres_server: Server,
) -> None:
    with cluster(is_durable=True) as made:
        pid, data = made.pid, (made.folder / "data").resolve()
        with psycopg.connect(made.dsn("postgres")) as connection:
            assert connection.execute("SHOW fsync").fetchone() == ("on",)

    assert is_gone(pid)
    assert not data.exists()
    assert not made.folder.exists()


@pytest.mark.long
def test_nothing_is_left_of_it_when_its_owner_is_killed(fresh_cluster: Cluster) -> None:
    pid, data = fresh_cluster.pid, (fresh_cluster.folder / "data").resolve()
    owner = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    guard(fresh_cluster.folder, owner=owner.pid)

    owner.kill()
    owner.wait()

    wait_until_gone(fresh_cluster.folder)
    assert is_gone(pid)
    assert not data.exists()


def test_a_server_that_cannot_be_made_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(postgres, "PLACE", tmp_path)
    monkeypatch.setattr(postgres, "_from_wheel", list)
    monkeypatch.setattr(postgres, "_installed", list)

    with pytest.raises(MissingPostgres, match="TEST_PG_DSN"), cluster():
        pass

    assert list(tmp_path.iterdir()) == []


def test_programs_out_of_reach_are_copied_with_their_libraries(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    programs = tmp_path / "site" / "package" / "installation" / "bin"
    libraries = tmp_path / "site" / "package.libs"
    for folder in (programs, libraries):
        folder.mkdir(parents=True)
        (folder / "file").touch()
    place = tmp_path / "place"
    monkeypatch.setattr(postgres, "_from_wheel", lambda: [programs])
    monkeypatch.setattr(postgres, "_works", lambda found, _: place in found.parents)

    found = find_programs(place, pwd.getpwuid(os.getuid()))

    assert (found / "file").exists()
    assert (found.parents[2] / "package.libs" / "file").exists()


def test_programs_that_cannot_be_run_are_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    works = tmp_path / "works"
    works.mkdir()
    (works / "postgres").write_text("#!/bin/sh\n")
    (works / "postgres").chmod(0o755)
    monkeypatch.setattr(postgres, "_from_wheel", lambda: [tmp_path / "absent"])
    monkeypatch.setattr(postgres, "_installed", lambda: [tmp_path / "absent too", works])

    assert find_programs(tmp_path, None) == works


def wait_until_gone(path: Path) -> None:
    wait_until(lambda: not path.exists())


def is_gone(pid: int) -> bool:
    """Whether the process has ended; one that was not reaped yet counts as ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True
