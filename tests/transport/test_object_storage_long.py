"""`stateward worker --transport … --blobs s3://…`: a process without a store, a folder in common or a settings file."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.blobs.test_moto import endpoint, made_bucket  # noqa: F401 - a fixture
from tests.transport.brokers import server_of
from tests.transport.scene import Scene

LARGE = b"Date;Text;Amount\n" + b"2026-01-05;a long text about nothing;-1,00\n" * 100


@pytest.fixture(params=["redis", "nats", "kafka"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    with server_of(request.param) as own:
        yield own


def test_a_worker_with_a_bucket_and_a_credential_needs_nothing_else(
    url: str,
    endpoint: str,  # noqa: F811 - the fixture
    tmp_path: Path,
) -> None:
    bucket = f"s3://{made_bucket(endpoint)}/of/us"
    scene = Scene(
        url, tmp_path, "stateward", text=f"artifacts: {{url: '{bucket}', endpoint: '{endpoint}'}}\n"
    )
    _, credential = scene.app.admin.new_worker_key("far", stages=["upload.*"])
    file = tmp_path / "credential.json"
    file.write_bytes(msgspec.json.encode(credential))
    environ = {
        **os.environ,
        "STATEWARD_DATA": str(tmp_path / "worker"),
        "STATEWARD_ARTIFACTS_ENDPOINT": endpoint,
        "STATEWARD_TRANSPORT_CREDENTIAL": str(file),
    }
    command = [sys.executable, "-m", "stateward", "worker", "--transport", url, "--blobs", bucket]
    with subprocess.Popen(command, env=environ, stderr=subprocess.DEVNULL) as worker:
        try:
            record = scene.app.submit(LARGE).record
            assert scene.finish(record.id) == "normalized"
            assert len(list(scene.app.items(record.id))) == 100
            workers = {each.worker for each in scene.app.outputs.attempts(record.id)}
            assert all(each.startswith("far/") for each in workers)
        finally:
            worker.kill()
            scene.close()
    assert not (tmp_path / "worker" / "stateward.db").exists()
