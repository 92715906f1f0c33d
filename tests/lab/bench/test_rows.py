"""Rows: what was planned, one after the other; what cannot be measured says so and stops nothing."""

import json
import sys
from pathlib import Path

import msgspec
import pytest

from lab.bench import runs
from lab.bench.runs import Plan, Row, rows
from lab.postgres import MissingPostgres, find_programs
from tests.cli.calling import Shell
from tests.conftest import skipped_if_missing

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

    assert {row.system for row in found} == {"ours", "floor", "DBOS", "PgQueuer"}
    assert {row.note for row in found} == {"there is none"}


def test_a_measurement_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "JOB_S_MAX", 0.01)

    (found, *_) = rows(Plan(records=20, systems=("ours",), stores=("sqlite",)))

    assert found.note == "not done after 0.01 s"


def test_the_command_gives_rows_to_programs(shell: Shell) -> None:
    found = msgspec.convert(
        shell.json("bench", "--only", "ours", "--store", "sqlite", "--records", "5"), list[Row]
    )

    assert [(row.system, row.store, row.mode, row.records) for row in found] == [
        ("ours", "sqlite", "burst", 5),
        ("ours", "sqlite", "idle", 5),
    ]
    assert not shell.data.exists()


def test_the_command_shows_people_a_table(shell: Shell) -> None:
    done = shell("bench", "--only", "ours", "--only", "Huey", "--store", "sqlite", "--records", "5")

    assert done.exit_code == 0, done.stderr
    head, *lines = done.stdout.splitlines()
    assert head.split()[:4] == ["system", "store", "mode", "records"]
    assert [line.split()[:3] for line in lines] == [
        [system, "sqlite", mode] for mode in ("burst", "idle") for system in ("ours", "Huey")
    ]


def test_the_command_fails_when_our_own_cannot_be_measured(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "JOB_S_MAX", 0.01)

    done = shell("bench", "--only", "ours", "--store", "sqlite", "--records", "5", "--json")

    assert done.exit_code == 1
    assert {row["note"] for row in json.loads(done.stdout)} == {"not done after 0.01 s"}
