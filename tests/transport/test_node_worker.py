"""The example worker in Node: another language, no database, no packages."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from stateward.engine import admission
from tests.transport.brokers import server_of
from tests.transport.scene import Scene

EXAMPLE = Path(__file__).parents[2] / "examples" / "node-worker"


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")
def test_a_worker_in_another_language_does_a_stage_and_signs_with_a_credential(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "FRESH_S", 0.0)
    with server_of("redis") as url:
        scene = Scene(url, tmp_path, "node", text=f"pipelines: ['{EXAMPLE / 'letters.yaml'}']\n")
        try:
            with running(url, "node"):
                assert counted(scene, b"three small words") == (3, "node-")
                large = scene.app.submit(b"word " * 1000, machine="letters").record
                assert scene.finish(large.id) == "error"  # and not: no words
                (attempt,) = scene.app.outputs.attempts(large.id)
                assert attempt.error_code == "DOCUMENT_NOT_SENT"
            _, credential = scene.app.admin.new_worker_key("abroad", stages=["letters.count"])
            file = tmp_path / "credential.json"
            file.write_bytes(msgspec.json.encode(credential))
            with running(url, "node", str(file)):
                assert counted(scene, "zwei W\u00f6rter".encode()) == (2, "abroad/node-")
        finally:
            scene.close()


def test_the_worker_in_another_language_has_no_more_than_sixty_lines() -> None:
    assert len((EXAMPLE / "worker.mjs").read_text("utf-8").splitlines()) <= 60


@contextmanager
def running(*args: str) -> Iterator[None]:
    environ = {**os.environ, "HEARTBEAT_MS": "300"}
    command = ["node", str(EXAMPLE / "worker.mjs"), *args]
    with subprocess.Popen(command, env=environ) as worker:
        try:
            yield
        finally:
            worker.kill()


def counted(scene: Scene, document: bytes) -> tuple[object, str]:
    """What was counted, and by whom, without the number of the process."""
    record = scene.app.submit(document, machine="letters").record
    assert scene.finish(record.id) == "counted"
    (item,) = scene.app.items(record.id)
    (attempt,) = scene.app.outputs.attempts(record.id)
    return item["words"], attempt.worker.rstrip("0123456789")
