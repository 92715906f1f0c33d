"""Rows: what was planned, one after the other; what cannot be measured says so and stops nothing."""

import json
import sys
from pathlib import Path

import msgspec
import pytest

from lab.bench import runs, transports
from lab.bench.runs import Plan, rows
from lab.postgres import MissingPostgres, find_programs
from stateward.testing.bench import rows as bench_rows
from stateward.testing.bench.rows import Row
from tests.cli.shell import Shell
from tests.conftest import skipped_if_missing

pytestmark = pytest.mark.long  # whole measurements; the command itself is called in tests/cli

NUMBERS = ("records_per_s", "cpu_ms_per_record", "p50_ms", "p95_ms")


def test_a_plan_becomes_a_row_for_each_system_and_mode() -> None:
    told: list[str] = []
    plan = Plan(records=5, systems=("floor", "Huey"), stores=("sqlite",), rounds=2)

    found = list(rows(plan, tell=told.append))

    assert [(row.system, row.mode) for row in found] == [
        ("floor", "burst"),
        ("Huey", "burst"),
        ("floor", "idle"),
        ("Huey", "idle"),
    ]
    floor = [row for row in found if row.system == "floor"]
    assert {row.rounds for row in floor} == {2}
    assert all(getattr(row, name) for row in floor for name in NUMBERS)
    assert all("FULL" in row.durability for row in floor)
    assert len(told) == 6


@pytest.mark.service
def test_postgres_is_started_durable_and_its_time_is_counted(tmp_path: Path) -> None:
    with skipped_if_missing():
        find_programs(tmp_path, None)

    found = list(rows(Plan(records=5, systems=("ours",), stores=("postgres",))))

    assert all(getattr(row, name) for row in found for name in NUMBERS)
    assert {row.durability for row in found} == {"fsync on, synchronous_commit on"}
    assert all(row.server_cpu_ms_per_record is not None for row in found)


def test_peers_that_are_not_there_say_so() -> None:
    found = list(rows(Plan(records=20, systems=("Huey", "DBOS"), stores=("sqlite",))))

    assert len(found) == 4
    assert all("make bench" in row.note and row.cpu_ms_per_record is None for row in found)


def test_a_peer_that_fails_says_so() -> None:
    """This Python has no Huey."""
    plan = Plan(
        records=20, systems=("Huey",), stores=("sqlite",), peers_python=Path(sys.executable)
    )

    found = list(rows(plan))

    assert {row.note for row in found} == {"failed: ModuleNotFoundError: No module named 'huey'"}


def test_without_postgres_its_rows_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*, is_durable: bool) -> None:
        raise MissingPostgres("there is none")

    monkeypatch.setattr(runs, "cluster", missing)

    found = list(rows(Plan(stores=("postgres",))))

    assert {row.system for row in found} == {
        "ours",
        "floor",
        "DBOS",
        "PgQueuer",
        *transports.SYSTEMS,
    }
    assert {row.note for row in found} == {"there is none"}


@pytest.mark.long
@pytest.mark.parametrize("system", transports.SYSTEMS)
def test_workers_apart_are_measured_over_every_transport(system: str) -> None:
    if transports.ENGINES[system][1]() is None:
        pytest.skip("its server is not installed")
    with runs.place("sqlite") as where, where.job(system, "burst", 5) as job:
        found = runs.measured(job._replace(isolation="process"))

    assert (found.records, found.server_s) == (5, 0.0)
    assert found.own_s > 0


def test_a_measurement_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_rows, "JOB_S_MAX", 0.01)

    (found, *_) = rows(Plan(records=20, systems=("ours",), stores=("sqlite",)))

    assert found.note == "not done after 0.01 s"


def test_the_command_measures_the_default_isolation_first(shell: Shell) -> None:
    found = msgspec.convert(shell.json("bench", "--records", "5"), list[Row])

    assert [(row.store, row.isolation, row.mode, row.records) for row in found] == [
        ("sqlite", "process", "burst", 5),
        ("sqlite", "process", "idle", 5),
        ("sqlite", "inline", "burst", 5),
        ("sqlite", "inline", "idle", 5),
    ]
    assert [row.settings for row in found] == ["", "", "isolation: inline", "isolation: inline"]
    assert all(getattr(row, name) for row in found for name in NUMBERS)
    assert not shell.data.exists()


@pytest.mark.service
def test_the_command_measures_on_a_server_that_is_named(shell: Shell, postgres_url: str) -> None:
    found = msgspec.convert(
        shell.json("bench", "--records", "5", "--postgres", postgres_url), list[Row]
    )

    on_server = [row for row in found if row.store == "postgres"]
    assert [(row.isolation, row.mode) for row in on_server] == [
        ("process", "burst"),
        ("process", "idle"),
        ("inline", "burst"),
        ("inline", "idle"),
    ]
    assert all(getattr(row, name) for row in on_server for name in NUMBERS)


def test_the_command_shows_people_a_table(shell: Shell) -> None:
    done = shell("bench", "--records", "5")

    assert done.exit_code == 0, done.stderr
    head, *lines = done.stdout.splitlines()
    assert head.split()[:4] == ["store", "isolation", "mode", "records"]
    assert [line.split()[:3] for line in lines] == [
        ["sqlite", isolation, mode]
        for isolation in ("process", "inline")
        for mode in ("burst", "idle")
    ]


def test_the_command_fails_when_nothing_can_be_measured(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_rows, "JOB_S_MAX", 0.01)

    done = shell("bench", "--records", "5", "--json")

    assert done.exit_code == 1
    assert {row["note"] for row in json.loads(done.stdout)} == {"not done after 0.01 s"}
