"""A measurement measures: every record is done and the reading has its shape. Never how long anything took."""

import subprocess
import sys
from pathlib import Path

import pytest

from lab.bench import floor, modes
from lab.bench.runs import measured
from stateward.app import App
from stateward.testing.bench.jobs import (
    Job,
    Meter,
    Reading,
    decode_job,
    decode_reading,
    encode,
    percentile,
    reading,
    server_cpu_s,
)
from stateward.testing.bench.product import open_app
from stateward.testing.bench.rows import MeasurementFailed, read_answer

pytestmark = pytest.mark.long  # whole measurements; the command itself is called in tests/cli

FEW = 50
TABLES = ("records", "transitions", "outputs", "item_chunks", "work", "events")
BURN = "import time\nwhile time.process_time() < 0.1: pass"


@pytest.fixture(params=["sqlite", "postgres"])
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Job:
    """A burst of a few records on an empty store."""
    is_sqlite = request.param == "sqlite"
    url = "" if is_sqlite else request.getfixturevalue("postgres_url")
    return Job("ours", request.param, "burst", FEW, str(tmp_path / "data"), url=url)


def measure(job: Job) -> Reading:
    return floor.measure(job) if job.system == "floor" else modes.measure(job)


def counts(app: App) -> dict[str, int]:
    return {name: len(app.database.rows(f"SELECT 1 FROM {name}")) for name in TABLES}  # noqa: S608


@pytest.mark.parametrize("mode", ["burst", "idle"])
@pytest.mark.parametrize(
    ("system", "isolation"), [("ours", "process"), ("ours", "inline"), ("floor", "")]
)
def test_every_record_is_done_and_counted(job: Job, system: str, isolation: str, mode: str) -> None:
    found = measure(job._replace(system=system, isolation=isolation, mode=mode, records=5))

    assert found.records == 5
    assert min(found.wall_s, found.own_s, found.p50_s) > 0
    assert found.p50_s <= found.p95_s
    assert found.version
    assert found.durability


def test_the_floor_writes_what_the_product_writes(job: Job, tmp_path: Path) -> None:
    measure(job._replace(system="floor"))
    measure(Job("ours", "sqlite", "burst", FEW, str(tmp_path / "other")))

    with (
        open_app(job) as app,
        open_app(job._replace(url="", folder=str(tmp_path / "other"))) as product,
    ):
        assert counts(app) == counts(product)
        assert {row[0] for row in app.database.rows("SELECT outputs FROM records")} == {
            row[0] for row in product.database.rows("SELECT outputs FROM records")
        }
        assert app.admin.verify().is_sound


def test_a_queue_keeps_its_depth(job: Job) -> None:
    found = measure(job._replace(mode="depth", records=30, depth=10, isolation="inline"))

    assert found.records == 30
    with open_app(job) as app:
        ((left,),) = app.database.rows("SELECT count(*) FROM records WHERE status <> 'finished'")
        assert 0 < int(left or 0) <= 20


def test_a_node_without_work_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    job = Job("ours", "sqlite", "burst", 1, str(tmp_path))

    with (
        open_app(job) as app,
        app.node() as node,
        pytest.raises(RuntimeError, match="nothing to do"),
    ):
        modes.work_on(app, node, until=1)


def test_opening_a_store_is_timed(job: Job) -> None:
    assert measure(job._replace(mode="opening", records=3)).records == 3


def test_a_measurement_happens_in_a_process_of_its_own(tmp_path: Path) -> None:
    found = measured(Job("ours", "sqlite", "burst", 20, str(tmp_path)))

    assert found.records == 20


def test_a_measurement_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(MeasurementFailed, match="KeyError: 'nonsense'"):
        measured(Job("ours", "sqlite", "nonsense", 1, str(tmp_path)))


def test_silence_is_a_failure() -> None:
    with pytest.raises(MeasurementFailed, match="ended with 3 and printed nothing"):
        read_answer(3, "", "")


def test_lost_records_are_no_measurement() -> None:
    with pytest.raises(RuntimeError, match="1 of 2 records were done"):
        reading(
            Job("x", "sqlite", "burst", 2, ""),
            Meter().spent(),
            [0.1],
            version="1",
            durability="none",
        )


def test_jobs_and_readings_travel_as_lines() -> None:
    job = Job("ours", "postgres", "idle", 5, "/somewhere", url="postgresql://", server=7, depth=3)
    found = Reading(5, 1.0, 0.5, 0.25, 0.1, 0.2, "1.0", "fsync on", "a note")

    assert decode_job(encode(job)) == job
    assert decode_reading(encode(found)) == found


@pytest.mark.parametrize(("percent", "expected"), [(50, 50), (95, 95), (100, 100), (0, 1)])
def test_a_percentile_is_one_of_the_values(percent: int, expected: int) -> None:
    assert percentile(range(1, 101), percent) == expected


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc to ask")
def test_a_server_s_time_includes_sessions_that_ended() -> None:
    parent = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BURN!r}])\nprint()\ninput()"
    server = subprocess.Popen(
        [sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    with server:
        assert server.stdout is not None
        server.stdout.readline()
        used_s = server_cpu_s(server.pid)

    assert used_s >= 0.09  # clocks of processes tick a hundred times a second
