"""A sample of the crash points in real processes: killed there with SIGKILL, started again, and judged."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lab.checker import Seen, check, read_export
from lab.simulation.shapes import plain
from stateward.app import App
from stateward.core.failpoints import Point, install
from stateward.core.model import Event, Record
from stateward.settings import CRASH_AT, Settings

DOCUMENTS = [f"Date;Text;Amount\n2026-01-05;{number};-1,00\n".encode() for number in range(3)]


def stateward(data: Path, *arguments: str, crash_at: str = "") -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "STATEWARD_DATA": str(data), CRASH_AT: crash_at}
    command = [sys.executable, "-m", "stateward", *arguments]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "crash_at",
    [
        "commit_before:6",
        pytest.param("commit_after:6", marks=pytest.mark.long),
        pytest.param("starts_committed", marks=pytest.mark.long),
        "results_written",
        pytest.param("events_decided", marks=pytest.mark.long),
        "events_settled",
        pytest.param("results_durable", marks=pytest.mark.long),
    ],
)
def test_a_node_that_is_killed_there_loses_and_doubles_nothing(
    tmp_path: Path, crash_at: str
) -> None:
    settings = Settings.load(environ={"STATEWARD_DATA": str(tmp_path / "data")})
    with App(settings) as app:
        opened = [app.submit(document).record for document in DOCUMENTS]
        app.bus.report([too_late(opened[0])])

        killed = stateward(tmp_path / "data", "up", "--until-idle", crash_at=crash_at)
        healed = stateward(tmp_path / "data", "up", "--until-idle")

        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert healed.returncode == 0, healed.stderr
        assert [app.record(each.id).status for each in opened] == ["normalized"] * 3
        app.admin.export(tmp_path / "export")
        machines = [plain(machine) for machine in app.registry.newest.values()]
    history, malformed = read_export(tmp_path / "export", machines=machines)
    history.seen = Seen(
        acks=[
            {"record_id": each.id, "machine": "upload", "dedupe": each.dedupe} for each in opened
        ],
        is_healed=True,
    )
    assert [str(each) for each in (*malformed, *check(history))] == []
    assert len(history.transitions) == 5 * len(DOCUMENTS)


def too_late(record: Record) -> Event:
    """Something in the inbox: what the worker of a node tells its own coordinator never gets there."""
    return Event(
        id="late-1",
        type="parse.completed",
        record_id=record.id,
        version=0,
        at=record.created_at,
        actor="runner:another",
    )


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("is_durable", [False, True])
def test_a_submit_that_was_cut_can_simply_be_repeated(tmp_path: Path, is_durable: bool) -> None:
    document = tmp_path / "document.csv"
    document.write_bytes(DOCUMENTS[0])
    data = tmp_path / "data"
    crash_at = f"commit_after:{commits_of_a_submit(tmp_path)}" if is_durable else "lanes_advanced"

    killed = stateward(data, "submit", str(document), crash_at=crash_at)
    again = [stateward(data, "submit", str(document)) for _ in range(2)]

    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert [each.returncode for each in again] == [0, 0], again[0].stderr
    with App(Settings.load(environ={"STATEWARD_DATA": str(data)})) as app:
        assert app.store.queries.counts() == {("upload", "queued_for_parse"): 1}
        assert app.admin.verify().is_sound


def commits_of_a_submit(folder: Path) -> int:
    """How many units a first submit into a new folder takes; the last one is that of the record."""
    passed: list[Point] = []
    before = install(passed.append)
    try:
        with App(Settings.load(environ={"STATEWARD_DATA": str(folder / "other")})) as app:
            app.submit(DOCUMENTS[0])
    finally:
        install(before)
    return passed.count(Point.COMMIT_AFTER)
