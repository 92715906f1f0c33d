"""kill -9 of coordinators and workers under load: nothing lost, nothing doubled, nothing stuck."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from stateward.app import App
from stateward.settings import Settings
from stateward.storage.full_text import FullTextIndex
from tests.waiting import wait_until

RECORDS = 60
KILLS = 8
PATIENCE_S = 120.0


@contextmanager
def processes(config: Path, roles: list[str]) -> Iterator[list[subprocess.Popen[bytes]]]:
    running = [_start(config, role) for role in roles]
    try:
        yield running
    finally:
        for process in running:
            process.kill()
            process.wait()


def _start(config: Path, role: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "stateward", "--config", str(config), role]
    with (config.parent / f"{role}.log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ})


@pytest.mark.parametrize(
    "store_url", [pytest.param("sqlite", marks=pytest.mark.long), "postgres"], indirect=True
)
@pytest.mark.parametrize(
    "roles",
    [
        pytest.param(["up", "up"], id="nodes", marks=pytest.mark.long),
        pytest.param(["coordinator", "coordinator", "worker", "worker"], id="roles"),
    ],
)
def test_killed_processes_lose_and_double_nothing(
    store_url: str, tmp_path: Path, roles: list[str]
) -> None:
    config = tmp_path / "kill.yaml"
    config.write_text(
        f"data: {tmp_path}/data\nstore: {{url: '{store_url}'}}\napi: {{port: 0}}\n"
        "worker: {heartbeat_seconds: 0.5, lease_seconds: 2, deliveries_max: 50}\n"
    )
    rng = random.Random(7)
    with App(Settings.load(config, environ={})) as app, processes(config, roles) as running:
        acknowledged = []
        for number in range(RECORDS):
            acknowledged.append(
                app.submit(
                    f"Date;Text;Amount\n2026-01-05;{number};-1,00\n2026-01-06;x;-2,00\n".encode()
                ).record.id
            )
            if number % (RECORDS // KILLS) == 0:
                place = rng.randrange(len(roles))
                running[place].send_signal(signal.SIGKILL)
                running[place].wait()
                running[place] = _start(config, roles[place])
                # The next kill shall meet work under way, not processes that only start.
                wait_until(lambda: app.record(acknowledged[-1]).version > 0)
        _wait_until_all_rest(app, acknowledged)

        records = app.store.load(acknowledged)
        assert len(records) == RECORDS
        assert {record.status for record in records.values()} == {"normalized"}
        assert {record.version for record in records.values()} == {4}, "each transition once"
        for record_id in acknowledged:
            assert len(list(app.items(record_id, "parse"))) == 2
            assert len(list(app.items(record_id, "normalize"))) == 2
        verdict = app.admin.verify()
        assert verdict.is_sound
        assert verdict.transitions == 5 * RECORDS
        wait_until(app.indexer.is_done, timeout_s=PATIENCE_S)
        assert FullTextIndex(app.database).count() == 2 * RECORDS, "each text once"


def _wait_until_all_rest(app: App, ids: list[str]) -> None:
    def are_at_rest() -> bool:
        return all(app.records.is_at_rest(record) for record in app.store.load(ids).values())

    with suppress(AssertionError):
        wait_until(are_at_rest, timeout_s=PATIENCE_S)
        return
    stuck = {
        record.id: app.records.explain(record.id).sentence
        for record in app.store.load(ids).values()
        if not app.records.is_at_rest(record)
    }
    pytest.fail(f"still under way after {PATIENCE_S} s: {stuck}")
