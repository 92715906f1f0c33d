"""Processes that stay: what they say, how they stop, and that nothing is lost when they do."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stateward.cli.exit_codes import Exit
from tests.apps import ENTERPRISE
from tests.cli.shell import DEADLINE_S, Shell, arguments, run
from tests.waiting import wait_until

PIPELINE = """
import time
from pathlib import Path
from stateward import Job, declare, runner

SLEEP = declare(
    machine="sleep", version=1, prefix="SL", initial="queued",
    states={"queued": {"kind": "ready"}, "asleep": {"kind": "running"},
            "rested": {"kind": "terminal"}, "error": {"kind": "failed"}},
    stages={"nap": {"from": "queued", "running": "asleep", "outcomes": {"done": "rested"},
                    "on_error": "error", "runner": "sleep.nap"}},
)

@runner("sleep.nap")
def nap(job: Job) -> list[dict[str, object]]:
    time.sleep(float(job.text()))
    return [{"slept": True}]
"""


@pytest.fixture
def sleepers(tmp_path: Path) -> Shell:
    """A command line whose machine `sleep` sleeps as long as its document says."""
    (tmp_path / "naps.py").write_text(PIPELINE)
    (tmp_path / "own.yaml").write_text("pipelines: [naps.py]\ndata: data\napi: {port: 0}\n")
    return Shell(tmp_path / "data")


def own(shell: Shell, *args: str) -> list[str]:
    return ["--config", str(shell.data.parent / "own.yaml"), *args]


@contextmanager
def running(shell: Shell, *args: str) -> Iterator[subprocess.Popen[str]]:
    """A role in a process of its own, once it has said that it runs."""
    process = subprocess.Popen(
        arguments(*own(shell, *args)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        process.first_line = process.stderr.readline()  # type: ignore[attr-defined]
        yield process
    finally:
        process.kill()
        process.communicate()


def submit(shell: Shell, seconds: str) -> str:
    done = run(*own(shell, "submit", "-", "--machine", "sleep", "--json"), input=seconds)
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)[0]["id"])


def status(shell: Shell, record_id: str) -> str:
    done = run(*own(shell, "status", record_id, "--json"))
    return str(json.loads(done.stdout)["status"])


def test_up_until_idle_does_what_there_is_and_ends(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("Date,Text,Amount\n2026-01-05,a,-1.00\n2026-01-06,b,2.00\n")
    shell("submit", str(file))

    done = run("--data", str(shell.data), "up", "--until-idle")

    assert (done.returncode, done.stdout) == (0, "")
    lines = [line for line in done.stderr.splitlines() if "has no Landlock" not in line]
    assert lines[0].startswith(
        "stateward: coordinator, worker and notifier with the profile personal on sqlite:"
    )
    assert ", pid " in lines[0]
    assert any("parsed (parse.completed, 2 observations)" in line for line in lines)
    assert lines[-1] == "stateward: ended; upload normalized 1"


def test_logs_of_a_role_have_the_shape_of_the_profile(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("Date,Text,Amount\n2026-01-05,a,-1.00\n2026-01-06,b,2.00\n")
    config = tmp_path / "settings.yaml"
    config.write_text(ENTERPRISE)
    shell("--config", str(config), "submit", str(file))

    done = run("--data", str(shell.data), "--config", str(config), "up", "--until-idle", "--json")

    logged = [
        json.loads(line) for line in done.stderr.splitlines() if "has no Landlock" not in line
    ]
    assert json.loads(done.stdout)["roles"] == ["coordinator", "worker", "notifier"]
    assert logged[0]["event"] == "coordinator, worker and notifier started"
    assert {"profile", "store", "pid"} <= logged[0].keys()
    assert any("parse.completed" in line["event"] for line in logged)


def test_a_signal_lets_what_runs_finish(sleepers: Shell) -> None:
    record_id = submit(sleepers, "5")  # long enough for a slow machine to see it asleep
    with running(sleepers, "up") as process:
        wait_until(lambda: status(sleepers, record_id) == "asleep")

        process.send_signal(signal.SIGTERM)

        _, words = process.communicate(timeout=DEADLINE_S)
        assert process.returncode == 0
        assert "finishing what runs" in words
    assert status(sleepers, record_id) == "rested"


@pytest.mark.long
def test_a_second_signal_ends_at_once_and_loses_nothing(sleepers: Shell) -> None:
    record_id = submit(sleepers, "60")
    with running(sleepers, "up") as process:
        wait_until(lambda: status(sleepers, record_id) == "asleep")
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        said = iter(process.stderr.readline, "")
        assert any("finishing what runs" in line for line in said), "the first signal was not seen"

        process.send_signal(signal.SIGINT)

        _, words = process.communicate(timeout=DEADLINE_S)
        assert process.returncode == Exit.INTERRUPTED
        assert "Traceback" not in words
    assert status(sleepers, record_id) == "asleep"  # the next coordinator hands it out again


@pytest.mark.long
def test_a_coordinator_and_a_worker_share_the_work(sleepers: Shell) -> None:
    record_id = submit(sleepers, "0")

    with running(sleepers, "coordinator") as coordinator, running(sleepers, "worker") as worker:
        wait_until(lambda: status(sleepers, record_id) == "rested")
        for process in (coordinator, worker):
            process.send_signal(signal.SIGTERM)
            process.wait(DEADLINE_S)
            assert process.returncode == 0
        first_lines = [coordinator.first_line, worker.first_line]  # type: ignore[attr-defined]

    assert [line.split()[1] for line in first_lines] == ["coordinator", "worker"]


@pytest.mark.long
@pytest.mark.parametrize("role", ["coordinator", "worker", "notifier"])
def test_a_role_answers_programs_when_it_ends(sleepers: Shell, role: str) -> None:
    command = arguments(*own(sleepers, role, "--json"))
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: has_handler(process.pid))

    process.send_signal(signal.SIGTERM)

    data, _ = process.communicate(timeout=DEADLINE_S)
    answer = json.loads(data)
    assert (process.returncode, answer["roles"], answer["pid"]) == (0, [role], process.pid)


def has_handler(pid: int) -> bool:
    """Whether a process has taken over SIGTERM, which it does just before it works."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (signal.SIGTERM - 1) & 1)
    return False


