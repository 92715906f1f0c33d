"""The whole service is killed while a client drives a contract: the same calls again bring it to its end, once."""

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from stateward.app import App
from stateward.settings import Settings

CONTRACT = """Stromliefervertrag

Anbieter: Vattenfall
Tarif: Easy Strom
Monatlicher Abschlag: 56,90 EUR
Vertragsbeginn: 01.03.2026
Arbeitspreis: 31,20 ct/kWh
Kündigungsfrist: 1 Monat
"""
CORRECTION = {"action": "correct", "correctedData": {"contract_end": "2027-02-28"}}
ROUNDS_MAX = 20


@contextmanager
def service(data: Path, *, crash_at: str | None) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Everything in one process, which may be told where to kill itself."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith("STATEWARD_")}
    if crash_at is not None:
        environ["STATEWARD_CRASH_AT"] = crash_at
    command = [sys.executable, "-m", "stateward", "--data", str(data), "up", "--port", "0"]
    with subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        said = re.search(r"at (http://\S+)", child.stderr.readline())
        try:
            yield child, said[1] if said else ""
        finally:
            child.kill()


def drive(url: str) -> str | None:
    """Call what is next until the contract has ended; its id, or None where the service went away."""
    try:
        with httpx2.Client(base_url=url, timeout=60) as http:
            files = {"file": ("a.txt", CONTRACT.encode())}
            for _ in range(ROUNDS_MAX):
                state = http.post("/workflows/ingest", files=files).json()
                if "workflowId" not in state:
                    continue  # 503: not done yet
                if state["status"] == "completed":
                    return str(state["workflowId"])
                call, path = state["nextCalls"][0], f"/workflows/{state['workflowId']}"
                if call != "ingest":
                    http.post(f"{path}/{call}", json=CORRECTION if call == "review" else None)
    except httpx2.TransportError:
        return None
    raise AssertionError("it never came to its end")


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("crash_at", ["outputs_written:2"])  # every other point: tests/engine
def test_a_killed_service_goes_on_where_it_was_and_repeats_no_finished_step(
    tmp_path: Path, crash_at: str
) -> None:
    data = tmp_path / "data"
    with service(data, crash_at=crash_at) as (child, url):
        assert drive(url) is None
        assert child.wait(60) == -9
    with service(data, crash_at=None) as (_, url):
        record_id = drive(url)

    assert record_id is not None
    with App(Settings.load(environ={"STATEWARD_DATA": str(data)})) as app:
        finished = Counter(mark.stage for mark in app.records.attempts(record_id))
        assert finished == dict.fromkeys(["parse", "extract", "validate", "review", "compare"], 1)
        assert app.store.queries.counts() == {("contract", "completed"): 1}
        assert app.admin.verify().is_sound
