"""Roles apart on PostgreSQL: a notifier that is killed in the middle loses no message, and invents none."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stateward.app import App
from stateward.engine.coordinator import Submission
from stateward.settings import Settings
from tests.cli.shell import arguments
from tests.notifications.receivers import Answer, receiving

RECORDS = 120
SETTINGS = """
data: {data}
store: {{url: '{url}'}}
notifications: {{webhook_allow: [127.0.0.1], webhook_timeout_seconds: 1, webhook_backoff_seconds: [0, 1, 1, 1, 1]}}
"""


@contextmanager
def running(config: Path, *roles: str) -> Iterator[list[subprocess.Popen[str]]]:
    """Each role in a process of its own."""
    environ = {**os.environ, "STATEWARD_CONFIG": str(config)}
    processes = [
        subprocess.Popen(arguments(role), stderr=subprocess.DEVNULL, text=True, env=environ)
        for role in roles
    ]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def until(is_true: Callable[[], bool], *, within_s: float = 45.0) -> None:
    deadline = time.monotonic() + within_s
    while not is_true():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.05)


@pytest.mark.service
@pytest.mark.slow
def test_a_killed_notifier_loses_nothing_and_invents_nothing(
    postgres_url: str, tmp_path: Path
) -> None:
    config = tmp_path / "own.yaml"
    config.write_text(SETTINGS.format(data=tmp_path / "data", url=postgres_url))
    script = [500 if n % 5 == 0 else Answer(204, wait_s=0.02) for n in range(60)]
    with (
        App(Settings.load(config, environ={})) as app,
        receiving(*script) as receiver,
    ):
        webhook = app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        openings = [Submission(machine="upload", actor="person:ann")] * RECORDS
        expected = {f"msg_{each.record.id}_0" for each in app.coordinator.submit(openings)}

        with running(config, "notifier") as (first,):
            until(lambda: len(receiver.posts) > 20)
            first.send_signal(signal.SIGKILL)
        with running(config, "notifier", "notifier"):
            until(
                lambda: len(app.notifications.deliveries(state="delivered", limit=1000)) == RECORDS
            )

        assert set(receiver.ids) == expected
        assert receiver.verified(webhook.secret) == len(receiver.posts)
        assert app.notifications.deliveries(state="dead") == []


@pytest.mark.service
@pytest.mark.slow
def test_every_role_in_a_process_of_its_own_brings_a_document_to_a_receiver(
    postgres_url: str, tmp_path: Path
) -> None:
    config = tmp_path / "own.yaml"
    config.write_text(SETTINGS.format(data=tmp_path / "data", url=postgres_url))
    with (
        App(Settings.load(config, environ={})) as app,
        receiving() as receiver,
        running(config, "coordinator", "worker", "notifier") as processes,
    ):
        webhook = app.notifications.add(
            receiver.url, events=["upload.normalized"], actor="person:ann"
        )
        record = app.submit(b"Date,Description,Amount\n2026-01-02,Coffee,-3.50\n").record

        until(lambda: bool(receiver.posts))
        for process in processes:
            process.send_signal(signal.SIGTERM)
        codes = [process.wait(20) for process in processes]

    assert receiver.ids == [f"msg_{record.id}_4"]
    assert receiver.verified(webhook.secret) == 1
    assert codes == [0, 0, 0]