@pytest.mark.long
def test_waiting_for_a_document_is_woken_when_it_ends(sleepers: Shell) -> None:
    with running(sleepers, "up"):
        done = run(
            *own(sleepers, "submit", "-", "--machine", "sleep", "--wait", "--timeout", "20"),
            input="0.2",
        )

    assert done.returncode == 0, done.stderr
    assert "finished: rested" in done.stderr


def test_the_place_is_said_without_the_password(shell: Shell) -> None:
    url = "postgresql://me:geheim@127.0.0.1:1/x"

    environ = {**os.environ, "STATEWARD_STORE_URL": url}

    done = run("list", env=environ)
    with subprocess.Popen(arguments("up"), env=environ, stderr=subprocess.PIPE, text=True) as role:
        assert role.stderr is not None
        said = role.stderr.readline()
        role.terminate()

    assert done.returncode == Exit.STORE
    assert "geheim" not in done.stdout + done.stderr + said
    assert "waiting for the database" in said, "it may be starting"


def test_a_command_that_is_interrupted_says_so(shell: Shell) -> None:
    command = arguments("--data", str(shell.data), "submit", "-")
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_heed_interrupts,  # noqa: PLW1509 - it only resets a signal
    )
    wait_until((shell.data / "artifacts" / "incoming").is_dir)

    process.send_signal(signal.SIGINT)

    _, words = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == Exit.INTERRUPTED
    assert words.split() == ["stateward:", "interrupted"]
    assert shell.ids() == []


def _heed_interrupts() -> None:
    """A test run in the background is deaf to Ctrl-C, and so would its children be."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.service
def test_the_whole_way_works_on_postgresql(
    shell: Shell, postgres_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STATEWARD_STORE_URL", postgres_url)
    file = tmp_path / "a.csv"
    file.write_text("Date,Text,Amount\n2026-01-05,a,-1.00\n2026-01-06,b,2.00\n")

    submitted = shell("submit", str(file))
    done = shell("up", "--until-idle")

    assert submitted.exit_code == 0, submitted.stderr
    assert done.exit_code == 0, done.stderr
    assert shell.json("counts") == [
        {"machine": "upload", "status": "normalized", "count": 1, "cancelled": 0}
    ]
    assert shell("verify").exit_code == 0
