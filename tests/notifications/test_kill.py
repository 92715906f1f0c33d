"""Roles apart on PostgreSQL: a notifier that is killed in the middle loses no message, and invents none."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest

from stateward.app import App
from stateward.engine.coordinator import Submission
from stateward.settings import Settings
from tests.cli.shell import arguments
from tests.notifications.receivers import Answer, receiving
from tests.waiting import WAIT_S_MAX, wait_until

RECORDS = 120
SETTINGS = """
data: {data}
store: {{url: '{url}'}}
notifications: {{webhook_allow: [127.0.0.1], webhook_timeout_seconds: 60, webhook_backoff_seconds: [0, 0, 0, 0, 0]}}
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


@pytest.mark.service
@pytest.mark.long
def test_a_killed_notifier_loses_nothing_and_invents_nothing(
    postgres_url: str, tmp_path: Path
) -> None:
    config = tmp_path / "own.yaml"
    config.write_text(SETTINGS.format(data=tmp_path / "data", url=postgres_url))
    # After twenty posts the answers are held back, so that the kill comes while some are under way.
    is_killed = Event()
    script = [500 if n % 5 == 0 else 204 for n in range(20)] + [Answer(204, held=is_killed)] * 20
    with (
        App(Settings.load(config, environ={})) as app,
        receiving(*script) as receiver,
    ):
        webhook = app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        openings = [Submission(machine="upload", actor="person:ann")] * RECORDS
        expected = {f"msg_{each.record.id}_0" for each in app.coordinator.submit(openings)}

        with running(config, "notifier") as (first,):
            wait_until(lambda: len(receiver.posts) > 20)
            first.send_signal(signal.SIGKILL)
            first.wait()
        is_killed.set()
        with running(config, "notifier", "notifier"):
            wait_until(
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

        wait_until(lambda: bool(receiver.posts))
        for process in processes:
            process.send_signal(signal.SIGTERM)
        codes = [process.wait(WAIT_S_MAX) for process in processes]

    assert receiver.ids == [f"msg_{record.id}_4"]
    assert receiver.verified(webhook.secret) == 1
    assert codes == [0, 0, 0]
