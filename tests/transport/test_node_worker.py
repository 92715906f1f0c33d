"""The example worker in Node: another language, no database, no packages."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.transport.brokers import server_of
from tests.transport.scene import Scene

EXAMPLE = Path(__file__).parents[2] / "examples" / "node-worker"


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")
def test_a_worker_in_another_language_does_a_stage(tmp_path: Path) -> None:
    with server_of("redis") as url:
        scene = Scene(url, tmp_path, "node", text=f"pipelines: ['{EXAMPLE / 'letters.yaml'}']\n")
        environ = {**os.environ, "HEARTBEAT_MS": "300"}
        command = ["node", str(EXAMPLE / "worker.mjs"), url, "node"]
        with subprocess.Popen(command, env=environ) as worker:
            try:
                record = scene.app.submit(b"three small words", machine="letters").record
                assert scene.finish(record.id) == "counted"
                assert list(scene.app.items(record.id)) == [{"words": 3}]
            finally:
                worker.kill()
                scene.close()
